//! What becomes of the dashboard issue: one rule a test.

use capstan_facts::{Issue, IssueState};
use capstan_report::{Answer, ClosedDashboard, DashboardReading, DashboardRecord, Notice, ProposalState};

use super::step::*;
use super::tests::{board, issue};
use super::*;
use crate::proposals::{DecisionStep, Outcome, ProposalOutcome};
use crate::requests::DashboardWrite;
use crate::requests::Request;
use crate::testing::{Case, comment, id, key, now, tick};

/// A board whose issue says what is noted in it.
fn written(state: IssueState, record: DashboardRecord) -> Board {
    let record = DashboardRecord { title: "Fleet".to_owned(), ..record }.with_text("Text.\n");
    let body = record.body("Text.\n", &key(), 7);
    Board { issue: Some(issue(state, &body)), ..board(record) }
}

fn open() -> Board {
    written(IssueState::Open, DashboardRecord { edition: 4, ..DashboardRecord::default() })
}

/// Something that is worth an issue: a cluster is held.
fn held() -> Outcome {
    let mut outcome = Outcome::default();
    outcome.note(&[id("gauss/peu01")], &ProposalOutcome::new(ProposalState::Held, "On hold."));
    outcome
}

fn case() -> Case {
    Case::new().offered("gauss/peu01").settings(|settings| settings.dashboard.title = "Fleet".to_owned())
}

/// What is done once every question is answered with `On hold.`, and how many requests were asked about.
fn drive(case: &Case, board: &Board, outcome: &Outcome, requests: &[Request]) -> (DashboardStep, usize) {
    case.look(|planned| {
        let keeping = Keeping { planned, outcome, board, requests, now: now() };
        match keep(keeping, None) {
            DecisionStep::Decided(step) => (step, 0),
            DecisionStep::Ask(asked) => {
                let count = asked.len();
                let told = |request| (request, vec![Answer::info("On hold.\n")]);
                let answered: AnsweredRequests<'_> = asked.into_iter().map(told).collect();
                match keep(keeping, Some(&answered)) {
                    DecisionStep::Decided(step) => (step, count),
                    DecisionStep::Ask(_) => panic!("it asks the same again"),
                }
            }
        }
    })
}

fn wanted(step: DashboardStep) -> DesiredIssue {
    match step {
        DashboardStep::Writes(desired) => *desired,
        step => panic!("{step:?}"),
    }
}

#[test]
fn nothing_is_asked_where_nothing_can_be_written() {
    let standing = |standing| Board { standing, ..open() };
    let refused = DashboardWrite::Not("GitHub refuses the dashboard issue: issues are off".to_owned());
    let waits = Board { ticks: 1, ..open() };
    for (board, expected) in [
        (standing(DashboardState::Off), DashboardStep::Closes),
        (standing(DashboardState::Unread), DashboardStep::Ends(DashboardWrite::Later)),
        (standing(DashboardState::Refused("issues are off".to_owned())), DashboardStep::Ends(refused)),
        // A tick was read that is not a request yet.
        (waits, DashboardStep::Ends(DashboardWrite::Later)),
    ] {
        assert_eq!(drive(&case(), &board, &held(), &[]), (expected, 0));
    }
}

#[test]
fn ticks_are_answered_in_the_issue_and_comments_are_not() {
    let proposal = id("gauss/peu01");
    let requests = [
        tick(0, "ada", &proposal, None, "/capstan hold"),
        comment(1, "eve", None, "/capstan hold for gauss/peu01"),
    ];
    let (step, asked) = drive(&case(), &Board { ticks: 1, ..open() }, &held(), &requests);
    assert_eq!(asked, 1);
    let notices = wanted(step).record.notices;
    assert_eq!(notices, [Notice { at: now(), text: "`ada` ticked `hold`: On hold.".to_owned() }]);
}

#[test]
fn an_issue_is_opened_where_there_is_something_to_tell() {
    let none = || board(DashboardRecord::default());
    let (step, _) = drive(&Case::new(), &none(), &Outcome::default(), &[]);
    assert_eq!(step, DashboardStep::Ends(DashboardWrite::Done));
    let desired = wanted(drive(&case(), &none(), &held(), &[]).0);
    assert_eq!((desired.as_read, desired.title.as_deref(), desired.state), (None, Some("Fleet"), None));
    assert_eq!(desired.record.edition, 1);
    assert!(desired.body.contains("On hold."), "{}", desired.body);
}

#[test]
fn what_says_what_is_wanted_is_left_as_it_is() {
    let first = wanted(drive(&case(), &open(), &held(), &[]).0);
    assert_eq!((first.title.as_deref(), first.state, first.record.edition), (None, None, 5));
    let says = Board { issue: Some(issue(IssueState::Open, &first.body)), ..board(first.record) };
    assert_eq!(drive(&case(), &says, &held(), &[]).0, DashboardStep::Ends(DashboardWrite::Done));
    // An edit is put right.
    let edited = Board { reading: DashboardReading::Edited, ..says };
    assert_eq!(wanted(drive(&case(), &edited, &held(), &[]).0).record.edition, 6);
}

#[test]
fn the_title_follows_the_settings() {
    let case = case().settings(|settings| settings.dashboard.title = "Clusters".to_owned());
    assert_eq!(wanted(drive(&case, &open(), &held(), &[]).0).title.as_deref(), Some("Clusters"));
}

#[test]
fn an_issue_that_a_person_closed_gets_its_record_alone() {
    let declined = written(IssueState::Closed, DashboardRecord { edition: 4, ..DashboardRecord::default() });
    assert_eq!(drive(&case(), &declined, &held(), &[]).0, DashboardStep::Ends(DashboardWrite::Done));
    let paused = [comment(1, "ada", None, "/capstan pause")];
    let desired = case().heard(&paused, |planned| {
        let (outcome, answered) = (held(), Vec::new());
        let keeping = Keeping { planned, outcome: &outcome, board: &declined, requests: &[], now: now() };
        match keep(keeping, Some(&answered)) {
            DecisionStep::Decided(step) => wanted(step),
            DecisionStep::Ask(_) => panic!("nobody ticked anything"),
        }
    });
    assert_eq!(desired.state, None);
    assert!(desired.body.starts_with("Text.\n"), "{}", desired.body);
    assert_eq!(desired.record.pause.as_ref().map(|pause| pause.by.as_str()), Some("ada"));
    assert!(!desired.is_shown());
}

#[test]
fn one_that_the_settings_closed_is_opened_again() {
    let closed = Some(ClosedDashboard::Settings);
    let board = written(IssueState::Closed, DashboardRecord { closed, ..DashboardRecord::default() });
    let desired = wanted(drive(&case(), &board, &held(), &[]).0);
    assert_eq!((desired.state, desired.record.closed), (Some(IssueState::Open), None));
    assert!(desired.is_shown());
}

#[test]
fn the_issue_is_written_only_while_it_is_as_it_was_read() {
    let desired = wanted(drive(&case(), &open(), &held(), &[]).0);
    let read = desired.as_read.clone().unwrap();
    let with_crlf = Issue { body: read.body.replace('\n', "\r\n"), ..read.clone() };
    for (now, expected) in [
        (Some(read.clone()), true),
        (Some(with_crlf), true),
        (Some(Issue { body: "Something else.".to_owned(), ..read.clone() }), false),
        (Some(Issue { state: IssueState::Closed, ..read }), false),
        (None, false),
    ] {
        assert_eq!(desired.is_as_read(now.as_ref()), expected, "{now:?}");
    }
}

#[test]
fn an_overwritten_tick_is_reported_unless_somebody_edited_meanwhile() {
    let first = wanted(drive(&case(), &open(), &held(), &[]).0);
    let notice = || Notice { at: now(), text: "`ada` edited this page while Capstan wrote it.".to_owned() };
    let as_written = issue(IssueState::Open, &first.body);
    let edited = issue(IssueState::Open, &first.body.replace("On hold.", "On hold!"));
    for (now_there, expected) in [(Some(as_written), Some(1)), (Some(edited), None), (None, None)] {
        let told = case().look(|planned| {
            let (outcome, board) = (held(), open());
            let keeping = Keeping { planned, outcome: &outcome, board: &board, requests: &[], now: now() };
            with_notice(keeping, first.record.clone(), now_there, notice())
        });
        assert_eq!(told.map(|desired| desired.record.notices.len()), expected);
    }
}

#[test]
fn an_open_issue_says_that_nothing_can_be_planned_unless_somebody_ticked() {
    let facts = Case::new().facts();
    let record = DashboardRecord { edition: 4, ..DashboardRecord::default() }.with_text("Text.\n");
    let body = record.body("Text.\n", &key(), 7);
    for (body, expected) in [
        (body.clone(), true),
        (body.replace("Text.", "Other."), false),
        ("No record of Capstan's.".to_owned(), false),
    ] {
        let desired = in_trouble(&facts, issue(IssueState::Open, &body), "capstan.yaml: unknown field `mod`");
        assert_eq!(desired.is_some_and(|desired| desired.body.contains("unknown field")), expected);
    }
}

#[test]
fn a_closed_issue_keeps_what_was_decided() {
    let facts = Case::new().facts();
    let note = Notice { at: now(), text: "`ada` ticked `hold`: On hold.".to_owned() };
    let decisions = vec![(id("gauss/peu01"), tests::held())];
    let record = DashboardRecord { decisions, notices: vec![note], ..DashboardRecord::default() };
    let body = record.clone().with_text("Text.\n").body("Text.\n", &key(), 7);
    let desired = disabled(&facts, issue(IssueState::Open, &body)).unwrap();
    assert_eq!(
        (desired.state, desired.record.closed),
        (Some(IssueState::Closed), Some(ClosedDashboard::Settings))
    );
    assert_eq!((desired.record.decisions.len(), desired.record.notices.len()), (1, 0));
    assert!(disabled(&facts, issue(IssueState::Open, "No record of Capstan's.")).is_none());
    let body = duplicate(&facts, record, 9);
    assert!(body.contains("issue 9, which is kept"), "{body}");
    assert_eq!(record_of(&facts, &body).and_then(|record| record.closed), Some(ClosedDashboard::Duplicate));
}
