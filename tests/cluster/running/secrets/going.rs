//! A namespace that is deleted lets its VaultSecrets go, and what they asked for ends as far as it is known.

use serde_json::json;

use super::town::Town;
use super::vault::Engine;

const DATABASE: &str = "database/creds/capi";

fn serve(town: &Town) {
    let engine = Engine { seconds: 3600, most: 100_000, is_renewable: true, method: "GET" };
    town.vault.state().engines.insert(DATABASE.to_owned(), engine);
}

async fn town() -> Town {
    let town = Town::new().await;
    serve(&town);
    town.put("org-acme", "db", json!({"lease": {"path": DATABASE}, "refreshSeconds": 60}));
    town.pass().await;
    assert_eq!(town.vault.leases().len(), 1);
    // In whatever order its controller comes to things.
    town.live().change("Namespace", "org-acme", |namespace| {
        namespace["metadata"]["deletionTimestamp"] = json!("2027-01-15T08:00:00Z");
    });
    town
}

fn delete(town: &Town) {
    town.live().change("VaultSecret", "db", |object| {
        object["metadata"]["deletionTimestamp"] = json!("2027-01-15T08:00:00Z");
    });
}

#[tokio::test]
async fn its_login_ends_and_it_goes() {
    let town = town().await;
    delete(&town);
    town.pass().await;
    assert_eq!(town.live().names("VaultSecret"), [""; 0]);
    assert_eq!((town.vault.leases().len(), town.vault.living_logins()), (0, 0));
    assert_eq!(town.live().names("Secret"), ["db"], "that goes with the namespace");
}

/// The Secret with the login is deleted first, and the process that knew the login has ended.
#[tokio::test]
async fn an_unknown_login_does_not_block_the_deletion() {
    let mut town = town().await;
    town.live().remove("Secret", "capstan-vault-eu");
    town.begin_process();
    delete(&town);
    town.pass().await;
    assert_eq!(town.live().names("VaultSecret"), [""; 0]);
    assert_eq!(town.vault.leases().len(), 1, "it ends by itself");
}

#[tokio::test]
async fn a_vault_that_is_sealed_keeps_it_for_two_minutes() {
    let town = town().await;
    town.vault.state().is_sealed = true;
    delete(&town);
    for (seconds, left) in [(0, 1), (100, 1), (30, 0)] {
        town.world.pass_time(seconds);
        town.pass().await;
        assert_eq!(town.live().names("VaultSecret").len(), left, "{seconds}");
    }
}

/// Without its store, a lease cannot be revoked. It keeps its VaultSecret until it has expired; so does a lease that
/// may have been issued.
#[tokio::test]
async fn one_whose_store_is_gone_goes_when_its_lease_has_run_out() {
    for (is_answer_lost, hours) in [(false, 1), (true, 24)] {
        let town = Town::new().await;
        serve(&town);
        town.vault.state().loses_lease = is_answer_lost;
        town.put("org-acme", "db", json!({"lease": {"path": DATABASE}, "refreshSeconds": 60}));
        town.pass().await;
        assert_eq!(town.condition("db"), if is_answer_lost { "False Away" } else { "True Resolved" });
        town.live().remove("VaultStore", "eu");
        town.delete("db");
        for (seconds, left) in [(0, 1), (hours * 3600 - 60, 1), (120, 0)] {
            town.world.pass_time(seconds);
            town.pass().await;
            assert_eq!(town.live().names("VaultSecret").len(), left, "{is_answer_lost}: {seconds}");
            if left == 1 {
                let why = "it is being deleted, but cannot be removed yet: there is no VaultStore capstan-system/eu";
                assert_eq!(town.message("db"), why);
            }
        }
        assert_eq!(town.secret("db"), None);
    }
}

/// An edit made the spec invalid: the recorded state still names the lease.
#[tokio::test]
async fn one_that_nobody_can_read_any_more_ends_its_lease_where_that_was_given() {
    for is_answer_lost in [false, true] {
        let town = Town::new().await;
        serve(&town);
        town.vault.state().loses_lease = is_answer_lost;
        town.put("org-acme", "db", json!({"lease": {"path": DATABASE}, "refreshSeconds": 60}));
        town.pass().await;
        assert_eq!(town.vault.leases().len(), 1);
        town.edit("db", |spec| spec["secret"] = json!({"labels": {"capstan.dev/mine": "a"}}));
        town.pass().await;
        assert_eq!(town.condition("db"), "False BadData", "{}", town.message("db"));
        assert_eq!(town.vault.leases().len(), 1, "it serves as long as it lives");
        town.delete("db");
        for _ in 0..4 {
            town.pass().await;
            town.world.pass_time(11);
        }
        assert_eq!(town.live().names("VaultSecret"), [""; 0], "{is_answer_lost}");
        assert_eq!((town.vault.leases().len(), town.vault.living_logins()), (0, 0), "{is_answer_lost}");
        assert_eq!(town.live().names("Secret"), [""; 0], "{is_answer_lost}");
    }
}

/// Nobody applies here any more.
#[tokio::test]
async fn it_goes_without_any_fleet() {
    let town = town().await;
    town.world.status_store.posted().fleets.clear();
    delete(&town);
    town.pass().await;
    assert_eq!(town.live().names("VaultSecret"), [""; 0]);
}
