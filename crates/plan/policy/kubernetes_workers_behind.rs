//! `kubernetes-workers-behind`

use super::evidence::ClusterEvidence;
use super::kubernetes_steps::workers_and_planes;
use super::rule::{About, PolicyRule};
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

impl PolicyRule for KubernetesWorkersBehind {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, cluster: &ClusterEvidence<'_>, verdicts: &mut Vec<Finding>) {
        for (worker, plane) in workers_and_planes(cluster) {
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
            verdicts.push(worker.finding(rules::KUBERNETES_WORKERS_BEHIND, message));
        }
    }
}
