//! A process that was the leader, and does not know yet that another one is.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use capstan_ports::LiveError;
use serde_json::{Value, json};

use super::town::{CORE, Town, components};

/// Core is requested in v1.0.0. Once another leader has created `made`, this pass learns that it no longer leads.
fn town(made: Value) -> Town {
    let town = Town::new();
    town.publish(CORE, "v1.0.0", &components(CORE, "old", &["v1beta1"]));
    town.ask(CORE, "v1.0.0");
    let (is_over, name) = (Arc::clone(&town.is_over), made["metadata"]["name"].clone());
    let mut state = town.live.state();
    state.reactions.push(Box::new(move |object| {
        if object["metadata"]["uid"] == "theirs" && object["metadata"]["name"] == name {
            is_over.store(true, Ordering::SeqCst);
        }
    }));
    state.makes_before_write = Some(made);
    drop(state);
    town
}

#[tokio::test]
async fn what_another_leader_made_since_the_look_is_not_written_over() {
    let newer = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "cluster-api-manager", "namespace": "core-system", "uid": "theirs", "resourceVersion": "7"},
        "spec": {"replicas": 1, "template": {"spec": {"containers": [{"name": "manager",
            "image": "registry.example/cluster-api:newer"}]}}}});
    let mut town = town(newer.clone());
    let outcome = town.try_pass().await.unwrap();
    assert!(outcome.is_over);
    let live = town.live.object("Deployment", "cluster-api-manager").unwrap();
    assert_eq!((&live["spec"], &live["metadata"]["uid"]), (&newer["spec"], &json!("theirs")));

    // The next leader overwrites the object, after it has read it.
    town.is_over.store(false, Ordering::SeqCst);
    town.live.state().reactions.pop();
    assert!(!town.settle().await.is_waiting);
    assert_eq!(town.runs(CORE), "registry.example/cluster-api:old x1");
}

#[tokio::test]
async fn what_another_leader_noted_since_the_look_is_not_written_over() {
    let noted = json!({"apiVersion": "capstan.dev/v1alpha1", "kind": "ManagedProvider",
        "metadata": {"name": "core-cluster-api", "namespace": "core-system", "uid": "theirs", "resourceVersion": "7"},
        "spec": {"kind": "CoreProvider", "name": "cluster-api"}, "status": {"of": "another leader"}});
    let mut town = town(noted.clone());
    let refused = town.try_pass().await.map(|outcome| outcome.steps);
    assert!(refused.as_ref().is_err_and(LiveError::is_conflict), "{refused:?}");
    assert_eq!(town.live.object("ManagedProvider", "core-cluster-api"), Some(noted));
}
