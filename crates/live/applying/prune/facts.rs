//! What a round of deletions is decided from.

use std::collections::BTreeMap;

use crate::applying::inventory::AppliedInventory;
use crate::applying::owners::OwnerIndex;
use crate::live_objects::LiveObjects;
use crate::rollout::observed::RolloutProgress;
use capstan_kustomize::render::RenderedObject;
use capstan_model::ids::ClusterId;
use capstan_plan::settings::Deletion;
use capstan_plan::templates::NamedTemplate;

/// What a round of deletions is decided from.
#[derive(Debug, Clone, Copy)]
pub struct PruneFacts<'a> {
    pub folder: &'a ClusterId,
    /// What it has applied.
    pub inventory: &'a AppliedInventory,
    /// What it renders, with namespaces and live names; `None` where the folder is gone or the render
    /// failed.
    pub rendered: Option<&'a [RenderedObject]>,
    /// The templates among it: the names that Git gives them.
    pub templates: &'a [NamedTemplate],
    /// The tombstones in its `capstan.yaml`.
    pub delete: &'a Deletion,
    /// The namespace of tombstones that name none.
    pub namespace: Option<&'a str>,
    /// Everything of the inventory, what is rendered, and of all
    /// [`clusters_to_read`](crate::applying::clusters_to_read) the `MachineSet`s and `Machine`s.
    pub live: &'a LiveObjects,
    /// What all folders render and have applied.
    pub owners: &'a OwnerIndex,
    /// What the folders have applied by now that render something of the inventory
    /// ([`OwnerIndex::neighbours`]).
    pub neighbours: &'a BTreeMap<ClusterId, AppliedInventory>,
    /// The state of the rollout.
    pub rollout: RolloutProgress,
    /// Whether changes are withheld.
    pub withheld: Withholding,
    /// How many objects may go at once without a tombstone.
    pub budget: u32,
}

/// Whether changes wait to be applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Withholding {
    /// Everything rendered is applied.
    Nothing,
    /// Workers wait for their control plane.
    Workers,
}
