//! What of base waits for services: objects that bring a service whose turn has not come, and a control plane that services
//! come before.

use std::collections::BTreeMap;
use std::sync::Arc;

use capstan_live::applying::{ApplyPlan, Changes};
use capstan_live::rollout::observed::RolloutProgress;
use capstan_live::services::{MachineConvergence, ServiceCause, ServiceState, gate, may_change};
use capstan_model::kinds::{KindRole, is_cluster, role_of};
use capstan_model::object::ObjectId;
use capstan_plan::settings::{Service, ServiceSource, ServiceTurn};

use super::kubernetes::hold_kubernetes;
use super::network::{is_named, refused_network};
use crate::reconcile::blocking::where_blocking_is_allowed;
use crate::reconcile::observation::Observation;
use crate::reconcile::reconciliation::Reconciliation;
use capstan_fleet::generator::ClusterServices;
use capstan_ports::LiveError;
use capstan_reconciler_core::reason::Reason;

impl Reconciliation<'_> {
    /// Takes out of a plan the objects of services whose turn has not come, by the states of the last look. Gives what
    /// each waits for, in words.
    pub(in crate::reconcile) async fn hold_back(
        &mut self,
        observed: &Observation,
        changes: &Changes,
        plan: &mut ApplyPlan,
    ) -> Vec<String> {
        let services = self.declared_services().await;
        let (of_kubernetes, why) = hold_kubernetes(observed, &services, plan).await;
        self.kubernetes_held.extend(why);
        let brings = |service: &Service| matches!(service.from, ServiceSource::Objects(_)) && service.enabled;
        if !services.iter().any(brings) {
            return of_kubernetes;
        }
        let states: BTreeMap<String, ServiceState> =
            self.of.status.services.iter().map(|status| (status.name.clone(), status.state)).collect();
        let machines =
            self.verdict.as_ref().map_or(RolloutProgress::Unknown, |verdict| verdict.state_for_now());
        let phase = Some(plan.phase).filter(|_| of_kubernetes.is_empty());
        let course = MachineConvergence::of(phase, machines);
        let mut held: BTreeMap<ObjectId, String> = BTreeMap::new();
        for (at, service) in services.iter().enumerate().filter(|(_, service)| service.enabled) {
            let ServiceSource::Objects(named) = &service.from else { continue };
            let due = changes.keys().filter(|id| is_named(named, id));
            for id in due {
                let was_there = observed.live.get(id).is_some();
                let rendered = observed.objects.iter().filter(|object| is_named(named, &object.id));
                let refused = || {
                    let rendered = rendered.map(|object| &object.value);
                    refused_network(&self.of.status.services, observed, service, rendered)
                };
                let waits = gate(&services, at, &states)
                    .or_else(refused)
                    .or_else(|| may_change(service, course, was_there));
                if let Some(problem) = waits {
                    held.insert(id.clone(), format!("{id}: {}", problem.words));
                }
            }
        }
        for step in &mut plan.steps {
            step.objects.retain(|id| !held.contains_key(id));
        }
        plan.steps.retain(|step| !step.objects.is_empty());
        self.of.again |= !held.is_empty();
        of_kubernetes.into_iter().chain(held.into_values()).collect()
    }

    /// Brings the services that come before a control plane that is about to change; why it waits, where one of them is seen
    /// not to be ready.
    ///
    /// # Errors
    /// As [`Self::bring_services`].
    pub(in crate::reconcile) async fn bring_first(
        &mut self,
        observed: &Observation,
        plan: &ApplyPlan,
    ) -> Result<Vec<Reason>, LiveError> {
        let is_control_plane = |id: &ObjectId| {
            let has_topology = || {
                let live = observed.live.get(id);
                live.is_some_and(|live| live.pointer("/spec/topology").is_some())
            };
            matches!(role_of(id), Some(KindRole::ControlPlane(_))) || (is_cluster(id) && has_topology())
        };
        let due = plan.steps.iter().flat_map(|step| &step.objects);
        let changes = due.filter(|id| is_control_plane(id)).any(|id| observed.live.get(id).is_some());
        if !changes {
            return Ok(Vec::new());
        }
        let services = self.declared_services().await;
        let first: Vec<&Service> = services
            .iter()
            .filter(|service| service.enabled && service.when == ServiceTurn::BeforeControlPlane)
            .collect();
        if first.is_empty() {
            return Ok(Vec::new());
        }
        self.bring_services_of(observed, Some(ServiceTurn::BeforeControlPlane)).await?;
        let status_of = |service: &Service| {
            self.of.status.services.iter().find(|status| status.name == service.name.as_str())
        };
        // What nobody can see holds nothing up: the control plane that would come may be what brings the API back.
        let unseen = [ServiceCause::ControlPlaneNotInitialized, ServiceCause::WaitsForKubeconfig]
            .map(ServiceCause::as_str);
        let holds = |service: &&Service| {
            status_of(service).is_some_and(|status| {
                let is_seen = status.reason.as_deref().is_none_or(|reason| !unseen.contains(&reason));
                !matches!(status.state, ServiceState::Ready | ServiceState::Unknown) && is_seen
            })
        };
        let waits = first.into_iter().filter(holds).map(|service| {
            let status = status_of(service);
            let why = status.and_then(|status| status.message.clone()).unwrap_or_default();
            Reason::plain(
                ServiceCause::WaitsForService.as_str(),
                format!(
                    "the control plane waits for service {} (`when: {}`): {why}",
                    service.name, service.when
                ),
            )
        });
        Ok(waits.collect())
    }

    /// The services that the settings declare; none where the settings cannot be read, which is reported with the
    /// services.
    async fn declared_services(&self) -> Vec<Service> {
        let (fleet, id) = (Arc::clone(&self.of.request.revision.fleet), self.of.request.id.clone());
        let read = where_blocking_is_allowed(move || ClusterServices::of(&fleet, &id)).await;
        read.map(|declared| declared.services).unwrap_or_default()
    }
}
