//! Which pull request carries which proposals: each its own, or those of a group of clusters together.
//!
//! Each cluster has its own plan, decisions and exclusions. A group's pull request brings one source state to as many
//! of its clusters as are offered that state. A cluster that blocks, waits, is held or skipped stays out of it, with
//! the reason, and stops no other cluster. What becomes of that pull request is [decided](super::decide()) as for any
//! other.

use std::collections::BTreeMap;

use capstan_model::file_change::FileChange;
use capstan_model::rest::Rest;
use capstan_model::source::SourceKind;
use capstan_model::target::Target;

use super::decide::{ended_against, is_skipped};
use super::{
    Decisions, Draft, LeaveReason, Leaving, Offer, OnHold, PlanDigest, ProposalCommand, ProposalId,
    ProposalPlan, Pull, Skipped, SourceState, Writes,
};
use crate::settings::GroupPattern;

/// The most clusters that share a pull request: one body has to describe all of them.
pub const MOST_IN_A_GROUP: usize = 100;
/// The most bytes for noting them there, with what was decided about each.
const MOST_ROOM: usize = 20 << 10;
/// The most bytes of files that they write, which go to GitHub in one call.
const MOST_BYTES: usize = 8 << 20;

/// The proposal whose pull request carries another one, as the settings say: its group's, or itself. Of what somebody
/// asked for by name nobody else is asked, and no draft holds up those who are ready. Releases alone are offered to
/// several clusters; what comes from another kind of source is each cluster's own.
pub fn carrier_of(
    proposal: &ProposalId,
    by: Option<&GroupPattern>,
    (decisions, draft): (&Decisions, Draft),
) -> ProposalId {
    let is_alone = decisions.is_asked_for() || draft == Draft::Draft;
    let group = by
        .filter(|_| !is_alone && proposal.kind == SourceKind::RELEASE)
        .and_then(|by| proposal.target.cluster().and_then(|cluster| by.group_of(cluster)));
    let shared = group.map(|group| ProposalId { target: Target::Group(group), kind: proposal.kind.clone() });
    // A group is not a folder, so nothing could find it again by the digest of a shortened branch.
    shared.filter(|group| !group.is_shortened()).unwrap_or_else(|| proposal.clone())
}

/// A proposal that may share a pull request with others.
#[derive(Debug, Clone, Copy)]
pub struct GroupMember<'a> {
    pub proposal: &'a ProposalId,
    /// What the planner wants.
    pub wanted: &'a ProposalPlan,
    /// What would be written.
    pub files: &'a [FileChange],
    /// Somebody said that it is to be left alone.
    pub hold: Option<&'a OnHold>,
    /// Somebody said that a source is not to be offered.
    pub skipped: Option<&'a Skipped>,
    /// What somebody has just asked for.
    pub command: ProposalCommand,
    /// The newest pull request that carried it and is not open.
    pub earlier: Option<&'a Pull>,
    /// Why it waits for something that is not its group's, as a sentence.
    pub waits: Option<&'a str>,
    /// Whether the group's open pull request brings its changes.
    pub open_pull: OpenPullState,
    /// So many bytes it takes to note it in the pull request, with what was decided about it.
    pub room: usize,
}

/// Whether an open pull request brings somebody's changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OpenPullState {
    /// It does.
    There,
    /// It does not, or there is none.
    Elsewhere,
}

/// What a group's pull request carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupContent {
    /// What is wanted of it.
    pub wanted: ProposalPlan,
    /// The hold on account of which nothing of it is brought up to date.
    pub hold: Option<OnHold>,
    /// Whose changes it carries, ordered.
    pub carried: Vec<ProposalId>,
    /// Who stays out, ordered.
    pub left_out: Vec<LeftOut>,
    /// Whether one of these is in the open pull request, and must not be merged with it.
    pub leaving: Leaving,
}

/// A proposal that stays out of its group's pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    pub proposal: ProposalId,
    pub why: WhyLeftOut,
}

/// Why a proposal stays out of its group's pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WhyLeftOut {
    /// As it would be left alone if it had one of its own.
    LeftAlone(LeaveReason),
    /// It waits for something, which a sentence tells.
    Waits(String),
}

/// Whether it could be carried.
enum CarryVerdict<'a> {
    Offered(&'a Offer),
    Out(WhyLeftOut),
}

/// Gathers what is offered to the members of a group; `offered` is what its open pull request offers.
pub fn gather(members: &[GroupMember<'_>], offered: Option<&SourceState>) -> GroupContent {
    let mut places: Vec<(&GroupMember<'_>, CarryVerdict<'_>)> =
        members.iter().map(|member| (member, place(member))).collect();
    let chosen = choose(&places, offered).cloned();
    // Members of the open pull request come first, so no new one takes their room.
    places.sort_by_key(|(member, _)| (member.open_pull, member.proposal));
    let (mut carried, mut left_out) = (Vec::new(), Vec::new());
    let mut load = GroupLoad::default();
    for (member, place) in places {
        let why = match (place, &chosen) {
            (CarryVerdict::Out(why), _) => why,
            (CarryVerdict::Offered(offer), Some(chosen)) if offer.source != *chosen => {
                WhyLeftOut::Waits(waits_for(offer, chosen))
            }
            (CarryVerdict::Offered(_), _) if !load.takes(member) => WhyLeftOut::Waits(format!(
                "A pull request carries at most {MOST_IN_A_GROUP} clusters, fewer if there are many changes or decisions. This cluster waits until the pull request of its group is merged or closed."
            )),
            (CarryVerdict::Offered(offer), _) => {
                carried.push((member, offer));
                continue;
            }
        };
        left_out.push((member, LeftOut { proposal: member.proposal.clone(), why }));
    }
    carried.sort_by_key(|(member, _)| member.proposal);
    left_out.sort_by_key(|(member, _)| member.proposal);
    let (wanted, hold) = match chosen {
        Some(source) => (ProposalPlan::Offer(together(source, &carried)), None),
        None => nobody(&left_out),
    };
    let must_leave = |(member, out): &(&GroupMember<'_>, LeftOut)| {
        member.open_pull == OpenPullState::There && out.must_leave()
    };
    let leaving = if left_out.iter().any(must_leave) { Leaving::Somebody } else { Leaving::Nobody };
    let carried = carried.into_iter().map(|(member, _)| member.proposal.clone()).collect();
    let left_out = left_out.into_iter().map(|(_, out)| out).collect();
    GroupContent { wanted, hold, carried, left_out, leaving }
}

impl LeftOut {
    /// Whether its changes are to be merged no more. Of what cannot be read nothing is known.
    const fn must_leave(&self) -> bool {
        match &self.why {
            WhyLeftOut::LeftAlone(standing) => !matches!(standing, LeaveReason::Unplannable { .. }),
            WhyLeftOut::Waits(_) => false,
        }
    }
}

/// What a pull request brings so far.
#[derive(Default)]
struct GroupLoad {
    clusters: usize,
    room: usize,
    bytes: usize,
}

impl GroupLoad {
    /// Whether one more fits; then it is taken.
    fn takes(&mut self, member: &GroupMember<'_>) -> bool {
        let length = |file: &FileChange| file.after.as_ref().map_or(0, String::len);
        let bytes = self.bytes + member.files.iter().map(length).sum::<usize>();
        let room = self.room + member.room;
        let fits = self.clusters < MOST_IN_A_GROUP && room <= MOST_ROOM && bytes <= MOST_BYTES;
        // One alone is no more than one that has its own.
        if !fits && self.clusters > 0 {
            return false;
        }
        *self = Self { clusters: self.clusters + 1, room, bytes };
        true
    }
}

fn place<'a>(member: &GroupMember<'a>) -> CarryVerdict<'a> {
    let out = |standing| CarryVerdict::Out(WhyLeftOut::LeftAlone(standing));
    if let Some(hold) = member.hold.filter(|_| !matches!(member.wanted, ProposalPlan::Nothing { .. })) {
        return out(LeaveReason::Held { pull: None, hold: hold.clone() });
    }
    let offer = match member.wanted {
        ProposalPlan::Offer(offer) => offer,
        ProposalPlan::Nothing { why, rest } => {
            return out(LeaveReason::NothingOffered { why: why.clone(), rest: *rest });
        }
        ProposalPlan::Blocked { why } => return out(LeaveReason::Blocked { pull: None, why: why.clone() }),
        ProposalPlan::Unplannable { why } => {
            return out(LeaveReason::Unplannable { pull: None, why: why.clone() });
        }
    };
    if let Some(one) = member.skipped.filter(|one| is_skipped(one, member.wanted, member.command)) {
        return out(LeaveReason::Skipped { by: one.by.clone() });
    }
    if let Some(standing) = member.earlier.and_then(|pull| ended_against(pull, offer, member.command)) {
        return out(standing);
    }
    match member.waits {
        Some(why) => CarryVerdict::Out(WhyLeftOut::Waits(why.to_owned())),
        None => CarryVerdict::Offered(offer),
    }
}

/// What most of them are offered; among equals what the pull request offers already, else what the first of them is
/// offered.
fn choose<'a>(
    places: &[(&GroupMember<'_>, CarryVerdict<'a>)],
    offered: Option<&SourceState>,
) -> Option<&'a SourceState> {
    let mut votes: BTreeMap<&SourceState, (usize, usize)> = BTreeMap::new();
    for (at, (_, place)) in places.iter().enumerate() {
        if let CarryVerdict::Offered(offer) = place {
            votes.entry(&offer.source).or_insert((0, at)).0 += 1;
        }
    }
    let stands = |source: &SourceState| offered.is_some_and(|offered| offered.source() == source.source());
    votes
        .into_iter()
        .max_by_key(|(source, (votes, first))| (*votes, stands(source), std::cmp::Reverse(*first)))
        .map(|(source, _)| source)
}

fn waits_for(offer: &Offer, chosen: &SourceState) -> String {
    format!(
        "`{}` is offered to it, but the pull request of its group brings `{}` to others. It waits until that is merged or closed.",
        offer.source.source(),
        chosen.source()
    )
}

/// One offer of what is written for all of them.
fn together(source: SourceState, carried: &[(&GroupMember<'_>, &Offer)]) -> Offer {
    let changed = carried
        .iter()
        .flat_map(|(member, _)| member.files)
        .filter(|file| file.before != file.after)
        .map(|file| (file.path.as_str(), file.after.as_deref().map(str::as_bytes)));
    let is_draft = carried.iter().any(|(_, offer)| offer.draft == Draft::Draft);
    Offer {
        source,
        plan: PlanDigest::of_contents(changed),
        draft: if is_draft { Draft::Draft } else { Draft::Ready },
        writes: Writes::Objects,
        brought_by: carried.first().map_or(SourceKind::RELEASE, |(_, offer)| offer.brought_by.clone()),
    }
}

/// What is wanted of a pull request that is left without anybody: it stays as long as somebody who may come back to it is
/// only held, blocked or unreadable.
fn nobody(left_out: &[(&GroupMember<'_>, LeftOut)]) -> (ProposalPlan, Option<OnHold>) {
    let standings = || {
        left_out.iter().filter_map(|(member, out)| match &out.why {
            WhyLeftOut::LeftAlone(standing) => Some((member, standing)),
            WhyLeftOut::Waits(_) => None,
        })
    };
    let held = standings().find_map(|(member, standing)| match standing {
        LeaveReason::Held { hold, .. } => Some((member.wanted.clone(), Some(hold.clone()))),
        _ => None,
    });
    if let Some(held) = held {
        return held;
    }
    let blocked: Vec<String> = standings()
        .filter_map(|(member, standing)| match standing {
            LeaveReason::Blocked { why, .. } => {
                Some(format!("`{}`: {}", member.proposal.target, why.join(" ")))
            }
            _ => None,
        })
        .collect();
    if !blocked.is_empty() {
        return (ProposalPlan::Blocked { why: blocked }, None);
    }
    let unplannable: Vec<String> = standings()
        .filter_map(|(member, standing)| match standing {
            LeaveReason::Unplannable { why, .. } => Some(format!("`{}`: {why}", member.proposal.target)),
            _ => None,
        })
        .collect();
    if !unplannable.is_empty() {
        return (ProposalPlan::Unplannable { why: unplannable.join(" ") }, None);
    }
    let rest = standings().find_map(|(_, standing)| match standing {
        LeaveReason::NothingOffered { rest, .. } => Some(*rest),
        _ => None,
    });
    let why = "Capstan offers nothing more to this group, or each of its clusters has its own pull request."
        .to_owned();
    (ProposalPlan::Nothing { why, rest: rest.unwrap_or(Rest::Current) }, None)
}

#[cfg(test)]
#[path = "group_tests.rs"]
mod tests;
