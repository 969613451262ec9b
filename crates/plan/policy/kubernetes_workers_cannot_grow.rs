//! `kubernetes-workers-cannot-grow`

use super::evidence::ClusterEvidence;
use super::kubernetes_steps::workers_and_planes;
use super::rule::{About, PolicyRule};
use crate::templates::{checked_kubeadm_template, skips_check};
use capstan_kustomize::render::RenderedObject;
use capstan_model::finding::{Finding, rules};
use capstan_model::kinds::preflight::PreflightCheck;

pub(super) struct KubernetesWorkersCannotGrow;

static ABOUT: About = About::new(
    rules::KUBERNETES_WORKERS_CANNOT_GROW,
    include_str!("../../../docs/rules/kubernetes-workers-cannot-grow.md"),
);

impl PolicyRule for KubernetesWorkersCannotGrow {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, cluster: &ClusterEvidence<'_>, verdicts: &mut Vec<Finding>) {
        for (worker, plane) in workers_and_planes(cluster) {
            let Some(object) = cluster.object(worker.object) else { continue };
            let Some(template) = checked_kubeadm_template(&object.id, &object.placed) else { continue };
            let (kubelet, server) = (worker.version.minor(), plane.version.minor());
            // Newer workers are another rule's.
            if kubelet.major != server.major || kubelet.minor >= server.minor {
                continue;
            }
            let means = |other: &&RenderedObject| template.means(object.id.namespace.as_deref(), &other.id);
            let template = cluster.named(template.kind, template.name).find(means);
            let template = template.map(|template| &template.placed);
            if skips_check(PreflightCheck::KubeadmVersionSkew, &object.placed, template) {
                continue;
            }
            let message = format!(
                "kubeadm joins no machine of Kubernetes {} to the {} of {}, so {} can neither grow nor replace a machine: upgrade these workers too",
                worker.version, plane.version, plane.object, worker.object
            );
            verdicts.push(worker.finding(rules::KUBERNETES_WORKERS_CANNOT_GROW, message));
        }
    }
}
