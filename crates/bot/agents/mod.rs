//! The bot's side of the reconcilers (agents): enrolment, tokens, archives, preflights and reports.
//!
//! *Expected flow.* A person makes a join code; a reconciler enrols with it and a key of its own. From then
//! on it signs a token for each request, waits for work ([`Agents::work`]), fetches archives of the folders
//! that `managementClusters` on the tip of the default branch gives it, answers preflights and sends
//! reports. What it says is stored and the repository's job is queued, or the reporter woken
//! ([`rollouts::RolloutReporter`]): GitHub is told by those alone, so that nothing is lost with a request.
//!
//! *Guarantees.* An agent learns nothing of folders that are not its own, and reports on nothing else; what
//! it may not have is answered as what is not there. A token is believed once. Whoever is revoked gets
//! nothing more, not even the answer to a long poll that is under way. A file for a cluster's owners is taken, and given out,
//! only as Git wants it ([`capstan_live::agent::GitOwners`]): who has stolen an agent's key has no other one served.
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
    AgentRecords, Clock, CodeHostError, Installations, Jobs, Mirror, MirrorError, RecordsError,
    RepositoryName,
};

pub use self::admin::{Invited, Invitee, NotInvited, invite};
pub use self::archive::SignedArchive;
pub(super) use self::content::content;
pub(super) use self::git_owners::git_owners;
pub use self::keys::{BotKey, KeyError};
pub use self::limits::AgentLimits;
pub use self::notifier::Notifier;
pub use self::sealing::{NotSealed, SealingKey};
pub use self::work::Questions;

/// What the bot's other use cases need of the agents: their records, and a notifier that wakes long polls and
/// the reporter.
#[derive(Clone)]
pub struct Reconcilers {
    /// The records.
    pub records: Arc<dyn AgentRecords>,
    /// Wakes whoever waits for something new.
    pub notifier: Notifier,
}

/// What the agent API works with.
pub struct AgentParts {
    /// Records and notifier, shared with the rest of the bot.
    pub reconcilers: Reconcilers,
    /// Where the bot's jobs are queued.
    pub jobs: Arc<dyn Jobs>,
    /// GitHub.
    pub host: Arc<dyn Installations>,
    /// Git.
    pub mirror: Arc<dyn Mirror>,
    /// Says what clusters are made of.
    pub planner: Arc<dyn Planner>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// What seals the bot's own key in the records.
    pub sealing: SealingKey,
    /// How much agents may ask for.
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

/// Why a request is not answered. The words are for the log; what the agent hears is a fixed sentence.
#[derive(Debug, thiserror::Error)]
pub enum Denied {
    /// Who it is cannot be believed.
    #[error("{0}")]
    Unauthorised(String),
    /// There is no such thing, or it is none of this agent's business.
    #[error("{0}")]
    NotThere(String),
    /// What it says cannot be taken, now or later.
    #[error("{0}")]
    Unusable(String),
    /// It asks for too much at once.
    #[error("{0}")]
    TooMuch(String),
    /// It cannot be done now.
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
    /// Makes the API ready; makes the bot's own signing key where there is none yet.
    ///
    /// # Errors
    /// The records cannot be read or written, or the key that they hold is none.
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
}

/// The same name in the words of the settings.
fn settings_name(name: &RepositoryName) -> Result<SettingsName, Denied> {
    SettingsName::parse(&name.to_string()).map_err(Denied::Failed)
}
