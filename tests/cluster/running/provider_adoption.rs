//! Providers that the operator, clusterctl or kubectl installed, and that Capstan takes over once somebody says so.

use capstan_reconciler::reconcile::ReconcileEnd;
use capstan_reconciler::reconcile::resources::Adopt;
use serde_json::{Value, json};

use super::providers::{Ground, NAMESPACE, provider};
use super::world::World;
use capstan_test_parts::components::METADATA;

const COMPONENTS: &str = "\
apiVersion: v1
kind: ServiceAccount
metadata: {name: manager, namespace: own-system}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: own-controller-manager, namespace: own-system}
spec:
  replicas: 1
  selector: {matchLabels: {control-plane: own}}
  template:
    metadata: {labels: {control-plane: own}}
    spec:
      serviceAccountName: manager
      containers: [{name: manager, image: registry.example.com/own:v1.0.0}]
";

const DEPLOYMENT: &str = "own-controller-manager";

fn spec() -> Value {
    json!({"version": "v1.0.0", "fetchConfig": {"selector": {"matchLabels": {"for": "own"}}}})
}

fn config_map() -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "v1.0.0", "namespace": NAMESPACE, "labels": {"for": "own",
            "provider.cluster.x-k8s.io/version": "v1.0.0"}},
        "data": {"metadata": METADATA, "components": COMPONENTS}})
}

/// As Capstan itself would have installed them.
async fn rendered() -> Vec<Value> {
    let mut ground = Ground::new(&[]).await;
    ground.live.put(provider(spec()));
    ground.live.put(config_map());
    ground.pass().await;
    let of = |kind: &str, name: &str| {
        let mut object = ground.live.object(kind, name).unwrap();
        let metadata = object["metadata"].as_object_mut().unwrap();
        metadata.retain(|key, _| {
            !matches!(key.as_str(), "uid" | "resourceVersion" | "generation" | "managedFields")
        });
        object
    };
    vec![of("ServiceAccount", "manager"), of("Deployment", DEPLOYMENT)]
}

/// A management cluster on which somebody installed the provider.
async fn ground(manager: &str, object: Value, change: impl Fn(&mut Value)) -> Ground {
    let ground = Ground::new(&[]).await;
    ground.live.put(object);
    ground.live.put(config_map());
    for mut object in rendered().await {
        let (kind, name) = (object["kind"].as_str().unwrap().to_owned(), object["metadata"]["name"].clone());
        if kind == "Deployment" {
            change(&mut object);
            object["status"] = json!({"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1,
                "readyReplicas": 1, "availableReplicas": 1,
                "conditions": [{"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable"}]});
        }
        ground.live.put(object);
        ground.live.change(&kind, name.as_str().unwrap(), |object| {
            object["metadata"]["managedFields"][0]["manager"] = json!(manager);
        });
    }
    ground.live.take_writes();
    ground
}

/// As the operator leaves it.
fn by_operator() -> Value {
    let mut object = provider(spec());
    object["metadata"]["annotations"] = json!({"operator.cluster.x-k8s.io/applied-spec-hash": "ab"});
    object["metadata"]["finalizers"] = json!(["provider.cluster.x-k8s.io"]);
    object["status"] = json!({"installedVersion": "v1.0.0", "contract": "v1beta2"});
    object
}

fn cache() -> Value {
    json!({"apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "infrastructure-own-v1.0.0-cache", "namespace": NAMESPACE},
        "data": {"cache": "W10="}})
}

fn allow(ground: &Ground) {
    ground.live.change("InfrastructureProvider", "own", |object| {
        object["metadata"]["annotations"]["capstan.dev/adopt"] = json!("take");
    });
}

fn managers(ground: &Ground, kind: &str, name: &str) -> Vec<String> {
    let object = ground.live.object(kind, name).unwrap();
    let entries = object["metadata"]["managedFields"].as_array().unwrap();
    entries.iter().map(|entry| entry["manager"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn what_the_operator_installed_is_shown_first_and_taken_without_a_restart() {
    let mut ground = ground("capi-operator", by_operator(), |_| {}).await;
    ground.live.put(cache());
    // It is said while the operator lives, too, and nothing is written then.
    let previewed = ground.preview().await;
    assert_eq!(ground.live.take_writes(), [""; 0]);
    ground.pass().await;
    let (reason, message) = ground.condition("PreflightCheckPassed");
    assert_eq!(reason, "AdoptionNeeded", "{message}");
    assert_eq!(previewed, [("InfrastructureProvider own-system/own".to_owned(), message.clone())]);
    assert_eq!(
        message,
        "2 objects of infrastructure-own were applied by capi-operator, not by Capstan; taking them over changes only who manages their fields, and no pod is restarted. Allow it by `adopt: take`, in the Fleet's guards or \
         the ManagedCluster's spec of the set, or by the annotation `capstan.dev/adopt: take`"
    );
    let status = format!("patch InfrastructureProvider {NAMESPACE}/own");
    assert_eq!(ground.live.take_writes(), [status], "nothing but what is said");
    ground.pass().await;
    assert_eq!(ground.live.take_writes(), [""; 0]);
    assert!(ground.live.object("Secret", "infrastructure-own-v1.0.0-cache").is_some());

    let before = ground.live.object("Deployment", DEPLOYMENT).unwrap();
    allow(&ground);
    // While a cache may not be deleted, the mark stays by which it is found again.
    ground.live.state().refuses_deletion = Some("infrastructure-own-v1.0.0-cache".to_owned());
    ground.pass().await;
    assert_eq!(ground.live.names("Secret"), ["infrastructure-own-v1.0.0-cache"]);
    let object = ground.live.object("InfrastructureProvider", "own").unwrap();
    assert_eq!(object["metadata"]["annotations"]["operator.cluster.x-k8s.io/applied-spec-hash"], "ab");
    ground.live.state().refuses_deletion = None;
    ground.pass().await;
    assert_eq!(ground.condition("PreflightCheckPassed").0, "PreflightChecksPassed");
    assert_eq!(ground.condition("Ready").0, "MinimumReplicasAvailable");
    let after = ground.live.object("Deployment", DEPLOYMENT).unwrap();
    assert_eq!(after["spec"], before["spec"]);
    assert_eq!(after["metadata"]["generation"], 1, "no pod is restarted");
    assert_eq!(managers(&ground, "Deployment", DEPLOYMENT), ["capstan"]);
    assert_eq!(managers(&ground, "ServiceAccount", "manager"), ["capstan"]);
    assert_eq!(ground.live.names("Secret"), [""; 0], "rendered credentials are nobody's to keep");

    // What the operator finds when it gets the provider back: nothing to fetch, nothing to install.
    assert_eq!(ground.live.names("ConfigMap"), ["core", "v1.0.0"]);
    let object = ground.live.object("InfrastructureProvider", "own").unwrap();
    assert_eq!(object["spec"], spec());
    assert_eq!(object["status"]["installedVersion"], "v1.0.0");
    assert_eq!(object["status"]["contract"], "v1beta2");
    assert_eq!(object["metadata"]["finalizers"], json!(["provider.cluster.x-k8s.io"]));
    assert_eq!(object["metadata"]["annotations"], json!({"capstan.dev/adopt": "take"}));

    ground.live.take_writes();
    ground.pass().await;
    assert_eq!(ground.live.take_writes(), [""; 0]);
}

#[tokio::test]
async fn what_taking_over_would_change_is_named_with_the_pods_that_it_replaces() {
    // The operator keeps such fields when a spec says less.
    let mut ground = ground("capi-operator", by_operator(), |deployment| {
        deployment["spec"]["template"]["spec"]["nodeSelector"] = json!({"a": "b"});
    })
    .await;
    ground.pass().await;
    let (reason, message) = ground.condition("PreflightCheckPassed");
    assert_eq!(reason, "AdoptionNeeded", "{message}");
    let said = format!(
        "taking them over removes /spec/template/spec/nodeSelector/a of Deployment {NAMESPACE}/{DEPLOYMENT}, and the pods of Deployment {NAMESPACE}/{DEPLOYMENT} are replaced. Allow it"
    );
    assert!(message.contains(&said), "{message}");
    allow(&ground);
    ground.pass().await;
    let after = ground.live.object("Deployment", DEPLOYMENT).unwrap();
    assert_eq!(after["spec"]["template"]["spec"].get("nodeSelector").and_then(|one| one.get("a")), None);
}

#[tokio::test]
async fn clusterctls_inventory_says_which_version_an_upgrade_begins_with() {
    let mut ground = ground("clusterctl", provider(spec()), |_| {}).await;
    ground.live.put(json!({"apiVersion": "clusterctl.cluster.x-k8s.io/v1alpha3", "kind": "Provider",
        "metadata": {"name": "infrastructure-own", "namespace": NAMESPACE},
        "providerName": "own", "type": "InfrastructureProvider", "version": "v0.9.0"}));
    ground.pass().await;
    let (_, message) = ground.condition("PreflightCheckPassed");
    assert!(message.contains("were applied by clusterctl, not by Capstan"), "{message}");
    assert!(
        message.contains("; v0.9.0 is installed, and v1.0.0 follows as an upgrade. Allow it"),
        "{message}"
    );
    ground.live.take_writes();
    ground.live.change("InfrastructureProvider", "own", |object| {
        object["metadata"]["annotations"] = json!({"capstan.dev/adopt": "take"});
    });
    ground.pass().await;
    assert!(ground.live.take_writes().contains(&format!("patch Deployment {NAMESPACE}/{DEPLOYMENT}")));
    let deployment = ground.live.object("Deployment", DEPLOYMENT).unwrap();
    assert_eq!(deployment["spec"]["replicas"], 0, "the old manager goes first");
    assert_eq!(ground.installed().as_deref(), Some("v0.9.0"));
}

#[tokio::test]
async fn what_kubectl_applied_is_taken_over_with_its_fields() {
    let mut ground = ground("kubectl-client-side-apply", provider(spec()), |_| {}).await;
    ground.pass().await;
    let (_, message) = ground.condition("PreflightCheckPassed");
    assert!(message.contains("were applied by kubectl-client-side-apply, not by Capstan"), "{message}");
    ground.live.change("InfrastructureProvider", "own", |object| {
        object["metadata"]["annotations"] = json!({"capstan.dev/adopt": "take"});
    });
    ground.pass().await;
    assert_eq!(ground.installed().as_deref(), Some("v1.0.0"), "{:?}", ground.condition("ProviderInstalled"));
    assert_eq!(managers(&ground, "ServiceAccount", "manager"), ["capstan"]);
    assert_eq!(ground.live.object("Deployment", DEPLOYMENT).unwrap()["metadata"]["generation"], 1);
}

/// The Fleet's `adopt` reaches the installer as an annotation of the provider objects.
#[tokio::test]
async fn a_fleet_that_takes_over_says_so_on_the_sets_provider_objects() {
    for (adopt, expected) in [(Adopt::Take, Some("take")), (Adopt::Preview, None)] {
        let world = World::new();
        let settings =
            format!("{}  providers: {{path: mc/providers, by: capstan}}\n", super::world::SETTINGS);
        world.write(".capstan.yaml", &settings);
        let object = "apiVersion: operator.cluster.x-k8s.io/v1alpha2\nkind: InfrastructureProvider\nmetadata: {name: own, namespace: org}\nspec: {version: v1.0.0, fetchConfig: {oci: r.example/own}}\n";
        world.write("mc/providers/base/a.yaml", object);
        world.fleet.lock().unwrap().spec.guards.adopt = adopt;
        let outcome = world.reconcile("mc/providers").await;
        assert!(matches!(outcome.ended, ReconcileEnd::Applied), "{:?}", outcome.ended);
        let live = world.live.object("InfrastructureProvider", "own").unwrap();
        assert_eq!(live["metadata"]["annotations"]["capstan.dev/adopt"].as_str(), expected);
        world.live.take_writes();
        world.reconcile("mc/providers").await;
        assert_eq!(world.live.take_writes(), [""; 0], "it is no drift");
    }
}
