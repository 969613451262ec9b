//! The dashboard issue: finds and reads it, processes its ticks, and updates its body.
//!
//! *Expected flow.* The issue is read when the run begins: its decisions count, and ticked boxes are requests
//! like comments ([`ticks`]). Once the proposals are up to date, its body is updated ([`keep`]), before any
//! answer: so the answer that Capstan is paused is reliable.
//!
//! *Guarantees.* One issue for each repository: its number identifies it, and where that is lost its author
//! and Capstan's record in it, whatever its title. Closing it declines it. Its body is written only when it
//! changes, and only while it is as it was read. GitHub takes no condition with the write: a tick of that
//! instant is overwritten, and processed nevertheless by the delivery of its edit ([`ticks`]). No comment is
//! written. Refusals by GitHub (issues switched off, a missing permission) are recorded and affect nothing
//! else. While it cannot be read, its last record counts, and ticks wait. If the database was lost too,
//! people's decisions are unknown, and the run ends.

mod keep;
mod ticks;

use capstan_bot_core::dashboard::{Board, DashboardState, choose, newer_record, record_of};
use capstan_bot_core::facts::{Facts, Write};
use capstan_bot_core::requests::Request;
use capstan_plan::settings::RepositorySettings;
use capstan_report::DashboardRecord;

use super::SyncError;
use super::ending::Ending;
use crate::performing::Performer;
use capstan_ports::{Clock, CodeHost, Hints, Issue, KnownDashboard, Records};

/// Reads and writes it.
#[derive(Clone, Copy)]
pub(super) struct DashboardIssue<'a> {
    pub(super) host: &'a dyn CodeHost,
    pub(super) records: &'a dyn Records,
    pub(super) clock: &'a dyn Clock,
    pub(super) facts: &'a Facts,
    pub(super) hints: &'a Hints,
    pub(super) performer: &'a Performer<'a>,
}

impl DashboardIssue<'_> {
    /// Finds and reads it; its ticks are the requests.
    pub(super) async fn read(
        self,
        settings: &RepositorySettings,
        ending: &mut Ending,
    ) -> Result<(Board, Vec<Request>), SyncError> {
        let repository = self.facts.repository.id;
        let known = self.records.dashboard(repository).await?;
        let remembered = known.as_ref().and_then(|known| DashboardRecord::of_json(&known.record, repository));
        if !settings.keeps_dashboard() {
            return Ok((Board::new(DashboardState::Off, DashboardRecord::default(), known), Vec::new()));
        }
        if let Some(refusal) = self.performer.refusal(&Write::dashboard()) {
            let standing = DashboardState::Refused(refusal.reason.clone());
            return Ok((Board::new(standing, remembered.unwrap_or_default(), known), Vec::new()));
        }
        let looked = self.look_at_dashboard(settings, known.as_ref(), remembered.as_ref()).await;
        let Some(record) = remembered else { return looked };
        let looked = ending.isolate(&self.facts.repository, "reading the dashboard", looked)?;
        Ok(looked.unwrap_or_else(|| (Board::new(DashboardState::Unread, record, known), Vec::new())))
    }

    /// `remembered` is the database's copy of its record.
    async fn look_at_dashboard(
        self,
        settings: &RepositorySettings,
        known: Option<&KnownDashboard>,
        remembered: Option<&DashboardRecord>,
    ) -> Result<(Board, Vec<Request>), SyncError> {
        let (known, remembered) = (known.cloned(), remembered.cloned());
        let issue = match self.find_dashboard(known.as_ref(), &settings.dashboard.title).await {
            Ok(issue) => issue,
            Err(SyncError::Host(error)) if error.is_refusal() => {
                self.performer.refused(&Write::dashboard(), &error.to_string()).await?;
                let standing = DashboardState::Refused(error.to_string());
                return Ok((Board::new(standing, remembered.unwrap_or_default(), known), Vec::new()));
            }
            Err(error) => return Err(error),
        };
        let found = issue.as_ref().and_then(|issue| record_of(self.facts, &issue.body));
        let record = newer_record(found, remembered);
        let mut board = Board { issue, ..Board::new(DashboardState::Kept, record, known) };
        let mut requests = self.hear_ticks(&mut board, settings).await?;
        requests.extend(self.hear_late_ticks(&mut board, settings, requests.len()).await?);
        Ok((board, requests))
    }

    async fn find_dashboard(
        self,
        known: Option<&KnownDashboard>,
        title: &str,
    ) -> Result<Option<Issue>, SyncError> {
        if let Some(number) = known.and_then(|known| known.issue)
            && let Some(issue) = self.host.issue(&self.facts.repository, number).await?
        {
            return Ok(Some(issue));
        }
        // If the last search found none, nobody has made one since.
        if known.is_some_and(|known| known.issue.is_none()) {
            return Ok(None);
        }
        let found = self.list_dashboards(title).await?;
        let record = known.map(|known| known.record.clone()).unwrap_or_default();
        self.performer.remember_issue(found.as_ref().map(|issue| issue.number), record).await?;
        Ok(found)
    }

    async fn list_dashboards(self, title: &str) -> Result<Option<Issue>, SyncError> {
        let login = self.host.bot_login().await?;
        let mut issues = self.host.issues_by(&self.facts.repository, &login).await?;
        issues.retain(|issue| issue.author == login);
        Ok(choose(issues, |issue| record_of(self.facts, &issue.body), title))
    }
}
