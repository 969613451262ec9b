//! Namespaces, stores and VaultSecrets on a management cluster in memory, and processes that come and go.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use capstan_ports::{
    Fence, KindScope, LiveError, ServiceAccount, ServiceAccountTokens, VaultAddress, VaultLogin, Vaults as _,
};
use capstan_reconciler::reconcile::VaultSecrets;
use capstan_vault::VaultServers;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::vault::{CANARY, FakeVault, jwt};
use crate::running::fake::FakeCluster;
use crate::running::world::World;

/// Tokens as the tests' own API server signs them.
pub(super) struct Tokens;

#[async_trait]
impl ServiceAccountTokens for Tokens {
    async fn token(
        &self,
        account: &ServiceAccount,
        audience: Option<&str>,
    ) -> Result<SecretString, LiveError> {
        Ok(SecretString::from(jwt(&account.namespace, &account.name, audience.unwrap_or("kubernetes"))))
    }
}

/// Who is killed before which write.
#[derive(Default)]
struct Killer {
    writes: AtomicUsize,
    before: Mutex<Option<usize>>,
    dead: Notify,
}

#[async_trait]
impl Fence for Killer {
    async fn check(&self, _doing: &str) -> Result<(), LiveError> {
        let write = self.writes.fetch_add(1, Ordering::Relaxed) + 1;
        if *self.before.lock().unwrap() == Some(write) {
            self.dead.notify_one();
            std::future::pending::<()>().await;
        }
        Ok(())
    }
}

pub(super) struct Town {
    pub(super) world: World,
    pub(super) vault: FakeVault,
    killer: Arc<Killer>,
}

impl Town {
    /// The namespaces `org-acme` and `org-beta`, a Vault with a role for each of them, and the store `eu`.
    pub(super) async fn new() -> Self {
        let mut world = World::new();
        let clock = world.ports().clock;
        let vault = FakeVault::start(clock).await;
        let killer: Arc<Killer> = Arc::default();
        *world.fence.lock().unwrap() = Some(killer.clone());
        world.live.serve(&[
            ("capstan.dev", "VaultStore", KindScope::Namespaced),
            ("capstan.dev", "VaultSecret", KindScope::Namespaced),
            ("events.k8s.io", "Event", KindScope::Namespaced),
        ]);
        for namespace in ["capstan-system", "org-acme", "org-beta"] {
            world.live.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}));
            vault.role(&format!("capstan-{namespace}"));
        }
        world.status_store.posted().fleets.push(world.fleet.lock().unwrap().clone());
        world.vault_secrets = remembers_nothing();
        let town = Self { world, vault, killer };
        town.store(json!({"jwt": {"path": "jwt", "role": "capstan-{namespace}", "audience": "vault"}}));
        town
    }

    pub(super) fn live(&self) -> &FakeCluster {
        &self.world.live
    }

    /// The store `eu`, with that way to log in.
    pub(super) fn store(&self, auth: Value) {
        self.store_at("eu", &self.vault.url, auth);
    }

    /// A store of that name, for a Vault.
    pub(super) fn store_at(&self, name: &str, url: &str, auth: Value) {
        self.live().put(json!({
            "apiVersion": "capstan.dev/v1alpha1", "kind": "VaultStore",
            "metadata": {"name": name, "namespace": "capstan-system"},
            "spec": {"url": url, "auth": auth, "namespaces": ["org-*"]},
        }));
    }

    /// The store `eu`, with a token that somebody made and that may do everything with leases.
    pub(super) async fn token_store(&self) {
        self.vault.role("approle");
        let policy = ["kv/data/*", "database/creds/*", "sys/leases/revoke"].map(str::to_owned).to_vec();
        self.vault.state().roles.get_mut("approle").unwrap().policy = policy;
        let address = VaultAddress { url: self.vault.url.clone(), ca: None, namespace: None };
        let login = VaultLogin::AppRole {
            path: "approle".to_owned(),
            role_id: SecretString::from("role-of-all"),
            secret_id: SecretString::from(format!("{CANARY}-secret-id")),
        };
        let token = VaultServers.open(&address).unwrap().log_in(&login).await.unwrap().token;
        let text = token.expose_secret();
        self.world.status_store.posted().put_secret("capstan-system", "token", "token", text);
        self.store(json!({"token": {"secretName": "token"}}));
    }

    /// Somebody edits the spec of a VaultSecret.
    pub(super) fn edit(&self, name: &str, edit: impl FnOnce(&mut Value)) {
        self.live().change("VaultSecret", name, |object| {
            edit(&mut object["spec"]);
            let generation = object["metadata"]["generation"].as_i64().unwrap_or(1);
            object["metadata"]["generation"] = json!(generation + 1);
        });
    }

    /// Somebody applies a VaultSecret.
    pub(super) fn put(&self, namespace: &str, name: &str, mut spec: Value) {
        if spec.get("store").is_none() {
            spec["store"] = json!("eu");
        }
        self.live().put(json!({
            "apiVersion": "capstan.dev/v1alpha1", "kind": "VaultSecret",
            "metadata": {"name": name, "namespace": namespace}, "spec": spec,
        }));
    }

    /// One with the key `clouds.yaml`, which is the field `clouds` of that path.
    pub(super) fn put_field(&self, namespace: &str, name: &str, path: &str, version: Option<u64>) {
        let field = json!({"mount": "kv", "path": path, "key": "clouds", "version": version});
        self.put(namespace, name, json!({"data": {"clouds.yaml": field}, "refreshSeconds": 60}));
    }

    /// A process that remembers nothing.
    pub(super) fn begin_process(&mut self) {
        self.world.vault_secrets = remembers_nothing();
    }

    /// A pass of a process that lives; how many had their turn.
    pub(super) async fn pass(&self) -> usize {
        let ports = self.world.ports();
        ports.vault_secrets.pass(&ports, &|| false).await.unwrap().turns
    }

    /// A pass; whether the process was killed before that write.
    pub(super) async fn pass_until(&mut self, dies_before: usize) -> bool {
        self.killer.writes.store(0, Ordering::Relaxed);
        *self.killer.before.lock().unwrap() = Some(dies_before);
        let (killer, ports) = (Arc::clone(&self.killer), self.world.ports());
        let is_dead = tokio::select! {
            biased;
            () = killer.dead.notified() => true,
            _ = ports.vault_secrets.pass(&ports, &|| false) => false,
        };
        *self.killer.before.lock().unwrap() = None;
        if is_dead {
            self.begin_process();
        }
        is_dead
    }

    /// What a Secret holds, by keys; `None` where it is not there.
    pub(super) fn secret(&self, name: &str) -> Option<BTreeMap<String, String>> {
        let secret = self.live().object("Secret", name)?;
        let text =
            |value: &Value| String::from_utf8(STANDARD.decode(value.as_str().unwrap()).unwrap()).unwrap();
        Some(
            secret["data"]
                .as_object()
                .unwrap()
                .iter()
                .map(|(key, value)| (key.clone(), text(value)))
                .collect(),
        )
    }

    /// The value of a key of a Secret.
    pub(super) fn value(&self, name: &str, key: &str) -> Option<String> {
        self.secret(name)?.get(key).cloned()
    }

    /// `True Resolved`, `False Denied`.
    pub(super) fn condition(&self, name: &str) -> String {
        let found = self.live().object("VaultSecret", name).unwrap();
        let condition = &found["status"]["conditions"][0];
        format!("{} {}", text(condition, "status"), text(condition, "reason"))
    }

    pub(super) fn message(&self, name: &str) -> String {
        text(&self.live().object("VaultSecret", name).unwrap()["status"]["conditions"][0], "message")
    }

    /// Reasons of the events on a VaultSecret, in the order of their times.
    pub(super) fn events(&self, name: &str) -> Vec<String> {
        let state = self.live().state();
        let mut events: Vec<(String, String)> = state
            .objects
            .values()
            .filter(|object| object["kind"] == "Event" && object["regarding"]["name"] == name)
            .map(|event| (text(event, "eventTime"), text(event, "reason")))
            .collect();
        events.sort();
        events.into_iter().map(|(_, reason)| reason).collect()
    }

    /// Somebody deletes a VaultSecret; it goes when nothing holds it.
    pub(super) fn delete(&self, name: &str) {
        self.live().change("VaultSecret", name, |object| {
            object["metadata"]["deletionTimestamp"] = json!("2026-11-01T00:00:00Z");
        });
    }

    /// All objects of the management cluster except Secrets, as text.
    pub(super) fn everything_but_secrets(&self) -> String {
        let state = self.live().state();
        let objects = state.objects.values().filter(|object| object["kind"] != "Secret");
        objects.map(Value::to_string).collect::<Vec<_>>().join("\n")
    }
}

fn remembers_nothing() -> Arc<VaultSecrets> {
    Arc::new(VaultSecrets::new(Arc::new(VaultServers), Arc::new(Tokens), "capstan-system"))
}

pub(super) fn text(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}
