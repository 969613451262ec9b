//! What the topology controller made of a `Cluster`: its control plane, its groups of workers, and the templates
//! that it cloned for them from those of the ClusterClass.
//!
//! Every clone says what it was cloned from (`cluster.x-k8s.io/cloned-from-name`), and the controller keeps that
//! current even where the content stays the same and nothing is rotated (`templateToTemplate` and
//! `reconcileReferencedTemplate` in Cluster API: changes of metadata alone are patched in place). So a clone of
//! another template than the class names shows that the controller has not taken up the class as it is, whatever
//! the conditions say.

use jiff::Timestamp;
use serde_json::Value;

use super::observed_owner::{control_plane_reference, is_owned_by_topology};
use super::reading::spec_written;
use crate::live_objects::{CLUSTER_NAME_LABEL, LiveObjects, annotation, is_terminating, label, text};
use capstan_model::kinds::{KindRole, Workers, names, role_of};
use capstan_model::object::ObjectId;
use capstan_plan::templates::{Reference, TemplateRole, references};

/// The template that an object was cloned from.
const CLONED_FROM: &str = "cluster.x-k8s.io/cloned-from-name";
/// Its kind: `DevMachineTemplate.infrastructure.cluster.x-k8s.io`.
const CLONED_FROM_KIND: &str = "cluster.x-k8s.io/cloned-from-groupkind";

/// What is live of what was made of a `Cluster`.
pub(super) struct TopologyObjects<'v> {
    cluster: &'v Value,
    namespace: Option<&'v str>,
    /// The control plane that the `Cluster` names.
    pub(super) names: Option<Reference<'v>>,
    /// That control plane, where it was read.
    pub(super) plane: Option<(&'v ObjectId, &'v Value)>,
    /// Deployments and pools.
    pub(super) groups: Vec<(&'v ObjectId, &'v Value)>,
}

impl<'v> TopologyObjects<'v> {
    pub(super) fn of(id: &'v ObjectId, cluster: &'v Value, live: &'v LiveObjects) -> Self {
        let names = control_plane_reference(id, cluster);
        let namespace = id.namespace.as_deref();
        let plane = names.as_ref().and_then(|names| live.iter().find(|(id, _)| names.means(namespace, id)));
        let is_its = |(other, group): &(&ObjectId, &Value)| {
            let of_cluster = label(group, CLUSTER_NAME_LABEL) == Some(id.name.as_str())
                || text(group, "/spec/clusterName") == Some(id.name.as_str());
            of_cluster && is_owned_by_topology(group) && other.namespace == id.namespace
        };
        let groups =
            [names::MACHINE_DEPLOYMENT, names::MACHINE_POOL].into_iter().flat_map(|kind| live.core(kind));
        Self { cluster, namespace, names, plane, groups: groups.filter(is_its).collect() }
    }

    /// What was cloned, beside what the class names for it.
    fn clones(&self, class: &'v Value) -> Vec<Cloned<'v>> {
        let mut found = Vec::new();
        let mut add = |of: &'v ObjectId, part: MadePart<'v>, holder: Option<&'v Value>| {
            found.extend(Template::in_class(holder).map(|template| Cloned { of, part, template }));
        };
        if let Some((id, plane)) = self.plane {
            add(id, MadePart::Itself(plane), class.pointer("/spec/controlPlane"));
            for reference in references(&id.group, &id.kind, plane) {
                if reference.role == TemplateRole::Machines {
                    let machines = class.pointer("/spec/controlPlane/machineInfrastructure");
                    add(id, MadePart::Named(reference), machines);
                }
            }
        }
        for (id, group) in self.groups.iter().copied().filter(|(_, group)| !is_terminating(group)) {
            let Some(parts) = self.group_in_class(id, group, class) else { continue };
            for reference in references(&id.group, &id.kind, group) {
                let holder = match reference.role {
                    TemplateRole::Bootstrap | TemplateRole::PoolBootstrap => parts.get("bootstrap"),
                    TemplateRole::Machines | TemplateRole::Pool => parts.get("infrastructure"),
                    _ => None,
                };
                add(id, MadePart::Named(reference), holder);
            }
        }
        found
    }

    /// What the class says of the group that a deployment or pool was made for.
    fn group_in_class(&self, id: &ObjectId, group: &Value, class: &'v Value) -> Option<&'v Value> {
        let (list, name) = if role_of(id) == Some(KindRole::Workers(Workers::Pool)) {
            ("machinePools", "topology.cluster.x-k8s.io/pool-name")
        } else {
            ("machineDeployments", "topology.cluster.x-k8s.io/deployment-name")
        };
        let named = |list: &'v Value, key: &str, name: &str| {
            list.as_array()?.iter().find(|item| item.get(key).and_then(Value::as_str) == Some(name))
        };
        let groups = self.cluster.pointer(&format!("/spec/topology/workers/{list}"))?;
        let of_class = named(groups, "name", label(group, name)?)?.get("class")?.as_str()?;
        let group = named(class.pointer(&format!("/spec/workers/{list}"))?, "class", of_class)?;
        // v1beta1 has one level more.
        Some(group.get("template").unwrap_or(group))
    }

    /// A clone of another template than the class names.
    pub(super) fn behind(&self, class_id: &ObjectId, class: &'v Value, live: &LiveObjects) -> Option<String> {
        self.clones(class).into_iter().find_map(|Cloned { of, part, template }| {
            let object = match &part {
                MadePart::Itself(object) => *object,
                MadePart::Named(reference) => live.meant(reference, self.namespace)?,
            };
            let name = annotation(object, CLONED_FROM)?;
            let kind = annotation(object, CLONED_FROM_KIND)
                .map_or(template.kind, |kind| kind.split('.').next().unwrap_or(kind));
            ((kind, name) != (template.kind, template.name)).then(|| {
                format!(
                    "{of} is still made from {kind} {name}, but ClusterClass {} names {} {}",
                    class_id.name, template.kind, template.name
                )
            })
        })
    }
}

/// Something cloned, and what for.
struct Cloned<'v> {
    of: &'v ObjectId,
    part: MadePart<'v>,
    template: Template<'v>,
}

enum MadePart<'v> {
    /// The control plane itself.
    Itself(&'v Value),
    /// What the control plane or a group makes machines from.
    Named(Reference<'v>),
}

/// A template that a class names.
struct Template<'v> {
    kind: &'v str,
    name: &'v str,
}

impl<'v> Template<'v> {
    /// `templateRef`, or `ref` in v1beta1.
    fn in_class(holder: Option<&'v Value>) -> Option<Self> {
        let reference = holder.and_then(|holder| holder.get("templateRef").or_else(|| holder.get("ref")))?;
        Some(Self { kind: text(reference, "/kind")?, name: text(reference, "/name")? })
    }
}

/// The class of a `Cluster`, where it was read.
pub(super) fn class_of<'v>(
    id: &ObjectId,
    cluster: &Value,
    live: &'v LiveObjects,
) -> Option<(&'v ObjectId, &'v Value)> {
    let named = references(&id.group, &id.kind, cluster);
    let reference = named.into_iter().find(|reference| reference.role == TemplateRole::Class)?;
    live.core(names::CLUSTER_CLASS).find(|(class, _)| reference.means(id.namespace.as_deref(), class))
}

/// Objects that tell, besides what is read anyway, whether the topology controller has taken up the class of that
/// `Cluster`: none where its class was not changed after that time. [`judge`](super::judge) does without them, less
/// surely.
pub fn clones_to_read(cluster: &ObjectId, live: &LiveObjects, changed_after: Timestamp) -> Vec<ObjectId> {
    let Some(object) = live.get(cluster) else { return Vec::new() };
    let Some((_, class)) = class_of(cluster, object, live) else { return Vec::new() };
    if spec_written(class).is_some_and(|changed| changed <= changed_after) {
        return Vec::new();
    }
    let made = TopologyObjects::of(cluster, object, live);
    let named = made.clones(class).into_iter().filter_map(|cloned| match cloned.part {
        MadePart::Itself(_) => None,
        MadePart::Named(reference) => Some(ObjectId {
            group: reference.group?.to_owned(),
            kind: reference.kind.to_owned(),
            namespace: reference.namespace.map(str::to_owned).or_else(|| cluster.namespace.clone()),
            name: reference.name.to_owned(),
        }),
    });
    let mut wanted: Vec<ObjectId> = named.filter(|id| live.get(id).is_none()).collect();
    wanted.sort();
    wanted.dedup();
    wanted
}
