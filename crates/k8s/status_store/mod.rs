//! [`StatusStore`]: Capstan's own kinds and the Secrets beside them, in the one namespace that a reconciler looks at.

mod read;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use capstan_live::live_objects::MANAGER;
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use http::{Method, StatusCode};
use secrecy::SecretString;
use serde_json::{Value, json};
use tokio::sync::watch::channel;

use super::bounds::ReadSize;
use super::cluster::{KubeCluster, List, ListDepth};
use super::connect::Connection;
use super::crd::{GROUP, VERSION};
use super::events::{Events, Regarding, Saying};
use super::rest::{ApiCall, ApiServer};
use super::watch;
use capstan_ports::{
    ApiKind, ApiObject, As, Deleted, LiveError, ManagementCluster, ObjectChange, Preconditions, Run,
};
use capstan_reconciler::reconcile::ports::{
    ClusterKey, ClusterRecord, FleetKey, FleetRecord, Note, StatusStore, StatusStoreChange, StatusStoreError,
    Tone,
};
use capstan_reconciler::reconcile::resources::{FleetStatus, ManagedClusterSpec, ManagedClusterStatus};

/// The annotation that asks for a pass at once.
pub(super) const RECONCILE: &str = "capstan.dev/reconcile";

/// How many objects one page of a list holds: an inventory takes some ten times as much memory on its way as
/// what is kept of it.
const PAGE: &str = "100";

/// Of so many objects it is remembered what was said of them; of more nothing is said.
const REMEMBERED: usize = 1_000;

const FLEET: &str = "Fleet";
const MANAGED_CLUSTER: &str = "ManagedCluster";

/// What was said of objects that cannot be read, by kind, namespace and UID.
type UnreadNotes = BTreeMap<(&'static str, String, String), String>;

/// Fleets and ManagedClusters of one namespace.
#[derive(Clone)]
pub struct KubeStatusStore {
    rest: ApiServer,
    cluster: KubeCluster,
    namespace: String,
    events: Events,
    unread_notes: Arc<Mutex<UnreadNotes>>,
}

impl KubeStatusStore {
    /// The status store of a namespace; `instance` tells this process from others in events.
    pub fn new(connection: &Connection, namespace: impl Into<String>, instance: &str) -> Self {
        let mut cluster = KubeCluster::new(connection);
        // Only Capstan's own write here, and of each page a small part is kept.
        cluster.rest.bounds.list = ReadSize::UNBOUNDED;
        Self {
            rest: connection.rest.clone(),
            cluster,
            namespace: namespace.into(),
            events: Events::new(connection.rest.clone(), instance),
            unread_notes: Arc::default(),
        }
    }

    async fn one(&self, kind: &'static str, namespace: &str, name: &str) -> Result<Option<Value>, LiveError> {
        self.cluster.read(&As::Reconciler, &object(kind, namespace, name)).await
    }

    /// All of a kind; those for which `read` returns `None` are left out. An object that cannot be read is
    /// logged and left out too: it affects no other.
    async fn all<T: Send>(
        &self,
        kind_name: &'static str,
        namespace: &str,
        read: impl Fn(&Value) -> Option<Result<T, LiveError>> + Send + Sync,
    ) -> Result<Vec<T>, LiveError> {
        let kind = ApiKind::of_version(&format!("{GROUP}/{VERSION}"), kind_name);
        let list = List {
            kind: &kind,
            namespace: Some(namespace),
            labels: &[],
            fields: None,
            page: PAGE,
            part: ListDepth::Whole,
        };
        let read = |object: Value| {
            read(&object).map(|read| read.map_err(|error| Box::new((regarding(kind_name, &object), error))))
        };
        let (mut all, mut unread) = (Vec::new(), BTreeSet::new());
        for one in self.cluster.list_as(&As::Reconciler, &list, read).await? {
            match one {
                Ok(one) => all.push(one),
                Err(failed) => {
                    self.tell(kind_name, &failed.0, &failed.1).await;
                    unread.insert(failed.0.uid);
                }
            }
        }
        // Of those that are gone, or can be read again, nothing is remembered: the next ones have their room.
        self.lock_unread().retain(|(kind, within, uid), _| {
            *kind != kind_name || within != namespace || unread.contains(uid)
        });
        Ok(all)
    }

    fn lock_unread(&self) -> MutexGuard<'_, UnreadNotes> {
        self.unread_notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says of an object that it cannot be read, once.
    async fn tell(&self, kind: &'static str, object: &Regarding, error: &LiveError) {
        let note = error.to_string();
        let is_news = {
            let mut unread_notes = self.lock_unread();
            let key = (kind, object.namespace.clone(), object.uid.clone());
            // Who forgot some would say it of all of them at each look.
            let has_room = unread_notes.len() < REMEMBERED || unread_notes.contains_key(&key);
            has_room && unread_notes.insert(key, note.clone()).as_ref() != Some(&note)
        };
        if is_news {
            tracing::warn!(kind = object.kind, namespace = object.namespace, name = object.name, "{note}");
            self.events.say(object, Saying { tone: "Warning", reason: "Unreadable", note }).await;
        }
    }

    /// Replaces a status whole: what the last one said and this one does not goes. Gives the resource version then.
    async fn write_status(
        &self,
        kind: &'static str,
        (namespace, name): (&str, &str),
        resource_version: &str,
        status: Result<Value, serde_json::Error>,
    ) -> Result<String, LiveError> {
        let doing = format!("writing the status of {kind} {namespace}/{name}");
        let status = status
            .map_err(|error| LiveError::Malformed { doing: doing.clone(), reason: error.to_string() })?;
        let call = self
            .call(&doing, Method::PATCH, format!("{}/status", path(kind, namespace, Some(name))))
            .query("fieldManager", MANAGER)
            .query("force", "true")
            .query("fieldValidation", "Strict")
            .body(
                "application/apply-patch+yaml",
                &json!({
                    "apiVersion": format!("{GROUP}/{VERSION}"), "kind": kind,
                    "metadata": {
                        "name": name, "namespace": namespace, "resourceVersion": resource_version,
                    },
                    "status": status,
                }),
            );
        let written = self.rest.done(&call).await?;
        Ok(read::resource_version(&written))
    }

    async fn heard(&self, kind: &'static str, namespace: &str, name: &str) -> Result<(), LiveError> {
        let call = self
            .call(
                &format!("taking the annotation {RECONCILE} from {kind} {namespace}/{name}"),
                Method::PATCH,
                path(kind, namespace, Some(name)),
            )
            .body("application/merge-patch+json", &json!({"metadata": {"annotations": {RECONCILE: null}}}));
        let answer = self.rest.answer(&call).await?;
        // One that is gone asks for nothing any more.
        if answer.status.is_success() || answer.status == StatusCode::NOT_FOUND {
            Ok(())
        } else {
            Err(call.refused(&answer))
        }
    }

    fn call(&self, doing: &str, method: Method, path: String) -> ApiCall<'static> {
        ApiCall::new(doing, &As::Reconciler, method, path)
    }

    async fn note(&self, kind: &'static str, key: (&str, &str), uid: &str, note: &Note) {
        let regarding = Regarding {
            api_version: format!("{GROUP}/{VERSION}"),
            kind,
            namespace: key.0.to_owned(),
            name: key.1.to_owned(),
            uid: uid.to_owned(),
        };
        let tone = match note.tone {
            Tone::Normal => "Normal",
            Tone::Warning => "Warning",
        };
        self.events.say(&regarding, Saying { tone, reason: note.reason, note: note.message.clone() }).await;
    }
}

#[async_trait]
impl StatusStore for KubeStatusStore {
    async fn fleets(&self) -> Result<Vec<FleetRecord>, StatusStoreError> {
        self.all(FLEET, &self.namespace, |object| Some(read::fleet(object))).await
    }

    async fn fleet(&self, key: &FleetKey) -> Result<Option<FleetRecord>, StatusStoreError> {
        self.one(FLEET, &key.namespace, &key.name).await?.as_ref().map(read::fleet).transpose()
    }

    async fn clusters(&self, fleet: &FleetKey) -> Result<Vec<ClusterRecord>, StatusStoreError> {
        let is_of_fleet = |object: &Value| {
            object.pointer("/spec/fleet").and_then(Value::as_str) == Some(fleet.name.as_str())
        };
        let read = |object: &Value| is_of_fleet(object).then(|| read::cluster(object));
        self.all(MANAGED_CLUSTER, &fleet.namespace, read).await
    }

    async fn cluster(&self, key: &ClusterKey) -> Result<Option<ClusterRecord>, StatusStoreError> {
        self.one(MANAGED_CLUSTER, &key.namespace, &key.name).await?.as_ref().map(read::cluster).transpose()
    }

    async fn create_cluster(
        &self,
        key: &ClusterKey,
        spec: &ManagedClusterSpec,
    ) -> Result<ClusterRecord, StatusStoreError> {
        let doing = format!("creating ManagedCluster {key}");
        let manifest = json!({
            "apiVersion": format!("{GROUP}/{VERSION}"), "kind": MANAGED_CLUSTER,
            "metadata": {"name": key.name, "namespace": key.namespace, "labels": {
                "app.kubernetes.io/managed-by": MANAGER, "capstan.dev/fleet": label(&spec.fleet)}},
            "spec": spec,
        });
        let call = self
            .call(&doing, Method::POST, path(MANAGED_CLUSTER, &key.namespace, None))
            .query("fieldManager", MANAGER)
            .query("fieldValidation", "Strict")
            .body("application/json", &manifest);
        let answer = self.rest.answer(&call).await?;
        if answer.status == StatusCode::CONFLICT
            && let Some(record) = self.cluster(key).await?
        {
            return Ok(record);
        }
        if answer.status.is_success() { read::cluster(&answer.body) } else { Err(call.refused(&answer)) }
    }

    async fn change_cluster(
        &self,
        key: &ClusterKey,
        spec: &ManagedClusterSpec,
    ) -> Result<(), StatusStoreError> {
        let doing = format!("changing the spec of ManagedCluster {key}");
        let wishes = serde_json::to_value(spec)
            .map_err(|error| LiveError::Malformed { doing: doing.clone(), reason: error.to_string() })?;
        let call = self
            .call(&doing, Method::PATCH, path(MANAGED_CLUSTER, &key.namespace, Some(&key.name)))
            .query("fieldManager", MANAGER)
            .query("fieldValidation", "Strict")
            .body("application/merge-patch+json", &json!({"spec": wishes}));
        self.rest.done(&call).await.map(drop)
    }

    async fn delete_cluster(&self, record: &ClusterRecord) -> Result<(), StatusStoreError> {
        let object = object(MANAGED_CLUSTER, &record.key.namespace, &record.key.name);
        let only = Preconditions { uid: &record.uid, resource_version: Some(&record.resource_version) };
        match self.cluster.delete(&As::Reconciler, &object, only, Run::Real).await? {
            Deleted::Changed => Err(LiveError::Unreachable {
                doing: format!("deleting {object}"),
                reason: "it was changed since it was read: Capstan reads it again".to_owned(),
            }),
            Deleted::Gone | Deleted::Terminating | Deleted::Absent | Deleted::Replaced => Ok(()),
        }
    }

    async fn write_cluster(
        &self,
        record: &ClusterRecord,
        status: &ManagedClusterStatus,
    ) -> Result<String, StatusStoreError> {
        let (status, key) = (serde_json::to_value(status), &record.key);
        let name = (key.namespace.as_str(), key.name.as_str());
        self.write_status(MANAGED_CLUSTER, name, &record.resource_version, status).await
    }

    async fn write_fleet(
        &self,
        record: &FleetRecord,
        status: &FleetStatus,
    ) -> Result<String, StatusStoreError> {
        let (status, key) = (serde_json::to_value(status), &record.key);
        let name = (key.namespace.as_str(), key.name.as_str());
        self.write_status(FLEET, name, &record.resource_version, status).await
    }

    async fn clear_request_of_cluster(&self, key: &ClusterKey) -> Result<(), StatusStoreError> {
        self.heard(MANAGED_CLUSTER, &key.namespace, &key.name).await
    }

    async fn clear_request_of_fleet(&self, key: &FleetKey) -> Result<(), StatusStoreError> {
        self.heard(FLEET, &key.namespace, &key.name).await
    }

    async fn secret(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<Option<BTreeMap<String, SecretString>>, StatusStoreError> {
        let secret = ApiObject {
            kind: ApiKind::of_version("v1", "Secret"),
            namespace: Some(namespace.to_owned()),
            name: name.to_owned(),
        };
        let Some(found) = self.cluster.read(&As::Reconciler, &secret).await? else { return Ok(None) };
        let data = found.get("data").and_then(Value::as_object);
        let read = data.into_iter().flatten().map(|(key, value)| {
            let text = value
                .as_str()
                .and_then(|encoded| STANDARD.decode(encoded).ok())
                .and_then(|bytes| String::from_utf8(bytes).ok());
            match text {
                Some(text) => Ok((key.clone(), SecretString::from(text))),
                None => Err(LiveError::Malformed {
                    doing: format!("reading {secret}"),
                    reason: format!("the value of its key `{key}` is not text"),
                }),
            }
        });
        read.collect::<Result<_, _>>().map(Some)
    }

    async fn note_cluster(&self, record: &ClusterRecord, note: &Note) {
        let key = (record.key.namespace.as_str(), record.key.name.as_str());
        self.note(MANAGED_CLUSTER, key, &record.uid, note).await;
    }

    async fn note_fleet(&self, record: &FleetRecord, note: &Note) {
        let key = (record.key.namespace.as_str(), record.key.name.as_str());
        self.note(FLEET, key, &record.uid, note).await;
    }

    fn changes(&self) -> BoxStream<'static, StatusStoreChange> {
        let api_version = format!("{GROUP}/{VERSION}");
        let kinds = [FLEET, MANAGED_CLUSTER].map(|kind| ApiKind::of_version(&api_version, kind));
        let (_, watched) = channel(kinds.map(|kind| (kind, BTreeMap::new())).into());
        let live = watch::watch(self.cluster.clone(), Some(self.namespace.clone()), watched);
        live.flat_map(|live| {
            let namespace = live.object.namespace.unwrap_or_default();
            let name = live.object.name;
            let change = match (live.change, live.object.kind.as_str()) {
                (ObjectChange::Status, _) => None,
                (_, FLEET) => Some(StatusStoreChange::Fleet(FleetKey { namespace, name })),
                _ => Some(StatusStoreChange::Cluster(ClusterKey { namespace, name })),
            };
            stream::iter(change)
        })
        .boxed()
    }
}

fn regarding(kind: &'static str, object: &Value) -> Regarding {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    Regarding {
        api_version: format!("{GROUP}/{VERSION}"),
        kind,
        namespace: text("/metadata/namespace"),
        name: text("/metadata/name"),
        uid: text("/metadata/uid"),
    }
}

fn object(kind: &'static str, namespace: &str, name: &str) -> ApiObject {
    ApiObject {
        kind: ApiKind::of_version(&format!("{GROUP}/{VERSION}"), kind),
        namespace: Some(namespace.to_owned()),
        name: name.to_owned(),
    }
}

fn path(kind: &'static str, namespace: &str, name: Option<&str>) -> String {
    let plural = if kind == FLEET { "fleets" } else { "managedclusters" };
    let all = format!("/apis/{GROUP}/{VERSION}/namespaces/{namespace}/{plural}");
    name.map_or_else(|| all.clone(), |name| format!("{all}/{name}"))
}

/// A name as a label's value, which may be shorter than a name.
fn label(name: &str) -> &str {
    const LONGEST: usize = 63;
    name.get(..LONGEST).unwrap_or(name).trim_end_matches(['-', '.'])
}
