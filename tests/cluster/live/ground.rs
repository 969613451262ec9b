//! What every scenario needs: a management cluster, its watched objects, and a comparison of predictions with them.

use std::sync::{Mutex, PoisonError};

use super::prediction::{Prediction, Truth, compare};
use super::sample::Sample;
use super::waiting::{Look, holds};
use capstan_test_parts::plane::world::{CLUSTER_API, Machine, World};
use capstan_test_parts::plane::{Parts, Plane, reconciler};

const CAPSTAN_KINDS: &[(&str, &str, &str)] =
    &[("capstan.dev", "v1alpha1", "ManagedCluster"), ("capstan.dev", "v1alpha1", "Fleet")];

/// A management cluster with Cluster API.
pub(crate) struct Ground {
    pub(crate) plane: Plane,
    pub(crate) world: World,
    truths: Mutex<Vec<Truth>>,
}

/// Whether Capstan's own kinds and rights are wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Capstan {
    Installed,
    Absent,
}

impl Ground {
    /// Starts one; `None`, said aloud, where no management cluster was built.
    pub(crate) fn start(capstan: Capstan) -> Option<Self> {
        let plane = Plane::start(Parts::Everything)?;
        let mut kinds = CLUSTER_API.to_vec();
        if capstan == Capstan::Installed {
            reconciler::install(&plane);
            kinds.extend(CAPSTAN_KINDS);
        }
        let world = World::watch(&plane.admin_kubeconfig(), &kinds, None);
        Some(Self { plane, world, truths: Mutex::default() })
    }

    /// On a management cluster whose kinds may still have to come.
    pub(crate) fn on(plane: Plane) -> Self {
        let kinds = [CLUSTER_API, CAPSTAN_KINDS].concat();
        let world = World::watch(&plane.admin_kubeconfig(), &kinds, None);
        Self { plane, world, truths: Mutex::default() }
    }

    /// The machines of a cluster as they are now.
    pub(crate) fn machines(&self, cluster: &Sample) -> Vec<Machine> {
        self.world.machines(&cluster.namespace(), &cluster.name)
    }

    /// The machines of a cluster, where these are all it should have, all running at this version.
    pub(crate) fn running(&self, cluster: &Sample, version: &str) -> Look<Vec<Machine>> {
        let machines = self.machines(cluster);
        let wanted = cluster.workers as usize + 1;
        holds(machines.len() == wanted, || format!("{} of {wanted} machines", machines.len()))?;
        for machine in &machines {
            holds(machine.phase == "Running" && machine.has_node && machine.version == version, || {
                format!("{} is {} at {}", machine.name, machine.phase, machine.version)
            })?;
        }
        Ok(machines)
    }

    /// Holds a prediction against the machines that were there before and are there now that all is quiet.
    pub(crate) fn judge(
        &self,
        what: &str,
        prediction: &Prediction,
        before: &[Machine],
        after: &[Machine],
    ) -> Vec<Truth> {
        let rows = compare(what, prediction, before, after);
        self.truths.lock().unwrap_or_else(PoisonError::into_inner).extend(rows.clone());
        rows
    }

    /// The table of predicted and replaced machines so far.
    pub(crate) fn truths(&self) -> Vec<Truth> {
        self.truths.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
