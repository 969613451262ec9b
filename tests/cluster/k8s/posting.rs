//! The status store on a real API server: Fleets and ManagedClusters, their status, events, Secrets.

use capstan_test_support::PATIENCE;
use std::time::Duration;

use capstan_k8s::KubeStatusStore;
use capstan_ports::LiveError;
use capstan_reconciler::reconcile::ports::{
    ClusterKey, FleetKey, Note, StatusStore as _, StatusStoreChange, Tone,
};
use capstan_reconciler::reconcile::resources::{
    Adopt, ClusterPhase, ConditionStatus, ConditionType, ManagedClusterSpec, ManagedClusterStatus,
    PlaceStatus, SourceSpec,
};
use futures_util::StreamExt as _;
use secrecy::ExposeSecret as _;
use tokio::time::timeout;

use super::{connection, definitions, shared};
use capstan_test_parts::plane::Plane;

/// The status store of a namespace of a test's own, with one Fleet.
async fn status_store(namespace: &str) -> Option<(&'static Plane, KubeStatusStore)> {
    let plane = shared()?;
    definitions::install(plane);
    plane.apply(&format!(
        "apiVersion: v1
kind: Namespace
metadata: {{name: {namespace}}}
---
apiVersion: capstan.dev/v1alpha1
kind: Fleet
metadata: {{name: gitops, namespace: {namespace}}}
spec:
  managementCluster: mc-eu
  source: {{git: {{url: 'https://example.com/gitops.git', secretName: login}}}}
  guards: {{adopt: take}}
"
    ));
    let connection = connection(plane).await;
    Some((plane, KubeStatusStore::new(&connection, namespace, "test")))
}

fn fleet(namespace: &str) -> FleetKey {
    FleetKey { namespace: namespace.to_owned(), name: "gitops".to_owned() }
}

fn key(namespace: &str) -> ClusterKey {
    ClusterKey { namespace: namespace.to_owned(), name: "gauss-peu01".to_owned() }
}

fn spec() -> ManagedClusterSpec {
    ManagedClusterSpec {
        cluster: "gauss/peu01".to_owned(),
        fleet: "gitops".to_owned(),
        suspend: false,
        adopt: None,
        create_cluster: None,
    }
}

#[tokio::test]
async fn a_fleet_is_read_with_its_defaults() {
    let Some((_, status_store)) = status_store("reading-fleets").await else { return };
    let fleets = status_store.fleets().await.unwrap();
    assert_eq!(fleets.len(), 1);
    let read = &fleets[0];
    assert_eq!(read.key, fleet("reading-fleets"));
    assert_eq!((read.spec.interval, read.spec.timeout), (Duration::from_secs(300), Duration::from_secs(300)));
    assert_eq!(read.spec.stuck_after, Duration::from_secs(1_200));
    assert_eq!((read.spec.concurrency, read.spec.guards.max_deletions), (4, 5));
    assert_eq!(read.spec.guards.adopt, Adopt::Take);
    assert_eq!(read.spec.service_account.name, "capstan-applier");
    assert_eq!(
        read.spec.source,
        SourceSpec::Git {
            url: "https://example.com/gitops.git".to_owned(),
            branch: "main".to_owned(),
            secret: Some("login".to_owned())
        }
    );
    assert!(!read.reconcile_requested && !read.uid.is_empty() && read.generation == 1);
    assert!(status_store.fleet(&fleet("reading-fleets")).await.unwrap().is_some());
    let nobody = FleetKey { namespace: "reading-fleets".to_owned(), name: "nobody".to_owned() };
    assert!(status_store.fleet(&nobody).await.unwrap().is_none());
}

#[tokio::test]
async fn a_status_is_replaced_whole_and_shown_at_a_glance() {
    let Some((plane, status_store)) = status_store("posting").await else { return };
    let key = key("posting");
    let made = status_store.create_cluster(&key, &spec()).await.unwrap();
    let again = status_store.create_cluster(&key, &spec()).await.unwrap();
    assert_eq!((made.uid.clone(), made.generation), (again.uid, again.generation));

    let now = jiff::Timestamp::now();
    let mut status = ManagedClusterStatus {
        observed_generation: Some(1),
        applied_commit: Some("4f1c".to_owned()),
        phase: Some(ClusterPhase::ControlPlane),
        refused: vec![PlaceStatus {
            reason: "Invalid".to_owned(),
            message: "spec.version: Forbidden".to_owned(),
            file: Some("gauss/peu01/base/cp.yaml".to_owned()),
            line: Some(7),
            ..PlaceStatus::default()
        }],
        ..ManagedClusterStatus::default()
    };
    status.conditions.set(
        now,
        1,
        ConditionType::Ready,
        ConditionStatus::False,
        "Refused",
        "spec.version: Forbidden",
    );
    status.conditions.set(now, 1, ConditionType::Refused, ConditionStatus::True, "Invalid", "spec.version");
    let before = read_record(&status_store, &key).await;
    let version = status_store.write_cluster(&before, &status).await.unwrap();
    let read = read_record(&status_store, &key).await;
    assert_eq!(read.resource_version, version);
    assert_eq!(read.status.refused, status.refused);
    assert_eq!(read.status.phase, Some(ClusterPhase::ControlPlane));
    assert!(read.status.conditions.hold(ConditionType::Refused));

    status.refused.clear();
    status.conditions.clear(ConditionType::Refused);
    status.applied_commit = None;
    status.phase = Some(ClusterPhase::Done);
    let stale = status_store.write_cluster(&before, &status).await.unwrap_err();
    assert!(stale.is_conflict(), "{stale}");
    status_store.write_cluster(&read, &status).await.unwrap();
    let read = read_record(&status_store, &key).await;
    assert_eq!((read.status.refused.len(), read.status.applied_commit), (0, None));
    assert!(read.status.conditions.of(ConditionType::Refused).is_none());
    assert_eq!(read.generation, 1, "a status is no wish");

    let table = plane.kubectl(&["get", "managedclusters", "-n", "posting"]);
    let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(
        lines[0],
        ["NAME", "CLUSTER", "READY", "PHASE", "ROLLOUT", "MACHINES", "OF", "MESSAGE", "AGE"]
    );
    assert_eq!(lines[1][..4], ["gauss-peu01", "gauss/peu01", "False", "Done"]);

    assert_eq!(status_store.clusters(&fleet("posting")).await.unwrap().len(), 1);
    status_store.delete_cluster(&read_record(&status_store, &key).await).await.unwrap();
    assert!(status_store.cluster(&key).await.unwrap().is_none());
}

async fn read_record(
    status_store: &KubeStatusStore,
    key: &ClusterKey,
) -> capstan_reconciler::reconcile::ports::ClusterRecord {
    status_store.cluster(key).await.unwrap().unwrap()
}

#[tokio::test]
async fn what_was_asked_of_a_cluster_is_asked_under_its_new_name() {
    let Some((_, status_store)) = status_store("changing").await else { return };
    let key = key("changing");
    let made = status_store.create_cluster(&key, &spec()).await.unwrap();
    let suspended = ManagedClusterSpec { suspend: true, adopt: Some(Adopt::Take), ..spec() };
    status_store.change_cluster(&key, &suspended).await.unwrap();
    let read = read_record(&status_store, &key).await;
    assert_eq!((read.spec.clone(), read.generation), (suspended.clone(), made.generation + 1));
    // Writing the same spec again does not change the object.
    status_store.change_cluster(&key, &suspended).await.unwrap();
    assert_eq!(read_record(&status_store, &key).await.generation, read.generation);
}

#[tokio::test]
async fn changes_of_people_are_announced_and_reports_are_not() {
    let Some((plane, status_store)) = status_store("asking").await else { return };
    let key = key("asking");
    status_store.create_cluster(&key, &spec()).await.unwrap();
    let mut changes = status_store.changes();
    // The watch has begun once it reports a change.
    let mut begun = false;
    for at in 0..100 {
        plane.kubectl(&["label", "fleet", "gitops", "-n", "asking", "--overwrite", &format!("at=a{at}")]);
        let told = timeout(Duration::from_millis(500), changes.next()).await;
        if let Ok(told) = told {
            assert_eq!(told, Some(StatusStoreChange::Fleet(fleet("asking"))));
            begun = true;
            break;
        }
    }
    assert!(begun, "the watch never begins");
    // One more, so that both kinds are certainly watched.
    plane.kubectl(&["annotate", "mcl", "gauss-peu01", "-n", "asking", "capstan.dev/reconcile=now"]);
    let asked = async {
        while changes.next().await != Some(StatusStoreChange::Cluster(ClusterKey { ..key.clone() })) {}
    };
    timeout(PATIENCE, asked).await.unwrap();
    assert!(read_record(&status_store, &key).await.reconcile_requested);
    status_store.clear_request_of_cluster(&key).await.unwrap();
    assert!(!read_record(&status_store, &key).await.reconcile_requested);
    status_store.clear_request_of_cluster(&key).await.unwrap();

    let mut status = ManagedClusterStatus { observed_generation: Some(1), ..ManagedClusterStatus::default() };
    status.conditions.set(jiff::Timestamp::now(), 1, ConditionType::Ready, ConditionStatus::True, "Done", "");
    status_store.write_cluster(&read_record(&status_store, &key).await, &status).await.unwrap();
    plane.kubectl(&[
        "patch",
        "fleet",
        "gitops",
        "-n",
        "asking",
        "--type=merge",
        "-p",
        r#"{"spec": {"suspend": true}}"#,
    ]);
    // Nothing of the status between the annotation that went and the Fleet that was suspended.
    let mut told = Vec::new();
    let until = async {
        while !matches!(told.last(), Some(StatusStoreChange::Fleet(_))) {
            told.extend(changes.next().await);
        }
    };
    timeout(PATIENCE, until).await.unwrap();
    let of_cluster = told.iter().filter(|change| matches!(change, StatusStoreChange::Cluster(_))).count();
    assert!(of_cluster <= 1, "{told:?}");
}

#[tokio::test]
async fn events_are_published_and_repeats_are_counted() {
    let Some((plane, status_store)) = status_store("events").await else { return };
    let record = status_store.create_cluster(&key("events"), &spec()).await.unwrap();
    let note = |message: &str| Note { tone: Tone::Warning, reason: "Refused", message: message.to_owned() };
    for _ in 0..3 {
        status_store.note_cluster(&record, &note("spec.version: Forbidden")).await;
    }
    status_store.note_cluster(&record, &note(&"another thing, told at length. ".repeat(100))).await;
    let events = plane.kubectl(&["get", "events.events.k8s.io", "-n", "events", "-o", "json"]);
    let events: serde_json::Value = serde_json::from_str(&events).unwrap();
    let mut seen: Vec<_> = events["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| {
            (
                event["note"].as_str().unwrap().chars().take(12).collect::<String>(),
                event["series"]["count"].clone(),
            )
        })
        .collect();
    seen.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(
        seen,
        [
            ("another thin".to_owned(), serde_json::Value::Null),
            ("spec.version".to_owned(), serde_json::json!(3))
        ]
    );
    // Where people look for them.
    let described = plane.kubectl(&["describe", "managedcluster", "gauss-peu01", "-n", "events"]);
    assert!(described.contains("spec.version: Forbidden"), "{described}");
}

#[tokio::test]
async fn a_secret_is_read_and_never_shown() {
    let Some((plane, status_store)) = status_store("keeping").await else { return };
    assert!(status_store.secret("keeping", "login").await.unwrap().is_none());
    plane.apply("{apiVersion: v1, kind: Secret, metadata: {name: login, namespace: keeping}, stringData: {token: hunter2}}");
    let secret = status_store.secret("keeping", "login").await.unwrap().unwrap();
    assert_eq!(secret["token"].expose_secret(), "hunter2");
    assert!(!format!("{secret:?}").contains("hunter2"));
    // Not text: said by the key alone.
    plane.apply(
        "{apiVersion: v1, kind: Secret, metadata: {name: binary, namespace: keeping}, data: {key: /////w==}}",
    );
    let error = status_store.secret("keeping", "binary").await.unwrap_err();
    assert!(matches!(error, LiveError::Malformed { .. }), "{error}");
    assert_eq!(error.to_string(), "reading Secret keeping/binary: the value of its key `key` is not text");
}
