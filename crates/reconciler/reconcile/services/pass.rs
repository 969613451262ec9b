//! One look at all services of a cluster, in their order.

use std::collections::BTreeMap;

use capstan_live::applying::{Inventory, is_applied_by_capstan};
use capstan_live::credentials::begin_with;
use capstan_live::rollout::observed::State;
use capstan_live::services::{
    Cause, Course, Problem, ServiceState, ServiceStatus, gate, is_initialized, may_change, needs_of,
};
use capstan_model::kinds::is_cluster;
use capstan_model::object::ObjectId;
use capstan_plan::services::version_of_values;
use capstan_plan::settings::{
    Service, ServiceObject, ServiceRole, ServiceSource, ServiceTurn, service_order,
};
use jiff::SignedDuration;
use serde_json::Value;

use super::declared::Declared;
use super::facts::{Found, judge_checks, judge_objects, judge_role};
use super::folder::{Look, apply, hindrances, look, place};
use super::workloads::{Workload, is_of_cluster, problem_of};
use crate::reconcile::credentials::{Brought, Inside, SECRET_INSIDE, id_inside};
use crate::reconcile::observation::Observation;
use crate::reconcile::outcome::Interruption;
use crate::reconcile::reason::Reason;
use crate::reconcile::reconciliation::Reconciliation;
use capstan_ports::{LiveError, ManagementCluster as _};

impl Reconciliation<'_> {
    /// Brings services into the folder's cluster as far as their turn has come, takes away those that were switched off,
    /// and says how they stand.
    ///
    /// # Errors
    /// The management cluster does not answer, or this process leads no more. What a workload cluster does not do is told
    /// of its services.
    pub(in crate::reconcile) async fn bring_services(
        &mut self,
        observed: &Observation,
    ) -> Result<(), LiveError> {
        self.services.again();
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
        let declared = match Declared::read(&self.request.revision.fleet, self.request.id).await {
            Ok(declared) => declared,
            Err(refused) => {
                self.services.tell(Reason::of_refused(Cause::ServiceNotRendered.as_str(), refused));
                return Ok(());
            }
        };
        if declared.services().is_empty() && self.status.services.is_empty() {
            return Ok(());
        }
        let still =
            SignedDuration::try_from(self.request.fleet.spec.stuck_after).unwrap_or(SignedDuration::MAX);
        let course = {
            let machines = self.verdict.as_ref().map_or(State::Unknown, |verdict| verdict.state_for_now());
            // A control plane that is held does not change.
            let phase = self.status.phase.filter(|_| self.kubernetes_held.is_empty());
            Course::of(phase.map(Into::into), machines)
        };
        let mut pass = Pass {
            of: self,
            observed,
            declared,
            course,
            still,
            cluster: None,
            workload: Err(Problem::plain(Cause::ControlPlaneNotInitialized, "")),
            version: String::new(),
            credential: None,
            states: BTreeMap::new(),
            turn,
        };
        pass.run().await
    }
}

/// A look under way.
pub(super) struct Pass<'p, 'r> {
    pub(super) of: &'p mut Reconciliation<'r>,
    pub(super) observed: &'p Observation,
    pub(super) declared: Declared,
    course: Course,
    pub(super) still: SignedDuration,
    /// The folder's `Cluster`.
    cluster: Option<ObjectId>,
    /// The cluster's API, or why it cannot be asked.
    pub(super) workload: Result<Workload, Problem>,
    /// The version that it reports.
    version: String,
    /// The credential of the cloud's controllers that is inside of it.
    credential: Option<Inside>,
    states: BTreeMap<String, ServiceState>,
    /// Only services of that turn are looked at.
    turn: Option<ServiceTurn>,
}

/// What was found of one service.
#[derive(Default)]
struct Judged {
    problems: Vec<Problem>,
    /// What it renders, and what is there of each.
    looks: Vec<Look>,
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
                    ..Problem::plain(Cause::ServiceNotRendered, words)
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

    pub(super) fn is_stopping(&self) -> bool {
        matches!((self.of.request.is_over)(), Some(Interruption::Stopping))
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
                    format!("the folder brings {} Clusters: services are brought into one", several.len());
                self.workload = Err(Problem::plain(Cause::ServiceNotRendered, words));
                return Ok(());
            }
        };
        self.cluster = Some(cluster.clone());
        if !has_objects && !services.iter().any(|service| service.enabled && needs_api(service)) {
            return Ok(());
        }
        let live = self.observed.live.get(&cluster);
        if !live.is_some_and(is_initialized) {
            let words = "its control plane has not come up yet";
            self.workload = Err(Problem::of(Cause::ControlPlaneNotInitialized, &cluster, words));
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
        match self.of.bring_credential(self.observed, &workload.live).await {
            Ok(Brought::Nothing) => {}
            Ok(Brought::There(inside)) => self.credential = Some(inside),
            Ok(Brought::Anothers(reason)) => self.of.services.tell(reason),
            Err(error) => {
                let problem = self.lose(error)?;
                let message =
                    format!("the credential of its cloud is not brought inside: {}", problem.line());
                self.of.services.tell(Reason::plain(problem.cause.as_str(), message));
            }
        }
        Ok(())
    }

    async fn see_credential(&mut self) -> Result<(), LiveError> {
        let (Some(inside), Ok(workload)) = (self.credential.clone(), self.workload.clone()) else {
            return Ok(());
        };
        match self.of.see_credential(&inside, &workload.live).await {
            Ok(()) => Ok(()),
            Err(error) => self.lose(error).map(drop),
        }
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

    /// Looks at one service, and brings it where its turn has come.
    async fn judge(&mut self, services: &[Service], at: usize) -> Result<Judged, LiveError> {
        let service = &services[at];
        let held = gate(services, at, &self.states);
        let mut judged = match &service.from {
            ServiceSource::Folder(_) => self.bring(service, held).await?,
            ServiceSource::Objects(named) => self.look_at_objects(service, named, held).await?,
        };
        if !judged.problems.is_empty() {
            return Ok(judged);
        }
        let was_ready = self.status_of(service).is_some_and(|status| status.state == ServiceState::Ready);
        if !was_ready && needs_of(service.role).is_some() {
            let unmet = match &self.workload {
                Ok(workload) => judge_role(workload, service.role).await,
                Err(problem) => Ok(Some(problem.clone())),
            };
            match unmet {
                Ok(unmet) => judged.problems.extend(unmet),
                Err(error) => judged.problems.push(self.lose(error)?),
            }
        }
        if let Err(problem) = self.workload.as_ref()
            && judged.problems.is_empty()
            && !service.checks.is_empty()
        {
            judged.problems.push(problem.clone());
        }
        if judged.problems.is_empty() {
            let cluster = self.cluster.as_ref().and_then(|id| self.observed.live.get(id));
            let found = found(&judged.looks);
            judged.problems = judge_checks(service, &found, cluster, &self.version).await;
        }
        Ok(judged)
    }

    /// A service of a folder.
    async fn bring(&mut self, service: &Service, held: Option<Problem>) -> Result<Judged, LiveError> {
        let was_there = self.status_of(service).is_some_and(|status| !status.inventory.objects().is_empty());
        let workload = match &self.workload {
            Ok(workload) => workload.clone(),
            Err(problem) => return Ok(only(problem.clone())),
        };
        if let Some(problem) = held.clone().filter(|_| !was_there) {
            return Ok(only(problem));
        }
        let mut objects = match self.declared.take_rendered(service.name.as_str()) {
            Ok(objects) => objects,
            Err(refused) => {
                let problem = Problem::plain(Cause::ServiceNotRendered, refused.message);
                return Ok(only(Problem { place: refused.place, ..problem }));
            }
        };
        let credential = self.credential.as_ref().map(|inside| inside.credential.as_str());
        let looks = async {
            place(&workload, &mut objects).await?;
            for object in objects.iter_mut().filter(|object| object.id.namespace == id_inside().namespace) {
                if let Some(credential) = credential {
                    begin_with(&mut object.value, SECRET_INSIDE, credential);
                }
            }
            look(&workload, objects, self.of.now).await
        };
        let mut looks = match looks.await {
            Ok(looks) => looks,
            Err(error) => return Ok(only(self.lose(error)?)),
        };
        let status = self.status_of(service).cloned();
        let mut inventory = status.as_ref().map(|status| status.inventory.clone()).unwrap_or_default();
        let mut problems = self.twins(service, &looks, &inventory);
        if problems.is_empty() && remember(&looks, &mut inventory) {
            self.note_inventory(service, &inventory);
        }
        problems.extend(hindrances(&looks, &inventory, self.of.adopt()));
        if service.role == ServiceRole::Cni && problems.is_empty() {
            let rendered = looks.iter().map(|look| &look.object.value);
            problems.extend(self.of.refused_network(self.observed, service, rendered));
        }
        if !problems.is_empty() {
            return Ok(Judged { problems, looks });
        }
        if looks.iter().any(|look| look.differs) {
            let waits = held.or_else(|| may_change(service, self.course, was_there));
            if let Some(problem) = waits {
                return Ok(Judged { problems: vec![problem], looks });
            }
            for look in looks.iter().filter(|look| look.differs) {
                let id = &look.object.id;
                inventory.intend(id, &look.object.api_version, &id.name);
            }
            self.note_inventory(service, &inventory);
            self.of.save().await?;
            let is_over = self.of.request.is_over;
            let stops = move || matches!(is_over(), Some(Interruption::Stopping));
            let applied = apply(&workload, &mut looks, &mut inventory, self.of.now, &stops).await;
            self.note_inventory(service, &inventory);
            match applied {
                Ok(applied) => {
                    self.count_applied(service, &applied.written);
                    problems.extend(applied.problems);
                }
                Err(error) => problems.push(self.lose(error)?),
            }
        }
        if problems.is_empty() {
            problems.extend(self.prune(service, &workload, &looks).await?);
        }
        let judged = judge_objects(Some(&workload), &found(&looks)).await;
        match judged {
            Ok(mut found) => {
                // What was refused is not told a second time for not being there.
                found.retain(|found| !is_told(&problems, found));
                problems.extend(found);
            }
            Err(error) => problems.push(self.lose(error)?),
        }
        Ok(Judged { problems, looks })
    }

    /// A service that objects of base bring.
    async fn look_at_objects(
        &mut self,
        service: &Service,
        named: &[ServiceObject],
        held: Option<Problem>,
    ) -> Result<Judged, LiveError> {
        let mut looks = Vec::new();
        let mut problems: Vec<Problem> = Vec::new();
        for one in named {
            let means = |id: &ObjectId| id.kind == one.kind.as_str() && id.name == one.name.as_str();
            match self.observed.objects.iter().find(|object| means(&object.id)) {
                Some(object) => looks.push(Look::seen(object, self.observed.live.get(&object.id))),
                None => {
                    let words = format!("base brings no {} {}", one.kind, one.name);
                    problems.push(Problem::plain(Cause::ServiceNotRendered, words));
                }
            }
        }
        if let Some(problem) = held.clone().filter(|_| looks.iter().any(|look| look.live.is_none())) {
            return Ok(Judged { problems: vec![problem], looks });
        }
        if service.role == ServiceRole::Cni && problems.is_empty() {
            let rendered = looks.iter().map(|look| &look.object.value);
            if let Some(problem) = self.of.refused_network(self.observed, service, rendered) {
                return Ok(Judged { problems: vec![problem], looks });
            }
        }
        match judge_objects(None, &found(&looks)).await {
            Ok(found) => problems.extend(found),
            Err(error) => problems.push(self.lose(error)?),
        }
        if problems.is_empty() {
            let was_ready = self.status_of(service).is_some_and(|status| status.state == ServiceState::Ready);
            problems.extend(held.filter(|_| !was_ready));
        }
        Ok(Judged { problems, looks })
    }

    /// Objects that another service brings, too: whoever has applied one keeps it.
    fn twins(&self, service: &Service, looks: &[Look], inventory: &Inventory) -> Vec<Problem> {
        let mine = service.name.as_str();
        let new = looks.iter().map(|look| &look.object.id).filter(|id| inventory.get(id).is_none());
        let twin = |id: &ObjectId| {
            let other = self.declared.other_with(id, mine)?;
            let words = format!("service {other} brings it, too: let one of them have it");
            Some(Problem::of(Cause::TwoServices, id, words))
        };
        new.filter_map(twin).collect()
    }

    fn status_of(&self, service: &Service) -> Option<&ServiceStatus> {
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

    fn note_inventory(&mut self, service: &Service, inventory: &Inventory) {
        self.status_mut(service).inventory = inventory.clone();
    }

    fn count_applied(&mut self, service: &Service, written: &[ObjectId]) {
        self.of.applied += written.len();
        for id in written {
            metrics::counter!("capstan_applied_objects_total", "kind" => id.kind.clone()).increment(1);
            tracing::info!(cluster = %self.of.request.id, service = %service.name, object = %id, "applied");
        }
    }

    /// Writes down how a service stands, and tells why it is not ready.
    fn settle(&mut self, service: &Service, judged: Judged) {
        let Judged { problems, looks } = judged;
        let (now, still) = (self.of.now, self.still);
        let version = version_of_values(looks.iter().map(|look| &look.object.value));
        let status = self.status_mut(service);
        if version.is_some() {
            status.version = version;
        }
        let is_refused = problems.iter().any(|problem| problem.cause == Cause::CniSwitchRefused);
        // What is refused is not there: the network that is is remembered by its own objects.
        if !is_refused {
            let named = match &service.from {
                ServiceSource::Objects(named) => named.clone(),
                ServiceSource::Folder(_) => Vec::new(),
            };
            // By them the network that is there is known, until another one stands in its place.
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
            let root = capstan_model::object::FieldPath::root();
            rendered.map(|look| look.object.written_at(&root)).or_else(|| declared.place(name, problem.check))
        });
    }
}

fn only(problem: Problem) -> Judged {
    Judged { problems: vec![problem], ..Judged::default() }
}

/// Why nobody can tell when a service begins.
fn order_unknown(services: &[Service], service: &Service, in_circle: bool) -> Option<String> {
    if in_circle {
        return Some("services wait for one another: `capstan validate` shows the circle".to_owned());
    }
    let nobody = service.after.iter().find(|name| services.iter().all(|other| other.name != **name))?;
    Some(format!("it is to begin after `{nobody}`, and there is no such service: correct `after`"))
}

/// Whether services of a role are given the credential of the cluster's cloud.
pub(super) const fn works_with_cloud(role: ServiceRole) -> bool {
    matches!(role, ServiceRole::Ccm | ServiceRole::Csi)
}

/// Takes up into an inventory what Capstan has applied and what is not remembered with its UID: of a look that was broken
/// off, or of a status that was lost. Whether there was any.
fn remember(looks: &[Look], inventory: &mut Inventory) -> bool {
    let mut any = false;
    for look in looks.iter().filter(|look| !look.differs) {
        let id = &look.object.id;
        let Some(live) = look.live.as_ref().filter(|live| is_applied_by_capstan(live)) else { continue };
        if inventory.get(id).is_none_or(|entry| entry.uid.is_none())
            && let Some(uid) = live.pointer("/metadata/uid").and_then(Value::as_str)
        {
            inventory.intend(id, &look.object.api_version, &id.name);
            inventory.applied(id, uid);
            any = true;
        }
    }
    any
}

/// Whether something is told of the object of a problem already.
fn is_told(problems: &[Problem], found: &Problem) -> bool {
    found.object.is_some() && problems.iter().any(|problem| problem.object == found.object)
}

/// Objects and what is there of each.
fn found(looks: &[Look]) -> Vec<Found<'_>> {
    looks.iter().map(|look| (&look.object.id, look.live.as_ref())).collect()
}
