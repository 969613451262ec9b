//! A lease's turn: it is kept, renewed, or another one is taken.

use capstan_live::secrets::{
    Content, Lease, LeaseFacts, LeaseRequest, LeaseStep, Superseded, VaultSecretSpec, Why, next_lease_step,
};
use jiff::{SignedDuration, Timestamp};
use secrecy::SecretString;

use super::asking::Asking;
use super::earlier::{leave, soon};
use super::ending::end;
use super::group::Need;
use super::logins::{Group, KeptLease, Login};
use super::outcome::{Done, after, refresh};
use super::store::Store;
use super::subject::Subject;
use super::target::{self, Target, as_text, is_key};
use crate::reconcile::resources::LeaseStatus;
use capstan_ports::{NewLease, Vault as _, VaultError, ends_at};

/// Steps that one turn takes at most.
const MOST_STEPS: usize = 4;

/// How a lease is asked for, and what for.
type Wanted<'a> = (&'a VaultSecretSpec, &'a LeaseRequest);

pub(super) async fn resolve(
    asking: Asking<'_>,
    subject: &mut Subject,
    group: &mut Group,
    store: &Store,
    (spec, request): Wanted<'_>,
) -> Result<Done, VaultError> {
    store.gives_leases()?;
    let print = request.print(&spec.store);
    let (mut is_looked_up, mut is_taken, mut gone) = (false, false, None);
    for _ in 0..MOST_STEPS {
        if subject.status.asked_of.as_deref().is_some_and(|of| of != store.name()) {
            subject.set_aside_asked(asking.now);
        }
        if let Some(accessor) = subject.status.asked_with.clone() {
            // Somebody died between asking and writing down: what nobody knows ends with its login.
            group.retire(asking, store, &accessor).await?;
            (subject.status.asked_with, subject.status.asked_of) = (None, None);
        }
        let login = group.login(asking, store, Need::Lease).await?;
        let owner = subject.key.clone();
        let target = Target { owner: &owner, spec };
        let live = target.read(asking).await?;
        let known = lease_of(subject).map(|lease| of_store(lease, subject, store));
        let is_whole = known
            .as_ref()
            .zip(live.as_ref())
            .is_some_and(|(lease, live)| target.holds_lease(live, &lease.id));
        let content = if is_whole { Content::AsWritten } else { Content::Lost };
        let facts = LeaseFacts { request: &print, login: Some(&login.accessor), content };
        match (next_lease_step(known.as_ref(), &facts, asking.now), known) {
            (LeaseStep::Keep(_), Some(lease)) if !is_looked_up => {
                is_looked_up = true;
                if let Some(why) = lost(asking, group, store, (&login, &lease)).await {
                    subject.status.lease = None;
                    subject.status.lease_expires = None;
                    gone = Some(why);
                }
            }
            (LeaseStep::Keep(until), _) => {
                let next = until.min(after(asking.now, refresh(subject)));
                let next = group.due(asking.now).map_or(next, |due| next.min(due));
                let name = spec.secret_name(&owner.1);
                target::keep_only(asking, subject, name).await?;
                let next = if leave(asking, subject, group, store).await { next } else { soon(asking, next) };
                let message = format!("Secret {name} holds a lease of {}", request.path);
                let message = match gone {
                    Some(why) => format!("{message}; {why}"),
                    // What was said of this lease stays said.
                    None if !is_taken => {
                        subject.said().filter(|said| said.starts_with(&message)).unwrap_or(message)
                    }
                    None => message,
                };
                return Ok(Done { message, next });
            }
            (LeaseStep::Renew, Some(lease)) => renew(asking, subject, store, &login.token, &lease).await?,
            (LeaseStep::Renew, None) => {}
            (LeaseStep::Take(Superseded::Revoke), Some(lease)) => {
                // Else its login has retired, and the next step takes one with another.
                if end(asking, group, store, (&lease.login, &lease.id)).await? {
                    subject.status.lease = None;
                    subject.status.lease_expires = None;
                }
            }
            (LeaseStep::Take(superseded), _) => {
                let replaces = superseded == Superseded::Replaced;
                let at = (&login, &target, live.as_ref());
                let taken = take(asking, subject, (group, store), at, (request, &print, replaces)).await;
                // What was given just now is there.
                (is_looked_up, is_taken) = (true, true);
                if taken.is_err() && replaces {
                    keep_alive(asking, subject, group, store).await;
                }
                taken?;
            }
        }
    }
    Err(VaultError::new(Why::Away, format!("the lease of {} does not come to rest", request.path)))
}

/// Why a lease that should last still is gone; `None` where Vault knows it, or does not say. It may have been revoked, or the login
/// that it hangs on.
async fn lost(
    asking: Asking<'_>,
    group: &mut Group,
    store: &Store,
    (login, lease): (&Login, &Lease),
) -> Option<&'static str> {
    match store.vault.knows(&login.token, &lease.id).await {
        Ok(true) => None,
        Ok(false) => Some("the earlier one was revoked in Vault before its time, so another one was taken"),
        Err(error) if error.why == Why::Denied => {
            let is_dead = group.is_dead(asking, store).await.unwrap_or(false);
            is_dead.then_some(
                "the login that the earlier one hung on was revoked in Vault before its time, so another one was taken",
            )
        }
        Err(error) => {
            tracing::debug!(store = store.name(), %error, "whether a lease is there still is not known");
            None
        }
    }
}

/// One of another store answers nothing that is asked of this one.
fn of_store(lease: Lease, subject: &Subject, store: &Store) -> Lease {
    let of = subject.status.lease.as_ref().map_or("", |lease| lease.store.as_str());
    let is_of_it = of.is_empty() || of == store.name();
    if is_of_it { lease } else { Lease { request: String::new(), ..lease } }
}

/// The lease that is known.
pub(super) fn lease_of(subject: &Subject) -> Option<Lease> {
    let LeaseStatus { id, login, since, first_seconds, renewable, request, .. } =
        subject.status.lease.clone()?;
    let expires = subject.status.lease_expires?;
    Some(Lease { id, login, since, expires, first_seconds, is_renewable: renewable, request })
}

async fn renew(
    asking: Asking<'_>,
    subject: &mut Subject,
    store: &Store,
    token: &SecretString,
    lease: &Lease,
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
        Err(error) if matches!(error.why, Why::BadData | Why::Missing) => {
            subject.status.lease = None;
            subject.status.lease_expires = None;
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// What is asked for now is not to be had: as long as the earlier lease can be renewed, it is.
async fn keep_alive(asking: Asking<'_>, subject: &mut Subject, group: &mut Group, store: &Store) {
    let is_of_it = subject.status.lease.as_ref().is_some_and(|lease| lease.store == store.name());
    let lease = lease_of(subject);
    let is_due =
        |lease: &Lease| lease.is_renewable && lease.due() <= asking.now && asking.now < lease.expires;
    let Some(lease) = lease.filter(|lease| is_of_it && is_due(lease)) else { return };
    if let Ok(Some(token)) = group.token_of(asking, store, &lease.login).await
        && let Err(trouble) = renew(asking, subject, store, &token, &lease).await
    {
        tracing::debug!(namespace = subject.key.0, secret = subject.key.1, %trouble, "an earlier lease is not renewed");
    }
}

/// Takes another one: first it is written down that one is asked for, then asked, then written, then written down.
async fn take(
    asking: Asking<'_>,
    subject: &mut Subject,
    (group, store): (&mut Group, &Store),
    (login, target, live): (&Login, &Target<'_>, Option<&serde_json::Value>),
    (request, print, replaces): (&LeaseRequest, &str, bool),
) -> Result<(), VaultError> {
    // Of one that is not asked at all nobody need doubt what it gave.
    store.vault.check()?;
    if store.makes_logins() {
        subject.status.asked_with = Some(login.accessor.clone());
        subject.status.asked_of = Some(store.name().to_owned());
        subject.save(asking.ports).await?;
    }
    asking.ports.check_leading("asking for a lease").await?;
    let asked = store.vault.lease(&login.token, &request.path, request.method, &request.parameters).await;
    let new = match asked {
        Ok(new) => new,
        Err(error) => {
            if error.why != Why::Away {
                // It was refused: none was given.
                (subject.status.asked_with, subject.status.asked_of) = (None, None);
            }
            return Err(error);
        }
    };
    let kept =
        KeptLease { uid: subject.uid.clone(), login: login.accessor.clone(), path: request.path.clone() };
    let written = match has_lease(request, &new) {
        Ok(()) => match group.hold(asking, store.name(), &new.id, kept).await {
            Ok(()) => write(asking, subject, target, live, (request, &new)).await,
            Err(trouble) => Err(trouble),
        },
        Err(trouble) => Err(trouble),
    };
    if let Err(trouble) = written {
        // Nobody knows what it gave.
        if new.id.is_empty() || store.vault.revoke(&login.token, &new.id).await.is_ok() {
            (subject.status.asked_with, subject.status.asked_of) = (None, None);
        }
        return Err(trouble);
    }
    let now = whole(asking.now);
    if replaces {
        subject.set_aside();
    }
    subject.status.lease = Some(LeaseStatus {
        id: new.id,
        login: login.accessor.clone(),
        store: store.name().to_owned(),
        since: now,
        first_seconds: new.seconds,
        renewable: new.is_renewable,
        request: print.to_owned(),
    });
    subject.status.lease_expires = Some(ends_at(now, new.seconds));
    subject.status.last_read = Some(now);
    subject.status.version.clear();
    (subject.status.asked_with, subject.status.asked_of) = (None, None);
    tracing::info!(
        namespace = subject.key.0,
        secret = subject.key.1,
        path = request.path,
        seconds = new.seconds,
        "a lease was taken"
    );
    // Before anything else: the one who follows knows it by this.
    subject.save(asking.ports).await
}

/// Whether what was given is a lease.
fn has_lease(request: &LeaseRequest, new: &NewLease) -> Result<(), VaultError> {
    if new.id.is_empty() || new.seconds <= 0 {
        return Err(bad(
            request,
            "has no lease: a role of the PKI engine wants `generate_lease`, and secrets of the key-value engine are asked for by `data`",
        ));
    }
    Ok(())
}

fn bad(request: &LeaseRequest, what: &str) -> VaultError {
    VaultError::new(Why::BadData, format!("what {} gives {what}", request.path))
}

async fn write(
    asking: Asking<'_>,
    subject: &Subject,
    target: &Target<'_>,
    live: Option<&serde_json::Value>,
    (request, new): (&LeaseRequest, &NewLease),
) -> Result<(), VaultError> {
    let bad = |what: String| bad(request, &what);
    if new.fields.is_empty() {
        return Err(bad("has no fields".to_owned()));
    }
    if let Some(key) = new.fields.keys().find(|key| !is_key(key)) {
        return Err(bad(format!("has the field `{key}`, which can be no key of a Secret")));
    }
    let fields = new.fields.iter().filter(|(_, value)| !value.is_null());
    let content: target::Content = fields.map(|(key, value)| (key.clone(), as_text(value))).collect();
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
pub(super) fn left(lease: &Lease, now: Timestamp) -> SignedDuration {
    lease.expires.duration_since(now)
}
