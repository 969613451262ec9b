//! `ManagedProvider`: what a pass over the providers remembers of one of them.

use capstan_live::installing::pass::ProviderRecord;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which provider it is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, CustomResource, JsonSchema)]
#[kube(
    group = "capstan.dev",
    version = "v1alpha1",
    kind = "ManagedProvider",
    plural = "managedproviders",
    shortname = "mpr",
    category = "capstan",
    namespaced,
    status = "ProviderRecord",
    derive = "PartialEq",
    doc = "A ManagedProvider is the reconciler's record of one provider that it installs: its progress, what is installed, what is being installed, and the inventory of everything applied. It is in the provider's namespace and is named <type>-<name>. The reconciler writes it. Deleting it deletes no applied object: the reconciler then starts again.",
    printcolumn(
        name = "Provider",
        type_ = "string",
        json_path = ".spec.kind",
        description = "The kind of the provider"
    ),
    printcolumn(
        name = "Installed",
        type_ = "string",
        json_path = ".status.installed.version",
        description = "The version that is completely installed"
    ),
    printcolumn(
        name = "Target",
        type_ = "string",
        json_path = ".status.target.version",
        description = "The version that is being installed"
    ),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase", description = "Its progress"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct ManagedProviderSpec {
    /// The kind of the provider object, in the same namespace: CoreProvider.
    #[schemars(length(min = 1, max = 63), extend("x-kubernetes-validations" = [
        {"rule": "self == oldSelf", "message": "the provider of a ManagedProvider is immutable: delete the ManagedProvider, and the reconciler writes the right one"}
    ]))]
    pub kind: String,
    /// The name of the provider object: cluster-api.
    #[schemars(length(min = 1, max = 253), extend("x-kubernetes-validations" = [
        {"rule": "self == oldSelf", "message": "the provider of a ManagedProvider is immutable: delete the ManagedProvider, and the reconciler writes the right one"}
    ]))]
    pub name: String,
}
