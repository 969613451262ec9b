//! Objects that the OpenStack resource controller (ORC) has given up. Their folder is refused with ORC's message, or
//! they are recreated, where only the connection of their creation failed.
//!
//! *Expected flow*: only objects that the commit does not change count. One that ORC gave up for good refuses the
//! folder. One whose creation failed is recreated: the inventory counts that and is written, then the object is deleted
//! as it was read, and the next pass applies it. *Guarantees*: an object with an id in the cloud is never deleted for
//! this. The count is written before the deletion, wherever the process dies.

use std::collections::BTreeMap;

use capstan_live::applying::{AfterGivingUp, Changes, GivenUp, available, given_up};
use capstan_model::object::{FieldPath, ObjectId};

use super::deletion::DeletionResult;
use super::in_hand::ClusterInHand;
use super::observation::{Observation, uid};
use capstan_ports::LiveError;
use capstan_reconciler_core::outcome::ReconcileEnd;
use capstan_reconciler_core::reason::Reason;

impl ClusterInHand<'_> {
    /// How the reconciliation ends where ORC has given up on objects of the folder: Capstan refuses or recreates them.
    /// `None` where it continues. An object that changes is applied first and checked in a later pass. `others` has the
    /// objects that other tools applied.
    pub(super) async fn check_cloud_objects(
        &mut self,
        observed: &Observation,
        changes: &Changes,
        others: &BTreeMap<ObjectId, Vec<String>>,
    ) -> Result<Option<ReconcileEnd>, LiveError> {
        for id in available(&observed.objects, &observed.live) {
            self.status.inventory.came_to_be(id);
        }
        let given_up = given_up(&observed.objects, changes, &observed.live, &self.status.inventory);
        let refused: Vec<Reason> =
            given_up.iter().filter_map(|one| refusal(one, others.contains_key(&one.object.id))).collect();
        if !refused.is_empty() {
            return Ok(Some(ReconcileEnd::Refused(refused)));
        }
        let mut anew = Vec::new();
        for one in given_up {
            // An object that is in no inventory yet gets into it by this pass; the next one handles it.
            if self.status.inventory.get(&one.object.id).is_none() {
                self.again = true;
                continue;
            }
            if let Some(over) = (self.request.is_over)() {
                return Ok(Some(ReconcileEnd::Interrupted(over)));
            }
            anew.push(self.recreate(observed, &one).await?);
        }
        Ok((!anew.is_empty()).then_some(ReconcileEnd::Waiting(anew)))
    }

    async fn recreate(&mut self, observed: &Observation, one: &GivenUp<'_>) -> Result<Reason, LiveError> {
        let id = &one.object.id;
        let told = |message: String| {
            Reason::of_object("CloudObjectMadeAnew", message, one.object, &FieldPath::root())
        };
        let (Some(uid), true) = (observed.live.get(id).and_then(uid), self.request.standing.may_delete())
        else {
            return Ok(told(format!(
                "Capstan recreates it when the commit is the tip of the source, because its creation failed: {}",
                one.words
            )));
        };
        self.status.inventory.count_recreation(id);
        let times = self.status.inventory.get(id).map_or(0, |entry| entry.made_anew);
        self.save().await?;
        tracing::info!(cluster = %self.request.id, object = %id, times, words = one.words, "recreated: its creation failed");
        Ok(match self.delete(observed, id, uid).await? {
            DeletionResult::Yes => {
                told(format!("Capstan recreates it, because its creation failed: {}", one.words))
            }
            DeletionResult::NotYet(reason) => told(format!(
                "Capstan recreates it once it is gone, because its creation failed: {}; {}",
                one.words, reason.message
            )),
        })
    }
}

/// Why an object that ORC gave up refuses its folder; `None` if it is recreated.
fn refusal(one: &GivenUp<'_>, is_others: bool) -> Option<Reason> {
    let message = match one.course {
        AfterGivingUp::Refused => format!(
            "ORC has given up, and retries only objects that are changed or recreated: {}. Correct it in Git, or what it names in the cloud, and delete the object: Capstan applies it again",
            one.words
        ),
        AfterGivingUp::Spent => format!(
            "its creation failed, and so did that of its replacements: {}. Check the connection between ORC and the cloud, and delete the object: Capstan applies it again",
            one.words
        ),
        AfterGivingUp::Recreated if is_others => format!(
            "its creation failed, and ORC does not retry it: {}. Another tool applies the object: delete it there",
            one.words
        ),
        AfterGivingUp::Recreated => return None,
    };
    Some(Reason::of_object("CloudObjectGivenUp", message, one.object, &FieldPath::root()))
}
