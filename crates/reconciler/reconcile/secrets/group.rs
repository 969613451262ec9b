//! What becomes of logins: made, renewed, retired, ended.
//!
//! A login is kept in a Secret of the namespace before its first lease is asked for. So the next process renews it, and
//! ends its leases. The same Secret says which leases those are, and whose. A status, which others may write, decides
//! on no lease that is not kept here for its VaultSecret.

use std::collections::BTreeSet;

use capstan_live::secrets::ResolvedReason;
use capstan_model::wording;
use capstan_reconciler_core::leases::{LoginFacts, LoginStep, LoginTimes};
use capstan_reconciler_core::next::{Basis as _, Next};
use jiff::Timestamp;
use secrecy::SecretString;

use super::asking::Asking;
use super::kept_logins::KeptLogins;
use super::logins::{KeptLease, LoginGroup, StoreLogin};
use super::outcome::{SOON, after};
use super::store::Store;
use super::subject::VaultSecretSubject;
use capstan_ports::{Vault as _, VaultError, VaultToken, ends_at};

/// What a login is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoginNeed {
    /// To read; it may be forgotten.
    Read,
    /// Leases will hang on it.
    Lease,
}

impl LoginGroup {
    /// A login that serves: the one that there is, as long as it can.
    pub(super) async fn login(
        &mut self,
        asking: Asking<'_>,
        store: &Store,
        need: LoginNeed,
    ) -> Result<StoreLogin, VaultError> {
        self.recall(asking, store.name()).await?;
        if let Some(login) = self.current.clone() {
            if login.print != store.print {
                self.retire(asking, store, &login.accessor).await?;
            } else {
                match (LoginFacts { now: asking.now, times: login.times }).next() {
                    Next::Rest(_) => {}
                    Next::Step(LoginStep::Renew) => self.renew(asking, store, login).await?,
                    Next::Step(LoginStep::Replace) => self.retire(asking, store, &login.accessor).await?,
                }
            }
        }
        let is_new = self.current.is_none();
        if is_new {
            let credential = asking.vault.credential(asking.ports, store, asking.account).await?;
            let made = store.vault.log_in(&credential).await?;
            tracing::info!(
                namespace = asking.account.namespace,
                store = store.name(),
                seconds = made.seconds,
                "logged in to Vault"
            );
            self.current = Some(StoreLogin::of(made, store, asking.now));
        }
        let is_unkept = is_new || !self.is_kept;
        if store.makes_own_logins() && is_unkept && (need == LoginNeed::Lease || self.is_kept) {
            // No lease may depend on a login that the next process would not know.
            if let Err(trouble) = self.keep(asking, store.name()).await {
                if is_new {
                    self.abandon(asking, store).await;
                }
                return Err(trouble);
            }
        }
        let none = || VaultError::new(ResolvedReason::Away, "the login was lost meanwhile");
        self.current.clone().ok_or_else(none)
    }

    /// When the login that serves needs somebody next, where leases hang on it.
    pub(super) fn due(&self, now: Timestamp) -> Option<Timestamp> {
        let login = self.current.as_ref().filter(|login| self.is_kept && login.is_own)?;
        match (LoginFacts { now, times: login.times }).next() {
            Next::Rest(until) => until,
            // It could not be renewed just now.
            Next::Step(LoginStep::Renew | LoginStep::Replace) => Some(after(now, SOON)),
        }
    }

    async fn renew(
        &mut self,
        asking: Asking<'_>,
        store: &Store,
        login: StoreLogin,
    ) -> Result<(), VaultError> {
        match store.vault.renew_self(&login.token).await {
            Ok(seconds) => {
                let times = LoginTimes {
                    since: asking.now,
                    expires: Some(ends_at(asking.now, seconds)),
                    ..login.times
                };
                let facts = LoginFacts { now: asking.now, times };
                let is_worn = facts.next() == Next::Step(LoginStep::Replace);
                let accessor = login.accessor.clone();
                self.current = Some(StoreLogin { times, ..login });
                if is_worn {
                    return self.retire(asking, store, &accessor).await;
                }
                if self.is_kept { self.keep(asking, store.name()).await } else { Ok(()) }
            }
            // The login has ended, and its leases with it.
            Err(error) if matches!(error.why, ResolvedReason::Denied | ResolvedReason::BadData) => {
                self.forget(asking, store.name(), &login.accessor).await
            }
            // It serves as it is, for as long as it lives.
            Err(error) => {
                tracing::debug!(namespace = asking.account.namespace, store = store.name(), %error, "a login is not renewed");
                Ok(())
            }
        }
    }

    /// Whether a refusal was due to the login: one that Vault no longer accepts is forgotten.
    pub(super) async fn is_dead(&mut self, asking: Asking<'_>, store: &Store) -> Result<bool, VaultError> {
        let Some(login) = self.current.clone() else { return Ok(false) };
        if store.vault.is_alive(&login.token).await? {
            return Ok(false);
        }
        self.forget(asking, store.name(), &login.accessor).await?;
        Ok(true)
    }

    /// A login serves no more. Where leases may hang on it, it waits for its end.
    pub(super) async fn retire(
        &mut self,
        asking: Asking<'_>,
        store: &Store,
        accessor: &str,
    ) -> Result<(), VaultError> {
        self.recall(asking, store.name()).await?;
        if !store.makes_logins() && self.current.as_ref().is_some_and(|login| login.print == store.print) {
            // The next one would be the same.
            return Ok(());
        }
        let Some(login) = self.current.take_if(|login| login.accessor == accessor) else { return Ok(()) };
        if self.is_kept && login.is_own {
            self.retiring.push(StoreLogin { retires: true, ..login });
            self.retired = true;
            self.keep(asking, store.name()).await?;
        }
        Ok(())
    }

    /// The login that was just made can be kept nowhere: it is ended, since the next turn makes another one.
    async fn abandon(&mut self, asking: Asking<'_>, store: &Store) {
        let Some(login) = self.current.take() else { return };
        if asking.ports.check_leading("ending a login").await.is_err() {
            return;
        }
        if let Err(trouble) = store.vault.revoke_self(&login.token).await {
            tracing::debug!(namespace = asking.account.namespace, store = store.name(), %trouble, "a login is not revoked: it expires");
        }
    }

    /// Whether a login retired since this was asked last.
    pub(super) fn take_retired(&mut self) -> bool {
        std::mem::take(&mut self.retired)
    }

    /// The token of a login that is known.
    pub(super) async fn token_of(
        &mut self,
        asking: Asking<'_>,
        store: &Store,
        accessor: &str,
    ) -> Result<Option<SecretString>, VaultError> {
        self.recall(asking, store.name()).await?;
        let mut all = self.current.iter().chain(&self.retiring);
        Ok(all.find(|login| login.accessor == accessor).map(|login| login.token.clone()))
    }

    /// Keeps a lease that Vault gave, before anything uses it.
    pub(super) async fn hold(
        &mut self,
        asking: Asking<'_>,
        store: &str,
        id: &str,
        lease: KeptLease,
    ) -> Result<(), VaultError> {
        self.recall(asking, store).await?;
        self.leases.insert(id.to_owned(), lease);
        self.keep(asking, store).await.inspect_err(|_| drop(self.leases.remove(id)))
    }

    /// Whether a lease is kept for a VaultSecret, with that login.
    pub(super) fn holds(&self, uid: &str, id: &str, login: &str) -> bool {
        self.leases.get(id).is_some_and(|kept| kept.uid == uid && kept.login == login)
    }

    /// Takes out of a status what it says of this store's leases and nobody keeps for it: such a lease is neither renewed nor
    /// revoked, and ends by itself. It is said.
    pub(super) async fn disbelieve(
        &mut self,
        asking: Asking<'_>,
        store: &str,
        subject: &mut VaultSecretSubject,
    ) -> Result<(), VaultError> {
        if !subject.has_lease() {
            return Ok(());
        }
        self.recall(asking, store).await?;
        let gone = subject.forget_leases(store, |uid, id, login| !self.holds(uid, id, login));
        if gone > 0 {
            let message = format!(
                "its status named {} of the VaultStore {store} that Capstan does not keep for a VaultSecret with this UID: it leaves them to expire",
                wording::count(gone, "lease", "leases")
            );
            tracing::warn!(namespace = subject.key.0, secret = subject.key.1, "{message}");
            subject.note(asking.ports, asking.by, asking.now, ResolvedReason::NotAllowed, &message).await;
        }
        Ok(())
    }

    /// Ends retired logins that have no lease any more; and the current one, where no lease is left. Forgets leases
    /// that no status names any more.
    pub(super) async fn sweep(
        &mut self,
        asking: Asking<'_>,
        store: &Store,
        (used, told): (&BTreeSet<String>, &BTreeSet<String>),
    ) -> Result<(), VaultError> {
        if !self.is_kept && self.retiring.is_empty() {
            return Ok(());
        }
        let name = store.name();
        for login in self.retiring.clone() {
            let is_over = login.times.expires.is_some_and(|end| end <= asking.now);
            if used.contains(&login.accessor) && !is_over {
                continue;
            }
            if !is_over {
                asking.ports.check_leading("ending a login").await?;
                store.vault.revoke_self(&login.token).await?;
            }
            tracing::info!(
                namespace = asking.account.namespace,
                store = name,
                "an earlier login to Vault was ended"
            );
            self.retiring.retain(|one| one.accessor != login.accessor);
            self.keep(asking, name).await?;
        }
        let held = self.leases.len();
        self.leases.retain(|id, _| told.contains(id));
        let own = self.current.clone().filter(|login| login.is_own);
        let is_others = self.current.is_some() && own.is_none();
        // Leases of the namespace's own login end with that login. Leases of another login have to be known until they
        // are ended.
        let hang_on_others = !store.makes_own_logins() && !self.leases.is_empty();
        let is_over = (used.is_empty() || is_others) && !hang_on_others;
        if self.is_kept && self.retiring.is_empty() && is_over {
            if let Some(login) = own {
                asking.ports.check_leading("ending a login").await?;
                store.vault.revoke_self(&login.token).await?;
                // Not before it is ended: nobody else knows its token.
                self.current = None;
            }
            KeptLogins::of(asking, name).remove().await?;
            self.is_kept = false;
            self.leases.clear();
        } else if self.is_kept && self.leases.len() < held {
            self.keep(asking, name).await?;
        }
        Ok(())
    }

    /// A login was ended; who keeps it elsewhere goes along.
    pub(super) fn lose(&mut self, accessor: &str) {
        self.current.take_if(|login| login.accessor == accessor);
        self.retiring.retain(|login| login.accessor != accessor);
    }

    /// Whether leases may hang on any of them.
    pub(super) const fn hangs(&self) -> bool {
        self.is_kept || !self.retiring.is_empty()
    }

    async fn forget(&mut self, asking: Asking<'_>, store: &str, accessor: &str) -> Result<(), VaultError> {
        if self.current.take_if(|login| login.accessor == accessor).is_some() && self.is_kept {
            self.keep(asking, store).await?;
        }
        Ok(())
    }

    /// What an earlier process kept.
    async fn recall(&mut self, asking: Asking<'_>, store: &str) -> Result<(), VaultError> {
        if self.is_read {
            return Ok(());
        }
        if let Some((logins, leases)) = KeptLogins::of(asking, store).read().await? {
            self.is_kept = true;
            self.leases = leases;
            for login in logins {
                let is_over = login.times.expires.is_some_and(|end| end <= asking.now);
                match (is_over, login.retires) {
                    (true, _) => {}
                    (false, true) => self.retiring.push(login),
                    (false, false) => self.current = Some(login),
                }
            }
        }
        self.is_read = true;
        Ok(())
    }

    async fn keep(&mut self, asking: Asking<'_>, store: &str) -> Result<(), VaultError> {
        let own = self.current.iter().filter(|login| login.is_own);
        let all: Vec<&StoreLogin> = own.chain(&self.retiring).collect();
        KeptLogins::of(asking, store).write(&all, &self.leases).await?;
        self.is_kept = true;
        Ok(())
    }
}

impl StoreLogin {
    fn of(made: VaultToken, store: &Store, now: Timestamp) -> Self {
        let times = LoginTimes {
            since: now,
            expires: made.seconds.map(|seconds| ends_at(now, seconds)),
            first_seconds: made.seconds.unwrap_or_default(),
            is_renewable: made.is_renewable,
        };
        let (print, is_own) = (store.print.clone(), store.makes_own_logins());
        Self { accessor: made.accessor, token: made.token, times, print, is_own, retires: false }
    }
}
