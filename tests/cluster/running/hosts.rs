//! Turns over SIPClusters in a management cluster in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capstan_model::object::ObjectId;
use capstan_ports::{KindScope, LiveChange, ObjectChange, Post, SystemClock};
use capstan_reconciler::gate::Gate;
use capstan_reconciler::hosts::{HostMemory, HostPorts, HostTurnOutcome, turn};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::fake::FakeCluster;

pub(super) const NAMESPACE: &str = "gauss";
const CLUSTER_NAME: &str = "sip.airshipit.org/cluster-name";

pub(super) struct Town {
    pub(super) live: Arc<FakeCluster>,
    pub(super) ports: HostPorts,
    pub(super) memory: HostMemory,
}

impl Town {
    /// So many hosts, in three racks.
    pub(super) fn of(hosts: usize) -> Self {
        let live = Arc::new(FakeCluster::new(&[NAMESPACE]));
        live.serve(&[
            ("airship.airshipit.org", "SIPCluster", KindScope::Namespaced),
            ("metal3.io", "BareMetalHost", KindScope::Namespaced),
            ("metal3.io", "HostDeployPolicy", KindScope::Namespaced),
            ("infrastructure.cluster.x-k8s.io", "Metal3MachineTemplate", KindScope::Namespaced),
            ("apps", "Deployment", KindScope::Namespaced),
            ("", "Service", KindScope::Namespaced),
        ]);
        live.state().reactions.push(Box::new(run));
        for number in 0..hosts {
            let name = format!("bm-{number:02}");
            live.put(json!({
                "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
                "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"rack": format!("r{}", number % 3)}},
                "spec": {"bmc": {"credentialsName": format!("{name}-bmc")}, "networkData": {"name": format!("{name}-net")}},
                "status": {"provisioning": {"state": "available"}, "operationalStatus": "OK"}}));
            let data = json!({"networks": [{"id": "oam", "ip_address": format!("10.0.0.{}", number + 1)}]});
            live.put(secret(&format!("{name}-net"), "networkData", &data.to_string()));
            live.put(secret(&format!("{name}-bmc"), "password", "never"));
        }
        let ports = HostPorts {
            live: Arc::new(Gate::new(live.clone(), 8)),
            clock: Arc::new(SystemClock),
            node_ports_at: Some("192.0.2.1".to_owned()),
            watched: watch::Sender::new(BTreeSet::<Post>::new()),
            tenants: watch::Sender::new(BTreeSet::new()),
        };
        Self { live, ports, memory: HostMemory::default() }
    }

    fn wish(&self, name: &str, active: u32, port: u16) {
        self.live.put(json!({
            "apiVersion": "airship.airshipit.org/v1", "kind": "SIPCluster",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {
                "nodes": {"ControlPlane": {"topologyKey": "rack", "count": {"active": active}}},
                "services": {
                    "loadBalancerControlPlane": [{"image": "haproxy", "nodePort": port, "nodeInterfaceId": "oam"}],
                    "jumpHost": [{"image": "sshd", "nodePort": port + 1, "nodeInterfaceId": "oam",
                        "sshAuthorizedKeys": ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"]}]}}}));
    }

    pub(super) async fn turn(&mut self) -> HostTurnOutcome {
        turn(&self.ports, &mut self.memory, &|| false).await.unwrap()
    }

    /// The hosts that are labelled for a SIPCluster.
    fn labelled(&self, name: &str) -> Vec<String> {
        let state = self.live.state();
        let hosts = state.objects.iter().filter(|(key, _)| key.1 == "BareMetalHost");
        let hosts = hosts.filter(|(_, host)| host["metadata"]["labels"][CLUSTER_NAME] == name);
        hosts.map(|(key, _)| key.3.clone()).collect()
    }

    pub(super) fn condition(&self, name: &str, kind: &str) -> String {
        let object = self.live.object("SIPCluster", name).unwrap();
        let held = object["status"]["conditions"].as_array().unwrap().iter().find(|one| one["type"] == kind);
        let text = |key: &str| held.unwrap()[key].as_str().unwrap();
        format!("{} {}: {}", text("status"), text("reason"), text("message"))
    }

    /// Tells the memory what a watch would.
    pub(super) fn tell(&mut self, group: &str, kind: &str, name: &str, version: &str) -> bool {
        let object = ObjectId {
            group: group.to_owned(),
            kind: kind.to_owned(),
            namespace: Some(NAMESPACE.to_owned()),
            name: name.to_owned(),
        };
        self.memory.hears(&LiveChange {
            object,
            change: ObjectChange::Spec,
            resource_version: version.to_owned(),
        })
    }
}

pub(super) fn secret(name: &str, key: &str, text: &str) -> Value {
    use base64::Engine as _;
    let encoded = base64::engine::general_purpose::STANDARD.encode(text);
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": NAMESPACE}, "data": {key: encoded}})
}

/// What controllers make of a Deployment.
fn run(object: &mut Value) {
    if object["kind"] == "Deployment" {
        let (generation, replicas) =
            (object["metadata"]["generation"].clone(), object["spec"]["replicas"].clone());
        object["status"] = json!({"observedGeneration": generation, "updatedReplicas": replicas, "availableReplicas": replicas});
    }
}

#[tokio::test]
async fn hosts_are_chosen_noted_served_and_labelled_and_then_nothing_is_written() {
    let mut town = Town::of(6);
    town.wish("a", 3, 30000);
    let outcome = town.turn().await;
    assert!(outcome.is_served && outcome.writes > 10, "{outcome:?}");
    assert_eq!(town.labelled("a"), ["bm-00", "bm-01", "bm-02"]);
    assert_eq!(town.condition("a", "Ready"), "True ReconciliationSucceeded: 3 hosts, 0 standby");
    let status = town.live.object("SIPCluster", "a").unwrap()["status"].clone();
    assert_eq!(status["endpoints"]["controlPlane"], json!({"host": "192.0.2.1", "port": 30000}));
    assert!(status["hostKeyFingerprints"][0].as_str().unwrap().starts_with("SHA256:"), "{status}");
    let writes = town.live.take_writes();
    let at = |part: &str| writes.iter().position(|write| write.contains(part)).unwrap();
    assert!(at("patch SIPCluster") < at("apply Deployment"), "{writes:#?}");
    assert!(at("apply Deployment") < at("apply BareMetalHost"), "{writes:#?}");

    // The same process, and another one that knows nothing.
    assert_eq!(town.turn().await.writes, 0);
    town.memory = HostMemory::default();
    assert_eq!(town.turn().await.writes, 0);
    assert_eq!(town.live.take_writes(), [""; 0]);
    // Whatever is read, the credentials of a management controller are not.
    let reads = town.live.state().reads.clone();
    assert!(reads.contains("Secret gauss/bm-00-net"), "{reads:?}");
    assert!(!reads.iter().any(|read| read.ends_with("-bmc")), "{reads:?}");
}

#[tokio::test]
async fn where_a_kind_is_not_served_nothing_is_done_and_it_begins_when_it_comes() {
    let mut town = Town::of(3);
    town.wish("a", 1, 30000);
    let hosts = ("metal3.io".to_owned(), "BareMetalHost".to_owned());
    let scope = town.live.state().kinds.remove(&hosts).unwrap();
    assert_eq!(town.turn().await, HostTurnOutcome::default());
    assert!(town.ports.watched.borrow().is_empty());
    town.live.state().kinds.insert(hosts.clone(), scope);
    assert!(town.turn().await.is_served);
    assert_eq!(town.labelled("a").len(), 1);
    assert_eq!(town.ports.watched.borrow().len(), 4);
    town.live.state().kinds.remove(&hosts);
    assert_eq!(town.turn().await, HostTurnOutcome::default());
    assert!(town.ports.watched.borrow().is_empty() && town.ports.tenants.borrow().is_empty());
}

#[tokio::test]
async fn ten_at_once_are_served_one_after_the_other() {
    let mut town = Town::of(30);
    for number in 0..10_u16 {
        town.wish(&format!("c{number}"), 3, 30000 + 2 * number);
    }
    town.turn().await;
    let mut owners = BTreeMap::new();
    for number in 0..10 {
        let name = format!("c{number}");
        let labelled = town.labelled(&name);
        assert_eq!(labelled.len(), 3, "{name}: {labelled:?}");
        owners.extend(
            labelled.into_iter().map(|host| (format!("apply BareMetalHost gauss/{host}"), name.clone())),
        );
    }
    assert_eq!(owners.len(), 30);
    let writes = town.live.take_writes();
    let order: Vec<&String> = writes.iter().filter_map(|write| owners.get(write)).collect();
    assert!(order.is_sorted() && order.len() == 30, "{order:?}");
}

#[tokio::test]
async fn a_host_that_another_user_took_meanwhile_is_left_and_a_different_one_is_chosen() {
    let mut town = Town::of(2);
    town.wish("a", 1, 30000);
    let mut taken = town.live.object("BareMetalHost", "bm-00").unwrap();
    taken["spec"]["consumerRef"] = json!({"kind": "Metal3Machine", "name": "m", "namespace": "other"});
    taken["metadata"]["resourceVersion"] = json!("999999");
    town.live.state().makes_before_write = Some(taken);
    town.turn().await;
    assert_eq!(town.labelled("a"), ["bm-01"]);
    assert_eq!(town.condition("a", "Ready"), "True ReconciliationSucceeded: 1 host, 0 standby");
}

#[tokio::test]
async fn a_deleted_host_is_not_recreated() {
    let mut town = Town::of(2);
    town.wish("a", 1, 30000);
    // It was there when hosts were listed, and goes just before it is labelled.
    town.live.state().loses_before_write = Some("bm-00".to_owned());
    town.turn().await;
    assert_eq!(town.live.state().loses_before_write, None, "nobody wrote to the host");
    assert_eq!(town.live.names("BareMetalHost"), ["bm-01"]);
    assert_eq!(town.labelled("a"), ["bm-01"]);
}

#[tokio::test]
async fn killed_after_any_write_the_next_process_ends_the_same() {
    let mut whole = Town::of(6);
    whole.wish("a", 2, 30000);
    whole.wish("b", 2, 30010);
    let writes = whole.turn().await.writes;
    for killed_after in 0..writes {
        let mut town = Town::of(6);
        town.wish("a", 2, 30000);
        town.wish("b", 2, 30010);
        {
            let mut state = town.live.state();
            // Whether or not the last write was answered.
            state.answers = killed_after % 2 == 0;
            state.dies_after = Some(killed_after);
        }
        turn(&town.ports, &mut town.memory, &|| false).await.unwrap_err();
        town.live.state().dies_after = None;
        town.memory = HostMemory::default();
        town.turn().await;
        for name in ["a", "b"] {
            assert_eq!(town.labelled(name), whole.labelled(name), "killed after {killed_after}");
            assert_eq!(
                town.condition(name, "Ready"),
                whole.condition(name, "Ready"),
                "killed after {killed_after}"
            );
        }
        assert_eq!(town.turn().await.writes, 0, "killed after {killed_after}");
    }
}

#[tokio::test]
async fn an_object_of_another_owner_under_a_services_name_stays_and_is_reported() {
    let mut town = Town::of(2);
    town.live.put(json!({"apiVersion": "v1", "kind": "Service",
        "metadata": {"name": "a-control-plane-30000", "namespace": NAMESPACE}, "spec": {"of": "others"}}));
    town.wish("a", 1, 30000);
    assert!(town.turn().await.is_waiting);
    let told = town.condition("a", "ServicesReady");
    assert!(
        told.starts_with("False InfraServiceFailure: Service gauss/a-control-plane-30000 already exists and does not belong to this SIPCluster"),
        "{told}"
    );
    assert_eq!(
        town.live.object("Service", "a-control-plane-30000").unwrap()["spec"],
        json!({"of": "others"})
    );
    assert_eq!(town.labelled("a"), [""; 0]);
    town.live.remove("Service", "a-control-plane-30000");
    town.turn().await;
    assert_eq!(town.condition("a", "Ready"), "True ReconciliationSucceeded: 1 host, 0 standby");
}

#[tokio::test]
async fn drift_is_noticed_and_repaired_and_an_echo_is_ignored() {
    let mut town = Town::of(2);
    town.wish("a", 1, 30000);
    town.turn().await;
    town.live.take_writes();
    let version = |town: &Town, kind: &str, name: &str| {
        town.live.object(kind, name).unwrap()["metadata"]["resourceVersion"].as_str().unwrap().to_owned()
    };
    for (group, kind, name) in [
        ("metal3.io", "BareMetalHost", "bm-00"),
        ("airship.airshipit.org", "SIPCluster", "a"),
        ("apps", "Deployment", "a-jump-30001"),
    ] {
        let own = version(&town, kind, name);
        assert!(!town.tell(group, kind, name, &own), "{kind}: an echo of one's own write is no news");
    }
    town.live.change("Deployment", "a-jump-30001", |object| object["spec"]["replicas"] = json!(0));
    let changed = version(&town, "Deployment", "a-jump-30001");
    assert!(town.tell("apps", "Deployment", "a-jump-30001", &changed));
    town.turn().await;
    let writes = town.live.take_writes();
    assert!(writes.contains(&"apply Deployment gauss/a-jump-30001".to_owned()), "{writes:?}");
    assert_eq!(town.live.object("Deployment", "a-jump-30001").unwrap()["spec"]["replicas"], 1);
}

#[tokio::test]
async fn a_deleted_one_keeps_what_is_in_use_and_then_leaves_nothing() {
    let mut town = Town::of(3);
    town.wish("a", 2, 30000);
    town.turn().await;
    let machine = json!({"kind": "Metal3Machine", "name": "m", "namespace": NAMESPACE});
    town.live.change("BareMetalHost", "bm-00", |host| host["spec"]["consumerRef"] = machine);
    town.live.change("SIPCluster", "a", |object| {
        object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z")
    });
    town.memory.forget();
    town.turn().await;
    assert!(
        town.condition("a", "Ready")
            .starts_with("False UnableToDecommission: it is being deleted, and bm-00 is in use")
    );
    assert_eq!(town.labelled("a").len(), 2);
    town.live.change("BareMetalHost", "bm-00", |host| {
        drop(host["spec"].as_object_mut().unwrap().remove("consumerRef"))
    });
    town.memory.forget();
    town.turn().await;
    assert_eq!(town.live.object("SIPCluster", "a"), None);
    let left: Vec<String> =
        ["Deployment", "Service", "ConfigMap"].iter().flat_map(|kind| town.live.names(kind)).collect();
    assert_eq!(left, [""; 0]);
    assert!(town.live.names("Secret").iter().all(|name| name.starts_with("bm-")));
    assert_eq!(town.labelled("a"), [""; 0]);
}

#[tokio::test]
async fn a_template_that_would_take_others_hosts_is_reported() {
    let mut town = Town::of(2);
    town.wish("a", 1, 30000);
    town.live.put(json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "Metal3MachineTemplate",
        "metadata": {"name": "cp", "namespace": NAMESPACE, "ownerReferences": [{"kind": "Cluster", "name": "a"}]},
        "spec": {"template": {"spec": {}}}}));
    town.turn().await;
    assert!(
        town.condition("a", "HostsLabelled")
            .starts_with("False SelectorMissing: Metal3MachineTemplate cp has no hostSelector")
    );
    // The hosts are labelled nevertheless: only the template is wrong.
    assert_eq!(town.labelled("a"), ["bm-00"]);
}

/// Labels are how objects of services are found: what is ours without them gets them back, and keeps the key that people know.
#[tokio::test]
async fn labels_that_somebody_took_off_a_services_objects_come_back() {
    let mut town = Town::of(2);
    town.wish("a", 1, 30000);
    town.turn().await;
    let before = town.live.object("Secret", "a-jump-30001-host-keys").unwrap();
    for (kind, name, label) in [
        ("Deployment", "a-jump-30001", "app.kubernetes.io/managed-by"),
        ("Secret", "a-jump-30001-host-keys", "app.kubernetes.io/managed-by"),
        ("Service", "a-control-plane-30000", CLUSTER_NAME),
    ] {
        town.live.change(kind, name, |object| {
            drop(object["metadata"]["labels"].as_object_mut().unwrap().remove(label));
        });
    }
    town.memory.forget();
    town.turn().await;
    assert_eq!(town.condition("a", "Ready"), "True ReconciliationSucceeded: 1 host, 0 standby");
    let after = town.live.object("Secret", "a-jump-30001-host-keys").unwrap();
    assert_eq!(after["metadata"]["labels"], before["metadata"]["labels"]);
    assert_eq!(
        (&after["data"], &after["metadata"]["annotations"]),
        (&before["data"], &before["metadata"]["annotations"])
    );
    for (kind, name) in [("Deployment", "a-jump-30001"), ("Service", "a-control-plane-30000")] {
        let labels = town.live.object(kind, name).unwrap()["metadata"]["labels"].clone();
        assert_eq!(
            (&labels["app.kubernetes.io/managed-by"], &labels[CLUSTER_NAME]),
            (&json!("capstan"), &json!("a"))
        );
    }
    assert_eq!(town.turn().await.writes, 0);
}

/// Where network data tells no address, Machines do: they are listed once for everybody, and not at each turn.
#[tokio::test]
async fn machines_are_listed_once_and_again_for_hosts_without_a_machine() {
    let mut town = Town::of(6);
    for (name, port) in [("a", 30000), ("b", 30010)] {
        town.wish(name, 1, port);
        town.live.change("SIPCluster", name, |object| {
            object["spec"]["services"] =
                json!({"loadBalancerControlPlane": [{"image": "haproxy", "nodePort": port}]});
        });
    }
    town.turn().await;
    let machine = |host: &str, address: &str| {
        json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "metadata": {"name": format!("m-{host}"), "namespace": NAMESPACE},
        "spec": {"infrastructureRef": {"name": format!("m3-{host}")}},
        "status": {"addresses": [{"type": "InternalIP", "address": address}]}})
    };
    for (name, host, address) in [("a", "bm-00", "10.1.0.1"), ("b", "bm-01", "10.1.0.2")] {
        assert_eq!(town.labelled(name), [host]);
        town.live.change("BareMetalHost", host, |object| {
            object["spec"]["consumerRef"] =
                json!({"kind": "Metal3Machine", "name": format!("m3-{host}"), "namespace": NAMESPACE});
            object["status"]["provisioning"]["state"] = json!("provisioned");
        });
        town.live.put(machine(host, address));
    }
    let lists = |town: &Town| town.live.state().lists.iter().filter(|kind| *kind == "Machine").count();
    let before = lists(&town);
    town.memory.forget();
    town.turn().await;
    assert_eq!(lists(&town), before + 1);
    for name in ["a", "b"] {
        assert_eq!(town.condition(name, "Ready"), "True ReconciliationSucceeded: 1 host, 0 standby");
    }
    // A host tells something that is of no interest to addresses.
    town.live.change("BareMetalHost", "bm-00", |object| object["status"]["poweredOn"] = json!(true));
    let version = town.live.object("BareMetalHost", "bm-00").unwrap()["metadata"]["resourceVersion"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(town.tell("metal3.io", "BareMetalHost", "bm-00", &version));
    town.turn().await;
    assert_eq!(lists(&town), before + 1);
}

/// A SIPCluster that Capstan's definition would refuse, but an installed one allows: its services stay, and a condition
/// reports the field.
#[tokio::test]
async fn a_field_of_another_type_removes_nothing_and_is_reported() {
    type Edit = fn(&mut Value);
    let rows: [(&str, Edit); 5] = [
        (
            "spec.nodes.ControlPlane.count.active: invalid value: integer `-1`, expected a whole number",
            |spec| {
                spec["nodes"]["ControlPlane"]["count"]["active"] = json!(-1);
            },
        ),
        ("spec.nodes: invalid type: string \"all\", expected a mapping", |spec| spec["nodes"] = json!("all")),
        ("spec.services.jumpHost[0].nodePort: invalid type", |spec| {
            spec["services"]["jumpHost"][0]["nodePort"] = json!("ssh");
        }),
        ("spec.services.loadBalancerControlPlane: invalid type: map, expected a list", |spec| {
            spec["services"]["loadBalancerControlPlane"] = json!({"image": "haproxy"});
        }),
        ("spec: missing field `services`", |spec| {
            spec.as_object_mut().unwrap().remove("services");
        }),
    ];
    for (told, edit) in rows {
        let mut town = Town::of(6);
        town.wish("a", 3, 30000);
        town.turn().await;
        let (hosts, before) = (town.labelled("a"), town.live.names("Deployment"));
        assert_eq!((hosts.len(), before.len()), (3, 2));
        town.live.take_writes();
        town.live.change("SIPCluster", "a", |object| edit(&mut object["spec"]));
        for _ in 0..3 {
            town.memory = HostMemory::default();
            town.turn().await;
        }
        assert_eq!((town.labelled("a"), town.live.names("Deployment")), (hosts, before), "{told}");
        let said = town.condition("a", "Ready");
        assert!(
            said.starts_with(&format!("False SpecUnreadable: SIPCluster gauss/a cannot be read: {told}")),
            "{said}"
        );
        assert_eq!(town.live.take_writes(), ["patch SIPCluster gauss/a"], "it is said once: {told}");
    }
}
