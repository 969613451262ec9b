//! `unbound-variable`, found while an upgrade puts values in, and in trees by [`super::variables`].

use super::evidence::ClusterEvidence;
use super::rule::{About, PolicyRule};
use capstan_model::finding::{Finding, rules};

pub(super) struct UnboundVariable;

static ABOUT: About =
    About::new(rules::UNBOUND_VARIABLE, include_str!("../../../docs/rules/unbound-variable.md"));

impl PolicyRule for UnboundVariable {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, cluster: &ClusterEvidence<'_>, verdicts: &mut Vec<Finding>) {
        verdicts.extend(cluster.variables(ABOUT.entry));
    }
}
