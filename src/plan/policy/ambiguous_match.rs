//! `ambiguous-match`, found while a release is matched with a cluster.

use super::rule::{About, Example, Rule};
use capstan_model::finding::rules;

pub(super) struct AmbiguousMatch;

static ABOUT: About = About {
    entry: rules::AMBIGUOUS_MATCH,
    summary: "A document of the release fits several objects of the cluster.",
    reason: "Capstan changes nothing rather than guess which of them is meant, and the upgrade blocks, so that what \
             was left out is offered again. Name the object in the release, or \
             put the fragment into a file of the same name as the object's.",
    source: "https://github.com/giantswarm/rfc/tree/main/capi-release-structure",
    bad: Example::Upgrade(&[("peu01/base/pools.yaml", POOLS), ("aws/v22.0.0/base/pool.yaml", ANY_POOL)]),
    good: Example::Upgrade(&[("peu01/base/pools.yaml", POOLS), ("aws/v22.0.0/base/pool.yaml", FIRST_POOL)]),
};

const POOLS: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachinePool
metadata: {name: peu01-a, namespace: org}
spec: {replicas: 2}
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachinePool
metadata: {name: peu01-b, namespace: org}
spec: {replicas: 2}
";
const ANY_POOL: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1 # <--
kind: MachinePool
spec: {replicas: 3}
";
const FIRST_POOL: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachinePool
metadata: {name: peu01-a}
spec: {replicas: 3}
";

impl Rule for AmbiguousMatch {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
