//! `variable-contradiction`, found while variables are bound, and in trees by [`super::variables`].

use super::evidence::Survey;
use super::rule::{About, Rule};
use capstan_model::finding::{Finding, rules};

pub(super) struct VariableContradiction;

static ABOUT: About =
    About::new(rules::VARIABLE_CONTRADICTION, include_str!("../../../docs/rules/variable-contradiction.md"));

impl Rule for VariableContradiction {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, cluster: &Survey<'_>, verdicts: &mut Vec<Finding>) {
        verdicts.extend(cluster.variables(ABOUT.entry));
    }
}
