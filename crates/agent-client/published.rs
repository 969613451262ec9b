//! Which files for clusters' owners the bot has: nothing is sent to it twice within some hours, also after a restart. Then it
//! is sent once more: a bot whose database was brought back from a copy has what it had then.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use capstan_live::agent::{KubeconfigFile, KubeconfigRequest};
use capstan_model::digest::digest;
use capstan_model::ids::ClusterId;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::{AgentClient, AgentError, files};

/// The file in the agent's folder.
const FILE: &str = "kubeconfigs.json";
/// The entry of a cluster for which the bot has nothing.
const NONE: &str = "";
/// How long it is believed that the bot has what it took: so long at least, and for each cluster up to twice that, so that
/// not all of them are sent at once.
const BELIEVED: SignedDuration = SignedDuration::from_hours(2);
/// How much later a bot that is away is sent what it once had.
const PAUSE: SignedDuration = SignedDuration::from_mins(10);

/// What the bot has, by cluster.
pub(super) struct PublishedCache {
    path: PathBuf,
    known: BTreeMap<String, SentFile>,
}

/// What the bot took.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct SentFile {
    /// Digest of what was sent.
    digest: String,
    /// When.
    at: Timestamp,
}

impl PublishedCache {
    /// As it was kept; what cannot be read is not known, and is sent once more.
    pub(super) fn open(folder: &Path) -> Result<Self, AgentError> {
        let path = folder.join(FILE);
        let known = files::read(&path)?.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        Ok(Self { path, known: known.unwrap_or_default() })
    }

    /// Whether the bot took it last.
    fn took(&self, cluster: &ClusterId, print: &str) -> Option<&SentFile> {
        self.known.get(cluster.as_str()).filter(|taken| taken.digest == print)
    }

    /// Whether it has it, as far as that is believed now.
    fn has(&self, cluster: &ClusterId, print: &str, now: Timestamp) -> bool {
        let age = self.took(cluster, print).map(|taken| now.duration_since(taken.at));
        age.is_some_and(|age| !age.is_negative() && age < believed(cluster))
    }

    /// It does not answer, and is asked again a little later.
    fn put_off(&mut self, cluster: &ClusterId, now: Timestamp) {
        if let Some(taken) = self.known.get_mut(cluster.as_str()) {
            taken.at = now.saturating_sub(believed(cluster) - PAUSE).unwrap_or(taken.at);
        }
    }

    fn note(&mut self, cluster: &ClusterId, digest: String, at: Timestamp) -> Result<(), AgentError> {
        self.known.insert(cluster.to_string(), SentFile { digest, at });
        let text = serde_json::to_vec(&self.known).unwrap_or_default();
        files::write(&self.path, &text)
    }

    /// The bot is a new one, which has nothing.
    pub(super) fn forget(&mut self) {
        self.known.clear();
        if let Err(error) = files::remove(&self.path) {
            tracing::warn!(%error, "the record of what a bot had cannot be deleted");
        }
    }
}

fn believed(cluster: &ClusterId) -> SignedDuration {
    let sixteenths = digest(&[cluster.as_str()]).chars().next().and_then(|letter| letter.to_digit(16));
    BELIEVED + BELIEVED / 16 * sixteenths.and_then(|share| i32::try_from(share).ok()).unwrap_or_default()
}

impl AgentClient {
    /// Has the file of a cluster published, or none any more; nothing is sent that the bot has, as far as that is believed.
    ///
    /// # Errors
    /// The bot is away or refuses, or the disk does not take that it has it.
    pub(super) async fn publish_kubeconfig(
        &self,
        (cluster, file): (&ClusterId, Option<KubeconfigFile>),
    ) -> Result<(), AgentError> {
        let print = match &file {
            Some(file) => {
                let said = serde_json::to_string(&file.said).unwrap_or_default();
                digest(&[&said, &file.content])
            }
            None => NONE.to_owned(),
        };
        let now = Timestamp::now();
        if self.published.lock().unwrap_or_else(PoisonError::into_inner).has(cluster, &print, now) {
            return Ok(());
        }
        let request =
            KubeconfigRequest { repository: self.repository.clone(), cluster: cluster.clone(), file };
        let call = self.http.post("kubeconfigs", &request, "publishing a key for a cluster's owners")?;
        let sent = self.authorised(call).await;
        let mut published = self.published.lock().unwrap_or_else(PoisonError::into_inner);
        match sent {
            Ok(_) => published.note(cluster, print, now),
            Err(AgentError::Away { reason, .. }) if published.took(cluster, &print).is_some() => {
                tracing::debug!(%cluster, reason, "Capstan asks later whether the bot still has a key");
                published.put_off(cluster, now);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}
