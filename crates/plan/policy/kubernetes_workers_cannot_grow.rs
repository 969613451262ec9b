//! `kubernetes-workers-cannot-grow`

use super::evidence::Survey;
use super::kubernetes_steps::workers_and_planes;
use super::rule::{About, Rule};
use capstan_kustomize::render::RenderedObject;
use capstan_model::finding::{Finding, rules};
use capstan_model::kinds::preflight::{KUBEADM_TEMPLATE, PreflightCheck, SKIP_PREFLIGHT};
use capstan_model::kinds::{KindRole, Workers, role_of};

pub(super) struct KubernetesWorkersCannotGrow;

static ABOUT: About = About::new(
    rules::KUBERNETES_WORKERS_CANNOT_GROW,
    include_str!("../../../docs/rules/kubernetes-workers-cannot-grow.md"),
);

impl Rule for KubernetesWorkersCannotGrow {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, cluster: &Survey<'_>, verdicts: &mut Vec<Finding>) {
        for (worker, plane) in workers_and_planes(cluster) {
            if role_of(worker.object) == Some(KindRole::Workers(Workers::Pool)) {
                continue;
            }
            let Some(object) = cluster.object(worker.object) else { continue };
            let config = object.placed.at(&["spec", "template", "spec", "bootstrap", "configRef"]);
            let Some(config) = config.filter(|config| config.text_at(&["kind"]) == Some(KUBEADM_TEMPLATE))
            else {
                continue;
            };
            let (kubelet, server) = (worker.version.minor(), plane.version.minor());
            // Newer workers are another rule's.
            if kubelet.major != server.major || kubelet.minor >= server.minor {
                continue;
            }
            let template =
                config.text_at(&["name"]).and_then(|name| cluster.named(KUBEADM_TEMPLATE, name).next());
            let template = template.and_then(skipped);
            if PreflightCheck::KubeadmVersionSkew.is_skipped(skipped(object), template) {
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

/// The checks that an object skips, where it says any.
fn skipped(object: &RenderedObject) -> Option<&str> {
    object.placed.text_at(&["metadata", "annotations", SKIP_PREFLIGHT])
}
