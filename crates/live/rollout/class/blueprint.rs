//! A Cluster with a managed topology as its controller reads it: its groups of machines, its class, the templates
//! that the class names.

use crate::rollout::facts::COUNT_OWNED;
use crate::rollout::owner::{annotation, count};
use crate::rollout::pointer::PointerTarget;
use crate::rollout::references::target;
use capstan_yaml::Value;

/// One group of machines of a topology, before or after.
pub(in crate::rollout) struct MachineGroup<'v> {
    /// `controlPlane`, or the name of the workers.
    pub(in crate::rollout) name: String,
    pub(in crate::rollout) value: &'v Value,
    pub(in crate::rollout) replicas: Option<u32>,
    /// `controlPlane`, `machineDeployments` or `machinePools`.
    pub(in crate::rollout) list: &'static str,
    /// Its path in the Cluster.
    pub(in crate::rollout) path: String,
}

/// All groups, the control plane first.
pub(in crate::rollout) fn groups(cluster: &Value) -> Vec<MachineGroup<'_>> {
    let mut found = Vec::new();
    let path = "/spec/topology/controlPlane";
    if let Some(value) = cluster.at(path) {
        let (name, replicas) = ("controlPlane".to_owned(), count(value, "/replicas"));
        found.push(MachineGroup { name, value, replicas, list: "controlPlane", path: path.to_owned() });
    }
    for list in ["machineDeployments", "machinePools"] {
        let of_list = format!("/spec/topology/workers/{list}");
        let items = cluster.at(&of_list).and_then(Value::as_array);
        for (at, value) in items.into_iter().flatten().enumerate() {
            let owned = COUNT_OWNED.iter().any(|name| annotation(value, name).is_some());
            let replicas = count(value, "/replicas").filter(|_| !owned);
            let name = value.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
            found.push(MachineGroup { name, value, replicas, list, path: format!("{of_list}/{at}") });
        }
    }
    found
}

/// Finds the object that a reference of a class names.
pub(in crate::rollout) type Find<'v> = Box<dyn Fn(&Value) -> Option<&'v Value> + 'v>;

/// One side of a change.
pub(in crate::rollout) struct Blueprint<'v> {
    pub(in crate::rollout) cluster: &'v Value,
    pub(in crate::rollout) class: &'v Value,
    pub(in crate::rollout) find: Find<'v>,
}

/// What is known of the class of a Cluster, before and after.
#[derive(Default)]
pub(in crate::rollout) struct ClassSides<'v> {
    /// `None` where the class is not known.
    pub(in crate::rollout) sides: [Option<Blueprint<'v>>; 2],
    /// Whether the Cluster names another one.
    pub(in crate::rollout) renamed: bool,
    /// Why it is not known though it exists elsewhere.
    pub(in crate::rollout) unknown: Vec<&'v str>,
    /// Whether something of it changes for all that.
    pub(in crate::rollout) differs: bool,
}

impl<'v> ClassSides<'v> {
    /// Both sides, where both are known.
    pub(in crate::rollout) fn both(&self) -> Option<[&Blueprint<'v>; 2]> {
        match &self.sides {
            [Some(one), Some(other)] => Some([one, other]),
            _ => None,
        }
    }
}

/// What a template makes, and by that what becomes of machines when it comes out different.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TemplateProduct {
    /// The control plane itself.
    ControlPlane,
    /// Infrastructure or bootstrap config of machines: rotated.
    Machines,
    PoolInfrastructure,
    PoolBootstrap,
}

/// A template that the class names for a group.
#[derive(Clone, Copy)]
pub(super) struct Template<'v> {
    pub(super) part: TemplateProduct,
    pub(super) reference: &'v Value,
    pub(super) kind: &'v str,
    pub(super) api_version: Option<&'v str>,
    /// The object, where it is rendered here.
    pub(super) object: Option<&'v Value>,
}

impl<'v> Blueprint<'v> {
    /// What the class says of the sort of workers that a group is of, or of its control plane.
    pub(in crate::rollout) fn class_of(&self, group: &MachineGroup<'_>) -> Option<&'v Value> {
        let class = self.class;
        if group.list == "controlPlane" {
            return class.at("/spec/controlPlane");
        }
        let name = group.value.get("class")?;
        let items = class.at(&format!("/spec/workers/{}", group.list))?.as_array()?;
        items.iter().find(|item| item.get("class") == Some(name))
    }

    /// The templates that the machines of a group are made from.
    pub(super) fn templates(&self, group: &MachineGroup<'_>) -> [Option<Template<'v>>; 2] {
        let Some(holder) = self.class_of(group) else { return [None, None] };
        // v1beta1 has one level more.
        let of_workers = holder.get("template").unwrap_or(holder);
        let parts = match group.list {
            "controlPlane" => [
                (TemplateProduct::ControlPlane, Some(holder)),
                (TemplateProduct::Machines, holder.get("machineInfrastructure")),
            ],
            "machineDeployments" => [
                (TemplateProduct::Machines, of_workers.get("bootstrap")),
                (TemplateProduct::Machines, of_workers.get("infrastructure")),
            ],
            _ => [
                (TemplateProduct::PoolBootstrap, of_workers.get("bootstrap")),
                (TemplateProduct::PoolInfrastructure, of_workers.get("infrastructure")),
            ],
        };
        parts.map(|(part, holder)| self.template(part, holder))
    }

    fn template(&self, part: TemplateProduct, holder: Option<&'v Value>) -> Option<Template<'v>> {
        let reference = reference(holder)?;
        let (_, kind, _) = target(Some(reference))?;
        let api_version = reference.get("apiVersion").and_then(Value::as_str);
        Some(Template { part, reference, kind, api_version, object: (self.find)(reference) })
    }
}

/// The template that a part of a class names, in v1beta2 and v1beta1.
pub(in crate::rollout) fn reference(holder: Option<&Value>) -> Option<&Value> {
    let holder = holder?;
    holder.get("templateRef").or_else(|| holder.get("ref"))
}
