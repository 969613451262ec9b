//! Which versions of the OpenStack provider's kinds are read here, and how they differ.
//!
//! A field of one version may be another thing in the next one, and a field that is not there says the contrary
//! (`disableExternalNetwork`, `enableExternalNetwork`). So what a version that is not in this list asks for is not known, and
//! is told as that.
//!
//! Sources: the provider's definitions at v0.10.0 and v0.15
//! (<https://github.com/kubernetes-sigs/cluster-api-provider-openstack/tree/main/config/crd/bases>).

use capstan_yaml::Value;

/// The versions that are read, as they are told.
pub(super) const KNOWN: &str = "v1alpha5, v1alpha6, v1alpha7, v1beta1 and v1beta2";

/// How the fields of an object are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    /// v1alpha5 to v1alpha7, v1beta1: a flavor is a text, and switches turn things off.
    Beta1,
    /// v1beta2: a flavor is an id or a filter, switches turn things on, and what the API server has stands together.
    Beta2,
}

impl Version {
    /// The version of an object.
    ///
    /// # Errors
    /// One that is not read: its `apiVersion`.
    pub(super) fn of(object: &Value) -> Result<Self, String> {
        let api_version = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
        match api_version.rsplit_once('/').map(|(_, version)| version) {
            Some("v1alpha5" | "v1alpha6" | "v1alpha7" | "v1beta1") => Ok(Self::Beta1),
            Some("v1beta2") => Ok(Self::Beta2),
            _ => Err(api_version.to_owned()),
        }
    }
}

/// What is said of an object whose version is not read.
pub(super) fn unread(api_version: &str) -> String {
    format!(
        "what it asks of the cloud is not known: `{api_version}` is a version of the OpenStack provider that is not read here \
         ({KNOWN} are)"
    )
}
