//! `missing-reference`

use super::evidence::Survey;
use super::rule::{About, Rule};
use capstan_kustomize::render::RenderedObject;
use capstan_model::finding::{Finding, rules};

pub(super) struct MissingReference;

static ABOUT: About =
    About::new(rules::MISSING_REFERENCE, include_str!("../../../docs/rules/missing-reference.md"));

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
