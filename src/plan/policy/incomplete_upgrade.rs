//! `incomplete-upgrade`, found where the result of an upgrade is compared with the release once more.

use super::rule::{About, Example, Rule};
use capstan_model::finding::rules;

pub(super) struct IncompleteUpgrade;

static ABOUT: About = About {
    entry: rules::INCOMPLETE_UPGRADE,
    summary: "Something of the release would neither stand in the cluster after the upgrade nor be explained.",
    reason: "Once the release is recorded, a difference that was not carried over is never offered again. So the \
             result is read anew and compared with the release, and whatever is missing without a conflict, an owner \
             rule or an edit of the cluster to explain it blocks the upgrade. Make the change by hand, and plan again.",
    source: "https://github.com/giantswarm/rfc/tree/main/capi-release-structure",
    bad: Example::Upgrade(&[
        ("peu01/capstan.yaml", "release: aws/v21.0.0\n"),
        ("peu01/base/kustomization.yaml", "resources:\n- cluster.yaml\n- ../../pools # <--\n"),
        ("peu01/base/cluster.yaml", CLUSTER),
        ("pools/kustomization.yaml", "resources: [pool.yaml]\n"),
        ("pools/pool.yaml", TWO),
        ("aws/v21.0.0/base/pool.yaml", TWO),
        ("aws/v22.0.0/base/pool.yaml", THREE),
    ]),
    good: Example::Upgrade(&[
        ("peu01/capstan.yaml", "release: aws/v21.0.0\n"),
        ("peu01/base/kustomization.yaml", "resources:\n- cluster.yaml\n- pool.yaml\n"),
        ("peu01/base/cluster.yaml", CLUSTER),
        ("peu01/base/pool.yaml", TWO),
        ("aws/v21.0.0/base/pool.yaml", TWO),
        ("aws/v22.0.0/base/pool.yaml", THREE),
    ]),
};

const CLUSTER: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: peu01, namespace: org}
spec: {paused: false}
";
const TWO: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachinePool
metadata: {name: peu01-mp-0, namespace: org}
spec: {replicas: 2}
";
const THREE: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachinePool
metadata: {name: peu01-mp-0, namespace: org}
spec: {replicas: 3}
";

impl Rule for IncompleteUpgrade {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
