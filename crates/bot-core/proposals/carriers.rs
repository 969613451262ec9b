//! Which pull request carries which proposals now, and how open ones move when the settings change the
//! grouping.
//!
//! *Guarantees.* Changes stay in a pull request of the previous grouping until the new one is open; then the
//! old one is closed with a reason. One that people worked on, approved or queued is kept until it is merged
//! or closed. Decisions move with each cluster.

use std::collections::{BTreeMap, BTreeSet};

use capstan_model::wording::list;
use capstan_plan::proposal::{Decisions, Draft, ProposalId, Wanted, carrier_of};
use capstan_plan::settings::Mode;

use super::outcome::Outcome;
use crate::planned::Planned;

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
    planned: Planned<'_>,
    wanted: &BTreeMap<ProposalId, Wanted>,
    keep: &BTreeMap<ProposalId, Form>,
) -> Arranging {
    let facts = planned.facts;
    let by = planned.settings.upgrade.proposals.group.as_ref().map(|group| &group.by);
    let mut homes: BTreeMap<ProposalId, ProposalId> = BTreeMap::new();
    for (proposal, wanted) in wanted {
        // One that is to end is closed as usual.
        let ends = matches!(wanted, Wanted::Nothing { .. }) && facts.is_open(proposal);
        let draft = match wanted {
            Wanted::Offer(offer) => offer.draft,
            Wanted::Nothing { .. } | Wanted::Blocked { .. } | Wanted::Unplannable { .. } => Draft::Ready,
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

/// What happens to an open pull request of the previous grouping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parting {
    /// It is not changed.
    Stays,
    /// It stays, and new decisions are recorded in it.
    Notes,
    /// It is closed.
    Closes {
        /// Why, as sentences.
        why: String,
        /// Those that are carried nowhere now.
        forgotten: Vec<ProposalId>,
        /// Those whose decisions the dashboard keeps from now on.
        without: BTreeSet<ProposalId>,
    },
}

/// Decides about a pull request whose changes were moved, as far as they were. `without` are those whose
/// decisions move to the dashboard with a pull request that was closed before.
pub fn part(
    planned: Planned<'_>,
    (id, members): (&ProposalId, &[ProposalId]),
    homes: &BTreeMap<ProposalId, ProposalId>,
    wanted: &BTreeMap<ProposalId, Wanted>,
    (outcome, without): (&Outcome, &BTreeSet<ProposalId>),
) -> Parting {
    // The pull request that a proposal would be in, whether or not it is there.
    let stands_for = |member: &ProposalId| {
        let carried = outcome.carried.get(homes.get(member)?)?;
        carried.first().and_then(|first| outcome.proposals.get(first)?.pull)
    };
    let is_carried = |member: &ProposalId| {
        let carried = homes.get(member).and_then(|home| outcome.carried.get(home));
        carried.is_some_and(|all| all.contains(member))
    };
    let numbers: BTreeSet<u64> = members.iter().filter_map(stands_for).collect();
    let mut with_these = without.clone();
    let out = members.iter().filter(|member| !is_carried(member));
    with_these.extend(out.filter(|member| !planned.decided.of(member).is_empty()).cloned());
    let fits = with_these == *without || planned.decided.fits_in_dashboard(planned.facts, &with_these);
    let is_settled = |member: &ProposalId| {
        let has_nothing = matches!(wanted.get(member), None | Some(Wanted::Nothing { .. }));
        // A decision needs a place, otherwise it would be lost here.
        let has_left = !numbers.is_empty() && (fits || planned.decided.of(member).is_empty());
        has_nothing || is_carried(member) || has_left
    };
    if planned.settings.mode == Mode::Observe {
        return Parting::Stays;
    }
    if planned.decided.pause().is_some() || !members.iter().all(is_settled) {
        let is_new = members.iter().chain([id]).any(|one| planned.decided.is_new(one));
        return if is_new { Parting::Notes } else { Parting::Stays };
    }
    Parting::Closes {
        why: superseded(planned, id, (members, homes), &numbers),
        forgotten: members.iter().filter(|member| !is_carried(member)).cloned().collect(),
        without: with_these,
    }
}

/// Why a pull request of the previous grouping is closed.
fn superseded(
    planned: Planned<'_>,
    id: &ProposalId,
    (members, homes): (&[ProposalId], &BTreeMap<ProposalId, ProposalId>),
    numbers: &BTreeSet<u64>,
) -> String {
    const KEY: &str = "`upgrade.proposals.group`";
    let numbers: Vec<String> = numbers.iter().take(20).map(|number| format!("#{number}")).collect();
    let now = if numbers.is_empty() {
        "There is nothing left to offer here.".to_owned()
    } else {
        format!("What this offers is now in {}.", list(&numbers))
    };
    let is_shared = |member: &ProposalId| homes.get(member).is_some_and(|home| home.target.group().is_some());
    let by = planned.settings.upgrade.proposals.group.as_ref().map(|group| &group.by);
    let is_its = |member: &ProposalId| carrier_of(member, by, (&Decisions::default(), Draft::Ready)) == *id;
    let why = match id.target.group() {
        None => format!("The settings group several clusters in one pull request ({KEY})."),
        Some(_) if members.iter().any(is_its) => {
            "Each of these clusters has its own pull request: a draft, or one for a release that was requested by name."
                .to_owned()
        }
        Some(_) if members.iter().any(is_shared) => format!("The settings group clusters differently ({KEY})."),
        Some(_) => format!("The settings no longer group these clusters ({KEY})."),
    };
    format!("{now} {why}")
}
