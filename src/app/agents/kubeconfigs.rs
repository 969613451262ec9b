//! Files in which the owners of clusters find a key: taken from reconcilers, given to whoever knows where to look.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use capstan_live::agent::{Kubeconfig, KubeconfigForm, KubeconfigPlace, KubeconfigRequest};
use capstan_model::ids::ClusterId;

use super::authentication::revoked;
use super::{Agents, Denied};
use crate::app::ports::{Agent, Heard};

/// A file as it is given out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenKubeconfig {
    /// What is said of it.
    pub said: Kubeconfig,
    /// The file.
    pub content: Vec<u8>,
}

impl Agents {
    /// Keeps the file of a cluster, or none any more.
    ///
    /// # Errors
    /// The cluster is none of the agent's, the file is not what is said of it or holds a secret in the open, or the agent
    /// was revoked meanwhile.
    pub async fn take_kubeconfig(&self, agent: &Agent, request: &KubeconfigRequest) -> Result<(), Denied> {
        let watched = self.repository_of(agent, request.repository.as_str()).await?;
        let cluster = &request.cluster;
        if !watched.managed_by.has(&agent.management_cluster, cluster) {
            let why = format!("agent {} sends a key of {cluster}, which is not its own", agent.id);
            return Err(Denied::NotThere(why));
        }
        if let Some(Err(why)) = request.file.as_ref().map(|file| file.bytes()) {
            return Err(Denied::Unusable(format!(
                "agent {} sends a key of {cluster} that is not taken: {why}",
                agent.id
            )));
        }
        let id = watched.repository.id;
        let heard = self.records().keep_kubeconfig(id, agent, cluster, request.file.as_ref()).await?;
        match heard {
            Heard::Revoked => Err(revoked(agent)),
            Heard::NotAwaited => Ok(()),
            Heard::Stored => {
                let said = request.file.as_ref().map(|file| &file.said);
                match said {
                    Some(said) => {
                        tracing::info!(repository = %watched.repository.name, %cluster, agent = %agent.id, sha256 = said.sha256, "a key for the owners of a cluster is published");
                    }
                    None => {
                        tracing::info!(repository = %watched.repository.name, %cluster, agent = %agent.id, "no key of a cluster is published any more");
                    }
                }
                if said.is_some_and(|said| said.place == KubeconfigPlace::Git) {
                    self.look_at(id).await?;
                }
                Ok(())
            }
        }
    }

    /// The file of a cluster, by the name of its repository; `None` where there is none, or nothing of the kind.
    ///
    /// # Errors
    /// The records fail.
    pub async fn kubeconfig(
        &self,
        repository: &str,
        cluster: &ClusterId,
        form: KubeconfigForm,
    ) -> Result<Option<GivenKubeconfig>, Denied> {
        let Some(watched) = self.records().watched_repository(repository).await? else { return Ok(None) };
        // Whoever applied it before it was given to another management cluster has nothing to say of it.
        let owner = watched.managed_by.owner(cluster).map(|owner| owner.uid.clone());
        let kept = self.records().kubeconfig(watched.repository.id, cluster, form).await?;
        let kept = kept.filter(|kept| owner.is_some_and(|uid| uid.is(&kept.management_cluster)));
        let Some(kept) = kept else { return Ok(None) };
        match STANDARD.decode(&kept.content) {
            Ok(content) => Ok(Some(GivenKubeconfig { said: kept.said, content })),
            Err(_) => Err(Denied::Failed(format!("the file of {cluster} in the database is damaged"))),
        }
    }
}
