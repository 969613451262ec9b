//! What is taken out of a cluster: objects that a service brings no more, and services that are switched off or gone.

use std::collections::BTreeSet;

use capstan_live::applying::{AppliedInventory, InventoryObject, is_applied_by_capstan};
use capstan_live::services::{
    Problem, RemovalBlocker, ServiceCause, ServiceStatus, defined_kind, held, is_fleeting, is_namespace,
    is_of_its_own, stage,
};
use capstan_model::object::ObjectId;
use capstan_plan::settings::{Service, ServiceRole, Tombstone};
use capstan_reconciler_core::services::problem_of;
use serde_json::Value;

use super::folder::ServiceObjectLook;
use super::network::is_named;
use super::pass_state::{Pass, works_with_cloud};
use super::workloads::WorkloadCluster;
use crate::reconcile::credentials::{id_inside, take_credential_out};
use capstan_ports::{ApiKind, ApiObject, As, Deleted, LiveError, ManagementCluster as _, Preconditions, Run};

/// What became of one object.
enum RemovalResult {
    Yes,
    /// It is being deleted, or changed since it was read.
    Soon,
    Kept(RemovalBlocker),
    Refused(Problem),
}

impl Pass<'_, '_> {
    /// Takes away what a service that is there brings no more.
    pub(super) async fn prune(
        &mut self,
        service: &Service,
        workload: &WorkloadCluster,
        looks: &[ServiceObjectLook],
    ) -> Result<Vec<Problem>, LiveError> {
        let rendered: BTreeSet<&ObjectId> = looks.iter().map(|look| &look.object.id).collect();
        let inventory = self.status_mut(service).inventory.clone();
        let doomed: Vec<InventoryObject> =
            inventory.objects().iter().filter(|entry| !rendered.contains(&entry.id())).cloned().collect();
        let is_others =
            |entry: &InventoryObject| self.declared.other_with(&entry.id(), service.name.as_str()).is_some();
        if looks.is_empty() && !doomed.iter().all(is_others) {
            let words = "its folder renders no objects, and Capstan deletes nothing because of that: to remove the service, write `enabled: false`";
            return Ok(vec![Problem::plain(ServiceCause::ServiceNotRendered, words)]);
        }
        let may_delete = self.of.request.standing.may_delete() && self.declared.unrendered().is_none();
        if doomed.is_empty() || !may_delete {
            return Ok(Vec::new());
        }
        let mut left = inventory;
        let taken = self.take_away(service.name.as_str(), workload, doomed, &mut left).await;
        self.status_mut(service).inventory = left;
        // What is kept of a service that is well does not make it unwell.
        Ok(taken?.into_iter().filter(|problem| problem.cause != ServiceCause::ServiceKept).collect())
    }

    /// Takes away services that are switched off or gone, the last one first.
    pub(super) async fn remove_services(&mut self, services: &[Service]) -> Result<(), LiveError> {
        let is_on = |status: &ServiceStatus| {
            services.iter().any(|service| service.enabled && service.name.as_str() == status.name)
        };
        let is_declared =
            |status: &ServiceStatus| services.iter().any(|service| service.name.as_str() == status.name);
        let gone: Vec<ServiceStatus> =
            self.of.status.services.iter().filter(|status| !is_on(status)).cloned().collect();
        for mut status in gone.into_iter().rev() {
            if self.is_stopping() {
                return Ok(());
            }
            let problems = if status.inventory.objects().is_empty() {
                self.network_brought_still(&mut status)
            } else if !self.of.request.standing.may_delete() {
                let words = "Capstan deletes it when this commit is the tip of the source";
                vec![Problem::plain(ServiceCause::ServiceGoes, words)]
            } else if let Some(other) = self.declared.unrendered().filter(|_| !is_declared(&status)) {
                let words =
                    format!("Capstan deletes it once service {other} can be rendered and does not have it");
                vec![Problem::plain(ServiceCause::ServiceGoes, words)]
            } else if status.role.is_vital() && !self.has_tombstone(&status.name) {
                vec![Problem::plain(
                    ServiceCause::ServiceKept,
                    format!(
                        "a cluster needs its {}, so the applied objects stay. If you have replaced it, add `{}` to `delete` in the cluster's capstan.yaml",
                        status.role,
                        Tombstone::of_service(&status.name)
                    ),
                )]
            } else {
                match self.workload.clone() {
                    Ok(workload) => {
                        let doomed = status.inventory.objects().to_vec();
                        let mut left = status.inventory.clone();
                        let taken = self.take_away(&status.name, &workload, doomed, &mut left).await;
                        status.inventory = left;
                        taken?
                    }
                    Err(problem) => vec![problem],
                }
            };
            let problems = match problems.is_empty() && status.inventory.objects().is_empty() {
                true => self.take_credential_out(services, &status).await?.into_iter().collect(),
                false => problems,
            };
            self.of.again |= problems.iter().any(|problem| problem.cause != ServiceCause::ServiceKept);
            let all = &mut self.of.status.services;
            if problems.is_empty() && status.inventory.objects().is_empty() && status.objects.is_empty() {
                all.retain(|other| other.name != status.name);
                continue;
            }
            let (now, still) = (self.of.now, self.still);
            status.settle(&problems, now, still);
            let (name, state) = (status.name.clone(), status.state);
            if let Some(place) = all.iter_mut().find(|other| other.name == name) {
                *place = status;
            }
            let declared = &self.declared;
            self.of.services.tell_problems((&name, state), problems, |_| declared.place(&name, None));
        }
        Ok(())
    }

    /// The credential of its cloud goes with the last service that worked with it: why it has not yet.
    async fn take_credential_out(
        &mut self,
        services: &[Service],
        gone: &ServiceStatus,
    ) -> Result<Option<Problem>, LiveError> {
        let works_on = |status: &ServiceStatus| works_with_cloud(status.role) && status.name != gone.name;
        let is_needed = services.iter().any(|service| service.enabled && works_with_cloud(service.role))
            || self.of.status.services.iter().any(works_on);
        if !works_with_cloud(gone.role) || is_needed || self.declared.other_with(&id_inside(), "").is_some() {
            return Ok(None);
        }
        let workload = match self.workload.clone() {
            Ok(workload) => workload,
            Err(problem) => return Ok(Some(problem)),
        };
        match take_credential_out(self.of.request.id, &workload.live).await {
            Ok(true) => Ok(None),
            Ok(false) => {
                Ok(Some(Problem::of(ServiceCause::ServiceGoes, &id_inside(), "it is being deleted")))
            }
            Err(error) => self.lose(error).map(Some),
        }
    }

    /// Whether a tombstone names a service.
    fn has_tombstone(&self, name: &str) -> bool {
        self.observed.wanted.tombstones.names_service(name)
    }

    /// A network that is switched off is remembered for as long as objects of base bring it: nothing else may take its
    /// place unnoticed. Any other service is forgotten with the list.
    fn network_brought_still(&self, status: &mut ServiceStatus) -> Vec<Problem> {
        let live = self.observed.live.iter().map(|(id, _)| id);
        let found = live.filter(|id| is_named(&status.objects, id)).min().cloned();
        match found.filter(|_| status.role == ServiceRole::Cni) {
            Some(id) => {
                let words = "it still provides the pod network, and is deleted only with its own tombstone";
                vec![Problem::of(ServiceCause::ServiceKept, &id, words)]
            }
            None => {
                status.objects.clear();
                Vec::new()
            }
        }
    }

    /// Deletes objects, those first that contain no others; what is gone leaves the inventory.
    async fn take_away(
        &mut self,
        service: &str,
        workload: &WorkloadCluster,
        mut doomed: Vec<InventoryObject>,
        inventory: &mut AppliedInventory,
    ) -> Result<Vec<Problem>, LiveError> {
        doomed.sort_by_key(|entry| std::cmp::Reverse(stage(&entry.id())));
        let mut problems = Vec::new();
        for entry in doomed {
            if self.is_stopping() {
                break;
            }
            let id = entry.id();
            if self.declared.other_with(&id, service).is_some() {
                // Another service renders it, and takes it over with its next look.
                inventory.forget(&id);
                continue;
            }
            match delete(workload, &entry, inventory).await {
                Ok(RemovalResult::Yes) => {
                    inventory.forget(&id);
                    workload.tried.forget(&id);
                    self.of.deleted += 1;
                    metrics::counter!("capstan_deleted_objects_total", "kind" => id.kind.clone())
                        .increment(1);
                    tracing::info!(cluster = %self.of.request.id, object = %id, "deleted in the workload cluster");
                }
                Ok(RemovalResult::Soon) => {
                    problems.push(Problem::of(ServiceCause::ServiceGoes, &id, "it is being deleted"));
                }
                Ok(RemovalResult::Kept(why)) => {
                    problems.push(Problem::of(
                        ServiceCause::ServiceKept,
                        &id,
                        format!("it is kept: {}", why.words()),
                    ));
                }
                Ok(RemovalResult::Refused(problem)) => problems.push(problem),
                Err(error) => {
                    problems.push(self.lose(error)?);
                    break;
                }
            }
        }
        Ok(problems)
    }
}

async fn delete(
    workload: &WorkloadCluster,
    entry: &InventoryObject,
    inventory: &AppliedInventory,
) -> Result<RemovalResult, LiveError> {
    let id = entry.id();
    let object =
        ApiObject { kind: ApiKind::of_version(&entry.api_version(), &id.kind), ..ApiObject::from(&id) };
    let Some(live) = workload.live.read(&As::Reconciler, &object).await? else {
        return Ok(RemovalResult::Yes);
    };
    let text = |pointer: &str| live.pointer(pointer).and_then(Value::as_str);
    let uid = text("/metadata/uid").unwrap_or_default();
    if entry.uid.as_deref().map_or_else(|| !is_applied_by_capstan(&live), |own| own != uid) {
        // Somebody made another one of its name: that one is theirs.
        return Ok(RemovalResult::Yes);
    }
    if is_going(&live) {
        return Ok(RemovalResult::Soon);
    }
    if let Some(why) = held(&id, &live) {
        return Ok(RemovalResult::Kept(why));
    }
    if let Some(why) = is_in_use(workload, &id, &live, inventory).await? {
        return Ok(RemovalResult::Kept(why));
    }
    let only = Preconditions { uid, resource_version: text("/metadata/resourceVersion") };
    match workload.live.delete(&As::Reconciler, &object, only, Run::Real).await {
        Ok(Deleted::Gone | Deleted::Absent | Deleted::Replaced) => Ok(RemovalResult::Yes),
        Ok(Deleted::Terminating | Deleted::Changed) => Ok(RemovalResult::Soon),
        Err(error @ LiveError::Refused { .. }) => match problem_of(&error, Some(&id)) {
            Some(problem) => Ok(RemovalResult::Refused(problem)),
            None => Err(error),
        },
        Err(error) => Err(error),
    }
}

/// Whether an object is being deleted.
pub(super) fn is_going(live: &Value) -> bool {
    live.pointer("/metadata/deletionTimestamp").is_some_and(Value::is_string)
}

/// Whether something would go with an object that is not to go: of others, or of the service where it is kept.
async fn is_in_use(
    workload: &WorkloadCluster,
    id: &ObjectId,
    live: &Value,
    inventory: &AppliedInventory,
) -> Result<Option<RemovalBlocker>, LiveError> {
    if id.group == "apiextensions.k8s.io" {
        let Some((group, kind)) = defined_kind(live) else { return Ok(None) };
        return match workload.live.list(&As::Reconciler, &ApiKind::preferred(group, kind), None, &[]).await {
            Ok(there) => Ok((!there.is_empty()).then_some(RemovalBlocker::HasObjects)),
            Err(LiveError::TooMuch { .. }) => Ok(Some(RemovalBlocker::HasObjects)),
            Err(error) => Err(error),
        };
    }
    if !is_namespace(id) {
        return Ok(None);
    }
    // All kinds that the cluster serves: deleting a namespace deletes its objects of every kind.
    let served = workload.live.kinds_in_namespaces().await?;
    if let Some(group) = served.unread.into_iter().find(|group| !is_fleeting(group, "")) {
        return Ok(Some(RemovalBlocker::Unread(group)));
    }
    // An owner is in the namespace itself, or belongs to the service.
    let goes = |group: &str, kind: &str, name: &str| {
        let is_own = |entry: &InventoryObject| {
            (entry.group == group, &*entry.kind, &*entry.name) == (true, kind, name)
        };
        served.kinds.iter().any(|served| (&*served.group, &*served.kind) == (group, kind))
            || inventory.objects().iter().any(is_own)
    };
    for kind in served.kinds.iter().filter(|kind| !is_fleeting(&kind.group, &kind.kind)) {
        let there = match workload.live.list_metadata(&As::Reconciler, kind, &id.name).await {
            Ok(there) => there,
            Err(LiveError::TooMuch { .. }) => return Ok(Some(RemovalBlocker::TooMany(kind.to_string()))),
            Err(error) => return Err(error),
        };
        let stays = |object: &Value| {
            let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
            let own = ObjectId {
                group: kind.group.clone(),
                kind: kind.kind.clone(),
                namespace: Some(id.name.clone()),
                name: name.to_owned(),
            };
            // What is the service's own went before it, or is going; what is there still is kept, and would go with it.
            let goes_before = inventory.get(&own).is_some() && is_going(object);
            is_of_its_own(object, goes) && !goes_before
        };
        if there.iter().any(stays) {
            return Ok(Some(RemovalBlocker::NotEmpty));
        }
    }
    Ok(None)
}
