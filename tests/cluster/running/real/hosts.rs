//! Hosts on a real API server with Metal3's definitions: nobody acts upon hosts, so tests write what the operator would.

use capstan_test_support::PATIENCE;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use capstan_test_support::tally;
use jiff::Timestamp;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};

use crate::k8s::idle_rights;
use crate::running::hosts_issuers::{Ground, KEYS};
use capstan_test_parts::deployed::deployed;
use capstan_test_parts::plane::audit::Request;
use capstan_test_parts::plane::metal;
use capstan_test_parts::plane::process::Process;
use capstan_test_parts::plane::reconciler::{self, HOME};
use capstan_test_parts::plane::{Parts, Plane, tail};

const CUSTOMER: &str = "gauss";
const HOSTS: usize = 30;
const TENANTS: usize = 10;
const KILLS: usize = 20;
/// The groups of the kinds that switch it on.
const GROUPS: [&str; 2] = ["metal3.io", "airship.airshipit.org"];
struct Town {
    plane: Plane,
    process: Process,
    _folder: tempfile::TempDir,
}

impl Town {
    fn wait(&self, what: &str, done: &dyn Fn() -> bool) {
        let begun = Instant::now();
        while !done() {
            self.process.is_well().unwrap();
            assert!(
                begun.elapsed() < PATIENCE,
                "{what} does not happen:\n{}\n{}",
                tail(&self.process.log(), 30),
                self.plane.try_kubectl(&["get", "sip", "-A", "-o", "yaml"], "").unwrap_or_default()
            );
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    fn list(&self, kind: &str) -> Vec<Value> {
        let list: Value =
            serde_json::from_str(&self.plane.kubectl(&["get", kind, "-A", "-o", "json"])).unwrap();
        list["items"].as_array().unwrap().clone()
    }

    /// Requests of the reconciler since then.
    fn asked(&self, since: Timestamp) -> Vec<Request> {
        let ours =
            |request: &Request| request.is_by(HOME, "capstan") || request.is_by(CUSTOMER, "capstan-applier");
        self.plane.audit().into_iter().filter(|request| request.at >= since && ours(request)).collect()
    }

    fn writes(&self, since: Timestamp) -> Vec<String> {
        let writes =
            self.asked(since).into_iter().filter(|request| request.is_write() && !request.is_housekeeping());
        writes.map(|request| request.words()).collect()
    }

    fn ready(&self) -> BTreeMap<String, String> {
        let told = |object: &Value| {
            let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
            let ready = conditions.iter().find(|one| one["type"] == "Ready");
            let text = |key: &str| ready.and_then(|ready| ready[key].as_str()).unwrap_or_default().to_owned();
            format!("{} {}: {}", text("status"), text("reason"), text("message"))
        };
        self.list("sipclusters").iter().map(|object| (name_of(object), told(object))).collect()
    }

    /// Of each host the SIPCluster that it is labelled for.
    fn owners(&self) -> BTreeMap<String, String> {
        let owner = |host: &Value| {
            let owner = host["metadata"]["labels"]["sip.airshipit.org/cluster-name"].as_str()?;
            Some((name_of(host), owner.to_owned()))
        };
        self.list("baremetalhosts").iter().filter_map(owner).collect()
    }
}

fn name_of(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap().to_owned()
}

/// A tenant that wishes three hosts in three racks.
fn tenant(number: usize) -> Value {
    let port = 30_000 + 10 * number;
    json!({
        "apiVersion": "airship.airshipit.org/v1", "kind": "SIPCluster",
        "metadata": {"name": format!("c{number}"), "namespace": CUSTOMER, "finalizers": ["sip.airship.airshipit.org/finalizer"]},
        "spec": {
            "nodes": {"ControlPlane": {"topologyKey": "rack", "count": {"active": 3}}},
            "services": {"loadBalancerControlPlane": [
                {"image": "haproxy:2.6", "nodePort": port, "nodeInterfaceId": "oam"}]}}})
}

/// Kinds come and go, ten tenants come at once, the process is killed twenty times meanwhile, somebody's hand changes what
/// it made, tenants go: no host has two owners, nothing is left, no right is missing or idle, and no Secret of a management
/// controller is read.
#[test]
fn hosts_are_given_and_taken_on_a_real_api_server() {
    let Some(definitions) = metal::definitions() else {
        return;
    };
    let Some(plane) = Plane::start(Parts::Kubernetes) else {
        return;
    };
    let seed: u64 = rand::random();
    eprintln!("seed {seed}");
    let mut chance = StdRng::seed_from_u64(seed);
    reconciler::install(&plane);
    reconciler::prepare_namespace(&plane, CUSTOMER);
    let folder = tempfile::tempdir().unwrap();
    let process = reconciler::process_with(&plane, folder.path(), &["--node-ports-at", "192.0.2.1"]);
    let town = Town { plane, process, _folder: folder };
    let plane = &town.plane;
    town.process.start();
    town.wait("it leads", &|| town.process.log().contains("this process leads"));
    std::thread::sleep(tally::wait(Duration::from_secs(2)));
    let of_kinds = |request: &Request| GROUPS.contains(&request.group.as_str());
    let strays: Vec<String> =
        town.asked(Timestamp::MIN).iter().filter(|request| of_kinds(request)).map(Request::words).collect();
    assert_eq!(strays, [""; 0], "the kinds are not served");

    // The kinds come, and everything with them.
    metal::install(plane, &definitions);
    metal::prepare_namespace(plane, CUSTOMER);
    // This policy makes the reconciler ask for the labels of namespaces. It is in another namespace, so it opens no
    // host here.
    plane.apply("{apiVersion: v1, kind: Namespace, metadata: {name: pool}}");
    plane.apply(
        "{apiVersion: metal3.io/v1alpha1, kind: HostDeployPolicy, metadata: {name: a, namespace: pool}, spec: {hostClaimNamespaces: {hasLabels: [{name: team}]}}}",
    );
    let hosts = (0..HOSTS).map(|number| (CUSTOMER, format!("bm-{number:02}"), format!("r{}", number % 3)));
    metal::add_hosts(plane, hosts);
    let tenants: Vec<Value> = (0..TENANTS).map(tenant).collect();
    plane.apply(&json!({"apiVersion": "v1", "kind": "List", "items": tenants}).to_string());
    town.wait("the first host is labelled", &|| !town.owners().is_empty());
    for _ in 0..KILLS {
        std::thread::sleep(Duration::from_millis(chance.random_range(50..600)));
        town.process.kill();
        town.process.start();
    }
    let all_ready = || {
        metal::run_deployments(plane, CUSTOMER);
        let ready = town.ready();
        ready.len() == TENANTS
            && ready.values().all(|told| told == "True ReconciliationSucceeded: 3 hosts, 0 standby")
    };
    town.wait("every tenant has its hosts", &all_ready);
    let owners = town.owners();
    assert_eq!(owners.len(), HOSTS, "seed {seed}: {owners:?}");
    for number in 0..TENANTS {
        let name = format!("c{number}");
        let of = owners.iter().filter(|(_, owner)| **owner == name);
        let racks: BTreeSet<usize> = of.map(|(host, _)| host[3..].parse::<usize>().unwrap() % 3).collect();
        assert_eq!(racks.len(), 3, "seed {seed}: {name} is not spread: {owners:?}");
    }
    // Under a manager of its own: else what a folder applied to the host would go.
    let host = ["get", "baremetalhost", "bm-00", "-n", CUSTOMER, "-o", "json", "--show-managed-fields"];
    let host: Value = serde_json::from_str(&plane.kubectl(&host)).unwrap();
    let managers = host["metadata"]["managedFields"].as_array().unwrap();
    let managers: BTreeSet<&str> = managers.iter().filter_map(|one| one["manager"].as_str()).collect();
    assert!(managers.contains("capstan-hosts") && !managers.contains("capstan"), "{managers:?}");
    one_after_the_other(&town, &owners, seed);
    let cluster = plane.kubectl(&["get", "sip", "c3", "-n", CUSTOMER, "-o", "json"]);
    let cluster: Value = serde_json::from_str(&cluster).unwrap();
    assert_eq!(cluster["metadata"]["finalizers"], json!(["sip.airshipit.org/capstan"]));
    assert_eq!(cluster["status"]["endpoints"]["controlPlane"], json!({"host": "192.0.2.1", "port": 30_030}));
    let columns = plane.kubectl(&["get", "sip", "c3", "-n", CUSTOMER]);
    let columns: Vec<Vec<&str>> = columns.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(columns[0][..6], ["NAME", "WANTED", "HAD", "STANDBY", "READY", "MESSAGE"]);
    assert_eq!(columns[1][..5], ["c3", "3", "3", "0", "True"]);

    // At rest a host is touched, and nothing is written. A turn that has begun says that the one before has ended.
    let has_listed_hosts = |since: Timestamp| {
        town.asked(since).iter().any(|request| request.resource == "baremetalhosts" && request.verb == "list")
    };
    let touch = |with: &str| {
        let since = Timestamp::now();
        plane.kubectl(&["label", "--overwrite", "baremetalhost", "bm-00", "-n", CUSTOMER, with]);
        town.wait("the change of a host is heard", &|| has_listed_hosts(since));
        since
    };
    touch("touched=before");
    let since = touch("touched=first");
    touch("touched=second");
    assert_eq!(town.writes(since), [""; 0], "a turn that finds nothing to do writes");

    // A hand on what was made. What reads everything, as once after watches were opened and then every ten minutes, proves
    // nothing: then once more.
    let name = "c3-control-plane-30030";
    let by = "jsonpath={.metadata.labels.app\\.kubernetes\\.io/managed-by}";
    let is_repaired_by_a_watch = || {
        let since = Timestamp::now();
        plane.kubectl(&["delete", "service", name, "-n", CUSTOMER]);
        plane.kubectl(&["scale", "deployment", name, "-n", CUSTOMER, "--replicas=1"]);
        plane.kubectl(&["label", "secret", name, "-n", CUSTOMER, "app.kubernetes.io/managed-by-"]);
        town.wait("it is repaired", &|| {
            let replicas = ["get", "deployment", name, "-n", CUSTOMER, "-o", "jsonpath={.spec.replicas}"];
            plane.try_kubectl(&["get", "service", name, "-n", CUSTOMER], "").is_ok()
                && plane.kubectl(&replicas) == "2"
                && plane.kubectl(&["get", "secret", name, "-n", CUSTOMER, "-o", by]) == "capstan"
        });
        !has_listed_hosts(since)
    };
    assert!((0..3).any(|_| is_repaired_by_a_watch()), "only what reads everything sees it");
    town.wait("it is well again", &all_ready);
    an_issuer_comes_and_goes(&town, &all_ready);

    // Two go, of which a machine uses one; what an entry wished goes with the entry.
    let used = owners.iter().find(|(_, owner)| *owner == "c1").unwrap().0;
    metal::set_consumer(plane, CUSTOMER, used, Some("c1"));
    let no_services = r#"{"spec":{"services":{"loadBalancerControlPlane":[]}}}"#;
    plane.kubectl(&["patch", "sip", "c2", "-n", CUSTOMER, "--type=merge", "-p", no_services]);
    plane.kubectl(&["delete", "sip", "c0", "c1", "-n", CUSTOMER, "--wait=false"]);
    town.wait("what is in use is kept", &|| {
        let ready = town.ready();
        !ready.contains_key("c0")
            && ready["c1"].starts_with(&format!(
                "False UnableToDecommission: it is being deleted, and {used} is in use"
            ))
    });
    assert_eq!(town.owners().values().filter(|owner| *owner == "c1").count(), 3);
    metal::set_consumer(plane, CUSTOMER, used, None);
    town.wait("it goes once nobody uses it", &|| !town.ready().contains_key("c1"));
    town.wait("nothing is left of them", &|| {
        let left = plane.kubectl(&[
            "get",
            "deployments,services,secrets,configmaps",
            "-n",
            CUSTOMER,
            "-o",
            "name",
            "-l",
            "sip.airshipit.org/cluster-name in (c0, c1, c2)",
        ]);
        left.trim().is_empty()
    });
    assert!(!town.owners().values().any(|owner| ["c0", "c1"].contains(&owner.as_str())));

    judge_requests(&town);
    goes(&town);
}

/// One tenant wishes an issuer of tokens: it is served a certificate of the CA, and goes with its entry.
fn an_issuer_comes_and_goes(town: &Town, all_ready: &dyn Fn() -> bool) {
    let plane = &town.plane;
    let ground = Ground::new();
    ground.ca(KEYS[1], "30", &[]);
    let at = |name: &str| ground.folder.path().join(name).display().to_string();
    plane.kubectl(&[
        "create",
        "secret",
        "tls",
        "ca",
        "-n",
        CUSTOMER,
        "--cert",
        &at("ca.crt"),
        "--key",
        &at("ca.key"),
    ]);
    let connectors =
        "--from-literal=connectors=[{type: ldap, id: corp, name: Corp, config: {host: ldap.example.com}}]";
    plane.kubectl(&["create", "secret", "generic", "people", "-n", CUSTOMER, connectors]);
    let wish = |auth: Value| {
        let patch = json!({"spec": {"services": {"auth": auth}}}).to_string();
        plane.kubectl(&["patch", "sip", "c4", "-n", CUSTOMER, "--type=merge", "-p", &patch]);
    };
    let issuer =
        || plane.kubectl(&["get", "sip", "c4", "-n", CUSTOMER, "-o", "jsonpath={.status.oidc.issuer}"]);
    wish(
        json!([{"image": "dex", "nodePort": 30_999, "host": "dex.example.com", "caSecret": "ca", "connectorsSecret": "people"}]),
    );
    town.wait("the issuer is there", &|| issuer() == "https://dex.example.com:30999" && all_ready());
    let served = [
        "get",
        "secret",
        "c4-auth-30999-certificate",
        "-n",
        CUSTOMER,
        "-o",
        "go-template={{index .data \"tls.crt\" | base64decode}}",
    ];
    ground.write("tls.crt", &plane.kubectl(&served));
    ground.openssl(&[
        "verify",
        "-purpose",
        "sslserver",
        "-verify_hostname",
        "dex.example.com",
        "-CAfile",
        "ca.crt",
        "tls.crt",
    ]);
    wish(json!([]));
    town.wait("the issuer is gone", &|| {
        let left = [
            "get",
            "deployments,services,secrets",
            "-n",
            CUSTOMER,
            "-o",
            "name",
            "-l",
            "app.kubernetes.io/instance=c4-auth-30999",
        ];
        issuer().is_empty() && plane.kubectl(&left).trim().is_empty()
    });
}

/// Labels of different tenants do not alternate: each tenant gets all of its labels in one go.
fn one_after_the_other(town: &Town, owners: &BTreeMap<String, String>, seed: u64) {
    let labels = |request: &Request| {
        request.resource == "baremetalhosts"
            && request.verb == "patch"
            && request.code == 200
            && request.impersonated.is_some()
    };
    let mut order: Vec<String> = Vec::new();
    for request in town.asked(Timestamp::MIN).iter().filter(|request| labels(request)) {
        let owner =
            request.body["metadata"]["labels"]["sip.airshipit.org/cluster-name"].as_str().unwrap_or_default();
        assert_eq!(
            owners.get(&request.name).map(String::as_str),
            Some(owner),
            "seed {seed}: {}",
            request.words()
        );
        if order.last().is_none_or(|last| last != owner) {
            order.push(owner.to_owned());
        }
    }
    assert_eq!(order.len(), TENANTS, "seed {seed}: {order:?}");
}

fn judge_requests(town: &Town) {
    let audit = town.asked(Timestamp::MIN);
    // The API server learns of rights some moments after it took them, and of the applier's Secrets the reconciler's own watch
    // of everything asks nothing here: there is no Fleet.
    let first =
        audit.iter().find(|request| request.resource == "sipclusters" && request.code == 200).unwrap().at;
    let refused: Vec<String> = audit
        .iter()
        .filter(|request| request.code == 403 && request.at > first)
        .map(Request::words)
        .collect();
    assert_eq!(refused, [""; 0], "rights are missing");
    let answered = |request: &&Request| request.code < 400 || request.code == 404 || request.code == 409;
    let (tenants, own): (Vec<&Request>, Vec<&Request>) =
        audit.iter().filter(answered).partition(|request| request.impersonated.is_some());
    let mut idle = idle_rights(&deployed("hosts/rbac.yaml"), &own, &[]);
    idle.extend(idle_rights(&deployed("hosts/applier/applier.yaml"), &tenants, &[]));
    assert_eq!(idle, [""; 0], "granted and never used");
    let of_controllers: Vec<String> = audit
        .iter()
        .filter(|request| request.resource == "secrets" && request.name.ends_with("-bmc"))
        .map(Request::words)
        .collect();
    assert_eq!(of_controllers, [""; 0], "a management controller's Secret is read");
    // What it decided it notes itself: no account of tenants may write a status.
    let notes = |request: &Request| request.resource == "sipclusters/status" && request.verb == "patch";
    let strays: Vec<String> = own
        .iter()
        .filter(|request| {
            request.is_write()
                && request.namespace != HOME
                && !request.resource.starts_with("self")
                && !notes(request)
        })
        .map(|request| request.words())
        .collect();
    assert_eq!(strays, [""; 0], "the reconciler writes with its own rights");
}

/// The kinds go: within a minute nobody asks for them any more.
fn goes(town: &Town) {
    let plane = &town.plane;
    let all =
        ["delete", "crd", "sipclusters.airship.airshipit.org", "baremetalhosts.metal3.io", "--wait=false"];
    plane.kubectl(&all);
    let begun = Instant::now();
    let is_silent = || {
        let since = Timestamp::now();
        std::thread::sleep(Duration::from_secs(5));
        !town.asked(since).iter().any(|request| GROUPS.contains(&request.group.as_str()))
    };
    while !is_silent() {
        // The finalizers come back until the kind is gone, so each round removes them again.
        for object in town
            .plane
            .try_kubectl(&["get", "sipclusters", "-A", "-o", "name"], "")
            .unwrap_or_default()
            .lines()
        {
            let off = "{\"metadata\":{\"finalizers\":null}}";
            plane.try_kubectl(&["patch", object, "-n", CUSTOMER, "--type=merge", "-p", off], "").ok();
        }
        assert!(begun.elapsed() < PATIENCE, "it is not switched off:\n{}", tail(&town.process.log(), 20));
    }
}
