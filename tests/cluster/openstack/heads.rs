//! Heads that are tried before the merge, beside a cloud that is there in memory.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use capstan_live::cloud::{
    CloudFacts, Image, MachineType, Network, PlacementGroup, Questions, Quota, Resource, Unanswered,
};
use capstan_model::finding::Severity;
use capstan_openstack::OpenStack;
use capstan_ports::{
    CloudAccount, CloudCredential, CloudError, CloudSession, Clouds, CredentialForms, Issued, NewCredential,
};
use capstan_reconciler::reconcile::ports::{PreflightAnswer, PreflightVerdict};
use capstan_reconciler::reconcile::preflight::preflight;
use capstan_reconciler::reconcile::resources::{CloudCredentialsSpec, SecretRef};
use capstan_reconciler::reconcile::{CloudCredentials, CloudPreflight};
use jiff::Timestamp;
use secrecy::ExposeSecret as _;
use serde_json::json;

use super::keeper::{Cloud, refused};
use super::rows::FOLDER;
use crate::running::world::{Noted, World, id, question};

/// One project in memory, and how often it was asked.
#[derive(Default)]
struct Memory {
    facts: Mutex<CloudFacts>,
    logins: Mutex<Vec<String>>,
    asked: Arc<Mutex<u32>>,
}

struct InMemory {
    account: CloudAccount,
    facts: CloudFacts,
    asked: Arc<Mutex<u32>>,
}

#[async_trait]
impl Clouds for Memory {
    fn may_ask(&self) -> bool {
        true
    }

    async fn log_in(&self, credential: &CloudCredential) -> Result<Arc<dyn CloudSession>, CloudError> {
        let secret = credential.secret["clouds.yaml"].expose_secret().to_owned();
        self.logins.lock().unwrap().push(secret.clone());
        if secret.contains("refused") {
            return Err(CloudError::Refused(refused("k", 401)));
        }
        let account = CloudAccount {
            host: "k".to_owned(),
            region: credential.region.clone(),
            account: "p".to_owned(),
            user: "u".to_owned(),
        };
        let facts = self.facts.lock().unwrap().clone();
        Ok(Arc::new(InMemory { account, facts, asked: Arc::clone(&self.asked) }))
    }
}

#[async_trait]
impl CloudSession for InMemory {
    fn account(&self) -> &CloudAccount {
        &self.account
    }

    fn place(&self) -> String {
        unreachable!("a preflight writes nothing")
    }

    fn forms(&self, _credential: &NewCredential) -> CredentialForms {
        unreachable!("a preflight writes nothing")
    }

    async fn ask(&self, _questions: &Questions) -> CloudFacts {
        *self.asked.lock().unwrap() += 1;
        self.facts.clone()
    }

    async fn credentials(&self, _beginning: &str) -> Result<Vec<Issued>, CloudError> {
        unreachable!("a preflight writes nothing")
    }

    async fn issue(&self, _name: &str, _expires_at: Timestamp) -> Result<NewCredential, CloudError> {
        unreachable!("a preflight writes nothing")
    }

    async fn revoke(&self, _id: &str) -> Result<(), CloudError> {
        unreachable!("a preflight writes nothing")
    }
}

fn facts(cores: u64) -> CloudFacts {
    let network =
        |name: &str, external| Network { id: name.to_owned(), name: name.to_owned(), tags: vec![], external };
    CloudFacts {
        machine_types: Ok(vec![MachineType {
            id: "f".to_owned(),
            name: "SCS-2V-4-20".to_owned(),
            cores: 2,
            ram_mib: 4096,
            disk_gib: 20,
        }]),
        images: Ok(vec![Image {
            id: "i".to_owned(),
            name: "ubuntu-2404-kube-v1.36.3".to_owned(),
            tags: vec![],
            not_bootable: None,
            min_disk_gib: 20,
            min_ram_mib: 0,
        }]),
        networks: Ok(vec![network("external", true), network("nodes", false)]),
        key_pairs: Ok(vec!["ops".to_owned()]),
        zones: Ok(vec!["nova".to_owned()]),
        placement_groups: Ok(vec![PlacementGroup { id: "g".to_owned(), name: "controller".to_owned() }]),
        compute: Ok([(Resource::Cores, Quota { limit: Some(cores), used: 0 })].into()),
        ..CloudFacts::default()
    }
}

/// A world whose management cluster knows the kinds of the OpenStack provider, with one cluster a name.
fn world(clouds: Arc<dyn Clouds>, clusters: &[&str], secret: &str) -> World {
    let mut world = World::new();
    world.cloud_preflight = Arc::new(CloudPreflight::new(clouds, Arc::<Noted>::default()));
    for name in clusters {
        world.write(&format!("gauss/{name}/base/all.yaml"), &FOLDER.replace("peu01", name));
        world.live.put(json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": format!("{name}-cloud-config"), "namespace": "org"},
            "data": {"clouds.yaml": STANDARD.encode(secret)},
        }));
    }
    world
}

async fn judge(world: &World, clusters: &[&str]) -> Vec<PreflightAnswer> {
    let head = world.revision().await;
    let fleet = world.fleet.lock().unwrap().clone();
    let ids: Vec<_> = clusters.iter().map(|name| id(&format!("gauss/{name}"))).collect();
    preflight(&world.ports(), &fleet, &head, &question(&head, &ids), &[]).await
}

fn lines(answer: &PreflightAnswer) -> Vec<String> {
    answer.reasons.iter().map(|reason| format!("{} {}", reason.kind, reason.line())).collect()
}

#[tokio::test]
async fn what_a_cloud_cannot_give_rejects_the_head_at_its_file_and_line() {
    let memory = Arc::new(Memory::default());
    *memory.facts.lock().unwrap() = facts(6);
    let world = world(memory.clone(), &["peu01"], "good");
    let answers = judge(&world, &["peu01"]).await;
    assert_eq!((answers[0].verdict, lines(&answers[0])), (PreflightVerdict::Accepted, vec![]));
    assert_eq!(world.live.take_writes(), Vec::<String>::new(), "nothing is written");
    let kept = Ok([(Resource::Cores, Quota { limit: Some(6), used: 1 })].into());
    memory.facts.lock().unwrap().compute = kept;
    memory.facts.lock().unwrap().key_pairs = Ok(vec![]);
    let answers = judge(&world, &["peu01"]).await;
    assert_eq!(answers[0].verdict, PreflightVerdict::Rejected);
    assert_eq!(
        lines(&answers[0]),
        [
            "KeyPairNotThere gauss/peu01/base/all.yaml:37: OpenStackMachineTemplate org/peu01-cp-cf08a1e3: there is no key pair `ops`. Key pairs belong to a user: it must be one of this credential's user",
            "QuotaExceeded gauss/peu01/base/all.yaml:13: OpenStackCluster org/peu01: cores: 6 more needed (3 machines of SCS-2V-4-20), 5 free of 6",
        ]
    );
    // What is not answered is not refused.
    let mut away = facts(6);
    away.compute = Err(Unanswered("Nova at c answers 503".to_owned()));
    *memory.facts.lock().unwrap() = away;
    let answers = judge(&world, &["peu01"]).await;
    assert_eq!(answers[0].verdict, PreflightVerdict::NotVerifiable);
    assert!(lines(&answers[0])[0].ends_with("the quota of instances is unknown: Nova at c answers 503"));
}

#[tokio::test]
async fn clusters_of_one_question_are_asked_together_and_share_a_quota() {
    let memory = Arc::new(Memory::default());
    *memory.facts.lock().unwrap() = facts(8);
    let world = world(memory.clone(), &["peu01", "peu02"], "good");
    let answers = judge(&world, &["peu01", "peu02"]).await;
    assert_eq!(*memory.asked.lock().unwrap(), 1, "one set of calls a project");
    assert_eq!(memory.logins.lock().unwrap().len(), 2, "each with its own credential");
    assert!(answers.iter().all(|answer| answer.verdict == PreflightVerdict::Rejected));
    let line = &lines(&answers[0])[0];
    assert!(
        line.ends_with("cores: 6 more needed (3 machines of SCS-2V-4-20) and 6 for gauss/peu02, 8 free of 8"),
        "{line}"
    );
}

#[tokio::test]
async fn two_proposals_that_have_room_alone_and_not_together_say_so() {
    let memory = Arc::new(Memory::default());
    *memory.facts.lock().unwrap() = facts(8);
    let world = world(memory.clone(), &["peu01", "peu02"], "good");
    let first = judge(&world, &["peu01"]).await;
    assert_eq!(lines(&first[0]), Vec::<String>::new());
    // The head of another proposal, on a default branch that lacks what the first one brings.
    world.remove("gauss/peu01/base/all.yaml");
    let answers = judge(&world, &["peu02"]).await;
    assert_eq!(answers[0].verdict, PreflightVerdict::Accepted, "each fits alone");
    let reason = &answers[0].reasons[0];
    assert_eq!((reason.kind, reason.severity), ("QuotaShared", Severity::Warning));
    assert!(reason.message.contains("besides 6 of gauss/peu01 at "), "{}", reason.message);
    assert!(reason.message.ends_with("8 free of 8: each fits alone, but both together do not"));
    // Once the first is merged it is in use, or on its way there.
    world.write("gauss/peu01/base/all.yaml", FOLDER);
    let answers = judge(&world, &["peu02"]).await;
    assert_eq!(lines(&answers[0]), Vec::<String>::new());
}

#[tokio::test]
async fn what_proposals_ask_of_a_cloud_outlives_the_process_and_ends_with_them() {
    let (memory, notes) = (Arc::new(Memory::default()), Arc::<Noted>::default());
    *memory.facts.lock().unwrap() = facts(8);
    let mut world = world(memory.clone(), &["peu01", "peu02"], "good");
    let restart = |world: &mut World| {
        world.cloud_preflight = Arc::new(CloudPreflight::new(memory.clone(), notes.clone()));
    };
    restart(&mut world);
    let head = world.revision().await;
    judge(&world, &["peu01"]).await;
    let asked = question(&head, &[]).id;
    world.remove("gauss/peu01/base/all.yaml");
    let kinds = |answers: Vec<PreflightAnswer>| -> Vec<&'static str> {
        answers[0].reasons.iter().map(|reason| reason.kind).collect()
    };
    // Another process knows it, too.
    restart(&mut world);
    assert_eq!(kinds(judge(&world, &["peu02"]).await), ["QuotaShared"]);
    let text = notes.0.lock().unwrap().clone().unwrap();
    assert!(text.contains("gauss/peu01") && !text.contains("good"), "no credential is noted: {text}");
    // A day later, where the bot says that it is open.
    let fleet = world.fleet.lock().unwrap().key.clone();
    world.cloud_preflight.keep_only(&fleet, &BTreeSet::from([asked.clone()])).await;
    world.pass_time(90_000);
    assert_eq!(kinds(judge(&world, &["peu02"]).await), ["QuotaShared"]);
    // It is closed: at once, and for the process after that one.
    world.cloud_preflight.keep_only(&fleet, &BTreeSet::new()).await;
    assert_eq!(kinds(judge(&world, &["peu02"]).await), [""; 0]);
    restart(&mut world);
    world.pass_time(1);
    assert_eq!(kinds(judge(&world, &["peu02"]).await), [""; 0]);
    // Unreadable notes are replaced.
    *notes.0.lock().unwrap() = Some("[{".to_owned());
    restart(&mut world);
    assert_eq!(kinds(judge(&world, &["peu02"]).await), [""; 0]);
    // If the bot does not report a proposal, it counts for a day.
    restart(&mut world);
    world.pass_time(90_000);
    world.write("gauss/peu01/base/all.yaml", &FOLDER.replace("name: peu01,", "name: peu01, labels: {a: b},"));
    assert_eq!(kinds(judge(&world, &["peu01"]).await), [""; 0]);
}

#[tokio::test]
async fn a_refused_login_rejects_and_a_secret_that_is_not_there_is_not_known() {
    let memory = Arc::new(Memory::default());
    let world = world(memory.clone(), &["peu01"], "refused-s3cr3t");
    let answers = judge(&world, &["peu01"]).await;
    assert_eq!(answers[0].verdict, PreflightVerdict::Rejected);
    assert_eq!(
        lines(&answers[0]),
        [
            "CloudLoginRefused gauss/peu01/base/all.yaml:13: OpenStackCluster org/peu01: cloud `openstack` of Secret org/peu01-cloud-config: Keystone at k refuses the login (401): the credential is wrong, has expired or was deleted"
        ]
    );
    world.live.remove("Secret", "peu01-cloud-config");
    let answers = judge(&world, &["peu01"]).await;
    assert_eq!(answers[0].verdict, PreflightVerdict::NotVerifiable);
    assert!(lines(&answers[0])[0].ends_with("there is no such Secret yet"));
    assert_eq!(memory.logins.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_cluster_without_a_credential_yet_is_asked_for_with_what_will_make_it() {
    let memory = Arc::new(Memory::default());
    *memory.facts.lock().unwrap() = facts(5);
    let mut world = world(memory.clone(), &["peu01"], "good");
    world.live.remove("Secret", "peu01-cloud-config");
    world.cloud_credentials = Arc::new(CloudCredentials::new(memory.clone()));
    world.fleet.lock().unwrap().spec.cloud_credentials = vec![CloudCredentialsSpec {
        clusters: vec!["gauss/*".to_owned()],
        cloud: "openstack".to_owned(),
        secret_ref: SecretRef { namespace: "capstan-clouds".to_owned(), name: "eu".to_owned() },
        lifetime_seconds: 2_592_000,
    }];
    world.write("gauss/peu01/capstan.yaml", "cloud: openstack\n");
    world.status_store.posted().put_secret("capstan-clouds", "eu", "clouds.yaml", "maker");
    let answers = judge(&world, &["peu01"]).await;
    assert_eq!(*memory.logins.lock().unwrap(), ["maker"]);
    assert_eq!(answers[0].reasons[0].kind, "QuotaExceeded");
    assert_eq!(world.live.take_writes(), Vec::<String>::new());
    // The maker's login is not the folder's fault.
    world.status_store.posted().put_secret("capstan-clouds", "eu", "clouds.yaml", "refused");
    let answers = judge(&world, &["peu01"]).await;
    assert_eq!(answers[0].verdict, PreflightVerdict::NotVerifiable);
    assert_eq!(answers[0].reasons[0].kind, "CloudLoginRefused");
}

/// The whole walk on the services themselves, with the folder's own Secret.
pub(super) async fn a_head_is_tried(cloud: &Cloud) {
    let clouds: Arc<dyn Clouds> = Arc::new(OpenStack::new(cloud.hosts()));
    let good = cloud.clouds_yaml("gauss", "gauss-pa55word");
    let real = world(clouds.clone(), &["peu01"], &good);
    let answers = judge(&real, &["peu01"]).await;
    assert_eq!((answers[0].verdict, lines(&answers[0])), (PreflightVerdict::Accepted, vec![]));
    // Four clusters of three machines have no room together: 24 cores of 20.
    let four = ["peu01", "peu02", "peu03", "peu04"];
    let answers = judge(&world(clouds.clone(), &four, &good), &four).await;
    let kinds: BTreeSet<&str> =
        answers.iter().flat_map(|answer| &answer.reasons).map(|one| one.kind).collect();
    assert_eq!(kinds, BTreeSet::from(["QuotaExceeded"]));
    assert!(lines(&answers[0]).iter().any(|line| line.contains("cores: 6 more needed (3 machines of SCS-2V-4-20) and 6 for gauss/peu02 and 6 for gauss/peu03 and 6 for gauss/peu04, 20 free of 20")), "{:?}", lines(&answers[0]));
    let wrong = world(clouds, &["peu01"], &cloud.clouds_yaml("gauss", "wr0ng-pa55word"));
    let answers = judge(&wrong, &["peu01"]).await;
    assert_eq!(answers[0].verdict, PreflightVerdict::Rejected);
    assert_eq!(answers[0].reasons[0].kind, "CloudLoginRefused");
    assert!(!format!("{answers:?}").contains("wr0ng"));
}
