//! Heads with a provider set that are tried before the merge.

use capstan::app::ports::Scope;
use capstan::app::reconcile::ports::{PreflightAnswer, PreflightVerdict};
use capstan::app::reconcile::preflight::preflight;
use serde_json::json;

use super::world::{SETTINGS, World, id};

const SET: &str = "mc-eu/providers";
const PROVIDER: &str = "apiVersion: operator.cluster.x-k8s.io/v1alpha2\nkind: InfrastructureProvider\nmetadata: {name: acme, namespace: acme-system}\nspec:\n  version: v1.0.0\n  fetchConfig: {selector: {matchLabels: {for: acme}}}\n";
const COMPONENTS: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: v1.0.0, namespace: acme-system, labels: {for: acme}}\ndata:\n  metadata: \"releaseSeries: [{major: 1, minor: 0, contract: v1beta2}]\"\n  components: |\n    apiVersion: apiextensions.k8s.io/v1\n    kind: CustomResourceDefinition\n    metadata: {name: widgets.own.example.com}\n    spec:\n      group: own.example.com\n      names: {kind: Widget, plural: widgets}\n      scope: Namespaced\n      versions:\n      - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}\n    ---\n    apiVersion: v1\n    kind: ServiceAccount\n    metadata: {name: manager, namespace: acme-system}\n";

/// A set that these apply, on a management cluster that has an older version of its definition.
fn world(by: &str) -> World {
    let world = World::new();
    world.write(".capstan.yaml", &format!("{SETTINGS}  providers: {{path: {SET}, by: {by}}}\n"));
    world.write(&format!("{SET}/base/a.yaml"), PROVIDER);
    world.write(&format!("{SET}/base/maps.yaml"), COMPONENTS);
    for (group, kind, scope) in [
        ("operator.cluster.x-k8s.io", "InfrastructureProvider", Scope::Namespaced),
        ("apiextensions.k8s.io", "CustomResourceDefinition", Scope::Cluster),
        ("own.example.com", "Widget", Scope::Namespaced),
    ] {
        world.live.state().kinds.insert((group.to_owned(), kind.to_owned()), scope);
    }
    for object in [
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "acme-system"}}),
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.own.example.com"},
            "spec": {
                "group": "own.example.com",
                "names": {"kind": "Widget", "plural": "widgets"},
                "versions": [{"name": "v1alpha1"}, {"name": "v1"}],
            },
            "status": {"storedVersions": ["v1alpha1", "v1"]},
        }),
        json!({
            "apiVersion": "own.example.com/v1alpha1",
            "kind": "Widget",
            "metadata": {"name": "one", "namespace": "acme-system"},
        }),
    ] {
        world.live.put(object);
    }
    for namespace in ["acme-system", "kube-public"] {
        grant(&world, namespace, &["*"]);
    }
    world
}

fn grant(world: &World, namespace: &str, verbs: &[&str]) {
    let rule = json!({"apiGroups": ["*"], "resources": ["*"], "verbs": verbs});
    world.live.state().rights.insert(namespace.to_owned(), vec![rule]);
}

async fn judge(world: &World) -> PreflightAnswer {
    let head = world.revision().await;
    let fleet = world.fleet.lock().unwrap().clone();
    preflight(&world.ports(), &fleet, &head, &[id(SET)], &[]).await.remove(0)
}

fn told(answer: &PreflightAnswer) -> Vec<(&'static str, String)> {
    answer.reasons.iter().map(|reason| (reason.kind, reason.message.clone())).collect()
}

#[tokio::test]
async fn what_is_stored_in_a_version_that_goes_is_told_before_the_merge() {
    for (by, verdict, what) in [
        ("capstan", PreflightVerdict::Accepted, "Capstan migrates it before it changes the definition"),
        ("operator", PreflightVerdict::Rejected, "migrate it first"),
    ] {
        let world = world(by);
        let answer = judge(&world).await;
        let told = told(&answer);
        for said in [
            "the management cluster has v1alpha1 in `status.storedVersions` of widgets.own.example.com",
            "1 object on the management cluster has fields managed in v1alpha1 of widgets.own.example.com",
        ] {
            let is_it = |(kind, message): &&(&str, String)| {
                *kind == "provider-api-in-use" && message.starts_with(said) && message.ends_with(what)
            };
            assert!(told.iter().any(|one| is_it(&one)), "{by}: {told:?}");
        }
        assert_eq!((answer.verdict, told.len()), (verdict, 2), "{by}: {told:?}");
        assert_eq!(world.live.take_writes(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn rights_that_the_installer_lacks_stand_in_the_way_of_the_merge() {
    let world = world("capstan");
    grant(&world, "acme-system", &["create", "get", "list", "patch", "watch"]);
    let answer = judge(&world).await;
    assert_eq!(answer.verdict, PreflightVerdict::Rejected);
    let told = told(&answer);
    let lacks = told.iter().filter(|(kind, _)| *kind == "RightsMissing");
    let lacks: Vec<&str> = lacks.map(|(_, message)| message.split_once(" lacks ").unwrap().1).collect();
    assert!(
        lacks.contains(&"`delete of serviceaccounts manager in acme-system`: apply what `capstan providers rights` prints before the merge"),
        "{told:?}"
    );
}

#[tokio::test]
async fn what_is_not_at_hand_is_no_yes() {
    let world = world("operator");
    world.remove(&format!("{SET}/base/maps.yaml"));
    let answer = judge(&world).await;
    assert_eq!(answer.verdict, PreflightVerdict::NotVerifiable);
    assert_eq!(told(&answer)[0].0, "ComponentsUnknown", "{:?}", told(&answer));
}
