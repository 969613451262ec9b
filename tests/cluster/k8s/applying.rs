//! Reading, trying, applying.

use capstan_live::applying::{RefusalKind, sent_new};
use capstan_ports::{ApiKind, ApiObject, As, Contested, KindScope, LiveError, ManagementCluster as _, Run};
use serde_json::{Value, json};

use super::{Ground, config_map, managers};

fn refused(result: Result<Value, LiveError>) -> (RefusalKind, String) {
    let error = result.unwrap_err();
    let refusal = error.refusal().unwrap_or_else(|| panic!("{error}"));
    (refusal.kind, error.to_string())
}

#[tokio::test]
async fn a_dry_run_changes_nothing_and_an_apply_is_capstans_alone() {
    let Some(ground) = Ground::prepare("applying").await else { return };
    let by = ground.applier();
    let manifest = ground.config_map("plain", &json!({"a": "1"}));

    let tried = ground.cluster.apply(&by, &manifest, Run::Dry, Contested::Refuse).await.unwrap();
    assert_eq!(tried["data"], json!({"a": "1"}));
    assert_eq!(ground.live(&manifest).await, None);

    let applied = ground.cluster.apply(&by, &manifest, Run::Real, Contested::Refuse).await.unwrap();
    assert_eq!(managers(&applied), ["capstan Apply"]);
    let again = ground.cluster.apply(&by, &manifest, Run::Real, Contested::Refuse).await.unwrap();
    assert_eq!(
        again["metadata"]["resourceVersion"], applied["metadata"]["resourceVersion"],
        "a no-op writes nothing"
    );

    let changed = ground.config_map("plain", &json!({"b": "2"}));
    let applied = ground.cluster.apply(&by, &changed, Run::Real, Contested::Refuse).await.unwrap();
    assert_eq!(applied["data"], json!({"b": "2"}), "what is named no longer goes");
}

#[tokio::test]
async fn what_is_new_is_made_once_and_written_over_nobody() {
    let Some(ground) = Ground::prepare("new-objects").await else { return };
    let by = ground.applier();
    let apply = async |manifest: &Value| {
        ground.cluster.apply(&by, &sent_new(manifest), Run::Real, Contested::Take).await
    };
    let stale = ground.config_map("new", &json!({"a": "stale"}));
    let newer = ground.config_map("new", &json!({"a": "newer"}));
    let made = apply(&newer).await.unwrap();
    assert_eq!(managers(&made), ["capstan Apply"]);
    let (kind, words) = refused(apply(&stale).await);
    assert_eq!(kind, RefusalKind::Conflict, "{words}");
    assert_eq!(ground.live(&stale).await.unwrap()["data"], json!({"a": "newer"}));
}

#[tokio::test]
async fn the_service_accounts_rights_are_the_ones_that_count() {
    let Some(ground) = Ground::prepare("rights").await else { return };
    let elsewhere = config_map("default", "stray", &json!({}));
    let (kind, words) =
        refused(ground.cluster.apply(&ground.applier(), &elsewhere, Run::Dry, Contested::Refuse).await);
    assert_eq!(kind, RefusalKind::Forbidden);
    assert!(
        words.starts_with(
            "trying to apply ConfigMap default/stray as system:serviceaccount:rights:capstan-applier: "
        ),
        "{words}"
    );
    let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": "rights-everything"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": "capstan-applier", "namespace": "rights"}]});
    let (kind, _) =
        refused(ground.cluster.apply(&ground.applier(), &binding, Run::Real, Contested::Take).await);
    assert_eq!(kind, RefusalKind::Forbidden);
    assert_eq!(ground.live(&binding).await, None);
}

#[tokio::test]
async fn somebody_elses_field_is_contested_and_can_be_taken() {
    let Some(ground) = Ground::prepare("contested").await else { return };
    let manifest = ground.config_map("shared", &json!({"a": "theirs"}));
    ground.plane.apply(&manifest.to_string());
    let ours = ground.config_map("shared", &json!({"a": "ours"}));
    let (kind, words) =
        refused(ground.cluster.apply(&ground.applier(), &ours, Run::Dry, Contested::Refuse).await);
    assert_eq!(kind, RefusalKind::Contested, "{words}");
    assert!(words.contains("data.a") && words.contains("admin"), "{words}");
    let taken = ground.cluster.apply(&ground.applier(), &ours, Run::Real, Contested::Take).await.unwrap();
    assert_eq!(taken["data"], json!({"a": "ours"}));
}

#[tokio::test]
async fn an_apply_that_fails_is_reported_by_its_kind() {
    let Some(ground) = Ground::prepare("refusals").await else { return };
    let by = ground.applier();
    let apply = |manifest: Value| {
        let (cluster, by) = (ground.cluster.clone(), by.clone());
        async move { refused(cluster.apply(&by, &manifest, Run::Dry, Contested::Take).await) }
    };
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "typo", "namespace": "refusals"}, "spec": {"replicaz": 2}});
    let (kind, words) = apply(deployment).await;
    assert_eq!(kind, RefusalKind::Schema, "{words}");
    assert!(words.contains("replicaz"), "{words}");

    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "wrong", "namespace": "refusals"}, "spec": {"replicas": -1,
        "selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]}}}});
    let (kind, words) = apply(deployment).await;
    assert_eq!(kind, RefusalKind::Invalid, "{words}");
    assert!(words.contains("spec.replicas"), "{words}");

    let (kind, words) = apply(json!({"apiVersion": "nowhere.dev/v1", "kind": "Nothing",
        "metadata": {"name": "a", "namespace": "refusals"}}))
    .await;
    assert_eq!(kind, RefusalKind::MissingKind);
    assert!(words.contains("Nothing.nowhere.dev is not served in version v1"), "{words}");

    let missing = config_map("nowhere-at-all", "a", &json!({}));
    let (kind, words) =
        refused(ground.cluster.apply(&As::Reconciler, &missing, Run::Dry, Contested::Take).await);
    assert_eq!(kind, RefusalKind::MissingNamespace, "{words}");

    let nameless = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "refusals"}});
    let error = ground.cluster.apply(&by, &nameless, Run::Dry, Contested::Take).await.unwrap_err();
    assert!(matches!(error, LiveError::Malformed { .. }), "{error}");
}

#[tokio::test]
async fn no_value_of_a_secret_is_in_an_error() {
    let Some(ground) = Ground::prepare("secrets").await else { return };
    let secret = |value: Value| {
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "secrets"},
            "immutable": true, "data": value})
    };
    let by = ground.applier();
    let first = secret(json!({"password": "aHVudGVyMg=="}));
    ground.cluster.apply(&by, &first, Run::Real, Contested::Take).await.unwrap();
    for broken in [
        secret(json!({"password": "aHVudGVyMw=="})),
        secret(json!({"password": "hunter2 is not base64"})),
        secret(json!({"password": {"hunter2": "is not text"}})),
        secret(json!("hunter2")),
    ] {
        let error = ground.cluster.apply(&by, &broken, Run::Dry, Contested::Take).await.unwrap_err();
        let words = format!("{error} {error:?}");
        assert!(!words.contains("hunter2") && !words.contains("aHVudGVyM"), "{words}");
    }
}

#[tokio::test]
async fn an_absent_object_is_not_an_error() {
    let Some(ground) = Ground::prepare("absent").await else { return };
    let object = |api_version: &str, kind: &str, namespace: &str| ApiObject {
        kind: ApiKind::of_version(api_version, kind),
        namespace: Some(namespace.to_owned()),
        name: "nobody".to_owned(),
    };
    let by = As::Reconciler;
    for absent in [
        object("v1", "ConfigMap", "absent"),
        object("v1", "ConfigMap", "nowhere-at-all"),
        object("nowhere.dev/v1", "Nothing", "absent"),
        object("apps/v1alpha9", "Deployment", "absent"),
    ] {
        assert_eq!(ground.cluster.read(&by, &absent).await.unwrap(), None, "{absent}");
    }
    let none =
        ground.cluster.list(&by, &ApiKind::preferred("nowhere.dev", "Nothing"), None, &[]).await.unwrap();
    assert!(none.is_empty());
    let none = ground
        .cluster
        .list(&by, &ApiKind::preferred("", "ConfigMap"), Some("nowhere-at-all"), &[])
        .await
        .unwrap();
    assert!(none.is_empty());
}

#[tokio::test]
async fn a_create_is_tried_beside_the_object_of_that_name() {
    let Some(ground) = Ground::prepare("creating").await else { return };
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "creating"},
        "spec": {"selector": {"a": "b"}, "ports": [{"port": 80}]}});
    let by = ground.applier();
    ground.cluster.apply(&by, &service, Run::Real, Contested::Refuse).await.unwrap();
    let tried = ground.cluster.dry_run_create(&by, &service).await.unwrap();
    let name = tried["metadata"]["name"].as_str().unwrap();
    assert!(name.starts_with("s-") && name.len() > 2, "{name}");
    assert_eq!(tried["spec"]["ports"], json!([{"port": 80, "protocol": "TCP", "targetPort": 80}]));
    let all =
        ground.cluster.list(&by, &ApiKind::preferred("", "Service"), Some("creating"), &[]).await.unwrap();
    assert_eq!(all.len(), 1);
}

#[tokio::test]
async fn a_list_is_read_in_pages_and_by_labels() {
    let Some(ground) = Ground::prepare("listing").await else { return };
    let items: Vec<Value> = (0..1_203)
        .map(|at| {
            let mut map = ground.config_map(&format!("m-{at}"), &json!({}));
            map["metadata"]["labels"] = json!({"parity": if at % 2 == 0 { "even" } else { "odd" }});
            map
        })
        .collect();
    ground.plane.kubectl_with(
        &["create", "-f", "-"],
        &json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string(),
    );
    let by = ground.applier();
    let kind = ApiKind::preferred("", "ConfigMap");
    let odd = ground.cluster.list(&by, &kind, Some("listing"), &[("parity", "odd")]).await.unwrap();
    assert_eq!(odd.len(), 601);
    let all = ground.cluster.list(&by, &kind, Some("listing"), &[]).await.unwrap();
    // And the one that every namespace has.
    assert_eq!(all.len(), 1_204);
    assert!(all.iter().all(|map| map["kind"] == "ConfigMap" && map["apiVersion"] == "v1"));
}

#[tokio::test]
async fn a_kind_that_is_installed_later_is_found_and_one_that_moves_is_found_again() {
    let Some(ground) = Ground::prepare("kinds").await else { return };
    let kind = ApiKind::of_version("test.capstan.dev/v1", "Widget");
    assert_eq!(ground.cluster.scope(&kind).await.unwrap(), None);
    let definition = |plural: &str, scope: &str| {
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.test.capstan.dev")},
            "spec": {"group": "test.capstan.dev", "scope": scope,
                "names": {"kind": "Widget", "plural": plural, "singular": plural},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                    "type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}}}]}})
        .to_string()
    };
    let established = |plural: &str| {
        let name = format!("crd/{plural}.test.capstan.dev");
        ground.plane.kubectl(&["wait", "--for=condition=Established", "--timeout=30s", &name]);
    };
    ground.plane.apply(&definition("widgets", "Namespaced"));
    established("widgets");
    let widget = json!({"apiVersion": "test.capstan.dev/v1", "kind": "Widget",
        "metadata": {"name": "w", "namespace": "kinds"}, "spec": {"size": 1}});
    // The definition is established some moments before the API answers for it.
    let applied =
        eventually(|| ground.cluster.apply(&As::Reconciler, &widget, Run::Real, Contested::Refuse)).await;
    assert_eq!(applied["spec"]["size"], 1);
    assert_eq!(ground.cluster.scope(&kind).await.unwrap(), Some(KindScope::Namespaced));

    ground.plane.kubectl(&["delete", "crd", "widgets.test.capstan.dev", "--wait"]);
    ground.plane.apply(&definition("gadgets", "Cluster"));
    established("gadgets");
    let applied =
        eventually(|| ground.cluster.apply(&As::Reconciler, &widget, Run::Real, Contested::Refuse)).await;
    assert_eq!(applied["metadata"]["namespace"], Value::Null, "it has no namespace any more");
    ground.plane.kubectl(&["delete", "crd", "gadgets.test.capstan.dev"]);
}

/// Repeats an attempt until it succeeds, as a reconciler does.
async fn eventually<F: Future<Output = Result<Value, LiveError>>>(attempt: impl Fn() -> F) -> Value {
    let mut last = None;
    for _ in 0..300 {
        match attempt().await {
            Ok(value) => return value,
            Err(error) => last = Some(error),
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("{}", last.unwrap())
}
