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

use capstan_bot_core::facts::{Facts, Write};
use capstan_bot_core::kubeconfigs::{FileFound, FileNeed, WantedFile, reported};
use capstan_bot_core::planned::PlannedRun;
use capstan_bot_core::proposals::DecisionStep;
use capstan_plan::proposal::{Authorship, judge_head};
use capstan_plan::settings::Mode;

use super::SyncError;
use super::ending::Ending;
use super::heads::Heads;
use crate::agents::Reconcilers;
use crate::performing::{Performer, Published};

/// Pull requests that one run writes; the next one continues.
const MOST: usize = 10;

/// Writes them.
#[derive(Clone, Copy)]
pub(super) struct OwnerFiles<'a> {
    pub(super) reconcilers: Option<&'a Reconcilers>,
    pub(super) facts: &'a Facts,
    pub(super) heads: Heads<'a>,
    pub(super) performer: &'a Performer<'a>,
}

impl OwnerFiles<'_> {
    /// Writes the files that belong into Git.
    pub(super) async fn bring_up(self, planned: PlannedRun<'_>) -> Result<Ending, SyncError> {
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
    async fn wanted_kubeconfigs(self, planned: PlannedRun<'_>) -> Result<Vec<WantedFile>, SyncError> {
        let Some(reconcilers) = self.reconcilers else { return Ok(Vec::new()) };
        let (records, id) = (&reconcilers.records, self.facts.repository.id);
        let mut wanted = Vec::new();
        for file in reported(self.facts, planned.scopes, records.kubeconfigs(id).await?) {
            let Some(kept) = records.kubeconfig(id, &file.cluster, file.said.form).await? else { continue };
            let cluster = file.cluster.clone();
            let sent = (kept.management_cluster.as_str(), &kept.said, kept.content.as_str());
            match file.wanted(self.facts, &planned.reporters.managed_by, sent) {
                Ok(file) => wanted.extend(file),
                Err(why) => {
                    tracing::warn!(repository = %self.facts.repository.name, %cluster, "a file for owners is not added to Git: it {why}");
                }
            }
        }
        Ok(wanted)
    }

    /// `None` where nothing is written: it was declined, or a person works on its branch.
    async fn bring_kubeconfig(self, wanted: &WantedFile) -> Result<Option<Published>, SyncError> {
        let mut found = FileFound::default();
        let desired = loop {
            match wanted.decide(self.facts, &found) {
                DecisionStep::Decided(desired) => break desired,
                DecisionStep::Ask(FileNeed::Newest(branch)) => {
                    found.newest = Some(self.heads.newest_on(&branch).await?)
                }
                DecisionStep::Ask(FileNeed::Head(branch)) => {
                    found.head = Some(self.heads.host.branch(&self.facts.repository, &branch).await?);
                }
                DecisionStep::Ask(FileNeed::IsOwn(head)) => {
                    let base = wanted.open_pull(self.facts).map(|pull| &pull.base);
                    let read = self.heads.read_head(&wanted.branch(), &head, base).await?;
                    found.is_own = Some(matches!(judge_head(&read, None), Authorship::Capstan { .. }));
                }
                DecisionStep::Ask(FileNeed::Content(head)) => {
                    found.content = Some(self.heads.commits.snapshot(&head).await?)
                }
            }
        };
        let Some(desired) = desired else { return Ok(None) };
        self.performer.bring_up(&desired).await.map(Some)
    }
}
