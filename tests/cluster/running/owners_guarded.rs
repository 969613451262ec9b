//! The key of a cluster's owners while the folder is not applied, and while another client edits Capstan's objects.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use capstan_reconciler::reconcile::ReconcileEnd;
use capstan_reconciler::reconcile::resources::KeyRecipient;
use serde_json::{Value, json};

use super::owners_town::{DAY, Person, SECRET, Town};

const BROKEN: &str = "gauss/peu01/base/broken.yaml";

async fn refused(town: &Town) {
    let outcome = town.pass().await;
    assert!(matches!(outcome.ended, ReconcileEnd::Refused(_)), "{:?}", outcome.ended);
}

#[tokio::test]
async fn a_former_owner_loses_access_even_if_the_folder_is_refused_and_nobody_gets_in() {
    let town = Town::new().await;
    let (ada, bob, eve) = (Person::new("ada"), Person::new("bob"), Person::new("eve"));
    town.owned_by(&[&ada, &bob], "");
    town.pass().await;
    town.world.write(BROKEN, "kind: [\n");
    // Eve comes, Bob goes, and what is given is to be another thing.
    town.owned_by(&[&ada, &eve], "access: {credentials: admin}\n");
    refused(&town).await;
    assert_eq!(town.bound().as_deref(), Some("capstan:owners:2"));
    let file = town.published().unwrap();
    let text = ada.open(&file.content).unwrap();
    assert_eq!(Town::group_in(&text), "CN=capstan:owners,O=capstan:owners:2");
    assert_eq!((bob.open(&file.content), eve.open(&file.content)), (None, None));
    assert_eq!(town.condition(), "True Published");

    // A valid key is neither recreated nor sent again. It is renewed in time.
    town.inside.take_writes();
    refused(&town).await;
    assert_eq!((town.notices(), town.inside.take_writes()), (2, Vec::new()));
    town.world.pass_time(21 * DAY);
    refused(&town).await;
    assert!(town.published().unwrap().expires_at > file.expires_at);

    // Mended, everything is as Git says.
    town.world.remove(BROKEN);
    town.owned_by(&[&ada, &eve], "");
    town.pass().await;
    assert!(eve.open(&town.published().unwrap().content).is_some());
    // Nobody is left of those who had one.
    town.world.write(BROKEN, "kind: [\n");
    town.owned_by(&[&bob], "");
    refused(&town).await;
    assert_eq!((town.bound(), town.published()), (None, None));
    assert_eq!(town.world.live.object("Secret", SECRET), None);
}

#[tokio::test]
async fn where_nobody_can_read_who_the_owners_are_those_who_have_a_key_keep_it() {
    let town = Town::new().await;
    let (ada, bob) = (Person::new("ada"), Person::new("bob"));
    town.owned_by(&[&ada, &bob], "access: {lifetimeDays: 9}\n");
    town.pass().await;
    let first = town.published().unwrap();
    // A client that may write Secrets adds a recipient to the annotation of the key's Secret.
    let eve = Person::new("eve");
    town.world.live.change("Secret", SECRET, |secret| {
        let said = &mut secret["metadata"]["annotations"]["capstan.dev/owners-key"];
        let mut all: Value = serde_json::from_str(said.as_str().unwrap()).unwrap();
        let added = json!({"name": "eve", "fingerprint": eve.key(), "key": eve.key()});
        all["recipients"].as_array_mut().unwrap().push(added);
        *said = json!(all.to_string());
    });
    town.world.write("gauss/peu01/capstan.yaml", "owners: [{\n");
    for day in [0, 7] {
        town.world.pass_time(day * DAY);
        refused(&town).await;
    }
    let second = town.published().unwrap();
    assert_ne!(second.sha256, first.sha256, "renewed");
    assert!(ada.open(&second.content).is_some() && bob.open(&second.content).is_some());
    assert_eq!(eve.open(&second.content), None);
    let days = second.expires_at.unwrap().duration_since(first.expires_at.unwrap()).as_hours() / 24;
    assert_eq!(days, 7, "for as long as it was asked for last");
}

#[tokio::test]
async fn an_owner_named_only_by_a_status_gets_no_key() {
    let town = Town::new().await;
    let (ada, eve) = (Person::new("ada"), Person::new("eve"));
    town.owned_by(&[&ada], "access: {lifetimeDays: 9}\n");
    town.pass().await;
    let first = town.published().unwrap();
    town.world.write("gauss/peu01/capstan.yaml", "owners: [{\n");
    for is_known in [false, true] {
        town.world.pass_time(7 * DAY);
        {
            let mut posted = town.world.status_store.posted();
            let status = &mut posted.clusters.get_mut("gauss-peu01").unwrap().status;
            let recipients = &mut status.owners_key.as_mut().unwrap().recipients;
            if is_known {
                recipients.pop();
            } else {
                let key = Some(eve.key());
                recipients.push(KeyRecipient { name: "eve".to_owned(), fingerprint: eve.key(), key });
            }
        }
        refused(&town).await;
        let now = town.published().unwrap();
        assert_eq!(eve.open(&now.content), None);
        assert_eq!(now.sha256 != first.sha256, is_known);
    }
    assert!(ada.open(&town.published().unwrap().content).is_some());
}

#[tokio::test]
async fn of_a_suspended_cluster_nothing_is_touched_but_to_keep_somebody_out() {
    let town = Town::new().await;
    let (ada, bob) = (Person::new("ada"), Person::new("bob"));
    town.owned_by(&[&ada, &bob], "");
    town.pass().await;
    town.world.status_store.posted().clusters.get_mut("gauss-peu01").unwrap().spec.suspend = true;
    town.world.pass_time(21 * DAY);
    town.inside.remove("ClusterRoleBinding", "capstan:owners");
    town.inside.take_writes();
    let outcome = town.pass().await;
    assert!(matches!(outcome.ended, ReconcileEnd::Suspended), "{:?}", outcome.ended);
    assert_eq!((town.notices(), town.inside.take_writes()), (1, Vec::new()));
    // If a pass is killed on the way, the next one completes it.
    town.owned_by(&[&ada], "");
    for dies_after in [Some(1), None] {
        town.inside.state().dies_after = dies_after;
        town.world.pass_time(601);
        town.pass().await;
    }
    assert_eq!(town.bound().as_deref(), Some("capstan:owners:2"));
    let file = town.published().unwrap();
    let text = ada.open(&file.content).unwrap();
    assert_eq!(Town::group_in(&text), "CN=capstan:owners,O=capstan:owners:2");
    assert_eq!(bob.open(&file.content), None);
}

#[tokio::test]
async fn a_file_that_somebody_put_into_the_secret_is_not_published() {
    let town = Town::new().await;
    let ada = Person::new("ada");
    town.owned_by(&[&ada], "");
    town.pass().await;
    let first = town.published().unwrap();
    let put = b"-----BEGIN AGE ENCRYPTED FILE-----\nbWluZQ==\n-----END AGE ENCRYPTED FILE-----\n";
    town.world.live.change("Secret", SECRET, |secret| {
        secret["data"]["kubeconfig.age"] = json!(STANDARD.encode(put));
        let said = &mut secret["metadata"]["annotations"]["capstan.dev/owners-key"];
        *said = json!(said.as_str().unwrap().replace(&first.sha256, &capstan_model::digest::sha256(put)));
    });
    // Also while the cluster does not answer.
    town.inside.state().is_away = Some("no answer within 10 s".to_owned());
    town.pass().await;
    let known = town.world.status("gauss-peu01").owners_key.unwrap().file.unwrap();
    assert_eq!(known.sha256, first.sha256);
    town.inside.state().is_away = None;
    town.world.pass_time(601);
    town.pass().await;
    let second = town.published().unwrap();
    assert!(ada.open(&second.content).is_some());
    assert_eq!((town.notices(), town.condition().as_str()), (2, "True Published"));
}
