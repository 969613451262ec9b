//! The installer of providers deletes an object only if it has not changed since it was read.

use capstan_reconciler::providers::{ProviderMemory, ProviderPassOutcome, pass};
use serde_json::{Value, json};

use super::fake::Touch;
use super::world::World;

const LABEL: &str = "cluster.x-k8s.io/provider";

/// What is left of a provider whose object is gone: what is remembered of it, and the one object that it brought.
fn left_behind() -> World {
    let world = World::new();
    world.live.put(json!({"apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": {"name": "capi-manager", "namespace": "org", "labels": {LABEL: "cluster-api"}}}));
    world.live.put(json!({"apiVersion": "capstan.dev/v1alpha1", "kind": "ManagedProvider",
        "metadata": {"name": "core-cluster-api", "namespace": "org"},
        "spec": {"kind": "CoreProvider", "name": "cluster-api"},
        "status": {"phase": "Removing", "inventory": {"objects": [
            {"version": "v1", "kind": "ServiceAccount", "namespace": "org", "name": "capi-manager"}]}}}));
    world
}

async fn one_pass(world: &World) -> ProviderPassOutcome {
    pass(&world.installer(), &mut ProviderMemory::default(), &|| false).await.unwrap()
}

fn touch_before_delete(world: &World, touch: impl FnOnce(&mut Value) + Send + 'static) {
    world.live.state().touches_before_delete = Some(Box::new(touch) as Touch);
}

fn deletions(world: &World) -> Vec<String> {
    world.live.take_writes().into_iter().filter(|write| write.starts_with("delete")).collect()
}

#[tokio::test]
async fn what_somebody_took_after_the_look_is_not_deleted() {
    let world = left_behind();
    touch_before_delete(&world, |account| account["metadata"]["labels"][LABEL] = json!("somebody-elses"));
    let outcome = one_pass(&world).await;
    assert!(!outcome.is_waiting);
    assert_eq!(world.live.names("ServiceAccount"), ["capi-manager"]);
    assert_eq!(deletions(&world), ["delete ManagedProvider org/core-cluster-api"]);
}

#[tokio::test]
async fn what_changed_and_is_still_the_providers_goes_at_the_next_look() {
    let world = left_behind();
    touch_before_delete(&world, |account| account["metadata"]["annotations"] = json!({"a": "b"}));
    one_pass(&world).await;
    assert_eq!(
        deletions(&world),
        ["delete ServiceAccount org/capi-manager", "delete ManagedProvider org/core-cluster-api"]
    );
}

/// The record of a provider is changed while it is forgotten: what it says now is read first.
#[tokio::test]
async fn a_record_that_somebody_changed_is_not_forgotten() {
    let world = left_behind();
    world.live.remove("ServiceAccount", "capi-manager");
    touch_before_delete(&world, |record| {
        record["status"]["inventory"]["objects"][0]["name"] = json!("another");
    });
    let outcome = one_pass(&world).await;
    assert!(outcome.is_waiting);
    let record = world.live.object("ManagedProvider", "core-cluster-api").unwrap();
    assert_eq!(record["status"]["inventory"]["objects"][0]["name"], "another");
    assert_eq!(deletions(&world), [""; 0]);

    world.live.put(json!({"apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": {"name": "another", "namespace": "org", "labels": {LABEL: "cluster-api"}}}));
    assert!(!one_pass(&world).await.is_waiting);
    assert_eq!(
        deletions(&world),
        ["delete ServiceAccount org/another", "delete ManagedProvider org/core-cluster-api"]
    );
}

/// A download with the components of a version, as the operator makes them.
fn download(version: &str) -> Value {
    let metadata = "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\nreleaseSeries:\n\
                    - {major: 1, minor: 13, contract: v1beta2}\n- {major: 1, minor: 12, contract: v1beta2}\n\
                    - {major: 1, minor: 11, contract: v1beta2}\n";
    let components = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: capi-manager, namespace: org}\n";
    json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": format!("core-{version}"), "namespace": "org", "labels": {
            "provider.cluster.x-k8s.io/name": "cluster-api", "provider.cluster.x-k8s.io/type": "core",
            "provider.cluster.x-k8s.io/version": version, "managed-by.operator.cluster.x-k8s.io": "true"}},
        "data": {"metadata": metadata, "components": components}})
}

#[tokio::test]
async fn a_download_that_somebody_keeps_is_not_deleted() {
    let world = World::new();
    world.live.put(json!({"apiVersion": "operator.cluster.x-k8s.io/v1alpha2", "kind": "CoreProvider",
        "metadata": {"name": "cluster-api", "namespace": "org"},
        "spec": {"version": "v1.13.4", "fetchConfig": {"selector": {"matchLabels": {
            "provider.cluster.x-k8s.io/name": "cluster-api"}}}}}));
    ["v1.11.0", "v1.12.8", "v1.13.4"].into_iter().for_each(|version| world.live.put(download(version)));
    touch_before_delete(&world, |map| {
        map["metadata"]["labels"]["managed-by.operator.cluster.x-k8s.io"] = json!("false");
    });
    let outcome = one_pass(&world).await;
    let core = world.live.object("CoreProvider", "cluster-api").unwrap();
    assert!(!outcome.is_waiting, "{core:#}");
    assert_eq!(world.live.names("ServiceAccount"), ["capi-manager"]);
    assert_eq!(world.live.names("ConfigMap"), ["core-v1.11.0", "core-v1.12.8", "core-v1.13.4"]);

    // Nobody keeps it any more.
    world.live.put(download("v1.11.0"));
    one_pass(&world).await;
    assert_eq!(world.live.names("ConfigMap"), ["core-v1.12.8", "core-v1.13.4"]);
}
