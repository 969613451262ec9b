//! What the inventory brings to clusters: other values, clusters that come, clusters that go.
//!
//! *Guarantee*: a cluster whose values are those that it recorded is not rendered, and one whose render stays as it is
//! gets no plan.

use std::sync::Arc;

use capstan_model::ids::ClusterId;
use capstan_plan::upgrade::Upgrade;

use super::inventory_creation::plan_creation;
use super::inventory_retirement::plan_retirement;
use super::plan::Planned;
use super::valued_clusters::{is_to_come, is_valued};
use super::valued_folder::plan_folder;
use super::{Fleet, Refused};

/// What the inventory brings to a cluster; `None` where that is nothing.
///
/// # Errors
/// What is wrong with its values, its release or its render: the plan is refused, others go on.
pub fn plan_values(fleet: &Fleet, id: &ClusterId) -> Option<Planned> {
    match values_made(fleet, id) {
        Ok(upgrade) => upgrade.map(|upgrade| Ok(Arc::unwrap_or_clone(upgrade))),
        Err(refused) => Some(Err(refused)),
    }
}

/// The same, as it may be kept.
///
/// # Errors
/// As [`plan_values`].
pub(super) fn values_made(fleet: &Fleet, id: &ClusterId) -> Result<Option<Arc<Upgrade>>, Refused> {
    if !is_valued(fleet, id) {
        return Ok(None);
    }
    let definition = fleet.inventory().and_then(|inventory| inventory.definition_in(id.folder()));
    if let Some(definition) = definition.filter(|definition| definition.retire.is_some()) {
        return Ok(plan_retirement(fleet, id, &definition.level.name)?.map(Arc::new));
    }
    let has_folder = fleet.layout().target(id.as_str()).is_some();
    if !has_folder && !is_to_come(fleet, id) {
        return Ok(None);
    }
    fleet.require_releases()?;
    if has_folder { plan_folder(fleet, id) } else { Ok(plan_creation(fleet, id)?.map(Arc::new)) }
}
