//! Kubeconfig files for the owners of clusters: stored when reconcilers send them, and served to their
//! readers.
//!
//! Each is checked against Git twice: when it arrives, and when it is served. So a file of a removed owner is
//! not served, whether or not a reconciler sends another one.

use capstan_live::agent::{
    Kubeconfig, KubeconfigFile, KubeconfigForm, KubeconfigPlace, KubeconfigRequest, PublishedFile,
};
use capstan_model::ids::ClusterId;

use super::authentication::revoked;
use super::{Agents, Denied};
use capstan_ports::{Agent, ReportReceipt, WatchedRepository};

impl Agents {
    /// Stores the file of a cluster, or removes it.
    ///
    /// # Errors
    /// The cluster is not the agent's, Git does not want the file for its owners, Git cannot be read now, or
    /// the agent was revoked meanwhile.
    pub async fn take_kubeconfig(&self, agent: &Agent, request: &KubeconfigRequest) -> Result<(), Denied> {
        let watched = self.repository_of(agent, request.repository.as_str()).await?;
        let cluster = &request.cluster;
        if !watched.managed_by.has(&agent.management_cluster, cluster) {
            let why = format!("agent {} sends a key of {cluster}, which is not its own", agent.id);
            return Err(Denied::NotThere(why));
        }
        let file = match &request.file {
            None => None,
            Some(file) => match self.judge(&watched, cluster, &file.said, &file.content).await? {
                Ok(published) => Some(KubeconfigFile { said: published.said, content: file.content.clone() }),
                Err(why) => {
                    return Err(Denied::Unusable(format!(
                        "agent {} sends a file for the owners of {cluster} that Capstan refuses: it {why}",
                        agent.id
                    )));
                }
            },
        };
        let id = watched.repository.id;
        let heard = self.records().keep_kubeconfig(id, agent, cluster, file.as_ref()).await?;
        match heard {
            ReportReceipt::Revoked => Err(revoked(agent)),
            ReportReceipt::NotAwaited => Ok(()),
            ReportReceipt::Stored => {
                let said = file.as_ref().map(|file| &file.said);
                match said {
                    Some(said) => {
                        tracing::info!(repository = %watched.repository.name, %cluster, agent = %agent.id, sha256 = said.sha256, "a key for the owners of a cluster is published");
                    }
                    None => {
                        tracing::info!(repository = %watched.repository.name, %cluster, agent = %agent.id, "the key of a cluster is no longer published");
                    }
                }
                if said.is_some_and(|said| said.place == KubeconfigPlace::Git) {
                    self.look_at(id).await?;
                }
                Ok(())
            }
        }
    }

    /// The file of a cluster, by the name of its repository; `None` where there is no such repository or
    /// file, or Git no longer wants it.
    ///
    /// # Errors
    /// The records fail, or Git cannot be read now.
    pub async fn kubeconfig(
        &self,
        repository: &str,
        cluster: &ClusterId,
        form: KubeconfigForm,
    ) -> Result<Option<PublishedFile>, Denied> {
        let Some(watched) = self.records().watched_repository(repository).await? else { return Ok(None) };
        // A previous management cluster of this cluster has no say in it any more.
        let owner = watched.managed_by.owner(cluster).map(|owner| owner.uid.clone());
        let kept = self.records().kubeconfig(watched.repository.id, cluster, form).await?;
        let kept = kept.filter(|kept| owner.is_some_and(|uid| uid.is(&kept.management_cluster)));
        let Some(kept) = kept else { return Ok(None) };
        let judged = self.judge(&watched, cluster, &kept.said, &kept.content).await?;
        Ok(judged
            .inspect_err(|why| {
                tracing::debug!(repository = %watched.repository.name, %cluster, "a file for owners is not published: it {why}");
            })
            .ok())
    }

    /// Whether Git wants a file for the owners of a cluster; the error is part of a sentence that begins with
    /// the file.
    async fn judge(
        &self,
        watched: &WatchedRepository,
        cluster: &ClusterId,
        said: &Kubeconfig,
        content: &str,
    ) -> Result<Result<PublishedFile, String>, Denied> {
        let git = self.git_owners(watched, cluster).await?;
        Ok(git.and_then(|git| git.judge(said, content)))
    }
}
