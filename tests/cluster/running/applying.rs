//! What a turn applies, and what it leaves alone.

use capstan_reconciler::reconcile::resources::ConditionType;
use capstan_reconciler::reconcile::{Interruption, ReconcileEnd};
use serde_json::json;

use super::world::World;

/// A `Cluster` with two ConfigMaps beside it; no machines.
pub(crate) fn plain(world: &World, name: &str) {
    world.write(
        &format!("gauss/{name}/base/cluster.yaml"),
        &format!(
            "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata:\n  name: {name}\n  namespace: org\nspec:\n  paused: false\n"
        ),
    );
    world.write(
        &format!("gauss/{name}/base/maps.yaml"),
        &format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}-a\ndata:\n  key: \"1\"\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}-b\ndata:\n  key: \"1\"\n"
        ),
    );
}

#[tokio::test]
async fn a_folder_is_applied_once_and_then_costs_nothing() {
    let world = World::new();
    plain(&world, "peu01");
    let outcome = world.reconcile("gauss/peu01").await;
    assert!(matches!(outcome.ended, ReconcileEnd::Applied), "{:?}", outcome.ended);
    assert_eq!(
        sorted(world.live.take_writes()),
        ["apply Cluster org/peu01", "apply ConfigMap org/peu01-a", "apply ConfigMap org/peu01-b"]
    );
    let status = world.status("gauss-peu01");
    assert_eq!(status.applied_commit.as_deref(), Some(world.commit().as_str()));
    assert_eq!(status.inventory.objects().len(), 3);
    assert!(status.inventory.objects().iter().all(|object| object.uid.is_some()));
    assert_eq!(world.condition("gauss-peu01", ConditionType::Ready), "True Done");

    let writes = world.status_store.posted().writes;
    for _ in 0..3 {
        world.pass_time(300);
        world.reconcile("gauss/peu01").await;
    }
    assert_eq!(world.live.take_writes(), Vec::<String>::new());
    assert_eq!(world.status_store.posted().writes, writes);
    assert_eq!(world.bot.reports.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_commit_that_says_nothing_of_a_cluster_costs_it_nothing() {
    let world = World::new();
    plain(&world, "peu01");
    world.reconcile("gauss/peu01").await;
    world.live.take_writes();
    let (writes, first) = (world.status_store.posted().writes, world.commit());
    world.empty_commit();
    world.reconcile("gauss/peu01").await;
    assert_eq!(world.status_store.posted().writes, writes);
    assert_eq!(world.status("gauss-peu01").applied_commit.as_deref(), Some(first.as_str()));

    // A comment changes nothing that is applied, but people look for the commit that they merged.
    let path = "gauss/peu01/base/maps.yaml";
    let text = world.files.lock().unwrap()[path].clone();
    world.write(path, &format!("# a comment\n{text}"));
    world.reconcile("gauss/peu01").await;
    assert_eq!(world.live.take_writes(), Vec::<String>::new());
    assert_eq!(world.status("gauss-peu01").applied_commit.as_deref(), Some(world.commit().as_str()));
    assert_eq!(world.bot.reports.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn drift_is_repaired_with_one_write() {
    let world = World::new();
    plain(&world, "peu01");
    world.reconcile("gauss/peu01").await;
    world.live.take_writes();
    world.live.change("ConfigMap", "peu01-b", |object| object["data"]["key"] = json!("by hand"));
    world.reconcile("gauss/peu01").await;
    assert_eq!(world.live.take_writes(), ["apply ConfigMap org/peu01-b"]);
    assert_eq!(world.live.object("ConfigMap", "peu01-b").unwrap()["data"]["key"], "1");

    world.live.remove("ConfigMap", "peu01-a");
    world.reconcile("gauss/peu01").await;
    assert_eq!(world.live.take_writes(), ["apply ConfigMap org/peu01-a"]);
}

#[tokio::test]
async fn a_field_that_git_drops_goes() {
    let world = World::new();
    plain(&world, "peu01");
    world.write(
        "gauss/peu01/base/more.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: more\ndata:\n  one: \"1\"\n  two: \"2\"\n",
    );
    world.reconcile("gauss/peu01").await;
    world.write(
        "gauss/peu01/base/more.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: more\ndata:\n  one: \"1\"\n",
    );
    world.reconcile("gauss/peu01").await;
    assert_eq!(world.live.object("ConfigMap", "more").unwrap()["data"], json!({"one": "1"}));
}

#[tokio::test]
async fn of_a_folder_that_reaches_out_nothing_is_applied() {
    let world = World::new();
    plain(&world, "peu01");
    world.write(
        "gauss/peu01/overlay/root.yaml",
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata:\n  name: root\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}\n",
    );
    let outcome = world.reconcile("gauss/peu01").await;
    assert!(matches!(outcome.ended, ReconcileEnd::Refused(_)), "{:?}", outcome.ended);
    assert_eq!(world.live.take_writes(), Vec::<String>::new());
    let refused = &world.status("gauss-peu01").refused[0];
    assert_eq!(refused.reason, "OutsideBoundary");
    assert_eq!(refused.object.as_deref(), Some("ClusterRoleBinding root"));
    assert_eq!((refused.file.as_deref(), refused.line), (Some("gauss/peu01/overlay/root.yaml"), Some(1)));
    assert_eq!(world.condition("gauss-peu01", ConditionType::Refused), "True OutsideBoundary");
    assert_eq!(world.condition("gauss-peu01", ConditionType::Ready), "False Refused");

    // The same again is said once.
    let writes = world.status_store.posted().writes;
    world.reconcile("gauss/peu01").await;
    assert_eq!(world.status_store.posted().writes, writes);
    world.remove("gauss/peu01/overlay/root.yaml");
    world.reconcile("gauss/peu01").await;
    assert_eq!(world.condition("gauss-peu01", ConditionType::Refused), "False Accepted");
    assert_eq!(world.condition("gauss-peu01", ConditionType::Ready), "True Done");
    assert!(world.status("gauss-peu01").refused.is_empty());
}

#[tokio::test]
async fn one_object_that_is_rejected_keeps_all_the_others_out() {
    let world = World::new();
    plain(&world, "peu01");
    plain(&world, "peu02");
    world.live.webhook(|_, object| {
        let is_it = object["metadata"]["name"] == "peu01-b" && object["data"]["key"] == "1";
        is_it.then(|| {
            (422, "admission webhook \"v.example.com\" denied the request: data.key: Invalid value: {\"secret\": \"s3cret\"}: no".to_owned())
        })
    });
    let outcome = world.reconcile("gauss/peu01").await;
    assert!(matches!(outcome.ended, ReconcileEnd::Refused(_)), "{:?}", outcome.ended);
    assert_eq!(world.live.take_writes(), Vec::<String>::new());
    let refused = &world.status("gauss-peu01").refused[0];
    assert_eq!(refused.object.as_deref(), Some("ConfigMap org/peu01-b"));
    assert_eq!(refused.field.as_deref(), Some("/data/key"));
    assert_eq!((refused.file.as_deref(), refused.line), (Some("gauss/peu01/base/maps.yaml"), Some(13)));
    assert!(!refused.message.contains("s3cret"), "{}", refused.message);

    // The next cluster does not care.
    let outcome = world.reconcile("gauss/peu02").await;
    assert!(matches!(outcome.ended, ReconcileEnd::Applied), "{:?}", outcome.ended);
}

#[tokio::test]
async fn a_namespace_that_comes_with_the_folder_is_understood() {
    let world = World::new();
    world.write(
        "gauss/peu01/base/all.yaml",
        "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: fresh\n---\napiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata:\n  name: peu01\n  namespace: fresh\nspec: {}\n",
    );
    let outcome = world.reconcile("gauss/peu01").await;
    // Whatever the boundary says of namespaces: never half of it.
    match outcome.ended {
        ReconcileEnd::Applied => assert_eq!(world.live.names("Cluster"), ["peu01"]),
        ReconcileEnd::Refused(_) => assert_eq!(world.live.take_writes(), Vec::<String>::new()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_kind_that_nobody_serves_is_said_with_its_place() {
    let world = World::new();
    plain(&world, "peu01");
    world.write(
        "gauss/peu01/base/odd.yaml",
        "apiVersion: example.com/v1\nkind: Oddity\nmetadata:\n  name: odd\n",
    );
    let outcome = world.reconcile("gauss/peu01").await;
    assert!(matches!(outcome.ended, ReconcileEnd::Refused(_)), "{:?}", outcome.ended);
    assert_eq!(world.live.take_writes(), Vec::<String>::new());
    let refused = &world.status("gauss-peu01").refused[0];
    assert_eq!(
        (refused.reason.as_str(), refused.file.as_deref()),
        ("MissingKind", Some("gauss/peu01/base/odd.yaml"))
    );
}

#[tokio::test]
async fn a_suspended_cluster_is_left_alone() {
    let world = World::new();
    plain(&world, "peu01");
    world.reconcile("gauss/peu01").await;
    world.live.take_writes();
    world.status_store.posted().clusters.get_mut("gauss-peu01").unwrap().spec.suspend = true;
    world.live.change("ConfigMap", "peu01-b", |object| object["data"]["key"] = json!("by hand"));
    let outcome = world.reconcile("gauss/peu01").await;
    assert!(matches!(outcome.ended, ReconcileEnd::Suspended), "{:?}", outcome.ended);
    assert_eq!(world.live.take_writes(), Vec::<String>::new());
    assert_eq!(world.condition("gauss-peu01", ConditionType::Ready), "False Suspended");
}

#[tokio::test]
async fn a_cluster_that_another_management_cluster_has_reported_is_not_made_here() {
    let world = World::new();
    plain(&world, "peu01");
    *world.bot.elsewhere.lock().unwrap() = Some("mc-us".to_owned());
    let outcome = world.reconcile("gauss/peu01").await;
    assert!(matches!(outcome.ended, ReconcileEnd::Refused(_)), "{:?}", outcome.ended);
    assert_eq!(world.live.take_writes(), Vec::<String>::new());
    assert_eq!(world.status("gauss-peu01").refused[0].reason, "RecordedElsewhere");

    // While the bot does not answer, nothing is written.
    *world.bot.is_away.lock().unwrap() = true;
    let outcome = world.reconcile("gauss/peu01").await;
    assert!(matches!(outcome.ended, ReconcileEnd::Failed(_)), "{:?}", outcome.ended);
    assert_eq!(world.live.take_writes(), Vec::<String>::new());
}

#[tokio::test]
async fn a_turn_that_is_superseded_before_it_begins_to_write_writes_nothing() {
    let world = World::new();
    plain(&world, "peu01");
    *world.over.lock().unwrap() = Some((0, Interruption::Superseded));
    let outcome = world.reconcile("gauss/peu01").await;
    assert!(
        matches!(outcome.ended, ReconcileEnd::Interrupted(Interruption::Superseded)),
        "{:?}",
        outcome.ended
    );
    assert_eq!(world.live.take_writes(), Vec::<String>::new());
    *world.over.lock().unwrap() = None;
    let outcome = world.reconcile("gauss/peu01").await;
    assert!(matches!(outcome.ended, ReconcileEnd::Applied), "{:?}", outcome.ended);
}

#[tokio::test]
async fn a_folder_claimed_twice_is_refused() {
    let world = World::new();
    plain(&world, "peu01");
    world.write(
        ".capstan.yaml",
        "managementClusters:\n- {name: mc-eu, uid: 6f1c0000-0000-4000-8000-000000000001, clusters: [\"gauss/*\"]}\n- {name: mc-us, uid: 6f1c0000-0000-4000-8000-000000000002, clusters: [\"*/peu01\"]}\n",
    );
    let outcome = world.reconcile("gauss/peu01").await;
    assert!(matches!(outcome.ended, ReconcileEnd::Refused(_)), "{:?}", outcome.ended);
    assert_eq!(world.status("gauss-peu01").refused[0].reason, "ClaimedTwice");
    assert_eq!(world.live.take_writes(), Vec::<String>::new());
}

#[tokio::test]
async fn what_a_folder_has_applied_that_is_claimed_twice_is_taken_by_no_other() {
    let world = World::new();
    plain(&world, "peu01");
    plain(&world, "peu02");
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: shared\ndata: {one: \"1\"}\n";
    world.write("gauss/peu01/base/more.yaml", map);
    world.reconcile("gauss/peu01").await;
    world.reconcile("gauss/peu02").await;
    world.live.take_writes();
    // Nobody says what the folder still wants while two claim it.
    world.write(
        ".capstan.yaml",
        "managementClusters:\n- {name: mc-eu, uid: 6f1c0000-0000-4000-8000-000000000001, clusters: [\"gauss/*\"]}\n- {name: mc-us, uid: 6f1c0000-0000-4000-8000-000000000002, clusters: [\"*/peu01\"]}\n",
    );
    world.write("gauss/peu02/base/more.yaml", map);
    let outcome = world.reconcile("gauss/peu02").await;
    assert!(matches!(outcome.ended, ReconcileEnd::Refused(_)), "{:?}", outcome.ended);
    assert_eq!(world.live.take_writes(), Vec::<String>::new());
}

pub(crate) fn sorted(mut texts: Vec<String>) -> Vec<String> {
    texts.sort();
    texts
}

#[tokio::test]
async fn a_fleet_at_rest_asks_for_no_dry_runs_but_once_an_hour() {
    let world = World::new();
    plain(&world, "peu01");
    world.reconcile("gauss/peu01").await;
    world.reconcile("gauss/peu01").await;
    world.live.state().log.clear();
    world.reconcile("gauss/peu01").await;
    assert_eq!(world.live.state().log.len(), 0);

    // Whatever changes is tried again, and only that.
    world.live.change("ConfigMap", "peu01-b", |object| object["data"]["key"] = json!("by hand"));
    world.reconcile("gauss/peu01").await;
    let tried: Vec<String> = world.live.state().log.iter().map(|request| request.object.clone()).collect();
    assert_eq!(tried, ["ConfigMap org/peu01-b", "ConfigMap org/peu01-b"]);

    world.reconcile("gauss/peu01").await;
    world.live.state().log.clear();
    world.pass_time(3700);
    world.reconcile("gauss/peu01").await;
    assert_eq!(world.live.state().log.len(), 3);
}
