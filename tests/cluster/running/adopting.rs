//! Objects that others applied before, and names of templates.

use capstan_reconciler::reconcile::ReconcileEnd;
use capstan_reconciler::reconcile::resources::{Adopt, ConditionType};
use serde_json::json;

use super::applying::{plain, sorted};
use super::world::World;

fn by_kubectl(world: &World) {
    world.live.put_by_kubectl(json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "peu01-a", "namespace": "org"},
        "data": {"key": "0", "old": "1"},
    }));
}

#[tokio::test]
async fn what_others_applied_is_shown_first_and_taken_when_somebody_says_so() {
    let world = World::new();
    plain(&world, "peu01");
    by_kubectl(&world);
    let outcome = world.reconcile("gauss/peu01").await;
    assert!(matches!(outcome.ended, ReconcileEnd::Waiting(_)), "{:?}", outcome.ended);
    assert_eq!(world.live.take_writes(), Vec::<String>::new());
    let preview = &world.status("gauss-peu01").refused[0];
    assert_eq!(preview.reason, "AdoptionNeeded");
    assert_eq!(preview.object.as_deref(), Some("ConfigMap org/peu01-a"));
    assert!(preview.message.contains("kubectl-client-side-apply"), "{}", preview.message);
    assert!(preview.message.contains("sets /data/key"), "{}", preview.message);
    assert_eq!(world.condition("gauss-peu01", ConditionType::Applied), "False AdoptionNeeded");

    world.status_store.posted().clusters.get_mut("gauss-peu01").unwrap().spec.adopt = Some(Adopt::Take);
    let outcome = world.reconcile("gauss/peu01").await;
    assert!(matches!(outcome.ended, ReconcileEnd::Applied), "{:?}", outcome.ended);
    assert_eq!(
        sorted(world.live.take_writes()),
        [
            "apply Cluster org/peu01",
            "apply ConfigMap org/peu01-a",
            "apply ConfigMap org/peu01-b",
            "take over ConfigMap org/peu01-a"
        ]
    );
    // What Git lacks has really gone.
    assert_eq!(world.live.object("ConfigMap", "peu01-a").unwrap()["data"], json!({"key": "1"}));
    world.reconcile("gauss/peu01").await;
    assert_eq!(world.live.take_writes(), Vec::<String>::new());
}

#[tokio::test]
async fn capstans_own_object_is_recognised_after_its_status_was_lost() {
    let world = World::new();
    plain(&world, "peu01");
    world.reconcile("gauss/peu01").await;
    world.live.take_writes();
    world.status_store.posted().clusters.clear();
    let outcome = world.reconcile("gauss/peu01").await;
    assert!(matches!(outcome.ended, ReconcileEnd::Applied), "{:?}", outcome.ended);
    assert_eq!(world.live.take_writes(), Vec::<String>::new());
    assert_eq!(world.status("gauss-peu01").inventory.objects().len(), 3);
}

/// A cluster with a control plane, workers and their templates.
pub(crate) fn with_machines(world: &World, version: &str, image: &str) {
    world.write(
        "gauss/peu01/base/all.yaml",
        &format!(
            "apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {{name: peu01, namespace: org}}
spec:
  controlPlaneRef: {{apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: peu01-cp}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {{name: peu01-cp}}
spec:
  replicas: 1
  version: {version}
  machineTemplate:
    spec:
      infrastructureRef: {{apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: peu01-cp}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {{name: peu01-cp}}
spec:
  template:
    spec: {{image: {image}}}
"
        ),
    );
}

fn infrastructure(world: &World) -> String {
    let control_plane = world.live.object("KubeadmControlPlane", "peu01-cp").unwrap();
    control_plane
        .pointer("/spec/machineTemplate/spec/infrastructureRef/name")
        .unwrap()
        .as_str()
        .unwrap()
        .to_owned()
}

#[tokio::test]
async fn a_template_that_lives_under_its_name_in_git_keeps_it() {
    let world = World::new();
    with_machines(&world, "v1.34.3", "one");
    // Defaults make the live spec differ from the one in Git, byte by byte.
    world.live.default_by(|object| {
        if object["kind"] == "DevMachineTemplate" && object["spec"]["template"]["spec"].get("size").is_none()
        {
            object["spec"]["template"]["spec"]["size"] = json!("small");
        }
    });
    world.live.put_by_kubectl(json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "DevMachineTemplate",
        "metadata": {"name": "peu01-cp", "namespace": "org"},
        "spec": {"template": {"spec": {"image": "one", "size": "small"}}},
    }));
    world.fleet.lock().unwrap().spec.guards.adopt = Adopt::Take;
    let outcome = world.reconcile("gauss/peu01").await;
    assert!(matches!(outcome.ended, ReconcileEnd::Applied), "{:?}", outcome.ended);
    assert_eq!(infrastructure(&world), "peu01-cp");
    assert_eq!(world.live.names("DevMachineTemplate"), ["peu01-cp"]);
    let status = world.status("gauss-peu01");
    assert_eq!(
        (status.templates[0].name.as_str(), status.templates[0].live.as_str()),
        ("peu01-cp", "peu01-cp")
    );

    // Another spec gets another name, and the old one stays for the machines made from it.
    with_machines(&world, "v1.34.3", "two");
    world.reconcile("gauss/peu01").await;
    let new = infrastructure(&world);
    assert!(new.starts_with("peu01-cp-"), "{new}");
    assert_eq!(world.live.names("DevMachineTemplate").len(), 2);
    world.live.take_writes();
    world.reconcile("gauss/peu01").await;
    assert_eq!(world.live.take_writes(), Vec::<String>::new());

    // Back again finds the old one.
    with_machines(&world, "v1.34.3", "one");
    world.reconcile("gauss/peu01").await;
    assert_eq!(infrastructure(&world), "peu01-cp");
}

/// A default of v1beta2 that v1beta1 did not have: a template that was written in v1beta1 lacks it.
#[tokio::test]
async fn a_template_of_an_older_version_keeps_its_name_though_the_newer_one_has_another_default() {
    let (mutable, immutable) = (false, true);
    for (written_in, image, webhook, is_kept) in [
        ("v1beta1", "one", mutable, true),
        // Nobody wrote it in another version: what it lacks, somebody took out.
        ("v1beta2", "one", mutable, false),
        ("v1beta1", "two", mutable, false),
        // The default of the newer version is a change to the webhook, which refuses it: a new template takes its place.
        ("v1beta1", "one", immutable, false),
    ] {
        let world = World::new();
        with_machines(&world, "v1.34.3", image);
        world.live.put_by_kubectl(json!({
            "apiVersion": format!("infrastructure.cluster.x-k8s.io/{written_in}"), "kind": "DevMachineTemplate",
            "metadata": {"name": "peu01-cp", "namespace": "org"},
            "spec": {"template": {"spec": {"image": "one"}}},
        }));
        world.live.default_by(|object| {
            if object["kind"] == "DevMachineTemplate"
                && object["spec"]["template"]["spec"].get("size").is_none()
            {
                object["spec"]["template"]["spec"]["size"] = json!("small");
            }
        });
        if webhook == immutable {
            world.live.webhook(|before, object| {
                let before = before.filter(|_| object["kind"] == "DevMachineTemplate")?;
                let changes = before["spec"]["template"]["spec"] != object["spec"]["template"]["spec"];
                changes.then(|| (422, "DevMachineTemplate spec.template.spec field is immutable".to_owned()))
            });
        }
        world.fleet.lock().unwrap().spec.guards.adopt = Adopt::Take;
        let outcome = world.reconcile("gauss/peu01").await;
        assert!(matches!(outcome.ended, ReconcileEnd::Applied), "{:?}", outcome.ended);
        assert_eq!(infrastructure(&world) == "peu01-cp", is_kept, "{written_in} {image} {webhook}");
    }
}

#[tokio::test]
async fn a_lower_version_is_never_sent_not_even_as_a_dry_run() {
    let world = World::new();
    with_machines(&world, "v1.35.1", "one");
    world.reconcile("gauss/peu01").await;
    world.live.state().log.clear();
    with_machines(&world, "v1.34.3", "one");
    let outcome = world.reconcile("gauss/peu01").await;
    assert!(matches!(outcome.ended, ReconcileEnd::Refused(_)), "{:?}", outcome.ended);
    assert_eq!(world.status("gauss-peu01").refused[0].reason, "VersionBelowLive");
    let asked = world.live.state().log.clone();
    assert!(asked.iter().all(|request| !request.object.contains("KubeadmControlPlane")), "{asked:?}");
}

#[tokio::test]
async fn who_is_killed_before_taking_over_takes_over_next_time() {
    let world = World::new();
    plain(&world, "peu01");
    by_kubectl(&world);
    world.fleet.lock().unwrap().spec.guards.adopt = Adopt::Take;
    for writes in 0..3 {
        world.live.state().dies_after = Some(writes);
        world.reconcile("gauss/peu01").await;
    }
    world.live.state().dies_after = None;
    let outcome = world.reconcile("gauss/peu01").await;
    assert!(matches!(outcome.ended, ReconcileEnd::Applied), "{:?}", outcome.ended);
    assert_eq!(world.live.object("ConfigMap", "peu01-a").unwrap()["data"], json!({"key": "1"}));
}

#[tokio::test]
async fn an_object_of_the_folder_that_somebody_recreated_is_repaired_without_asking() {
    let world = World::new();
    plain(&world, "peu01");
    world.reconcile("gauss/peu01").await;
    world.live.remove("ConfigMap", "peu01-a");
    by_kubectl(&world);
    let outcome = world.reconcile("gauss/peu01").await;
    assert!(matches!(outcome.ended, ReconcileEnd::Applied), "{:?}", outcome.ended);
    assert_eq!(world.live.object("ConfigMap", "peu01-a").unwrap()["data"], json!({"key": "1"}));
}
