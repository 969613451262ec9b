//! What a watch tells is news where it is not the echo of one's own write.

use capstan_model::object::ObjectId;
use capstan_ports::{LiveChange, ObjectChange};
use serde_json::{Value, json};

use super::town::{Town, text};
use super::vault::CANARY;

/// What a watch tells of an object as it is now.
fn change_of(town: &Town, kind: &str, name: &str, change: ObjectChange) -> LiveChange {
    let found = town.live().object(kind, name).unwrap_or(Value::Null);
    let group = if kind == "Secret" { "" } else { "capstan.dev" };
    LiveChange {
        object: ObjectId {
            group: group.to_owned(),
            kind: kind.to_owned(),
            namespace: Some("org-acme".to_owned()),
            name: name.to_owned(),
        },
        change,
        resource_version: text(&found["metadata"], "resourceVersion"),
    }
}

#[tokio::test]
async fn a_secret_that_is_removed_is_due_at_once_and_an_echo_is_not() {
    let town = Town::new().await;
    town.vault.put("kv/org-acme/fra1", json!({"clouds": format!("{CANARY}-one")}));
    town.put_field("org-acme", "cloud", "org-acme/fra1", None);
    let hears = |change: &LiveChange| town.world.ports().vault_secrets.hears(change);
    assert!(
        hears(&change_of(&town, "VaultSecret", "cloud", ObjectChange::Added)),
        "nobody has looked at it yet"
    );
    town.pass().await;
    for (kind, change) in [
        ("VaultSecret", ObjectChange::Spec),
        ("VaultSecret", ObjectChange::Status),
        ("Secret", ObjectChange::Added),
    ] {
        assert!(!hears(&change_of(&town, kind, "cloud", change)), "{kind} {change:?} is an echo");
    }
    assert_eq!(town.pass().await, 0);
    // A Secret that no VaultSecret writes starts no pass.
    let others = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "others", "namespace": "org-acme"}});
    town.live().put(others);
    assert!(!hears(&change_of(&town, "Secret", "others", ObjectChange::Added)));

    town.live().remove("Secret", "cloud");
    assert!(hears(&change_of(&town, "Secret", "cloud", ObjectChange::Deleted)));
    assert_eq!(town.pass().await, 1);
    assert!(town.secret("cloud").is_some());
    town.live().change("Secret", "cloud", |secret| secret["data"]["clouds.yaml"] = json!("YnkgaGFuZA=="));
    assert!(hears(&change_of(&town, "Secret", "cloud", ObjectChange::Spec)));
    assert_eq!(town.pass().await, 1);
    assert_eq!(town.value("cloud", "clouds.yaml").unwrap(), format!("{CANARY}-one"));

    town.edit("cloud", |spec| spec["secret"] = json!({"labels": {"a": "b"}}));
    assert!(hears(&change_of(&town, "VaultSecret", "cloud", ObjectChange::Spec)));
    assert_eq!(town.pass().await, 1);
    assert_eq!(town.live().object("Secret", "cloud").unwrap()["metadata"]["labels"]["a"], "b");
}
