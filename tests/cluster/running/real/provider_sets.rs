//! The provider set of the management cluster on a real API server: applied as an account of its own with the rights that
//! `deploy/providers` and `capstan providers rights` give it, judged by what an operator (played here) says and by what
//! runs.

use capstan_test_support::tally;
use serde_json::{Value, json};

use super::{HOME, Parts, Town, tail};
use crate::k8s::provider_definitions;

const SET: &str = "mc/providers";

/// A set of core alone at a version, with small components. [`grant`] creates its namespace.
fn base(version: &str) -> String {
    let components = "apiVersion: v1\n    kind: ServiceAccount\n    metadata: {name: capi-manager, namespace: capi-system}";
    let metadata = "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\n    kind: Metadata\n    releaseSeries:\n    \
                    - {major: 1, minor: 12, contract: v1beta2}\n    - {major: 1, minor: 13, contract: v1beta2}";
    format!(
        "apiVersion: operator.cluster.x-k8s.io/v1alpha2\nkind: CoreProvider\n\
         metadata: {{name: cluster-api, namespace: capi-system}}\n\
         spec:\n  version: {version}\n  fetchConfig: {{selector: {{matchLabels: {{for: core}}}}}}\n---\n\
         apiVersion: v1\nkind: ConfigMap\n\
         metadata: {{name: {version}, namespace: capi-system, labels: {{for: core}}}}\n\
         data:\n  components: |\n    {components}\n  metadata: |\n    {metadata}\n"
    )
}

impl Town {
    /// Commits a set at a version, and who applies it.
    fn commit_set(&self, version: &str, by: &str) {
        let settings = format!(
            "managementClusters:\n- name: mc-eu\n  uid: {}\n  clusters: ['*/*']\n  providers: {{path: {SET}, by: {by}}}\n",
            self.plane.uid()
        );
        self.repository.write(".capstan.yaml", &settings);
        self.repository.write(&format!("{SET}/base/providers.yaml"), &base(version));
        self.repository.commit_all(&format!("{version} by {by}"));
        self.reconciler.start();
    }

    /// Waits until the set is said to be so.
    async fn set_is(&self, what: &str, says: impl Fn(&Value) -> bool) {
        let missing = self
            .wait(async || {
                self.ask();
                let all = self.plane.kubectl(&["get", "managedclusters", "-n", HOME, "-o", "json"]);
                let all: Value = serde_json::from_str(&all).unwrap();
                let status = &all["items"][0]["status"];
                if says(status) { Vec::new() } else { vec![format!("{status:#}")] }
            })
            .await;
        assert!(missing.is_empty(), "{what}: {}\n{}", missing.join("\n"), tail(&self.reconciler.log(), 30));
    }
}

/// The state of the rollout, and the message of the condition `Ready`.
fn said(status: &Value) -> (&str, &str) {
    let conditions = status["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let ready = conditions.iter().find(|condition| condition["type"] == "Ready");
    let message = ready.map_or("", |ready| ready["message"].as_str().unwrap_or_default());
    (status["rollout"]["state"].as_str().unwrap_or_default(), message)
}

/// What `capstan providers rights` prints of the set, and bindings of it to the account.
fn grant(town: &Town) {
    let printed = tally::command(env!("CARGO_BIN_EXE_capstan"))
        .args(["--repo", &town.repository.path().display().to_string(), "providers", "rights", SET])
        .output()
        .unwrap();
    assert!(printed.status.success(), "{}", String::from_utf8_lossy(&printed.stderr));
    town.plane.apply("{apiVersion: v1, kind: Namespace, metadata: {name: capi-system}}");
    town.plane.apply(std::str::from_utf8(&printed.stdout).unwrap());
    let subject = format!("--serviceaccount={HOME}:capstan-providers");
    let whole = ["create", "clusterrolebinding", "capstan-providers", "--clusterrole=capstan-providers"];
    town.plane.kubectl(&[&whole[..], &[subject.as_str()]].concat());
    let of_namespace =
        ["create", "rolebinding", "capstan-providers", "--role=capstan-providers", "-n", "capi-system"];
    town.plane.kubectl(&[&of_namespace[..], &[subject.as_str()]].concat());
}

/// What an operator says when core is installed at a version.
fn install(town: &Town, version: &str) {
    let core = ["coreprovider.operator.cluster.x-k8s.io", "cluster-api", "-n", "capi-system"];
    let live = town.plane.kubectl(&[&["get"], &core[..], &["-o", "json"]].concat());
    let live: Value = serde_json::from_str(&live).unwrap();
    let condition = |kind: &str| {
        json!({"type": kind, "status": "True", "reason": kind, "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z"})
    };
    let status = json!({"status": {
        "observedGeneration": live["metadata"]["generation"], "installedVersion": version, "contract": "v1beta2",
        "conditions": [condition("PreflightCheckPassed"), condition("ProviderInstalled"), condition("Ready")],
    }});
    let patch = ["--subresource=status", "--type=merge", "-p"];
    town.plane.kubectl(&[&["patch"], &core[..], &patch[..], &[status.to_string().as_str()]].concat());
}

/// Says of a Deployment how many of its pods are up to date.
fn run(town: &Town, updated: u32) {
    let name = ["deployment", "capi-controller-manager", "-n", "capi-system"];
    let live = town.plane.kubectl(&[&["get"], &name[..], &["-o", "json"]].concat());
    let live: Value = serde_json::from_str(&live).unwrap();
    let status = json!({"status": {
        "observedGeneration": live["metadata"]["generation"], "replicas": 1, "updatedReplicas": updated,
        "readyReplicas": 1, "availableReplicas": 1,
        "conditions": [{"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z", "lastUpdateTime": "2026-01-01T00:00:00Z"}],
    }});
    let patch = ["--subresource=status", "--type=merge", "-p"];
    town.plane.kubectl(&[&["patch"], &name[..], &patch[..], &[status.to_string().as_str()]].concat());
}

fn deployment(name: &str, namespace: &str, labels: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}, namespace: {namespace}, labels: {labels}}}\n\
         spec:\n  replicas: 1\n  selector: {{matchLabels: {{a: b}}}}\n  template:\n    metadata: {{labels: {{a: b}}}}\n    \
         spec: {{containers: [{{name: manager, image: a.example/b:c}}]}}\n"
    )
}

#[tokio::test]
async fn a_provider_set_is_applied_and_judged_by_what_runs() {
    let Some(town) = Town::found(Parts::Kubernetes).await else { return };
    provider_definitions::install(&town.plane);
    let rights = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/providers/rbac.yaml");
    town.plane.apply(&std::fs::read_to_string(rights).unwrap());

    town.commit_set("v1.12.8", "operator");
    // Without the rights of just this set nothing of it is there.
    town.set_is("it is forbidden", |status| said(status).1.contains("forbidden")).await;
    let none = town.plane.try_kubectl(&["get", "coreproviders", "-A", "-o", "name"], "").unwrap();
    assert_eq!(none, "");

    grant(&town);
    town.set_is("nobody installs it", |status| {
        let (state, message) = said(status);
        state == "Stuck" && message.contains("no Cluster API operator runs here")
    })
    .await;
    town.plane.apply("{apiVersion: v1, kind: Namespace, metadata: {name: operators}}");
    let labels = "{clusterctl.cluster.x-k8s.io/core: capi-operator, control-plane: controller-manager}";
    town.plane.apply(&deployment("capi-operator", "operators", labels));
    town.set_is("its operator has not looked", |status| {
        said(status).1.ends_with("its current generation was not observed yet")
    })
    .await;

    install(&town, "v1.12.8");
    let labels = "{cluster.x-k8s.io/provider: cluster-api}";
    town.plane.apply(&deployment("capi-controller-manager", "capi-system", labels));
    run(&town, 0);
    town.set_is("an old pod runs", |status| said(status).1.contains("0 of 1 pods are up to date")).await;
    run(&town, 1);
    town.set_is("it is done", |status| said(status).0 == "Done").await;

    town.commit_set("v1.13.4", "operator");
    town.set_is("the next version is asked for", |status| said(status).0 == "Rolling").await;
    let version =
        ["get", "coreprovider", "cluster-api", "-n", "capi-system", "-o", "jsonpath={.spec.version}"];
    assert_eq!(town.plane.kubectl(&version), "v1.13.4");
    install(&town, "v1.13.4");
    town.set_is("the next version is done", |status| said(status).0 == "Done").await;
    // The components of the version before stay, until a tombstone names them.
    let maps = ["get", "configmaps", "-n", "capi-system", "-l", "for=core", "-o", "name"];
    assert_eq!(town.plane.kubectl(&maps).trim(), "configmap/v1.12.8\nconfigmap/v1.13.4");

    // Capstan does not install while the operator lives.
    town.commit_set("v1.14.2", "capstan");
    town.set_is("it is owned elsewhere", |status| {
        said(status).1.contains("Deployment operators/capi-operator")
    })
    .await;
    assert_eq!(town.plane.kubectl(&version), "v1.13.4");

    let account = format!("system:serviceaccount:{HOME}:capstan-providers");
    let written: Vec<_> = town
        .plane
        .audit()
        .into_iter()
        .filter(|request| {
            request.is_write()
                && request.code < 300
                && request.group == "operator.cluster.x-k8s.io"
                && request.body["kind"] == "CoreProvider"
                && request.user == format!("system:serviceaccount:{HOME}:capstan")
        })
        .collect();
    assert_eq!(written.len(), 2, "{:?}", written.iter().map(|one| one.words()).collect::<Vec<_>>());
    assert!(written.iter().all(|request| request.impersonated.as_ref() == Some(&account)));
}
