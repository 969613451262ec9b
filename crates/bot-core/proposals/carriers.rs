//! Which pull request carries which proposals now, and how open ones move when the settings change the
//! grouping.
//!
//! *Guarantees.* Changes stay in a pull request of the previous grouping until the new one is open; then the
//! old one is closed with a reason. One that people worked on, approved or queued is kept until it is merged
//! or closed. Decisions move with each cluster.

use std::collections::BTreeMap;

use capstan_plan::proposal::{Draft, ProposalId, ProposalPlan, carrier_of};
use capstan_plan::settings::Mode;

use crate::planned::PlannedRun;

/// Pull requests, open or not, each with the proposals that it may carry.
pub type Carriers = BTreeMap<ProposalId, Vec<ProposalId>>;

/// Where proposals are, and where they move.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Arranged {
    /// The pull requests, each with those that it may carry.
    pub carriers: Carriers,
    /// Open pull requests that the settings no longer group so, each with its members.
    pub leaving: Carriers,
    /// Which pull request may carry each proposal.
    pub homes: BTreeMap<ProposalId, ProposalId>,
}

/// Whether an open pull request is kept, although the settings move its changes to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// It is.
    Keeps,
    /// Its changes move.
    Moves,
}

/// Whether the arrangement is complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arranging {
    /// First find out whether that open pull request is kept ([`super::keeps_its_form`]).
    AskForm(ProposalId),
    /// It is complete.
    Arranged(Arranged),
}

/// Says which pull request carries which changes. `keep` says which open pull requests are kept, as far as
/// that is known.
pub fn arrange(
    planned: PlannedRun<'_>,
    wanted: &BTreeMap<ProposalId, ProposalPlan>,
    keep: &BTreeMap<ProposalId, Form>,
) -> Arranging {
    let facts = planned.facts;
    let by = planned.settings.upgrade.proposals.group.as_ref().map(|group| &group.by);
    let mut homes: BTreeMap<ProposalId, ProposalId> = BTreeMap::new();
    for (proposal, wanted) in wanted {
        // One that is to end is closed as usual.
        let ends = matches!(wanted, ProposalPlan::Nothing { .. }) && facts.is_open(proposal);
        let draft = match wanted {
            ProposalPlan::Offer(offer) => offer.draft,
            ProposalPlan::Nothing { .. }
            | ProposalPlan::Blocked { .. }
            | ProposalPlan::Unplannable { .. } => Draft::Ready,
        };
        let decisions = planned.decided.of(proposal);
        let home = if ends { proposal.clone() } else { carrier_of(proposal, by, (&decisions, draft)) };
        homes.insert(proposal.clone(), home);
    }
    let mut leaving = Carriers::new();
    for id in facts.proposals.keys() {
        let members = facts.members_of(id);
        let goes = |member: &&ProposalId| homes.get(*member).is_some_and(|home| home != id);
        let going: Vec<ProposalId> = members.iter().filter(goes).cloned().collect();
        let has_some = match id.target.group() {
            None => going.is_empty(),
            Some(_) => homes.values().any(|home| home == id),
        };
        if going.is_empty() && has_some {
            continue;
        }
        let form = match keep.get(id) {
            _ if planned.settings.mode == Mode::Observe => Form::Keeps,
            Some(form) => *form,
            None => return Arranging::AskForm(id.clone()),
        };
        let is_asked_for = |member: &ProposalId| planned.decided.of(member).is_asked_for();
        if form == Form::Keeps {
            // A person who asks for a release by name gets a pull request of their own, unless it is the last
            // member.
            let stay = going.into_iter().filter(|member| !has_some || !is_asked_for(member));
            homes.extend(stay.map(|member| (member, id.clone())));
        } else if !has_some {
            leaving.insert(id.clone(), members);
        }
    }
    let mut carriers = Carriers::new();
    for (proposal, home) in &homes {
        carriers.entry(home.clone()).or_default().push(proposal.clone());
    }
    Arranging::Arranged(Arranged { carriers, leaving, homes })
}
