//! What is said of campaigns.

use capstan_campaign::decision::{Decision, WaveState};
use capstan_campaign::facts::{Member, Note, Standing};
use capstan_campaign::settings::WaveSettings;
use capstan_facts::AuditEntry;
use capstan_report::{CampaignStanding, StatusState};

use super::moving::Moving;
use crate::proposals::Campaigns;

/// How a release stands, for people.
pub fn standing(moving: &Moving<'_>, decision: &Decision, members: &[Member]) -> CampaignStanding {
    let count = |at: usize, done: bool| {
        let of_wave = members
            .iter()
            .filter(|member| member.wave == at && !moving.note.memory.skipped.contains(&member.cluster));
        of_wave.filter(|member| !done || matches!(member.standing, Standing::Done { .. })).count()
    };
    let wave = |(at, (wave, state)): (usize, (&WaveSettings, &WaveState))| {
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

/// The lines of the audit trail: campaigns that were stopped now.
pub fn audit_stopped(campaigns: &Campaigns, repository: u64) -> Vec<AuditEntry> {
    let one = |(note, stop): &(Note, capstan_campaign::facts::Stop)| AuditEntry {
        repository,
        proposal: None,
        actor: "capstan".to_owned(),
        action: "campaign-stopped",
        detail: format!("{} of campaign {}: {}", note.release, note.campaign, stop.why),
    };
    campaigns.stopped.iter().map(one).collect()
}

/// What the commit of a campaign's release says: that it stands still, or goes on since; `None` where nothing is said.
pub fn status_of(note: &Note) -> Option<(StatusState, String)> {
    match &note.memory.stopped {
        Some(stop) => {
            Some((StatusState::Failure, format!("campaign-stopped: {}: {}", note.release, stop.why)))
        }
        None if note.memory.resumed_at.is_some() => {
            Some((StatusState::Success, format!("{} goes on", note.release)))
        }
        None => None,
    }
}
