//! What is remembered of each provider: the `ManagedProvider` beside its object.

use capstan_live::installing::pass::ProviderRecord;
use capstan_ports::{ApiKind, ApiObject, LiveError};
use capstan_providers::ProviderKind;
use serde::Deserialize as _;
use serde_json::Value;

/// Version of what is remembered.
pub const API_VERSION: &str = "capstan.dev/v1alpha1";
pub const KIND: &str = "ManagedProvider";

/// A `ManagedProvider`, as the API server has it.
#[derive(Debug, Clone)]
pub struct Remembered {
    /// The provider's kind.
    pub kind: ProviderKind,
    /// The provider's namespace.
    pub namespace: String,
    /// The provider's name.
    pub name: String,
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.resourceVersion`.
    pub resource_version: String,
    /// What is remembered.
    pub record: ProviderRecord,
}

/// Reads one.
///
/// # Errors
/// It is not as this program writes it.
pub fn read(object: &Value) -> Result<Remembered, LiveError> {
    let text = |pointer: &str| text(object, pointer);
    let namespace = text("/metadata/namespace").to_owned();
    let malformed = |reason: String| LiveError::Malformed {
        doing: format!("reading {KIND} {namespace}/{}", text("/metadata/name")),
        reason: format!("{reason}; are the definitions of `capstan crds` installed?"),
    };
    let kind = ProviderKind::parse(text("/spec/kind")).ok_or_else(|| {
        malformed(format!("`spec.kind` is not a kind of provider: `{}`", text("/spec/kind")))
    })?;
    let record = match object.get("status") {
        None => ProviderRecord::default(),
        Some(status) => ProviderRecord::deserialize(status)
            .map_err(|error| malformed(format!("its status cannot be read ({error})")))?,
    };
    Ok(Remembered {
        kind,
        name: text("/spec/name").to_owned(),
        uid: text("/metadata/uid").to_owned(),
        resource_version: text("/metadata/resourceVersion").to_owned(),
        namespace: namespace.clone(),
        record,
    })
}

pub fn object(kind: ProviderKind, namespace: &str, name: &str) -> ApiObject {
    ApiObject {
        kind: ApiKind::of_version(API_VERSION, KIND),
        namespace: Some(namespace.to_owned()),
        name: format!("{}-{name}", kind.word()),
    }
}

/// A text in an object, at a JSON pointer; nothing where there is none.
pub fn text<'v>(object: &'v Value, pointer: &str) -> &'v str {
    capstan_live::live_objects::text(object, pointer).unwrap_or_default()
}
