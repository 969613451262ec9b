//! The whole life of what is inside a cluster, on two real API servers: services come, with a key for the owners; one is moved,
//! one is switched off, an owner leaves, the key is renewed, and the cluster goes with what outlives it in its cloud. The
//! reconciler is killed at twenty random moments, and the end is the same.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use capstan_live::services::{CleanupState, ServiceState};
use capstan_model::digest::sha256;
use capstan_reconciler::reconcile::resources::{ConditionType, OwnersKeyStatus};
use jiff::Timestamp;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};

use super::super::owners_town::Person;
use super::super::rows::CUSTOMER;
use super::workloads::{admin, kubeconfig};
use super::{Statuses, Town};
use capstan_test_parts::plane::audit::Request;
use capstan_test_parts::plane::reconciler::HOME;
use capstan_test_parts::plane::{Parts, Plane, tail};

const NAME: &str = "life";
/// In each of the five parts of the life.
const KILLS: usize = 4;
/// How long certificates are valid that the cluster signs, beside the five minutes before they are made: two thirds of both
/// are over half a minute after they were.
const SIGNED_FOR: &str = "3m10s";

/// A network: without nodes nothing of it has to run.
const CILIUM: &str = "apiVersion: apps/v1
kind: DaemonSet
metadata: {name: cilium, namespace: kube-system}
spec:
  selector: {matchLabels: {k8s-app: cilium}}
  template:
    metadata: {labels: {k8s-app: cilium}}
    spec: {containers: [{name: agent, image: registry.k8s.io/pause:3.10}]}
";

fn maps(service: &str, version: usize) -> String {
    let map = |at: usize| {
        format!(
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {service}-{at}, labels: {{of: {service}}}}}\ndata: {{version: \"{version}\"}}\n"
        )
    };
    (0..3).map(map).collect()
}

const LIST: &str = "services:
- {name: cilium, role: cni, from: {folder: services/cilium}}
- {name: app, from: {folder: services/app}, after: [cilium]}
- {name: extra, from: {folder: services/extra}, after: [app]}
";

fn write(town: &Town, path: &str, text: &str) {
    town.repository.write(&format!("{CUSTOMER}/{NAME}/{path}"), text);
}

/// What is inside: ConfigMaps of services with their versions, and names of other kinds.
fn inside_of(inside: &Plane) -> Vec<String> {
    let mut found = Vec::new();
    for (kind, selector) in [("configmaps", "of"), ("daemonsets", ""), ("services", "cloud")] {
        let namespace = if kind == "daemonsets" { "kube-system" } else { "default" };
        let all = inside.kubectl(&["get", kind, "-n", namespace, "-l", selector, "-o", "json"]);
        let all: Value = serde_json::from_str(&all).unwrap();
        let named = all["items"].as_array().unwrap().iter().map(|object| {
            let version = object["data"]["version"].as_str().map(|version| format!(" {version}"));
            format!("{}{}", object["metadata"]["name"].as_str().unwrap(), version.unwrap_or_default())
        });
        found.extend(named);
    }
    found
}

fn of_app(version: usize) -> Vec<String> {
    (0..3).map(|at| format!("app-{at} {version}")).collect()
}

/// Each service with its state.
fn states(statuses: &Statuses) -> Vec<(String, ServiceState)> {
    let services = statuses.get(&format!("{CUSTOMER}-{NAME}")).map(|status| status.services.clone());
    services.unwrap_or_default().into_iter().map(|service| (service.name, service.state)).collect()
}

/// What the DaemonSet controller says on three nodes; there is none inside.
fn run_network(inside: &Plane) {
    let status = json!({"status": {"observedGeneration": 1, "currentNumberScheduled": 3, "numberMisscheduled": 0,
        "desiredNumberScheduled": 3, "numberReady": 3, "updatedNumberScheduled": 3, "numberAvailable": 3}});
    let patch =
        ["patch", "daemonset", "cilium", "-n", "kube-system", "--subresource=status", "--type=merge", "-p"];
    // It may not have been applied yet.
    let _asked_again = inside.try_kubectl(&[&patch[..], &[&status.to_string()]].concat(), "");
}

/// The API of the cluster comes up: it is the other plane's.
fn come_up(town: &Town, inside: &Plane) {
    let own = admin(inside);
    let address = own["clusters"][0]["cluster"]["server"].as_str().unwrap().to_owned();
    let port = address.rsplit(':').next().unwrap().parse().unwrap();
    town.plane.apply(
        &json!({"apiVersion": "v1", "kind": "Secret", "type": "cluster.x-k8s.io/secret",
            "metadata": {"name": format!("{NAME}-kubeconfig"), "namespace": CUSTOMER,
                "labels": {"cluster.x-k8s.io/cluster-name": NAME}},
            "data": {"value": STANDARD.encode(kubeconfig(&own, port, None, None))}})
        .to_string(),
    );
    let status = json!({"status": {"initialization": {"controlPlaneInitialized": true}}}).to_string();
    town.plane.kubectl(&[
        "patch",
        "cluster",
        NAME,
        "-n",
        CUSTOMER,
        "--subresource=status",
        "--type=merge",
        "-p",
        &status,
    ]);
}

struct Life {
    town: Town,
    inside: Plane,
    chance: StdRng,
    seed: u64,
    folder: tempfile::TempDir,
}

/// What the cluster's settings say, with those owners.
fn settings(list: &str, owners: &[&Person]) -> String {
    let rows = owners.iter().map(|one| format!("- {{name: {}, key: {}}}\n", one.name, one.key()));
    format!("{list}owners:\n{}", rows.collect::<String>())
}

impl Life {
    /// Commits, kills some times meanwhile, and waits until it is so.
    async fn part(&mut self, what: &str, is_so: impl AsyncFn(&Self) -> Result<(), String>) {
        self.town.commit(what, &[]);
        for _ in 0..KILLS {
            tokio::time::sleep(Duration::from_millis(self.chance.random_range(50..1_500))).await;
            self.town.reconciler.kill();
            self.town.reconciler.start();
        }
        self.town.ask();
        let this = &*self;
        let missing = this.town.wait(async || is_so(this).await.err().into_iter().collect()).await;
        let log = || tail(&self.town.reconciler.log(), 30);
        assert!(missing.is_empty(), "seed {}: {what}: {missing:?}\n{}", self.seed, log());
    }

    /// The owners' key in the status, once the condition says that it is published.
    async fn key(&self) -> Option<OwnersKeyStatus> {
        let status = self.town.statuses().await.remove(&format!("{CUSTOMER}-{NAME}"))?;
        status.conditions.hold(ConditionType::OwnersKeyPublished).then_some(status.owners_key).flatten()
    }

    /// What a person decrypts from the Secret. Fails unless the status has this generation and the digest of that file.
    async fn opened(&self, by: &Person, generation: u64) -> Result<String, String> {
        let key = self.key().await.ok_or("no key")?;
        let secret = format!("{NAME}-owners-kubeconfig");
        let found =
            self.town.plane.try_kubectl(&["get", "secret", &secret, "-n", CUSTOMER, "-o", "json"], "")?;
        let found: Value = serde_json::from_str(&found).map_err(|error| error.to_string())?;
        let file = STANDARD.decode(found["data"]["kubeconfig.age"].as_str().unwrap_or_default()).unwrap();
        let is_told = key.file.as_ref().is_some_and(|told| told.sha256 == sha256(&file));
        if key.generation != generation || !is_told {
            return Err(format!("{key:?}"));
        }
        by.open(&file).ok_or_else(|| format!("{} cannot open it", by.name))
    }

    /// Whether a kubeconfig is good for everything inside.
    fn admits(&self, kubeconfig: &str) -> bool {
        let file = self.folder.path().join("kubeconfig");
        std::fs::write(&file, kubeconfig).unwrap();
        let file = file.display().to_string();
        self.inside.try_kubectl(&["get", "namespaces", "--kubeconfig", &file], "").is_ok()
    }

    /// Whether services stand so, and that is inside.
    async fn services_are(&self, wanted: &[(&str, ServiceState)], inside: Vec<String>) -> Result<(), String> {
        let found = states(&self.town.statuses().await);
        let wanted: Vec<(String, ServiceState)> =
            wanted.iter().map(|(name, state)| ((*name).to_owned(), *state)).collect();
        if found != wanted {
            return Err(format!("{found:?}"));
        }
        let there = inside_of(&self.inside);
        if there == inside { Ok(()) } else { Err(format!("{there:?}")) }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_twenty_random_moments_the_life_of_services_ends_the_same() {
    let Some(town) = Town::found(Parts::Kinds).await else { return };
    let inside = Plane::start_signing(Parts::Kubernetes, SIGNED_FOR).unwrap();
    let (ada, bob) = (Person::new("ada"), Person::new("bob"));
    let seed: u64 = rand::random();
    println!("seed {seed}");
    let folder = tempfile::tempdir().unwrap();
    let mut life = Life { town, inside, chance: StdRng::seed_from_u64(seed), seed, folder };
    let cluster = format!(
        "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {{name: {NAME}, namespace: {CUSTOMER}}}\nspec: {{paused: true}}\n"
    );
    write(&life.town, "base/cluster.yaml", &cluster);
    life.town.commit("A cluster", &[]);
    let exists = async || {
        let found = life.town.plane.try_kubectl(&["get", "cluster", NAME, "-n", CUSTOMER], "");
        found.err().into_iter().collect()
    };
    assert_eq!(life.town.wait(exists).await, [""; 0]);
    come_up(&life.town, &life.inside);
    life.inside.apply("apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: default, labels: {cloud: \"yes\"}}\nspec: {type: LoadBalancer, ports: [{port: 80}]}\n");

    let (ready, since) = (ServiceState::Ready, Timestamp::now());
    write(&life.town, "services/cilium/agent.yaml", CILIUM);
    write(&life.town, "services/app/app.yaml", &maps("app", 1));
    write(&life.town, "services/extra/extra.yaml", &maps("extra", 1));
    write(&life.town, "capstan.yaml", &settings(LIST, &[&ada, &bob]));
    let extra = (0..3).map(|at| format!("extra-{at} 1"));
    let rest = || ["cilium".to_owned(), "web".to_owned()];
    let all: Vec<String> = of_app(1).into_iter().chain(extra).chain(rest()).collect();
    life.part("Services", async |life: &Life| {
        run_network(&life.inside);
        life.services_are(&[("cilium", ready), ("app", ready), ("extra", ready)], all.clone()).await?;
        life.opened(&ada, 1).await.map(drop)
    })
    .await;
    let old = life.opened(&bob, 1).await.unwrap();
    assert!(life.admits(&old), "seed {seed}");

    write(&life.town, "services/app/app.yaml", &maps("app", 2));
    let moved: Vec<String> = of_app(2).into_iter().chain(all[3..].iter().cloned()).collect();
    life.part("Another version of one", async |life: &Life| {
        life.services_are(&[("cilium", ready), ("app", ready), ("extra", ready)], moved.clone()).await
    })
    .await;

    let off = LIST.replace("services/extra}, after: [app]", "services/extra}, enabled: false");
    write(&life.town, "capstan.yaml", &settings(&off, &[&ada]));
    let without: Vec<String> = of_app(2).into_iter().chain(rest()).collect();
    life.part("One switched off, and an owner leaves", async |life: &Life| {
        life.services_are(&[("cilium", ready), ("app", ready)], without.clone()).await?;
        // A process that was killed between two steps may have begun one more generation.
        let generation = life.key().await.map_or(2, |key| key.generation.max(2));
        life.opened(&ada, generation).await.map(drop)
    })
    .await;
    assert!(!life.admits(&old), "seed {seed}: whoever left is kept out");
    let generation = life.key().await.unwrap().generation;
    let before = life.opened(&ada, generation).await.unwrap();
    write(&life.town, "README.md", "Nothing of it changes\n");
    life.part("The key is renewed", async |life: &Life| {
        life.town.ask();
        let renewed = life.opened(&ada, generation).await?;
        if renewed != before && life.admits(&renewed) { Ok(()) } else { Err("not renewed".to_owned()) }
    })
    .await;
    assert!(!life.admits(&old), "seed {seed}: whoever left is kept out");

    write(&life.town, "capstan.yaml", "delete: cluster\ncleanup: true\n");
    life.part("The cluster goes", async |life: &Life| {
        let statuses = life.town.statuses().await;
        let status = statuses.get(&format!("{CUSTOMER}-{NAME}")).unwrap();
        let left = life.town.plane.try_kubectl(&["get", "cluster", NAME, "-n", CUSTOMER], "");
        let is_gone = status.inventory.objects().is_empty() && status.services.is_empty() && left.is_err();
        if is_gone { Ok(()) } else { Err(format!("{:?}", status.inventory)) }
    })
    .await;
    let without_web: Vec<String> = of_app(2).into_iter().chain(["cilium".to_owned()]).collect();
    assert_eq!(inside_of(&life.inside), without_web, "seed {seed}: the load balancer alone is deleted");
    let cleanup = life.town.statuses().await.remove(&format!("{CUSTOMER}-{NAME}")).unwrap().cleanup.unwrap();
    assert_eq!((cleanup.state, cleanup.left), (CleanupState::Done, Vec::new()), "seed {seed}");

    // Whichever process wrote it, each object was applied in its versions and in no other form.
    let mut forms: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let is_applied = |request: &Request| {
        request.at >= since && request.verb == "patch" && request.is_write() && request.code < 400
    };
    for request in life.inside.audit().into_iter().filter(is_applied) {
        let kinds = ["configmaps", "daemonsets"];
        if !kinds.contains(&request.resource.as_str()) || request.name == "kube-root-ca.crt" {
            continue;
        }
        let mut body = request.body;
        for field in ["uid", "resourceVersion"] {
            body["metadata"].as_object_mut().unwrap().remove(field);
        }
        forms.entry(request.name).or_default().insert(body.to_string());
    }
    let counts: Vec<(String, usize)> = forms.into_iter().map(|(name, forms)| (name, forms.len())).collect();
    let wanted = |name: &str, count: usize| (name.to_owned(), count);
    assert_eq!(
        counts,
        [
            wanted("app-0", 2),
            wanted("app-1", 2),
            wanted("app-2", 2),
            wanted("cilium", 1),
            wanted("extra-0", 1),
            wanted("extra-1", 1),
            wanted("extra-2", 1),
        ],
        "seed {seed}"
    );
    // At rest nobody writes, on either side. With a second look begun, the first one has ended.
    let since = Timestamp::now();
    life.town.look_again().await;
    life.town.look_again().await;
    let is_ours = |request: &Request| {
        let of_reconciler = request.is_by(HOME, "capstan") || request.is_by(CUSTOMER, "capstan-applier");
        request.at >= since
            && request.is_write()
            && of_reconciler
            && !request.is_housekeeping()
            // That it was asked.
            && !request.resource.starts_with("fleets")
    };
    let writes: Vec<String> =
        life.town.plane.audit().into_iter().filter(is_ours).map(|request| request.words()).collect();
    assert_eq!(writes, [""; 0], "seed {seed}");
}
