//! Secrets of the key-value engine: what a Secret holds, when it changes, and that it stays as it is whatever Vault says.

use serde_json::json;

use super::town::Town;
use super::vault::CANARY;

const DENIED: &str = "False Denied";

fn canary(words: &str) -> String {
    format!("{CANARY}-{words}")
}

#[tokio::test]
async fn a_secret_holds_what_vault_has_and_whose_it_is() {
    let town = Town::new().await;
    town.vault
        .put("kv/org-acme/fra1", json!({"clouds": canary("one"), "ports": [80, 443], "ca": {"pem": true}}));
    let field = |key: &str| json!({"mount": "kv", "path": "org-acme/fra1", "key": key});
    town.put(
        "org-acme",
        "cloud",
        json!({"data": {"clouds.yaml": field("clouds"), "ports": field("ports"), "ca": field("ca")},
            "secret": {"name": "peu01-cloud", "type": "example.com/cloud", "labels": {"clusterctl.cluster.x-k8s.io/move": ""}}}),
    );
    town.pass().await;
    assert_eq!(town.condition("cloud"), "True Resolved", "{}", town.message("cloud"));
    let secret = town.live().object("Secret", "peu01-cloud").unwrap();
    assert_eq!(secret["type"], "example.com/cloud");
    assert_eq!(
        secret["metadata"]["labels"],
        json!({"capstan.dev/vault-secret": "cloud", "clusterctl.cluster.x-k8s.io/move": ""})
    );
    let value = |key: &str| town.value("peu01-cloud", key).unwrap();
    assert_eq!(value("clouds.yaml"), canary("one"));
    // What is not text is JSON.
    assert_eq!((value("ports").as_str(), value("ca").as_str()), ("[80,443]", r#"{"pem":true}"#));
    let status = town.live().object("VaultSecret", "cloud").unwrap()["status"].clone();
    assert_eq!(status["version"], json!({"clouds.yaml": 1, "ports": 1, "ca": 1}));
    assert_eq!(town.message("cloud"), "Secret peu01-cloud holds kv/org-acme/fra1 version 1");
    // One read for all fields, and one login.
    assert_eq!(town.vault.take_asked(), ["POST auth/jwt/login", "GET kv/data/org-acme/fra1"]);
    assert_eq!(town.events("cloud"), ["Resolved"]);
}

#[tokio::test]
async fn a_new_version_arrives_and_a_pinned_one_does_not() {
    let town = Town::new().await;
    town.vault.put("kv/org-acme/fra1", json!({"clouds": canary("one")}));
    town.put_field("org-acme", "newest", "org-acme/fra1", None);
    town.put_field("org-acme", "pinned", "org-acme/fra1", Some(1));
    town.pass().await;
    town.vault.put("kv/org-acme/fra1", json!({"clouds": canary("two")}));
    town.live().take_writes();
    town.world.pass_time(59);
    assert_eq!(town.pass().await, 0);
    town.world.pass_time(1);
    assert_eq!(town.pass().await, 2);
    assert_eq!(town.value("newest", "clouds.yaml").unwrap(), canary("two"));
    assert_eq!(town.value("pinned", "clouds.yaml").unwrap(), canary("one"));
    assert_eq!(
        town.live().take_writes(),
        ["apply Secret org-acme/newest", "patch VaultSecret org-acme/newest"],
        "one that has no news is not written"
    );
    // A look without news writes nothing, and asks for no login.
    town.vault.take_asked();
    town.world.pass_time(60);
    assert_eq!(town.pass().await, 2);
    assert_eq!(town.live().take_writes(), [""; 0]);
    assert_eq!(town.vault.take_asked(), ["GET kv/data/org-acme/fra1"; 2]);
    // A pinned one changes when its spec names another version.
    town.live().change("VaultSecret", "pinned", |object| {
        object["spec"]["data"]["clouds.yaml"]["version"] = json!(2);
        object["metadata"]["generation"] = json!(2);
    });
    assert_eq!(town.pass().await, 1);
    assert_eq!(town.value("pinned", "clouds.yaml").unwrap(), canary("two"));
}

#[tokio::test]
async fn vaults_policy_separates_customers() {
    let town = Town::new().await;
    for namespace in ["org-acme", "org-beta"] {
        town.vault.put(&format!("kv/{namespace}/fra1"), json!({"clouds": canary(namespace)}));
    }
    town.put_field("org-acme", "own", "org-acme/fra1", None);
    town.put_field("org-acme", "others", "org-beta/fra1", None);
    town.put_field("org-beta", "theirs", "org-beta/fra1", None);
    town.pass().await;
    assert_eq!(
        (town.condition("own"), town.condition("theirs")),
        ("True Resolved".into(), "True Resolved".into())
    );
    assert_eq!(town.condition("others"), DENIED);
    assert_eq!(town.secret("others"), None);
    // A role of another account refuses the login.
    town.vault.state().roles.get_mut("capstan-org-acme").unwrap().account = "somebody".to_owned();
    town.vault.revoke_logins();
    town.world.pass_time(60);
    town.pass().await;
    assert_eq!(town.condition("own"), DENIED);
    assert!(!town.message("own").contains(CANARY), "{}", town.message("own"));
    assert!(town.message("own").contains("logging in at auth/jwt as the role capstan-org-acme"));
    assert_eq!(town.value("own", "clouds.yaml").unwrap(), canary("org-acme"), "it stays as it is");
}

#[tokio::test]
async fn whatever_vault_says_the_secret_stays_as_it_is() {
    let town = Town::new().await;
    town.vault.put("kv/org-acme/fra1", json!({"clouds": canary("one")}));
    town.put_field("org-acme", "cloud", "org-acme/fra1", None);
    town.pass().await;
    let written = town.live().object("Secret", "cloud");
    type Harm = fn(&Town);
    let answers =
        |town: &Town, status: u16, body: &str| town.vault.state().answers = Some((status, body.to_owned()));
    let harms: [(&str, Harm); 6] = [
        ("False Sealed", |town| town.vault.state().is_sealed = true),
        ("False Missing", |town| town.vault.put("kv/org-acme/fra1", json!({"other": 1}))),
        ("False Missing", |town| town.vault.delete("kv/org-acme/fra1", 2, false)),
        ("False Missing", |town| town.vault.delete("kv/org-acme/fra1", 2, true)),
        ("False Denied", |town| {
            town.vault.state().roles.get_mut("capstan-org-acme").unwrap().policy.clear();
            town.vault.revoke_logins();
        }),
        ("False NotAllowed", |town| {
            town.live().change("VaultStore", "eu", |store| store["spec"]["namespaces"] = json!(["org-b*"]));
        }),
    ];
    let wait = 60;
    for (condition, harm) in harms {
        harm(&town);
        town.world.pass_time(wait);
        town.pass().await;
        assert_eq!(town.condition("cloud"), condition, "{}", town.message("cloud"));
        assert_eq!(town.live().object("Secret", "cloud"), written);
        town.vault.state().is_sealed = false;
    }
    town.live().change("VaultStore", "eu", |store| store["spec"]["namespaces"] = json!(["org-*"]));
    for (status, body, condition) in [
        (200, "{\"data\": \"CANARY", "False BadData"),
        (200, "{\"data\": {\"data\": [\"CANARY\"], \"metadata\": {\"version\": 1}}}", "False BadData"),
        (500, "{\"errors\": [\"CANARY\"]}", "False Away"),
        (503, "CANARY", "False Away"),
    ] {
        // The login is there already: only the read is answered so.
        answers(
            &town,
            200,
            "{\"auth\": {\"client_token\": \"hvs.CANARY0\", \"accessor\": \"a\", \"lease_duration\": 3600}}",
        );
        town.world.pass_time(wait);
        town.pass().await;
        answers(&town, status, body);
        town.world.pass_time(wait);
        town.pass().await;
        assert_eq!(town.condition("cloud"), condition, "{}", town.message("cloud"));
        assert!(!town.message("cloud").contains(CANARY), "{}", town.message("cloud"));
        assert_eq!(town.live().object("Secret", "cloud"), written);
    }
    // Once everything works again, it resolves by itself.
    town.vault.state().answers = None;
    town.vault.role("capstan-org-acme");
    town.vault.put("kv/org-acme/fra1", json!({"clouds": canary("three")}));
    town.world.pass_time(wait);
    town.pass().await;
    assert_eq!(town.condition("cloud"), "True Resolved", "{}", town.message("cloud"));
    assert_eq!(town.value("cloud", "clouds.yaml").unwrap(), canary("three"));
    assert_eq!(town.events("cloud").last().unwrap(), "Resolved");
    assert!(!town.everything_but_secrets().contains(CANARY));
}

#[tokio::test]
async fn a_secret_that_was_removed_or_changed_by_hand_returns() {
    let town = Town::new().await;
    town.vault.put("kv/org-acme/fra1", json!({"clouds": canary("one")}));
    town.put_field("org-acme", "cloud", "org-acme/fra1", None);
    town.pass().await;
    town.live().remove("Secret", "cloud");
    town.world.pass_time(60);
    town.pass().await;
    assert_eq!(town.value("cloud", "clouds.yaml").unwrap(), canary("one"));
    town.live().change("Secret", "cloud", |secret| secret["data"]["clouds.yaml"] = json!("YnkgaGFuZA=="));
    town.world.pass_time(60);
    town.pass().await;
    assert_eq!(town.value("cloud", "clouds.yaml").unwrap(), canary("one"));
}

#[tokio::test]
async fn a_secret_of_another_writer_is_not_taken() {
    let town = Town::new().await;
    town.vault.put("kv/org-acme/fra1", json!({"clouds": canary("one")}));
    town.live().put(json!({"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": {"name": "cloud", "namespace": "org-acme"}, "data": {"clouds.yaml": "bWluZQ=="}}));
    town.put_field("org-acme", "cloud", "org-acme/fra1", None);
    town.pass().await;
    assert_eq!(town.condition("cloud"), "False NotAllowed");
    assert_eq!(town.value("cloud", "clouds.yaml").unwrap(), "mine");
    // Nor is it deleted with the VaultSecret.
    town.delete("cloud");
    town.world.pass_time(60);
    town.pass().await;
    assert_eq!(town.live().names("VaultSecret"), [""; 0]);
    assert_eq!(town.value("cloud", "clouds.yaml").unwrap(), "mine");
}

#[tokio::test]
async fn the_secret_goes_with_its_vault_secret() {
    let town = Town::new().await;
    town.vault.put("kv/org-acme/fra1", json!({"clouds": canary("one")}));
    town.put_field("org-acme", "cloud", "org-acme/fra1", None);
    town.pass().await;
    // Vault is not needed for that.
    town.vault.state().is_sealed = true;
    town.delete("cloud");
    town.pass().await;
    assert_eq!(town.secret("cloud"), None);
    assert_eq!(town.live().names("VaultSecret"), [""; 0]);
}

#[tokio::test]
async fn a_thousand_vault_secrets_in_fifty_namespaces_cost_fifty_logins() {
    let town = Town::new().await;
    for namespace in 0..50 {
        let namespace = format!("org-{namespace}");
        town.live().put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}));
        town.vault.role(&format!("capstan-{namespace}"));
        town.vault.put(&format!("kv/{namespace}/fra1"), json!({"clouds": canary("one")}));
        for number in 0..20 {
            town.put_field(&namespace, &format!("s{number}"), &format!("{namespace}/fra1"), None);
        }
    }
    assert_eq!(town.pass().await, 1000);
    assert_eq!(town.vault.state().logins, 50);
    assert_eq!(town.live().names("Secret").len(), 1000);
    town.live().take_writes();
    town.world.pass_time(60);
    assert_eq!(town.pass().await, 1000);
    assert_eq!(town.vault.state().logins, 50);
    assert_eq!(town.live().take_writes(), [""; 0], "a pass without news writes nothing");
}

#[tokio::test]
async fn every_way_to_log_in_leads_to_the_same_secret() {
    let town = Town::new().await;
    town.vault.put("kv/org-acme/fra1", json!({"clouds": canary("one")}));
    town.vault.role("approle");
    let policy = vec!["kv/data/*".to_owned()];
    town.vault.state().roles.get_mut("approle").unwrap().policy = policy;
    for (key, text) in [("roleId", "role-of-all"), ("secretId", &canary("secret-id"))] {
        town.world.status_store.posted().put_secret("capstan-system", "approle", key, text);
    }
    town.store(json!({"appRole": {"path": "approle", "secretName": "approle"}}));
    town.put_field("org-acme", "by-approle", "org-acme/fra1", None);
    town.pass().await;
    assert_eq!(town.condition("by-approle"), "True Resolved", "{}", town.message("by-approle"));
    // The token of that login is one that somebody made, as far as the next store knows.
    town.world.status_store.posted().put_secret(
        "capstan-system",
        "token",
        "token",
        &format!("hvs.{CANARY}1"),
    );
    town.store(json!({"token": {"secretName": "token"}}));
    town.put_field("org-acme", "by-token", "org-acme/fra1", None);
    town.store(json!({"token": {"secretName": "token"}}));
    town.pass().await;
    assert_eq!(town.condition("by-token"), "True Resolved", "{}", town.message("by-token"));
    town.vault.state().roles.get_mut("capstan-org-acme").unwrap().audience = "kubernetes".to_owned();
    town.store(json!({"kubernetes": {"path": "kubernetes", "role": "capstan-{namespace}"}}));
    town.put_field("org-acme", "by-kubernetes", "org-acme/fra1", None);
    town.pass().await;
    assert_eq!(town.condition("by-kubernetes"), "True Resolved", "{}", town.message("by-kubernetes"));
}

/// Each field of a VaultSecret, once wrong while its Secret is there, and what is said of it.
#[tokio::test]
async fn no_wrong_field_takes_the_secret_away() {
    type Edit = fn(&mut serde_json::Value);
    let rows: [(&str, &str, Edit); 13] = [
        ("store", "there is no VaultStore", |spec| spec["store"] = json!("nobody")),
        ("secret.name, somebody else's", "was not written for a VaultSecret", |spec| {
            spec["secret"] = json!({"name": "theirs"});
        }),
        ("secret.labels, Capstan's own", "the label `capstan.dev/vault-secret` is Capstan's own", |spec| {
            spec["secret"] = json!({"labels": {"capstan.dev/vault-secret": "other"}});
        }),
        ("secret, of another type", "spec.secret cannot be read", |spec| spec["secret"] = json!("cloud")),
        ("data, a mount that is not there", "nobody", |spec| {
            spec["data"]["clouds.yaml"]["mount"] = json!("nobody");
        }),
        ("data, a path that is not there", "org-acme/none", |spec| {
            spec["data"]["clouds.yaml"]["path"] = json!("org-acme/none");
        }),
        ("data, another's path", "org-beta/fra1", |spec| {
            spec["data"]["clouds.yaml"]["path"] = json!("org-beta/fra1");
        }),
        ("data, a field that is not there", "`none`", |spec| {
            spec["data"]["clouds.yaml"]["key"] = json!("none");
        }),
        ("data, a version that is not there", "version 9", |spec| {
            spec["data"]["clouds.yaml"]["version"] = json!(9);
        }),
        ("data, no key of a Secret", "`no key` cannot be a key of a Secret", |spec| {
            let field = spec["data"]["clouds.yaml"].clone();
            spec["data"] = json!({"no key": field});
        }),
        ("lease beside data", "exactly one of `data` and `lease`", |spec| {
            spec["lease"] = json!({"path": "database/creds/none"});
        }),
        ("data, of another type", "spec.data cannot be read", |spec| spec["data"] = json!("all")),
        ("refreshSeconds", "spec.refreshSeconds cannot be read", |spec| spec["refreshSeconds"] = json!(-1)),
    ];
    for (what, told, edit) in rows {
        let town = Town::new().await;
        town.vault.put("kv/org-acme/fra1", json!({"clouds": canary("one")}));
        town.live().put(json!({"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
            "metadata": {"name": "theirs", "namespace": "org-acme"}, "data": {"clouds.yaml": "bWluZQ=="}}));
        town.put_field("org-acme", "cloud", "org-acme/fra1", None);
        town.pass().await;
        let before = [town.secret("cloud"), town.secret("theirs")];
        assert!(before[0].is_some());
        town.edit("cloud", edit);
        town.pass().await;
        assert!(town.condition("cloud").starts_with("False "), "{what}: {}", town.message("cloud"));
        assert!(town.message("cloud").contains(told), "{what}: {}", town.message("cloud"));
        assert_eq!(
            [town.secret("cloud"), town.secret("theirs")],
            before,
            "{what}: {}",
            town.message("cloud")
        );
    }
}

/// Without a Fleet no VaultSecret is read: a condition reports that, and its Secret stays.
#[tokio::test]
async fn without_a_fleet_that_is_said() {
    let town = Town::new().await;
    town.vault.put("kv/org-acme/fra1", json!({"clouds": canary("one")}));
    town.put_field("org-acme", "cloud", "org-acme/fra1", None);
    town.pass().await;
    let before = town.secret("cloud");
    assert!(before.is_some());
    town.world.status_store.posted().fleets.clear();
    town.pass().await;
    assert_eq!(town.condition("cloud"), "False NotAllowed");
    assert!(
        town.message("cloud").starts_with("this management cluster has no Fleet"),
        "{}",
        town.message("cloud")
    );
    assert_eq!(town.secret("cloud"), before);
    town.live().take_writes();
    town.pass().await;
    assert_eq!(town.live().take_writes(), [""; 0], "it is said once");
}
