//! `unsupported-substitution`, found while an upgrade puts values in, and in trees by [`super::variables`].

use super::evidence::ClusterEvidence;
use super::rule::{About, PolicyRule};
use capstan_model::finding::{Finding, rules};

pub(super) struct UnsupportedSubstitution;

static ABOUT: About = About::new(
    rules::UNSUPPORTED_SUBSTITUTION,
    include_str!("../../../docs/rules/unsupported-substitution.md"),
);

impl PolicyRule for UnsupportedSubstitution {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, cluster: &ClusterEvidence<'_>, verdicts: &mut Vec<Finding>) {
        verdicts.extend(cluster.variables(ABOUT.entry));
    }
}
