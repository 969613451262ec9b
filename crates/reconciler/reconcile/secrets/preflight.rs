//! What Vault says of a head commit's references, before the merge: found, missing or denied. Nothing is written, and no
//! lease is taken.

use capstan_kustomize::render::RenderedObject;
use capstan_live::secrets::{ResolvedReason, VaultSecretSpec};
use capstan_model::finding::Severity;
use capstan_model::object::FieldPath;

use capstan_ports::VaultError;
use capstan_reconciler_core::leases::Accounts;

use super::asking::Asking;
use super::folder::is_vault_secret;
use super::turn::{content, read_all};
use crate::reconcile::dependencies::Ports;
use crate::reconcile::ports::FleetRecord;
use capstan_reconciler_core::reason::Reason;

/// Reads what the references of a render name; why what is not to be had is not.
pub(in crate::reconcile) async fn look(
    ports: &Ports,
    fleet: &FleetRecord,
    objects: &[RenderedObject],
) -> Vec<Reason> {
    let mut reasons = Vec::new();
    for object in objects.iter().filter(|object| is_vault_secret(object)) {
        let Some(namespace) = object.id.namespace.as_deref() else { continue };
        let Err(trouble) = try_one(ports, fleet, namespace, object).await else { continue };
        let (kind, severity) = match trouble.why {
            ResolvedReason::Denied => ("SecretDenied", Severity::Error),
            ResolvedReason::Missing => ("SecretMissing", Severity::Error),
            ResolvedReason::NotAllowed => ("SecretNotAllowed", Severity::Error),
            ResolvedReason::BadData => ("SecretBadData", Severity::Error),
            ResolvedReason::Sealed | ResolvedReason::Away | ResolvedReason::Resolved => {
                ("VaultAway", Severity::Warning)
            }
        };
        let reason = Reason::of_object(kind, trouble.message, object, &FieldPath::root());
        reasons.push(Reason { severity, ..reason });
    }
    reasons
}

async fn try_one(
    ports: &Ports,
    fleet: &FleetRecord,
    namespace: &str,
    object: &RenderedObject,
) -> Result<(), VaultError> {
    let bad = |error: String| VaultError::new(ResolvedReason::BadData, error);
    let spec = VaultSecretSpec::read(&object.value).map_err(bad)?;
    let vault = ports.vault_secrets.as_ref();
    let accounts = Accounts::of(&fleet.spec.service_account, namespace);
    let Accounts { by, account } = &accounts;
    let store = vault.store(ports, &spec.store, namespace).await?;
    if spec.lease.is_some() {
        // To ask is to take one.
        return store.gives_leases();
    }
    let asking = Asking { vault, ports, by, account, now: ports.clock.now() };
    let group = vault.group(&accounts.group(&spec.store));
    let mut group = group.lock().await;
    let read = read_all(asking, &mut group, &store, &spec).await?;
    content(&spec, &read).map(drop)
}
