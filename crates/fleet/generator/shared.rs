//! What the plans of all clusters of a fleet share.

use std::sync::OnceLock;

use capstan_plan::release::Catalogue;

use super::sources::Sources;

/// What the plans of all clusters share.
#[derive(Default)]
pub(super) struct Shared {
    /// Read when first asked for: who renders a cluster does not want to know its release.
    pub(super) catalogue: OnceLock<Catalogue>,
    pub(super) sources: Sources,
}

impl Shared {
    pub(super) fn new(catalogue: Catalogue, sources: Sources) -> Self {
        Self { catalogue: OnceLock::from(catalogue), sources }
    }
}
