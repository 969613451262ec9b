//! The plan of one cluster: the merge's decisions, settled and turned into changes and edits.

use super::change_source::OwnFields;
use super::class_patches::stale_class_patches;
use super::complete::{Completed, incomplete};
use super::draft::Draft;
use super::foundation::replaced_foundations;
use super::namespaces::half_moved;
use super::provenance::Provenance;
use super::record::{TombstoneChanges, record};
use super::retarget::OverlayEdits;
use super::rotation::Rotated;
use super::{Basis, Change, Conflict, OldSource, Planned, Reason, Request, Side, Upgrade, fields};
use crate::merge::SourceFile;
use capstan_model::file_change::FileChange;
use std::collections::{BTreeMap, BTreeSet};

use crate::merge::Source;
use crate::merge::cluster_merge::MergedObject;
use crate::merge::cluster_objects::Base;
use crate::merge::convert::{Obstacle, wanted};
use crate::merge::decision::{Decision, DecisionKind};
use crate::merge::fit::rank;
use crate::merge::objects::merge_cluster;
use crate::merge::step_group::StepGroup;
use crate::merge::views::{MergeInput, Work};
use crate::settings::{ConflictPolicy, Tombstone};
use capstan_model::finding::{FileError, Finding, Place, rules};
use capstan_yaml::YamlFile;

/// Plans one upgrade.
///
/// Facts to gather: the cluster's folder ([`crate::merge::ClusterFacts`]); O as the tree recorded in
/// `releaseTree` wherever that tree is found (the folder, `archived/`, history), else the recorded
/// release's folder as it is now, else [`OldSource::Infer`] or [`OldSource::Unknown`] as the settings
/// say (with `whenReleaseUnknown: block` do not call this, block); N as the offered release's folder.
///
/// # Errors
/// A file of the cluster that cannot be read as YAML, with its place.
pub fn plan(request: &Request<'_>) -> Result<Planned, FileError> {
    let cluster = request.cluster;
    let base = Base::read(cluster)?;
    let overlay = cluster.overlay.iter().map(SourceFile::read).collect::<Result<Vec<_>, _>>()?;
    if let Some(OwnFields(source)) = request.new.fields() {
        return fields::plan(request, &base.with_generated(), source);
    }
    let Facts { base, old, basis, obstacles } = facts(request, base);
    let input = merge_input(request, &base, old);
    let merged = merge_cluster(&input);
    let group = StepGroup::of(&base, &merged.merge);
    let mut plan = Plan {
        request,
        base: &base,
        overlay: &overlay,
        draft: Draft::default(),
        changes: Vec::new(),
        conflicts: Vec::new(),
        findings: Vec::new(),
        blocked: Vec::new(),
        notes: Vec::new(),
        tombstones: Vec::new(),
        brought: Vec::new(),
        rotated: Vec::new(),
        overlay_edits: OverlayEdits::new(),
        inputs: Vec::new(),
        moved: BTreeSet::new(),
        renamed: merged
            .merge
            .merged
            .iter()
            .filter_map(|one| Some((one.object, one.renamed.clone()?)))
            .collect(),
        staying: BTreeSet::new(),
    };
    let removed: Vec<usize> = merged.merge.removed.iter().map(|dropped| dropped.object).collect();
    plan.templates_that_stay(&removed);
    plan.say(&merged.merge);
    plan.namespaces(&merged.merge);
    plan.say_conversions(&merged.merge, obstacles);
    plan.overlay_patches(&merged.merge);
    plan.ahead(&group);
    for object in &merged.merge.merged {
        plan.settle(object, &group);
        plan.foreign_fields(object);
    }
    for input in &merged.merge.inputs {
        plan.input(input);
    }
    plan.bystanders(&merged.merge, &group);
    // All that goes names nothing any more, whatever its place among them.
    let goes: Vec<usize> = removed.into_iter().filter(|object| !plan.staying.contains(object)).collect();
    for object in &goes {
        plan.draft.remove_object(*object);
    }
    for object in goes {
        plan.remove(object);
    }
    // After the removals, so that what only a removed object names counts as named by nothing; before
    // the additions, whose references follow the new names.
    plan.unknown_templates();
    plan.follow_versions(&merged.merge);
    plan.rotate();
    for new in &merged.merge.added {
        plan.add(&merged.new, new);
    }
    for conflict in &merged.merge.conflicts {
        plan.object_conflict(&merged.new, &merged.merge.kind_changes, conflict);
    }
    let work = Work { input: &input, bindings: &merged.bindings, old: merged.old.as_ref(), new: &merged.new };
    let planned = plan.finish(work, basis)?;
    Ok(Planned { provenance: Provenance::of_merge(&base, merged.merge), ..planned })
}

/// A file that the release replaces as a whole, and in which the upgrade has to edit something besides.
fn edited_twice(file: &capstan_model::tree::RepoPath) -> Finding {
    let message = "The release replaces this file, and the upgrade has to edit it too, to follow a template's new name. Make the release's change here by hand, then the upgrade follows.";
    Finding::new(rules::EDIT_REFUSED, message).place(Place::line_of(file.clone(), 1).at_first_column())
}

/// What is merged: the cluster's base in the new release's API versions, and O.
pub(super) struct Facts<'a> {
    pub(super) base: Base,
    pub(super) old: Option<&'a Source>,
    pub(super) basis: Basis,
    /// What could not be brought to those versions.
    pub(super) obstacles: Vec<Obstacle>,
}

/// Finds O, and converts the base ([U7a](crate::merge::converted#u7a)).
pub(super) fn facts<'a>(request: &Request<'a>, mut base: Base) -> Facts<'a> {
    let (old, basis) = old_source(request, &base);
    let wanted = wanted(&merge_input(request, &base, old));
    let obstacles = base.convert(wanted, request.schemas);
    Facts { base, old, basis, obstacles }
}

/// The facts of the merge.
pub(in crate::upgrade) fn merge_input<'a>(
    request: &Request<'a>,
    base: &'a Base,
    old: Option<&'a Source>,
) -> MergeInput<'a> {
    let cluster = request.cluster;
    MergeInput {
        base,
        old,
        new: request.new.documents(),
        contents: &cluster.contents,
        variables: &cluster.variables,
        flux: &cluster.flux,
        owners: &request.settings.owners,
        schemas: request.schemas,
    }
}

/// A plan in the making.
pub(super) struct Plan<'p> {
    pub(super) request: &'p Request<'p>,
    pub(super) base: &'p Base,
    pub(super) overlay: &'p [YamlFile],
    pub(super) draft: Draft,
    pub(super) changes: Vec<Change>,
    pub(super) conflicts: Vec<Conflict>,
    pub(super) findings: Vec<Finding>,
    pub(super) blocked: Vec<String>,
    pub(super) notes: Vec<String>,
    pub(super) tombstones: Vec<Tombstone>,
    /// Whole objects that come: a tombstone of one of them goes.
    pub(super) brought: Vec<capstan_model::object::ObjectId>,
    pub(super) rotated: Vec<Rotated>,
    pub(super) overlay_edits: OverlayEdits,
    /// Files that kustomizations read besides resources, as they become.
    pub(super) inputs: Vec<FileChange>,
    /// Objects in which fields of the step group move.
    pub(super) moved: BTreeSet<usize>,
    /// Names that the release gives objects which it called otherwise before, and so does the cluster.
    pub(super) renamed: BTreeMap<usize, String>,
    /// Templates that the release drops and that stay for this upgrade.
    pub(super) staying: BTreeSet<usize>,
}

/// O and how it is known.
pub(super) fn old_source<'a>(request: &Request<'a>, base: &Base) -> (Option<&'a Source>, Basis) {
    match request.old {
        OldSource::Known(source) => (Some(source.documents()), Basis::Known),
        OldSource::Unknown => (None, Basis::Unknown),
        OldSource::Infer(candidates) => {
            let (variables, flux) = (&request.cluster.variables, &request.cluster.flux);
            match rank(candidates, base, variables, flux, request.schemas).as_slice() {
                [(first, _), (second, _), ..] if first.rank() == second.rank() => (None, Basis::Unknown),
                [(fit, source), ..] if fit.is_whole() => (Some(source), Basis::Inferred),
                _ => (None, Basis::Unknown),
            }
        }
    }
}

impl Plan<'_> {
    /// Settles what was decided of one object.
    fn settle(&mut self, merged: &MergedObject, group: &StepGroup) {
        let id = &self.base.objects[merged.object].id;
        for (list, fields) in merged.record.lists_without_key() {
            let message = format!(
                "The items of this list are told apart by {}, which one of them lacks or two share, so the list counts as one value.",
                fields.join(" and "),
            );
            let at = list.at.unwrap_or_default();
            self.finding_at(rules::LIST_WITHOUT_KEY, message, merged.object, at, &list.path);
        }
        for decision in &merged.record.decisions {
            let in_group = group.holds(id, decision);
            let policy = self.request.settings.conflicts;
            let is_ahead = || {
                group.ahead.iter().any(|ahead| ahead.object == merged.object && ahead.path == decision.path)
            };
            match decision.kind {
                DecisionKind::Take => {
                    self.note_move(merged, in_group);
                    self.take(merged, decision);
                }
                DecisionKind::Held => {
                    if in_group {
                        self.split(merged, decision, "an owner rule of the settings");
                    }
                }
                DecisionKind::TypeConflict => {
                    self.conflict(merged, decision, Side::Cluster, true);
                    self.blocked.push(format!(
                        "{id} {}: the release changed the type of a field that the cluster changed too.",
                        decision.path
                    ));
                }
                DecisionKind::Conflict if in_group && group.release_wins => {
                    self.note_move(merged, in_group);
                    self.conflict(merged, decision, Side::Release, false);
                    self.take(merged, decision);
                }
                DecisionKind::Conflict => match policy {
                    ConflictPolicy::Take if !is_ahead() => {
                        self.note_move(merged, in_group);
                        self.conflict(merged, decision, Side::Release, false);
                        self.take(merged, decision);
                    }
                    ConflictPolicy::Block => {
                        self.conflict(merged, decision, Side::Cluster, true);
                        self.blocked
                            .push(format!("{id} {}: the cluster and the release changed it.", decision.path));
                    }
                    _ if in_group => {
                        self.conflict(merged, decision, Side::Cluster, true);
                        if !is_ahead() {
                            self.split(merged, decision, "`conflicts: keep`");
                        }
                    }
                    _ => self.conflict(merged, decision, Side::Cluster, false),
                },
            }
        }
    }

    fn note_move(&mut self, merged: &MergedObject, in_group: bool) {
        if in_group {
            self.moved.insert(merged.object);
        }
    }

    /// The release's value goes in.
    fn take(&mut self, merged: &MergedObject, decision: &Decision) {
        let object = merged.object;
        for missing in &decision.missing {
            self.without_value(object, decision, missing);
        }
        self.changes.push(Change {
            object: self.base.objects[object].id.clone(),
            file: self.base.file_of(object).path.clone(),
            line: decision.at.map(|at| self.base.position(object, at).line),
            path: decision.path.clone(),
            old: decision.cluster.as_ref().map(capstan_yaml::Node::value),
            new: decision.release.as_ref().map(capstan_yaml::Node::value),
            from: None,
            reason: Reason::Release,
        });
        self.draft.edit_object(object, decision.edits.iter().cloned());
    }

    fn conflict(&mut self, merged: &MergedObject, decision: &Decision, kept: Side, blocks: bool) {
        let value = |node: &Option<capstan_yaml::Node>| node.as_ref().map(capstan_yaml::Node::value);
        self.conflicts.push(Conflict {
            object: self.base.objects[merged.object].id.clone(),
            file: self.base.file_of(merged.object).path.clone(),
            line: decision.at.map(|at| self.base.position(merged.object, at).line),
            path: decision.path.clone(),
            base: value(&decision.base),
            cluster: value(&decision.cluster),
            release: value(&decision.release),
            kept,
            blocks,
        });
    }

    pub(super) fn finish(self, work: Work<'_, '_>, basis: Basis) -> Result<Planned, FileError> {
        let (overlay, unedited) = self.overlay_files();
        let Self {
            request,
            base,
            draft,
            changes,
            conflicts,
            mut findings,
            mut blocked,
            notes,
            tombstones,
            brought,
            rotated,
            staying,
            inputs,
            ..
        } = self;
        let cluster = request.cluster;
        let (mut intended, refused) = draft.into_files(base, &cluster.base_folder);
        findings.extend(refused.into_iter().chain(unedited));
        for input in inputs {
            match intended.iter_mut().find(|change| change.path == input.path) {
                // A rotation renamed a template in a patch that the release rewrites.
                Some(edited) => findings.push(edited_twice(&edited.path)),
                None => intended.push(input),
            }
        }
        let foundations = replaced_foundations(base, &intended, &findings);
        for (finding, reason) in foundations.into_iter().chain(half_moved(base, &intended)) {
            findings.push(finding);
            blocked.push(reason);
        }
        findings.extend(stale_class_patches(base, &intended, &rotated, request.schemas));
        intended.extend(overlay);
        match record(cluster, request.new, &TombstoneChanges { added: &tombstones, brought: &brought })? {
            Ok(change) => intended.extend(change),
            Err(finding) => findings.push(finding),
        }
        intended.sort_by(|a: &FileChange, b| a.path.cmp(&b.path));
        for finding in findings.iter().filter(|finding| finding.rule == rules::EDIT_REFUSED) {
            let file = finding.file().map(ToString::to_string).unwrap_or_default();
            blocked.push(format!("{file} cannot be edited as intended."));
        }
        if blocked.is_empty() {
            let completed = Completed {
                work,
                base_folder: &cluster.base_folder,
                intended: &intended,
                conflicts: &conflicts,
                findings: &findings,
                rotated: &rotated,
                staying: &staying,
            };
            let missing = incomplete(&completed);
            if !missing.is_empty() {
                blocked.push(format!(
                    "{} of the release would neither stand in the result nor be explained.",
                    if missing.len() == 1 {
                        "One field".to_owned()
                    } else {
                        format!("{} fields", missing.len())
                    }
                ));
            }
            findings.extend(missing);
        }
        blocked.dedup();
        let upgrade = Upgrade {
            target: cluster.id.clone().into(),
            from: work.input.old.map(|source| source.id.clone()),
            to: Some(request.new.id().clone()),
            to_content: request.new.content(),
            basis,
            files: Vec::new(),
            changes,
            conflicts,
            findings,
            rollouts: Vec::new(),
            components: Vec::new(),
            blocked,
            notes,
        };
        let rotated = rotated.into_iter().map(|rotated| rotated.id).collect();
        Ok(Planned { upgrade, intended, rotated, provenance: Provenance::default() })
    }
}
