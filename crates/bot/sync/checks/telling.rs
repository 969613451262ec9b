//! Reports Capstan's own failure on the heads that have no check of it yet, so that a required check is never
//! missing.
//!
//! A check with a conclusion stays: it is the last known result, until Capstan can look again.

use std::collections::BTreeSet;

use capstan_bot_core::checks::{CheckSubject, OwnFailure, QUEUE_PREFIX, failure_report, first_failure};
use capstan_bot_core::effects::{CheckOf, Effect};
use capstan_model::tree::CommitId;
use capstan_report::{CheckReport, RunWish};

use super::super::{Ports, SyncError};
use crate::performing::{NOTHING_REFUSED, Performer};
use capstan_ports::{CodeHostError, Hints, MirrorError, Repository, RepositoryName};

/// Heads reported on at a time: each costs three calls at most.
const MOST_REPORTS: usize = 50;

/// Reports on a head that it could not be judged, if it has no report yet. If this fails too, it is only logged: the next
/// run judges the head again.
pub(super) async fn report_first_failure(
    performer: &Performer<'_>,
    (repository, hints): (&RepositoryName, &Hints),
    subjects: &[CheckSubject],
    error: &SyncError,
) {
    let Some(first) = subjects.first().filter(|_| is_reportable(error)) else { return };
    let told = async {
        if performer.is_concluded(&first.head).await? {
            return Ok(());
        }
        let report = own_failure(repository, first, error);
        let check = first_failure(first, &report, hints.wants_check(&first.head));
        performer.perform(Effect::Check(Box::new(check))).await.map(drop)
    };
    if let Err(error) = told.await {
        tracing::warn!(repository = %repository, head = %first.head, error = %error, "the failure could not be reported on the pull request");
    }
}

/// The report on a head that Capstan could not judge.
pub(super) fn own_failure(
    repository: &RepositoryName,
    pull: &CheckSubject,
    error: &SyncError,
) -> CheckReport {
    if let SyncError::Mirror(MirrorError::TooLarge { .. }) = error {
        tracing::warn!(repository = %repository, head = %pull.head, error = %error, "the pull request is too large to be read");
        return failure_report(OwnFailure::TooLarge(error.to_string()));
    }
    let incident = ulid::Ulid::generate().to_string();
    tracing::error!(repository = %repository, head = %pull.head, incident = %incident, error = %error, "the pull request could not be judged");
    let why = match error {
        SyncError::Planner(failed) => Some(failed.to_string()),
        _ => None,
    };
    failure_report(OwnFailure::Failed { incident, why })
}

/// Whether a report is possible: not while GitHub is down, or asks to wait.
pub(in super::super) const fn is_reportable(error: &SyncError) -> bool {
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
    /// They were read.
    Seen,
    /// Unknown in this run: the records say whether there were any.
    NotLooked,
}

/// Reports on every head that needs a check, and has none yet, that Capstan failed; the log has the reason
/// under the id in the report.
pub async fn tell_failure(ports: &Ports, repository: &Repository, set_up: SetUp, reason: &str) {
    let incident = ulid::Ulid::generate().to_string();
    tracing::error!(repository = %repository.name, incident = %incident, reason, "the work on a repository failed");
    if let Err(error) = tell_all(ports, repository, set_up, &incident).await {
        tracing::warn!(repository = %repository.name, incident = %incident, error = %error, "the failure could not be reported on pull requests");
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
    let report = failure_report(OwnFailure::Failed { incident: incident.to_owned(), why: None });
    let performer = ports.performer(repository, &NOTHING_REFUSED);
    let mut told = 0;
    for head in heads.iter().filter_map(|head| CommitId::parse(head).ok()) {
        if told == MOST_REPORTS {
            break;
        }
        if !performer.is_concluded(&head).await? {
            let check = CheckOf::made_from(&head, ("", None), &report, RunWish::AsItIs);
            match performer.say(&check).await.map(drop) {
                // A refusal by GitHub does not prevent the other reports.
                Err(SyncError::Host(error)) if error.is_refusal() => {}
                done => done?,
            }
            told += 1;
        }
    }
    Ok(())
}
