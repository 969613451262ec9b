//! The plan of one cluster: the steps from the merge's decisions to changes and edits, one after another.
//!
//! Each step takes the results of those before it, by value where it continues with them, so that no step can be done
//! out of turn. A [`SettledUpgrade`] has its fields decided, a [`Reduced`] upgrade is without what goes, a [`Rotation`]
//! has the new names of templates, and a [`WholeUpgrade`] has what comes.

use std::collections::BTreeMap;

use super::bystanders::bystanders;
use super::change_source::OwnFields;
use super::class_patch_edits::follow_class_patches;
use super::class_patches::stale_class_patches;
use super::comments::comments_that_go;
use super::complete::{Completed, incomplete};
use super::context::Context;
use super::conversions::{conversions, follow_versions};
use super::fields;
use super::findings::{ahead, say};
use super::foundation::replaced_foundations;
use super::inputs::input;
use super::merge_facts::{ConvertedBase, facts, merge_input};
use super::model::{Basis, Upgrade};
use super::namespaces::{half_moved, namespaces};
use super::owners::ObjectOwners;
use super::patch_follow::{FollowedPatches, follow_patches};
use super::planned::PlannedUpgrade;
use super::provenance::Provenance;
use super::record::{TombstoneChanges, record};
use super::removal::Reduced;
use super::request::{UpgradeRequest, Versions};
use super::retarget::overlay_files;
use super::rotation::{Rotation, rotate};
use super::said::UpgradeReport;
use super::settle::SettledUpgrade;
use super::staying::{Staying, templates_that_stay};
use super::unknown_templates::unknown_templates;
use super::whole::WholeUpgrade;
use crate::merge::SourceFile;
use crate::merge::cluster_objects::Base;
use crate::merge::convert::ConversionObstacle;
use crate::merge::objects::{ObjectMerge, merge_cluster};
use crate::merge::step_group::StepGroup;
use crate::merge::views::Work;
use capstan_model::file_change::FileChange;
use capstan_model::finding::{FileError, Finding, Place, rules};
use capstan_model::rest::Rest;
use capstan_model::tree::RepoPath;

/// Plans one upgrade.
///
/// Facts to gather: the cluster's folder ([`crate::merge::ClusterFacts`]); O as the tree recorded in
/// `releaseTree` wherever that tree is found (the folder, `archived/`, history), else the recorded
/// release's folder as it is now, else [`OldSource::Infer`](super::OldSource::Infer) or
/// [`OldSource::Unknown`](super::OldSource::Unknown) as the settings
/// say (with `whenReleaseUnknown: block` do not call this, block); N as the offered release's folder.
///
/// # Errors
/// A file of the cluster that cannot be read as YAML, with its place.
pub fn plan(request: &UpgradeRequest<'_>) -> Result<PlannedUpgrade, FileError> {
    let cluster = request.cluster;
    let base = Base::read(cluster)?;
    let overlay = cluster.overlay.iter().map(SourceFile::read).collect::<Result<Vec<_>, _>>()?;
    if let Some(OwnFields(source)) = request.new.fields() {
        let mut planned = fields::plan(request, &base.with_generated(), source)?;
        if request.settings.versions == Versions::Stay {
            let why = "Such a release has only versions, and versions never go back, so there is nothing to roll back.";
            planned.upgrade.blocked.push(why.to_owned());
        }
        return Ok(planned);
    }
    let ConvertedBase { mut base, old, basis, obstacles } = facts(request, base, &overlay);
    let patches = follow_patches(request, &mut base, overlay);
    let input = merge_input(request, &base, old);
    let merged = merge_cluster(&input);
    let context = Context { request, base: &base, overlay: &patches.overlay };
    let work = Work { input: &input, bindings: &merged.bindings, old: merged.old.as_ref(), new: &merged.new };
    let planned = steps(context, &merged, (obstacles, &patches)).finish(context, work, basis)?;
    Ok(PlannedUpgrade { provenance: Provenance::of_merge(&base, merged.merge), ..planned })
}

/// What the steps came to.
struct PlanSteps {
    whole: WholeUpgrade,
    staying: Staying,
    /// Files that kustomizations read besides resources, as they become.
    inputs: Vec<FileChange>,
    said: UpgradeReport,
}

fn steps(
    context: Context<'_>,
    merged: &ObjectMerge<'_>,
    (obstacles, patches): (Vec<ConversionObstacle>, &FollowedPatches),
) -> PlanSteps {
    let merge = &merged.merge;
    let group = StepGroup::of(context.base, merge);
    let owners = ObjectOwners::of(context.base);
    let mut said = UpgradeReport::default();
    let staying = templates_that_stay(context, &owners, &merge.removed, &mut said);
    say(context, merge, &staying, &mut said);
    namespaces(context, merge, &mut said);
    conversions(context, merge, obstacles, &mut said);
    said.changes.extend(patches.changes.iter().cloned());
    said.findings.extend(patches.refused.iter().cloned().chain(patches.stale(merge)));
    if context.request.settings.versions == Versions::Move {
        ahead(context, &group, &mut said);
    }
    let SettledUpgrade { draft, moved } = SettledUpgrade::of(context, merge, &group, &mut said);
    let inputs = merge.inputs.iter().filter_map(|file| input(context, file, &mut said)).collect();
    bystanders(context, merge, &group, &moved, &mut said);
    let mut reduced = Reduced::of(context, draft, &merge.removed, &staying, &mut said);
    unknown_templates(context, &owners, &reduced, &mut said);
    follow_versions(context, &merged.new, &mut reduced.draft, &mut said);
    follow_class_patches(context, &mut reduced.draft, &mut said);
    let named = merge.merged.iter().filter_map(|one| Some((one.object, one.renamed.clone()?)));
    let names: BTreeMap<usize, String> = named.collect();
    let rotation = rotate(context, &owners, reduced, &names, &mut said);
    let whole = WholeUpgrade::of(context, rotation, &merged.new, merge, &mut said);
    PlanSteps { whole, staying, inputs, said }
}

impl PlanSteps {
    /// The files, what only they show, and whether the upgrade is complete.
    fn finish(
        self,
        context: Context<'_>,
        work: Work<'_, '_>,
        basis: Basis,
    ) -> Result<PlannedUpgrade, FileError> {
        let Self { whole: WholeUpgrade { rotation, brought }, staying, inputs, said } = self;
        let Rotation { reduced: Reduced { draft, tombstones, leftovers }, rotated, overlay_edits } = rotation;
        let UpgradeReport { changes, conflicts, mut findings, mut blocked, mut notes } = said;
        let Context { request, base, .. } = context;
        let cluster = request.cluster;
        let (overlay, unedited) = overlay_files(context, &overlay_edits);
        let (mut intended, refused) = draft.into_files(base, &cluster.base_folder);
        findings.extend(refused.into_iter().chain(unedited));
        for input in inputs {
            match intended.iter_mut().find(|change| change.path == input.path) {
                // A rotation renamed a template in a patch that the release rewrites.
                Some(edited) => findings.push(edited_twice(&edited.path)),
                None => intended.push(input),
            }
        }
        notes.extend(comments_that_go(base, work.input.old, &intended, &leftovers));
        let foundations = replaced_foundations(base, &intended, &findings);
        for (finding, reason) in foundations.into_iter().chain(half_moved(base, &intended)) {
            findings.push(finding.stopping(&reason));
            blocked.push(reason);
        }
        findings.extend(stale_class_patches(base, &intended, &rotated, request.schemas));
        intended.extend(overlay);
        match record(cluster, request.new, &TombstoneChanges { added: &tombstones, brought: &brought })? {
            Ok(change) => intended.extend(change),
            Err(finding) => findings.push(finding),
        }
        intended.sort_by(|a: &FileChange, b| a.path.cmp(&b.path));
        for finding in findings.iter_mut().filter(|finding| finding.rule == rules::EDIT_REFUSED) {
            let file = finding.file().map(ToString::to_string).unwrap_or_default();
            let reason = format!("{file} cannot be edited as planned.");
            finding.stops = Some(reason.clone());
            blocked.push(reason);
        }
        if blocked.is_empty() {
            let missing = incomplete(&Completed {
                work,
                base_folder: &cluster.base_folder,
                intended: &intended,
                conflicts: &conflicts,
                findings: &findings,
                rotated: &rotated,
                staying: &staying,
            });
            if let Some(reason) = lacking(missing.len()) {
                findings.extend(missing.into_iter().map(|finding| finding.stopping(&reason)));
                blocked.push(reason);
            }
        }
        blocked.dedup();
        let upgrade = Upgrade {
            target: cluster.target(),
            from: work.input.old.map(|source| source.id.clone()),
            to: Some(request.new.id().clone()),
            to_content: request.new.content(),
            kubernetes: None,
            kubernetes_now: None,
            applied_changes: None,
            release_notes: None,
            rest: Rest::default(),
            basis,
            files: Vec::new(),
            changes,
            conflicts,
            findings,
            rollouts: Vec::new(),
            components: Vec::new(),
            providers: Vec::new(),
            unasked: Vec::new(),
            services: Vec::new(),
            values: None,
            blocked,
            notes,
        };
        let rotated = rotated.into_iter().map(|rotated| rotated.id).collect();
        Ok(PlannedUpgrade { upgrade, intended, rotated, provenance: Provenance::default() })
    }
}

/// Why an upgrade blocks that lacks so many fields.
fn lacking(fields: usize) -> Option<String> {
    let subject = match fields {
        0 => return None,
        1 => "One field".to_owned(),
        _ => format!("{fields} fields"),
    };
    Some(format!("{subject} of the release would be missing from the result without an explanation."))
}

/// A file that the release replaces as a whole, and in which the upgrade has to edit something besides.
fn edited_twice(file: &RepoPath) -> Finding {
    let message = "The release replaces this file, but the upgrade must also edit it for a template's new name. Make the release's change here by hand; then the upgrade continues.";
    Finding::new(rules::EDIT_REFUSED, message).place(Place::line_of(file.clone(), 1).at_first_column())
}
