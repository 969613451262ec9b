//! Leases are kept, renewed, replaced and ended, also if a process dies meanwhile.

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::json;

use super::town::Town;
use super::vault::{CANARY, Engine};

const DATABASE: &str = "database/creds/capi";

/// As PostgreSQL's are: renewable, up to a longest time.
fn database(town: &Town, seconds: i64, most: i64) {
    let engine = Engine { seconds, most, is_renewable: true, method: "GET" };
    town.vault.state().engines.insert(DATABASE.to_owned(), engine);
}

fn put(town: &Town, name: &str, path: &str, method: &str) {
    town.put("org-acme", name, json!({"lease": {"path": path, "method": method}, "refreshSeconds": 60}));
}

fn passwords(town: &Town) -> Vec<String> {
    town.vault.leases().into_values().map(|lease| lease.password).collect()
}

#[tokio::test]
async fn a_lease_is_renewed_from_two_thirds_of_its_time_with_its_login() {
    let town = Town::new().await;
    database(&town, 600, 100_000);
    town.vault.state().roles.get_mut("capstan-org-acme").unwrap().seconds = 900;
    put(&town, "db", DATABASE, "GET");
    town.pass().await;
    assert_eq!(town.condition("db"), "True Resolved", "{}", town.message("db"));
    let first = town.value("db", "password").unwrap();
    assert_eq!(passwords(&town), std::slice::from_ref(&first));
    town.live().take_writes();
    // A day of passes: the same lease, and one login.
    for _ in 0..1440 {
        town.world.pass_time(60);
        town.pass().await;
        assert_eq!(passwords(&town), std::slice::from_ref(&first));
    }
    assert_eq!(town.value("db", "password").unwrap(), first);
    assert_eq!(town.vault.state().logins, 1);
    let asked = town.vault.take_asked();
    let renewed = asked.iter().filter(|one| *one == "PUT sys/leases/renew").count();
    assert!((190..=250).contains(&renewed), "every 400 s or a little later: {renewed}");
}

/// Somebody revokes a lease in Vault, or the login that it belongs to, long before it expires. The next pass takes
/// another lease, and says why for as long as it holds that one.
#[tokio::test]
async fn a_revoked_lease_is_replaced_by_the_next_pass() {
    for (of, why) in
        [("lease", "the earlier one was revoked in Vault"), ("login", "the login of the earlier one")]
    {
        let town = Town::new().await;
        database(&town, 6000, 100_000);
        put(&town, "db", DATABASE, "GET");
        town.pass().await;
        let first = town.value("db", "password").unwrap();
        town.world.pass_time(60);
        town.pass().await;
        assert_eq!(passwords(&town), std::slice::from_ref(&first), "nobody revoked it");
        {
            let mut state = town.vault.state();
            match of {
                "lease" => state.leases.clear(),
                _ => state.tokens.clear(),
            }
        }
        town.world.pass_time(60);
        town.pass().await;
        let second = town.value("db", "password").unwrap();
        assert_ne!(second, first, "{of}");
        assert_eq!(passwords(&town), std::slice::from_ref(&second), "{of}");
        assert!(town.message("db").contains(why), "{of}: {}", town.message("db"));
        for _ in 0..5 {
            town.world.pass_time(60);
            town.pass().await;
        }
        assert_eq!(town.value("db", "password").unwrap(), second, "{of}");
        assert!(town.message("db").contains(why), "{of}: {}", town.message("db"));
    }
}

/// The login is kept in the namespace: it would be that of all the others, too.
#[tokio::test]
async fn a_lease_wants_a_login_of_the_namespaces_own() {
    let town = Town::new().await;
    database(&town, 600, 1500);
    town.store(json!({"appRole": {"path": "approle", "secretName": "approle"}}));
    put(&town, "db", DATABASE, "GET");
    town.pass().await;
    assert_eq!(town.condition("db"), "False NotAllowed", "{}", town.message("db"));
    assert!(town.message("db").contains("`auth.jwt` or `auth.kubernetes`"), "{}", town.message("db"));
    assert_eq!((passwords(&town).len(), town.vault.state().logins), (0, 0));
}

#[tokio::test]
async fn a_lease_that_cannot_be_renewed_further_is_replaced_before_it_ends() {
    let town = Town::new().await;
    database(&town, 600, 1500);
    put(&town, "db", DATABASE, "GET");
    let pki = Engine { seconds: 600, most: 600, is_renewable: false, method: "POST" };
    town.vault.state().engines.insert("pki/issue/web".to_owned(), pki);
    put(&town, "web", "pki/issue/web", "POST");
    let mut seen = std::collections::BTreeMap::<String, std::collections::BTreeSet<String>>::new();
    for _ in 0..120 {
        town.pass().await;
        let leases = passwords(&town);
        for name in ["db", "web"] {
            let value = town.value(name, "password").unwrap();
            assert!(leases.contains(&value), "{name} holds {value}, which has ended: {leases:?}");
            seen.entry(name.to_owned()).or_default().insert(value);
        }
        town.world.pass_time(60);
    }
    // Two hours: a certificate every 400 to 460 s, a user of the database about every 1,300.
    assert!((15..=19).contains(&seen["web"].len()), "{}", seen["web"].len());
    assert!((5..=8).contains(&seen["db"].len()), "{}", seen["db"].len());
}

#[tokio::test]
async fn the_end_of_a_login_leaves_every_secret_valid() {
    let town = Town::new().await;
    database(&town, 600, 100_000);
    {
        let mut state = town.vault.state();
        let role = state.roles.get_mut("capstan-org-acme").unwrap();
        (role.seconds, role.most) = (900, 3000);
    }
    put(&town, "db", DATABASE, "GET");
    for _ in 0..120 {
        town.pass().await;
        let value = town.value("db", "password").unwrap();
        assert!(passwords(&town).contains(&value), "{value} has ended");
        assert!(town.vault.leases().len() <= 1, "the earlier one went with its login");
        town.world.pass_time(60);
    }
    let logins = town.vault.state().logins;
    assert!((3..=5).contains(&logins), "two hours of logins that live 50 minutes: {logins}");
    assert_eq!(town.vault.living_logins(), 1);
}

#[tokio::test]
async fn after_a_kill_the_next_process_has_one_valid_lease() {
    let seed: u64 =
        std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(rand::random);
    println!("SEED={seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let mut deaths = 0;
    let mut town = Town::new().await;
    database(&town, 600, 2000);
    put(&town, "db", DATABASE, "GET");
    put(&town, "db2", DATABASE, "GET");
    while deaths < 40 {
        // What is due is never due alone: time passes, the Secret is lost, what is asked for changes.
        match random.random_range(0..4) {
            0 => town.live().remove("Secret", "db"),
            1 => town.live().change("VaultSecret", "db", |object| {
                object["spec"]["lease"]["parameters"] = json!({"n": deaths});
                object["metadata"]["generation"] = json!(1000 + deaths);
            }),
            _ => town.world.pass_time(random.random_range(60..400)),
        }
        let before = random.random_range(1..12);
        deaths += i32::from(town.pass_until(before).await);
        town.world.pass_time(random.random_range(1..40));
    }
    // Whatever is in hand comes to its end.
    for _ in 0..3 {
        town.world.pass_time(61);
        town.pass().await;
    }
    let mut held: Vec<String> = ["db", "db2"].map(|name| town.value(name, "password").unwrap()).into();
    held.sort();
    let mut living = passwords(&town);
    living.sort();
    let old = living.len() - held.len();
    assert!(held.iter().all(|one| living.contains(one)), "held {held:?}, living {living:?}");
    assert!(old <= 2, "of each an earlier one runs out at most: held {held:?}, living {living:?}");
    town.world.pass_time(240);
    town.pass().await;
    assert_eq!(town.vault.logins_with_leases(), 1, "what the dead left is ended");
    assert!(!town.everything_but_secrets().contains(CANARY));
}

#[tokio::test]
async fn an_answer_that_was_lost_leaves_no_lease_behind() {
    let town = Town::new().await;
    database(&town, 600, 100_000);
    put(&town, "db", DATABASE, "GET");
    town.vault.state().loses_lease = true;
    town.pass().await;
    assert_eq!(town.condition("db"), "False Away");
    assert_eq!(town.vault.leases().len(), 1, "one that nobody knows");
    town.world.pass_time(60);
    town.pass().await;
    assert_eq!(town.condition("db"), "True Resolved", "{}", town.message("db"));
    assert_eq!(passwords(&town), [town.value("db", "password").unwrap()]);
}

#[tokio::test]
async fn a_lease_ends_with_its_vault_secret_whatever_the_policy_allows() {
    for may_revoke in [true, false] {
        let town = Town::new().await;
        database(&town, 600, 100_000);
        if may_revoke {
            let mut state = town.vault.state();
            state.roles.get_mut("capstan-org-acme").unwrap().policy.push("sys/leases/revoke".to_owned());
        }
        put(&town, "db", DATABASE, "GET");
        put(&town, "stays", DATABASE, "GET");
        town.pass().await;
        let stays = town.value("stays", "password").unwrap();
        town.delete("db");
        for _ in 0..3 {
            town.pass().await;
            town.world.pass_time(3);
        }
        assert_eq!(town.live().names("VaultSecret"), ["stays"], "policy allows to revoke: {may_revoke}");
        assert_eq!(town.secret("db"), None);
        let now = town.value("stays", "password").unwrap();
        assert_eq!(passwords(&town), std::slice::from_ref(&now), "policy allows to revoke: {may_revoke}");
        // Without that right the login goes, and the others move to another one.
        assert_eq!(now == stays, may_revoke);
        town.delete("stays");
        for _ in 0..3 {
            town.pass().await;
            town.world.pass_time(3);
        }
        assert_eq!(town.live().names("Secret"), [""; 0], "the kept login goes with the last lease");
        assert_eq!((town.vault.leases().len(), town.vault.living_logins()), (0, 0));
    }
}

#[tokio::test]
async fn what_has_no_lease_is_said_and_not_written() {
    let town = Town::new().await;
    let none = Engine { seconds: 0, most: 0, is_renewable: false, method: "GET" };
    town.vault.state().engines.insert(DATABASE.to_owned(), none);
    put(&town, "db", DATABASE, "GET");
    town.pass().await;
    assert_eq!(town.condition("db"), "False BadData");
    assert!(town.message("db").contains("has no lease"), "{}", town.message("db"));
    assert_eq!(town.secret("db"), None);
    assert_eq!(town.vault.leases().len(), 0);
}

/// A status may be forged: it never renews or revokes a lease that was not taken for that VaultSecret.
#[tokio::test]
async fn a_lease_that_a_status_names_is_believed_only_where_it_is_kept_for_that_vault_secret() {
    // With a login of the namespace's own, and with a token that somebody made: that one opens what is others', too.
    for is_token in [false, true] {
        let mut town = Town::new().await;
        database(&town, 600, 100_000);
        for namespace in ["capstan-org-acme", "capstan-org-beta"] {
            let mut state = town.vault.state();
            state.roles.get_mut(namespace).unwrap().policy.push("sys/leases/revoke".to_owned());
        }
        if is_token {
            town.token_store().await;
        }
        town.put("org-acme", "victim", json!({"lease": {"path": DATABASE}, "refreshSeconds": 60}));
        town.put("org-acme", "evil", json!({"lease": {"path": DATABASE}, "refreshSeconds": 60}));
        town.pass().await;
        let lease = |name: &str| town.live().object("VaultSecret", name).unwrap()["status"]["lease"].clone();
        let (victims, own) = (lease("victim"), lease("evil"));
        assert_ne!(victims["id"], own["id"]);
        let password = town.value("victim", "password").unwrap();
        let earlier = |of: &serde_json::Value, number: usize| {
            let one = json!({"id": of["id"], "login": of["login"], "store": "eu", "expires": "2036-01-01T00:00:00Z"});
            vec![one; number]
        };
        for forged in [
            json!({"lease": victims, "leaseExpires": "2036-01-01T00:00:00Z"}),
            json!({"earlier": earlier(&victims, 1)}),
            json!({"earlier": earlier(&victims, 50)}),
        ] {
            town.live().change("VaultSecret", "evil", |object| {
                let status = object["status"].as_object_mut().unwrap();
                status.extend(forged.as_object().unwrap().clone());
            });
            // The process that follows says the same.
            town.begin_process();
            town.vault.take_asked();
            for _ in 0..3 {
                town.world.pass_time(60);
                town.pass().await;
            }
            assert!(passwords(&town).contains(&password), "token: {is_token}, {forged}");
            assert_eq!(town.value("victim", "password").unwrap(), password);
            assert_eq!(town.condition("evil"), "True Resolved", "{}", town.message("evil"));
            assert!(town.events("evil").contains(&"NotAllowed".to_owned()), "{:?}", town.events("evil"));
            let status = town.live().object("VaultSecret", "evil").unwrap()["status"].clone();
            assert_eq!(status.get("earlier"), None, "{status}");
            assert_ne!(status["lease"]["id"], victims["id"]);
            let asked = town.vault.take_asked();
            let revoked = asked.iter().filter(|one| *one == "PUT sys/leases/revoke").count();
            assert_eq!(revoked, 0, "token: {is_token}, {forged}: {asked:?}");
        }
        // Nor where it is deleted, nor where what was kept is lost: then such a lease ends by itself.
        town.live().change("VaultSecret", "evil", |object| object["status"]["lease"] = victims.clone());
        town.delete("evil");
        for _ in 0..3 {
            town.pass().await;
            town.world.pass_time(3);
        }
        assert_eq!(town.live().names("VaultSecret"), ["victim"]);
        assert!(passwords(&town).contains(&password), "token: {is_token}");
    }
}

/// Nor is a login of another namespace ended by what a status says was asked with it.
#[tokio::test]
async fn what_was_asked_with_ends_no_login_of_another_namespace() {
    let town = Town::new().await;
    database(&town, 600, 100_000);
    town.vault.state().roles.get_mut("capstan-org-beta").unwrap().policy.push(DATABASE.to_owned());
    town.put("org-acme", "evil", json!({"lease": {"path": DATABASE}, "refreshSeconds": 60}));
    town.put("org-beta", "victim", json!({"lease": {"path": DATABASE}, "refreshSeconds": 60}));
    town.pass().await;
    let password = town.value("victim", "password").unwrap();
    let login = town.live().object("VaultSecret", "victim").unwrap()["status"]["lease"]["login"].clone();
    for forged in [
        json!({"askedWith": login, "askedOf": "eu"}),
        json!({"earlier": [{"login": login, "store": "eu", "expires": "2036-01-01T00:00:00Z"}]}),
    ] {
        town.live().change("VaultSecret", "evil", |object| {
            object["status"].as_object_mut().unwrap().extend(forged.as_object().unwrap().clone());
        });
        for _ in 0..3 {
            town.world.pass_time(60);
            town.pass().await;
        }
        assert!(passwords(&town).contains(&password), "{forged}");
        assert_eq!(town.value("victim", "password").unwrap(), password, "{forged}");
    }
}
