//! Deliveries that did not arrive. GitHub tries each once, and lists it for three days
//! (<https://docs.github.com/webhooks/using-webhooks/handling-failed-webhook-deliveries>). Capstan requests
//! each of them again once, the oldest first. Older losses are found by comparing state, which happens
//! anyway; only a press of a button is known from its delivery alone.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;

use capstan_ports::{
    Clock, CodeHostError, DeliveryAttempt, DeliveryLog, MissedDeliveries, RecordsError, Redelivery,
};

/// GitHub redelivers for so long.
const KEPT: SignedDuration = SignedDuration::from_hours(3 * 24);
/// A younger delivery may still be on its way.
const SETTLING: SignedDuration = SignedDuration::from_secs(30);
/// The last look's end is read again that far: an attempt is listed when it has ended.
const OVERLAP: SignedDuration = SignedDuration::from_mins(10);
/// Redeliveries requested in one look; the next look continues.
const MOST: usize = 300;

/// The result of a look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RedeliveryLook {
    /// Deliveries that GitHub sends again.
    pub asked: usize,
    /// Those that it does not send again.
    pub refused: usize,
    /// Those for the next look.
    pub left: usize,
    /// The beginning of the time whose deliveries GitHub no longer lists.
    pub beyond: Option<Timestamp>,
}

/// Why a look ended early; the next look continues.
#[derive(Debug, thiserror::Error)]
pub enum LookError {
    /// GitHub.
    #[error(transparent)]
    Host(#[from] CodeHostError),
    /// The database.
    #[error(transparent)]
    Records(#[from] RecordsError),
}

/// Events with no successful attempt, by their last attempt, oldest first.
fn missed(attempts: Vec<DeliveryAttempt>, settled: Timestamp) -> Vec<DeliveryAttempt> {
    let arrived: BTreeSet<String> =
        attempts.iter().filter(|attempt| attempt.arrived).map(|attempt| attempt.guid.clone()).collect();
    let mut last: BTreeMap<String, DeliveryAttempt> = BTreeMap::new();
    for attempt in attempts.into_iter().filter(|attempt| !arrived.contains(&attempt.guid)) {
        match last.get(&attempt.guid) {
            Some(known) if known.at >= attempt.at => {}
            _ => {
                last.insert(attempt.guid.clone(), attempt);
            }
        }
    }
    let mut missed: Vec<DeliveryAttempt> =
        last.into_values().filter(|attempt| attempt.at <= settled).collect();
    missed.sort_by_key(|attempt| (attempt.at, attempt.id));
    missed
}

/// Reads GitHub's deliveries since the last look, and requests again those that did not arrive.
///
/// # Errors
/// GitHub or the database failed; the requests so far are recorded.
pub async fn look_for_missed(
    log: &dyn DeliveryLog,
    records: &dyn MissedDeliveries,
    now: Timestamp,
) -> Result<RedeliveryLook, LookError> {
    let mut looked = RedeliveryLook::default();
    let oldest = now - KEPT;
    let since = match records.last_look().await? {
        Some(last) if last >= oldest => (last - OVERLAP).max(oldest),
        last => {
            looked.beyond = last;
            oldest
        }
    };
    let settled = now - SETTLING;
    let missed = missed(log.delivery_attempts(since).await?, settled);
    let guids: Vec<String> = missed.iter().map(|attempt| attempt.guid.clone()).collect();
    let unheard = records.unheard(&guids).await?;
    let mut until = settled;
    for attempt in missed.iter().filter(|attempt| unheard.contains(&attempt.guid)) {
        if looked.asked + looked.refused >= MOST {
            looked.left += 1;
            until = until.min(attempt.at);
            continue;
        }
        match log.redeliver(attempt.id).await? {
            Redelivery::Accepted => looked.asked += 1,
            Redelivery::Refused => {
                tracing::warn!(delivery = attempt.guid, event = attempt.event, delivered_at = %attempt.at, "GitHub does not repeat a missed delivery: Capstan compares repositories instead, as far as GitHub shows what changed");
                looked.refused += 1;
            }
        }
        // After the request: a process that dies in between requests it once more, and the second delivery is
        // a known one.
        records.note_redelivery(&attempt.guid).await?;
    }
    records.note_look(until).await?;
    records.forget_redeliveries(now - KEPT - KEPT).await?;
    Ok(looked)
}

/// Looks at once and then every `every`, until cancelled.
pub async fn keep_looking(
    log: &dyn DeliveryLog,
    records: &dyn MissedDeliveries,
    clock: &dyn Clock,
    every: Duration,
    stop: &CancellationToken,
) {
    loop {
        let now = clock.now();
        match look_for_missed(log, records, now).await {
            Ok(looked) => tell(looked, now),
            Err(error) => tracing::warn!(error = %error, "cannot look for missed deliveries"),
        }
        tokio::select! {
            () = tokio::time::sleep(every) => {}
            () = stop.cancelled() => return,
        }
    }
}

fn tell(looked: RedeliveryLook, now: Timestamp) {
    let count = |outcome: &'static str, number: usize| {
        let number = u64::try_from(number).unwrap_or(u64::MAX);
        metrics::counter!("capstan_missed_deliveries_total", "outcome" => outcome).increment(number);
    };
    count("asked", looked.asked);
    count("refused", looked.refused);
    metrics::gauge!("capstan_last_look_timestamp_seconds", "what" => "deliveries")
        .set(now.as_duration().as_secs_f64());
    if let Some(since) = looked.beyond {
        count("beyond", 1);
        tracing::warn!(%since, "GitHub lists only deliveries of the last three days: for older ones, Capstan compares repositories instead, as far as GitHub shows what changed");
    }
    if looked.asked + looked.refused + looked.left > 0 {
        tracing::info!(
            asked = looked.asked,
            refused = looked.refused,
            left = looked.left,
            "missed deliveries"
        );
    }
}
