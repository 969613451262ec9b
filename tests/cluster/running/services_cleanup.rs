//! A cluster that goes: what it leaves in its cloud is listed, and deleted first where its settings say so.

use std::sync::Arc;

use capstan_live::services::CleanupState;
use capstan_ports::KindScope;
use capstan_reconciler::reconcile::ReconcileEnd;
use serde_json::{Value, json};

use super::fake::FakeCluster;
use super::services::{come_up, with_services};
use super::world::World;

/// A cluster with a load balancer, a volume that is deleted with its claim, one that is retained, and a Service without
/// a cloud resource.
async fn town() -> (World, Arc<FakeCluster>) {
    let world = World::new();
    with_services(&world, "peu01");
    world.reconcile("gauss/peu01").await;
    let workload = come_up(&world, "peu01");
    workload.serve(&[
        ("", "Service", KindScope::Namespaced),
        ("", "PersistentVolumeClaim", KindScope::Namespaced),
        ("", "PersistentVolume", KindScope::Cluster),
    ]);
    world.reconcile("gauss/peu01").await;
    workload.put(
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "default"},
        "spec": {"type": "LoadBalancer"}, "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.7"}]}}}),
    );
    workload.put(
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "inner", "namespace": "default"},
        "spec": {"type": "ClusterIP"}}),
    );
    for (name, policy) in [("data", "Delete"), ("kept", "Retain")] {
        workload.put(json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": "default"}, "spec": {"volumeName": format!("pv-{name}")}}));
        let claim = workload.object("PersistentVolumeClaim", name).unwrap();
        workload.put(
            json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": format!("pv-{name}")},
            "spec": {"persistentVolumeReclaimPolicy": policy, "csi": {"volumeHandle": format!("vol-{name}")},
                "claimRef": {"namespace": "default", "name": name, "uid": claim["metadata"]["uid"]}}}),
        );
    }
    workload.take_writes();
    world.live.take_writes();
    (world, workload)
}

fn waits(ended: &ReconcileEnd) -> Vec<String> {
    let ReconcileEnd::Waiting(reasons) = ended else { unreachable!("{ended:?}") };
    reasons.iter().map(|reason| format!("{}: {}", reason.kind, reason.message)).collect()
}

/// Messages on resources that stay in the cloud: from `refused` while the cluster is deleted, from `kept` afterwards.
fn outlives(world: &World) -> Vec<String> {
    let status = world.status("gauss-peu01");
    let told = status.refused.into_iter().chain(status.kept).map(|place| place.message);
    told.filter(|message| message.contains("stays in the cloud")).collect()
}

#[tokio::test]
async fn what_outlives_a_cluster_is_deleted_before_it_and_nothing_else_is() {
    let (world, workload) = town().await;
    world.write("gauss/peu01/capstan.yaml", "delete: cluster\ncleanup: true\n");
    let outcome = world.reconcile("gauss/peu01").await;
    assert_eq!(
        waits(&outcome.ended),
        [
            "CleansUp: PersistentVolumeClaim default/data (volume vol-data): it is deleted before the Cluster is",
            "CleansUp: Service default/web (load balancer 192.0.2.7): it is deleted before the Cluster is",
        ]
    );
    assert!(outcome.again);
    assert_eq!(
        workload.take_writes(),
        ["delete PersistentVolumeClaim default/data", "delete Service default/web"]
    );
    assert_eq!(world.live.take_writes(), [""; 0]);

    // The storage driver takes the volume away in its own time.
    let outcome = world.reconcile("gauss/peu01").await;
    let volume = "CleansUp: PersistentVolume pv-data (volume vol-data): it is deleted before the Cluster is";
    assert_eq!(waits(&outcome.ended), [volume]);
    assert_eq!((workload.take_writes(), world.live.take_writes()), (Vec::new(), Vec::new()));
    workload.remove("PersistentVolume", "pv-data");
    world.reconcile("gauss/peu01").await;
    assert_eq!(world.live.take_writes(), ["delete Cluster org/peu01"]);
    assert_eq!(world.status("gauss-peu01").cleanup.unwrap().state, CleanupState::Done);
    assert!(workload.object("PersistentVolumeClaim", "kept").is_some());
    assert!(
        workload.object("Service", "inner").is_some() && workload.object("DaemonSet", "cilium").is_some()
    );
    for _ in 0..6 {
        world.reconcile("gauss/peu01").await;
    }
    assert!(world.status("gauss-peu01").inventory.objects().is_empty());
    assert_eq!((workload.take_writes(), outlives(&world)), (Vec::new(), Vec::new()));
}

#[tokio::test]
async fn what_remains_after_ten_minutes_is_reported_and_the_cluster_is_deleted() {
    let (world, workload) = town().await;
    workload.state().refuses_deletion = Some("web".to_owned());
    world.write("gauss/peu01/capstan.yaml", "delete: cluster\ncleanup: true\n");
    world.reconcile("gauss/peu01").await;
    workload.remove("PersistentVolume", "pv-data");
    world.pass_time(590);
    world.reconcile("gauss/peu01").await;
    assert_eq!(world.live.take_writes(), [""; 0]);
    world.pass_time(10);
    let left = "Service default/web (load balancer 192.0.2.7): it was not deleted within 10 minutes and stays in the cloud: delete it there";
    for _ in 0..7 {
        world.reconcile("gauss/peu01").await;
        assert_eq!(outlives(&world), [left]);
    }
    assert_eq!(world.live.take_writes()[0], "delete Cluster org/peu01");
    assert!(world.status("gauss-peu01").inventory.objects().is_empty());
}

#[tokio::test]
async fn a_claim_that_a_pod_uses_is_reported_with_the_pod() {
    let (world, workload) = town().await;
    world.write("gauss/peu01/capstan.yaml", "delete: cluster\ncleanup: true\n");
    let user = |name: &str, phase: &str| {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"},
            "spec": {"volumes": [{"name": "a", "persistentVolumeClaim": {"claimName": "data"}}]}, "status": {"phase": phase}})
    };
    workload.put(user("backup-1", "Succeeded"));
    workload.put(user("db-0", "Running"));
    // As long as one does it is only marked.
    workload.change("PersistentVolumeClaim", "data", |claim| {
        claim["metadata"]["deletionTimestamp"] = json!("2027-01-15T08:00:00Z");
    });
    let outcome = world.reconcile("gauss/peu01").await;
    assert_eq!(
        waits(&outcome.ended)[0],
        "CleansUp: PersistentVolumeClaim default/data (volume vol-data), which the pod default/db-0 uses: it is deleted before the Cluster is"
    );
    assert_eq!(workload.take_writes(), ["delete Service default/web"]);
}

#[tokio::test]
async fn without_a_wish_it_is_listed_and_nothing_is_deleted_inside() {
    let (world, workload) = town().await;
    world.write("gauss/peu01/capstan.yaml", "delete: cluster\n");
    world.reconcile("gauss/peu01").await;
    assert_eq!(world.live.take_writes(), ["delete Cluster org/peu01"]);
    let stays = "it stays in the cloud: delete it there. `cleanup: true` would have deleted it first";
    assert_eq!(
        outlives(&world),
        [
            format!("PersistentVolumeClaim default/data (volume vol-data): {stays}"),
            format!("Service default/web (load balancer 192.0.2.7): {stays}"),
        ]
    );
    assert_eq!(workload.take_writes(), [""; 0]);
}

#[tokio::test]
async fn a_cluster_that_nobody_can_look_into_is_waited_for_ten_minutes_at_most() {
    let (world, workload) = town().await;
    world.live.remove("Secret", "peu01-kubeconfig");
    world.write("gauss/peu01/capstan.yaml", "delete: cluster\ncleanup: true\n");
    let outcome = world.reconcile("gauss/peu01").await;
    let told = waits(&outcome.ended);
    assert!(told[0].starts_with("OutlivingUnknown: it is unknown which load balancers"), "{told:?}");
    world.pass_time(600);
    world.reconcile("gauss/peu01").await;
    assert_eq!(world.live.take_writes(), ["delete Cluster org/peu01"]);
    assert_eq!(world.status("gauss-peu01").cleanup.unwrap().state, CleanupState::GivenUp);
    assert_eq!(workload.take_writes(), [""; 0]);
}

#[tokio::test]
async fn a_cluster_that_somebody_deletes_meanwhile_is_waited_for_no_longer() {
    let (world, workload) = town().await;
    workload.state().refuses_deletion = Some("web".to_owned());
    world.write("gauss/peu01/capstan.yaml", "delete: cluster\ncleanup: true\n");
    world.reconcile("gauss/peu01").await;
    world.live.remove("Cluster", "peu01");
    for _ in 0..7 {
        world.reconcile("gauss/peu01").await;
    }
    let status = world.status("gauss-peu01");
    assert!(status.inventory.objects().is_empty(), "{:?}", status.inventory);
    assert_eq!(status.cleanup.unwrap().state, CleanupState::GivenUp);
    assert_eq!(outlives(&world).len(), 2, "{:?}", outlives(&world));
}

/// Another folder brings it from now on.
fn move_to_another_folder(world: &World) {
    let files = world.files.lock().unwrap().clone();
    for (path, text) in files {
        if let Some(rest) = path.strip_prefix("gauss/peu01/base/") {
            world.write(&format!("gauss/moved/base/{rest}"), &text);
        }
    }
}

/// Its settings say that it goes, and another folder has it: it stays, and so does what is inside.
#[tokio::test]
async fn what_is_inside_of_a_cluster_that_another_folder_has_stays() {
    let (world, workload) = town().await;
    move_to_another_folder(&world);
    world.write("gauss/peu01/capstan.yaml", "delete: cluster\ncleanup: true\n");
    for _ in 0..4 {
        world.reconcile("gauss/peu01").await;
        world.reconcile("gauss/moved").await;
    }
    assert!(world.live.object("Cluster", "peu01").is_some());
    assert_eq!(workload.take_writes(), [""; 0]);
}

/// Nobody is asked to delete in the cloud what a cluster needs that lives on.
#[tokio::test]
async fn a_cluster_that_is_kept_after_all_is_not_reported_as_leaving_something() {
    let (world, workload) = town().await;
    workload.state().refuses_deletion = Some("web".to_owned());
    world.write("gauss/peu01/capstan.yaml", "delete: cluster\ncleanup: true\n");
    world.reconcile("gauss/peu01").await;
    assert_eq!(world.status("gauss-peu01").cleanup.unwrap().state, CleanupState::Deleting);
    move_to_another_folder(&world);
    world.reconcile("gauss/peu01").await;
    assert!(world.live.object("Cluster", "peu01").is_some());
    assert_eq!((world.status("gauss-peu01").cleanup, outlives(&world)), (None, Vec::new()));
}

#[tokio::test]
async fn a_later_request_for_cleanup_is_honoured() {
    let (world, workload) = town().await;
    world.live.state().refuses_deletion = Some("peu01".to_owned());
    world.write("gauss/peu01/capstan.yaml", "delete: cluster\n");
    world.reconcile("gauss/peu01").await;
    assert_eq!(workload.take_writes(), [""; 0]);
    world.write("gauss/peu01/capstan.yaml", "delete: cluster\ncleanup: true\n");
    world.reconcile("gauss/peu01").await;
    assert_eq!(
        workload.take_writes(),
        ["delete PersistentVolumeClaim default/data", "delete Service default/web"]
    );
}

/// After a crash at any write, the next process completes the cleanup.
#[tokio::test]
async fn killed_at_any_write_a_cleanup_ends_the_same() {
    let there = |workload: &FakeCluster| -> Vec<Value> {
        let kinds = ["Service", "PersistentVolumeClaim", "PersistentVolume"];
        let names = kinds.map(|kind| json!(workload.names(kind)));
        names.to_vec()
    };
    for dies_after in 0..3 {
        let (world, workload) = town().await;
        world.write("gauss/peu01/capstan.yaml", "delete: cluster\ncleanup: true\n");
        workload.state().dies_after = Some(dies_after);
        world.reconcile("gauss/peu01").await;
        workload.state().dies_after = None;
        // The one that died took it for a cluster that does not answer, which is left alone for a moment.
        world.pass_time(15);
        world.reconcile("gauss/peu01").await;
        workload.remove("PersistentVolume", "pv-data");
        for _ in 0..8 {
            world.reconcile("gauss/peu01").await;
        }
        assert_eq!(there(&workload), [json!(["inner"]), json!(["kept"]), json!(["pv-kept"])], "{dies_after}");
        assert!(world.live.object("Cluster", "peu01").is_none(), "{dies_after}");
    }
}
