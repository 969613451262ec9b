//! `kind-changed`, found while objects are merged.

use super::rule::{About, Example, Rule};
use capstan_model::finding::rules;

pub(super) struct KindChanged;

static ABOUT: About = About {
    entry: rules::KIND_CHANGED,
    summary: "The release puts an object of another kind in place of one.",
    reason: "One object is removed and another added: what the old one held, a customer's edits among it, does not come \
             along by itself.",
    source: "https://cluster-api.sigs.k8s.io/tasks/updating-machine-templates",
    bad: Example::Upgrade(&[
        ("peu01/capstan.yaml", "release: aws/v21.0.0\n"),
        ("peu01/base/pool.yaml", OWN),
        ("aws/v21.0.0/base/pool.yaml", OWN),
        ("aws/v22.0.0/base/pool.yaml", MANAGED),
    ]),
    good: Example::Upgrade(&[
        ("peu01/capstan.yaml", "release: aws/v21.0.0\n"),
        ("peu01/base/pool.yaml", OWN),
        ("aws/v21.0.0/base/pool.yaml", OWN),
        ("aws/v22.0.0/base/pool.yaml", LARGER),
    ]),
};

const OWN: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachinePool
metadata: {name: peu01-mp-0, namespace: org}
spec:
  template:
    spec:
      infrastructureRef: {kind: AWSMachinePool, name: peu01-mp-0}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2 # <--
kind: AWSMachinePool
metadata: {name: peu01-mp-0, namespace: org}
spec: {minSize: 1}
";
const MANAGED: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachinePool
metadata: {name: peu01-mp-0, namespace: org}
spec:
  template:
    spec:
      infrastructureRef: {kind: AWSManagedMachinePool, name: peu01-mp-0}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSManagedMachinePool
metadata: {name: peu01-mp-0, namespace: org}
spec: {scaling: {minSize: 1}}
";
const LARGER: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachinePool
metadata: {name: peu01-mp-0, namespace: org}
spec:
  template:
    spec:
      infrastructureRef: {kind: AWSMachinePool, name: peu01-mp-0}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSMachinePool
metadata: {name: peu01-mp-0, namespace: org}
spec: {minSize: 2}
";

impl Rule for KindChanged {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
