//! `not-in-release`, found while an upgrade is planned.

use super::rule::{About, Example, Rule};
use capstan_model::finding::rules;

pub(super) struct NotInRelease;

static ABOUT: About = About {
    entry: rules::NOT_IN_RELEASE,
    summary: "A cluster or a group of machines of the folder is not of the release, and stays at its version of Kubernetes.",
    reason: "The record of the folder says that its cluster is at the release. Of what the release does not know that is \
             not true: another Cluster in the same folder, or workers that somebody added. They stay where they are while \
             their control plane goes on, and the next upgrade may leave them too far behind.",
    source: "https://kubernetes.io/releases/version-skew-policy/#kubelet",
    bad: Example::Upgrade(&[
        ("peu01/capstan.yaml", "release: aws/v21.0.0\n"),
        ("peu01/base/workers.yaml", TWO),
        ("aws/v21.0.0/base/workers.yaml", OLD),
        ("aws/v22.0.0/base/workers.yaml", NEW),
    ]),
    good: Example::Upgrade(&[
        ("peu01/capstan.yaml", "release: aws/v21.0.0\n"),
        ("peu01/base/workers.yaml", AHEAD),
        ("aws/v21.0.0/base/workers.yaml", OLD),
        ("aws/v22.0.0/base/workers.yaml", NEW),
    ]),
};

const OLD: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: peu01-md-0, namespace: org}
spec: {template: {spec: {version: v1.29.4}}}
";
const NEW: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: peu01-md-0, namespace: org}
spec: {template: {spec: {version: v1.30.2}}}
";
const TWO: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: peu01-md-0, namespace: org}
spec: {template: {spec: {version: v1.29.4}}}
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: batch, namespace: org}
spec: {template: {spec: {version: v1.29.4}}} # <--
";
const AHEAD: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: peu01-md-0, namespace: org}
spec: {template: {spec: {version: v1.29.4}}}
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: batch, namespace: org}
spec: {template: {spec: {version: v1.30.2}}}
";

impl Rule for NotInRelease {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
