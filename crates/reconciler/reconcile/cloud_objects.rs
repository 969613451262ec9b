//! Objects of the OpenStack resource controller (ORC) that it has given up: their folder is refused in its words, or they
//! are made anew, when only the connection of their create died.
//!
//! *Expected flow*: what a commit changes is known; of the objects that it leaves as they are, one that was given up for
//! good refuses the folder; of one whose create died it is counted in the inventory, and written, that it is made anew;
//! then it is deleted, as the one that was looked at; the next pass finds nothing there and applies it. *Guarantees*:
//! what has an id in the cloud is never deleted for this; a process that dies anywhere has counted before it deleted.

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
    /// Whether ORC has given up an object of the folder, and what comes of that; `None` where it has not. What changes is
    /// applied first: it is looked at anew then. `others` is what somebody else applies.
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
            // What is in no inventory yet gets there by this pass, and is looked at by the next one.
            if self.status.inventory.get(&one.object.id).is_none() {
                self.again = true;
                continue;
            }
            if let Some(over) = (self.request.is_over)() {
                return Ok(Some(ReconcileEnd::Interrupted(over)));
            }
            anew.push(self.make_anew(observed, &one).await?);
        }
        Ok((!anew.is_empty()).then_some(ReconcileEnd::Waiting(anew)))
    }

    async fn make_anew(&mut self, observed: &Observation, one: &GivenUp<'_>) -> Result<Reason, LiveError> {
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
        self.status.inventory.make_anew(id);
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

/// Why an object that was given up refuses its folder; `None` for one that is made anew.
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
        AfterGivingUp::MadeAnew if is_others => format!(
            "its creation failed, and ORC does not retry it: {}. Another tool applies the object: delete it there",
            one.words
        ),
        AfterGivingUp::MadeAnew => return None,
    };
    Some(Reason::of_object("CloudObjectGivenUp", message, one.object, &FieldPath::root()))
}
