//! The progress of each cluster with a release.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capstan_campaign::facts::{ClusterProgress, Load, Member, Memory, RolloutFailure};
use capstan_campaign::membership::wave_of;
use capstan_campaign::settings::CampaignSettings;
use capstan_live::agent::RolloutState;
use capstan_model::ids::{ClusterId, ReleaseId};
use capstan_model::rest::Rest;
use capstan_model::target::Target;
use capstan_model::tree::CommitId;
use capstan_plan::proposal::{Action, LeaveReason as Stands, ProposalId, WhyLeftOut};
use capstan_plan::upgrade::MachineCount;
use jiff::Timestamp;

use super::moving::{campaign_for, candidate, is_newer, is_of_release, release_of};
use crate::facts::{Facts, Scopes};
use crate::planned::PlannedRun;
use crate::proposals::{DecidedPull, held_by_refusals};

/// The members of a campaign that a release concerns.
#[derive(Debug, Clone, Default)]
pub(super) struct Members {
    members: Vec<(ProposalId, Member)>,
    /// Those that have the release, by their indexes among the members.
    landed: Vec<(usize, Target, ClusterId)>,
}

/// A target's release, and the progress of its offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TargetProgress {
    /// Its current release.
    pub(super) at: Option<ReleaseId>,
    /// The release that it is offered and does not have.
    pub(super) offered: Option<ReleaseId>,
    /// The progress of that.
    pub(super) state: Stand,
    /// Whether its pull request would be opened now, or an open one would add its changes.
    pub(super) begins: bool,
    /// Machines that the upgrade replaces; `None` = not in Git.
    pub(super) machines: Option<u32>,
    /// Whether it has to wait for its machines before it is offered anything.
    pub(super) awaited: bool,
}

impl TargetProgress {
    /// The release whose waves its offer belongs to. One that it had before, as of a rollback, belongs to none.
    pub(super) fn moves_to(&self) -> Option<&ReleaseId> {
        self.offered.as_ref().filter(|offered| !self.at.as_ref().is_some_and(|at| is_newer(at, offered)))
    }
}

/// The progress of an offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stand {
    /// It has nothing of it.
    Behind,
    /// It has an open pull request.
    Open,
    /// It gets none now: why, as a part of a sentence.
    Barred(String),
    /// It had the release, and somebody reverted it.
    TakenBack,
    /// Nothing is offered.
    Nothing,
}

/// The place of every target.
pub(super) fn places(
    planned: PlannedRun<'_>,
    decided: &BTreeMap<ProposalId, DecidedPull>,
    held: &BTreeMap<ProposalId, String>,
    now: Timestamp,
) -> BTreeMap<ProposalId, TargetProgress> {
    let mut stands: BTreeMap<&ProposalId, (Stand, bool)> = BTreeMap::new();
    let mut awaited: BTreeSet<&ProposalId> = BTreeSet::new();
    let refused = held_by_refusals(planned, decided, now);
    for (id, one) in decided {
        if held.contains_key(id) && !refused.contains_key(id) {
            awaited.extend(&one.carried);
        }
        for member in &one.carried {
            stands.insert(member, stand(planned.facts, id, one, member, held));
        }
        for (member, why) in &one.left_out {
            let stand = match why {
                WhyLeftOut::Waits(why) => Stand::Barred(part(why)),
                WhyLeftOut::LeftAlone(standing) => left(standing).0,
            };
            stands.insert(member, (stand, false));
        }
    }
    let place = |(proposal, plan): (&ProposalId, &Result<Arc<_>, String>)| {
        if !is_of_release(proposal) {
            return None;
        }
        let barred = || (Stand::Barred("Capstan could not read it".to_owned()), false);
        let upgrade: &capstan_plan::upgrade::Upgrade = match plan {
            Ok(upgrade) => upgrade,
            Err(_) => {
                let stands = Stand::Barred("it cannot be planned".to_owned());
                return Some((
                    proposal.clone(),
                    TargetProgress {
                        at: None,
                        offered: None,
                        state: stands,
                        begins: false,
                        machines: None,
                        awaited: false,
                    },
                ));
            }
        };
        let (from, to) = (release_of(upgrade.from.as_ref()), release_of(upgrade.to.as_ref()));
        let changes =
            !upgrade.blocked.is_empty() || upgrade.files.iter().any(|file| file.before != file.after);
        let (at, offered) = if to.is_some() && !changes { (to, None) } else { (from, to) };
        let machines = MachineCount::of(&upgrade.rollouts).exactly();
        let machines = machines.map(|known| u32::try_from(known).unwrap_or(u32::MAX));
        let (stands, begins) = match (&offered, upgrade.rest) {
            (Some(_), _) => stands.get(proposal).cloned().unwrap_or_else(barred),
            (None, Rest::Held) => (Stand::Barred("it is on hold".to_owned()), false),
            (None, _) => (Stand::Nothing, false),
        };
        let reports = |id: &ClusterId| planned.reporters.report_on(id).is_some();
        let awaited = awaited.contains(proposal) && proposal.target.id().is_some_and(reports);
        Some((proposal.clone(), TargetProgress { at, offered, state: stands, begins, machines, awaited }))
    };
    planned.plans.iter().filter_map(place).collect()
}

fn stand(
    facts: &Facts,
    id: &ProposalId,
    one: &DecidedPull,
    member: &ProposalId,
    held: &BTreeMap<ProposalId, String>,
) -> (Stand, bool) {
    if let Some(why) = held.get(id).filter(|_| one.opens()) {
        return (Stand::Barred(part(why)), false);
    }
    let is_in = facts.is_open(id) && facts.members_of(id).contains(member);
    match &one.action {
        Action::Open { .. } => (Stand::Behind, true),
        Action::Update { .. } if is_in => (Stand::Open, false),
        Action::Update { .. } => (Stand::Behind, true),
        Action::Leave(standing) => left(standing),
        Action::Close { why, .. } => (Stand::Barred(part(why)), false),
    }
}

/// The members of a campaign that this release concerns.
pub(super) fn members(
    planned: PlannedRun<'_>,
    settings: &CampaignSettings,
    release: &ReleaseId,
    memory: &Memory,
    places: &BTreeMap<ProposalId, TargetProgress>,
    now: Timestamp,
) -> Members {
    let mut members = Vec::new();
    let mut landed = Vec::new();
    let mut taken_back = (Vec::new(), Vec::new());
    for (proposal, place) in places {
        let Some(cluster) = proposal.target.id() else { continue };
        let Some(wave) = wave_of(settings, &candidate(planned, cluster)) else { continue };
        let has_it = |at: &ReleaseId| at == release || is_newer(at, release);
        let standing = match (&place.at, &place.offered, &place.state) {
            (_, Some(_), stands) if place.moves_to() == Some(release) => match stands {
                Stand::Behind => ClusterProgress::Behind,
                Stand::Open => ClusterProgress::Open,
                Stand::Barred(why) => ClusterProgress::Barred(why.clone()),
                Stand::TakenBack => {
                    taken_back.0.push(members.len());
                    taken_back.1.push(cluster.clone());
                    ClusterProgress::Failed { how: RolloutFailure::RolledBack, at: now }
                }
                Stand::Nothing => continue,
            },
            (Some(at), _, _) if has_it(at) => {
                landed.push((members.len(), proposal.target.clone(), cluster.clone()));
                ClusterProgress::Merged
            }
            (_, Some(offered), _) if is_newer(release, offered) => {
                ClusterProgress::Barred(format!("it is offered `{offered}` first"))
            }
            // Its release is unknown, so it may be one of those that this concerns.
            (None, None, Stand::Barred(why)) => ClusterProgress::Barred(why.clone()),
            (Some(at), None, Stand::Barred(why)) if is_newer(release, at) => {
                ClusterProgress::Barred(why.clone())
            }
            _ => continue,
        };
        let member = Member {
            cluster: cluster.clone(),
            wave,
            machines: match standing {
                // The machines of its upgrade are replaced already.
                ClusterProgress::Merged => None,
                _ => place.machines,
            }
            .or_else(|| all_machines(planned, cluster)),
            standing,
            checks: BTreeMap::new(),
        };
        members.push((proposal.clone(), member));
    }
    for (place, at) in taken_back.0.iter().zip(memory.failed_since(&taken_back.1, now)) {
        if let Some((_, member)) = members.get_mut(*place) {
            member.standing = ClusterProgress::Failed { how: RolloutFailure::RolledBack, at };
        }
    }
    Members { members, landed }
}

impl Members {
    /// The commits of the reports that have to be compared with the clusters' inputs, each with its clusters:
    /// those whose newest report says that machines are done.
    pub(super) fn reported(&self, planned: PlannedRun<'_>) -> BTreeMap<CommitId, Scopes> {
        let mut by_commit: BTreeMap<CommitId, Scopes> = BTreeMap::new();
        for (_, target, cluster) in &self.landed {
            let report = planned.reporters.report_on(cluster);
            if let Some(report) = report.filter(|report| report.state == RolloutState::Done)
                && *report.commit() != planned.facts.base.commit
                && let Some(scope) = planned.scopes.get(target)
            {
                by_commit.entry(report.commit().clone()).or_default().insert(target.clone(), scope.clone());
            }
        }
        by_commit
    }

    /// The members, ordered by cluster. `stale` are those whose newest report is about other inputs, or
    /// unknown ones: they are not done.
    pub(super) fn settle(
        self,
        planned: PlannedRun<'_>,
        stale: &BTreeSet<ClusterId>,
    ) -> Vec<(ProposalId, Member)> {
        let Self { mut members, landed } = self;
        for (at, target, cluster) in landed {
            let standing = match last_rollout(planned, &target, &cluster) {
                Landed::NobodyReports => ClusterProgress::Done { at: Timestamp::MIN },
                Landed::NotReported => ClusterProgress::Merged,
                Landed::Reported(RolloutState::Done, since) if !stale.contains(&cluster) => {
                    ClusterProgress::Done { at: since }
                }
                Landed::Reported(RolloutState::Stuck, at) => {
                    ClusterProgress::Failed { how: RolloutFailure::Stuck, at }
                }
                Landed::Reported(RolloutState::Refused, at) => {
                    ClusterProgress::Failed { how: RolloutFailure::Refused, at }
                }
                Landed::Reported(..) => ClusterProgress::Merged,
            };
            if let Some((_, member)) = members.get_mut(at) {
                member.standing = standing;
            }
        }
        members.sort_by(|(_, a), (_, b)| a.cluster.cmp(&b.cluster));
        members
    }
}

/// Machines of each wave that may be rolling because of other releases than that of these members.
pub(super) fn besides(
    planned: PlannedRun<'_>,
    settings: &CampaignSettings,
    release: &ReleaseId,
    (places, members): (&BTreeMap<ProposalId, TargetProgress>, &[(ProposalId, Member)]),
    skipped: &BTreeSet<ClusterId>,
) -> Vec<Load> {
    let mut loads = vec![Load::default(); settings.waves.len()];
    let counts = |member: &Member| {
        matches!(
            member.standing,
            ClusterProgress::Open | ClusterProgress::Merged | ClusterProgress::Failed { .. }
        )
    };
    let counted: BTreeSet<&ProposalId> =
        members.iter().filter(|(_, member)| counts(member)).map(|(id, _)| id).collect();
    for (proposal, place) in places.iter().filter(|(proposal, _)| !counted.contains(proposal)) {
        let Some(cluster) = proposal.target.id().filter(|cluster| !skipped.contains(*cluster)) else {
            continue;
        };
        let mut moves = [&place.offered, &place.at].into_iter().flatten();
        let is_of_campaign =
            |release: &ReleaseId| campaign_for(planned, release).is_some_and(|one| one.name == settings.name);
        let is_open = place.state == Stand::Open && place.offered.as_ref() != Some(release);
        if !(is_open || place.awaited) || !moves.any(is_of_campaign) {
            continue;
        }
        let wave = wave_of(settings, &candidate(planned, cluster));
        let Some(load) = wave.and_then(|wave| loads.get_mut(wave)) else { continue };
        let all = all_machines(planned, cluster);
        *load = load.and(if is_open {
            Load { open: 1, clusters: 1, machines: place.machines.or(all) }
        } else {
            Load { open: 0, clusters: 1, machines: all }
        });
    }
    loads
}

fn last_rollout(planned: PlannedRun<'_>, target: &Target, cluster: &ClusterId) -> Landed {
    let reporters = planned.reporters;
    match reporters.report_on(cluster) {
        Some(report) => Landed::Reported(report.state, report.since.unwrap_or(report.observed_at)),
        None if reporters.managed_by.owner_of(target).is_none() => Landed::NobodyReports,
        None => Landed::NotReported,
    }
}

/// All machines of a cluster, from its newest report: so many may be rolling after a merge.
fn all_machines(planned: PlannedRun<'_>, cluster: &ClusterId) -> Option<u32> {
    let report = planned.reporters.report_on(cluster)?;
    Some(report.wanted).filter(|wanted| *wanted > 0)
}

/// What is known of a merged rollout.
enum Landed {
    NobodyReports,
    NotReported,
    /// In that state, since then.
    Reported(RolloutState, Timestamp),
}

/// The progress of a proposal that is not updated.
fn left(standing: &Stands) -> (Stand, bool) {
    let stand = match standing {
        Stands::NothingOffered { .. } => Stand::Nothing,
        Stands::Waits { .. } | Stands::Edited { pull: Some(_) } => Stand::Open,
        // It may be merged at any moment, whatever its state.
        Stands::Blocked { pull: Some(_), .. }
        | Stands::Unplannable { pull: Some(_), .. }
        | Stands::Held { pull: Some(_), .. }
        | Stands::Paused { pull: Some(_), .. } => Stand::Open,
        Stands::RolledBack { .. } | Stands::Merged { .. } => Stand::TakenBack,
        Stands::Blocked { pull: None, .. } => Stand::Barred("its upgrade is blocked".to_owned()),
        Stands::Unplannable { pull: None, .. } => Stand::Barred("it cannot be planned".to_owned()),
        Stands::Held { pull: None, .. } => Stand::Barred("it is on hold".to_owned()),
        Stands::Paused { pull: None, .. } => Stand::Barred("Capstan is paused".to_owned()),
        Stands::Edited { pull: None } => Stand::Barred("its branch has commits by people".to_owned()),
        Stands::Skipped { by } => Stand::Barred(format!("`{by}` skipped this release")),
        Stands::Declined { pull } => Stand::Barred(format!("its pull request #{pull} was closed")),
    };
    (stand, false)
}

/// A sentence as a part of another.
fn part(sentence: &str) -> String {
    let sentence = sentence.trim().trim_end_matches('.');
    let mut letters = sentence.chars();
    let second_is_small = sentence.chars().nth(1).is_none_or(|letter| !letter.is_uppercase());
    match letters.next() {
        Some(first) if second_is_small => first.to_lowercase().collect::<String>() + letters.as_str(),
        _ => sentence.to_owned(),
    }
}
