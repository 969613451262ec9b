//! A cluster's own credentials of its cloud: created, renewed and revoked, also after a crash or an outage.

use std::sync::Arc;
use std::time::Duration;

use capstan_reconciler::reconcile::resources::ConditionType;
use capstan_reconciler::reconcile::{CloudCredentials, ReconcileEnd, ReconcileOutcome};
use serde_json::{Value, json};

use super::credential_town::{DAY, SECRETS, Town, annotation, content, is_removed, opened};
use super::keystone::FakeClouds;

const CREDENTIAL_ID: &str = "capstan.dev/credential-id";

fn applied(outcome: &ReconcileOutcome) {
    assert!(matches!(outcome.ended, ReconcileEnd::Applied), "{:?}", outcome.ended);
}

/// The first renewal, with everybody on the new ones.
async fn renewed(town: &mut Town) {
    applied(&town.pass().await);
    town.provider_takes_up();
    town.controllers_take_up();
    town.pass_time(20 * DAY);
    applied(&town.pass().await);
}

#[tokio::test]
async fn a_cluster_gets_two_restricted_credentials_and_a_secret_of_each() {
    let town = Town::new();
    applied(&town.pass().await);
    let writes = town.world.live.take_writes();
    assert_eq!(
        writes,
        [
            "apply Secret org/peu01-cloud-config",
            "apply Secret org/peu01-cloud-controllers",
            "apply Cluster org/peu01"
        ],
        "before whatever works with them"
    );
    assert_eq!(town.condition(), "True Published");
    assert_eq!(
        town.condition_message(),
        "Secrets in org: peu01-cloud-config until 2027-02-14T08:00:00Z, peu01-cloud-controllers until 2027-02-14T08:00:00Z"
    );
    let secret = town.secret(SECRETS[0]).unwrap();
    assert_eq!(annotation(&secret, CREDENTIAL_ID), "c1");
    assert_eq!(annotation(&secret, "capstan.dev/credential-expires-at"), "2027-02-14T08:00:00Z");
    assert_eq!(secret["metadata"]["labels"]["capstan.dev/cloud-credential"], "capo");
    let clouds: Value = serde_json::from_str(&content(&secret, "clouds.yaml")).unwrap();
    let auth = &clouds["clouds"]["eu-1"]["auth"];
    assert_eq!(auth["application_credential_id"], "c1");
    assert_eq!(auth["application_credential_secret"], "s3cr3t-of-c1");
    let conf = content(&town.secret(SECRETS[1]).unwrap(), "cloud.conf");
    assert!(conf.contains("application-credential-secret = \"s3cr3t-of-c2\"\n"), "{conf}");
    // Neither the status nor the notes contain a secret.
    let status = serde_json::to_value(town.world.status("gauss-peu01")).unwrap();
    assert_eq!(
        status["cloudCredentials"],
        json!({"cloud": "eu-1", "namespace": "org", "cluster": "peu01", "secrets": [
            {"name": "peu01-cloud-config", "credential": "c1", "expiresAt": "2027-02-14T08:00:00Z"},
            {"name": "peu01-cloud-controllers", "credential": "c2", "expiresAt": "2027-02-14T08:00:00Z"},
        ]})
    );
    let notes = format!("{:?}", town.world.status_store.posted().notes);
    assert!(notes.contains("CredentialIssued") && !format!("{notes}{status}").contains("s3cr3t"));
    // Names tell a management cluster's, a namespace's and a cluster's from every other one's.
    let names: Vec<String> = town.keystone.state().credentials.values().map(|one| one.name.clone()).collect();
    assert!(names[0].starts_with("capstan-capo-") && names[0].contains("-org-peu01-2027"), "{names:?}");
    assert!(names[1].starts_with("capstan-controllers-"), "{names:?}");
}

#[tokio::test]
async fn what_is_not_due_costs_no_call_and_no_write() {
    let mut town = Town::new();
    town.pass().await;
    town.world.live.take_writes();
    let (asked, writes) = (town.keystone.state().asked, town.world.status_store.posted().writes);
    for _ in 0..3 {
        town.pass_time(300);
        applied(&town.pass().await);
    }
    assert_eq!(town.keystone.state().asked, asked);
    assert_eq!(town.world.live.take_writes(), Vec::<String>::new());
    assert_eq!(town.world.status_store.posted().writes, writes);
    // A regular check finds a credential that another client deleted.
    town.keystone.take_away("c1");
    town.pass_time(3_600);
    town.pass().await;
    assert_eq!((town.current(SECRETS[0]), town.current(SECRETS[1])), ("c3".to_owned(), "c2".to_owned()));
}

#[tokio::test]
async fn the_old_one_is_deleted_once_everybody_is_seen_on_the_new_one() {
    let mut town = Town::new();
    renewed(&mut town).await;
    assert_eq!((town.current(SECRETS[0]), town.current(SECRETS[1])), ("c3".to_owned(), "c4".to_owned()));
    assert_eq!(town.keystone.ids("ops"), ["c1", "c2", "c3", "c4"]);
    assert!(town.condition_message().contains("peu01-cloud-config until 2027-03-06T08:00:00Z (an earlier one stays until nothing uses it, or until it expires)"), "{}", town.condition_message());
    // A status that was written just after the change may be of a reconciliation that began before it.
    town.pass_time(60);
    town.provider_reconciles();
    town.pass_time(590);
    town.pass().await;
    assert_eq!(town.keystone.ids("ops"), ["c1", "c2", "c3", "c4"]);
    town.provider_reconciles();
    town.pass_time(610);
    town.pass().await;
    assert_eq!(town.keystone.ids("ops"), ["c2", "c3", "c4"], "nobody said what works inside of the cluster");
    town.controllers_take_up();
    town.pass_time(610);
    town.pass().await;
    assert_eq!(town.keystone.ids("ops"), ["c3", "c4"]);
    assert!(!town.condition_message().contains("earlier"), "{}", town.condition_message());
}

#[tokio::test]
async fn what_is_seen_of_nobody_is_kept_until_it_ends() {
    let mut town = Town::new();
    renewed(&mut town).await;
    // An hour after the change the provider has read every Secret again, even if it had nothing to write.
    town.pass_time(3_600);
    town.pass().await;
    assert_eq!(town.keystone.ids("ops"), ["c2", "c3", "c4"]);
    town.controllers_take_up();
    town.world.live.change("Secret", SECRETS[1], |secret| {
        secret["metadata"]["annotations"]["capstan.dev/credential-in-use"] = Value::Null;
    });
    town.pass_time(9 * DAY);
    town.pass().await;
    assert_eq!(town.keystone.ids("ops"), ["c2", "c3", "c4"]);
    town.pass_time(DAY);
    town.pass().await;
    assert_eq!(town.keystone.ids("ops"), ["c3", "c4"]);
}

/// What is there after each part of a life.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    credentials: usize,
    secrets: Vec<String>,
    condition: String,
}

fn seen(town: &Town) -> Seen {
    let secrets = SECRETS.iter().filter_map(|name| {
        let mut secret = town.secret(name)?;
        let metadata = secret["metadata"].as_object_mut().unwrap();
        metadata.retain(|key, _| ["name", "labels"].contains(&key.as_str()));
        secret.as_object_mut().unwrap().remove("data");
        Some(secret.to_string())
    });
    Seen {
        credentials: town.keystone.ids("ops").len(),
        secrets: secrets.collect(),
        condition: town.condition(),
    }
}

/// One life in parts; the process is killed before that write of all, and another one follows.
async fn life(dies_before: Option<usize>) -> (Vec<Seen>, bool) {
    let mut town = Town::new();
    let mut left = dies_before;
    let mut all = Vec::new();
    for part in 0..6 {
        match part {
            1 => {
                town.provider_takes_up();
                town.controllers_take_up();
                town.pass_time(20 * DAY);
            }
            2 => {
                town.controllers_take_up();
                town.pass_time(3_600);
            }
            // Renewed twice, so that there are two old ones at a time.
            3 => town.pass_time(20 * DAY),
            4 => town.pass_time(9 * DAY),
            5 => town.delete_cluster(),
            _ => {}
        }
        // The first pass deletes the Cluster, the second one the credentials.
        for _ in 0..if part == 5 { 3 } else { 1 } {
            let Some(_) = town.pass_until(left).await else {
                left = None;
                town.pass().await;
                assert_eq!(
                    town.orphans("ops"),
                    Vec::<String>::new(),
                    "part {part}, killed at {dies_before:?}"
                );
                continue;
            };
            left = left.map(|left| left - town.watcher.written());
        }
        all.push(seen(&town));
    }
    (all, left.is_none())
}

#[tokio::test]
async fn killed_between_any_two_writes_every_life_ends_the_same() {
    let (whole, _) = life(None).await;
    assert_eq!(whole.iter().map(|seen| seen.credentials).collect::<Vec<_>>(), [2, 4, 2, 4, 3, 0]);
    assert_eq!(whole.last().unwrap().secrets, Vec::<String>::new());
    let mut deaths = 0;
    for write in 1.. {
        let (found, has_died) = life(Some(write)).await;
        assert_eq!(found, whole, "killed before write {write}");
        if !has_died {
            break;
        }
        deaths += 1;
    }
    assert!(deaths > 25, "{deaths}");
}

#[tokio::test]
async fn a_credential_whose_answer_was_lost_is_found_by_its_name_and_deleted() {
    let mut town = Town::new();
    town.keystone.state().loses_answer = true;
    applied(&town.pass().await);
    assert_eq!(town.condition(), "False CloudNotAnswered");
    assert_eq!(town.keystone.ids("ops"), ["c1"]);
    town.pass_time(60);
    town.pass().await;
    assert_eq!(town.keystone.ids("ops"), ["c2", "c3"]);
    assert_eq!(town.condition(), "True Published");
}

#[tokio::test]
async fn a_cloud_that_is_away_costs_its_clusters_a_credential_and_nobody_anything_else() {
    let mut town = Town::new();
    town.keystone.state().is_away = true;
    let outcome = town.pass().await;
    applied(&outcome);
    assert!(outcome.again);
    assert_eq!(town.condition(), "False CloudNotAnswered");
    assert_eq!(town.condition_message(), "Keystone at keystone.example.com:5000 answers 503");
    // Another cluster of that cloud does not even ask.
    let asked = town.keystone.state().asked;
    town.world.write(
        "gauss/peu02/base/cluster.yaml",
        "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata:\n  name: peu02\n  namespace: org\n",
    );
    town.world.write("gauss/peu02/capstan.yaml", "cloud: eu-1\n");
    applied(&town.world.reconcile("gauss/peu02").await);
    applied(&town.pass().await);
    assert_eq!(town.keystone.state().asked, asked);
    let notes = town.world.status_store.posted().notes.clone();
    let told =
        notes.iter().filter(|(name, note)| name == "gauss-peu01" && note.reason == "CredentialsFailed");
    assert_eq!(told.count(), 1, "once, not at each pass: {notes:?}");
    town.keystone.state().is_away = false;
    town.pass_time(60);
    applied(&town.pass().await);
    applied(&town.world.reconcile("gauss/peu02").await);
    assert_eq!(town.condition(), "True Published");
    assert_eq!(town.world.condition("gauss-peu02", ConditionType::CredentialsPublished), "True Published");
    assert_eq!(town.keystone.ids("ops").len(), 4);
    // An outage of Keystone goes unnoticed while nothing is due. After that, the published credentials are still valid.
    town.keystone.state().is_away = true;
    town.pass_time(3_600);
    town.pass().await;
    assert_eq!(town.condition(), "True Published");
    town.pass_time(20 * DAY);
    town.pass().await;
    assert_eq!(town.condition(), "True RenewalLate");
}

#[tokio::test]
async fn a_cloud_that_never_answers_is_waited_for_once_and_not_for_ever() {
    let mut town = Town::new();
    town.world.cloud_credentials = Arc::new(
        CloudCredentials::new(Arc::new(FakeClouds(Arc::clone(&town.keystone))))
            .with_patience(Duration::from_secs(1)),
    );
    town.keystone.state().hangs = true;
    applied(&town.pass().await);
    assert_eq!(town.condition_message(), "the cloud `eu-1` takes longer than 1 s");
    for _ in 0..20 {
        applied(&town.pass().await);
    }
    assert_eq!(town.keystone.state().asked, 1, "nobody asks it again so soon");
}

#[tokio::test]
async fn a_secret_that_a_folder_brings_itself_is_refused() {
    let town = Town::new();
    let secret = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: peu01-cloud-config\n  namespace: org\n";
    town.world.write("gauss/peu01/base/secret.yaml", secret);
    let outcome = town.pass().await;
    let ReconcileEnd::Refused(reasons) = &outcome.ended else { panic!("{:?}", outcome.ended) };
    assert_eq!(reasons[0].kind, "SecretIsCapstans");
    assert!(
        reasons[0].line().starts_with("gauss/peu01/base/secret.yaml:1: Secret org/peu01-cloud-config: "),
        "{}",
        reasons[0].line()
    );
    town.world.remove("gauss/peu01/base/secret.yaml");
    town.pass().await;
    // Nor may another folder of the same namespace have it.
    town.world.write("gauss/peu02/base/secret.yaml", secret);
    town.world.write(
        "gauss/peu02/base/cluster.yaml",
        "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata:\n  name: peu02\n  namespace: org\n",
    );
    let outcome = town.world.reconcile("gauss/peu02").await;
    let ReconcileEnd::Refused(reasons) = &outcome.ended else { panic!("{:?}", outcome.ended) };
    assert_eq!(reasons[0].kind, "SecretIsCapstans");
}

#[tokio::test]
async fn a_secret_of_another_writer_is_left_alone() {
    let mut town = Town::new();
    town.world.live.put(json!({"apiVersion": "v1", "kind": "Secret", "data": {"clouds.yaml": "e30="},
        "metadata": {"name": SECRETS[0], "namespace": "org"}}));
    applied(&town.pass().await);
    assert_eq!(town.condition(), "False SecretNotCapstans");
    assert_eq!(content(&town.secret(SECRETS[0]).unwrap(), "clouds.yaml"), "{}");
    assert_eq!(town.keystone.ids("ops"), Vec::<String>::new());
    town.world.live.remove("Secret", SECRETS[0]);
    town.pass_time(300);
    town.pass().await;
    assert_eq!(town.condition(), "True Published");
}

#[tokio::test]
async fn nothing_is_made_where_the_secret_may_not_be_written() {
    let town = Town::new();
    town.world
        .live
        .webhook(|_, object| (object["kind"] == "Secret").then(|| (403, "secrets is forbidden".to_owned())));
    applied(&town.pass().await);
    assert_eq!(town.condition(), "False Forbidden");
    assert!(town.keystone.state().ever.is_empty(), "no credential was made in vain");
}

#[tokio::test]
async fn only_what_the_fleet_opens_is_made() {
    let town = Town::new();
    for (opens, asks, condition) in [
        (vec![], "cloud: eu-1\n", "none"),
        (vec![opened(&["gauss/*"], "eu-1", "eu-1")], "variables: {}\n", "none"),
        (vec![opened(&["newton/*"], "eu-1", "eu-1")], "cloud: eu-1\n", "False CloudNotOpened"),
        (vec![opened(&["gauss/*"], "eu-2", "eu-1")], "cloud: eu-1\n", "False CloudNotOpened"),
        (vec![opened(&["gauss/["], "eu-1", "eu-1")], "cloud: eu-1\n", "False CloudNotOpened"),
        (vec![opened(&["gauss/*"], "eu-1", "eu-3")], "cloud: eu-1\n", "False CloudCredentialUnusable"),
    ] {
        town.world.fleet.lock().unwrap().spec.cloud_credentials = opens;
        town.world.write("gauss/peu01/capstan.yaml", asks);
        applied(&town.pass().await);
        assert_eq!(town.condition(), condition, "{asks}");
        assert_eq!(town.keystone.state().asked, 0);
    }
    town.world.fleet.lock().unwrap().spec.cloud_credentials = vec![opened(&["gauss/*"], "eu-1", "eu-1")];
    town.maker("refused-s3cr3t");
    applied(&town.pass().await);
    assert_eq!(town.condition(), "False CloudLoginRefused");
    assert!(!format!("{:?}", town.world.status("gauss-peu01")).contains("s3cr3t"));
    // Another credential is another chance, at once.
    town.maker("ops");
    applied(&town.pass().await);
    assert_eq!(town.condition(), "True Published");
}

#[tokio::test]
async fn a_folder_that_cannot_be_rendered_keeps_its_credentials_valid() {
    let mut town = Town::new();
    town.pass().await;
    town.world.write("gauss/peu01/base/broken.yaml", "kind: [\n");
    town.pass_time(20 * DAY);
    let outcome = town.pass().await;
    assert!(matches!(outcome.ended, ReconcileEnd::Refused(_)), "{:?}", outcome.ended);
    assert_eq!((town.current(SECRETS[0]), town.current(SECRETS[1])), ("c3".to_owned(), "c4".to_owned()));
    // One that is suspended is not touched.
    town.world.remove("gauss/peu01/base/broken.yaml");
    town.world.fleet.lock().unwrap().spec.suspend = true;
    town.pass_time(20 * DAY);
    town.pass().await;
    assert_eq!(town.current(SECRETS[0]), "c3");
}

/// A forged status creates no credential for a cluster that the folder does not contain.
#[tokio::test]
async fn what_a_status_says_of_another_cluster_makes_no_credential() {
    for (namespace, cluster) in [("evil", "peu01"), ("org", "another")] {
        let mut town = Town::new();
        town.pass().await;
        let before = SECRETS.map(|name| town.current(name));
        town.world.write("gauss/peu01/base/broken.yaml", "kind: [\n");
        {
            let mut posted = town.world.status_store.posted();
            let status = &mut posted.clusters.get_mut("gauss-peu01").unwrap().status;
            let credentials = status.cloud_credentials.as_mut().unwrap();
            (credentials.namespace, credentials.cluster) = (namespace.to_owned(), cluster.to_owned());
        }
        town.pass_time(20 * DAY);
        town.world.live.take_writes();
        town.pass().await;
        assert_eq!(SECRETS.map(|name| town.current(name)), before, "{namespace}/{cluster}");
        assert_eq!(town.world.live.take_writes(), [""; 0], "{namespace}/{cluster}");
    }
}

#[tokio::test]
async fn what_somebody_deleted_or_changed_is_made_again_and_nobody_loses_what_he_works_with() {
    let mut town = Town::new();
    town.pass().await;
    town.provider_takes_up();
    town.controllers_take_up();
    town.world.live.remove("Secret", SECRETS[1]);
    town.world.live.change("Secret", SECRETS[0], |secret| secret["data"]["clouds.yaml"] = json!("e30="));
    town.pass_time(300);
    town.pass().await;
    assert_eq!(town.keystone.ids("ops"), ["c1", "c2", "c3", "c4"]);
    assert_eq!((town.current(SECRETS[0]), town.current(SECRETS[1])), ("c3".to_owned(), "c4".to_owned()));
    // The cloud has moved.
    town.keystone.state().auth_url = "https://keystone.example.com/identity/v3".to_owned();
    town.pass_time(3_600);
    town.pass().await;
    let secret = town.secret(SECRETS[0]).unwrap();
    assert!(content(&secret, "clouds.yaml").contains("https://keystone.example.com/identity/v3"));
}

#[tokio::test]
async fn another_maker_and_the_first_one_again_delete_nothing_that_is_worked_with() {
    let mut town = Town::new();
    town.pass().await;
    town.provider_takes_up();
    town.controllers_take_up();
    town.maker("other");
    town.pass_time(3_600);
    town.pass().await;
    assert_eq!((town.current(SECRETS[0]), town.current(SECRETS[1])), ("c3".to_owned(), "c4".to_owned()));
    town.maker("ops");
    town.pass_time(3_600);
    // The controllers work with c2 all the time.
    town.pass().await;
    assert_eq!((town.current(SECRETS[0]), town.current(SECRETS[1])), ("c5".to_owned(), "c6".to_owned()));
    assert!(town.keystone.ids("ops").contains(&"c2".to_owned()));
    town.controllers_take_up();
    town.pass_time(3_600);
    town.pass().await;
    assert_eq!(town.keystone.ids("ops"), ["c5", "c6"]);
}

#[tokio::test]
async fn a_cluster_that_goes_keeps_its_credentials_to_the_last() {
    let mut town = Town::new();
    renewed(&mut town).await;
    town.delete_cluster();
    town.world.live.state().refuses_deletion = Some("peu01".to_owned());
    let outcome = town.pass().await;
    assert!(!is_removed(&outcome));
    assert_eq!(town.keystone.ids("ops").len(), 4);
    // It takes its time, and its machines are deleted with a valid credential.
    town.pass_time(20 * DAY);
    town.pass().await;
    assert_eq!(town.current(SECRETS[0]), "c5");
    town.world.live.state().refuses_deletion = None;
    town.keystone.state().is_away = true;
    while town.world.live.object("Cluster", "peu01").is_some() {
        town.pass().await;
    }
    let outcome = town.pass().await;
    let ReconcileEnd::Waiting(reasons) = &outcome.ended else { panic!("{:?}", outcome.ended) };
    assert_eq!(reasons[0].kind, "CloudNotAnswered");
    town.keystone.state().is_away = false;
    town.pass_time(60);
    let outcome = town.pass().await;
    assert!(is_removed(&outcome), "{:?}", outcome.ended);
    assert_eq!(town.keystone.ids("ops"), Vec::<String>::new());
    assert_eq!(town.world.live.names("Secret"), Vec::<String>::new());
    assert_eq!(town.condition(), "none");
    // After that, Keystone gets no more requests.
    let asked = town.keystone.state().asked;
    town.pass_time(300);
    assert!(is_removed(&town.pass().await));
    assert_eq!(town.keystone.state().asked, asked);
}
