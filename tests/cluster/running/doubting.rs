//! A tree that was kept on disk, while it is unknown whether it is the newest.

use capstan_live::kept_tree::TreeOrigin;
use capstan_reconciler::reconcile::resources::ConditionType;
use capstan_reconciler::reconcile::{Interruption, ReconcileEnd};
use serde_json::json;

use super::applying::plain;
use super::world::World;

fn keep(world: &World, standing: TreeOrigin) {
    *world.standing.lock().unwrap() = standing;
}

#[tokio::test]
async fn a_kept_tree_repairs_what_it_was_the_last_to_be_applied_to_and_deletes_nothing() {
    let world = World::new();
    plain(&world, "peu01");
    world.write(
        "gauss/peu01/base/more.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\ndata: {key: \"1\"}\n",
    );
    world.reconcile("gauss/peu01").await;
    world.remove("gauss/peu01/base/more.yaml");
    world.live.state().refuses_deletion = Some("more".to_owned());
    world.reconcile("gauss/peu01").await;
    world.live.state().refuses_deletion = None;
    world.live.take_writes();

    keep(&world, TreeOrigin::Kept);
    world.live.change("ConfigMap", "peu01-b", |object| object["data"]["key"] = json!("by hand"));
    world.reconcile("gauss/peu01").await;
    assert_eq!(world.live.take_writes(), ["apply ConfigMap org/peu01-b"]);
    let status = world.status("gauss-peu01");
    assert_eq!((status.kept.len(), status.kept[0].reason.as_str()), (1, "KeptUntilConfirmed"));
    assert_eq!(status.inventory.objects().len(), 4, "nothing is forgotten either");

    keep(&world, TreeOrigin::Confirmed);
    world.reconcile("gauss/peu01").await;
    assert_eq!(world.live.take_writes(), ["delete ConfigMap org/more"]);
}

#[tokio::test]
async fn a_kept_tree_does_nothing_to_a_cluster_of_which_other_content_was_tried() {
    let world = World::new();
    plain(&world, "peu01");
    let kept = world.revision().await;
    world.write(
        "gauss/peu01/base/more.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\ndata: {key: \"1\"}\n",
    );
    world.reconcile("gauss/peu01").await;
    let (status, _) = (world.status("gauss-peu01"), world.live.take_writes());

    keep(&world, TreeOrigin::Kept);
    world.live.change("ConfigMap", "peu01-b", |object| object["data"]["key"] = json!("by hand"));
    let outcome = world.reconcile_at(&kept, "gauss/peu01").await;
    assert!(
        matches!(outcome.ended, ReconcileEnd::Interrupted(Interruption::Unconfirmed)),
        "{:?}",
        outcome.ended
    );
    assert_eq!(world.live.take_writes(), [""; 0]);
    assert_eq!(world.status("gauss-peu01"), status);
}

#[tokio::test]
async fn a_kept_tree_deletes_no_cluster() {
    let world = World::new();
    plain(&world, "peu01");
    world.reconcile("gauss/peu01").await;
    world.write("gauss/peu01/capstan.yaml", "delete: cluster\n");
    world.over.lock().unwrap().replace((0, Interruption::Stopping));
    world.reconcile("gauss/peu01").await;
    world.over.lock().unwrap().take();
    world.live.take_writes();
    // That commit was the last one that anything was tried from.
    let commit = world.commit();
    {
        let mut posted = world.status_store.posted();
        posted.clusters.get_mut("gauss-peu01").unwrap().status.attempted_commit = Some(commit);
    }

    keep(&world, TreeOrigin::Kept);
    let outcome = world.reconcile("gauss/peu01").await;
    assert!(
        matches!(outcome.ended, ReconcileEnd::Interrupted(Interruption::Unconfirmed)),
        "{:?}",
        outcome.ended
    );
    assert_eq!(world.live.take_writes(), [""; 0]);
    assert_eq!(world.condition("gauss-peu01", ConditionType::Ready), "True Done");

    keep(&world, TreeOrigin::Confirmed);
    world.reconcile("gauss/peu01").await;
    assert_eq!(world.live.take_writes(), ["delete Cluster org/peu01"]);
}
