//! A cluster with credentials of its own, everybody who works with them, and processes that are killed before any write.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use capstan_ports::{Clock, Fence, LiveError};
use capstan_reconciler::reconcile::resources::{CloudCredentialsSpec, ConditionType, SecretRef};
use capstan_reconciler::reconcile::{CloudCredentials, ReconcileEnd, ReconcileOutcome};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::fake::FakeCluster;
use super::keystone::{FakeClouds, FakeKeystone};
use super::world::World;

pub(crate) const DAY: i64 = 86_400;
pub(crate) const SECRETS: [&str; 2] = ["peu01-cloud-config", "peu01-cloud-controllers"];
const IN_USE: &str = "capstan.dev/credential-in-use";

/// What holds before every write, and who is killed before which.
pub(crate) struct Watcher {
    keystone: Arc<FakeKeystone>,
    live: Arc<FakeCluster>,
    clock: Arc<dyn Clock>,
    /// Who works with which credential.
    pub(crate) works_with: Mutex<BTreeMap<&'static str, Option<String>>>,
    /// The cluster is gone, and its credentials go.
    pub(crate) is_going: AtomicBool,
    /// Whether time may pass so that nothing can be renewed.
    pub(crate) may_end: AtomicBool,
    writes: AtomicUsize,
    dies_before: Mutex<Option<usize>>,
    dead: Notify,
}

#[async_trait]
impl Fence for Watcher {
    async fn check(&self, doing: &str) -> Result<(), LiveError> {
        self.hold(doing);
        let write = self.writes.fetch_add(1, Ordering::Relaxed) + 1;
        if *self.dies_before.lock().unwrap() == Some(write) {
            self.dead.notify_one();
            std::future::pending::<()>().await;
        }
        Ok(())
    }
}

impl Watcher {
    /// Writes since the last pass began that may be killed.
    pub(crate) fn written(&self) -> usize {
        self.writes.load(Ordering::Relaxed)
    }

    /// What nobody may find otherwise at any moment.
    pub(crate) fn hold(&self, when: &str) {
        if self.is_going.load(Ordering::Relaxed) {
            return;
        }
        let now = self.clock.now();
        let state = self.keystone.state();
        let may_end = self.may_end.load(Ordering::Relaxed);
        let serves = |id: &str| {
            let is_there = state.credentials.get(id).is_some_and(|one| may_end || now < one.expires_at);
            let has_ended = may_end && state.ever.get(id).is_some_and(|end| *end <= now);
            is_there || has_ended || state.taken_away.iter().any(|gone| gone == id)
        };
        for name in SECRETS {
            let Some(secret) = self.live.object("Secret", name) else { continue };
            let current = annotation(&secret, "capstan.dev/credential-id");
            if current.is_empty() {
                // Somebody else's.
                continue;
            }
            assert!(serves(&current), "{when}: {name} holds {current}, which is not valid: {state:#?}");
        }
        for (who, id) in self.works_with.lock().unwrap().iter() {
            let Some(id) = id else { continue };
            assert!(serves(id), "{when}: {who} works with {id}, which is not valid: {state:#?}");
        }
    }
}

pub(crate) fn annotation(object: &Value, key: &str) -> String {
    object["metadata"]["annotations"][key].as_str().unwrap_or_default().to_owned()
}

/// The value of a key of a Secret.
pub(crate) fn content(secret: &Value, key: &str) -> String {
    String::from_utf8(STANDARD.decode(secret["data"][key].as_str().unwrap()).unwrap()).unwrap()
}

pub(crate) struct Town {
    pub(crate) world: World,
    pub(crate) keystone: Arc<FakeKeystone>,
    pub(crate) watcher: Arc<Watcher>,
    /// Seconds since the provider reconciled everything.
    since_sync: i64,
}

impl Town {
    /// The Fleet allows the cloud `eu-1` to `gauss/*`, and `gauss/peu01` uses it.
    pub(crate) fn new() -> Self {
        let world = World::new();
        let clock = world.ports().clock;
        let keystone = FakeKeystone::new(Arc::clone(&clock));
        let watcher = Arc::new(Watcher {
            keystone: Arc::clone(&keystone),
            live: Arc::clone(&world.live),
            clock,
            works_with: Mutex::default(),
            is_going: AtomicBool::new(false),
            may_end: AtomicBool::new(false),
            writes: AtomicUsize::new(0),
            dies_before: Mutex::default(),
            dead: Notify::new(),
        });
        *world.fence.lock().unwrap() = Some(watcher.clone());
        world.fleet.lock().unwrap().spec.cloud_credentials = vec![opened(&["gauss/*"], "eu-1", "eu-1")];
        world.write(
            "gauss/peu01/base/cluster.yaml",
            "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata:\n  name: peu01\n  namespace: org\nspec:\n  paused: false\n",
        );
        world.write("gauss/peu01/capstan.yaml", "cloud: eu-1\n");
        let mut town = Self { world, keystone, watcher, since_sync: 0 };
        town.maker("ops");
        town.provider_runs();
        town.begin_process();
        town
    }

    /// Who makes credentials from now on.
    pub(crate) fn maker(&self, user: &str) {
        self.world.status_store.posted().put_secret("capstan-clouds", "eu-1", "clouds.yaml", user);
    }

    /// A process that remembers nothing.
    pub(crate) fn begin_process(&mut self) {
        let clouds = Arc::new(FakeClouds(Arc::clone(&self.keystone)));
        self.world.cloud_credentials = Arc::new(CloudCredentials::new(clouds));
    }

    /// The objects that Cluster API's OpenStack provider works on.
    fn provider_runs(&self) {
        let labels = json!({"cluster.x-k8s.io/cluster-name": "peu01"});
        for (kind, name, spec) in [
            ("OpenStackCluster", "peu01", json!({"identityRef": {"name": SECRETS[0], "cloudName": "eu-1"}})),
            ("OpenStackMachine", "peu01-cp-0", json!({})),
        ] {
            self.world.live.put(json!({
                "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": kind,
                "metadata": {"name": name, "namespace": "org", "labels": labels}, "spec": spec,
            }));
        }
    }

    pub(crate) fn now(&self) -> jiff::Timestamp {
        self.watcher.clock.now()
    }

    pub(crate) fn secret(&self, name: &str) -> Option<Value> {
        self.world.live.object("Secret", name)
    }

    /// The id of the credential that a Secret holds.
    pub(crate) fn current(&self, name: &str) -> String {
        self.secret(name).map(|secret| annotation(&secret, "capstan.dev/credential-id")).unwrap_or_default()
    }

    /// A pass of a process that lives.
    pub(crate) async fn pass(&self) -> ReconcileOutcome {
        let outcome = self.world.reconcile("gauss/peu01").await;
        self.watcher.hold("after a pass");
        outcome
    }

    /// A pass; `None` where the process was killed before that write, counted from now.
    pub(crate) async fn pass_until(&mut self, dies_before: Option<usize>) -> Option<ReconcileOutcome> {
        self.watcher.writes.store(0, Ordering::Relaxed);
        *self.watcher.dies_before.lock().unwrap() = dies_before;
        let watcher = Arc::clone(&self.watcher);
        let outcome = tokio::select! {
            biased;
            () = watcher.dead.notified() => None,
            outcome = self.world.reconcile("gauss/peu01") => Some(outcome),
        };
        *self.watcher.dies_before.lock().unwrap() = None;
        self.watcher.hold("after a pass");
        if outcome.is_none() {
            self.begin_process();
        }
        outcome
    }

    /// Time passes; the provider reconciles everything at least every ten minutes.
    pub(crate) fn pass_time(&mut self, seconds: i64) {
        self.since_sync += seconds;
        self.world.pass_time(seconds);
        if self.since_sync >= 600 {
            self.since_sync = 0;
            self.provider_takes_up();
        }
    }

    /// The provider reads the Secret, and works with what it holds.
    pub(crate) fn provider_takes_up(&self) {
        self.takes_up("provider", SECRETS[0]);
    }

    /// The provider writes the status of everything, which is seen.
    pub(crate) fn provider_reconciles(&self) {
        self.provider_takes_up();
        let now = self.now().to_string();
        for (kind, name) in [("OpenStackCluster", "peu01"), ("OpenStackMachine", "peu01-cp-0")] {
            self.world.live.change(kind, name, |object| {
                object["metadata"]["managedFields"] =
                    json!([{"manager": "manager", "operation": "Update", "subresource": "status", "time": now}]);
            });
        }
    }

    /// The controllers inside the cluster get the Secret, and an annotation of the Secret names the credential in use.
    pub(crate) fn controllers_take_up(&self) {
        self.takes_up("controllers", SECRETS[1]);
        let id = self.current(SECRETS[1]);
        if self.secret(SECRETS[1]).is_some() {
            self.world.live.change("Secret", SECRETS[1], |secret| {
                secret["metadata"]["annotations"][IN_USE] = id.into();
            });
        }
    }

    fn takes_up(&self, who: &'static str, name: &str) {
        if self.secret(name).is_some() {
            self.watcher.works_with.lock().unwrap().insert(who, Some(self.current(name)));
        }
    }

    /// Credentials of the user that no Secret names.
    pub(crate) fn orphans(&self, user: &str) -> Vec<String> {
        let secrets: Vec<Value> = SECRETS.iter().filter_map(|name| self.secret(name)).collect();
        let is_named = |id: &String| {
            secrets.iter().any(|secret| {
                annotation(secret, "capstan.dev/credential-id") == *id
                    || annotation(secret, "capstan.dev/credential-previous").contains(&format!("\"{id}\""))
            })
        };
        self.keystone.ids(user).into_iter().filter(|id| !is_named(id)).collect()
    }

    pub(crate) fn condition(&self) -> String {
        self.world.condition("gauss-peu01", ConditionType::CredentialsPublished)
    }

    pub(crate) fn condition_message(&self) -> String {
        let status = self.world.status("gauss-peu01");
        status.conditions.of(ConditionType::CredentialsPublished).unwrap().message.clone()
    }

    /// The folder says that the cluster goes.
    pub(crate) fn delete_cluster(&self) {
        self.world.write("gauss/peu01/capstan.yaml", "cloud: eu-1\ndelete: cluster\n");
        // Who works with them goes with the machines.
        self.watcher.works_with.lock().unwrap().clear();
        self.watcher.is_going.store(true, Ordering::Relaxed);
    }
}

/// An entry of a Fleet's `cloudCredentials`, with credentials of 30 days.
pub(crate) fn opened(clusters: &[&str], cloud: &str, secret: &str) -> CloudCredentialsSpec {
    CloudCredentialsSpec {
        clusters: clusters.iter().map(|pattern| (*pattern).to_owned()).collect(),
        cloud: cloud.to_owned(),
        secret_ref: SecretRef { namespace: "capstan-clouds".to_owned(), name: secret.to_owned() },
        lifetime_seconds: 2_592_000,
    }
}

/// Whether everything of the cluster is gone.
pub(crate) fn is_removed(outcome: &ReconcileOutcome) -> bool {
    matches!(outcome.ended, ReconcileEnd::Removed)
}
