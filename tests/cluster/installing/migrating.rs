//! The removal of a version from a CustomResourceDefinition, on a real API server: what becomes of objects that are
//! stored in it, and of managers of fields in it.

use capstan_test_support::tally;
use serde_json::{Value, json};

use super::town::{Row, Town};

/// The core provider, for which nobody has to be installed before.
const OWN: Row = Row {
    kind: "CoreProvider",
    name: "cluster-api",
    namespace: "own-system",
    label: "cluster-api",
    file: "core-components.yaml",
};

const WIDGETS: &str = "widgets.own.example.com";

/// A provider that brings one definition with these versions; it stores in the last.
fn release(version: &str, versions: &[&str]) -> Value {
    let last = versions.len() - 1;
    let versions: Vec<Value> = versions
        .iter()
        .enumerate()
        .map(|(at, name)| {
            json!({"name": name, "served": true, "storage": at == last,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": {"size": {"type": "integer"}, "color": {"type": "string"}}}}}}})
        })
        .collect();
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": WIDGETS},
        "spec": {"group": "own.example.com", "scope": "Namespaced", "versions": versions,
            "names": {"kind": "Widget", "listKind": "WidgetList", "plural": "widgets", "singular": "widget"}},
    });
    let metadata = "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\nreleaseSeries:\n\
                    - {major: 1, minor: 0, contract: v1beta2}\n- {major: 1, minor: 1, contract: v1beta2}\n- {major: 2, minor: 0, contract: v1beta2}\n";
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": version, "namespace": OWN.namespace, "labels": {"for": OWN.name}},
        "data": {"metadata": metadata, "components": definition.to_string()},
    })
}

impl Town {
    fn ask_own(&self, version: &str, versions: &[&str]) {
        self.plane.apply(&release(version, versions).to_string());
        let object = json!({
            "apiVersion": "operator.cluster.x-k8s.io/v1alpha2", "kind": OWN.kind,
            "metadata": {"name": OWN.name, "namespace": OWN.namespace},
            "spec": {"version": version, "fetchConfig": {"selector": {"matchLabels": {"for": OWN.name}}}},
        });
        self.plane.apply(&object.to_string());
        self.wait_for(&[(OWN, version)]);
    }

    fn stored_versions(&self) -> String {
        self.plane.kubectl(&["get", "crd", WIDGETS, "-o", "jsonpath={.status.storedVersions}"])
    }

    /// Applies a widget as somebody who does not take what is another's.
    fn apply_widget(&self, who: &str, version: &str, name: &str, spec: &Value) -> Result<String, String> {
        let widget = json!({"apiVersion": format!("own.example.com/{version}"), "kind": "Widget",
            "metadata": {"name": name, "namespace": OWN.namespace}, "spec": spec});
        let manager = format!("--field-manager={who}");
        self.plane.try_kubectl(&["apply", "--server-side", &manager, "-f", "-"], &widget.to_string())
    }

    fn widget(&self, name: &str) -> Value {
        let get = ["get", WIDGETS, name, "-n", OWN.namespace, "-o", "json", "--show-managed-fields"];
        serde_json::from_str(&self.plane.kubectl(&get)).unwrap()
    }
}

#[test]
fn objects_outlive_the_version_that_they_were_stored_and_managed_in() {
    let Some(town) = Town::build() else { return };
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": OWN.namespace}});
    town.plane.apply(&namespace.to_string());
    town.reconciler.start();
    town.ask_own("v1.0.0", &["v1alpha1"]);
    // One that somebody manages in the old version alone, and one that another one manages in the new version, too.
    town.apply_widget("ada", "v1alpha1", "alone", &json!({"size": 1})).unwrap();
    town.apply_widget("ada", "v1alpha1", "shared", &json!({"size": 2})).unwrap();
    town.ask_own("v1.1.0", &["v1alpha1", "v1beta1"]);
    town.apply_widget("grace", "v1beta1", "shared", &json!({"color": "red"})).unwrap();
    assert_eq!(town.stored_versions(), r#"["v1alpha1","v1beta1"]"#);
    // The API server lets nobody drop a version that something is stored in.
    let next = release("v2.0.0", &["v1beta1"]);
    let definition = next["data"]["components"].as_str().unwrap();
    let tried = ["apply", "--server-side", "--force-conflicts", "--dry-run=server", "-f", "-"];
    let refused = town.plane.try_kubectl(&tried, definition).unwrap_err();
    assert!(refused.contains("status.storedVersions[0]: Invalid value: \"v1alpha1\""), "{refused}");

    town.ask_own("v2.0.0", &["v1beta1"]);
    assert_eq!(town.stored_versions(), r#"["v1beta1"]"#);
    let served = "jsonpath={.spec.versions[*].name}";
    assert_eq!(town.plane.kubectl(&["get", "crd", WIDGETS, "-o", served]), "v1beta1");
    for (name, spec) in [("alone", json!({"size": 1})), ("shared", json!({"size": 2, "color": "red"}))] {
        let widget = town.widget(name);
        assert_eq!(widget["spec"], spec, "{name}");
        let entries = widget["metadata"]["managedFields"].as_array().unwrap();
        assert!(
            entries.iter().all(|entry| entry["apiVersion"] == "own.example.com/v1beta1"),
            "{name}: {entries:?}"
        );
    }
    // Each manager can still change its own fields, and causes no conflict.
    town.apply_widget("ada", "v1beta1", "alone", &json!({"size": 3})).unwrap();
    town.apply_widget("grace", "v1beta1", "shared", &json!({"color": "blue"})).unwrap();
    assert_eq!(town.widget("alone")["spec"], json!({"size": 3}));
    assert_eq!(town.widget("shared")["spec"], json!({"size": 2, "color": "blue"}));
    // And there is nothing more to do.
    let writes = town.settle();
    town.reconciler.kill();
    town.reconciler.start();
    std::thread::sleep(tally::wait(std::time::Duration::from_secs(8)));
    assert_eq!(town.settle(), writes, "{:?}", town.writes().split_off(writes));
}
