//! The key of a cluster's owners, on two real API servers: one is the management cluster, the other one the cluster,
//! whose kube-controller-manager signs certificates. An owner opens the file and works with kubectl; an owner who
//! leaves is refused at once.

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use capstan_reconciler::reconcile::resources::{ConditionType, ManagedClusterStatus, OwnersKeyStatus};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::owners_town::{Person, Town as Cluster};
use super::super::rows::CUSTOMER;
use super::Town;
use capstan_test_parts::plane::{Parts, Plane, tail};

/// How long certificates are valid that the cluster signs, whatever is asked for, beside the five minutes before they are
/// made. Two thirds of both are over 70 seconds after they were.
const SIGNED_FOR: &str = "4m15s";

const CLUSTER: &str = "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: own, namespace: acme}\nspec:\n  paused: true\n  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevCluster, name: own}\n---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: DevCluster\nmetadata: {name: own, namespace: acme}\nspec: {backend: {inMemory: {}}}\n";

fn commit(town: &Town, message: &str, people: &[&Person]) {
    let rows: String =
        people.iter().map(|one| format!("- {{name: {}, key: {}}}\n", one.name, one.key())).collect();
    let owners = if people.is_empty() { "track: none\n".to_owned() } else { format!("owners:\n{rows}") };
    town.repository.write(&format!("{CUSTOMER}/own/capstan.yaml"), &owners);
    town.commit(message, &[]);
}

/// Waits until the status of the cluster's key is so.
async fn until(
    town: &Town,
    what: &str,
    holds: impl Fn(&ManagedClusterStatus) -> bool,
) -> ManagedClusterStatus {
    let mut found = ManagedClusterStatus::default();
    let missing = town
        .wait(async || {
            town.ask();
            let status = town.statuses().await.remove(&format!("{CUSTOMER}-own")).unwrap_or_default();
            let told = format!(
                "{:?} {:?}",
                status.owners_key,
                status.conditions.of(ConditionType::OwnersKeyPublished)
            );
            let is_so = holds(&status);
            found = status;
            if is_so { Vec::new() } else { vec![told] }
        })
        .await;
    assert!(missing.is_empty(), "{what}: {missing:?}\n{}", tail(&town.reconciler.log(), 30));
    found
}

fn is_published(status: &ManagedClusterStatus, generation: u64, people: usize) -> bool {
    let key = status.owners_key.clone().unwrap_or_default();
    status.conditions.hold(ConditionType::OwnersKeyPublished)
        && (key.generation, key.recipients.len()) == (generation, people)
        // The next generation is counted before its file is made.
        && key.file.is_some_and(|file| file.generation == generation)
}

fn digest(status: &ManagedClusterStatus) -> Option<String> {
    let OwnersKeyStatus { file, .. } = status.owners_key.clone()?;
    file.map(|file| file.sha256)
}

/// The encrypted kubeconfig, decoded from the Secret.
fn file(town: &Town) -> Vec<u8> {
    let secret =
        town.plane.kubectl(&["get", "secret", "own-owners-kubeconfig", "-n", CUSTOMER, "-o", "json"]);
    let secret: Value = serde_json::from_str(&secret).unwrap();
    STANDARD.decode(secret["data"]["kubeconfig.age"].as_str().unwrap()).unwrap()
}

/// What kubectl says with such a kubeconfig.
fn kubectl(
    inside: &Plane,
    folder: &std::path::Path,
    kubeconfig: &str,
    arguments: &[&str],
) -> Result<String, String> {
    let file = folder.join("kubeconfig");
    std::fs::write(&file, kubeconfig).unwrap();
    let file = file.display().to_string();
    let arguments: Vec<&str> = arguments.iter().copied().chain(["--kubeconfig", &file]).collect();
    inside.try_kubectl(&arguments, "")
}

/// The same until it is so: an API server hears of a change to its roles through a watch, some milliseconds later.
fn kubectl_until(
    inside: &Plane,
    folder: &std::path::Path,
    kubeconfig: &str,
    arguments: &[&str],
    is_so: impl Fn(&Result<String, String>) -> bool,
) {
    let end = Instant::now() + Duration::from_secs(10);
    loop {
        let said = kubectl(inside, folder, kubeconfig, arguments);
        if is_so(&said) {
            return;
        }
        assert!(Instant::now() < end, "kubectl {arguments:?}: {said:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn is_allowed(said: &Result<String, String>) -> bool {
    said.as_ref().is_ok_and(|said| said.contains("kube-system") || said.trim() == "yes")
}

fn is_forbidden(said: &Result<String, String>) -> bool {
    said.as_ref().is_err_and(|said| said.contains("(Forbidden)"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn owners_work_with_kubectl_and_a_removed_owner_is_refused_at_once() {
    let Some(town) = Town::found(Parts::Kinds).await else { return };
    let inside = Plane::start_signing(Parts::Kubernetes, SIGNED_FOR).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (ada, bob, eve) = (Person::new("ada"), Person::new("bob"), Person::new("eve"));
    town.repository.write(&format!("{CUSTOMER}/own/base/cluster.yaml"), &CLUSTER.replace("acme", CUSTOMER));
    commit(&town, "A cluster of two owners", &[&ada, &bob]);
    until(&town, "it waits for its API", |status| {
        let told = status.conditions.of(ConditionType::OwnersKeyPublished);
        told.is_some_and(|told| told.reason == "ControlPlaneNotInitialized")
    })
    .await;

    let own = std::fs::read_to_string(inside.admin_kubeconfig()).unwrap();
    town.plane.apply(
        &json!({"apiVersion": "v1", "kind": "Secret", "type": "cluster.x-k8s.io/secret",
            "metadata": {"name": "own-kubeconfig", "namespace": CUSTOMER,
                "labels": {"cluster.x-k8s.io/cluster-name": "own"}},
            "data": {"value": STANDARD.encode(&own)}})
        .to_string(),
    );
    let up = json!({"status": {"initialization": {"controlPlaneInitialized": true, "infrastructureProvisioned": true}}});
    let patch = ["patch", "cluster", "own", "-n", CUSTOMER, "--subresource=status", "--type=merge", "-p"];
    town.plane.kubectl(&[patch.as_slice(), &[up.to_string().as_str()]].concat());

    let first = until(&town, "they get a key", |status| is_published(status, 1, 2)).await;
    let sealed = file(&town);
    let old = bob.open(&sealed).unwrap();
    assert_eq!(ada.open(&sealed).as_ref(), Some(&old));
    assert_eq!(eve.open(&sealed), None, "a stranger's key does not open it");
    assert_eq!(Cluster::group_in(&old), "CN=capstan:owners,O=capstan:owners:1");
    let everything = ["auth", "can-i", "*", "*"];
    kubectl_until(&inside, folder.path(), &old, &everything, is_allowed);

    // Bob leaves.
    commit(&town, "Bob leaves", &[&ada]);
    let second = until(&town, "those who stay get another key", |status| is_published(status, 2, 1)).await;
    kubectl_until(&inside, folder.path(), &old, &["get", "namespaces"], is_forbidden);
    let sealed = file(&town);
    assert_eq!(bob.open(&sealed), None);
    let new = ada.open(&sealed).unwrap();
    kubectl_until(&inside, folder.path(), &new, &["get", "namespaces"], is_allowed);

    // Time passes: the reconciler renews the certificate, and the one before stays valid until it ends.
    let third = until(&town, "it is renewed", |status| {
        is_published(status, 2, 1) && digest(status) != digest(&second)
    })
    .await;
    let renewed = ada.open(&file(&town)).unwrap();
    assert_ne!(Cluster::key_in(&renewed), Cluster::key_in(&new));
    kubectl_until(&inside, folder.path(), &renewed, &["get", "namespaces"], is_allowed);

    // While it is valid nothing is written: neither there nor here.
    let since = Timestamp::now();
    town.look_again().await;
    let own_writes = |plane: &Plane| -> Vec<String> {
        let audit = plane.audit().into_iter();
        let of_keys = audit.filter(|request| {
            request.at >= since
                && request.is_write()
                && ["certificatesigningrequests", "clusterrolebindings", "secrets"]
                    .contains(&request.resource.as_str())
        });
        of_keys.map(|request| request.words()).collect()
    };
    if digest(&town.statuses().await[&format!("{CUSTOMER}-own")]) == digest(&third) {
        assert_eq!((own_writes(&inside), own_writes(&town.plane)), (Vec::new(), Vec::new()));
    }

    // Nobody is left.
    commit(&town, "Ada leaves", &[]);
    until(&town, "no key is published", |status| {
        let told = status.conditions.of(ConditionType::OwnersKeyPublished);
        told.is_some_and(|told| told.reason == "NoOwners")
    })
    .await;
    kubectl_until(&inside, folder.path(), &renewed, &["get", "namespaces"], is_forbidden);
    let secret = town.plane.try_kubectl(&["get", "secret", "own-owners-kubeconfig", "-n", CUSTOMER], "");
    assert!(secret.unwrap_err().contains("NotFound"));

    // No part of a key is in an audit log, a status, an event or the reconciler's log.
    let audits =
        [&town.plane, &inside].map(|plane| std::fs::read_to_string(plane.state().join("audit.log")).unwrap());
    let statuses = town.plane.kubectl(&["get", "managedclusters,events", "-A", "-o", "yaml"]);
    let everywhere =
        format!("{}{}{statuses}{}", audits[0], audits[1], tail(&town.reconciler.log(), usize::MAX));
    for part in [&old, &new, &renewed].iter().flat_map(|text| Cluster::key_in(text)) {
        assert!(!everywhere.contains(&part), "{part} stands somewhere");
    }
    assert_ne!(digest(&first), digest(&second));
}
