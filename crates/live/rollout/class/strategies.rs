//! How outdated machines of a group are replaced.

use super::blueprint::{ClassSides, MachineGroup};
use super::change::control_plane;
use super::value::{holds_uncomputed, is_uncomputed};
use crate::rollout::facts::{K0S, rolls_as_kubeadm};
use crate::rollout::kubeadm;
use crate::rollout::owner::{Replacing, replacing_by};
use crate::rollout::pointer::PointerTarget;
use capstan_yaml::Value;

/// How a class says that machines are replaced.
#[derive(Debug, Default)]
pub(in crate::rollout) struct Strategies<'v> {
    /// The class that the Cluster names in the end.
    class: Option<&'v Value>,
    /// The control plane that is made of its template and patches.
    control_plane: Option<Value>,
}

impl<'v> Strategies<'v> {
    /// Of the class that the Cluster names in the end.
    pub(in crate::rollout) fn of(sides: &ClassSides<'v>, groups: &[MachineGroup<'_>]) -> Self {
        let Some(side) = &sides.sides[1] else { return Self::default() };
        let plane = groups.iter().find(|group| group.list == "controlPlane");
        Self { class: Some(side.class), control_plane: plane.and_then(|plane| control_plane(side, plane)) }
    }

    /// How outdated machines of a group are replaced; `None` where the class is not rendered here, its patches
    /// decide, or the provider of a MachinePool does.
    ///
    /// A MachineDeployment has the strategy of its topology where that says anything of rollouts, else that of
    /// its class, never a mixture (`computeMachineDeployment` in Cluster API's exp/topology/desiredstate), and
    /// Cluster API's defaults where neither speaks. A control plane has that of its template.
    pub(in crate::rollout) fn of_group(
        &self,
        list: &str,
        group: &Value,
        replicas: Option<u32>,
    ) -> Option<Replacing> {
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
                let made = self.control_plane.as_ref()?;
                // The strategy of k0s has another form, and replaces no machine for a version by default.
                let kind = made.get("kind").and_then(Value::as_str);
                let known = kind.is_some_and(|kind| kind != K0S && rolls_as_kubeadm(kind));
                let fields = ["/spec/rolloutStrategy", "/spec/rollout/strategy"];
                let hidden =
                    ["/spec", "/spec/rollout"].iter().any(|at| made.at(at).is_some_and(is_uncomputed));
                let strategy = fields.iter().find_map(|field| made.at(field));
                (known && !hidden && !strategy.is_some_and(holds_uncomputed))
                    .then(|| replacing_by(strategy, replicas))
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
}
