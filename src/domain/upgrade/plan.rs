//! The plan of one cluster: the merge's decisions, settled and turned into changes and edits.

use super::draft::Draft;
use super::instance::instance;
use super::record::record;
use super::retarget::OverlayEdits;
use super::rotation::Rotated;
use super::{
    Basis, Change, Conflict, FileChange, OldSource, Planned, Reason, Refusal, Request, Side, Upgrade,
    giantswarm,
};
use std::borrow::Cow;

use crate::finding::{Finding, Severity};
use crate::merge::Source;
use crate::merge::cluster_objects::Base;
use crate::merge::decision::{Decision, DecisionKind};
use crate::merge::matching::Matched;
use crate::merge::objects::{
    MergeInput, MergedObject, NewObject, ObjectConflict, fields_that_stand, merge_cluster,
};
use crate::merge::prepared::set_text;
use crate::merge::step_group::StepGroup;
use crate::object::{FieldPath, ObjectId};
use crate::settings::{ConflictPolicy, Tombstone};
use crate::templates::references;
use crate::yaml::YamlFile;

/// Plans one upgrade.
///
/// Facts to gather: the cluster's folder ([`super::ClusterFolder`]); O as the tree recorded in
/// `releaseTree` wherever that tree is found (the folder, `archived/`, history), else the recorded
/// release's folder as it is now, else [`OldSource::Infer`] or [`OldSource::Unknown`] as the settings
/// say (with `whenReleaseUnknown: block` do not call this, block); N as the offered release's folder.
///
/// # Errors
/// A file of the cluster that cannot be read as YAML, with its place.
pub fn plan(request: &Request<'_>) -> Result<Planned, Refusal> {
    let cluster = request.cluster;
    let base = Base::read(cluster)?;
    let overlay = cluster.overlay.iter().map(super::SourceFile::read).collect::<Result<Vec<_>, _>>()?;
    if request.new.release_yaml.is_some() {
        return giantswarm::plan(request, &base);
    }
    let (old, basis) = old_source(request, &base);
    let input = MergeInput {
        base: &base,
        old,
        new: request.new,
        variables: &cluster.variables,
        owners: &request.settings.owners,
        schemas: request.schemas,
    };
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
        rotated: Vec::new(),
        overlay_edits: OverlayEdits::new(),
    };
    plan.say(&merged.merge);
    plan.ahead(&group);
    for object in &merged.merge.merged {
        plan.settle(object, &group);
    }
    for object in &merged.merge.removed {
        plan.remove(*object);
    }
    // After the removals, so that what only a removed object names counts as named by nothing; before
    // the additions, whose references follow the new names.
    plan.unknown_templates();
    plan.rotate();
    for new in &merged.merge.added {
        plan.add(&merged.new, new);
    }
    for conflict in &merged.merge.conflicts {
        plan.object_conflict(&merged.new, conflict);
    }
    plan.finish(old.map(|source| &source.id), basis)
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
    pub(super) rotated: Vec<Rotated>,
    pub(super) overlay_edits: OverlayEdits,
}

/// O and how it is known.
pub(super) fn old_source<'a>(request: &Request<'a>, base: &Base) -> (Option<&'a Source>, Basis) {
    match request.old {
        OldSource::Known(source) => (Some(source), Basis::Known),
        OldSource::Unknown => (None, Basis::Unknown),
        OldSource::Infer(candidates) => {
            let variables = &request.cluster.variables;
            let standing = |source: &&'a Source| {
                Some((fields_that_stand(source, base, variables, request.schemas)?, *source))
            };
            let mut found: Vec<(usize, &Source)> = candidates.iter().filter_map(standing).collect();
            found.sort_by_key(|(fields, _)| std::cmp::Reverse(*fields));
            match found.as_slice() {
                [(first, _), (second, _), ..] if first == second => (None, Basis::Unknown),
                [(_, source), ..] => (Some(source), Basis::Inferred),
                [] => (None, Basis::Unknown),
            }
        }
    }
}

impl Plan<'_> {
    /// What the merge could not match or bind.
    fn say(&mut self, merge: &crate::merge::objects::ClusterMerge) {
        for ambiguity in &merge.ambiguous {
            let message = format!(
                "{} could be {}: nothing is changed for it. Give the release's document the name that the cluster's object has after the cluster's name, or split the file.",
                ambiguity.piece,
                ambiguity.candidates.join(" or "),
            );
            let (file, line) = &ambiguity.place;
            self.finding("ambiguous-match", Severity::Error, message, (file.clone(), *line, 1), None, None);
        }
        for (file, line, piece) in &merge.unmatched {
            let message = format!(
                "The release's fragment ({piece}) speaks of no object of this cluster, so it changes nothing here. Put it into a file of the same name as the cluster's, or give it a kind."
            );
            self.finding(
                "unmatched-fragment",
                Severity::Warning,
                message,
                (file.clone(), *line, 1),
                None,
                None,
            );
        }
        for (name, one, other) in &merge.contradictions {
            self.findings.push(Finding {
                rule: "variable-contradiction",
                severity: Severity::Warning,
                message: format!(
                    "The cluster's objects give ${{{name}}} two values, `{one}` and `{other}`, so it is bound by neither. Say which in `variables:` of the cluster's capstan.yaml."
                ),
                file: None,
                line: None,
                column: None,
                object: None,
                path: None,
            });
        }
    }

    pub(super) fn finding(
        &mut self,
        rule: &'static str,
        severity: Severity,
        message: String,
        (file, line, column): (crate::tree::RepoPath, u32, u32),
        object: Option<ObjectId>,
        path: Option<FieldPath>,
    ) {
        self.findings.push(Finding {
            rule,
            severity,
            message,
            file: Some(file),
            line: Some(line),
            column: Some(column),
            object,
            path,
        });
    }

    /// A finding about a byte of one of the base's objects.
    fn finding_at(
        &mut self,
        rule: &'static str,
        severity: Severity,
        message: String,
        object: usize,
        at: usize,
        path: &FieldPath,
    ) {
        let position = self.base.position(object, at);
        let place = (self.base.file_of(object).path.clone(), position.line, position.column);
        self.finding(
            rule,
            severity,
            message,
            place,
            Some(self.base.objects[object].id.clone()),
            Some(path.clone()),
        );
    }

    /// The cluster is ahead of the release: no Kubernetes version ever goes back.
    fn ahead(&mut self, group: &StepGroup) {
        for ahead in &group.ahead {
            let id = self.base.objects[ahead.object].id.to_string();
            let (cluster, release) = (&ahead.cluster, &ahead.release);
            self.blocked.push(format!(
                "{id} runs Kubernetes {cluster}, which is newer than the release's {release}."
            ));
            let message = format!(
                "{id} is at Kubernetes {cluster}, the release at {release}. Kubernetes cannot go back: choose a release of {cluster} or newer."
            );
            self.finding_at(
                "kubernetes-downgrade",
                Severity::Error,
                message,
                ahead.object,
                ahead.at,
                &ahead.path,
            );
        }
    }

    /// Settles what was decided of one object.
    fn settle(&mut self, merged: &MergedObject, group: &StepGroup) {
        let id = &self.base.objects[merged.object].id;
        for unkeyed in &merged.unkeyed {
            let message = format!(
                "The items of this list are told apart by {}, which one of them lacks or two share, so the list counts as one value.",
                unkeyed.fields.join(" and "),
            );
            self.finding_at(
                "list-without-key",
                Severity::Warning,
                message,
                merged.object,
                unkeyed.at,
                &unkeyed.path,
            );
        }
        for decision in &merged.decisions {
            let in_group = group.holds(id, decision);
            let policy = self.request.settings.conflicts;
            let is_ahead = || {
                group.ahead.iter().any(|ahead| ahead.object == merged.object && ahead.path == decision.path)
            };
            match decision.kind {
                DecisionKind::Take => self.take(merged, decision),
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
                    self.conflict(merged, decision, Side::Release, false);
                    self.take(merged, decision);
                }
                DecisionKind::Conflict => match policy {
                    ConflictPolicy::Take if !is_ahead() => {
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

    /// The release's value goes in.
    fn take(&mut self, merged: &MergedObject, decision: &Decision) {
        let object = merged.object;
        if let Some(variable) = &decision.unbound {
            let at = decision.at.unwrap_or(self.base.node(object).span.start);
            self.unbound(variable, object, at, &decision.path);
        }
        self.changes.push(Change {
            object: self.base.objects[object].id.clone(),
            file: self.base.file_of(object).path.clone(),
            line: decision.at.map(|at| self.base.position(object, at).line),
            path: decision.path.clone(),
            old: decision.cluster.as_ref().map(crate::yaml::Node::value),
            new: decision.release.as_ref().map(crate::yaml::Node::value),
            reason: Reason::Release,
        });
        self.draft.edit_object(self.base, object, decision.edits.iter().cloned());
    }

    fn unbound(&mut self, variable: &str, object: usize, at: usize, path: &FieldPath) {
        let message = unbound_message(variable);
        self.blocked.push(format!("Nothing says what ${{{variable}}} of the release is in this cluster."));
        self.finding_at("unbound-variable", Severity::Error, message, object, at, path);
    }

    fn conflict(&mut self, merged: &MergedObject, decision: &Decision, kept: Side, blocks: bool) {
        let value = |node: &Option<crate::yaml::Node>| node.as_ref().map(crate::yaml::Node::value);
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

    /// A field of the step group stays while others move.
    fn split(&mut self, merged: &MergedObject, decision: &Decision, holder: &str) {
        let id = self.base.objects[merged.object].id.to_string();
        self.blocked.push(format!(
            "{id} {} is held by {holder}, and versions and images move together.",
            decision.path
        ));
        let message = format!(
            "{} of {id} is held by {holder}, while the release moves Kubernetes versions and images, which move together or not at all. Take the release's value, or hold back the whole upgrade.",
            decision.path
        );
        let at = decision.at.unwrap_or(self.base.node(merged.object).span.start);
        self.finding_at("step-group-split", Severity::Error, message, merged.object, at, &decision.path);
    }

    /// A whole object comes.
    fn add(&mut self, matched: &Matched<'_>, new: &NewObject) {
        let piece = matched.pieces[new.piece];
        let Ok(file) = self.file_of_new(&piece.file) else { return };
        if let Some(variable) = &new.unbound {
            self.blocked
                .push(format!("Nothing says what ${{{variable}}} of the release is in this cluster."));
            let place = (piece.place.0.clone(), piece.place.1, 1);
            self.finding(
                "unbound-variable",
                Severity::Error,
                unbound_message(variable),
                place,
                Some(new.id.clone()),
                Some(FieldPath::root()),
            );
        }
        let mut node = Cow::Borrowed(&new.node);
        for reference in references(&new.id.group, &new.id.kind, &new.node) {
            let follows = |rotated: &&Rotated| reference.means(new.id.namespace.as_deref(), &rotated.id);
            if let Some(rotated) = self.rotated.iter().find(follows) {
                set_text(node.to_mut(), reference.path.steps(), &rotated.new);
            }
        }
        self.changes.push(Change {
            object: new.id.clone(),
            file,
            line: None,
            path: FieldPath::root(),
            old: None,
            new: Some(node.value()),
            reason: Reason::Object,
        });
        let text = instance(self.request.new, piece, &node);
        self.draft.add_document(self.base, &piece.file, text);
    }

    fn file_of_new(&self, below: &str) -> Result<crate::tree::RepoPath, crate::tree::InvalidPath> {
        self.request.cluster.base_folder.join(below)
    }

    fn object_conflict(&mut self, matched: &Matched<'_>, conflict: &ObjectConflict) {
        let policy = self.request.settings.conflicts;
        let kept = if policy == ConflictPolicy::Take { Side::Release } else { Side::Cluster };
        let blocks = policy == ConflictPolicy::Block;
        let (file, line) = match (conflict.object, &conflict.new) {
            (Some(object), _) => {
                let at = self.base.node(object).span.start;
                (self.base.file_of(object).path.clone(), Some(self.base.position(object, at).line))
            }
            (None, Some(new)) => match self.file_of_new(&matched.pieces[new.piece].file) {
                Ok(file) => (file, None),
                Err(_) => return,
            },
            (None, None) => return,
        };
        self.conflicts.push(Conflict {
            object: conflict.id.clone(),
            file,
            line,
            path: FieldPath::root(),
            base: conflict.base.as_ref().map(crate::yaml::Node::value),
            cluster: conflict.object.map(|object| self.base.node(object).value()),
            release: conflict.release.as_ref().map(crate::yaml::Node::value),
            kept,
            blocks,
        });
        if blocks {
            self.blocked.push(format!("{}: the cluster and the release changed it.", conflict.id));
        }
        if kept == Side::Release {
            match (conflict.object, &conflict.new) {
                (Some(object), _) => self.remove(object),
                (None, Some(new)) => self.add(matched, new),
                (None, None) => {}
            }
        }
    }

    pub(super) fn finish(
        self,
        from: Option<&crate::release::ReleaseId>,
        basis: Basis,
    ) -> Result<Planned, Refusal> {
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
            rotated,
            ..
        } = self;
        let cluster = request.cluster;
        let (mut intended, refused) = draft.into_files(base, &cluster.base_folder);
        findings.extend(refused.into_iter().chain(unedited));
        intended.extend(overlay);
        match record(cluster, request.new, &tombstones)? {
            Ok(change) => intended.extend(change),
            Err(finding) => findings.push(finding),
        }
        intended.sort_by(|a: &FileChange, b| a.path.cmp(&b.path));
        for finding in findings.iter().filter(|finding| finding.rule == "edit-refused") {
            let file = finding.file.as_ref().map(ToString::to_string).unwrap_or_default();
            blocked.push(format!("{file} cannot be edited as intended."));
        }
        blocked.dedup();
        let upgrade = Upgrade {
            cluster: cluster.id.clone(),
            from: from.cloned(),
            to: Some(request.new.id.clone()),
            to_tree: request.new.tree.clone(),
            basis,
            files: Vec::new(),
            changes,
            conflicts,
            findings,
            rollouts: Vec::new(),
            blocked,
            notes,
        };
        let rotated = rotated.into_iter().map(|rotated| rotated.id).collect();
        Ok(Planned { upgrade, intended, rotated })
    }
}

fn unbound_message(variable: &str) -> String {
    format!(
        "The release's ${{{variable}}} is bound by nothing here. Give it a value in `variables:` of the cluster's capstan.yaml."
    )
}
