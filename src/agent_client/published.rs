//! Which files for clusters' owners the bot has: nothing is sent to it twice, also after a restart.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use capstan_live::agent::{KubeconfigFile, KubeconfigRequest};
use capstan_model::digest::digest;
use capstan_model::ids::ClusterId;

use super::{AgentClient, AgentError, files};

/// The file in the agent's folder.
const FILE: &str = "kubeconfigs.json";
/// What stands there of a cluster of which the bot has none.
const NONE: &str = "";

/// What the bot has, by cluster: digests of what was sent.
pub(super) struct Published {
    path: PathBuf,
    known: BTreeMap<String, String>,
}

impl Published {
    /// As it was kept; what cannot be read is not known, and is sent once more.
    pub(super) fn open(folder: &Path) -> Result<Self, AgentError> {
        let path = folder.join(FILE);
        let known = files::read(&path)?.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        Ok(Self { path, known: known.unwrap_or_default() })
    }

    fn note(&mut self, cluster: &ClusterId, digest: String) -> Result<(), AgentError> {
        self.known.insert(cluster.to_string(), digest);
        let text = serde_json::to_vec(&self.known).unwrap_or_default();
        files::write(&self.path, &text)
    }

    /// The bot is a new one, which has nothing.
    pub(super) fn forget(&mut self) {
        self.known.clear();
        if let Err(error) = files::remove(&self.path) {
            tracing::warn!(%error, "what a bot had before cannot be forgotten");
        }
    }
}

impl AgentClient {
    /// Has the file of a cluster published, or none any more; nothing is sent that the bot has.
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
        {
            let published = self.published.lock().unwrap_or_else(PoisonError::into_inner);
            if published.known.get(cluster.as_str()) == Some(&print) {
                return Ok(());
            }
        }
        let request =
            KubeconfigRequest { repository: self.repository.clone(), cluster: cluster.clone(), file };
        let call = self.http.post("kubeconfigs", &request, "publishing a key for a cluster's owners")?;
        self.authorised(call).await?;
        self.published.lock().unwrap_or_else(PoisonError::into_inner).note(cluster, print)
    }
}
