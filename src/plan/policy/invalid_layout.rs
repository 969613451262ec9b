//! `invalid-layout`, found by `validate`.

use super::rule::{About, Example, Rule};
use capstan_model::finding::rules;

pub(super) struct InvalidLayout;

static ABOUT: About = About {
    entry: rules::INVALID_LAYOUT,
    summary: "Folders that are neither a release nor a cluster, or both, or nested.",
    reason: "Capstan passes over them, so that the clusters in them get no upgrades and no checks.",
    source: "https://github.com/giantswarm/rfc/tree/main/capi-release-structure",
    bad: Example::Tree(&[("peu01/base/pool.yaml", POOL), ("peu01/blue/base/pool.yaml", POOL)]),
    good: Example::Tree(&[("peu01/base/pool.yaml", POOL), ("peu02/base/pool.yaml", POOL)]),
};

const POOL: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachinePool
metadata: {name: peu01-mp-0, namespace: org}
";

impl Rule for InvalidLayout {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
