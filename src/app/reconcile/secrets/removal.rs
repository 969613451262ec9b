//! A VaultSecret that goes: its lease ends, its Secret is deleted, and then it may.

use capstan_live::secrets::Why;

use super::asking::Asking;
use super::lease::{end, lease_of};
use super::logins::Group;
use super::outcome::{AT_ONCE, Turn, after, refresh};
use super::subject::Subject;
use super::trouble::Trouble;
use super::{lease, target};

/// Gives one that is being deleted its turn.
pub(super) async fn take_turn(asking: Asking<'_>, subject: &mut Subject, group: &mut Group) -> Turn {
    let trouble = match remove(asking, subject, group).await {
        Ok(true) => return Turn { next: after(asking.now, refresh(subject)) },
        Ok(false) => return Turn { next: after(asking.now, AT_ONCE) },
        Err(trouble) => trouble,
    };
    let message = format!("it is being deleted, and cannot go yet: {}", trouble.message);
    if subject.say(asking.now, trouble.why, message.clone()) {
        subject.note(asking.ports, asking.by, asking.now, trouble.why, &message).await;
    }
    if let Err(error) = subject.save(asking.ports, asking.by).await {
        tracing::debug!(namespace = subject.key.0, secret = subject.key.1, %error, "its status cannot be written");
    }
    Turn { next: after(asking.now, AT_ONCE * 5) }
}

/// Whether everything of it is gone.
async fn remove(asking: Asking<'_>, subject: &mut Subject, group: &mut Group) -> Result<bool, Trouble> {
    if subject.has_lease() && !end_lease(asking, subject, group).await? {
        return Ok(false);
    }
    let name = subject.spec.as_ref().map_or(subject.key.1.as_str(), |spec| spec.secret_name(&subject.key.1));
    let removed = target::remove(asking.ports, asking.by, &subject.key, name).await;
    match removed {
        // The namespace goes with everything in it, the account's rights first: what is left goes along.
        Err(trouble) if trouble.why == Why::NotAllowed => {}
        removed => removed?,
    }
    subject.let_go(asking.ports, asking.by).await?;
    tracing::info!(namespace = subject.key.0, secret = subject.key.1, "a VaultSecret was ended");
    Ok(true)
}

/// Whether nothing lives any more that it asked for.
async fn end_lease(asking: Asking<'_>, subject: &mut Subject, group: &mut Group) -> Result<bool, Trouble> {
    let lease = lease_of(subject);
    if subject.status.asked_with.is_none()
        && lease.as_ref().is_none_or(|lease| !lease::left(lease, asking.now).is_positive())
    {
        return Ok(true);
    }
    let Ok(spec) = subject.spec.clone() else { return Ok(true) };
    let store = asking.vault.store(asking.ports, &spec.store, &subject.key.0).await?;
    if let Some(accessor) = subject.status.asked_with.clone() {
        group.retire(asking, &store, &accessor).await?;
        if group.token_of(asking, &store, &accessor).await?.is_none() || !store.makes_logins() {
            subject.status.asked_with = None;
        }
    }
    if let Some(lease) = lease
        && end(asking, group, &store, &lease).await?
    {
        subject.status.lease = None;
        subject.status.lease_expires = None;
    }
    subject.save(asking.ports, asking.by).await?;
    Ok(!subject.has_lease())
}
