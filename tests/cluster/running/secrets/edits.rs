//! An edited VaultSecret: the earlier Secret or lease stays until the new one exists, and ends then.

use capstan_ports::{VaultAddress, VaultLogin, Vaults as _};
use capstan_vault::VaultServers;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};

use super::town::Town;
use super::vault::{CANARY, Engine, FakeVault};

const DATABASE: &str = "database/creds/capi";

fn auth() -> Value {
    json!({"jwt": {"path": "jwt", "role": "capstan-{namespace}", "audience": "vault"}})
}

fn serve(vault: &FakeVault, path: &str) {
    let engine = Engine { seconds: 3600, most: 100_000, is_renewable: true, method: "GET" };
    let mut state = vault.state();
    state.engines.insert(path.to_owned(), engine);
    if let Some(role) = state.roles.get_mut("capstan-org-acme") {
        role.policy.push("sys/leases/revoke".to_owned());
    }
}

fn passwords(vault: &FakeVault) -> Vec<String> {
    vault.leases().into_values().map(|lease| lease.password).collect()
}

/// Looks until nothing is in hand any more.
async fn settle(town: &Town) {
    for _ in 0..3 {
        town.pass().await;
        town.world.pass_time(11);
    }
    town.pass().await;
}

#[tokio::test]
async fn a_renamed_secret_exists_before_the_earlier_one_is_deleted() {
    let town = Town::new().await;
    town.vault.put("kv/org-acme/fra1", json!({"clouds": format!("{CANARY}-one")}));
    town.put_field("org-acme", "cloud", "org-acme/fra1", None);
    town.pass().await;
    let mine = json!({"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": {"name": "mine", "namespace": "org-acme", "labels": {"capstan.dev/vault-secret": "another"}}});
    town.live().put(mine);
    // Where it is asked for in vain, it stays.
    town.vault.state().is_sealed = true;
    town.edit("cloud", |spec| spec["secret"] = json!({"name": "second"}));
    town.pass().await;
    assert_eq!(town.live().names("Secret"), ["cloud", "mine"]);
    town.vault.state().is_sealed = false;
    town.live().take_writes();
    town.world.pass_time(60);
    town.pass().await;
    assert_eq!(town.live().names("Secret"), ["mine", "second"]);
    let writes = town.live().take_writes();
    let at = |what: &str| writes.iter().position(|write| write == what).unwrap();
    assert!(at("apply Secret org-acme/second") < at("delete Secret org-acme/cloud"), "{writes:?}");
    // And all of them go with it.
    town.delete("cloud");
    town.pass().await;
    assert_eq!(town.live().names("Secret"), ["mine"]);
}

#[tokio::test]
async fn another_lease_is_taken_before_the_earlier_one_is_ended() {
    let town = Town::new().await;
    serve(&town.vault, DATABASE);
    town.put("org-acme", "db", json!({"lease": {"path": DATABASE}, "refreshSeconds": 60}));
    town.pass().await;
    let first = town.value("db", "password").unwrap();
    // One that Vault does not give leaves the earlier one alone.
    town.edit("db", |spec| spec["lease"]["path"] = json!("elsewhere/creds/capi"));
    settle(&town).await;
    assert_eq!(town.condition("db"), "False Denied", "{}", town.message("db"));
    assert_eq!(town.value("db", "password").unwrap(), first);
    assert_eq!(passwords(&town.vault), std::slice::from_ref(&first));
    serve(&town.vault, "database/creds/second");
    town.vault.take_asked();
    town.edit("db", |spec| spec["lease"]["path"] = json!("database/creds/second"));
    settle(&town).await;
    assert_eq!(town.condition("db"), "True Resolved", "{}", town.message("db"));
    let second = town.value("db", "password").unwrap();
    assert_ne!(first, second);
    assert_eq!(passwords(&town.vault), std::slice::from_ref(&second));
    let asked = town.vault.take_asked();
    let at = |what: &str| asked.iter().position(|one| one == what).unwrap();
    assert!(at("GET database/creds/second") < at("PUT sys/leases/revoke"), "{asked:?}");
    let status = town.live().object("VaultSecret", "db").unwrap()["status"].clone();
    assert_eq!(status.get("earlier"), None, "{status}");
    assert!(!town.everything_but_secrets().contains(CANARY));
}

#[tokio::test]
async fn one_that_asks_another_store_leaves_nothing_at_the_first() {
    let town = Town::new().await;
    let other = FakeVault::start(town.world.ports().clock).await;
    other.role("capstan-org-acme");
    serve(&town.vault, DATABASE);
    serve(&other, DATABASE);
    town.store_at("us", &other.url, auth());
    town.put("org-acme", "db", json!({"lease": {"path": DATABASE}, "refreshSeconds": 60}));
    town.pass().await;
    let first = town.value("db", "password").unwrap();
    other.state().is_sealed = true;
    town.edit("db", |spec| spec["store"] = json!("us"));
    settle(&town).await;
    assert_eq!(town.condition("db"), "False Sealed");
    assert_eq!(town.value("db", "password").unwrap(), first);
    assert_eq!(
        passwords(&town.vault),
        std::slice::from_ref(&first),
        "it serves as long as nothing else stands"
    );
    other.state().is_sealed = false;
    town.world.pass_time(60);
    settle(&town).await;
    let second = town.value("db", "password").unwrap();
    assert_eq!(passwords(&other), std::slice::from_ref(&second));
    assert_eq!((passwords(&town.vault).len(), town.vault.living_logins()), (0, 0), "with its login");
    // A field of the key-value engine instead of a lease.
    other.put("kv/org-acme/fra1", json!({"clouds": format!("{CANARY}-one")}));
    town.edit("db", |spec| {
        *spec = json!({"store": "us", "refreshSeconds": 60,
            "data": {"clouds.yaml": {"mount": "kv", "path": "org-acme/fra1", "key": "clouds"}}});
    });
    settle(&town).await;
    assert_eq!(town.condition("db"), "True Resolved", "{}", town.message("db"));
    assert_eq!(passwords(&other), [""; 0]);
    assert_eq!(town.secret("db").unwrap().into_keys().collect::<Vec<_>>(), ["clouds.yaml"]);
    assert_eq!(town.live().names("Secret"), ["db"], "no login is kept for nothing");
}

/// Its logins open what is other namespaces', too, or are somebody's: neither is kept in a namespace that leases were asked in.
#[tokio::test]
async fn a_store_that_logs_in_otherwise_leaves_no_login_of_others_in_the_namespace() {
    let town = Town::new().await;
    serve(&town.vault, DATABASE);
    town.vault.put("kv/org-acme/fra1", json!({"clouds": format!("{CANARY}-one")}));
    town.put_field("org-acme", "cloud", "org-acme/fra1", None);
    town.put("org-acme", "db", json!({"lease": {"path": DATABASE}, "refreshSeconds": 60}));
    town.pass().await;
    let first = town.value("db", "password").unwrap();
    let kept = || {
        let kept: Value = serde_json::from_str(&town.value("capstan-vault-eu", "logins")?).unwrap();
        Some(kept.as_object()?.keys().cloned().collect::<Vec<_>>())
    };
    assert_eq!(kept().unwrap(), ["accessor-1"]);

    town.vault.role("approle");
    let policy = ["kv/data/*", "database/creds/*"].map(str::to_owned).to_vec();
    town.vault.state().roles.get_mut("approle").unwrap().policy = policy;
    let (role, secret) = ("role-of-all", format!("{CANARY}-secret-id"));
    for (key, text) in [("roleId", role), ("secretId", &secret)] {
        town.world.status_store.posted().put_secret("capstan-system", "approle", key, text);
    }
    town.store(json!({"appRole": {"path": "approle", "secretName": "approle"}}));
    town.world.pass_time(60);
    town.pass().await;
    assert_eq!(town.condition("cloud"), "True Resolved", "{}", town.message("cloud"));
    assert_eq!(town.condition("db"), "False NotAllowed", "{}", town.message("db"));
    assert_eq!(town.value("db", "password").unwrap(), first);
    assert_eq!(kept().unwrap(), ["accessor-1"], "what the lease hangs on, and nothing else");

    // With a token that somebody made the lease is another one; the login of the first ends, and that token does not.
    let address = VaultAddress { url: town.vault.url.clone(), ca: None, namespace: None };
    let vault = VaultServers.open(&address).unwrap();
    let login = VaultLogin::AppRole {
        path: "approle".to_owned(),
        role_id: SecretString::from(role),
        secret_id: SecretString::from(secret.as_str()),
    };
    let token = vault.log_in(&login).await.unwrap().token;
    let text = token.expose_secret();
    town.world.status_store.posted().put_secret("capstan-system", "token", "token", text);
    town.store(json!({"token": {"secretName": "token"}}));
    town.world.pass_time(60);
    town.pass().await;
    assert_eq!(town.condition("db"), "True Resolved", "{}", town.message("db"));
    let second = town.value("db", "password").unwrap();
    assert_ne!(first, second);
    assert_eq!(passwords(&town.vault), [second]);
    // No login of anybody's, but that the lease is one that Capstan took.
    assert_eq!(kept().unwrap(), [""; 0]);
    assert!(town.value("capstan-vault-eu", "leases").unwrap().contains("database/creds/capi"));
    assert_eq!(town.live().names("Secret"), ["capstan-vault-eu", "cloud", "db"]);
    town.store(auth());
    town.world.pass_time(60);
    town.pass().await;
    assert!(vault.is_alive(&token).await.unwrap(), "whoever made it ends it");
}

/// After a crash at any write, the next process reaches the same state.
#[tokio::test]
async fn killed_at_any_write_an_edit_comes_to_the_same_end() {
    for dies_before in 1..14 {
        let mut town = Town::new().await;
        serve(&town.vault, DATABASE);
        serve(&town.vault, "database/creds/second");
        town.put("org-acme", "db", json!({"lease": {"path": DATABASE}, "refreshSeconds": 60}));
        town.pass().await;
        town.edit("db", |spec| {
            spec["lease"]["path"] = json!("database/creds/second");
            spec["secret"] = json!({"name": "second"});
        });
        town.pass_until(dies_before).await;
        town.world.pass_time(60);
        settle(&town).await;
        assert_eq!(town.secret("db"), None, "killed before write {dies_before}");
        let held = town.value("second", "password").unwrap();
        assert_eq!(passwords(&town.vault), [held], "killed before write {dies_before}");
    }
}
