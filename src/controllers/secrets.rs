//! When a pass over the VaultSecrets is made: when the next of them is due, and to see new ones.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::app::reconcile::Ports;

/// The pause after a list that failed, and the shortest between two passes.
const PAUSE: Duration = Duration::from_secs(5);
const SHORTEST: Duration = Duration::from_secs(1);

/// Makes passes until cancelled.
pub(super) async fn run(ports: Ports, stop: CancellationToken) {
    // Said once, until it is something else.
    let mut said = String::new();
    while !stop.is_cancelled() {
        let is_over = || stop.is_cancelled();
        let pause = match ports.vault_secrets.pass(&ports, &is_over).await {
            Ok(passed) => {
                said.clear();
                if passed.turns > 0 {
                    tracing::debug!(turns = passed.turns, "VaultSecrets were looked at");
                }
                Duration::try_from(passed.next).unwrap_or(PAUSE).max(SHORTEST)
            }
            Err(error) => {
                let why = error.to_string();
                if said != why {
                    tracing::warn!(kind = error.kind(), %error, "the VaultSecrets cannot be listed; it is tried again");
                    said = why;
                }
                PAUSE
            }
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = stop.cancelled() => {}
        }
    }
}
