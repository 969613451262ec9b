//! 1,000 hosts and 100 SIPClusters on a real API server: the turn that gives every SIPCluster its hosts, one in which nothing
//! is to be done, and one of a process that knows nothing yet. `cargo bench --bench hosts [-- HOSTS SIPCLUSTERS]`.
//!
//! Metal3's operator does not run: the bench writes what it would. Services wish no pods. Each SIPCluster wishes five hosts
//! in five racks. It needs a management cluster (`make plane`) and Metal3's definitions beside the checkout.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints figures and stops where it cannot go on"
)]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use capstan_k8s::{self, KubeCluster};
use capstan_ports::SystemClock;
use capstan_reconciler::gate::Gate;
use capstan_reconciler::hosts::{HostMemory, HostPorts, turn};
use capstan_test_parts::plane::{Parts, Plane, metal, reconciler};
use serde_json::{Value, json};
use tokio::sync::watch;

/// The program's own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const TENANTS: usize = 10;
const RACKS: usize = 20;

fn main() {
    let numbers: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let (hosts, clusters) = match numbers.as_slice() {
        [hosts, clusters, ..] => (*hosts, *clusters),
        _ => (1_000, 100),
    };
    let Some(definitions) = metal::definitions() else { return };
    let Some(plane) = Plane::start(Parts::Kubernetes) else { return };
    reconciler::install(&plane);
    metal::install(&plane, &definitions);
    for tenant in 0..TENANTS {
        reconciler::prepare_namespace(&plane, &namespace(tenant));
        metal::prepare_namespace(&plane, &namespace(tenant));
    }
    let namespaces: Vec<String> = (0..TENANTS).map(namespace).collect();
    let all = (0..hosts).map(|number| {
        let rack = format!("r{:02}", number / TENANTS % RACKS);
        (namespaces[number % TENANTS].as_str(), format!("bm-{number:04}"), rack)
    });
    metal::add_hosts(&plane, all);
    apply(&plane, (0..clusters).map(cluster));
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(measure(&plane, hosts, clusters));
}

async fn measure(plane: &Plane, hosts: usize, clusters: usize) {
    let kubeconfig = plane.kubeconfig_of(reconciler::HOME, "capstan");
    let connection = capstan_k8s::connect(Some(&kubeconfig)).await.unwrap();
    let ports = HostPorts {
        live: Arc::new(Gate::new(Arc::new(KubeCluster::new(&connection)), 32)),
        clock: Arc::new(SystemClock),
        node_ports_at: Some("192.0.2.1".to_owned()),
        watched: watch::Sender::default(),
        tenants: watch::Sender::new(BTreeSet::new()),
    };
    println!("{hosts} hosts, {clusters} SIPClusters in {TENANTS} namespaces");
    println!("{:<40}  {:>8}  {:>8}  {:>8}", "", "wall s", "aim s", "writes");
    let mut memory = HostMemory::default();
    for (what, aim) in
        [("first turn", 10), ("nothing to be done", 1), ("nothing to be done, by a new process", 1)]
    {
        if what.ends_with("process") {
            memory = HostMemory::default();
        }
        let begun = Instant::now();
        let outcome = turn(&ports, &mut memory, &|| false).await.unwrap();
        println!("{what:<40}  {:>8.2}  {aim:>8}  {:>8}", begun.elapsed().as_secs_f64(), outcome.writes);
    }
}

fn namespace(tenant: usize) -> String {
    format!("tenant-{:02}", tenant % TENANTS)
}

fn apply(plane: &Plane, objects: impl Iterator<Item = Value>) {
    let objects: Vec<Value> = objects.collect();
    for some in objects.chunks(200) {
        plane.apply(&json!({"apiVersion": "v1", "kind": "List", "items": some}).to_string());
    }
}

fn cluster(number: usize) -> Value {
    let balancer = |port: usize| json!([{"image": "haproxy:2.6", "nodePort": 30_000 + 2 * number + port, "nodeInterfaceId": "oam", "replicas": 0}]);
    json!({
        "apiVersion": "airship.airshipit.org/v1", "kind": "SIPCluster",
        "metadata": {"name": format!("c{number:03}"), "namespace": namespace(number)},
        "spec": {
            "nodes": {
                "ControlPlane": {"topologyKey": "rack", "count": {"active": 3}},
                "Worker": {"topologyKey": "rack", "count": {"active": 2}}},
            "services": {"loadBalancerControlPlane": balancer(0), "loadBalancerWorker": balancer(1)}}})
}
