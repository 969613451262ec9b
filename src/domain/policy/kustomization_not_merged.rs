//! `kustomization-not-merged`

use super::of_merge::Elsewhere;
use super::{About, Change, Example};
use crate::finding::Severity;

pub(super) static KUSTOMIZATION_NOT_MERGED: Elsewhere = Elsewhere(&About {
    id: "kustomization-not-merged",
    severity: Severity::Warning,
    change: Change::Free,
    summary: "The release's kustomization changes something that this cluster's base cannot take over.",
    reason: "A patch file of the release, or a field of a kustomization where the base has none, would need a person to say what it means for this cluster.",
    source: "https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/",
    bad: Example {
        before: &[("aws/v21.0.0/base/kustomization.yaml", "resources: [cluster.yaml]\n")],
        after: &[("aws/v22.0.0/base/kustomization.yaml", "resources: [cluster.yaml]\nnamePrefix: x-\n")],
    },
    good: Example {
        before: &[("aws/v21.0.0/base/kustomization.yaml", "resources: [cluster.yaml]\n")],
        after: &[("aws/v22.0.0/base/kustomization.yaml", "resources: [cluster.yaml, pool.yaml]\n")],
    },
});
