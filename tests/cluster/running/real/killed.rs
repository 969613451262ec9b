//! The program on a real API server: killed at random while it applies a fleet, at rest, with a hand on what it
//! applied, and killed while a suspended cluster's folder is renamed.

use capstan_test_support::PATIENCE;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use capstan_test_parts::plane::audit::Request;
use capstan_test_parts::plane::reconciler::{self, HOME};
use capstan_test_parts::plane::{Parts, Plane, tail};
use capstan_test_parts::repository::TestRepository;

const CLUSTERS: usize = 12;
const CUSTOMER: &str = "gauss";

fn fleet(plane: &Plane, repository: &TestRepository) {
    let uid = plane.uid();
    repository.write(
        ".capstan.yaml",
        &format!("managementClusters:\n- {{name: here, uid: {uid}, clusters: [\"gauss/*\"]}}\n"),
    );
    for number in 0..CLUSTERS {
        let name = format!("c{number:02}");
        // The last has no field that anybody could own, so that the API server notes no manager of it.
        repository.write(
            &format!("gauss/{name}/base/all.yaml"),
            &format!(
                "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {{name: {name}, namespace: {CUSTOMER}}}\nspec: {{paused: true}}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}-a}}\ndata: {{key: \"1\"}}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}-b}}\n"
            ),
        );
    }
    repository.commit_all("A fleet");
    reconciler::prepare_namespace(plane, CUSTOMER);
    plane.apply(&format!(
        "apiVersion: capstan.dev/v1alpha1\nkind: Fleet\nmetadata: {{name: fleet, namespace: {HOME}}}\nspec:\n  managementCluster: here\n  intervalSeconds: 3600\n  source: {{git: {{url: \"file://{}\", branch: main}}}}\n",
        repository.path().display()
    ));
}

#[test]
fn killed_at_random_it_applies_everything_once_and_then_rests() {
    let Some(plane) = Plane::start(Parts::Kinds) else { return };
    let seed: u64 = rand::random();
    eprintln!("seed {seed}");
    let mut chance = StdRng::seed_from_u64(seed);
    reconciler::install(&plane);
    let (repository, folder) = (TestRepository::new(), tempfile::tempdir().unwrap());
    fleet(&plane, &repository);
    let process = reconciler::process(&plane, folder.path());
    process.start();
    for _ in 0..6 {
        std::thread::sleep(Duration::from_millis(chance.random_range(200..1500)));
        process.kill();
        process.start();
    }
    let wait = |what: &str, done: &dyn Fn() -> bool| {
        let begun = Instant::now();
        while !done() {
            let log = || tail(&process.log(), 30);
            assert!(begun.elapsed() < PATIENCE, "{what} does not happen:\n{}", log());
            std::thread::sleep(Duration::from_millis(200));
        }
    };
    let ready = ["get", "managedclusters", "-n", HOME, "-o"];
    let path = "jsonpath={range .items[*]}{.status.conditions[?(@.type==\"Ready\")].status}{\"\\n\"}{end}";
    wait("every cluster is done", &|| {
        let said = plane.kubectl(&[&ready[..], &[path]].concat());
        said.lines().filter(|line| *line == "True").count() == CLUSTERS
    });

    let fleet_ready = ["get", "fleet", "fleet", "-n", HOME, "-o", "jsonpath={.status.ready}"];
    wait("the Fleet says so", &|| plane.kubectl(&fleet_ready) == CLUSTERS.to_string());

    // Each object was written in one form, whichever process wrote it, and the inventory has all of them. A killed
    // process gets no answer to its last request: the write may be done although the log has no success.
    let is_applied = |request: &&Request| {
        request.namespace == CUSTOMER
            && request.is_write()
            && request.impersonated.is_some()
            && !(400..499).contains(&request.code)
    };
    let mut forms: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for request in plane.audit().iter().filter(is_applied) {
        let mut body = request.body.clone();
        for field in ["uid", "resourceVersion"] {
            body["metadata"].as_object_mut().unwrap().remove(field);
        }
        forms.entry(format!("{}/{}", request.resource, request.name)).or_default().insert(body.to_string());
    }
    assert_eq!(forms.len(), CLUSTERS * 3);
    assert!(forms.values().all(|forms| forms.len() == 1), "seed {seed}: {forms:?}");
    let inventories = plane.kubectl(&[
        "get",
        "managedclusters",
        "-n",
        HOME,
        "-o",
        "jsonpath={.items[*].status.inventory.objects[*].uid}",
    ]);
    let uids: BTreeSet<&str> = inventories.split_whitespace().collect();
    assert_eq!(uids.len(), CLUSTERS * 3, "seed {seed}");

    // As if the process had been killed after it applied the last object and before it recorded it. No other cluster
    // has that object.
    process.kill();
    let forget = "[{\"op\": \"remove\", \"path\": \"/status/inventory/objects/1/uid\"}]";
    let status = ["--subresource=status", "--type=json", "-p", forget];
    plane.kubectl(&[&["patch", "managedcluster", "gauss-c05", "-n", HOME][..], &status].concat());
    process.start();
    let noted = "jsonpath={.status.conditions[?(@.type==\"Ready\")].status} {.status.inventory.objects[1].name} {.status.inventory.objects[1].uid}";
    let noted = ["get", "managedcluster", "gauss-c05", "-n", HOME, "-o", noted];
    wait("it is noted again", &|| {
        let said = plane.kubectl(&noted);
        said.strip_prefix("True c05-b ").is_some_and(|uid| uids.contains(uid))
    });

    // A pass over all of it, asked for: nothing is written but the annotation that asked. With the second one begun, every
    // cluster's first one has ended.
    let since = Timestamp::now();
    for pass in ["first", "second"] {
        let begun = Timestamp::now();
        let asks = format!("capstan.dev/reconcile={pass}");
        plane.kubectl(&["annotate", "fleet", "fleet", "-n", HOME, &asks]);
        wait("every cluster is looked at", &|| {
            let audit = plane.audit();
            let looks = |name: &str| {
                audit.iter().any(|request| request.at >= begun && request.name == name && !request.is_write())
            };
            (0..CLUSTERS).all(|number| looks(&format!("c{number:02}-b")))
        });
    }
    let is_ours =
        |request: &&Request| request.is_by(HOME, "capstan") || request.is_by(CUSTOMER, "capstan-applier");
    let writes: Vec<String> = plane
        .audit()
        .iter()
        .filter(|request| request.at >= since && request.is_write())
        .filter(is_ours)
        .filter(|request| request.resource != "leases")
        .filter(|request| !(request.resource == "fleets" && request.verb == "patch"))
        .map(Request::words)
        .collect();
    assert_eq!(writes, Vec::<String>::new(), "a pass that finds nothing to do writes");

    // A hand on an object that is watched: the next look by itself is in an hour.
    plane.kubectl(&[
        "patch",
        "cluster",
        "c03",
        "-n",
        CUSTOMER,
        "--type=merge",
        "-p",
        "{\"spec\":{\"paused\":false}}",
    ]);
    wait("drift is repaired", &|| {
        plane.kubectl(&["get", "cluster", "c03", "-n", CUSTOMER, "-o", "jsonpath={.spec.paused}"]) == "true"
    });

    // Suspended, renamed with a change, and killed meanwhile: suspended under its new name, and nothing is written.
    let suspend = "{\"spec\":{\"suspend\":true}}";
    plane.kubectl(&["patch", "managedcluster", "gauss-c05", "-n", HOME, "--type=merge", "-p", suspend]);
    let stands = |name: &str| {
        let path = "jsonpath={.spec.suspend} {.status.conditions[?(@.type==\"Ready\")].reason} {.status.inventory.objects[*].name}";
        plane.try_kubectl(&["get", "managedcluster", name, "-n", HOME, "-o", path], "").ok()
    };
    let suspended = || Some("true Suspended c05-a c05-b c05".to_owned());
    wait("it is suspended", &|| stands("gauss-c05") == suspended());
    let since = Timestamp::now();
    std::fs::rename(repository.at("gauss/c05"), repository.at("gauss/moved")).unwrap();
    repository.write(
        "gauss/moved/base/more.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c05-more}\ndata: {key: \"1\"}\n",
    );
    repository.commit_all("Renamed");
    for _ in 0..6 {
        std::thread::sleep(Duration::from_millis(chance.random_range(50..1000)));
        process.kill();
        process.start();
    }
    wait("it is suspended under its new name", &|| {
        stands("gauss-moved") == suspended() && stands("gauss-c05").is_none()
    });
    let audit = plane.audit();
    let writes = audit.iter().filter(|request| request.at >= since && request.is_write() && is_ours(request));
    let writes: Vec<String> =
        writes.filter(|request| request.name.starts_with("c05")).map(Request::words).collect();
    assert_eq!(writes, Vec::<String>::new(), "seed {seed}: a suspended cluster is applied");
}
