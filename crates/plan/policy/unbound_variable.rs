//! `unbound-variable`, found while an upgrade puts values in, and in trees by [`super::variables`].

use super::evidence::Survey;
use super::rule::{About, Rule};
use capstan_model::finding::{Finding, rules};

pub(super) struct UnboundVariable;

static ABOUT: About =
    About::new(rules::UNBOUND_VARIABLE, include_str!("../../../docs/rules/unbound-variable.md"));

impl Rule for UnboundVariable {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, cluster: &Survey<'_>, verdicts: &mut Vec<Finding>) {
        verdicts.extend(cluster.variables(ABOUT.entry));
    }
}
