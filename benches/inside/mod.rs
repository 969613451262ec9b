//! Services inside clusters: so many clusters of five services of ten objects each, brought for the first time, and a
//! pass in which nothing is to be done. All clusters are one API server without other clients, each in a namespace of its
//! own there; requests are those that reach it, by the one certificate of the clusters' kubeconfigs.

use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::plane::audit::Request;
use super::plane::reconciler::{self, HOME};
use super::plane::{Parts, Plane, tail};
use super::{CUSTOMERS, PATIENCE, REST, Repository, cluster, fleet, load, namespace, pass};

const SERVICES: usize = 5;
const OBJECTS: usize = 10;

/// Measures both passes and prints a row of each.
pub(super) fn measure(clusters: usize) -> Option<()> {
    let (plane, inside) = (Plane::start(Parts::Kinds)?, Plane::start(Parts::Kubernetes)?);
    let folder = tempfile::tempdir().unwrap();
    reconciler::install(&plane);
    (0..CUSTOMERS).for_each(|customer| reconciler::prepare_namespace(&plane, &namespace(customer)));
    let repository = Repository::create(&folder.path().join("fleet.git"));
    let settings =
        format!("managementClusters:\n- name: here\n  uid: {}\n  clusters: [\"*/*\"]\n", plane.uid());
    let mut files = vec![(".capstan.yaml".to_owned(), settings)];
    files.extend((0..clusters).map(|number| cluster(number, "one")));
    repository.commit(&files);
    let process = reconciler::process(&plane, folder.path());
    plane.apply(&fleet(&repository.url));
    process.start();
    let is_well = || process.is_well().map_err(|ended| format!("{ended}\n{}", tail(&process.log(), 30)));
    wait(&is_well, || plane.kubectl(&["get", "clusters", "-A", "-o", "name"]).lines().count() == clusters);
    come_up(&plane, &inside, clusters);

    println!(
        "Services: {clusters} clusters of {SERVICES} services of {OBJECTS} objects, all of them inside one API server; load {}",
        load()
    );
    repository.commit(&(0..clusters).flat_map(services).collect::<Vec<_>>());
    let since = Timestamp::now();
    pass(&plane);
    let wanted = clusters * SERVICES * OBJECTS;
    wait(&is_well, || there(&inside) == wanted && ready(&plane) == clusters);
    row("first pass", &inside, since, process.peak_memory());
    let since = Timestamp::now();
    pass(&plane);
    // Each object is read once, and the version of each cluster is asked for.
    wait(&is_well, || asked(&inside, since).len() >= wanted);
    row("nothing to be done", &inside, since, process.peak_memory());
    Some(())
}

fn wait(is_well: &dyn Fn() -> Result<(), String>, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert_eq!(is_well(), Ok(()));
        assert!(start.elapsed() < PATIENCE, "it never comes to that");
        // A look costs this machine something, too; times are those of the audit log.
        std::thread::sleep(REST);
    }
}

/// The API of every cluster comes up: it is the other plane's.
fn come_up(plane: &Plane, inside: &Plane, clusters: usize) {
    let kubeconfig = std::fs::read(inside.admin_kubeconfig()).unwrap();
    let own: Value = serde_json::from_slice(&kubeconfig).unwrap();
    let named = |list: &str, key: &str| json!([{"name": "main", key: own[list][0][key]}]);
    let kubeconfig = json!({"apiVersion": "v1", "kind": "Config", "current-context": "main",
        "clusters": named("clusters", "cluster"), "users": named("users", "user"),
        "contexts": [{"name": "main", "context": {"cluster": "main", "user": "main"}}]});
    let kubeconfig = STANDARD.encode(kubeconfig.to_string());
    let names = (0..clusters).map(|number| (format!("c{number:05}"), namespace(number % CUSTOMERS)));
    let secret = |(name, namespace): (String, String)| {
        json!({"apiVersion": "v1", "kind": "Secret", "type": "cluster.x-k8s.io/secret",
            "metadata": {"name": format!("{name}-kubeconfig"), "namespace": namespace,
                "labels": {"cluster.x-k8s.io/cluster-name": name}},
            "data": {"value": kubeconfig}})
    };
    let secrets: Vec<Value> = names.clone().map(secret).collect();
    plane.apply(&json!({"apiVersion": "v1", "kind": "List", "items": secrets}).to_string());
    let status = json!({"status": {"initialization": {"controlPlaneInitialized": true}}}).to_string();
    for (name, namespace) in names {
        plane.kubectl(&[
            "patch",
            "cluster",
            &name,
            "-n",
            &namespace,
            "--subresource=status",
            "--type=merge",
            "-p",
            &status,
        ]);
    }
}

/// What a cluster's folder has of services: the first of each has its namespace, and so comes before the others.
fn services(number: usize) -> Vec<(String, String)> {
    let (name, customer) = (format!("c{number:05}"), namespace(number % CUSTOMERS));
    let folder = format!("{customer}/{name}");
    let entry = |at: usize| {
        let after = if at == 0 { "" } else { ", after: [s0]" };
        format!("- {{name: s{at}, from: {{folder: services/s{at}}}{after}}}\n")
    };
    let list = format!("services:\n{}", (0..SERVICES).map(entry).collect::<String>());
    let service = |at: usize| {
        let map = |object: usize| {
            format!(
                "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: s{at}-{object}, namespace: {name}, labels: {{of: services}}}}\ndata: {{settings: \"region=eu-central-1\"}}\n"
            )
        };
        let own = if at == 0 {
            format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}}}\n")
        } else {
            String::new()
        };
        (format!("{folder}/services/s{at}/all.yaml"), own + &(0..OBJECTS).map(map).collect::<String>())
    };
    (0..SERVICES).map(service).chain([(format!("{folder}/capstan.yaml"), list)]).collect()
}

fn there(inside: &Plane) -> usize {
    inside.kubectl(&["get", "configmaps", "-A", "-l", "of=services", "-o", "name"]).lines().count()
}

fn ready(plane: &Plane) -> usize {
    let path =
        "jsonpath={range .items[*]}{.status.conditions[?(@.type==\"ServicesReady\")].status}{\"\\n\"}{end}";
    let said = plane.kubectl(&["get", "managedclusters", "-n", HOME, "-o", path]);
    said.lines().filter(|line| *line == "True").count()
}

/// What the reconciler asked inside since then: kubectl asks for lists alone.
fn asked(inside: &Plane, since: Timestamp) -> Vec<Request> {
    let mut all = inside.audit();
    all.retain(|request| {
        request.at >= since && request.user == "admin" && !request.is_housekeeping() && request.verb != "list"
    });
    all
}

/// Prints what was asked once nothing more is.
fn row(what: &str, inside: &Plane, since: Timestamp, peak: Option<f64>) {
    let rest = SignedDuration::try_from(REST).unwrap();
    let requests = loop {
        let requests = asked(inside, since);
        let last = requests.iter().map(|request| request.at).max();
        if last.is_some_and(|last| Timestamp::now().duration_since(last) > rest) {
            break requests;
        }
        std::thread::sleep(REST / 2);
    };
    let last = requests.iter().map(|request| request.at).max().unwrap_or(since);
    let count = |of: &dyn Fn(&&Request) -> bool| requests.iter().filter(of).count();
    println!(
        "{what:<24}  {:>8.1}  {:>9}  {:>9}  {:>9}  {:>9}  {:>9.1}",
        last.duration_since(since).as_secs_f64(),
        requests.len(),
        count(&|request| !request.dry_run && !request.is_write()),
        count(&|request| request.dry_run),
        count(&|request| request.is_write()),
        peak.unwrap_or_default(),
    );
}
