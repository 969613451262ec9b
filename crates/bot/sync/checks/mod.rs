//! The check `capstan` on every open pull request, by anybody, and on the commits of a merge queue.
//!
//! A report has two keys: its inputs (base tip, head, remarks), so that nothing is computed again while
//! nothing changed; and its content (its `external_id`), so that it is not sent again while it is the same,
//! even after the database was lost.

mod comparing;
mod judging;
mod outlook;
mod preflights;
mod subjects;
mod telling;

use std::collections::BTreeSet;

use capstan_bot_core::checks::{
    CheckSubject, CheckedHead, HeadAnswers, HeadFacts, HeadNeed, KnownPreflights, Preflights, head,
    overridden, override_exemptions, remarks_of, retirement_exemptions,
};
use capstan_bot_core::effects::{CHECK, Effect};
use capstan_bot_core::facts::{Facts, Reporters, Scopes, TargetPlans, by_target};
use capstan_bot_core::proposals::{DecisionStep, Exemption, Outcome, Remarks};
use capstan_live::agent::preflight::Preflight;
use capstan_model::finding::FileError;
use capstan_model::tree::CommitId;
use capstan_plan::settings::RepositorySettings;
use capstan_report::{CheckReport, check_without_settings, judged_by_itself, untouched};
use tracing::Instrument as _;

pub(super) use self::comparing::{Comparisons, TestMerges};
pub(super) use self::judging::HeadJudge;
pub(super) use self::outlook::Outlooks;
pub(super) use self::preflights::LivePreflights;
pub(super) use self::subjects::CheckSubjects;
pub(super) use self::telling::is_reportable;
pub use self::telling::{SetUp, tell_failure};
use self::telling::{own_failure, report_first_failure};
use super::SyncError;
use super::ending::Ending;
use super::planning::NotOpened;
use crate::performing::Performer;
use capstan_fleet::planner::Planner;
use capstan_ports::{CheckRecord, Clock, CodeHost, Hints, MirrorError, PullRequest, Records};

/// What heads are judged with.
#[derive(Clone, Copy)]
pub(super) struct Judging<'a> {
    pub(super) settings: &'a RepositorySettings,
    /// The targets of the base branch.
    pub(super) scopes: &'a Scopes,
    pub(super) reporters: &'a Reporters,
    /// The plans at the tip of the default branch, if there are any.
    pub(super) plans: Option<&'a TargetPlans>,
}

/// What was learned of a commit, and the failure of Capstan's that prevented the rest.
#[derive(Default)]
struct LearnedOfHead {
    known: HeadAnswers,
    failure: Option<SyncError>,
}

/// Decides whether each head needs a new report, and writes it.
#[derive(Clone, Copy)]
pub(super) struct HeadChecks<'a> {
    pub(super) host: &'a dyn CodeHost,
    pub(super) records: &'a dyn Records,
    pub(super) clock: &'a dyn Clock,
    pub(super) planner: &'a dyn Planner,
    pub(super) facts: &'a Facts,
    pub(super) hints: &'a Hints,
    pub(super) performer: &'a Performer<'a>,
    pub(super) judge: HeadJudge<'a>,
    pub(super) preflights: LivePreflights<'a>,
}

impl HeadChecks<'_> {
    /// Reports on every open pull request, and on what merge queues try.
    pub(super) async fn report(
        self,
        judging: Judging<'_>,
        open: &[PullRequest],
        outcome: &Outcome,
        seen: &mut Comparisons,
    ) -> Result<Ending, SyncError> {
        let mut ending = Ending::default();
        let all = self.judge.merges.subjects.all(open).await?;
        self.bring_new_heads(&all).await;
        for subjects in all {
            let span = tracing::info_span!(
                "check",
                repository = %self.facts.repository.name,
                pull_request = subjects.first().and_then(|first| first.pull),
                cluster = tracing::field::Empty,
            );
            let checked =
                self.check_head(&subjects, open, judging, (outcome, &mut *seen)).instrument(span).await;
            ending = ending.and(self.alone(&subjects, checked).await?);
        }
        Ok(ending)
    }

    /// Fetches the new heads since the run began in one call.
    async fn bring_new_heads(self, subjects: &[Vec<CheckSubject>]) {
        let known: BTreeSet<&CommitId> = self.facts.open.iter().map(|pull| &pull.head).collect();
        let heads = subjects.iter().filter_map(|of_head| of_head.first()).filter(|one| one.pull.is_some());
        let new: Vec<CommitId> =
            heads.map(|one| &one.head).filter(|head| !known.contains(head)).cloned().collect();
        if new.len() > 1 {
            self.judge.commits.bring(&new).await;
        }
    }

    /// Reports on them where nothing can be planned.
    pub(super) async fn report_without_settings(self, problem: &FileError) -> Result<Ending, SyncError> {
        let (mut ending, mut seen) = (Ending::default(), Comparisons::default());
        for subjects in self.judge.merges.subjects.all(&self.facts.open).await? {
            for subject in subjects.iter().take(1) {
                let checked = self.check_without_settings(subject, problem, &mut seen).await;
                ending = ending.and(self.alone(std::slice::from_ref(subject), checked).await?);
            }
        }
        Ok(ending)
    }

    /// An error of one head affects neither the others nor commands: the run continues, and reports it at its
    /// end. If its pull request is gone, the next run decides.
    async fn alone(
        self,
        subjects: &[CheckSubject],
        checked: Result<Ending, SyncError>,
    ) -> Result<Ending, SyncError> {
        match checked {
            Err(error) if error.is_of_one() => {
                if self.has_gone(subjects).await {
                    return Ok(Ending::again());
                }
                let about = (&self.facts.repository.name, self.hints);
                report_first_failure(self.performer, about, subjects, &error).await;
                tracing::warn!(repository = %self.facts.repository.name, error = %error, "a head could not be checked");
                Ok(Ending { failure: Some(error), ..Ending::default() })
            }
            checked => checked,
        }
    }

    /// Whether the pull request of one of these is gone. If GitHub does not answer, the first failure counts.
    async fn has_gone(&self, subjects: &[CheckSubject]) -> bool {
        for number in subjects.iter().filter_map(|subject| subject.pull) {
            if self.performer.is_gone(number).await.unwrap_or(false) {
                return true;
            }
        }
        false
    }

    /// Reports on one commit, for all pull requests with that head.
    async fn check_head(
        self,
        subjects: &[CheckSubject],
        open: &[PullRequest],
        judging: Judging<'_>,
        (outcome, seen): (&Outcome, &mut Comparisons),
    ) -> Result<Ending, SyncError> {
        let Some(first) = subjects.first() else { return Ok(Ending::default()) };
        let record = self.records.check(self.facts.repository.id, &first.head, CHECK).await?;
        let pressed = record.as_ref().and_then(|record| record.pressed.as_ref());
        let mut remarks: Vec<Remarks> =
            subjects.iter().map(|subject| remarks_of(subject, &outcome.remarks, pressed)).collect();
        for (subject, remarks) in subjects.iter().zip(&mut remarks) {
            remarks.exemptions = self.exemptions(subject, open, outcome, seen).await?;
        }
        let of = self.head_facts((subjects, &remarks), record.as_ref());
        let asked = self.planner.pauses().len();
        let mut learned = LearnedOfHead::default();
        loop {
            match head(of, &learned.known) {
                DecisionStep::Decided(checked) => return self.conclude(checked).await,
                DecisionStep::Ask(need) => {
                    self.learn_of_head(of, need, (open, judging), (&mut learned, seen)).await?
                }
            }
            learned.known.until = self.planner.pauses().into_iter().skip(asked).min();
        }
    }

    /// Errors of a head that are exempt for one exact change: the machines of a cluster whose destruction a
    /// person asked for, and in a merge group the overrides of its proposals.
    async fn exemptions(
        self,
        subject: &CheckSubject,
        open: &[PullRequest],
        outcome: &Outcome,
        seen: &mut Comparisons,
    ) -> Result<Vec<Exemption>, SyncError> {
        let own = self.host.bot_login().await?;
        let mut found = retirement_exemptions(self.facts, subject, open, &own);
        for (pull, said) in overridden(self.facts, subject, &outcome.remarks) {
            let of_pull = self.judge.merges.subjects.subject(pull).await?;
            let Some(comparison) = self.judge.merges.comparison(&of_pull, seen).await? else { continue };
            found.extend(override_exemptions(said, &comparison));
        }
        Ok(found)
    }

    fn head_facts<'f>(
        &'f self,
        (subjects, remarks): (&'f [CheckSubject], &'f [Remarks]),
        record: Option<&'f CheckRecord>,
    ) -> HeadFacts<'f> {
        let is_asked_again = subjects.first().is_some_and(|first| self.hints.wants_check(&first.head));
        HeadFacts { facts: self.facts, subjects, remarks, record, is_asked_again, now: self.clock.now() }
    }

    /// Answers a question about the check of a commit.
    async fn learn_of_head(
        self,
        of: HeadFacts<'_>,
        need: HeadNeed,
        (open, judging): (&[PullRequest], Judging<'_>),
        (learned, seen): (&mut LearnedOfHead, &mut Comparisons),
    ) -> Result<(), SyncError> {
        let Some(first) = of.subjects.first() else { return Ok(()) };
        let known = &mut learned.known;
        match need {
            HeadNeed::Failure => {
                known.failure = learned
                    .failure
                    .as_ref()
                    .map(|error| own_failure(&self.facts.repository.name, first, error));
            }
            HeadNeed::Live => {
                known.live = Some(self.preflights.live_inputs(judging.reporters, &first.head).await?)
            }
            HeadNeed::LiveAfter => {
                known.live_after = Some(self.preflights.live_inputs(judging.reporters, &first.head).await?);
            }
            HeadNeed::Preflights => {
                known.preflights =
                    Some(match self.preflights.of_subjects(of.subjects, open, judging, seen).await {
                        Ok(Some(preflights)) => KnownPreflights::Are(preflights),
                        Ok(None) => KnownPreflights::NotYet,
                        Err(error) if is_own_failure(&error) => {
                            learned.failure = Some(error);
                            KnownPreflights::Failed
                        }
                        Err(error) => return Err(error),
                    });
            }
            HeadNeed::Judged(at) => {
                let preflights = match &known.preflights {
                    Some(KnownPreflights::Are(preflights)) => preflights.all.as_slice(),
                    _ => &[],
                };
                let Some((subject, remarks)) = of.subjects.get(at).zip(of.remarks.get(at)) else {
                    return Ok(());
                };
                seen.components.take_lacking();
                let judged = self.judge_under_base(subject, judging, (remarks, preflights), seen).await;
                known.lacks_components |= seen.components.take_lacking();
                self.note_judged(subject, judged, known)?;
            }
            HeadNeed::Basis(at) => {
                let Some(subject) = of.subjects.get(at) else { return Ok(()) };
                known.bases.insert(at, self.judge.merges.basis(subject, seen).await?);
            }
            HeadNeed::Touches(at) => {
                let Some(subject) = of.subjects.get(at) else { return Ok(()) };
                let for_default = self.facts.as_for_default(subject);
                seen.components.take_lacking();
                let judged =
                    self.judge.judge(&for_default, judging, (&Remarks::default(), &[]), seen).await?;
                known.lacks_components |= seen.components.take_lacking();
                known.touches.insert(at, judged != Some(untouched()));
            }
        }
        Ok(())
    }

    /// Notes what was judged; Capstan's own failure is a report, too.
    fn note_judged(
        self,
        subject: &CheckSubject,
        judged: Result<Option<CheckReport>, SyncError>,
        known: &mut HeadAnswers,
    ) -> Result<(), SyncError> {
        let report = match judged {
            Err(error) if is_own_failure(&error) => {
                known.own_failures.insert(known.judged.len());
                Some(own_failure(&self.facts.repository.name, subject, &error))
            }
            judged => judged?,
        };
        known.judged.push(report);
        Ok(())
    }

    /// Writes the check.
    async fn conclude(self, checked: CheckedHead) -> Result<Ending, SyncError> {
        let CheckedHead { check, look_again, until } = checked;
        self.performer.perform_all(check.map(Effect::Check)).await?;
        Ok(Ending { again: look_again, ..Ending::after_pause(until) })
    }

    async fn check_without_settings(
        self,
        subject: &CheckSubject,
        problem: &FileError,
        seen: &mut Comparisons,
    ) -> Result<Ending, SyncError> {
        let remarks = [Remarks { notes: problem.lines().collect(), ..Remarks::default() }];
        let record = self.records.check(self.facts.repository.id, &subject.head, CHECK).await?;
        let of = self.head_facts((std::slice::from_ref(subject), &remarks), record.as_ref());
        let asked = self.planner.pauses().len();
        // No live cluster is asked, and nothing shows which clusters the default branch has.
        let mut known = HeadAnswers {
            live: Some(Some(String::new())),
            live_after: Some(Some(String::new())),
            preflights: Some(KnownPreflights::Are(Preflights::NONE)),
            touches: [(0, true)].into_iter().collect(),
            ..HeadAnswers::default()
        };
        loop {
            match head(of, &known) {
                DecisionStep::Decided(checked) => return self.conclude(checked).await,
                DecisionStep::Ask(HeadNeed::Basis(at)) => {
                    known.bases.insert(at, self.judge.merges.basis(subject, seen).await?);
                }
                DecisionStep::Ask(HeadNeed::Judged(_)) => {
                    let judged = match subject.base_branch == self.facts.repository.default_branch {
                        true => self.judge_without_settings(subject, problem, seen).await,
                        false => self.judge_under_its_own_base(subject, &Remarks::default(), seen).await,
                    };
                    self.note_judged(subject, judged, &mut known)?;
                }
                // These are known from the beginning.
                DecisionStep::Ask(
                    HeadNeed::Live
                    | HeadNeed::LiveAfter
                    | HeadNeed::Preflights
                    | HeadNeed::Failure
                    | HeadNeed::Touches(_),
                ) => return Ok(Ending::default()),
            }
            known.until = self.planner.pauses().into_iter().skip(asked).min();
        }
    }

    /// Judges a head by itself; `None` while GitHub computes its test merge.
    async fn judge_without_settings(
        self,
        subject: &CheckSubject,
        problem: &FileError,
        seen: &mut Comparisons,
    ) -> Result<Option<CheckReport>, SyncError> {
        let comparison = match self.judge.merges.comparison(subject, seen).await {
            Ok(Some(comparison)) => comparison,
            Ok(None) => return Ok(None),
            // It contains what cannot be read on the base branch.
            Err(SyncError::Mirror(MirrorError::TooLarge { .. })) if self.facts.beyond_limits.is_some() => {
                return Ok(Some(check_without_settings(problem)));
            }
            Err(error) => return Err(error),
        };
        match self.judge.planner.open(&comparison.after).await {
            Err(NotOpened::Failed(error)) => Err(error),
            Err(NotOpened::Settings(_)) => Ok(Some(check_without_settings(problem))),
            Ok(fleet) => {
                let settings = fleet.settings().clone();
                let scopes = by_target(fleet.scopes());
                let remarks = Remarks { notes: vec![judged_by_itself(problem)], ..Remarks::default() };
                let reporters = Reporters::default();
                let judging =
                    Judging { settings: &settings, scopes: &scopes, reporters: &reporters, plans: None };
                let components = &mut seen.components;
                self.judge
                    .judge_comparison(subject, comparison, judging, (&remarks, &[]), components)
                    .await
                    .map(Some)
            }
        }
    }

    /// Judges a head under the settings of its base branch; `None` while GitHub computes its test merge.
    async fn judge_under_base(
        self,
        subject: &CheckSubject,
        judging: Judging<'_>,
        (remarks, preflights): (&Remarks, &[Preflight]),
        seen: &mut Comparisons,
    ) -> Result<Option<CheckReport>, SyncError> {
        match subject.base_branch == self.facts.repository.default_branch {
            true => self.judge.judge(subject, judging, (remarks, preflights), seen).await,
            false => self.judge_under_its_own_base(subject, remarks, seen).await,
        }
    }

    /// The same for a head whose base is not the default branch, which no reconciler applies: if that branch
    /// has no settings, the defaults count, as on the command line.
    async fn judge_under_its_own_base(
        self,
        subject: &CheckSubject,
        remarks: &Remarks,
        seen: &mut Comparisons,
    ) -> Result<Option<CheckReport>, SyncError> {
        let base = self.judge.commits.required_snapshot(&subject.base_tip).await?;
        match self.judge.planner.open(&base.tree).await {
            Ok(fleet) => {
                let (settings, scopes) = (fleet.settings().clone(), by_target(fleet.scopes()));
                let reporters = Reporters::default();
                let judging =
                    Judging { settings: &settings, scopes: &scopes, reporters: &reporters, plans: None };
                self.judge.judge(subject, judging, (remarks, &[]), seen).await
            }
            Err(NotOpened::Settings(problem)) => self.judge_without_settings(subject, &problem, seen).await,
            Err(NotOpened::Failed(error)) => Err(error),
        }
    }

    /// Reports again on the heads whose buttons were pressed: the result is known by now.
    pub(super) async fn report_pressed(
        self,
        judging: Judging<'_>,
        open: &[PullRequest],
        outcome: &Outcome,
        seen: &mut Comparisons,
    ) -> Result<Ending, SyncError> {
        let mut ending = Ending::default();
        if self.hints.presses.is_empty() {
            return Ok(ending);
        }
        let is_pressed = |subject: &CheckSubject| {
            self.hints.presses.iter().any(|press| press.head == subject.head.as_str())
        };
        for subjects in self.judge.merges.subjects.all(open).await? {
            if subjects.iter().any(is_pressed) {
                let checked = self.check_head(&subjects, open, judging, (outcome, &mut *seen)).await;
                ending = ending.and(self.alone(&subjects, checked).await?);
            }
        }
        Ok(ending)
    }
}

/// An error that a repetition would not solve, and that is this head's alone.
const fn is_own_failure(error: &SyncError) -> bool {
    matches!(error, SyncError::Planning(_)) || error.is_lasting()
}
