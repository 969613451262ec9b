//! The body of the dashboard, brought to what there is to tell; and the issue itself opened, closed and opened again.

use capstan_plan::proposal::{Decisions, ProposalId};
use capstan_plan::settings::CommandPrefix;
use capstan_report::{
    Answer, BlockingConflict, CampaignStanding, ClosedDashboard, Dashboard, DashboardReading,
    DashboardRecord, EarlierText, Entry, HeardTicks, Notice, ProposalState, closed_dashboard, dashboard_text,
    is_worth_telling, newest_notices, remembered_texts,
};
use jiff::SignedDuration;

use super::super::answer_parts::in_one_line;
use super::super::outcome::{Outcome, ProposalOutcome};
use super::super::refusals::Write;
use super::super::request::{Origin, Request};
use super::super::{Planned, Run, SyncError};
use super::kept::Kept;
use super::{Board, Standing};
use capstan_ports::{AuditEntry, Issue, IssueEdit, IssueState, NewIssue};

/// So long the answer to a tick stands there, and so many of them.
const TOLD_FOR: SignedDuration = SignedDuration::from_hours(24);
const MOST_NOTICES: usize = 10;
/// So many characters of an answer to a tick stand there.
const LONGEST_NOTICE: usize = 1_500;

/// What is written.
struct Wanted {
    record: DashboardRecord,
    text: String,
    /// What the issue becomes, where it is not that already.
    state: Option<IssueState>,
}

impl Run<'_> {
    /// Brings the dashboard to what there is to tell, the answers to ticks included.
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
            // What would be told of it, and the ticks, which nobody has read.
            Standing::Unread => return Ok(Kept::Later),
            Standing::Refused(why) => {
                return Ok(Kept::Not(format!("GitHub refuses the dashboard issue: {why}")));
            }
        }
        let ticks: Vec<&Request> =
            requests.iter().filter(|request| matches!(request.origin, Origin::Tick { .. })).collect();
        let is_overtaken = |request: &&&Request| {
            request.rewritten.iter().any(|proposal| outcome.overtaken.contains(proposal))
        };
        if ticks.len() < board.ticks || ticks.iter().any(|request| is_overtaken(&request)) {
            return Ok(Kept::Later);
        }
        let mut answered = Vec::new();
        for tick in ticks {
            answered.push((tick, self.parts(tick, planned, outcome, &Kept::Done).await?));
        }
        let settings = &planned.settings.dashboard;
        let asked_for = settings.enabled == Some(true);
        let mut record = DashboardRecord {
            title: settings.title.clone(),
            asked_for,
            closed: None,
            pause: planned.decided.pause().cloned(),
            decisions: self.decisions_without_pull_request(planned, outcome),
            campaigns: outcome.campaigns.notes.clone(),
            notices: self.notices(board, &answered),
            ..board.record.clone()
        };
        let is_declined = board.record.closed.is_none()
            && board.issue.as_ref().is_some_and(|issue| issue.state == IssueState::Closed);
        let kept = if is_declined && (!asked_for || board.record.asked_for) {
            // What people see of it stays as it was when they closed it; what they decide is noted all the same.
            record.title.clone_from(&board.record.title);
            record.notices.clone_from(&board.record.notices);
            self.note_below(board, record).await?
        } else {
            let entries = self.entries(planned, outcome);
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
            for (tick, answers) in answered {
                self.audit_commands(tick, &answers).await?;
            }
        }
        Ok(kept)
    }

    /// Says in an open dashboard that nothing can be planned. Its ticks stay until something can.
    pub(in super::super) async fn tell_dashboard(self, problem: &str) -> Result<(), SyncError> {
        let repository = self.repository.id;
        let Some(known) = self.ports.records.dashboard(repository).await? else { return Ok(()) };
        let (Some(number), None) = (known.issue, self.refusal(&Write::dashboard())) else { return Ok(()) };
        let issue = match self.ports.host.issue(self.repository, number).await {
            Ok(Some(issue)) if issue.state == IssueState::Open => issue,
            Err(error) if !error.is_refusal() => return Err(error.into()),
            _ => return Ok(()),
        };
        let Some(record) = self.record_of(&issue.body) else { return Ok(()) };
        if self.reading_of(&issue.body, &record) != DashboardReading::AsWritten {
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

    /// Says so where the write of this record went over somebody's tick.
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
            |issue: &Issue| self.reading_of(&issue.body, &again.record) == DashboardReading::AsWritten;
        if !again.issue.as_ref().is_some_and(is_as_written) {
            return Ok(Kept::Later);
        }
        let (kept, _) = self.write_dashboard(&again, Wanted { record, text, state: None }, &[]).await?;
        Ok(kept)
    }

    /// Closes it where the settings say that there is none: what is noted in it counts again when there is to be one.
    async fn close_dashboard(&self, board: &Board) -> Result<(), SyncError> {
        let Some(number) = board.known.as_ref().and_then(|known| known.issue) else { return Ok(()) };
        if self.refusal(&Write::dashboard()).is_some() {
            return Ok(());
        }
        let issue = match self.ports.host.issue(self.repository, number).await {
            Ok(Some(issue)) if issue.state == IssueState::Open => issue,
            Ok(_) => return Ok(()),
            Err(error) => return self.dashboard_refused(error).await.map(drop),
        };
        let Some(record) = self.record_of(&issue.body) else { return Ok(()) };
        let record =
            DashboardRecord { closed: Some(ClosedDashboard::Settings), notices: Vec::new(), ..record };
        let text = closed_dashboard("the settings keep no dashboard (`dashboard.enabled`, `mode`).");
        let board = Board { issue: Some(issue), ..Board::new(Standing::Kept, record.clone(), None) };
        let wanted = Wanted { record, text, state: Some(IssueState::Closed) };
        self.write_dashboard(&board, wanted, &[]).await.map(drop)
    }

    /// Writes the record alone, below what stands there.
    async fn note_below(&self, board: &Board, record: DashboardRecord) -> Result<Kept, SyncError> {
        let Some(issue) = &board.issue else { return Ok(Kept::Done) };
        if record.says(&board.record) {
            return Ok(Kept::Done);
        }
        let text = format!("{}\n", capstan_report::dashboard_above(&issue.body).trim_end());
        let (kept, _) = self.write_dashboard(board, Wanted { record, text, state: None }, &[]).await?;
        Ok(kept)
    }

    /// With the record as it was written, where the body of an issue that was there is another one now.
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
        let body = record.body(&text, &self.ports.key, self.repository.id);
        let Some(issue) = &board.issue else {
            return Ok((self.open_dashboard(board, record, body, labels).await?, None));
        };
        match self.ports.host.issue(self.repository, issue.number).await {
            Ok(Some(now)) if now.state == issue.state && is_same(&now.body, &issue.body) => {}
            // Deleted, closed, or edited since it was read: no tick is written over.
            Ok(_) => return Ok((Kept::Later, None)),
            Err(error) => return Ok((self.dashboard_refused(error).await?, None)),
        }
        let renamed = record.title != board.record.title && !board.record.title.is_empty();
        let title = renamed.then(|| record.title.clone());
        let edit = IssueEdit { title, body: Some(body), state };
        if let Err(error) = self.ports.host.edit_issue(self.repository, issue.number, &edit).await {
            return Ok((self.dashboard_refused(error).await?, None));
        }
        self.taken(&Write::dashboard()).await?;
        self.remember_dashboard(Some(issue.number), record.to_json(self.repository.id)).await?;
        match state {
            Some(IssueState::Open) => self.audit_dashboard("dashboard-reopened", issue.number).await?,
            Some(IssueState::Closed) => self.audit_dashboard("dashboard-closed", issue.number).await?,
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
        // An earlier try may have opened one and not heard of it, or died of hearing it.
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
        self.taken(&Write::dashboard()).await?;
        self.remember_dashboard(Some(opened.number), record.to_json(self.repository.id)).await?;
        self.audit_dashboard("dashboard-opened", opened.number).await?;
        // Another run, with another database say, may have opened one meanwhile: both see both, and choose the same.
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
        let body = record.body(&text, &self.ports.key, self.repository.id);
        let edit = IssueEdit { title: None, body: Some(body), state: Some(IssueState::Closed) };
        if let Err(error) = self.ports.host.edit_issue(self.repository, own.number, &edit).await {
            return self.dashboard_refused(error).await;
        }
        self.audit_dashboard("dashboard-closed", own.number).await?;
        self.remember_dashboard(Some(other.number), String::new()).await?;
        Ok(Kept::Later)
    }

    async fn audit_dashboard(&self, action: &'static str, number: u64) -> Result<(), SyncError> {
        let entry = AuditEntry {
            repository: self.repository.id,
            proposal: None,
            actor: "capstan".to_owned(),
            action,
            detail: format!("issue #{number}"),
        };
        Ok(self.ports.records.audit(&entry).await?)
    }

    /// What is still told of ticks, with what they are answered now.
    fn notices(&self, board: &Board, ticks: &[(&Request, Vec<Answer>)]) -> Vec<Notice> {
        let now = self.ports.clock.now();
        let is_new = |notice: &&Notice| now.duration_since(notice.at) < TOLD_FOR;
        let mut notices: Vec<Notice> = board.record.notices.iter().filter(is_new).cloned().collect();
        notices.extend(board.notices.iter().cloned());
        for (request, answers) in ticks {
            let answer = in_one_line(answers, LONGEST_NOTICE);
            let word = request.commands.iter().flatten().next().map_or("?", |command| command.verb().word());
            let text =
                format!("{} ticked `{word}`: {answer}", capstan_report::markdown::code(&request.by, 60));
            notices.push(Notice { at: now, text });
        }
        newest_notices(notices, MOST_NOTICES)
    }

    /// What was decided about proposals that have no pull request to note it in.
    fn decisions_without_pull_request(
        &self,
        planned: Planned<'_>,
        outcome: &Outcome,
    ) -> Vec<(ProposalId, Decisions)> {
        let decided = planned.decided;
        let noted = |proposal: &ProposalId| {
            let state = outcome.proposals.get(proposal);
            let has_pull =
                outcome.is_noted(self.facts, proposal) || state.is_some_and(|state| state.pull.is_some());
            let plan = planned.plans.get(proposal).filter(|_| !has_pull)?;
            let decisions = decided.of(proposal);
            let decisions = match plan {
                Ok(upgrade) => decisions.still(upgrade, self.today),
                Err(_) => decisions,
            };
            let blocks = state.is_some_and(|one| one.state == ProposalState::Blocked);
            let decisions = decisions.without_pull_request(blocks);
            (!decisions.is_empty()).then(|| (proposal.clone(), decisions))
        };
        decided.all().filter_map(noted).collect()
    }

    fn entries(&self, planned: Planned<'_>, outcome: &Outcome) -> Vec<Entry> {
        let entry = |(proposal, one): (&ProposalId, &ProposalOutcome)| {
            let upgrade = planned.plans.get(proposal).and_then(|plan| plan.as_ref().ok());
            let blocking = upgrade
                .iter()
                .flat_map(|upgrade| &upgrade.conflicts)
                .filter(|conflict| conflict.blocks && !conflict.settling.values.is_empty());
            let carries = |id: &&ProposalId| {
                !outcome.superseded.contains(*id) && outcome.members_of(self.facts, id).contains(proposal)
            };
            let carrier = self.facts.carrier(proposal).filter(|_| !one.state.is_over()).filter(carries);
            let open = carrier.and_then(|id| self.facts.proposals.get(id)).map(|pull| pull.number);
            Entry {
                proposal: proposal.clone(),
                state: one.state,
                why: one.why.clone(),
                pull: one.pull.or(open),
                at: upgrade.and_then(|upgrade| upgrade.from.as_ref()).map(ToString::to_string),
                offered: upgrade.and_then(|upgrade| upgrade.to.as_ref()).map(ToString::to_string),
                conflicts: blocking
                    .map(|conflict| BlockingConflict {
                        object: format!("{}/{}", conflict.object.kind, conflict.object.name),
                        path: conflict.path.to_string(),
                    })
                    .collect(),
                hold: planned.decided.of(proposal).hold_on(self.today).cloned(),
            }
        };
        outcome.told().map(entry).collect()
    }
}

/// What is noted of texts that Capstan wrote before, once the present one is written over too.
fn earlier_texts(board: &Board) -> Vec<EarlierText> {
    let mut earlier = board.record.earlier.clone();
    for (boxes, choice) in &board.late {
        earlier.iter_mut().filter(|text| text.is_of(boxes)).for_each(|text| text.hear(choice));
    }
    if board.issue.is_none() {
        return earlier;
    }
    let heard = match &board.reading {
        DashboardReading::AsWritten => HeardTicks::These(&[]),
        DashboardReading::Ticked(choices) => HeardTicks::These(choices),
        // Whoever edited the page was told that no tick was heard.
        DashboardReading::Edited => HeardTicks::Whatever,
    };
    remembered_texts(earlier, EarlierText::of(board.record.edition, &board.record.text, heard))
}

/// Line ends and blanks at the end aside.
fn is_same(one: &str, other: &str) -> bool {
    one.trim_end().lines().eq(other.trim_end().lines())
}
