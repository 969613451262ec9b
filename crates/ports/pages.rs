//! What the pages show, read a page at a time and only as far as somebody may see.

use std::collections::BTreeSet;

use async_trait::async_trait;
use capstan_facts::{Agent, CampaignProgress};
use capstan_live::agent::{Progress, RolloutReport};
use capstan_report::TargetDetail;
use jiff::Timestamp;

use super::{FleetJob, RecordsError};

/// Which repositories somebody may see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VisibleRepositories {
    /// All of them, and what belongs to none.
    Everything,
    /// These, by GitHub's id; never what belongs to several or to none.
    Repositories(BTreeSet<u64>),
}

impl VisibleRepositories {
    /// Whether a repository may be seen.
    pub fn includes(&self, repository: u64) -> bool {
        match self {
            Self::Everything => true,
            Self::Repositories(those) => those.contains(&repository),
        }
    }
}

/// Which part of a long list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListExtent {
    /// How many come before.
    pub skip: u64,
    /// How many at most.
    pub take: u32,
}

/// A part of a list that nobody counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListPart<T> {
    pub items: Vec<T>,
    /// Whether there are more behind them.
    pub more: bool,
}

/// What becomes of an order to a campaign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ordered {
    /// It is recorded under this id.
    Recorded(String),
    /// So many orders of that person wait in that repository that there is no room for another one.
    TooMany,
    /// The repository is not known.
    NotThere,
}

/// Orders of one person that may wait in a repository. With a bound a person none crowds another one's out.
pub const MOST_ORDERS: u32 = 10;

/// What narrows the list of clusters, and its order; empty texts narrow nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClusterFilter {
    /// Words that all occur in its name, its repository, its releases, its reason or its hold.
    pub text: String,
    pub state: String,
    /// `owner/name`.
    pub repository: String,
    /// Exactly that version of Kubernetes.
    pub kubernetes: String,
    /// In which order they come.
    pub order: ClusterOrder,
}

/// What orders the list of clusters. Those that say nothing of it come last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum SortKey {
    /// What needs attention, then by repository and name.
    Need,
    /// Repository and name.
    #[default]
    Cluster,
    /// The version of Kubernetes.
    Kubernetes,
    Release,
    /// Since when it is in its state.
    Since,
    Wave,
    /// How many machines its offer replaces.
    Machines,
    /// The number of its proposal.
    Proposal,
    /// The conclusion of its check.
    Check,
}

impl SortKey {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Need,
        Self::Cluster,
        Self::Kubernetes,
        Self::Release,
        Self::Since,
        Self::Wave,
        Self::Machines,
        Self::Proposal,
        Self::Check,
    ];

    /// The word for it in an address.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Need => "need",
            Self::Cluster => "cluster",
            Self::Kubernetes => "kubernetes",
            Self::Release => "release",
            Self::Since => "since",
            Self::Wave => "wave",
            Self::Machines => "machines",
            Self::Proposal => "proposal",
            Self::Check => "check",
        }
    }
}

/// How the list of clusters is ordered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClusterOrder {
    /// By what.
    pub key: SortKey,
    /// The greatest first.
    pub is_reversed: bool,
}

/// How many clusters have a version of Kubernetes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionShare {
    /// The version; `None` where it is not known.
    pub version: Option<String>,
    /// How many.
    pub clusters: u64,
}

/// A cluster whose machines are being replaced, or got stuck at that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownRolling {
    /// `owner/name`.
    pub repository_name: String,
    /// `gauss/peu01`
    pub target: String,
    /// What its reconciler reported last.
    pub report: RolloutReport,
}

/// A cluster, or whatever else receives change, as one kind of source finds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownTarget {
    /// The repository's id.
    pub repository: u64,
    /// `owner/name`.
    pub repository_name: String,
    /// `gauss/peu01`
    pub target: String,
    /// The kind of source: `release`.
    pub kind: String,
    /// Its state in a word, as it was stored; by another version it may be one that is not known here.
    pub state: String,
    /// Why, with Markdown's backticks in it.
    pub reason: String,
    /// What it is at.
    pub at: Option<String>,
    /// What there is for it.
    pub offered: Option<String>,
    /// Who holds it back, why, and until when, with Markdown's backticks in it.
    pub hold: Option<String>,
    /// Since when it is in its state, where that is known.
    pub since: Option<Timestamp>,
    /// The version of Kubernetes that it has.
    pub kubernetes: Option<String>,
    /// The one that its offer brings, where that is another.
    pub kubernetes_offered: Option<String>,
    pub wave: Option<String>,
    /// How many machines its offer replaces.
    pub machines: Option<u64>,
    /// Whether it replaces others besides, whose number Git does not say.
    pub more_machines: bool,
    /// Number of its proposal.
    pub pull_request: Option<u64>,
    /// Conclusion and title of the check on what Capstan wrote last.
    pub check: Option<(String, String)>,
    /// What its reconciler reported last.
    pub rollout: Option<RolloutReport>,
}

/// A release that moves through a campaign of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownCampaign {
    /// The repository's id.
    pub repository: u64,
    /// `owner/name`.
    pub repository_name: String,
    /// The dashboard issue, where there is one: people stop and resume campaigns there.
    pub dashboard: Option<u64>,
    /// How far it is.
    pub progress: CampaignProgress,
}

/// A repository and how its work goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownRepository {
    /// GitHub's id.
    pub id: u64,
    /// `owner/name`.
    pub name: String,
    pub job: FleetJob,
    /// Why it was asked for last: `event`, `resync`.
    pub cause: String,
    /// Proposals that are open.
    pub open: u64,
    /// Proposals opened within the last hour.
    pub opened_last_hour: u64,
    /// How many may be open, and opened within an hour; `None` where nothing is written, or not known.
    pub limits: Option<(u64, u64)>,
}

/// A merge whose machines were followed, of one cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownMerge {
    pub pull_request: u64,
    /// When it was merged.
    pub merged_at: Timestamp,
    /// The management cluster that applies it, by its name in the settings.
    pub management_cluster: String,
    /// How it went.
    pub progress: Progress,
}

/// What narrows the list of deliveries.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeliveryFilter {
    /// Words in its id, its event or its repository.
    pub text: String,
    pub outcome: String,
    /// `owner/name`.
    pub repository: String,
}

/// What became of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeliveryOutcome {
    /// A run over its repository ended well after it came.
    Done,
    /// A worker has it.
    Running,
    /// It waits its turn.
    Waiting,
    /// The last run failed: it is tried again.
    Failed,
    /// It was tried too often.
    Dead,
    /// It named several repositories: each has a job of its own.
    Several,
}

impl DeliveryOutcome {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Done, Self::Running, Self::Waiting, Self::Failed, Self::Dead, Self::Several];

    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Failed => "failed",
            Self::Dead => "dead",
            Self::Several => "several",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.as_str() == word)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownDelivery {
    /// GitHub's id.
    pub guid: String,
    pub event: String,
    /// Its action; may be empty.
    pub action: String,
    /// Id and name of the repository, where it named one that is known.
    pub repository: Option<(u64, String)>,
    /// The pull request that it named.
    pub pull_request: Option<u64>,
    /// When it came.
    pub received_at: Timestamp,
    /// What became of it.
    pub outcome: DeliveryOutcome,
    /// Why the last run failed; no secrets.
    pub reason: Option<String>,
}

/// What narrows the audit trail.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Words in the target or the detail.
    pub text: String,
    /// Who.
    pub actor: String,
    /// What.
    pub action: String,
    /// `owner/name`.
    pub repository: String,
    /// Exactly that target.
    pub target: Option<String>,
}

/// An entry of the audit trail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownAudit {
    /// When.
    pub at: Timestamp,
    /// `owner/name`; `None` where it is of no repository, or of one that is forgotten.
    pub repository: Option<String>,
    pub target: Option<String>,
    /// Who.
    pub actor: String,
    /// What, in a word.
    pub action: String,
    /// A sentence.
    pub detail: String,
}

/// The result of a request to sync again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    /// The repository's job was queued.
    Queued,
    /// There is nothing of that name.
    NotThere,
}

/// Reads the records for pages, and has things done again.
#[async_trait]
pub trait PageRecords: Send + Sync {
    /// The repositories, by name.
    async fn shown_repositories(
        &self,
        sight: &VisibleRepositories,
    ) -> Result<Vec<ShownRepository>, RecordsError>;
    /// A few letters that are others once what somebody sees may be something else.
    async fn stamp(&self, sight: &VisibleRepositories) -> Result<String, RecordsError>;
    /// How many targets are in which state; the filter's own state narrows nothing here.
    async fn states(
        &self,
        sight: &VisibleRepositories,
        filter: &ClusterFilter,
    ) -> Result<Vec<(String, u64)>, RecordsError>;
    /// Targets in the order that the filter names; what is equal, by repository and name.
    async fn targets(
        &self,
        sight: &VisibleRepositories,
        filter: &ClusterFilter,
        extent: ListExtent,
    ) -> Result<Vec<ShownTarget>, RecordsError>;
    /// How many clusters have which version of Kubernetes; a cluster counts once, whatever kinds of source it has.
    async fn versions(
        &self,
        sight: &VisibleRepositories,
        filter: &ClusterFilter,
    ) -> Result<Vec<VersionShare>, RecordsError>;
    /// The clusters whose machines are being replaced or got stuck at that: those that are stuck first, then by name.
    async fn rolling(
        &self,
        sight: &VisibleRepositories,
        extent: ListExtent,
    ) -> Result<ListPart<ShownRolling>, RecordsError>;
    /// The releases that move through campaigns, by repository, campaign and release; at most 200.
    async fn moving_campaigns(&self, sight: &VisibleRepositories)
    -> Result<Vec<ShownCampaign>, RecordsError>;
    /// The releases that move through one campaign of a repository.
    async fn moving_campaign(
        &self,
        sight: &VisibleRepositories,
        repository: &str,
        campaign: &str,
    ) -> Result<Vec<ShownCampaign>, RecordsError>;
    /// One target as each kind of source finds it; `repository` is `owner/name`.
    async fn target(
        &self,
        sight: &VisibleRepositories,
        repository: &str,
        target: &str,
    ) -> Result<Vec<ShownTarget>, RecordsError>;
    /// What the upgrades of a target are about, by kind of source.
    async fn details(
        &self,
        repository: u64,
        target: &str,
    ) -> Result<Vec<(String, TargetDetail)>, RecordsError>;
    /// The merges that changed a cluster, newest first, at most 20.
    async fn merges(&self, repository: u64, target: &str) -> Result<Vec<ShownMerge>, RecordsError>;
    /// Deliveries, newest first.
    async fn deliveries(
        &self,
        sight: &VisibleRepositories,
        filter: &DeliveryFilter,
        extent: ListExtent,
    ) -> Result<ListPart<ShownDelivery>, RecordsError>;
    /// The repository that a delivery named, where it is one that is known.
    async fn repository_of(&self, guid: &str) -> Result<Option<u64>, RecordsError>;
    /// The audit trail, newest first.
    async fn audit_trail(
        &self,
        sight: &VisibleRepositories,
        filter: &AuditFilter,
        extent: ListExtent,
    ) -> Result<ListPart<ShownAudit>, RecordsError>;
    /// All agents, revoked ones too, by time of enrolment.
    async fn reconcilers(&self) -> Result<Vec<Agent>, RecordsError>;
    /// Queues the repositories of a delivery again, and records the person in the audit trail.
    async fn replay(&self, guid: &str, by: &str) -> Result<Again, RecordsError>;
    /// Records an order to a campaign of a repository, `stop of fleet`, which its next run obeys if `by` may give it.
    async fn order(&self, repository: u64, by: &str, given: &str) -> Result<Ordered, RecordsError>;
    /// Queues a repository again, and records the person in the audit trail.
    async fn look_again(&self, repository: u64, by: &str) -> Result<Again, RecordsError>;
}
