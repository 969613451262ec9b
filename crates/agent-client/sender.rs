//! Sends stored reports, in order, until the bot has taken them.

use std::sync::{Arc, PoisonError, Weak};
use std::time::Duration;

use capstan_live::agent::limits::{POST_BYTES, REPORTS_PER_POST};
use capstan_live::agent::wire::{ReportsAnswer, ReportsRequest};
use capstan_model::doubling::Doubling;
use http::StatusCode;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{AgentClient, AgentError};

/// How long it waits after failures.
const WAITS: Doubling = Doubling::new(Duration::from_secs(1), Duration::from_secs(60));

/// What a try came to.
enum Sent {
    /// Nothing waits any more.
    All,
    /// More waits.
    Some,
}

/// Sends until nobody has the client any more.
pub(super) async fn send_stored(client: Weak<AgentClient>, stored: Arc<Notify>, stop: CancellationToken) {
    let mut failures = 0_u32;
    loop {
        let result = match client.upgrade() {
            Some(client) => client.send_some(REPORTS_PER_POST).await,
            None => return,
        };
        let wait = match result {
            Ok(Sent::Some) => {
                failures = 0;
                continue;
            }
            Ok(Sent::All) => {
                failures = 0;
                None
            }
            Err(error) => {
                failures = failures.saturating_add(1);
                let wait = back_off(failures);
                tracing::warn!(error = %error, retry_after_ms = wait.as_millis(), "reports could not be sent; they are kept");
                Some(wait)
            }
        };
        let waited = async {
            match wait {
                // What is stored meanwhile waits its turn too.
                Some(wait) => tokio::time::sleep(wait).await,
                None => stored.notified().await,
            }
        };
        tokio::select! {
            () = waited => {}
            () = stop.cancelled() => return,
        }
    }
}

/// Half of it is certain, half is chance: the agents of a fleet do not come back in the same second.
fn back_off(failures: u32) -> Duration {
    use rand::RngExt as _;
    let whole = WAITS.after(failures);
    whole / 2 + (whole / 2).mul_f64(rand::rng().random::<f64>())
}

/// Whether what was sent is refused for what it says: the same would be refused again.
fn is_about_content(status: StatusCode) -> bool {
    matches!(status, StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE)
}

impl AgentClient {
    async fn send_some(self: &Arc<Self>, most: usize) -> Result<Sent, AgentError> {
        let mut most = most;
        loop {
            let client = Arc::clone(self);
            // Leaves room for what JSON puts around.
            let batch = tokio::task::spawn_blocking(move || {
                let outbox = client.outbox.lock().unwrap_or_else(PoisonError::into_inner);
                outbox.oldest(most, (POST_BYTES - (16 << 10)) as u64)
            });
            let reports = batch.await.unwrap_or_default();
            if reports.is_empty() {
                return Ok(Sent::All);
            }
            let sent: Vec<_> =
                reports.iter().map(|report| (report.id.clone(), report.cluster.clone())).collect();
            let call = self.http.post("reports", &ReportsRequest { reports }, "sending reports")?;
            let answer: ReportsAnswer = match self.authorised(call).await {
                Ok(response) => self.http.json(&response)?,
                // One that cannot be read or is too large keeps the others back: it is found by halves.
                Err(AgentError::Refused { status, .. }) if is_about_content(status) && sent.len() > 1 => {
                    most = sent.len() / 2;
                    continue;
                }
                Err(AgentError::Refused { status, .. }) if is_about_content(status) => ReportsAnswer {
                    taken: Vec::new(),
                    refused: sent.iter().map(|(id, _)| id.clone()).collect(),
                },
                Err(error) => return Err(error),
            };
            for id in &answer.refused {
                tracing::warn!(report = %id, "the bot refuses this report: it is dropped");
            }
            let client = Arc::clone(self);
            let removed = tokio::task::spawn_blocking(move || -> Result<(), AgentError> {
                let mut outbox = client.outbox.lock().unwrap_or_else(PoisonError::into_inner);
                outbox.remember_last()?;
                for (id, cluster) in &sent {
                    // What was refused may be taken later: the next report says it again.
                    if answer.refused.contains(id) {
                        outbox.forget_said(Some(cluster));
                    }
                    // What the answer does not mention is not sent for ever either.
                    outbox.remove(id)?;
                }
                Ok(())
            });
            if let Ok(result) = removed.await {
                result?;
            }
            return Ok(Sent::Some);
        }
    }
}
