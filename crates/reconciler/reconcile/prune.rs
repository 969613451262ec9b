//! The end of a reconciliation: what is gone from Git is deleted, under guard.

use std::collections::BTreeSet;

use capstan_kustomize::render::RenderedObject;
use capstan_live::applying::{Deletions, PruneFacts, Withholding, prune};
use capstan_live::rollout::observed::RolloutProgress;
use capstan_model::finding::{Place, Severity};
use capstan_model::kinds::is_cluster;
use capstan_model::object::{FieldPath, ObjectId};
use capstan_model::wording;

use super::credentials::{publish_credentials, remove_credentials};
use super::deletion::{DeletionResult, of_object};
use super::observation::Observation;
use super::provider_sets::remove_definitions;
use super::reconciliation::Reconciliation;
use super::services::clean_up;
use super::wanted::FolderRequests;
use capstan_reconciler_core::outcome::{ReconcileEnd, ReconcileFailure};
use capstan_reconciler_core::reason::Reason;
use capstan_reconciler_core::unwanted::Unwanted;

impl Reconciliation<'_> {
    /// Deletes what may be deleted.
    pub(super) async fn prune(&mut self, observed: &Observation) -> Result<ReconcileEnd, Unwanted> {
        if let Some(over) = (self.of.request.is_over)() {
            return Ok(ReconcileEnd::Interrupted(over));
        }
        let round = self.round(observed);
        let ended = self.perform_deletions(observed, round).await?;
        if observed.set.is_some()
            && self.of.request.standing.may_delete()
            && matches!(ended, ReconcileEnd::Applied)
        {
            let FolderRequests { by, tombstones, .. } = &observed.wanted;
            let kept = remove_definitions(self.of.live(), by, tombstones, &observed.objects).await?;
            self.of.kept.extend(kept);
        }
        self.of.kept.extend(observed.wanted.left_over.iter().map(|object| {
            let message = "the set has no provider in its namespace any more: it is neither applied nor deleted. Remove it from the set";
            let reason = Reason::of_object("LeftOver", message, object, &FieldPath::root());
            Reason { severity: Severity::Warning, ..reason }
        }));
        Ok(ended)
    }

    /// Deletes the whole cluster, step by step; nothing of it is applied any more.
    pub(super) async fn remove_cluster(&mut self, observed: &Observation) -> Result<ReconcileEnd, Unwanted> {
        self.of.status.rollout = None;
        self.of.status.phase = None;
        self.of.status.withheld = Vec::new();
        if self.of.is_suspended() {
            return Ok(ReconcileEnd::Suspended);
        }
        if let Some(over) = (self.of.request.is_over)() {
            return Ok(ReconcileEnd::Interrupted(over));
        }
        // Until it is gone it is deleted with them.
        if self.of.status.cloud_credentials.is_some() && !self.of.status.inventory.objects().is_empty() {
            publish_credentials(&mut self.of, observed).await;
        }
        let round = self.round(observed);
        // What stays, for whatever reason, is not cleaned up.
        let going: Vec<ObjectId> =
            round.delete.iter().map(|doomed| &doomed.object).filter(|id| is_cluster(id)).cloned().collect();
        if let Some(waits) = clean_up(&mut self.of, observed, &going).await? {
            return Ok(ReconcileEnd::Waiting(waits));
        }
        let is_over = round.is_over();
        let ended = self.perform_deletions(observed, round).await?;
        if !matches!(ended, ReconcileEnd::Applied) {
            return Ok(ended);
        }
        if is_over && self.of.status.inventory.objects().is_empty() {
            // What was inside went with it.
            self.of.status.services = Vec::new();
            if let Some(cluster) = &self.cluster {
                self.of.request.ports.workloads.forget(cluster);
            }
            // Last of all: what was deleted needed them.
            let Some(left) = remove_credentials(&mut self.of, observed).await else {
                return Ok(ReconcileEnd::Removed);
            };
            self.of.again = true;
            return Ok(ReconcileEnd::Waiting(vec![left]));
        }
        self.of.again = true;
        let left = self.of.status.inventory.objects().len();
        let objects = wording::count(left, "object", "objects");
        let message = format!("{objects} {} left", wording::fitting(left, "is", "are"));
        let mut reasons = vec![Reason::plain("Deleting", message)];
        reasons.append(&mut self.of.kept);
        Ok(ReconcileEnd::Waiting(reasons))
    }

    fn round(&self, observed: &Observation) -> Deletions {
        let withheld =
            if self.of.status.withheld.is_empty() { Withholding::Nothing } else { Withholding::Workers };
        let budget = self.of.request.fleet.spec.guards.max_deletions;
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
            folder: self.of.request.id,
            inventory: &self.of.status.inventory,
            rendered: Some(rendered),
            templates: &observed.templates,
            delete: &observed.wanted.tombstones,
            namespace: observed.wanted.home.namespace(),
            live: &observed.live,
            owners: &self.of.request.revision.owners,
            neighbours: &self.beside.applied,
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
        let round = if self.of.request.standing.may_delete() { round } else { self.put_off(round) };
        for forgotten in &round.forget {
            self.of.status.inventory.forget(&forgotten.object);
        }
        for kept in &round.keep {
            let kind = if kept.needs_a_person() { "KeptUntilAsked" } else { "Kept" };
            self.of.again |= self.beside.passes_soon(kept, &self.of.request.revision.owners);
            self.of.kept.push(of_object(kind, kept.to_string(), &kept.object));
        }
        for finding in &round.findings {
            let message = finding.to_string();
            let reason = Reason {
                place: self.settings_file().map(Place::whole),
                ..Reason::plain("UselessTombstone", message)
            };
            self.of.kept.push(Reason { severity: Severity::Warning, ..reason });
        }
        for doomed in &round.delete {
            if let Some(over) = (self.of.request.is_over)() {
                return Ok(ReconcileEnd::Interrupted(over));
            }
            match self.of.delete(observed, &doomed.object, &doomed.uid).await {
                Ok(DeletionResult::Yes) => self.of.status.inventory.forget(&doomed.object),
                Ok(DeletionResult::NotYet(reason)) => {
                    self.of.again = true;
                    self.of.kept.push(reason);
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
            self.of.kept.push(of_object("KeptUntilConfirmed", message, &doomed.object));
        }
        Deletions { delete: Vec::new(), forget: Vec::new(), ..round }
    }

    /// Forgets the names of templates that are no longer in the inventory.
    fn keep_names(&mut self) {
        let known: BTreeSet<ObjectId> =
            self.of.status.inventory.objects().iter().map(|object| object.id()).collect();
        self.of.status.templates.retain(|template| known.contains(&template.live_id()));
    }

    fn settings_file(&self) -> Option<capstan_model::tree::RepoPath> {
        let folder = self.of.request.revision.fleet.layout().target(self.of.request.id.as_str())?;
        folder.settings.as_ref().map(|entry| entry.path.clone())
    }
}
