//! OpenStack: what its Cluster API provider (CAPO) and its resource controller (ORC) ask for.

mod identity;
mod machine;
mod named;
mod orc;
mod version;

use capstan_kustomize::render::RenderedObject;
use capstan_model::kinds::{is_of_orc, names};
use capstan_model::object::{FieldPath, ObjectId};
use capstan_yaml::Value;

use super::brought::{CloudObjectNeeds, ControllerObject};
use super::facts::Resource;
use super::identity::Identity;
use super::machine::Machine;
use super::named::CloudSelector;
use super::new_cluster::NewCluster;
use super::reader::CloudReader;
use super::words::Words;
use crate::live_objects::LiveObjects;
pub(super) use identity::of_reference;
use version::Version;

const WORDS: Words = Words {
    machine_type: "flavor",
    placement_group: "server group",
    account: "project",
    resources: [
        "instances",
        "cores",
        "RAM",
        "volumes",
        "gigabytes of volumes",
        "ports",
        "floating IPs",
        "security groups",
    ],
    bootable: "active",
    root_volume: "rootVolume",
    external_network: "externalNetwork",
    no_disk: "Nova lets only administrators boot an image on it: add a `rootVolume`, or use a flavor with a disk",
    machine_type_reasons: ["FlavorNotThere", "FlavorTooSmall"],
    placement_group_reasons: ["ServerGroupNotThere", "ServerGroupAmbiguous"],
};

/// Its row.
pub(super) struct OpenStack;

impl CloudReader for OpenStack {
    fn words(&self) -> &'static Words {
        &WORDS
    }

    fn cluster(&self) -> &'static str {
        names::OPENSTACK_CLUSTER
    }

    fn machine_template(&self) -> &'static str {
        names::OPENSTACK_MACHINE_TEMPLATE
    }

    fn is_of_provider(&self, id: &ObjectId) -> bool {
        id.kind.starts_with("OpenStack")
    }

    /// Where it is named is one place in all versions that are read.
    fn identity(&self, cluster: &RenderedObject) -> Option<(Identity, FieldPath)> {
        Version::of(&cluster.value)?;
        let identity = of_reference(cluster.value.get("spec")?, cluster.id.namespace.as_deref())?;
        Some((identity, FieldPath::of_keys(["spec", "identityRef"])))
    }

    fn new_cluster(&self, cluster: &RenderedObject) -> Option<NewCluster> {
        Some(new_cluster(cluster, Version::of(&cluster.value)?))
    }

    fn machine(&self, template: &ObjectId, value: &Value) -> Option<Machine> {
        machine::of(template, value)
    }

    fn identity_of_machine(&self) -> FieldPath {
        FieldPath::of_keys(["spec", "template", "spec", "identityRef"])
    }

    fn is_brought(&self, id: &ObjectId) -> bool {
        is_of_orc(&id.group)
    }

    fn brought(
        &self,
        object: &RenderedObject,
        live: &LiveObjects,
    ) -> Option<(Identity, FieldPath, CloudObjectNeeds)> {
        let (identity, brought) = orc::brought(object, live)?;
        Some((identity, FieldPath::of_keys(["spec", "cloudCredentialsRef"]), brought))
    }

    fn made(&self, object: &RenderedObject) -> Option<ControllerObject> {
        orc::made(object)
    }

    fn works_on(&self) -> &'static [&'static str] {
        &[names::OPENSTACK_CLUSTER, names::OPENSTACK_MACHINE, names::OPENSTACK_SERVER]
    }

    fn secret_of<'v>(&self, object: &'v Value) -> Option<&'v str> {
        object.pointer("/spec/identityRef/name").and_then(Value::as_str)
    }

    fn unread(&self, object: &Value) -> Option<String> {
        version::unread(object)
    }
}

fn new_cluster(object: &RenderedObject, version: Version) -> NewCluster {
    let at = FieldPath::of_keys(["spec"]);
    let nothing = Value::Null;
    let spec = object.value.get("spec").unwrap_or(&nothing);
    let said = |pointer: &str| spec.pointer(pointer).and_then(Value::as_bool);
    let is = |pointer: &str| said(pointer) == Some(true);
    let has = |pointer: &str| spec.pointer(pointer).is_some_and(|value| !value.is_null());
    let mut networks = Vec::new();
    for key in ["network", "externalNetwork"] {
        if let Some(network) = spec.get(key).and_then(named::of) {
            networks.push((network, at.key(key)));
        }
    }
    // Up to v1alpha7.
    if let Some(id) = spec.get("externalNetworkId").and_then(Value::as_str).filter(|id| !id.is_empty()) {
        networks.push((CloudSelector::Id(id.to_owned()), at.key("externalNetworkId")));
    }
    let zones = spec.get("controlPlaneAvailabilityZones").and_then(Value::as_array).into_iter().flatten();
    let zones = zones.enumerate().filter_map(|(index, zone)| {
        Some((zone.as_str()?.to_owned(), at.key("controlPlaneAvailabilityZones").index(index)))
    });
    let (outside, floats, has_address) = match version {
        Version::Beta1 => {
            (!is("/disableExternalNetwork"), !is("/disableAPIServerFloatingIP"), has("/apiServerFloatingIP"))
        }
        Version::Beta2 => (
            said("/enableExternalNetwork") != Some(false),
            said("/apiServer/enableFloatingIP") != Some(false),
            has("/apiServer/floatingIP"),
        ),
    };
    let mut needs = Vec::new();
    if outside && floats && !has_address {
        needs.push((Resource::PublicIps, 1, "the API server"));
    }
    if is("/bastion/enabled") && !has("/bastion/floatingIP") {
        needs.push((Resource::PublicIps, 1, "the bastion"));
    }
    // A switch up to v1alpha7.
    if has("/managedSecurityGroups") && said("/managedSecurityGroups") != Some(false) {
        needs.push((Resource::SecurityGroups, 2, "control plane and workers"));
        if is("/bastion/enabled") {
            needs.push((Resource::SecurityGroups, 1, "the bastion"));
        }
    }
    if has("/managedSubnets") && outside && !has("/router") {
        needs.push((Resource::Ports, 1, "the router"));
    }
    NewCluster {
        object: object.id.clone(),
        networks,
        finds_external: outside && !has("/externalNetwork") && !has("/externalNetworkId"),
        zones: zones.collect(),
        needs,
    }
}
