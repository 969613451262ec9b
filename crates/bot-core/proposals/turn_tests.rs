//! What is done about a proposal whose turn it is, and what comes of it.

use capstan_facts::RefusedWrite;
use capstan_model::rest::Rest;
use capstan_plan::proposal::{Action, BranchStep, Closer, LeaveReason, ProposalCommand};
use capstan_plan::settings::Mode;

use super::tests::decided_pull;
use super::turn::*;
use super::*;
use crate::effects::{Effect, Published};
use crate::facts::Refusals;
use crate::testing::{Case, comment, effects_in_words, id, now};

const SPENT: &str = "The budget for proposals is spent.";

fn opens() -> Action {
    Action::Open { branch: BranchStep::Create }
}

fn updates(pull: u64) -> Action {
    Action::Update { pull, branch: BranchStep::Keep }
}

fn closes(by: Closer) -> Action {
    Action::Close { pull: 3, why: "It is current.".to_owned(), by, rest: Rest::Current }
}

fn leaves() -> Action {
    Action::Leave(LeaveReason::Edited { pull: Some(3) })
}

fn open() -> Case {
    Case::new().offered("gauss/peu01").proposed(3, "gauss/peu01", 'a')
}

/// A write of that proposal that GitHub refused before.
fn refused(decided: &DecidedPull) -> RefusedWrite {
    Refusals::NONE.refused(&decided.write(&id("gauss/peu01")).unwrap(), 7, "a ruleset", now())
}

/// A step in words.
fn words(step: &TurnStep<'_>) -> String {
    match step {
        TurnStep::Says(state) => format!("{}: {}", state.state.as_str(), state.why),
        TurnStep::Leave(_) => "leaves it".to_owned(),
        TurnStep::Close { pull, .. } => format!("closes {:?}", pull.map(|pull| pull.number)),
        TurnStep::Publish(intent) => format!("publishes {:?}", intent.pull.map(|pull| pull.number)),
    }
}

fn taken(case: &Case, decided: &DecidedPull, result: Result<TurnDone, ProposalFailure>) -> (CameOf, Outcome) {
    let mut outcome = Outcome::default();
    let came = case.look(|planned| {
        let proposal = id("gauss/peu01");
        let turn = turn_of(planned, (&proposal, decided), None, &Outcome::default(), now());
        came_of(planned, &turn, result, &mut outcome, now())
    });
    (came, outcome)
}

#[test]
fn each_decision_is_a_step() {
    let observe = || open().settings(|settings| settings.mode = Mode::Observe);
    for (case, action, expected) in [
        (open(), opens(), "publishes None"),
        (open(), updates(3), "publishes Some(3)"),
        // It was closed and opened again meanwhile: a number that is not open is not updated.
        (open(), updates(4), "publishes None"),
        (open(), closes(Closer::Capstan), "closes Some(3)"),
        (Case::new().offered("gauss/peu01"), closes(Closer::Person), "closes None"),
        (open(), leaves(), "leaves it"),
        (Case::new().plan("gauss/peu01", Err("no.")), opens(), "failed: There is no plan to publish."),
        (
            observe(),
            opens(),
            "observed: The settings say `mode: observe`: no branch or pull request is written.",
        ),
        (
            observe(),
            closes(Closer::Capstan),
            "observed: The settings say `mode: observe`: no branch or pull request is written.",
        ),
        (observe(), leaves(), "leaves it"),
    ] {
        let (proposal, decided) =
            (id("gauss/peu01"), decided_pull(action, ProposalCommand::None, &["gauss/peu01"]));
        case.look(|planned| {
            let turn = turn_of(planned, (&proposal, &decided), None, &Outcome::default(), now());
            assert_eq!(words(&turn.step), expected);
        });
    }
}

#[test]
fn once_the_budget_is_spent_new_proposals_wait_that_nobody_asked_for() {
    for (action, command, waits) in [
        (opens(), ProposalCommand::None, true),
        (opens(), ProposalCommand::Offer, false),
        (updates(3), ProposalCommand::None, false),
        (leaves(), ProposalCommand::None, false),
    ] {
        let (proposal, decided) = (id("gauss/peu01"), decided_pull(action, command, &["gauss/peu01"]));
        open().look(|planned| {
            let turn = turn_of(planned, (&proposal, &decided), Some(SPENT), &Outcome::default(), now());
            assert_eq!(words(&turn.step) == format!("waiting: {SPENT}"), waits, "{command:?}");
            assert_eq!(turn.waits(Some(SPENT)).map(|state| state.why), waits.then(|| SPENT.to_owned()));
            assert!(turn.waits(None).is_none());
        });
    }
}

#[test]
fn a_pull_request_that_was_written_is_listed_again() {
    for (published, state, wrote) in [
        (Published::Opened(5), "proposed: #5 offers `aws/v22.0.0`.", Wrote::PullRequests),
        (Published::Updated(5), "proposed: #5 offers `aws/v22.0.0`.", Wrote::PullRequests),
        (Published::Unchanged(5), "proposed: #5 offers `aws/v22.0.0`.", Wrote::Nothing),
        (
            Published::Overtaken,
            "waiting: Another write to the branch came first: Capstan checks it again.",
            Wrote::Nothing,
        ),
    ] {
        let again = published == Published::Overtaken;
        let decided = decided_pull(opens(), ProposalCommand::None, &["gauss/peu01"]);
        let (came, outcome) = taken(&open(), &decided, Ok(TurnDone::Published(published)));
        assert_eq!(format!("{}: {}", came.state.state.as_str(), came.state.why), state);
        assert_eq!((outcome.wrote, came.again), (wrote, again));
        assert_eq!(outcome.overtaken.contains(&id("gauss/peu01")), again);
        assert!(came.effects.is_empty());
    }
}

#[test]
fn what_github_refuses_is_remembered_whether_rules_or_a_call_say_so() {
    let words = "GitHub refuses it: a ruleset. Capstan retries after 2026-03-02 12:10 UTC.";
    let decided = decided_pull(opens(), ProposalCommand::None, &["gauss/peu01"]);
    for result in [
        Ok(TurnDone::Published(Published::Refused("a ruleset".to_owned()))),
        Err(ProposalFailure::Refused("a ruleset".to_owned())),
    ] {
        let (came, outcome) = taken(&open(), &decided, result);
        assert_eq!((came.state.state.as_str(), came.state.why.as_str()), ("refused", words));
        let [Effect::SaveRefusal(refused), Effect::Audit(audited)] = came.effects.as_slice() else {
            panic!("{:?}", came.effects);
        };
        assert_eq!((refused.what.as_str(), refused.reason.as_str()), ("proposal gauss/peu01", "a ruleset"));
        assert_eq!(
            (audited.action, audited.detail.as_str()),
            ("write-refused", "proposal gauss/peu01: a ruleset")
        );
        assert!(outcome.undecided.is_empty());
    }
}

#[test]
fn what_was_refused_before_is_forgotten_once_it_is_taken() {
    let decided = decided_pull(opens(), ProposalCommand::None, &["gauss/peu01"]);
    let known = || Case { refused: vec![refused(&decided)], ..open() };
    let published = || Ok(TurnDone::Published(Published::Opened(5)));
    let failed = || Err(ProposalFailure::Failed("Git does not answer".to_owned(), NextRun::FailsAgain));
    for (case, result, expected) in [
        (known(), published(), 1),
        (open(), published(), 0),
        // It is unknown whether GitHub would accept it.
        (known(), failed(), 0),
        (known(), Err(ProposalFailure::Gone(3)), 0),
    ] {
        let (came, _) = taken(&case, &decided, result);
        let forgets = vec![Effect::ForgetRefusal("proposal gauss/peu01".to_owned()); expected];
        assert_eq!(came.effects, forgets);
    }
}

#[test]
fn one_closed_for_capstan_makes_way_for_others_of_its_group() {
    let shared = Case::new().offered("gauss/peu01").shared(3, "group://gauss", 'a', &["gauss/peu01"]);
    for (case, target, by, state, superseded) in [
        (open(), "gauss/peu01", Closer::Capstan, "current", false),
        (open(), "gauss/peu01", Closer::Person, "declined", false),
        (shared.clone(), "group://gauss", Closer::Capstan, "current", true),
        (shared, "group://gauss", Closer::Person, "declined", false),
    ] {
        let (proposal, decided) = (id(target), decided_pull(closes(by), ProposalCommand::None, &[]));
        let mut outcome = Outcome::default();
        case.look(|planned| {
            let turn = turn_of(planned, (&proposal, &decided), None, &Outcome::default(), now());
            let came = came_of(planned, &turn, Ok(TurnDone::Done), &mut outcome, now());
            assert_eq!((came.state.state.as_str(), came.state.why.as_str()), (state, "It is current."));
        });
        assert_eq!(outcome.wrote, Wrote::PullRequests);
        assert_eq!(outcome.superseded.contains(&proposal), superseded, "{by:?}");
    }
}

#[test]
fn what_is_left_alone_says_so_or_that_github_refuses_what_was_decided() {
    let decided = decided_pull(leaves(), ProposalCommand::None, &["gauss/peu01"]);
    let (came, outcome) = taken(&open(), &decided, Ok(TurnDone::Done));
    assert_eq!(came.state.state.as_str(), "edited");
    assert_eq!(outcome.remarks[&3].notes.len(), 1);
    let state = ProposalOutcome::refused("It is locked.");
    let (came, outcome) = taken(&open(), &decided, Ok(TurnDone::Refused(state)));
    assert_eq!((came.state.state.as_str(), came.state.why.as_str()), ("refused", "It is locked."));
    // Its check still says that it is left alone.
    assert_eq!((outcome.remarks[&3].notes.len(), came.effects.len()), (1, 0));
}

#[test]
fn a_failure_is_the_proposals_own() {
    let failed = |next| ProposalFailure::Failed("Git does not answer".to_owned(), next);
    let budget = || ProposalFailure::BudgetSpent("the budget is spent".to_owned());
    let gone = "waiting: #3 is gone: Capstan checks the cluster again.";
    for (command, failure, state, spent, undecided) in [
        (ProposalCommand::None, budget(), "waiting: The budget is spent", Some("The budget is spent"), true),
        // A person's request has a budget of its own.
        (ProposalCommand::Replan, budget(), "waiting: The budget is spent", None, true),
        (ProposalCommand::None, failed(NextRun::MayGetFurther), "failed: Git does not answer", None, true),
        (ProposalCommand::None, failed(NextRun::FailsAgain), "failed: Git does not answer", None, false),
        (ProposalCommand::None, ProposalFailure::Outside("a/b".to_owned()), "failed: a/b", None, false),
        (ProposalCommand::None, ProposalFailure::Gone(3), gone, None, false),
    ] {
        let again = matches!(failure, ProposalFailure::Gone(_));
        let decided = decided_pull(opens(), command, &["gauss/peu01"]);
        let (came, outcome) = taken(&open(), &decided, Err(failure));
        assert_eq!(format!("{}: {}", came.state.state.as_str(), came.state.why), state);
        assert_eq!((came.spent.as_deref(), came.again), (spent, again));
        assert_eq!(outcome.undecided.contains(&id("gauss/peu01")), undecided);
    }
}

#[test]
fn what_people_decided_about_one_that_is_left_alone_is_a_write_of_its_own() {
    let case = open();
    let on = case.open[0].clone();
    let held = [comment(1, "ada", Some(&on), "/capstan hold")];
    let locked = || Err(ProposalFailure::Refused("it is locked".to_owned()));
    let said = "refused: GitHub refuses it: it is locked. Capstan retries after 2026-03-02 12:10 UTC.";
    let remembered: &[&str] = &[
        "refused until 2026-03-02T12:10:00Z: proposal gauss/peu01: it is locked",
        "audit write-refused of gauss/peu01 by capstan: proposal gauss/peu01: it is locked",
    ];
    for (requests, result, state, effects, wrote) in [
        (&held[..], Ok(TurnDone::Done), "edited", &[][..], Wrote::PullRequests),
        (&[], Ok(TurnDone::Done), "edited", &[], Wrote::Nothing),
        (&held, locked(), said, remembered, Wrote::Nothing),
        (&[], locked(), "failed: it is locked", &[], Wrote::Nothing),
    ] {
        let (proposal, decided) =
            (id("gauss/peu01"), decided_pull(leaves(), ProposalCommand::None, &["gauss/peu01"]));
        let mut outcome = Outcome::default();
        let came = case.heard(requests, |planned| {
            let turn = turn_of(planned, (&proposal, &decided), None, &Outcome::default(), now());
            came_of(planned, &turn, result, &mut outcome, now())
        });
        let came_state = format!("{}: {}", came.state.state.as_str(), came.state.why);
        assert!(came_state.starts_with(state), "{came_state}");
        assert_eq!((effects_in_words(&came.effects), outcome.wrote), (words_of(effects), wrote));
    }
}

fn words_of(effects: &[&str]) -> Vec<String> {
    effects.iter().map(|effect| (*effect).to_owned()).collect()
}
