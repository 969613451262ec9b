//! What the use cases need from outside: a code host, a mirror of its repositories, records, a clock.
//!
//! The adapters (`github`, `git`, `database`) implement these traits and know nothing of one another;
//! `main` wires them. Expected outcomes (a pull request that exists already, a reference that moved)
//! are values here, not errors.

mod agents;
mod code_host;
mod fleet;
mod leadership;
mod management_cluster;
mod mirror;
mod queue;
mod records;
mod repository_name;
mod retention;
mod workspace;

pub use agents::{
    Agent, AgentRecords, AgentWork, ClusterStanding, Enrolled, Enrolment, FollowedCluster, FollowedMerge,
    Invitation, PendingReport, PreflightRecord, PreflightState, ReportedToGitHub, RolloutRecords, Settled,
    TokenUse, WatchedRepository,
};
pub use code_host::{
    BranchHead, CheckConclusion, CheckRun, CodeHost, CodeHostError, Comment, CommitMetadata, CommitStatus,
    CreatedPullRequest, CreatedReference, EarlierPullRequest, Installation, MergeQueueState, MovedReference,
    NewCheckRun, NewPullRequest, NewTreeEntry, Permission, PlacedComment, PullRequest, PullRequestEdit,
    PullRequestState, Reaction, Repository, ReviewDecision,
};
pub use fleet::{Fleet, FleetJob, FleetRepository, FleetTarget, FleetView, JobCounts, JobState};
pub use leadership::{Fence, Leadership, Term};
pub use management_cluster::{
    ApiKind, ApiObject, As, Change, Contested, Deleted, LiveChange, LiveChanges, LiveError,
    ManagementCluster, Preconditions, Run, Scope, ServiceAccount, Watched,
};
pub use mirror::{CommitTrailers, Mirror, MirrorError, Snapshot};
pub use queue::{Cause, ClaimedJob, CommentHint, DeadJob, Fate, Hints, JobRequest, Jobs, Lease};
pub use records::{
    AuditEntry, CampaignRecord, CampaignTarget, CheckRecord, ProposalRecord, Records, RecordsError,
    RefusedWrite,
};
pub use repository_name::RepositoryName;
pub use retention::{KeptRepository, MirrorShelf, Retention};
pub use workspace::{PastFolder, Workspace, WorkspaceError};

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
