//! `outside-boundary`: found in the files of every cluster. Where a management cluster claims it, its reconciler refuses the
//! folder for it; elsewhere others apply it, by rules of their own, so it is a warning there unless the settings say more.

use super::evidence::ClusterEvidence;
use super::references::FieldReference;
use super::rule::{About, PolicyRule};
use crate::boundary::{Beyond, ForeignObject, boundary_in_git};
use capstan_kustomize::render::RenderedObject;
use capstan_model::finding::{Finding, rules};

pub(super) struct OutsideBoundary;

static ABOUT: About =
    About::new(rules::OUTSIDE_BOUNDARY, include_str!("../../../docs/rules/outside-boundary.md"));

impl PolicyRule for OutsideBoundary {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, cluster: &ClusterEvidence<'_>, verdicts: &mut Vec<Finding>) {
        let Some(around) = &cluster.boundary else { return };
        let is_error =
            around.is_claimed() || around.settings.policy.contains_key(rules::OUTSIDE_BOUNDARY.id());
        let found = boundary_in_git(cluster.rendered, around).into_iter();
        // One warning of one thing is enough.
        let found = found.filter(|outside| is_error || !is_missing(cluster, outside));
        verdicts.extend(found.map(|outside| {
            let finding = Finding::new(rules::OUTSIDE_BOUNDARY, outside.to_string())
                .object(&outside.object)
                .path(&outside.field)
                .place(outside.written);
            if is_error { finding } else { finding.warning() }
        }));
    }
}

/// Whether `missing-reference` warns of the same.
fn is_missing(cluster: &ClusterEvidence<'_>, outside: &ForeignObject) -> bool {
    let is_it = |(object, named): &(&RenderedObject, FieldReference<'_>)| {
        object.id == outside.object
            && !named.is_class()
            && [named.path.key("name"), named.path.clone()].contains(&outside.field)
    };
    matches!(outside.why, Beyond::NotBrought { .. }) && cluster.references().iter().any(is_it)
}
