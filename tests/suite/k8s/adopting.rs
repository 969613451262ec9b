//! Taking over what kubectl and Flux applied: managers moved, fields that Git lacks really gone.

use capstan_live::applying::{LAST_APPLIED, appliers, fields_that_go, is_applied_by_capstan};
use capstan_model::object::FieldPath;
use capstan_ports::{ApiObject, As, Contested, ManagementCluster as _, Run};
use serde_json::{Map, Value, json};

use super::{Ground, managers};

fn deployment(namespace: &str, name: &str, spec: &Value, labels: &Value) -> Value {
    let mut object = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {"selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": "one"}]}}}});
    for (key, value) in spec.as_object().unwrap() {
        object["spec"][key] = value.clone();
    }
    object
}

/// Adopts and applies as the reconciler does.
async fn adopt(ground: &Ground, wanted: &Value) -> Value {
    let by = ground.applier();
    let live = ground.live(wanted).await.unwrap();
    ground.cluster.take_over(&by, &ApiObject::of(wanted).unwrap(), &appliers(&live), &[]).await.unwrap();
    ground.cluster.apply(&by, wanted, Run::Real, Contested::Take).await.unwrap()
}

#[tokio::test]
async fn what_kubectl_applied_client_side_becomes_capstans_and_the_rest_goes() {
    let Some(ground) = Ground::prepare("from-kubectl").await else { return };
    let theirs = deployment(
        "from-kubectl",
        "web",
        &json!({"replicas": 3, "paused": true, "minReadySeconds": 7}),
        &json!({"kept": "1", "dropped": "1"}),
    );
    ground.plane.kubectl_with(&["apply", "-f", "-"], &theirs.to_string());
    let live = ground.live(&theirs).await.unwrap();
    assert_eq!(appliers(&live), ["kubectl-client-side-apply"]);
    assert!(!is_applied_by_capstan(&live));

    let wanted =
        deployment("from-kubectl", "web", &json!({"replicas": 3, "paused": true}), &json!({"kept": "1"}));
    let gone: Vec<String> =
        fields_that_go(&live, &wanted, &appliers(&live)).iter().map(ToString::to_string).collect();
    assert_eq!(gone, ["/metadata/labels/dropped", "/spec/minReadySeconds"]);

    let adopted = adopt(&ground, &wanted).await;
    assert_eq!(adopted["metadata"]["labels"], json!({"kept": "1"}));
    assert_eq!(adopted["spec"]["minReadySeconds"], Value::Null);
    assert_eq!(adopted["spec"]["replicas"], 3);
    assert_eq!(adopted["metadata"]["annotations"].get(LAST_APPLIED), None);
    assert_eq!(managers(&adopted), ["capstan Apply"]);

    let again = adopt(&ground, &wanted).await;
    assert_eq!(
        again["metadata"]["resourceVersion"], adopted["metadata"]["resourceVersion"],
        "once is enough"
    );
}

#[tokio::test]
async fn what_flux_applied_becomes_capstans_and_the_rest_goes() {
    let Some(ground) = Ground::prepare("from-flux").await else { return };
    let theirs = ground.config_map("a", &json!({"kept": "1", "dropped": "2"}));
    let flux = ["apply", "--server-side", "--field-manager=kustomize-controller", "-f", "-"];
    ground.plane.kubectl_with(&flux, &theirs.to_string());
    let live = ground.live(&theirs).await.unwrap();
    assert_eq!(appliers(&live), ["kustomize-controller"]);

    let wanted = ground.config_map("a", &json!({"kept": "changed"}));
    // Without taking over, the field that Git dropped would survive.
    let tried = ground.cluster.apply(&ground.applier(), &wanted, Run::Dry, Contested::Take).await.unwrap();
    assert_eq!(tried["data"], json!({"kept": "changed", "dropped": "2"}));
    assert_eq!(
        fields_that_go(&live, &wanted, &appliers(&live)).iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["/data/dropped"]
    );

    let adopted = adopt(&ground, &wanted).await;
    assert_eq!(adopted["data"], json!({"kept": "changed"}));
    assert_eq!(managers(&adopted), ["capstan Apply"]);
}

#[tokio::test]
async fn replicas_are_handed_to_an_autoscaler_without_a_moment_of_one() {
    let Some(ground) = Ground::prepare("autoscaled").await else { return };
    let theirs = deployment("autoscaled", "web", &json!({"replicas": 3}), &json!({}));
    ground.plane.kubectl_with(&["apply", "-f", "-"], &theirs.to_string());
    // The autoscaler writes through the scale subresource, and so becomes a manager of the field.
    ground.plane.kubectl(&["scale", "deployment/web", "-n", "autoscaled", "--replicas=5"]);
    let live = ground.live(&theirs).await.unwrap();
    let wanted = deployment("autoscaled", "web", &json!({}), &json!({}));
    let gone = fields_that_go(&live, &wanted, &appliers(&live));
    assert!(!gone.iter().any(|field| field.to_string() == "/spec/replicas"), "{gone:?}");
    let adopted = adopt(&ground, &wanted).await;
    assert_eq!(adopted["spec"]["replicas"], 5);
}

#[tokio::test]
async fn replicas_that_nobody_else_manages_yet_stay_when_they_are_let_go_of() {
    let Some(ground) = Ground::prepare("let-go").await else { return };
    let by = ground.applier();
    let replicas = [FieldPath::parse("/spec/replicas").unwrap()];
    let theirs = |name: &str| deployment("let-go", name, &json!({"replicas": 3}), &json!({}));
    let wanted = |name: &str| deployment("let-go", name, &json!({}), &json!({}));

    // Of another's entry, when the object is adopted.
    ground.plane.kubectl_with(&["apply", "-f", "-"], &theirs("adopted").to_string());
    let live = ground.live(&theirs("adopted")).await.unwrap();
    let object = ApiObject::of(&live).unwrap();
    ground.cluster.take_over(&by, &object, &appliers(&live), &replicas).await.unwrap();
    let adopted = ground.cluster.apply(&by, &wanted("adopted"), Run::Real, Contested::Take).await.unwrap();
    assert_eq!(adopted["spec"]["replicas"], 3);
    assert_eq!(adopted["spec"], live["spec"]);

    // Of Capstan's own, when Git drops the field.
    let own = ground.cluster.apply(&by, &theirs("own"), Run::Real, Contested::Take).await.unwrap();
    ground.cluster.take_over(&by, &ApiObject::of(&own).unwrap(), &[], &replicas).await.unwrap();
    let applied = ground.cluster.apply(&by, &wanted("own"), Run::Real, Contested::Take).await.unwrap();
    assert_eq!((&applied["spec"]["replicas"], &applied["metadata"]["generation"]), (&json!(3), &json!(1)));
}

#[tokio::test]
async fn nothing_to_take_over_is_nothing_done() {
    let Some(ground) = Ground::prepare("own").await else { return };
    let by = ground.applier();
    let manifest = ground.config_map("a", &json!({"a": "1"}));
    let object = ApiObject::of(&manifest).unwrap();
    ground.cluster.take_over(&by, &object, &["kubectl".to_owned()], &[]).await.unwrap();
    let applied = ground.cluster.apply(&by, &manifest, Run::Real, Contested::Refuse).await.unwrap();
    ground.cluster.take_over(&by, &object, &["kubectl".to_owned()], &[]).await.unwrap();
    assert_eq!(ground.live(&manifest).await.unwrap(), applied);
}

#[tokio::test]
async fn what_was_applied_in_an_older_version_is_taken_over_in_the_newer_one() {
    let Some(ground) = Ground::prepare("older").await else { return };
    let schema = |fields: &[&str]| {
        let fields: Map<String, Value> =
            fields.iter().map(|field| ((*field).to_owned(), json!({"type": "string"}))).collect();
        json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}})
    };
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "relics.test.capstan.dev"},
        "spec": {"group": "test.capstan.dev", "scope": "Namespaced",
            "names": {"kind": "Relic", "plural": "relics", "singular": "relic"},
            "versions": [
                {"name": "v1", "served": true, "storage": false, "schema": schema(&["kept", "dropped", "old"])},
                {"name": "v2", "served": true, "storage": true, "schema": schema(&["kept", "dropped"])}]}});
    ground.plane.apply(&definition.to_string());
    let established = ["wait", "--for=condition=Established", "--timeout=30s", "crd/relics.test.capstan.dev"];
    ground.plane.kubectl(&established);
    let relic = |version: &str, spec: Value| {
        json!({"apiVersion": format!("test.capstan.dev/{version}"), "kind": "Relic",
            "metadata": {"name": "r", "namespace": "older"}, "spec": spec})
    };
    let theirs = relic("v1", json!({"kept": "1", "dropped": "1", "old": "1"}));
    let flux = ["apply", "--server-side", "--field-manager=kustomize-controller", "-f", "-"];
    for _ in 0..100 {
        // The API answers for a new kind some moments after it was established.
        if ground.plane.try_kubectl(&flux, &theirs.to_string()).is_ok() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    let by = As::Reconciler;
    let wanted = relic("v2", json!({"kept": "1"}));
    let object = ApiObject::of(&wanted).unwrap();
    let live = ground.cluster.read(&by, &object).await.unwrap().unwrap();
    assert_eq!(appliers(&live), ["kustomize-controller"]);
    ground.cluster.take_over(&by, &object, &appliers(&live), &[]).await.unwrap();
    let adopted = ground.cluster.apply(&by, &wanted, Run::Real, Contested::Take).await.unwrap();
    assert_eq!(adopted["spec"], json!({"kept": "1"}));
    assert_eq!(managers(&adopted), ["capstan Apply"]);
    let again = ground.cluster.apply(&by, &wanted, Run::Real, Contested::Refuse).await.unwrap();
    assert_eq!(again["metadata"]["resourceVersion"], adopted["metadata"]["resourceVersion"]);
}
