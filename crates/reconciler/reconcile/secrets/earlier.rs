//! Leases that a VaultSecret no longer asks for: its store, its path or its parameters changed, or it now asks for a
//! secret of the key-value engine. They are ended once the new secret is written: until then somebody works with them.

use jiff::{SignedDuration, Timestamp};

use capstan_ports::VaultError;

use super::asking::Asking;
use super::ending::end;
use super::logins::LoginGroup;
use super::outcome::{AT_ONCE, after};
use super::store::Store;
use super::subject::VaultSecretSubject;
use capstan_reconciler_core::resources::EarlierLease;

/// For how long Capstan tries to end a lease that Vault may never have given.
const UNKNOWN: SignedDuration = SignedDuration::from_hours(24);

impl VaultSecretSubject {
    /// The lease that it holds is asked for no more.
    pub(super) fn set_aside(&mut self) {
        let lease = self.status.lease.take();
        if let Some((lease, expires)) = lease.zip(self.status.lease_expires.take()) {
            let store = self.store_or_own(lease.store);
            self.remember(EarlierLease { id: Some(lease.id), login: lease.login, store, expires });
        }
    }

    /// What was about to be asked for is asked for no more, and may have been given.
    pub(super) fn set_aside_asked(&mut self, now: Timestamp) {
        let store = self.status.asked_of.take().unwrap_or_default();
        if let Some(login) = self.status.asked_with.take() {
            let store = self.store_or_own(store);
            self.remember(EarlierLease { id: None, login, store, expires: after(now, UNKNOWN) });
        }
    }

    /// The stores that earlier leases are of.
    pub(super) fn earlier_stores(&self) -> impl Iterator<Item = &str> {
        self.status.earlier.iter().map(|earlier| earlier.store.as_str())
    }

    /// What has run out is ended, whether anybody could be asked or not.
    pub(super) fn forget_run_out(&mut self, now: Timestamp) {
        self.status.earlier.retain(|earlier| now < earlier.expires);
    }

    fn store_or_own(&self, store: String) -> String {
        if store.is_empty() { self.store_name().to_owned() } else { store }
    }

    fn remember(&mut self, earlier: EarlierLease) {
        self.status.earlier.push(earlier);
        self.status.bound_earlier();
    }
}

/// Ends the leases that are no longer asked for, now that the new secret is written; whether none is left. A failure
/// here does not fail the new secret.
pub(super) async fn leave(
    asking: Asking<'_>,
    subject: &mut VaultSecretSubject,
    group: &mut LoginGroup,
    store: &Store,
) -> bool {
    match end_earlier(asking, subject, group, store).await {
        Ok(all) => all,
        Err(trouble) => {
            let (namespace, secret) = &subject.key;
            tracing::debug!(namespace, secret, %trouble, "an earlier lease is not ended yet");
            false
        }
    }
}

/// Sooner than that, since something is being ended.
pub(super) fn soon(asking: Asking<'_>, next: Timestamp) -> Timestamp {
    next.min(after(asking.now, AT_ONCE * 5))
}

/// Ends the earlier leases of a store; whether none of them is left.
///
/// # Errors
/// The first that could not be ended; the others were tried.
pub(super) async fn end_earlier(
    asking: Asking<'_>,
    subject: &mut VaultSecretSubject,
    group: &mut LoginGroup,
    store: &Store,
) -> Result<bool, VaultError> {
    let mut left = Vec::new();
    let mut trouble = None;
    subject.forget_run_out(asking.now);
    for earlier in std::mem::take(&mut subject.status.earlier) {
        if earlier.store != store.name() {
            left.push(earlier);
            continue;
        }
        match is_ended(asking, group, store, &earlier).await {
            Ok(true) => {
                let (namespace, secret) = &subject.key;
                tracing::info!(namespace, secret, store = store.name(), "an earlier lease was ended");
            }
            Ok(false) => left.push(earlier),
            Err(error) => {
                left.push(earlier);
                trouble.get_or_insert(error);
            }
        }
    }
    subject.status.earlier = left;
    match trouble {
        Some(trouble) => Err(trouble),
        None => Ok(!subject.earlier_stores().any(|of| of == store.name())),
    }
}

async fn is_ended(
    asking: Asking<'_>,
    group: &mut LoginGroup,
    store: &Store,
    earlier: &EarlierLease,
) -> Result<bool, VaultError> {
    if let Some(id) = &earlier.id {
        return end(asking, group, store, (&earlier.login, id)).await;
    }
    group.retire(asking, store, &earlier.login).await?;
    Ok(!store.makes_logins() || group.token_of(asking, store, &earlier.login).await?.is_none())
}
