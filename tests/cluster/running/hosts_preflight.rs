//! Heads that wish hosts, tried before the merge.

use capstan_model::digest::digest;
use capstan_model::finding::Severity;
use capstan_ports::KindScope;
use capstan_reconciler::reconcile::ports::{PreflightAnswer, PreflightVerdict};
use capstan_reconciler::reconcile::preflight::preflight;
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
        ("airship.airshipit.org", "SIPCluster", KindScope::Namespaced),
        ("metal3.io", "BareMetalHost", KindScope::Namespaced),
        ("metal3.io", "HostDeployPolicy", KindScope::Namespaced),
        ("", "Service", KindScope::Namespaced),
        ("apps", "Deployment", KindScope::Namespaced),
        ("infrastructure.cluster.x-k8s.io", "Metal3Cluster", KindScope::Namespaced),
        ("infrastructure.cluster.x-k8s.io", "Metal3MachineTemplate", KindScope::Namespaced),
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
            "HostsTooFew gauss/peu01/base/all.yaml:32: SIPCluster org/peu01: ControlPlane: 3 wanted, 2 available in 2 racks; bm-2 (r2): provisioned for Metal3Machine other/m"
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

/// A forged status of another SIPCluster claims hosts. It rejects no pull request, unless its claim is plausible.
#[tokio::test]
async fn what_another_status_says_of_hosts_rejects_nothing() {
    let world = town();
    wish(&world, 2, SELECTOR);
    let notes: Vec<_> = (0..2)
        .map(|number| {
            let host = world.live.object("BareMetalHost", &format!("bm-{number}")).unwrap();
            json!({"namespace": "org", "name": format!("bm-{number}"), "uid": host["metadata"]["uid"], "role": "Worker"})
        })
        .collect();
    let forged = |namespace: &str, count: u32| {
        json!({"apiVersion": "airship.airshipit.org/v1", "kind": "SIPCluster",
            "metadata": {"name": "evil", "namespace": namespace},
            "spec": {"nodes": {"Worker": {"count": {"active": count}}}, "services": {}},
            "status": {"hosts": notes}})
    };
    for (what, object) in [
        ("more than it wants", forged("org", 1)),
        ("less than it wants", forged("org", 3)),
        ("of a namespace that nobody opened hosts to", forged("evil", 2)),
    ] {
        world.live.put(object);
        let answer = judge(&world).await;
        assert_eq!((answer.verdict, lines(&answer)), (PreflightVerdict::Accepted, Vec::new()), "{what}");
        world.live.remove("SIPCluster", "evil");
    }
    // What a choice would have made counts, until it is labelled.
    world.live.put(forged("org", 2));
    assert_eq!(judge(&world).await.verdict, PreflightVerdict::Rejected);
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
        told[1].contains("KubeadmControlPlane org/peu01-cp rolls with 1 replicas and maxSurge 1, which needs 2 hosts, but role ControlPlane has 1"),
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
    // A status that no Service confirms may be forged: the check does not propose to write its endpoint.
    assert_eq!(lines(&judge(&world).await), Vec::<String>::new());
    let service = |nodes_at: &str| {
        json!({"apiVersion": "v1", "kind": "Service",
            "metadata": {"name": "peu01-control-plane-30000", "namespace": "org",
                "labels": {"app.kubernetes.io/managed-by": "capstan"},
                "annotations": {"capstan.dev/nodes-at": nodes_at}},
            "spec": {"type": "NodePort", "ports": [{"port": 6443, "nodePort": 30000}]}})
    };
    world.live.put(service("192.0.2.2"));
    assert_eq!(lines(&judge(&world).await), Vec::<String>::new());
    world.live.put(service("192.0.2.1"));
    let answer = judge(&world).await;
    assert_eq!(
        lines(&answer),
        [
            "EndpointDiffers gauss/peu01/base/all.yaml:11: Metal3Cluster org/peu01: Metal3Cluster peu01 has controlPlaneEndpoint 192.0.2.9:6443, but the load balancer of the SIPCluster is at 192.0.2.1:30000, so machines would join elsewhere. Before machines run, write the address of the load balancer; later it cannot be changed"
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

/// Folders of one question compete for the same hosts: what the first takes, the second cannot have.
#[tokio::test]
async fn folders_of_one_question_are_judged_together() {
    let world = town();
    wish(&world, 2, SELECTOR);
    world.write(
        "gauss/peu02/base/all.yaml",
        "apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: peu02, namespace: org}
spec: {}
---
apiVersion: airship.airshipit.org/v1
kind: SIPCluster
metadata: {name: peu02, namespace: org}
spec:
  nodes: {Worker: {count: {active: 1}}}
  services: {}
",
    );
    let ids = [id("gauss/peu02"), id("gauss/peu01")];
    let judge = async || {
        let head = world.revision().await;
        let fleet = world.fleet.lock().unwrap().clone();
        let answers = preflight(&world.ports(), &fleet, &head, &question(&head, &ids), &[]).await;
        answers
            .iter()
            .map(|answer| (answer.cluster.to_string(), answer.verdict, lines(answer)))
            .collect::<Vec<_>>()
    };
    let answers = judge().await;
    assert_eq!(answers[1], ("gauss/peu01".to_owned(), PreflightVerdict::Accepted, Vec::new()));
    assert_eq!((answers[0].0.as_str(), answers[0].1), ("gauss/peu02", PreflightVerdict::Rejected));
    assert_eq!(
        answers[0].2,
        [
            "HostsTooFew gauss/peu02/base/all.yaml:10: SIPCluster org/peu02: Worker: 1 wanted, 0 available; bm-0: chosen for org/peu01; bm-1: chosen for org/peu01; bm-2: provisioned for Metal3Machine other/m"
        ]
    );
    // Live, the first has a host more than it wishes from here on: the second gets that one.
    wish(&world, 1, SELECTOR);
    for number in 0..2 {
        world.live.change("BareMetalHost", &format!("bm-{number}"), |host| {
            for (key, value) in
                [("cluster-namespace", "org"), ("cluster-name", "peu01"), ("node-type", "ControlPlane")]
            {
                host["metadata"]["labels"][format!("sip.airshipit.org/{key}")] = json!(value);
            }
        });
    }
    let told = judge().await;
    assert!(told.iter().all(|(_, verdict, _)| *verdict == PreflightVerdict::Accepted), "{told:?}");
}

/// The groups of a topology make machines, too, from what their class and its patches make.
#[tokio::test]
async fn groups_of_a_topology_are_owners_of_machines() {
    let world = town();
    world.live.serve(&[(
        "controlplane.cluster.x-k8s.io",
        "KubeadmControlPlaneTemplate",
        KindScope::Namespaced,
    )]);
    let write = |surge: u32, selector: &str| {
        world.write(
            "gauss/peu01/base/all.yaml",
            &format!(
                "apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {{name: peu01, namespace: org}}
spec:
  topology:
    classRef: {{name: metal}}
    version: v1.34.3
    controlPlane: {{replicas: 1}}
    workers:
      machineDeployments:
      - {{class: default, name: md-0, replicas: 1, rollout: {{strategy: {{type: RollingUpdate, rollingUpdate: {{maxSurge: {surge}}}}}}}}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {{name: metal, namespace: org}}
spec:
  infrastructure: {{templateRef: {{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: Metal3ClusterTemplate, name: net}}}}
  controlPlane:
    templateRef: {{apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: KubeadmControlPlaneTemplate, name: cp}}
    machineInfrastructure: {{templateRef: {{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: Metal3MachineTemplate, name: cp}}}}
  workers:
    machineDeployments:
    - class: default
      bootstrap: {{templateRef: {{apiVersion: bootstrap.cluster.x-k8s.io/v1beta2, kind: KubeadmConfigTemplate, name: boot}}}}
      infrastructure: {{templateRef: {{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: Metal3MachineTemplate, name: md}}}}
  patches:
  - name: own
    definitions:
    - selector: {{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: Metal3MachineTemplate, matchResources: {{controlPlane: true, machineDeploymentClass: {{names: [default]}}}}}}
      jsonPatches:
      - {{op: add, path: /spec/template/spec/hostSelector, value: {selector}}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlaneTemplate
metadata: {{name: cp, namespace: org}}
spec: {{template: {{spec: {{rollout: {{strategy: {{type: RollingUpdate, rollingUpdate: {{maxSurge: 0}}}}}}, kubeadmConfigSpec: {{}}}}}}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: Metal3MachineTemplate
metadata: {{name: cp, namespace: org}}
spec: {{template: {{spec: {{}}}}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: Metal3MachineTemplate
metadata: {{name: md, namespace: org}}
spec: {{template: {{spec: {{}}}}}}
---
apiVersion: airship.airshipit.org/v1
kind: SIPCluster
metadata: {{name: peu01, namespace: org}}
spec:
  nodes: {{ControlPlane: {{count: {{active: 1}}}}, Worker: {{count: {{active: 1}}}}}}
  services: {{}}
"
            ),
        );
    };
    let ours =
        "{matchLabels: {sip.airshipit.org/cluster-namespace: org, sip.airshipit.org/cluster-name: peu01}}";
    write(0, ours);
    let told = lines(&judge(&world).await);
    assert!(!told.iter().any(|line| line.starts_with("Hosts") || line.starts_with("Selector")), "{told:?}");
    write(1, "{matchLabels: {flavor: big}}");
    let told = lines(&judge(&world).await);
    let of = |kind: &str| told.iter().filter(|line| line.starts_with(kind)).cloned().collect::<Vec<_>>();
    let surge = of("HostsTooFewForRollout");
    assert_eq!(surge.len(), 1, "{told:?}");
    assert!(
        surge[0].contains("md-0 of Cluster org/peu01 rolls with 1 replicas and maxSurge 1, which needs 2 hosts, but role Worker has 1"),
        "{surge:?}"
    );
    let selectors = of("SelectorMissing");
    assert_eq!(selectors.len(), 2, "{told:?}");
    assert!(
        selectors[0].contains("Metal3MachineTemplate of controlPlane has no hostSelector"),
        "{selectors:?}"
    );
}

/// Git configures the API server: the check names what to add, in the form of the Kubernetes minor, until it is there.
#[tokio::test]
async fn an_issuer_that_the_control_plane_does_not_trust_is_reported_with_what_to_add() {
    let world = town();
    wish(&world, 2, SELECTOR);
    let ca = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    world.live.put(json!({"apiVersion": "airship.airshipit.org/v1", "kind": "SIPCluster",
        "metadata": {"name": "peu01", "namespace": "org"}, "spec": {"services": {}},
        "status": {"oidc": {"issuer": "https://192.0.2.1:30556", "clientID": "kubernetes", "ca": ca}}}));
    // A status that no Deployment confirms may be forged: the check proposes no issuer.
    assert_eq!(lines(&judge(&world).await), Vec::<String>::new());
    let deployment = |digest: &str| {
        json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "peu01-auth-30556", "namespace": "org",
                "labels": {"app.kubernetes.io/managed-by": "capstan"}, "annotations": {"capstan.dev/oidc": digest}},
            "spec": {}})
    };
    world.live.put(deployment(&digest(&["https://192.0.2.1:30557", "kubernetes", ca])));
    assert_eq!(lines(&judge(&world).await), Vec::<String>::new());
    world.live.put(deployment(&digest(&["https://192.0.2.1:30556", "kubernetes", ca])));
    let answer = judge(&world).await;
    assert_eq!(answer.verdict, PreflightVerdict::Accepted);
    let told = lines(&answer);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].starts_with("OidcNotWired gauss/peu01/base/all.yaml:")
            && told[0].contains("KubeadmControlPlane peu01-cp does not trust the issuer https://192.0.2.1:30556. Add to spec.kubeadmConfigSpec a file /etc/kubernetes/authentication.yaml")
            && told[0].contains("it rolls the control plane:\napiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n"),
        "{told:?}"
    );
}
