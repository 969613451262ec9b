//! What is outside a folder's boundary, and why.

use std::fmt;

use capstan_kustomize::render::RenderedObject;
use capstan_model::finding::Place;
use capstan_model::ids::ClusterId;
use capstan_model::object::{FieldPath, ObjectId};

/// What helps where folders were meant to reach one another.
const ONE_OWNER: &str = ", or state in `clusters.oneOwner` in .capstan.yaml that both folders have one owner";
const OWNED_BY_ANOTHER_FOLDER: &str = "OwnedByAnotherFolder";
const OWNED_BY_ANOTHER_FLEET: &str = "OwnedByAnotherFleet";

/// Whether a condition's word says that an object is another's: of a folder that is refused for nothing else it is
/// not known whose the object is.
pub fn is_of_ownership(reason: &str) -> bool {
    [OWNED_BY_ANOTHER_FOLDER, OWNED_BY_ANOTHER_FLEET].contains(&reason)
}

/// An object that a folder may not bring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignObject {
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
    /// It names no namespace, and the folder's base does not determine one.
    NoNamespace,
    /// Its namespace is not one of the folder's.
    Namespace {
        /// The folder's namespaces.
        allowed: Vec<String>,
    },
    /// It belongs to the whole management cluster.
    ClusterScoped,
    /// Its kind is never applied from a folder, neither from the base nor from an overlay.
    Kind(&'static str),
    /// Provider sets do not bring its kind.
    KindNotOfSet,
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
    OwnerMark { key: String },
    /// It says itself who owns it.
    OwnerReferences,
    /// An overlay gives it a finalizer, so that it could not be deleted any more.
    Finalizers,
    /// An overlay asks for a token of a service account.
    ServiceAccountToken,
    /// Overlays of this repository may not add or change its kind.
    KindNotAllowed,
    /// An overlay has a part in an object that makes another controller act with rights of its own.
    OtherRights,
    /// An overlay changes where, with whose rights or from which source another controller carries it out.
    BasesOwnField,
    /// A Secret that Cluster API takes for one of another folder's cluster, by its name.
    NamedAfter { cluster: String, folder: ClusterId },
    /// It names a Secret of another folder.
    NeighboursSecret {
        /// The Secret.
        name: String,
        folder: ClusterId,
    },
    /// A Secret that controllers trust by its name, from an overlay.
    TrustedSecret { name: String },
    /// A kubeconfig that makes a controller use more than a server and the data in the kubeconfig itself.
    Kubeconfig {
        /// Why; the rest of a sentence.
        why: String,
    },
    /// An overlay names what the folder does not bring.
    NotBrought {
        /// Its kind, if the reference says one.
        kind: Option<String>,
        name: String,
    },
    /// It names an object of another folder.
    NeighboursObject {
        /// Its kind and name.
        name: String,
        folder: ClusterId,
    },
    /// An overlay binds an object to a machine, instance or account that exists already.
    Exists,
    /// An overlay names a path of a host on which something of the management cluster runs.
    HostPath,
    /// An overlay says where credentials of a cloud are sent.
    Server,
    /// An overlay names something, and what cannot be read from the files.
    Unclear,
    /// An overlay names an object in a namespace that is not the folder's.
    NamesOutside {
        /// What it names.
        name: String,
        namespace: String,
    },
    /// It names credentials that are not the folder's.
    OthersIdentity {
        /// Kind and name of the identity.
        name: String,
        /// The folder that brings it; `None` where none does.
        folder: Option<ClusterId>,
    },
    /// It selects a Cluster of another folder.
    SelectsOther { cluster: String, folder: ClusterId },
    /// An overlay selects a Cluster that no folder brings.
    SelectsStranger { cluster: String },
    /// An overlay makes another controller act in a cluster that is not the folder's.
    OthersKubeconfig {
        /// The Secret with the kubeconfig.
        name: String,
    },
    /// An overlay gives a Cluster labels by which another folder selects it.
    SelectedByOther {
        /// What selects it.
        by: ObjectId,
        folder: ClusterId,
    },
    /// Another folder applies it already.
    AnothersObject(ClusterId),
    /// Another folder renders it too.
    TwoFolders(ClusterId),
    /// Another folder has applied it and cannot be rendered now.
    PerhapsAnothers(ClusterId),
    /// A folder of another Fleet has applied it.
    AnotherFleets {
        /// That Fleet's name.
        fleet: String,
        folder: ClusterId,
    },
}

impl ForeignObject {
    /// That an object's field is outside, for that reason.
    pub fn of(object: &RenderedObject, field: FieldPath, why: Beyond) -> Self {
        let written = object.written_at(&field);
        Self { object: object.id.clone(), field, written, why }
    }

    /// Whether the object itself may not come, whichever of its fields is changed.
    pub(super) const fn is_whole(&self) -> bool {
        matches!(
            self.why,
            Beyond::NoNamespace
                | Beyond::Namespace { .. }
                | Beyond::ClusterScoped
                | Beyond::Kind(_)
                | Beyond::KindFromOverlay(_)
                | Beyond::AddsCluster
                | Beyond::KindNotAllowed
                | Beyond::OtherRights
        )
    }

    /// A word for conditions.
    pub const fn reason(&self) -> &'static str {
        match self.why {
            Beyond::AnothersObject(_) | Beyond::TwoFolders(_) | Beyond::PerhapsAnothers(_) => {
                OWNED_BY_ANOTHER_FOLDER
            }
            Beyond::AnotherFleets { .. } => OWNED_BY_ANOTHER_FLEET,
            _ => "OutsideBoundary",
        }
    }
}

impl fmt::Display for ForeignObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let object = &self.object;
        match &self.why {
            Beyond::NoNamespace => write!(
                f,
                "{object} names no namespace, and the folder's base does not say which one to use: write `metadata.namespace` of its Cluster in base"
            ),
            Beyond::Namespace { allowed } if allowed.is_empty() => write!(
                f,
                "{object} has a namespace of its own, but this folder's base names none: remove the namespace, or apply the object from elsewhere"
            ),
            Beyond::Namespace { allowed } => write!(
                f,
                "{object} is outside this folder's namespace ({}): remove it, or apply it from elsewhere",
                allowed.join(", ")
            ),
            Beyond::ClusterScoped => write!(
                f,
                "{object} belongs to the whole management cluster, not to one folder: apply it from elsewhere"
            ),
            Beyond::Kind(what) => write!(f, "{object}: Capstan never applies {what} from a cluster's folder"),
            Beyond::KindNotOfSet => write!(
                f,
                "{object}: a provider set holds only provider objects, their Namespaces, ConfigMaps and Secrets: remove it, or apply it from elsewhere"
            ),
            Beyond::KindFromOverlay(what) => {
                write!(f, "{object}: an overlay may neither add nor change {what}; base may")
            }
            Beyond::AddsCluster => {
                write!(
                    f,
                    "{object} comes from the overlay, but a folder's clusters come from its base: move it there"
                )
            }
            Beyond::OtherCluster { cluster } => write!(
                f,
                "{object} belongs to the Cluster {cluster}, which is not in this folder: name a Cluster of this folder"
            ),
            Beyond::OwnerMark { key } => {
                write!(f, "{object} has the mark `{key}`, which only Capstan sets: remove it")
            }
            Beyond::OwnerReferences => write!(
                f,
                "{object} has `ownerReferences`. They name a UID of one management cluster; where that UID does not exist, Kubernetes deletes the object. Remove them"
            ),
            Beyond::Finalizers => write!(
                f,
                "{object}: an overlay may not set finalizers, because the object could never be deleted: remove them"
            ),
            Beyond::ServiceAccountToken => {
                write!(f, "{object}: an overlay may not request a token of a service account: remove it")
            }
            Beyond::KindNotAllowed => write!(
                f,
                "{object}: overlays may add and change objects of Cluster API, ConfigMaps and Secrets. The platform team may also allow {}, under `clusters.overlayKinds` in .capstan.yaml",
                object.kind
            ),
            Beyond::OtherRights => write!(
                f,
                "{object} runs on the management cluster with the rights of another controller. An overlay may touch it only if `spec.kubeConfig.secretRef` names the kubeconfig of the cluster that it is for"
            ),
            Beyond::BasesOwnField => write!(
                f,
                "{object}: only base may say where it runs, with which rights and from which source: leave `{}` as it is in base",
                self.field
            ),
            Beyond::NamedAfter { cluster, folder } => write!(
                f,
                "{object}: Cluster API treats it as a Secret of the Cluster {cluster} in the folder {folder}: give it another name{ONE_OWNER}"
            ),
            Beyond::NeighboursSecret { name, folder } => write!(
                f,
                "{object} names the Secret {name} of the folder {folder}: name one of this folder{ONE_OWNER}"
            ),
            Beyond::TrustedSecret { name } => write!(
                f,
                "{object}: controllers trust a Secret named {name}, so an overlay may neither add nor change it; base may. Give your Secret another name"
            ),
            Beyond::Kubeconfig { why } => {
                write!(
                    f,
                    "{object}: `{}` is not a kubeconfig that Capstan gives to a controller: {why}",
                    self.field
                )
            }
            Beyond::NotBrought { kind, name } => {
                let named: Vec<&str> = kind.as_deref().into_iter().chain(Some(name.as_str())).collect();
                write!(
                    f,
                    "{object} names {} in `{}`, but this folder does not have it. An overlay may name only the folder's own objects, or what base names in the same field. Add it, or name it in base",
                    named.join(" ").trim_end(),
                    self.field
                )
            }
            Beyond::NeighboursObject { name, folder } => {
                write!(f, "{object} names {name} of the folder {folder}: name one of this folder{ONE_OWNER}")
            }
            Beyond::Exists => write!(
                f,
                "{object}: an overlay may not set `{}`, which binds an object to an existing machine, instance or account; base may",
                self.field
            ),
            Beyond::HostPath => write!(
                f,
                "{object}: an overlay may not set `{}`, a path on a host that runs parts of the management cluster; base may",
                self.field
            ),
            Beyond::Server => write!(
                f,
                "{object}: an overlay may not set `{}`, which decides where a controller sends cloud credentials; base may",
                self.field
            ),
            Beyond::Unclear => write!(
                f,
                "{object}: the files do not show which object `{}` will name, so an overlay may not set it; base may",
                self.field
            ),
            Beyond::NamesOutside { name, namespace } => write!(
                f,
                "{object}: an overlay may not name {name} in the namespace {namespace}, which does not belong to this folder"
            ),
            Beyond::OthersIdentity { name, folder: Some(folder) } => write!(
                f,
                "{object} uses the credentials {name} of the folder {folder}: name credentials of this folder{ONE_OWNER}"
            ),
            Beyond::OthersIdentity { name, folder: None } => write!(
                f,
                "{object}: an overlay may not choose the credentials {name}, which are not in this folder; base may"
            ),
            Beyond::SelectsOther { cluster, folder } => write!(
                f,
                "{object} also selects the Cluster {cluster} of the folder {folder}: select by a label that only Clusters of this folder have{ONE_OWNER}"
            ),
            Beyond::SelectsStranger { cluster } => write!(
                f,
                "{object} also selects the Cluster {cluster}, which is not in this folder: select by a label that only Clusters of this folder have"
            ),
            Beyond::OthersKubeconfig { name } => write!(
                f,
                "{object} runs in the cluster whose kubeconfig is in the Secret {name}: an overlay may name only kubeconfigs of this folder's clusters (`<cluster>-kubeconfig`)"
            ),
            Beyond::SelectedByOther { by, folder } => write!(
                f,
                "{object}: with these labels {by} of the folder {folder} selects it: remove them{ONE_OWNER}"
            ),
            Beyond::AnothersObject(folder) => write!(
                f,
                "{object} is already applied from the folder {folder}, and an object belongs to one folder: rename it, or remove it there first"
            ),
            Beyond::TwoFolders(folder) => write!(
                f,
                "{object} is also rendered by the folder {folder}, and an object belongs to one folder: remove it from one of them"
            ),
            Beyond::AnotherFleets { fleet, folder } => write!(
                f,
                "{object} belongs to the Fleet {fleet}, which applies it from the folder {folder}. An object belongs to one folder: rename it, or remove it there first"
            ),
            Beyond::PerhapsAnothers(folder) => write!(
                f,
                "{object} was applied from the folder {folder}, which cannot be rendered now. Whether that folder still has the object is unknown: fix that folder first"
            ),
        }
    }
}
