//! What of a ClusterClass becomes different, as far as machines are concerned.

use super::facts::ROLLOUT_AFTER;
use super::kubeadm;
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

fn reference(holder: Option<&Value>) -> Option<&Value> {
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
