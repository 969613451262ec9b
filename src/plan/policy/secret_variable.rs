//! `secret-variable`, found while an upgrade puts values in.

use super::rule::{About, Example, Rule};
use capstan_model::finding::rules;

pub(super) struct SecretVariable;

static ABOUT: About = About {
    entry: rules::SECRET_VARIABLE,
    summary: "A release's variable stays as it is written, because Flux takes its value from a Secret.",
    reason: "Values of Secrets are never read, so nothing can be written in its place; Flux substitutes it where it \
             applies the cluster, and nobody else does.",
    source: "https://fluxcd.io/flux/components/kustomize/kustomizations/#post-build-variable-substitution",
    bad: Example::Upgrade(&[
        ("flux/peu01.yaml", FLUX),
        ("peu01/capstan.yaml", "release: aws/v21.0.0\n"),
        ("peu01/base/workers.yaml", WORKERS),
        ("aws/v21.0.0/base/workers.yaml", PLAIN),
        ("aws/v22.0.0/base/workers.yaml", SECRET),
    ]),
    good: Example::Upgrade(&[
        ("flux/peu01.yaml", FLUX),
        ("peu01/capstan.yaml", "release: aws/v21.0.0\n"),
        ("peu01/base/workers.yaml", WORKERS),
        ("aws/v21.0.0/base/workers.yaml", PLAIN),
        ("aws/v22.0.0/base/workers.yaml", KNOWN),
    ]),
};

const FLUX: &str = "\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: peu01, namespace: flux-system}
spec:
  path: ./peu01/overlay
  postBuild: {substitute: {REGION: eu-1}, substituteFrom: [{kind: Secret, name: places}]}
---
apiVersion: v1
kind: Secret
metadata: {name: places, namespace: flux-system}
stringData: {ZONE: eu-1c}
";
const WORKERS: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: peu01-md-0, namespace: org}
spec:
  template:
    spec:
      failureDomain: eu-1b # <--
";
const PLAIN: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
spec: {template: {spec: {failureDomain: eu-1b}}}
";
const SECRET: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
spec: {template: {spec: {failureDomain: \"${ZONE}\"}}}
";
const KNOWN: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
spec: {template: {spec: {failureDomain: \"${REGION}a\"}}}
";

impl Rule for SecretVariable {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
