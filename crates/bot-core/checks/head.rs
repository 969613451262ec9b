//! The check of a commit: whether what was reported still counts, and which report is written.

use std::collections::{BTreeMap, BTreeSet};

use capstan_facts::CheckRecord;
use capstan_plan::proposal::Way;
use capstan_report::{
    CheckReport, Fingerprint, MergeBasis, RunWish, gated, preflight_fingerprint, untouched, way_gate,
};
use jiff::Timestamp;

use super::inputs::{gravity, inputs_of};
use super::preflights::Preflights;
use super::subject::CheckSubject;
use crate::effects::{CheckOf, KeptReport};
use crate::facts::{Facts, Write};
use crate::proposals::{DecisionStep, Remarks};

/// A commit that needs a check, with what decides about it.
#[derive(Clone, Copy)]
pub struct HeadFacts<'a> {
    /// What a run starts from.
    pub facts: &'a Facts,
    /// The pull requests and merge groups with that commit.
    pub subjects: &'a [CheckSubject],
    /// What the check says of each besides its content.
    pub remarks: &'a [Remarks],
    /// What was last reported.
    pub record: Option<&'a CheckRecord>,
    /// Whether somebody wants the check again.
    pub is_asked_again: bool,
    /// The time.
    pub now: Timestamp,
}

/// A fact about a commit that is needed first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeadNeed {
    /// What the live clusters' part of the report depends on.
    Live,
    /// The live clusters' answers.
    Preflights,
    /// The same as `Live`, after their answers were read.
    LiveAfter,
    /// The report on the failure of Capstan's because of which they are unknown.
    Failure,
    /// The report on that subject.
    Judged(usize),
    /// What that subject is judged by.
    Basis(usize),
    /// Whether that subject, for another branch, changes clusters that the default branch does not.
    Touches(usize),
}

/// What is known of the live clusters' answers.
#[derive(Debug, Clone)]
pub enum KnownPreflights {
    /// These.
    Are(Preflights),
    /// GitHub computes the test merge.
    NotYet,
    /// Capstan failed in a way that a repetition would not change.
    Failed,
}

/// The answers so far. A fact that is absent was not asked for.
#[derive(Debug, Clone, Default)]
pub struct HeadAnswers {
    /// What the live clusters' part depends on; `None` inside where that may change by itself.
    pub live: Option<Option<String>>,
    /// Their answers.
    pub preflights: Option<KnownPreflights>,
    /// The same as `live`, after their answers were read.
    pub live_after: Option<Option<String>>,
    /// The report on the failure of Capstan's.
    pub failure: Option<CheckReport>,
    /// The report on each subject; `None` while GitHub computes its test merge.
    pub judged: Vec<Option<CheckReport>>,
    /// Which of these say that Capstan failed.
    pub own_failures: BTreeSet<usize>,
    /// What subjects are judged by.
    pub bases: BTreeMap<usize, MergeBasis>,
    /// Whether subjects for another branch change clusters that the default branch does not.
    pub touches: BTreeMap<usize, bool>,
    /// Whether something was judged without components that are wanted.
    pub lacks_components: bool,
    /// When what took too long may be begun again.
    pub until: Option<Timestamp>,
}

/// What becomes of the check of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedHead {
    /// The check to write; `None` where what was reported counts, or nothing is known yet.
    pub check: Option<Box<CheckOf>>,
    /// Whether another run follows soon.
    pub look_again: bool,
    /// When what took too long for the report that counts may be begun again.
    pub until: Option<Timestamp>,
}

/// Decides about the check of a commit. Of several results the gravest is reported: a second pull request of the same
/// head, to a branch where it changes nothing, must not remove a failure.
pub fn head(of: HeadFacts<'_>, known: &HeadAnswers) -> DecisionStep<CheckedHead, HeadNeed> {
    checked(of, known).map_or_else(DecisionStep::Ask, DecisionStep::Decided)
}

fn checked(of: HeadFacts<'_>, known: &HeadAnswers) -> Result<CheckedHead, HeadNeed> {
    let nothing = |look_again, until| CheckedHead { check: None, look_again, until };
    let Some(first) = of.subjects.first() else { return Ok(nothing(false, None)) };
    let inputs = |live: &str| inputs_of(of.subjects, of.remarks, live);
    let writes = |inputs: &str, report: &CheckReport, look_again| {
        let check = check_of(first, (inputs, known.until), report, of.is_asked_again);
        CheckedHead { check: Some(Box::new(check)), look_again, until: None }
    };
    // If nothing changed, GitHub is not even asked for its test merge.
    if let Some(live) = known.live.as_ref().ok_or(HeadNeed::Live)?
        && let Some(until) = reported(of, first, &inputs(live))
    {
        return Ok(nothing(false, until));
    }
    let preflights = match known.preflights.as_ref().ok_or(HeadNeed::Preflights)? {
        KnownPreflights::Are(preflights) => preflights,
        KnownPreflights::NotYet => return Ok(nothing(true, None)),
        KnownPreflights::Failed => {
            let inputs = inputs("");
            if let Some(until) = reported(of, first, &inputs) {
                return Ok(nothing(false, until));
            }
            let report = known.failure.as_ref().ok_or(HeadNeed::Failure)?;
            return Ok(writes(&inputs, report, false));
        }
    };
    let look_again = preflights.look_again();
    // An answer that came since they were read is in no report yet: what is said now does not stand for it.
    let live = match look_again {
        true => None,
        false => known.live_after.as_ref().ok_or(HeadNeed::LiveAfter)?.as_ref(),
    };
    let mut inputs = match live {
        Some(live) => inputs(live),
        None => {
            let unsettled = preflights.all.iter().map(preflight_fingerprint);
            let inputs = inputs(&Fingerprint::of("unsettled").each("preflight", unsettled).finish());
            if let Some(until) = reported(of, first, &inputs) {
                return Ok(nothing(look_again, until));
            }
            inputs
        }
    };
    let mut gravest: Option<CheckReport> = None;
    for at in 0..of.subjects.len() {
        let Some(report) = known.judged.get(at).ok_or(HeadNeed::Judged(at))? else {
            return Ok(nothing(true, None));
        };
        // A failure of Capstan's does not depend on how the head comes to the default branch.
        let report = match known.own_failures.contains(&at) {
            true => report.clone(),
            false => weighed(of, at, report, known)?,
        };
        let graver = |so_far: &CheckReport| gravity(report.conclusion) > gravity(so_far.conclusion);
        if gravest.as_ref().is_none_or(graver) {
            gravest = Some(report);
        }
    }
    // What was judged without components that are wanted is judged again at the next look.
    if known.lacks_components {
        inputs = Fingerprint::of("without-components").field("inputs", &inputs).finish();
    }
    Ok(gravest.map_or_else(|| nothing(look_again, None), |report| writes(&inputs, &report, look_again)))
}

/// The check with a report that Capstan failed, where the commit has no report: no run takes it for one that counts.
pub fn first_failure(subject: &CheckSubject, report: &CheckReport, is_asked_again: bool) -> CheckOf {
    check_of(subject, ("", None), report, is_asked_again)
}

fn check_of(
    subject: &CheckSubject,
    made_from: (&str, Option<Timestamp>),
    report: &CheckReport,
    is_asked_again: bool,
) -> CheckOf {
    let wish = if is_asked_again { RunWish::Again } else { RunWish::AsItIs };
    CheckOf::made_from(&subject.head, made_from, report, wish)
}

/// Whether the report that is made from such inputs was made: until when it counts, where something took too long for it.
fn reported(of: HeadFacts<'_>, first: &CheckSubject, inputs: &str) -> Option<Option<Timestamp>> {
    if of.is_asked_again {
        return None;
    }
    // GitHub refuses it: there is nothing new to report.
    if of.facts.refusals.against(&Write::check(first.head.as_str(), inputs), of.now).is_some() {
        return Some(None);
    }
    let kept = of.record.map(|record| KeptReport::read(&record.content));
    kept.filter(|kept| kept.is_of(inputs, of.now)).map(|kept| kept.until)
}

/// Takes into account by which way a head reaches the default branch. A head that touches no cluster may take any; the
/// commits of one for another branch could reach it, too.
fn weighed(
    of: HeadFacts<'_>,
    at: usize,
    report: &CheckReport,
    known: &HeadAnswers,
) -> Result<CheckReport, HeadNeed> {
    let report = report.clone();
    // The same commit is judged for the default branch, too: no gate is left.
    let is_judged_for_default = of.subjects.iter().any(|subject| subject.way == Way::Straight);
    let Some(subject) = of.subjects.get(at).filter(|_| !is_judged_for_default) else { return Ok(report) };
    let basis = match subject.way {
        Way::Above(_) => *known.bases.get(&at).ok_or(HeadNeed::Basis(at))?,
        Way::Straight | Way::Aside(_) | Way::Unknown(_) => MergeBasis::Merge,
    };
    let Some(gate) = way_gate(&subject.way, basis, &of.facts.repository.default_branch) else {
        return Ok(report);
    };
    if report == untouched() {
        let may_touch = matches!(subject.way, Way::Aside(_));
        if !may_touch || !*known.touches.get(&at).ok_or(HeadNeed::Touches(at))? {
            return Ok(report);
        }
    }
    Ok(gated(report, &gate))
}
