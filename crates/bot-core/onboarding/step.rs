//! What is done about the onboarding pull request next.

use capstan_facts::{EarlierPullRequest, Snapshot};
use capstan_model::tree::CommitId;
use capstan_plan::onboarding::Onboarding;
use capstan_report::onboarding_body;
use jiff::Timestamp;

use super::pull_request::{
    Asking, asking, desired, holds_settings, limits_write, open_pull, proposal_write, was_answered,
};
use crate::effects::{BranchThere, Desired};
use crate::facts::{Facts, Write};
use crate::proposals::DecisionStep;

/// A fact that is needed first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OnboardingNeed {
    /// Whether the tip of the default branch was examined before.
    Surveyed,
    /// The newest pull request of its branch.
    Newest,
    /// The settings that fit the repository.
    Proposal,
    /// Whether Capstan alone wrote this head of its branch.
    IsOwn(CommitId),
    /// The content of this head of its branch.
    Content(CommitId),
}

/// The answers so far. A fact that is absent was not asked for.
#[derive(Clone, Default)]
pub struct OnboardingFound {
    /// Whether the tip of the default branch was examined before.
    pub surveyed: Option<bool>,
    /// The newest pull request of its branch.
    pub newest: Option<Option<EarlierPullRequest>>,
    /// The settings that fit the repository, if it has clusters or releases. The error says which limits of planning it
    /// exceeds.
    pub proposal: Option<Result<Option<Onboarding>, String>>,
    /// Whether Capstan alone wrote the head of its branch.
    pub is_own: Option<bool>,
    /// The content of that head; `None` inside where it cannot be read.
    pub content: Option<Option<Snapshot>>,
}

/// What is done.
pub enum OnboardingStep<'a> {
    Nothing,
    /// Nothing before the default branch moves: the look at its tip is recorded.
    Rests,
    /// The limits of planning are remembered like a refusal of this write, so that the next look gets further.
    Exceeds(Write, String),
    /// The pull request is written; `None` where a person works on its branch.
    Writes(Write, Option<Box<Desired<'a>>>),
}

/// Decides what is done next.
pub fn next_step<'a>(
    facts: &'a Facts,
    found: &'a OnboardingFound,
    now: Timestamp,
) -> DecisionStep<OnboardingStep<'a>, OnboardingNeed> {
    step(facts, found, now).map_or_else(DecisionStep::Ask, DecisionStep::Decided)
}

fn step<'a>(
    facts: &'a Facts,
    found: &'a OnboardingFound,
    now: Timestamp,
) -> Result<OnboardingStep<'a>, OnboardingNeed> {
    let is_refused = |write: &Write| facts.refusals.against(write, now).is_some();
    let asking = asking(facts);
    if asking == Asking::Never || found.surveyed.ok_or(OnboardingNeed::Surveyed)? {
        return Ok(OnboardingStep::Nothing);
    }
    let limits = limits_write();
    if is_refused(&limits) {
        return Ok(OnboardingStep::Nothing);
    }
    let is_answered = match asking {
        Asking::Never | Asking::Answered => true,
        Asking::Open => false,
        Asking::AskEarlier => was_answered(found.newest.as_ref().ok_or(OnboardingNeed::Newest)?.as_slice()),
    };
    if is_answered {
        return Ok(OnboardingStep::Rests);
    }
    let onboarding = match found.proposal.as_ref().ok_or(OnboardingNeed::Proposal)? {
        Ok(Some(onboarding)) => onboarding,
        Ok(None) => return Ok(OnboardingStep::Rests),
        Err(why) => return Ok(OnboardingStep::Exceeds(limits, why.clone())),
    };
    let body = onboarding_body(onboarding);
    let write = proposal_write(onboarding, &body);
    if is_refused(&write) {
        return Ok(OnboardingStep::Nothing);
    }
    let open = open_pull(facts);
    let there = match open.map(|pull| &pull.head).or(facts.onboarding.as_ref()) {
        None => None,
        Some(head) => Some(BranchThere {
            head: head.clone(),
            is_own: found.is_own.ok_or_else(|| OnboardingNeed::IsOwn(head.clone()))?,
            holds: found.is_own == Some(true) && holds(found, head, onboarding)?,
        }),
    };
    let desired = desired(facts, onboarding, (there.as_ref(), open), body);
    Ok(OnboardingStep::Writes(write, desired.map(Box::new)))
}

/// Whether the head of the branch has these settings already.
fn holds(found: &OnboardingFound, head: &CommitId, onboarding: &Onboarding) -> Result<bool, OnboardingNeed> {
    let content = found.content.as_ref().ok_or_else(|| OnboardingNeed::Content(head.clone()))?;
    Ok(content.as_ref().is_some_and(|content| holds_settings(content.tree.as_ref(), &onboarding.settings)))
}
