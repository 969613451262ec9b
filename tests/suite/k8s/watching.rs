//! Watching: what changed is told, also what changed while the API server was away.

use std::collections::BTreeSet;
use std::time::Duration;

use capstan::app::ports::{ApiKind, Change, LiveChanges, ManagementCluster as _};
use capstan::k8s::KubeCluster;
use futures_util::StreamExt as _;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::timeout;

use super::{Ground, config_map, connection};
use crate::plane::{Parts, Plane};

const PATIENCE: Duration = Duration::from_secs(60);

/// The next change of an object of that name, whatever else is told before.
async fn next(changes: &mut LiveChanges, name: &str) -> Change {
    let found = async {
        loop {
            let change = changes.next().await.unwrap();
            if change.object.name == name {
                return change.change;
            }
        }
    };
    timeout(PATIENCE, found).await.unwrap_or_else(|_| panic!("nothing was told of {name}"))
}

fn kinds(names: &[(&str, &str)]) -> BTreeSet<ApiKind> {
    names.iter().map(|(group, kind)| ApiKind::preferred(*group, *kind)).collect()
}

/// Waits until a watch has begun: until a change is told.
async fn begun(plane: &Plane, changes: &mut LiveChanges, namespace: &str) {
    for at in 0.. {
        let name = format!("begin-{namespace}-{at}");
        plane.apply(&config_map(namespace, &name, &json!({})).to_string());
        let heard = async { while changes.next().await.unwrap().object.name != name {} };
        if timeout(Duration::from_millis(500), heard).await.is_ok() {
            return;
        }
        assert!(at < 100, "the watch never begins");
    }
}

#[tokio::test]
async fn changes_are_told_and_kinds_come_and_go() {
    let Some(ground) = Ground::prepare("watching").await else { return };
    let (wanted, kinds_of) = watch::channel(kinds(&[("", "ConfigMap")]));
    let mut changes = ground.cluster.watch(kinds_of);
    begun(ground.plane, &mut changes, "watching").await;

    let manifest = ground.config_map("watched", &json!({"a": "1"}));
    ground.plane.apply(&manifest.to_string());
    assert_eq!(next(&mut changes, "watched").await, Change::Appeared);
    ground.plane.apply(&ground.config_map("watched", &json!({"a": "2"})).to_string());
    assert_eq!(next(&mut changes, "watched").await, Change::Wish);
    ground.plane.kubectl(&["delete", "configmap", "watched", "-n", "watching"]);
    assert_eq!(next(&mut changes, "watched").await, Change::Gone);

    wanted.send(kinds(&[("apps", "Deployment"), ("nowhere.dev", "Nothing")])).unwrap();
    let deployment = |replicas: u32| {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "watching"},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"a": "b"}},
                "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}})
        .to_string()
    };
    ground.plane.apply(&deployment(1));
    // The first list may be older or newer than that; then it is told, or what follows is.
    ground.plane.kubectl(&["label", "deployment", "web", "-n", "watching", "a=b"]);
    let mut heard = None;
    for replicas in 2..100 {
        ground.plane.apply(&deployment(replicas));
        let web = async {
            loop {
                let change = changes.next().await.unwrap();
                if change.object.name == "web" {
                    return change;
                }
            }
        };
        heard = timeout(Duration::from_millis(500), web).await.ok();
        if heard.is_some() {
            break;
        }
    }
    let heard = heard.expect("the new kind is never watched");
    assert_eq!(heard.object.to_string(), "Deployment watching/web");
    assert!(!heard.resource_version.is_empty());

    // Only what the controller reports.
    let status = r#"{"status": {"readyReplicas": 0, "replicas": 1, "observedGeneration": 9}}"#;
    ground.plane.kubectl(&[
        "patch",
        "deployment",
        "web",
        "-n",
        "watching",
        "--subresource=status",
        "--type=merge",
        "-p",
        status,
    ]);
    while next(&mut changes, "web").await != Change::Report {}
}

#[tokio::test]
async fn what_changes_while_the_api_server_is_away_is_told_when_it_is_back() {
    let Some(plane) = Plane::start(Parts::Kubernetes) else { return };
    let cluster = KubeCluster::new(&connection(&plane).await);
    for name in ["stays", "goes", "changes"] {
        plane.apply(&config_map("default", name, &json!({"a": "1"})).to_string());
    }
    let (_kinds, kinds_of) = watch::channel(kinds(&[("", "ConfigMap")]));
    let mut changes = cluster.watch(kinds_of);
    begun(&plane, &mut changes, "default").await;

    plane.kill("kube-apiserver");
    plane.start_again("kube-apiserver");
    // As fast as can be: some of it before the watch is back.
    plane.kubectl(&["delete", "configmap", "goes"]);
    plane.apply(&config_map("default", "changes", &json!({"a": "2"})).to_string());
    plane.apply(&config_map("default", "comes", &json!({})).to_string());

    let mut told = Vec::new();
    let all = async {
        while told.len() < 3 {
            let change = changes.next().await.unwrap();
            if ["goes", "changes", "comes", "stays"].contains(&change.object.name.as_str()) {
                told.push((change.object.name, change.change));
            }
        }
    };
    timeout(PATIENCE, all).await.expect("three changes");
    told.sort();
    assert_eq!(
        told,
        [
            ("changes".to_owned(), Change::Wish),
            ("comes".to_owned(), Change::Appeared),
            ("goes".to_owned(), Change::Gone)
        ]
    );
    // And it goes on.
    plane.apply(&config_map("default", "later", &json!({})).to_string());
    assert_eq!(next(&mut changes, "later").await, Change::Appeared);
    // It would wait for the watches that this process still holds.
    plane.kill("kube-apiserver");
}
