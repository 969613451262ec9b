//! A process that no longer leads, and a process whose objects another one has written meanwhile.

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};

use async_trait::async_trait;
use capstan_model::object::ObjectId;
use capstan_ports::{As, Contested, Fence, LiveError, ManagementCluster as _, Run};
use capstan_reconciler::gate::Gate;
use capstan_reconciler::reconcile::ReconcileEnd;
use capstan_reconciler::reconcile::ports::ClusterRecord;
use capstan_reconciler::reconcile::resources::ConditionType;
use futures_util::poll;
use serde_json::json;

use super::applying::plain;
use super::status_store::touch;
use super::world::World;

/// Allows this number of writes.
struct After(AtomicUsize);

#[async_trait]
impl Fence for After {
    async fn check(&self, doing: &str) -> Result<(), LiveError> {
        let left = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        left.map(drop).map_err(|_| LiveError::NotLeading { doing: doing.to_owned() })
    }
}

fn writes(world: &World) -> usize {
    world.live.take_writes().len() + world.status_store.posted().writes
}

#[tokio::test]
async fn nothing_is_written_once_the_lead_is_lost_whenever_that_is() {
    // The ManagedCluster, its inventory, three objects and the status.
    for left in 0..6 {
        let world = World::new();
        plain(&world, "peu01");
        let revision = world.revision().await;
        let fence: Arc<dyn Fence> = Arc::new(After(AtomicUsize::new(left)));
        world.fence.lock().unwrap().replace(fence);
        let error = world.try_turn(&revision, "gauss/peu01").await.unwrap_err();
        assert!(matches!(error, LiveError::NotLeading { .. }), "{error}");
        assert_eq!(writes(&world), left, "the lead is lost after {left} writes");
        assert!(world.status_store.posted().notes.is_empty() && world.bot.reports.lock().unwrap().is_empty());

        world.fence.lock().unwrap().take();
        let outcome = world.reconcile("gauss/peu01").await;
        assert!(matches!(outcome.ended, ReconcileEnd::Applied), "{:?}", outcome.ended);
        assert_eq!(world.status("gauss-peu01").inventory.objects().len(), 3);
    }
}

/// Has something happen to the ManagedCluster while a turn tries its first object.
fn meanwhile(world: &World, happens: impl Fn(&mut ClusterRecord) + Send + Sync + 'static) {
    let (times, status_store) = (AtomicUsize::new(0), Arc::clone(&world.status_store));
    world.live.webhook(move |_, _| {
        if times.fetch_add(1, Ordering::Relaxed) == 0 {
            happens(status_store.posted().clusters.get_mut("gauss-peu01").unwrap());
        }
        None
    });
}

#[tokio::test]
async fn an_inventory_that_another_process_wrote_meanwhile_is_not_overwritten() {
    let world = World::new();
    plain(&world, "peu01");
    world.reconcile("gauss/peu01").await;
    world.live.take_writes();
    world.write(
        "gauss/peu01/base/more.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\ndata: {key: \"1\"}\n",
    );
    meanwhile(&world, |record| {
        record.status.attempted_commit = Some("f".repeat(40));
        touch(record);
    });
    let revision = world.revision().await;
    let error = world.try_turn(&revision, "gauss/peu01").await.unwrap_err();
    assert!(error.is_conflict(), "{error}");
    assert_eq!(world.live.take_writes(), [""; 0], "nothing that is not in the inventory is applied");
    assert_eq!(world.status("gauss-peu01").attempted_commit, Some("f".repeat(40)));
    let outcome = world.reconcile("gauss/peu01").await;
    assert!(matches!(outcome.ended, ReconcileEnd::Applied), "{:?}", outcome.ended);
}

#[tokio::test]
async fn what_another_leader_made_since_the_look_is_not_written_over() {
    let world = World::new();
    plain(&world, "peu01");
    world.reconcile("gauss/peu01").await;
    world.write(
        "gauss/peu01/base/more.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\ndata: {key: \"1\"}\n",
    );
    let newer = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"key": "2"},
        "metadata": {"name": "more", "namespace": "org", "uid": "theirs", "resourceVersion": "7"}});
    world.live.state().makes_before_write = Some(newer);
    let outcome = world.reconcile("gauss/peu01").await;
    let ReconcileEnd::Failed(failure) = &outcome.ended else { panic!("{:?}", outcome.ended) };
    assert_eq!(failure.kind, "Conflict");
    let key = ("ConfigMap", "more");
    let state = world.live.state();
    let more = state.objects.iter().find(|(found, _)| (found.1.as_str(), found.3.as_str()) == key).unwrap();
    assert_eq!(more.1["data"], json!({"key": "2"}));
}

#[tokio::test]
async fn a_touched_managed_cluster_does_not_stop_the_pass() {
    let world = World::new();
    plain(&world, "peu01");
    world.reconcile("gauss/peu01").await;
    world.write(
        "gauss/peu01/base/more.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\ndata: {key: \"1\"}\n",
    );
    world.status_store.posted().clusters.get_mut("gauss-peu01").unwrap().reconcile_requested = true;
    meanwhile(&world, touch);
    world.reconcile("gauss/peu01").await;
    assert_eq!(world.condition("gauss-peu01", ConditionType::Ready), "True Done");
    assert_eq!(world.status("gauss-peu01").inventory.objects().len(), 4);
}

#[tokio::test]
async fn an_object_changed_after_it_was_read_is_read_again_before_deletion() {
    let world = World::new();
    plain(&world, "peu01");
    world.write(
        "gauss/peu01/base/more.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\ndata: {key: \"1\"}\n",
    );
    world.reconcile("gauss/peu01").await;
    world.remove("gauss/peu01/base/more.yaml");
    world.live.take_writes();
    world.live.state().touches_before_delete =
        Some(Box::new(|object| object["metadata"]["resourceVersion"] = json!("later")));
    let outcome = world.reconcile("gauss/peu01").await;
    assert!(outcome.again);
    assert_eq!(world.live.take_writes(), [""; 0]);
    assert_eq!(world.status("gauss-peu01").kept[0].reason, "Changed");
    world.reconcile("gauss/peu01").await;
    assert_eq!(world.live.take_writes(), ["delete ConfigMap org/more"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_waited_for_its_place_is_asked_then_whether_it_leads() {
    let world = World::new();
    // The one place is taken by a request that takes its time.
    let (begun, is_begun) = mpsc::channel();
    let (release, held) = mpsc::channel::<()>();
    let once = Mutex::new(Some((begun, held)));
    world.live.webhook(move |_, _| {
        if let Some((begun, held)) = once.lock().unwrap().take() {
            begun.send(()).unwrap();
            held.recv().unwrap();
        }
        None
    });
    let left = Arc::new(After(AtomicUsize::new(1)));
    let fence: Arc<dyn Fence> = left.clone();
    let gate = Gate::new(world.live.clone(), 1).fenced(&fence);
    let apply = |run: Run| {
        let gate = gate.clone();
        let map =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "org"}});
        async move { gate.apply(&As::Reconciler, &map, run, Contested::Take).await }
    };
    let tried = tokio::spawn(apply(Run::Dry));
    tokio::task::spawn_blocking(move || is_begun.recv().unwrap()).await.unwrap();
    let mut written = pin!(apply(Run::Real));
    assert!(poll!(&mut written).is_pending());
    // The lead is lost while it waits.
    left.0.store(0, Ordering::Relaxed);
    release.send(()).unwrap();
    tried.await.unwrap().unwrap();
    let error = written.await.unwrap_err();
    assert!(matches!(error, LiveError::NotLeading { .. }), "{error}");
    assert_eq!(world.live.take_writes(), [""; 0]);
}

#[tokio::test]
async fn who_leads_no_more_reports_nothing_where_there_is_nothing_to_write_either() {
    let world = World::new();
    plain(&world, "peu01");
    world.reconcile("gauss/peu01").await;
    world.bot.reports.lock().unwrap().clear();
    let revision = world.revision().await;
    let fence: Arc<dyn Fence> = Arc::new(After(AtomicUsize::new(0)));
    world.fence.lock().unwrap().replace(fence);
    let error = world.try_turn(&revision, "gauss/peu01").await.unwrap_err();
    assert!(matches!(error, LiveError::NotLeading { .. }), "{error}");
    assert!(world.bot.reports.lock().unwrap().is_empty());
}

#[tokio::test]
async fn what_another_process_wrote_before_a_request_was_answered_is_gone_on_from() {
    let world = World::new();
    plain(&world, "peu01");
    world.reconcile("gauss/peu01").await;
    world
        .live
        .put(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "kept", "namespace": "org"}}));
    let uid = world.live.object("Secret", "kept").unwrap()["metadata"]["uid"].as_str().unwrap().to_owned();
    {
        let mut posted = world.status_store.posted();
        posted.clusters.get_mut("gauss-peu01").unwrap().reconcile_requested = true;
        posted.meanwhile = Some(Box::new(move |record| {
            let id = ObjectId {
                group: String::new(),
                kind: "Secret".to_owned(),
                namespace: Some("org".to_owned()),
                name: "kept".to_owned(),
            };
            record.status.inventory.intend(&id, "v1", "kept");
            record.status.inventory.applied(&id, &uid);
        }));
    }
    world.write(
        "gauss/peu01/base/more.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\ndata: {key: \"1\"}\n",
    );
    world.reconcile("gauss/peu01").await;
    let status = world.status("gauss-peu01");
    let names: Vec<&str> = status.inventory.objects().iter().map(|object| object.name.as_str()).collect();
    assert_eq!(names, ["more", "peu01-a", "peu01-b", "kept", "peu01"]);
}
