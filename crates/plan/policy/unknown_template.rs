//! `unknown-template`

use super::evidence::ClusterEvidence;
use super::rule::{About, PolicyRule};
use crate::templates::{TemplateRole, is_known_in_role, references};
use capstan_model::finding::{Finding, rules};
use capstan_model::kinds::is_template;
use capstan_model::object::ObjectId;

pub(super) struct UnknownTemplate;

static ABOUT: About =
    About::new(rules::UNKNOWN_TEMPLATE, include_str!("../../../docs/rules/unknown-template.md"));

impl PolicyRule for UnknownTemplate {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, cluster: &ClusterEvidence<'_>, verdicts: &mut Vec<Finding>) {
        for object in cluster.objects {
            let id = &object.id;
            if is_template(id) && !is_known_in_role(id, &roles(cluster, id)) {
                let message = format!(
                    "{id} is of a kind that Capstan does not know, so Capstan cannot say whether its changes replace machines"
                );
                verdicts
                    .push(Finding::new(rules::UNKNOWN_TEMPLATE, message).object(id).place(object.origin()));
            }
        }
    }
}

/// What the objects of a cluster name another one as.
fn roles(cluster: &ClusterEvidence<'_>, named: &ObjectId) -> Vec<TemplateRole> {
    let owners = cluster.objects.iter();
    let all = owners.flat_map(|owner| {
        let found = references(&owner.id.group, &owner.id.kind, &owner.placed);
        found.into_iter().filter(|reference| reference.means(owner.id.namespace.as_deref(), named))
    });
    all.map(|reference| reference.role).collect()
}
