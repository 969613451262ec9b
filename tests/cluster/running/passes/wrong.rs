//! A wrong spec never takes away what runs: each field of a provider object, once wrong.

use serde_json::{Value, json};

use super::town::{ACME, CORE, Town, components};

/// What the provider's own objects are, without what says how they stand.
fn objects(town: &Town) -> Vec<Value> {
    let kinds =
        ["ServiceAccount", "Deployment", "CustomResourceDefinition", "ValidatingWebhookConfiguration"];
    let of_kind = |kind: &&str| {
        let live = town.live.names(kind).into_iter().filter_map(|name| town.live.object(kind, &name));
        let bare = |live: Value| json!({"kind": live["kind"], "name": live["metadata"]["name"], "spec": live["spec"], "webhooks": live["webhooks"]});
        live.map(bare).collect::<Vec<Value>>()
    };
    kinds.iter().flat_map(of_kind).collect()
}

/// The expected message where no condition reports anything.
const NOTHING: &str = "nothing";

/// The name of the mistake, the requested version, the other fields of the spec, and the expected message.
type Wrong = (&'static str, &'static str, Value, &'static str);

fn wrong() -> Vec<Wrong> {
    let selector = json!({"selector": {"matchLabels": {"for": "nobody"}}});
    vec![
        ("no version at all", "nonsense", json!({}), "could not parse \"nonsense\" as version"),
        ("an older minor", "v0.9.0", json!({}), "Downgrade is not supported for provider"),
        (
            "a version that nobody has",
            "v1.7.0",
            json!({}),
            "`spec.version` is `v1.7.0`: add a ConfigMap of that version, or change the version",
        ),
        (
            "a selector that nothing meets",
            "v1.0.0",
            json!({"fetchConfig": selector}),
            "matches `for=nobody`; correct `spec.fetchConfig.selector`, or add such a ConfigMap there",
        ),
        (
            "a selector with an operator that is none",
            "v1.0.0",
            json!({"fetchConfig": {"selector": {"matchExpressions": [{"key": "for", "operator": "Is"}]}}}),
            "`spec.fetchConfig.selector.matchExpressions[0].operator`",
        ),
        (
            "a url that is none",
            "v1.0.0",
            json!({"fetchConfig": {"url": "ftp://nobody.example"}}),
            "`ftp://nobody.example`; correct `spec.fetchConfig`",
        ),
        (
            "an oci address that is none",
            "v1.0.0",
            json!({"fetchConfig": {"oci": "::"}}),
            "the OCI artifact `::`; correct `spec.fetchConfig`",
        ),
        (
            "two sources",
            "v1.0.0",
            json!({"fetchConfig": {"oci": "registry.example/a", "url": "https://github.com/a/b/releases"}}),
            "`spec.fetchConfig` names more than one source",
        ),
        (
            "a config Secret that is not there",
            "v1.0.0",
            json!({"configSecret": {"name": "nobody"}}),
            "which `spec.configSecret` names, does not exist",
        ),
        (
            "additional manifests that are not there",
            "v1.0.0",
            json!({"additionalManifests": {"name": "nobody"}}),
            "which `additionalManifests` names, is missing",
        ),
        (
            "a patch that is none",
            "v1.0.0",
            json!({"patches": [{"patch": "- {op: nonsense"}]}),
            "`spec.patches[0]`: this patch is not YAML",
        ),
        (
            "a patch of a field that is not there",
            "v1.0.0",
            json!({"patches": [{"patch": "- {op: remove, path: /spec/nobody}", "target": {"kind": "Deployment"}}]}),
            "`spec.patches[0]`: Deployment",
        ),
        (
            "a manifest patch that is none",
            "v1.0.0",
            json!({"manifestPatches": ["a: ["]}),
            "`spec.manifestPatches[0]`: this patch is not YAML",
        ),
        (
            "both sorts of patches",
            "v1.0.0",
            json!({"manifestPatches": ["kind: Deployment"], "patches": [{"patch": "kind: Deployment"}]}),
            "`spec.manifestPatches` and `patches` cannot both be set",
        ),
        (
            "a container that is not there",
            "v1.0.0",
            json!({"deployment": {"containers": [{"name": "nobody", "imageUrl": "registry.example/x:1"}]}}),
            "it has no container `nobody`, which `containers` names",
        ),
        (
            "a field of another type",
            "v1.0.0",
            json!({"deployment": {"replicas": "many"}}),
            "`spec.deployment.replicas` is a whole number of at least 0",
        ),
        (
            "arguments of another type",
            "v1.0.0",
            json!({"manager": {"maxConcurrentReconciles": "many"}}),
            "`spec.manager.maxConcurrentReconciles` is a whole number of at least 1",
        ),
        (
            "gates of another type",
            "v1.0.0",
            json!({"manager": {"featureGates": ["Box"]}}),
            "`spec.manager.featureGates` is a mapping",
        ),
        (
            "a duration that is none",
            "v1.0.0",
            json!({"manager": {"leaderElection": {"leaderElect": true, "leaseDuration": "long"}}}),
            "`spec.manager.leaderElection` needs all of its fields, as in the API, but `renewDeadline` is missing",
        ),
        // The operator passes over it, and says nothing.
        (
            "an additional Deployment that is not there",
            "v1.0.0",
            json!({"additionalDeployments": {"nobody": {"deployment": {"replicas": 2}}}}),
            NOTHING,
        ),
        (
            "a field that nobody knows",
            "v1.0.0",
            json!({"deploymnet": {"replicas": 2}}),
            "`spec` has no field `deploymnet`; did you mean `deployment`?",
        ),
    ]
}

/// For the core provider and for another one: what runs stays, a condition says what is wrong, and the other provider
/// does not wait.
#[tokio::test]
async fn each_field_once_wrong_while_it_runs() {
    let mut troubles = Vec::new();
    for row in [ACME, CORE] {
        let other = if row.kind == CORE.kind { ACME } else { CORE };
        for (what, version, more, told) in wrong() {
            let mut town = Town::new();
            for row in [CORE, ACME] {
                town.publish(row, "v1.0.0", &components(row, "old", &["v1beta1"]));
                town.ask(row, "v1.0.0");
            }
            town.settle().await;
            let (runs, before) = ([town.runs(ACME), town.runs(CORE)], objects(&town));
            assert_eq!(runs[0], "registry.example/acme:old x1");
            town.live.take_writes();
            town.ask_with(row, version, more);
            town.settle().await;
            let said: Vec<String> = ["PreflightCheckPassed", "ProviderInstalled", "ProviderUpgraded"]
                .map(|kind| town.condition(row, kind))
                .into_iter()
                .filter(|condition| condition.starts_with("False "))
                .collect();
            let deletes = town.live.take_writes().iter().any(|write| write.starts_with("delete "));
            let is_the_same = [town.runs(ACME), town.runs(CORE)] == runs && objects(&town) == before;
            let holds = [
                ("what runs is another", is_the_same),
                ("another version is installed", town.installed(row) == "v1.0.0"),
                (
                    "it is not said",
                    told == NOTHING && said.is_empty()
                        || said.iter().any(|condition| condition.contains(told)),
                ),
                ("a flag is named", said.iter().all(|condition| !condition.contains(" --"))),
                ("something is deleted", !deletes),
                // The other provider still passes its preflight check.
                ("the other one waits", town.condition(other, "PreflightCheckPassed").starts_with("True ")),
            ];
            let failing = holds.iter().filter(|(_, holds)| !holds);
            troubles
                .extend(failing.map(|(otherwise, _)| format!("{}: {what}: {otherwise}: {said:?}", row.kind)));
        }
    }
    assert!(troubles.is_empty(), "{}", troubles.join("\n"));
}

/// Without a CoreProvider object no other provider is installed; the message is the operator's.
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
    let begins = "False WaitingForSet: CoreProvider core-system/cluster-api goes first, but is stuck: ";
    assert!(said.starts_with(begins) && said.len() > begins.len() + 10, "{said}");
}
