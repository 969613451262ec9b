//! What proposals should be, and which of them wait.

use std::collections::BTreeMap;

use capstan_model::rest::Rest;
use capstan_model::wording::sentence;
use capstan_plan::proposal::{ProposalCommand, ProposalId, ProposalPlan, wanted};
use jiff::Timestamp;

use super::deciding::DecidedPull;
use crate::facts::refused_words;
use crate::planned::PlannedRun;

/// What every proposal should be, including open ones whose target or source is gone.
pub fn wanted_of(planned: PlannedRun<'_>) -> BTreeMap<ProposalId, ProposalPlan> {
    let mut all: BTreeMap<ProposalId, ProposalPlan> =
        planned.plans.iter().map(|(id, plan)| (id.clone(), wanted(&id.kind, plan))).collect();
    for proposal in planned.facts.proposals.keys().flat_map(|id| planned.facts.members_of(id)) {
        let gone = || ProposalPlan::Nothing { why: sentence(&planned.missing(&proposal)), rest: Rest::Gone };
        all.entry(proposal.clone()).or_insert_with(gone);
    }
    all
}

/// Proposals that GitHub refused a while ago. A person's command does not wait.
pub fn held_by_refusals(
    planned: PlannedRun<'_>,
    decided: &BTreeMap<ProposalId, DecidedPull>,
    now: Timestamp,
) -> BTreeMap<ProposalId, String> {
    let held = decided.iter().filter(|(_, one)| one.command == ProposalCommand::None).filter_map(
        |(proposal, one)| {
            let refusal = planned.facts.refusals.against(&one.write(proposal)?, now)?;
            Some((proposal.clone(), refused_words(&refusal.reason, refusal.not_before)))
        },
    );
    held.collect()
}

/// Of those that may share a pull request the ones that go without those that wait for their campaign; `None` where the
/// pull request stays as it was decided: nobody waits, or all do.
pub(super) fn without_those_that_wait(
    planned: PlannedRun<'_>,
    (decided, members): (&DecidedPull, &[ProposalId]),
    waits_for_all: impl Fn(&ProposalId) -> Option<bool>,
) -> Option<Vec<ProposalId>> {
    let waits = |member: &ProposalId| {
        let asks = planned.decided.wish(member) != ProposalCommand::None;
        waits_for_all(member).is_some_and(|for_all| for_all || !asks)
    };
    let goes = |member: &&ProposalId| !decided.carried.contains(member) || !waits(member);
    let going: Vec<ProposalId> = members.iter().filter(goes).cloned().collect();
    let is_same = going.len() == members.len();
    (!is_same && going.iter().any(|member| decided.carried.contains(member))).then_some(going)
}
