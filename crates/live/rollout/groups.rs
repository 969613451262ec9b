//! The groups of machines of one Cluster with a topology: how many, how they are replaced, and from what they are made.

use capstan_kustomize::render::RenderedObject;
use capstan_model::kinds::names;
use capstan_yaml::Value;

use super::by_id::{by_id, find_value_in};
use super::class::{
    Blueprint, ClassSides, Strategies, control_plane, groups, holds_uncomputed, machine_template,
};
use super::references::{class_name, target};

/// Machines that are alike: of the control plane, or of one MachineDeployment.
#[derive(Debug, Clone, PartialEq)]
pub struct TopologyGroup {
    /// `controlPlane`, or the name of the workers.
    pub name: String,
    /// Whether they are of the control plane.
    pub is_control_plane: bool,
    /// Its path in the Cluster, as a JSON Pointer.
    pub path: String,
    /// How many; `None` if Git does not say, or an annotation leaves the count to another controller.
    pub replicas: Option<u32>,
    /// Machines above that number while they are replaced; one where only the topology controller knows.
    pub max_surge: u32,
    /// The template of their infrastructure as the class and its patches make it, `{kind, spec}`; `None` where the class is
    /// not among the objects, or only a runtime extension tells.
    pub template: Option<Value>,
    /// The control plane itself, likewise.
    pub control_plane: Option<Value>,
}

/// The groups of a Cluster, the control plane first; none of one without a topology. `objects` are what it is rendered
/// with. MachinePools are passed over: their machines are their infrastructure's.
pub fn topology_groups(cluster: &Value, objects: &[RenderedObject]) -> Vec<TopologyGroup> {
    let all = groups(cluster);
    let known = by_id(objects);
    let class = class_name(cluster).and_then(|name| find_value_in(&known, names::CLUSTER_CLASS, name));
    let side = class.map(|class| Blueprint {
        cluster,
        class,
        find: Box::new(|reference| {
            let (_, kind, name) = target(Some(reference))?;
            find_value_in(&known, kind, name)
        }),
    });
    let sides = ClassSides { sides: [None, side], ..ClassSides::default() };
    let strategies = Strategies::of(&sides, &all);
    let side = sides.sides[1].as_ref();
    let is_known = |made: &Value| !holds_uncomputed(made);
    let of_machines = all.iter().filter(|group| group.list != "machinePools");
    let told = of_machines.map(|group| {
        let replacing = strategies.of_group(group.list, group.value, group.replicas);
        let is_control_plane = group.list == "controlPlane";
        let plane = side.filter(|_| is_control_plane);
        TopologyGroup {
            name: group.name.clone(),
            is_control_plane,
            path: group.path.clone(),
            replicas: group.replicas,
            max_surge: replacing.and_then(|replacing| replacing.surge).unwrap_or(1),
            template: side.and_then(|side| machine_template(side, group)).filter(is_known),
            control_plane: plane.and_then(|side| control_plane(side, group)).filter(is_known),
        }
    });
    told.collect()
}
