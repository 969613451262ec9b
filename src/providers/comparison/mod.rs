//! What becomes of each provider of a set: the shape of an element of `providers` in `plan -o json`.
//!
//! Names of the fields are the contract; lists are ordered; what nothing changes is left out of them.

use capstan_model::object::ObjectId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::definitions::{FieldNote, VersionChange};
use super::rights::{Grant, Subject};
use super::state::Variable;

/// What becomes of one provider.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProviderChange {
    /// `infrastructure-aws`
    pub label: String,
    /// The version before; `None` where it was not there, or nobody knows which version it has.
    pub from: Option<String>,
    /// The version after; `None` where it goes, or nobody knows which version it gets.
    pub to: Option<String>,
    /// The contract of Cluster API after; `None` where it is unknown.
    pub contract: Option<String>,
    /// The objects that change.
    pub objects: ObjectChanges,
    /// Images that its pods run.
    pub images: Vec<Change>,
    /// Arguments of containers, feature gates apart.
    pub arguments: Vec<ContainerChange>,
    /// Feature gates of containers.
    pub feature_gates: Vec<ContainerChange>,
    /// Definitions whose versions or fields change.
    pub crds: Vec<DefinitionChange>,
    /// Rights of its service accounts, and of whomever else its bindings name, as the whole set gives them.
    pub rights: Vec<RightsChange>,
    /// Every variable of its components.
    pub variables: Vec<VariableChange>,
    /// Which part of this is not known, and why, one sentence each; left out where nothing is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
}

/// Objects that come, change and go; ordered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectChanges {
    /// New ones.
    pub add: Vec<ObjectId>,
    /// Those that are there and differ.
    pub change: Vec<ObjectId>,
    /// Those that go.
    pub remove: Vec<ObjectId>,
}

/// Something before and after; `None` = not there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Change {
    /// Before.
    pub from: Option<String>,
    /// After.
    pub to: Option<String>,
}

/// An argument or a feature gate of a container.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ContainerChange {
    /// `Deployment/capi-controller-manager/manager`: kind, name, container.
    pub container: String,
    /// `--v`, or the gate `MachinePool`.
    pub name: String,
    /// What it says, before and after; empty where an argument has no value.
    #[serde(flatten)]
    pub change: Change,
}

/// What becomes of a definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DefinitionChange {
    /// `clusters.cluster.x-k8s.io`
    pub name: String,
    /// Versions whose state changes, oldest first.
    pub versions: Vec<VersionChange>,
    /// How many schema paths are new, in versions that both have.
    pub added: usize,
    /// Versions that were served and are no longer, and paths that a version has no more.
    pub gone: Vec<FieldNote>,
    /// Paths that take less than before.
    pub narrowed: Vec<FieldNote>,
}

/// What a subject gains and loses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RightsChange {
    /// Who.
    pub subject: Subject,
    /// What it may do after and not before; a right that another one covers is none of its own.
    pub gains: Vec<Grant>,
    /// What it may do before and not after.
    pub loses: Vec<Grant>,
}

/// A variable before and after; `None` = not used.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct VariableChange {
    /// Its name. Never its value.
    pub name: String,
    /// Before.
    pub from: Option<Variable>,
    /// After.
    pub to: Option<Variable>,
}

impl ProviderChange {
    /// As it stands in `plan -o json`.
    ///
    /// # Errors
    /// Never, in practice: nothing in it fails to be JSON.
    pub fn to_json(&self) -> serde_json::Result<Value> {
        serde_json::to_value(self)
    }
}
