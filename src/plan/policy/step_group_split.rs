//! `step-group-split`, found while a merge is settled.

use super::rule::{About, Example, Rule};
use capstan_model::finding::rules;

pub(super) struct StepGroupSplit;

static ABOUT: About = About {
    entry: rules::STEP_GROUP_SPLIT,
    summary: "A version and the image that belongs to it would part.",
    reason: "Version, image and references of one upgrade move together or not at all: a machine with the kubelet \
             of one version and an image of another does not join its cluster. Something holds one of them back: \
             an owner rule, or a cluster's own edit that is kept.",
    source: "https://cluster-api.sigs.k8s.io/tasks/updating-machine-templates",
    bad: Example::Upgrade(&[
        (".capstan.yaml", HELD),
        ("peu01/capstan.yaml", "release: aws/v21.0.0\n"),
        ("peu01/base/machines.yaml", MACHINES),
        ("aws/v21.0.0/base/machines.yaml", RELEASE_29),
        ("aws/v22.0.0/base/machines.yaml", RELEASE_30),
    ]),
    good: Example::Upgrade(&[
        ("peu01/capstan.yaml", "release: aws/v21.0.0\n"),
        ("peu01/base/machines.yaml", MACHINES),
        ("aws/v21.0.0/base/machines.yaml", RELEASE_29),
        ("aws/v22.0.0/base/machines.yaml", RELEASE_30),
    ]),
};

const HELD: &str = "\
upgrade:
  fields:
  - {kind: DockerMachineTemplate, path: /spec/template/spec/customImage, owner: cluster}
";
const MACHINES: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: peu01-md-0, namespace: org}
spec:
  template:
    spec:
      version: v1.29.4
      infrastructureRef:
        apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
        kind: DockerMachineTemplate
        name: peu01-md-0
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: DockerMachineTemplate
metadata: {name: peu01-md-0, namespace: org}
spec:
  template:
    spec:
      customImage: kindest/node:v1.29.4 # <--
";
const RELEASE_29: &str = "\
kind: MachineDeployment
spec: {template: {spec: {version: v1.29.4}}}
---
kind: DockerMachineTemplate
spec: {template: {spec: {customImage: \"kindest/node:v1.29.4\"}}}
";
const RELEASE_30: &str = "\
kind: MachineDeployment
spec: {template: {spec: {version: v1.30.2}}}
---
kind: DockerMachineTemplate
spec: {template: {spec: {customImage: \"kindest/node:v1.30.2\"}}}
";

impl Rule for StepGroupSplit {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
