//! `unsupported-substitution`, found while an upgrade puts values in, and in trees by [`super::variables`].

use super::evidence::Survey;
use super::rule::{About, Rule};
use capstan_model::finding::{Finding, rules};

pub(super) struct UnsupportedSubstitution;

static ABOUT: About = About::new(
    rules::UNSUPPORTED_SUBSTITUTION,
    include_str!("../../../docs/rules/unsupported-substitution.md"),
);

impl Rule for UnsupportedSubstitution {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, cluster: &Survey<'_>, verdicts: &mut Vec<Finding>) {
        verdicts.extend(cluster.variables(ABOUT.entry));
    }
}
