//! `api-version-leaves-field`

use super::of_merge::Elsewhere;
use super::{About, Change, Example};
use crate::finding::Severity;

pub(super) static API_VERSION_LEAVES_FIELD: Elsewhere = Elsewhere(&About {
    id: "api-version-leaves-field",
    severity: Severity::Warning,
    change: Change::Free,
    summary: "An object gets another API version, and a field that only this cluster has stays as it is.",
    reason: "Fields move and change between API versions. The releases show where their own went; of a field that only the cluster has nobody knows whether the new version has it, and the server drops unknown fields silently.",
    source: "https://kubernetes.io/docs/reference/using-api/deprecation-policy/",
    bad: Example {
        before: &[(
            "base/c.yaml",
            "apiVersion: infrastructure.cluster.x-k8s.io/v1alpha7\nspec: {nodeCidr: 10.6.0.0/24}\n",
        )],
        after: &[(
            "base/c.yaml",
            "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nspec: {nodeCidr: 10.6.0.0/24}\n",
        )],
    },
    good: Example {
        before: &[(
            "base/c.yaml",
            "apiVersion: infrastructure.cluster.x-k8s.io/v1alpha7\nspec: {nodeCidr: 10.6.0.0/24}\n",
        )],
        after: &[(
            "base/c.yaml",
            "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nspec: {managedSubnets: [{cidr: 10.6.0.0/24}]}\n",
        )],
    },
});
