//! Whether a network of pods would take the place of another one.

use capstan_live::services::{self, Problem, ServiceStatus, networks_there};
use capstan_model::object::ObjectId;
use capstan_plan::services::PodNetwork;
use capstan_plan::settings::{Service, ServiceObject, ServiceRole};
use serde_json::Value;

use crate::reconcile::observation::Observation;

/// Why the network that a service is may not come: another one is there.
pub(super) fn refused_network<'v>(
    known: &[ServiceStatus],
    observed: &Observation,
    service: &Service,
    rendered: impl Iterator<Item = &'v Value>,
) -> Option<Problem> {
    if service.role != ServiceRole::Cni {
        return None;
    }
    let there = networks_there(known, |object| live_of(observed, object));
    let coming = PodNetwork::of_values(service.name.as_str(), rendered);
    services::refused_network(&there, &coming, service.force.as_ref())
}

/// Whether a service names that object of base.
pub(super) fn is_named(named: &[ServiceObject], id: &ObjectId) -> bool {
    named.iter().any(|one| id.kind == one.kind.as_str() && id.name == one.name.as_str())
}

/// What the management cluster has of an object of base that brings a service.
pub(super) fn live_of<'o>(observed: &'o Observation, object: &ServiceObject) -> Option<&'o Value> {
    let found = observed.live.iter().find(|(id, _)| is_named(std::slice::from_ref(object), id));
    found.map(|(_, live)| live)
}
