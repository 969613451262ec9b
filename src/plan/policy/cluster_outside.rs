//! `cluster-outside`, found by `validate`.

use super::rule::{About, Example, Rule};
use capstan_model::finding::rules;

pub(super) struct ClusterOutside;

static ABOUT: About = About {
    entry: rules::CLUSTER_OUTSIDE,
    summary: "A `Cluster`, a control plane or workers lie where Capstan does not look for clusters.",
    reason: "A cluster is a folder with `base/`, or what `clusters` in .capstan.yaml says. What lies elsewhere gets \
             no upgrades and no checks, and nobody would say so. Control planes and workers may lie elsewhere where a \
             kustomization names them or Flux applies them; a ClusterClass and templates may lie anywhere.",
    source: "https://github.com/giantswarm/rfc/tree/main/capi-release-structure",
    bad: Example::Tree(&[("clusters/peu01/cluster.yaml", CLUSTER)]),
    good: Example::Tree(&[
        ("clusters/peu01/cluster.yaml", CLUSTER),
        (".capstan.yaml", "clusters: {paths: [\"clusters/*\"], base: \".\"}\n"),
    ]),
};

const CLUSTER: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: peu01, namespace: org}
";

impl Rule for ClusterOutside {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
