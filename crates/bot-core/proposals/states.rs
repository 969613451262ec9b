//! The states of proposals, and the remarks in their checks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capstan_model::source::SourceKind;
use capstan_plan::proposal::{Action, LeaveReason, ProposalId, Stage};
use capstan_plan::settings::{Mode, RepositorySettings};
use capstan_report::{ProposalState, Refusal, override_in_words, standing_in_words};

use super::deciding::DecidedPull;
use super::outcome::{Outcome, ProposalOutcome};
use crate::facts::{Facts, TargetPlans};
use crate::planned::PlannedRun;

/// Members that would join a group pull request that Capstan does not update wait outside.
pub fn note_newcomers(
    facts: &Facts,
    id: &ProposalId,
    decided: &DecidedPull,
    state: &ProposalOutcome,
    outcome: &mut Outcome,
) {
    let Action::Leave(LeaveReason::Edited { pull: Some(number) } | LeaveReason::Waits { pull: number, .. }) =
        &decided.action
    else {
        return;
    };
    let there = facts.members_of(id);
    // Without the block the members are unknown.
    let is_new = |member: &&ProposalId| !there.is_empty() && !there.contains(member);
    let new: Vec<ProposalId> = decided.carried.iter().filter(is_new).cloned().collect();
    let why =
        format!("#{number} of its group does not change, and does not have this cluster: {}", state.why);
    outcome.note(&new, &ProposalOutcome::waiting(why));
}

/// Adds to the checks of open pull requests what each carries, its overridden rules, and its stage.
pub fn remark(planned: PlannedRun<'_>, outcome: &mut Outcome) {
    let facts = planned.facts;
    for (id, pull) in &facts.proposals {
        for member in outcome.members_of(facts, id) {
            let Some(Ok(upgrade)) = planned.plans.get(&member) else { continue };
            let is_edited =
                outcome.proposals.get(&member).is_some_and(|one| one.state == ProposalState::Edited);
            if is_edited || !upgrade.conflicts.is_empty() {
                let remarks = outcome.remarks.entry(pull.number).or_default();
                remarks.upgrades.insert(member.target.clone(), Arc::clone(upgrade));
                remarks.is_edited |= is_edited;
            }
            let decisions = planned.decided.of(&member);
            let void: Vec<String> = decisions.void_overrides().map(override_in_words).collect();
            if !void.is_empty() {
                outcome.remarks.entry(pull.number).or_default().notes.extend(void);
            }
            let overrides = decisions.still(upgrade, facts.today).overrides;
            if !overrides.is_empty() {
                let remarks = outcome.remarks.entry(pull.number).or_default();
                remarks.overrides.insert(member.target, overrides);
            }
        }
    }
    if planned.settings.mode == Mode::Observe {
        return;
    }
    let Outcome { proposals, remarks, carried, .. } = outcome;
    for (proposal, one) in proposals {
        let stage = one.state.stage();
        // Members left out of a group pull request do not affect its stage.
        let brings = |id: &ProposalId| {
            let members = carried.get(id).cloned().unwrap_or_else(|| facts.members_of(id));
            members.contains(proposal)
        };
        let open = facts.carrier(proposal).filter(|id| brings(id));
        let open = open.and_then(|id| facts.open_proposal(id)).map(|pull| pull.number);
        if let Some(number) = one.pull.or(open) {
            // In a group pull request, what prevents the merge for any member.
            let known = &mut remarks.entry(number).or_default().stage;
            if known.is_none() || stage != Stage::Offered {
                *known = Some(stage);
            }
        }
    }
}

/// The sources that the plans offer, in a line for each kind.
pub(super) fn offered(kinds: &[SourceKind], plans: &TargetPlans) -> BTreeMap<SourceKind, String> {
    let mut sources: BTreeMap<SourceKind, BTreeSet<String>> =
        kinds.iter().map(|kind| (kind.clone(), BTreeSet::new())).collect();
    for (proposal, plan) in plans {
        let to = plan.iter().filter_map(|upgrade| upgrade.to.as_ref());
        sources.entry(proposal.kind.clone()).or_default().extend(to.map(ToString::to_string));
    }
    let in_a_line = |sources: BTreeSet<String>| sources.into_iter().collect::<Vec<_>>().join(", ");
    sources.into_iter().map(|(kind, sources)| (kind, in_a_line(sources))).collect()
}

/// What is said of a proposal that is left as it is, here and in its check.
pub(super) fn leave(
    kind: &SourceKind,
    standing: &LeaveReason,
    settings: &RepositorySettings,
    outcome: &mut Outcome,
) -> ProposalOutcome {
    let words = standing_in_words(standing, kind, settings.commands.prefix.as_str());
    if let Some(number) = words.remarked_on {
        let remarks = outcome.remarks.entry(number).or_default();
        match standing {
            LeaveReason::Blocked { why, .. } => remarks.blocked.clone_from(why),
            _ => remarks.notes.push(format!("{} {}", words.why, Refusal::State.sentence())),
        }
    }
    ProposalOutcome::new(words.state, words.why)
}
