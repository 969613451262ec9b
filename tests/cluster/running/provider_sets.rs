//! The provider set of the management cluster: applied like a folder, as an account of its own, judged by provider objects
//! and workloads.

use capstan_model::object::ObjectId;
use capstan_reconciler::reconcile::ReconcileEnd;
use capstan_reconciler::reconcile::resources::{ConditionType, RolloutState};
use serde_json::{Value, json};

use super::world::World;

const SET: &str = "mc/providers";
const NAME: &str = "mc-providers";

/// A set of core alone, at a version, with its components beside it.
fn base(version: &str) -> String {
    format!(
        "apiVersion: operator.cluster.x-k8s.io/v1alpha2\nkind: CoreProvider\n\
         metadata: {{name: cluster-api, namespace: org}}\nspec: {{version: {version}}}\n---\n\
         apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: core-{version}, namespace: org}}\ndata: {{metadata: a}}\n"
    )
}

/// A world whose management cluster has a set that is applied so.
fn world(by: &str) -> World {
    let world = World::new();
    settle(&world, by);
    world.write(&format!("{SET}/base/providers.yaml"), &base("v1.12.8"));
    world
}

fn settle(world: &World, by: &str) {
    let settings = format!(
        "managementClusters:\n- name: mc-eu\n  uid: {}\n  clusters: ['*/*']\n  providers: {{path: {SET}, by: {by}}}\n",
        super::world::UID
    );
    world.write(".capstan.yaml", &settings);
}

/// An operator that runs, or was scaled down.
fn operator(replicas: u32) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "capi-operator", "namespace": "operators", "labels": {
            "clusterctl.cluster.x-k8s.io/core": "capi-operator", "control-plane": "controller-manager"}},
        "spec": {"replicas": replicas}})
}

/// What an operator says of core when it has installed a version.
fn installed(world: &World, version: &str) {
    let condition = |kind: &str| {
        json!({"type": kind, "status": "True", "reason": kind, "message": "",
            "lastTransitionTime": "2027-01-15T07:00:00Z"})
    };
    world.live.change("CoreProvider", "cluster-api", |core| {
        core["status"] = json!({
            "observedGeneration": core["metadata"]["generation"], "installedVersion": version, "contract": "v1beta2",
            "conditions": [condition("PreflightCheckPassed"), condition("ProviderInstalled"), condition("Ready")],
        });
    });
}

/// The manager's Deployment, with so many pods up to date.
fn manager(world: &World, updated: u32) {
    world.live.put(json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "capi-controller-manager", "namespace": "org", "generation": 1,
            "labels": {"cluster.x-k8s.io/provider": "cluster-api"}},
        "spec": {"replicas": 1},
        "status": {"observedGeneration": 1, "replicas": 1, "updatedReplicas": updated, "availableReplicas": 1,
            "conditions": [{"type": "Available", "status": "True"}]}}));
}

async fn rollout(world: &World) -> (RolloutState, String) {
    let outcome = world.reconcile(SET).await;
    assert!(matches!(outcome.ended, ReconcileEnd::Applied), "{:?}", outcome.ended);
    let rollout = outcome.status.rollout.unwrap();
    (rollout.state, rollout.message.unwrap_or_default())
}

#[tokio::test]
async fn an_operators_set_is_applied_and_judged_by_what_runs() {
    let world = world("operator");
    world.live.put(operator(1));
    let waiting = "CoreProvider org/cluster-api: rolling: its current generation was not observed yet";
    assert_eq!(rollout(&world).await, (RolloutState::Rolling, waiting.to_owned()));
    let core = world.live.object("CoreProvider", "cluster-api").unwrap();
    assert_eq!(core["spec"], json!({"version": "v1.12.8"}));
    assert!(world.live.object("ConfigMap", "core-v1.12.8").is_some());

    installed(&world, "v1.12.8");
    manager(&world, 1);
    assert_eq!(rollout(&world).await.0, RolloutState::Done);
    assert_eq!(world.condition(NAME, ConditionType::Ready), "True Done");
    world.live.take_writes();
    rollout(&world).await;
    assert_eq!(world.live.take_writes(), [""; 0], "a look that finds nothing to do writes nothing");

    // The next version: green all over, and nobody has looked.
    world.write(&format!("{SET}/base/providers.yaml"), &base("v1.13.4"));
    assert_eq!(rollout(&world).await.0, RolloutState::Rolling);
    installed(&world, "v1.13.4");
    manager(&world, 0);
    let words = "CoreProvider org/cluster-api: rolling: Deployment org/capi-controller-manager: 0 of 1 pods are up to \
                 date and available";
    assert_eq!(rollout(&world).await, (RolloutState::Rolling, words.to_owned()));
    manager(&world, 1);
    assert_eq!(rollout(&world).await.0, RolloutState::Done);
    let report = world.bot.reports.lock().unwrap().last().unwrap().clone();
    assert_eq!(report.cluster.as_str(), SET);
    assert_eq!(report.verdict.unwrap().sentence(), "every provider is up to date");
}

#[tokio::test]
async fn nothing_of_a_set_is_deleted_without_a_tombstone() {
    let world = world("operator");
    world.live.put(operator(1));
    rollout(&world).await;
    installed(&world, "v1.12.8");
    manager(&world, 1);
    // The old components, which nothing names, and a provider.
    let aws = "---\napiVersion: operator.cluster.x-k8s.io/v1alpha2\nkind: InfrastructureProvider\n\
               metadata: {name: aws, namespace: org}\n";
    let both = format!("{}{aws}", base("v1.13.4"));
    world.write(&format!("{SET}/base/providers.yaml"), &both);
    world.reconcile(SET).await;
    assert!(world.live.object("ConfigMap", "core-v1.12.8").is_some());
    world.write(&format!("{SET}/base/providers.yaml"), &base("v1.13.4"));
    world.reconcile(SET).await;
    assert!(world.live.object("InfrastructureProvider", "aws").is_some());
    let kept: Vec<String> = world.status(NAME).kept.iter().map(|kept| kept.object.clone().unwrap()).collect();
    assert_eq!(kept, ["ConfigMap org/core-v1.12.8", "InfrastructureProvider org/aws"]);

    let tombstones =
        "delete:\n- {kind: ConfigMap, name: core-v1.12.8}\n- {kind: InfrastructureProvider, name: aws}\n";
    world.write(&format!("{SET}/capstan.yaml"), tombstones);
    // One goes before the other.
    world.reconcile(SET).await;
    world.reconcile(SET).await;
    assert_eq!(world.live.names("InfrastructureProvider"), [""; 0]);
    assert_eq!(world.live.names("ConfigMap"), ["core-v1.13.4"]);
    assert_eq!(world.live.names("CoreProvider"), ["cluster-api"]);

    world.write(&format!("{SET}/capstan.yaml"), "delete: cluster\n");
    let ReconcileEnd::Refused(reasons) = world.reconcile(SET).await.ended else { panic!("not refused") };
    assert!(reasons[0].message.contains("write a tombstone for each provider"), "{reasons:?}");
    assert_eq!(world.live.names("CoreProvider"), ["cluster-api"]);
}

#[tokio::test]
async fn a_definition_goes_by_a_tombstone_of_its_own_with_no_object_left() {
    let world = world("operator");
    world.live.put(operator(1));
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "pools.ipam.example", "labels": {"cluster.x-k8s.io/provider": "ipam-in-cluster"}},
        "spec": {"group": "ipam.example", "names": {"kind": "Pool", "plural": "pools"}}});
    let pool = json!({"apiVersion": "ipam.example/v1", "kind": "Pool",
        "metadata": {"name": "one", "namespace": "org"}});
    let stranger = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "certificates.cert-manager.io"}, "spec": {"group": "cert-manager.io",
            "names": {"kind": "Certificate", "plural": "certificates"}}});
    [definition, pool, stranger].into_iter().for_each(|object| world.live.put(object));
    world.write(
        &format!("{SET}/capstan.yaml"),
        "delete:\n- {kind: CustomResourceDefinition, name: pools.ipam.example}\n- {kind: CustomResourceDefinition, name: certificates.cert-manager.io}\n",
    );
    world.reconcile(SET).await;
    let kept: Vec<String> = world.status(NAME).kept.into_iter().map(|kept| kept.message).collect();
    assert_eq!(
        kept,
        [
            "CustomResourceDefinition pools.ipam.example stays: 1 object of pools.ipam.example exists (org/one): delete them first",
            "CustomResourceDefinition certificates.cert-manager.io has no label `cluster.x-k8s.io/provider`: it belongs to no provider, and stays",
        ]
    );
    world.live.remove("Pool", "one");
    world.reconcile(SET).await;
    assert_eq!(world.live.names("CustomResourceDefinition"), ["certificates.cert-manager.io"]);
}

#[tokio::test]
async fn capstan_installs_nothing_while_an_operator_lives() {
    let world = world("capstan");
    world.live.put(operator(1));
    let outcome = world.reconcile(SET).await;
    let ReconcileEnd::Refused(reasons) = outcome.ended else { panic!("{:?}", outcome.ended) };
    assert_eq!(reasons[0].kind, "OwnedElsewhere");
    assert_eq!(
        reasons[0].message,
        "the Cluster API operator installs providers here: Deployment operators/capi-operator (its Lease has no holder: \
         operators/controller-leader-election-capi-operator). Scale it to 0 and wait until its Lease expires, or set `by: operator`"
    );
    assert_eq!(world.condition(NAME, ConditionType::Refused), "True OwnedElsewhere");
    assert_eq!(world.live.object("CoreProvider", "cluster-api"), None);

    // Beside it the outcome lists what taking over would change, for this set's providers only.
    let id = |name: &str| ObjectId {
        group: "operator.cluster.x-k8s.io".to_owned(),
        kind: "CoreProvider".to_owned(),
        namespace: Some("org".to_owned()),
        name: name.to_owned(),
    };
    let told = |name: &str| (id(name), format!("26 objects of {name}"));
    world.operators.note_previews([told("cluster-api"), told("other")].into());
    let outcome = world.reconcile(SET).await;
    let ReconcileEnd::Refused(reasons) = outcome.ended else { panic!("{:?}", outcome.ended) };
    let told: Vec<_> = reasons.iter().map(|one| (one.kind, one.object.clone())).collect();
    assert_eq!(told, [("OwnedElsewhere", None), ("AdoptionPreview", Some(id("cluster-api")))]);
    assert_eq!(reasons[1].message, "26 objects of cluster-api");

    world.live.put(operator(0));
    rollout(&world).await;
    assert!(world.live.object("CoreProvider", "cluster-api").is_some());
}

#[tokio::test]
async fn a_set_without_its_operator_says_so() {
    let world = world("operator");
    let (state, words) = rollout(&world).await;
    assert_eq!(state, RolloutState::Stuck);
    assert_eq!(
        words,
        "CoreProvider org/cluster-api: stuck: no Cluster API operator runs here, but .capstan.yaml says `by: operator`: start it, or write `by: capstan`"
    );
}

#[tokio::test]
async fn others_set_is_left_alone_and_said_so() {
    let world = world("others");
    let revision = world.revision().await;
    assert_eq!(revision.clusters().count(), 0, "no pattern fits it");
    assert_eq!(revision.left_out(), Some("the provider set mc/providers is left to others (`by: others`)"));
    settle(&world, "operator");
    let revision = world.revision().await;
    assert_eq!(revision.clusters().map(|id| id.as_str()).collect::<Vec<_>>(), [SET]);
    assert_eq!(revision.left_out(), None);
}
