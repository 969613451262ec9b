//! Everything that one folder asks of one cloud.

use std::collections::{BTreeMap, BTreeSet};

use capstan_kustomize::render::RenderedObject;
use capstan_model::kinds::{is_cluster, is_of_orc, names};
use capstan_model::object::{FieldPath, ObjectId};
use capstan_plan::upgrade::Rollout;
use capstan_yaml::Value;

use super::brought::{Brought, Made};
use super::facts::Resource;
use super::group::Group;
use super::identity::Identity;
use super::named::Named;
use super::reason::{CloudReason, Weight};
use super::version::{self, Version};
use crate::live_objects::LiveObjects;

/// What one folder asks of one cloud.
#[derive(Debug, Clone)]
pub struct CloudAsk {
    /// With whose credential it is asked.
    pub identity: Identity,
    /// The object that names the identity, and the field.
    pub named_by: (ObjectId, FieldPath),
    pub(super) groups: Vec<Group>,
    pub(super) clusters: Vec<NewCluster>,
    pub(super) brought: Vec<Brought>,
    /// What the folder has made, with whatever credential.
    pub(super) made: Vec<Made>,
}

/// A cluster that is not there yet: what it needs besides machines.
#[derive(Debug, Clone)]
pub(super) struct NewCluster {
    pub(super) object: ObjectId,
    pub(super) networks: Vec<(Named, FieldPath)>,
    /// Whether the provider looks for the one external network by itself.
    pub(super) finds_external: bool,
    pub(super) zones: Vec<(String, FieldPath)>,
    pub(super) needs: Vec<(Resource, u64, &'static str)>,
}

/// What is to be found out of a cloud; a set of calls a project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Questions {
    /// Images of which all are wanted that are meant.
    pub images: BTreeSet<Named>,
    /// Whether flavors and the quotas of machines are wanted.
    pub machines: bool,
    /// Whether quotas of volumes are wanted.
    pub volumes: bool,
    /// Whether key pairs are wanted.
    pub key_pairs: bool,
    /// Whether availability zones are wanted.
    pub zones: bool,
    /// Whether server groups are wanted.
    pub server_groups: bool,
    /// Whether networks are wanted.
    pub networks: bool,
}

impl Questions {
    /// What several folders want to know of one project.
    pub fn add(&mut self, ask: &CloudAsk) {
        for group in ask.groups.iter().filter(|group| group.makes_machines()) {
            let machine = &group.machine;
            self.machines = true;
            self.volumes |= !machine.volumes.is_empty();
            self.images.extend(machine.image.iter().map(|(image, _)| image.clone()));
            self.key_pairs |= machine.key_pair.is_some();
            self.server_groups |= machine.server_group.is_some();
            self.networks |= !machine.networks.is_empty();
            self.zones |= group.zone.is_some();
        }
        for cluster in &ask.clusters {
            self.networks |= !cluster.networks.is_empty() || cluster.finds_external;
            self.zones |= !cluster.zones.is_empty();
        }
        let of_volumes = |brought: &Brought| brought.needs.iter().any(|(one, _)| *one == Resource::Volumes);
        self.volumes |= ask.brought.iter().any(of_volumes);
    }
}

/// What a folder asks of clouds: of each identity that it names, one. Empty where it adds and replaces nothing.
///
/// `after` are its objects under their live names; `live` what is there; `rollouts` what the change replaces.
pub fn asks_of(after: &[RenderedObject], live: &LiveObjects, rollouts: &[Rollout]) -> Vec<CloudAsk> {
    let mut asks: BTreeMap<Identity, CloudAsk> = BTreeMap::new();
    let made: Vec<Made> = after.iter().filter_map(Made::of).collect();
    let mut ask = |identity: Identity, named_by: ObjectId, field: FieldPath, asked: Asked| {
        let ask = asks.entry(identity.clone()).or_insert_with(|| CloudAsk {
            identity,
            named_by: (named_by, field),
            groups: Vec::new(),
            clusters: Vec::new(),
            brought: Vec::new(),
            made: made.clone(),
        });
        match asked {
            Asked::Machines(group) => ask.groups.push(*group),
            Asked::Cluster(cluster) => ask.clusters.push(*cluster),
            Asked::Brought(brought) => ask.brought.push(brought),
        }
    };
    for object in after.iter().filter(|object| object.id.kind == names::OPENSTACK_CLUSTER) {
        let (Some(identity), true) = (identity_of(object), live.get(&object.id).is_none()) else { continue };
        let Some(version) = Version::of(&object.value) else { continue };
        let cluster = Asked::Cluster(Box::new(new_cluster(object, version)));
        ask(identity, object.id.clone(), FieldPath::of_keys(["spec", "identityRef"]), cluster);
    }
    for owner in after {
        let Some(group) = Group::of(owner, after, live, rollouts) else { continue };
        if !group.machine.is_read {
            continue;
        }
        if let Some(identity) = group.machine.identity.clone() {
            let field = FieldPath::of_keys(["spec", "template", "spec", "identityRef"]);
            ask(identity, group.machine.template.clone(), field, Asked::Machines(Box::new(group)));
        } else if let Some(cluster) = cluster_of(owner, after)
            && let Some(identity) = identity_of(cluster)
        {
            let field = FieldPath::of_keys(["spec", "identityRef"]);
            ask(identity, cluster.id.clone(), field, Asked::Machines(Box::new(group)));
        }
    }
    for object in after {
        let Some((identity, brought)) = Brought::of(object, live) else { continue };
        let field = FieldPath::of_keys(["spec", "cloudCredentialsRef"]);
        ask(identity, object.id.clone(), field, Asked::Brought(brought));
    }
    asks.into_values().collect()
}

/// What of a folder is of a version that is not read: new clusters, templates of which machines are made, and objects of the
/// OpenStack resource controller.
pub(super) fn unread(after: &[RenderedObject], live: &LiveObjects, rollouts: &[Rollout]) -> Vec<CloudReason> {
    let is_new = |object: &&RenderedObject| {
        object.id.kind == names::OPENSTACK_CLUSTER && live.get(&object.id).is_none()
    };
    let groups = after.iter().filter_map(|owner| Group::of(owner, after, live, rollouts));
    let made = groups.filter(Group::makes_machines).flat_map(|group| {
        let cluster =
            after.iter().find(|owner| owner.id == group.owner).and_then(|owner| cluster_of(owner, after));
        [Some(group.machine.template), cluster.map(|cluster| cluster.id.clone())]
    });
    let is_brought = |object: &&RenderedObject| is_of_orc(&object.id.group);
    let mut asked: BTreeSet<ObjectId> = made.flatten().collect();
    for object in after {
        if is_new(&object) || is_brought(&object) {
            asked.insert(object.id.clone());
        }
    }
    let value = |id: &ObjectId| {
        after.iter().find(|object| object.id == *id).map(|object| &object.value).or_else(|| live.get(id))
    };
    let reason = |object: ObjectId| {
        Some(CloudReason {
            kind: "CloudVersionUnknown",
            weight: Weight::Untold,
            message: version::unread(value(&object)?)?,
            object,
            field: FieldPath::of_keys(["apiVersion"]),
        })
    };
    asked.into_iter().filter_map(reason).collect()
}

/// One part of what is asked.
enum Asked {
    Machines(Box<Group>),
    Cluster(Box<NewCluster>),
    Brought(Brought),
}

/// Where its identity stands is one place in all versions that are read.
fn identity_of(cluster: &RenderedObject) -> Option<Identity> {
    Version::of(&cluster.value)?;
    Identity::of(cluster.value.get("spec")?, cluster.id.namespace.as_deref())
}

/// The OpenStackCluster of the Cluster that an owner of machines belongs to.
fn cluster_of<'a>(owner: &RenderedObject, after: &'a [RenderedObject]) -> Option<&'a RenderedObject> {
    let text =
        |value: &Value, pointer: &str| value.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let named = text(&owner.value, "/spec/clusterName");
    let is_its = |cluster: &&RenderedObject| {
        is_cluster(&cluster.id)
            && cluster.id.namespace == owner.id.namespace
            && match &named {
                Some(name) => cluster.id.name == *name,
                None => text(&cluster.value, "/spec/controlPlaneRef/name").as_ref() == Some(&owner.id.name),
            }
    };
    let cluster = after.iter().find(is_its)?;
    let name = text(&cluster.value, "/spec/infrastructureRef/name")?;
    after.iter().find(|object| {
        object.id.kind == names::OPENSTACK_CLUSTER
            && object.id.name == name
            && object.id.namespace == cluster.id.namespace
    })
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
        if let Some(network) = spec.get(key).and_then(Named::of) {
            networks.push((network, at.key(key)));
        }
    }
    // Up to v1alpha7.
    if let Some(id) = spec.get("externalNetworkId").and_then(Value::as_str).filter(|id| !id.is_empty()) {
        networks.push((Named::Id(id.to_owned()), at.key("externalNetworkId")));
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
        needs.push((Resource::FloatingIps, 1, "the API server"));
    }
    if is("/bastion/enabled") && !has("/bastion/floatingIP") {
        needs.push((Resource::FloatingIps, 1, "the bastion"));
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
