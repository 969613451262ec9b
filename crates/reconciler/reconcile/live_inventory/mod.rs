//! An inventory that lives in the management cluster, as a source of trees: the third one beside the bot and Git.
//!
//! *Expected flow*: [`InventorySource::fetch`](crate::reconcile::ports::TreeSource::fetch) lists the objects of the
//! Fleet's namespace and the ConfigMaps that are releases (`read`). It makes the folder of every ClusterDefinition from
//! them with the generator that the bot has (`making`), and gives them as a tree. The tree's commit is the SHA-256 of
//! all that was read. The status of the definitions reports what becomes of the clusters (`telling`). Nothing else of
//! the reconciler knows where its tree comes from.
//!
//! *Guarantees*: a list that fails, is cut off or is of a kind that is not served counts as unread: the tree that was
//! given last stays. A definition that cannot be made keeps the folder that was made of it last, and stops no other. A
//! folder that one definition has is given to no other. A definition that goes without `spec.retire: true` deletes
//! nothing. A look without news writes nothing.
//!
//! Deliberately absent: applying, deleting and judging, which are every Fleet's; and components, for there is no
//! repository that could hold them.

mod kept;
mod making;
mod read;
mod records;
mod release;
mod source;
mod telling;

pub use source::InventorySource;
