//! `VaultStore` and `VaultSecret`: where secrets are, and which of them a Secret holds.
//!
//! Their types are those by which `capstan_live::secrets` reads them.

use capstan_live::secrets as definition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use capstan_reconciler::reconcile::resources::VaultSecretStatus;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, CustomResource, JsonSchema)]
#[kube(
    group = "capstan.dev",
    version = "v1alpha1",
    kind = "VaultStore",
    plural = "vaultstores",
    shortname = "vst",
    category = "capstan",
    namespaced,
    derive = "PartialEq",
    doc = "A VaultStore is one Vault, in Capstan's namespace: its address, how the reconciler logs in there for a namespace, and which namespaces may use it. It decides which Vault Capstan trusts, so only admins may write it.",
    printcolumn(name = "URL", type_ = "string", json_path = ".spec.url", description = "Its address"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(transparent)]
pub struct VaultStoreSpec(pub definition::VaultStoreSpec);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, CustomResource, JsonSchema)]
#[kube(
    group = "capstan.dev",
    version = "v1alpha1",
    kind = "VaultSecret",
    plural = "vaultsecrets",
    shortname = "vsec",
    category = "capstan",
    namespaced,
    status = "VaultSecretStatus",
    derive = "PartialEq",
    doc = "A VaultSecret defines the content of a Secret from Vault: fields of secrets by path and version, or the fields of a lease. The reconciler reads them with a login of this namespace, writes the Secret, and keeps it current. If it cannot read them, the Secret does not change. Deleting the VaultSecret ends its lease and deletes the Secret.",
    printcolumn(name = "Store", type_ = "string", json_path = ".spec.store", description = "The VaultStore"),
    printcolumn(
        name = "Resolved",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Resolved\")].status",
        description = "Whether the Secret has the requested content"
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Resolved\")].reason",
        description = "The reason, in one word"
    ),
    printcolumn(
        name = "Lease until",
        type_ = "date",
        json_path = ".status.leaseExpires",
        description = "When its lease ends, unless it is renewed",
        priority = 1
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(transparent)]
pub struct VaultSecretSpec(pub definition::VaultSecretSpec);
