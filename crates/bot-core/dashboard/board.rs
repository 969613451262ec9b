//! The dashboard issue, as a run finds it.

use capstan_facts::{Issue, IssueState, KnownDashboard};
use capstan_report::{
    Choice, ClosedDashboard, DashboardReading, DashboardRecord, Notice, TickedBoxes, read_dashboard,
};

use crate::facts::Facts;

/// Whether the issue is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DashboardState {
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
#[derive(Debug, Clone)]
pub struct Board {
    /// Whether it is kept.
    pub standing: DashboardState,
    /// What is known of it beside GitHub.
    pub known: Option<KnownDashboard>,
    /// The issue, where there is one.
    pub issue: Option<Issue>,
    /// What is noted in it; empty where nothing is.
    pub record: DashboardRecord,
    /// How its body reads.
    pub reading: DashboardReading,
    /// Notices about ticks that are not requests.
    pub notices: Vec<Notice>,
    /// How many boxes are requests now: with one of them unanswered the body stays.
    pub ticks: usize,
    /// How often others had edited the body since Capstan wrote it, when it was read.
    pub edits: usize,
    /// Ticks that Capstan had written over, and that are requests now: each with the delivery that reported it.
    pub late: Vec<(TickedBoxes, Choice)>,
}

impl Board {
    /// One of which nothing was read.
    pub fn new(standing: DashboardState, record: DashboardRecord, known: Option<KnownDashboard>) -> Self {
        let (issue, reading) = (None, DashboardReading::AsWritten);
        let (notices, late) = (Vec::new(), Vec::new());
        Self { standing, known, issue, record, reading, notices, ticks: 0, edits: 0, late }
    }

    /// Why nothing can be noted in it, where that is so.
    pub fn why_not(&self) -> Option<String> {
        match &self.standing {
            DashboardState::Kept | DashboardState::Unread => None,
            DashboardState::Off => {
                Some("the settings disable the dashboard issue (`dashboard.enabled`)".to_owned())
            }
            DashboardState::Refused(why) => Some(format!("GitHub refuses the dashboard issue: {why}")),
        }
    }
}

/// Of the dashboards of a repository the one that counts, by what Capstan noted in each: one that is open, and the
/// oldest of those.
pub fn choose(
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

/// What is noted in a body.
pub fn record_of(facts: &Facts, body: &str) -> Option<DashboardRecord> {
    DashboardRecord::read(body, &facts.key, facts.repository.id)
}

/// How a body reads, of which that is noted.
pub fn reading_of(facts: &Facts, body: &str, record: &DashboardRecord) -> DashboardReading {
    read_dashboard(body, record, &facts.key, facts.repository.id)
}

/// What counts of what is noted in the issue and what is remembered of it. Somebody may have brought back what an older
/// body said; a database may be older than what was written.
pub fn newer_record(found: Option<DashboardRecord>, remembered: Option<DashboardRecord>) -> DashboardRecord {
    match (found, remembered) {
        (Some(found), Some(remembered)) if remembered.edition > found.edition => remembered,
        (Some(found), _) => found,
        (None, remembered) => remembered.unwrap_or_default(),
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
