//! Applying (DESIGN 7): what of a cluster's render goes to its management cluster now, and what never does.
//!
//! Owns every decision between a render and the API server: the boundary of a folder, the guards that look
//! at the live cluster, what waits for the control plane, what differs, what is deleted, what an answer of
//! the API server means. Facts come in as values: rendered objects, and live objects in a [`LiveObjects`](crate::live_objects::LiveObjects).
//!
//! Deliberately absent: requests, clocks, and the state of the rollout ([`crate::rollout::observed`]).
//!
//! *Expected flow*: the folders of a commit are rendered and [indexed](OwnerIndex); of each,
//! [`place_in_namespaces`], [`boundary()`], live names of templates, [`named_outside`] and one read of the live
//! cluster, [`guards()`], a dry run of everything, [`differs()`], [`plan()`]; [`AppliedInventory::intend`] is stored, then
//! each step is applied ([`handed_over()`] first, then [`sent_over`] or [`sent_new`]); [`prune()`]; and the rollout is judged.
//!
//! *Guarantees*: the same facts give the same decisions. No decision needs the memory of an earlier one, so a pass may
//! stop anywhere and the next one starts from scratch.
//!
//! | file | tells |
//! |---|---|
//! | `cloud_objects` | how objects of the OpenStack resource controller stand, and which of them machines name |
//! | `boundary` | what a folder may not bring: what `capstan_plan::boundary` says, and what is another's |
//! | `owners`, `disputes` | whose an object is, of several folders and Fleets |
//! | `guards` | what would hurt the live cluster |
//! | `machines` | a Cluster's machines, and the control plane that they stand on |
//! | `plan` | in which order, and what waits |
//! | `prune` | what is deleted |
//! | `sent` | what of an object is sent |
//! | `differs` | what an apply would change |
//! | `managed`, `managers`, `handed_over` | who owns which field; objects that others applied; fields let go |
//! | `taking_over` | what taking over such an object would change |
//! | `live` | what was read of the cluster |
//! | `inventory` | what was applied, and may be deleted again |
//! | `refusal` | what the API server answered |

mod boundary;
mod cloud_objects;
mod differs;
mod disputes;
mod guards;
mod handed_over;
mod inventory;
mod machines;
mod managed;
mod managers;
mod owners;
mod plan;
mod prune;
mod refusal;
mod sent;
mod taking_over;
#[cfg(test)]
pub(crate) mod testing;

pub use boundary::boundary;
pub use capstan_plan::boundary::{
    Beyond, FolderHome, ForeignObject, KindScope, LiveCluster, Scopes, Surroundings, is_of_ownership,
    overlay_selects, place_in_namespaces, strangers,
};
pub use differs::differs;
pub use disputes::{Dispute, OtherFleet, Rival, is_new, of_other_fleets, settle};
pub use guards::{GuardBreach, GuardBroken, guards, named_outside};
pub use handed_over::{FieldSurvived, handed_over, survived};
pub use inventory::{AppliedInventory, InventoryObject};
pub use machines::clusters_to_read;
pub use managers::{
    LAST_APPLIED, appliers, fields_that_go, is_applied_by_capstan, may_be_applied_without_fields, taken_over,
};
pub use owners::OwnerIndex;
pub use plan::{
    AfterGivingUp, ApplyPhase, ApplyPlan, ApplyStage, ApplyStep, Changes, GivenUp, Withheld, available,
    given_up, plan,
};
pub use prune::{
    DeletionReason, Deletions, Doomed, Forget, Forgotten, Keep, OrphanedObject, PruneFacts, TombstoneFinding,
    Useless, Withholding, prune,
};
pub use refusal::{ApiRefusal, FieldNotation, LONGEST_MESSAGE, RefusalKind, StatusCause};
pub use sent::{sent, sent_new, sent_over};
pub use taking_over::{TakeOver, speaks_another_version, survives_take_over, take_over};
