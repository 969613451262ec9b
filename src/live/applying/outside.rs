//! What stands outside of a folder's boundary, and why.

use std::fmt;

use capstan_kustomize::render::RenderedObject;
use capstan_model::finding::Place;
use capstan_model::ids::ClusterId;
use capstan_model::object::{FieldPath, ObjectId};

/// An object that a folder may not bring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outside {
    /// The object.
    pub object: ObjectId,
    /// The field that puts it outside; the root where the whole object does.
    pub field: FieldPath,
    /// Where that is written.
    pub written: Place,
    /// Why it may not.
    pub why: Beyond,
}

/// Why an object is outside the boundary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Beyond {
    /// Nobody can say in which namespace it lies.
    NoNamespace,
    /// Its namespace is none of the folder's.
    Namespace {
        /// Those that are.
        allowed: Vec<String>,
    },
    /// It belongs to the whole management cluster.
    ClusterScoped,
    /// Its kind is never applied from a folder, whoever writes it.
    Kind(&'static str),
    /// Its kind is never applied from an overlay, nor changed by one.
    KindFromOverlay(&'static str),
    /// An overlay adds a `Cluster`.
    AddsCluster,
    /// It belongs to a `Cluster` of another folder.
    OtherCluster {
        /// The name of that one.
        cluster: String,
    },
    /// It has a label or annotation that only Capstan sets.
    OwnerMark {
        /// The key.
        key: String,
    },
    /// It says itself who owns it.
    OwnerReferences,
    /// An overlay gives it a finalizer, so that it could not be deleted any more.
    Finalizers,
    /// An overlay asks for a token of a service account.
    ServiceAccountToken,
    /// An overlay adds an object that makes another controller act with rights of its own.
    OtherRights,
    /// Another folder applies it already.
    AnothersObject(ClusterId),
    /// Another folder renders it too.
    TwoFolders(ClusterId),
    /// Another folder has applied it and cannot be rendered now.
    PerhapsAnothers(ClusterId),
}

impl Outside {
    pub(super) fn of(object: &RenderedObject, field: FieldPath, why: Beyond) -> Self {
        let written = object.written_at(&field);
        Self { object: object.id.clone(), field, written, why }
    }

    /// A word for conditions.
    pub const fn reason(&self) -> &'static str {
        match self.why {
            Beyond::AnothersObject(_) | Beyond::TwoFolders(_) | Beyond::PerhapsAnothers(_) => {
                "OwnedByAnotherFolder"
            }
            _ => "OutsideBoundary",
        }
    }
}

impl fmt::Display for Outside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let object = &self.object;
        match &self.why {
            Beyond::NoNamespace => write!(
                f,
                "{object} names no namespace, and the folder's base does not say which one is meant: write `metadata.namespace` of its Cluster in base"
            ),
            Beyond::Namespace { allowed } => write!(
                f,
                "{object} lies outside this folder's namespace ({}): take it out, or apply it from elsewhere",
                allowed.join(", ")
            ),
            Beyond::ClusterScoped => write!(
                f,
                "{object} belongs to the whole management cluster, not to one folder: apply it from elsewhere"
            ),
            Beyond::Kind(what) => write!(f, "{object}: {what} are never applied from a cluster's folder"),
            Beyond::KindFromOverlay(what) => {
                write!(f, "{object}: an overlay may neither bring nor change {what}; base may")
            }
            Beyond::AddsCluster => {
                write!(f, "{object} is brought by the overlay: a folder's clusters are those of its base")
            }
            Beyond::OtherCluster { cluster } => write!(
                f,
                "{object} belongs to the Cluster {cluster}, which is none of this folder's: name the folder's own"
            ),
            Beyond::OwnerMark { key } => {
                write!(f, "{object} has the mark `{key}`, which only Capstan sets: take it out")
            }
            Beyond::OwnerReferences => write!(
                f,
                "{object} has `ownerReferences`: they name a UID of one management cluster, and where that does not exist the object is deleted as garbage; take them out"
            ),
            Beyond::Finalizers => write!(
                f,
                "{object}: an overlay may not set finalizers, the object could never be deleted: take them out"
            ),
            Beyond::ServiceAccountToken => {
                write!(f, "{object}: an overlay may not ask for a token of a service account: take it out")
            }
            Beyond::OtherRights => write!(
                f,
                "{object} would be carried out on the management cluster itself with the rights of another controller: an overlay may bring it only with `spec.kubeConfig` or `spec.serviceAccountName`"
            ),
            Beyond::AnothersObject(folder) => write!(
                f,
                "{object} is applied from the folder {folder} already, and one object belongs to one folder: rename it, or take it out there first"
            ),
            Beyond::TwoFolders(folder) => write!(
                f,
                "{object} is rendered by the folder {folder} too, and one object belongs to one folder: take it out of one of them"
            ),
            Beyond::PerhapsAnothers(folder) => write!(
                f,
                "{object} was applied from the folder {folder}, which cannot be rendered now, so that nobody knows whether it still wants it: mend that folder first"
            ),
        }
    }
}
