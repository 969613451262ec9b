//! `outside-boundary`: found in the files of every cluster. Where a management cluster claims it, its reconciler refuses the
//! folder for it; elsewhere others apply it, by rules of their own, so it is a warning there unless the settings say more.

use super::evidence::Survey;
use super::rule::{About, Rule};
use crate::boundary::boundary_in_git;
use capstan_model::finding::{Finding, rules};

pub(super) struct OutsideBoundary;

static ABOUT: About =
    About::new(rules::OUTSIDE_BOUNDARY, include_str!("../../../docs/rules/outside-boundary.md"));

impl Rule for OutsideBoundary {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, cluster: &Survey<'_>, verdicts: &mut Vec<Finding>) {
        let Some(around) = &cluster.boundary else { return };
        verdicts.extend(boundary_in_git(cluster.rendered, around).into_iter().map(|outside| {
            let finding = Finding::new(rules::OUTSIDE_BOUNDARY, outside.to_string())
                .object(&outside.object)
                .path(&outside.field)
                .place(outside.written);
            if around.is_claimed() { finding } else { finding.warning() }
        }));
    }
}
