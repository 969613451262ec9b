//! `variable-contradiction`, found while variables are bound, and in trees by [`super::variables`].

use super::evidence::ClusterEvidence;
use super::rule::{About, PolicyRule};
use capstan_model::finding::{Finding, rules};

pub(super) struct VariableContradiction;

static ABOUT: About =
    About::new(rules::VARIABLE_CONTRADICTION, include_str!("../../../docs/rules/variable-contradiction.md"));

impl PolicyRule for VariableContradiction {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, cluster: &ClusterEvidence<'_>, verdicts: &mut Vec<Finding>) {
        verdicts.extend(cluster.variables(ABOUT.entry));
    }
}
