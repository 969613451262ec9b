//! Ticks of the dashboard: GitHub says who changed the body since Capstan wrote it, and its delivery says who
//! made one edit.

use capstan_bot_core::dashboard::{
    Board, DashboardEdit, TickedBoxes, by_others, edited, late, reading_of, said_to_lost, tick_requests,
    written_over,
};
use capstan_bot_core::requests::{Request, right_of};
use capstan_plan::settings::RepositorySettings;
use capstan_report::{DashboardReading, Notice};

use super::super::SyncError;
use super::super::people::People;
use super::DashboardIssue;
use capstan_ports::{IssueState, IssueText};

impl DashboardIssue<'_> {
    /// The requests of ticks; other changes are only recorded, and reverted with the next write.
    pub(super) async fn hear_ticks(
        self,
        board: &mut Board,
        settings: &RepositorySettings,
    ) -> Result<Vec<Request>, SyncError> {
        let Some(issue) = board.issue.as_ref().filter(|issue| issue.state == IssueState::Open) else {
            return Ok(Vec::new());
        };
        if reading_of(self.facts, &issue.body, &board.record) == DashboardReading::AsWritten {
            return Ok(Vec::new());
        }
        let now = self.clock.now();
        let number = issue.number;
        let text = match self.host.issue_text(&self.facts.repository, issue).await {
            Ok(text) => text,
            Err(error) if error.is_refusal() => {
                tracing::warn!(repository = %self.facts.repository.name, issue = number, error = %error, "it is unknown who edited the dashboard");
                IssueText { body: issue.body.clone(), edits: Vec::new() }
            }
            Err(error) => return Err(error.into()),
        };
        // Body and editors of one read: a later tick is processed the next time.
        board.reading = reading_of(self.facts, &text.body, &board.record);
        if let Some(issue) = &mut board.issue {
            issue.body.clone_from(&text.body);
        }
        let own = self.host.bot_login().await?;
        board.edits = by_others(&text.edits, &own).len();
        let said = match edited(&board.reading, &text.edits, &own) {
            DashboardEdit::Nothing => return Ok(Vec::new()),
            DashboardEdit::Ticks(ticked) => {
                let requests = self.tick_requests(number, 0, ticked, settings).await?;
                board.ticks = requests.len();
                return Ok(requests);
            }
            DashboardEdit::Said(said) => said,
        };
        tracing::info!(repository = %self.facts.repository.name, issue = number, outcome = said, "the dashboard was edited");
        board.notices.push(Notice { at: now, text: said });
        Ok(Vec::new())
    }

    /// The requests of ticks that Capstan overwrote: the deliveries of those edits contain them. `heard` is
    /// how many ticks are requests already.
    pub(super) async fn hear_late_ticks(
        self,
        board: &mut Board,
        settings: &RepositorySettings,
        heard: usize,
    ) -> Result<Vec<Request>, SyncError> {
        let Some(issue) = board.issue.as_ref().filter(|issue| issue.state == IssueState::Open) else {
            return Ok(Vec::new());
        };
        let mut requests = Vec::new();
        for (ticks, choices) in late(&self.hints.ticks, &board.record.earlier) {
            tracing::info!(repository = %self.facts.repository.name, issue = issue.number, by = ticks.by, ticks = choices.len(), "processed ticks that had been overwritten");
            board.late.extend(choices.iter().map(|choice| (ticks.boxes.clone(), choice.clone())));
            let before = heard + requests.len();
            let ticked = TickedBoxes { by: &ticks.by, at: ticks.at, choices };
            requests.extend(self.tick_requests(issue.number, before, ticked, settings).await?);
        }
        board.ticks += requests.len();
        Ok(requests)
    }

    /// The answer to a person who edited the page between the last read and the following write of Capstan's:
    /// their tick is gone. `None` where nobody did, and where GitHub does not say.
    pub(super) async fn lost_tick(self, board: &Board) -> Result<Option<Notice>, SyncError> {
        let Some(issue) = &board.issue else { return Ok(None) };
        let text = match self.host.issue_text(&self.facts.repository, issue).await {
            Ok(text) => text,
            Err(error) if error.is_refusal() => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let own = self.host.bot_login().await?;
        let Some(edit) = written_over(&text.edits, &own, board.edits) else { return Ok(None) };
        // The next run processes the tick by the delivery of its edit.
        let since = edit.at - jiff::SignedDuration::from_secs(5);
        let told = self.records.arrivals(self.facts.repository.id, since).await?.ticks;
        if told.iter().any(|ticks| edit.by.as_deref() == Some(ticks.by.as_str())) {
            return Ok(None);
        }
        let (by, text) = said_to_lost(edit.by.as_deref());
        tracing::info!(repository = %self.facts.repository.name, issue = issue.number, by, "an edit of the dashboard was overwritten");
        Ok(Some(Notice { at: self.clock.now(), text }))
    }

    async fn tick_requests(
        self,
        number: u64,
        before: usize,
        ticked: TickedBoxes<'_>,
        settings: &RepositorySettings,
    ) -> Result<Vec<Request>, SyncError> {
        let mut people = People::of(self.host, &self.facts.repository);
        let right = right_of(people.permission(ticked.by).await?);
        Ok(tick_requests(self.facts, number, before, ticked, right, settings))
    }
}
