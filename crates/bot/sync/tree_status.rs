//! The commit status `capstan/tree`: what of the default branch cannot be planned, said on its tip for as long as it lasts.
//!
//! A pull request that breaks a cluster says so in its check; what is broken on the default branch would otherwise stand
//! on the fleet page alone. Where nothing is wrong nothing is said, unless something was said of that very commit.

use capstan_bot_core::facts::{Plans, Write};
use capstan_model::tree::CommitId;
use capstan_report::markdown::one_line;
use capstan_report::{Fingerprint, Refusal, StatusState};

use super::{Run, SyncError};
use capstan_ports::{CheckRecord, CommitStatus};

/// The context of the status, and the name under which it is remembered.
const NAME: &str = "capstan/tree";
/// GitHub takes so many characters, the sign that something was cut off among them.
const LONGEST: usize = 140;

/// Whether a status stands there already.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Said {
    /// It does not.
    Not,
    /// A database that was lost knows nothing of what was said: GitHub is asked.
    Unknown,
}

/// What a status says, as long as GitHub takes it.
pub(super) fn status_text(text: &str) -> String {
    one_line(text, LONGEST - 1)
}

impl Run<'_> {
    /// Says which targets cannot be planned.
    pub(super) async fn report_tree(self, plans: &Plans) -> Result<(), SyncError> {
        let unplanned = plans.iter().filter(|(_, plan)| plan.is_err());
        let mut targets: Vec<String> =
            unplanned.map(|(proposal, _)| proposal.target.path().to_owned()).collect();
        targets.dedup();
        let description = match targets.as_slice() {
            [] => None,
            [one] => Some(format!("{one} cannot be planned")),
            several => Some(format!("{} clusters cannot be planned: {}", several.len(), several.join(", "))),
        };
        self.set_tree_status(description).await
    }

    /// Says that nothing can be planned: the settings, say, cannot be read.
    pub(super) async fn report_tree_without_settings(self, why: &str) -> Result<(), SyncError> {
        self.set_tree_status(Some(format!("nothing can be planned: {why}"))).await
    }

    /// `None` where all is well.
    async fn set_tree_status(self, description: Option<String>) -> Result<(), SyncError> {
        let (records, repository, head) = (&self.ports.records, self.repository.id, &self.facts.base.commit);
        let known = records.check(repository, head, NAME).await?;
        let content = Fingerprint::of("tree").maybe("description", description.as_ref()).finish();
        match &known {
            None if description.is_none() => return Ok(()),
            Some(known) if known.content == content => return Ok(()),
            _ => {}
        }
        let state = if description.is_some() { StatusState::Failure } else { StatusState::Success };
        let status = CommitStatus {
            context: NAME.to_owned(),
            state,
            description: status_text(description.as_deref().unwrap_or("all clusters can be planned")),
            target_url: description.as_ref().and_then(|_| Refusal::State.link()),
        };
        self.write_status(head, status, content, Said::Not).await
    }

    /// Says a commit status, but where GitHub refused just that before, and remembers what was said.
    pub(super) async fn write_status(
        self,
        commit: &CommitId,
        status: CommitStatus,
        content: String,
        said: Said,
    ) -> Result<(), SyncError> {
        let (host, repository) = (&self.ports.host, self.repository.id);
        let write = Write::tree_status(commit.as_str(), &content);
        if self.refusal(&write).is_some() {
            return Ok(());
        }
        let is_said = match said {
            Said::Not => false,
            Said::Unknown => {
                let there = host.commit_status(self.repository, commit, &status.context).await?;
                there.is_some_and(|there| {
                    there.state == status.state && there.description == status.description
                })
            }
        };
        if !is_said {
            let written = host.create_commit_status(self.repository, commit, &status).await;
            if self.attempt(&write, written.map_err(SyncError::from)).await?.is_some() {
                return Ok(());
            }
        }
        let (head, name) = (commit.clone(), status.context);
        let record =
            CheckRecord { repository, head, name, check_run: 0, content, verdict: None, pressed: None };
        Ok(self.ports.records.save_check(&record).await?)
    }
}
