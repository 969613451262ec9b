//! `variable-name`, found where variables get their values: [`super::variables`].

use super::evidence::ClusterEvidence;
use super::rule::{About, PolicyRule};
use capstan_model::finding::{Finding, rules};

pub(super) struct VariableName;

static ABOUT: About = About::new(rules::VARIABLE_NAME, include_str!("../../../docs/rules/variable-name.md"));

impl PolicyRule for VariableName {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, cluster: &ClusterEvidence<'_>, verdicts: &mut Vec<Finding>) {
        verdicts.extend(cluster.variables(ABOUT.entry));
    }
}
