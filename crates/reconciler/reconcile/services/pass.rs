//! One look at all services of a cluster, in their order.

use std::collections::BTreeMap;

use capstan_live::rollout::observed::RolloutProgress;
use capstan_live::services::{
    MachineConvergence, Problem, ServiceCause, ServiceState, ServiceStatus, is_initialized, needs_of,
};
use capstan_model::kinds::is_cluster;
use capstan_model::object::{FieldPath, ObjectId};
use capstan_plan::services::version_of_values;
use capstan_plan::settings::{Service, ServiceRole, ServiceSource, ServiceTurn, service_order};
use capstan_ports::{LiveError, ManagementCluster as _};
use capstan_reconciler_core::reason::Reason;
use jiff::SignedDuration;

use super::declared::Declared;
use super::life::ServiceFindings;
use super::pass_state::{Pass, works_with_cloud};
use crate::reconcile::credentials::{CredentialDelivery, bring_credential, id_inside, see_credential};
use crate::reconcile::observation::Observation;
use crate::reconcile::reconciliation::Reconciliation;

impl Reconciliation<'_> {
    /// Brings services into the folder's cluster as far as their turn has come, takes away those that were switched
    /// off, and writes down their states.
    ///
    /// # Errors
    /// The management cluster does not answer, or this process leads no more. A failure of the workload cluster is
    /// reported with its services.
    pub(in crate::reconcile) async fn bring_services(
        &mut self,
        observed: &Observation,
    ) -> Result<(), LiveError> {
        self.of.services.again();
        self.bring_services_of(observed, None).await
    }

    /// The same of the services of one turn alone.
    pub(super) async fn bring_services_of(
        &mut self,
        observed: &Observation,
        turn: Option<ServiceTurn>,
    ) -> Result<(), LiveError> {
        // A provider set has none.
        if observed.set.is_some() {
            return Ok(());
        }
        let declared = match Declared::read(&self.of.request.revision.fleet, self.of.request.id).await {
            Ok(declared) => declared,
            Err(refused) => {
                self.of.services.tell(Reason::of_refused(ServiceCause::ServiceNotRendered.as_str(), refused));
                return Ok(());
            }
        };
        if declared.services().is_empty() && self.of.status.services.is_empty() {
            return Ok(());
        }
        let still =
            SignedDuration::try_from(self.of.request.fleet.spec.stuck_after).unwrap_or(SignedDuration::MAX);
        let course = {
            let machines =
                self.verdict.as_ref().map_or(RolloutProgress::Unknown, |verdict| verdict.state_for_now());
            // A control plane that is held does not change.
            let phase = self.of.status.phase.filter(|_| self.kubernetes_held.is_empty());
            MachineConvergence::of(phase.map(Into::into), machines)
        };
        let mut pass = Pass {
            of: &mut self.of,
            observed,
            declared,
            course,
            still,
            cluster: None,
            workload: Err(Problem::plain(ServiceCause::ControlPlaneNotInitialized, "")),
            version: String::new(),
            credential: None,
            states: BTreeMap::new(),
            turn,
        };
        pass.run().await
    }
}

impl Pass<'_, '_> {
    async fn run(&mut self) -> Result<(), LiveError> {
        let services: Vec<Service> = self.declared.services().to_vec();
        self.open(&services).await?;
        self.bring_credential(&services).await?;
        let order = service_order(&services).map_err(|circle| circle.circle);
        for at in order.as_ref().unwrap_or_else(|circle| circle).clone() {
            if self.is_stopping() {
                return Ok(());
            }
            let service = &services[at];
            if !service.enabled {
                continue;
            }
            if self.turn.is_some_and(|turn| turn != service.when) {
                let known = self.status_of(service).map(|status| status.state);
                self.states.extend(known.map(|state| (service.name.to_string(), state)));
                continue;
            }
            let judged = match order_unknown(&services, service, order.is_err()) {
                Some(words) => only(Problem {
                    place: self.declared.place(service.name.as_str(), None),
                    ..Problem::plain(ServiceCause::ServiceNotRendered, words)
                }),
                None => self.judge(&services, at).await?,
            };
            self.settle(&services[at], judged);
        }
        if self.turn.is_some() {
            return Ok(());
        }
        self.remove_services(&services).await?;
        self.see_credential().await?;
        let place = |status: &ServiceStatus| {
            services.iter().position(|service| service.name.as_str() == status.name).unwrap_or(usize::MAX)
        };
        self.of.status.services.sort_by_key(place);
        let is_open =
            |status: &ServiceStatus| !matches!(status.state, ServiceState::Ready | ServiceState::Removing);
        self.of.again |= self.of.status.services.iter().any(is_open);
        Ok(())
    }

    /// Finds the cluster and asks whether its API answers.
    async fn open(&mut self, services: &[Service]) -> Result<(), LiveError> {
        let needs_api = |service: &Service| {
            matches!(service.from, ServiceSource::Folder(_))
                || needs_of(service.role).is_some()
                || !service.checks.is_empty()
        };
        // Also where a credential may be inside that nobody works with any more.
        let is_there = |status: &ServiceStatus| {
            let is_on = |service: &Service| service.enabled && service.name.as_str() == status.name;
            !status.inventory.objects().is_empty()
                || works_with_cloud(status.role) && !services.iter().any(is_on)
        };
        let has_objects = self.of.status.services.iter().any(is_there);
        let rendered: Vec<&ObjectId> =
            self.observed.objects.iter().map(|object| &object.id).filter(|id| is_cluster(id)).collect();
        let cluster = match rendered.as_slice() {
            [only] => (*only).clone(),
            several => {
                let words =
                    format!("the folder renders {} Clusters, but services are for one", several.len());
                self.workload = Err(Problem::plain(ServiceCause::ServiceNotRendered, words));
                return Ok(());
            }
        };
        self.cluster = Some(cluster.clone());
        if !has_objects && !services.iter().any(|service| service.enabled && needs_api(service)) {
            return Ok(());
        }
        let live = self.observed.live.get(&cluster);
        if !live.is_some_and(is_initialized) {
            let words = "its control plane is not up yet";
            self.workload = Err(Problem::of(ServiceCause::ControlPlaneNotInitialized, &cluster, words));
            return Ok(());
        }
        let (ports, now) = (self.of.request.ports, self.of.now);
        let by = &self.observed.wanted.by;
        self.workload = ports.workloads.open(&cluster, &ports.live, by, now).await?;
        if let Ok(workload) = &self.workload {
            match workload.live.version().await {
                Ok(version) => {
                    self.version = version;
                    ports.workloads.answered(&cluster);
                }
                Err(error) => drop(self.lose(error)?),
            }
        }
        Ok(())
    }

    /// Brings the credential of the cloud's controllers inside, where services of theirs are declared and none brings that
    /// Secret itself.
    async fn bring_credential(&mut self, services: &[Service]) -> Result<(), LiveError> {
        let works_with_cloud = |service: &Service| service.enabled && works_with_cloud(service.role);
        let Ok(workload) = self.workload.clone() else { return Ok(()) };
        if !services.iter().any(works_with_cloud) || self.declared.other_with(&id_inside(), "").is_some() {
            return Ok(());
        }
        match bring_credential(self.of, self.observed, &workload.live).await {
            Ok(CredentialDelivery::Nothing) => {}
            Ok(CredentialDelivery::There(inside)) => self.credential = Some(inside),
            Ok(CredentialDelivery::Anothers(reason)) => self.of.services.tell(reason),
            Err(error) => {
                let problem = self.lose(error)?;
                let message = format!(
                    "the credential of its cloud is not written into the cluster: {}",
                    problem.line()
                );
                self.of.services.tell(Reason::plain(problem.cause.as_str(), message));
            }
        }
        Ok(())
    }

    async fn see_credential(&mut self) -> Result<(), LiveError> {
        let (Some(inside), Ok(workload)) = (self.credential.clone(), self.workload.clone()) else {
            return Ok(());
        };
        match see_credential(self.of.status.cloud_credentials.as_mut(), &inside, &workload.live).await {
            Ok(()) => Ok(()),
            Err(error) => self.lose(error).map(drop),
        }
    }

    /// Writes down the state of a service, and why it is not ready.
    fn settle(&mut self, service: &Service, judged: ServiceFindings) {
        let ServiceFindings { problems, looks } = judged;
        let (now, still) = (self.of.now, self.still);
        let version = version_of_values(looks.iter().map(|look| &look.object.value));
        let status = self.status_mut(service);
        if version.is_some() {
            status.version = version;
        }
        let is_refused = problems.iter().any(|problem| problem.cause == ServiceCause::CniSwitchRefused);
        // What is refused is not there: the network that is is remembered by its own objects.
        if !is_refused {
            let named = match &service.from {
                ServiceSource::Objects(named) => named.clone(),
                ServiceSource::Folder(_) => Vec::new(),
            };
            // These objects identify the network that is there, until another one replaces it.
            let earlier = match service.role {
                ServiceRole::Cni if !problems.is_empty() => std::mem::take(&mut status.objects),
                _ => Vec::new(),
            };
            let gone = earlier.into_iter().filter(|one| !named.contains(one)).collect::<Vec<_>>();
            status.objects = named.into_iter().chain(gone).collect();
        }
        status.settle(&problems, now, still);
        let state = status.state;
        self.states.insert(service.name.to_string(), state);
        let (declared, name) = (&self.declared, service.name.as_str());
        self.of.services.tell_problems((name, state), problems, |problem| {
            let rendered = looks.iter().find(|look| Some(&look.object.id) == problem.object.as_ref());
            let root = FieldPath::root();
            rendered.map(|look| look.object.written_at(&root)).or_else(|| declared.place(name, problem.check))
        });
    }
}

fn only(problem: Problem) -> ServiceFindings {
    ServiceFindings { problems: vec![problem], ..ServiceFindings::default() }
}

/// Why it is unknown when a service begins.
fn order_unknown(services: &[Service], service: &Service, in_circle: bool) -> Option<String> {
    if in_circle {
        return Some("services wait for one another: `capstan validate` shows the circle".to_owned());
    }
    let nobody = service.after.iter().find(|name| services.iter().all(|other| other.name != **name))?;
    Some(format!("it waits for the service `{nobody}`, which does not exist: correct `after`"))
}
