//! `overlay-names-template`, found while an upgrade rotates templates.

use super::rule::{About, Example, Rule};
use capstan_model::finding::rules;

pub(super) struct OverlayNamesTemplate;

static ABOUT: About = About {
    entry: rules::OVERLAY_NAMES_TEMPLATE,
    summary: "The overlay patches a template that gets a new name.",
    reason: "The patch would go on changing the old template, and the new machines would lack the customer's \
             setting. A patch that selects its target by kind or label, not by the name, follows by itself.",
    source: "https://cluster-api.sigs.k8s.io/tasks/updating-machine-templates",
    bad: Example::Upgrade(&[
        ("peu01/base/machines.yaml", MACHINES),
        ("peu01/overlay/kustomization.yaml", BY_NAME),
        ("aws/v22.0.0/base/machines.yaml", RELEASE),
    ]),
    good: Example::Upgrade(&[
        ("peu01/base/machines.yaml", MACHINES),
        ("peu01/overlay/kustomization.yaml", BY_KIND),
        ("aws/v22.0.0/base/machines.yaml", RELEASE),
    ]),
};

const MACHINES: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: peu01-md-0, namespace: org}
spec:
  template:
    spec:
      infrastructureRef:
        apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
        kind: AWSMachineTemplate
        name: peu01-md-0
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSMachineTemplate
metadata: {name: peu01-md-0, namespace: org}
spec: {template: {spec: {instanceType: m5.large}}}
";
const RELEASE: &str = "\
kind: AWSMachineTemplate
spec: {template: {spec: {instanceType: m5.xlarge}}}
";
const BY_NAME: &str = "\
patches:
- target: {kind: AWSMachineTemplate, name: peu01-md-0} # <--
  patch: '[{\"op\": \"add\", \"path\": \"/spec/template/spec/sshKeyName\", \"value\": \"blue\"}]'
";
const BY_KIND: &str = "\
patches:
- target: {kind: AWSMachineTemplate}
  patch: '[{\"op\": \"add\", \"path\": \"/spec/template/spec/sshKeyName\", \"value\": \"blue\"}]'
";

impl Rule for OverlayNamesTemplate {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
