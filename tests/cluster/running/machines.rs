//! Control planes and their machines: no way round the guards by another name, and nothing that takes them away.

use capstan_reconciler::reconcile::ReconcileEnd;
use capstan_reconciler::reconcile::ports::PreflightVerdict;
use capstan_reconciler::reconcile::preflight::preflight;
use capstan_reconciler::reconcile::resources::ConditionType;
use serde_json::json;

use super::adopting::with_machines;
use super::applying::plain;
use super::pruning::round;
use super::world::{World, id, question};

/// A machine of the control plane of `peu01`, as Cluster API makes it.
pub(crate) fn run(world: &World, version: &str) {
    world.live.put(json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
        "metadata": {"name": "peu01-cp-1", "namespace": "org",
            "labels": {"cluster.x-k8s.io/cluster-name": "peu01", "cluster.x-k8s.io/control-plane": ""},
            "ownerReferences": [{"apiVersion": "controlplane.cluster.x-k8s.io/v1beta2",
                "kind": "KubeadmControlPlane", "name": "peu01-cp"}]},
        "spec": {"clusterName": "peu01", "version": version}}));
}

/// Git gives the control plane another name, and asks for that version.
pub(crate) fn rename_control_plane(world: &World, version: &str) {
    with_machines(world, version, "one");
    let path = "gauss/peu01/base/all.yaml";
    let text = world.files.lock().unwrap()[path].clone();
    let renamed = text.replace("KubeadmControlPlane, name: peu01-cp", "KubeadmControlPlane, name: peu01-new");
    let renamed = renamed.replace(
        "KubeadmControlPlane\nmetadata: {name: peu01-cp}",
        "KubeadmControlPlane\nmetadata: {name: peu01-new}",
    );
    assert_eq!(renamed.matches("peu01-new").count(), 2);
    world.write(path, &renamed);
}

/// Why nothing of `peu01` is applied.
fn refused(world: &World) -> Vec<String> {
    world.status("gauss-peu01").refused.iter().map(|refused| refused.reason.clone()).collect()
}

#[tokio::test]
async fn a_renamed_control_plane_does_not_allow_a_lower_version() {
    let world = World::new();
    with_machines(&world, "v1.35.1", "one");
    round(&world).await;
    run(&world, "v1.35.1");
    world.live.take_writes();
    for (version, reasons) in [
        ("v1.34.3", vec!["ControlPlaneReplaced", "VersionBelowLive"]),
        ("v1.37.0", vec!["ControlPlaneReplaced", "SkipsMinor"]),
        ("v1.35.1", vec!["ControlPlaneReplaced"]),
    ] {
        rename_control_plane(&world, version);
        // The check before the merge rejects it, too.
        let head = world.revision().await;
        let records: Vec<_> = world.status_store.posted().clusters.values().cloned().collect();
        let fleet = world.fleet.lock().unwrap().clone();
        let answers =
            preflight(&world.ports(), &fleet, &head, &question(&head, &[id("gauss/peu01")]), &records).await;
        assert_eq!(answers[0].verdict, PreflightVerdict::Rejected);
        round(&world).await;
        assert_eq!(refused(&world), reasons, "{version}");
        // A tombstone of the old one changes nothing: it goes with no machines on it.
        world.write("gauss/peu01/capstan.yaml", "delete: [{kind: KubeadmControlPlane, name: peu01-cp}]\n");
        round(&world).await;
        assert_eq!(refused(&world), reasons, "{version}");
        assert_eq!(world.live.take_writes(), [""; 0], "{version}");
        world.remove("gauss/peu01/capstan.yaml");
    }
    let says = world.status("gauss-peu01").refused[0].message.clone();
    assert_eq!(
        says,
        "Cluster org/peu01 would leave KubeadmControlPlane peu01-cp, and 1 machine depends on it. Another control plane starts without them: name KubeadmControlPlane peu01-cp again"
    );
    // The machines are gone.
    world.live.remove("Machine", "peu01-cp-1");
    round(&world).await;
    assert_eq!(world.live.names("KubeadmControlPlane"), ["peu01-cp", "peu01-new"]);
}

#[tokio::test]
async fn a_control_plane_that_git_loses_stays_under_its_machines() {
    let world = World::new();
    with_machines(&world, "v1.35.1", "one");
    round(&world).await;
    run(&world, "v1.35.1");
    let path = "gauss/peu01/base/all.yaml";
    let whole = world.files.lock().unwrap()[path].clone();
    let documents: Vec<&str> = whole.split("---\n").collect();
    world.write(path, &[documents[0], documents[2]].join("---\n"));
    world.live.take_writes();
    let kept = "KubeadmControlPlane org/peu01-cp is gone from Git but kept: Cluster org/peu01 is live, and deleting this would delete its machines. Restore it";
    for tombstone in ["[]", "[{kind: KubeadmControlPlane, name: peu01-cp}]"] {
        world.write("gauss/peu01/capstan.yaml", &format!("delete: {tombstone}\n"));
        round(&world).await;
        let said = world.status("gauss-peu01").kept[0].clone();
        assert_eq!((said.reason.as_str(), said.message.as_str()), ("KeptUntilAsked", kept), "{tombstone}");
        assert_eq!(world.live.take_writes(), [""; 0], "{tombstone}");
    }
}

/// Git has another Cluster in the folder's only file instead, with a control plane of its own.
fn replace_by_another(world: &World) {
    let path = "gauss/peu01/base/all.yaml";
    let text = world.files.lock().unwrap()[path].clone();
    world.write(path, &text.replace("peu01", "peu02"));
}

#[tokio::test]
async fn machines_of_a_cluster_that_git_renders_no_more_are_read_beside_those_of_another_one() {
    let world = World::new();
    with_machines(&world, "v1.35.1", "one");
    round(&world).await;
    run(&world, "v1.35.1");
    // What a deployment left that is gone: its machines were made from the template.
    let template = world.live.names("DevMachineTemplate")[0].clone();
    world.live.put(json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineSet",
        "metadata": {"name": "peu01-md-1", "namespace": "org",
            "labels": {"cluster.x-k8s.io/cluster-name": "peu01"}},
        "spec": {"clusterName": "peu01", "template": {"spec": {"infrastructureRef": {
            "apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevMachineTemplate", "name": template}}}}}));
    world.live.change("KubeadmControlPlane", "peu01-cp", |object| {
        object["spec"]["machineTemplate"]["spec"]["infrastructureRef"]["name"] = json!("of-a-hand");
    });
    replace_by_another(&world);
    for tombstones in ["[]", "[{kind: KubeadmControlPlane, name: peu01-cp}]"] {
        world.write("gauss/peu01/capstan.yaml", &format!("delete: {tombstones}\n"));
        round(&world).await;
        round(&world).await;
        let kept: Vec<String> =
            world.status("gauss-peu01").kept.iter().map(|kept| kept.message.clone()).collect();
        assert_eq!(
            kept,
            [
                "Cluster org/peu01 is gone from Git but kept: deleting it would delete its control plane and machines. Restore it",
                "KubeadmControlPlane org/peu01-cp is gone from Git but kept: Cluster org/peu01 is live, and deleting this would delete its machines. Restore it",
                &format!(
                    "DevMachineTemplate org/{template} is kept while MachineSet org/peu01-md-1 names it"
                ),
            ],
            "{tombstones}"
        );
        let writes = world.live.take_writes();
        assert!(writes.iter().all(|write| !write.starts_with("delete")), "{writes:?}");
    }
}

#[tokio::test]
async fn a_control_plane_whose_cluster_others_apply_stays_under_its_machines() {
    let world = World::new();
    with_machines(&world, "v1.35.1", "one");
    let path = "gauss/peu01/base/all.yaml";
    let whole = world.files.lock().unwrap()[path].clone();
    let documents: Vec<&str> = whole.split("---\n").collect();
    world.live.put(json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
        "metadata": {"name": "peu01", "namespace": "org"},
        "spec": {"controlPlaneRef": {"apiGroup": "controlplane.cluster.x-k8s.io",
            "kind": "KubeadmControlPlane", "name": "peu01-cp"}}}));
    let own = |document: &str| document.replacen("{name: peu01-cp}", "{name: peu01-cp, namespace: org}", 1);
    world.write(path, &[own(documents[1]), own(documents[2])].join("---\n"));
    round(&world).await;
    assert_eq!(world.condition("gauss-peu01", ConditionType::Applied), "True Applied");
    run(&world, "v1.35.1");
    // As Cluster API marks what is a Cluster's.
    world.live.change("KubeadmControlPlane", "peu01-cp", |object| {
        object["metadata"]["labels"]["cluster.x-k8s.io/cluster-name"] = json!("peu01");
    });
    world.write(path, &own(documents[2]));
    world.write("gauss/peu01/capstan.yaml", "delete: [{kind: KubeadmControlPlane, name: peu01-cp}]\n");
    world.live.take_writes();
    round(&world).await;
    let said = world.status("gauss-peu01").kept[0].message.clone();
    assert_eq!(
        said,
        "KubeadmControlPlane org/peu01-cp is gone from Git but kept: Cluster org/peu01 is live, and deleting this would delete its machines. Restore it"
    );
    assert_eq!(world.live.take_writes(), [""; 0]);
}

#[tokio::test]
async fn a_template_that_git_loses_during_its_rollout_stays_while_machines_are_made_from_it() {
    let world = World::new();
    with_machines(&world, "v1.35.1", "one");
    round(&world).await;
    with_machines(&world, "v1.35.1", "two");
    round(&world).await;
    let templates = world.live.names("DevMachineTemplate");
    assert_eq!(templates.len(), 2);
    world.live.take_writes();
    // It rolls; Git loses the template, and what names it.
    let path = "gauss/peu01/base/all.yaml";
    let whole = world.files.lock().unwrap()[path].clone();
    let documents: Vec<&str> = whole.split("---\n").collect();
    world.write(path, &documents[..2].join("---\n"));
    round(&world).await;
    assert_eq!(refused(&world), ["MissingReference"]);
    world.write(path, documents[0]);
    round(&world).await;
    round(&world).await;
    assert_eq!(world.live.names("DevMachineTemplate"), templates);
    assert_eq!(world.live.take_writes(), [""; 0]);
    world.write(path, &whole);
    round(&world).await;
    round(&world).await;
    assert_eq!(world.live.names("DevMachineTemplate"), templates);
    assert_eq!(world.live.take_writes(), [""; 0]);
}

#[tokio::test]
async fn a_cluster_that_a_hand_deletes_is_waited_for_and_then_asked_after() {
    let world = World::new();
    plain(&world, "peu01");
    round(&world).await;
    world.live.take_writes();
    world.live.change("Cluster", "peu01", |cluster| {
        cluster["metadata"]["deletionTimestamp"] = json!("2027-01-15T08:00:00Z");
    });
    world.live.remove("ConfigMap", "peu01-a");
    let outcome = world.reconcile("gauss/peu01").await;
    assert!(matches!(outcome.ended, ReconcileEnd::Waiting(_)), "{:?}", outcome.ended);
    assert_eq!(world.condition("gauss-peu01", ConditionType::Applied), "False ClusterTerminating");
    assert_eq!(world.live.take_writes(), [""; 0]);
    world.live.remove("Cluster", "peu01");
    *world.bot.elsewhere.lock().unwrap() = Some("mc-us".to_owned());
    let outcome = world.reconcile("gauss/peu01").await;
    assert!(matches!(outcome.ended, ReconcileEnd::Refused(_)), "{:?}", outcome.ended);
    assert_eq!(world.live.take_writes(), [""; 0]);
    *world.bot.elsewhere.lock().unwrap() = None;
    round(&world).await;
    assert_eq!(world.live.names("Cluster"), ["peu01"]);
    assert_eq!(world.condition("gauss-peu01", ConditionType::Ready), "True Done");
}
