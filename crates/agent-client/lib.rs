//! The reconciler's side of the agent API: enrolment, tokens, archives, long polls, reports.
//!
//! *Expected flow.* [`AgentClient::open`] reads or makes the key and talks to nobody. The first call that
//! needs the bot enrols with the join code. [`AgentClient::work`] waits for commits and questions;
//! [`AgentClient::fetch`] brings the archive of a commit and checks digest and signature; once somebody has opened
//! it, [`AgentClient::keep`] keeps it on disk; [`AgentClient::report`] stores a report, and a task of its own sends what is stored, in order.
//!
//! *Guarantees.* What was kept last is there after a restart, without the bot. A report is on disk when
//! `report` returns, and stays there until the bot has taken it. Nothing of an archive is ever unpacked into
//! a folder. Key and enrolment are readable by their owner alone; no error names a secret.
//!
//! *Caveats.* Reports are bounded: where the bot is away for very long, the oldest reports of each cluster
//! go first, never its newest.
//!
//! Deliberately absent: what to do with a commit or a question (`crates/reconciler`).

mod archive;
mod enrolment;
mod files;
mod http;
mod key;
mod outbox;
mod published;
mod sender;
mod signed_archive;
mod speak;
mod tree;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ::http::StatusCode;
use capstan_live::agent::limits::ARCHIVE_BYTES;
use capstan_live::agent::wire::{ManagementClusterIdentity, RecordAnswer, WorkAnswer};
use capstan_live::agent::{PreflightAnswer, PreflightId, RolloutReport};
use capstan_model::digest::digest;
use capstan_model::ids::ClusterId;
use capstan_model::tree::{CommitId, Tree};
use capstan_plan::settings::RepositoryName;
use secrecy::SecretString;
use tokio::sync::Notify;
use url::Url;

use self::archive::ArchiveFile;
use self::enrolment::Enrolment;
use self::http::BotHttp;
use self::key::SigningKey;
use self::outbox::Outbox;
use self::published::PublishedCache;
use self::signed_archive::Signed;

pub use self::archive::Fetched;
pub use self::outbox::OutboxLimits;
pub use self::speak::{BotSource, rollout_report};

/// How an agent is set up.
pub struct AgentOptions {
    /// The bot.
    pub url: Url,
    /// The repository that is applied.
    pub repository: RepositoryName,
    /// A folder that survives restarts.
    pub state_dir: PathBuf,
    /// Whose reconciler it is.
    pub management_cluster: ManagementClusterIdentity,
    /// A join code, for as long as it has not enrolled.
    pub join_code: Option<SecretString>,
    /// The agent's key, PKCS#8 of an Ed25519 key in base64; where none is given, it makes one and keeps it in
    /// the state directory.
    pub key: Option<SecretString>,
}

/// Why something could not be done.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The bot does not answer, or cannot now: worth another try later.
    #[error("the bot at {url} does not answer ({doing}): {reason}")]
    Away {
        /// The bot's URL.
        url: String,
        /// What was being done.
        doing: &'static str,
        /// What was seen.
        reason: String,
    },
    /// The bot answers, and refuses.
    #[error("the bot at {url} refuses ({doing}): {reason}")]
    Refused {
        /// The bot's URL.
        url: String,
        /// What was being done.
        doing: &'static str,
        /// The status of its answer.
        status: StatusCode,
        /// Why, and what to do.
        reason: String,
    },
    /// The bot has no such thing for this agent.
    #[error("the bot at {url} has nothing for this agent ({doing}): {reason}")]
    NotThere {
        /// The bot's URL.
        url: String,
        /// What was being done.
        doing: &'static str,
        /// What to look at.
        reason: String,
    },
    /// What came is not what the bot signed, or cannot be an archive.
    #[error("the archive of {commit} cannot be trusted: {reason}")]
    Forged {
        commit: CommitId,
        /// What is wrong with it.
        reason: String,
    },
    /// The settings of this agent cannot be followed.
    #[error("{0}")]
    Settings(String),
    /// The state directory cannot be read or written.
    #[error("{path}: {reason}")]
    Disk {
        /// The file or folder.
        path: String,
        /// Why.
        reason: String,
    },
}

/// A reconciler as the bot's agent.
pub struct AgentClient {
    http: BotHttp,
    key: SigningKey,
    repository: RepositoryName,
    management_cluster: ManagementClusterIdentity,
    join_code: Option<SecretString>,
    folder: PathBuf,
    enrolment: tokio::sync::Mutex<Option<Enrolment>>,
    /// An enrolment that was not reported yet.
    unreported: Mutex<Option<Enrolment>>,
    shelf: ArchiveFile,
    /// What was fetched last, where it is not on the shelf.
    newest: tokio::sync::Mutex<Option<(Signed, Fetched)>>,
    outbox: Mutex<Outbox>,
    /// Which files for owners the bot has.
    published: Mutex<PublishedCache>,
    /// Notified when a report was stored.
    stored: Arc<Notify>,
    /// Ends the sender with the last of us.
    _leash: tokio_util::sync::DropGuard,
}

impl AgentClient {
    /// Reads or makes the key, and what was kept on disk; begins to send stored reports. Talks to nobody.
    /// To be called in a Tokio runtime.
    ///
    /// # Errors
    /// The state directory cannot be used, or the settings cannot be followed.
    pub fn open(options: AgentOptions) -> Result<Arc<Self>, AgentError> {
        Self::open_with(options, OutboxLimits::default())
    }

    /// The same with other bounds of what is stored.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_with(options: AgentOptions, limits: OutboxLimits) -> Result<Arc<Self>, AgentError> {
        let http = BotHttp::new(options.url)?;
        let repository = options.repository.as_str().to_ascii_lowercase();
        let name = digest(&[http.url().as_str(), &repository, options.management_cluster.uid.as_str()]);
        let folder = options.state_dir.join("agents").join(name);
        files::make_private_folder(&folder)?;
        let key = match &options.key {
            Some(given) => SigningKey::from_secret(given)?,
            None => SigningKey::kept_or_made(&folder)?,
        };
        let enrolment = Enrolment::kept(&folder, &key)?;
        let outbox = Outbox::open(&folder.join("reports"), limits)?;
        let stop = tokio_util::sync::CancellationToken::new();
        let client = Arc::new(Self {
            http,
            key,
            repository: options.repository,
            management_cluster: options.management_cluster,
            join_code: options.join_code,
            shelf: ArchiveFile::open(&folder.join("source"))?,
            newest: tokio::sync::Mutex::default(),
            published: Mutex::new(PublishedCache::open(&folder)?),
            folder,
            enrolment: tokio::sync::Mutex::new(enrolment),
            unreported: Mutex::default(),
            outbox: Mutex::new(outbox),
            stored: Arc::new(Notify::new()),
            _leash: stop.clone().drop_guard(),
        });
        tokio::spawn(sender::send_stored(Arc::downgrade(&client), Arc::clone(&client.stored), stop));
        Ok(client)
    }

    /// The bot's URL.
    pub fn url(&self) -> &Url {
        self.http.url()
    }

    pub const fn repository(&self) -> &RepositoryName {
        &self.repository
    }

    /// What there is to do: at once where the tip is not `after` or a question is open, else after at most
    /// `patience`.
    ///
    /// # Errors
    /// The bot is away or refuses.
    pub async fn work(&self, after: Option<&CommitId>, patience: Duration) -> Result<WorkAnswer, AgentError> {
        self.ask_for_work(after, patience, "false").await
    }

    async fn ask_for_work(
        &self,
        after: Option<&CommitId>,
        patience: Duration,
        tip_only: &str,
    ) -> Result<WorkAnswer, AgentError> {
        let limit = u64::from(capstan_live::agent::limits::WAIT_SECONDS);
        let seconds = patience.as_secs().min(limit).to_string();
        let mut query = vec![
            ("repository", self.repository.as_str()),
            ("wait_seconds", seconds.as_str()),
            ("tip_only", tip_only),
        ];
        query.extend(after.map(|after| ("after", after.as_str())));
        let call = self.http.get("work", &query, "asking for work").within(patience);
        self.http.json(&self.authorised(call).await?)
    }

    /// The tree that was kept last, from disk; `None` where there is none.
    ///
    /// # Errors
    /// What is kept cannot be read, or is not what the bot signed.
    pub async fn kept(&self) -> Result<Option<Fetched>, AgentError> {
        let Some(enrolment) = self.enrolment.lock().await.clone() else { return Ok(None) };
        self.shelf.kept(&enrolment, &self.repository).await
    }

    /// The newest tree; one short request where nothing is new.
    ///
    /// # Errors
    /// The bot is away or refuses, or the archive is not believed.
    pub async fn fetch(&self) -> Result<Fetched, AgentError> {
        let mut newest = self.newest.lock().await;
        let known = match newest.as_ref() {
            Some((_, fetched)) => Some(fetched.clone()),
            None => self.kept().await.unwrap_or_else(|error| {
                tracing::warn!(error = %error, "the kept archive cannot be used: it is fetched again");
                None
            }),
        };
        let after = known.as_ref().map(|known| &known.commit);
        // Questions wait for a request that answers them.
        let work = self.ask_for_work(after, Duration::ZERO, "true").await?;
        let Some(commit) = work.commit else {
            return Err(AgentError::NotThere {
                url: self.http.url().to_string(),
                doing: "asking for work",
                reason: format!("it has not read {} yet", self.repository),
            });
        };
        match known {
            Some(known) if known.commit == commit => Ok(known),
            _ => {
                let (signed, enrolment) = self.signed_archive(&commit).await?;
                let fetched = archive::open(signed.clone(), &enrolment, &self.repository).await?;
                *newest = Some((signed, fetched.clone()));
                Ok(fetched)
            }
        }
    }

    /// Keeps what was fetched last, where it is of that commit.
    ///
    /// # Errors
    /// The disk does not take it.
    pub async fn keep(&self, commit: &CommitId) -> Result<(), AgentError> {
        let mut newest = self.newest.lock().await;
        if let Some((signed, fetched)) = newest.as_ref().filter(|(_, fetched)| fetched.commit == *commit) {
            self.shelf.keep(signed.clone(), fetched.clone()).await?;
            *newest = None;
        }
        Ok(())
    }

    /// The tree of another commit, for a preflight; what [`Self::kept`] gives stays.
    ///
    /// # Errors
    /// The bot is away or refuses, or the archive is not believed.
    pub async fn at(&self, commit: &CommitId) -> Result<Arc<dyn Tree>, AgentError> {
        if let Ok(Some(kept)) = self.kept().await
            && kept.commit == *commit
        {
            return Ok(kept.tree);
        }
        let (signed, enrolment) = self.signed_archive(commit).await?;
        Ok(archive::open(signed, &enrolment, &self.repository).await?.tree)
    }

    async fn signed_archive(&self, commit: &CommitId) -> Result<(Signed, Enrolment), AgentError> {
        let query = [("repository", self.repository.as_str()), ("commit", commit.as_str())];
        let call = self.http.get("archive", &query, "fetching an archive").within(Duration::from_secs(300));
        let call = call.of_bytes(usize::try_from(ARCHIVE_BYTES).unwrap_or(usize::MAX));
        let signed = BotHttp::archive(self.authorised(call).await?, commit.clone());
        Ok((signed, self.enrolled().await?))
    }

    /// Answers a question. Once it was answered, another answer changes nothing.
    ///
    /// # Errors
    /// The bot is away or refuses.
    pub async fn answer(&self, id: &PreflightId, answer: &PreflightAnswer) -> Result<(), AgentError> {
        let call = self.http.post(&format!("preflights/{id}"), answer, "answering a preflight")?;
        self.authorised(call).await.map(drop)
    }

    /// Where else the bot heard of a cluster.
    ///
    /// # Errors
    /// The bot is away or refuses.
    pub async fn record(&self, cluster: &ClusterId) -> Result<RecordAnswer, AgentError> {
        let query = [("repository", self.repository.as_str()), ("cluster", cluster.as_str())];
        let call = self.http.get("record", &query, "asking where a cluster was seen");
        self.http.json(&self.authorised(call).await?)
    }

    /// Takes a report: on disk when this returns, sent as soon as the bot takes it. The report's id and
    /// repository are set here; a report that says what the last one on its cluster said is dropped.
    ///
    /// # Errors
    /// It cannot be stored.
    pub async fn report(self: &Arc<Self>, mut report: RolloutReport) -> Result<(), AgentError> {
        report.repository = self.repository.clone();
        let client = Arc::clone(self);
        let stored = tokio::task::spawn_blocking(move || {
            client.outbox.lock().unwrap_or_else(PoisonError::into_inner).store(report)
        });
        let disk = |reason: String| AgentError::Disk { path: self.folder.display().to_string(), reason };
        stored.await.map_err(|error| disk(error.to_string()))??;
        self.stored.notify_one();
        Ok(())
    }

    /// How many reports wait to be sent.
    pub fn waiting_reports(&self) -> usize {
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

impl std::fmt::Debug for AgentClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentClient")
            .field("bot", &self.http.url().as_str())
            .field("repository", &self.repository)
            .finish_non_exhaustive()
    }
}
