//! With whose credential a cloud is asked.

use capstan_yaml::Value;

/// What an `identityRef` names: where a `clouds.yaml` lies, and which of its clouds is meant.
///
/// Source: `OpenStackIdentityReference` of the OpenStack provider
/// (<https://cluster-api-openstack.sigs.k8s.io/api/v1beta1/api>).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    /// What sort of object holds it.
    pub kind: IdentityKind,
    /// The namespace of the object that names it.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// The entry of `clouds.yaml`.
    pub cloud: String,
    /// The region, where it is not the entry's own.
    pub region: Option<String>,
}

/// What sort of object holds an identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IdentityKind {
    /// A Secret in the namespace of whoever names it.
    Secret,
    /// An OpenStackClusterIdentity, which belongs to no folder.
    ClusterIdentity,
}

impl Identity {
    /// What the `identityRef` of a spec names; `None` where it names nothing whole. `spec` is that of an
    /// OpenStackCluster or of a machine.
    pub(super) fn of(spec: &Value, namespace: Option<&str>) -> Option<Self> {
        let reference = spec.get("identityRef")?;
        let text = |value: &Value, key: &str| {
            value.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
        };
        // Up to v1alpha7 the sort stood in `kind`, and the cloud beside the reference.
        let sort = text(reference, "type").or_else(|| text(reference, "kind"));
        Some(Self {
            kind: match sort.as_deref() {
                None | Some("Secret") => IdentityKind::Secret,
                Some(_) => IdentityKind::ClusterIdentity,
            },
            namespace: namespace.map(str::to_owned),
            name: text(reference, "name")?,
            cloud: text(reference, "cloudName").or_else(|| text(spec, "cloudName"))?,
            region: text(reference, "region"),
        })
    }

    /// What the `cloudCredentialsRef` of an object of the OpenStack resource controller names; `None` where it names nothing
    /// whole.
    pub(super) fn of_credentials(spec: &Value, namespace: Option<&str>) -> Option<Self> {
        let reference = spec.get("cloudCredentialsRef")?;
        let text = |key: &str| reference.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        Some(Self {
            kind: IdentityKind::Secret,
            namespace: namespace.map(str::to_owned),
            name: text("secretName")?.to_owned(),
            cloud: text("cloudName")?.to_owned(),
            region: None,
        })
    }

    /// `cloud openstack of Secret my-org/peu01-cloud-config`
    pub fn shown(&self) -> String {
        let sort = match self.kind {
            IdentityKind::Secret => "Secret",
            IdentityKind::ClusterIdentity => "OpenStackClusterIdentity",
        };
        let namespace = self.namespace.as_deref().filter(|_| self.kind == IdentityKind::Secret);
        let namespace = namespace.map(|namespace| format!("{namespace}/")).unwrap_or_default();
        format!("cloud `{}` of {sort} {namespace}{}", self.cloud, self.name)
    }
}
