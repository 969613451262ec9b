//! One VaultSecret's turn: read, compare, write, say.

use std::collections::BTreeMap;

use capstan_live::secrets::{KvRead, ResolvedReason, VaultSecretSpec};
use jiff::Timestamp;

use super::asking::Asking;
use super::earlier::{leave, soon};
use super::group::LoginNeed;
use super::logins::LoginGroup;
use super::outcome::{AT_ONCE, SOON, SecretSuccess, SecretTurn, after, refresh};
use super::store::Store;
use super::subject::VaultSecretSubject;
use super::target::{OutputSecret, SecretEntries, as_text, is_key, keep_only};
use capstan_ports::{KvSecret, Vault as _, VaultError};

/// Gives a VaultSecret its turn. The result goes into its condition.
pub(super) async fn take_turn(
    asking: Asking<'_>,
    subject: &mut VaultSecretSubject,
    group: &mut LoginGroup,
) -> SecretTurn {
    if subject.is_deleting {
        return super::removal::take_turn(asking, subject, group).await;
    }
    let mut ended = resolve(asking, subject, group).await;
    let is_denied = ended.as_ref().is_err_and(|trouble| trouble.why == ResolvedReason::Denied);
    if is_denied && is_logins_fault(asking, subject, group).await {
        ended = resolve(asking, subject, group).await;
    }
    let (why, message, next) = match ended {
        Ok(done) => (ResolvedReason::Resolved, done.message, done.next),
        Err(trouble) => {
            metrics::counter!("capstan_reconciler_failures_total", "cause" => trouble.why.as_str())
                .increment(1);
            let refresh = refresh(subject);
            let pause = if trouble.why.passes() { refresh.min(SOON) } else { refresh };
            (trouble.why, trouble.message, after(asking.now, pause))
        }
    };
    let is_news = subject.say(asking.now, why, message.clone());
    if is_news {
        let (namespace, name) = &subject.key;
        tracing::info!(%namespace, secret = %name, reason = why.as_str(), message, "the status of a VaultSecret changed");
    }
    match subject.save(asking.ports).await {
        Ok(()) if is_news => subject.note(asking.ports, asking.by, asking.now, why, &message).await,
        Ok(()) => {}
        Err(error) => {
            let (namespace, name) = &subject.key;
            tracing::warn!(%namespace, secret = %name, %error, "the status of a VaultSecret cannot be written");
            return SecretTurn { next: after(asking.now, AT_ONCE) };
        }
    }
    SecretTurn { next }
}

/// Gives a turn to a VaultSecret that now names another store: its leases of this store end. Returns when it is due
/// here next.
pub(super) async fn take_leave(
    asking: Asking<'_>,
    subject: &mut VaultSecretSubject,
    group: &mut LoginGroup,
    of: &str,
) -> Timestamp {
    let store = match group.disbelieve(asking, of, subject).await {
        Ok(()) => asking.vault.store(asking.ports, of, &subject.key.0).await,
        Err(trouble) => Err(trouble),
    };
    let (is_over, pause) = match store {
        Ok(store) => (leave(asking, subject, group, &store).await, AT_ONCE * 5),
        Err(trouble) => {
            tracing::debug!(namespace = subject.key.0, secret = subject.key.1, %trouble, "earlier leases are not ended yet");
            subject.forget_run_out(asking.now);
            (!subject.earlier_stores().any(|store| store == of), SOON * 2)
        }
    };
    if let Err(error) = subject.save(asking.ports).await {
        tracing::debug!(namespace = subject.key.0, secret = subject.key.1, %error, "its status cannot be written");
        return after(asking.now, AT_ONCE);
    }
    if is_over { Timestamp::MAX } else { after(asking.now, pause) }
}

async fn resolve(
    asking: Asking<'_>,
    subject: &mut VaultSecretSubject,
    group: &mut LoginGroup,
) -> Result<SecretSuccess, VaultError> {
    let spec = subject.spec.clone().map_err(|error| VaultError::new(ResolvedReason::BadData, error))?;
    // A label takes no longer one.
    if subject.key.1.len() > 63 {
        let message = "its name is longer than 63 characters, the limit of a label on its Secret: give it a shorter one";
        return Err(VaultError::new(ResolvedReason::BadData, message));
    }
    group.disbelieve(asking, &spec.store, subject).await?;
    let store = asking.vault.store(asking.ports, &spec.store, &subject.key.0).await?;
    subject.hold(asking.ports, asking.by).await?;
    match &spec.lease {
        Some(request) => super::lease::resolve(asking, subject, group, &store, (&spec, request)).await,
        None => resolve_fields(asking, subject, group, &store, &spec).await,
    }
}

/// Whether Vault refused because the login had ended; it is forgotten then.
async fn is_logins_fault(asking: Asking<'_>, subject: &VaultSecretSubject, group: &mut LoginGroup) -> bool {
    let Ok(spec) = &subject.spec else { return false };
    let Ok(store) = asking.vault.store(asking.ports, &spec.store, &subject.key.0).await else { return false };
    group.is_dead(asking, &store).await.unwrap_or(false)
}

async fn resolve_fields(
    asking: Asking<'_>,
    subject: &mut VaultSecretSubject,
    group: &mut LoginGroup,
    store: &Store,
    spec: &VaultSecretSpec,
) -> Result<SecretSuccess, VaultError> {
    let owner = subject.key.clone();
    let target = OutputSecret { owner: &owner, spec };
    let live = target.read(asking).await?;
    let read = read_all(asking, group, store, spec).await?;
    let content = content(spec, &read)?;
    let version: BTreeMap<String, i64> = spec
        .data
        .iter()
        .filter_map(|(key, field)| Some((key.clone(), i64::try_from(read.get(&field.read())?.version).ok()?)))
        .collect();
    let before: Vec<&str> = subject.status.version.keys().map(String::as_str).collect();
    let holds = live.as_ref().is_some_and(|live| target.holds(live, &content, &before));
    if !holds {
        target.write(asking, live.as_ref(), &content, None).await?;
        tracing::info!(namespace = subject.key.0, secret = subject.key.1, "a Secret was written from Vault");
    }
    let name = spec.secret_name(&owner.1);
    keep_only(asking, subject, name).await?;
    if !holds || subject.status.version != version || subject.status.last_read.is_none() {
        subject.status.last_read = Some(asking.now);
    }
    subject.status.version = version;
    // It asked for a lease before.
    subject.set_aside();
    subject.set_aside_asked(asking.now);
    let next = after(asking.now, refresh(subject));
    let next = if leave(asking, subject, group, store).await { next } else { soon(asking, next) };
    let all: Vec<String> = read
        .iter()
        .map(|(read, found)| format!("{}/{} version {}", read.mount, read.path, found.version))
        .collect();
    Ok(SecretSuccess { message: format!("Secret {name} holds {}", all.join(", ")), next })
}

/// Reads everything that fields are of, each secret once.
pub(super) async fn read_all(
    asking: Asking<'_>,
    group: &mut LoginGroup,
    store: &Store,
    spec: &VaultSecretSpec,
) -> Result<BTreeMap<KvRead, KvSecret>, VaultError> {
    let login = group.login(asking, store, LoginNeed::Read).await?;
    let mut all = BTreeMap::new();
    for read in spec.reads() {
        let found = store.vault.read(&login.token, &read).await?;
        all.insert(read, found);
    }
    Ok(all)
}

/// The value of each key.
pub(super) fn content(
    spec: &VaultSecretSpec,
    read: &BTreeMap<KvRead, KvSecret>,
) -> Result<SecretEntries, VaultError> {
    let mut content = SecretEntries::new();
    for (key, field) in &spec.data {
        if !is_key(key) {
            let message =
                format!("`{key}` cannot be a key of a Secret: use letters, digits, `-`, `_` and `.`");
            return Err(VaultError::new(ResolvedReason::BadData, message));
        }
        let secret = read.get(&field.read());
        let value = secret.and_then(|secret| secret.fields.get(&field.key)).filter(|value| !value.is_null());
        let Some(value) = value else {
            let version = secret.map(|secret| secret.version).unwrap_or_default();
            let message =
                format!("{}/{} version {version} has no key `{}`", field.mount, field.path, field.key);
            return Err(VaultError::new(ResolvedReason::Missing, message));
        };
        content.insert(key.clone(), as_text(value));
    }
    Ok(content)
}
