//! What becomes of open pull requests of the previous grouping once their changes are in others.

use std::collections::{BTreeMap, BTreeSet};

use capstan_model::wording::list;
use capstan_plan::proposal::{Decisions, Draft, ProposalId, ProposalPlan, carrier_of};
use capstan_plan::settings::Mode;

use super::carriers::Arranged;
use super::failure::ProposalFailure;
use super::noting::decided_write;
use super::outcome::{Outcome, ProposalOutcome, Wrote};
use crate::facts::Write;
use crate::planned::PlannedRun;

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

impl Parting {
    /// The write to GitHub, if there is one.
    pub fn write(&self, planned: PlannedRun<'_>, id: &ProposalId) -> Option<Write> {
        match self {
            Self::Stays => None,
            Self::Notes => Some(decided_write(planned, id, &planned.decided.of(id))),
            Self::Closes { why, .. } => Some(Write::proposal(id, format!("closed: {why}"))),
        }
    }

    /// Notes that it was written. `without` are those whose decisions the dashboard keeps from now on.
    pub fn done(self, id: &ProposalId, outcome: &mut Outcome, without: &mut BTreeSet<ProposalId>) {
        outcome.wrote = Wrote::PullRequests;
        if let Self::Closes { without: with_these, .. } = self {
            *without = with_these;
            outcome.superseded.insert(id.clone());
        }
    }

    /// Notes why GitHub does not take it. One that is not closed yet still has its changes: nothing is said then.
    pub fn refused(&self, leaving: (&ProposalId, &[ProposalId]), why: &str, outcome: &mut Outcome) {
        if *self == Self::Notes {
            outcome.note_not_noted(leaving, &ProposalOutcome::refused(why));
        }
    }

    /// Notes why it could not be written just now.
    pub fn failed(
        &self,
        leaving: (&ProposalId, &[ProposalId]),
        failure: &ProposalFailure,
        outcome: &mut Outcome,
    ) {
        let state = outcome.fail(&outcome.not_carried(leaving), failure);
        if *self == Self::Notes {
            outcome.note_not_noted(leaving, &state);
        }
    }
}

/// Decides about a pull request that is left, as far as its changes were moved. `without` are those whose
/// decisions move to the dashboard with a pull request that was closed before.
pub fn part(
    planned: PlannedRun<'_>,
    arranged: &Arranged,
    id: &ProposalId,
    wanted: &BTreeMap<ProposalId, ProposalPlan>,
    outcome: &Outcome,
    without: &BTreeSet<ProposalId>,
) -> Parting {
    let Arranged { leaving, homes, .. } = arranged;
    let members = leaving.get(id).map_or(&[][..], Vec::as_slice);
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
        let has_nothing = matches!(wanted.get(member), None | Some(ProposalPlan::Nothing { .. }));
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
    planned: PlannedRun<'_>,
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
