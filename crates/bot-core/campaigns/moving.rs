//! Releases that move through campaigns, and people's orders to them.

use std::collections::BTreeMap;

use capstan_campaign::facts::{Load, Member, Note, Stop};
use capstan_campaign::membership::{WaveCandidate, is_of, wave_of};
use capstan_campaign::settings::{CampaignSettings, WaveSettings};
use capstan_model::ids::{ClusterId, ReleaseId};
use capstan_model::source::{SourceId, SourceKind};
use capstan_model::target::TargetKind;
use capstan_plan::proposal::ProposalId;
use capstan_plan::verbs::OrderWhat;
use jiff::Timestamp;

use crate::planned::PlannedRun;
use crate::requests::GivenOrder;

/// A release that moves through a campaign.
#[derive(Debug, Clone)]
pub struct Moving<'a> {
    /// The campaign.
    pub settings: &'a CampaignSettings,
    pub release: ReleaseId,
    /// Its record.
    pub note: Note,
}

/// Whether a release is newer, from the same provider.
pub(super) fn is_newer(one: &ReleaseId, than: &ReleaseId) -> bool {
    one.provider() == than.provider()
        && matches!((one.version(), than.version()), (Some(one), Some(than)) if one > than)
}

/// Adds the loads that begin in each wave.
pub(super) fn note_begun(begun: &mut Vec<Load>, open: &[ClusterId], members: &[Member]) {
    for member in members.iter().filter(|member| open.contains(&member.cluster)) {
        if begun.len() <= member.wave {
            begun.resize(member.wave + 1, Load::default());
        }
        if let Some(load) = begun.get_mut(member.wave) {
            *load = load.and(Load { open: 1, clusters: 1, machines: member.machines });
        }
    }
}

/// The campaign that moves a release.
pub(super) fn campaign_for<'a>(planned: PlannedRun<'a>, release: &ReleaseId) -> Option<&'a CampaignSettings> {
    planned.settings.campaigns.iter().find(|campaign| is_of(campaign, release.as_str()))
}

/// The wave of a proposal's target, with its index: in the campaign of its offered release, otherwise of its
/// current one.
pub(super) fn wave_in<'a>(
    planned: PlannedRun<'a>,
    proposal: &ProposalId,
) -> Option<(usize, &'a WaveSettings)> {
    let upgrade = planned.plan_of(proposal).filter(|_| is_of_release(proposal))?;
    let mut releases = [&upgrade.to, &upgrade.from].into_iter().filter_map(|one| release_of(one.as_ref()));
    let campaign = releases.find_map(|release| campaign_for(planned, &release))?;
    let place = wave_of(campaign, &candidate(planned, proposal.target.id()?))?;
    campaign.waves.get(place).map(|wave| (place, wave))
}

/// The wave selectors' view of a cluster of which only the folder is known.
pub fn by_folder(cluster: &ClusterId) -> WaveCandidate {
    WaveCandidate { cluster: cluster.clone(), labels: BTreeMap::new(), fields: BTreeMap::new() }
}

/// The wave selectors' view of a cluster.
pub(super) fn candidate(planned: PlannedRun<'_>, cluster: &ClusterId) -> WaveCandidate {
    planned.candidates.get(cluster).cloned().unwrap_or_else(|| by_folder(cluster))
}

/// Carries out a person's order to a campaign.
pub(super) fn give(order: &GivenOrder, settings: &CampaignSettings, note: &mut Note, now: Timestamp) {
    if !order.campaigns.contains(&settings.name) {
        return;
    }
    let memory = &mut note.memory;
    match &order.what {
        OrderWhat::Stop(reason) => {
            let why = match reason {
                Some(reason) => format!("`{}` stopped it ({reason}).", order.by),
                None => format!("`{}` stopped it.", order.by),
            };
            memory.stopped = Some(Stop { at: now, why, by_person: true });
        }
        OrderWhat::Resume => {
            if memory.stopped.take().is_some() {
                memory.resumed_at = Some(now);
            }
            for wave in memory.waves.values_mut() {
                wave.webhook = wave.webhook.take().filter(|word| word.passed);
            }
        }
        OrderWhat::Skip(cluster) => drop(memory.skipped.insert(cluster.clone())),
    }
}

/// The release of a source, if it is one.
pub(super) fn release_of(source: Option<&SourceId>) -> Option<ReleaseId> {
    let source = source.filter(|source| *source.kind() == SourceKind::RELEASE)?;
    Some(ReleaseId::from_path(source.path()))
}

/// Whether campaigns apply to a proposal: those of releases, for clusters and provider sets.
pub(super) fn is_of_release(proposal: &ProposalId) -> bool {
    proposal.kind == SourceKind::RELEASE
        && matches!(proposal.target.kind(), TargetKind::Cluster | TargetKind::Providers)
}
