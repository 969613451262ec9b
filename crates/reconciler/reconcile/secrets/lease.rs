//! A lease's turn: what is gathered of it, and how its steps are carried out.

use async_trait::async_trait;
use capstan_live::secrets::{LeaseRequest, ResolvedReason, VaultSecretSpec};
use capstan_ports::{NewLease, Vault as _, VaultError, ends_at};
use capstan_reconciler_core::leases::{
    LeaseDecisionFacts, LeaseFacts, LeaseLook, LeaseSecret, LeaseStep, PendingLease, RememberedLease,
    Superseded,
};
use capstan_reconciler_core::resources::LeaseStatus;
use jiff::{SignedDuration, Timestamp};
use secrecy::SecretString;
use serde_json::Value;

use super::asking::Asking;
use super::earlier::{leave, soon};
use super::ending::end;
use super::group::LoginNeed;
use super::logins::{KeptLease, LoginGroup, StoreLogin};
use super::outcome::{SecretSuccess, after, refresh};
use super::store::Store;
use super::subject::VaultSecretSubject;
use super::target::{self, OutputSecret, as_text, is_key};
use crate::life::{Life, live};

/// A lease, where it is kept, and what it takes to get, renew and end it.
struct LeaseLife<'a> {
    asking: Asking<'a>,
    subject: &'a mut VaultSecretSubject,
    group: &'a mut LoginGroup,
    store: &'a Store,
    spec: &'a VaultSecretSpec,
    request: &'a LeaseRequest,
    /// Of what is asked with.
    print: String,
    /// The login with which it was last looked up.
    login: Option<StoreLogin>,
    /// The Secret, as it was last read.
    live: Option<Value>,
    /// Whether Vault was asked in this turn that it knows the lease, or gave it.
    is_looked_up: bool,
    /// Whether it was taken in this turn.
    is_taken: bool,
    /// Why an earlier one is gone.
    gone: Option<&'static str>,
}

pub(super) async fn resolve(
    asking: Asking<'_>,
    subject: &mut VaultSecretSubject,
    group: &mut LoginGroup,
    store: &Store,
    (spec, request): (&VaultSecretSpec, &LeaseRequest),
) -> Result<SecretSuccess, VaultError> {
    store.gives_leases()?;
    let mut life = LeaseLife {
        asking,
        subject: &mut *subject,
        group: &mut *group,
        store,
        spec,
        request,
        print: request.print(&spec.store),
        login: None,
        live: None,
        is_looked_up: false,
        is_taken: false,
        gone: None,
    };
    let (rest, _) = live(&mut life).await?;
    let (is_taken, gone) = (life.is_taken, life.gone);
    let next = rest.until.min(after(asking.now, refresh(subject)));
    let next = group.due(asking.now).map_or(next, |due| next.min(due));
    let owner = subject.key.clone();
    let name = spec.secret_name(&owner.1);
    target::keep_only(asking, subject, name).await?;
    let next = if leave(asking, subject, group, store).await { next } else { soon(asking, next) };
    let message = format!("Secret {name} holds a lease of {}", request.path);
    let message = match gone {
        Some(why) => format!("{message}; {why}"),
        // What was said of this lease stays said.
        None if !is_taken => subject.said().filter(|said| said.starts_with(&message)).unwrap_or(message),
        None => message,
    };
    Ok(SecretSuccess { message, next })
}

#[async_trait]
impl Life for LeaseLife<'_> {
    type Facts = LeaseDecisionFacts;
    type Trouble = VaultError;

    /// What was asked for before, and four more: each may take a lease.
    const MOST_STEPS: usize = 5;

    async fn gather(&mut self) -> Result<LeaseDecisionFacts, VaultError> {
        let look = match self.asked() {
            Some(asked) => LeaseLook::Asked(asked),
            None => LeaseLook::Standing(self.standing().await?),
        };
        let (store, request) = (self.store.name().to_owned(), self.print.clone());
        Ok(LeaseDecisionFacts { now: self.asking.now, store, request, look })
    }

    async fn perform(&mut self, step: LeaseStep, _facts: LeaseDecisionFacts) -> Result<(), VaultError> {
        let asking = self.asking;
        match step {
            LeaseStep::SetAsideAsked => self.subject.set_aside_asked(asking.now),
            LeaseStep::Retire(login) => {
                self.group.retire(asking, self.store, &login).await?;
                (self.subject.status.asked_with, self.subject.status.asked_of) = (None, None);
            }
            LeaseStep::LookUp(lease) => {
                self.is_looked_up = true;
                if let Some(why) = self.lost(&lease).await {
                    self.forget();
                    self.gone = Some(why);
                }
            }
            LeaseStep::Renew(lease) => {
                if let Some(login) = &self.login {
                    renew(asking, self.subject, self.store, &login.token, &lease).await?;
                }
            }
            LeaseStep::Revoke(lease) => {
                // Else its login has retired, and the next step takes one with another.
                if end(asking, self.group, self.store, (&lease.login, &lease.id)).await? {
                    self.forget();
                }
            }
            LeaseStep::Take(superseded) => {
                let replaces = superseded == Superseded::Replaced;
                let taken = self.take(replaces).await;
                // What was given just now is there.
                (self.is_looked_up, self.is_taken) = (true, true);
                if taken.is_err() && replaces {
                    keep_alive(asking, self.subject, self.group, self.store).await;
                }
                taken?;
            }
        }
        Ok(())
    }

    fn restless(&self) -> VaultError {
        VaultError::new(ResolvedReason::Away, format!("the lease of {} never settles", self.request.path))
    }
}

impl LeaseLife<'_> {
    /// What was about to be asked for: somebody died between asking and writing down.
    fn asked(&self) -> Option<PendingLease> {
        let status = &self.subject.status;
        let asked = PendingLease { login: status.asked_with.clone(), store: status.asked_of.clone() };
        let is_any = asked.login.is_some() || asked.store.as_ref().is_some_and(|of| of != self.store.name());
        is_any.then_some(asked)
    }

    async fn standing(&mut self) -> Result<LeaseFacts, VaultError> {
        let login = self.group.login(self.asking, self.store, LoginNeed::Lease).await?;
        let owner = self.subject.key.clone();
        let target = OutputSecret { owner: &owner, spec: self.spec };
        self.live = target.read(self.asking).await?;
        let lease = lease_of(self.subject).map(|lease| of_store(lease, self.subject, self.store));
        let is_whole = lease
            .as_ref()
            .zip(self.live.as_ref())
            .is_some_and(|(lease, live)| target.holds_lease(live, &lease.id));
        let content = if is_whole { LeaseSecret::AsWritten } else { LeaseSecret::Lost };
        let standing =
            LeaseFacts { lease, login: login.accessor.clone(), content, is_looked_up: self.is_looked_up };
        self.login = Some(login);
        Ok(standing)
    }

    /// Nothing is left of the lease.
    fn forget(&mut self) {
        (self.subject.status.lease, self.subject.status.lease_expires) = (None, None);
    }

    /// Why a lease that should still be valid is gone; `None` where Vault knows it, or does not say. Either the lease
    /// or its login may have been revoked.
    async fn lost(&mut self, lease: &RememberedLease) -> Option<&'static str> {
        let login = self.login.as_ref()?;
        match self.store.vault.knows(&login.token, &lease.id).await {
            Ok(true) => None,
            Ok(false) => {
                Some("the earlier one was revoked in Vault before it expired, so Capstan requested a new one")
            }
            Err(error) if error.why == ResolvedReason::Denied => {
                let is_dead = self.group.is_dead(self.asking, self.store).await.unwrap_or(false);
                is_dead.then_some(
                    "the login of the earlier one was revoked in Vault before it expired, so Capstan requested a new one",
                )
            }
            Err(error) => {
                tracing::debug!(store = self.store.name(), %error, "it is unknown whether a lease still exists");
                None
            }
        }
    }

    /// Takes another one: first it is written down that one is asked for, then asked, then written, then written down.
    async fn take(&mut self, replaces: bool) -> Result<(), VaultError> {
        let (asking, store, request) = (self.asking, self.store, self.request);
        let Some(login) = self.login.clone() else { return Ok(()) };
        // Of one that is not asked at all nobody need doubt what it gave.
        store.vault.check()?;
        if store.makes_logins() {
            self.subject.status.asked_with = Some(login.accessor.clone());
            self.subject.status.asked_of = Some(store.name().to_owned());
            self.subject.save(asking.ports).await?;
        }
        asking.ports.check_leading("asking for a lease").await?;
        let asked = store.vault.lease(&login.token, &request.path, request.method, &request.parameters).await;
        let new = match asked {
            Ok(new) => new,
            Err(error) => {
                if error.why != ResolvedReason::Away {
                    // It was refused: none was given.
                    (self.subject.status.asked_with, self.subject.status.asked_of) = (None, None);
                }
                return Err(error);
            }
        };
        if let Err(trouble) = self.write_down(&login, &new).await {
            // Nothing uses the lease yet, so it is revoked.
            if new.id.is_empty() || store.vault.revoke(&login.token, &new.id).await.is_ok() {
                (self.subject.status.asked_with, self.subject.status.asked_of) = (None, None);
            }
            return Err(trouble);
        }
        let now = whole(asking.now);
        if replaces {
            self.subject.set_aside();
        }
        let status = &mut self.subject.status;
        status.lease = Some(LeaseStatus {
            id: new.id,
            login: login.accessor,
            store: store.name().to_owned(),
            since: now,
            first_seconds: new.seconds,
            renewable: new.is_renewable,
            request: self.print.clone(),
        });
        status.lease_expires = Some(ends_at(now, new.seconds));
        status.last_read = Some(now);
        status.version.clear();
        (status.asked_with, status.asked_of) = (None, None);
        tracing::info!(
            namespace = self.subject.key.0,
            secret = self.subject.key.1,
            path = request.path,
            seconds = new.seconds,
            "a lease was requested"
        );
        // Before anything else: the one who follows knows it by this.
        self.subject.save(asking.ports).await
    }

    /// What was given is kept, and written into the Secret.
    async fn write_down(&mut self, login: &StoreLogin, new: &NewLease) -> Result<(), VaultError> {
        has_lease(self.request, new)?;
        let (uid, path) = (self.subject.uid.clone(), self.request.path.clone());
        let kept = KeptLease { uid, login: login.accessor.clone(), path };
        self.group.hold(self.asking, self.store.name(), &new.id, kept).await?;
        let owner = self.subject.key.clone();
        let target = OutputSecret { owner: &owner, spec: self.spec };
        write(self.asking, self.subject, &target, self.live.as_ref(), (self.request, new)).await
    }
}

/// One of another store answers nothing that is asked of this one.
fn of_store(lease: RememberedLease, subject: &VaultSecretSubject, store: &Store) -> RememberedLease {
    let of = subject.status.lease.as_ref().map_or("", |lease| lease.store.as_str());
    let is_of_it = of.is_empty() || of == store.name();
    if is_of_it { lease } else { RememberedLease { request: String::new(), ..lease } }
}

/// The lease that is known.
pub(super) fn lease_of(subject: &VaultSecretSubject) -> Option<RememberedLease> {
    let LeaseStatus { id, login, since, first_seconds, renewable, request, .. } =
        subject.status.lease.clone()?;
    let expires = subject.status.lease_expires?;
    Some(RememberedLease { id, login, since, expires, first_seconds, is_renewable: renewable, request })
}

async fn renew(
    asking: Asking<'_>,
    subject: &mut VaultSecretSubject,
    store: &Store,
    token: &SecretString,
    lease: &RememberedLease,
) -> Result<(), VaultError> {
    asking.ports.check_leading("renewing a lease").await?;
    match store.vault.renew(token, &lease.id, lease.first_seconds).await {
        Ok(seconds) => {
            if let Some(status) = &mut subject.status.lease {
                status.since = whole(asking.now);
            }
            subject.status.lease_expires = Some(ends_at(whole(asking.now), seconds));
            Ok(())
        }
        // Vault has no such lease any more, or renews it no further.
        Err(error) if matches!(error.why, ResolvedReason::BadData | ResolvedReason::Missing) => {
            subject.status.lease = None;
            subject.status.lease_expires = None;
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// What is asked for now is not to be had: as long as the earlier lease can be renewed, it is.
async fn keep_alive(
    asking: Asking<'_>,
    subject: &mut VaultSecretSubject,
    group: &mut LoginGroup,
    store: &Store,
) {
    let is_of_it = subject.status.lease.as_ref().is_some_and(|lease| lease.store == store.name());
    let lease = lease_of(subject);
    let is_due = |lease: &RememberedLease| {
        lease.is_renewable && lease.due() <= asking.now && asking.now < lease.expires
    };
    let Some(lease) = lease.filter(|lease| is_of_it && is_due(lease)) else { return };
    if let Ok(Some(token)) = group.token_of(asking, store, &lease.login).await
        && let Err(trouble) = renew(asking, subject, store, &token, &lease).await
    {
        tracing::debug!(namespace = subject.key.0, secret = subject.key.1, %trouble, "an earlier lease is not renewed");
    }
}

/// Whether what was given is a lease.
fn has_lease(request: &LeaseRequest, new: &NewLease) -> Result<(), VaultError> {
    if new.id.is_empty() || new.seconds <= 0 {
        return Err(bad(
            request,
            "has no lease: a role of the PKI engine needs `generate_lease`; for secrets of the key-value engine, use `data`",
        ));
    }
    Ok(())
}

fn bad(request: &LeaseRequest, what: &str) -> VaultError {
    VaultError::new(ResolvedReason::BadData, format!("what {} gives {what}", request.path))
}

async fn write(
    asking: Asking<'_>,
    subject: &VaultSecretSubject,
    target: &OutputSecret<'_>,
    live: Option<&Value>,
    (request, new): (&LeaseRequest, &NewLease),
) -> Result<(), VaultError> {
    let bad = |what: String| bad(request, &what);
    if new.fields.is_empty() {
        return Err(bad("has no fields".to_owned()));
    }
    if let Some(key) = new.fields.keys().find(|key| !is_key(key)) {
        return Err(bad(format!("has the field `{key}`, which cannot be a key of a Secret")));
    }
    let fields = new.fields.iter().filter(|(_, value)| !value.is_null());
    let content: target::SecretEntries = fields.map(|(key, value)| (key.clone(), as_text(value))).collect();
    tracing::debug!(
        namespace = subject.key.0,
        secret = subject.key.1,
        keys = content.len(),
        "writing a lease"
    );
    target.write(asking, live, &content, Some(&new.id)).await
}

/// Kubernetes writes times in whole seconds.
fn whole(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}

/// How long a lease lives still.
pub(super) fn left(lease: &RememberedLease, now: Timestamp) -> SignedDuration {
    lease.expires.duration_since(now)
}
