//! What a head commit does to services, by what is known of those that are there: what only the reconciler knows.

use capstan_kustomize::render::RenderedObject;
use capstan_live::services::{ServiceCause, networks_there, refused_network};
use capstan_model::ids::ClusterId;
use capstan_plan::services::{PodNetwork, network_among};
use capstan_plan::settings::{Service, ServiceSource};

use super::declared::Declared;
use super::network::{is_named, live_of};
use crate::reconcile::observation::Observation;
use crate::reconcile::revision::Revision;
use capstan_reconciler_core::reason::Reason;
use capstan_reconciler_core::resources::ManagedClusterStatus;

/// Why the network of pods that the head names would be refused: another one is there, be it that an earlier commit switched
/// that off or gave it another role. Nothing where its settings or its folder cannot be read, which others tell.
pub(in crate::reconcile) async fn look(
    head: &Revision,
    id: &ClusterId,
    observed: &Observation,
    status: &ManagedClusterStatus,
) -> Option<Reason> {
    if observed.set.is_some() || status.services.is_empty() {
        return None;
    }
    let mut declared = Declared::read(&head.fleet, id).await.ok()?;
    let network: Service = network_among(declared.services())?.clone();
    let name = network.name.as_str();
    let rendered: Vec<RenderedObject> = match &network.from {
        ServiceSource::Folder(_) => declared.take_rendered(name).ok()?,
        ServiceSource::Objects(named) => {
            observed.objects.iter().filter(|object| is_named(named, &object.id)).cloned().collect()
        }
    };
    let there = networks_there(&status.services, |object| live_of(observed, object));
    let coming = PodNetwork::of_values(name, rendered.iter().map(|object| &object.value));
    let refused = refused_network(&there, &coming, network.force.as_ref())?;
    let reason = Reason::plain(ServiceCause::CniSwitchRefused.as_str(), refused.words);
    Some(Reason { place: declared.place(name, None), ..reason })
}
