//! What the bot remembers of reconcilers: who enrolled, what they may read and report on, what they were
//! asked, and what they reported.
//!
//! Losing it costs a new enrolment: nothing in Git or on GitHub depends on it.

use std::collections::BTreeSet;

use async_trait::async_trait;
use capstan_facts::{Agent, ClusterStanding, PreflightRecord, Repository};
use capstan_live::agent::permission::ManagedBy;
use capstan_live::agent::{AgentId, PreflightAnswer, PreflightId, Progress, RolloutReport};
use capstan_model::ids::ClusterId;
use capstan_model::tree::CommitId;
use capstan_plan::settings::ManagementClusterUid;
use jiff::Timestamp;

use super::RecordsError;

/// A join code that was given out, by its hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invitation {
    /// Hash of the code.
    pub hash: String,
    /// The one management cluster that it is good for.
    pub management_cluster: ManagementClusterUid,
    /// The name of the agent that it is for, where that may be one beside another.
    pub agent: Option<String>,
    /// Who made it.
    pub invited_by: String,
    /// When it ends.
    pub expires_at: Timestamp,
}

/// The result of an enrolment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Enrolled {
    /// The agent is known from now on; the code is used up.
    Yes,
    /// That code made this agent with the same key before: an agent that lost the answer asks again.
    Before(AgentId),
    /// No such code, or it was used, is over, or is for another management cluster.
    CodeRefused,
    /// The management cluster has an agent, and the code was not made for one beside it.
    NotAlone,
}

/// Whether a token's id was seen before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenUse {
    /// This is its first use.
    First,
    /// It was used already.
    Replayed,
    /// The agent has too many tokens that are not over yet.
    TooMany,
}

/// What became of something that an agent said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportReceipt {
    Stored,
    /// It was of nothing that is waited for: nothing changed.
    NotAwaited,
    /// The agent was revoked since it was believed: nothing is stored.
    Revoked,
}

/// Enrolment and tokens.
#[async_trait]
pub trait Enrolment: Send + Sync {
    /// The bot's own signing key, sealed, kept under `name`: `fresh` where there is none yet.
    async fn signing_key(&self, name: &str, fresh: &[u8]) -> Result<Vec<u8>, RecordsError>;
    /// Keeps that key otherwise, unless another process did already.
    async fn replace_signing_key(&self, name: &str, before: &[u8], now: &[u8]) -> Result<(), RecordsError>;
    /// Remembers a join code by its hash.
    async fn save_invitation(&self, invitation: &Invitation) -> Result<(), RecordsError>;
    /// Whether there is a join code of that hash that is not over, used or not. Writes nothing.
    async fn is_invited(&self, code_hash: &str) -> Result<bool, RecordsError>;
    /// Makes an agent, uses the code up and writes both into the audit trail, all or nothing. The agent's name
    /// and who invited it are the invitation's.
    async fn enrol(&self, code_hash: &str, agent: &Agent) -> Result<Enrolled, RecordsError>;
    /// All agents, revoked ones too, by time of enrolment.
    async fn agents(&self) -> Result<Vec<Agent>, RecordsError>;
    async fn agent(&self, id: &AgentId) -> Result<Option<Agent>, RecordsError>;
    /// Revokes an agent, forgets what it reported and writes that into the audit trail; `false` where there is
    /// none that is not revoked.
    async fn revoke(&self, id: &AgentId, by: &str) -> Result<bool, RecordsError>;
    /// Remembers that an agent asked for something now.
    async fn saw_agent(&self, id: &AgentId) -> Result<(), RecordsError>;
    /// Uses a token's id, which is remembered until then. At most `limit` of one agent are remembered.
    async fn use_token(
        &self,
        agent: &AgentId,
        jti: &str,
        until: Timestamp,
        limit: u32,
    ) -> Result<TokenUse, RecordsError>;
}

/// A repository as agents may see it: what the last look at the tip of its default branch showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchedRepository {
    pub repository: Repository,
    /// Tip of its default branch.
    pub tip: CommitId,
    /// Who applies what, as the tip says.
    pub managed_by: ManagedBy,
}

/// Repositories, commits and preflights.
#[async_trait]
pub trait AgentWork: Send + Sync {
    /// Remembers what a look at the tip showed, and that agents may read and report on that commit.
    /// `true` where something is new.
    async fn watch_repository(&self, watched: &WatchedRepository) -> Result<bool, RecordsError>;
    /// A repository by its name, whatever its case.
    async fn watched_repository(&self, name: &str) -> Result<Option<WatchedRepository>, RecordsError>;
    /// All repositories that were ever synced.
    async fn watched_repositories(&self) -> Result<Vec<WatchedRepository>, RecordsError>;
    async fn watched_repository_by_id(&self, id: u64) -> Result<Option<WatchedRepository>, RecordsError>;
    /// Whether a commit was ever seen as the tip of the default branch.
    async fn was_tip(&self, repository: u64, commit: &CommitId) -> Result<bool, RecordsError>;

    /// Asks: inserts the preflight, or replaces an earlier one of the same head and management cluster.
    async fn save_preflight(&self, preflight: &PreflightRecord) -> Result<(), RecordsError>;
    async fn preflights_of_head(
        &self,
        repository: u64,
        head: &CommitId,
    ) -> Result<Vec<PreflightRecord>, RecordsError>;
    /// The preflights that try a commit.
    async fn preflights_of_commit(
        &self,
        repository: u64,
        commit: &CommitId,
    ) -> Result<Vec<PreflightRecord>, RecordsError>;
    async fn preflight(&self, id: &PreflightId) -> Result<Option<PreflightRecord>, RecordsError>;
    /// Open questions to a management cluster that have not been given out within the last seconds; they
    /// count as given out from now. Those that nobody waits for any more are among them, for a day: a late
    /// answer is better than none.
    async fn give_preflights(
        &self,
        repository: u64,
        management_cluster: &ManagementClusterUid,
        not_given_for_seconds: u32,
    ) -> Result<Vec<PreflightRecord>, RecordsError>;
    /// The questions that one management cluster was asked about heads that are kept, answered or not; so many at most.
    async fn standing_preflights(
        &self,
        repository: u64,
        management_cluster: &ManagementClusterUid,
        most: u32,
    ) -> Result<Vec<PreflightId>, RecordsError>;
    /// Deletes the questions about heads that are not among these, and their answers.
    async fn keep_preflights_of(
        &self,
        repository: u64,
        heads: &BTreeSet<&CommitId>,
    ) -> Result<(), RecordsError>;
    /// Records an agent's answer, where there is such an open question, unless the agent is revoked.
    async fn answer_preflight(
        &self,
        id: &PreflightId,
        agent: &AgentId,
        answer: &PreflightAnswer,
    ) -> Result<ReportReceipt, RecordsError>;
}

/// A merged pull request whose rollout is followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowedMerge {
    /// The repository's id.
    pub repository: u64,
    pub pull_request: u64,
    /// Its head, which has the check.
    pub head: CommitId,
    /// The merge commit, which has the status.
    pub merge_commit: CommitId,
    /// When it was merged.
    pub merged_at: Timestamp,
    /// What was reported last.
    pub reported: ReportedToGitHub,
    /// The clusters that it touched.
    pub clusters: Vec<FollowedCluster>,
}

/// What was reported to GitHub about a merge.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReportedToGitHub {
    pub check_run: Option<u64>,
    /// Digest of what the check says.
    pub check: String,
    /// Whether the check is completed.
    pub completed: bool,
    /// When the check was written last.
    pub at: Option<Timestamp>,
    /// The commit status.
    pub status: String,
}

/// One cluster that a merge touched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowedCluster {
    pub cluster: ClusterId,
    /// Who applies it.
    pub management_cluster: ManagementClusterUid,
    /// By its name in the settings.
    pub name: String,
    pub progress: Progress,
}

/// A report that was taken and is not part of anybody's progress yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingReport {
    /// The repository's id.
    pub repository: u64,
    /// Who reported.
    pub management_cluster: ManagementClusterUid,
    /// Which of its agents.
    pub agent: Option<AgentId>,
    pub report: RolloutReport,
}

/// Reports and the merges that they are about.
#[async_trait]
pub trait RolloutRecords: Send + Sync {
    /// Stores reports of one agent on clusters of one repository, all or none. Each becomes the cluster's
    /// standing if it is newer than the last one of this agent and of others, and is pending where a followed
    /// merge touched the cluster. The last settled merge that touched it is followed again if the cluster is
    /// done and its owners have a kubeconfig that was not reported there. A report that was stored before
    /// changes nothing. A revoked agent's reports are not stored.
    async fn take_reports(
        &self,
        repository: u64,
        agent: &Agent,
        name: &str,
        reports: &[RolloutReport],
    ) -> Result<ReportReceipt, RecordsError>;
    /// The last reports on the clusters of a repository, from any agent.
    async fn standings(&self, repository: u64) -> Result<Vec<(ClusterId, ClusterStanding)>, RecordsError>;
    /// The last reports on one cluster, from any agent.
    async fn standings_of(
        &self,
        repository: u64,
        cluster: &ClusterId,
    ) -> Result<Vec<ClusterStanding>, RecordsError>;

    /// Which pull requests are followed, or were.
    async fn followed_pull_requests(&self, repository: u64) -> Result<Vec<u64>, RecordsError>;
    /// Follows a merge from now on; one that is followed already, or was, stays as it is.
    async fn follow_merge(&self, merge: &FollowedMerge) -> Result<(), RecordsError>;
    /// The merges that are followed and not completely reported, with the repository of each.
    async fn open_merges(&self) -> Result<Vec<(WatchedRepository, FollowedMerge)>, RecordsError>;
    /// Whether this process, and no other, may do what is named so, for the next seconds.
    async fn hold_lease(&self, name: &str, holder: &str, seconds: u32) -> Result<bool, RecordsError>;
    /// Pending reports on a cluster of a repository, oldest first.
    async fn pending_reports(&self, repository: u64) -> Result<Vec<PendingReport>, RecordsError>;
    /// Stores the results of reports: the progress of clusters and what was reported. `settled` merges are
    /// not read again.
    async fn save_merge(&self, merge: &FollowedMerge, settled: MergeSettled) -> Result<(), RecordsError>;
    /// Forgets waiting reports, once every merge that they concern has been saved.
    async fn use_up_reports(&self, reports: &[PendingReport]) -> Result<(), RecordsError>;
    /// Forgets what nobody asks for any more: used tokens, old join codes, commits, preflights and merges.
    async fn forget_old(&self) -> Result<(), RecordsError>;
}

/// Whether everything about a merge is done and reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeSettled {
    /// Everything is done and reported.
    Yes,
    /// More may come.
    NotYet,
}
