//! Objects of the OpenStack resource controller that it has given up: whether somebody has to change something, or
//! Capstan creates the object again.

use super::super::cloud_objects::{CloudObjectState, MOST_RECREATIONS, is_cloud_object, standing};
use super::super::inventory::AppliedInventory;
use super::changes::Changes;
use crate::live_objects::LiveObjects;
use capstan_kustomize::render::RenderedObject;
use capstan_model::object::ObjectId;

/// An object that its controller has given up, and that the folder does not change now.
#[derive(Debug, Clone)]
pub struct GivenUp<'r> {
    pub object: &'r RenderedObject,
    /// In its controller's own words.
    pub words: String,
    /// What becomes of it.
    pub course: AfterGivingUp,
}

/// What comes of an object that its controller has given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AfterGivingUp {
    /// Somebody has to change something.
    Refused,
    /// Its create died with the connection: it is deleted and applied again.
    Recreated,
    /// The same, but it was already created again as often as allowed.
    Spent,
}

/// The objects of a folder that ORC has given up; of those that change now nothing is known.
pub fn given_up<'r>(
    rendered: &'r [RenderedObject],
    changes: &Changes,
    live: &LiveObjects,
    inventory: &AppliedInventory,
) -> Vec<GivenUp<'r>> {
    let unchanged =
        |object: &&RenderedObject| is_cloud_object(&object.id) && !changes.contains_key(&object.id);
    let of = |object: &'r RenderedObject| {
        let made_anew = inventory.get(&object.id).map_or(0, |entry| entry.made_anew);
        let (words, course) = match standing(live.get(&object.id)?) {
            CloudObjectState::Available | CloudObjectState::Waits(_) => return None,
            CloudObjectState::Refused(words) => (words, AfterGivingUp::Refused),
            CloudObjectState::Lost(words) if made_anew >= MOST_RECREATIONS => (words, AfterGivingUp::Spent),
            CloudObjectState::Lost(words) => (words, AfterGivingUp::Recreated),
        };
        Some(GivenUp { object, words, course })
    };
    rendered.iter().filter(unchanged).filter_map(of).collect()
}

/// The objects of a folder that the cloud has as they are asked for.
pub fn available<'r>(rendered: &'r [RenderedObject], live: &LiveObjects) -> Vec<&'r ObjectId> {
    let is_there = |id: &&ObjectId| live.get(id).map(standing) == Some(CloudObjectState::Available);
    rendered.iter().map(|object| &object.id).filter(|id| is_cloud_object(id)).filter(is_there).collect()
}
