//! Everything that one folder asks of one cloud.

use std::collections::{BTreeMap, BTreeSet};

use capstan_kustomize::render::RenderedObject;
use capstan_model::kinds::is_cluster;
use capstan_model::object::{FieldPath, ObjectId};
use capstan_plan::upgrade::Rollout;
use capstan_yaml::Value;

use super::brought::{CloudObjectNeeds, ControllerObject};
use super::facts::Resource;
use super::group::Group;
use super::identity::Identity;
use super::named::CloudSelector;
use super::new_cluster::NewCluster;
use super::reader::CloudReader;
use super::reason::{CloudReason, Weight};
use super::table::ALL;
use super::words::Words;
use crate::live_objects::LiveObjects;

/// What one folder asks of one cloud.
#[derive(Debug, Clone)]
pub struct CloudAsk {
    /// The credential that asks.
    pub identity: Identity,
    /// The object that names the identity, and the field.
    pub named_by: (ObjectId, FieldPath),
    /// What people call things there.
    pub(super) words: &'static Words,
    pub(super) groups: Vec<Group>,
    pub(super) clusters: Vec<NewCluster>,
    pub(super) brought: Vec<CloudObjectNeeds>,
    /// What the folder has made, with whatever credential.
    pub(super) made: Vec<ControllerObject>,
}

/// What is to be found out of a cloud; a set of calls an account.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Questions {
    /// Images of which all are wanted that are meant.
    pub images: BTreeSet<CloudSelector>,
    /// Whether machine types and the quotas of machines are wanted.
    pub machines: bool,
    /// Whether quotas of volumes are wanted.
    pub volumes: bool,
    /// Whether key pairs are wanted.
    pub key_pairs: bool,
    /// Whether availability zones are wanted.
    pub zones: bool,
    /// Whether placement groups are wanted.
    pub placement_groups: bool,
    /// Whether networks are wanted.
    pub networks: bool,
}

impl Questions {
    /// What several folders want to know of one account.
    pub fn add(&mut self, ask: &CloudAsk) {
        for group in ask.groups.iter().filter(|group| group.makes_machines()) {
            let machine = &group.machine;
            self.machines = true;
            self.volumes |= !machine.volumes.is_empty();
            self.images.extend(machine.image.iter().map(|(image, _)| image.clone()));
            self.key_pairs |= machine.key_pair.is_some();
            self.placement_groups |= machine.placement_group.is_some();
            self.networks |= !machine.networks.is_empty();
            self.zones |= group.zone.is_some();
        }
        for cluster in &ask.clusters {
            self.networks |= !cluster.networks.is_empty() || cluster.finds_external;
            self.zones |= !cluster.zones.is_empty();
        }
        let of_volumes =
            |brought: &CloudObjectNeeds| brought.needs.iter().any(|(one, _)| *one == Resource::Volumes);
        self.volumes |= ask.brought.iter().any(of_volumes);
    }
}

/// What a folder asks of clouds: of each identity that it names, one. Empty where it adds and replaces nothing.
///
/// `after` are its objects under their live names; `live` what is there; `rollouts` what the change replaces.
pub fn asks_of(after: &[RenderedObject], live: &LiveObjects, rollouts: &[Rollout]) -> Vec<CloudAsk> {
    asks_in(&ALL, after, live, rollouts)
}

/// The same of these kinds of clouds.
pub(super) fn asks_in(
    clouds: &[&dyn CloudReader],
    after: &[RenderedObject],
    live: &LiveObjects,
    rollouts: &[Rollout],
) -> Vec<CloudAsk> {
    let mut asks: BTreeMap<Identity, CloudAsk> = BTreeMap::new();
    for reader in clouds {
        let made: Vec<ControllerObject> = after.iter().filter_map(|object| reader.made(object)).collect();
        let mut ask = |identity: Identity, named_by: (ObjectId, FieldPath), asked: CloudRequestPart| {
            let ask = asks.entry(identity.clone()).or_insert_with(|| CloudAsk {
                identity,
                named_by,
                words: reader.words(),
                groups: Vec::new(),
                clusters: Vec::new(),
                brought: Vec::new(),
                made: made.clone(),
            });
            match asked {
                CloudRequestPart::Machines(group) => ask.groups.push(*group),
                CloudRequestPart::Cluster(cluster) => ask.clusters.push(*cluster),
                CloudRequestPart::Brought(brought) => ask.brought.push(brought),
            }
        };
        for object in after.iter().filter(|object| object.id.kind == reader.cluster()) {
            let (Some((identity, field)), true) = (reader.identity(object), live.get(&object.id).is_none())
            else {
                continue;
            };
            let Some(cluster) = reader.new_cluster(object) else { continue };
            ask(identity, (object.id.clone(), field), CloudRequestPart::Cluster(Box::new(cluster)));
        }
        for owner in after {
            let Some(group) = Group::of(*reader, owner, after, live, rollouts) else { continue };
            if !group.machine.is_read {
                continue;
            }
            if let Some(identity) = group.machine.identity.clone() {
                let named_by = (group.machine.template.clone(), reader.identity_of_machine());
                ask(identity, named_by, CloudRequestPart::Machines(Box::new(group)));
            } else if let Some(cluster) = cluster_of(*reader, owner, after)
                && let Some((identity, field)) = reader.identity(cluster)
            {
                ask(identity, (cluster.id.clone(), field), CloudRequestPart::Machines(Box::new(group)));
            }
        }
        for object in after {
            let Some((identity, field, brought)) = reader.brought(object, live) else { continue };
            ask(identity, (object.id.clone(), field), CloudRequestPart::Brought(brought));
        }
    }
    asks.into_values().collect()
}

/// What of a folder is of a version that is not read: new clusters, templates of which machines are made, and objects that
/// make other things in a cloud.
pub(super) fn unread(after: &[RenderedObject], live: &LiveObjects, rollouts: &[Rollout]) -> Vec<CloudReason> {
    ALL.into_iter().flat_map(|reader| unread_of(reader, after, live, rollouts)).collect()
}

fn unread_of(
    reader: &dyn CloudReader,
    after: &[RenderedObject],
    live: &LiveObjects,
    rollouts: &[Rollout],
) -> Vec<CloudReason> {
    let is_new =
        |object: &&RenderedObject| object.id.kind == reader.cluster() && live.get(&object.id).is_none();
    let groups = after.iter().filter_map(|owner| Group::of(reader, owner, after, live, rollouts));
    let made = groups.filter(Group::makes_machines).flat_map(|group| {
        let owner = after.iter().find(|owner| owner.id == group.owner);
        let cluster = owner.and_then(|owner| cluster_of(reader, owner, after));
        [Some(group.machine.template), cluster.map(|cluster| cluster.id.clone())]
    });
    let mut asked: BTreeSet<ObjectId> = made.flatten().collect();
    for object in after {
        if is_new(&object) || reader.is_brought(&object.id) {
            asked.insert(object.id.clone());
        }
    }
    let value = |id: &ObjectId| {
        after.iter().find(|object| object.id == *id).map(|object| &object.value).or_else(|| live.get(id))
    };
    let reason = |object: ObjectId| {
        Some(CloudReason {
            kind: "CloudVersionUnknown",
            weight: Weight::Unknown,
            message: reader.unread(value(&object)?)?,
            object,
            field: FieldPath::of_keys(["apiVersion"]),
        })
    };
    asked.into_iter().filter_map(reason).collect()
}

/// One part of what is asked.
enum CloudRequestPart {
    Machines(Box<Group>),
    Cluster(Box<NewCluster>),
    Brought(CloudObjectNeeds),
}

/// The infrastructure of the Cluster that an owner of machines belongs to.
fn cluster_of<'a>(
    reader: &dyn CloudReader,
    owner: &RenderedObject,
    after: &'a [RenderedObject],
) -> Option<&'a RenderedObject> {
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
        object.id.kind == reader.cluster()
            && object.id.name == name
            && object.id.namespace == cluster.id.namespace
    })
}
