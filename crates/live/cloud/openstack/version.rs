//! How the versions of the OpenStack provider's kinds that are read here differ. Which those are tells [`KindReader`].

use capstan_model::kinds::KindReader;
use capstan_yaml::Value;

/// How the fields of an object are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    /// v1alpha5 to v1alpha7, v1beta1: a flavor is a text, and switches turn things off.
    Beta1,
    /// v1beta2: a flavor is an id or a filter, switches turn things on, and the API server's settings are in one
    /// object.
    Beta2,
}

impl Version {
    /// The version of an object; `None` for one that is not read.
    pub(super) fn of(object: &Value) -> Option<Self> {
        let text = |key: &str| object.get(key).and_then(Value::as_str);
        let api_version = text("apiVersion")?;
        if unread(object).is_some() {
            return None;
        }
        Some(if api_version.ends_with("/v1beta2") { Self::Beta2 } else { Self::Beta1 })
    }
}

/// The message for an object whose version is not read.
pub(super) fn unread(object: &Value) -> Option<String> {
    let text = |key: &str| object.get(key).and_then(Value::as_str);
    let kind = text("kind").unwrap_or_default();
    let api_version = KindReader::CloudPreflight.unread(kind, text("apiVersion"))?;
    Some(format!(
        "its cloud resources are unknown: {}",
        KindReader::CloudPreflight.describe_unread(kind, api_version)
    ))
}
