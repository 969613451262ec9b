//! Which releases move through campaigns now, and which clusters are in none of their waves.

use std::collections::{BTreeMap, BTreeSet};

use capstan_campaign::decision::CampaignDecision;
use capstan_campaign::facts::{Load, Member, Note};
use capstan_campaign::membership::wave_of;
use capstan_campaign::settings::CampaignSettings;
use capstan_model::finding::Finding;
use capstan_model::ids::ReleaseId;
use capstan_model::tree::RepoPath;
use capstan_plan::proposal::ProposalId;
use capstan_plan::settings::{FOLDER_FILE, ReleaseSettings, RepositorySettings, Urgency};

use super::moving::{Moving, campaign_for, candidate, is_newer};
use super::standing::TargetProgress;
use crate::planned::PlannedRun;
use crate::proposals::{Campaigns, Waits};

/// The result of all campaigns.
#[derive(Debug, Clone, Default)]
pub struct Obeyed {
    /// Their progress.
    pub campaigns: Campaigns,
    /// Proposals that are not opened yet, and why.
    pub waiting: BTreeMap<ProposalId, Waits>,
    /// What begins in each campaign's waves in this run, for any release: it takes room from the next
    /// release.
    pub begun: BTreeMap<String, Vec<Load>>,
}

/// The campaign of what a target is offered.
pub(super) fn campaign_of<'a>(
    planned: PlannedRun<'a>,
    place: &TargetProgress,
) -> Option<&'a CampaignSettings> {
    campaign_for(planned, place.moves_to()?)
}

/// The releases that move: the offered ones, and of the recorded ones the newest of each provider.
pub(super) fn moving<'a>(
    planned: PlannedRun<'a>,
    places: &BTreeMap<ProposalId, TargetProgress>,
) -> Vec<Moving<'a>> {
    let notes = planned.decided.notes();
    let mut offered: BTreeSet<ReleaseId> =
        places.values().filter_map(|place| place.moves_to().cloned()).collect();
    for note in notes {
        let release = ReleaseId::from_path(&note.release);
        let is_overtaken = |other: &ReleaseId| is_newer(other, &release);
        let known = places.values().flat_map(|place| [&place.offered, &place.at]).flatten();
        if !known.clone().any(is_overtaken) && known.clone().any(|one| *one == release) {
            offered.insert(release);
        }
    }
    let mut all = Vec::new();
    for release in offered {
        let Some(settings) = campaign_for(planned, &release) else { continue };
        let own =
            notes.iter().find(|note| note.campaign == settings.name && note.release == release.as_str());
        let note = own.cloned().unwrap_or_else(|| {
            let mut note = Note {
                campaign: settings.name.clone(),
                release: release.to_string(),
                commit: planned.facts.base.commit.to_string(),
                ..Note::default()
            };
            // A campaign that a person stopped stays stopped, whatever is released meanwhile.
            let same = |old: &&Note| {
                old.campaign == settings.name
                    && ReleaseId::from_path(&old.release).provider() == release.provider()
            };
            let mut stops = notes.iter().filter(same).filter_map(|old| old.memory.stopped.clone());
            note.memory.stopped = stops.rfind(|stop| stop.by_person);
            note
        });
        all.push(Moving { settings, release, note });
    }
    all
}

/// Clusters that are offered a release of a campaign, and are in none of its waves.
pub(super) fn in_no_wave(
    planned: PlannedRun<'_>,
    places: &BTreeMap<ProposalId, TargetProgress>,
) -> Vec<(ProposalId, String)> {
    let stray = |(proposal, place): (&ProposalId, &TargetProgress)| {
        let settings = campaign_of(planned, place).filter(|_| place.begins)?;
        let cluster = proposal.target.id()?;
        let in_none = wave_of(settings, &candidate(planned, cluster)).is_none();
        let why = || {
            format!(
                "No wave of campaign `{}` matches it, so Capstan proposes nothing for it. Add a last wave that matches `**`.",
                settings.name
            )
        };
        in_none.then(|| (proposal.clone(), why()))
    };
    places.iter().filter_map(stray).collect()
}

/// Whether a release declares itself urgent. For one in another repository this is not known.
pub(super) fn is_urgent(planned: PlannedRun<'_>, release: &ReleaseId) -> bool {
    if planned.origin.is_some() {
        return false;
    }
    let tree = planned.facts.base.tree.as_ref();
    let read = |folder: RepoPath| {
        let file = RepoPath::parse(&format!("{folder}/{FOLDER_FILE}")).ok()?;
        let content = tree.read(tree.entry(&file)?).ok()?;
        let text = std::str::from_utf8(&content).ok()?.to_owned();
        ReleaseSettings::read(&file, &text).ok()?.urgency
    };
    release.possible_folders().into_iter().find_map(read) == Some(Urgency::Now)
}

/// Proposals whose pull request is not opened yet, and why.
pub(super) fn waiting(
    planned: PlannedRun<'_>,
    (settings, release): (&CampaignSettings, &ReleaseId),
    decision: &CampaignDecision,
    members: &[(&ProposalId, &Member)],
    places: &BTreeMap<ProposalId, TargetProgress>,
) -> Vec<(ProposalId, Waits)> {
    let prefix = planned.settings.commands.prefix.as_str();
    let waits = |(id, member): &(&ProposalId, &Member)| {
        // A cluster with this release may be offered a newer one, whose waves decide then.
        let begins = places.get(*id).is_some_and(|place| place.begins && place.moves_to() == Some(release));
        if !begins || decision.open.contains(&member.cluster) {
            return None;
        }
        let why = decision.why_waiting(member, settings, prefix).unwrap_or_else(|| {
            format!(
                "Campaign `{}` continues without it: `{} upgrade {}` opens its pull request.",
                settings.name, prefix, member.cluster
            )
        });
        Some(((*id).clone(), Waits { why, for_all: decision.stopped.is_some() }))
    };
    members.iter().filter_map(waits).collect()
}

/// Proposals that are not opened because the dashboard cannot record the progress of their campaigns.
pub(super) fn unnoted(
    planned: PlannedRun<'_>,
    places: &BTreeMap<ProposalId, TargetProgress>,
) -> Vec<(ProposalId, Waits)> {
    let Some(why) = planned.decided.why_no_dashboard() else { return Vec::new() };
    let begins = |place: &TargetProgress| place.begins && campaign_of(planned, place).is_some();
    let waits = |proposal: &ProposalId| {
        let why =
            format!("Capstan opens nothing new: it cannot record the progress of campaigns, because {why}.");
        (proposal.clone(), Waits { why, for_all: true })
    };
    places.iter().filter(|(_, place)| begins(place)).map(|(proposal, _)| waits(proposal)).collect()
}

/// Problems of campaigns under new settings, except those that the old ones have too.
pub fn new_problems(old: &RepositorySettings, was: &[Finding], now: Vec<Finding>) -> Vec<Finding> {
    let is_new =
        |finding: &Finding| !was.iter().any(|one| one.rule == finding.rule && one.message == finding.message);
    old.severities().settle(now.into_iter().filter(is_new).collect())
}
