//! `cluster-outside`, found by `validate`.

use super::rule::{About, PolicyRule};
use capstan_model::finding::rules;

pub(super) struct ClusterOutside;

static ABOUT: About =
    About::new(rules::CLUSTER_OUTSIDE, include_str!("../../../docs/rules/cluster-outside.md"));

impl PolicyRule for ClusterOutside {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
