//! Which cluster asks for credentials, and which Secrets are Capstan's then.

use capstan_kustomize::render::RenderedObject;
use capstan_model::glob::Glob;
use capstan_model::ids::ClusterId;
use capstan_model::kinds::is_cluster;
use capstan_model::object::{FieldPath, ObjectId};
use serde_json::Value;

use super::purpose::Purpose;
use super::secret::is_capstans;
use crate::reason::Reason;
use crate::resources::{CloudCredentialsSpec, FleetSpec};

/// What a folder asks for.
#[derive(Debug, Clone)]
pub enum CredentialRequest {
    /// No credentials, or the Fleet opens no cloud at all.
    Nothing,
    /// Credentials that it does not get, and why.
    NotOpened(String),
    /// These.
    For(CredentialSubject),
}

impl CredentialRequest {
    /// What makes the credential that an `identityRef` means; `None` where Capstan does not make it.
    pub fn makes(&self, namespace: Option<&str>, secret: &str, cloud: &str) -> Option<&CloudCredentialsSpec> {
        let Self::For(subject) = self else { return None };
        let is_it = namespace == Some(&subject.namespace)
            && secret == Purpose::ClusterApi.secret_name(&subject.cluster)
            && cloud == subject.opened.cloud;
        is_it.then_some(&subject.opened)
    }
}

/// A cluster that has credentials of its own.
#[derive(Debug, Clone)]
pub struct CredentialSubject {
    /// What opens them.
    pub opened: CloudCredentialsSpec,
    /// The namespace of its `Cluster`.
    pub namespace: String,
    /// The name of its `Cluster`.
    pub cluster: String,
}

/// What a folder that renders these objects, in that cloud, asks for.
pub fn asked(
    fleet: &FleetSpec,
    id: &ClusterId,
    cloud: &str,
    objects: &[RenderedObject],
) -> CredentialRequest {
    let opened = match opened(fleet, id, cloud) {
        Ok(opened) => opened.clone(),
        Err(why) => return CredentialRequest::NotOpened(why),
    };
    let clusters: Vec<&ObjectId> =
        objects.iter().map(|object| &object.id).filter(|id| is_cluster(id)).collect();
    let [ObjectId { namespace: Some(namespace), name, .. }] = clusters.as_slice() else {
        return CredentialRequest::NotOpened(format!(
            "the folder renders {} `Cluster` objects, but credentials are for one",
            clusters.len()
        ));
    };
    CredentialRequest::For(CredentialSubject { opened, namespace: namespace.clone(), cluster: name.clone() })
}

/// The first entry of the Fleet that fits; else why there is none.
pub fn opened<'f>(
    fleet: &'f FleetSpec,
    id: &ClusterId,
    cloud: &str,
) -> Result<&'f CloudCredentialsSpec, String> {
    for entry in fleet.cloud_credentials.iter().filter(|entry| entry.cloud == cloud) {
        let patterns: Vec<Glob> = entry
            .clusters
            .iter()
            .map(|pattern| Glob::parse(pattern))
            .collect::<Result<_, _>>()
            .map_err(|error| format!("`spec.cloudCredentials[].clusters` of the Fleet: {error}"))?;
        if Glob::grants(&patterns, id.as_str()) {
            return Ok(entry);
        }
    }
    Err(format!(
        "no entry of `spec.cloudCredentials` of the Fleet allows the cloud `{cloud}` for the folder {id}: add one, or correct `cloud` in its capstan.yaml"
    ))
}

/// Why a folder may not bring what it brings: a Secret that Capstan writes for it.
pub fn reserved(asked: &CredentialRequest, objects: &[RenderedObject]) -> Vec<Reason> {
    let CredentialRequest::For(subject) = asked else { return Vec::new() };
    let names: Vec<String> = Purpose::ALL.iter().map(|one| one.secret_name(&subject.cluster)).collect();
    let is_it = |object: &&RenderedObject| {
        is_secret(&object.id)
            && object.id.namespace.as_deref() == Some(&subject.namespace)
            && names.contains(&object.id.name)
    };
    objects.iter().filter(is_it).map(refused).collect()
}

/// The same of a Secret that Capstan has written for another folder: by what is there.
pub fn bears_mark(object: &RenderedObject, live: &Value) -> Option<Reason> {
    (is_secret(&object.id) && is_capstans(live)).then(|| refused(object))
}

fn refused(object: &RenderedObject) -> Reason {
    let message = "Capstan makes this credential and writes the Secret: remove it from the folder, or remove `cloud` from the capstan.yaml of its cluster";
    Reason::of_object("SecretIsCapstans", message, object, &FieldPath::root())
}

fn is_secret(id: &ObjectId) -> bool {
    id.group.is_empty() && id.kind == "Secret"
}
