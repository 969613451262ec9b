//! A place in a watch that the API server no longer knows (410 Gone), with a stand-in that forgets it on the
//! word: a real one does so only after minutes.

use capstan_test_support::PATIENCE;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Query, State};
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use capstan_k8s::{Connection, KubeCluster};
use capstan_ports::{ApiKind, LiveChanges, ManagementCluster as _, ObjectChange, ServiceAccount, Watched};
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::timeout;

const IN_ONE: &str = "/api/v1/namespaces/one/configmaps";

/// The API server's answer to a watch.
enum Watch {
    /// These events; then it stays open.
    Open(Vec<Value>),
    /// These events; then it ends.
    Ends(Vec<Value>),
    /// A status before any event.
    Refused(u16),
}

/// An API server that answers lists and watches of ConfigMaps in the namespace `one` from its script, and refuses
/// those of all namespaces.
#[derive(Default)]
struct Script {
    lists: Vec<Value>,
    watches: Vec<Watch>,
    /// `list`, or `watch` and the place that it begins at.
    asked: Vec<String>,
}

type Shared = Arc<Mutex<Script>>;

fn status(code: u16, reason: &str) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code,
        "message": "as the script has it"})
}

fn refusal(code: u16, reason: &str) -> Response {
    (StatusCode::from_u16(code).unwrap(), axum::Json(status(code, reason))).into_response()
}

fn served(path: &str) -> Response {
    let configmaps = json!({"resource": "configmaps", "scope": "Namespaced", "verbs": ["get", "list", "watch"],
        "responseKind": {"group": "", "version": "v1", "kind": "ConfigMap"}});
    let core = json!({"metadata": {}, "versions": [{"version": "v1", "resources": [configmaps]}]});
    let items = if path == "/api" { vec![core] } else { Vec::new() };
    axum::Json(json!({"kind": "APIGroupDiscoveryList", "items": items})).into_response()
}

fn watched(watch: Watch) -> Response {
    let lines = |events: Vec<Value>| {
        let lines: Vec<Result<String, std::io::Error>> =
            events.iter().map(|event| Ok(format!("{event}\n"))).collect();
        stream::iter(lines)
    };
    match watch {
        Watch::Open(events) => Body::from_stream(lines(events).chain(stream::pending())).into_response(),
        Watch::Ends(events) => Body::from_stream(lines(events)).into_response(),
        Watch::Refused(code) => refusal(code, "Expired"),
    }
}

async fn answer(
    State(script): State<Shared>,
    uri: Uri,
    Query(query): Query<HashMap<String, String>>,
) -> Response {
    match uri.path() {
        path @ ("/api" | "/apis") => served(path),
        IN_ONE => {
            let mut script = script.lock().unwrap();
            if query.contains_key("watch") {
                script.asked.push(format!("watch {}", query["resourceVersion"]));
                watched(script.watches.remove(0))
            } else {
                script.asked.push("list".to_owned());
                axum::Json(script.lists.remove(0)).into_response()
            }
        }
        _ => refusal(403, "Forbidden"),
    }
}

fn object(name: &str, version: u32) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "one", "uid": name, "resourceVersion": version.to_string()}})
}

fn list(version: u32, objects: &[(&str, u32)]) -> Value {
    let items: Vec<Value> = objects.iter().map(|(name, version)| object(name, *version)).collect();
    json!({"kind": "ConfigMapList", "metadata": {"resourceVersion": version.to_string()}, "items": items})
}

fn added(name: &str, version: u32) -> Value {
    json!({"type": "ADDED", "object": object(name, version)})
}

async fn connected(script: &Shared) -> Connection {
    super::connected_to(Router::new().fallback(answer).with_state(Arc::clone(script))).await
}

/// Changes of ConfigMaps in the namespace `one`, as the one who applies there.
async fn changes_by(script: &Shared) -> (LiveChanges, watch::Sender<Watched>) {
    let connection = connected(script).await;
    let account = ServiceAccount { namespace: "one".to_owned(), name: "capstan-applier".to_owned() };
    let places = BTreeMap::from([("one".to_owned(), BTreeSet::from([account]))]);
    let (wanted, kinds) = watch::channel(BTreeMap::from([(ApiKind::preferred("", "ConfigMap"), places)]));
    (KubeCluster::new(&connection).with_namespace_watches(1).watch(kinds), wanted)
}

/// The reported changes, up to and including the change of the object `last`.
async fn changes_until(changes: &mut LiveChanges, last: &str) -> Vec<(String, ObjectChange)> {
    let mut told = Vec::new();
    let all = async {
        while told.last().is_none_or(|(name, _): &(String, ObjectChange)| name != last) {
            let change = changes.next().await.unwrap();
            told.push((change.object.name, change.change));
        }
    };
    let heard = timeout(PATIENCE, all).await;
    assert!(heard.is_ok(), "only this was told: {told:?}");
    told
}

#[tokio::test]
async fn after_an_expired_position_a_new_list_loses_and_repeats_no_change() {
    let script = Shared::new(Mutex::new(Script {
        lists: vec![
            list(10, &[("stays", 1), ("changes", 2), ("goes", 3)]),
            list(20, &[("stays", 1), ("changes", 12), ("new", 11), ("unseen", 13)]),
            list(30, &[("stays", 1), ("changes", 12), ("new", 11), ("unseen", 13), ("later", 21)]),
        ],
        watches: vec![
            // It expires while it is open, as an event,
            Watch::Ends(vec![added("new", 11), json!({"type": "ERROR", "object": status(410, "Expired")})]),
            // and before it opens, as a status.
            Watch::Refused(410),
            Watch::Open(vec![added("later", 21), added("last", 31)]),
        ],
        asked: Vec::new(),
    }));
    let (mut changes, _wanted) = changes_by(&script).await;
    let mut told = changes_until(&mut changes, "last").await;
    // Changes that come from a list have an arbitrary order.
    told[1..4].sort();
    let expected = [
        ("new", ObjectChange::Added),
        ("changes", ObjectChange::Spec),
        ("goes", ObjectChange::Deleted),
        ("unseen", ObjectChange::Added),
        ("later", ObjectChange::Added),
        ("last", ObjectChange::Added),
    ];
    assert_eq!(told, expected.map(|(name, change)| (name.to_owned(), change)));
    assert_eq!(script.lock().unwrap().asked, ["list", "watch 10", "list", "watch 20", "list", "watch 30"]);
}

#[tokio::test]
async fn a_server_that_knows_no_place_is_not_asked_for_all_again_and_again() {
    let mut begun = Script::default();
    for number in 0..1_000 {
        begun.lists.push(list(number, &[("stays", 1)]));
        begun.watches.push(Watch::Refused(410));
    }
    let script = Shared::new(Mutex::new(begun));
    let (_changes, _wanted) = changes_by(&script).await;
    let lists = || script.lock().unwrap().asked.iter().filter(|asked| *asked == "list").count();
    let reached = async |count: usize| {
        let all = async {
            while lists() < count {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        timeout(PATIENCE, all).await.unwrap();
    };
    reached(1).await;
    // Another client asks without a pause meanwhile: as often, and the pauses grow, whatever time its questions take.
    let other = KubeCluster::new(&connected(&script).await);
    for _ in 0..300 {
        other.version().await.unwrap_err();
    }
    let listed = lists();
    assert!(listed < 20, "{listed} lists");
    reached(listed + 1).await;
}
