//! `kubernetes-version-without-v`

use super::evidence::Survey;
use super::rule::{About, Example, Rule};
use capstan_model::finding::{Finding, rules};
use capstan_model::object::ObjectId;

pub(super) struct KubernetesVersionWithoutV;

static ABOUT: About = About {
    entry: rules::KUBERNETES_VERSION_WITHOUT_V,
    summary: "A Kubernetes version lacks its leading `v`.",
    reason: "Cluster API wants `v1.30.2` and refuses `1.30.2`, or adds the letter itself, so that Git and the \
             cluster never agree and whoever applies the folder writes the field again and again. Unquoted, `1.30` \
             is even read as the number 1.3.",
    source: "https://github.com/kubernetes-sigs/cluster-api/blob/main/core/webhooks/admission/machinedeployment.go",
    bad: Example::Tree(&[("peu01/base/workers.yaml", WITHOUT)]),
    good: Example::Tree(&[("peu01/base/workers.yaml", WITH)]),
};

const WITHOUT: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: peu01-md-0, namespace: org}
spec:
  template:
    spec:
      version: 1.30.2 # <--
";
const WITH: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: peu01-md-0, namespace: org}
spec:
  template:
    spec:
      version: v1.30.2
";

/// Managed control planes have rules of their own: GKE and EKS are content without the letter.
fn wants_v(id: &ObjectId) -> bool {
    id.group == "cluster.x-k8s.io" || ["KubeadmControlPlane", "RKE2ControlPlane"].contains(&id.kind.as_str())
}

impl Rule for KubernetesVersionWithoutV {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, cluster: &Survey<'_>, verdicts: &mut Vec<Finding>) {
        for wanted in cluster.versions.iter().filter(|wanted| wants_v(wanted.object)) {
            let text = wanted.version.as_str();
            if text.starts_with('v') {
                continue;
            }
            let message = format!("{} asks for Kubernetes `{text}`: write `v{text}`", wanted.object);
            verdicts.push(
                Finding::new(rules::KUBERNETES_VERSION_WITHOUT_V, message)
                    .object(wanted.object)
                    .path(&wanted.path())
                    .place(&wanted.placed.place),
            );
        }
    }
}
