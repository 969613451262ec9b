//! What is said of campaigns.

use capstan_campaign::decision::{Decision, WaveState};
use capstan_campaign::facts::{Member, Note, Standing};
use capstan_campaign::settings::WaveSettings;
use capstan_facts::{AuditEntry, CommitStatus};
use capstan_model::tree::CommitId;
use capstan_report::{CampaignStanding, Fingerprint, Refusal, StatusState};

use super::moving::Moving;
use crate::effects::{Effect, FirstStatus, StatusOf, status_text};
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
            WaveState::Soaking { until } => format!("is verified, and must stay healthy until {until}"),
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

/// What is done once it is known how campaigns stand: the audit trail names those that were stopped now, and the commits of
/// their releases say which stand still and which go on since.
pub fn told(campaigns: &Campaigns, repository: u64) -> Vec<Effect> {
    let stopped = campaigns.stopped.iter().map(|(note, stop)| {
        Effect::Audit(AuditEntry {
            repository,
            proposal: None,
            actor: "capstan".to_owned(),
            action: "campaign-stopped",
            detail: format!("{} of campaign {}: {}", note.release, note.campaign, stop.why),
        })
    });
    stopped.chain(campaigns.notes.iter().filter_map(status_of)).collect()
}

/// What the commit of a campaign's release says; `None` where nothing is said.
fn status_of(note: &Note) -> Option<Effect> {
    let commit = CommitId::parse(&note.commit).ok()?;
    let (state, description) = match &note.memory.stopped {
        Some(stop) => (StatusState::Failure, format!("campaign-stopped: {}: {}", note.release, stop.why)),
        None if note.memory.resumed_at.is_some() => {
            (StatusState::Success, format!("{} goes on", note.release))
        }
        None => return None,
    };
    let description = status_text(&description);
    let content = Fingerprint::of("campaign")
        .field("state", state.as_str())
        .field("description", &description)
        .finish();
    let context = format!("capstan/campaign/{}", note.campaign);
    let status = CommitStatus { context, state, description, target_url: Refusal::State.link() };
    Some(Effect::Status(StatusOf { commit, status, content, first: FirstStatus::Asked }))
}
