//! What the plans of all clusters are given, read from the repository that holds the releases.

use std::sync::Arc;

use capstan_model::tree::{Tree, TreeId};
use capstan_plan::layout::Layout;
use capstan_plan::release::Catalogue;

use super::definitions::Definitions;
use super::inputs::{Conditions, FleetInputs};
use super::read_set::{ReadSet, RecordingTree};

/// Where the releases of a fleet are.
pub(super) struct ReleasesIn<'a> {
    /// The snapshot that holds them.
    pub(super) tree: &'a dyn Tree,
    pub(super) layout: &'a Layout,
    /// The root of that snapshot, where it is another repository's.
    pub(super) elsewhere: Option<TreeId>,
}

/// The releases of a fleet; its inputs list the files and folders that were read for them.
pub(super) struct ReadReleases {
    pub(super) inputs: FleetInputs,
    pub(super) catalogue: Catalogue,
    /// A file could not be had: the next time it may.
    pub(super) failed: bool,
}

/// Inputs of which the releases are not read yet.
pub(super) fn unread(
    conditions: Conditions<'_>,
    releases: &ReleasesIn<'_>,
    definitions: &Arc<Definitions>,
) -> FleetInputs {
    FleetInputs {
        settings: conditions.settings.clone(),
        today: conditions.today,
        releases: releases.layout.releases.clone(),
        elsewhere: releases.elsewhere.clone(),
        looked: ReadSet::default(),
        definitions: Arc::clone(definitions),
    }
}

/// Reads the releases, and notes what that looks at.
pub(super) fn read_releases(
    conditions: Conditions<'_>,
    releases: &ReleasesIn<'_>,
    definitions: &Arc<Definitions>,
) -> ReadReleases {
    let reads = RecordingTree::outside(releases.tree);
    let catalogue = Catalogue::read(&reads, releases.layout);
    let looked = reads.into_read_set();
    let failed = looked.is_none();
    let unread = unread(conditions, releases, definitions);
    ReadReleases { inputs: FleetInputs { looked: looked.unwrap_or_default(), ..unread }, catalogue, failed }
}
