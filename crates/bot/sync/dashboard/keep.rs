//! Updates the dashboard's body; opens, closes and reopens the issue.

use capstan_bot_core::dashboard::{
    Board, MOST_NOTICES, Standing, earlier_texts, entries, is_answered_now, is_declined, is_same, reading_of,
    record, record_of,
};
use capstan_bot_core::facts::Write;
use capstan_bot_core::planned::Planned;
use capstan_bot_core::proposals::Outcome;
use capstan_bot_core::requests::{Kept, Request};
use capstan_plan::settings::CommandPrefix;
use capstan_report::{
    CampaignStanding, ClosedDashboard, Dashboard, DashboardReading, DashboardRecord, Entry, closed_dashboard,
    dashboard_text, is_worth_telling, newest_notices,
};

use super::super::{Run, SyncError};
use capstan_ports::{Issue, IssueEdit, IssueState, NewIssue};

/// What is written.
struct Wanted {
    record: DashboardRecord,
    text: String,
    /// The state of the issue, if it has to change.
    state: Option<IssueState>,
}

impl Run<'_> {
    /// Updates the dashboard, including the answers to ticks.
    pub(in super::super) async fn keep_dashboard(
        self,
        planned: Planned<'_>,
        outcome: &Outcome,
        board: &Board,
        requests: &[Request],
    ) -> Result<Kept, SyncError> {
        match &board.standing {
            Standing::Kept => {}
            Standing::Off => {
                self.close_dashboard(board).await?;
                return Ok(Kept::Done);
            }
            // The dashboard was not read, and neither were its ticks.
            Standing::Unread => return Ok(Kept::Later),
            Standing::Refused(why) => {
                return Ok(Kept::Not(format!("GitHub refuses the dashboard issue: {why}")));
            }
        }
        let ticks: Vec<&Request> = requests.iter().filter(|request| request.is_tick()).collect();
        if !is_answered_now(board, &ticks, outcome) {
            return Ok(Kept::Later);
        }
        let mut answered = Vec::new();
        let pressed = requests.iter().filter(|request| request.is_of_page());
        for tick in ticks.into_iter().chain(pressed) {
            answered.push((tick, self.parts(tick, planned, outcome, &Kept::Done).await?));
        }
        let settings = &planned.settings.dashboard;
        let asked_for = settings.enabled == Some(true);
        let record = record(planned, outcome, board, &answered, self.ports.clock.now());
        let kept = if is_declined(board, asked_for) {
            self.note_below(board, record).await?
        } else {
            let entries = entries(planned, outcome);
            let prefix = planned.settings.commands.prefix.as_str();
            let campaigns = outcome.campaigns.standings.as_slice();
            let told = Dashboard { prefix, entries: &entries, campaigns, record: &record, trouble: None };
            if board.issue.is_none() && !is_worth_telling(&told) {
                return Ok(Kept::Done);
            }
            let text = dashboard_text(&told);
            let is_closed = board.issue.as_ref().is_some_and(|issue| issue.state == IssueState::Closed);
            let state = is_closed.then_some(IssueState::Open);
            match self.write_dashboard(board, Wanted { record, text, state }, &settings.labels).await? {
                (Kept::Done, Some(written)) => {
                    self.tell_lost_tick(board, written, (prefix, &entries, campaigns)).await?
                }
                (kept, _) => kept,
            }
        };
        if kept == Kept::Done {
            for (tick, answers) in answered.into_iter().filter(|(request, _)| request.is_tick()) {
                self.audit_commands(tick, &answers, planned.scopes).await?;
            }
        }
        Ok(kept)
    }

    /// Says in an open dashboard that nothing can be planned. Its ticks stay until something can.
    pub(in super::super) async fn tell_dashboard(self, problem: &str) -> Result<(), SyncError> {
        let repository = self.repository.id;
        let Some(known) = self.ports.records.dashboard(repository).await? else { return Ok(()) };
        let (Some(number), None) = (known.issue, self.performer.refusal(&Write::dashboard())) else {
            return Ok(());
        };
        let issue = match self.ports.host.issue(self.repository, number).await {
            Ok(Some(issue)) if issue.state == IssueState::Open => issue,
            Err(error) if !error.is_refusal() => return Err(error.into()),
            _ => return Ok(()),
        };
        let Some(record) = record_of(self.facts, &issue.body) else { return Ok(()) };
        if reading_of(self.facts, &issue.body, &record) != DashboardReading::AsWritten {
            return Ok(());
        }
        let prefix = CommandPrefix::default();
        let told = Dashboard {
            prefix: prefix.as_str(),
            entries: &[],
            campaigns: &[],
            record: &record,
            trouble: Some(problem),
        };
        let text = dashboard_text(&told);
        let board = Board { issue: Some(issue), ..Board::new(Standing::Kept, record.clone(), Some(known)) };
        self.write_dashboard(&board, Wanted { record, text, state: None }, &[]).await.map(drop)
    }

    /// Says so where the write of this record overwrote a person's tick.
    async fn tell_lost_tick(
        &self,
        board: &Board,
        written: DashboardRecord,
        (prefix, entries, campaigns): (&str, &[Entry], &[CampaignStanding]),
    ) -> Result<Kept, SyncError> {
        let (Some(issue), Some(notice)) = (&board.issue, self.lost_tick(board).await?) else {
            return Ok(Kept::Done);
        };
        let issue = match self.ports.host.issue(self.repository, issue.number).await {
            Ok(issue) => issue,
            Err(error) => return self.dashboard_refused(error).await,
        };
        let notices = newest_notices([written.notices.clone(), vec![notice]].concat(), MOST_NOTICES);
        let record = DashboardRecord { notices, ..written.clone() };
        let text = dashboard_text(&Dashboard { prefix, entries, campaigns, record: &record, trouble: None });
        let again = Board { issue, ..Board::new(Standing::Kept, written, board.known.clone()) };
        let is_as_written =
            |issue: &Issue| reading_of(self.facts, &issue.body, &again.record) == DashboardReading::AsWritten;
        if !again.issue.as_ref().is_some_and(is_as_written) {
            return Ok(Kept::Later);
        }
        let (kept, _) = self.write_dashboard(&again, Wanted { record, text, state: None }, &[]).await?;
        Ok(kept)
    }

    /// Closes it where the settings switch it off: its record counts again when it is switched on.
    async fn close_dashboard(&self, board: &Board) -> Result<(), SyncError> {
        let Some(number) = board.known.as_ref().and_then(|known| known.issue) else { return Ok(()) };
        if self.performer.refusal(&Write::dashboard()).is_some() {
            return Ok(());
        }
        let issue = match self.ports.host.issue(self.repository, number).await {
            Ok(Some(issue)) if issue.state == IssueState::Open => issue,
            Ok(_) => return Ok(()),
            Err(error) => return self.dashboard_refused(error).await.map(drop),
        };
        let Some(record) = record_of(self.facts, &issue.body) else { return Ok(()) };
        let record =
            DashboardRecord { closed: Some(ClosedDashboard::Settings), notices: Vec::new(), ..record };
        let text = closed_dashboard("the settings disable the dashboard (`dashboard.enabled`, `mode`).");
        let board = Board { issue: Some(issue), ..Board::new(Standing::Kept, record.clone(), None) };
        let wanted = Wanted { record, text, state: Some(IssueState::Closed) };
        self.write_dashboard(&board, wanted, &[]).await.map(drop)
    }

    /// Writes only the record, below the present text.
    async fn note_below(&self, board: &Board, record: DashboardRecord) -> Result<Kept, SyncError> {
        let Some(issue) = &board.issue else { return Ok(Kept::Done) };
        if record.says(&board.record) {
            return Ok(Kept::Done);
        }
        let text = format!("{}\n", capstan_report::dashboard_above(&issue.body).trim_end());
        let (kept, _) = self.write_dashboard(board, Wanted { record, text, state: None }, &[]).await?;
        Ok(kept)
    }

    /// Returns the record as it was written; it is not if the body of an existing issue changed meanwhile.
    async fn write_dashboard(
        &self,
        board: &Board,
        wanted: Wanted,
        labels: &[String],
    ) -> Result<(Kept, Option<DashboardRecord>), SyncError> {
        let Wanted { record, text, state } = wanted;
        let record = record.with_text(&text);
        let stays = state.is_none() && board.reading == DashboardReading::AsWritten;
        if board.issue.is_some() && stays && record.says(&board.record) {
            return Ok((Kept::Done, None));
        }
        let (edition, earlier) = (board.record.edition + 1, earlier_texts(board));
        let record = DashboardRecord { edition, earlier, ..record };
        let body = record.body(&text, &self.facts.key, self.repository.id);
        let Some(issue) = &board.issue else {
            return Ok((self.open_dashboard(board, record, body, labels).await?, None));
        };
        match self.ports.host.issue(self.repository, issue.number).await {
            Ok(Some(now)) if now.state == issue.state && is_same(&now.body, &issue.body) => {}
            // Deleted, closed, or edited since it was read: no tick is overwritten.
            Ok(_) => return Ok((Kept::Later, None)),
            Err(error) => return Ok((self.dashboard_refused(error).await?, None)),
        }
        let renamed = record.title != board.record.title && !board.record.title.is_empty();
        let title = renamed.then(|| record.title.clone());
        let edit = IssueEdit { title, body: Some(body), state };
        if let Err(error) = self.ports.host.edit_issue(self.repository, issue.number, &edit).await {
            return Ok((self.dashboard_refused(error).await?, None));
        }
        self.performer.taken(&Write::dashboard()).await?;
        self.remember_dashboard(Some(issue.number), record.to_json(self.repository.id)).await?;
        match state {
            Some(IssueState::Open) => {
                self.performer.audit(None, "dashboard-reopened", format!("issue #{}", issue.number)).await?
            }
            Some(IssueState::Closed) => {
                self.performer.audit(None, "dashboard-closed", format!("issue #{}", issue.number)).await?
            }
            None => {}
        }
        Ok((Kept::Done, Some(record)))
    }

    async fn open_dashboard(
        &self,
        board: &Board,
        record: DashboardRecord,
        body: String,
        labels: &[String],
    ) -> Result<Kept, SyncError> {
        let title = record.title.clone();
        // An earlier try may have opened one without receiving the answer.
        match self.list_dashboards(&title).await {
            Ok(None) => {}
            Ok(Some(found)) => {
                let noted = board.known.as_ref().map(|known| known.record.clone()).unwrap_or_default();
                self.remember_dashboard(Some(found.number), noted).await?;
                return Ok(Kept::Later);
            }
            Err(SyncError::Host(error)) => return self.dashboard_refused(error).await,
            Err(error) => return Err(error),
        }
        let new = NewIssue { title: title.clone(), body, labels: labels.to_vec() };
        let opened = match self.ports.host.create_issue(self.repository, &new).await {
            Ok(opened) => opened,
            Err(error) => return self.dashboard_refused(error).await,
        };
        self.performer.taken(&Write::dashboard()).await?;
        self.remember_dashboard(Some(opened.number), record.to_json(self.repository.id)).await?;
        self.performer.audit(None, "dashboard-opened", format!("issue #{}", opened.number)).await?;
        // Another run, for example with another database, may have opened one meanwhile: both see both, and
        // choose the same.
        let chosen = match self.list_dashboards(&title).await {
            Ok(chosen) => chosen,
            Err(SyncError::Host(error)) if error.is_refusal() => None,
            Err(error) => return Err(error),
        };
        match chosen.filter(|chosen| chosen.number != opened.number) {
            None => Ok(Kept::Done),
            Some(other) => self.close_duplicate(&opened, record, &other).await,
        }
    }

    async fn close_duplicate(
        &self,
        own: &Issue,
        record: DashboardRecord,
        other: &Issue,
    ) -> Result<Kept, SyncError> {
        let text = closed_dashboard(&format!(
            "it was opened at the same time as issue {}, which is kept.",
            other.number
        ));
        let record = DashboardRecord { closed: Some(ClosedDashboard::Duplicate), ..record }.with_text(&text);
        let body = record.body(&text, &self.facts.key, self.repository.id);
        let edit = IssueEdit { title: None, body: Some(body), state: Some(IssueState::Closed) };
        if let Err(error) = self.ports.host.edit_issue(self.repository, own.number, &edit).await {
            return self.dashboard_refused(error).await;
        }
        self.performer.audit(None, "dashboard-closed", format!("issue #{}", own.number)).await?;
        self.remember_dashboard(Some(other.number), String::new()).await?;
        Ok(Kept::Later)
    }
}
