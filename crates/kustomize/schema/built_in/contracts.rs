//! What kinds round Cluster API's own have in common with them, in every version.

use super::entry::SchemaEntry;
use super::entry::SchemaRow::{self, Atomic, Part, Value};
use crate::schema::ValueKind::{Duration, Version};

/// A selector of labels.
pub(super) const SELECTOR: &[SchemaRow] = &[Atomic(&["matchExpressions", "matchExpressions[].values"])];

/// How long the steps of a deletion may take.
const TIMEOUTS: &[SchemaRow] = &[
    Value("nodeDeletionTimeout", Duration),
    Value("nodeDrainTimeout", Duration),
    Value("nodeVolumeDetachTimeout", Duration),
];

pub(super) const ENTRIES: &[SchemaEntry] = &[
    // Has no v1beta1, so the tables of fields have no place for it.
    SchemaEntry {
        group: "runtime.cluster.x-k8s.io",
        kinds: &["ExtensionConfig"],
        rows: &[Part("spec.namespaceSelector", SELECTOR)],
    },
    // Control planes of other providers follow the contract in this:
    // <https://cluster-api.sigs.k8s.io/developer/providers/contracts/control-plane>.
    SchemaEntry {
        group: "controlplane.cluster.x-k8s.io",
        kinds: &["*"],
        rows: &[Value("spec.version", Version), Part("spec.machineTemplate", TIMEOUTS)],
    },
];
