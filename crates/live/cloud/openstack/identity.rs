//! The credential that a cloud is asked with.

use capstan_yaml::Value;

use crate::cloud::identity::{CloudKind, CredentialHolder, Identity};

/// What the `identityRef` of a spec names: the object with a `clouds.yaml`, and which of its clouds is meant
/// (<https://cluster-api-openstack.sigs.k8s.io/api/v1beta1/api>, `OpenStackIdentityReference`); `None` if it is not
/// complete. `spec` is that of an OpenStackCluster or of a machine.
pub(in crate::cloud) fn of_reference(spec: &Value, namespace: Option<&str>) -> Option<Identity> {
    let reference = spec.get("identityRef")?;
    let text = |value: &Value, key: &str| {
        value.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
    };
    // Up to v1alpha7 the sort was in `kind`, and the cloud beside the reference.
    let sort = text(reference, "type").or_else(|| text(reference, "kind"));
    Some(Identity {
        of: CloudKind::OPENSTACK,
        holder: match sort.as_deref() {
            None | Some("Secret") => CredentialHolder::Secret,
            Some(_) => CredentialHolder::OfNoFolder("OpenStackClusterIdentity"),
        },
        namespace: namespace.map(str::to_owned),
        name: text(reference, "name")?,
        cloud: text(reference, "cloudName").or_else(|| text(spec, "cloudName"))?,
        region: text(reference, "region"),
    })
}

/// What the `cloudCredentialsRef` of an object of the OpenStack resource controller names; `None` where it names nothing
/// whole.
pub(super) fn of_credentials(spec: &Value, namespace: Option<&str>) -> Option<Identity> {
    let reference = spec.get("cloudCredentialsRef")?;
    let text = |key: &str| reference.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    Some(Identity {
        of: CloudKind::OPENSTACK,
        holder: CredentialHolder::Secret,
        namespace: namespace.map(str::to_owned),
        name: text("secretName")?.to_owned(),
        cloud: text("cloudName")?.to_owned(),
        region: None,
    })
}
