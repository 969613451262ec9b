//! The check `capstan` on every open pull request, by anybody, and on the commits of a merge queue.
//!
//! A report has two keys: its inputs (base tip, head, remarks), so that nothing is computed again while
//! nothing changed; and its content (its `external_id`), so that it is not sent again while it is the same,
//! even after the database was lost.

mod exemptions;
mod inventory;
mod judging;
mod outlook;
mod subjects;
mod telling;

use std::collections::BTreeSet;

use capstan_bot_core::checks::{Subject, gravity, inputs, inputs_of, remarks_of, verdict_of};
use capstan_bot_core::effects::{CHECK, KeptReport};
use capstan_bot_core::facts::{Plans, Reporters, Scopes, Write, by_target};
use capstan_bot_core::proposals::{Outcome, Remarks};
use capstan_live::agent::preflight::Preflight;
use capstan_model::finding::FileError;
use capstan_model::tree::CommitId;
use capstan_plan::proposal::{CheckVerdict, Unclear, Way};
use capstan_plan::settings::RepositorySettings;
use capstan_report::{
    CheckReport, Fingerprint, MergeBasis, check_without_settings, gated, judged_by_itself,
    preflight_fingerprint, untouched, way_gate,
};
use tracing::Instrument as _;

pub(super) use self::judging::Comparisons;
pub(super) use self::telling::is_told;
pub use self::telling::{SetUp, tell_failure};
use super::{Ending, NotOpened, Run, SyncError};
use capstan_ports::{MirrorError, PullRequest};

/// What heads are judged with.
#[derive(Clone, Copy)]
pub(super) struct Judging<'a> {
    pub(super) settings: &'a RepositorySettings,
    /// The targets of the base branch.
    pub(super) scopes: &'a Scopes,
    pub(super) reporters: &'a Reporters,
    /// The plans at the tip of the default branch, if there are any.
    pub(super) plans: Option<&'a Plans>,
}

impl Run<'_> {
    pub(super) async fn report_checks(
        self,
        judging: Judging<'_>,
        open: &[PullRequest],
        outcome: &Outcome,
        seen: &mut Comparisons,
    ) -> Result<Ending, SyncError> {
        let mut ending = Ending::default();
        let all = self.subjects(open).await?;
        self.bring_new_heads(&all).await;
        for subjects in all {
            let span = tracing::info_span!(
                "check",
                repository = %self.repository.name,
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
    async fn bring_new_heads(self, subjects: &[Vec<Subject>]) {
        let known: BTreeSet<&CommitId> = self.facts.open.iter().map(|pull| &pull.head).collect();
        let heads = subjects.iter().filter_map(|of_head| of_head.first()).filter(|one| one.pull.is_some());
        let new: Vec<CommitId> =
            heads.map(|one| &one.head).filter(|head| !known.contains(head)).cloned().collect();
        if new.len() > 1 {
            self.ports.mirror.bring(self.repository, self.token, &new).await;
        }
    }

    pub(super) async fn report_checks_without_settings(
        self,
        problem: &FileError,
    ) -> Result<Ending, SyncError> {
        let (mut ending, mut seen) = (Ending::default(), Comparisons::default());
        for subjects in self.subjects(&self.facts.open).await? {
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
        subjects: &[Subject],
        checked: Result<Ending, SyncError>,
    ) -> Result<Ending, SyncError> {
        match checked {
            Err(error) if error.is_of_one() => {
                if self.has_gone(subjects).await {
                    return Ok(Ending::again());
                }
                self.report_first_failure(subjects, &error).await;
                tracing::warn!(repository = %self.repository.name, error = %error, "a head could not be checked");
                Ok(Ending { failure: Some(error), ..Ending::default() })
            }
            checked => checked,
        }
    }

    /// Whether the pull request of one of these is gone. If GitHub does not answer, the first failure counts.
    async fn has_gone(&self, subjects: &[Subject]) -> bool {
        for number in subjects.iter().filter_map(|subject| subject.pull) {
            if self.performer.is_gone(number).await.unwrap_or(false) {
                return true;
            }
        }
        false
    }

    /// Reports on one commit the gravest of its results: a second pull request of the same head, to a branch
    /// where it changes nothing, must not remove a failure.
    async fn check_head(
        self,
        subjects: &[Subject],
        open: &[PullRequest],
        judging: Judging<'_>,
        (outcome, seen): (&Outcome, &mut Comparisons),
    ) -> Result<Ending, SyncError> {
        let Some(first) = subjects.first() else { return Ok(Ending::default()) };
        let known = self.ports.records.check(self.repository.id, &first.head, CHECK).await?;
        let pressed = known.and_then(|known| known.pressed);
        let mut of_pull: Vec<Remarks> =
            subjects.iter().map(|subject| remarks_of(subject, &outcome.remarks, pressed.as_ref())).collect();
        for (subject, remarks) in subjects.iter().zip(&mut of_pull) {
            remarks.exemptions = self.exemptions(subject, open, outcome, seen).await?;
        }
        let inputs = |live: &str| inputs_of(subjects, &of_pull, live);
        // If nothing changed, GitHub is not even asked for its test merge.
        if let Some(live) = self.live_inputs(judging.reporters, &first.head).await?
            && let Some(reported) = self.reported(first, &inputs(&live)).await?
        {
            return Ok(reported);
        }
        let asked = self.ports.planner.pauses().len();
        let until = || self.ports.planner.pauses().into_iter().skip(asked).min();
        let preflights = match self.preflights(subjects, open, judging, seen).await {
            Ok(Some(preflights)) => preflights,
            Ok(None) => return Ok(Ending::again()),
            Err(error) if is_own_failure(&error) => {
                let inputs = inputs("");
                if let Some(reported) = self.reported(first, &inputs).await? {
                    return Ok(reported);
                }
                self.report(first, (&inputs, until()), &self.own_failure(first, &error)).await?;
                return Ok(Ending::default());
            }
            Err(error) => return Err(error),
        };
        let ending = if preflights.look_again() { Ending::again() } else { Ending::default() };
        // An answer that came since they were read is in no report yet: what is said now does not stand for it.
        let live = match ending.again {
            false => self.live_inputs(judging.reporters, &first.head).await?,
            true => None,
        };
        let preflights = preflights.all;
        let inputs = match live {
            Some(live) => inputs(&live),
            None => {
                let unsettled = preflights.iter().map(preflight_fingerprint);
                let inputs = inputs(&Fingerprint::of("unsettled").each("preflight", unsettled).finish());
                if let Some(reported) = self.reported(first, &inputs).await? {
                    return Ok(ending.and(reported));
                }
                inputs
            }
        };
        let mut gravest: Option<CheckReport> = None;
        let is_judged_for_default = subjects.iter().any(|subject| subject.way == Way::Straight);
        seen.components.take_lacking();
        for (subject, remarks) in subjects.iter().zip(&of_pull) {
            let judged = self.judge_under_base(subject, judging, (remarks, &preflights), seen).await;
            let report = match judged {
                // The same commit is judged for the default branch, too: no gate is left.
                Ok(Some(report)) if is_judged_for_default => report,
                Ok(Some(report)) => self.weigh(subject, report, Some(judging), seen).await?,
                Ok(None) => return Ok(Ending::again()),
                Err(error) if is_own_failure(&error) => self.own_failure(subject, &error),
                Err(error) => return Err(error),
            };
            let graver = |so_far: &CheckReport| gravity(report.conclusion) > gravity(so_far.conclusion);
            if gravest.as_ref().is_none_or(graver) {
                gravest = Some(report);
            }
        }
        // What was judged without components that are wanted is judged again at the next look.
        let inputs = match seen.components.take_lacking() {
            true => Fingerprint::of("without-components").field("inputs", &inputs).finish(),
            false => inputs,
        };
        if let Some(report) = gravest {
            self.report(first, (&inputs, until()), &report).await?;
        }
        Ok(ending)
    }

    async fn check_without_settings(
        self,
        subject: &Subject,
        problem: &FileError,
        seen: &mut Comparisons,
    ) -> Result<Ending, SyncError> {
        let remarks = Remarks { notes: problem.lines().collect(), ..Remarks::default() };
        let inputs = inputs(subject, &remarks, "");
        if let Some(reported) = self.reported(subject, &inputs).await? {
            return Ok(reported);
        }
        let asked = self.ports.planner.pauses().len();
        let judged = match self.is_of_default_branch(subject) {
            true => self.judge_without_settings(subject, problem, seen).await,
            false => self.judge_under_its_own_base(subject, &Remarks::default(), seen).await,
        };
        let report = match judged {
            Ok(Some(report)) => self.weigh(subject, report, None, seen).await?,
            Ok(None) => return Ok(Ending::again()),
            Err(error) if is_own_failure(&error) => self.own_failure(subject, &error),
            Err(error) => return Err(error),
        };
        let until = self.ports.planner.pauses().into_iter().skip(asked).min();
        self.report(subject, (&inputs, until), &report).await?;
        Ok(Ending::default())
    }

    /// Judges a head by itself; `None` while GitHub computes its test merge.
    async fn judge_without_settings(
        self,
        subject: &Subject,
        problem: &FileError,
        seen: &mut Comparisons,
    ) -> Result<Option<CheckReport>, SyncError> {
        let comparison = match self.comparison(subject, seen).await {
            Ok(Some(comparison)) => comparison,
            Ok(None) => return Ok(None),
            // It contains what cannot be read on the base branch.
            Err(SyncError::Mirror(MirrorError::TooLarge { .. })) if self.facts.beyond_limits.is_some() => {
                return Ok(Some(check_without_settings(problem)));
            }
            Err(error) => return Err(error),
        };
        match self.open_snapshot(&comparison.after).await {
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
                self.judge_comparison(subject, comparison, judging, (&remarks, &[]), components)
                    .await
                    .map(Some)
            }
        }
    }

    fn is_of_default_branch(&self, subject: &Subject) -> bool {
        subject.base_branch == self.repository.default_branch
    }

    /// Judges a head under the settings of its base branch; `None` while GitHub computes its test merge.
    async fn judge_under_base(
        self,
        subject: &Subject,
        judging: Judging<'_>,
        (remarks, preflights): (&Remarks, &[Preflight]),
        seen: &mut Comparisons,
    ) -> Result<Option<CheckReport>, SyncError> {
        match self.is_of_default_branch(subject) {
            true => self.judge(subject, judging, (remarks, preflights), seen).await,
            false => self.judge_under_its_own_base(subject, remarks, seen).await,
        }
    }

    /// Takes into account by which way a head reaches the default branch. A head that touches no cluster may
    /// take any; the commits of one for another branch could reach it, too.
    async fn weigh(
        self,
        subject: &Subject,
        report: CheckReport,
        judging: Option<Judging<'_>>,
        seen: &mut Comparisons,
    ) -> Result<CheckReport, SyncError> {
        let basis = match subject.way {
            Way::Straight => return Ok(report),
            Way::Above(_) => match self.comparison(subject, seen).await? {
                Some(comparison) => comparison.basis,
                None => MergeBasis::BehindTip,
            },
            Way::Aside(_) | Way::Unknown(_) => MergeBasis::Merge,
        };
        let Some(gate) = way_gate(&subject.way, basis, &self.repository.default_branch) else {
            return Ok(report);
        };
        if report == untouched() && !self.would_touch(subject, judging, seen).await? {
            return Ok(report);
        }
        Ok(gated(report, &gate))
    }

    /// Whether a head for another branch changes clusters that the default branch does not.
    async fn would_touch(
        self,
        subject: &Subject,
        judging: Option<Judging<'_>>,
        seen: &mut Comparisons,
    ) -> Result<bool, SyncError> {
        if !matches!(subject.way, Way::Aside(_)) {
            return Ok(false);
        }
        let Some(judging) = judging else { return Ok(true) };
        let prefix = Subject {
            base_branch: self.repository.default_branch.clone(),
            base_tip: self.facts.base.commit.clone(),
            way: Way::Unknown(Unclear::Disagree),
            ..subject.clone()
        };
        Ok(self.judge(&prefix, judging, (&Remarks::default(), &[]), seen).await? != Some(untouched()))
    }

    /// The same for a head whose base is not the default branch, which no reconciler applies: if that branch
    /// has no settings, the defaults count, as on the command line.
    async fn judge_under_its_own_base(
        self,
        subject: &Subject,
        remarks: &Remarks,
        seen: &mut Comparisons,
    ) -> Result<Option<CheckReport>, SyncError> {
        let base = self.base_of(subject).await?;
        match self.open_snapshot(&base.tree).await {
            Ok(fleet) => {
                let (settings, scopes) = (fleet.settings().clone(), by_target(fleet.scopes()));
                let reporters = Reporters::default();
                let judging =
                    Judging { settings: &settings, scopes: &scopes, reporters: &reporters, plans: None };
                self.judge(subject, judging, (remarks, &[]), seen).await
            }
            Err(NotOpened::Settings(problem)) => self.judge_without_settings(subject, &problem, seen).await,
            Err(NotOpened::Failed(error)) => Err(error),
        }
    }

    /// How a check ends whose head has the report that is made from such inputs; `None` where it has not.
    async fn reported(&self, pull: &Subject, inputs: &str) -> Result<Option<Ending>, SyncError> {
        if self.hints.heads.iter().any(|head| head == pull.head.as_str()) {
            return Ok(None);
        }
        // GitHub refuses it: there is nothing new to report.
        if self.performer.refusal(&Write::check(pull.head.as_str(), inputs)).is_some() {
            return Ok(Some(Ending::default()));
        }
        let record = self.ports.records.check(self.repository.id, &pull.head, CHECK).await?;
        let kept = record.map(|record| KeptReport::read(&record.content));
        let kept = kept.filter(|kept| kept.is_of(inputs, self.ports.clock.now()));
        Ok(kept.map(|kept| Ending::after_pause(kept.until)))
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
        let is_pressed =
            |subject: &Subject| self.hints.presses.iter().any(|press| press.head == subject.head.as_str());
        for subjects in self.subjects(open).await? {
            if subjects.iter().any(is_pressed) {
                let checked = self.check_head(&subjects, open, judging, (outcome, &mut *seen)).await;
                ending = ending.and(self.alone(&subjects, checked).await?);
            }
        }
        Ok(ending)
    }

    /// The conclusion of the check on a head, as it was last reported.
    pub(super) async fn check_verdict(&self, head: &CommitId) -> Result<CheckVerdict, SyncError> {
        let record = self.ports.records.check(self.repository.id, head, CHECK).await?;
        Ok(verdict_of(record))
    }
}

/// An error that a repetition would not solve, and that is this head's alone.
const fn is_own_failure(error: &SyncError) -> bool {
    matches!(error, SyncError::Planning(_)) || error.is_lasting()
}
