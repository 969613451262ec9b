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
use crate::planned::Planned;
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
    planned: Planned<'a>,
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
    planned: Planned<'_>,
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
    pub fn new(planned: Planned<'a>, due: &'a MergeDue<'a>, seen: MergeSeen, outcome: &Outcome) -> Self {
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
        MergeStep::Refuse(_) | MergeStep::Stands(_) | MergeStep::LookAgain => None,
        MergeStep::Now(method) => Some(MergeCall::Now(*method)),
        MergeStep::Enqueue => Some(MergeCall::Enqueue),
        MergeStep::WhenReady { method, .. } => Some(MergeCall::WhenReady(*method)),
    }
}

/// What was merged by an earlier run that died before it answered is merged; who asks for an open one of which nothing
/// came yet is answered later.
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

pub(super) fn answer(asked: &Answering<'_>) -> Answer {
    let said = asked.outcome.merges.get(&asked.request.id()).cloned();
    said.unwrap_or_else(|| {
        let text = "This pull request is not one of Capstan's open proposals: merge it as usual.\n";
        Answer::refused(Refusal::NothingThere, text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Case, comment, commit, effects_in_words, id, now, pull, tick, words};
    use capstan_facts::{PullRequest, RefusedWrite};
    use capstan_plan::proposal::{
        Approved, By, Draft, MergeStatus, Queue, Required, RequiredState, Standstill,
    };
    use capstan_plan::settings::{Glob, MergeMethod};

    fn judged(pull: PullRequest, whose: BranchOwner) -> JudgedProposal {
        JudgedProposal { pull, approved: Approved::default(), whose }
    }

    fn one() -> Case {
        Case::new().offered("gauss/peu01").proposed(3, "gauss/peu01", 'a')
    }

    /// The same, to be merged as the settings say.
    fn automatic() -> Case {
        one().settings(|settings| settings.upgrade.merge.automatic = vec![Glob::parse("**").unwrap()])
    }

    fn asks(text: &str) -> Vec<Request> {
        vec![comment(1, "ada", Some(&one().open[0]), text)]
    }

    /// The outcome once this proposal's approvals are judged.
    fn outcome(case: &Case, target: &str, whose: &BranchOwner) -> Outcome {
        let judged = judged(case.open[0].clone(), whose.clone());
        Outcome { judged: [(id(target), judged)].into_iter().collect(), ..Outcome::default() }
    }

    #[test]
    fn who_wants_a_merge() {
        for (case, requests, whose, expected) in [
            (one(), vec![], BranchOwner::Capstan, None),
            (one(), asks("/capstan merge"), BranchOwner::Capstan, Some("comment 1")),
            (one(), asks("/capstan approve"), BranchOwner::Capstan, Some("")),
            (automatic(), vec![], BranchOwner::Capstan, Some("settings")),
            (automatic(), asks("/capstan merge"), BranchOwner::Capstan, Some("comment 1")),
            (automatic(), vec![], BranchOwner::Unknown, None),
            (one(), vec![comment(1, "ada", None, "/capstan pause")], BranchOwner::Capstan, Some("")),
        ] {
            let due = case.heard(&requests, |planned| {
                merges_due(planned, &requests, &mut outcome(&case, "gauss/peu01", &whose))
            });
            let wishes = due.first().map(|due| {
                let who = |wish: &MergeWish<'_>| wish.id().map_or("settings".to_owned(), |id| id.to_string());
                due.wishes.iter().map(who).collect::<Vec<_>>().join(" ")
            });
            assert_eq!(wishes.as_deref(), expected);
        }
    }

    #[test]
    fn where_the_settings_say_observe_all_who_ask_for_a_merge_are_told_so() {
        let case = one().settings(|settings| settings.mode = Mode::Observe);
        let mut requests = asks("/capstan merge");
        requests.push(comment(2, "eve", None, "/capstan merge"));
        requests.push(comment(3, "eve", None, "/capstan status"));
        let mut outcome = outcome(&case, "gauss/peu01", &BranchOwner::Capstan);
        assert!(case.heard(&requests, |planned| merges_due(planned, &requests, &mut outcome)).is_empty());
        let told: Vec<String> =
            outcome.merges.iter().map(|(id, answer)| format!("{id}: {}", words(answer))).collect();
        let said = "!The settings say `mode: observe`: nothing is merged.";
        assert_eq!(told, [format!("comment 1: {said}"), format!("comment 2: {said}")]);
        // And nobody is put off.
        case.heard(&requests, |planned| note_unheard(planned, &requests, &mut outcome));
        assert!(outcome.postponed.is_empty());
    }

    #[test]
    fn a_tick_counts_as_a_request_of_the_pull_request_that_carries_its_cluster() {
        let case = Case::new().offered("gauss/peu01").offered("gauss/peu02").shared(
            5,
            "group://gauss",
            'b',
            &["gauss/peu01", "gauss/peu02"],
        );
        let requests = [tick(0, "ada", &id("gauss/peu02"), Some(&case.open[0]), "/capstan merge")];
        let due = case.heard(&requests, |planned| {
            merges_due(planned, &requests, &mut outcome(&case, "group://gauss", &BranchOwner::Capstan))
        });
        assert_eq!(due.iter().map(|due| due.wishes.len()).collect::<Vec<_>>(), [1]);
    }

    fn view() -> MergeView {
        MergeView {
            head: commit('a'),
            draft: Draft::Ready,
            status: MergeStatus::Ready,
            reviews_missing: false,
            queue: Queue::None,
            auto_merge: None,
            auto_merge_allowed: false,
            methods: vec![MergeMethod::Squash],
            required: Vec::new(),
        }
    }

    /// One that has to wait for a check of others, as GitHub shows it.
    fn waits_for_others() -> MergeView {
        let check = |name: &str, state| Required { name: name.to_owned(), state };
        MergeView {
            status: MergeStatus::Blocked,
            auto_merge_allowed: true,
            required: vec![check(CHECK, RequiredState::Passed), check("build", RequiredState::Pending)],
            ..view()
        }
    }

    fn queued() -> MergeView {
        MergeView { queue: Queue::Entered(By::Capstan), ..view() }
    }

    fn set_to_merge(by: By) -> MergeView {
        MergeView { auto_merge: Some(by), ..view() }
    }

    /// What a merge did: each call to GitHub, what is remembered, and the answers and notes that people read.
    #[derive(Debug, Default, PartialEq, Eq)]
    struct Happened {
        asked: Vec<String>,
        remembered: Vec<String>,
        again: bool,
        postponed: bool,
        answers: Vec<String>,
        notes: Vec<String>,
    }

    /// Merges what is due of a case; GitHub answers everything with `answer`.
    fn merge(
        case: &Case,
        target: &str,
        requests: &[Request],
        view: &MergeView,
        answer: &MergeAnswer,
    ) -> Happened {
        let mut outcome = outcome(case, target, &BranchOwner::Capstan);
        let mut happened = Happened::default();
        case.heard(requests, |planned| {
            for due in merges_due(planned, requests, &mut outcome) {
                let seen = MergeSeen { view: view.clone(), check: CheckVerdict::Passes, way: Way::Straight };
                let merge = ProposalMerge::new(planned, &due, seen, &outcome);
                for turn in merge.turns(now()) {
                    let asked = turn.effect.clone();
                    let answer = asked.is_some().then(|| answer.clone());
                    happened.asked.extend(effects_in_words(asked.as_slice()));
                    let came = merge.came_of(turn, answer, &mut outcome, now());
                    happened.remembered.extend(effects_in_words(&came.effects));
                    happened.again |= came.again;
                }
            }
        });
        happened.postponed = !outcome.postponed.is_empty();
        happened.answers = outcome.merges.values().map(words).collect();
        happened.notes = outcome.remarks.get(&3).map(|remarks| remarks.notes.clone()).unwrap_or_default();
        happened
    }

    fn lines(all: &[&str]) -> Vec<String> {
        all.iter().map(|one| (*one).to_owned()).collect()
    }

    const DONE: MergeAnswer = MergeAnswer::Done;

    fn refused() -> MergeAnswer {
        MergeAnswer::Refused("Base branch was modified".to_owned())
    }

    #[test]
    fn who_asks_for_a_merge_gets_what_the_branch_allows() {
        let sha = "a".repeat(40);
        let audit = format!("audit proposal-merged of gauss/peu01 by capstan: #3 at {sha}, for ada");
        for (view, asked, answer) in [
            (view(), "#3 at aaaa: Now(Squash)", "`gauss/peu01`: Merged at `aaaaaaa` (squash)."),
            (
                MergeView { queue: Queue::Outside, ..view() },
                "#3 at aaaa: Enqueue",
                "`gauss/peu01`: It is in the merge queue at `aaaaaaa`.",
            ),
            (
                waits_for_others(),
                "#3 at aaaa: WhenReady(Some(Squash))",
                "`gauss/peu01`: These required checks are not done: `build`. Auto-merge is enabled at `aaaaaaa`: GitHub merges it when they are done.",
            ),
        ] {
            let happened = merge(&one(), "gauss/peu01", &asks("/capstan merge"), &view, &DONE);
            let expected = Happened {
                asked: lines(&[asked]),
                remembered: lines(&[&audit]),
                answers: lines(&[answer]),
                ..Happened::default()
            };
            assert_eq!(happened, expected);
        }
    }

    #[test]
    fn what_prevents_a_merge_is_answered_and_github_is_asked_nothing() {
        for (view, answer) in [
            (MergeView { draft: Draft::Draft, ..view() }, "!`gauss/peu01`: It is not merged. It is a draft."),
            (
                MergeView { status: MergeStatus::Conflicts, ..view() },
                "!`gauss/peu01`: It is not merged. It conflicts with `main`.",
            ),
            (
                set_to_merge(By::Other("eve".to_owned())),
                "`gauss/peu01`: Auto-merge is enabled, as `eve` asked: GitHub merges it when the rules of `main` allow it.",
            ),
        ] {
            let happened = merge(&one(), "gauss/peu01", &asks("/capstan merge"), &view, &DONE);
            assert_eq!(happened, Happened { answers: lines(&[answer]), ..Happened::default() });
        }
    }

    #[test]
    fn what_github_still_computes_is_answered_later() {
        let computing = MergeView { status: MergeStatus::Unknown, ..view() };
        let asked = merge(&one(), "gauss/peu01", &asks("/capstan merge"), &computing, &DONE);
        assert_eq!(asked, Happened { postponed: true, ..Happened::default() });
        let by_settings = merge(&automatic(), "gauss/peu01", &[], &computing, &DONE);
        assert_eq!(by_settings, Happened { again: true, ..Happened::default() });
    }

    #[test]
    fn a_refusal_is_said_to_who_asked_and_not_remembered() {
        let happened = merge(&one(), "gauss/peu01", &asks("/capstan merge"), &view(), &refused());
        let expected = Happened {
            asked: lines(&["#3 at aaaa: Now(Squash)"]),
            answers: lines(&[
                "!`gauss/peu01`: It is not merged: GitHub refuses it. Base branch was modified.",
            ]),
            ..Happened::default()
        };
        assert_eq!(happened, expected);
    }

    #[test]
    fn what_the_settings_merge_is_audited_and_what_github_refuses_is_left_alone_for_a_while() {
        let sha = "a".repeat(40);
        let known = |content: &str| RefusedWrite {
            repository: 7,
            what: "merge gauss/peu01".to_owned(),
            content: content.to_owned(),
            refusals: 1,
            not_before: "2026-03-02T12:01:00Z".parse().unwrap(),
            reason: "a ruleset".to_owned(),
        };
        let with = |refused: Vec<RefusedWrite>| Case { refused, ..automatic() };
        let audit =
            format!("audit proposal-merged of gauss/peu01 by capstan: #3 at {sha}, as the settings say");
        let asked = ["#3 at aaaa: Now(Squash)"];
        for (case, answer, expected, remembered) in [
            (with(vec![]), DONE, &asked[..], vec![audit.as_str()]),
            // Another head was refused: this one is tried.
            (with(vec![known("older")]), DONE, &asked[..], vec!["forget merge gauss/peu01", &audit]),
            (with(vec![known(&sha)]), DONE, &[], vec![]),
            (
                with(vec![]),
                refused(),
                &asked[..],
                vec![
                    "refused until 2026-03-02T12:10:00Z: merge gauss/peu01: Base branch was modified",
                    "audit write-refused of gauss/peu01 by capstan: merge gauss/peu01: Base branch was modified",
                ],
            ),
        ] {
            let happened = merge(&case, "gauss/peu01", &[], &view(), &answer);
            let expected =
                Happened { asked: lines(expected), remembered: lines(&remembered), ..Happened::default() };
            assert_eq!(happened, expected, "{answer:?}");
        }
        // Nothing is said of what prevents it: its check does.
        let draft = MergeView { draft: Draft::Draft, ..view() };
        assert_eq!(merge(&with(vec![]), "gauss/peu01", &[], &draft, &DONE), Happened::default());
    }

    #[test]
    fn a_hold_withdraws_what_capstan_asked_of_github() {
        let held = asks("/capstan hold");
        let queue = "It is no longer in the merge queue. On hold by `ada`. `/capstan unhold` undoes it.";
        let auto = "Auto-merge is disabled again. On hold by `ada`. `/capstan unhold` undoes it.";
        for (view, asked, words) in [
            (queued(), "#3 at aaaa: TakeBack(Queue)", queue),
            (set_to_merge(By::Capstan), "#3 at aaaa: TakeBack(AutoMerge)", auto),
        ] {
            let audit = format!("audit merge-taken-back of gauss/peu01 by capstan: #3: {words}");
            let happened = merge(&one(), "gauss/peu01", &held, &view, &DONE);
            let expected = Happened {
                asked: lines(&[asked]),
                remembered: lines(&[&audit]),
                notes: lines(&[words]),
                ..Happened::default()
            };
            assert_eq!(happened, expected);
            // GitHub does not take it: the next run tries again.
            let happened = merge(&one(), "gauss/peu01", &held, &view, &refused());
            let expected = Happened {
                asked: lines(&[asked]),
                notes: lines(&[words]),
                again: true,
                ..Happened::default()
            };
            assert_eq!(happened, expected);
        }
        // What a person asked of GitHub is theirs.
        let eves = set_to_merge(By::Other("eve".to_owned()));
        assert_eq!(merge(&one(), "gauss/peu01", &held, &eves, &DONE), Happened::default());
    }

    #[test]
    fn the_newest_head_is_withdrawn_and_then_who_asked_is_answered() {
        let moved = MergeView { head: commit('b'), draft: Draft::Draft, ..queued() };
        let happened = merge(&one(), "gauss/peu01", &asks("/capstan merge"), &moved, &DONE);
        assert_eq!(happened.asked, ["#3 at bbbb: TakeBack(Queue)"]);
        assert_eq!(
            happened.answers,
            [
                "!`gauss/peu01`: It is not merged. Its head is now `bbbbbbb`, which is not the commit that the command named. Look at it, and repeat the command."
            ]
        );
    }

    #[test]
    fn a_shared_pull_request_is_audited_for_each_of_its_clusters() {
        let members = ["gauss/peu01", "gauss/peu02"];
        let case = Case::new().offered("gauss/peu01").offered("gauss/peu02").shared(
            3,
            "group://gauss",
            'a',
            &members,
        );
        let requests = [comment(1, "ada", Some(&case.open[0]), "/capstan merge")];
        let happened = merge(&case, "group://gauss", &requests, &view(), &DONE);
        let sha = "a".repeat(40);
        let audit = |target| format!("audit proposal-merged of {target} by capstan: #3 at {sha}, for ada");
        assert_eq!(happened.remembered, members.map(audit));
    }

    #[test]
    fn what_is_merged_is_the_commit_that_was_named() {
        let on = pull(3, "capstan/upgrade/gauss/peu01", 'a');
        let (view, way, approved) = (view(), Way::Straight, Approved::default());
        let facts = MergeFacts {
            meant: &on.head,
            check: &CheckVerdict::Passes,
            check_name: "capstan",
            approved: &approved,
            hold: None,
            pause: None,
            method: None,
            way: &way,
            view: &view,
        };
        for (text, merges) in [
            ("/capstan merge".to_owned(), true),
            (format!("/capstan merge {}", "a".repeat(40)), true),
            (format!("/capstan merge {}", "b".repeat(40)), false),
        ] {
            let request = comment(1, "ada", Some(&on), &text);
            let step = step_for(&request, &facts, &view.head);
            assert_eq!(matches!(step, MergeStep::Now(MergeMethod::Squash)), merges, "{text}: {step:?}");
            assert_eq!(merge_call(&step).is_some(), merges);
        }
        let stands = MergeStep::Stands(Standstill::Queued(By::Capstan));
        assert_eq!(merge_call(&stands), None);
    }

    #[test]
    fn all_who_asked_are_told_of_a_merge_that_failed() {
        let mut requests = asks("/capstan merge");
        requests.push(comment(2, "eve", Some(&one().open[0]), "/capstan merge"));
        let mut outcome = outcome(&one(), "gauss/peu01", &BranchOwner::Capstan);
        one().heard(&requests, |planned| {
            for due in merges_due(planned, &requests, &mut outcome) {
                due.failed("GitHub does not answer", &mut outcome);
            }
        });
        let said = "!`gauss/peu01`: It is not merged: GitHub refuses it. GitHub does not answer.";
        assert_eq!(outcome.merges.values().map(words).collect::<Vec<_>>(), [said, said]);
    }

    #[test]
    fn a_merge_of_an_earlier_run_is_reported_and_an_open_one_is_answered_later() {
        let case = Case::new().offered("gauss/peu01").proposed(3, "gauss/peu01", 'a').persons(9, 'f');
        let on = |number: u64| case.open.iter().find(|pull| pull.number == number).cloned().unwrap();
        let merged = PullRequest { state: PullRequestState::Merged, ..on(3) };
        for (request, said, postponed) in [
            (comment(1, "ada", Some(&merged), "/capstan merge"), Some("#3 is merged.\n"), false),
            (comment(1, "ada", Some(&on(3)), "/capstan merge"), None, true),
            (comment(1, "ada", Some(&on(9)), "/capstan merge"), None, false),
            (comment(1, "ada", Some(&on(3)), "/capstan hold"), None, false),
        ] {
            let mut outcome = Outcome::default();
            case.look(|planned| note_unheard(planned, std::slice::from_ref(&request), &mut outcome));
            let words = outcome.merges.get(&request.id()).map(|answer| answer.text());
            assert_eq!(words.as_deref(), said);
            assert_eq!(outcome.postponed.contains(&request.id()), postponed);
        }
    }
}
