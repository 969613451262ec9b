//! What of a ClusterClass becomes different, as far as machines are concerned.

use super::facts::{ROLLOUT_AFTER, rolls_as_kubeadm};
use super::kubeadm;
use super::owner::{Replacing, replacing_by};
use super::pointer::At;
use crate::templates::SpecDigest;
use crate::yaml::Value;

/// The groups of machines whose templates a class changes.
#[derive(Debug, Default)]
pub(super) struct ClassChange {
    control_plane: bool,
    /// `machineDeployments` or `machinePools`, and the class of worker.
    workers: Vec<(&'static str, String)>,
    /// What comes out differently only the topology controller knows: patches compute templates from
    /// variables, or something is not rendered here.
    pub(super) unknown: bool,
}

impl ClassChange {
    /// A class that cannot be looked into.
    pub(super) fn unknown() -> Self {
        Self { unknown: true, ..Self::default() }
    }

    /// Whether a group of a topology is concerned.
    pub(super) fn concerns(&self, list: &str, class: Option<&str>) -> bool {
        match list {
            "controlPlane" => self.control_plane,
            _ => self.workers.iter().any(|(of, name)| *of == list && class == Some(name)),
        }
    }

    pub(super) fn is_nothing(&self) -> bool {
        !self.control_plane && self.workers.is_empty() && !self.unknown
    }
}

/// How a class says that machines are replaced.
#[derive(Debug, Default)]
pub(super) struct Strategies<'v> {
    /// The class that the Cluster names in the end.
    pub(super) class: Option<&'v Value>,
    /// The template of its control plane.
    pub(super) control_plane: Option<&'v Value>,
}

impl Strategies<'_> {
    /// How outdated machines of a group are replaced; `None` where the class is not rendered here, its patches
    /// decide, or the provider of a MachinePool does.
    ///
    /// A MachineDeployment has the strategy of its topology where that says anything of rollouts, else that of
    /// its class, never a mixture (`computeMachineDeployment` in Cluster API's exp/topology/desiredstate), and
    /// Cluster API's defaults where neither speaks. A control plane has that of its template.
    pub(super) fn of_group(&self, list: &str, group: &Value, replicas: Option<u32>) -> Option<Replacing> {
        let strategy = |holder: &'_ Value| {
            let says = |field: &str| {
                let value = holder.get(field)?;
                (!kubeadm::is_empty(value)).then(|| value.clone())
            };
            match says("rollout") {
                Some(rollout) => Some(rollout.get("strategy").cloned().unwrap_or(Value::Null)),
                None => says("strategy"),
            }
        };
        match list {
            "controlPlane" => {
                let template = self.control_plane?;
                let spec = template.at("/spec/template/spec").unwrap_or(&Value::Null);
                let fields = ["/rolloutStrategy", "/rollout/strategy"];
                let known = template
                    .get("kind")
                    .and_then(Value::as_str)
                    .and_then(|kind| kind.strip_suffix("Template"));
                (known.is_some_and(rolls_as_kubeadm) && !self.patches_set_the_rollout())
                    .then(|| replacing_by(fields.iter().find_map(|field| spec.at(field)), replicas))
            }
            "machineDeployments" => {
                let strategy = match strategy(group) {
                    Some(own) => Some(own),
                    None => {
                        let name = group.get("class")?;
                        let classes = self.class?.at("/spec/workers/machineDeployments")?.as_array()?;
                        strategy(classes.iter().find(|class| class.get("class") == Some(name))?)
                    }
                };
                Some(replacing_by(strategy.as_ref(), replicas))
            }
            _ => None,
        }
    }

    fn patches_set_the_rollout(&self) -> bool {
        let patches = self.class.and_then(|class| class.at("/spec/patches")?.as_array());
        patches.into_iter().flatten().any(|patch| {
            let definitions = patch.get("definitions").and_then(Value::as_array);
            let paths = definitions.into_iter().flatten().flat_map(|definition| {
                let patches = definition.get("jsonPatches").and_then(Value::as_array);
                patches.into_iter().flatten().filter_map(|patch| patch.get("path")?.as_str())
            });
            let mut paths = paths.filter(|path| path.starts_with("/spec/template/spec/rollout"));
            patch.get("external").is_some() || paths.next().is_some()
        })
    }
}

/// Compares two states of a class; `find` gives the template that a reference names, before and after.
pub(super) fn compare<'v>(
    before: &'v Value,
    after: &'v Value,
    find: &dyn Fn(&'v Value, Side) -> Option<&'v Value>,
) -> ClassChange {
    let mut change = ClassChange::default();
    let differ = |one: Option<&'v Value>, other: Option<&'v Value>, kubeadm: bool| {
        let (Some(one), Some(other)) = (one, other) else { return one.is_some() != other.is_some() };
        match (find(one, Side::Before), find(other, Side::After)) {
            (Some(one), Some(other)) if kubeadm => control_plane_rolls(one, other),
            (Some(one), Some(other)) => {
                let spec = |value: &Value| SpecDigest::of(value.get("spec").unwrap_or(&Value::Null));
                spec(one) != spec(other)
            }
            // Not rendered here: only its name tells.
            _ => one.get("name") != other.get("name"),
        }
    };
    let spec = |class: &'v Value, path: &str| class.at(path);
    let control_plane = reference(spec(before, "/spec/controlPlane"));
    let machines = |class: &'v Value| reference(spec(class, "/spec/controlPlane/machineInfrastructure"));
    change.control_plane = differ(control_plane, reference(spec(after, "/spec/controlPlane")), true)
        || differ(machines(before), machines(after), false);
    for list in ["machineDeployments", "machinePools"] {
        let items = |class: &'v Value| {
            let items = class.at(&format!("/spec/workers/{list}")).and_then(Value::as_array);
            items.into_iter().flatten().filter_map(|item| Some((item.get("class")?.as_str()?, item)))
        };
        for (name, new) in items(after) {
            let Some((_, old)) = items(before).find(|(other, _)| *other == name) else { continue };
            let part = |item: &'v Value, key: &str| {
                let template = item.get("template").unwrap_or(item);
                reference(template.get(key))
            };
            if ["bootstrap", "infrastructure"].iter().any(|key| differ(part(old, key), part(new, key), false))
            {
                change.workers.push((list, name.to_owned()));
            }
        }
    }
    let patches = |class: &Value| class.at("/spec/patches").cloned().unwrap_or(Value::Null);
    let has_patches = patches(after).as_array().is_some_and(|patches| !patches.is_empty());
    if patches(before) != patches(after) || (has_patches && !change.is_nothing()) {
        change.unknown = true;
    }
    change
}

/// A side of the comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Before,
    After,
}

/// The template that a part of a class names, in v1beta2 and v1beta1.
pub(super) fn reference(holder: Option<&Value>) -> Option<&Value> {
    let holder = holder?;
    holder.get("templateRef").or_else(|| holder.get("ref"))
}

/// Of a KubeadmControlPlaneTemplate only what would replace machines of a KubeadmControlPlane counts.
fn control_plane_rolls(one: &Value, other: &Value) -> bool {
    const KUBEADM: &str = "/spec/template/spec/kubeadmConfigSpec";
    if one.at(KUBEADM).is_none() && other.at(KUBEADM).is_none() {
        return one.get("spec") != other.get("spec");
    }
    let after = |template: &Value| {
        let mut times = ROLLOUT_AFTER.iter().map(|field| format!("/spec/template{field}"));
        times.find_map(|pointer| template.at(&pointer).cloned())
    };
    let sets_time = after(other).is_some_and(|time| after(one) != Some(time));
    sets_time || !kubeadm::differences(one, other, KUBEADM).rolls.is_empty()
}
