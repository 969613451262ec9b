//! Which objects are deleted once Git no longer names them, and which are not.

use capstan_reconciler::reconcile::ReconcileEnd;
use capstan_reconciler::reconcile::resources::ConditionType;
use serde_json::json;

use super::adopting::with_machines;
use super::applying::plain;
use super::rows::{self, Change, Row};
use super::world::{UID, World};

/// Reconciles every cluster once, and reports those that this management cluster no longer claims.
pub(crate) async fn round(world: &World) {
    let revision = world.revision().await;
    for id in revision.clusters() {
        world.reconcile_at(&revision, id.as_str()).await;
    }
    world.try_say_unclaimed(&revision).await.unwrap();
}

/// The second commit of a row.
pub(crate) fn change(world: &World, row: &Row) {
    let below = |path: &str| format!("{}/{}", rows::CUSTOMER, row.fill(path));
    for change in row.after {
        match change {
            Change::Write(path, text) => world.write(&below(path), &row.fill(text)),
            Change::Remove(path) => world.remove(&below(path)),
            Change::Move(to) => world.rename(&below("NAME/"), &format!("{}/", below(to))),
            Change::ClaimedTwice | Change::ClaimedElsewhere => {
                let folders = [(below("NAME"), row.claim())];
                world.write(".capstan.yaml", &rows::settings(UID, &folders));
            }
            Change::Bytes(..) | Change::Link(..) => unreachable!("no text"),
        }
    }
}

#[tokio::test]
async fn what_git_does_to_a_folder_deletes_what_it_should_and_nothing_else() {
    let mut wrong = Vec::new();
    for row in rows::ALL.iter().filter(|row| row.is_text()) {
        let world = World::new();
        world
            .live
            .put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": rows::CUSTOMER}}));
        row.files().iter().for_each(|(path, text)| world.write(path, text));
        round(&world).await;
        let name = format!("{}-{}", rows::CUSTOMER, row.name);
        assert_eq!(
            rows::ready_and_reasons(&world.status(&name)),
            ("True Done".to_owned(), vec![]),
            "{}",
            row.name
        );
        world.live.take_writes();
        change(&world, row);
        for _ in 0..3 {
            round(&world).await;
        }
        let status = world.status_store.posted().clusters.get(&name).map(|record| record.status.clone());
        wrong.extend(row.wrong(status.as_ref()));
        let goes = row.goes.iter().map(|goes| row.fill(goes).replace(' ', " gauss/"));
        let gone: Vec<String> = goes.map(|goes| format!("delete {goes}")).collect();
        assert_eq!(deletions(&world), gone, "{}", row.name);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn deletions(world: &World) -> Vec<String> {
    world.live.take_writes().into_iter().filter(|write| write.starts_with("delete")).collect()
}

#[tokio::test]
async fn what_needs_a_tombstone_stays_and_is_named_until_it_has_one() {
    let world = World::new();
    plain(&world, "peu01");
    world.write(
        "gauss/peu01/base/md.yaml",
        "apiVersion: cluster.x-k8s.io/v1beta2\nkind: MachineDeployment\nmetadata:\n  name: md-0\nspec:\n  clusterName: peu01\n  replicas: 0\n  template: {spec: {clusterName: peu01}}\n",
    );
    world.reconcile("gauss/peu01").await;
    world.remove("gauss/peu01/base/md.yaml");
    world.reconcile("gauss/peu01").await;
    assert_eq!(deletions(&world), Vec::<String>::new());
    let kept = &world.status("gauss-peu01").kept;
    assert_eq!((kept.len(), kept[0].reason.as_str()), (1, "KeptUntilAsked"));
    assert_eq!(kept[0].object.as_deref(), Some("MachineDeployment org/md-0"));

    world.write("gauss/peu01/capstan.yaml", "delete:\n- {kind: MachineDeployment, name: md-0}\n");
    world.reconcile("gauss/peu01").await;
    assert_eq!(deletions(&world), ["delete MachineDeployment org/md-0"]);
    assert!(world.status("gauss-peu01").kept.is_empty());
}

#[tokio::test]
async fn a_webhook_that_refuses_a_deletion_is_asked_again() {
    let world = World::new();
    plain(&world, "peu01");
    world.write(
        "gauss/peu01/base/more.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: more\ndata: {one: \"1\"}\n",
    );
    world.reconcile("gauss/peu01").await;
    world.remove("gauss/peu01/base/more.yaml");
    world.live.state().refuses_deletion = Some("more".to_owned());
    let outcome = world.reconcile("gauss/peu01").await;
    assert!(outcome.again);
    assert_eq!(world.status("gauss-peu01").inventory.objects().len(), 4);
    let kept = &world.status("gauss-peu01").kept[0];
    assert_eq!(kept.object.as_deref(), Some("ConfigMap org/more"));
    assert!(kept.message.contains("in use"), "{}", kept.message);
    world.live.state().refuses_deletion = None;
    world.reconcile("gauss/peu01").await;
    assert_eq!(world.status("gauss-peu01").inventory.objects().len(), 3);
    assert_eq!(world.live.names("ConfigMap").len(), 2);
}

#[tokio::test]
async fn an_object_that_somebody_recreated_is_not_deleted() {
    let world = World::new();
    plain(&world, "peu01");
    world.write(
        "gauss/peu01/base/more.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: more\ndata: {one: \"1\"}\n",
    );
    world.reconcile("gauss/peu01").await;
    world.remove("gauss/peu01/base/more.yaml");
    world.live.remove("ConfigMap", "more");
    world.live.put(
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "more", "namespace": "org"}}),
    );
    world.live.take_writes();
    world.reconcile("gauss/peu01").await;
    assert_eq!(deletions(&world), Vec::<String>::new());
    assert_eq!(world.status("gauss-peu01").inventory.objects().len(), 3);
}

#[tokio::test]
async fn a_cluster_with_a_tombstone_goes_first_and_its_parts_after_it() {
    let world = World::new();
    with_machines(&world, "v1.34.3", "one");
    world.reconcile("gauss/peu01").await;
    world.live.take_writes();
    world.write("gauss/peu01/capstan.yaml", "delete: cluster\n");
    let outcome = world.reconcile("gauss/peu01").await;
    assert!(matches!(outcome.ended, ReconcileEnd::Waiting(_)), "{:?}", outcome.ended);
    assert_eq!(world.live.take_writes(), ["delete Cluster org/peu01"]);
    let mut last = None;
    for _ in 0..6 {
        last = Some(world.reconcile("gauss/peu01").await);
    }
    assert!(matches!(last.unwrap().ended, ReconcileEnd::Removed));
    assert!(world.status("gauss-peu01").inventory.objects().is_empty());
    assert_eq!(
        world.live.names("KubeadmControlPlane").len() + world.live.names("DevMachineTemplate").len(),
        0
    );
    assert_eq!(world.condition("gauss-peu01", ConditionType::Ready), "True Removed");
    let writes = world.status_store.posted().writes;
    world.live.take_writes();
    world.reconcile("gauss/peu01").await;
    assert_eq!((world.live.take_writes(), world.status_store.posted().writes), (Vec::new(), writes));
}

#[tokio::test]
async fn replicas_that_git_lets_go_do_not_fall() {
    let world = World::new();
    plain(&world, "peu01");
    let workers = |replicas: &str| {
        format!(
            "apiVersion: cluster.x-k8s.io/v1beta2\nkind: MachineDeployment\nmetadata:\n  name: md-0\nspec:\n  clusterName: peu01\n{replicas}  template: {{spec: {{clusterName: peu01}}}}\n"
        )
    };
    world.live.default_by(|object| {
        if object["kind"] == "MachineDeployment" && object["spec"].get("replicas").is_none() {
            object["spec"]["replicas"] = json!(1);
        }
    });
    world.write("gauss/peu01/base/md.yaml", &workers("  replicas: 5\n"));
    world.reconcile("gauss/peu01").await;
    world.live.take_writes();
    world.write("gauss/peu01/base/md.yaml", &workers(""));
    let outcome = world.reconcile("gauss/peu01").await;
    assert!(matches!(outcome.ended, ReconcileEnd::Applied), "{:?}", outcome.ended);
    assert_eq!(world.live.object("MachineDeployment", "md-0").unwrap()["spec"]["replicas"], 5);
    world.live.take_writes();
    world.reconcile("gauss/peu01").await;
    assert_eq!(world.live.take_writes(), Vec::<String>::new());
}
