use capstan_campaign::facts::{Memory, Note};
use capstan_model::source::SourceKind;
use capstan_model::target::Target;
use capstan_plan::proposal::{Decisions, OnHold, Paused, ProposalId};
use capstan_plan::verbs::Verb;
use jiff::Timestamp;

use super::*;
use crate::block::BlockKey;
use crate::state::ProposalState::{
    self, Approved, Blocked, Current, Declined, Edited, Gone, Held, Pinned, Proposed, Refused, Reverted,
    Unplannable, Waiting,
};

fn id(target: &str) -> ProposalId {
    ProposalId::of_release(Target::parse(target).unwrap())
}

fn entry(target: &str, state: ProposalState, why: &str) -> ProposalEntry {
    ProposalEntry {
        proposal: id(target),
        state,
        why: why.to_owned(),
        pull: None,
        at: Some("aws/v21.0.0".to_owned()),
        offered: Some("aws/v22.0.0".to_owned()),
        conflicts: Vec::new(),
        hold: None,
    }
}

fn text(entries: &[ProposalEntry], record: &DashboardRecord) -> String {
    dashboard_text(&Dashboard { prefix: "/capstan", entries, campaigns: &[], record, trouble: None })
}

fn on_hold() -> OnHold {
    OnHold { by: "ada".to_owned(), reason: None, until: None }
}

/// The heading of each state, and the command of its box.
#[test]
fn each_state_is_below_its_heading_with_its_box() {
    let choice = |verb: &str| format!("- [ ] <!-- capstan {{\"do\":\"{verb}\",\"of\":\"gauss/peu01\"}} --> ");
    for (state, heading, line) in [
        (Blocked, "Needs somebody (1)", "- `gauss/peu01` to `aws/v22.0.0`, blocked: Why `a_b`.".to_owned()),
        (
            Unplannable,
            "Needs somebody (1)",
            "- `gauss/peu01` to `aws/v22.0.0`, unplannable: Why `a_b`.".to_owned(),
        ),
        (
            Refused,
            "Needs somebody (1)",
            choice("retry") + "`gauss/peu01` to `aws/v22.0.0`, refused: Why `a_b`.",
        ),
        (
            Edited,
            "Needs somebody (1)",
            choice("replan") + "`gauss/peu01` to `aws/v22.0.0`, edited: Why `a_b`.",
        ),
        (Proposed, "Open (1)", choice("replan") + "`gauss/peu01` to `aws/v22.0.0`"),
        (Approved, "Open (1)", choice("replan") + "`gauss/peu01` to `aws/v22.0.0`, approved: Why `a_b`."),
        (Waiting, "Waiting (1)", choice("upgrade") + "`gauss/peu01` to `aws/v22.0.0`, waiting: Why `a_b`."),
        (
            ProposalState::Paused,
            "Paused (1)",
            "- `gauss/peu01` to `aws/v22.0.0`, paused: Why `a_b`.".to_owned(),
        ),
        (Held, "On hold (1)", "- `gauss/peu01` to `aws/v22.0.0`, held: Why `a_b`.".to_owned()),
        (Declined, "Skipped (1)", choice("unskip") + "`gauss/peu01` to `aws/v22.0.0`, declined: Why `a_b`."),
        (Reverted, "Skipped (1)", choice("replan") + "`gauss/peu01` to `aws/v22.0.0`, reverted: Why `a_b`."),
    ] {
        let found = text(&[entry("gauss/peu01", state, "Why `a_b`.")], &DashboardRecord::default());
        assert!(found.contains(&format!("\n### {heading}\n")), "{state:?}: {found}");
        assert!(found.contains(&format!("\n{line}\n")), "{state:?}: {found}");
    }
    let mut held = entry("gauss/peu01", Held, "On hold by `ada`.");
    held.hold = Some(on_hold());
    assert!(text(&[held], &DashboardRecord::default()).contains(&(choice("unhold") + "`gauss/peu01`")));
    let mut open = entry("gauss/peu01", Proposed, "");
    open.pull = Some(12);
    assert!(text(&[open], &DashboardRecord::default()).contains("`aws/v22.0.0` [#12](../pull/12)\n"));
}

#[test]
fn every_state_has_its_place() {
    for state in ProposalState::ALL {
        let found = text(&[entry("gauss/peu01", state, "Why.")], &DashboardRecord::default());
        let rests = [Current, Pinned, Gone].contains(&state);
        assert_eq!(found.contains("`gauss/peu01`"), !rests, "{state:?}: {found}");
        assert_eq!(found.contains("\n1 cluster is "), rests, "{state:?}: {found}");
    }
}

#[test]
fn how_far_a_source_has_come_is_counted() {
    let mut entries: Vec<ProposalEntry> = [Proposed, Approved, Waiting, Held, Blocked, Refused, Declined]
        .into_iter()
        .enumerate()
        .map(|(at, state)| entry(&format!("g/{at}"), state, "Why."))
        .collect();
    let done =
        ProposalEntry { at: Some("aws/v22.0.0".to_owned()), offered: None, ..entry("g/done", Current, "") };
    let old = ProposalEntry { offered: None, ..entry("g/old", Pinned, "") };
    entries.extend([done.clone(), ProposalEntry { proposal: id("g/done2"), ..done }, old]);
    let found = text(&entries, &DashboardRecord::default());
    assert!(found.contains("| offered | done | open | waiting | needs somebody |\n"), "{found}");
    assert!(found.contains("| `aws/v22.0.0` | 2 | 2 | 3 | 2 |\n"), "{found}");
    assert!(
        found.contains("\n2 clusters are up to date, 1 cluster is held back by their track.\n"),
        "{found}"
    );
}

#[test]
fn conflicts_that_block_have_boxes_and_the_pause_has_one() {
    let conflict =
        |path: &str| BlockingConflict { object: "MachinePool/peu01-mp-0".to_owned(), path: path.to_owned() };
    let mut blocked = entry("gauss/peu01", Blocked, "Conflicts.");
    blocked.conflicts =
        ["/spec/a", "/spec/b", "/spec/c", "/spec/d", "/spec/e", "/spec/f", "/spec/g"].map(conflict).to_vec();
    let found = text(&[blocked], &DashboardRecord::default());
    let dash = "\\u002d";
    let line = format!(
        "\n  - [ ] <!-- capstan {{\"do\":\"take\",\"with\":\"MachinePool/peu01{dash}mp{dash}0 /spec/a\",\"of\":\"gauss/peu01\"}} --> `take` `MachinePool/peu01-mp-0 /spec/a`: the release's value is taken\n"
    );
    assert!(found.contains(&line), "{found}");
    assert!(found.contains("\n  - and 2 more conflicts\n"), "{found}");
    assert!(found.contains("\n- [ ] <!-- capstan {\"do\":\"pause\"} --> `pause`: "), "{found}");

    let pause = Paused {
        by: "ada".to_owned(),
        reason: Some("the <b>freeze</b> @all".to_owned()),
        since: jiff::civil::date(2026, 11, 23),
    };
    let record = DashboardRecord { pause: Some(pause), ..DashboardRecord::default() };
    let found = text(&[], &record);
    let says = "\n> **Paused by `ada` since 2026-11-23: the &lt;b&gt;freeze&lt;/b&gt; @\u{200b}all.** Capstan opens, writes and merges nothing.\n";
    assert!(found.contains(says), "{found}");
    assert!(found.contains("\n- [ ] <!-- capstan {\"do\":\"resume\"} --> `resume`: "), "{found}");
}

/// Help, tables of rights and boxes come from one declaration: each box is one of its commands, as a person
/// would write it.
#[test]
fn every_box_is_a_command_of_the_one_declaration_and_shows_its_word() {
    let mut blocked = entry("gauss/peu01", Blocked, "Conflicts.");
    let (object, path) = ("MachinePool/peu01-mp-0".to_owned(), "/spec/replicas".to_owned());
    blocked.conflicts = vec![BlockingConflict { object, path }];
    let mut held = entry("gauss/peu02", Held, "On hold by `ada`.");
    held.hold = Some(on_hold());
    let states = ProposalState::ALL.into_iter().enumerate();
    let mut entries: Vec<ProposalEntry> =
        states.map(|(at, state)| entry(&format!("g/{at}"), state, "Why.")).collect();
    entries.extend([blocked, held]);
    let pause = Paused { by: "ada".to_owned(), reason: None, since: jiff::civil::date(2026, 11, 23) };
    let paused = DashboardRecord { pause: Some(pause), ..DashboardRecord::default() };
    let mut offered = std::collections::BTreeSet::new();
    for record in [DashboardRecord::default(), paused] {
        let told = text(&entries, &record);
        let boxes = told.lines().filter(|line| line.trim_start().starts_with("- [ ] "));
        for line in boxes {
            let ticked = line.replacen("- [ ] ", "- [x] ", 1);
            let (choices, _) = boxes::take_ticks(&ticked);
            let [choice] = choices.as_slice() else { panic!("no box: {line}") };
            let command = choice.command().unwrap_or_else(|| panic!("no command: {line}"));
            assert_eq!(command.verb(), choice.verb, "{line}");
            assert!(Verb::ALL.contains(&choice.verb) && choice.verb.with(&choice.given).is_ok(), "{line}");
            offered.insert(choice.verb.word());
        }
    }
    let expected = ["keep", "pause", "replan", "resume", "retry", "take", "unhold", "unskip", "upgrade"];
    assert_eq!(offered.into_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn an_issue_is_opened_only_if_it_has_something_to_report() {
    let worth = |entries: &[ProposalEntry], record: &DashboardRecord| {
        is_worth_telling(&Dashboard { prefix: "/capstan", entries, campaigns: &[], record, trouble: None })
    };
    let none = DashboardRecord::default();
    assert!(!worth(&[], &none));
    assert!(!worth(&[entry("a/b", Current, ""), entry("a/c", Pinned, "")], &none));
    assert!(worth(&[entry("a/b", Current, ""), entry("a/c", Waiting, "")], &none));
    let decisions = vec![(id("a/b"), Decisions { hold: Some(on_hold()), ..Decisions::default() })];
    assert!(worth(&[], &DashboardRecord { decisions, ..none }));
}

/// The longest names that GitHub allows, with unusual characters, and more clusters than fit.
#[test]
fn a_body_keeps_githubs_limit_and_counts_what_it_left_out() {
    let states = [Proposed, Waiting, Blocked, Declined, Held];
    let entries: Vec<ProposalEntry> = (0..3_000)
        .map(|at| {
            entry(&format!("g/ö{at}-{}", "x".repeat(100)), states[at % states.len()], &"why & so ".repeat(60))
        })
        .collect();
    let hold = OnHold { reason: Some("\u{1f6a2}".repeat(200)), ..on_hold() };
    let decisions = Decisions { hold: Some(hold), ..Decisions::default() };
    let ticked: Vec<Choice> =
        (0..50).map(|at| Choice::about(Verb::Upgrade, &id(&format!("g/{at}")))).collect();
    let full = |edition| EarlierText::of(edition, &"f".repeat(64), HeardTicks::These(&ticked));
    let record = DashboardRecord {
        decisions: (0..7).map(|at| (id(&format!("g/ö{at}")), decisions.clone())).collect(),
        notices: newest_notices(vec![Notice { at: Timestamp::UNIX_EPOCH, text: "`ö`".repeat(200) }; 20], 10),
        earlier: (0..19).map(full).collect(),
        ..DashboardRecord::default()
    };
    let text = text(&entries, &record);
    let key = BlockKey::derive(b"secret").and(b"own");
    // The overwritten text takes its place once the rest is done.
    let earlier = remembered_texts(record.earlier.clone(), full(u64::MAX));
    assert_eq!(earlier.len(), 20);
    let record = DashboardRecord { earlier, ..record }.with_text(&text);
    let body = record.body(&text, &key, u64::MAX);
    assert!(body.chars().count() <= 65_536, "{}", body.chars().count());
    assert_eq!(read_dashboard(&body, &record, &key, u64::MAX), DashboardReading::AsWritten);
    for heading in ["Needs somebody (600)", "Open (600)", "Waiting (600)", "On hold (600)", "Skipped (600)"] {
        assert!(text.contains(&format!("\n### {heading}\n")), "{heading}");
    }
    assert!(text.matches(" more that do not fit here\n").count() == 5, "{text}");
    assert!(text.ends_with("until `resume`\n"), "{text}");
}

/// How a body that somebody changed is read.
#[test]
fn ticks_count_if_nothing_else_changed() {
    let key = BlockKey::derive(b"secret");
    let entries = [entry("gauss/peu01", Waiting, "It waits."), entry("gauss/peu02", Declined, "No.")];
    let told = text(&entries, &DashboardRecord::default());
    let record = DashboardRecord { edition: 3, ..DashboardRecord::default() }.with_text(&told);
    let body = record.body(&told, &key, 7);
    let first = "- [ ] <!-- capstan {\"do\":\"upgrade\"";
    assert!(body.contains(first));
    let ticked = body.replacen(first, "- [x] <!-- capstan {\"do\":\"upgrade\"", 1);
    let read = |body: &str| read_dashboard(body, &record, &key, 7);
    let upgrade = Choice::about(Verb::Upgrade, &id("gauss/peu01"));
    let unskip = Choice::about(Verb::Unskip, &id("gauss/peu02"));
    let pause = Choice { verb: Verb::Pause, given: String::new(), proposal: None };

    assert_eq!(read(&body), DashboardReading::AsWritten);
    assert_eq!(read(&body.replace('\n', "\r\n")), DashboardReading::AsWritten);
    assert_eq!(read(&ticked), DashboardReading::Ticked(vec![upgrade.clone()]));
    assert_eq!(
        read(&ticked.replace('\n', "\r\n").replace("[x]", "[X]")),
        DashboardReading::Ticked(vec![upgrade.clone()])
    );
    assert_eq!(read(&body.replace("- [ ]", "- [x]")), DashboardReading::Ticked(vec![upgrade, unskip, pause]));
    for edited in [
        // Words that differ from the box's command.
        ticked.replace("gauss/peu02", "gauss/peu09"),
        ticked.replace("\"do\":\"upgrade\"", "\"do\":\"skip\""),
        ticked.replace("### Waiting", "### Nothing"),
        format!("{ticked}\n- [x] <!-- capstan {{\"do\":\"pause\"}} --> more"),
        format!("- [x] <!-- capstan {{\"do\":\"pause\"}} --> more\n{body}"),
        // Without Capstan's record, or with an earlier one.
        dashboard_above(&ticked).to_owned(),
        String::new(),
        DashboardRecord { edition: 2, ..record.clone() }.body(&told, &key, 7),
        record.body(&told, &BlockKey::derive(b"other"), 7),
        record.body(&told, &key, 8),
    ] {
        assert_eq!(read(&edited), DashboardReading::Edited, "{edited}");
    }
}

#[test]
fn of_notices_the_newest_are_kept_as_far_as_there_is_room() {
    let notice = |second: i64, text: &str| Notice {
        at: Timestamp::from_second(second).unwrap(),
        text: text.to_owned(),
    };
    let kept = |notices: Vec<Notice>| {
        newest_notices(notices, 3).into_iter().map(|notice| notice.at.as_second()).collect::<Vec<_>>()
    };
    assert_eq!(kept((1..=5).map(|second| notice(second, "short")).collect()), [3, 4, 5]);
    let long = "ö".repeat(1_500);
    assert_eq!(kept(vec![notice(1, &long), notice(2, "short"), notice(3, &long)]), [2, 3]);
    assert_eq!(kept(vec![notice(1, &long), notice(2, &long)]), [2]);
}

#[test]
fn a_record_is_read_back_and_no_other_repositorys_is() {
    let values = ProposalId { kind: SourceKind::parse("values").unwrap(), ..id("größe/`x` -->") };
    let decisions = Decisions { hold: Some(on_hold()), ..Decisions::default() };
    let record = DashboardRecord {
        campaigns: vec![Note {
            campaign: "fleet".to_owned(),
            release: "aws/v22.0.0".to_owned(),
            commit: "c".repeat(40),
            memory: Memory { resumed_at: Some(Timestamp::UNIX_EPOCH), ..Memory::default() },
        }],
        edition: 9,
        text: "0123".to_owned(),
        title: "Fleet".to_owned(),
        asked_for: true,
        closed: Some(ClosedDashboard::Settings),
        pause: Some(Paused { by: "ada".to_owned(), reason: None, since: jiff::civil::date(2026, 11, 23) }),
        decisions: vec![(id("gauss/peu01"), decisions.clone()), (values.clone(), decisions)],
        notices: vec![Notice { at: "2026-11-23T15:00:00Z".parse().unwrap(), text: "Done.".to_owned() }],
        earlier: vec![EarlierText::of(4, &"f".repeat(64), HeardTicks::Whatever)],
    };
    let key = BlockKey::derive(b"secret");
    let body = record.body("Text.\n", &key, 7);
    assert_eq!(DashboardRecord::read(&body, &key, 7), Some(record.clone()));
    assert_eq!(DashboardRecord::read(&body, &key, 8), None);
    assert_eq!(DashboardRecord::read(&body.replace("Fleet", "Float"), &key, 7), None);
    assert_eq!(DashboardRecord::of_json(&record.to_json(7), 7), Some(record));
    // A box can be read for any name of a folder.
    let told = text(
        &[ProposalEntry { proposal: values.clone(), ..entry("x/y", Waiting, "Why.") }],
        &DashboardRecord::default(),
    );
    let record = DashboardRecord::default().with_text(&told);
    let body = record.body(&told, &key, 7).replacen("- [ ]", "- [x]", 1);
    let expected = DashboardReading::Ticked(vec![Choice::about(Verb::Upgrade, &values)]);
    assert_eq!(read_dashboard(&body, &record, &key, 7), expected, "{body}");
}

#[test]
fn what_the_inventory_brings_is_distinct_from_what_releases_bring() {
    let line = |at: &str, kind: SourceKind| {
        let proposal = ProposalId { kind, ..id("gauss/peu01") };
        let entry = ProposalEntry {
            proposal,
            at: Some(at.to_owned()),
            ..entry("gauss/peu01", ProposalState::Paused, "Why.")
        };
        let text = text(&[entry], &DashboardRecord::default());
        text.lines().find(|line| line.starts_with("- `gauss")).unwrap().to_owned()
    };
    for (at, kind, said) in [
        ("aws/v21.0.0", SourceKind::RELEASE, "- `gauss/peu01` to `aws/v22.0.0`, paused: Why."),
        ("aws/v22.0.0", SourceKind::RELEASE, "- `gauss/peu01` to `aws/v22.0.0` as it is now, paused: Why."),
        ("aws/v22.0.0", SourceKind::INVENTORY, "- `gauss/peu01` (inventory), paused: Why."),
    ] {
        assert_eq!(line(at, kind), said);
    }
}
