//! A folder's VaultSecrets: their Secrets are there before what names them.

use capstan_kustomize::render::RenderedObject;
use capstan_model::kinds::{ApplyStage, KindRole, role_of};
use capstan_model::object::FieldPath;

use super::target::secret;
use crate::reconcile::in_hand::ReconcileRequest;
use crate::reconcile::observation::Observation;
use capstan_ports::{As, LiveError, ManagementCluster as _};
use capstan_reconciler_core::reason::Reason;

/// Whether an object is a reference to Vault.
pub(super) fn is_vault_secret(object: &RenderedObject) -> bool {
    object.id.group == "capstan.dev" && role_of(&object.id) == Some(KindRole::Secret)
}

/// Why nothing of a stage may be applied yet: a Secret that it may name is not there. One that is there stays as it is,
/// however old, and holds up nothing.
pub(in crate::reconcile) async fn missing_secrets(
    request: &ReconcileRequest<'_>,
    observed: &Observation,
    stage: ApplyStage,
) -> Result<Vec<Reason>, LiveError> {
    if stage <= ApplyStage::Credentials {
        return Ok(Vec::new());
    }
    let ports = request.ports;
    let mut reasons = Vec::new();
    for object in observed.objects.iter().filter(|object| is_vault_secret(object)) {
        let Some(namespace) = object.id.namespace.as_deref() else { continue };
        let name = (namespace, object.id.name.as_str());
        let Some(standing) = ports.vault_secrets.resolve(ports, request.fleet, name).await? else {
            continue;
        };
        let by: &As = &observed.wanted.by;
        if ports.live.read(by, &secret(namespace, &standing.secret)).await?.is_some() {
            continue;
        }
        let message = format!(
            "the Secret {} does not exist yet, and what names it waits ({}): {}",
            standing.secret, standing.reason, standing.message
        );
        reasons.push(Reason::of_object("SecretNotResolved", message, object, &FieldPath::root()));
    }
    Ok(reasons)
}
