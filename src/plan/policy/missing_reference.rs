//! `missing-reference`

use super::evidence::Survey;
use super::rule::{About, Example, Rule};
use capstan_kustomize::render::RenderedObject;
use capstan_model::finding::{Finding, rules};

pub(super) struct MissingReference;

static ABOUT: About = About {
    entry: rules::MISSING_REFERENCE,
    summary: "An object names another one that the cluster's folder does not render.",
    reason: "The API server accepts references to nothing, and conditions may stay green: no machine comes up, and \
             nobody hears of it. Where the object is applied from elsewhere, nothing is wrong.",
    source: "https://cluster-api.sigs.k8s.io/developer/core/controllers/machine-deployment",
    bad: Example::Tree(&[("peu01/base/workers.yaml", WORKERS)]),
    good: Example::Tree(&[("peu01/base/workers.yaml", WORKERS), ("peu01/base/template.yaml", TEMPLATE)]),
};

const WORKERS: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: peu01-md-0, namespace: org}
spec:
  template:
    spec:
      infrastructureRef:
        apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
        kind: DockerMachineTemplate
        name: peu01-md-0 # <--
";
const TEMPLATE: &str = "\
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: DockerMachineTemplate
metadata: {name: peu01-md-0, namespace: org}
";

impl Rule for MissingReference {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, cluster: &Survey<'_>, verdicts: &mut Vec<Finding>) {
        // Classes are shared between clusters.
        for (object, named) in cluster.references().iter().filter(|(_, named)| !named.is_class()) {
            let there = |other: &RenderedObject| named.implied || other.id.group == named.group;
            if cluster.named(named.kind, named.name).any(there) {
                continue;
            }
            let message = format!(
                "{} names {} {}, which this folder does not render: correct the name, add the object, or see that it is applied from elsewhere",
                object.id, named.kind, named.name
            );
            let path = named.path.key("name");
            verdicts.push(
                Finding::new(rules::MISSING_REFERENCE, message)
                    .object(&object.id)
                    .path(&path)
                    .place(&named.at.place),
            );
        }
    }
}
