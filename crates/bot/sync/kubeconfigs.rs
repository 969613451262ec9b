//! Kubeconfigs of clusters' owners in Git: for each cluster a pull request with the encrypted file that its
//! reconciler sent.
//!
//! *Expected flow.* A reconciler sends a file, and the repository's job is queued. If the file in the
//! cluster's folder on the default branch differs, the branch `capstan/kubeconfig/<cluster>` and its pull
//! request are written.
//!
//! *Guarantees.* A file that is on the default branch already costs no call. A branch that a person edited is
//! not touched, and neither is a file whose pull request a person closed. Only that one file is written, and
//! only where the default branch wants it there, in that form, for those owners
//! ([`capstan_live::agent::GitOwners`]), whatever was stored earlier.

use capstan_bot_core::effects::{BranchThere, awaits_pull};
use capstan_bot_core::facts::Write;
use capstan_bot_core::kubeconfigs::{WantedFile, path_of};
use capstan_bot_core::planned::Planned;
use capstan_live::agent::{KubeconfigPlace, PublishedFile as Judged};
use capstan_model::target::Target;
use capstan_plan::proposal::{Authorship, judge_head};
use capstan_plan::settings::Mode;

use super::{Ending, Run, SyncError};
use crate::agents::git_owners;
use crate::performing::Published;
use capstan_ports::KeptKubeconfig;

/// Pull requests that one run writes; the next one continues.
const MOST: usize = 10;

impl Run<'_> {
    /// Writes the files that belong into Git.
    pub(super) async fn bring_kubeconfigs(self, planned: Planned<'_>) -> Result<Ending, SyncError> {
        let mut ending = Ending::default();
        if planned.settings.mode == Mode::Observe {
            return Ok(ending);
        }
        let mut left = MOST;
        for wanted in self.wanted_kubeconfigs(planned).await? {
            if left == 0 {
                ending.look_again();
                break;
            }
            let write = Write::cluster(&wanted.branch(), wanted.said.sha256.clone());
            if self.performer.refusal(&write).is_some() {
                continue;
            }
            left -= 1;
            let published = self.bring_kubeconfig(&wanted).await;
            if self.performer.settle(&write, published).await? == Some(Published::Overtaken) {
                ending.look_again();
            }
        }
        Ok(ending)
    }

    /// Clusters of this repository whose file differs from the one on the default branch.
    async fn wanted_kubeconfigs(&self, planned: Planned<'_>) -> Result<Vec<WantedFile>, SyncError> {
        let Some(reconcilers) = &self.ports.reconcilers else { return Ok(Vec::new()) };
        let id = self.repository.id;
        let mut wanted = Vec::new();
        for (cluster, said) in reconcilers.records.kubeconfigs(id).await? {
            let is_here = planned.scopes.contains_key(&Target::Cluster(cluster.clone()));
            if said.place != KubeconfigPlace::Git || !is_here {
                continue;
            }
            let Some(path) = path_of(self.facts, &cluster, &said) else { continue };
            let Some(kept) = reconcilers.records.kubeconfig(id, &cluster, said.form).await? else { continue };
            // A previous management cluster of this cluster has no say in it any more.
            let owner = planned.reporters.managed_by.owner(&cluster);
            if !owner.is_some_and(|owner| owner.uid.is(&kept.management_cluster)) {
                continue;
            }
            let Judged { said, bytes } = match self.judge_kubeconfig(&kept) {
                Ok(Some(published)) => published,
                Ok(None) => continue,
                Err(why) => {
                    tracing::warn!(repository = %self.repository.name, %cluster, "a file for owners is not added to Git: it {why}");
                    continue;
                }
            };
            let Ok(text) = String::from_utf8(bytes) else { continue };
            wanted.push(WantedFile { cluster, said, path, text });
        }
        Ok(wanted)
    }

    /// The file as the default branch wants it in Git; `None` where it wants none there.
    fn judge_kubeconfig(&self, kept: &KeptKubeconfig) -> Result<Option<Judged>, String> {
        let git = git_owners(self.facts.base.tree.as_ref(), &kept.cluster)?;
        if git.want_it_in_git() { git.judge(&kept.said, &kept.content).map(Some) } else { Ok(None) }
    }

    /// `None` where nothing is written: it was declined, or a person works on its branch.
    async fn bring_kubeconfig(&self, wanted: &WantedFile) -> Result<Option<Published>, SyncError> {
        let (open, branch) = (wanted.open_pull(self.facts), wanted.branch());
        let newest = if open.is_none() { self.newest_on(&branch).await? } else { None };
        if wanted.was_declined(newest.as_ref()) {
            return Ok(None);
        }
        let head = match open {
            Some(pull) => Some(pull.head.clone()),
            None => self.ports.host.branch(self.repository, &branch).await?,
        };
        let there = match head {
            None => None,
            Some(head) => {
                let read = self.read_head(&branch, &head, open.map(|pull| &pull.base)).await?;
                let is_own = matches!(judge_head(&read, None), Authorship::Capstan { .. });
                let snapshot = if is_own { self.snapshot(&head).await? } else { None };
                let is_in = snapshot.is_some_and(|snapshot| wanted.is_in(snapshot.tree.as_ref()));
                let holds = is_in && (open.is_some() || awaits_pull(newest.as_ref(), &head));
                Some(BranchThere { head, is_own, holds })
            }
        };
        let Some(desired) = wanted.desired(self.facts, there.as_ref()) else { return Ok(None) };
        self.performer.bring_up(&desired).await.map(Some)
    }
}
