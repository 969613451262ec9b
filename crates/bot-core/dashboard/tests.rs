//! What the dashboard tells and notes: a row is what became of a proposal.

use capstan_facts::{Issue, IssueState, TextEdit};
use capstan_plan::command::{Hearing, Right};
use capstan_plan::proposal::{Decisions, OnHold};
use capstan_plan::verbs::Verb;
use capstan_report::{
    Answer, Choice, ClosedDashboard, DashboardReading, DashboardRecord, Notice, ProposalState,
};
use jiff::SignedDuration;

use super::keep::*;
use super::*;
use crate::proposals::{Outcome, ProposalOutcome};
use crate::testing::{Case, block, comment, id, key, now, tick};

pub(super) fn issue(state: IssueState, body: &str) -> Issue {
    Issue {
        number: 5,
        state,
        title: "Fleet".to_owned(),
        body: body.to_owned(),
        author: "capstan[bot]".to_owned(),
        node_id: String::new(),
    }
}

pub(super) fn board(record: DashboardRecord) -> Board {
    Board::new(DashboardState::Kept, record, None)
}

#[test]
fn why_nothing_can_be_noted() {
    for (standing, expected) in [
        (DashboardState::Kept, None),
        (DashboardState::Unread, None),
        (DashboardState::Off, Some("the settings disable the dashboard issue (`dashboard.enabled`)")),
        (
            DashboardState::Refused("issues are off".to_owned()),
            Some("GitHub refuses the dashboard issue: issues are off"),
        ),
    ] {
        let board = Board::new(standing, DashboardRecord::default(), None);
        assert_eq!(board.why_not().as_deref(), expected);
    }
}

#[test]
fn of_two_records_the_later_counts() {
    let record = |edition| Some(DashboardRecord { edition, ..DashboardRecord::default() });
    for (found, remembered, expected) in [
        (record(3), record(2), 3),
        (record(2), record(3), 3),
        (record(2), record(2), 2),
        (record(2), None, 2),
        (None, record(3), 3),
        (None, None, 0),
    ] {
        assert_eq!(newer_record(found, remembered).edition, expected);
    }
}

#[test]
fn a_body_is_read_with_capstans_key() {
    let facts = Case::new().facts();
    let record = DashboardRecord { edition: 4, ..DashboardRecord::default() }.with_text("Text.\n");
    let body = record.body("Text.\n", &key(), 7);
    assert_eq!(record_of(&facts, &body).map(|record| record.edition), Some(4));
    assert_eq!(record_of(&facts, &body.replace("edition", "Edition")), None);
    assert_eq!(reading_of(&facts, &body, &record), DashboardReading::AsWritten);
    assert_eq!(reading_of(&facts, &body.replace("Text", "Other"), &record), DashboardReading::Edited);
}

fn edit(by: &str) -> TextEdit {
    TextEdit { by: (!by.is_empty()).then(|| by.to_owned()), by_bot: by.ends_with("[bot]"), at: now() }
}

fn choice() -> Choice {
    Choice { verb: Verb::Hold, given: String::new(), proposal: Some(id("gauss/peu01")) }
}

#[test]
fn ticks_of_one_person_are_obeyed_and_every_other_edit_gets_a_notice() {
    let ticked = DashboardReading::Ticked(vec![choice()]);
    let own = "capstan[bot]";
    let one = [edit("ada"), edit(own)];
    let two = [edit("ada"), edit("eve"), edit(own)];
    let said = |edited: DashboardEdit<'_>| match edited {
        DashboardEdit::Ticks(ticked) => format!("{} of {}", ticked.choices.len(), ticked.by),
        DashboardEdit::Said(said) => said,
        DashboardEdit::Nothing => String::new(),
    };
    for (reading, edits, expected) in [
        (&DashboardReading::AsWritten, &one[..], ""),
        (&ticked, &one[..], "1 of ada"),
        (
            &ticked,
            &two[..],
            "No checkbox was processed: several people edited this page at once (`ada`, `eve`). Tick again.",
        ),
        (&ticked, &[][..], "No checkbox was processed: GitHub does not say who ticked it. Tick again."),
        (
            &DashboardReading::Edited,
            &one[..],
            "`ada` edited this page: the edit was reverted; no checkbox was processed.",
        ),
        (
            &DashboardReading::Edited,
            &two[..],
            "This page was edited: the edit was reverted; no checkbox was processed.",
        ),
    ] {
        assert_eq!(said(edited(reading, edits, own)), expected);
    }
    let many = DashboardReading::Ticked(vec![choice(); 150]);
    assert_eq!(said(edited(&many, &one, own)), "100 of ada");
}

#[test]
fn a_tick_is_a_request_of_who_may() {
    let case = Case::new().offered("gauss/peu01").proposed(3, "gauss/peu01", 'a');
    let facts = case.facts();
    for (right, hearing) in [
        (Right::None, Hearing::Refused),
        (Right::Read, Hearing::Refused),
        (Right::Write, Hearing::Obeyed),
        (Right::Admin, Hearing::Obeyed),
    ] {
        let ticked = TickedBoxes { by: "ada", at: now(), choices: vec![choice(), choice()] };
        let requests = tick_requests(&facts, 5, 2, ticked, right, &case.settings);
        assert_eq!(requests.len(), 2);
        assert_eq!((requests[0].hearing, requests[0].number), (hearing, 5), "{right:?}");
        assert_eq!(requests[0].pull.as_ref().map(|pull| pull.number), Some(3));
        assert_eq!(requests[1].id().to_string(), "tick 3");
    }
}

#[test]
fn a_person_whose_edit_was_overwritten_gets_a_notice() {
    for (by, expected) in [(Some("ada"), "`ada`"), (None, "Somebody")] {
        let (name, text) = said_to_lost(by);
        assert_eq!(name, expected);
        assert!(text.starts_with(&format!("{expected} edited this page while Capstan wrote it")));
    }
}

#[test]
fn the_body_waits_for_ticks_that_cannot_be_answered_yet() {
    let mut waiting = board(DashboardRecord::default());
    waiting.ticks = 1;
    let one = tick(0, "ada", &id("gauss/peu01"), None, "/capstan replan");
    let writes = crate::requests::Request { rewritten: vec![id("gauss/peu01")], ..one.clone() };
    let mut overtaken = Outcome::default();
    overtaken.overtaken.insert(id("gauss/peu01"));
    for (ticks, outcome, expected) in [
        (vec![], Outcome::default(), false),
        (vec![&one], Outcome::default(), true),
        (vec![&writes], Outcome::default(), true),
        (vec![&writes], overtaken, false),
    ] {
        assert_eq!(is_answered_now(&waiting, &ticks, &outcome), expected);
    }
}

#[test]
fn closing_the_issue_declines_it_until_the_settings_ask() {
    let with = |state: Option<IssueState>, closed, asked_for| Board {
        issue: state.map(|state| issue(state, "")),
        ..board(DashboardRecord { closed, asked_for, ..DashboardRecord::default() })
    };
    let (open, closed) = (Some(IssueState::Open), Some(IssueState::Closed));
    for (board, asked_for, expected) in [
        (with(None, None, false), false, false),
        (with(open, None, false), false, false),
        (with(closed, None, false), false, true),
        (with(closed, None, false), true, false),
        (with(closed, None, true), true, true),
        (with(closed, Some(ClosedDashboard::Settings), false), false, false),
    ] {
        assert_eq!(is_declined(&board, asked_for), expected);
    }
}

pub(super) fn held() -> Decisions {
    Decisions {
        hold: Some(OnHold { by: "ada".to_owned(), reason: None, until: None }),
        ..Decisions::default()
    }
}

#[test]
fn what_no_pull_request_notes_is_noted_here() {
    let noted = |case: &Case, outcome: &Outcome| {
        case.look(|planned| {
            let all = decisions_without_pull_request(planned, outcome);
            all.iter().map(|(proposal, _)| proposal.to_string()).collect::<Vec<_>>().join(" ")
        })
    };
    let record = |targets: &[&str]| DashboardRecord {
        decisions: targets.iter().map(|target| (id(target), held())).collect(),
        ..DashboardRecord::default()
    };
    let town = || Case {
        record: record(&["gauss/peu01", "kiel/peu01"]),
        ..Case::new().offered("gauss/peu01").offered("kiel/peu01")
    };
    let mut opened = Outcome::default();
    opened.carried.insert(id("kiel/peu01"), vec![id("kiel/peu01")]);
    let open =
        capstan_report::Block { decisions: held(), ..block(3, &id("gauss/peu01"), crate::testing::V22) };
    let gone = Case { record: record(&["gone/peu01"]), ..Case::new() };
    for (case, outcome, expected) in [
        (town(), Outcome::default(), "gauss/peu01 kiel/peu01"),
        (town(), opened, "gauss/peu01"),
        (town().proposed_with(3, "gauss/peu01", 'a', open), Outcome::default(), "kiel/peu01"),
        (gone, Outcome::default(), ""),
    ] {
        assert_eq!(noted(&case, &outcome), expected);
    }
}

#[test]
fn the_newest_notices_are_shown_for_a_day() {
    let notice = |hours: i64| Notice {
        at: now() - SignedDuration::from_hours(hours),
        text: format!("{hours} hours ago"),
    };
    let old = board(DashboardRecord { notices: vec![notice(25), notice(23)], ..DashboardRecord::default() });
    let request = tick(0, "ada", &id("gauss/peu01"), None, "/capstan hold");
    let answered = [(&request, vec![Answer::info("On hold.\n")])];
    let texts: Vec<String> = notices(&old, &answered, now()).into_iter().map(|notice| notice.text).collect();
    assert_eq!(texts, ["23 hours ago", "`ada` ticked `hold`: On hold."]);
    let many = board(DashboardRecord {
        notices: (0..30).map(|_| notice(1)).collect(),
        ..DashboardRecord::default()
    });
    assert_eq!(notices(&many, &[], now()).len(), MOST_NOTICES);
}

#[test]
fn each_target_is_shown_with_its_pull_request() {
    let case = Case::new().offered("gauss/peu01").offered("kiel/peu01").proposed(3, "gauss/peu01", 'a');
    let mut outcome = Outcome::default();
    outcome.note(&[id("gauss/peu01")], &ProposalOutcome::new(ProposalState::Held, "On hold."));
    let with_pull =
        ProposalOutcome { pull: Some(8), ..ProposalOutcome::new(ProposalState::Proposed, "#8 offers it.") };
    outcome.note(&[id("kiel/peu01")], &with_pull);
    let entries = case.look(|planned| entries(planned, &outcome));
    let told: Vec<(String, Option<u64>, Option<&str>)> = entries
        .iter()
        .map(|entry| (entry.proposal.to_string(), entry.pull, entry.offered.as_deref()))
        .collect();
    assert_eq!(
        told,
        [
            ("gauss/peu01".to_owned(), Some(3), Some("aws/v22.0.0")),
            ("kiel/peu01".to_owned(), Some(8), Some("aws/v22.0.0")),
        ]
    );
    // If another pull request carries its changes now, the old one is not shown.
    outcome.superseded.insert(id("gauss/peu01"));
    let entries = case.look(|planned| keep::entries(planned, &outcome));
    assert_eq!(entries[0].pull, None);
}

#[test]
fn what_is_noted_is_what_people_decided_and_campaigns_found() {
    let case = Case::new().offered("gauss/peu01");
    let declined = Board {
        issue: Some(issue(IssueState::Closed, "")),
        ..board(DashboardRecord { title: "As it was".to_owned(), ..DashboardRecord::default() })
    };
    let requests =
        [comment(1, "ada", None, "/capstan pause"), comment(2, "ada", None, "/capstan hold for gauss/peu01")];
    case.heard(&requests, |planned| {
        let outcome = Outcome::default();
        let noted = record(planned, &outcome, &board(DashboardRecord::default()), &[], now());
        assert_eq!(noted.pause.map(|pause| pause.by).as_deref(), Some("ada"));
        assert_eq!(noted.decisions, [(id("gauss/peu01"), held())]);
        assert_eq!(noted.title, planned.settings.dashboard.title);
        // What people see of it stays as it was when they closed it.
        let noted = record(planned, &outcome, &declined, &[], now());
        assert_eq!((noted.title.as_str(), noted.decisions.len()), ("As it was", 1));
    });
}

#[test]
fn bodies_are_the_same_where_line_ends_and_blanks_alone_differ() {
    for (one, other, expected) in
        [("a\nb\n", "a\r\nb", true), ("a\n\n", "a", true), ("a\nb", "a\n\nb", false), ("", "a", false)]
    {
        assert_eq!(is_same(one, other), expected, "{one:?} {other:?}");
    }
}

#[test]
fn a_text_that_is_written_over_is_remembered_with_its_ticks() {
    let with = |reading, issue| Board {
        reading,
        issue,
        ..board(DashboardRecord { edition: 3, ..DashboardRecord::default() })
    };
    let open = || Some(issue(IssueState::Open, ""));
    assert!(earlier_texts(&with(DashboardReading::AsWritten, None)).is_empty());
    let remembered = earlier_texts(&with(DashboardReading::Ticked(vec![choice()]), open()));
    assert!(remembered.last().unwrap().has_heard(&choice()));
    let remembered = earlier_texts(&with(DashboardReading::AsWritten, open()));
    assert!(!remembered.last().unwrap().has_heard(&choice()));
    // A notice said that no checkbox of this edit was processed, so none of its ticks is late.
    let remembered = earlier_texts(&with(DashboardReading::Edited, open()));
    assert!(remembered.last().unwrap().has_heard(&choice()));
}
