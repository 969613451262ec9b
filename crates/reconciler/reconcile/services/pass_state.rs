//! A look under way at the services of a cluster: what is known in it, and what is written down of one service.

use std::collections::BTreeMap;

use capstan_live::applying::AppliedInventory;
use capstan_live::services::{MachineConvergence, Problem, ServiceState, ServiceStatus};
use capstan_model::object::ObjectId;
use capstan_plan::settings::{Service, ServiceRole, ServiceTurn};
use capstan_ports::LiveError;
use capstan_reconciler_core::credentials::Inside;
use capstan_reconciler_core::outcome::Interruption;
use capstan_reconciler_core::services::{is_of_cluster, problem_of};
use jiff::SignedDuration;

use super::declared::Declared;
use super::workloads::WorkloadCluster;
use crate::reconcile::in_hand::ClusterInHand;
use crate::reconcile::observation::Observation;

/// A look under way.
pub(super) struct Pass<'p, 'r> {
    pub(super) of: &'p mut ClusterInHand<'r>,
    pub(super) observed: &'p Observation,
    pub(super) declared: Declared,
    pub(super) course: MachineConvergence,
    pub(super) still: SignedDuration,
    /// The folder's `Cluster`.
    pub(super) cluster: Option<ObjectId>,
    /// The cluster's API, or why it cannot be asked.
    pub(super) workload: Result<WorkloadCluster, Problem>,
    /// The version that it reports.
    pub(super) version: String,
    /// The credential of the cloud's controllers that is inside of it.
    pub(super) credential: Option<Inside>,
    pub(super) states: BTreeMap<String, ServiceState>,
    /// Only services of that turn are handled.
    pub(super) turn: Option<ServiceTurn>,
}

impl Pass<'_, '_> {
    pub(super) fn is_stopping(&self) -> bool {
        matches!((self.of.request.is_over)(), Some(Interruption::Stopping))
    }

    /// The cluster does not do its part: it is not asked again in this look.
    pub(super) fn lose(&mut self, error: LiveError) -> Result<Problem, LiveError> {
        let Some(problem) = problem_of(&error, None) else { return Err(error) };
        if is_of_cluster(&problem) {
            if let Some(cluster) = &self.cluster {
                self.of.request.ports.workloads.away(cluster, &problem, self.of.now);
            }
            self.workload = Err(problem.clone());
        }
        Ok(problem)
    }

    pub(super) fn status_of(&self, service: &Service) -> Option<&ServiceStatus> {
        self.of.status.services.iter().find(|status| status.name == service.name.as_str())
    }

    /// The status of a service, made where it has none.
    pub(super) fn status_mut(&mut self, service: &Service) -> &mut ServiceStatus {
        let all = &mut self.of.status.services;
        let name = service.name.as_str();
        let at = all.iter().position(|status| status.name == name).unwrap_or_else(|| {
            all.push(ServiceStatus::new(name, service.role));
            all.len() - 1
        });
        // What a cluster cannot do without stays that while any of it is there, whatever it is called now.
        let is_there = !all[at].inventory.objects().is_empty() || !all[at].objects.is_empty();
        if !(all[at].role.is_vital() && is_there) {
            all[at].role = service.role;
        }
        &mut all[at]
    }

    /// What was applied for a service.
    pub(super) fn note_inventory(&mut self, service: &Service, inventory: &AppliedInventory) {
        self.status_mut(service).inventory = inventory.clone();
    }
}

/// Whether services of a role are given the credential of the cluster's cloud.
pub(super) const fn works_with_cloud(role: ServiceRole) -> bool {
    matches!(role, ServiceRole::Ccm | ServiceRole::Csi)
}
