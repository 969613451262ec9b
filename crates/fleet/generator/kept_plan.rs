//! What is kept of a cluster whose folder has not changed since an earlier look.

use std::sync::Arc;

use capstan_model::ids::ClusterId;

use super::Fleet;
use super::cached_plan::CachedPlan;
use super::record::{Record, settings_of, values_with_components};

/// The plan of what releases bring to it.
pub(super) fn kept(fleet: &Fleet, id: &ClusterId) -> Option<Arc<CachedPlan>> {
    let kept = fleet.known()?.kept(id)?;
    (kept.given.folder == fleet.tree().folder_id(id.folder())).then_some(kept)
}

/// What a cluster records, where its settings can be read.
pub(super) fn record_of(fleet: &Fleet, id: &ClusterId) -> Option<Record> {
    match kept(fleet, id) {
        Some(kept) => Some(kept.record.clone()),
        None => {
            let tree = fleet.tree().as_ref();
            let settings = settings_of(tree, fleet.layout().target(id.as_str())?)?;
            let values = values_with_components(tree, id.folder());
            Some(Record::of(Some(&settings), values.as_ref()))
        }
    }
}
