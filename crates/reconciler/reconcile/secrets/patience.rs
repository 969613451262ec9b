//! A Vault that is asked with patience: a bounded number of calls at a time, each bounded in time. Once it did not
//! answer, it is not asked for a while, ever longer, so that not every secret waits for it.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use capstan_live::secrets::{KvRead, LeaseMethod, ResolvedReason};
use capstan_model::doubling::Doubling;
use secrecy::SecretString;
use serde_json::{Map, Value};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

use capstan_ports::{KvSecret, NewLease, Vault, VaultError, VaultLogin, VaultToken};

/// Calls of one Vault that are under way at a time.
pub(super) const CALLS_OF_ONE: usize = 4;
/// How long one may take, whatever is tried again in it.
pub(super) const PATIENCE: Duration = Duration::from_secs(12);

/// A store's Vault.
pub(super) struct Patient {
    vault: Arc<dyn Vault>,
    store: String,
    /// How long a call may take; by that all other times go.
    patience: Duration,
    places: Semaphore,
    /// Places for calls of all Vaults, taken after its own: who waits for its own place holds none beyond.
    beyond: Arc<Semaphore>,
    away: Mutex<Option<SilentVault>>,
}

/// It did not answer.
#[derive(Clone, Copy)]
struct SilentVault {
    since: Instant,
    until: Instant,
    times: u32,
}

impl Patient {
    pub(super) fn new(
        vault: Arc<dyn Vault>,
        store: &str,
        beyond: Arc<Semaphore>,
        patience: Duration,
    ) -> Self {
        let (store, places) = (store.to_owned(), Semaphore::new(CALLS_OF_ONE));
        Self { vault, store, patience, places, beyond, away: Mutex::default() }
    }

    /// Who fails faster makes nobody wait, and is asked again at once.
    fn slow(&self) -> Duration {
        self.patience / 3
    }

    async fn ask<T>(
        &self,
        call: impl Future<Output = Result<T, VaultError>> + Send,
    ) -> Result<T, VaultError> {
        self.check()?;
        let _own = self.places.acquire().await;
        let _beyond = self.beyond.acquire().await;
        // Another call may have found meanwhile that it does not answer.
        self.check()?;
        let begun = Instant::now();
        match timeout(self.patience, call).await {
            Ok(Err(error)) if error.why == ResolvedReason::Away && begun.elapsed() < self.slow() => {
                Err(error)
            }
            Ok(Err(error)) if error.why == ResolvedReason::Away => Err(self.leave_alone(begun)),
            Ok(answer) => {
                *self.away.lock().unwrap_or_else(PoisonError::into_inner) = None;
                answer
            }
            Err(_) => Err(self.leave_alone(begun)),
        }
    }

    /// Whether it is left alone now.
    ///
    /// # Errors
    /// It is.
    pub(super) fn check(&self) -> Result<(), VaultError> {
        let away = *self.away.lock().unwrap_or_else(PoisonError::into_inner);
        match away {
            Some(away) if Instant::now() < away.until => Err(self.silent()),
            _ => Ok(()),
        }
    }

    fn leave_alone(&self, begun: Instant) -> VaultError {
        let mut away = self.away.lock().unwrap_or_else(PoisonError::into_inner);
        // Of several calls at a time that were not answered one counts.
        if away.is_none_or(|away| away.since < begun) {
            let times = away.map_or(0, |away| away.times).saturating_add(1);
            let since = Instant::now();
            *away = Some(SilentVault { since, until: since + pauses(self.patience).after(times), times });
        }
        self.silent()
    }

    /// The error is the same for all callers: it does not name what one of them asked for.
    fn silent(&self) -> VaultError {
        let message = format!("the Vault of the VaultStore {} does not answer in time", self.store);
        VaultError::new(ResolvedReason::Away, message)
    }
}

/// How long one that did not answer is left alone, where a call may take so long.
fn pauses(patience: Duration) -> Doubling {
    Doubling::new(patience * 5 / 4, patience * 10)
}

#[async_trait]
impl Vault for Patient {
    async fn log_in(&self, login: &VaultLogin) -> Result<VaultToken, VaultError> {
        self.ask(self.vault.log_in(login)).await
    }

    async fn is_alive(&self, token: &SecretString) -> Result<bool, VaultError> {
        self.ask(self.vault.is_alive(token)).await
    }

    async fn read(&self, token: &SecretString, read: &KvRead) -> Result<KvSecret, VaultError> {
        self.ask(self.vault.read(token, read)).await
    }

    async fn lease(
        &self,
        token: &SecretString,
        path: &str,
        method: LeaseMethod,
        parameters: &Map<String, Value>,
    ) -> Result<NewLease, VaultError> {
        self.ask(self.vault.lease(token, path, method, parameters)).await
    }

    async fn knows(&self, token: &SecretString, lease: &str) -> Result<bool, VaultError> {
        self.ask(self.vault.knows(token, lease)).await
    }

    async fn renew(&self, token: &SecretString, lease: &str, seconds: i64) -> Result<i64, VaultError> {
        self.ask(self.vault.renew(token, lease, seconds)).await
    }

    async fn revoke(&self, token: &SecretString, lease: &str) -> Result<(), VaultError> {
        self.ask(self.vault.revoke(token, lease)).await
    }

    async fn renew_self(&self, token: &SecretString) -> Result<i64, VaultError> {
        self.ask(self.vault.renew_self(token)).await
    }

    async fn revoke_self(&self, token: &SecretString) -> Result<(), VaultError> {
        self.ask(self.vault.revoke_self(token)).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_does_not_answer_is_left_alone_for_longer_each_time() {
        let secs = [1, 2, 3, 4, 5, u32::MAX].map(|times| pauses(PATIENCE).after(times).as_secs());
        assert_eq!(secs, [15, 30, 60, 120, 120, 120]);
    }
}
