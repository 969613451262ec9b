//! Services inside clusters that are switched off or gone: what is taken away, and what stays.

use std::sync::Arc;

use capstan_live::kept_tree::TreeOrigin;
use capstan_live::services::ServiceState;
use capstan_ports::KindScope;
use capstan_reconciler::reconcile::resources::ConditionType;
use serde_json::json;

use super::applying::plain;
use super::fake::FakeCluster;
use super::services::{SERVICES, come_up, named, states, with_services};
use super::world::World;

#[tokio::test]
async fn what_is_switched_off_goes_and_what_others_have_stays() {
    let world = World::new();
    with_services(&world, "peu01");
    let more = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shared}\ndata: {a: b}\n";
    world.write("gauss/peu01/services/ingress/more.yaml", more);
    world.reconcile("gauss/peu01").await;
    let workload = come_up(&world, "peu01");
    world.reconcile("gauss/peu01").await;
    workload.take_writes();
    // A field of it becomes another's, too.
    workload.put_by_kubectl(json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "shared", "namespace": "default"}, "data": {"a": "b", "c": "d"}}));

    let off = SERVICES.replace("after: [cilium]", "enabled: false");
    world.write("gauss/peu01/capstan.yaml", &off);
    *world.standing.lock().unwrap() = TreeOrigin::Kept;
    world.reconcile("gauss/peu01").await;
    assert_eq!(workload.take_writes(), [""; 0], "not on the word of a tree that may be old");
    *world.standing.lock().unwrap() = TreeOrigin::Confirmed;
    world.reconcile("gauss/peu01").await;
    assert_eq!(workload.take_writes(), ["delete Deployment default/ingress"]);
    let ingress = world.status("gauss-peu01").services[0].clone();
    assert_eq!((ingress.state, ingress.reason.as_deref()), (ServiceState::Removing, Some("ServiceKept")));
    assert!(ingress.message.unwrap().starts_with("ConfigMap default/shared: it is kept: kubectl"));
    assert_eq!(
        world.condition("gauss-peu01", ConditionType::Ready),
        "True Done",
        "what is kept holds up nothing"
    );

    workload.remove("ConfigMap", "shared");
    world.reconcile("gauss/peu01").await;
    assert_eq!(states(&world), named([("cilium", ServiceState::Ready)]));

    // No cluster can do without its network.
    world.write("gauss/peu01/capstan.yaml", "services: []\n");
    world.reconcile("gauss/peu01").await;
    assert_eq!(workload.take_writes(), [""; 0]);
    assert_eq!(states(&world), named([("cilium", ServiceState::Removing)]));
    assert!(workload.object("DaemonSet", "cilium").is_some());
}

#[tokio::test]
async fn an_object_that_a_service_brings_no_more_goes() {
    let world = World::new();
    with_services(&world, "peu01");
    world.write(
        "gauss/peu01/services/ingress/more.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\ndata: {a: b}\n",
    );
    world.reconcile("gauss/peu01").await;
    let workload = come_up(&world, "peu01");
    world.reconcile("gauss/peu01").await;
    assert!(workload.object("ConfigMap", "more").is_some());
    workload.take_writes();
    world.remove("gauss/peu01/services/ingress/more.yaml");
    world.reconcile("gauss/peu01").await;
    assert_eq!(workload.take_writes(), ["delete ConfigMap default/more"]);
    assert_eq!(world.status("gauss-peu01").services[0].inventory.objects().len(), 1);
}

#[tokio::test]
async fn what_passes_to_another_service_is_never_away() {
    let world = World::new();
    with_services(&world, "peu01");
    let more = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more, namespace: default}\ndata: {a: b}\n";
    world.write("gauss/peu01/services/ingress/more.yaml", more);
    world.reconcile("gauss/peu01").await;
    let workload = come_up(&world, "peu01");
    world.reconcile("gauss/peu01").await;
    let uid = workload.object("ConfigMap", "more").unwrap()["metadata"]["uid"].clone();
    workload.take_writes();
    world.remove("gauss/peu01/services/ingress/more.yaml");
    world.write("gauss/peu01/services/cilium/more.yaml", more);
    world.reconcile("gauss/peu01").await;
    world.reconcile("gauss/peu01").await;
    assert_eq!(workload.take_writes(), [""; 0]);
    assert_eq!(workload.object("ConfigMap", "more").unwrap()["metadata"]["uid"], uid);
    let of = |at: usize| world.status("gauss-peu01").services[at].inventory.objects().len();
    assert_eq!((of(0), of(1)), (1, 2));
    assert_eq!(world.condition("gauss-peu01", ConditionType::Ready), "True Done");
}

/// A service that has brought a namespace, and an object in it.
async fn with_shop(world: &World, own: &str) -> Arc<FakeCluster> {
    plain(world, "peu01");
    let space = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n";
    world.write("gauss/peu01/services/shop/shop.yaml", &format!("{space}---\n{own}"));
    let on = "services:\n- {name: shop, from: {folder: services/shop}}\n";
    world.write("gauss/peu01/capstan.yaml", on);
    world.reconcile("gauss/peu01").await;
    let workload = come_up(world, "peu01");
    workload.serve(&[
        ("", "Namespace", KindScope::Cluster),
        ("", "PersistentVolumeClaim", KindScope::Namespaced),
        ("example.com", "Widget", KindScope::Namespaced),
    ]);
    world.reconcile("gauss/peu01").await;
    assert!(workload.object("Namespace", "shop").is_some());
    workload.take_writes();
    workload
}

#[tokio::test]
async fn a_namespace_in_which_others_have_anything_stays() {
    let world = World::new();
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: own, namespace: shop}\ndata: {a: b}\n";
    let workload = with_shop(&world, map).await;
    // Of a kind that Capstan has never heard of; and what every namespace has, or what goes with its owner.
    let own_account = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kube-root-ca.crt", "namespace": "shop"}});
    let owned = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owned", "namespace": "shop",
        "ownerReferences": [{"apiVersion": "example.com/v1", "kind": "Widget", "name": "w"}]}});
    let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": "shop"}});
    for object in [own_account, owned, widget] {
        workload.put(object);
    }
    world.write("gauss/peu01/capstan.yaml", "services: []\n");
    let message = || world.status("gauss-peu01").services[0].message.clone().unwrap();
    world.reconcile("gauss/peu01").await;
    assert_eq!(workload.take_writes(), ["delete ConfigMap shop/own"]);
    assert_eq!(message(), "Namespace shop: it is kept: it has other objects. Delete them first");

    workload.remove("Widget", "w");
    // What somebody outside owns would go before its owner does.
    workload.put(
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "policy", "namespace": "shop",
        "ownerReferences": [{"apiVersion": "example.com/v1", "kind": "ClusterPolicy", "name": "p"}]}}),
    );
    world.reconcile("gauss/peu01").await;
    assert_eq!(workload.take_writes(), [""; 0]);
    assert_eq!(message(), "Namespace shop: it is kept: it has other objects. Delete them first");
    workload.remove("ConfigMap", "policy");

    workload.state().unread = ["example.org", "metrics.k8s.io"].map(str::to_owned).into();
    world.reconcile("gauss/peu01").await;
    assert_eq!(workload.take_writes(), [""; 0]);
    assert_eq!(
        message(),
        "Namespace shop: it is kept: its content is unknown while the API group example.org does not answer"
    );

    workload.state().unread = ["metrics.k8s.io".to_owned()].into();
    world.reconcile("gauss/peu01").await;
    assert_eq!(workload.take_writes(), ["delete Namespace shop"]);
    assert_eq!(states(&world), []);
}

#[tokio::test]
async fn a_namespace_stays_with_the_claim_of_the_service_itself_that_is_kept() {
    let world = World::new();
    let claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: shop}\nspec: {accessModes: [ReadWriteOnce]}\n";
    let workload = with_shop(&world, claim).await;
    world.write("gauss/peu01/capstan.yaml", "services: []\n");
    for _ in 0..2 {
        world.reconcile("gauss/peu01").await;
        assert_eq!(workload.take_writes(), [""; 0]);
        assert_eq!(
            world.status("gauss-peu01").services[0].message.as_deref(),
            Some(
                "PersistentVolumeClaim shop/data: it is kept: it has data. Delete it by hand if nobody needs the data"
            )
        );
    }
    // Somebody deletes it, and it goes once no pod uses it any more.
    workload.change("PersistentVolumeClaim", "data", |claim| {
        claim["metadata"]["deletionTimestamp"] = json!("2027-01-15T08:00:00Z");
    });
    world.reconcile("gauss/peu01").await;
    assert_eq!(workload.take_writes(), ["delete Namespace shop"]);
    workload.remove("PersistentVolumeClaim", "data");
    world.reconcile("gauss/peu01").await;
    assert_eq!(states(&world), []);
}
