//! The dashboard issue, brought to what there is to tell: opened, written, closed.

use capstan_bot_core::dashboard::{
    Board, DashboardStep, DesiredIssue, Keeping, disabled, duplicate, in_trouble, keep, with_notice,
};
use capstan_bot_core::facts::Write;
use capstan_bot_core::planned::PlannedRun;
use capstan_bot_core::proposals::{DecisionStep, Outcome};
use capstan_bot_core::requests::{DashboardWrite, Request};

use super::super::SyncError;
use super::super::answers::RequestAnswers;
use super::DashboardIssue;
use capstan_ports::{Issue, IssueState, KnownDashboard};

impl DashboardIssue<'_> {
    /// Updates the dashboard, including the answers to ticks.
    pub(in super::super) async fn keep(
        self,
        (planned, outcome): (PlannedRun<'_>, &Outcome),
        board: &Board,
        requests: &[Request],
        answers: RequestAnswers<'_>,
    ) -> Result<DashboardWrite, SyncError> {
        let keeping = Keeping { planned, outcome, board, requests, now: self.clock.now() };
        let mut answered = None;
        let step = loop {
            match keep(keeping, answered.as_ref()) {
                DecisionStep::Decided(step) => break step,
                DecisionStep::Ask(asked) => {
                    let mut parts = Vec::new();
                    for request in asked {
                        let of_one = answers.parts(request, planned, outcome, &DashboardWrite::Done).await?;
                        parts.push((request, of_one));
                    }
                    answered = Some(parts);
                }
            }
        };
        let kept = match step {
            DashboardStep::Ends(kept) => kept,
            DashboardStep::Closes => {
                self.close_dashboard(board).await?;
                DashboardWrite::Done
            }
            DashboardStep::Writes(desired) => self.write_dashboard(keeping, *desired).await?,
        };
        // Nothing was answered there where it was not asked.
        for (tick, parts) in answered.into_iter().flatten().filter(|(request, _)| request.is_tick()) {
            if kept == DashboardWrite::Done {
                answers.audit(tick, &parts, planned.scopes).await?;
            }
        }
        Ok(kept)
    }

    async fn write_dashboard(
        self,
        keeping: Keeping<'_>,
        desired: DesiredIssue,
    ) -> Result<DashboardWrite, SyncError> {
        if desired.as_read.is_none() {
            return self.open_dashboard(keeping, desired).await;
        }
        match self.performer.bring_issue(&desired).await? {
            DashboardWrite::Done => self.tell_lost_tick(keeping, desired).await,
            kept => Ok(kept),
        }
    }

    /// Says in an open dashboard that nothing can be planned.
    pub(in super::super) async fn tell(self, problem: &str) -> Result<(), SyncError> {
        let known = self.records.dashboard(self.facts.repository.id).await?;
        let issue = match self.open_issue_of(known.as_ref()).await {
            Err(SyncError::Host(error)) if error.is_refusal() => return Ok(()),
            issue => issue?,
        };
        match issue.and_then(|issue| in_trouble(self.facts, issue, problem)) {
            Some(desired) => self.performer.bring_issue(&desired).await.map(drop),
            None => Ok(()),
        }
    }

    /// Closes it where the settings disable it.
    async fn close_dashboard(self, board: &Board) -> Result<(), SyncError> {
        let issue = match self.open_issue_of(board.known.as_ref()).await {
            Err(SyncError::Host(error)) => return self.performer.issue_refused(error).await.map(drop),
            issue => issue?,
        };
        match issue.and_then(|issue| disabled(self.facts, issue)) {
            Some(desired) => self.performer.bring_issue(&desired).await.map(drop),
            None => Ok(()),
        }
    }

    /// The issue that is known, where it is open and GitHub takes writes of it.
    async fn open_issue_of(self, known: Option<&KnownDashboard>) -> Result<Option<Issue>, SyncError> {
        let Some(number) = known.and_then(|known| known.issue) else { return Ok(None) };
        if self.performer.refusal(&Write::dashboard()).is_some() {
            return Ok(None);
        }
        let issue = self.host.issue(&self.facts.repository, number).await?;
        Ok(issue.filter(|issue| issue.state == IssueState::Open))
    }

    /// Says so where the write of this issue went over somebody's tick.
    async fn tell_lost_tick(
        self,
        keeping: Keeping<'_>,
        written: DesiredIssue,
    ) -> Result<DashboardWrite, SyncError> {
        let Some(issue) = written.as_read.as_ref().filter(|_| written.is_shown()) else {
            return Ok(DashboardWrite::Done);
        };
        let Some(notice) = self.lost_tick(keeping.board).await? else { return Ok(DashboardWrite::Done) };
        let now = match self.host.issue(&self.facts.repository, issue.number).await {
            Ok(now) => now,
            Err(error) => return self.performer.issue_refused(error).await,
        };
        match with_notice(keeping, written.record, now, notice) {
            Some(desired) => self.performer.bring_issue(&desired).await,
            None => Ok(DashboardWrite::Later),
        }
    }

    async fn open_dashboard(
        self,
        keeping: Keeping<'_>,
        desired: DesiredIssue,
    ) -> Result<DashboardWrite, SyncError> {
        let title = &desired.record.title;
        // An earlier try may have opened one and not heard of it, or died of hearing it.
        match self.list_dashboards(title).await {
            Ok(None) => {}
            Ok(Some(found)) => {
                let known = keeping.board.known.as_ref();
                let noted = known.map(|known| known.record.clone()).unwrap_or_default();
                self.performer.remember_issue(Some(found.number), noted).await?;
                return Ok(DashboardWrite::Later);
            }
            Err(SyncError::Host(error)) => return self.performer.issue_refused(error).await,
            Err(error) => return Err(error),
        }
        let labels = &keeping.planned.settings.dashboard.labels;
        let opened = match self.performer.open_issue(&desired, labels).await? {
            Ok(opened) => opened,
            Err(kept) => return Ok(kept),
        };
        // Another run, with another database say, may have opened one meanwhile: both see both, and choose the same.
        let chosen = match self.list_dashboards(title).await {
            Ok(chosen) => chosen,
            Err(SyncError::Host(error)) if error.is_refusal() => None,
            Err(error) => return Err(error),
        };
        match chosen.filter(|chosen| chosen.number != opened.number) {
            None => Ok(DashboardWrite::Done),
            Some(other) => {
                let body = duplicate(self.facts, desired.record, other.number);
                self.performer.close_duplicate(&opened, body, &other).await
            }
        }
    }
}
