//! The bot's side of the reconcilers (agents): enrolment, tokens, archives, preflights and reports.
//!
//! *Expected flow.* A person makes a join code; a reconciler enrols with it and a key of its own. From then
//! on it signs a token for each request and waits for work ([`Agents::work`]). It fetches archives of the
//! folders that `managementClusters` on the tip of the default branch gives it, answers preflights and sends
//! reports. Its messages are stored, and the repository's job is queued or the reporter notified
//! ([`rollouts::RolloutReporter`]). Only those write to GitHub, so that nothing is lost with a request.
//!
//! *Guarantees.* An agent learns nothing about folders that are not its own, and cannot report on them; the
//! answer is the same as for a folder that does not exist. A token is accepted once. A revoked agent gets
//! nothing more, not even the answer to a pending long poll. A file for a cluster's owners is stored and
//! served only as Git wants it ([`capstan_live::agent::GitOwners`]): a stolen agent key cannot replace it.
//!
//! Deliberately absent: HTTP (the server), and what answers and reports mean
//! ([`capstan_live::agent`]).

mod admin;
mod archive;
mod authentication;
mod build;
mod content;
mod git_owners;
mod keys;
mod kubeconfigs;
mod limits;
mod notifier;
pub mod rollouts;
mod sealing;
mod work;

use std::sync::Arc;

use capstan_plan::settings::RepositoryName as SettingsName;

use self::archive::Archives;
use self::git_owners::ReadOwners;
use self::limits::Limiter;
use capstan_fleet::planner::Planner;
use capstan_ports::{
    Agent, AgentRecords, Clock, CodeHostError, Installations, JobCause, JobRequest, Jobs, Mirror,
    MirrorError, RecordsError, RepositoryName, WatchedRepository,
};

pub use self::admin::{Invited, Invitee, NotInvited, invite};
pub use self::archive::SignedArchive;
pub(super) use self::content::content;
pub use self::keys::{BotKey, KeyError};
pub use self::limits::AgentLimits;
pub use self::notifier::Notifier;
pub use self::sealing::{NotSealed, SealingKey};
pub use self::work::Questions;

/// What the bot's other use cases need of the agents: their records, and a notifier for long polls and the
/// reporter.
#[derive(Clone)]
pub struct Reconcilers {
    pub records: Arc<dyn AgentRecords>,
    /// Notifies those that wait for something new.
    pub notifier: Notifier,
}

/// The parts of the agent API.
pub struct AgentParts {
    /// Records and notifier, shared with the rest of the bot.
    pub reconcilers: Reconcilers,
    /// Where the bot's jobs are queued.
    pub jobs: Arc<dyn Jobs>,
    /// GitHub.
    pub host: Arc<dyn Installations>,
    /// Git.
    pub mirror: Arc<dyn Mirror>,
    /// Says which files clusters are made of.
    pub planner: Arc<dyn Planner>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Seals the bot's own key in the records.
    pub sealing: SealingKey,
    /// Limits of agents.
    pub limits: AgentLimits,
}

/// The agent API.
pub struct Agents {
    reconcilers: Reconcilers,
    jobs: Arc<dyn Jobs>,
    host: Arc<dyn Installations>,
    mirror: Arc<dyn Mirror>,
    planner: Arc<dyn Planner>,
    clock: Arc<dyn Clock>,
    key: BotKey,
    limiter: Limiter,
    archives: Archives,
    owners: ReadOwners,
}

/// Why a request is refused. The words are for the log; the agent gets a fixed sentence.
#[derive(Debug, thiserror::Error)]
pub enum Denied {
    /// The agent is not authenticated.
    #[error("{0}")]
    Unauthorised(String),
    /// The object does not exist, or is not the agent's.
    #[error("{0}")]
    NotThere(String),
    /// The message cannot be accepted, now or later.
    #[error("{0}")]
    Unusable(String),
    /// The agent exceeds its limits.
    #[error("{0}")]
    TooMuch(String),
    /// It failed, and may succeed later.
    #[error("{0}")]
    Failed(String),
}

impl From<RecordsError> for Denied {
    fn from(error: RecordsError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<CodeHostError> for Denied {
    fn from(error: CodeHostError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<MirrorError> for Denied {
    fn from(error: MirrorError) -> Self {
        match error {
            MirrorError::NoSuchCommit { .. } => Self::NotThere(error.to_string()),
            error => Self::Failed(error.to_string()),
        }
    }
}

impl Agents {
    /// Prepares the API; creates the bot's own signing key if there is none yet.
    ///
    /// # Errors
    /// The records cannot be read or written, or their key is not valid.
    pub async fn open(parts: AgentParts) -> Result<Self, KeyError> {
        let key = BotKey::open(parts.reconcilers.records.as_ref(), &parts.sealing).await?;
        Ok(Self {
            reconcilers: parts.reconcilers,
            jobs: parts.jobs,
            host: parts.host,
            mirror: parts.mirror,
            planner: parts.planner,
            clock: parts.clock,
            key,
            archives: Archives::new(parts.limits.kept_archive_bytes),
            limiter: Limiter::new(parts.limits),
            owners: ReadOwners::default(),
        })
    }

    /// The bot's key.
    pub const fn key(&self) -> &BotKey {
        &self.key
    }

    fn records(&self) -> &dyn AgentRecords {
        self.reconcilers.records.as_ref()
    }

    /// A repository that knows the agent's management cluster.
    async fn repository_of(&self, agent: &Agent, name: &str) -> Result<WatchedRepository, Denied> {
        let watched = self.records().watched_repository(name).await?;
        let shown: String = name.chars().take(140).collect();
        watched.filter(|watched| watched.managed_by.knows(&agent.management_cluster)).ok_or_else(|| {
            Denied::NotThere(format!(
                "agent {} asks for `{}`, which does not exist or does not name {} under managementClusters",
                agent.id,
                shown.escape_debug(),
                agent.management_cluster
            ))
        })
    }

    /// Queues a repository's job, since something new is known about it.
    async fn look_at(&self, repository: u64) -> Result<(), Denied> {
        let Some(watched) = self.records().watched_repository_by_id(repository).await? else { return Ok(()) };
        let request = JobRequest {
            repository,
            installation: watched.repository.installation,
            name: watched.repository.name,
            cause: JobCause::Event,
        };
        Ok(self.jobs.enqueue(&request).await?)
    }
}

/// The same name, as a type of the settings.
fn settings_name(name: &RepositoryName) -> Result<SettingsName, Denied> {
    SettingsName::parse(&name.to_string()).map_err(Denied::Failed)
}
