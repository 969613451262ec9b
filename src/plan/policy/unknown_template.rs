//! `unknown-template`

use super::evidence::Survey;
use super::rule::{About, Example, Rule};
use crate::templates::{Role, is_known_in_role, references};
use capstan_model::finding::{Finding, rules};
use capstan_model::kinds::is_template;
use capstan_model::object::ObjectId;

pub(super) struct UnknownTemplate;

static ABOUT: About = About {
    entry: rules::UNKNOWN_TEMPLATE,
    summary: "A template is of a kind that Capstan does not know.",
    reason: "No table lists the kind, and neither its shape nor what names it tells what it is for. Capstan \
             cannot tell whether its change replaces machines, is refused, or does nothing; it is left under its \
             name.",
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

    fn inspect(&self, cluster: &Survey<'_>, verdicts: &mut Vec<Finding>) {
        for object in cluster.objects {
            let id = &object.id;
            if is_template(id) && !is_known_in_role(id, &roles(cluster, id)) {
                let message = format!(
                    "{id} is of a kind that Capstan does not know: whether its changes replace machines cannot be told"
                );
                verdicts
                    .push(Finding::new(rules::UNKNOWN_TEMPLATE, message).object(id).place(object.origin()));
            }
        }
    }
}

/// What the objects of a cluster name another one as.
fn roles(cluster: &Survey<'_>, named: &ObjectId) -> Vec<Role> {
    let owners = cluster.objects.iter();
    let all = owners.flat_map(|owner| {
        let found = references(&owner.id.group, &owner.id.kind, &owner.placed);
        found.into_iter().filter(|reference| reference.means(owner.id.namespace.as_deref(), named))
    });
    all.map(|reference| reference.role).collect()
}
