//! `kubernetes-workers-ahead`

use super::evidence::ClusterEvidence;
use super::kubernetes_steps::workers_and_planes;
use super::rule::{About, PolicyRule};
use capstan_model::finding::{Finding, rules};

pub(super) struct KubernetesWorkersAhead;

static ABOUT: About = About::new(
    rules::KUBERNETES_WORKERS_AHEAD,
    include_str!("../../../docs/rules/kubernetes-workers-ahead.md"),
);

impl PolicyRule for KubernetesWorkersAhead {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, cluster: &ClusterEvidence<'_>, verdicts: &mut Vec<Finding>) {
        for (worker, plane) in workers_and_planes(cluster) {
            if worker.version.minor() <= plane.version.minor() {
                continue;
            }
            let message = format!(
                "{} runs Kubernetes {}, which is newer than the {} of {}: upgrade the control plane before it or with it",
                worker.object, worker.version, plane.version, plane.object
            );
            verdicts.push(worker.finding(rules::KUBERNETES_WORKERS_AHEAD, message));
        }
    }
}
