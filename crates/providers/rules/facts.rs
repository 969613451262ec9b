//! What is known besides the set itself.

use std::collections::BTreeMap;

use capstan_kustomize::render::PlacedValue;
use capstan_model::finding::Place;
use capstan_model::object::ObjectId;
use capstan_model::version::KubernetesVersion;
use serde::{Deserialize, Serialize};

/// What is known besides the set itself.
#[derive(Debug, Clone, Default)]
pub struct ProviderRuleFacts<'a> {
    /// The version that the management cluster's API server reports; `None` where nobody asked it.
    pub management: Option<KubernetesVersion>,
    /// The claimed clusters, in whatever order.
    pub workloads: Vec<ManagedWorkload>,
    /// Objects of the repository, as they are rendered or written, with their places; those whose kinds no definition
    /// of the set has are passed over.
    pub objects: Vec<&'a PlacedValue>,
    /// What the set's `capstan.yaml` records of a provider's components, by label.
    pub recorded: BTreeMap<String, Recorded>,
    /// What the management cluster holds; `None` where nobody asked it.
    pub live: Option<Live>,
    /// Who migrates stored versions and managed fields before a definition loses a version.
    pub migration: Migration,
}

/// A cluster that the management cluster runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManagedWorkload {
    /// Its name, as people know it: `gauss/peu01`.
    pub name: String,
    /// A version of Kubernetes that it runs, or is asked to run: one entry for each where they differ.
    pub version: KubernetesVersion,
    /// Where that is written.
    pub place: Option<Place>,
}

/// What is recorded of a provider's components.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// Their version; another one than the set's says nothing.
    pub version: String,
    /// SHA-256 of the unpacked components before variables have values, in hex digits.
    pub sha256: String,
    /// Where it is written.
    pub place: Option<Place>,
}

/// What a management cluster holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Live {
    /// `status.storedVersions` by a definition's name.
    pub stored_versions: BTreeMap<String, Vec<String>>,
    /// Entries of `metadata.managedFields`.
    pub managed: Vec<Managed>,
}

/// An entry of an object's `metadata.managedFields`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Managed {
    pub object: ObjectId,
    /// The entry's `apiVersion`.
    pub api_version: String,
    /// The entry's manager.
    pub manager: String,
}

/// Who migrates what is stored in a version that goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Migration {
    /// Nobody before the definition changes: `by: operator`, `by: others`.
    #[default]
    Nobody,
    /// Capstan, before it changes a definition: `by: capstan`.
    Capstan,
}
