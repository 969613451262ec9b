//! `unbound-variable`, found while an upgrade puts values in, and in trees by [`super::variables`].

use super::rule::{About, Example, Rule};
use capstan_model::finding::rules;

pub(super) struct UnboundVariable;

static ABOUT: About = About {
    entry: rules::UNBOUND_VARIABLE,
    summary: "A new object or a changed field, or a cluster as it stands, needs a variable that has no value.",
    reason: "The text `${VARIABLE}` would be applied as it stands, or nothing where Flux substitutes. What a \
             release needs is bound under `variables:` in the cluster's capstan.yaml; until then the upgrade \
             blocks, whatever the settings say of this rule. In a tree Flux's values count. Texts that a machine \
             or a shell reads (files, commands, Ignition) have variables of their own, which stay.",
    source: "https://fluxcd.io/flux/components/kustomize/kustomizations/#post-build-variable-substitution",
    bad: Example::Upgrade(&[
        ("peu01/capstan.yaml", "release: aws/v21.0.0\n"),
        ("peu01/base/workers.yaml", WORKERS),
        ("aws/v21.0.0/base/workers.yaml", SMALL),
        ("aws/v22.0.0/base/workers.yaml", ZONED),
    ]),
    good: Example::Upgrade(&[
        ("peu01/capstan.yaml", "release: aws/v21.0.0\nvariables: {ZONE: eu-1a}\n"),
        ("peu01/base/workers.yaml", WORKERS),
        ("aws/v21.0.0/base/workers.yaml", SMALL),
        ("aws/v22.0.0/base/workers.yaml", ZONED),
    ]),
};

const WORKERS: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: peu01-md-0, namespace: org}
spec:
  replicas: 2
  template:
    spec:
      failureDomain: eu-1b # <--
";
const SMALL: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
spec: {replicas: 2, template: {spec: {failureDomain: eu-1b}}}
";
const ZONED: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
spec: {replicas: 2, template: {spec: {failureDomain: \"${ZONE}\"}}}
";

impl Rule for UnboundVariable {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
