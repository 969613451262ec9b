//! `kubernetes-workers-ahead`

use super::evidence::Survey;
use super::kubernetes::Role;
use super::kubernetes_steps::control_plane_of;
use super::rule::{About, Example, Rule};
use capstan_model::finding::{Finding, rules};

pub(super) struct KubernetesWorkersAhead;

static ABOUT: About = About {
    entry: rules::KUBERNETES_WORKERS_AHEAD,
    summary: "Workers run a newer minor of Kubernetes than their control plane.",
    reason: "A kubelet must never be newer than the API server it talks to: it uses API versions and fields that the \
             server does not know. Cluster API holds such machines back, so that the rollout hangs half-way. The \
             control plane goes first, or both in one change.",
    source: "https://kubernetes.io/releases/version-skew-policy/#kubelet",
    bad: Example::Tree(&[
        ("peu01/base/control-plane.yaml", CONTROL_PLANE),
        ("peu01/base/workers.yaml", AHEAD),
    ]),
    good: Example::Tree(&[
        ("peu01/base/control-plane.yaml", CONTROL_PLANE),
        ("peu01/base/workers.yaml", LEVEL),
    ]),
};

const CONTROL_PLANE: &str = "\
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: KubeadmControlPlane
metadata: {name: peu01, namespace: org}
spec:
  version: v1.29.4
";
const AHEAD: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachinePool
metadata: {name: peu01-mp-0, namespace: org}
spec:
  template:
    spec:
      version: v1.30.2 # <--
";
const LEVEL: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachinePool
metadata: {name: peu01-mp-0, namespace: org}
spec:
  template:
    spec:
      version: v1.29.4
";

impl Rule for KubernetesWorkersAhead {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, cluster: &Survey<'_>, verdicts: &mut Vec<Finding>) {
        for worker in cluster.versions.iter().filter(|wanted| wanted.role == Role::Workers) {
            let Some(plane) = control_plane_of(cluster, worker) else { continue };
            if worker.version.minor() <= plane.version.minor() {
                continue;
            }
            let message = format!(
                "{} runs Kubernetes {}, which is newer than the {} of {}: upgrade the control plane first, or with it",
                worker.object, worker.version, plane.version, plane.object
            );
            verdicts.push(
                Finding::new(rules::KUBERNETES_WORKERS_AHEAD, message)
                    .object(worker.object)
                    .path(&worker.path())
                    .place(&worker.placed.place),
            );
        }
    }
}
