//! `render-failed`, found by `validate` and whoever renders.

use super::rule::{About, Example, Rule};
use capstan_model::finding::rules;

pub(super) struct RenderFailed;

static ABOUT: About = About {
    entry: rules::RENDER_FAILED,
    summary: "A cluster's folder cannot be rendered.",
    reason: "Either kustomize would refuse it too, or it uses something of kustomize that Capstan does not render; \
             then no rule can judge the cluster.",
    source: "https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/",
    bad: Example::Tree(&[("peu01/base/pool.yaml", POOL), ("peu01/overlay/kustomization.yaml", REMOTE)]),
    good: Example::Tree(&[
        ("peu01/base/pool.yaml", POOL),
        ("peu01/overlay/kustomization.yaml", LOCAL),
        ("peu01/overlay/monitoring.yaml", MONITORING),
    ]),
};

const POOL: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachinePool
metadata: {name: peu01-mp-0, namespace: org}
";
const REMOTE: &str = "\
resources:
- https://example.com/monitoring.yaml # <--
";
const LOCAL: &str = "\
resources:
- monitoring.yaml
";
const MONITORING: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: monitoring, namespace: org}
";

impl Rule for RenderFailed {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
