//! `several-clusters`, found while folders are looked for.

use super::rule::{About, PolicyRule};
use capstan_model::finding::rules;

pub(super) struct SeveralClusters;

static ABOUT: About =
    About::new(rules::SEVERAL_CLUSTERS, include_str!("../../../docs/rules/several-clusters.md"));

impl PolicyRule for SeveralClusters {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
