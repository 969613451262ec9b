//! A wrong spec never takes away what runs: each field of a provider object, once wrong.

use serde_json::{Value, json};

use super::town::{ACME, CORE, Town, components};

/// What the provider's own objects are, without what says how they stand.
fn objects(town: &Town) -> Vec<Value> {
    let kinds =
        ["ServiceAccount", "Deployment", "CustomResourceDefinition", "ValidatingWebhookConfiguration"];
    let of_acme = |kind: &&str| {
        let live = town.live.object(kind, "acme-manager")?;
        Some(json!({"kind": kind, "spec": live["spec"]}))
    };
    kinds.iter().filter_map(of_acme).collect()
}

#[tokio::test]
async fn each_field_once_wrong_while_it_runs() {
    let selector = json!({"selector": {"matchLabels": {"for": "nobody"}}});
    let rows: [(&str, &str, Value); 12] = [
        ("no version at all", "nonsense", json!({})),
        ("an older minor", "v0.9.0", json!({})),
        ("a version that nobody has", "v1.7.0", json!({})),
        ("a selector that nothing meets", "v1.0.0", json!({"fetchConfig": selector})),
        ("a url that is none", "v1.0.0", json!({"fetchConfig": {"url": "ftp://nobody.example"}})),
        ("an oci address that is none", "v1.0.0", json!({"fetchConfig": {"oci": "::"}})),
        (
            "two sources",
            "v1.0.0",
            json!({"fetchConfig": {"oci": "registry.example/a", "url": "https://github.com/a/b/releases"}}),
        ),
        (
            "additional manifests that are not there",
            "v1.0.0",
            json!({"additionalManifests": {"name": "nobody"}}),
        ),
        ("a patch that is none", "v1.0.0", json!({"patches": [{"patch": "- {op: nonsense"}]})),
        ("a manifest patch that is none", "v1.0.0", json!({"manifestPatches": ["a: ["]})),
        (
            "a container that is not there",
            "v1.0.0",
            json!({"deployment": {"containers": [{"name": "nobody", "imageUrl": "registry.example/x:1"}]}}),
        ),
        ("a field of another type", "v1.0.0", json!({"deployment": {"replicas": "many"}})),
    ];
    for (what, version, more) in rows {
        let mut town = Town::new();
        for row in [CORE, ACME] {
            town.publish(row, "v1.0.0", &components(row, "old", &["v1beta1"]));
            town.ask(row, "v1.0.0");
        }
        town.settle().await;
        let (runs, before) = (town.runs(ACME), objects(&town));
        assert_eq!(runs, "registry.example/acme:old x1");
        town.live.take_writes();
        town.ask_with(ACME, version, more);
        town.settle().await;
        assert_eq!((town.runs(ACME), objects(&town)), (runs, before), "{what}");
        assert_eq!(town.installed(ACME), "v1.0.0", "{what}");
        let said: Vec<String> = ["PreflightCheckPassed", "ProviderInstalled", "ProviderUpgraded"]
            .map(|kind| town.condition(ACME, kind))
            .into_iter()
            .filter(|condition| condition.starts_with("False "))
            .collect();
        assert!(!said.is_empty(), "{what}: nothing is said");
        assert!(said.iter().all(|condition| !condition.contains("--")), "{what}: {said:?} names a flag");
        let deleted = town.live.take_writes().into_iter().filter(|write| write.starts_with("delete "));
        assert_eq!(deleted.collect::<Vec<_>>(), [""; 0], "{what}");
        // The other one is as it was, and goes on.
        assert!(town.condition(CORE, "PreflightCheckPassed").starts_with("True "), "{what}");
    }
}

/// With no CoreProvider object nobody else is begun, in the operator's words.
#[tokio::test]
async fn without_a_core_provider_the_others_wait_for_one() {
    let mut town = Town::new();
    town.publish(ACME, "v1.0.0", &components(ACME, "old", &["v1beta1"]));
    town.ask(ACME, "v1.0.0");
    town.live.take_writes();
    town.settle().await;
    let waits = "False WaitingForCoreProviderReady: Waiting for the CoreProvider to be installed.";
    assert_eq!(town.condition(ACME, "PreflightCheckPassed"), waits);
    assert_eq!((town.runs(ACME).as_str(), town.installed(ACME).as_str()), ("nothing", "none"));
    assert_eq!(
        town.live.take_writes(),
        ["patch InfrastructureProvider acme-system/acme"],
        "nothing but what is said"
    );
    town.publish(CORE, "v1.0.0", &components(CORE, "old", &["v1beta1"]));
    town.ask(CORE, "v1.0.0");
    town.restart();
    town.settle().await;
    assert_eq!([town.installed(CORE), town.installed(ACME)], ["v1.0.0", "v1.0.0"]);
}

/// One whose components cannot be had waits alone.
#[tokio::test]
async fn one_whose_components_cannot_be_had_does_not_stop_the_other() {
    let mut town = Town::new();
    town.publish(CORE, "v1.0.0", &components(CORE, "old", &["v1beta1"]));
    for row in [CORE, ACME] {
        town.ask(row, "v1.0.0");
    }
    town.settle().await;
    assert_eq!([town.installed(CORE), town.installed(ACME)], ["v1.0.0", "none"]);
    let said = town.condition(ACME, "ProviderInstalled");
    assert!(said.starts_with("False ComponentsFetchError: "), "{said}");
    // And of core itself: the other one names it, and why.
    let mut town = Town::new();
    town.publish(ACME, "v1.0.0", &components(ACME, "old", &["v1beta1"]));
    for row in [CORE, ACME] {
        town.ask(row, "v1.0.0");
    }
    town.settle().await;
    assert_eq!([town.installed(CORE), town.installed(ACME)], ["none", "none"]);
    let said = town.condition(ACME, "PreflightCheckPassed");
    let begins = "False WaitingForSet: CoreProvider core-system/cluster-api comes first, and stands still: ";
    assert!(said.starts_with(begins) && said.len() > begins.len() + 10, "{said}");
}
