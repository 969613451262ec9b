//! Services: the health of objects, what becomes of a status, whose turn it is, and what checks say.

mod checking;
mod clouds;
mod standing;
mod turns;

use capstan_model::object::ObjectId;
use capstan_plan::settings::{ClusterSettings, Service};
use serde_json::Value;

use crate::live_objects::identity;

fn id(object: &Value) -> ObjectId {
    identity(object).unwrap()
}

/// The services that a `capstan.yaml` names.
fn services(yaml: &str) -> Vec<Service> {
    ClusterSettings::read(&Default::default(), yaml).unwrap().services
}
