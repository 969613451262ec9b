//! A Vault that does not answer costs those who ask it some seconds, and nobody else any.

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use capstan_live::secrets::{KvRead, LeaseMethod};
use capstan_ports::{KvSecret, NewLease, Vault, VaultAddress, VaultError, VaultLogin, VaultToken, Vaults};
use capstan_reconciler::reconcile::VaultSecrets;
use secrecy::SecretString;
use serde_json::{Map, Value, json};
use tokio::time::{Instant, timeout};

use super::town::{Tokens, Town};

/// Vaults in memory: who is asked at `https://silent.example.com` never hears anything.
#[derive(Default)]
struct InMemory {
    asked: Arc<Asked>,
}

#[derive(Default)]
struct Asked {
    silent: AtomicUsize,
    now: AtomicUsize,
    most: AtomicUsize,
    is_mended: Mutex<bool>,
}

impl Vaults for InMemory {
    fn open(&self, address: &VaultAddress) -> Result<Arc<dyn Vault>, VaultError> {
        let is_silent = address.url.contains("silent");
        Ok(Arc::new(One { is_silent, asked: Arc::clone(&self.asked) }))
    }
}

struct One {
    is_silent: bool,
    asked: Arc<Asked>,
}

impl One {
    async fn answer<T>(&self, value: T) -> Result<T, VaultError> {
        if self.is_silent && !*self.asked.is_mended.lock().unwrap() {
            self.asked.silent.fetch_add(1, Ordering::SeqCst);
            let now = self.asked.now.fetch_add(1, Ordering::SeqCst) + 1;
            self.asked.most.fetch_max(now, Ordering::SeqCst);
            let _leaves = Leaves(&self.asked.now);
            std::future::pending::<()>().await;
        }
        Ok(value)
    }
}

struct Leaves<'a>(&'a AtomicUsize);

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl Vault for One {
    async fn log_in(&self, _login: &VaultLogin) -> Result<VaultToken, VaultError> {
        let token = SecretString::from("t".to_owned());
        let made = VaultToken { token, accessor: "a".to_owned(), seconds: Some(3600), is_renewable: true };
        self.answer(made).await
    }
    async fn is_alive(&self, _token: &SecretString) -> Result<bool, VaultError> {
        self.answer(true).await
    }
    async fn read(&self, _token: &SecretString, _read: &KvRead) -> Result<KvSecret, VaultError> {
        let fields = json!({"clouds": "c"}).as_object().unwrap().clone();
        self.answer(KvSecret { fields, version: 1 }).await
    }
    async fn lease(
        &self,
        _token: &SecretString,
        _path: &str,
        _method: LeaseMethod,
        _parameters: &Map<String, Value>,
    ) -> Result<NewLease, VaultError> {
        let fields = Map::new();
        self.answer(NewLease { id: String::new(), seconds: 0, is_renewable: false, fields }).await
    }
    async fn knows(&self, _token: &SecretString, _lease: &str) -> Result<bool, VaultError> {
        self.answer(true).await
    }
    async fn renew(&self, _token: &SecretString, _lease: &str, seconds: i64) -> Result<i64, VaultError> {
        self.answer(seconds).await
    }
    async fn revoke(&self, _token: &SecretString, _lease: &str) -> Result<(), VaultError> {
        self.answer(()).await
    }
    async fn renew_self(&self, _token: &SecretString) -> Result<i64, VaultError> {
        self.answer(3600).await
    }
    async fn revoke_self(&self, _token: &SecretString) -> Result<(), VaultError> {
        self.answer(()).await
    }
}

const NAMESPACES: usize = 10;
/// The number of VaultSecrets of the silent Vault in each namespace.
const OF_SILENT: usize = 8;
/// Calls of one Vault at a time.
const CALLS: usize = 4;
/// The longest that is waited for anything here.
const LONGEST: Duration = Duration::from_secs(60);

/// Two stores, and in each namespace VaultSecrets of both; with so long for a call.
async fn town(patience: Duration) -> (Town, Arc<Asked>) {
    let mut town = Town::new().await;
    let vaults = InMemory::default();
    let asked = Arc::clone(&vaults.asked);
    let secrets =
        VaultSecrets::new(Arc::new(vaults), Arc::new(Tokens), "capstan-system").with_patience(patience);
    town.world.vault_secrets = Arc::new(secrets);
    let auth = json!({"jwt": {"path": "jwt", "role": "r", "audience": "vault"}});
    town.store_at("silent", "https://silent.example.com", auth.clone());
    town.store_at("well", "https://well.example.com", auth);
    for number in 0..NAMESPACES {
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": format!("org-{number}")}});
        town.live().put(namespace);
        for (store, count) in [("silent", OF_SILENT), ("well", 1)] {
            for at in 0..count {
                let field = json!({"mount": "kv", "path": "a", "key": "clouds"});
                let spec = json!({"store": store, "data": {"k": field}, "refreshSeconds": 30});
                town.put(&format!("org-{number}"), &format!("{store}-{number}-{at}"), spec);
            }
        }
    }
    (town, asked)
}

/// The silent Vault would take longer than this test may: work that ends has not waited for it.
#[tokio::test]
async fn a_vault_that_does_not_answer_keeps_nobody_waiting_who_asks_another() {
    let (town, asked) = town(Duration::from_secs(3600)).await;
    let ports = town.world.ports();
    let mut found = ports.vault_secrets.look(&ports).await.unwrap();
    assert_eq!(found.due.iter().map(|work| work.store.as_str()).collect::<Vec<_>>(), ["silent", "well"]);
    let (well, silent) = (found.due.pop().unwrap(), found.due.pop().unwrap());
    let mut of_silent = pin!(ports.vault_secrets.work(&ports, silent, &|| false));
    // First, calls wait for the silent Vault.
    let is_asked = async {
        while asked.now.load(Ordering::SeqCst) < CALLS {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        _turns = &mut of_silent => panic!("nobody answered"),
        asked = timeout(LONGEST, is_asked) => asked.unwrap(),
    }
    tokio::select! {
        _turns = &mut of_silent => panic!("nobody answered"),
        turns = timeout(LONGEST, ports.vault_secrets.work(&ports, well, &|| false)) => {
            assert_eq!(turns.unwrap(), NAMESPACES);
        }
    }
    assert_eq!(town.condition("well-3-0"), "True Resolved");
    assert_eq!((asked.silent.load(Ordering::SeqCst), asked.most.load(Ordering::SeqCst)), (CALLS, CALLS));
}

/// However slow this machine is: what is counted are calls, and what is waited for are events.
#[tokio::test]
async fn a_silent_vault_costs_one_wait_and_is_left_alone_afterwards() {
    const PATIENCE: Duration = Duration::from_millis(600);
    let (town, asked) = town(PATIENCE).await;
    let calls = || asked.silent.load(Ordering::SeqCst);
    let begun = Instant::now();
    // Some calls at once, and the next ones after their time and the first pause, which is a quarter longer.
    let most = || {
        let passed = begun.elapsed().as_millis() / (PATIENCE * 9 / 4).as_millis();
        CALLS * (1 + usize::try_from(passed).unwrap())
    };
    assert_eq!(town.pass().await, (OF_SILENT + 1) * NAMESPACES);
    assert!((1..=most()).contains(&calls()), "{} of {}", calls(), most());
    assert_eq!(town.condition("silent-3-7"), "False Away");
    assert_eq!(town.message("silent-3-7"), "the Vault of the VaultStore silent does not answer in time");

    // Nothing new is said.
    town.live().take_writes();
    town.world.pass_time(30);
    town.pass().await;
    let writes = town.live().take_writes();
    assert_eq!(writes.iter().filter(|write| write.contains("silent")).count(), 0, "{writes:?}");

    let before = calls();
    until(&town, &|| calls() > before).await;
    assert!(calls() <= most(), "{} of {}", calls(), most());

    *asked.is_mended.lock().unwrap() = true;
    until(&town, &|| town.condition("silent-3-7") == "True Resolved").await;
}

/// Looks again and again, until that holds.
async fn until(town: &Town, holds: &dyn Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < LONGEST, "{}", town.message("silent-3-7"));
        tokio::time::sleep(Duration::from_millis(100)).await;
        town.world.pass_time(30);
        town.pass().await;
    }
}
