//! `merge`: a proposal is merged, for its author's request or because the settings say so.

use capstan_facts::{MergeAnswer, MergeCall, PullRequestState};
use capstan_model::tree::CommitId;
use capstan_plan::proposal::{MergeFacts, MergeStep, Obstacle, ProposalId, decide_merge};
use capstan_plan::settings::Mode;
use capstan_plan::verbs::{Command, OfCommit, Verb};
use capstan_report::{Answer, Refusal, about, merge_in_words, merge_refused_in_words, refused};

use super::answering::Answering;
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
    pub fn id(&self) -> Option<RequestId> {
        match self {
            Self::Of(request) => Some(request.id()),
            Self::Settings => None,
        }
    }
}

/// What is said to all who ask for a merge where nothing is merged whatever they say; `None` elsewhere.
pub fn merges_nothing(planned: Planned<'_>) -> Option<Answer> {
    let words = "The settings say `mode: observe`: nothing is merged.\n";
    (planned.settings.mode == Mode::Observe).then(|| Answer::refused(Refusal::Observed, words))
}

/// Who wants a proposal to be merged; `None` where nothing has to be looked at: nobody asks, and nothing that was asked
/// of GitHub may have to be taken back.
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

/// What is done for who asked. `head` is the head as GitHub shows it now.
pub fn step_for(request: &Request, facts: &MergeFacts<'_>, head: &CommitId) -> MergeStep {
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
pub const fn merge_call(step: &MergeStep) -> Option<MergeCall> {
    match step {
        MergeStep::Refuse(_) | MergeStep::Stands(_) | MergeStep::LookAgain => None,
        MergeStep::Now(method) => Some(MergeCall::Now(*method)),
        MergeStep::Enqueue => Some(MergeCall::Enqueue),
        MergeStep::WhenReady { method, .. } => Some(MergeCall::WhenReady(*method)),
    }
}

/// What is said to who asked, once it is done or refused.
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

/// What is said to who asked for a merge that failed.
pub fn merge_failed(proposal: &ProposalId, why: &str) -> Answer {
    refused(proposal.target.path(), &merge_refused_in_words(why), Refusal::NotMerged)
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
    use crate::testing::{Case, comment, commit, id, pull, tick};
    use capstan_facts::PullRequest;
    use capstan_plan::proposal::{
        Approved, By, CheckVerdict, Draft, MergeStatus, MergeView, Queue, Standstill, Way,
    };
    use capstan_plan::settings::{Glob, MergeMethod};

    fn approved() -> Approved {
        Approved {
            noted: Vec::new(),
            counted: Vec::new(),
            passed_over: Vec::new(),
            objections: Vec::new(),
            needed: 0,
            missing: 0,
        }
    }

    fn judged(pull: PullRequest, whose: BranchOwner) -> JudgedProposal {
        JudgedProposal { pull, approved: approved(), whose }
    }

    #[test]
    fn who_wants_a_merge() {
        let case = || Case::new().offered("gauss/peu01").proposed(3, "gauss/peu01", 'a');
        let automatic = || {
            case().settings(|settings| settings.upgrade.merge.automatic = vec![Glob::parse("**").unwrap()])
        };
        let on = case().open[0].clone();
        let asks = |text: &str| vec![comment(1, "ada", Some(&on), text)];
        let about = |wishes: Option<Vec<MergeWish<'_>>>| {
            wishes.map(|all| {
                all.iter()
                    .map(|wish| wish.id().map_or("settings".to_owned(), |id| id.to_string()))
                    .collect::<Vec<_>>()
                    .join(" ")
            })
        };
        for (case, requests, whose, expected) in [
            (case(), vec![], BranchOwner::Capstan, None),
            (case(), asks("/capstan merge"), BranchOwner::Capstan, Some("comment 1")),
            (case(), asks("/capstan approve"), BranchOwner::Capstan, Some("")),
            (automatic(), vec![], BranchOwner::Capstan, Some("settings")),
            (automatic(), asks("/capstan merge"), BranchOwner::Capstan, Some("comment 1")),
            (automatic(), vec![], BranchOwner::Unknown, None),
            (case(), vec![comment(1, "ada", None, "/capstan pause")], BranchOwner::Capstan, Some("")),
        ] {
            case.heard(&requests, |planned| {
                let judged = judged(case.open[0].clone(), whose);
                let wishes =
                    merge_wishes(planned, &requests, (&id("gauss/peu01"), &judged), &Outcome::default());
                assert_eq!(about(wishes).as_deref(), expected);
                assert!(merges_nothing(planned).is_none());
            });
        }
        let observed = case().settings(|settings| settings.mode = Mode::Observe);
        let words = observed.look(|planned| merges_nothing(planned).map(|answer| answer.text()));
        assert!(words.unwrap().starts_with("The settings say `mode: observe`: nothing is merged."));
    }

    #[test]
    fn a_tick_counts_as_a_request_of_the_pull_request_that_carries_its_cluster() {
        let case = Case::new().offered("gauss/peu01").offered("gauss/peu02").shared(
            5,
            "group://gauss",
            'b',
            &["gauss/peu01", "gauss/peu02"],
        );
        let request = tick(0, "ada", &id("gauss/peu02"), Some(&case.open[0]), "/capstan merge");
        case.heard(std::slice::from_ref(&request), |planned| {
            let judged = judged(case.open[0].clone(), BranchOwner::Capstan);
            let all = std::slice::from_ref(&request);
            let wishes = merge_wishes(planned, all, (&id("group://gauss"), &judged), &Outcome::default());
            assert_eq!(wishes.unwrap().len(), 1);
        });
    }

    fn view(head: char) -> MergeView {
        MergeView {
            head: commit(head),
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

    #[test]
    fn what_is_merged_is_the_commit_that_was_named() {
        let on = pull(3, "capstan/upgrade/gauss/peu01", 'a');
        let (view, way, approved) = (view('a'), Way::Straight, approved());
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
        for (step, called) in [
            (MergeStep::Enqueue, true),
            (MergeStep::WhenReady { method: None, pending: Vec::new() }, true),
            (MergeStep::LookAgain, false),
            (MergeStep::Refuse(Vec::new()), false),
            (MergeStep::Stands(Standstill::Queued(By::Capstan)), false),
        ] {
            assert_eq!(merge_call(&step).is_some(), called, "{step:?}");
        }
    }

    #[test]
    fn what_is_said_to_who_asked_for_a_merge() {
        let head = commit('a');
        let proposal = id("gauss/peu01");
        let said = |step: MergeStep, answer: MergeAnswer| {
            merge_answer(&proposal, (&step, &answer), (&head, "main", "/capstan"))
        };
        let refused =
            said(MergeStep::Now(MergeMethod::Squash), MergeAnswer::Refused("the base moved".to_owned()));
        assert!(refused.is_refusal() && refused.text().contains("the base moved"));
        assert!(said(MergeStep::Refuse(Vec::new()), MergeAnswer::Done).is_refusal());
        assert!(!said(MergeStep::Now(MergeMethod::Squash), MergeAnswer::Done).is_refusal());
        assert!(merge_failed(&proposal, "GitHub does not answer").text().contains("GitHub does not answer"));
    }

    #[test]
    fn a_merge_that_an_earlier_run_made_is_told_and_an_open_one_is_answered_later() {
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
