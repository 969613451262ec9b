//! `several-clusters`, found while folders are looked for.

use super::rule::{About, Rule};
use capstan_model::finding::rules;

pub(super) struct SeveralClusters;

static ABOUT: About =
    About::new(rules::SEVERAL_CLUSTERS, include_str!("../../../docs/rules/several-clusters.md"));

impl Rule for SeveralClusters {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
