//! What is said of campaigns: in the dashboard, in the audit trail, and as a status of the release's commit.

use capstan_campaign::decision::{Decision, WaveState};
use capstan_campaign::facts::{Member, Standing};
use capstan_model::tree::CommitId;
use capstan_report::{CampaignStanding, Fingerprint, Refusal, StatusState};

use super::super::outcome::Campaigns;
use super::super::tree_status::{Said, status_text};
use super::super::{Run, SyncError};
use super::Moving;
use capstan_ports::{AuditEntry, CommitStatus};

/// How a release stands, for people.
pub(super) fn standing(moving: &Moving<'_>, decision: &Decision, members: &[Member]) -> CampaignStanding {
    let count = |at: usize, done: bool| {
        let of_wave = members
            .iter()
            .filter(|member| member.wave == at && !moving.note.memory.skipped.contains(&member.cluster));
        of_wave.filter(|member| !done || matches!(member.standing, Standing::Done { .. })).count()
    };
    let wave = |(at, (wave, state)): (usize, (&capstan_campaign::settings::WaveSettings, &WaveState))| {
        let words = match state {
            WaveState::Waits { why } => why.clone(),
            WaveState::Entered { waits: None } => "is under way".to_owned(),
            WaveState::Entered { waits: Some(what) } => format!("is under way; {what}"),
            WaveState::Soaking { until } => format!("is verified, and must stay well until {until}"),
            WaveState::Ended { .. } => "has ended".to_owned(),
        };
        let done = match count(at, false) {
            0 => "no cluster is in it".to_owned(),
            all => format!("{} of {all} done", count(at, true)),
        };
        (wave.name.clone(), format!("{done}; {words}"))
    };
    CampaignStanding {
        name: moving.settings.name.clone(),
        release: moving.release.to_string(),
        stopped: decision.stopped.as_ref().map(|stop| format!("since {}: {}", stop.at, stop.why)),
        waves: moving.settings.waves.iter().zip(&decision.waves).enumerate().map(wave).collect(),
        skipped: moving.note.memory.skipped.iter().map(ToString::to_string).collect(),
    }
}

impl Run<'_> {
    /// Says on the commits of releases which campaigns stand still, once; and that they go on.
    pub(in super::super) async fn tell_campaigns(self, campaigns: &Campaigns) -> Result<(), SyncError> {
        for (note, stop) in &campaigns.stopped {
            tracing::warn!(repository = %self.repository.name, campaign = note.campaign, release = note.release, why = stop.why, "campaign-stopped");
            let entry = AuditEntry {
                repository: self.repository.id,
                proposal: None,
                actor: "capstan".to_owned(),
                action: "campaign-stopped",
                detail: format!("{} of campaign {}: {}", note.release, note.campaign, stop.why),
            };
            self.ports.records.audit(&entry).await?;
        }
        for note in &campaigns.notes {
            let Ok(commit) = CommitId::parse(&note.commit) else { continue };
            let (state, description) = match &note.memory.stopped {
                Some(stop) => {
                    (StatusState::Failure, format!("campaign-stopped: {}: {}", note.release, stop.why))
                }
                None if note.memory.resumed_at.is_some() => {
                    (StatusState::Success, format!("{} goes on", note.release))
                }
                None => continue,
            };
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
