//! Capstan's own failure is told on the heads that have no check of it yet: whoever requires the check never waits for
//! nothing.
//!
//! A head whose check has a conclusion keeps that: it is what is known of it, until somebody can look again.

use std::collections::BTreeSet;

use capstan_bot_core::checks::{EDITION, KeptReport, QUEUE_PREFIX, Subject};
use capstan_model::tree::CommitId;
use capstan_report::{CheckReport, ReportId};

use super::super::{Ports, Run, SyncError};
use super::NAME;
use super::writing::failure_report;
use capstan_ports::{CheckConclusion, CheckRecord, CheckVerdict, CodeHostError, NewCheckRun, Repository};

/// So many heads are told at a time: each costs a call or two.
const MOST_TOLD: usize = 50;

impl Run<'_> {
    /// Tells on a head that it could not be judged, where nothing was said there yet. That this fails too is no more
    /// than a line in the log: the head is looked at again.
    pub(super) async fn tell_first(&self, subjects: &[Subject], error: &SyncError) {
        let Some(first) = subjects.first().filter(|_| is_told(error)) else { return };
        let told = async {
            if is_concluded(self.ports, self.repository, &first.head).await? {
                return Ok(());
            }
            self.report(first, ("", None), &self.own_failure(first, error)).await
        };
        if let Err(error) = told.await {
            tracing::warn!(repository = %self.repository.name, head = %first.head, error = %error, "the failure could not be told on the pull request");
        }
    }
}

/// Whether there is a point in telling: where GitHub is not there, or asks to be left alone, nobody could.
pub(in super::super) const fn is_told(error: &SyncError) -> bool {
    !matches!(
        error,
        SyncError::Host(
            CodeHostError::RateLimited { .. }
                | CodeHostError::BudgetSpent { .. }
                | CodeHostError::Unreachable { .. }
        )
    )
}

/// Whether a repository has settings: without them nothing is written there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetUp {
    /// They were seen.
    Seen,
    /// Nobody has looked: the records know whether there were any.
    NotLooked,
}

/// Tells on every head that awaits a check, and has none yet, that Capstan failed; the log has the reason under the id
/// that stands there.
pub async fn tell_failure(ports: &Ports, repository: &Repository, set_up: SetUp, reason: &str) {
    let incident = ulid::Ulid::generate().to_string();
    tracing::error!(repository = %repository.name, incident = %incident, reason, "the work on a repository failed");
    if let Err(error) = tell_all(ports, repository, set_up, &incident).await {
        tracing::warn!(repository = %repository.name, incident = %incident, error = %error, "the failure could not be told on pull requests");
    }
}

async fn tell_all(
    ports: &Ports,
    repository: &Repository,
    set_up: SetUp,
    incident: &str,
) -> Result<(), SyncError> {
    if set_up == SetUp::NotLooked && !ports.records.is_set_up(repository.id).await? {
        return Ok(());
    }
    let open = ports.host.open_pull_requests(repository).await?.into_iter().map(|pull| pull.head);
    let groups = ports.host.branches(repository, QUEUE_PREFIX).await?.into_iter().map(|group| group.commit);
    let heads: BTreeSet<String> = open.chain(groups).map(|head| head.as_str().to_owned()).collect();
    let report = failure_report(incident, None);
    let mut told = 0;
    for head in heads.iter().filter_map(|head| CommitId::parse(head).ok()) {
        if told == MOST_TOLD {
            break;
        }
        if !is_concluded(ports, repository, &head).await? {
            match tell(ports, repository, head, &report).await {
                // One that GitHub does not take keeps no other from being told.
                Err(SyncError::Host(error)) if error.is_refusal() => {}
                done => done?,
            }
            told += 1;
        }
    }
    Ok(())
}

/// Whether a head has a check with a conclusion; one that waits for a live cluster has none.
async fn is_concluded(ports: &Ports, repository: &Repository, head: &CommitId) -> Result<bool, SyncError> {
    if let Some(record) = ports.records.check(repository.id, head, NAME).await? {
        return Ok(record.verdict.is_some());
    }
    let runs = ports.host.check_runs(repository, head, NAME).await?;
    Ok(runs.into_iter().max_by_key(|run| run.id).is_some_and(|run| run.conclusion.is_some()))
}

async fn tell(
    ports: &Ports,
    repository: &Repository,
    head: CommitId,
    report: &CheckReport,
) -> Result<(), SyncError> {
    let output = ReportId::of(EDITION, report);
    let conclusion = CheckConclusion::of(report.conclusion);
    let new = NewCheckRun {
        name: NAME.to_owned(),
        head: head.clone(),
        conclusion,
        title: report.title.clone(),
        summary: report.summary.clone(),
        annotations: Vec::new(),
        external_id: output.to_string(),
        unfinished_id: output.unfinished().to_string(),
        buttons: report.buttons.clone(),
    };
    let known = ports.records.check(repository.id, &head, NAME).await?;
    let check_run = ports.host.create_check_run(repository, &new).await?.id;
    let verdict = conclusion
        .map(|conclusion| CheckVerdict { conclusion: conclusion.as_str().to_owned(), title: new.title });
    let record = CheckRecord {
        repository: repository.id,
        head,
        name: NAME.to_owned(),
        check_run,
        content: KeptReport { inputs: String::new(), until: None, output }.to_string(),
        verdict,
        pressed: known.and_then(|known| known.pressed),
    };
    Ok(ports.records.save_check(&record).await?)
}
