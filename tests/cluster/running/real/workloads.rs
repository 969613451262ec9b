//! Services inside clusters, on two real API servers: one is the management cluster, the other one what is inside of its
//! clusters, each in a namespace of its own there. Four of twenty fail, each in another way; the others do not wait for them.
//!
//! A [`Door`] between the reconciler and each cluster counts the open connections. A connection carries one request at
//! a time (HTTP/1.1), but idle ones count too. A client also opens a further one while it waits for one that is about
//! to be free. So the count keeps the bound on requests where a cluster never answers, and twice that bound elsewhere.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use capstan_live::services::ServiceState;
use capstan_reconciler::reconcile::resources::{ConditionType, ManagedClusterStatus};
use serde_json::{Value, json};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};

use super::super::rows::{self, CUSTOMER};
use super::Town;
use capstan_test_parts::plane::reconciler::HOME;
use capstan_test_parts::plane::{Parts, Plane, tail};

/// Clusters whose services come.
const WELL: usize = 16;
/// ConfigMaps of each.
const MAPS: usize = 5;
/// Requests to one cluster at a time, and to all.
const OF_ONE: usize = 4;
const OF_ALL: usize = 64;

/// Counts what is open.
#[derive(Default)]
struct Open {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Open {
    fn enter(&self) {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
    }

    fn leave(&self) {
        self.now.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A proxy between the reconciler and one cluster, which counts its connections.
struct Door {
    port: u16,
    open: Arc<Open>,
}

impl Door {
    /// One that leads to a server; where `answers` is false, to nobody: what is said there is never answered.
    async fn build(to: String, answers: Arc<AtomicBool>, all: Arc<Open>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let open: Arc<Open> = Arc::default();
        let counted = Arc::clone(&open);
        tokio::spawn(async move {
            while let Ok((mut inside, _)) = listener.accept().await {
                let (to, answers) = (to.clone(), Arc::clone(&answers));
                let (one, all) = (Arc::clone(&counted), Arc::clone(&all));
                tokio::spawn(async move {
                    one.enter();
                    all.enter();
                    if answers.load(Ordering::SeqCst) {
                        if let Ok(mut outside) = TcpStream::connect(&to).await {
                            copy_bidirectional(&mut inside, &mut outside).await.ok();
                        }
                    } else {
                        // It takes what is said, until the other side gives up.
                        tokio::io::copy(&mut inside, &mut tokio::io::sink()).await.ok();
                    }
                    one.leave();
                    all.leave();
                });
            }
        });
        Self { port, open }
    }
}

/// The kubeconfig of a cluster, by what is different from the workload plane's own.
pub(super) fn kubeconfig(of: &Value, port: u16, authority: Option<&str>, token: Option<&str>) -> String {
    let mut cluster = of["clusters"][0]["cluster"].clone();
    cluster["server"] = json!(format!("https://127.0.0.1:{port}"));
    if let Some(authority) = authority {
        cluster["certificate-authority-data"] = json!(authority);
    }
    let user = token.map_or_else(|| of["users"][0]["user"].clone(), |token| json!({"token": token}));
    json!({"apiVersion": "v1", "kind": "Config", "current-context": "main",
        "clusters": [{"name": "main", "cluster": cluster}], "users": [{"name": "main", "user": user}],
        "contexts": [{"name": "main", "context": {"cluster": "main", "user": "main"}}]})
    .to_string()
}

pub(super) fn admin(plane: &Plane) -> Value {
    serde_json::from_slice(&std::fs::read(plane.admin_kubeconfig()).unwrap()).unwrap()
}

/// An account that has these rights: API groups, resources, verbs, and names where it has them of these alone.
fn account(name: &str, rights: &[(&str, &str, &str, &str)]) -> String {
    let rules = rights.iter().map(|(groups, resources, verbs, names)| {
        format!("- {{apiGroups: [{groups}], resources: [{resources}], verbs: [{verbs}], resourceNames: [{names}]}}\n")
    });
    format!(
        "apiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: {name}, namespace: default}}\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {{name: {name}}}\nrules:\n{}---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {{name: {name}}}\nroleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {name}}}\nsubjects: [{{kind: ServiceAccount, name: {name}, namespace: default}}]\n",
        rules.collect::<String>()
    )
}

/// What its services bring, in a namespace of the cluster's own.
fn service(name: &str, version: usize) -> String {
    let namespace = format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}}}\n");
    let maps = (0..MAPS).map(|at| {
        format!(
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: m{at}, namespace: {name}, labels: {{of: services}}}}\ndata: {{version: \"{version}\"}}\n"
        )
    });
    namespace + &maps.collect::<String>()
}

fn write(town: &Town, name: &str, version: usize) {
    let folder = format!("{CUSTOMER}/{name}");
    town.repository.write(&format!("{folder}/services/app/app.yaml"), &service(name, version));
    town.repository
        .write(&format!("{folder}/capstan.yaml"), "services:\n- {name: app, from: {folder: services/app}}\n");
}

/// Waits until the services of these clusters are of that version inside; how long that took.
async fn until_there(town: &Town, inside: &Plane, clusters: &[String], version: usize) -> Duration {
    let begun = Instant::now();
    let missing = town
        .wait(async || {
            let wanted = version.to_string();
            let all = inside.kubectl(&["get", "configmaps", "-A", "-l", "of=services", "-o", "json"]);
            let all: Value = serde_json::from_str(&all).unwrap();
            let there = |name: &String| {
                let own = all["items"].as_array().unwrap().iter();
                own.filter(|map| map["metadata"]["namespace"] == **name)
                    .filter(|map| map["data"]["version"] == *wanted)
                    .count()
            };
            clusters.iter().filter(|name| there(name) < MAPS).cloned().collect()
        })
        .await;
    assert!(missing.is_empty(), "no services in {missing:?}\n{}", tail(&town.reconciler.log(), 30));
    begun.elapsed()
}

/// The service of a cluster, and why it is not ready.
fn service_state(status: &ManagedClusterStatus) -> (ServiceState, String) {
    let service = &status.services[0];
    (service.state, service.reason.clone().unwrap_or_default())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn four_clusters_that_fail_hold_up_none_of_sixteen_others() {
    let Some(town) = Town::found(Parts::Kinds).await else { return };
    let inside = Plane::start(Parts::Kubernetes).unwrap();
    let names: Vec<String> = (1..=WELL + 4).map(|number| format!("c{number:02}")).collect();
    let (well, failing) = names.split_at(WELL);
    for name in &names {
        let folder = format!("{CUSTOMER}/{name}");
        let cluster = format!(
            "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {{name: {name}, namespace: {CUSTOMER}}}\nspec:\n  paused: true\n  infrastructureRef: {{apiGroup: infrastructure.cluster.x-k8s.io, kind: DevCluster, name: {name}}}\n---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: DevCluster\nmetadata: {{name: {name}, namespace: {CUSTOMER}}}\nspec: {{backend: {{inMemory: {{}}}}}}\n"
        );
        town.repository.write(&format!("{folder}/base/cluster.yaml"), &cluster);
    }
    town.commit("Twenty clusters", &[]);
    town.until("the clusters are applied", &[], |name, status| {
        if status.conditions.hold(ConditionType::Applied) {
            Ok(())
        } else {
            Err(format!("{name}: {:?}", rows::ready_and_reasons(status)))
        }
    })
    .await;

    // Each comes up: its API is the other plane's, behind a door of its own.
    let own = admin(&inside);
    let address =
        own["clusters"][0]["cluster"]["server"].as_str().unwrap().trim_start_matches("https://").to_owned();
    let stranger = admin(&town.plane)["clusters"][0]["cluster"]["certificate-authority-data"].clone();
    // The account `worker` must not be able to identify the server. Otherwise the reconciler would see that all
    // clusters are one, and serve only one of them.
    inside.apply(&account("reader", &[("'*'", "'*'", "get, list", "")]));
    let own_namespaces = names.join(", ");
    inside.apply(&account(
        "worker",
        &[
            ("'*'", "'*'", "list, watch, create, patch, update, delete", ""),
            ("'*'", "configmaps, events, nodes, pods, secrets, serviceaccounts", "get", ""),
            ("''", "namespaces", "get", &own_namespaces),
        ],
    ));
    let token = |name: &str| inside.kubectl(&["create", "token", "-n", "default", name, "--duration", "24h"]);
    let (reader, worker) = (token("reader"), token("worker"));
    let all: Arc<Open> = Arc::default();
    let mut doors = Vec::new();
    for (at, name) in names.iter().enumerate() {
        let answers = Arc::new(AtomicBool::new(at != WELL));
        let door = Door::build(address.clone(), answers, Arc::clone(&all)).await;
        let authority = (at == WELL + 1).then(|| stranger.as_str().unwrap());
        let token = if at == WELL + 2 { reader.trim() } else { worker.trim() };
        let text = kubeconfig(&own, door.port, authority, Some(token));
        doors.push(door);
        town.plane.apply(
            &json!({"apiVersion": "v1", "kind": "Secret", "type": "cluster.x-k8s.io/secret",
                "metadata": {"name": format!("{name}-kubeconfig"), "namespace": CUSTOMER,
                    "labels": {"cluster.x-k8s.io/cluster-name": name}},
                "data": {"value": STANDARD.encode(text)}})
            .to_string(),
        );
        let is_down = at == WELL + 3;
        let condition = if is_down {
            json!({"type": "InfrastructureReady", "status": "False", "reason": "OpenStackError",
                "message": "no route to host", "lastTransitionTime": "2026-01-01T00:00:00Z"})
        } else {
            json!({"type": "InfrastructureReady", "status": "True", "reason": "Ready", "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z"})
        };
        let status = json!({"status": {"initialization": {"controlPlaneInitialized": !is_down, "infrastructureProvisioned": !is_down},
            "conditions": [condition]}});
        town.plane.kubectl(&[
            "patch",
            "cluster",
            name,
            "-n",
            CUSTOMER,
            "--subresource=status",
            "--type=merge",
            "-p",
            &status.to_string(),
        ]);
    }

    // Sixteen alone, and then the same work beside four that fail.
    for version in [1, 2] {
        well.iter().for_each(|name| write(&town, name, version));
        town.commit(&format!("Services, version {version}"), &[]);
        let took = until_there(&town, &inside, well, version).await;
        println!("16 clusters alone, version {version}: {:.1} s", took.as_secs_f64());
        if version == 2 {
            names.iter().for_each(|name| write(&town, name, 3));
            town.commit("Services of all, version 3", &[]);
            let beside = until_there(&town, &inside, well, 3).await;
            println!("16 clusters beside 4 that fail: {:.1} s", beside.as_secs_f64());
            let most = took * 2 + Duration::from_secs(5);
            assert!(beside <= most, "{beside:?} with four that fail, {took:?} alone");
        }
    }
    town.until(
        "services stand as they should",
        &failing.iter().map(String::as_str).collect::<Vec<_>>(),
        |name, status| {
            if status.conditions.hold(ConditionType::Ready) {
                Ok(())
            } else {
                Err(format!("{name}: {:?}", status.services))
            }
        },
    )
    .await;
    let wanted = [
        (ServiceState::Unknown, "WorkloadUnreachable"),
        (ServiceState::Unknown, "WorkloadCertificate"),
        (ServiceState::Failed, "Forbidden"),
        (ServiceState::Waiting, "ControlPlaneNotInitialized"),
    ];
    let missing = town
        .wait(async || {
            let statuses = town.statuses().await;
            let of = |name: &String| statuses.get(&format!("{CUSTOMER}-{name}"));
            let wrong = failing.iter().zip(wanted).filter_map(|(name, (state, reason))| {
                let found = of(name).filter(|status| !status.services.is_empty()).map(service_state);
                (found != Some((state, reason.to_owned()))).then(|| format!("{name}: {found:?}"))
            });
            wrong.collect()
        })
        .await;
    assert!(missing.is_empty(), "{missing:?}\n{}", tail(&town.reconciler.log(), 30));
    let down = town.statuses().await.remove(&format!("{CUSTOMER}-c20")).unwrap();
    let cloud = down.conditions.of(ConditionType::CloudReady).unwrap();
    assert_eq!(cloud.reason, "CloudNotReady");
    assert!(cloud.message.contains("no route to host"), "{}", cloud.message);

    // A pass that finds nothing to do writes nothing on either side. One pass before it reports what is still
    // unreported.
    town.look_again().await;
    let since = jiff::Timestamp::now();
    town.look_again().await;
    let writes: Vec<String> = inside
        .audit()
        .into_iter()
        .filter(|request| request.at >= since && !matches!(request.verb.as_str(), "get" | "list" | "watch"))
        .filter(|request| request.user == "system:serviceaccount:default:worker")
        .map(|request| request.words())
        .collect();
    assert_eq!(writes, [""; 0], "not even a dry run");
    let is_ours = |request: &capstan_test_parts::plane::audit::Request| {
        let by = request.is_by(HOME, "capstan") || request.is_by(CUSTOMER, "capstan-applier");
        request.at >= since && request.is_write() && by && !request.is_housekeeping()
    };
    let is_of_a_well_one = |name: &str| well.iter().any(|well| name.ends_with(well.as_str()));
    let writes: Vec<String> = town
        .plane
        .audit()
        .into_iter()
        .filter(|request| is_ours(request) && is_of_a_well_one(&request.name))
        .map(|request| request.words())
        .collect();
    assert_eq!(writes, [""; 0], "nor on the management cluster");

    // Switched off, they go.
    for name in well {
        let path = format!("{CUSTOMER}/{name}/capstan.yaml");
        let off = "services:\n- {name: app, from: {folder: services/app}, enabled: false}\n";
        town.repository.write(&path, off);
    }
    town.commit("Without services", &[]);
    let left = town
        .wait(async || {
            let all = inside.kubectl(&["get", "namespaces", "-o", "name"]);
            well.iter().filter(|name| all.contains(name.as_str())).cloned().collect()
        })
        .await;
    assert!(left.is_empty(), "{left:?} are left\n{}", tail(&town.reconciler.log(), 30));

    let most: Vec<usize> = doors.iter().map(|door| door.open.most.load(Ordering::SeqCst)).collect();
    let of_all = all.most.load(Ordering::SeqCst);
    println!("connections open at a time, by cluster: {most:?}; of all: {of_all}");
    assert!(most[WELL] >= 1 && most[WELL] <= OF_ONE, "of one that never answers: {most:?}");
    assert!(most.iter().all(|most| *most <= 2 * OF_ONE), "{most:?}");
    assert!(of_all <= 2 * OF_ALL, "{of_all}");
}
