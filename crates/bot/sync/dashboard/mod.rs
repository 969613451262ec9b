//! The dashboard issue: found, read, its ticks heard, and its body kept.
//!
//! *Expected flow.* The issue is read when the run begins: what is decided in it counts, and boxes that were ticked are
//! requests like those of comments ([`ticks`]). Once the proposals are as they should be, its body is brought to what
//! there is to tell ([`keep`]), before anybody is answered: who is told that Capstan is paused can rely on it.
//!
//! *Guarantees.* One issue for each repository: it is known by its number, and where that is lost by its author and what
//! Capstan noted in it, whatever it is called. Who closes it declines it. Its body is written only when it changes, and
//! only while it is as it was read. GitHub takes no condition with the write: a tick of that instant is written over, and
//! heard all the same by the delivery that tells of it ([`ticks`]). No comment is made.
//! What GitHub refuses of it (issues switched off, a permission that lacks) is remembered and costs nothing else. Where it
//! cannot be read just now, what was noted in it last counts, and ticks wait; where the database was lost too, nobody knows
//! what people decided, and the run ends.

mod keep;
mod kept;
mod ticks;

use capstan_plan::settings::RepositorySettings;
use capstan_report::{
    Choice, ClosedDashboard, DashboardReading, DashboardRecord, Notice, TickedBoxes, read_dashboard,
};

pub(super) use self::kept::Kept;

use super::refusals::Write;
use super::request::Request;
use super::{Ending, Run, SyncError};
use capstan_ports::{CodeHostError, Issue, IssueState, KnownDashboard};

/// Whether the issue is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Standing {
    /// It is.
    Kept,
    /// The settings say that there is none.
    Off,
    /// GitHub refuses it, and why.
    Refused(String),
    /// It could not be read just now.
    Unread,
}

/// The dashboard, as a run finds it.
pub(super) struct Board {
    pub(super) standing: Standing,
    /// What is known of it beside GitHub.
    known: Option<KnownDashboard>,
    issue: Option<Issue>,
    /// What is noted in it; empty where nothing is.
    pub(super) record: DashboardRecord,
    reading: DashboardReading,
    /// What is said of ticks that are no requests.
    notices: Vec<Notice>,
    /// How many boxes are requests now: with one of them unanswered the body stays.
    ticks: usize,
    /// How often others had edited the body since Capstan wrote it, when it was read.
    edits: usize,
    /// Ticks that Capstan had written over, and that are requests now: each with the delivery that told of it.
    late: Vec<(TickedBoxes, Choice)>,
}

impl Board {
    fn new(standing: Standing, record: DashboardRecord, known: Option<KnownDashboard>) -> Self {
        let (issue, reading) = (None, DashboardReading::AsWritten);
        let (notices, late) = (Vec::new(), Vec::new());
        Self { standing, known, issue, record, reading, notices, ticks: 0, edits: 0, late }
    }

    /// Why nothing can be noted in it, where that is so.
    pub(super) fn why_not(&self) -> Option<String> {
        match &self.standing {
            Standing::Kept | Standing::Unread => None,
            Standing::Off => Some("the settings keep no dashboard issue (`dashboard.enabled`)".to_owned()),
            Standing::Refused(why) => Some(format!("GitHub refuses the dashboard issue: {why}")),
        }
    }
}

/// Of the dashboards of a repository the one that counts, by what Capstan noted in each: one that is open, and the
/// oldest of those.
fn choose(
    issues: Vec<Issue>,
    read: impl Fn(&Issue) -> Option<DashboardRecord>,
    title: &str,
) -> Option<Issue> {
    let rank = |issue: &Issue| {
        let rank = match read(issue).map(|record| record.closed) {
            Some(Some(ClosedDashboard::Duplicate)) => return None,
            Some(_) => 0,
            // Somebody took the record out: Capstan opens no other issues.
            None if issue.state == IssueState::Open && issue.title == title => 1,
            None => return None,
        };
        Some((rank, issue.state != IssueState::Open, issue.number))
    };
    let ranked = issues.into_iter().filter_map(|issue| Some((rank(&issue)?, issue)));
    ranked.min_by_key(|(rank, _)| *rank).map(|(_, issue)| issue)
}

impl Run<'_> {
    /// Finds and reads it; the requests are its ticks.
    pub(super) async fn read_dashboard(
        &self,
        settings: &RepositorySettings,
        ending: &mut Ending,
    ) -> Result<(Board, Vec<Request>), SyncError> {
        let repository = self.repository.id;
        let known = self.ports.records.dashboard(repository).await?;
        let remembered = known.as_ref().and_then(|known| DashboardRecord::of_json(&known.record, repository));
        if !settings.keeps_dashboard() {
            return Ok((Board::new(Standing::Off, DashboardRecord::default(), known), Vec::new()));
        }
        if let Some(refusal) = self.refusal(&Write::dashboard()) {
            let standing = Standing::Refused(refusal.reason.clone());
            return Ok((Board::new(standing, remembered.unwrap_or_default(), known), Vec::new()));
        }
        let looked = self.look_at_dashboard(settings, known.as_ref(), remembered.as_ref()).await;
        let Some(record) = remembered else { return looked };
        let looked = ending.isolate(self.repository, "reading the dashboard", looked)?;
        Ok(looked.unwrap_or_else(|| (Board::new(Standing::Unread, record, known), Vec::new())))
    }

    /// `remembered` is what the database knows of what was noted in it.
    async fn look_at_dashboard(
        &self,
        settings: &RepositorySettings,
        known: Option<&KnownDashboard>,
        remembered: Option<&DashboardRecord>,
    ) -> Result<(Board, Vec<Request>), SyncError> {
        let (known, remembered) = (known.cloned(), remembered.cloned());
        let issue = match self.find_dashboard(known.as_ref(), &settings.dashboard.title).await {
            Ok(issue) => issue,
            Err(SyncError::Host(error)) if error.is_refusal() => {
                self.refused(&Write::dashboard(), &error.to_string()).await?;
                let standing = Standing::Refused(error.to_string());
                return Ok((Board::new(standing, remembered.unwrap_or_default(), known), Vec::new()));
            }
            Err(error) => return Err(error),
        };
        let found = issue.as_ref().and_then(|issue| self.record_of(&issue.body));
        // Somebody may have brought back what an older body said; a database may be older than what was written.
        let record = match (found, remembered) {
            (Some(found), Some(remembered)) if remembered.edition > found.edition => remembered,
            (Some(found), _) => found,
            (None, remembered) => remembered.unwrap_or_default(),
        };
        let mut board = Board { issue, ..Board::new(Standing::Kept, record, known) };
        let mut requests = self.hear_ticks(&mut board, settings).await?;
        requests.extend(self.hear_late_ticks(&mut board, settings, requests.len()).await?);
        Ok((board, requests))
    }

    fn record_of(&self, body: &str) -> Option<DashboardRecord> {
        DashboardRecord::read(body, &self.ports.key, self.repository.id)
    }

    /// How a body reads, of which that is noted.
    fn reading_of(&self, body: &str, record: &DashboardRecord) -> DashboardReading {
        read_dashboard(body, record, &self.ports.key, self.repository.id)
    }

    async fn find_dashboard(
        &self,
        known: Option<&KnownDashboard>,
        title: &str,
    ) -> Result<Option<Issue>, SyncError> {
        if let Some(number) = known.and_then(|known| known.issue)
            && let Some(issue) = self.ports.host.issue(self.repository, number).await?
        {
            return Ok(Some(issue));
        }
        // Where it was looked for and none was, nobody has made one since.
        if known.is_some_and(|known| known.issue.is_none()) {
            return Ok(None);
        }
        let found = self.list_dashboards(title).await?;
        let record = known.map(|known| known.record.clone()).unwrap_or_default();
        self.remember_dashboard(found.as_ref().map(|issue| issue.number), record).await?;
        Ok(found)
    }

    async fn list_dashboards(&self, title: &str) -> Result<Option<Issue>, SyncError> {
        let login = self.ports.host.bot_login().await?;
        let mut issues = self.ports.host.issues_by(self.repository, &login).await?;
        issues.retain(|issue| issue.author == login);
        Ok(choose(issues, |issue| self.record_of(&issue.body), title))
    }

    async fn remember_dashboard(&self, issue: Option<u64>, record: String) -> Result<(), SyncError> {
        let known = KnownDashboard { repository: self.repository.id, issue, record };
        Ok(self.ports.records.save_dashboard(&known).await?)
    }

    /// What GitHub refuses of the dashboard is remembered, and is no error of the run's.
    async fn dashboard_refused(&self, error: CodeHostError) -> Result<Kept, SyncError> {
        if !error.is_refusal() {
            return Err(error.into());
        }
        self.refused(&Write::dashboard(), &error.to_string()).await?;
        Ok(Kept::Not(format!("GitHub refuses the dashboard issue: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use capstan_report::BlockKey;

    use super::*;

    #[test]
    fn of_several_the_open_one_counts_then_the_oldest_and_never_a_duplicate() {
        let key = BlockKey::derive(b"secret");
        let issue = |number, state, record: Option<DashboardRecord>| Issue {
            number,
            state,
            title: "Fleet".to_owned(),
            body: record.map_or_else(String::new, |record| record.body("Text.\n", &key, 7)),
            author: "capstan[bot]".to_owned(),
            node_id: String::new(),
        };
        let own = || Some(DashboardRecord::default());
        let by_settings = || {
            Some(DashboardRecord { closed: Some(ClosedDashboard::Settings), ..DashboardRecord::default() })
        };
        let duplicate = || {
            Some(DashboardRecord { closed: Some(ClosedDashboard::Duplicate), ..DashboardRecord::default() })
        };
        let (open, closed) = (IssueState::Open, IssueState::Closed);
        for (issues, expected) in [
            (vec![], None),
            (vec![issue(3, closed, own()), issue(5, open, own()), issue(6, open, own())], Some(5)),
            (vec![issue(3, closed, own()), issue(5, closed, by_settings())], Some(3)),
            (vec![issue(3, open, duplicate()), issue(5, closed, own())], Some(5)),
            (vec![issue(3, open, None), issue(5, closed, own())], Some(5)),
            (vec![issue(3, open, None)], Some(3)),
            (vec![issue(3, closed, None)], None),
        ] {
            let read = |issue: &Issue| DashboardRecord::read(&issue.body, &key, 7);
            assert_eq!(choose(issues, read, "Fleet").map(|issue| issue.number), expected);
        }
        let read = |issue: &Issue| DashboardRecord::read(&issue.body, &key, 7);
        assert_eq!(choose(vec![issue(3, open, None)], read, "Something else"), None);
    }
}
