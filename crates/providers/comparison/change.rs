//! What becomes of a provider, as `plan -o json` writes it.

use capstan_model::object::ObjectId;
use serde::{Deserialize, Serialize};

use super::super::definitions::{FieldNote, VersionChange};
use super::super::rendering::Variable;
use super::super::rights::{Grant, RightsSubject};

/// What becomes of one provider.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProviderChange {
    /// `infrastructure-aws`
    pub label: String,
    /// The version before; `None` where it did not exist, or its version is unknown.
    pub from: Option<String>,
    /// The version after; `None` where it is removed, or its version is unknown.
    pub to: Option<String>,
    /// The contract of Cluster API after; `None` where it is unknown.
    pub contract: Option<String>,
    /// The objects that change.
    pub objects: ObjectChanges,
    /// Images that its pods run.
    pub images: Vec<ValueChange>,
    /// Arguments of containers, feature gates apart.
    pub arguments: Vec<ContainerChange>,
    /// Feature gates of containers.
    pub feature_gates: Vec<ContainerChange>,
    /// Definitions whose versions or fields change.
    pub crds: Vec<DefinitionChange>,
    /// Rights of its service accounts, and of other subjects of its bindings, as the whole set grants them.
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
pub struct ValueChange {
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
    pub change: ValueChange,
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
    pub subject: RightsSubject,
    /// Its new rights; a right that another one covers does not count.
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
