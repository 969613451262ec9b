//! What providers are rendered from: config Secrets, ConfigMaps, downloads.

use serde_json::{Value, json};

use super::town::{ACME, CORE, Town, components};

fn secret(namespace: &str, tag: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "values", "namespace": namespace},
        "stringData": {"TAG": tag}})
}

/// Both providers; the image of one has a tag out of the Secret of that namespace.
fn town(namespace: &str) -> Town {
    let town = Town::new();
    town.publish(CORE, "v1.0.0", &components(CORE, "old", &["v1beta1"]));
    town.ask(CORE, "v1.0.0");
    town.publish(ACME, "v1.0.0", &components(ACME, "${TAG}", &["v1beta1"]));
    town.ask_with(ACME, "v1.0.0", json!({"configSecret": {"name": "values", "namespace": namespace}}));
    town.live.put(secret(namespace, "one"));
    town
}

#[tokio::test]
async fn a_secret_is_watched_by_its_name_and_followed() {
    let mut town = town(ACME.namespace);
    let outcome = town.settle().await;
    assert!(!outcome.is_waiting, "{}", town.condition(ACME, "ProviderInstalled"));
    assert_eq!(town.runs(ACME), "registry.example/acme:one x1");
    let watched = |kind: &str| {
        let posts = town.watched.borrow();
        let posts = posts.iter().filter(|post| post.kind.group.is_empty() && post.kind.kind == kind);
        let words = posts.map(|post| {
            let part = |part: &Option<String>| part.clone().unwrap_or_else(|| "*".to_owned());
            format!("{} {} {}", part(&post.namespace), part(&post.name), part(&post.labels))
        });
        words.collect::<Vec<_>>()
    };
    assert_eq!(watched("Secret"), ["acme-system values *"], "one, by its name");
    // Which ConfigMap a selector meets has no name before it is there: those with its labels are watched.
    assert_eq!(watched("ConfigMap"), ["acme-system * for=acme", "core-system * for=cluster-api"]);

    town.live.change("Secret", "values", |secret| secret["stringData"]["TAG"] = json!("two"));
    town.live.take_writes();
    assert!(!town.settle().await.is_waiting);
    assert_eq!(town.runs(ACME), "registry.example/acme:two x1");
    assert_eq!(town.installed(ACME), "v1.0.0");

    // So is the ConfigMap.
    town.live.change("ConfigMap", "v1.0.0", |map| {
        map["data"]["components"] = json!(components(ACME, "three", &["v1beta1"]));
    });
    town.settle().await;
    assert_eq!(town.runs(ACME), "registry.example/acme:three x1");
}

#[tokio::test]
async fn a_secret_of_another_namespace_is_not_read() {
    let mut town = town("org");
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "org"}});
    town.live.put(namespace);
    town.settle().await;
    assert_eq!(
        town.condition(ACME, "ProviderInstalled"),
        "False ComponentsFetchError: `spec.configSecret` names Secret org/values, but Capstan does not read a Secret of another namespace: put it into namespace acme-system"
    );
    assert!(!town.live.state().reads.iter().any(|read| read.starts_with("Secret ")), "it was read");
    assert!(!town.watched.borrow().iter().any(|post| post.kind.kind == "Secret"), "it is watched");
    let others = ["registry.example/cluster-api:old x1", "nothing"];
    assert_eq!([town.runs(CORE), town.runs(ACME)], others, "the other one goes on");
}

#[tokio::test]
async fn of_downloads_two_are_kept() {
    let mut town = Town::new();
    let download = |version: &str| {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("core-cluster-api-{version}"),
            "namespace": CORE.namespace, "labels": {"provider.cluster.x-k8s.io/name": "cluster-api",
                "provider.cluster.x-k8s.io/type": "core", "provider.cluster.x-k8s.io/version": version,
                "managed-by.operator.cluster.x-k8s.io": "true"}},
            "data": {"metadata": "releaseSeries: [{major: 1, minor: 0, contract: v1beta2}]",
                "components": components(CORE, version, &["v1beta1"])}})
    };
    ["v1.0.0", "v1.0.1", "v1.0.2"].into_iter().for_each(|version| town.live.put(download(version)));
    let own = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "own", "namespace": CORE.namespace}});
    town.live.put(own);
    town.live.put(json!({"apiVersion": "operator.cluster.x-k8s.io/v1alpha2", "kind": CORE.kind,
        "metadata": {"name": CORE.name, "namespace": CORE.namespace}, "spec": {"version": "v1.0.2"}}));
    assert!(!town.settle().await.is_waiting, "{}", town.condition(CORE, "ProviderInstalled"));
    assert_eq!(town.runs(CORE), "registry.example/cluster-api:v1.0.2 x1");
    assert_eq!(town.live.names("ConfigMap"), ["core-cluster-api-v1.0.1", "core-cluster-api-v1.0.2", "own"]);
}
