//! Whether a network of pods would take the place of another one that is there.

use capstan_plan::services::{PodNetwork, network_switch};
use capstan_plan::settings::{ForcedSwitch, ServiceObject, ServiceRole};
use serde_json::Value;

use super::cause::{Problem, ServiceCause};
use super::status::ServiceStatus;

/// The networks that are there, by what is written down of services; `live` is what the management cluster has of an
/// object of base that brings one.
pub fn networks_there<'v>(
    statuses: &[ServiceStatus],
    live: impl Fn(&ServiceObject) -> Option<&'v Value>,
) -> Vec<PodNetwork> {
    let of = |status: &ServiceStatus| {
        let applied = status.inventory.objects();
        let brought: Vec<&Value> = status.objects.iter().filter_map(&live).collect();
        if applied.is_empty() && brought.is_empty() {
            return None;
        }
        let names = applied.iter().map(|entry| entry.id());
        let parts = names.filter(|id| PodNetwork::is_part(&id.group, &id.kind)).map(|id| id.name);
        let mut network = PodNetwork::of_values(&status.name, brought.into_iter());
        network.add(parts);
        Some(network)
    };
    statuses.iter().filter(|status| status.role == ServiceRole::Cni).filter_map(of).collect()
}

/// Why a network may not come: another one is there, and its switch is not allowed.
pub fn refused_network(
    there: &[PodNetwork],
    coming: &PodNetwork,
    force: Option<&ForcedSwitch>,
) -> Option<Problem> {
    let switches: Vec<_> = there.iter().map(|was| network_switch(was, coming, force)).collect();
    if switches.iter().any(Option::is_none) {
        // It is there itself, beside another one that goes.
        return None;
    }
    let refused = switches.into_iter().flatten().find(|switch| switch.is_refused())?;
    Some(Problem::plain(ServiceCause::CniSwitchRefused, refused.words()))
}
