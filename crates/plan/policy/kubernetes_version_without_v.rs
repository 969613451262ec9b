//! `kubernetes-version-without-v`

use super::evidence::ClusterEvidence;
use super::rule::{About, PolicyRule};
use capstan_model::finding::{Finding, rules};
use capstan_model::object::ObjectId;

pub(super) struct KubernetesVersionWithoutV;

static ABOUT: About = About::new(
    rules::KUBERNETES_VERSION_WITHOUT_V,
    include_str!("../../../docs/rules/kubernetes-version-without-v.md"),
);

/// Managed control planes have rules of their own: GKE and EKS are content without the letter.
fn wants_v(id: &ObjectId) -> bool {
    id.group == "cluster.x-k8s.io" || ["KubeadmControlPlane", "RKE2ControlPlane"].contains(&id.kind.as_str())
}

impl PolicyRule for KubernetesVersionWithoutV {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, cluster: &ClusterEvidence<'_>, verdicts: &mut Vec<Finding>) {
        for wanted in cluster.versions.iter().filter(|wanted| wants_v(wanted.object)) {
            let text = wanted.version.as_str();
            if text.starts_with('v') {
                continue;
            }
            let message = format!("{} asks for Kubernetes `{text}`: write `v{text}`", wanted.object);
            verdicts.push(wanted.finding(rules::KUBERNETES_VERSION_WITHOUT_V, message));
        }
    }
}
