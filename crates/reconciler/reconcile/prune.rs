//! The end of a reconciliation: what is gone from Git is deleted, under guard.

use std::collections::BTreeSet;

use capstan_kustomize::render::RenderedObject;
use capstan_live::applying::{Deletions, PruneFacts, Withholding, prune};
use capstan_live::rollout::observed::RolloutProgress;
use capstan_model::finding::{Place, Severity};
use capstan_model::kinds::is_cluster;
use capstan_model::object::{FieldPath, ObjectId};
use capstan_model::wording;

use super::apply::uid;
use super::observation::Observation;
use super::provider_sets::remove_definitions;
use super::reconciliation::Reconciliation;
use super::wanted::FolderRequests;
use capstan_ports::{ApiObject, Deleted, LiveError, Preconditions, Run};
use capstan_reconciler_core::outcome::{ReconcileEnd, ReconcileFailure};
use capstan_reconciler_core::reason::Reason;
use capstan_reconciler_core::unwanted::Unwanted;

/// How a deletion came out.
pub(super) enum DeletionResult {
    /// The object is there no more, or was another one.
    Yes,
    /// It is not gone yet, for that reason.
    NotYet(Reason),
}

impl Reconciliation<'_> {
    /// Deletes what may be deleted.
    pub(super) async fn prune(&mut self, observed: &Observation) -> Result<ReconcileEnd, Unwanted> {
        if let Some(over) = (self.request.is_over)() {
            return Ok(ReconcileEnd::Interrupted(over));
        }
        let round = self.round(observed);
        let ended = self.perform_deletions(observed, round).await?;
        if observed.set.is_some()
            && self.request.standing.may_delete()
            && matches!(ended, ReconcileEnd::Applied)
        {
            let FolderRequests { by, tombstones, .. } = &observed.wanted;
            let kept = remove_definitions(self.live(), by, tombstones, &observed.objects).await?;
            self.kept.extend(kept);
        }
        self.kept.extend(observed.wanted.left_over.iter().map(|object| {
            let message = "the set has no provider in its namespace any more: it is neither applied nor deleted. Remove it from the set";
            let reason = Reason::of_object("LeftOver", message, object, &FieldPath::root());
            Reason { severity: Severity::Warning, ..reason }
        }));
        Ok(ended)
    }

    /// Deletes the whole cluster, step by step; nothing of it is applied any more.
    pub(super) async fn remove_cluster(&mut self, observed: &Observation) -> Result<ReconcileEnd, Unwanted> {
        self.status.rollout = None;
        self.status.phase = None;
        self.status.withheld = Vec::new();
        if self.is_suspended() {
            return Ok(ReconcileEnd::Suspended);
        }
        if let Some(over) = (self.request.is_over)() {
            return Ok(ReconcileEnd::Interrupted(over));
        }
        // Until it is gone it is deleted with them.
        if self.status.cloud_credentials.is_some() && !self.status.inventory.objects().is_empty() {
            self.publish_credentials(observed).await;
        }
        let round = self.round(observed);
        // What stays, for whatever reason, is not cleaned up.
        let going: Vec<ObjectId> =
            round.delete.iter().map(|doomed| &doomed.object).filter(|id| is_cluster(id)).cloned().collect();
        if let Some(waits) = self.clean_up(observed, &going).await? {
            return Ok(ReconcileEnd::Waiting(waits));
        }
        let is_over = round.is_over();
        let ended = self.perform_deletions(observed, round).await?;
        if !matches!(ended, ReconcileEnd::Applied) {
            return Ok(ended);
        }
        if is_over && self.status.inventory.objects().is_empty() {
            // What was inside went with it.
            self.status.services = Vec::new();
            if let Some(cluster) = &self.cluster {
                self.request.ports.workloads.forget(cluster);
            }
            // Last of all: what was deleted needed them.
            let Some(left) = self.remove_credentials(observed).await else {
                return Ok(ReconcileEnd::Removed);
            };
            self.again = true;
            return Ok(ReconcileEnd::Waiting(vec![left]));
        }
        self.again = true;
        let left = self.status.inventory.objects().len();
        let objects = wording::count(left, "object", "objects");
        let message = format!("{objects} {} left", wording::fitting(left, "is", "are"));
        let mut reasons = vec![Reason::plain("Deleting", message)];
        reasons.append(&mut self.kept);
        Ok(ReconcileEnd::Waiting(reasons))
    }

    fn round(&self, observed: &Observation) -> Deletions {
        let withheld =
            if self.status.withheld.is_empty() { Withholding::Nothing } else { Withholding::Workers };
        let budget = self.request.fleet.spec.guards.max_deletions;
        // What is left of a provider that a set dropped stays, and nothing more.
        let left_over = &observed.wanted.left_over;
        let beside: Vec<RenderedObject>;
        let rendered = if left_over.is_empty() {
            observed.objects.as_slice()
        } else {
            beside = observed.objects.iter().chain(left_over).cloned().collect();
            beside.as_slice()
        };
        prune(&PruneFacts {
            folder: self.request.id,
            inventory: &self.status.inventory,
            rendered: Some(rendered),
            templates: &observed.templates,
            delete: &observed.wanted.tombstones,
            namespace: observed.wanted.home.namespace(),
            live: &observed.live,
            owners: &self.request.revision.owners,
            neighbours: &self.beside,
            rollout: self
                .verdict
                .as_ref()
                .map_or(RolloutProgress::Unknown, |verdict| verdict.state_for_now()),
            withheld,
            budget: u32::try_from(budget).unwrap_or(u32::MAX),
        })
    }

    async fn perform_deletions(
        &mut self,
        observed: &Observation,
        round: Deletions,
    ) -> Result<ReconcileEnd, Unwanted> {
        let round = if self.request.standing.may_delete() { round } else { self.put_off(round) };
        for forgotten in &round.forget {
            self.status.inventory.forget(&forgotten.object);
        }
        for kept in &round.keep {
            let kind = if kept.needs_a_person() { "KeptUntilAsked" } else { "Kept" };
            self.again |= self.passes_soon(kept);
            self.kept.push(of_object(kind, kept.to_string(), &kept.object));
        }
        for finding in &round.findings {
            let message = finding.to_string();
            let reason = Reason {
                place: self.settings_file().map(Place::whole),
                ..Reason::plain("UselessTombstone", message)
            };
            self.kept.push(Reason { severity: Severity::Warning, ..reason });
        }
        for doomed in &round.delete {
            if let Some(over) = (self.request.is_over)() {
                return Ok(ReconcileEnd::Interrupted(over));
            }
            match self.delete(observed, &doomed.object, &doomed.uid).await {
                Ok(DeletionResult::Yes) => self.status.inventory.forget(&doomed.object),
                Ok(DeletionResult::NotYet(reason)) => {
                    self.again = true;
                    self.kept.push(reason);
                }
                Err(error) => return Ok(ReconcileEnd::Failed(ReconcileFailure::from(error))),
            }
        }
        self.keep_names();
        Ok(ReconcileEnd::Applied)
    }

    /// Without what nobody may do on the word of a tree that may be old.
    fn put_off(&mut self, round: Deletions) -> Deletions {
        for doomed in &round.delete {
            let message = format!(
                "{} is not in the kept commit; Capstan deletes it when that commit is the tip of the source",
                doomed.object
            );
            self.kept.push(of_object("KeptUntilConfirmed", message, &doomed.object));
        }
        Deletions { delete: Vec::new(), forget: Vec::new(), ..round }
    }

    /// Deletes an object as it was read. The UID is a precondition: another object in its place stays.
    pub(super) async fn delete(
        &mut self,
        observed: &Observation,
        id: &ObjectId,
        of: &str,
    ) -> Result<DeletionResult, LiveError> {
        let object = ApiObject::from(id);
        // Only the version that was decided on is deleted: the process may have been stopped in between.
        let seen = observed.live.get(id).filter(|live| uid(live) == Some(of));
        let version = seen.and_then(|live| live.pointer("/metadata/resourceVersion")?.as_str());
        let only = Preconditions { uid: of, resource_version: version };
        match self.live().delete(&observed.wanted.by, &object, only, Run::Real).await {
            Ok(Deleted::Changed) => {
                let message = format!("{id} was changed while Capstan checked it: Capstan checks it again");
                Ok(DeletionResult::NotYet(of_object("Changed", message, id)))
            }
            Ok(Deleted::Gone) => {
                self.count_deletion(id);
                Ok(DeletionResult::Yes)
            }
            Ok(Deleted::Absent | Deleted::Replaced) => Ok(DeletionResult::Yes),
            Ok(Deleted::Terminating) => {
                self.count_deletion(id);
                Ok(DeletionResult::NotYet(of_object("Terminating", format!("{id} is being deleted"), id)))
            }
            // It stays in the inventory and is tried again: a webhook that refuses may have its reasons today.
            Err(LiveError::Refused { refusal, .. }) => {
                tracing::warn!(cluster = %self.request.id, object = %id, %refusal, "a deletion was refused");
                metrics::counter!("capstan_reconciler_failures_total", "cause" => "DeletionRefused")
                    .increment(1);
                let message = format!("{id} was not deleted: {}", refusal.message);
                Ok(DeletionResult::NotYet(of_object(refusal.kind.as_str(), message, id)))
            }
            Err(error) => Err(error),
        }
    }

    fn count_deletion(&mut self, id: &ObjectId) {
        self.deleted += 1;
        self.request.ports.dry_run_cache.forget(id);
        metrics::counter!("capstan_deleted_objects_total", "kind" => id.kind.clone()).increment(1);
        tracing::info!(cluster = %self.request.id, commit = %self.request.revision.commit, object = %id, "deleted");
    }

    /// Drops the names of templates that are no longer in the inventory.
    fn keep_names(&mut self) {
        let known: BTreeSet<ObjectId> =
            self.status.inventory.objects().iter().map(|object| object.id()).collect();
        self.status.templates.retain(|template| known.contains(&template.live_id()));
    }

    fn settings_file(&self) -> Option<capstan_model::tree::RepoPath> {
        let folder = self.request.revision.fleet.layout().target(self.request.id.as_str())?;
        folder.settings.as_ref().map(|entry| entry.path.clone())
    }
}

fn of_object(kind: &'static str, message: String, id: &ObjectId) -> Reason {
    let reason = Reason { object: Some(id.clone()), ..Reason::plain(kind, message) };
    Reason { severity: Severity::Warning, ..reason }
}
