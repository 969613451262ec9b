//! `kind-changed`

use super::of_merge::Elsewhere;
use super::{About, Change, Example};
use crate::finding::Severity;

pub(super) static KIND_CHANGED: Elsewhere = Elsewhere(&About {
    id: "kind-changed",
    severity: Severity::Warning,
    change: Change::Free,
    summary: "The release puts an object of another kind in place of one.",
    reason: "One object is removed and another added: what the old one held, a customer's edits among it, does not come along by itself.",
    source: "https://kubernetes.io/docs/concepts/overview/working-with-objects/",
    bad: Example {
        before: &[("base/pool.yaml", "kind: AWSMachinePool\nmetadata: {name: peu01-mp-0}\n")],
        after: &[("base/pool.yaml", "kind: AWSManagedMachinePool\nmetadata: {name: peu01-mp-0}\n")],
    },
    good: Example {
        before: &[("base/pool.yaml", "kind: AWSMachinePool\nmetadata: {name: peu01-mp-0}\n")],
        after: &[(
            "base/pool.yaml",
            "kind: AWSMachinePool\nmetadata: {name: peu01-mp-0}\nspec: {minSize: 1}\n",
        )],
    },
});
