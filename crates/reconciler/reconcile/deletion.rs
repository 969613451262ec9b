//! Deletes one object, in the version that Capstan read.

use capstan_model::finding::Severity;
use capstan_model::object::ObjectId;

use super::in_hand::ClusterInHand;
use super::observation::{Observation, uid};
use capstan_ports::{ApiObject, Deleted, LiveError, Preconditions, Run};
use capstan_reconciler_core::reason::Reason;

/// How a deletion came out.
pub(super) enum DeletionResult {
    /// The object does not exist any more, or another one has replaced it.
    Yes,
    /// It is not gone yet, for that reason.
    NotYet(Reason),
}

impl ClusterInHand<'_> {
    /// Deletes an object by its UID, in the version that Capstan read. An object that has replaced it stays.
    pub(super) async fn delete(
        &mut self,
        observed: &Observation,
        id: &ObjectId,
        of: &str,
    ) -> Result<DeletionResult, LiveError> {
        let object = ApiObject::from(id);
        // Only the checked version is deleted, also where this process was suspended between the check and the
        // deletion.
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
}

/// A warning about an object.
pub(super) fn of_object(kind: &'static str, message: String, id: &ObjectId) -> Reason {
    let reason = Reason { object: Some(id.clone()), ..Reason::plain(kind, message) };
    Reason { severity: Severity::Warning, ..reason }
}
