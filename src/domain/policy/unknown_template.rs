//! `unknown-template`

use super::{About, Change, Example, Rule, Survey, Verdict};
use crate::finding::Severity;
use crate::templates::treatment;

pub(super) struct UnknownTemplate;

static ABOUT: About = About {
    id: "unknown-template",
    severity: Severity::Warning,
    change: Change::Free,
    summary: "A template is of a kind that Capstan does not know.",
    reason: "Capstan cannot tell whether its change replaces machines, is refused, or does nothing; it is left \
             under its name.",
    source: "https://cluster-api.sigs.k8s.io/developer/providers/contracts/infra-machine",
    bad: Example::Tree(&[("peu01/base/template.yaml", UNKNOWN)]),
    good: Example::Tree(&[("peu01/base/template.yaml", KNOWN)]),
};

const UNKNOWN: &str = "\
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1 # <--
kind: AcmeMachineTemplate
metadata: {name: peu01, namespace: org}
";
const KNOWN: &str = "\
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: DockerMachineTemplate
metadata: {name: peu01, namespace: org}
";

impl Rule for UnknownTemplate {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, cluster: &Survey<'_>, verdicts: &mut Vec<Verdict>) {
        for object in cluster.objects {
            let id = &object.id;
            let of_cluster_api = id.group.ends_with(".cluster.x-k8s.io");
            if of_cluster_api && id.kind.ends_with("Template") && treatment(&id.kind).is_none() {
                let message = format!(
                    "{id} is of a kind that Capstan does not know: whether its changes replace machines cannot be told"
                );
                verdicts.push(Verdict::new(&ABOUT, message).object(id).place(object.origin()));
            }
        }
    }
}
