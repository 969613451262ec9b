//! What becomes of the dashboard issue: whether it is written now, and what it is to be then.

use capstan_facts::{Issue, IssueState};
use capstan_plan::settings::CommandPrefix;
use capstan_report::{
    Answer, ClosedDashboard, Dashboard, DashboardReading, DashboardRecord, Notice, closed_dashboard,
    dashboard_above, dashboard_text, is_worth_telling, newest_notices,
};
use jiff::Timestamp;

use super::board::{Board, DashboardState, reading_of, record_of};
use super::keep::{MOST_NOTICES, earlier_texts, entries, is_answered_now, is_declined, is_same, record};
use crate::facts::Facts;
use crate::planned::PlannedRun;
use crate::proposals::{DecisionStep, Outcome};
use crate::requests::DashboardWrite;
use crate::requests::Request;

/// What decides about the dashboard.
#[derive(Clone, Copy)]
pub struct Keeping<'a> {
    /// What is planned.
    pub planned: PlannedRun<'a>,
    /// What became of the proposals.
    pub outcome: &'a Outcome,
    /// The issue, as it was read.
    pub board: &'a Board,
    /// What people asked for.
    pub requests: &'a [Request],
    /// The time.
    pub now: Timestamp,
}

/// Requests with what they are answered.
pub type AnsweredRequests<'a> = Vec<(&'a Request, Vec<Answer>)>;

/// What is done about the dashboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DashboardStep {
    /// Nothing.
    Ends(DashboardWrite),
    /// It is closed: the settings disable it.
    Closes,
    /// It is brought to what it should be.
    Writes(Box<DesiredIssue>),
}

/// The dashboard issue as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesiredIssue {
    /// As it was read; `None` where it is to be opened.
    pub as_read: Option<Issue>,
    /// Its title, where that is new.
    pub title: Option<String>,
    pub body: String,
    /// What it becomes, where it is not that already.
    pub state: Option<IssueState>,
    /// What is noted in it.
    pub record: DashboardRecord,
}

impl DesiredIssue {
    /// Whether the issue is as it was read: not deleted, closed or edited since. No tick is written over.
    pub fn is_as_read(&self, now: Option<&Issue>) -> bool {
        let is_it = |read: &Issue, now: &Issue| now.state == read.state && is_same(&now.body, &read.body);
        self.as_read.as_ref().zip(now).is_some_and(|(read, now)| is_it(read, now))
    }

    /// Whether it is open once it is written.
    pub fn is_shown(&self) -> bool {
        let state = self.state.or(self.as_read.as_ref().map(|read| read.state));
        state.is_none_or(|state| state == IssueState::Open)
    }
}

/// Decides about the dashboard; asks for the answers to ticks and pressed buttons, which it tells.
pub fn keep<'a>(
    keeping: Keeping<'a>,
    answered: Option<&AnsweredRequests<'a>>,
) -> DecisionStep<DashboardStep, Vec<&'a Request>> {
    let Keeping { planned, outcome, board, requests, now } = keeping;
    let ends = |kept| DecisionStep::Decided(DashboardStep::Ends(kept));
    match &board.standing {
        DashboardState::Kept => {}
        DashboardState::Off => return DecisionStep::Decided(DashboardStep::Closes),
        // Nobody has read the issue: neither what it says nor its ticks are known.
        DashboardState::Unread => return ends(DashboardWrite::Later),
        DashboardState::Refused(why) => return ends(refused(why)),
    }
    let ticks: Vec<&Request> = requests.iter().filter(|request| request.is_tick()).collect();
    if !is_answered_now(board, &ticks, outcome) {
        return ends(DashboardWrite::Later);
    }
    let Some(answered) = answered else {
        return DecisionStep::Ask(
            ticks.into_iter().chain(requests.iter().filter(|request| request.is_of_page())).collect(),
        );
    };
    let asked_for = planned.settings.dashboard.enabled == Some(true);
    let record = record(planned, outcome, board, answered, now);
    let issue = board.issue.as_ref();
    let (text, state) = if is_declined(board, asked_for) {
        // The record alone is written, below what is there.
        let Some(issue) = issue.filter(|_| !record.says(&board.record)) else {
            return ends(DashboardWrite::Done);
        };
        (format!("{}\n", dashboard_above(&issue.body).trim_end()), None)
    } else {
        let Some(text) = text_of(keeping, &record) else { return ends(DashboardWrite::Done) };
        (text, issue.filter(|issue| issue.state == IssueState::Closed).map(|_| IssueState::Open))
    };
    match desired(planned.facts, board, record, (text, state)) {
        Some(issue) => DecisionStep::Decided(DashboardStep::Writes(Box::new(issue))),
        None => ends(DashboardWrite::Done),
    }
}

/// What people read where GitHub refuses the issue.
pub fn refused(why: &str) -> DashboardWrite {
    DashboardWrite::Not(format!("GitHub refuses the dashboard issue: {why}"))
}

/// What the issue tells; `None` where none is opened for that.
fn text_of(keeping: Keeping<'_>, record: &DashboardRecord) -> Option<String> {
    let Keeping { planned, outcome, board, .. } = keeping;
    let entries = entries(planned, outcome);
    let prefix = planned.settings.commands.prefix.as_str();
    let campaigns = outcome.campaigns.standings.as_slice();
    let told = Dashboard { prefix, entries: &entries, campaigns, record, trouble: None };
    (board.issue.is_some() || is_worth_telling(&told)).then(|| dashboard_text(&told))
}

/// The issue with a notice that a tick was written over; `None` where its body is no longer as Capstan wrote it.
/// `written` is the record of that write, and `issue` is as it is now.
pub fn with_notice(
    keeping: Keeping<'_>,
    written: DashboardRecord,
    issue: Option<Issue>,
    notice: Notice,
) -> Option<DesiredIssue> {
    let facts = keeping.planned.facts;
    let body = &issue.as_ref()?.body;
    if reading_of(facts, body, &written) != DashboardReading::AsWritten {
        return None;
    }
    let notices = newest_notices([written.notices.clone(), vec![notice]].concat(), MOST_NOTICES);
    let record = DashboardRecord { notices, ..written.clone() };
    let board = Board { issue, ..Board::new(DashboardState::Kept, written, keeping.board.known.clone()) };
    let text = text_of(Keeping { board: &board, ..keeping }, &record)?;
    desired(facts, &board, record, (text, None))
}

/// An open issue that says that nothing can be planned. Its ticks stay until something can.
pub fn in_trouble(facts: &Facts, issue: Issue, problem: &str) -> Option<DesiredIssue> {
    let record = record_of(facts, &issue.body)?;
    if reading_of(facts, &issue.body, &record) != DashboardReading::AsWritten {
        return None;
    }
    let prefix = CommandPrefix::default();
    let (entries, campaigns, trouble) = (&[], &[], Some(problem));
    let told = Dashboard { prefix: prefix.as_str(), entries, campaigns, record: &record, trouble };
    let text = dashboard_text(&told);
    let board = Board { issue: Some(issue), ..Board::new(DashboardState::Kept, record.clone(), None) };
    desired(facts, &board, record, (text, None))
}

/// An open issue that is closed, because the settings disable it: what is noted in it counts again once they do not.
pub fn disabled(facts: &Facts, issue: Issue) -> Option<DesiredIssue> {
    let record = record_of(facts, &issue.body)?;
    let closed = Some(ClosedDashboard::Settings);
    let record = DashboardRecord { closed, notices: Vec::new(), ..record };
    let text = closed_dashboard("the settings disable the dashboard (`dashboard.enabled`, `mode`).");
    let board = Board { issue: Some(issue), ..Board::new(DashboardState::Kept, record.clone(), None) };
    desired(facts, &board, record, (text, Some(IssueState::Closed)))
}

/// The body of an issue that is closed, because the other one was opened at the same time.
pub fn duplicate(facts: &Facts, record: DashboardRecord, other: u64) -> String {
    let text = closed_dashboard(&format!("it was opened at the same time as issue {other}, which is kept."));
    let record = DashboardRecord { closed: Some(ClosedDashboard::Duplicate), ..record }.with_text(&text);
    record.body(&text, &facts.key, facts.repository.id)
}

/// The issue with that record and text; `None` where it says that already.
fn desired(
    facts: &Facts,
    board: &Board,
    record: DashboardRecord,
    (text, state): (String, Option<IssueState>),
) -> Option<DesiredIssue> {
    let record = record.with_text(&text);
    let stays = state.is_none() && board.reading == DashboardReading::AsWritten;
    if board.issue.is_some() && stays && record.says(&board.record) {
        return None;
    }
    let (edition, earlier) = (board.record.edition + 1, earlier_texts(board));
    let record = DashboardRecord { edition, earlier, ..record };
    let is_new = board.issue.is_none();
    let renamed = record.title != board.record.title && !board.record.title.is_empty();
    Some(DesiredIssue {
        as_read: board.issue.clone(),
        title: (is_new || renamed).then(|| record.title.clone()),
        body: record.body(&text, &facts.key, facts.repository.id),
        state,
        record,
    })
}
