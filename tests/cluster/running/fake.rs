//! A management cluster in memory: objects, namespaces, kinds, server-side apply with one manager's fields
//! removed again, defaults and webhooks as functions, and a log of what was asked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use capstan_live::applying::ApiRefusal;
use capstan_model::object::FieldPath;
use capstan_ports::{
    ApiKind, ApiObject, As, Contested, Deleted, HeldRights, KindScope, KindsInNamespaces, LiveChanges,
    LiveError, ManagementCluster, ObjectPart, Post, Preconditions, Run, Watched,
};
use serde_json::{Map, Value, json};

/// One request that reached the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) verb: &'static str,
    pub(crate) object: String,
    pub(crate) is_real: bool,
}

/// Says no: status and message.
pub(crate) type Webhook = Box<dyn Fn(Option<&Value>, &Value) -> Option<(u16, String)> + Send + Sync>;
/// Fills in what a manifest leaves out.
pub(crate) type Defaults = Box<dyn Fn(&mut Value) + Send + Sync>;

pub(crate) type Key = (String, String, Option<String>, String);

/// What the server holds.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) objects: BTreeMap<Key, Value>,
    /// The rights in each namespace, the same for every account.
    pub(crate) rights: BTreeMap<String, Vec<Value>>,
    applied: BTreeMap<Key, Value>,
    pub(crate) log: Vec<Request>,
    /// Every content that was ever written under a name.
    pub(crate) forms: BTreeMap<String, BTreeSet<String>>,
    webhooks: Vec<Webhook>,
    defaults: Vec<Defaults>,
    /// Every object that was read by its name.
    pub(crate) reads: BTreeSet<String>,
    /// The kind of every list, one after the other.
    pub(crate) lists: Vec<String>,
    /// What controllers make of an object once it was written for real.
    pub(crate) reactions: Vec<Defaults>,
    pub(crate) counter: u64,
    /// After so many real writes the server is gone, before it does the next one.
    pub(crate) dies_after: Option<usize>,
    /// After so many real writes the server is gone, after it did the last one but before it answered.
    pub(crate) answers: bool,
    pub(crate) kinds: BTreeMap<(String, String), KindScope>,
    /// The name of an object whose deletion a webhook refuses.
    pub(crate) refuses_deletion: Option<String>,
    /// Removes the object of that name just before it is applied for real.
    pub(crate) loses_before_write: Option<String>,
    /// Somebody makes that object just before it is written for real.
    pub(crate) makes_before_write: Option<Value>,
    /// Kinds that may not be listed.
    pub(crate) refused_lists: BTreeSet<String>,
    /// Why it does not answer.
    pub(crate) is_away: Option<String>,
    /// Groups whose server does not answer.
    pub(crate) unread: BTreeSet<String>,
    /// Where there are some, requests take their time, and are counted.
    pub(crate) crowds: Vec<Arc<Crowd>>,
    /// Changes an object just before it is deleted for real.
    pub(crate) touches_before_delete: Option<Touch>,
}

/// How many requests were under way at a time.
#[derive(Default)]
pub(crate) struct Crowd {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Crowd {
    /// At most.
    pub(crate) fn most(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }
}

/// Changes an object.
pub(crate) type Touch = Box<dyn FnOnce(&mut Value) + Send>;

/// A management cluster in memory.
pub(crate) struct FakeCluster {
    state: Mutex<State>,
}

pub(crate) const UID: &str = "6f1c0000-0000-4000-8000-000000000001";

impl FakeCluster {
    /// One with the kinds that the tests use, and these namespaces.
    pub(crate) fn new(namespaces: &[&str]) -> Self {
        let mut state = State { answers: true, ..State::default() };
        for (group, kind) in [
            ("", "ConfigMap"),
            ("", "Secret"),
            ("", "ServiceAccount"),
            ("capstan.dev", "ManagedProvider"),
            ("cluster.x-k8s.io", "Cluster"),
            ("cluster.x-k8s.io", "ClusterClass"),
            ("cluster.x-k8s.io", "MachineDeployment"),
            ("cluster.x-k8s.io", "MachineSet"),
            ("cluster.x-k8s.io", "Machine"),
            ("cluster.x-k8s.io", "MachinePool"),
            ("cluster.x-k8s.io", "MachineHealthCheck"),
            ("controlplane.cluster.x-k8s.io", "KubeadmControlPlane"),
            ("addons.cluster.x-k8s.io", "ClusterResourceSet"),
            ("addons.cluster.x-k8s.io", "HelmChartProxy"),
            ("bootstrap.cluster.x-k8s.io", "KubeadmConfigTemplate"),
            ("infrastructure.cluster.x-k8s.io", "DevCluster"),
            ("infrastructure.cluster.x-k8s.io", "DevMachineTemplate"),
            ("infrastructure.cluster.x-k8s.io", "OpenStackCluster"),
            ("infrastructure.cluster.x-k8s.io", "OpenStackMachineTemplate"),
            ("openstack.k-orc.cloud", "Image"),
            ("openstack.k-orc.cloud", "SecurityGroup"),
            ("operator.cluster.x-k8s.io", "CoreProvider"),
            ("operator.cluster.x-k8s.io", "InfrastructureProvider"),
        ] {
            state.kinds.insert((group.to_owned(), kind.to_owned()), KindScope::Namespaced);
        }
        for (group, kind) in [("", "Namespace"), ("rbac.authorization.k8s.io", "ClusterRoleBinding")] {
            state.kinds.insert((group.to_owned(), kind.to_owned()), KindScope::Cluster);
        }
        let cluster = Self { state: Mutex::new(state) };
        for namespace in namespaces {
            cluster.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}));
        }
        cluster
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Puts an object there as another client.
    pub(crate) fn put(&self, object: Value) {
        let mut state = self.state();
        let key = key_of(&object);
        let object = state.complete(&key, object, "somebody");
        state.objects.insert(key, object);
    }

    /// Puts an object there as `kubectl apply` does.
    pub(crate) fn put_by_kubectl(&self, object: Value) {
        let mut state = self.state();
        let key = key_of(&object);
        let object = state.complete(&key, object, "kubectl-client-side-apply");
        state.objects.insert(key, object);
    }

    /// Changes a live object as another client.
    pub(crate) fn change(&self, kind: &str, name: &str, change: impl FnOnce(&mut Value)) {
        let mut state = self.state();
        let key = state.objects.keys().find(|key| key.1 == kind && key.3 == name).unwrap().clone();
        let mut object = state.objects[&key].clone();
        change(&mut object);
        state.counter += 1;
        object["metadata"]["resourceVersion"] = json!(state.counter.to_string());
        state.objects.insert(key, object);
    }

    /// Whether it answers at all.
    fn answers(&self, doing: &str) -> Result<(), LiveError> {
        match self.state().is_away.clone() {
            Some(reason) => Err(LiveError::Unreachable { doing: doing.to_owned(), reason }),
            None => Ok(()),
        }
    }

    /// A request takes its time, where that is wanted.
    async fn linger(&self) {
        let crowds = self.state().crowds.clone();
        if crowds.is_empty() {
            return;
        }
        for crowd in &crowds {
            let now = crowd.now.fetch_add(1, Ordering::SeqCst) + 1;
            crowd.most.fetch_max(now, Ordering::SeqCst);
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        for crowd in &crowds {
            crowd.now.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Also serves these kinds: groups, kinds and scopes.
    pub(crate) fn serve(&self, kinds: &[(&str, &str, KindScope)]) {
        let mut state = self.state();
        for (group, kind, scope) in kinds {
            state.kinds.insert(((*group).to_owned(), (*kind).to_owned()), *scope);
        }
    }

    /// Removes a live object as another client.
    pub(crate) fn remove(&self, kind: &str, name: &str) {
        let mut state = self.state();
        state.objects.retain(|key, _| !(key.1 == kind && key.3 == name));
        state.applied.retain(|key, _| !(key.1 == kind && key.3 == name));
    }

    pub(crate) fn object(&self, kind: &str, name: &str) -> Option<Value> {
        let state = self.state();
        state.objects.iter().find(|(key, _)| key.1 == kind && key.3 == name).map(|(_, value)| value.clone())
    }

    /// Names of the live objects of a kind.
    pub(crate) fn names(&self, kind: &str) -> Vec<String> {
        self.state().objects.keys().filter(|key| key.1 == kind).map(|key| key.3.clone()).collect()
    }

    pub(crate) fn webhook(
        &self,
        says: impl Fn(Option<&Value>, &Value) -> Option<(u16, String)> + Send + Sync + 'static,
    ) {
        self.state().webhooks.push(Box::new(says));
    }

    pub(crate) fn default_by(&self, fill: impl Fn(&mut Value) + Send + Sync + 'static) {
        self.state().defaults.push(Box::new(fill));
    }

    /// What was written for real since it was asked last: `apply ConfigMap org/a`.
    pub(crate) fn take_writes(&self) -> Vec<String> {
        let mut state = self.state();
        let writes = state
            .log
            .iter()
            .filter(|request| request.is_real)
            .map(|request| format!("{} {}", request.verb, request.object))
            .collect();
        state.log.clear();
        writes
    }
}

impl State {
    /// What the server adds to an object.
    fn complete(&mut self, key: &Key, mut object: Value, manager: &str) -> Value {
        self.counter += 1;
        let before = self.objects.get(key);
        let metadata = |field: &str| before.and_then(|before| before["metadata"].get(field)).cloned();
        let uid = metadata("uid").unwrap_or_else(|| json!(format!("uid-{}", self.counter)));
        let generation = metadata("generation").and_then(|value| value.as_i64()).unwrap_or(0);
        let is_new_wish = before.is_none_or(|before| before.get("spec") != object.get("spec"));
        let fields = json!({"manager": manager, "operation": if manager == "capstan" { "Apply" } else { "Update" },
            "apiVersion": object["apiVersion"], "fieldsType": "FieldsV1", "fieldsV1": fields_of(&object)});
        let mut managed: Vec<Value> =
            metadata("managedFields").and_then(|fields| fields.as_array().cloned()).unwrap_or_default();
        managed.retain(|entry| entry["manager"] != manager);
        managed.push(fields);
        object["metadata"]["uid"] = uid;
        object["metadata"]["generation"] = json!(generation + i64::from(is_new_wish));
        object["metadata"]["resourceVersion"] = json!(self.counter.to_string());
        object["metadata"]["managedFields"] = json!(managed);
        object
    }

    /// The object as server-side apply would leave it.
    fn applied(&mut self, key: &Key, manifest: &Value) -> Result<Value, (u16, Value)> {
        let before = self.objects.get(key).cloned();
        let mut object = before.clone().unwrap_or_else(|| json!({}));
        if let Some(earlier) = self.applied.get(key) {
            remove_dropped(&mut object, earlier, manifest);
        }
        merge(&mut object, manifest);
        for fill in &self.defaults {
            fill(&mut object);
        }
        for says in &self.webhooks {
            if let Some((status, message)) = says(before.as_ref(), &object) {
                let reason = match status {
                    403 => "Forbidden",
                    ..500 => "Invalid",
                    _ => "InternalError",
                };
                return Err((status, json!({"kind": "Status", "message": message, "reason": reason})));
            }
        }
        let same = before.as_ref().is_some_and(|before| {
            without_bookkeeping(before) == without_bookkeeping(&object) && self.applied.contains_key(key)
        });
        if same && let Some(before) = before {
            return Ok(before);
        }
        let manager_fields = manifest.clone();
        let mut completed = self.complete(key, object, "capstan");
        let entries = completed["metadata"]["managedFields"].as_array_mut().unwrap();
        for entry in entries.iter_mut().filter(|entry| entry["manager"] == "capstan") {
            entry["fieldsV1"] = fields_of(&manager_fields);
        }
        Ok(completed)
    }

    fn missing(&self, object: &ApiObject) -> Option<(u16, Value)> {
        let kind = (object.kind.group.clone(), object.kind.kind.clone());
        match self.kinds.get(&kind) {
            None => Some((404, json!({"message": "the server could not find the requested resource"}))),
            Some(KindScope::Cluster) => None,
            Some(KindScope::Namespaced) => {
                let namespace = object.namespace.clone().unwrap_or_default();
                let there = self.objects.contains_key(&(
                    String::new(),
                    "Namespace".to_owned(),
                    None,
                    namespace.clone(),
                ));
                (!there).then(|| {
                    (404, json!({"message": format!("namespaces \"{namespace}\" not found"), "reason": "NotFound",
                        "details": {"kind": "namespaces", "name": namespace}}))
                })
            }
        }
    }

    /// What became of an object that was written for real: definitions bring kinds, and controllers do their part.
    pub(crate) fn written(&mut self, key: &Key) {
        let Some(mut object) = self.objects.get(key).cloned() else { return };
        if key.1 == "CustomResourceDefinition" {
            let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            let scope =
                if text("/spec/scope") == "Cluster" { KindScope::Cluster } else { KindScope::Namespaced };
            self.kinds.insert((text("/spec/group").to_owned(), text("/spec/names/kind").to_owned()), scope);
        }
        self.reactions.iter().for_each(|react| react(&mut object));
        self.objects.insert(key.clone(), object);
    }

    /// Whether the server is gone before it does a real write.
    pub(crate) fn is_dead(&mut self) -> bool {
        match &mut self.dies_after {
            Some(0) => true,
            Some(left) => {
                *left -= 1;
                false
            }
            None => false,
        }
    }
}

fn key_of(object: &Value) -> Key {
    let id = capstan_live::live_objects::identity(object).unwrap();
    (id.group, id.kind, id.namespace, id.name)
}

fn fields_of(value: &Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(
            map.iter()
                .filter(|(key, _)| {
                    !matches!(
                        key.as_str(),
                        "apiVersion" | "kind" | "managedFields" | "uid" | "resourceVersion" | "generation"
                    )
                })
                .map(|(key, value)| (format!("f:{key}"), fields_of(value)))
                .collect::<Map<_, _>>(),
        ),
        _ => json!({}),
    }
}

/// Takes out what was applied earlier and is not applied now.
fn remove_dropped(object: &mut Value, earlier: &Value, now: &Value) {
    let (Some(object), Some(earlier)) = (object.as_object_mut(), earlier.as_object()) else { return };
    for (key, was) in earlier {
        match now.get(key) {
            None => {
                object.remove(key);
            }
            Some(is) => {
                if let Some(inner) = object.get_mut(key) {
                    remove_dropped(inner, was, is);
                }
            }
        }
    }
}

fn merge(object: &mut Value, manifest: &Value) {
    match (object, manifest) {
        (Value::Object(object), Value::Object(manifest)) => {
            for (key, value) in manifest {
                merge(object.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (object, manifest) => *object = manifest.clone(),
    }
}

fn without_bookkeeping(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for key in ["uid", "generation", "resourceVersion", "managedFields"] {
            metadata.remove(key);
        }
    }
    object
}

pub(super) fn refused(doing: &str, (status, body): (u16, Value)) -> LiveError {
    LiveError::Refused { doing: doing.to_owned(), refusal: ApiRefusal::read(status, &body) }
}

pub(super) fn gone(doing: &str) -> LiveError {
    LiveError::Unreachable { doing: doing.to_owned(), reason: "connection refused".to_owned() }
}

#[async_trait]
impl ManagementCluster for FakeCluster {
    async fn uid(&self) -> Result<String, LiveError> {
        Ok(UID.to_owned())
    }

    async fn version(&self) -> Result<String, LiveError> {
        self.linger().await;
        self.answers("asking for the version")?;
        Ok("v1.36.3".to_owned())
    }

    async fn rights(&self, _by: &As, namespace: &str) -> Result<HeldRights, LiveError> {
        let rules = self.state().rights.get(namespace).cloned().unwrap_or_default();
        Ok(HeldRights { rules, is_whole: true })
    }

    async fn read(&self, _by: &As, object: &ApiObject) -> Result<Option<Value>, LiveError> {
        self.linger().await;
        let id = object.id();
        let mut state = self.state();
        state.reads.insert(object.to_string());
        Ok(state.objects.get(&(id.group, id.kind, id.namespace, id.name)).cloned())
    }

    async fn list(
        &self,
        _by: &As,
        kind: &ApiKind,
        namespace: Option<&str>,
        labels: &[(&str, &str)],
    ) -> Result<Vec<Value>, LiveError> {
        self.linger().await;
        let has =
            |object: &Value| labels.iter().all(|(key, value)| object["metadata"]["labels"][*key] == **value);
        let mut state = self.state();
        state.lists.push(kind.kind.clone());
        if state.refused_lists.contains(&kind.kind) {
            let body = json!({"kind": "Status", "message": "forbidden: no", "reason": "Forbidden"});
            return Err(refused(&format!("listing {kind}"), (403, body)));
        }
        let found = state.objects.iter().filter(|(key, value)| {
            key.0 == kind.group
                && key.1 == kind.kind
                && (namespace.is_none() || key.2.as_deref() == namespace)
                && has(value)
        });
        Ok(found.map(|(_, value)| value.clone()).collect())
    }

    async fn label(&self, by: &As, manifest: &Value) -> Result<Value, LiveError> {
        self.apply(by, manifest, Run::Real, Contested::Refuse).await
    }

    async fn list_metadata(&self, by: &As, kind: &ApiKind, namespace: &str) -> Result<Vec<Value>, LiveError> {
        let found = self.list(by, kind, Some(namespace), &[]).await?;
        let metadata = |one: Value| json!({"apiVersion": one["apiVersion"], "kind": one["kind"], "metadata": one["metadata"]});
        Ok(found.into_iter().map(metadata).collect())
    }

    async fn warnings(&self, by: &As, namespace: &str) -> Result<Vec<Value>, LiveError> {
        let events = self.list(by, &ApiKind::of_version("v1", "Event"), Some(namespace), &[]).await?;
        Ok(events.into_iter().filter(|event| event["type"] == "Warning").collect())
    }

    async fn apply(
        &self,
        _by: &As,
        manifest: &Value,
        run: Run,
        _contested: Contested,
    ) -> Result<Value, LiveError> {
        self.linger().await;
        let object = ApiObject::of(manifest).unwrap();
        let doing = format!("applying {object}");
        self.answers(&doing)?;
        let mut state = self.state();
        if run == Run::Real && state.answers && state.is_dead() {
            return Err(gone(&doing));
        }
        state.log.push(Request { verb: "apply", object: object.to_string(), is_real: run == Run::Real });
        if let Some(missing) = state.missing(&object) {
            return Err(refused(&doing, missing));
        }
        let key = key_of(manifest);
        if run == Run::Real
            && let Some(name) = state.loses_before_write.take_if(|name| **name == key.3)
        {
            state.objects.retain(|key, _| key.3 != name);
            state.applied.retain(|key, _| key.3 != name);
        }
        if run == Run::Real
            && let Some(made) = state.makes_before_write.take_if(|made| key_of(made) == key)
        {
            state.objects.insert(key.clone(), made);
            state.written(&key);
        }
        let mut manifest = manifest.clone();
        if let Some(metadata) = manifest["metadata"].as_object_mut() {
            for field in ["uid", "resourceVersion"] {
                let wanted = metadata.remove(field);
                let live = state.objects.get(&key);
                let is = live.and_then(|live| live["metadata"].get(field)).cloned();
                // As the API server does it: a resource version counts where there is an object.
                let counts = live.is_some() || field == "uid";
                if counts && wanted.is_some() && wanted != is {
                    let body = json!({"message": "the object has been modified", "reason": "Conflict"});
                    return Err(refused(&doing, (409, body)));
                }
            }
        }
        let result = state.applied(&key, &manifest).map_err(|no| refused(&doing, no))?;
        if run == Run::Real {
            state.objects.insert(key.clone(), result.clone());
            state.applied.insert(key.clone(), manifest.clone());
            state.written(&key);
            let result = state.objects[&key].clone();
            state.forms.entry(object.to_string()).or_default().insert(manifest.to_string());
            if !state.answers && state.is_dead() {
                return Err(gone(&doing));
            }
            return Ok(result);
        }
        Ok(result)
    }

    async fn dry_run_create(&self, _by: &As, manifest: &Value) -> Result<Value, LiveError> {
        let object = ApiObject::of(manifest).unwrap();
        let mut state = self.state();
        state.log.push(Request { verb: "create", object: object.to_string(), is_real: false });
        if let Some(missing) = state.missing(&object) {
            return Err(refused("creating", missing));
        }
        let mut created = manifest.clone();
        for fill in &state.defaults {
            fill(&mut created);
        }
        Ok(created)
    }

    async fn patch(
        &self,
        _by: &As,
        object: &ApiObject,
        part: ObjectPart,
        patch: &Value,
        run: Run,
    ) -> Result<Value, LiveError> {
        super::passes::patch(&mut self.state(), object, part, patch, run)
    }

    async fn delete(
        &self,
        _by: &As,
        object: &ApiObject,
        only: Preconditions<'_>,
        run: Run,
    ) -> Result<Deleted, LiveError> {
        let id = object.id();
        let key = (id.group, id.kind, id.namespace, id.name);
        let mut state = self.state();
        if run == Run::Real && state.is_dead() {
            return Err(gone("deleting"));
        }
        if run == Run::Real
            && let Some(touch) = state.touches_before_delete.take()
            && let Some(found) = state.objects.get_mut(&key)
        {
            touch(found);
            state.counter += 1;
            let version = json!(state.counter.to_string());
            state.objects.get_mut(&key).unwrap()["metadata"]["resourceVersion"] = version;
        }
        let Some(found) = state.objects.get(&key) else { return Ok(Deleted::Absent) };
        if found["metadata"]["uid"] != only.uid {
            return Ok(Deleted::Replaced);
        }
        if only.resource_version.is_some_and(|version| found["metadata"]["resourceVersion"] != version) {
            return Ok(Deleted::Changed);
        }
        state.log.push(Request { verb: "delete", object: object.to_string(), is_real: run == Run::Real });
        if state.refuses_deletion.as_deref() == Some(object.name.as_str()) {
            let message = "admission webhook \"v.example.com\" denied the request: in use";
            return Err(refused("deleting", (403, json!({"message": message, "reason": "Forbidden"}))));
        }
        if run == Run::Real {
            state.objects.remove(&key);
            state.applied.remove(&key);
        }
        Ok(Deleted::Gone)
    }

    async fn take_over(
        &self,
        _by: &As,
        object: &ApiObject,
        from: &[String],
        let_go: &[FieldPath],
    ) -> Result<(), LiveError> {
        let id = object.id();
        let key = (id.group, id.kind, id.namespace, id.name);
        let mut state = self.state();
        state.log.push(Request { verb: "take over", object: object.to_string(), is_real: true });
        if let Some(found) = state.objects.get(&key).cloned() {
            let mut manifest = if from.is_empty() {
                state.applied.get(&key).cloned().unwrap_or_default()
            } else {
                manifest_of(&found)
            };
            for field in let_go {
                let pointer = field.to_string();
                let (parent, name) = pointer.rsplit_once('/').unwrap();
                if let Some(parent) = manifest.pointer_mut(parent).and_then(Value::as_object_mut) {
                    parent.remove(name);
                }
            }
            state.applied.insert(key.clone(), manifest);
            let managed = capstan_live::applying::taken_over(&found, from, let_go);
            if let (Some(managed), Some(found)) = (managed, state.objects.get_mut(&key)) {
                found["metadata"]["managedFields"] = managed;
            }
        }
        Ok(())
    }

    async fn kinds_in_namespaces(&self) -> Result<KindsInNamespaces, LiveError> {
        let kinds = self.state().kinds.clone();
        let own = kinds.into_iter().filter(|(_, scope)| *scope == KindScope::Namespaced);
        let kinds = own.map(|((group, kind), _)| ApiKind::preferred(group, kind)).collect();
        Ok(KindsInNamespaces { kinds, unread: self.state().unread.clone() })
    }

    async fn scope(&self, kind: &ApiKind) -> Result<Option<KindScope>, LiveError> {
        Ok(self.state().kinds.get(&(kind.group.clone(), kind.kind.clone())).copied())
    }

    fn watch(&self, _watched: tokio::sync::watch::Receiver<Watched>) -> LiveChanges {
        Box::pin(futures_util::stream::pending())
    }

    fn watch_posts(&self, _by: As, _posts: tokio::sync::watch::Receiver<BTreeSet<Post>>) -> LiveChanges {
        Box::pin(futures_util::stream::pending())
    }
}

/// The manifest that leads to an object when it is applied.
fn manifest_of(object: &Value) -> Value {
    let mut manifest = without_bookkeeping(object);
    if let Some(fields) = manifest.as_object_mut() {
        fields.remove("status");
    }
    manifest
}
