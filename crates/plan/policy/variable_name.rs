//! `variable-name`, found where variables get their values: [`super::variables`].

use super::evidence::Survey;
use super::rule::{About, Rule};
use capstan_model::finding::{Finding, rules};

pub(super) struct VariableName;

static ABOUT: About = About::new(rules::VARIABLE_NAME, include_str!("../../../docs/rules/variable-name.md"));

impl Rule for VariableName {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, cluster: &Survey<'_>, verdicts: &mut Vec<Finding>) {
        verdicts.extend(cluster.variables(ABOUT.entry));
    }
}
