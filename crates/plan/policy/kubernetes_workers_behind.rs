//! `kubernetes-workers-behind`

use super::evidence::Survey;
use super::kubernetes::Role;
use super::kubernetes_steps::control_plane_of;
use super::rule::{About, Rule};
use capstan_model::finding::{Finding, rules};
use capstan_model::version::KubernetesMinor;

pub(super) struct KubernetesWorkersBehind;

static ABOUT: About = About::new(
    rules::KUBERNETES_WORKERS_BEHIND,
    include_str!("../../../docs/rules/kubernetes-workers-behind.md"),
);

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
