//! `duplicate-object`, found by `validate` and whoever renders.

use super::rule::{About, Example, Rule};
use capstan_model::finding::rules;

pub(super) struct DuplicateObject;

static ABOUT: About = About {
    entry: rules::DUPLICATE_OBJECT,
    summary: "A cluster's folder has the same object twice.",
    reason: "kustomize refuses to build it; applied file by file, the one that comes last wins, whichever that is. \
             Nothing else of the cluster is judged until one of them goes.",
    source: "https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/resource/",
    bad: Example::Tree(&[("peu01/base/pool.yaml", POOL), ("peu01/base/pools.yaml", AGAIN)]),
    good: Example::Tree(&[("peu01/base/pool.yaml", POOL), ("peu01/base/pools.yaml", OTHER)]),
};

const POOL: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachinePool
metadata: {name: peu01-mp-0, namespace: org}
";
const AGAIN: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1 # <--
kind: MachinePool
metadata: {name: peu01-mp-0, namespace: org}
";
const OTHER: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachinePool
metadata: {name: peu01-mp-1, namespace: org}
";

impl Rule for DuplicateObject {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
