mod issuers;
mod wrong;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{HostFacts, HostStep, StepRequest, next};
use crate::choice::HostFleet;
use crate::choice::testing::{broken, had, host, used};
use crate::cluster::{FINALIZER, NamespacedName, OLD_FINALIZER, SipCluster};
use crate::host::{CLUSTER_NAME, CLUSTER_NAMESPACE, Host, NODE_TYPE};
use crate::selector::Labels;
use crate::services::issuer::IssuerNeeds;
use crate::services::jump_host::FINGERPRINT;
use crate::services::objects::SERVICE;

const NOW: &str = "2026-11-25T00:00:00Z";
const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl a@b";

/// A management cluster in memory: every step is performed as the API server would.
#[derive(Debug, Clone, PartialEq)]
struct World {
    hosts: Vec<Host>,
    clusters: Vec<SipCluster>,
    services: Vec<Value>,
    network_data: BTreeMap<NamespacedName, String>,
    machines: BTreeMap<NamespacedName, Value>,
    issuers: BTreeMap<String, IssuerNeeds>,
    ca: Option<String>,
    versions: u64,
    /// What was written, in a word each.
    log: Vec<String>,
}

impl World {
    fn of(hosts: Vec<Host>, clusters: Vec<SipCluster>) -> Self {
        let data = |(number, host): (usize, &Host)| {
            let data = json!({"networks": [{"id": "oam", "ip_address": format!("10.0.0.{}", number + 1)}]});
            (host.named(), data.to_string())
        };
        Self {
            network_data: hosts.iter().enumerate().map(data).collect(),
            machines: BTreeMap::new(),
            hosts,
            clusters,
            services: Vec::new(),
            issuers: BTreeMap::new(),
            ca: None,
            versions: 1,
            log: Vec::new(),
        }
    }

    fn services_of(&self, cluster: &SipCluster) -> Vec<Value> {
        let of =
            |object: &&Value| object["metadata"]["labels"][CLUSTER_NAME] == cluster.metadata.name.as_str();
        self.services.iter().filter(of).cloned().collect()
    }

    fn next(&self, name: &str) -> Option<HostStep> {
        self.steps(name).into_iter().next()
    }

    fn steps(&self, name: &str) -> Vec<HostStep> {
        self.ask(name, next)
    }

    fn ask(&self, name: &str, asked: fn(&SipCluster, &HostFacts<'_>) -> Vec<HostStep>) -> Vec<HostStep> {
        let Some(cluster) = self.clusters.iter().find(|cluster| cluster.metadata.name == name) else {
            return Vec::new();
        };
        let services = self.services_of(cluster);
        let labels = BTreeMap::new();
        let fleet = HostFleet {
            hosts: &self.hosts,
            clusters: &self.clusters,
            policies: &[],
            namespace_labels: &labels,
        };
        let facts = HostFacts {
            fleet,
            network_data: &self.network_data,
            machines: &self.machines,
            issuers: &self.issuers,
            ca: self.ca.as_deref(),
            services: &services,
            nodes_at: Some("192.0.2.1"),
            selector_missing: None,
            trouble: None,
            now: NOW,
        };
        asked(cluster, &facts)
    }

    fn perform(&mut self, name: &str, step: HostStep) {
        self.versions += 1;
        let version = self.versions.to_string();
        let at = self.clusters.iter().position(|cluster| cluster.metadata.name == name).unwrap();
        match step {
            HostStep::SetFinalizers(finalizers) => {
                self.log.push(format!("{name}: finalizers {}", finalizers.len()));
                let cluster = &mut self.clusters[at];
                cluster.metadata.finalizers = finalizers;
                cluster.metadata.resource_version = version;
                if cluster.metadata.deletion_timestamp.is_some() && cluster.metadata.finalizers.is_empty() {
                    self.clusters.remove(at);
                }
            }
            HostStep::WriteStatus(status) => {
                self.log.push(format!("{name}: status {}", status.hosts.len()));
                self.clusters[at].status = *status;
                self.clusters[at].metadata.resource_version = version;
            }
            HostStep::MakeHostKeys(secret) => {
                self.log.push(format!("{name}: host key"));
                self.services.push(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {
                    "namespace": "gauss", "name": secret, "uid": version,
                    "labels": {CLUSTER_NAME: name, SERVICE: secret.trim_end_matches("-host-keys")},
                    "annotations": {FINGERPRINT: "SHA256:abc"}}}));
            }
            HostStep::MakeCertificate { secret, host, .. } => {
                self.log.push(format!("{name}: certificate for {host}"));
                issuers::certify(self, name, &secret, &host.to_string());
            }
            HostStep::Apply(mut object) => {
                self.log.push(format!("{name}: apply {}", object["kind"].as_str().unwrap()));
                self.services.retain(|live| !super::services::is_same(live, &object));
                object["metadata"]["uid"] = version.into();
                if object["kind"] == "Deployment" {
                    let replicas = &object["spec"]["replicas"];
                    object["status"] = json!({"availableReplicas": replicas, "updatedReplicas": replicas});
                }
                self.services.push(object);
            }
            HostStep::Delete { kind, object, uid } => {
                self.log.push(format!("{name}: delete {}", kind.1));
                self.services.retain(|live| live["metadata"]["uid"] != uid.as_str());
                assert_eq!(object.namespace, "gauss");
            }
            HostStep::Label { host, uid, resource_version, owner } => {
                self.log.push(format!("{name}: label {}", host.name));
                let labels = &mut self.host(&host, &uid, &resource_version, version).metadata.labels;
                // Another's label is a conflict.
                assert!(labels.get(CLUSTER_NAME).is_none_or(|held| held == name), "{labels:?}");
                labels.insert(CLUSTER_NAMESPACE.to_owned(), owner.namespace);
                labels.insert(CLUSTER_NAME.to_owned(), owner.name);
                labels.insert(NODE_TYPE.to_owned(), owner.role);
            }
            HostStep::Unlabel { host, uid, resource_version, labels } => {
                self.log.push(format!("{name}: unlabel {}", host.name));
                let host = self.host(&host, &uid, &resource_version, version);
                assert_eq!(host.label(CLUSTER_NAME), Some(name));
                labels.iter().for_each(|key| drop(host.metadata.labels.remove(key).unwrap()));
            }
        }
    }

    /// The host that is written, as it was read.
    fn host(&mut self, named: &NamespacedName, uid: &str, resource_version: &str, next: String) -> &mut Host {
        let host = self.hosts.iter_mut().find(|held| held.named() == *named).unwrap();
        assert_eq!(
            (host.metadata.uid.as_str(), host.metadata.resource_version.as_str()),
            (uid, resource_version)
        );
        host.metadata.resource_version = next;
        host
    }

    /// Passes over all SIPClusters, one after the other, until none has a step, or so many steps were performed.
    fn run(&mut self, order: &[&str], most: usize) -> usize {
        let mut steps = 0;
        loop {
            let before = steps;
            for name in order {
                while let Some(step) = self.next(name) {
                    if steps == most {
                        return steps;
                    }
                    self.perform(name, step);
                    steps += 1;
                    assert!(steps < 300, "no end: {:#?}", &self.log[self.log.len() - 20..]);
                }
            }
            if before == steps {
                return steps;
            }
        }
    }

    fn cluster(&self, name: &str) -> &SipCluster {
        self.clusters.iter().find(|cluster| cluster.metadata.name == name).unwrap()
    }

    fn condition(&self, name: &str, kind: &str) -> String {
        let held = self.cluster(name).status.conditions.iter().find(|held| held.kind == kind).unwrap();
        format!("{} {}: {}", held.status, held.reason, held.message)
    }

    fn labelled(&self, name: &str) -> Vec<String> {
        let of = |host: &&Host| host.label(CLUSTER_NAME) == Some(name);
        self.hosts.iter().filter(of).map(|host| format!("{} {}", host.metadata.name, host.role())).collect()
    }

    /// What is there, whatever the versions.
    fn end_state(&self) -> (Vec<(NamespacedName, Labels)>, Vec<String>, Vec<String>) {
        let hosts = self.hosts.iter().map(|host| (host.named(), host.metadata.labels.clone())).collect();
        let mut services: Vec<String> = self
            .services
            .iter()
            .map(|object| format!("{} {} {}", object["kind"], object["metadata"]["name"], object["spec"]))
            .collect();
        services.sort();
        let statuses = self.clusters.iter().map(|cluster| format!("{:?}", cluster.status)).collect();
        (hosts, services, statuses)
    }
}

fn tenant(name: &str, active: u32, standby: u32, ports: u16) -> SipCluster {
    let object = json!({
        "metadata": {"namespace": "gauss", "name": name, "uid": format!("uid-{name}"), "resourceVersion": "1", "generation": 1},
        "spec": {
            "nodes": {"ControlPlane": {"topologyKey": "rack", "count": {"active": active, "standby": standby}},
                      "Worker": {"count": {"active": 1}}},
            "services": {
                "loadBalancerControlPlane": [{"image": "haproxy", "nodePort": ports, "nodeInterfaceId": "oam"}],
                "loadBalancerWorker": [{"image": "haproxy", "nodePort": ports + 1, "nodeInterfaceId": "oam"}],
                "jumpHost": [{"image": "sshd", "nodePort": ports + 2, "nodeInterfaceId": "oam", "sshAuthorizedKeys": [KEY]}]}}});
    SipCluster::read(&object).unwrap()
}

fn racks() -> Vec<Host> {
    (0..9).map(|number| host(&format!("bm-{number}"), &format!("r{}", number % 3))).collect()
}

fn two_tenants() -> World {
    World::of(racks(), vec![tenant("a", 2, 1, 30000), tenant("b", 3, 0, 30100)])
}

#[test]
fn choice_note_services_labels_done() {
    let mut world = World::of(racks(), vec![tenant("a", 2, 1, 30000)]);
    world.clusters[0].metadata.finalizers = vec![OLD_FINALIZER.to_owned(), "others.example/f".to_owned()];
    world.run(&["a"], usize::MAX);
    assert_eq!(
        world.log,
        [
            "a: finalizers 2",
            "a: status 4",
            "a: host key",
            "a: apply Secret",
            "a: apply Deployment",
            "a: apply Service",
            "a: apply Secret",
            "a: apply Deployment",
            "a: apply Service",
            "a: apply ConfigMap",
            "a: apply Deployment",
            "a: apply Service",
            "a: label bm-0",
            "a: label bm-1",
            "a: label bm-2",
            "a: label bm-5",
            "a: status 4",
        ]
    );
    assert_eq!(world.cluster("a").metadata.finalizers, ["others.example/f", FINALIZER]);
    assert_eq!(
        world.labelled("a"),
        ["bm-0 ControlPlane", "bm-1 ControlPlane", "bm-2 Worker", "bm-5 ControlPlane"]
    );
    assert_eq!(world.condition("a", "Ready"), "True ReconciliationSucceeded: 4 hosts, 1 standby");
    let status = &world.cluster("a").status;
    assert_eq!((status.wanted, status.had, status.standby), (4, 4, 1));
    let endpoint = status.endpoints.control_plane.as_ref().unwrap();
    assert_eq!((endpoint.host.as_str(), endpoint.port), ("192.0.2.1", 30000));
    assert_eq!(status.host_key_fingerprints, ["SHA256:abc"]);
    // Nothing is left to do.
    assert_eq!(world.next("a"), None);
}

/// A process that dies after any step, and another that continues: only from what is written, since a pass
/// keeps nothing.
#[test]
fn killed_between_any_two_steps_it_ends_the_same() {
    let mut whole = two_tenants();
    let steps = whole.run(&["a", "b"], usize::MAX);
    assert!(steps > 30, "{steps}");
    let mut alive = two_tenants();
    for killed_after in 0..steps {
        if killed_after % 8 == 0 {
            let mut world = alive.clone();
            world.run(&["a", "b"], usize::MAX);
            assert_eq!(world.end_state(), whole.end_state(), "killed after {killed_after}: {:#?}", world.log);
        }
        // The other one first, after the restart: both have what they wish, and no host two owners (see `perform`).
        let mut world = alive.clone();
        world.run(&["b", "a"], usize::MAX);
        assert_eq!((world.labelled("a").len(), world.labelled("b").len()), (4, 4), "{:#?}", world.log);
        alive.run(&["a", "b"], 1);
    }
}

#[test]
fn killed_while_it_shrinks_and_while_it_goes() {
    let changed = || {
        let mut world = two_tenants();
        world.run(&["a", "b"], usize::MAX);
        world.clusters[0].metadata.deletion_timestamp = Some("2026-11-25T00:00:00Z".to_owned());
        world.clusters[1].spec.nodes.remove("Worker");
        world.clusters[1].spec.services.load_balancer_worker.clear();
        world
    };
    let mut whole = changed();
    let steps = whole.run(&["a", "b"], usize::MAX);
    assert_eq!((whole.clusters.len(), whole.labelled("a").len(), whole.labelled("b").len()), (1, 0, 3));
    assert!(whole.services.iter().all(|object| object["metadata"]["labels"][CLUSTER_NAME] == "b"));
    let mut alive = changed();
    for killed_after in 0..steps {
        let mut world = alive.clone();
        world.run(&["b", "a"], usize::MAX);
        assert_eq!(world.end_state(), whole.end_state(), "killed after {killed_after}: {:#?}", world.log);
        alive.run(&["a", "b"], 1);
    }
}

#[test]
fn what_is_in_use_keeps_a_deleted_one() {
    let mut world = World::of(
        vec![used(had(host("bm-0", "r0"), "a", "ControlPlane"), "a")],
        vec![tenant("a", 1, 0, 30000)],
    );
    world.clusters[0].metadata.finalizers = vec![FINALIZER.to_owned()];
    world.clusters[0].metadata.deletion_timestamp = Some("2026-11-25T00:00:00Z".to_owned());
    world.run(&["a"], usize::MAX);
    assert_eq!(world.log, ["a: status 0"]);
    assert_eq!(
        world.condition("a", "Ready"),
        "False UnableToDecommission: it is being deleted, and bm-0 is in use: delete the Cluster whose machines run there first"
    );
    world.hosts[0].consumer = None;
    world.hosts[0].state = "available".to_owned();
    world.run(&["a"], usize::MAX);
    assert!(world.clusters.is_empty() && world.labelled("a").is_empty());
}

#[test]
fn too_few_hosts_write_the_status_and_nothing_else() {
    let mut world = World::of(vec![host("bm-0", "r0")], vec![tenant("a", 2, 0, 30000)]);
    world.run(&["a"], usize::MAX);
    assert_eq!(world.log, ["a: finalizers 1", "a: status 0"]);
    let told = world.condition("a", "Ready");
    assert!(told.starts_with("False Unschedulable: ControlPlane: 2 wanted, 1 available in 1 rack"), "{told}");
}

#[test]
fn drift_is_repaired_and_a_changed_certificate_authority_rolls_the_pods() {
    let mut world = World::of(racks(), vec![tenant("a", 2, 1, 30000)]);
    world.run(&["a"], usize::MAX);
    world.log.clear();
    let deployment = world.services.iter_mut().find(|object| object["kind"] == "Deployment").unwrap();
    deployment["spec"]["replicas"] = 0.into();
    world.run(&["a"], usize::MAX);
    assert_eq!(world.log, ["a: apply Deployment"]);
    world.log.clear();
    world.ca = Some("PEM".to_owned());
    world.run(&["a"], usize::MAX);
    assert_eq!(world.log, ["a: apply Secret", "a: apply ConfigMap", "a: apply Deployment"]);
}

#[test]
fn a_host_without_an_address_is_named_and_left_out_of_the_backends() {
    let mut world = World::of(racks(), vec![tenant("a", 2, 0, 30000)]);
    world.network_data.remove(&NamespacedName::new("gauss", "bm-1"));
    world.run(&["a"], usize::MAX);
    let told = world.condition("a", "ServicesReady");
    assert!(
        told.contains("a-control-plane-30000: bm-1 is not a backend: it has no address yet: neither network data nor a Machine"),
        "{told}"
    );
    // Its Machine gives one.
    let machine = json!({"status": {"addresses": [{"type": "InternalIP", "address": "10.0.1.1"}]}});
    world.machines.insert(NamespacedName::new("gauss", "bm-1"), machine);
    world.run(&["a"], usize::MAX);
    assert_eq!(world.condition("a", "ServicesReady"), "True ServicesReady: services are ready");
    // A load balancer whose hosts lost all addresses stays as it was.
    world.network_data.clear();
    world.machines.clear();
    let before =
        world.services.iter().filter(|object| object["metadata"]["name"] == "a-control-plane-30000").count();
    world.run(&["a"], usize::MAX);
    let after =
        world.services.iter().filter(|object| object["metadata"]["name"] == "a-control-plane-30000").count();
    assert_eq!((before, after), (3, 3));
    assert!(
        world
            .condition("a", "ServicesReady")
            .contains("a-control-plane-30000: none of its hosts has an address yet")
    );
}

#[test]
fn a_broken_host_leaves_the_backends_and_makes_room_for_another() {
    let mut world = World::of(racks(), vec![tenant("a", 2, 0, 30000)]);
    world.run(&["a"], usize::MAX);
    world.hosts[0] = broken(world.hosts[0].clone(), "power management error");
    world.log.clear();
    world.run(&["a"], usize::MAX);
    assert_eq!(world.labelled("a"), ["bm-1 ControlPlane", "bm-2 Worker", "bm-3 ControlPlane"]);
    let first_unlabel = world.log.iter().position(|line| line == "a: unlabel bm-0").unwrap();
    assert!(
        first_unlabel < world.log.iter().position(|line| line == "a: label bm-3").unwrap(),
        "{:#?}",
        world.log
    );
}

#[test]
fn a_label_goes_to_the_host_that_was_read_and_to_no_other() {
    let mut world = World::of(racks(), vec![tenant("a", 1, 0, 30000)]);
    while !matches!(world.next("a"), Some(HostStep::Label { .. })) {
        let step = world.next("a").unwrap();
        world.perform("a", step);
    }
    let cluster = world.cluster("a").clone();
    assert_eq!(
        world.next("a").unwrap().request(&cluster).unwrap(),
        StepRequest::ApplyUnforced(
            json!({"apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost", "metadata": {
            "namespace": "gauss", "name": "bm-0", "uid": "uid-bm-0", "resourceVersion": "1", "labels": {
                "sip.airshipit.org/cluster-namespace": "gauss", "sip.airshipit.org/cluster-name": "a",
                "sip.airshipit.org/node-type": "ControlPlane"}}})
        )
    );
    // It was created again under the same name: another host, read again.
    world.hosts[0].metadata.uid = "uid-new".to_owned();
    world.hosts[0].metadata.labels.insert("rack".to_owned(), "r9".to_owned());
    let step = world.next("a").unwrap();
    assert!(matches!(step, HostStep::WriteStatus(_)), "{step:?}");
}

/// Labels may be the old operator's, or somebody's hand's: an apply without them would leave those.
#[test]
fn a_released_host_loses_its_labels_even_if_others_set_them() {
    let mut world = World::of(
        vec![had(host("bm-0", "r0"), "a", "ControlPlane"), had(host("bm-1", "r1"), "a", "ControlPlane")],
        vec![tenant("a", 1, 0, 30000)],
    );
    world.clusters[0].spec.nodes.remove("Worker");
    while !matches!(world.next("a"), Some(HostStep::Unlabel { .. })) {
        let step = world.next("a").unwrap();
        world.perform("a", step);
    }
    let cluster = world.cluster("a").clone();
    assert_eq!(
        world.next("a").unwrap().request(&cluster).unwrap(),
        StepRequest::Patch(json!([
            {"op": "test", "path": "/metadata/uid", "value": "uid-bm-1"},
            {"op": "replace", "path": "/metadata/resourceVersion", "value": "1"},
            {"op": "remove", "path": "/metadata/labels/sip.airshipit.org~1cluster-namespace"},
            {"op": "remove", "path": "/metadata/labels/sip.airshipit.org~1cluster-name"},
            {"op": "remove", "path": "/metadata/labels/sip.airshipit.org~1node-type"},
        ]))
    );
}

#[test]
fn labels_that_somebody_took_off_a_machines_host_come_back() {
    let mut world = World::of(racks(), vec![tenant("a", 1, 0, 30000)]);
    world.run(&["a"], usize::MAX);
    world.hosts[0] = used(world.hosts[0].clone(), "a");
    for key in [CLUSTER_NAMESPACE, CLUSTER_NAME, NODE_TYPE] {
        world.hosts[0].metadata.labels.remove(key);
    }
    world.log.clear();
    world.run(&["a"], usize::MAX);
    assert_eq!(world.labelled("a"), ["bm-0 ControlPlane", "bm-1 Worker"]);
    assert_eq!(world.log, ["a: label bm-0"]);
}

#[test]
fn the_secret_of_a_management_controller_is_neither_read_nor_mounted() {
    let mut world = World::of(racks(), vec![tenant("a", 1, 0, 30000)]);
    // One host's network data is another's credentials.
    world.hosts[0].network_data = Some("bm-3-bmc".to_owned());
    world.hosts[3].credentials = Some("bm-3-bmc".to_owned());
    let jump = &mut world.clusters[0].spec.services.jump_host[0];
    (jump.shell, jump.node_ssh_private_keys) = (true, "bm-3-bmc".to_owned());
    world.run(&["a"], usize::MAX);
    let told = world.condition("a", "ServicesReady");
    assert!(
        told.contains("bm-0 is not a backend: its networkData names the Secret of a management controller"),
        "{told}"
    );
    assert!(
        told.contains("a-jump-30002: nodeSSHPrivateKeys names the Secret of a management controller"),
        "{told}"
    );
    assert!(!world.services.iter().any(|object| object["metadata"]["name"] == "a-jump-30002"));
}

/// A status that somebody wrote withholds nothing, and opens the way to nowhere.
#[test]
fn a_status_that_somebody_wrote_decides_nothing() {
    let note = |host: &Host, role: &str| json!({"namespace": "gauss", "name": host.metadata.name, "uid": host.metadata.uid, "role": role});
    let write = |world: &mut World, at: usize, status: &Value| {
        world.clusters[at].status = serde_json::from_value(status.clone()).unwrap();
    };
    // Of another one, of whatever shape: all hosts; more than wanted; less than a choice; one that goes for ever.
    let all: Vec<Value> = racks().iter().map(|host| note(host, "ControlPlane")).collect();
    for (hosts, is_going) in
        [(all.clone(), false), (all[..2].to_vec(), false), (all[..1].to_vec(), false), (all.clone(), true)]
    {
        let mut world = two_tenants();
        write(&mut world, 0, &json!({"hosts": hosts}));
        if is_going {
            world.clusters[0].metadata.finalizers = vec!["others.example/f".to_owned()];
            world.clusters[0].metadata.deletion_timestamp = Some(NOW.to_owned());
        }
        let own = world.cluster("a").clone();
        world.run(&["b"], usize::MAX);
        assert_eq!(world.labelled("b").len(), 4, "{hosts:?}");
        assert_eq!(world.condition("b", "Ready"), "True ReconciliationSucceeded: 4 hosts, 0 standby");
        assert_eq!(*world.cluster("a"), own);
    }
    // Its own: it gets no host that its spec would not have got it.
    let mut world = two_tenants();
    world.clusters[0].spec.nodes.get_mut("ControlPlane").unwrap().label_selector.match_labels =
        Labels::from([("flavor".to_owned(), "big".to_owned())]);
    write(&mut world, 0, &json!({"hosts": all}));
    world.run(&["a"], usize::MAX);
    assert_eq!(world.labelled("a"), [""; 0]);
    // The way of the jump host while the balancer is replaced: that of the one that runs.
    let mut world = World::of(racks(), vec![tenant("a", 2, 1, 30000)]);
    world.run(&["a"], usize::MAX);
    let mut status = serde_json::to_value(&world.cluster("a").status).unwrap();
    status["endpoints"] = json!({"controlPlane": {"host": "169.254.169.254", "port": 80}});
    write(&mut world, 0, &status);
    let balancer = &mut world.clusters[0].spec.services.load_balancer_control_plane[0];
    (balancer.node_port, balancer.node_interface_id) = (Some(31000), "oma".to_owned());
    world.run(&["a"], usize::MAX);
    let endpoint = world.cluster("a").status.endpoints.control_plane.clone().unwrap();
    assert_eq!((endpoint.host.as_str(), endpoint.port), ("192.0.2.1", 30000));
    let jump = world
        .services
        .iter()
        .find(|live| live["kind"] == "ConfigMap" && live["metadata"]["name"] == "a-jump-30002");
    let jump = jump.unwrap().to_string();
    assert!(jump.contains("192.0.2.1:30000") && !jump.contains("169.254.169.254"), "{jump}");
}

#[test]
fn an_old_finalizer_that_a_folder_applies_stays_until_the_end() {
    let mut world = World::of(racks(), vec![tenant("a", 1, 0, 30000)]);
    world.clusters[0].metadata.finalizers = vec![OLD_FINALIZER.to_owned()];
    world.clusters[0].keeps_old_finalizer = true;
    world.run(&["a"], usize::MAX);
    assert_eq!(world.cluster("a").metadata.finalizers, [OLD_FINALIZER, FINALIZER]);
    world.clusters[0].metadata.deletion_timestamp = Some("2026-11-25T00:00:00Z".to_owned());
    world.run(&["a"], usize::MAX);
    assert!(world.clusters.is_empty());
}
