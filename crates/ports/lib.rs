//! What the use cases need from outside: a code host, a mirror of its repositories, records, a clock.
//!
//! What GitHub, Git and the records show and take is defined in `capstan_facts`, and handed on from here.
//!
//! The adapters (`github`, `git`, `database`, `k8s` and others) implement these traits and know nothing of one another;
//! the program wires them. Expected outcomes (a pull request that exists already, a reference that moved)
//! are values here, not errors.
//!
//! A room may import the rooms of this package that its line names; `tests/cli/house` reads the table.
//!
//! | room | owns | may import |
//! |---|---|---|
//! | [`app_manifest`] | the GitHub App, made by its manifest: the exchange with the code host, and where the App is kept | nothing |
//! | [`cloud`] | clouds: what an account may use, what of it is free, credentials with an end | nothing |
//! | [`components`] | components of providers, from wherever they are published | nothing |
//! | [`maintenance`] | a database as a whole: whether it is well, what was taken out of it or put into it | nothing |
//! | [`management_cluster`] | a management cluster, live: read, tried, applied, deleted and watched | nothing |
//! | [`leadership`] | which of several reconcilers acts | `management_cluster` |
//! | [`records`] | what the bot remembers of repositories: a cache of GitHub and Git, audit, campaigns | nothing |
//! | [`budgets`] | what is left of GitHub's limits, for all processes that share a database | `records` |
//! | [`fleet`] | how the work on repositories goes | `records` |
//! | [`code_host`] | the calls to GitHub, in Capstan's words | nothing |
//! | [`agents`] | what the bot remembers of reconcilers | `records` |
//! | [`kubeconfigs`] | what the bot keeps of the keys of clusters' owners | `agents`, `records` |
//! | [`agent_records`] | all that the bot remembers of reconcilers | `agents`, `kubeconfigs` |
//! | [`mirror`] | a bare mirror of a repository: commits fetched on demand, read as snapshots | nothing |
//! | [`missed_deliveries`] | deliveries that GitHub made and that did not arrive | `code_host`, `records` |
//! | [`pages`] | what the pages show, a page at a time, and only as far as somebody may see | `fleet`, `records` |
//! | [`queue`] | the durable queue of jobs, one a repository | `records` |
//! | [`retention`] | what of records and mirrors may go | `mirror`, `records` |
//! | [`sign_in`] | who somebody is and what they may do, asked of the code host in their own name | `code_host` |
//! | [`tree_source`] | where a tree comes from that the reconciler follows | nothing |
//! | [`trial_renders`] | what others wrote is opened and rendered within limits | nothing |
//! | [`vault`] | Vaults: who logs in, what is read, what is kept alive there | `management_cluster` |
//! | [`wave_webhook`] | somebody outside is asked whether a wave of a campaign is well | nothing |
//! | [`workload_clusters`] | the clusters that a management cluster makes, live | `management_cluster` |
//! | [`workspace`] | a checkout on disk, as the command line needs it | nothing |

mod agent_records;
mod agents;
mod app_manifest;
mod budgets;
mod cloud;
mod code_host;
mod components;
mod fleet;
mod kubeconfigs;
mod leadership;
mod maintenance;
mod management_cluster;
mod mirror;
mod missed_deliveries;
mod pages;
mod queue;
mod records;
mod retention;
mod sign_in;
mod tree_source;
mod trial_renders;
mod vault;
mod wave_webhook;
mod workload_clusters;
mod workspace;

pub use agent_records::AgentRecords;
pub use agents::{
    AgentWork, Enrolled, Enrolment, FollowedCluster, FollowedMerge, Invitation, MergeSettled, PendingReport,
    ReportReceipt, ReportedToGitHub, RolloutRecords, TokenUse, WatchedRepository,
};
pub use app_manifest::{AppKeeper, AppManifests, CreatedApp, ManifestError};
pub use budgets::{BudgetWrite, Budgets, KeptBudget};
pub use capstan_facts::{
    ANNOTATIONS_PER_CALL, Agent, Arrivals, AuditEntry, BranchHead, CampaignLimits, CampaignProgress,
    CampaignRecord, CampaignTarget, CheckConclusion, CheckRecord, CheckRun, CheckState, CheckVerdict,
    ClusterStanding, Comment, CommentHint, CommitStatus, CommitTrailers, CreatedPullRequest,
    EarlierPullRequest, FleetFacts, Hints, Issue, IssueEdit, IssueState, IssueText, KnownDashboard,
    MergeAnswer, MergeCall, MergeQueueState, MovingCluster, MovingStage, NewCheckRun, NewIssue,
    NewPullRequest, NewTreeEntry, PageOrder, Permission, PlacedComment, PreflightRecord, Press,
    ProposalRecord, PullRequest, PullRequestEdit, PullRequestState, Reaction, RefusedWrite, Repository,
    RepositoryName, ReviewDecision, SidebarPart, Snapshot, StackPlace, TextEdit, Ticks, WaveCluster,
    WavePlace, WaveProgress, WebhookAnswer, WebhookQuestion, WebhookResult,
};
pub use cloud::{
    CloudAccount, CloudCredential, CloudError, CloudSession, Clouds, CloudsByKind, CredentialForms, Issued,
    NewCredential, NoClouds,
};
pub use code_host::{
    Branches, Checks, CodeHost, CodeHostError, Comments, CommitMetadata, Contents, CreatedReference, History,
    Installation, Installations, Issues, Merging, MovedReference, PermissionLookup, PullRequests, Sidebars,
    Stacks, Statuses, Trees,
};
pub use components::{
    AllowedHosts, ComponentCache, ComponentSource, FetchError, FetchLimits, KeptComponents,
    SourceCredentials, WantedComponents, gives_tokens_for,
};
pub use fleet::{FleetJob, FleetView, JobCounts, JobState};
pub use kubeconfigs::{KeptKubeconfig, KubeconfigRecords};
pub use leadership::{Fence, Leadership, NamespacedLeadership, Term};
pub use maintenance::{DatabaseCheck, DatabaseFinding, Transferred};
pub use management_cluster::{
    ApiKind, ApiObject, As, Contested, Deleted, HeldRights, KindScope, KindsInNamespaces, LiveChange,
    LiveChanges, LiveError, ManagementCluster, ObjectChange, PatchedPart as ObjectPart, Post, Preconditions,
    Run, ServiceAccount, Watched,
};
pub use mirror::{Mirror, MirrorError};
pub use missed_deliveries::{DeliveryAttempt, DeliveryLog, MissedDeliveries, Redelivery};
pub use pages::{
    Again, AuditFilter, ClusterFilter, ClusterOrder, DeliveryFilter, DeliveryOutcome, ListExtent, ListPart,
    MOST_ORDERS, Ordered, PageRecords, ShownAudit, ShownCampaign, ShownDelivery, ShownMerge, ShownRepository,
    ShownRolling, ShownTarget, SortKey, VersionShare, VisibleRepositories,
};
pub use queue::{ClaimedJob, DeadJob, Fate, JobCause, JobRequest, Jobs, Lease};
pub use records::{Records, RecordsError};
pub use retention::{KeptRepository, MirrorShelf, Retention};
pub use sign_in::{SignIn, SignInError};
pub use tree_source::{SourceError, SourceTree, TreeSource};
pub use trial_renders::{TrialFailed, TrialRenders};
pub use vault::{
    KvSecret, NewLease, NoVaults, ServiceAccountTokens, Vault, VaultAddress, VaultError, VaultLogin,
    VaultToken, Vaults, ends_at,
};
pub use wave_webhook::{WaveWebhook, WebhookCall, WebhookError};
pub use workload_clusters::{KubeconfigRefused, WorkloadClusters};
pub use workspace::{GitObstacle, NewFile, PastFolder, Workspace, WorkspaceError};

/// What time it is. A port, so that decisions about limits and holds can be tested.
pub trait Clock: Send + Sync {
    /// Now, in UTC.
    fn now(&self) -> jiff::Timestamp;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> jiff::Timestamp {
        jiff::Timestamp::now()
    }
}
