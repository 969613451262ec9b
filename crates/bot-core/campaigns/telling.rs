//! Texts about campaigns.

use std::collections::BTreeMap;

use capstan_campaign::decision::{CampaignDecision, WaveState};
use capstan_campaign::facts::{ClusterProgress, Member, Note};
use capstan_campaign::settings::{CampaignSettings, WaveSettings};
use capstan_campaign::wording::minute;
use capstan_facts::{AuditEntry, CampaignProgress, CommitStatus, MovingCluster, MovingStage, WaveProgress};
use capstan_model::tree::CommitId;
use capstan_model::wording::sentence;
use capstan_plan::settings::CommandSettings;
use capstan_plan::verbs::Verb;
use capstan_report::{CampaignStanding, Fingerprint, Refusal, StatusState};

use jiff::Timestamp;

use super::moving::Moving;
use crate::effects::{Effect, FirstStatus, StatusOf, status_text};
use crate::proposals::Campaigns;

/// Clusters listed that are not done.
const LISTED: usize = 500;

/// The progress of a release, for people.
pub(super) fn standing(
    moving: &Moving<'_>,
    decision: &CampaignDecision,
    members: &[Member],
) -> CampaignStanding {
    let count = |at: usize, done: bool| {
        let of_wave = members_of(at, members, moving);
        of_wave.filter(|member| !done || matches!(member.standing, ClusterProgress::Done { .. })).count()
    };
    let wave = |(at, (wave, state)): (usize, (&WaveSettings, &WaveState))| {
        let words = wave_in_words(state, members_of(at, members, moving));
        let done = match count(at, false) {
            0 => "no cluster is in it".to_owned(),
            all => format!("{} of {all} done", count(at, true)),
        };
        (wave.name.clone(), format!("{done}; {words}"))
    };
    CampaignStanding {
        name: moving.settings.name.clone(),
        release: moving.release.to_string(),
        stopped: decision.stopped.as_ref().map(|stop| format!("on {}: {}", minute(stop.at), stop.why)),
        waves: moving.settings.waves.iter().zip(&decision.waves).enumerate().map(wave).collect(),
        skipped: moving.note.memory.skipped.iter().map(ToString::to_string).collect(),
    }
}

/// The same in detail, for the pages.
pub(super) fn progress(
    moving: &Moving<'_>,
    decision: &CampaignDecision,
    members: &[Member],
    commands: &CommandSettings,
) -> CampaignProgress {
    let prefix = commands.prefix.as_str();
    let Moving { settings, release, note } = moving;
    let counted: Vec<&Member> =
        members.iter().filter(|member| !note.memory.skipped.contains(&member.cluster)).collect();
    let mut clusters: Vec<MovingCluster> =
        counted.iter().filter_map(|member| moving_cluster(member, settings, decision, prefix)).collect();
    let in_stage = |at: usize, stage: MovingStage| {
        let those = clusters.iter().filter(|one| one.wave == at && one.stage == stage);
        u32::try_from(those.count()).unwrap_or(u32::MAX)
    };
    let wave = |(at, state): (usize, &WaveState)| {
        let own = counted.iter().filter(|member| member.wave == at);
        let mut done: BTreeMap<Timestamp, u32> = BTreeMap::new();
        let mut done_undated = 0;
        for member in own.clone() {
            match member.standing {
                ClusterProgress::Done { at } if at == Timestamp::MIN => done_undated += 1,
                ClusterProgress::Done { at } => *done.entry(whole_minute(at)).or_default() += 1,
                _ => {}
            }
        }
        WaveProgress {
            state: wave_in_words(state, members_of(at, members, moving)),
            soaks_until: match state {
                WaveState::Soaking { until } => Some(*until),
                _ => None,
            },
            clusters: u32::try_from(own.count()).unwrap_or(u32::MAX),
            failed: in_stage(at, MovingStage::Failed),
            rolling: in_stage(at, MovingStage::Rolling),
            open: in_stage(at, MovingStage::Open),
            done_undated,
            done: done.into_iter().collect(),
        }
    };
    let waves = decision.waves.iter().enumerate().map(wave).collect();
    clusters.sort_by(|one, other| {
        (one.wave, one.stage, &one.cluster).cmp(&(other.wave, other.stage, &other.cluster))
    });
    let left_out = clusters.len().saturating_sub(LISTED);
    clusters.truncate(LISTED);
    CampaignProgress {
        campaign: settings.name.clone(),
        release: release.to_string(),
        prefix: prefix.to_owned(),
        ordered_by: commands.principals(Verb::Campaign, None).unwrap_or_default().to_vec(),
        stopped: decision.stopped.clone(),
        skipped: note.memory.skipped.clone(),
        calendar: settings.calendar(),
        waves,
        clusters,
        left_out,
    }
}

/// A cluster that is not done, with what it waits for.
fn moving_cluster(
    member: &Member,
    settings: &CampaignSettings,
    decision: &CampaignDecision,
    prefix: &str,
) -> Option<MovingCluster> {
    let (stage, why) = match &member.standing {
        ClusterProgress::Done { .. } => return None,
        ClusterProgress::Failed { how, .. } => (MovingStage::Failed, format!("{}.", sentence(how.words()))),
        ClusterProgress::Merged => (MovingStage::Rolling, String::new()),
        ClusterProgress::Open => (MovingStage::Open, "Its pull request is not merged.".to_owned()),
        ClusterProgress::Behind | ClusterProgress::Barred(_) => {
            let why = decision.why_waiting(member, settings, prefix);
            (MovingStage::Waiting, why.map(|why| sentence(&why)).unwrap_or_default())
        }
    };
    let Member { cluster, wave, machines, .. } = member;
    Some(MovingCluster { cluster: cluster.clone(), wave: *wave, machines: *machines, stage, why })
}

/// Pages show no seconds.
fn whole_minute(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second().div_euclid(60) * 60).unwrap_or(at)
}

/// The clusters of a wave that the campaign does not skip.
fn members_of<'m>(
    wave: usize,
    members: &'m [Member],
    moving: &'m Moving<'_>,
) -> impl Iterator<Item = &'m Member> {
    let skipped = &moving.note.memory.skipped;
    members.iter().filter(move |member| member.wave == wave && !skipped.contains(&member.cluster))
}

/// The state of a wave, as the predicate of a sentence.
fn wave_in_words<'m>(state: &WaveState, mut members: impl Iterator<Item = &'m Member>) -> String {
    let failed = |member: &Member| match member.standing {
        ClusterProgress::Failed { how, .. } => Some(how.of(&member.cluster)),
        _ => None,
    };
    match state {
        WaveState::Waits { why } => why.clone(),
        WaveState::Entered { waits: None } => "is under way".to_owned(),
        WaveState::Entered { waits: Some(what) } => format!("is under way; {what}"),
        WaveState::Soaking { until } => {
            format!("is verified, and must stay healthy until {}", minute(*until))
        }
        // Waves after it have begun, so it does not begin again.
        WaveState::Ended { .. } => match members.find_map(failed) {
            Some(since) => format!("has ended; since then, {since}"),
            None => "has ended".to_owned(),
        },
    }
}

/// The effects of the campaigns' progress: the audit trail lists those that were stopped now, and the commits
/// of their releases say which are stopped and which continue.
pub fn progress_effects(campaigns: &Campaigns, repository: u64) -> Vec<Effect> {
    let stopped = campaigns.stopped.iter().map(|(note, stop)| {
        let detail = format!("{} of campaign {}: {}", note.release, note.campaign, stop.why);
        Effect::Audit(AuditEntry::own(repository, None, "campaign-stopped", detail))
    });
    stopped.chain(campaigns.notes.iter().filter_map(status_of)).collect()
}

/// The status of the commit of a campaign's release; `None` where there is none.
fn status_of(note: &Note) -> Option<Effect> {
    let commit = CommitId::parse(&note.commit).ok()?;
    let (state, description) = match &note.memory.stopped {
        Some(stop) => (StatusState::Failure, format!("{} is stopped: {}", note.release, stop.why)),
        None if note.memory.resumed_at.is_some() => {
            (StatusState::Success, format!("{} continues", note.release))
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
