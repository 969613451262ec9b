//! One round of deletions in values and in words.

use std::fmt;

use capstan_model::ids::ClusterId;
use capstan_model::object::ObjectId;
use capstan_model::wording::count;
use capstan_plan::settings::Tombstone;

/// One round of deletions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Deletions {
    /// To be deleted now, in that order, each under its UID.
    pub delete: Vec<Doomed>,
    /// What is gone from Git and kept, ordered by object.
    pub keep: Vec<OrphanedObject>,
    /// What leaves the inventory without a deletion, ordered by object.
    pub forget: Vec<Forgotten>,
    /// What is wrong with tombstones.
    pub findings: Vec<TombstoneFinding>,
}

impl Deletions {
    /// Whether nothing of the inventory is left to wait for: after `delete: cluster`, the cluster is gone.
    pub fn is_over(&self) -> bool {
        self.delete.is_empty() && self.keep.is_empty()
    }
}

/// An object that is deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doomed {
    pub object: ObjectId,
    /// Its UID: an object of that name with another one stays.
    pub uid: String,
    /// Why it goes.
    pub because: DeletionReason,
}

/// Why an object is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeletionReason {
    /// Git no longer has it, and nothing misses it.
    Pruned,
    /// A rotation left it behind.
    Rotated,
    /// A tombstone names it.
    Tombstone,
    /// The whole cluster is deleted.
    Cluster,
}

/// An object that is gone from Git and stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrphanedObject {
    pub object: ObjectId,
    /// Why it stays.
    pub why: Keep,
}

/// Why an object stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Keep {
    /// The folder renders nothing at all, or cannot be rendered.
    NothingRendered,
    /// Only a tombstone may take it away.
    NeedsTombstone,
    /// The control plane and the machines of that live Cluster would go with it.
    Carries(ObjectId),
    /// Something names it.
    StillNamed(ObjectId),
    RolloutNotDone,
    /// Too much would go at once.
    OverBudget {
        /// How many.
        doomed: u32,
        /// How many may.
        budget: u32,
    },
    /// That folder renders it and has not applied it.
    RenderedElsewhere(ClusterId),
    /// It was not read, or an object that could name it was not.
    NotRead,
    /// It is being deleted and not gone yet.
    Terminating,
    /// Another object goes first.
    WaitsFor(ObjectId),
    /// The `Cluster` that is to be deleted was not applied from this folder.
    ClusterNotOurs(ObjectId),
}

impl OrphanedObject {
    /// Whether a person has to do something before it goes.
    pub const fn needs_a_person(&self) -> bool {
        matches!(
            self.why,
            Keep::NeedsTombstone | Keep::Carries(_) | Keep::OverBudget { .. } | Keep::ClusterNotOurs(_)
        )
    }
}

impl fmt::Display for OrphanedObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let object = &self.object;
        match &self.why {
            Keep::NothingRendered => {
                write!(
                    f,
                    "{object} is kept: the folder renders nothing, and Capstan deletes nothing because of that"
                )
            }
            Keep::NeedsTombstone => write!(
                f,
                "{object} is gone from Git but kept: to delete it, add `- {{kind: {}, name: {}}}` to `delete` in the cluster's capstan.yaml",
                object.kind, object.name
            ),
            Keep::Carries(cluster) if cluster == object => write!(
                f,
                "{object} is gone from Git but kept: deleting it would delete its control plane and machines. Restore it"
            ),
            Keep::Carries(cluster) => write!(
                f,
                "{object} is gone from Git but kept: {cluster} is live, and deleting this would delete its machines. Restore it"
            ),
            Keep::StillNamed(by) => write!(f, "{object} is kept while {by} names it"),
            Keep::RolloutNotDone => write!(f, "{object} is kept until the rollout is done"),
            Keep::OverBudget { doomed, budget } => write!(
                f,
                "{object} is kept: {} would be deleted at once, but `maxDeletions` allows {budget}. If you want that, raise it or list the objects in `delete`",
                count(*doomed as usize, "object", "objects")
            ),
            Keep::RenderedElsewhere(folder) => write!(
                f,
                "{object} is kept: the folder {folder} renders it but has not applied it yet. It belongs to that folder after that"
            ),
            Keep::NotRead => {
                write!(f, "{object} is kept: Capstan could not read it, or objects that may name it")
            }
            Keep::Terminating => write!(f, "{object} is being deleted"),
            Keep::WaitsFor(other) => write!(f, "{object} is deleted when {other} is gone"),
            Keep::ClusterNotOurs(cluster) => write!(
                f,
                "{object} is kept: {cluster} was not applied from this folder, so this folder cannot delete it"
            ),
        }
    }
}

/// An object that leaves the inventory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forgotten {
    pub object: ObjectId,
    pub why: Forget,
}

/// Why an object leaves the inventory without a deletion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Forget {
    Gone,
    /// It is another one of the same name.
    Replaced,
    /// Another folder renders it and has applied it: it is that folder's now.
    Transferred(ClusterId),
    /// A namespace is not deleted with the cluster: it may hold other objects.
    NamespaceStays,
}

/// A tombstone that deletes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TombstoneFinding {
    pub tombstone: Tombstone,
    /// Why.
    pub what: Useless,
}

/// Why a tombstone deletes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Useless {
    /// The folder still renders the object.
    StillRendered(ObjectId),
    /// It fits several objects.
    Ambiguous(Vec<ObjectId>),
    /// The object lives and was never applied from this folder.
    NotOurs(ObjectId),
    /// The object is another folder's.
    Anothers(ObjectId, ClusterId),
}

impl fmt::Display for TombstoneFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            Useless::StillRendered(object) => write!(
                f,
                "`delete` names {object}, which the folder still renders: Capstan does not delete it. Remove one of them"
            ),
            Useless::Ambiguous(objects) => {
                let all: Vec<String> =
                    objects.iter().map(|object| format!("{object} ({})", object.group)).collect();
                write!(
                    f,
                    "`delete` names {} {}, which matches {}: also write `group` or `namespace`",
                    self.tombstone.kind,
                    self.tombstone.name,
                    all.join(" and ")
                )
            }
            Useless::NotOurs(object) => write!(
                f,
                "`delete` names {object}, which was not applied from this folder, so Capstan does not delete it"
            ),
            Useless::Anothers(object, folder) => write!(
                f,
                "`delete` names {object}, which is applied from the folder {folder}, so Capstan does not delete it for this folder"
            ),
        }
    }
}
