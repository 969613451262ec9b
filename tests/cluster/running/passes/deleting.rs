//! A provider that somebody deletes goes once nobody needs it, and leaves its definitions.

use serde_json::json;

use super::town::{ACME, CORE, Row, Town, components};

async fn installed() -> Town {
    let mut town = Town::new();
    for row in [CORE, ACME] {
        town.publish(row, "v1.0.0", &components(row, "old", &["v1beta1"]));
        town.ask(row, "v1.0.0");
    }
    assert!(!town.settle().await.is_waiting);
    town
}

/// As an API server has it while finalizers hold it.
fn delete(town: &Town, row: Row) {
    town.live.change(row.kind, row.name, |object| {
        assert_eq!(object["metadata"]["finalizers"], json!(["provider.cluster.x-k8s.io"]));
        object["metadata"]["deletionTimestamp"] = json!("2027-01-15T08:00:00Z");
    });
    town.live.take_writes();
}

/// What was written, statuses of provider objects aside.
fn writes(town: &Town) -> Vec<String> {
    let all = town.live.take_writes().into_iter();
    all.filter(|write| !write.starts_with("patch CoreProvider") && !write.starts_with("patch Infra"))
        .collect()
}

#[tokio::test]
async fn objects_of_its_kinds_keep_a_provider_which_leaves_its_definitions_behind() {
    let mut town = installed().await;
    for name in ["a", "b"] {
        town.live.put(json!({"apiVersion": "acme.example/v1beta1", "kind": "Box",
            "metadata": {"name": name, "namespace": "org"}}));
    }
    delete(&town, ACME);
    town.settle().await;
    assert_eq!(
        town.condition(ACME, "DeletionBlocked"),
        "True ObjectsExist: 2 objects of boxes.acme.example exist (org/a, org/b): Capstan deletes nothing before they are gone"
    );
    assert_eq!(writes(&town), [""; 0]);
    assert_eq!(town.runs(ACME), "registry.example/acme:old x1");

    ["a", "b"].into_iter().for_each(|name| town.live.remove("Box", name));
    town.settle().await;
    assert_eq!(
        writes(&town),
        [
            "patch ManagedProvider acme-system/infrastructure-acme",
            "delete ValidatingWebhookConfiguration acme-webhooks",
            "delete Deployment acme-system/acme-manager",
            "delete ServiceAccount acme-system/acme-manager",
            "delete ManagedProvider acme-system/infrastructure-acme",
        ]
    );
    assert_eq!(
        town.live.names("CustomResourceDefinition"),
        ["boxes.acme.example", "boxes.cluster-api.example"],
        "definitions stay"
    );
    assert_eq!(town.live.object(ACME.kind, ACME.name), None);
    assert_eq!(town.installed(CORE), "v1.0.0");
}

#[tokio::test]
async fn other_providers_keep_core() {
    let mut town = installed().await;
    delete(&town, CORE);
    town.settle().await;
    assert_eq!(
        town.condition(CORE, "DeletionBlocked"),
        "True ProvidersExist: 1 other provider needs it (InfrastructureProvider acme-system/acme): Capstan deletes nothing before they are gone"
    );
    assert_eq!(writes(&town), [""; 0]);
    // Both at once: the others go first, then core.
    delete(&town, ACME);
    town.settle().await;
    let gone: Vec<String> = writes(&town).into_iter().filter(|write| write.contains("Deployment")).collect();
    assert_eq!(
        gone,
        ["delete Deployment acme-system/acme-manager", "delete Deployment core-system/cluster-api-manager"]
    );
    assert_eq!(town.live.names("ManagedProvider"), [""; 0]);
    assert_eq!(town.live.names("CoreProvider"), [""; 0]);
}
