//! A management cluster, live: what the reconciler reads there, tries, applies, deletes and watches.
//!
//! Objects travel as JSON; their meaning belongs to the domain. Every unexpected answer of the API server
//! becomes an [`ApiRefusal`], which contains nothing that may not be shown. Deliberately absent: custom
//! resources of Capstan's own (the status store), and any decision.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::pin::Pin;

use async_trait::async_trait;
pub use capstan_live::applying::KindScope;
use capstan_live::applying::{ApiRefusal, RefusalKind};
use capstan_model::object::{FieldPath, ObjectId, api_group};
use futures_util::Stream;
use serde_json::Value;
use tokio::sync::watch;

/// A kind of objects as an API serves it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ApiKind {
    /// API group; empty for the core group.
    pub group: String,
    /// `v1beta2`; where `None`, the version that the API server prefers.
    pub version: Option<String>,
    pub kind: String,
}

impl ApiKind {
    /// The kind in the version that the API server prefers.
    pub fn preferred(group: impl Into<String>, kind: impl Into<String>) -> Self {
        Self { group: group.into(), version: None, kind: kind.into() }
    }

    /// The kind of an `apiVersion` (`v1`, `cluster.x-k8s.io/v1beta2`).
    pub fn of_version(api_version: &str, kind: impl Into<String>) -> Self {
        let version = api_version.rsplit('/').next().unwrap_or(api_version);
        Self {
            group: api_group(api_version).to_owned(),
            version: Some(version.to_owned()),
            kind: kind.into(),
        }
    }
}

impl fmt::Display for ApiKind {
    /// `MachineDeployment.cluster.x-k8s.io`, `ConfigMap`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        Ok(())
    }
}

/// Which object is meant, and in which version its content is spoken of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ApiObject {
    pub kind: ApiKind,
    /// Its namespace; ignored for a kind that has none.
    pub namespace: Option<String>,
    /// `metadata.name`.
    pub name: String,
}

impl ApiObject {
    /// Which object a manifest is, in the manifest's own version; `None` without `apiVersion`, `kind` or
    /// `metadata.name`.
    pub fn of(manifest: &Value) -> Option<Self> {
        let text = |pointer: &str| manifest.pointer(pointer).and_then(Value::as_str);
        Some(Self {
            kind: ApiKind::of_version(text("/apiVersion")?, text("/kind")?),
            namespace: text("/metadata/namespace").map(str::to_owned),
            name: text("/metadata/name")?.to_owned(),
        })
    }

    /// Its identity, which knows no version.
    pub fn id(&self) -> ObjectId {
        ObjectId {
            group: self.kind.group.clone(),
            kind: self.kind.kind.clone(),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
        }
    }
}

impl From<&ObjectId> for ApiObject {
    /// In the version that the API server prefers.
    fn from(id: &ObjectId) -> Self {
        Self {
            kind: ApiKind::preferred(&id.group, &id.kind),
            namespace: id.namespace.clone(),
            name: id.name.clone(),
        }
    }
}

impl fmt::Display for ApiObject {
    /// `MachinePool my-org/peu01-mp-0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.id().fmt(f)
    }
}

/// A service account of the management cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServiceAccount {
    pub namespace: String,
    pub name: String,
}

impl fmt::Display for ServiceAccount {
    /// The user that the API server's authorizer sees: `system:serviceaccount:my-org:capstan-applier`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "system:serviceaccount:{}:{}", self.namespace, self.name)
    }
}

/// With whose rights something is done.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum As {
    /// The reconciler's own: what it judges, and Capstan's own kinds.
    Reconciler,
    /// Those of a folder's service account: everything that a folder says.
    Impersonated(ServiceAccount),
}

/// Whether anything comes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Run {
    /// The API server answers as if (defaults, admission, webhooks), and keeps nothing.
    Dry,
    Real,
}

/// What happens to a field that another manager has with another value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Contested {
    /// The apply is refused, as a conflict that names the field and its manager.
    Refuse,
    /// The field becomes Capstan's.
    Take,
}

/// What somebody may do in a namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldRights {
    /// Rules, as roles have them.
    pub rules: Vec<Value>,
    /// Whether that is all: an authorizer that cannot list what it allows says so.
    pub is_whole: bool,
}

/// How a delete ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Deleted {
    Gone,
    /// It is marked, and goes when its finalizers are through.
    Terminating,
    /// There was none.
    Absent,
    /// The object is gone; another one of the same name exists, untouched.
    Replaced,
    /// It was changed since it was read, and exists, untouched.
    Changed,
}

/// What must be true of an object when it is deleted: that it is the one that was read, unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preconditions<'a> {
    /// Its `metadata.uid`.
    pub uid: &'a str,
    /// Its `metadata.resourceVersion`; `None` where it may have changed.
    pub resource_version: Option<&'a str>,
}

/// Which part of an object is patched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PatchedPart {
    /// The object, without its status where that is a part of its own.
    Whole,
    Status,
    /// Whether a request for a certificate is approved.
    Approval,
}

/// What is watched with one's own eyes: objects of a kind, in one namespace or all, by one name, by their labels, or all.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Post {
    pub kind: ApiKind,
    /// All where `None`.
    pub namespace: Option<String>,
    /// All where `None`.
    pub name: Option<String>,
    /// What their labels must be, as `kubectl -l` takes it; anything where `None`.
    pub labels: Option<String>,
}

/// Something that happened to a live object.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LiveChange {
    /// Which object.
    pub object: ObjectId,
    /// What of it.
    pub change: ObjectChange,
    /// Its `metadata.resourceVersion` after that, by which one knows the echo of one's own write again; empty
    /// where it is not known.
    pub resource_version: String,
}

/// What changed of a live object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectChange {
    /// It is new.
    Added,
    /// What is desired of it: spec or data, labels, annotations, owners, finalizers.
    Spec,
    /// Only what its controller reports: status.
    Status,
    /// It is gone.
    Deleted,
}

/// What is worth watching: kinds, and of each the namespaces that hold objects of it which Capstan applied, with
/// the service accounts that it applied them as there.
pub type Watched = BTreeMap<ApiKind, BTreeMap<String, BTreeSet<ServiceAccount>>>;

/// Changes without end; dropping it ends the watch.
pub type LiveChanges = Pin<Box<dyn Stream<Item = LiveChange> + Send>>;

/// Why the management cluster did not do it.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The API server does not answer, or not in time: worth another try.
    #[error("{doing}: the API server does not answer: {reason}")]
    Unreachable {
        /// `reading MachinePool my-org/peu01-mp-0`
        doing: String,
        /// Why; no secrets.
        reason: String,
    },
    /// It answered, and did not do it.
    #[error("{doing}: {refusal}")]
    Refused {
        /// `applying MachinePool my-org/peu01-mp-0 as system:serviceaccount:my-org:capstan-applier`
        doing: String,
        /// Its answer, safe to show.
        refusal: ApiRefusal,
    },
    /// This process leads no more: nothing was written.
    #[error("{doing}: this reconciler no longer leads, and writes nothing")]
    NotLeading {
        /// What was to be done.
        doing: String,
    },
    /// What was asked for cannot be asked: a manifest without a name, a namespaced kind without a namespace.
    #[error("{doing}: {reason}")]
    Malformed {
        /// What was to be done.
        doing: String,
        /// What is missing.
        reason: String,
    },
    /// It answers with more than is read.
    #[error("{doing}: {what}, which is too much to read")]
    TooMuch {
        /// `listing Pod in shop`
        doing: String,
        /// Which bound it is, of which server: `the API server at 10.0.0.1:6443 has more than 100 pages for one list`.
        what: String,
    },
}

impl LiveError {
    /// The API server's answer, where it gave one.
    pub const fn refusal(&self) -> Option<&ApiRefusal> {
        match self {
            Self::Refused { refusal, .. } => Some(refusal),
            Self::Unreachable { .. }
            | Self::NotLeading { .. }
            | Self::Malformed { .. }
            | Self::TooMuch { .. } => None,
        }
    }

    /// Whether the account may not do it.
    pub fn is_forbidden(&self) -> bool {
        self.refusal().is_some_and(|refusal| refusal.kind == RefusalKind::Forbidden)
    }

    /// Whether somebody changed the object since it was read.
    pub fn is_conflict(&self) -> bool {
        self.refusal().is_some_and(|refusal| refusal.kind == RefusalKind::Conflict)
    }

    /// Whether the same request may succeed later without anybody changing anything in Git.
    pub fn worth_retrying(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Refused { refusal, .. } => refusal.worth_retrying(),
            Self::NotLeading { .. } | Self::Malformed { .. } | Self::TooMuch { .. } => false,
        }
    }

    /// Its class as a metric's label.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Unreachable { .. } => "unreachable",
            Self::Refused { .. } => "refused",
            Self::NotLeading { .. } => "not_leading",
            Self::Malformed { .. } => "malformed",
            Self::TooMuch { .. } => "too_much",
        }
    }
}

/// The namespaced kinds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KindsInNamespaces {
    /// Each in the version that the API server prefers; ordered.
    pub kinds: Vec<ApiKind>,
    /// Groups whose kinds are unknown now, because their server does not answer.
    pub unread: BTreeSet<String>,
}

/// The management cluster of the reconciler.
///
/// # Guarantees
/// Every request is bounded in time. `Run::Dry` changes nothing. Answers are complete objects in the version
/// asked for, `metadata.managedFields` included.
#[async_trait]
pub trait ManagementCluster: Send + Sync {
    /// UID of the namespace `kube-system`, which identifies the management cluster.
    async fn uid(&self) -> Result<String, LiveError>;
    /// The version that the API server reports: `v1.36.3`.
    async fn version(&self) -> Result<String, LiveError>;
    /// What somebody may do in a namespace, what holds everywhere included.
    async fn rights(&self, by: &As, namespace: &str) -> Result<HeldRights, LiveError>;
    /// An object; `None` where it, its kind or its namespace is absent.
    async fn read(&self, by: &As, object: &ApiObject) -> Result<Option<Value>, LiveError>;
    /// All objects of a kind, in one namespace or all, that have all these labels; empty where the kind or
    /// the namespace is absent. Read in pages.
    async fn list(
        &self,
        by: &As,
        kind: &ApiKind,
        namespace: Option<&str>,
        labels: &[(&str, &str)],
    ) -> Result<Vec<Value>, LiveError>;
    /// All objects of a kind in a namespace, of each its `apiVersion`, `kind` and `metadata` alone.
    async fn list_metadata(&self, by: &As, kind: &ApiKind, namespace: &str) -> Result<Vec<Value>, LiveError>;
    /// The Events of type `Warning` in a namespace (`v1`).
    async fn warnings(&self, by: &As, namespace: &str) -> Result<Vec<Value>, LiveError>;
    /// Server-side apply with the one field manager `capstan`; gives the object as the API server then has it,
    /// or, in a dry run, would have it.
    async fn apply(
        &self,
        by: &As,
        manifest: &Value,
        run: Run,
        contested: Contested,
    ) -> Result<Value, LiveError>;
    /// Server-side apply with the field manager `capstan-hosts`, which takes no field from anybody: what folders and others
    /// applied to the object stays theirs, and stays.
    async fn label(&self, by: &As, manifest: &Value) -> Result<Value, LiveError>;
    /// Dry run of a create under a generated name: the manifest with what the API server and its webhooks
    /// default, whether or not an object of its name exists.
    async fn dry_run_create(&self, by: &As, manifest: &Value) -> Result<Value, LiveError>;
    /// Changes an object, or its status, by a JSON Patch (RFC 6902), as the field manager `capstan`; gives the object as it
    /// is then, or, in a dry run, would be. A patch that replaces `/metadata/resourceVersion` is a conflict where somebody
    /// wrote the object meanwhile.
    async fn patch(
        &self,
        by: &As,
        object: &ApiObject,
        part: PatchedPart,
        patch: &Value,
        run: Run,
    ) -> Result<Value, LiveError>;
    /// Deletes the object of which this holds, and no other of its name. What it owns goes after it.
    async fn delete(
        &self,
        by: &As,
        object: &ApiObject,
        only: Preconditions<'_>,
        run: Run,
    ) -> Result<Deleted, LiveError>;
    /// Makes the fields that these managers applied or wrote Capstan's, as if Capstan had applied them, so
    /// that the next apply removes what it no longer names; and lets go of some fields, so that they keep their
    /// values although it no longer names them (replicas handed to an autoscaler). Does nothing where none of
    /// them is there.
    async fn take_over(
        &self,
        by: &As,
        object: &ApiObject,
        from: &[String],
        let_go: &[FieldPath],
    ) -> Result<(), LiveError>;
    /// Whether objects of a kind live in namespaces; `None` where the kind (in that version, if one is given)
    /// is not served. Never answers `None` from memory.
    async fn scope(&self, kind: &ApiKind) -> Result<Option<KindScope>, LiveError>;
    /// Every kind that lives in namespaces and can be listed. Never from memory.
    async fn kinds_in_namespaces(&self) -> Result<KindsInNamespaces, LiveError>;
    /// Watches all objects of these kinds, as the channel lists them at a time, through restarts of the API
    /// server: changes during an outage are reported afterwards. A kind is watched in the whole management
    /// cluster with the reconciler's rights; one that it may not watch, in the named namespaces, as the
    /// service accounts there. A kind that neither may watch, that exceeds the bound on such watches, or that
    /// is not served is tried again later; such objects are only read at the interval.
    fn watch(&self, watched: watch::Receiver<Watched>) -> LiveChanges;
    /// Watches what these posts say, whatever the channel holds of them at a time, with these rights alone. What may not be
    /// watched, and a kind that is not served, is tried again later.
    fn watch_posts(&self, by: As, posts: watch::Receiver<BTreeSet<Post>>) -> LiveChanges;
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_manifest_names_its_object_in_its_own_version() {
        let manifest = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
            "metadata": {"name": "peu01", "namespace": "my-org"}});
        let object = ApiObject::of(&manifest).unwrap();
        assert_eq!(object.kind.group, "cluster.x-k8s.io");
        assert_eq!(object.kind.version.as_deref(), Some("v1beta2"));
        assert_eq!(object.to_string(), "Cluster my-org/peu01");

        let core =
            ApiObject::of(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}))
                .unwrap();
        assert_eq!((core.kind.group.as_str(), core.kind.version.as_deref()), ("", Some("v1")));
        assert_eq!(core.namespace, None);
        assert_eq!(ApiObject::of(&json!({"kind": "Namespace", "metadata": {"name": "a"}})), None);
    }

    #[test]
    fn an_identity_is_read_in_the_version_that_the_server_prefers() {
        let id = ObjectId {
            group: "apps".into(),
            kind: "Deployment".into(),
            namespace: Some("a".into()),
            name: "b".into(),
        };
        let object = ApiObject::from(&id);
        assert_eq!(object.kind.version, None);
        assert_eq!(object.kind.to_string(), "Deployment.apps");
        assert_eq!(object.id(), id);
    }
}
