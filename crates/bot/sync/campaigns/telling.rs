//! What is said of campaigns: in the dashboard, in the audit trail, and as a status of the release's commit.

use capstan_bot_core::campaigns::{audit_stopped, status_of};
use capstan_bot_core::proposals::Campaigns;
use capstan_model::tree::CommitId;
use capstan_report::{Fingerprint, Refusal};

use super::super::tree_status::{Said, status_text};
use super::super::{Run, SyncError};
use capstan_ports::CommitStatus;

impl Run<'_> {
    /// Says on the commits of releases which campaigns stand still, once; and that they go on.
    pub(in super::super) async fn tell_campaigns(self, campaigns: &Campaigns) -> Result<(), SyncError> {
        for (note, stop) in &campaigns.stopped {
            tracing::warn!(repository = %self.repository.name, campaign = note.campaign, release = note.release, why = stop.why, "campaign-stopped");
        }
        for entry in audit_stopped(campaigns, self.repository.id) {
            self.ports.records.audit(&entry).await?;
        }
        for note in &campaigns.notes {
            let Ok(commit) = CommitId::parse(&note.commit) else { continue };
            let Some((state, description)) = status_of(note) else { continue };
            let name = format!("capstan/campaign/{}", note.campaign);
            let status = CommitStatus {
                context: name,
                state,
                description: status_text(&description),
                target_url: Refusal::State.link(),
            };
            self.set_campaign_status(&commit, status).await?;
        }
        Ok(())
    }

    async fn set_campaign_status(self, commit: &CommitId, status: CommitStatus) -> Result<(), SyncError> {
        let (records, repository) = (&self.ports.records, self.repository.id);
        let content = Fingerprint::of("campaign")
            .field("state", status.state.as_str())
            .field("description", &status.description)
            .finish();
        let known = records.check(repository, commit, &status.context).await?;
        if known.as_ref().is_some_and(|known| known.content == content) {
            return Ok(());
        }
        let said = if known.is_some() { Said::Not } else { Said::Unknown };
        self.write_status(commit, status, content, said).await
    }
}
