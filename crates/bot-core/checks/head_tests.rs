//! The check of a commit: a row is what is known so far, and what is asked or written then.

use capstan_facts::{CheckConclusion, CheckRecord, RefusedWrite};
use capstan_live::agent::preflight::{Preflight, PreflightReply};
use capstan_plan::proposal::Way;
use capstan_report::{CheckReport, Conclusion, MergeBasis, ReportId, untouched};
use jiff::{SignedDuration, Timestamp};

use super::inputs::inputs;
use super::*;
use crate::effects::KeptReport;
use crate::facts::Facts;
use crate::proposals::{DecisionStep, Remarks};
use crate::testing::{Case, commit, now, pull};

fn subject(way: Way) -> CheckSubject {
    subject_of(&pull(3, "topic", 'a'), way, ("main", commit('0')))
}

fn report(conclusion: Conclusion) -> CheckReport {
    let title = format!("{conclusion:?}");
    CheckReport { conclusion, title, summary: "Summary.".to_owned(), ..untouched() }
}

/// What is reported of a subject without remarks whose live clusters say that.
fn inputs_with(live: &str) -> String {
    inputs(&subject(Way::Straight), &Remarks::default(), live)
}

fn recorded(inputs: &str, until: Option<Timestamp>) -> CheckRecord {
    let output = ReportId::read("0123456789abcdef01234567");
    let content = KeptReport { inputs: inputs.to_owned(), until, output }.to_string();
    CheckRecord { content, ..CheckRecord::noted(7, &commit('a'), "capstan") }
}

/// Everything but the reports on the subjects.
fn answers_with_live(live: &str) -> HeadAnswers {
    HeadAnswers {
        live: Some(Some(live.to_owned())),
        preflights: Some(KnownPreflights::Are(Preflights::NONE)),
        live_after: Some(Some(live.to_owned())),
        ..HeadAnswers::default()
    }
}

fn judged(reports: &[CheckReport]) -> HeadAnswers {
    HeadAnswers { judged: reports.iter().cloned().map(Some).collect(), ..answers_with_live("live") }
}

/// A head, with what is decided of it.
struct Head {
    facts: Facts,
    subjects: Vec<CheckSubject>,
    record: Option<CheckRecord>,
    is_asked_again: bool,
}

impl Head {
    fn of(ways: &[Way]) -> Self {
        let subjects = ways.iter().cloned().map(subject).collect();
        Self { facts: Case::new().facts(), subjects, record: None, is_asked_again: false }
    }

    fn step(&self, known: &HeadAnswers) -> DecisionStep<CheckedHead, HeadNeed> {
        let remarks = vec![Remarks::default(); self.subjects.len()];
        let Self { facts, subjects, record, is_asked_again } = self;
        head(
            HeadFacts {
                facts,
                subjects,
                remarks: &remarks,
                record: record.as_ref(),
                is_asked_again: *is_asked_again,
                now: now(),
            },
            known,
        )
    }

    /// `?` before a question; the conclusion that is written, and whether another run follows.
    fn decided(&self, known: &HeadAnswers) -> String {
        match self.step(known) {
            DecisionStep::Ask(need) => format!("? {need:?}"),
            DecisionStep::Decided(CheckedHead { check, look_again, until }) => {
                let written = check.map(|check| check.run().title);
                let parts = [
                    written,
                    until.map(|until| format!("until {until}")),
                    look_again.then(|| "again".to_owned()),
                ];
                parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
            }
        }
    }

    /// What its report was made from.
    fn made_from(&self, known: &HeadAnswers) -> String {
        let DecisionStep::Decided(CheckedHead { check: Some(check), .. }) = self.step(known) else {
            panic!("a report is written");
        };
        check.inputs().unwrap().to_owned()
    }
}

#[test]
fn what_a_check_needs_is_asked_for_one_after_the_other() {
    let head = Head::of(&[Way::Straight]);
    let live = || HeadAnswers { live: Some(Some(String::new())), ..HeadAnswers::default() };
    let with = |preflights| HeadAnswers { preflights: Some(preflights), ..live() };
    for (known, expected) in [
        (HeadAnswers::default(), "? Live"),
        (live(), "? Preflights"),
        // The live clusters' part may change by itself: what was reported does not count.
        (HeadAnswers { live: Some(None), ..HeadAnswers::default() }, "? Preflights"),
        (with(KnownPreflights::NotYet), "again"),
        (with(KnownPreflights::Are(Preflights::NONE)), "? LiveAfter"),
        (answers_with_live("live"), "? Judged(0)"),
        // GitHub computes the test merge.
        (HeadAnswers { judged: vec![None], ..answers_with_live("live") }, "again"),
        (judged(&[report(Conclusion::Success)]), "Success"),
    ] {
        assert_eq!(head.decided(&known), expected);
    }
}

/// A row is what was reported, and what is done where the live clusters say `live`.
#[test]
fn what_was_reported_counts_while_nothing_that_it_was_made_from_changes() {
    let later = now() + SignedDuration::from_mins(5);
    let same = inputs_with("live");
    for (record, is_asked_again, expected) in [
        (None, false, "? Preflights".to_owned()),
        (Some(recorded(&same, None)), false, String::new()),
        (Some(recorded(&inputs_with("other"), None)), false, "? Preflights".to_owned()),
        // Somebody wants it again.
        (Some(recorded(&same, None)), true, "? Preflights".to_owned()),
        // What took too long for it may be begun again later, or now.
        (Some(recorded(&same, Some(later))), false, format!("until {later}")),
        (Some(recorded(&same, Some(now()))), false, "? Preflights".to_owned()),
    ] {
        let head = Head { record, is_asked_again, ..Head::of(&[Way::Straight]) };
        let known = HeadAnswers { live: Some(Some("live".to_owned())), ..HeadAnswers::default() };
        assert_eq!(head.decided(&known), expected);
    }
}

#[test]
fn a_report_that_github_refuses_is_not_made_again() {
    let refused = |content: String| RefusedWrite {
        repository: 7,
        what: format!("check {}", "a".repeat(40)),
        content,
        refusals: 1,
        not_before: now() + SignedDuration::from_mins(5),
        reason: "no".to_owned(),
    };
    for (content, expected) in [(inputs_with("live"), ""), (inputs_with("other"), "? Preflights")] {
        let facts = Case { refused: vec![refused(content)], ..Case::new() }.facts();
        let head = Head { facts, ..Head::of(&[Way::Straight]) };
        let known = HeadAnswers { live: Some(Some("live".to_owned())), ..HeadAnswers::default() };
        assert_eq!(head.decided(&known), expected);
    }
}

#[test]
fn while_a_live_cluster_is_asked_the_check_is_reported_once_and_repeated() {
    let asked = Preflight {
        management_cluster: "prod".to_owned(),
        clusters: Vec::new(),
        standing: PreflightReply::Asked,
    };
    let asked = || Preflights { all: vec![asked.clone()], is_settled: true };
    let known = |reports: &[CheckReport]| HeadAnswers {
        live: Some(None),
        preflights: Some(KnownPreflights::Are(asked())),
        live_after: None,
        ..judged(reports)
    };
    let head = Head::of(&[Way::Straight]);
    assert_eq!(head.decided(&known(&[])), "? Judged(0)");
    let pending = known(&[report(Conclusion::Pending)]);
    assert_eq!(head.decided(&pending), "Pending, again");
    let record = Some(recorded(&head.made_from(&pending), None));
    assert_eq!(Head { record, ..head }.decided(&known(&[])), "again");
}

#[test]
fn an_answer_that_came_meanwhile_is_in_the_next_report() {
    let head = Head::of(&[Way::Straight]);
    let settled = judged(&[report(Conclusion::Success)]);
    let moved = HeadAnswers { live_after: Some(None), ..settled.clone() };
    assert_eq!(head.made_from(&settled), inputs_with("live"));
    assert_ne!(head.made_from(&moved), inputs_with("live"));
    assert_eq!(head.decided(&moved), "Success");
}

#[test]
fn a_failure_of_capstans_is_reported_once() {
    let failed = || HeadAnswers {
        live: Some(None),
        preflights: Some(KnownPreflights::Failed),
        ..HeadAnswers::default()
    };
    let head = Head::of(&[Way::Straight]);
    assert_eq!(head.decided(&failed()), "? Failure");
    let known = HeadAnswers { failure: Some(report(Conclusion::Failure)), ..failed() };
    assert_eq!(head.decided(&known), "Failure");
    assert_eq!(head.made_from(&known), inputs_with(""));
    let record = Some(recorded(&inputs_with(""), None));
    assert_eq!(Head { record, ..head }.decided(&failed()), "");
}

#[test]
fn what_was_judged_without_components_is_judged_again_at_the_next_look() {
    let head = Head::of(&[Way::Straight]);
    let all = judged(&[report(Conclusion::Success)]);
    let lacking = HeadAnswers { lacks_components: true, ..all.clone() };
    assert_eq!(head.decided(&lacking), "Success");
    assert_ne!(head.made_from(&lacking), head.made_from(&all));
}

#[test]
fn the_gravest_report_of_all_pull_requests_with_a_head_is_written() {
    use Conclusion::{ActionRequired, Failure, Neutral, Success};
    for (conclusions, expected) in [
        (&[Success, Failure][..], "Failure"),
        (&[Failure, Success][..], "Failure"),
        (&[Neutral, ActionRequired, Success][..], "ActionRequired"),
        (&[Success][..], "? Judged(1)"),
    ] {
        let ways = vec![Way::Straight; conclusions.len().max(2)];
        let reports: Vec<CheckReport> = conclusions.iter().copied().map(report).collect();
        assert_eq!(Head::of(&ways).decided(&judged(&reports)), expected, "{conclusions:?}");
    }
}

#[test]
fn a_head_that_does_not_go_straight_to_the_default_branch_gets_a_gate_where_it_changes_clusters() {
    let aside = || Way::Aside("release".to_owned());
    let with = |report: CheckReport, basis: Option<MergeBasis>, touches: Option<bool>| HeadAnswers {
        bases: basis.map(|basis| (0, basis)).into_iter().collect(),
        touches: touches.map(|touches| (0, touches)).into_iter().collect(),
        ..judged(&[report])
    };
    let passes = || report(Conclusion::Success);
    for (way, known, expected) in [
        (Way::Straight, with(passes(), None, None), "success"),
        (aside(), with(passes(), None, None), "action_required"),
        // Another branch may lack what the default branch has.
        (aside(), with(untouched(), None, None), "? Touches(0)"),
        (aside(), with(untouched(), None, Some(false)), "success"),
        (aside(), with(untouched(), None, Some(true)), "action_required"),
        (Way::Above(vec![2]), with(passes(), None, None), "? Basis(0)"),
        (Way::Above(vec![2]), with(passes(), Some(MergeBasis::Merge), None), "success"),
        (Way::Above(vec![2]), with(passes(), Some(MergeBasis::BehindTip), None), "action_required"),
        (Way::Above(vec![2]), with(untouched(), Some(MergeBasis::BehindTip), None), "success"),
        (aside(), with(report(Conclusion::Failure), None, None), "failure"),
    ] {
        let head = Head::of(std::slice::from_ref(&way));
        let found = match head.step(&known) {
            DecisionStep::Ask(need) => format!("? {need:?}"),
            DecisionStep::Decided(checked) => {
                let conclusion = checked.check.and_then(|check| check.run().conclusion);
                conclusion.map_or("pending", CheckConclusion::as_str).to_owned()
            }
        };
        assert_eq!(found, expected, "{way:?}");
    }
    // A failure of Capstan's has no gate, and needs nothing that decides about one.
    let failed = HeadAnswers { own_failures: [0].into(), ..with(passes(), None, None) };
    for way in [aside(), Way::Above(vec![2])] {
        assert_eq!(Head::of(std::slice::from_ref(&way)).decided(&failed), "Success", "{way:?}");
    }
    // The same commit is judged for the default branch, too.
    let both = judged(&[passes(), passes()]);
    assert_eq!(Head::of(&[aside(), Way::Straight]).decided(&both), "Success");
}
