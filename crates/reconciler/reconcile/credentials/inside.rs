//! Brings the credential of the cloud's controller and its storage driver into the cluster that they run in, and sees
//! whether they work with it.
//!
//! *Expected flow*, once the cluster's API answers and before its services are checked: the content of the Secret
//! beside the `Cluster` is written to `kube-system/cloud-config` there, where both look for it by default
//! (<https://github.com/kubernetes/cloud-provider-openstack/tree/master/manifests>). Workloads of services that are
//! given it restart with each new credential. Once all pods run with it, this is recorded, and the next look deletes
//! the earlier credential in the cloud. It is removed with the last service that worked with it.
//!
//! *Caveat*: Capstan does not restart pods of charts. The tool that installs the chart does, or a person; Capstan
//! notices it either way.

use capstan_live::applying::{sent_new, sent_over};
use capstan_model::ids::ClusterId;
use capstan_model::object::ObjectId;
use capstan_reconciler_core::credentials::{CredentialRequest, Inside, Purpose, Wish, is_taken_up, secret};
use serde_json::Value;

use super::life::read_secret;
use crate::reconcile::in_hand::ClusterInHand;
use crate::reconcile::observation::Observation;
use capstan_ports::{
    ApiKind, ApiObject, As, Contested, Deleted, LiveError, ManagementCluster, Preconditions, Run,
};
use capstan_reconciler_core::reason::Reason;
use capstan_reconciler_core::resources::{CloudCredentialsStatus, PublishedSecret};

/// Where the cloud's controllers look for their configuration.
pub(in crate::reconcile) const SECRET: &str = "cloud-config";
const NAMESPACE: &str = "kube-system";

/// The Secret inside of the cluster.
pub(in crate::reconcile) fn id_inside() -> ObjectId {
    ObjectId {
        group: String::new(),
        kind: "Secret".to_owned(),
        namespace: Some(NAMESPACE.to_owned()),
        name: SECRET.to_owned(),
    }
}

/// The result of bringing a credential.
pub(in crate::reconcile) enum CredentialDelivery {
    /// The folder asks for none, or none was made yet.
    Nothing,
    There(Inside),
    /// A Secret of another owner is in its place.
    Anothers(Reason),
}

/// Brings it into a cluster; writes where that is not so already.
///
/// # Errors
/// The cluster does not answer, or this process leads no more.
pub(in crate::reconcile) async fn bring_credential(
    of: &ClusterInHand<'_>,
    observed: &Observation,
    inside: &dyn ManagementCluster,
) -> Result<CredentialDelivery, LiveError> {
    let CredentialRequest::For(subject) = &observed.credentials else {
        return Ok(CredentialDelivery::Nothing);
    };
    let id = id_inside();
    let object = ApiObject { kind: ApiKind::of_version("v1", "Secret"), ..ApiObject::from(&id) };
    let live = inside.read(&As::Reconciler, &object).await?;
    if live.as_ref().is_some_and(|live| !secret::is_capstans(live)) {
        let message = format!(
            "{id} exists inside the cluster, and Capstan did not write it: delete it there, and Capstan writes it with the cluster's own credential, or add it to the service's folder"
        );
        let reason = Reason { object: Some(id), ..Reason::plain("SecretNotCapstans", message) };
        return Ok(CredentialDelivery::Anothers(reason));
    }
    let purpose = Purpose::Controllers;
    // What cannot be read is as it was brought before.
    let here = read_secret(of.request.ports, &observed.wanted.by, subject, purpose, Wish::Keep).await;
    let here = here.ok().flatten();
    let wanted = here.and_then(|here| secret::inside(&here, &id, purpose, live.as_ref(), of.now));
    let known = || live.as_ref().and_then(secret::brought);
    let Some(wanted) = wanted.or_else(known) else { return Ok(CredentialDelivery::Nothing) };
    if let Some(manifest) = &wanted.manifest
        && !live.as_ref().is_some_and(|live| secret::is_as(live, manifest))
    {
        let manifest = match &live {
            Some(live) => sent_over(manifest, live),
            None => sent_new(manifest),
        };
        inside.apply(&As::Reconciler, &manifest, Run::Real, Contested::Take).await?;
        tracing::info!(cluster = %of.request.id, object = %id, credential = wanted.credential, "a credential was written into the cluster");
    }
    Ok(CredentialDelivery::There(wanted))
}

/// Takes it out of a cluster that has nobody who works with it any more; somebody else's Secret stays. Whether it is gone.
///
/// # Errors
/// The cluster does not answer, or this process leads no more.
pub(in crate::reconcile) async fn take_credential_out(
    cluster: &ClusterId,
    inside: &dyn ManagementCluster,
) -> Result<bool, LiveError> {
    let id = id_inside();
    let object = ApiObject { kind: ApiKind::of_version("v1", "Secret"), ..ApiObject::from(&id) };
    let live = inside.read(&As::Reconciler, &object).await?;
    let Some(live) = live.filter(secret::is_capstans) else { return Ok(true) };
    let text = |pointer: &str| live.pointer(pointer).and_then(Value::as_str);
    let uid = text("/metadata/uid").unwrap_or_default();
    let only = Preconditions { uid, resource_version: text("/metadata/resourceVersion") };
    let deleted = inside.delete(&As::Reconciler, &object, only, Run::Real).await?;
    let is_gone = matches!(deleted, Deleted::Gone | Deleted::Absent);
    if is_gone {
        tracing::info!(%cluster, object = %id, "nothing inside uses the cloud any more: its credential was removed");
    }
    Ok(is_gone)
}

/// Looks whether everybody inside works with the credential that is there, where that matters and is not known.
///
/// # Errors
/// The cluster does not answer.
pub(in crate::reconcile) async fn see_credential(
    status: Option<&mut CloudCredentialsStatus>,
    there: &Inside,
    inside: &dyn ManagementCluster,
) -> Result<(), LiveError> {
    let Some(status) = status else { return Ok(()) };
    let name = Purpose::Controllers.secret_name(&status.cluster);
    let is_it = |secret: &&mut PublishedSecret| secret.name == name && secret.credential == there.credential;
    let Some(secret) = status.secrets.iter_mut().find(is_it) else { return Ok(()) };
    if secret.in_use.as_ref() == Some(&there.credential) {
        return Ok(());
    }
    let pods = ApiKind::of_version("v1", "Pod");
    let pods = inside.list(&As::Reconciler, &pods, Some(NAMESPACE), &[]).await?;
    if is_taken_up(&pods, SECRET, &there.credential, there.since) {
        secret.in_use = Some(there.credential.clone());
    }
    Ok(())
}
