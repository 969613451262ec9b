//! The key of a cluster's owners: created, renewed, revoked when an owner leaves, reported, readable by owners alone.

use std::sync::atomic::Ordering;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use capstan_agent_client::rollout_report;
use capstan_live::agent::{KubeconfigForm, KubeconfigPlace};
use capstan_live::owners::OwnersForm;
use capstan_plan::settings::RepositoryName;
use capstan_reconciler::reconcile::ReconcileEnd;
use capstan_reconciler::reconcile::resources::ConditionType;
use capstan_test_support::tally;
use serde_json::json;

use super::applying::plain;
use super::owners_town::{DAY, KUBECONFIG, Person, SECRET, Town, open};

#[tokio::test]
async fn without_owners_no_key_is_published_and_nothing_is_asked() {
    let town = Town::new().await;
    town.pass().await;
    assert_eq!(town.condition(), "False NoOwners");
    assert_eq!((town.notices(), town.bound()), (0, None));
    assert_eq!(*town.world.workloads.opened.lock().unwrap(), 0, "the cluster is not opened");
}

#[tokio::test]
async fn owners_get_a_file_that_they_alone_can_open() {
    let town = Town::new().await;
    let (ada, bob, eve) = (Person::new("ada"), Person::new("bob"), Person::new("eve"));
    town.owned_by(&[&ada, &bob], "");
    let outcome = town.pass().await;
    assert!(matches!(outcome.ended, ReconcileEnd::Applied), "{:?}", outcome.ended);
    assert_eq!(town.condition(), "True Published", "{}", town.message());
    assert_eq!(
        town.message(),
        "Secret org/peu01-owners-kubeconfig holds kubeconfig.age for ada, bob, valid until 2027-02-14T07:55:00Z, renewed at 2027-02-04T07:55:00Z"
    );
    let file = town.published().unwrap();
    assert!(file.content.starts_with(b"-----BEGIN AGE ENCRYPTED FILE-----\n"));
    let text = ada.open(&file.content).unwrap();
    assert_eq!(bob.open(&file.content).as_ref(), Some(&text));
    assert_eq!(eve.open(&file.content), None, "a stranger does not");
    assert_eq!(Town::group_in(&text), "CN=capstan:owners,O=capstan:owners:1");
    assert!(text.contains("https://10.0.0.1:6443") && text.contains("Q0E="), "{text}");
    assert_eq!(town.bound().as_deref(), Some("capstan:owners:1"));
    assert_eq!(
        town.inside.names("CertificateSigningRequest"),
        Vec::<String>::new(),
        "nobody needs it any more"
    );

    // No byte of the key is anywhere else: nor is what Cluster API has.
    let status = town.world.status("gauss-peu01");
    let posted = format!("{:?}", town.world.status_store.posted().notes);
    let forms = |cluster: &super::fake::FakeCluster| format!("{:?}", cluster.state().forms);
    let everywhere = format!(
        "{}{posted}{}{}{:?}{:?}",
        serde_json::to_string(&status).unwrap(),
        forms(&town.world.live),
        forms(&town.inside),
        town.world.bot.reports.lock().unwrap(),
        town.world.bot.keys.lock().unwrap(),
    );
    for part in Town::key_in(&text).iter().chain([&"canary-of-cluster-api".to_owned(), &ada.secret()]) {
        assert!(!everywhere.contains(part.as_str()), "{part} is in {everywhere}");
    }
    assert_eq!(
        serde_json::to_value(status.owners_key).unwrap(),
        json!({"generation": 1, "recipients": [
            {"name": "ada", "fingerprint": ada.key(), "key": ada.key()},
            {"name": "bob", "fingerprint": bob.key(), "key": bob.key()},
        ], "file": {"form": "Certificate", "generation": 1, "lifetimeDays": 30, "publish": "bot", "secret": SECRET,
            "sha256": file.sha256, "expiresAt": "2027-02-14T07:55:00Z"}})
    );

    // The report that the bot gets for the check.
    let report = town.world.bot.reports.lock().unwrap().last().cloned().unwrap();
    let report = rollout_report(&report, &RepositoryName::parse("acme/gitops").unwrap()).unwrap();
    let said = report.kubeconfig.unwrap();
    assert_eq!(
        (said.form, said.place, &said.sha256),
        (KubeconfigForm::Age, KubeconfigPlace::Bot, &file.sha256)
    );
    let named: Vec<(&str, &str)> =
        said.recipients.iter().map(|one| (one.name.as_str(), one.fingerprint.as_str())).collect();
    assert_eq!(named, [("ada", ada.key().as_str()), ("bob", bob.key().as_str())]);
}

#[tokio::test]
async fn a_valid_file_is_neither_recreated_nor_announced_again() {
    let town = Town::new().await;
    let ada = Person::new("ada");
    town.owned_by(&[&ada], "access: {lifetimeDays: 3}\n");
    town.pass().await;
    let (first, writes) = (town.published().unwrap(), town.world.status_store.posted().writes);
    town.world.live.take_writes();
    town.inside.take_writes();
    for _ in 0..3 {
        town.world.pass_time(3_600);
        town.world.empty_commit();
        town.pass().await;
    }
    assert_eq!(town.world.live.take_writes(), Vec::<String>::new());
    assert_eq!(town.inside.take_writes(), Vec::<String>::new());
    assert_eq!((town.notices(), town.world.status_store.posted().writes), (1, writes));
    // Also by a process that begins, which knows what is written down.
    town.pass().await;
    assert_eq!(town.published().unwrap(), first);

    // Two thirds of its life are over.
    town.world.pass_time(2 * DAY);
    town.pass().await;
    let second = town.published().unwrap();
    assert_ne!(second.sha256, first.sha256);
    let (old, new) = (ada.open(&first.content).unwrap(), ada.open(&second.content).unwrap());
    assert_ne!(Town::key_in(&old), Town::key_in(&new), "with a key of its own");
    assert_eq!(Town::group_in(&new), "CN=capstan:owners,O=capstan:owners:1");
    assert_eq!(second.expires_at.unwrap().to_string(), "2027-01-20T10:55:00Z");
}

#[tokio::test]
async fn a_removed_owner_loses_access_at_once_and_the_others_get_a_new_file() {
    let town = Town::new().await;
    let (ada, bob) = (Person::new("ada"), Person::new("bob"));
    town.owned_by(&[&ada, &bob], "");
    town.pass().await;
    let first = town.published().unwrap();
    town.inside.take_writes();
    // Also where no new certificate available.
    town.signs.store(false, Ordering::SeqCst);
    town.owned_by(&[&ada], "");
    town.pass().await;
    assert_eq!(town.bound().as_deref(), Some("capstan:owners:2"));
    assert_eq!(
        town.inside.take_writes()[0],
        "apply ClusterRoleBinding capstan:owners",
        "before anything else"
    );
    assert_eq!(town.condition(), "False SignerNotServed");
    town.signs.store(true, Ordering::SeqCst);
    town.world.pass_time(601);
    town.pass().await;
    let second = town.published().unwrap();
    let text = ada.open(&second.content).unwrap();
    assert_eq!(Town::group_in(&text), "CN=capstan:owners,O=capstan:owners:2");
    assert_eq!((bob.open(&first.content).is_some(), bob.open(&second.content)), (true, None));
    assert_eq!(town.condition(), "True Published");

    // No owner is left. An owner who comes back gets a key of a new group.
    town.owned_by(&[], "");
    town.pass().await;
    assert_eq!((town.condition().as_str(), town.bound(), town.published()), ("False NoOwners", None, None));
    assert_eq!(town.world.live.object("Secret", SECRET), None);
    town.owned_by(&[&bob], "");
    town.pass().await;
    let third = bob.open(&town.published().unwrap().content).unwrap();
    assert_eq!(Town::group_in(&third), "CN=capstan:owners,O=capstan:owners:3");
    assert_eq!(town.bound().as_deref(), Some("capstan:owners:3"));
}

#[tokio::test]
async fn where_nobody_signs_it_is_said_and_not_asked_again_for_a_while() {
    let town = Town::new().await;
    town.signs.store(false, Ordering::SeqCst);
    town.owned_by(&[&Person::new("ada")], "");
    town.pass().await;
    assert_eq!(town.condition(), "False SignerNotServed");
    assert!(town.message().contains("access: {credentials: admin}"), "{}", town.message());
    assert_eq!(town.notices(), 0);
    town.inside.take_writes();
    town.world.pass_time(300);
    town.pass().await;
    assert_eq!(town.inside.take_writes(), Vec::<String>::new());
    assert_eq!(town.condition(), "False SignerNotServed");
    // A cluster that does not serve the kind says so at once.
    town.inside.state().kinds.retain(|(_, kind), _| kind != "CertificateSigningRequest");
    town.world.pass_time(601);
    town.pass().await;
    assert_eq!(town.condition(), "False SignerNotServed");
}

#[tokio::test]
async fn cluster_apis_own_key_and_a_login_need_no_binding() {
    let town = Town::new().await;
    let ada = Person::new("ada");
    town.owned_by(&[&ada], "");
    town.pass().await;
    town.owned_by(&[&ada], "access: {credentials: admin}\n");
    town.pass().await;
    let file = town.published().unwrap();
    assert_eq!((file.form, town.bound()), (OwnersForm::Admin, None));
    assert_eq!(ada.open(&file.content).as_deref(), Some(KUBECONFIG));
    assert_eq!(town.condition(), "True Published", "{}", town.message());

    town.owned_by(
        &[&ada],
        "access: {oidc: {issuerUrl: 'https://login.example.com', clientId: kubernetes}}\n",
    );
    town.pass().await;
    let file = town.published().unwrap();
    let text = String::from_utf8(file.content).unwrap();
    assert!(text.contains("--oidc-client-id=kubernetes") && !text.contains("canary"), "{text}");
    assert_eq!((file.form, file.recipients.len(), file.expires_at), (OwnersForm::Login, 0, None));
}

#[tokio::test]
async fn an_invalid_key_costs_its_owner_alone() {
    let town = Town::new().await;
    let ada = Person::new("ada");
    town.owned_by(&[&ada], "");
    let text = format!(
        "owners:\n- {{name: ada, key: {}}}\n- {{name: carol, key: ecdsa-sha2-nistp256 AAAA}}\n",
        ada.key()
    );
    town.world.write("gauss/peu01/capstan.yaml", &text);
    town.pass().await;
    assert_eq!(town.condition(), "False OwnerKeyUnusable");
    assert!(town.message().contains("`carol`: it is an ecdsa key"), "{}", town.message());
    assert!(ada.open(&town.published().unwrap().content).is_some());
}

#[tokio::test]
async fn a_bot_that_is_away_gets_the_same_file_later() {
    let town = Town::new().await;
    let ada = Person::new("ada");
    *town.world.bot.is_away.lock().unwrap() = true;
    town.owned_by(&[&ada], "");
    let outcome = town.pass().await;
    assert_eq!((town.condition().as_str(), outcome.again), ("False BotNotReached", true));
    let secret = town.world.live.object("Secret", SECRET).unwrap();
    *town.world.bot.is_away.lock().unwrap() = false;
    town.pass().await;
    assert_eq!(town.world.live.object("Secret", SECRET).unwrap(), secret, "it is not made anew");
    assert_eq!(town.condition(), "True Published");
    assert!(ada.open(&town.published().unwrap().content).is_some());
}

#[tokio::test]
async fn a_process_that_dies_between_two_writes_leaves_former_owners_no_access() {
    for dies_after in 0..12 {
        let town = Town::new().await;
        let (ada, bob) = (Person::new("ada"), Person::new("bob"));
        town.owned_by(&[&ada, &bob], "");
        town.inside.state().dies_after = Some(dies_after);
        town.pass().await;
        town.inside.state().dies_after = None;
        town.world.pass_time(601);
        town.pass().await;
        let first = town.published().unwrap();
        town.owned_by(&[&ada], "");
        town.world.live.state().dies_after = Some(dies_after);
        let revision = town.world.revision().await;
        // Where the status cannot be written either, the turn fails.
        town.world.try_turn(&revision, "gauss/peu01").await.ok();
        town.world.live.state().dies_after = None;
        town.world.pass_time(601);
        town.pass().await;
        let old = bob.open(&first.content).unwrap();
        let new = ada.open(&town.published().unwrap().content).unwrap();
        let bound = town.bound().unwrap();
        assert!(!Town::group_in(&old).ends_with(&format!("={bound}")), "after {dies_after} writes: {bound}");
        assert!(Town::group_in(&new).ends_with(&format!("={bound}")), "after {dies_after} writes: {bound}");
    }
}

/// Keys as ssh-keygen makes them.
#[tokio::test]
async fn ssh_keys_open_the_file_too() {
    let folder = tempfile::tempdir().unwrap();
    let town = Town::new().await;
    let (mut rows, mut identities) = (String::new(), Vec::new());
    for (name, arguments) in [("ada", ["-t", "ed25519", "-b", "256"]), ("bob", ["-t", "rsa", "-b", "2048"])] {
        let file = folder.path().join(name);
        let made = tally::command("ssh-keygen")
            .args(["-q", "-N", "", "-C", name, "-f"])
            .arg(&file)
            .args(arguments)
            .status();
        if !made.is_ok_and(|status| status.success()) {
            eprintln!("SKIPPED: there is no ssh-keygen (apt-get install openssh-client)");
            return;
        }
        let key = std::fs::read_to_string(file.with_extension("pub")).unwrap();
        rows.push_str(&format!("- name: {name}\n  key: {key}"));
        let private = std::fs::read(&file).unwrap();
        identities.push(age::ssh::Identity::from_buffer(private.as_slice(), None).unwrap());
    }
    town.world.write("gauss/peu01/capstan.yaml", &format!("owners:\n{rows}"));
    town.pass().await;
    assert_eq!(town.condition(), "True Published", "{}", town.message());
    let file = town.published().unwrap();
    for identity in &identities {
        let text = open(&file.content, identity).unwrap();
        assert_eq!(Town::group_in(&text), "CN=capstan:owners,O=capstan:owners:1");
    }
    // With age itself, where it is installed.
    let sealed = folder.path().join("kubeconfig.age");
    std::fs::write(&sealed, &file.content).unwrap();
    for name in ["ada", "bob"] {
        let opened =
            tally::command("age").args(["-d", "-i"]).arg(folder.path().join(name)).arg(&sealed).output();
        match opened {
            Ok(opened) => assert!(opened.status.success() && opened.stdout.starts_with(b"{"), "{opened:?}"),
            Err(_) => eprintln!("SKIPPED: there is no age (apt-get install age)"),
        }
    }
}

/// The `Cluster`s of two folders have the same kubeconfig. The older one keeps its key and its group; both report it.
#[tokio::test]
async fn two_clusters_with_one_api_server_are_both_reported_and_one_has_the_group() {
    let town = Town::new().await;
    plain(&town.world, "peu02");
    town.world.reconcile("gauss/peu02").await;
    town.world.live.change("Cluster", "peu02", |cluster| {
        cluster["status"] = json!({"initialization": {"controlPlaneInitialized": true}});
    });
    let secret = |name: &str, made: &str| {
        town.world.live.put(json!({"apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": format!("{name}-kubeconfig"), "namespace": "org", "creationTimestamp": made},
            "data": {"value": STANDARD.encode(KUBECONFIG)}}));
    };
    secret("peu01", "2026-01-01T00:00:00Z");
    secret("peu02", "2026-02-01T00:00:00Z");
    let ada = Person::new("ada");
    town.owned_by(&[&ada], "");
    let rows = format!("owners:\n- {{name: ada, key: {}}}\ncloud: eu-1\n", ada.key());
    town.world.write("gauss/peu02/capstan.yaml", &rows);
    for _ in 0..3 {
        for name in ["peu01", "peu02"] {
            town.world.reconcile(&format!("gauss/{name}")).await;
        }
    }
    assert_eq!(town.bound().as_deref(), Some("capstan:owners:1"));
    assert_eq!(town.condition(), "True Published", "{}", town.message());
    assert!(town.message().ends_with("the kubeconfig of Cluster org/peu02 names the same API server, so Capstan does nothing there for that one"), "{}", town.message());
    let conditions = town.world.status("gauss-peu02").conditions;
    let other = conditions.of(ConditionType::OwnersKeyPublished).unwrap();
    assert_eq!(other.reason, "WorkloadShared");
    assert!(
        other.message.contains("the kubeconfig of Cluster org/peu01, which is older"),
        "{}",
        other.message
    );
    assert!(town.world.live.object("Secret", "peu02-owners-kubeconfig").is_none());
}
