//! `topology-switched`

use super::evidence::Evidence;
use super::rule::{About, Example, Rule};
use capstan_model::finding::{Finding, rules};
use capstan_model::kinds::is_cluster;
use capstan_model::object::FieldPath;

pub(super) struct TopologySwitched;

static ABOUT: About = About {
    entry: rules::TOPOLOGY_SWITCHED,
    summary: "A Cluster gets a topology, or loses the one it has.",
    reason: "The API server refuses both on a cluster that exists: the topology controller owns control plane and \
             workers of such a cluster, and cannot take over or hand back machines. A new topology cluster has to be \
             made, and the workloads moved.",
    source: "https://github.com/kubernetes-sigs/cluster-api/blob/main/core/webhooks/admission/cluster.go",
    bad: Example::Change {
        before: &[("peu01/base/cluster.yaml", TOPOLOGY)],
        after: &[("peu01/base/cluster.yaml", NONE)],
    },
    good: Example::Change {
        before: &[("peu01/base/cluster.yaml", TOPOLOGY)],
        after: &[("peu01/base/cluster.yaml", OTHER_CLASS)],
    },
};

const TOPOLOGY: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: peu01, namespace: org}
spec:
  topology: {class: quick-start, version: v1.30.2}
";
const NONE: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: peu01, namespace: org}
spec:
  infrastructureRef: # <--
    apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
    kind: DockerCluster
    name: peu01
";
const OTHER_CLASS: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: peu01, namespace: org}
spec:
  topology: {class: quick-start-2, version: v1.30.2}
";

/// With it Cluster API takes a topology on at a person's own risk.
const UNSAFE: &str = "unsafe.topology.cluster.x-k8s.io/disable-update-class-name-check";

impl Rule for TopologySwitched {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn compare(&self, change: &Evidence<'_>, verdicts: &mut Vec<Finding>) {
        for (old, new) in change.pairs().filter(|(_, new)| is_cluster(&new.id)) {
            let topology = |value: &capstan_kustomize::render::Placed| {
                value.at(&["spec", "topology"]).is_some_and(|topology| !topology.is_null())
            };
            let message = match (topology(&old.placed), topology(&new.placed)) {
                (true, false) => {
                    format!("{} loses its `topology`, which the API server refuses: bring it back", new.id)
                }
                (false, true) if new.placed.at(&["metadata", "annotations", UNSAFE]).is_none() => format!(
                    "{} gets a `topology`, which the API server refuses for a cluster that exists: make a new cluster, or annotate it with {UNSAFE}",
                    new.id
                ),
                _ => continue,
            };
            let path = FieldPath::root().key("spec").key("topology");
            let place = change.nearest_place(old, new, &path);
            verdicts.push(
                Finding::new(rules::TOPOLOGY_SWITCHED, message).object(&new.id).path(&path).place(place),
            );
        }
    }
}
