//! Heads that wish hosts, tried before the merge.

use capstan::app::ports::Scope;
use capstan::app::reconcile::ports::{PreflightAnswer, PreflightVerdict};
use capstan::app::reconcile::preflight::preflight;
use capstan_model::finding::Severity;
use serde_json::json;

use super::world::{World, id, question};

async fn judge(world: &World) -> PreflightAnswer {
    let head = world.revision().await;
    let fleet = world.fleet.lock().unwrap().clone();
    preflight(&world.ports(), &fleet, &head, &question(&head, &[id("gauss/peu01")]), &[]).await.remove(0)
}

/// Three hosts in three racks, of which one is another cluster's.
fn town() -> World {
    let world = World::new();
    world.live.serve(&[
        ("airship.airshipit.org", "SIPCluster", Scope::Namespaced),
        ("metal3.io", "BareMetalHost", Scope::Namespaced),
        ("metal3.io", "HostDeployPolicy", Scope::Namespaced),
        ("infrastructure.cluster.x-k8s.io", "Metal3Cluster", Scope::Namespaced),
        ("infrastructure.cluster.x-k8s.io", "Metal3MachineTemplate", Scope::Namespaced),
    ]);
    for number in 0..3 {
        world.live.put(json!({
            "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
            "metadata": {"name": format!("bm-{number}"), "namespace": "org", "labels": {"rack": format!("r{number}")}},
            "spec": {}, "status": {"provisioning": {"state": "available"}}}));
    }
    world.live.change("BareMetalHost", "bm-2", |host| {
        host["spec"]["consumerRef"] = json!({"kind": "Metal3Machine", "name": "m", "namespace": "other"});
        host["status"]["provisioning"]["state"] = json!("provisioned");
    });
    world
}

fn wish(world: &World, active: u32, selector: &str) {
    world.write(
        "gauss/peu01/base/all.yaml",
        &format!(
            "apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {{name: peu01, namespace: org}}
spec:
  controlPlaneRef: {{apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: peu01-cp}}
  infrastructureRef: {{apiGroup: infrastructure.cluster.x-k8s.io, kind: Metal3Cluster, name: peu01}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: Metal3Cluster
metadata: {{name: peu01, namespace: org}}
spec: {{controlPlaneEndpoint: {{host: 192.0.2.9, port: 6443}}}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {{name: peu01-cp, namespace: org}}
spec:
  version: v1.34.3
  replicas: 1
  machineTemplate:
    spec: {{infrastructureRef: {{apiGroup: infrastructure.cluster.x-k8s.io, kind: Metal3MachineTemplate, name: peu01-cp}}}}
  kubeadmConfigSpec: {{}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: Metal3MachineTemplate
metadata: {{name: peu01-cp, namespace: org}}
spec: {{template: {{spec: {{{selector}}}}}}}
---
apiVersion: airship.airshipit.org/v1
kind: SIPCluster
metadata: {{name: peu01, namespace: org}}
spec:
  nodes: {{ControlPlane: {{topologyKey: rack, count: {{active: {active}}}}}}}
  services: {{}}
"
        ),
    );
}

const SELECTOR: &str = "hostSelector: {matchLabels: {sip.airshipit.org/cluster-namespace: org, sip.airshipit.org/cluster-name: peu01, sip.airshipit.org/node-type: ControlPlane}}";

fn lines(answer: &PreflightAnswer) -> Vec<String> {
    answer.reasons.iter().map(|reason| format!("{} {}", reason.kind, reason.line())).collect()
}

#[tokio::test]
async fn what_the_racks_cannot_give_is_rejected_host_by_host() {
    let world = town();
    wish(&world, 3, SELECTOR);
    let answer = judge(&world).await;
    assert_eq!(answer.verdict, PreflightVerdict::Rejected);
    assert_eq!(
        lines(&answer),
        [
            "HostsTooFew gauss/peu01/base/all.yaml:32: SIPCluster org/peu01: ControlPlane: 3 wanted, 2 can be had in 2 racks; bm-2 (r2): provisioned for Metal3Machine other/m"
        ]
    );
    assert_eq!(world.live.take_writes(), Vec::<String>::new());
    // A host is freed.
    world.live.change("BareMetalHost", "bm-2", |host| {
        host["spec"] = json!({});
        host["status"]["provisioning"]["state"] = json!("available");
    });
    let answer = judge(&world).await;
    assert_eq!((answer.verdict, lines(&answer)), (PreflightVerdict::Accepted, Vec::new()));
}

#[tokio::test]
async fn a_rolling_upgrade_without_a_spare_host_and_a_template_without_a_selector_are_warned_of() {
    let world = town();
    wish(&world, 1, "image: {}");
    let answer = judge(&world).await;
    assert_eq!(answer.verdict, PreflightVerdict::Accepted, "{:?}", lines(&answer));
    assert!(answer.reasons.iter().all(|reason| reason.severity == Severity::Warning));
    let told = lines(&answer);
    assert!(told[0].starts_with("SelectorMissing gauss/peu01/base/all.yaml:"), "{told:?}");
    assert!(
        told[1].contains("KubeadmControlPlane org/peu01-cp rolls with 1 replicas and maxSurge 1, which takes 2 hosts; role ControlPlane has 1"),
        "{told:?}"
    );
    assert_eq!(told.len(), 2, "{told:?}");
}

#[tokio::test]
async fn another_endpoint_than_the_load_balancers_is_warned_of() {
    let world = town();
    wish(&world, 2, SELECTOR);
    let live = json!({"apiVersion": "airship.airshipit.org/v1", "kind": "SIPCluster",
        "metadata": {"name": "peu01", "namespace": "org"}, "spec": {"services": {}},
        "status": {"endpoints": {"controlPlane": {"host": "192.0.2.1", "port": 30000}}}});
    world.live.put(live);
    let answer = judge(&world).await;
    assert_eq!(
        lines(&answer),
        [
            "EndpointDiffers gauss/peu01/base/all.yaml:11: Metal3Cluster org/peu01: Metal3Cluster peu01 has controlPlaneEndpoint 192.0.2.9:6443, the load balancer of the SIPCluster is reached at 192.0.2.1:30000: machines would join elsewhere. It cannot be changed once machines run; before, write the load balancer's"
        ]
    );
}

#[tokio::test]
async fn where_the_kinds_are_not_served_nobody_looks_for_hosts() {
    let world = town();
    wish(&world, 9, SELECTOR);
    world.live.state().kinds.remove(&("metal3.io".to_owned(), "BareMetalHost".to_owned()));
    let told = lines(&judge(&world).await);
    assert!(!told.iter().any(|line| line.starts_with("HostsTooFew")), "{told:?}");
}
