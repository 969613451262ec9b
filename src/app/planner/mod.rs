//! What the bot asks of the generator: a snapshot in, upgrades and judgements out.
//!
//! A trait, so that the use cases can be tested with a planner of a few lines; the real one is the
//! generator that the command line uses too.

mod generator;

use std::collections::BTreeMap;
use std::sync::Arc;

use capstan_model::finding::FileError;
use capstan_model::ids::{ClusterId, ContentId};
use capstan_model::source::SourceKind;
use capstan_model::tree::Tree;
use capstan_plan::proposal::{ProposalId, Scope};
use capstan_plan::release::ReleaseContent;
use capstan_plan::settings::RepositorySettings;
use capstan_plan::templates::TemplateNames;
use capstan_plan::upgrade::Upgrade;
use capstan_report::JudgedCluster;
use jiff::civil::Date;

pub use generator::Generator;

/// The live names of a claimed cluster's templates, as its reconciler told them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LiveNames {
    /// For what is applied.
    pub before: TemplateNames,
    /// For what would be applied.
    pub after: TemplateNames,
}

/// Opens snapshots.
pub trait Planner: Send + Sync {
    /// The kinds of sources that are planned: branches of other kinds are not Capstan's.
    fn kinds(&self) -> Vec<SourceKind> {
        vec![SourceKind::RELEASE]
    }

    /// RecordingTree settings, releases and clusters of a snapshot. `today` (UTC) is what holds are judged by.
    ///
    /// # Errors
    /// A `.capstan.yaml` that is wrong: nothing is planned under settings that nobody meant.
    fn open(&self, tree: Arc<dyn Tree>, today: Date) -> Result<Box<dyn OpenFleet>, FileError>;

    /// What changes for these clusters between two snapshots, and what the rules say of both, under
    /// the given settings. A cluster that cannot be read or rendered is judged by a finding.
    /// `today` (UTC) is the day on which it is judged; `live` what is known of live names.
    fn judge(
        &self,
        before: Arc<dyn Tree>,
        after: Arc<dyn Tree>,
        settings: &RepositorySettings,
        clusters: &[ClusterId],
        live: &BTreeMap<ClusterId, LiveNames>,
        today: Date,
    ) -> Vec<JudgedCluster>;

    /// The clusters whose Clusters use a ClusterClass that lies elsewhere and is another one in the second snapshot,
    /// itself or a template that it names; ordered by cluster.
    fn touched_through_classes(
        &self,
        before: Arc<dyn Tree>,
        after: Arc<dyn Tree>,
        settings: &RepositorySettings,
    ) -> Vec<ClusterId> {
        let _no_class_is_known = (before, after, settings);
        Vec::new()
    }

    /// The targets of a snapshot under the given settings.
    fn scopes(&self, tree: Arc<dyn Tree>, settings: &RepositorySettings) -> Vec<Scope>;
}

/// A snapshot, ready to plan.
pub trait OpenFleet: Send + Sync {
    /// The settings in force.
    fn settings(&self) -> &RepositorySettings;
    /// Its targets and where each may be written, ordered.
    fn scopes(&self) -> Vec<Scope>;
    /// The repository that holds the releases, where the settings name another one.
    fn releases_repository(&self) -> Option<String> {
        None
    }
    /// Gives that repository's content, to be used by this one.
    ///
    /// # Errors
    /// It does not let `consumer` use its releases; why, as a sentence without a full stop.
    fn provide_releases(&mut self, releases: Arc<dyn Tree>, consumer: &str) -> Result<(), String> {
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
    /// The live names of the clusters' templates, as reconcilers reported them. A planner that plans by contents
    /// alone, as those of tests, has no use for them.
    fn know_names(&mut self, names: BTreeMap<ClusterId, Arc<TemplateNames>>) {
        drop(names);
    }
    /// The upgrade of every target from every kind of source, or why and where it cannot be planned.
    fn plan_all(&self) -> Vec<(ProposalId, Result<Arc<Upgrade>, String>)>;
}
