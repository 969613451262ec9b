//! `providers-beside-others`, found while a provider set or a cluster is read.

use super::rule::{About, PolicyRule};
use capstan_model::finding::rules;

pub(super) struct ProvidersBesideOthers;

static ABOUT: About = About::new(
    rules::PROVIDERS_BESIDE_OTHERS,
    include_str!("../../../docs/rules/providers-beside-others.md"),
);

impl PolicyRule for ProvidersBesideOthers {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
