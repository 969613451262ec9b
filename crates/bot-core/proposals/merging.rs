//! Which proposals are to be merged, for whom, and the answers to those requests.

use capstan_facts::{MergeAnswer, MergeCall, PullRequestState};
use capstan_model::tree::CommitId;
use capstan_plan::proposal::{MergeFacts, MergeStep, Obstacle, ProposalId, decide_merge};
use capstan_plan::settings::Mode;
use capstan_plan::verbs::{Command, OfCommit, Verb};
use capstan_report::{Answer, Refusal, about, merge_in_words, merge_refused_in_words, refused};

use super::approvals::{held_in, is_automatic};
use super::outcome::{BranchOwner, JudgedProposal, Outcome};
use crate::commands::{Request, RequestId};
use crate::planned::Planned;

/// Who wants a merge.
#[derive(Debug, Clone)]
pub enum MergeWish<'a> {
    /// A person, by command or button.
    Of(&'a Request),
    /// The settings.
    Settings,
}

impl MergeWish<'_> {
    /// Identifies the request of the person.
    pub fn id(&self) -> Option<RequestId> {
        match self {
            Self::Of(request) => Some(request.id()),
            Self::Settings => None,
        }
    }
}

/// The answer to all merge requests where nothing may be merged; `None` elsewhere.
pub fn merges_nothing(planned: Planned<'_>) -> Option<Answer> {
    let words = "The settings say `mode: observe`: nothing is merged.\n";
    (planned.settings.mode == Mode::Observe).then(|| Answer::refused(Refusal::Observed, words))
}

/// Who wants a proposal to be merged; `None` where it need not be examined: there is no request, and no
/// earlier request to GitHub that may have to be withdrawn.
pub fn merge_wishes<'r>(
    planned: Planned<'_>,
    requests: &'r [Request],
    (proposal, judged): (&ProposalId, &JudgedProposal),
    outcome: &Outcome,
) -> Option<Vec<MergeWish<'r>>> {
    let facts = planned.facts;
    let of_it = |request: &&Request| facts.carrier_of(request).as_ref() == Some(proposal);
    let said = requests.iter().any(|request| of_it(&request) && request.carried_out().count() > 0);
    let asked = requests.iter().filter(of_it).filter(|request| request.carries_out(Verb::Merge));
    let automatic = is_automatic(planned.settings, &outcome.members_of(facts, proposal))
        && judged.whose == BranchOwner::Capstan;
    let held = held_in(planned, outcome, proposal).is_some();
    let paused = planned.decided.pause().is_some();
    if !(said || automatic || held || paused || judged.pull.auto_merge) {
        return None;
    }
    let mut wishes: Vec<MergeWish<'_>> = asked.map(MergeWish::Of).collect();
    if wishes.is_empty() && automatic {
        wishes.push(MergeWish::Settings);
    }
    Some(wishes)
}

/// What to do for a request. `head` is the present head on GitHub.
pub fn step_for(request: &Request, facts: &MergeFacts<'_>, head: &CommitId) -> MergeStep {
    let meant = request.pull.as_ref().map_or(facts.meant, |pull| &pull.head);
    let named = request.carried_out().find_map(|(_, command)| match command {
        Command::Merge(OfCommit(named)) => Some(OfCommit(named.clone())),
        _ => None,
    });
    // A request that names another commit is about that one.
    if named.is_none_or(|named| named.means(meant)) {
        decide_merge(&MergeFacts { meant, ..*facts })
    } else {
        MergeStep::Refuse(vec![Obstacle::HeadMoved(head.clone())])
    }
}

/// The call to GitHub for a step; `None` where there is none.
pub const fn merge_call(step: &MergeStep) -> Option<MergeCall> {
    match step {
        MergeStep::Refuse(_) | MergeStep::Stands(_) | MergeStep::LookAgain => None,
        MergeStep::Now(method) => Some(MergeCall::Now(*method)),
        MergeStep::Enqueue => Some(MergeCall::Enqueue),
        MergeStep::WhenReady { method, .. } => Some(MergeCall::WhenReady(*method)),
    }
}

/// The answer to a request that was done or refused.
pub fn merge_answer(
    proposal: &ProposalId,
    (step, answer): (&MergeStep, &MergeAnswer),
    (head, base, prefix): (&CommitId, &str, &str),
) -> Answer {
    let target = proposal.target.path();
    match (answer, step) {
        (MergeAnswer::Refused(reason), _) => {
            refused(target, &merge_refused_in_words(reason), Refusal::NotMerged)
        }
        (MergeAnswer::Done, MergeStep::Refuse(_)) => {
            refused(target, &merge_in_words(step, head, base, prefix), Refusal::NotMerged)
        }
        (MergeAnswer::Done, _) => about(target, &merge_in_words(step, head, base, prefix)),
    }
}

/// The answer to a merge request that failed.
pub fn merge_failed(proposal: &ProposalId, why: &str) -> Answer {
    refused(proposal.target.path(), &merge_refused_in_words(why), Refusal::NotMerged)
}

/// If an earlier run merged and died before it answered, the request is answered now; a request for an open
/// pull request without a result is answered later.
pub fn note_unheard(planned: Planned<'_>, requests: &[Request], outcome: &mut Outcome) {
    let facts = planned.facts;
    for request in requests.iter().filter(|request| request.carries_out(Verb::Merge)) {
        let is_merged = request.pull.as_ref().is_some_and(|pull| pull.state == PullRequestState::Merged);
        if is_merged {
            let words = Answer::told(format!("#{} is merged.\n", request.number));
            outcome.merges.entry(request.id()).or_insert(words);
        } else if facts.carrier_of(request).is_some_and(|id| facts.proposals.contains_key(&id))
            && !outcome.merges.contains_key(&request.id())
        {
            outcome.postponed.insert(request.id());
        }
    }
}
