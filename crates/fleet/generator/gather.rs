//! What one cluster's plan is given, asked of the snapshot.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capstan_kustomize::render;
use capstan_model::ids::{ClusterId, ReleaseName};
use capstan_model::source::SourceKind;
use capstan_model::target::TargetKind;
use capstan_model::tree::{RepoPath, TreeId};
use capstan_plan::classes::{ClassRef, Classes, class_names, named_elsewhere};
use capstan_plan::cluster::Cluster;
use capstan_plan::merge::AppliedBy;
use capstan_plan::path::Standing;
use capstan_plan::policy;
use capstan_plan::provider_set::{self, ManagedWorkload};
use capstan_providers::{Supply, Wanted};

use super::Fleet;
use super::fleet_inputs::{ReleasesIn, read_releases};
use super::inputs::{
    Conditions, FleetInputs, OldComponentInput, OldReleaseInput, PlanInputs, Provided, StepInputs, Used,
};
use super::planning::{Contents, Made, Needs, Offered, Prepared, Reading, Unplanned, applied_by};
use super::read_set::{ReadSet, RecordingTree};
use super::refused::Refused;
use super::releases::Home;

/// How often a plan may ask for more: each time leads to files that the last ones name.
const ROUNDS: usize = 64;

/// A plan, with all that it was given.
pub(super) struct Gathered {
    pub(super) made: Made,
    pub(super) offered: Offered,
    pub(super) step: Option<StepInputs>,
    /// The cluster's folder.
    folder: Option<TreeId>,
    /// What the inventory says of it.
    said: Option<String>,
    /// The components of its old render.
    components: Vec<OldComponentInput>,
}

/// What a step is given, and whether that may be something else next time because a file could not be had.
pub(super) struct StepAnswers {
    given: StepInputs,
    prepared: Prepared,
    failed: bool,
}

impl Gathered {
    /// All that the plan was given.
    pub(super) fn inputs(&self, fleet: &Arc<FleetInputs>, asked: Option<&ReleaseName>) -> PlanInputs {
        PlanInputs {
            fleet: Arc::clone(fleet),
            cluster: self.offered.reading.cluster.id.clone(),
            folder: self.folder.clone(),
            asked: asked.cloned(),
            old: self.offered.old.clone(),
            brought_by: self.offered.brought_by.clone(),
            said: self.said.clone(),
            components: self.components.clone(),
            step: self.step.clone(),
        }
    }
}

impl Fleet {
    /// What holds for the plans of all clusters.
    pub(super) const fn conditions(&self) -> Conditions<'_> {
        Conditions { settings: &self.settings, today: self.today }
    }

    /// What the plans of all clusters are given.
    pub(super) fn fleet_inputs(&self) -> Arc<FleetInputs> {
        if let Some(known) = &self.known {
            return Arc::clone(known.given());
        }
        let tree = self.releases_tree();
        let elsewhere = match &self.releases {
            Home::Elsewhere(tree) => tree.folder_id(&RepoPath::root()),
            Home::Here | Home::Missing(_) => None,
        };
        let releases = ReleasesIn { tree, layout: &self.releases_layout(), elsewhere };
        let definitions = self.wide.defined(self.tree.as_ref(), &self.layout);
        // The catalogue is known; what reading it looks at is not.
        Arc::new(read_releases(self.conditions(), &releases, definitions).inputs)
    }

    /// A cluster, and what it is offered.
    ///
    /// # Errors
    /// A file of it that cannot be read; no such release.
    pub(super) fn offered(&self, id: &ClusterId, asked: Option<&ReleaseName>) -> Result<Offered, Refused> {
        self.require_releases()?;
        let reading = Reading::of(self.conditions(), self, id)?;
        let old = self.old_release_input(&reading.standing);
        reading.offer(self.conditions(), self, old, asked)
    }

    /// Plans a cluster: asks, and answers what the plan asks back, until there is a plan.
    ///
    /// # Errors
    /// As [`Self::plan`].
    pub(super) fn gather(&self, id: &ClusterId, asked: Option<&ReleaseName>) -> Result<Gathered, Refused> {
        self.gather_offered(self.offered(id, asked)?)
    }

    /// The same of what it is offered.
    ///
    /// # Errors
    /// As [`Self::plan`].
    pub(super) fn gather_offered(&self, offered: Offered) -> Result<Gathered, Refused> {
        let id = offered.reading.cluster.id.clone();
        let folder = self.tree.folder_id(id.folder());
        let said = self.said_of(&id);
        let record = offered.reading.valued.record.as_ref();
        let components = self.old_components(
            record.into_iter().flat_map(|record| record.components.iter().map(|(path, tree)| (path, tree))),
        );
        let Some(step) = offered.step() else {
            let made = offered.nothing(self.conditions(), self);
            return Ok(Gathered { made, offered, step: None, folder, said, components });
        };
        let plan = |given: &_, prepared: &_| step.plan(self.conditions(), self, given, prepared);
        let has_variables = step.sources(self.conditions(), self)?.have_variables();
        let asked = (&offered.reading, &offered.brought_by, has_variables);
        let (made, answers) = self.answering(asked, plan)?;
        let made = Made { failed: made.failed || answers.failed, ..made };
        Ok(Gathered { made, step: Some(answers.given), offered, folder, said, components })
    }

    /// What the inventory says of a cluster, in a digest; `None` where it says nothing. Of one that cannot be read it
    /// is where.
    pub(super) fn said_of(&self, id: &ClusterId) -> Option<String> {
        let inventory = Contents::inventory(self)?;
        if let Some((why, place)) = inventory.unreadable() {
            return Some(format!("{place}: {why}"));
        }
        inventory.digest_in(id.folder()).map(str::to_owned)
    }

    /// Whether components are at hand as they were when a cluster's base was made.
    fn old_components<'c>(
        &self,
        recorded: impl Iterator<Item = (&'c RepoPath, &'c TreeId)>,
    ) -> Vec<OldComponentInput> {
        let one = |(path, tree): (&RepoPath, &TreeId)| {
            let is_given = self.provided.contains_key(&tree.clone().into());
            OldComponentInput {
                stands: self.tree.folder_id(path).as_ref() == Some(tree),
                provided: if is_given { Provided::Yes } else { Provided::No },
                path: path.clone(),
                tree: tree.clone(),
            }
        };
        recorded.map(one).collect()
    }

    /// Asks something of a step, and answers what it asks back, until there is an answer. Of what Flux substitutes only a
    /// source with variables asks.
    pub(super) fn answering<T>(
        &self,
        step: (&Reading, &SourceKind, bool),
        ask: impl Fn(&StepInputs, &Prepared) -> Result<T, Unplanned>,
    ) -> Result<(T, StepAnswers), Refused> {
        let mut answers = self.step_answers(step);
        for _ in 0..ROUNDS {
            match ask(&answers.given, &answers.prepared) {
                Ok(answer) => return Ok((answer, answers)),
                Err(Unplanned::Refused(refused)) => return Err(refused),
                Err(Unplanned::Needs(needs)) => self.answer(&step.0.cluster.id, needs, &mut answers),
            }
        }
        let cluster = &step.0.cluster.id;
        Err(Refused {
            message: format!(
                "{cluster} reads files outside of its folder that name others, more than {ROUNDS} deep: let its \
                 kustomizations name what they need themselves"
            ),
            place: None,
        })
    }

    /// What is known of the release that a cluster comes from.
    pub(super) fn old_release_input(&self, standing: &Standing) -> Option<OldReleaseInput> {
        let release = standing.release.clone()?;
        Some(self.old_release_now(&OldReleaseInput {
            content: standing.content.clone(),
            provided: Provided::No,
            past: None,
            release,
        }))
    }

    fn old_release_now(&self, old: &OldReleaseInput) -> OldReleaseInput {
        let is_provided = old.content.as_ref().is_some_and(|content| self.provided.contains_key(content));
        let past = self.past.get(&old.release).map(|past| (past.tree.clone(), past.found_in.clone()));
        let provided = if is_provided { Provided::Yes } else { Provided::No };
        OldReleaseInput { release: old.release.clone(), content: old.content.clone(), provided, past }
    }

    /// What a step asks, as far as one knows before it is planned.
    fn step_answers(
        &self,
        (Reading { cluster, effective, .. }, brought_by, has_variables): (&Reading, &SourceKind, bool),
    ) -> StepAnswers {
        let mut prepared = Prepared::of(cluster);
        let reads = RecordingTree::beside(self.tree.as_ref(), cluster.id.folder());
        // What cannot be rendered refuses the plan, which says why.
        prepared.before =
            render::render_with(&reads, &policy::folders_of(&cluster.folder), &prepared.parsed).ok();
        let named = prepared.before.as_ref().map(|before| named_elsewhere(&before.objects));
        let outside = reads.into_read_set();
        let mut failed = outside.is_none();
        let names = match applied_by(effective) {
            AppliedBy::Reconciler => self.live_names(&cluster.id).cloned(),
            AppliedBy::Others => None,
        };
        let instructions = self.instructions(brought_by, &cluster.id);
        let given = StepInputs {
            flux: has_variables.then(|| self.flux_index().post_build(&cluster.id)),
            own_classes: self.own_classes(cluster),
            retarget: instructions.retarget,
            settled: instructions.settled.clone(),
            versions: instructions.versions,
            overwrite: self.overwrite.clone(),
            cluster_api: self.cluster_api().cloned(),
            names,
            workloads: self.workloads(&cluster.id),
            claimed: self.claimed_with(&cluster.id),
            components: Vec::new(),
            outside: outside.unwrap_or_default(),
            classes: self.classes_found(&cluster.id, named.unwrap_or_default(), &mut failed),
        };
        StepAnswers { given, prepared, failed }
    }

    /// The clusters that the management cluster of a provider set runs; none for a cluster.
    fn workloads(&self, id: &ClusterId) -> Vec<ManagedWorkload> {
        if !self.is_named_set(id) {
            return Vec::new();
        }
        let all = self.wide.workloads(self.tree.as_ref(), &self.layout);
        provider_set::workloads_of(&self.settings, id, all)
    }

    /// All clusters that the management cluster of a provider set runs; none for a cluster.
    fn claimed_with(&self, id: &ClusterId) -> Vec<ClusterId> {
        if !self.is_named_set(id) {
            return Vec::new();
        }
        provider_set::claimed_with(&self.settings, id, self.clusters())
    }

    /// Whether it is a provider set of a management cluster that the settings name.
    fn is_named_set(&self, id: &ClusterId) -> bool {
        let is_set = self.layout.target(id.as_str()).is_some_and(|one| one.kind == TargetKind::Providers);
        is_set && self.settings.providers_of(id).is_some()
    }

    /// The digest of what is known of each of these components; `None` if nobody asked for them.
    fn answers(&self, wanted: impl IntoIterator<Item = Wanted>) -> Vec<(Wanted, Option<String>)> {
        let answer = |wanted: Wanted| {
            let digest = self.supplies.of(&wanted).map(Supply::digest);
            (wanted, digest)
        };
        wanted.into_iter().map(answer).collect()
    }

    fn answer(&self, cluster: &ClusterId, needs: Needs, answers: &mut StepAnswers) {
        let Needs { places, classes, components } = needs;
        answers.given.components.extend(self.answers(components));
        answers.given.outside.extend(ReadSet::at(places, self.tree.as_ref()));
        let found = self.classes_found(cluster, classes, &mut answers.failed);
        answers.given.classes.0.extend(found.0);
    }

    /// The classes of a cluster's base, and whether Clusters of other folders use them. Only asked for where the base
    /// has one, because it reads the whole fleet.
    pub(super) fn own_classes(&self, cluster: &Cluster) -> BTreeMap<String, Used> {
        let own: BTreeSet<&str> = class_names(cluster);
        self.used(&cluster.id, own)
    }

    fn used<'c>(
        &self,
        cluster: &ClusterId,
        classes: impl IntoIterator<Item = &'c str>,
    ) -> BTreeMap<String, Used> {
        let used = |class: &'c str| {
            let elsewhere = !self.used_elsewhere(cluster, [class]).is_empty();
            (class.to_owned(), if elsewhere { Used::Elsewhere } else { Used::Here })
        };
        classes.into_iter().map(used).collect()
    }

    /// What these classes are for a cluster.
    fn classes_found(
        &self,
        cluster: &ClusterId,
        classes: impl IntoIterator<Item = ClassRef>,
        failed: &mut bool,
    ) -> Classes {
        let find = |class| {
            let answer = self.class_elsewhere(class, cluster);
            *failed |= answer.failed;
            answer.found
        };
        Classes(classes.into_iter().map(find).collect())
    }

    /// What a plan was given, with the answers that its questions have in this snapshot; `None` where its
    /// cluster's own folder is another one, so that it would ask other questions.
    pub(super) fn inputs_now(&self, fleet: &Arc<FleetInputs>, given: &PlanInputs) -> Option<PlanInputs> {
        let folder = self.tree.folder_id(given.cluster.folder());
        if folder != given.folder {
            return None;
        }
        Some(PlanInputs {
            fleet: Arc::clone(fleet),
            cluster: given.cluster.clone(),
            folder,
            asked: self.instructions(&given.brought_by, &given.cluster).release.clone(),
            old: given.old.as_ref().map(|old| self.old_release_now(old)),
            brought_by: given.brought_by.clone(),
            said: self.said_of(&given.cluster),
            components: self.old_components(given.components.iter().map(|one| (&one.path, &one.tree))),
            step: match &given.step {
                Some(step) => Some(self.step_now(&given.brought_by, &given.cluster, step)?),
                None => None,
            },
        })
    }

    fn step_now(
        &self,
        brought_by: &SourceKind,
        cluster: &ClusterId,
        step: &StepInputs,
    ) -> Option<StepInputs> {
        let mut failed = false;
        let instructions = self.instructions(brought_by, cluster);
        let again = StepInputs {
            flux: step.flux.as_ref().map(|_| self.flux_index().post_build(cluster)),
            own_classes: self.used(cluster, step.own_classes.keys().map(String::as_str)),
            retarget: instructions.retarget,
            settled: instructions.settled.clone(),
            versions: instructions.versions,
            overwrite: self.overwrite.clone(),
            cluster_api: self.cluster_api().cloned(),
            names: match self.applied_by(cluster).ok()? {
                AppliedBy::Reconciler => self.live_names(cluster).cloned(),
                AppliedBy::Others => None,
            },
            workloads: self.workloads(cluster),
            claimed: self.claimed_with(cluster),
            components: self.answers(step.components.iter().map(|(wanted, _)| wanted.clone())),
            outside: step.outside.now(self.tree.as_ref()),
            classes: self.classes_found(cluster, step.classes.0.keys().cloned(), &mut failed),
        };
        (!failed).then_some(again)
    }
}
