//! `kubernetes-workers-behind`

use super::evidence::Survey;
use super::kubernetes::Role;
use super::kubernetes_steps::control_plane_of;
use super::rule::{About, Example, Rule};
use capstan_model::finding::{Finding, rules};
use capstan_model::version::KubernetesMinor;

pub(super) struct KubernetesWorkersBehind;

static ABOUT: About = About {
    entry: rules::KUBERNETES_WORKERS_BEHIND,
    summary: "Workers lag more minors behind their control plane than Kubernetes supports.",
    reason: "A kubelet may be three minors older than its API server (two, before 1.25). Below that the server has \
             removed what the kubelet needs, and Cluster API creates no more machines of that version, so that \
             neither scaling nor repair works. Upgrade the workers before the control plane goes on.",
    source: "https://kubernetes.io/releases/version-skew-policy/#kubelet",
    bad: Example::Tree(&[("peu01/base/control-plane.yaml", CONTROL_PLANE), ("peu01/base/workers.yaml", OLD)]),
    good: Example::Tree(&[
        ("peu01/base/control-plane.yaml", CONTROL_PLANE),
        ("peu01/base/workers.yaml", LAGGING),
    ]),
};

const CONTROL_PLANE: &str = "\
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: KubeadmControlPlane
metadata: {name: peu01, namespace: org}
spec:
  version: v1.32.1
";
const OLD: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: peu01-md-0, namespace: org}
spec:
  template:
    spec:
      version: v1.28.9 # <--
";
const LAGGING: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: peu01-md-0, namespace: org}
spec:
  template:
    spec:
      version: v1.29.4
";

/// How many minors a kubelet may be older than the API server.
const fn allowed(kubelet: KubernetesMinor) -> u64 {
    if kubelet.major == 1 && kubelet.minor < 25 { 2 } else { 3 }
}

impl Rule for KubernetesWorkersBehind {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, cluster: &Survey<'_>, verdicts: &mut Vec<Finding>) {
        for worker in cluster.versions.iter().filter(|wanted| wanted.role == Role::Workers) {
            let Some(plane) = control_plane_of(cluster, worker) else { continue };
            let (kubelet, server) = (worker.version.minor(), plane.version.minor());
            let behind = server.minor.saturating_sub(kubelet.minor);
            if kubelet.major != server.major || behind <= allowed(kubelet) {
                continue;
            }
            let message = format!(
                "{} runs Kubernetes {}, {behind} minors behind the {} of {}, where {} are supported: upgrade these workers first",
                worker.object,
                worker.version,
                plane.version,
                plane.object,
                allowed(kubelet)
            );
            verdicts.push(
                Finding::new(rules::KUBERNETES_WORKERS_BEHIND, message)
                    .object(worker.object)
                    .path(&worker.path())
                    .place(&worker.placed.place),
            );
        }
    }
}
