//! What is deleted of what Git no longer names (DESIGN 7, "Deleting").
//!
//! Only objects in the folder's [`Inventory`] are ever deleted, each under its recorded UID. If a successful render no
//! longer has one, it is deleted without a tombstone only where nothing can miss it; the rest needs a tombstone, by
//! name. An object whose state is unknown (it was not read, a render failed, a folder is gone) is kept.
//!
//! One call decides one round: what depends on another deletion waits for the next. A `Cluster` goes before
//! all that it is made of, credentials go last, since providers need them to take machines away.
//!
//! *The budget* limits what goes in one round without a tombstone: a mistake (a renamed prefix, a lost
//! kustomization) drops many objects at once, and then none of them goes until a person has looked. What a
//! person named does not count, nor what a rotation left behind, whose successor is rendered.
//!
//! *Worker pools with a tombstone* wait while the rollout of what is rendered is not through: the machines
//! that replace them may still be withheld.
//!
//! | file | owns |
//! |---|---|
//! | `facts`, `outcome` | what a round is decided from, and what it comes to |
//! | `named`, `tombstones` | who still names an object; which objects tombstones mean |
//! | `round` | what of the inventory is there, and in which turns it goes |
//! | `objects`, `whole` | objects that are gone from a render; `delete: cluster` |

mod facts;
mod named;
mod objects;
mod outcome;
mod round;
#[cfg(test)]
mod tests;
mod tombstones;
mod whole;

pub use self::facts::{PruneFacts, Withholding};
pub use self::outcome::{
    DeletionReason, Deletions, Doomed, Forget, Forgotten, Keep, OrphanedObject, TombstoneFinding, Useless,
};
use self::round::Round;
use capstan_plan::settings::Deletion;

/// Decides one round of deletions.
pub fn prune(facts: &PruneFacts<'_>) -> Deletions {
    let mut round = Round { facts, done: Deletions::default() };
    let left = round.present();
    if *facts.delete == Deletion::Cluster {
        round.whole_cluster(&left);
    } else {
        round.objects(left);
    }
    let Deletions { keep, forget, .. } = &mut round.done;
    keep.sort_by(|a, b| a.object.cmp(&b.object));
    forget.sort_by(|a, b| a.object.cmp(&b.object));
    round.done
}
