//! `kustomization-not-merged`, found while kustomizations are merged.

use super::{About, Change, Example, Rule};
use crate::finding::Severity;

pub(super) struct KustomizationNotMerged;

pub(super) static ABOUT: About = About {
    id: "kustomization-not-merged",
    severity: Severity::Warning,
    change: Change::Free,
    summary: "The release's kustomization changes something that this cluster's base cannot take over.",
    reason: "A patch file of the release, or a field of a kustomization where the base has none, needs a person to say \
             what it means for this cluster.",
    source: "https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/",
    bad: Example::Upgrade(&[
        ("peu01/capstan.yaml", "release: aws/v21.0.0\n"),
        ("peu01/base/workers.yaml", WORKERS),
        ("peu01/base/paused.yaml", RUNNING),
        ("peu01/base/kustomization.yaml", PATCHED),
        ("aws/v21.0.0/base/workers.yaml", WORKERS),
        ("aws/v21.0.0/base/paused.yaml", RUNNING),
        ("aws/v21.0.0/base/kustomization.yaml", PATCHED),
        ("aws/v22.0.0/base/workers.yaml", WORKERS),
        ("aws/v22.0.0/base/paused.yaml", PAUSED),
        ("aws/v22.0.0/base/kustomization.yaml", PATCHED),
    ]),
    good: Example::Upgrade(&[
        ("peu01/capstan.yaml", "release: aws/v21.0.0\n"),
        ("peu01/base/workers.yaml", WORKERS),
        ("peu01/base/kustomization.yaml", "resources: [workers.yaml]\n"),
        ("aws/v21.0.0/base/workers.yaml", WORKERS),
        ("aws/v21.0.0/base/kustomization.yaml", "resources: [workers.yaml]\n"),
        ("aws/v22.0.0/base/workers.yaml", WORKERS),
        ("aws/v22.0.0/base/kustomization.yaml", LABELLED),
    ]),
};

const WORKERS: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: peu01-md-0, namespace: org}
spec: {replicas: 2}
";
const RUNNING: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: peu01-md-0, namespace: org}
spec: {paused: false}
";
const PAUSED: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1 # <--
kind: MachineDeployment
metadata: {name: peu01-md-0, namespace: org}
spec: {paused: true}
";
const PATCHED: &str = "\
resources: [workers.yaml]
patches: [{path: paused.yaml}]
";
const LABELLED: &str = "\
resources: [workers.yaml]
commonAnnotations: {team: platform}
";

impl Rule for KustomizationNotMerged {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
