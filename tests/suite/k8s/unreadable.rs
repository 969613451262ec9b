//! Objects of Capstan's own kinds that nobody can read: a stand-in for an API server gives them beside others.

use axum::Router;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use capstan_k8s::KubeStatusStore;
use capstan_reconciler::reconcile::ports::{FleetKey, StatusStore as _};
use serde_json::{Value, json};

const HOME: &str = "/apis/capstan.dev/v1alpha1/namespaces/capstan-system";

fn resource(plural: &str, kind: &str) -> Value {
    json!({"resource": plural, "scope": "Namespaced", "verbs": ["get", "list", "watch"],
        "responseKind": {"group": "capstan.dev", "version": "v1alpha1", "kind": kind}})
}

fn object(kind: &str, name: &str, spec: Value, status: Value) -> Value {
    json!({"apiVersion": "capstan.dev/v1alpha1", "kind": kind, "spec": spec, "status": status,
        "metadata": {"name": name, "namespace": "capstan-system", "uid": name, "resourceVersion": "1"}})
}

fn list(kind: &str, items: Value) -> Response {
    let list = json!({"kind": format!("{kind}List"), "metadata": {"resourceVersion": "1"}, "items": items});
    axum::Json(list).into_response()
}

async fn answer(uri: Uri) -> Response {
    let path = uri.path();
    if path == "/apis" || path == "/api" {
        let resources = [resource("fleets", "Fleet"), resource("managedclusters", "ManagedCluster")];
        let group = json!({"metadata": {"name": "capstan.dev"},
            "versions": [{"version": "v1alpha1", "resources": resources}]});
        let items = if path == "/apis" { vec![group] } else { Vec::new() };
        return axum::Json(json!({"kind": "APIGroupDiscoveryList", "items": items})).into_response();
    }
    if path == format!("{HOME}/fleets") {
        let spec =
            json!({"managementCluster": "here", "source": {"git": {"url": "https://git.example.com/a"}}});
        return list(
            "Fleet",
            json!([
                object("Fleet", "broken", json!({"managementCluster": "here", "source": {}}), json!({})),
                object("Fleet", "gitops", spec, json!({})),
            ]),
        );
    }
    if path == format!("{HOME}/managedclusters") {
        let spec = |cluster: &str| json!({"cluster": cluster, "fleet": "gitops"});
        return list(
            "ManagedCluster",
            json!([
                object("ManagedCluster", "broken", spec("gauss/peu01"), json!({"inventory": 7})),
                object("ManagedCluster", "sound", spec("gauss/peu02"), json!({})),
            ]),
        );
    }
    let refused = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403});
    (StatusCode::FORBIDDEN, axum::Json(refused)).into_response()
}

#[tokio::test]
async fn one_that_cannot_be_read_stops_no_other() {
    let connection = super::connected_to(Router::new().fallback(answer)).await;
    let store = KubeStatusStore::new(&connection, "capstan-system", "test");
    let fleets = store.fleets().await.unwrap();
    assert_eq!(fleets.iter().map(|fleet| fleet.key.name.as_str()).collect::<Vec<_>>(), ["gitops"]);
    let key = FleetKey { namespace: "capstan-system".to_owned(), name: "gitops".to_owned() };
    let clusters = store.clusters(&key).await.unwrap();
    assert_eq!(clusters.iter().map(|record| record.key.name.as_str()).collect::<Vec<_>>(), ["sound"]);
}
