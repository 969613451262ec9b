//! What the bot asks of the generator: a snapshot in, upgrades and judgements out.
//!
//! A trait, so that the use cases can be tested with a planner of a few lines; the real one is the
//! generator that the command line uses too.

mod generator;
pub mod process;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capstan_campaign::membership::WaveCandidate;
use capstan_kustomize::render::Folders;
use capstan_model::finding::FileError;
use capstan_model::ids::{ClusterId, ContentId, ReleaseName};
use capstan_model::source::SourceKind;
use capstan_model::tree::{RepoPath, Tree, TreeEntry};
use capstan_plan::creation::CreatedCluster;
use capstan_plan::inventory::InventoryChange;
use capstan_plan::onboarding::Onboarding;
use capstan_plan::proposal::{ProposalId, Scope};
use capstan_plan::release::ReleaseContent;
use capstan_plan::retirement::RetiredCluster;
use capstan_plan::settings::RepositorySettings;
use capstan_plan::templates::TemplateNames;
use capstan_plan::upgrade::{SettledConflict, Upgrade, Versions};
use capstan_plan::verbs::ClusterFrom;
use capstan_providers::Supplies;
use capstan_report::{JudgedCluster, JudgedReleases};
use jiff::Timestamp;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::generator::NotPossible;
pub use generator::Generator;

/// The live names of a claimed cluster's templates, as its reconciler reported them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveNames {
    /// For what is applied.
    pub before: TemplateNames,
    /// For what would be applied.
    pub after: TemplateNames,
}

/// What clusters are judged by.
#[derive(Clone, Copy)]
pub struct JudgedBy<'a> {
    /// The settings in force.
    pub settings: &'a RepositorySettings,
    /// All that are judged.
    pub clusters: &'a [ClusterId],
    /// What is known of live names.
    pub live: &'a BTreeMap<ClusterId, LiveNames>,
    /// The components that provider sets lack and that were requested, or why they are missing.
    pub supplies: &'a Arc<Supplies>,
    /// The day in UTC on which they are judged.
    pub today: Date,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlannerFailed {
    /// What was asked about cannot be worked on within the limits, and would not be a second time; one sentence or two.
    #[error("{0}")]
    Exceeded(String),
    /// Nothing that was asked about is to blame: worth another try later.
    #[error("{0}")]
    Unavailable(String),
}

/// Why a snapshot is not opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenFailed {
    /// A `.capstan.yaml` that is wrong: nothing is planned with wrong settings.
    #[error(transparent)]
    Settings(#[from] FileError),
    /// There is no answer.
    #[error(transparent)]
    Planner(#[from] PlannerFailed),
}

/// Why the releases of another repository are not used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReleasesFailed {
    /// It does not let this one use them; why, as a sentence without a full stop.
    #[error("{0}")]
    Refused(String),
    /// There is no answer.
    #[error(transparent)]
    Planner(#[from] PlannerFailed),
}

/// The files of a cluster, by path.
pub type MadeOf = BTreeMap<RepoPath, TreeEntry>;

/// The files in a folder and below it.
fn files_in(tree: &dyn Tree, folder: &RepoPath) -> MadeOf {
    tree.entries_in(folder).iter().map(|entry| (entry.path.clone(), entry.clone())).collect()
}

/// Opens snapshots. A call may take long: do not make it on a thread that others wait for.
pub trait Planner: Send + Sync {
    /// The kinds of sources that are planned: branches of other kinds are not Capstan's.
    fn kinds(&self) -> Vec<SourceKind> {
        vec![SourceKind::RELEASE, SourceKind::INVENTORY]
    }

    /// The same planner for one job: its work ends when the job has ended. `None` if nothing that it does takes long.
    fn for_job(&self, _ended: &CancellationToken) -> Option<Arc<dyn Planner>> {
        None
    }

    /// When that of what was asked for this job may be begun again which took too long, in the order in which it was found.
    fn pauses(&self) -> Vec<Timestamp> {
        Vec::new()
    }

    /// Reads settings, releases and clusters of a snapshot. `today` (UTC) is what holds are judged by.
    ///
    /// # Errors
    /// Wrong settings, or no answer.
    fn open(&self, tree: Arc<dyn Tree>, today: Date) -> Result<Box<dyn OpenFleet>, OpenFailed>;

    /// [`Self::open`] under settings from elsewhere: those of the branch that a pull request wants to change, say. A
    /// planner that has no settings of its own goes by the snapshot's.
    ///
    /// # Errors
    /// No answer.
    fn open_under(
        &self,
        tree: Arc<dyn Tree>,
        settings: &RepositorySettings,
        today: Date,
    ) -> Result<Box<dyn OpenFleet>, OpenFailed> {
        let _they_are_the_snapshots = settings;
        self.open(tree, today)
    }

    /// The releases that differ between two snapshots, and what the rules say of the releases in both.
    ///
    /// # Errors
    /// No answer.
    fn judge_releases(
        &self,
        before: Arc<dyn Tree>,
        after: Arc<dyn Tree>,
        settings: &RepositorySettings,
        today: Date,
    ) -> Result<JudgedReleases, PlannerFailed> {
        let _no_release_is_known = (before, after, settings, today);
        Ok(JudgedReleases::default())
    }

    /// What changes for clusters between two snapshots, and what the rules say of both. A cluster that cannot be read
    /// or rendered is judged by a finding.
    ///
    /// # Errors
    /// No answer.
    fn judge(
        &self,
        before: Arc<dyn Tree>,
        after: Arc<dyn Tree>,
        by: JudgedBy<'_>,
    ) -> Result<Vec<JudgedCluster>, PlannerFailed>;

    /// The clusters of these targets whose source differs in the second snapshot: the files of their folders, or what
    /// their render reads elsewhere. A planner that does not render compares the folders alone.
    ///
    /// # Errors
    /// No answer.
    fn touched(
        &self,
        before: Arc<dyn Tree>,
        after: Arc<dyn Tree>,
        scopes: &[Scope],
    ) -> Result<Vec<ClusterId>, PlannerFailed> {
        let differs =
            |cluster: &&ClusterId| before.folder_id(cluster.folder()) != after.folder_id(cluster.folder());
        Ok(scopes.iter().filter_map(|scope| scope.target.id()).filter(differs).cloned().collect())
    }

    /// The clusters that use a ClusterClass from elsewhere which differs in the second snapshot, itself or a template
    /// that it names; ordered by cluster.
    ///
    /// # Errors
    /// No answer.
    fn touched_through_classes(
        &self,
        before: Arc<dyn Tree>,
        after: Arc<dyn Tree>,
        settings: &RepositorySettings,
    ) -> Result<Vec<ClusterId>, PlannerFailed> {
        let _no_class_is_known = (before, after, settings);
        Ok(Vec::new())
    }

    /// What clusters are made of: the files of their folders, and those that their renders read besides; in their
    /// order.
    ///
    /// # Errors
    /// No answer.
    fn made_of(&self, tree: Arc<dyn Tree>, clusters: &[Folders]) -> Result<Vec<MadeOf>, PlannerFailed> {
        Ok(clusters.iter().map(|folders| files_in(tree.as_ref(), &folders.cluster)).collect())
    }

    /// The clusters that the change from one snapshot to another may concern through the inventory, schemas and
    /// templates; `None` if it changes none of these.
    ///
    /// # Errors
    /// No answer.
    fn inventory_change(
        &self,
        before: Arc<dyn Tree>,
        after: Arc<dyn Tree>,
        settings: &RepositorySettings,
        today: Date,
    ) -> Result<Option<InventoryChange>, PlannerFailed> {
        let _no_inventory_is_known = (before, after, settings, today);
        Ok(None)
    }

    /// The targets of a snapshot under the given settings.
    ///
    /// # Errors
    /// No answer.
    fn scopes(&self, tree: Arc<dyn Tree>, settings: &RepositorySettings)
    -> Result<Vec<Scope>, PlannerFailed>;

    /// What a snapshot without settings looks like under those that would be proposed; `None` where nothing in it is
    /// Capstan's concern.
    ///
    /// # Errors
    /// No answer.
    fn onboard(&self, tree: Arc<dyn Tree>, today: Date) -> Result<Option<Onboarding>, PlannerFailed> {
        let _nobody_is_asked = (tree, today);
        Ok(None)
    }
}

/// The upgrade of every target, or why and where it cannot be planned.
pub type PlanResults = Vec<(ProposalId, Result<Arc<Upgrade>, String>)>;

/// A snapshot, ready to plan.
pub trait OpenFleet: Send + Sync {
    /// The settings in force.
    fn settings(&self) -> &RepositorySettings;
    /// Its targets and where each may be written, ordered.
    fn scopes(&self) -> Vec<Scope>;
    /// Those of clusters that are defined and have no folder yet. A planner that knows no inventory has none.
    fn scopes_to_come(&self) -> Vec<Scope> {
        Vec::new()
    }
    /// The repository that holds the releases, where the settings name another one.
    fn releases_repository(&self) -> Option<String> {
        None
    }
    /// Gives that repository's content, to be used by this one.
    ///
    /// # Errors
    /// It does not let `consumer` use its releases; no answer.
    fn provide_releases(&mut self, releases: Arc<dyn Tree>, consumer: &str) -> Result<(), ReleasesFailed> {
        let _nothing_is_elsewhere = (releases, consumer);
        Ok(())
    }
    /// Says why that repository's content cannot be had: no cluster is planned then.
    fn refuse_releases(&mut self, why: String) {
        drop(why);
    }
    /// Old releases that clusters record and the snapshot does not hold.
    fn missing_contents(&self) -> Vec<ContentId>;
    /// Gives one of them; its paths start at the release's folder.
    fn provide_content(&mut self, id: ContentId, content: ReleaseContent);
    /// Lets an upgrade edit, in its cluster's overlay, the names of templates that it rotates.
    fn allow_retarget(&mut self, proposal: &ProposalId);
    /// Has a proposal offer that release, instead of the one that it would offer; that one again without. A planner
    /// that knows no releases has no use for it.
    fn ask_for(&mut self, proposal: &ProposalId, release: Option<ReleaseName>) {
        let _no_releases = (proposal, release);
    }
    /// Gives the conflicts of a proposal that people settled, instead of those that were given before. A planner that
    /// finds no conflicts has no use for them.
    fn settle(&mut self, proposal: &ProposalId, settled: Vec<SettledConflict>) {
        let _no_conflicts = (proposal, settled);
    }
    /// Says whether versions and images of a proposal's target move with what it offers. A planner that knows no
    /// versions has no use for it.
    fn set_versions(&mut self, proposal: &ProposalId, versions: Versions) {
        let _no_versions = (proposal, versions);
    }
    /// The live names of the clusters' templates, as reconcilers reported them. A planner that plans by contents
    /// alone, as those of tests, has no use for them.
    fn know_names(&mut self, names: BTreeMap<ClusterId, Arc<TemplateNames>>) {
        drop(names);
    }
    /// Gives the requested components that plans lack, or why they are missing, in place of those given before: see
    /// [`Upgrade::unasked`]. A planner that knows no providers has no use for it.
    fn provide_components(&mut self, supplies: Arc<Supplies>) {
        drop(supplies);
    }
    /// What the waves of the settings' campaigns tell clusters apart by: labels and fields of their `Cluster`, as it is
    /// rendered. One that cannot be rendered is not among them. A planner that renders nothing has none.
    ///
    /// # Errors
    /// No answer.
    fn candidates(&self) -> Result<Vec<WaveCandidate>, PlannerFailed> {
        Ok(Vec::new())
    }
    /// Makes a cluster that is to come.
    ///
    /// # Errors
    /// No answer.
    fn create(&self, wanted: &ClusterFrom) -> Result<Result<CreatedCluster, NotPossible>, PlannerFailed> {
        Ok(Err(NotPossible::Failed(format!("nothing here makes {}", wanted.cluster))))
    }
    /// What deletes a cluster that is to go.
    ///
    /// # Errors
    /// No answer.
    fn retire(&self, cluster: &ClusterId) -> Result<Result<RetiredCluster, NotPossible>, PlannerFailed> {
        Ok(Err(NotPossible::Failed(format!("nothing here deletes {cluster}"))))
    }
    /// The upgrade of every target from every kind of source, or why and where it cannot be planned.
    ///
    /// # Errors
    /// No answer. That one target alone cannot be worked on is its own answer.
    fn plan_all(&self) -> Result<PlanResults, PlannerFailed>;
    /// [`Self::plan_all`] of these clusters alone; those that are not there are passed over.
    ///
    /// # Errors
    /// As [`Self::plan_all`].
    fn plan_some(&self, clusters: &BTreeSet<ClusterId>) -> Result<PlanResults, PlannerFailed> {
        let mut plans = self.plan_all()?;
        plans.retain(|(proposal, _)| proposal.target.id().is_some_and(|id| clusters.contains(id)));
        Ok(plans)
    }
}
