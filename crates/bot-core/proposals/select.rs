//! Which proposals are carried out in a run, and what is said of the others: they cannot be decided, wait for machines, a
//! campaign or the limits, or stay out of the pull request of their group.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::slice::from_ref;

use capstan_model::wording::sentence;
use capstan_plan::campaign::{ProposalCandidate, ProposalLoad, turn};
use capstan_plan::proposal::{Action, ProposalCommand, ProposalId, ProposalPlan, WhyLeftOut};
use capstan_plan::settings::Mode;
use jiff::Timestamp;

use super::carriers::{Arranged, Carriers};
use super::deciding::{DecidedPull, DecisionStep};
use super::earlier::{Earlier, may_join};
use super::failure::ProposalFailure;
use super::holding::{held_by_refusals, without_those_that_wait};
use super::outcome::{Campaigns, Outcome, ProposalOutcome};
use super::states::{leave, offered};
use crate::facts::Facts;
use crate::planned::PlannedRun;

/// What a selection starts from.
#[derive(Clone, Copy)]
pub struct Selecting<'a> {
    /// What is planned.
    pub planned: PlannedRun<'a>,
    /// What is wanted of each proposal.
    pub wanted: &'a BTreeMap<ProposalId, ProposalPlan>,
    /// Which pull request carries which proposals.
    pub arranged: &'a Arranged,
    /// The time.
    pub now: Timestamp,
}

/// What was found out for a selection so far; what was not asked is `None`.
#[derive(Debug, Clone, Default)]
pub struct SelectionFacts {
    /// The pull requests that were on the branches before.
    pub earlier: Option<Result<Earlier, ProposalFailure>>,
    /// What was decided about each pull request.
    pub decided: Option<DecidedPulls>,
    /// Proposals that wait for their cluster's machines, and why.
    pub rollouts: Option<BTreeMap<ProposalId, String>>,
    /// How releases stand that move through campaigns, and which proposals wait for them.
    pub campaigns: Option<(Campaigns, BTreeMap<ProposalId, Waits>)>,
    /// What was decided about shared pull requests without the members that wait for a campaign.
    pub again: Option<DecidedPulls>,
    /// What counts against the limits.
    pub load: Option<Result<ProposalLoad, ProposalFailure>>,
}

/// What was decided about pull requests, as far as it could be.
#[derive(Debug, Clone, Default)]
pub struct DecidedPulls {
    /// The decisions.
    pub made: BTreeMap<ProposalId, DecidedPull>,
    /// Those that could not be decided.
    pub failed: BTreeMap<ProposalId, ProposalFailure>,
}

/// Why a proposal waits for a campaign.
#[derive(Debug, Clone)]
pub struct Waits {
    /// As a sentence.
    pub why: String,
    /// Whether a person's command does not pass that either.
    pub for_all: bool,
}

/// What has to be known before proposals are selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SelectionNeed {
    /// The pull requests that were on the branches before.
    Earlier,
    /// What is decided about these pull requests, each with the proposals that it may carry.
    Decided(Carriers),
    /// Whether these proposals wait for their cluster's machines.
    Rollouts(Vec<ProposalId>),
    /// What campaigns say; these proposals wait for something else.
    Campaigns(BTreeMap<ProposalId, String>),
    /// What is decided about these shared pull requests without the members that wait for a campaign.
    Again(Carriers),
    /// What counts against the limits.
    Load,
}

/// What was selected.
#[derive(Debug, Clone, Default)]
pub struct Selected {
    /// What is known of the proposals so far.
    pub outcome: Outcome,
    /// The pull requests that are carried out, in this order.
    pub now: Vec<ProposalId>,
}

impl SelectionFacts {
    /// What is carried out about a pull request.
    pub fn decision(&self, id: &ProposalId) -> Option<&DecidedPull> {
        let again = self.again.as_ref().and_then(|again| again.made.get(id));
        again.or_else(|| self.decided.as_ref()?.made.get(id))
    }
}

/// Selects the proposals that are carried out now, or says what has to be known first.
pub fn select(selecting: &Selecting<'_>, found: &SelectionFacts) -> DecisionStep<Selected, SelectionNeed> {
    selecting.select(found).map_or_else(DecisionStep::Ask, DecisionStep::Decided)
}

impl Selecting<'_> {
    fn select(&self, found: &SelectionFacts) -> Result<Selected, SelectionNeed> {
        let Self { planned, arranged, .. } = *self;
        let sources = offered(&planned.facts.names.kinds, planned.plans);
        let mut outcome = Outcome { sources, ..Outcome::default() };
        let carriers = self.carriers(found, &mut outcome)?;
        let first = found.decided.as_ref();
        let first = first.ok_or_else(|| SelectionNeed::Decided(carriers.as_ref().clone()))?;
        outcome.fail_each(first, &carriers);
        let mut held = self.held(first, found, &mut outcome)?;
        self.note_left_out(first, &mut outcome);
        let campaigns = found.campaigns.as_ref();
        let (campaigns, waiting) = campaigns.ok_or_else(|| SelectionNeed::Campaigns(held.clone()))?;
        let mut decided: BTreeMap<&ProposalId, &DecidedPull> = first.made.iter().collect();
        let going = self.going(first, &carriers, waiting);
        if !going.is_empty() {
            let again = found.again.as_ref().ok_or_else(|| SelectionNeed::Again(going.clone()))?;
            decided.extend(&again.made);
            decided.retain(|id, _| !again.failed.contains_key(*id));
            outcome.fail_each(again, &going);
        }
        outcome.campaigns = campaigns.clone();
        for (id, waits) in waiting {
            outcome.note(from_ref(id), &ProposalOutcome::waiting(waits.why.clone()));
        }
        decided.retain(|id, one| {
            let mut carried = one.carried.iter().filter(|_| one.opens());
            let waits = carried.find_map(|member| waiting.get(member));
            held.extend(waits.map(|waits| ((*id).clone(), waits.why.clone())));
            !waits.is_some_and(|waits| waits.for_all) && (!held.contains_key(*id) || one.opens())
        });
        let limits = (planned.settings.mode != Mode::Observe).then_some(&planned.settings.upgrade.proposals);
        let mut load = ProposalLoad::default();
        if limits.is_some() && decided.values().any(|one| one.opens()) {
            match found.load.as_ref().ok_or(SelectionNeed::Load)? {
                Ok(shown) => load = *shown,
                // Without the load the limits cannot be checked: nothing is opened, and everything else proceeds.
                Err(failure) => {
                    let opening = decided.values().filter(|one| one.opens());
                    let unopened: Vec<ProposalId> = opening.flat_map(|one| one.carried.clone()).collect();
                    outcome.fail(&unopened, failure);
                    outcome.note(&unopened, &ProposalOutcome::waiting(sentence(&failure.why())));
                    decided.retain(|_, one| !one.opens());
                }
            }
        }
        // What moves to another pull request makes room for it.
        load.open = load.open.saturating_sub(planned.facts.clusters_in(arranged.leaving.keys()));
        let closing: BTreeMap<&ProposalId, Vec<ProposalId>> = decided
            .iter()
            .filter(|(_, one)| matches!(one.action, Action::Close { .. }))
            .map(|(id, _)| (*id, planned.facts.members_of(id)))
            .collect();
        let candidates = decided.iter().map(|(id, one)| ProposalCandidate {
            held: held.contains_key(*id),
            carries: closing.get(id).unwrap_or(&one.carried),
            action: &one.action,
            command: one.command,
            proposal: id,
        });
        let selection = turn(&candidates.collect::<Vec<_>>(), limits, load);
        for waiting in selection.waiting {
            let Some(one) = decided.get(&waiting.proposal) else { continue };
            outcome.note(&one.carried, &ProposalOutcome::waiting(waiting.why));
        }
        Ok(Selected { outcome, now: selection.now })
    }

    /// The pull requests, each with the proposals that it may carry. If the earlier pull requests of their branches are
    /// unknown, open ones continue without new members, and no other one is opened.
    fn carriers(
        &self,
        found: &SelectionFacts,
        outcome: &mut Outcome,
    ) -> Result<Cow<'_, Carriers>, SelectionNeed> {
        let mut carriers = Cow::Borrowed(&self.arranged.carriers);
        if let Err(failure) = found.earlier.as_ref().ok_or(SelectionNeed::Earlier)? {
            let unopened = take_new(self.planned.facts, carriers.to_mut(), self.wanted);
            let state = outcome.fail(&unopened, failure);
            outcome.note(&unopened, &state);
        }
        Ok(carriers)
    }

    /// Pull requests that wait for the machines of their cluster, or because GitHub refused them a while ago. A command
    /// passes both. Each member of a shared pull request was checked separately before.
    fn held(
        &self,
        decided: &DecidedPulls,
        found: &SelectionFacts,
        outcome: &mut Outcome,
    ) -> Result<BTreeMap<ProposalId, String>, SelectionNeed> {
        let waits = |id: &ProposalId, one: &DecidedPull| {
            one.opens() && one.command == ProposalCommand::None && id.target.group().is_none()
        };
        let asked = || decided.made.iter().filter(|(id, one)| waits(id, one)).map(|(id, _)| id.clone());
        let rollouts = found.rollouts.as_ref();
        let mut held = rollouts.ok_or_else(|| SelectionNeed::Rollouts(asked().collect()))?.clone();
        let refused = held_by_refusals(self.planned, &decided.made, self.now);
        for (id, one) in &decided.made {
            if let Some(why) = held.get(id) {
                outcome.note(&one.carried, &ProposalOutcome::waiting(why.clone()));
            }
            if let Some(why) = refused.get(id) {
                outcome.note(&one.carried, &ProposalOutcome::refused(why.clone()));
            }
        }
        held.extend(refused);
        Ok(held)
    }

    /// Says why members stay out of the pull request of their group.
    fn note_left_out(&self, decided: &DecidedPulls, outcome: &mut Outcome) {
        for (id, one) in &decided.made {
            for (member, why) in &one.left_out {
                let state = match why {
                    WhyLeftOut::Waits(why) => ProposalOutcome::waiting(why.clone()),
                    WhyLeftOut::LeftAlone(standing) => {
                        leave(&id.kind, standing, self.planned.settings, outcome)
                    }
                };
                outcome.proposals.insert(member.clone(), state);
            }
        }
    }

    /// Shared pull requests of which some members wait for a campaign, each with the others.
    fn going(
        &self,
        decided: &DecidedPulls,
        carriers: &Carriers,
        waiting: &BTreeMap<ProposalId, Waits>,
    ) -> Carriers {
        let waits = |member: &ProposalId| waiting.get(member).map(|waits| waits.for_all);
        let shared = carriers.iter().filter(|(id, _)| id.target.group().is_some());
        let going = shared.filter_map(|(id, members)| {
            let one = decided.made.get(id)?;
            Some((id.clone(), without_those_that_wait(self.planned, (one, members), waits)?))
        });
        going.collect()
    }
}

impl Outcome {
    fn fail_each(&mut self, decided: &DecidedPulls, carriers: &Carriers) {
        for (id, failure) in &decided.failed {
            let members = carriers.get(id).map(Vec::as_slice).unwrap_or_default();
            let state = self.fail(members, failure);
            self.note(members, &state);
        }
    }
}

/// Takes those that would come in from the pull requests.
fn take_new(
    facts: &Facts,
    carriers: &mut Carriers,
    wanted: &BTreeMap<ProposalId, ProposalPlan>,
) -> Vec<ProposalId> {
    let mut taken = Vec::new();
    carriers.retain(|id, members| {
        let opens = |member: &ProposalId| may_join(facts, id, member, wanted);
        let new: Vec<ProposalId> = members.extract_if(.., |member| opens(member)).collect();
        let stays = new.is_empty() || facts.is_open(id);
        taken.extend(new);
        stays
    });
    taken
}
