//! `kustomization-not-merged`, found while kustomizations are merged.

use super::rule::{About, PolicyRule};
use capstan_model::finding::rules;

pub(super) struct KustomizationNotMerged;

static ABOUT: About = About::new(
    rules::KUSTOMIZATION_NOT_MERGED,
    include_str!("../../../docs/rules/kustomization-not-merged.md"),
);

impl PolicyRule for KustomizationNotMerged {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
