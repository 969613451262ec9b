//! `removes-cluster`, found while an upgrade removes objects.

use super::{About, Change, Example, Rule};
use crate::finding::Severity;

pub(super) struct RemovesCluster;

pub(super) static ABOUT: About = About {
    id: "removes-cluster",
    severity: Severity::Error,
    change: Change::Never,
    summary: "The release drops a Cluster or a control plane, or changes its kind.",
    reason: "No release ever removes a cluster. Whoever wants that writes `delete: cluster` in its capstan.yaml.",
    source: "https://cluster-api.sigs.k8s.io/user/concepts",
    bad: Example::Upgrade(&[
        ("peu01/capstan.yaml", "release: aws/v21.0.0\n"),
        ("peu01/base/cluster.yaml", CLUSTER),
        ("aws/v21.0.0/base/cluster.yaml", RELEASE),
        ("aws/v22.0.0/base/settings.yaml", SETTINGS),
    ]),
    good: Example::Upgrade(&[
        ("peu01/capstan.yaml", "release: aws/v21.0.0\n"),
        ("peu01/base/cluster.yaml", CLUSTER),
        ("aws/v21.0.0/base/cluster.yaml", RELEASE),
        ("aws/v22.0.0/base/cluster.yaml", RELEASE),
    ]),
};

const CLUSTER: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1 # <--
kind: Cluster
metadata: {name: peu01, namespace: org}
spec: {paused: false}
";
const RELEASE: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: peu01, namespace: org}
spec: {paused: false}
";
const SETTINGS: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: org}
data: {region: eu}
";

impl Rule for RemovesCluster {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
