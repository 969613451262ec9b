//! `merge`: a proposal is merged, for its author's request or because the settings say so.

use capstan_facts::{MergeAnswer, MergeCall, PullRequestState};
use capstan_model::tree::CommitId;
use capstan_plan::proposal::{
    CheckVerdict, MergeFacts, MergeStep, MergeView, Obstacle, OnHold, ProposalId, Way, decide_merge,
    decide_undo,
};
use capstan_plan::settings::Mode;
use capstan_plan::verbs::{Command, OfCommit, Verb};
use capstan_report::{
    Answer, Refusal, about, merge_in_words, merge_refused_in_words, refused, undo_in_words,
};
use jiff::Timestamp;

use super::answering::Answering;
use crate::effects::{CHECK, Effect, MergeOf, audits};
use crate::facts::Write;
use crate::planned::PlannedRun;
use crate::proposals::{BranchOwner, JudgedProposal, Outcome, held_in, is_automatic};
use crate::requests::{Request, RequestId};

/// Who wants a merge.
#[derive(Debug, Clone)]
pub enum MergeWish<'a> {
    /// Somebody, by command or button.
    Of(&'a Request),
    Settings,
}

impl MergeWish<'_> {
    /// By this the answer finds who asked.
    fn id(&self) -> Option<RequestId> {
        match self {
            Self::Of(request) => Some(request.id()),
            Self::Settings => None,
        }
    }
}

/// A proposal whose merge is checked, and who wants it.
#[derive(Debug, Clone)]
pub struct MergeDue<'r> {
    pub proposal: ProposalId,
    /// Its pull request with its approvals.
    pub judged: JudgedProposal,
    /// Who wants it to be merged; nobody where only an earlier request to GitHub may have to be withdrawn.
    pub wishes: Vec<MergeWish<'r>>,
}

/// What is known of a merge before it is decided.
#[derive(Debug, Clone)]
pub struct MergeSeen {
    /// What GitHub says of it.
    pub view: MergeView,
    /// What Capstan's own check says.
    pub check: CheckVerdict,
    /// How it comes onto the default branch.
    pub way: Way,
}

/// The merge of a proposal, with everything that decides it.
pub struct ProposalMerge<'a> {
    planned: PlannedRun<'a>,
    due: &'a MergeDue<'a>,
    seen: MergeSeen,
    hold: Option<OnHold>,
    /// The proposals whose changes it brings.
    members: Vec<ProposalId>,
}

/// One step towards a merge, or back.
#[derive(Debug, Clone)]
pub struct MergeTurn<'a> {
    /// What GitHub is asked; `None` where it is asked nothing.
    pub effect: Option<Effect>,
    why: MergeReason<'a>,
}

#[derive(Debug, Clone)]
enum MergeReason<'a> {
    /// Something prevents what Capstan asked of GitHub before: why, as sentences.
    Withdrawn(String),
    /// Somebody wants it.
    Wished(&'a MergeWish<'a>, MergeStep),
}

/// The result of a step towards a merge.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MergeCame {
    /// What is remembered of it.
    pub effects: Vec<Effect>,
    /// Whether Capstan checks the proposal again soon.
    pub again: bool,
}

/// The proposals whose merge is checked. In `mode: observe` nothing is merged, and everybody who asks for a merge gets
/// that answer.
pub fn merges_due<'r>(
    planned: PlannedRun<'_>,
    requests: &'r [Request],
    outcome: &mut Outcome,
) -> Vec<MergeDue<'r>> {
    if planned.settings.mode == Mode::Observe {
        let words = "The settings say `mode: observe`: nothing is merged.\n";
        let asked = requests.iter().filter(|request| request.carries_out(Verb::Merge));
        let answer = |request: &Request| (request.id(), Answer::refused(Refusal::Observed, words));
        outcome.merges.extend(asked.map(answer));
        return Vec::new();
    }
    let due = |(proposal, judged): (&ProposalId, &JudgedProposal)| {
        let wishes = merge_wishes(planned, requests, (proposal, judged), outcome)?;
        Some(MergeDue { proposal: proposal.clone(), judged: judged.clone(), wishes })
    };
    outcome.judged.iter().filter_map(due).collect()
}

/// Who wants a proposal to be merged. `None` where nothing has to be checked: nobody asks, and no earlier request to
/// GitHub may have to be withdrawn.
fn merge_wishes<'r>(
    planned: PlannedRun<'_>,
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

impl MergeDue<'_> {
    /// Notes the answer to everybody who asks for this merge, where it could not be checked or failed.
    pub fn failed(&self, why: &str, outcome: &mut Outcome) {
        let words = refused(self.proposal.target.path(), &merge_refused_in_words(why), Refusal::NotMerged);
        let asked = self.wishes.iter().filter_map(MergeWish::id);
        outcome.merges.extend(asked.map(|id| (id, words.clone())));
    }
}

impl<'a> ProposalMerge<'a> {
    /// The merge of a proposal, as far as it is known now.
    pub fn new(planned: PlannedRun<'a>, due: &'a MergeDue<'a>, seen: MergeSeen, outcome: &Outcome) -> Self {
        let hold = held_in(planned, outcome, &due.proposal);
        let members = outcome.members_of(planned.facts, &due.proposal);
        Self { planned, due, seen, hold, members }
    }

    fn facts(&self) -> MergeFacts<'_> {
        MergeFacts {
            meant: &self.due.judged.pull.head,
            check: &self.seen.check,
            check_name: CHECK,
            approved: &self.due.judged.approved,
            hold: self.hold.as_ref(),
            pause: self.planned.decided.pause(),
            method: self.planned.settings.upgrade.merge.method,
            way: &self.seen.way,
            view: &self.seen.view,
        }
    }

    /// The steps, in their order: what prevents the merge is first withdrawn, then each wish has its own.
    pub fn turns(&self, now: Timestamp) -> Vec<MergeTurn<'a>> {
        let (facts, pull) = (self.facts(), &self.due.judged.pull);
        let of = |head: &CommitId, call| {
            Effect::Merge(Box::new(MergeOf { pull: pull.clone(), head: head.clone(), call }))
        };
        let undo = decide_undo(&facts).map(|(undo, obstacles)| MergeTurn {
            effect: Some(of(&self.seen.view.head, MergeCall::TakeBack(undo))),
            why: MergeReason::Withdrawn(undo_in_words(
                undo,
                &obstacles,
                &pull.base_branch,
                self.planned.settings.commands.prefix.as_str(),
            )),
        });
        let wished = |wish: &'a MergeWish<'a>| {
            let step = match wish {
                MergeWish::Of(request) => step_for(request, &facts, &self.seen.view.head),
                MergeWish::Settings => decide_merge(&facts),
            };
            let call = merge_call(&step);
            // What GitHub refuses is not repeated for a while where nobody asks for it.
            let is_left_alone = matches!(wish, MergeWish::Settings)
                && call.is_some()
                && self.planned.facts.refusals.against(&self.write(), now).is_some();
            let effect = call.map(|call| of(&pull.head, call));
            (!is_left_alone).then_some(MergeTurn { effect, why: MergeReason::Wished(wish, step) })
        };
        undo.into_iter().chain(self.due.wishes.iter().filter_map(wished)).collect()
    }

    /// The result of a step. What people read of it is noted in `outcome`. `answer` is GitHub's, if it was asked.
    pub fn came_of(
        &self,
        turn: MergeTurn<'_>,
        answer: Option<MergeAnswer>,
        outcome: &mut Outcome,
        now: Timestamp,
    ) -> MergeCame {
        let (pull, mut came) = (&self.due.judged.pull, MergeCame::default());
        match turn.why {
            MergeReason::Withdrawn(words) => {
                if answer == Some(MergeAnswer::Done) {
                    let detail = format!("#{}: {words}", pull.number);
                    came.effects = self.audited("merge-taken-back", &detail);
                } else {
                    came.again = true;
                }
                outcome.remarks.entry(pull.number).or_default().notes.push(words);
            }
            MergeReason::Wished(MergeWish::Of(request), MergeStep::LookAgain) => {
                outcome.postponed.insert(request.id());
            }
            MergeReason::Wished(MergeWish::Settings, MergeStep::LookAgain) => came.again = true,
            MergeReason::Wished(MergeWish::Of(request), step) => {
                if answer == Some(MergeAnswer::Done) {
                    let detail = format!("#{} at {}, for {}", pull.number, pull.head, request.by);
                    came.effects = self.audited("proposal-merged", &detail);
                }
                outcome.merges.insert(request.id(), self.answer(&step, answer.as_ref()));
            }
            MergeReason::Wished(MergeWish::Settings, _) => {
                came.effects = answer.map(|answer| self.came_by_settings(answer, now)).unwrap_or_default();
            }
        }
        came
    }

    /// What is remembered of a merge that the settings ask for. What GitHub refuses is not repeated for a while.
    fn came_by_settings(&self, answer: MergeAnswer, now: Timestamp) -> Vec<Effect> {
        let (pull, write, refusals) = (&self.due.judged.pull, self.write(), &self.planned.facts.refusals);
        match answer {
            MergeAnswer::Done => {
                let forgotten =
                    refusals.knows(&write).then(|| Effect::ForgetRefusal(write.what().to_owned()));
                let detail = format!("#{} at {}, as the settings say", pull.number, pull.head);
                forgotten.into_iter().chain(self.audited("proposal-merged", &detail)).collect()
            }
            MergeAnswer::Refused(reason) => {
                let refused = refusals.refused(&write, self.planned.facts.repository.id, &reason, now);
                let audited = Effect::Audit(write.refusal_audited(&refused));
                vec![Effect::SaveRefusal(refused), audited]
            }
        }
    }

    fn write(&self) -> Write {
        Write::merge(&self.due.proposal, self.due.judged.pull.head.as_str())
    }

    fn audited(&self, action: &'static str, detail: &str) -> Vec<Effect> {
        audits(self.planned.facts.repository.id, Some(&self.members), action, detail)
    }

    /// What is said to who asked, once it is done or refused.
    fn answer(&self, step: &MergeStep, answer: Option<&MergeAnswer>) -> Answer {
        let target = self.due.proposal.target.path();
        let words = || {
            let pull = &self.due.judged.pull;
            merge_in_words(
                step,
                &pull.head,
                &pull.base_branch,
                self.planned.settings.commands.prefix.as_str(),
            )
        };
        match (answer, step) {
            (Some(MergeAnswer::Refused(reason)), _) => {
                refused(target, &merge_refused_in_words(reason), Refusal::NotMerged)
            }
            (_, MergeStep::Refuse(_)) => refused(target, &words(), Refusal::NotMerged),
            _ => about(target, &words()),
        }
    }
}

/// What is done for who asked. `head` is the head as GitHub shows it now.
fn step_for(request: &Request, facts: &MergeFacts<'_>, head: &CommitId) -> MergeStep {
    let meant = request.pull.as_ref().map_or(facts.meant, |pull| &pull.head);
    let named = request.carried_out().find_map(|(_, command)| match command {
        Command::Merge(OfCommit(named)) => Some(OfCommit(named.clone())),
        _ => None,
    });
    // One that names another commit means another one.
    if named.is_none_or(|named| named.means(meant)) {
        decide_merge(&MergeFacts { meant, ..*facts })
    } else {
        MergeStep::Refuse(vec![Obstacle::HeadMoved(head.clone())])
    }
}

/// What GitHub is asked for a step; `None` where it is asked nothing.
const fn merge_call(step: &MergeStep) -> Option<MergeCall> {
    match step {
        MergeStep::Refuse(_) | MergeStep::WaitsForGitHub(_) | MergeStep::LookAgain => None,
        MergeStep::Now(method) => Some(MergeCall::Now(*method)),
        MergeStep::Enqueue => Some(MergeCall::Enqueue),
        MergeStep::WhenReady { method, .. } => Some(MergeCall::WhenReady(*method)),
    }
}

/// What was merged by an earlier run that died before it answered is merged; who asks for an open one of which nothing
/// came yet is answered later.
pub fn note_unheard(planned: PlannedRun<'_>, requests: &[Request], outcome: &mut Outcome) {
    let facts = planned.facts;
    for request in requests.iter().filter(|request| request.carries_out(Verb::Merge)) {
        let is_merged = request.pull.as_ref().is_some_and(|pull| pull.state == PullRequestState::Merged);
        if is_merged {
            let words = Answer::info(format!("#{} is merged.\n", request.number));
            outcome.merges.entry(request.id()).or_insert(words);
        } else if facts.carrier_of(request).is_some_and(|id| facts.proposals.contains_key(&id))
            && !outcome.merges.contains_key(&request.id())
        {
            outcome.postponed.insert(request.id());
        }
    }
}

pub(super) fn answer(asked: &Answering<'_>) -> Answer {
    let said = asked.outcome.merges.get(&asked.request.id()).cloned();
    said.unwrap_or_else(|| {
        let text = "This pull request is not one of Capstan's open proposals: merge it as usual.\n";
        Answer::refused(Refusal::NothingThere, text)
    })
}

#[cfg(test)]
#[path = "merge_tests.rs"]
mod tests;
