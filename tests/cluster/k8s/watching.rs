//! Watches report changes, also those that happened while the API server was away.

use capstan_test_support::PATIENCE;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use capstan_k8s::KubeCluster;
use capstan_ports::{ApiKind, LiveChanges, ManagementCluster as _, ObjectChange, ServiceAccount, Watched};
use futures_util::StreamExt as _;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::timeout;

use super::{Ground, config_map, connection};
use capstan_test_parts::plane::{Parts, Plane};

/// The next change of an object of that name; earlier changes of other objects are skipped.
async fn next(changes: &mut LiveChanges, name: &str) -> ObjectChange {
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

fn kinds(names: &[(&str, &str)]) -> Watched {
    names.iter().map(|(group, kind)| (ApiKind::preferred(*group, *kind), BTreeMap::new())).collect()
}

/// Waits until a watch has begun, which its first reported change shows.
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
async fn changes_are_announced_and_kinds_come_and_go() {
    let Some(ground) = Ground::prepare("watching").await else { return };
    let (wanted, kinds_of) = watch::channel(kinds(&[("", "ConfigMap")]));
    let mut changes = ground.cluster.watch(kinds_of);
    begun(ground.plane, &mut changes, "watching").await;

    let manifest = ground.config_map("watched", &json!({"a": "1"}));
    ground.plane.apply(&manifest.to_string());
    assert_eq!(next(&mut changes, "watched").await, ObjectChange::Added);
    ground.plane.apply(&ground.config_map("watched", &json!({"a": "2"})).to_string());
    assert_eq!(next(&mut changes, "watched").await, ObjectChange::Spec);
    ground.plane.kubectl(&["delete", "configmap", "watched", "-n", "watching"]);
    assert_eq!(next(&mut changes, "watched").await, ObjectChange::Deleted);

    wanted.send(kinds(&[("apps", "Deployment"), ("nowhere.dev", "Nothing")])).unwrap();
    let deployment = |replicas: u32| {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "watching"},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"a": "b"}},
                "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}})
        .to_string()
    };
    ground.plane.apply(&deployment(1));
    // The first list may already contain the Deployment. Then the watch reports only what follows.
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
    while next(&mut changes, "web").await != ObjectChange::Status {}
}

#[tokio::test]
async fn changes_during_an_outage_of_the_api_server_are_announced_afterwards() {
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
            ("changes".to_owned(), ObjectChange::Spec),
            ("comes".to_owned(), ObjectChange::Added),
            ("goes".to_owned(), ObjectChange::Deleted)
        ]
    );
    // The watch continues.
    plane.apply(&config_map("default", "later", &json!({})).to_string());
    assert_eq!(next(&mut changes, "later").await, ObjectChange::Added);
    // It would wait for the watches that this process still holds.
    plane.kill("kube-apiserver");
}

/// Somebody who may act as those who apply, and nothing else; and what these may do in a namespace.
const NARROW: &str = "
apiVersion: v1
kind: ServiceAccount
metadata: {name: narrow, namespace: default}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: narrow}
rules:
- {apiGroups: [''], resources: [serviceaccounts], resourceNames: [capstan-applier], verbs: [impersonate]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: narrow}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: narrow}
subjects: [{kind: ServiceAccount, name: narrow, namespace: default}]
";
const RIGHTS: &str = "
apiVersion: v1
kind: Namespace
metadata: {name: NS}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: capstan-applier, namespace: NS}
rules: [{apiGroups: [''], resources: [configmaps], verbs: VERBS}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: capstan-applier, namespace: NS}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: capstan-applier}
subjects: [{kind: ServiceAccount, name: capstan-applier, namespace: NS}]
";
const ALL: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: narrow}
rules:
- {apiGroups: [''], resources: [serviceaccounts], resourceNames: [capstan-applier], verbs: [impersonate]}
- {apiGroups: [''], resources: [configmaps], verbs: [list, watch]}
";

/// ConfigMaps in these namespaces, each applied by an account of its own.
fn maps_in(namespaces: &[&str]) -> Watched {
    let account = |namespace: &str| ServiceAccount {
        namespace: namespace.to_owned(),
        name: "capstan-applier".to_owned(),
    };
    let places =
        namespaces.iter().map(|namespace| ((*namespace).to_owned(), BTreeSet::from([account(namespace)])));
    BTreeMap::from([(ApiKind::preferred("", "ConfigMap"), places.collect())])
}

/// Waits until those who apply may watch: the API server learns of rights some moments after it took them.
async fn granted(plane: &Plane, resource: &str, namespace: &str) {
    let user = format!("system:serviceaccount:{namespace}:capstan-applier");
    let asked = ["auth", "can-i", "watch", resource, "-n", namespace, "--as", &user];
    while plane.try_kubectl(&asked, "").is_err() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn any_kind_may_be_watched_where_it_is_applied() {
    let Some(plane) = super::shared() else { return };
    plane.apply(NARROW);
    let rights = RIGHTS.replace("NS", "workloads").replace("VERBS", "[get, list, watch]");
    plane.apply(&rights.replace("apiGroups: ['']", "apiGroups: [apps]").replace("configmaps", "deployments"));
    granted(plane, "deployments.apps", "workloads").await;
    let narrow = plane.kubeconfig_of("default", "narrow");
    let connection = capstan_k8s::connect(Some(&narrow)).await.unwrap();
    let cluster = KubeCluster::new(&connection).with_namespace_watches(1);
    let places = maps_in(&["workloads"]).into_values().next().unwrap();
    let (_wanted, watched) =
        watch::channel(BTreeMap::from([(ApiKind::preferred("apps", "Deployment"), places)]));
    let mut changes = cluster.watch(watched);
    for replicas in 0..100 {
        let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "workloads"},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"a": "b"}},
                "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}});
        plane.apply(&deployment.to_string());
        if let Ok(change) = timeout(Duration::from_millis(500), changes.next()).await {
            assert_eq!(change.unwrap().object.to_string(), "Deployment workloads/web");
            return;
        }
    }
    panic!("nothing is told");
}

#[tokio::test]
async fn what_may_not_be_watched_whole_is_watched_where_it_is_applied_as_far_as_there_is_room() {
    let Some(plane) = Plane::start(Parts::Kubernetes) else { return };
    plane.apply(NARROW);
    let verbs =
        [("one", "[get, list, watch]"), ("two", "[get, list, watch]"), ("mute", "[get]"), ("far", "[get]")];
    for (namespace, verbs) in verbs {
        plane.apply(&RIGHTS.replace("NS", namespace).replace("VERBS", verbs));
    }
    let narrow = plane.kubeconfig_of("default", "narrow");
    granted(&plane, "configmaps", "two").await;
    let connection = capstan_k8s::connect(Some(&narrow)).await.unwrap();
    let cluster = KubeCluster::new(&connection).with_namespace_watches(1);
    let (wanted, watched) = watch::channel(maps_in(&["one"]));
    let mut changes = cluster.watch(watched);
    begun(&plane, &mut changes, "one").await;

    // There is room for one.
    let asked = |namespace: &str, code: u64| {
        let audit = plane.audit().into_iter();
        let of_namespace = audit.filter(|request| request.namespace == namespace && request.code == code);
        of_namespace.filter(|request| request.is_by(namespace, "capstan-applier")).count()
    };
    wanted.send(maps_in(&["one", "two", "mute"])).unwrap();
    plane.apply(&config_map("two", "unseen", &json!({})).to_string());
    plane.apply(&config_map("one", "seen", &json!({})).to_string());
    let first = timeout(PATIENCE, changes.next()).await.unwrap().unwrap();
    assert_eq!(first.object.to_string(), "ConfigMap one/seen");
    assert_eq!((asked("two", 200), asked("mute", 403)), (0, 0));

    // Nothing is applied in `one` any more: `two` gets its watch. `mute` may not be watched, so it takes none.
    wanted.send(maps_in(&["two", "mute"])).unwrap();
    begun(&plane, &mut changes, "two").await;
    for _ in 0..600 {
        if asked("mute", 403) > 0 || asked("mute", 200) > 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let asked_before = asked("mute", 403);
    assert!(asked_before <= 1, "{asked_before}");

    plane.kill("kube-apiserver");
    plane.start_again("kube-apiserver");
    plane.kubectl(&["delete", "configmap", "unseen", "-n", "two"]);
    assert_eq!(next(&mut changes, "unseen").await, ObjectChange::Deleted);

    // An admin grants the watch of all namespaces. It is used without a restart.
    plane.apply(ALL);
    for at in 0.. {
        let name = format!("whole-{at}");
        plane.apply(&config_map("far", &name, &json!({})).to_string());
        let heard = async { while changes.next().await.unwrap().object.name != name {} };
        if timeout(Duration::from_secs(1), heard).await.is_ok() {
            break;
        }
        assert!(at < 150, "the whole is never watched");
    }
    assert!(asked("mute", 403) <= 3, "it is asked for again and again");
    // It would wait for the watches that this process still holds.
    plane.kill("kube-apiserver");
}
