//! Heads with a provider set that are tried before the merge.

use std::sync::Arc;

use capstan_k8s::KubeCluster;
use capstan_ports::{KindScope, ManagementCluster, SystemClock};
use capstan_reconciler::gate::Gate;
use capstan_reconciler::reconcile::Ports;
use capstan_reconciler::reconcile::ports::{PreflightAnswer, PreflightVerdict};
use capstan_reconciler::reconcile::preflight::preflight;
use capstan_test_support::tally;
use serde_json::{Value, json};

use super::providers::downloads;
use super::world::{SETTINGS, World, id, question};
use capstan_test_parts::components::serving::{Serving, answer};
use capstan_test_parts::plane::reconciler::{HOME, deployed, install};
use capstan_test_parts::plane::{Parts, Plane};

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
        ("operator.cluster.x-k8s.io", "InfrastructureProvider", KindScope::Namespaced),
        ("apiextensions.k8s.io", "CustomResourceDefinition", KindScope::Cluster),
        ("own.example.com", "Widget", KindScope::Namespaced),
        ("", "ServiceAccount", KindScope::Namespaced),
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
    judge_with(world, &world.ports()).await
}

async fn judge_with(world: &World, ports: &Ports) -> PreflightAnswer {
    let head = world.revision().await;
    let fleet = world.fleet.lock().unwrap().clone();
    preflight(ports, &fleet, &head, &question(&head, &[id(SET)]), &[]).await.remove(0)
}

/// The components beside the ServiceAccount, without a definition: so that nothing else is to be said.
fn components(more: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: manager, namespace: acme-system}}\n{more}"
    )
}

/// A ConfigMap that no file has.
fn live_map(components: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "v1.0.0", "namespace": "acme-system", "labels": {"for": "acme"}},
        "data": {"metadata": "releaseSeries: [{major: 1, minor: 0, contract: v1beta2}]",
            "components": components}})
}

/// A set by Capstan whose components only the management cluster has.
fn world_with(components: &str) -> World {
    let world = world("capstan");
    world.remove(&format!("{SET}/base/maps.yaml"));
    world.live.put(live_map(components));
    world
}

const CERTIFICATE: &str = "---\napiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: serving, namespace: acme-system}\nspec: {secretName: serving, dnsNames: [a.acme-system.svc], issuerRef: {name: own}}\n";

fn reasons_of(answer: &PreflightAnswer) -> Vec<(&'static str, String)> {
    answer.reasons.iter().map(|reason| (reason.kind, reason.message.clone())).collect()
}

#[tokio::test]
async fn objects_stored_in_a_removed_version_are_reported_before_the_merge() {
    for (by, verdict, what) in [
        ("capstan", PreflightVerdict::Accepted, "Capstan migrates it before it changes the definition"),
        ("operator", PreflightVerdict::Rejected, "migrate it first"),
    ] {
        let world = world(by);
        let answer = judge(&world).await;
        let told = reasons_of(&answer);
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
async fn rights_that_the_installer_lacks_prevent_the_merge() {
    let world = world("capstan");
    grant(&world, "acme-system", &["create", "get", "list", "patch", "watch"]);
    let answer = judge(&world).await;
    assert_eq!(answer.verdict, PreflightVerdict::Rejected);
    let told = reasons_of(&answer);
    let lacks = told.iter().filter(|(kind, _)| *kind == "RightsMissing");
    let lacks: Vec<&str> = lacks.map(|(_, message)| message.split_once(" lacks ").unwrap().1).collect();
    assert!(
        lacks.contains(&"`delete of serviceaccounts manager in acme-system`: apply what `capstan providers rights` prints before the merge"),
        "{told:?}"
    );
}

#[tokio::test]
async fn missing_components_give_no_verdict() {
    let world = world("operator");
    world.remove(&format!("{SET}/base/maps.yaml"));
    let answer = judge(&world).await;
    assert_eq!(answer.verdict, PreflightVerdict::NotVerifiable);
    assert_eq!(reasons_of(&answer)[0].0, "ComponentsUnknown", "{:?}", reasons_of(&answer));
}

#[tokio::test]
async fn components_of_live_config_maps_are_tried_object_by_object() {
    let world = world_with(&components(""));
    assert_eq!(
        (judge(&world).await.verdict, reasons_of(&judge(&world).await)),
        (PreflightVerdict::Accepted, vec![])
    );
    world.live.webhook(|_, object| {
        (object["kind"] == "ServiceAccount").then(|| (422, "the manager is not welcome".to_owned()))
    });
    let answer = judge(&world).await;
    assert_eq!(answer.verdict, PreflightVerdict::Rejected);
    let [reason] = answer.reasons.as_slice() else { panic!("{:?}", reasons_of(&answer)) };
    assert_eq!(reason.message, "of infrastructure-acme: the manager is not welcome");
    assert_eq!(reason.object.as_ref().unwrap().to_string(), "ServiceAccount acme-system/manager");
    let place = reason.place.as_ref().unwrap().file().to_string();
    assert_eq!(place, format!("{SET}/base/a.yaml"), "what asks for it");
    assert_eq!(world.live.take_writes(), Vec::<String>::new());
}

#[tokio::test]
async fn cert_manager_is_missed_before_the_merge() {
    let world = world_with(&components(CERTIFICATE));
    let answer = judge(&world).await;
    assert_eq!(answer.verdict, PreflightVerdict::Rejected);
    let all = reasons_of(&answer);
    let [(kind, message)] = all.as_slice() else { panic!("{all:?}") };
    assert_eq!(*kind, "CertManagerMissing");
    assert!(
        message.starts_with("cert-manager's definitions are not there (Certificate acme-system/serving: "),
        "{message}"
    );
    assert!(message.ends_with("install cert-manager first"), "{message}");

    let certificate = ("cert-manager.io".to_owned(), "Certificate".to_owned());
    world.live.state().kinds.insert(certificate, KindScope::Namespaced);
    assert_eq!(judge(&world).await.verdict, PreflightVerdict::Accepted);
    let refusal = "failed calling webhook \"webhook.cert-manager.io\": connection refused";
    world.live.webhook(|_, object| (object["kind"] == "Certificate").then(|| (500, refusal.to_owned())));
    let answer = judge(&world).await;
    assert_eq!(
        (answer.verdict, reasons_of(&answer)[0].0),
        (PreflightVerdict::NotVerifiable, "CertManagerNotReady")
    );
}

#[tokio::test]
async fn the_live_config_secret_says_which_variables_have_values() {
    let world = world_with(&components(
        "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: own, namespace: acme-system}\ndata: {zone: \"${ZONE}\"}\n",
    ));
    let object = PROVIDER.replace("  version: v1.0.0\n", "  version: v1.0.0\n  configSecret: {name: keys}\n");
    world.write(&format!("{SET}/base/a.yaml"), &object);
    let answer = judge(&world).await;
    let kinds: Vec<&str> = reasons_of(&answer).iter().map(|(kind, _)| *kind).collect();
    assert_eq!(answer.verdict, PreflightVerdict::NotVerifiable);
    assert_eq!(kinds, ["provider-variable-unbound", "VariablesUnknown"]);

    let secret = |data: Value| {
        json!({"apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": "keys", "namespace": "acme-system"}, "data": data})
    };
    world.live.put(secret(json!({"OTHER": "YQ=="})));
    let answer = judge(&world).await;
    assert_eq!(answer.verdict, PreflightVerdict::Rejected);
    assert!(
        reasons_of(&answer)[0]
            .1
            .contains("needs `ZONE`, but neither its config Secret nor a default sets it")
    );
    world.live.put(secret(json!({"ZONE": "YQ=="})));
    let answer = judge(&world).await;
    assert_eq!((answer.verdict, reasons_of(&answer)), (PreflightVerdict::Accepted, vec![]));
}

#[tokio::test]
async fn what_is_published_is_fetched_and_tried_and_not_kept() {
    const PATH: &str = "/api/v4/projects/1/packages/generic/own/v1.0.0/infrastructure-components.yaml";
    let server = Serving::start(|path| match path.ends_with("metadata.yaml") {
        true => answer(200, &[], "releaseSeries: [{major: 1, minor: 0, contract: v1beta2}]\n"),
        false => answer(200, &[], components("")),
    })
    .await;
    let world = world("capstan");
    world.remove(&format!("{SET}/base/maps.yaml"));
    let address = format!("{{url: 'http://{}{PATH}'}}", server.host);
    world.write(
        &format!("{SET}/base/a.yaml"),
        &PROVIDER.replace("{selector: {matchLabels: {for: acme}}}", &address),
    );
    let answer = judge(&world).await;
    assert_eq!(answer.verdict, PreflightVerdict::NotVerifiable);
    let (kind, message) = &reasons_of(&answer)[0];
    assert!(
        *kind == "ComponentsUnknown" && message.contains("add it to its setting `provider-hosts`"),
        "{message}"
    );
    assert_eq!(server.asked(), [""; 0]);

    *world.downloads.lock().unwrap() = downloads(&[&server.host], Arc::new(SystemClock));
    let answer = judge(&world).await;
    assert_eq!((answer.verdict, reasons_of(&answer)), (PreflightVerdict::Accepted, vec![]));
    judge(&world).await;
    assert_eq!(server.asked().len(), 2, "once for both files");
    assert_eq!(world.live.take_writes(), Vec::<String>::new());
    assert_eq!(world.live.names("ConfigMap"), [""; 0]);

    // Other components than those that the set records.
    let record =
        format!("components:\n  infrastructure-acme:\n    version: v1.0.0\n    sha256: {}\n", "0".repeat(64));
    world.write(&format!("{SET}/capstan.yaml"), &record);
    let answer = judge(&world).await;
    assert_eq!(answer.verdict, PreflightVerdict::Rejected);
    assert_eq!(reasons_of(&answer)[0].0, "provider-digest-differs", "{:?}", reasons_of(&answer));
}

/// A real API server: its Kubernetes, its definitions, its own answers to what only its ConfigMaps hold.
#[tokio::test]
async fn a_real_api_server_says_what_no_file_can() {
    let Some(plane) = Plane::start(Parts::Kubernetes) else { return };
    install(&plane);
    let printed = tally::command(env!("CARGO_BIN_EXE_capstan")).args(["crds", "--providers"]).output();
    plane.apply(std::str::from_utf8(&printed.unwrap().stdout).unwrap());
    plane.kubectl(&["wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"]);
    plane.apply(&deployed("providers/rbac.yaml"));
    plane.apply("{apiVersion: v1, kind: Namespace, metadata: {name: capi-system}}");
    let account = format!("--serviceaccount={HOME}:capstan-providers");
    plane.kubectl(&["create", "clusterrolebinding", "all", "--clusterrole=cluster-admin", &account]);
    let deployment = |policy: &str| {
        format!(
            "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: own, namespace: x}}\nspec:\n  selector: {{matchLabels: {{a: b}}}}\n  template:\n    metadata: {{labels: {{a: b}}}}\n    spec: {{restartPolicy: {policy}, containers: [{{name: manager, image: registry.example.com/own:v1}}]}}\n"
        )
    };
    let publish = |version: &str, text: &str| {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": version, "namespace": "capi-system", "labels": {"for": "core"}},
            "data": {"metadata": "releaseSeries: [{major: 1, minor: 12, contract: v1beta2}]",
                "components": components(text)}});
        plane.apply(&map.to_string());
    };
    publish("v1.12.0", &format!("{CERTIFICATE}{}", deployment("Sometimes")));
    publish("v1.12.8", &deployment("Always"));

    let world = World::new();
    world.live.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "capi-system"}}));
    world.write(".capstan.yaml", &format!("{SETTINGS}  providers: {{path: {SET}, by: capstan}}\n"));
    let ask = |version: &str| {
        let object = format!(
            "apiVersion: operator.cluster.x-k8s.io/v1alpha2\nkind: CoreProvider\nmetadata: {{name: cluster-api, namespace: capi-system}}\nspec:\n  version: {version}\n  fetchConfig: {{selector: {{matchLabels: {{for: core}}}}}}\n"
        );
        world.write(&format!("{SET}/base/a.yaml"), &object);
    };
    let connection = capstan_k8s::connect(Some(&plane.admin_kubeconfig())).await.unwrap();
    let live: Arc<dyn ManagementCluster> = Arc::new(KubeCluster::new(&connection));
    let ports = Ports { live: Arc::new(Gate::new(live, 8)), kinds: Arc::default(), ..world.ports() };

    ask("v1.12.0");
    let answer = judge_with(&world, &ports).await;
    assert_eq!(answer.verdict, PreflightVerdict::Rejected);
    let all = reasons_of(&answer);
    for (kind, said) in [
        ("provider-kubernetes", "which supports 1.36 only from v1.12.8 on"),
        ("CertManagerMissing", "install cert-manager first"),
        ("Invalid", "restartPolicy"),
    ] {
        assert!(
            all.iter().any(|(found, message)| *found == kind && message.contains(said)),
            "{kind}: {all:?}"
        );
    }
    assert_eq!(all.len(), 3, "{all:?}");
    let written = plane.kubectl(&["get", "deployments,serviceaccounts", "-n", "capi-system", "-o", "name"]);
    assert!(!written.contains("manager") && !written.contains("own"), "{written}");

    ask("v1.12.8");
    let answer = judge_with(&world, &ports).await;
    assert_eq!((answer.verdict, reasons_of(&answer)), (PreflightVerdict::Accepted, vec![]));
}
