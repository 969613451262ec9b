//! One service in one look: what is gathered of it, and how its steps are carried out.

use async_trait::async_trait;
use capstan_live::applying::{AppliedInventory, is_applied_by_capstan};
use capstan_live::services::{Problem, ServiceCause, ServiceState, gate, may_change, needs_of};
use capstan_model::object::ObjectId;
use capstan_plan::settings::{Service, ServiceObject, ServiceSource};
use capstan_ports::LiveError;
use capstan_reconciler_core::credentials::begin_with;
use capstan_reconciler_core::outcome::Interruption;
use capstan_reconciler_core::services::{self as core, ServiceStep, ServiceStepFacts};
use serde_json::Value;

use super::facts::{LiveServiceObject, judge_checks, judge_objects, judge_role};
use super::folder::{ServiceObjectLook, apply, hindrances, look, place};
use super::network::{is_named, refused_network};
use super::pass_state::Pass;
use crate::life::{Life, live};
use crate::reconcile::credentials::{SECRET_INSIDE, id_inside};

/// What was found of one service.
#[derive(Default)]
pub(super) struct ServiceFindings {
    pub(super) problems: Vec<Problem>,
    /// What it renders, and what is there of each.
    pub(super) looks: Vec<ServiceObjectLook>,
}

/// A service during a look: it is read, and brought where its turn has come.
struct ServiceLife<'l, 'p, 'r> {
    pass: &'l mut Pass<'p, 'r>,
    service: &'l Service,
    /// What is known so far.
    known: ServiceStepFacts,
    looks: Vec<ServiceObjectLook>,
    /// Objects that base does not bring.
    missing: Vec<Problem>,
    inventory: AppliedInventory,
}

impl Pass<'_, '_> {
    /// Looks at one service, and brings it where its turn has come.
    pub(super) async fn judge(
        &mut self,
        services: &[Service],
        at: usize,
    ) -> Result<ServiceFindings, LiveError> {
        let service = &services[at];
        let status = self.status_of(service);
        let was_ready = status.is_some_and(|status| status.state == ServiceState::Ready);
        let inventory = status.map(|status| status.inventory.clone()).unwrap_or_default();
        let was_there = !inventory.objects().is_empty();
        let known = ServiceStepFacts {
            is_of_folder: matches!(service.from, ServiceSource::Folder(_)),
            held: gate(services, at, &self.states),
            unchanged: may_change(service, self.course, was_there),
            was_there,
            was_ready,
            promises: needs_of(service.role).is_some(),
            has_checks: !service.checks.is_empty(),
            ..ServiceStepFacts::default()
        };
        let (looks, missing) = (Vec::new(), Vec::new());
        let mut life = ServiceLife { pass: &mut *self, service, known, looks, missing, inventory };
        let (problems, _) = live(&mut life).await?;
        Ok(ServiceFindings { problems, looks: life.looks })
    }
}

#[async_trait]
impl Life for ServiceLife<'_, '_, '_> {
    type Facts = ServiceStepFacts;
    type Trouble = LiveError;

    const MOST_STEPS: usize = 16;

    async fn gather(&mut self) -> Result<ServiceStepFacts, LiveError> {
        let mut facts = self.known.clone();
        facts.unreached = self.pass.workload.as_ref().err().cloned();
        if let Some(Ok(look)) = &mut facts.look {
            *look = self.look();
        }
        Ok(facts)
    }

    async fn perform(&mut self, step: ServiceStep, _facts: ServiceStepFacts) -> Result<(), LiveError> {
        match step {
            ServiceStep::Look => {
                let looked = match &self.service.from {
                    ServiceSource::Folder(_) => self.look_at_folder().await?,
                    ServiceSource::Objects(named) => {
                        self.look_at_objects(named);
                        Ok(())
                    }
                };
                // What it comes to is gathered: it changes with what is remembered and applied.
                self.known.look = Some(looked.map(|()| core::ServiceLook::default()));
            }
            ServiceStep::Remember => {
                remember(&self.looks, &mut self.inventory);
                self.pass.note_inventory(self.service, &self.inventory);
            }
            ServiceStep::Apply => self.known.applied = Some(self.apply().await?),
            ServiceStep::Prune => {
                let pruned = match self.pass.workload.clone() {
                    Ok(workload) => self.pass.prune(self.service, &workload, &self.looks).await?,
                    Err(problem) => vec![problem],
                };
                self.known.pruned = Some(pruned);
            }
            ServiceStep::JudgeObjects => {
                let workload = self.pass.workload.as_ref().ok().filter(|_| self.known.is_of_folder);
                let judged = judge_objects(workload, &found(&self.looks)).await;
                self.known.objects = Some(self.or_lose(judged)?);
            }
            ServiceStep::JudgeRole => {
                let unmet = match &self.pass.workload {
                    Ok(workload) => judge_role(workload, self.service.role).await,
                    Err(problem) => Ok(Some(problem.clone())),
                };
                let unmet = unmet.map(|unmet| unmet.into_iter().collect());
                self.known.role = Some(self.or_lose(unmet)?);
            }
            ServiceStep::JudgeChecks => {
                let cluster = self.pass.cluster.as_ref().and_then(|id| self.pass.observed.live.get(id));
                let found = found(&self.looks);
                let failed = judge_checks(self.service, &found, cluster, &self.pass.version).await;
                self.known.checks = Some(failed);
            }
        }
        Ok(())
    }

    fn restless(&self) -> LiveError {
        let doing = format!("looking at service {}", self.service.name);
        LiveError::Malformed { doing, reason: "it never settles".to_owned() }
    }
}

impl ServiceLife<'_, '_, '_> {
    /// What a cluster that does not do its part answers is a problem of the service.
    fn or_lose(&mut self, answer: Result<Vec<Problem>, LiveError>) -> Result<Vec<Problem>, LiveError> {
        match answer {
            Ok(problems) => Ok(problems),
            Err(error) => Ok(vec![self.pass.lose(error)?]),
        }
    }

    /// What was read, beside what is remembered now.
    fn look(&self) -> core::ServiceLook {
        let is_of_folder = self.known.is_of_folder;
        let rendered = self.looks.iter().map(|look| &look.object.value);
        core::ServiceLook {
            wrong: if is_of_folder { self.twins() } else { self.missing.clone() },
            is_unremembered: is_of_folder
                && self.looks.iter().any(|look| unremembered(look, &self.inventory).is_some()),
            hindrances: match is_of_folder {
                true => hindrances(&self.looks, &self.inventory, self.pass.of.adopt()),
                false => Vec::new(),
            },
            network: refused_network(
                &self.pass.of.status.services,
                self.pass.observed,
                self.service,
                rendered,
            ),
            differs: self.looks.iter().any(|look| look.differs),
            is_absent: self.looks.iter().any(|look| look.live.is_none()),
        }
    }

    /// Reads the objects of a service of a folder; or why that is not possible.
    async fn look_at_folder(&mut self) -> Result<Result<(), Problem>, LiveError> {
        let workload = match &self.pass.workload {
            Ok(workload) => workload.clone(),
            Err(problem) => return Ok(Err(problem.clone())),
        };
        let mut objects = match self.pass.declared.take_rendered(self.service.name.as_str()) {
            Ok(objects) => objects,
            Err(refused) => {
                let problem = Problem::plain(ServiceCause::ServiceNotRendered, refused.message);
                return Ok(Err(Problem { place: refused.place, ..problem }));
            }
        };
        let credential = self.pass.credential.as_ref().map(|inside| inside.credential.as_str());
        let now = self.pass.of.now;
        let looks = async {
            place(&workload, &mut objects).await?;
            for object in objects.iter_mut().filter(|object| object.id.namespace == id_inside().namespace) {
                if let Some(credential) = credential {
                    begin_with(&mut object.value, SECRET_INSIDE, credential);
                }
            }
            look(&workload, objects, now).await
        };
        match looks.await {
            Ok(looks) => {
                self.looks = looks;
                Ok(Ok(()))
            }
            Err(error) => self.pass.lose(error).map(Err),
        }
    }

    /// A service that objects of base bring.
    fn look_at_objects(&mut self, named: &[ServiceObject]) {
        let observed = self.pass.observed;
        for one in named {
            let own = std::slice::from_ref(one);
            match observed.objects.iter().find(|object| is_named(own, &object.id)) {
                Some(object) => {
                    self.looks.push(ServiceObjectLook::seen(object, observed.live.get(&object.id)))
                }
                None => {
                    let words = format!("base has no {} {}", one.kind, one.name);
                    self.missing.push(Problem::plain(ServiceCause::ServiceNotRendered, words));
                }
            }
        }
    }

    /// Applies what differs, once it is written down; what could not be.
    async fn apply(&mut self) -> Result<Vec<Problem>, LiveError> {
        let workload = match &self.pass.workload {
            Ok(workload) => workload.clone(),
            Err(problem) => return Ok(vec![problem.clone()]),
        };
        for look in self.looks.iter().filter(|look| look.differs) {
            let id = &look.object.id;
            self.inventory.intend(id, &look.object.api_version, &id.name);
        }
        self.pass.note_inventory(self.service, &self.inventory);
        self.pass.of.save().await?;
        let is_over = self.pass.of.request.is_over;
        let stops = move || matches!(is_over(), Some(Interruption::Stopping));
        let now = self.pass.of.now;
        let applied = apply(&workload, &mut self.looks, &mut self.inventory, now, &stops).await;
        self.pass.note_inventory(self.service, &self.inventory);
        match applied {
            Ok(applied) => {
                self.count_applied(&applied.written);
                Ok(applied.problems)
            }
            Err(error) => Ok(vec![self.pass.lose(error)?]),
        }
    }

    /// Objects that another service renders, too, and that this one has not applied: the one that has applied an object
    /// keeps it.
    fn twins(&self) -> Vec<Problem> {
        let mine = self.service.name.as_str();
        let new = self.looks.iter().map(|look| &look.object.id);
        let new = new.filter(|id| self.inventory.get(id).is_none());
        let twin = |id: &ObjectId| {
            let other = self.pass.declared.other_with(id, mine)?;
            let words = format!("service {other} also renders it: remove it from one of them");
            Some(Problem::of(ServiceCause::TwoServices, id, words))
        };
        new.filter_map(twin).collect()
    }

    fn count_applied(&mut self, written: &[ObjectId]) {
        let of = &mut self.pass.of;
        of.applied += written.len();
        for id in written {
            metrics::counter!("capstan_applied_objects_total", "kind" => id.kind.clone()).increment(1);
            tracing::info!(cluster = %of.request.id, service = %self.service.name, object = %id, "applied");
        }
    }
}

/// Takes up into an inventory what Capstan has applied and what is not remembered with its UID: of a look that was broken
/// off, or of a status that was lost.
fn remember(looks: &[ServiceObjectLook], inventory: &mut AppliedInventory) {
    for look in looks {
        let id = &look.object.id;
        if let Some(uid) = unremembered(look, inventory) {
            inventory.intend(id, &look.object.api_version, &id.name);
            inventory.applied(id, uid);
        }
    }
}

/// The UID of what Capstan has applied, and that is not remembered with it.
fn unremembered<'l>(look: &'l ServiceObjectLook, inventory: &AppliedInventory) -> Option<&'l str> {
    let live = look.live.as_ref().filter(|live| !look.differs && is_applied_by_capstan(live))?;
    let is_remembered = inventory.get(&look.object.id).is_some_and(|entry| entry.uid.is_some());
    live.pointer("/metadata/uid").and_then(Value::as_str).filter(|_| !is_remembered)
}

/// Objects and what is there of each.
fn found(looks: &[ServiceObjectLook]) -> Vec<LiveServiceObject<'_>> {
    looks.iter().map(|look| (&look.object.id, look.live.as_ref())).collect()
}
