//! A VaultSecret that goes: its lease ends, its Secret is deleted, and then it may.
//!
//! Where its namespace goes, everything in it goes, in any order: the account's rights may be gone already, and with them the
//! kept login. Then what can be ended without them is ended, and the reconciler itself lets the VaultSecret go.

use capstan_live::secrets::ResolvedReason;
use jiff::SignedDuration;

use super::asking::Asking;
use super::earlier::end_earlier;
use super::ending::end;
use super::lease::lease_of;
use super::logins::LoginGroup;
use super::outcome::{AT_ONCE, SecretTurn, after, refresh};
use super::subject::VaultSecretSubject;
use super::{lease, target};
use capstan_ports::{ApiKind, ApiObject, As, ManagementCluster as _, Vault as _, VaultError};

/// How long a namespace that goes is kept by a Vault that does not answer. What is left then ends by itself.
const PATIENCE: SignedDuration = SignedDuration::from_mins(2);

/// Gives one that is being deleted its turn.
pub(super) async fn take_turn(
    asking: Asking<'_>,
    subject: &mut VaultSecretSubject,
    group: &mut LoginGroup,
) -> SecretTurn {
    if goes_with_namespace(asking, &subject.key.0).await {
        return go_along(asking, subject, group).await;
    }
    let trouble = match remove(asking, subject, group).await {
        Ok(true) => return SecretTurn { next: after(asking.now, refresh(subject)) },
        Ok(false) => return SecretTurn { next: after(asking.now, AT_ONCE) },
        Err(trouble) => trouble,
    };
    let message = format!("it is being deleted, but cannot be removed yet: {}", trouble.message);
    if subject.say(asking.now, trouble.why, message.clone()) {
        subject.note(asking.ports, asking.by, asking.now, trouble.why, &message).await;
    }
    if let Err(error) = subject.save(asking.ports).await {
        tracing::debug!(namespace = subject.key.0, secret = subject.key.1, %error, "its status cannot be written");
    }
    SecretTurn { next: after(asking.now, AT_ONCE * 5) }
}

/// Whether everything of it is gone.
async fn remove(
    asking: Asking<'_>,
    subject: &mut VaultSecretSubject,
    group: &mut LoginGroup,
) -> Result<bool, VaultError> {
    if subject.has_lease() && !end_lease(asking, subject, group).await? {
        return Ok(false);
    }
    let removed = target::remove_others(asking.ports, asking.by, subject, None).await;
    match removed {
        // The account's rights were revoked: what is left is for those who revoked them to clean up.
        Err(trouble) if trouble.why == ResolvedReason::NotAllowed => {}
        removed => removed?,
    }
    subject.let_go(asking.ports, asking.by).await?;
    tracing::info!(namespace = subject.key.0, secret = subject.key.1, "a VaultSecret was ended");
    Ok(true)
}

/// Whether nothing lives any more that it asked for.
async fn end_lease(
    asking: Asking<'_>,
    subject: &mut VaultSecretSubject,
    group: &mut LoginGroup,
) -> Result<bool, VaultError> {
    let of = subject.store_name().to_owned();
    group.disbelieve(asking, &of, subject).await?;
    subject.forget_run_out(asking.now);
    let lease = lease_of(subject);
    let is_over = lease.as_ref().is_none_or(|lease| !lease::left(lease, asking.now).is_positive());
    if subject.status.asked_with.is_none() && subject.status.earlier.is_empty() && is_over {
        return Ok(true);
    }
    let Ok(spec) = subject.spec.clone() else {
        // Nobody can read any more which store it names: what it had ends at those that gave it.
        subject.set_aside();
        subject.set_aside_asked(asking.now);
        subject.save(asking.ports).await?;
        check_others(subject)?;
        return Ok(!subject.has_lease());
    };
    let store = match asking.vault.store(asking.ports, &spec.store, &subject.key.0).await {
        Ok(store) => store,
        Err(trouble) => {
            // Where nobody ever can be asked again, what may have been given keeps it no longer than that may live.
            subject.set_aside_asked(asking.now);
            return Err(trouble);
        }
    };
    // What it had at other stores ends there, by its login of those.
    if subject.status.asked_of.as_deref().is_some_and(|of| of != store.name()) {
        subject.set_aside_asked(asking.now);
    }
    if subject
        .status
        .lease
        .as_ref()
        .is_some_and(|lease| !lease.store.is_empty() && lease.store != store.name())
    {
        subject.set_aside();
    }
    if let Some(accessor) = subject.status.asked_with.clone() {
        group.retire(asking, &store, &accessor).await?;
        if group.token_of(asking, &store, &accessor).await?.is_none() || !store.makes_logins() {
            (subject.status.asked_with, subject.status.asked_of) = (None, None);
        }
    }
    if subject.status.lease.is_some()
        && let Some(lease) = lease
        && end(asking, group, &store, (&lease.login, &lease.id)).await?
    {
        subject.status.lease = None;
        subject.status.lease_expires = None;
    }
    let ended = end_earlier(asking, subject, group, &store).await;
    subject.save(asking.ports).await?;
    ended?;
    check_others(subject)?;
    Ok(!subject.has_lease())
}

/// Whether nothing is left at other stores than the one that it names.
fn check_others(subject: &VaultSecretSubject) -> Result<(), VaultError> {
    let Some(other) = subject.earlier_stores().find(|of| *of != subject.store_name()) else { return Ok(()) };
    let message = format!("its leases of the VaultStore {other} are not ended yet");
    Err(VaultError::new(ResolvedReason::Away, message))
}

/// Whether a namespace is being deleted.
async fn goes_with_namespace(asking: Asking<'_>, namespace: &str) -> bool {
    let object = ApiObject {
        kind: ApiKind::of_version("v1", "Namespace"),
        namespace: None,
        name: namespace.to_owned(),
    };
    // Who may not look finds out nothing: it is deleted as any other then.
    let found = asking.ports.live.read(&As::Reconciler, &object).await.ok().flatten();
    found.is_some_and(|found| found.pointer("/metadata/deletionTimestamp").is_some())
}

/// Lets it go with its namespace.
async fn go_along(
    asking: Asking<'_>,
    subject: &mut VaultSecretSubject,
    group: &mut LoginGroup,
) -> SecretTurn {
    let (namespace, secret) = (subject.key.0.clone(), subject.key.1.clone());
    if let Err(trouble) = end_logins(asking, subject, group).await {
        let waits = subject.deleted.is_some_and(|at| asking.now < after(at, PATIENCE));
        if trouble.why.passes() && waits {
            return SecretTurn { next: after(asking.now, AT_ONCE * 5) };
        }
        tracing::warn!(
            namespace, secret, %trouble,
            "a namespace is being deleted, and the lease of its VaultSecret cannot be revoked: it expires"
        );
    }
    match subject.let_go(asking.ports, &As::Reconciler).await {
        Ok(()) => tracing::info!(namespace, secret, "a VaultSecret was deleted with its namespace"),
        Err(trouble) => tracing::warn!(namespace, secret, %trouble, "a VaultSecret keeps its namespace"),
    }
    SecretTurn { next: after(asking.now, AT_ONCE * 5) }
}

/// Ends the logins that its leases hang on, as far as they are known: everybody who has one of them goes, too.
async fn end_logins(
    asking: Asking<'_>,
    subject: &mut VaultSecretSubject,
    group: &mut LoginGroup,
) -> Result<(), VaultError> {
    let store = subject.store_name().to_owned();
    if !subject.has_lease() || store.is_empty() {
        return Ok(());
    }
    group.disbelieve(asking, &store, subject).await?;
    let store = asking.vault.store(asking.ports, &store, &subject.key.0).await?;
    let status = &subject.status;
    let lease = status.lease.as_ref().map(|lease| (&lease.login, Some(&lease.id)));
    let asked = status.asked_with.as_ref().map(|login| (login, None));
    let earlier = status.earlier.iter().map(|earlier| (&earlier.login, earlier.id.as_ref()));
    for (login, id) in lease.into_iter().chain(asked).chain(earlier) {
        // The Secret with the logins may be gone, or no longer readable.
        let Ok(Some(token)) = group.token_of(asking, &store, login).await else { continue };
        asking.ports.check_leading("ending a login").await?;
        match (store.makes_logins(), id) {
            (true, _) => store.vault.revoke_self(&token).await?,
            (false, Some(id)) => store.vault.revoke(&token, id).await?,
            (false, None) => {}
        }
        group.lose(login);
    }
    Ok(())
}
