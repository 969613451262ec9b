//! What a snapshot, and what was given for it, say to the questions of one plan.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capstan_kustomize::render;
use capstan_model::ids::ClusterId;
use capstan_model::source::SourceKind;
use capstan_model::target::TargetKind;
use capstan_plan::classes::{ClassRef, Classes, class_names, named_elsewhere};
use capstan_plan::cluster::Cluster;
use capstan_plan::layout::Layout;
use capstan_plan::merge::AppliedBy;
use capstan_plan::policy;
use capstan_plan::provider_set::{self, ManagedWorkload};
use capstan_plan::settings::RepositorySettings;

use super::Fleet;
use super::classes::used_elsewhere;
use super::inputs::{FleetInputs, PlanInputs, StepInputs, Used};
use super::read_set::{ReadSet, RecordingTree};
use super::reading::{Needs, Prepared, Reading};
use super::step_facts::applied_by;

/// What a step is given, and whether that may be something else next time because a file could not be had.
pub(super) struct StepAnswers {
    pub(super) given: StepInputs,
    pub(super) prepared: Prepared,
    pub(super) failed: bool,
}

impl StepAnswers {
    /// What a step asks, as far as one knows before it is planned. Of what Flux substitutes only a source with variables
    /// asks.
    pub(super) fn first(
        fleet: &Fleet,
        Reading { cluster, effective, .. }: &Reading,
        brought_by: &SourceKind,
        has_variables: bool,
    ) -> Self {
        let mut prepared = Prepared::of(cluster);
        let reads = RecordingTree::beside(fleet.tree().as_ref(), cluster.id.folder());
        // What cannot be rendered refuses the plan, which says why.
        prepared.before =
            render::render_with(&reads, &policy::folders_of(&cluster.folder), &prepared.parsed).ok();
        let named = prepared.before.as_ref().map(|before| named_elsewhere(&before.objects));
        let outside = reads.into_read_set();
        let mut failed = outside.is_none();
        let id = &cluster.id;
        let instructions = fleet.supplement().instructions(brought_by, id);
        let (workloads, claimed) = managed_by(fleet, id);
        let given = StepInputs {
            flux: has_variables.then(|| fleet.flux_index().post_build(id)),
            own_classes: own_classes(fleet, cluster),
            retarget: instructions.retarget,
            settled: instructions.settled.clone(),
            versions: instructions.versions,
            overwrite: fleet.supplement().overwrite.clone(),
            cluster_api: fleet.cluster_api().cloned(),
            names: match applied_by(effective) {
                AppliedBy::Reconciler => fleet.supplement().names.get(id).cloned(),
                AppliedBy::Others => None,
            },
            workloads,
            claimed,
            components: Vec::new(),
            outside: outside.unwrap_or_default(),
            classes: classes_found(fleet, id, named.unwrap_or_default(), &mut failed),
        };
        Self { given, prepared, failed }
    }

    /// Adds the answers to what a plan asked back.
    pub(super) fn add(&mut self, fleet: &Fleet, cluster: &ClusterId, needs: Needs) {
        let Needs { places, classes, components } = needs;
        self.given.components.extend(fleet.supplement().supplied(components));
        self.given.outside.extend(ReadSet::at(places, fleet.tree().as_ref()));
        let found = classes_found(fleet, cluster, classes, &mut self.failed);
        self.given.classes.0.extend(found.0);
    }
}

/// What a plan was given, with the answers that its questions have in this snapshot; `None` where its
/// cluster's own folder is another one, so that it would ask other questions.
pub(super) fn inputs_now(fleet: &Fleet, all: &Arc<FleetInputs>, given: &PlanInputs) -> Option<PlanInputs> {
    let tree = fleet.tree().as_ref();
    let folder = tree.folder_id(given.cluster.folder());
    if folder != given.folder {
        return None;
    }
    let (id, outside) = (&given.cluster, fleet.supplement());
    let components = given.components.iter().map(|one| (&one.path, &one.tree));
    Some(PlanInputs {
        fleet: Arc::clone(all),
        cluster: id.clone(),
        folder,
        asked: outside.instructions(&given.brought_by, id).release.clone(),
        old: given.old.as_ref().map(|old| outside.old_release_of(old.release.clone(), old.content.clone())),
        brought_by: given.brought_by.clone(),
        said: said_of(fleet, id),
        components: outside.old_components(tree, components),
        step: match &given.step {
            Some(step) => Some(step_now(fleet, &given.brought_by, id, step)?),
            None => None,
        },
    })
}

fn step_now(fleet: &Fleet, brought_by: &SourceKind, id: &ClusterId, step: &StepInputs) -> Option<StepInputs> {
    let mut failed = false;
    let instructions = fleet.supplement().instructions(brought_by, id);
    let (workloads, claimed) = managed_by(fleet, id);
    let again = StepInputs {
        flux: step.flux.as_ref().map(|_| fleet.flux_index().post_build(id)),
        own_classes: used(fleet, id, step.own_classes.keys().map(String::as_str)),
        retarget: instructions.retarget,
        settled: instructions.settled.clone(),
        versions: instructions.versions,
        overwrite: fleet.supplement().overwrite.clone(),
        cluster_api: fleet.cluster_api().cloned(),
        names: match fleet.applied_by(id).ok()? {
            AppliedBy::Reconciler => fleet.supplement().names.get(id).cloned(),
            AppliedBy::Others => None,
        },
        workloads,
        claimed,
        components: fleet.supplement().supplied(step.components.iter().map(|(one, _)| one.clone())).collect(),
        outside: step.outside.now(fleet.tree().as_ref()),
        classes: classes_found(fleet, id, step.classes.0.keys().cloned(), &mut failed),
    };
    (!failed).then_some(again)
}

/// What the inventory says of a cluster, in a digest; `None` where it says nothing.
pub(super) fn said_of(fleet: &Fleet, id: &ClusterId) -> Option<String> {
    fleet.inventory()?.said_of(id.folder())
}

/// The clusters that the management cluster of a provider set runs: those that say what they need, and all of them.
/// None for a cluster.
fn managed_by(fleet: &Fleet, id: &ClusterId) -> (Vec<ManagedWorkload>, Vec<ClusterId>) {
    let (layout, settings) = (fleet.layout(), fleet.settings());
    if !is_named_set(layout, settings, id) {
        return Default::default();
    }
    let all = fleet.wide().workloads(fleet.tree().as_ref(), layout);
    let claimed = provider_set::claimed_with(settings, id, fleet.clusters());
    (provider_set::workloads_of(settings, id, all), claimed)
}

/// Whether it is a provider set of a management cluster that the settings name.
fn is_named_set(layout: &Layout, settings: &RepositorySettings, id: &ClusterId) -> bool {
    let is_set = layout.target(id.as_str()).is_some_and(|one| one.kind == TargetKind::Providers);
    is_set && settings.providers_of(id).is_some()
}

/// The classes of a cluster's base, and whether Clusters of other folders use them. Only asked for where the base
/// has one, because it reads the whole fleet.
pub(super) fn own_classes(fleet: &Fleet, cluster: &Cluster) -> BTreeMap<String, Used> {
    let own: BTreeSet<&str> = class_names(cluster);
    used(fleet, &cluster.id, own)
}

fn used<'c>(
    fleet: &Fleet,
    cluster: &ClusterId,
    classes: impl IntoIterator<Item = &'c str>,
) -> BTreeMap<String, Used> {
    let used = |class: &'c str| {
        let elsewhere = !used_elsewhere(fleet, cluster, [class]).is_empty();
        (class.to_owned(), if elsewhere { Used::Elsewhere } else { Used::Here })
    };
    classes.into_iter().map(used).collect()
}

/// What these classes are for a cluster.
fn classes_found(
    fleet: &Fleet,
    cluster: &ClusterId,
    classes: impl IntoIterator<Item = ClassRef>,
    failed: &mut bool,
) -> Classes {
    let find = |class| {
        let answer = fleet.wide().elsewhere.find(fleet.tree().as_ref(), fleet.layout(), class, cluster);
        *failed |= answer.failed;
        answer.found
    };
    Classes(classes.into_iter().map(find).collect())
}
