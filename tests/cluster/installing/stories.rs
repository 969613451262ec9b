//! What becomes of the providers.

use std::sync::atomic::Ordering;
use std::time::Duration;

use capstan_test_support::tally;
use serde_json::{Value, json};

use super::town::{BOOTSTRAP, CONTROL_PLANE, CORE, IPAM, Row, Town};

const THREE: [Row; 3] = [CORE, BOOTSTRAP, CONTROL_PLANE];

/// The webhooks of all four, by what they do and for what; in order.
const ASKED: [&str; 31] = [
    "mutate clusterresourcesets",
    "mutate clusters",
    "mutate extensionconfigs",
    "mutate globalinclusterippools",
    "mutate inclusterippools",
    "mutate kubeadmconfigtemplates",
    "mutate kubeadmcontrolplanes",
    "mutate machinedeployments",
    "mutate machinehealthchecks",
    "mutate machinepools",
    "mutate machines",
    "mutate machinesets",
    "validate clusterclasses",
    "validate clusterresourcesetbindings",
    "validate clusterresourcesets",
    "validate clusters",
    "validate extensionconfigs",
    "validate globalinclusterippools",
    "validate inclusterippools",
    "validate ipaddressclaims",
    "validate ipaddresses",
    "validate kubeadmconfigs",
    "validate kubeadmconfigtemplates",
    "validate kubeadmcontrolplanes",
    "validate kubeadmcontrolplanetemplates",
    "validate machinedeployments",
    "validate machinedrainrules",
    "validate machinehealthchecks",
    "validate machinepools",
    "validate machines",
    "validate machinesets",
];

/// D1 in one test, since everything of it takes a while: installed, at rest, modified, drifted, upgraded.
#[test]
fn providers_are_installed_kept_and_upgraded() {
    let Some(town) = Town::build() else { return };
    for row in THREE {
        town.publish(row, "v1.12.8");
        town.ask(row, "v1.12.8", &json!({}));
    }
    town.publish(IPAM, "v1.0.3");
    town.ask(IPAM, "v1.0.3", &json!({}));
    town.reconciler.start();
    town.wait_for(&[(CORE, "v1.12.8"), (BOOTSTRAP, "v1.12.8"), (CONTROL_PLANE, "v1.12.8"), (IPAM, "v1.0.3")]);
    assert!(town.stub.calls.load(Ordering::SeqCst) > 10, "webhooks were asked");
    // All that are called for creations.
    let asked = town.stub.asked.lock().unwrap().clone();
    assert_eq!(asked.iter().map(String::as_str).collect::<Vec<_>>(), ASKED);
    assert_eq!(town.field(CORE, ".status.contract"), "v1beta2");
    assert_eq!(town.field(CORE, ".metadata.generation"), "1", "a spec is never written");
    let installed = town.objects();
    assert!(installed.len() > 60, "{} objects", installed.len());

    // A pass with nothing to do: begun by a change that means nothing, and by a restart.
    let writes = town.settle();
    let resource = "coreproviders.operator.cluster.x-k8s.io";
    town.plane.kubectl(&["annotate", resource, CORE.name, "-n", CORE.namespace, "touched=yes"]);
    assert_eq!(town.settle(), writes, "{:?}", town.writes().split_off(writes));
    town.reconciler.kill();
    town.reconciler.start();
    std::thread::sleep(tally::wait(Duration::from_secs(8)));
    assert_eq!(town.settle(), writes, "{:?}", town.writes().split_off(writes));

    // Drift is repaired, of objects in a namespace and of others.
    town.plane.kubectl(&[
        "scale",
        "deployment",
        "capi-controller-manager",
        "-n",
        CORE.namespace,
        "--replicas=3",
    ]);
    town.plane.kubectl(&["delete", "clusterrole", "capi-manager-role"]);
    town.wait("drift is not repaired", || town.objects() == installed);

    // A spec that says more, and one that says less again.
    let more = json!({
        "deployment": {"nodeSelector": {"a": "b"}, "affinity": {"podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": []}}},
        "patches": [{"target": {"kind": "Deployment"},
            "patch": "{\"metadata\": {\"annotations\": {\"example.com/a\": \"b\"}}}"}],
    });
    town.ask(IPAM, "v1.0.3", &more);
    let annotation = || {
        let path = "jsonpath={.metadata.annotations.example\\.com/a}";
        town.plane.kubectl(&[
            "get",
            "deployments",
            "-n",
            IPAM.namespace,
            "-o",
            &path.replace("{.", "{.items[0]."),
        ])
    };
    town.wait("it does not say more", || annotation() == "b");
    town.ask(IPAM, "v1.0.3", &json!({}));
    town.wait("it does not say less", || town.objects() == installed);
    town.wait_for(&[(IPAM, "v1.0.3")]);

    // Upgraded, all three in one commit: one after the other.
    for row in THREE {
        town.publish(row, "v1.13.4");
    }
    for row in THREE {
        town.ask(row, "v1.13.4", &json!({}));
    }
    town.wait_for(&[(CORE, "v1.13.4"), (BOOTSTRAP, "v1.13.4"), (CONTROL_PLANE, "v1.13.4"), (IPAM, "v1.0.3")]);
    let stored = "jsonpath={.items[*].spec.versions[*].name}";
    let versions =
        town.plane.kubectl(&["get", "crd", "-l", "cluster.x-k8s.io/provider=cluster-api", "-o", stored]);
    assert!(!versions.contains("v1alpha4"), "{versions}");
    assert_eq!(at_once(&town), 1, "providers that were down at once");
}

/// With what `capstan providers rights` prints of just these, and not a more right.
#[test]
fn what_is_printed_of_a_set_is_enough_to_install_upgrade_and_delete_it() {
    let Some(town) = Town::build_without_rights() else { return };
    town.publish(CORE, "v1.12.8");
    town.ask(CORE, "v1.12.8", &json!({}));
    town.publish(IPAM, "v1.0.3");
    town.ask(IPAM, "v1.0.3", &json!({}));
    town.reconciler.start();
    town.wait("nobody says what it may not", || {
        let reason = ".status.conditions[?(@.type==\"PreflightCheckPassed\")].reason";
        town.field(CORE, reason) == "MissingRights"
    });
    let repository = tempfile::tempdir().unwrap();
    town.grant_what_is_printed(repository.path());
    town.wait_for(&[(CORE, "v1.12.8"), (IPAM, "v1.0.3")]);

    // An upgrade that drops a role, brings another, and takes versions of definitions away.
    town.publish(CORE, "v1.13.4");
    town.publish_next(
        IPAM,
        ["v1.0.3", "v1.0.4"],
        |document| document.contains("\nkind: ClusterRole\n") && document.contains("metrics-reader"),
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: capi-ipam-in-cluster-added}\n\
         rules: [{apiGroups: [''], resources: [events], verbs: [list]}]\n",
    );
    town.ask(CORE, "v1.13.4", &json!({}));
    town.ask(IPAM, "v1.0.4", &json!({}));
    let reason = ".status.conditions[?(@.type==\"PreflightCheckPassed\")].reason";
    town.wait("nobody says what it may not", || town.field(IPAM, reason) == "MissingRights");
    town.grant_what_is_printed(repository.path());
    town.wait_for(&[(CORE, "v1.13.4"), (IPAM, "v1.0.4")]);
    let roles = town.plane.kubectl(&["get", "clusterroles", "-o", "name"]);
    let has = |name: &str| roles.lines().any(|line| line.ends_with(&format!("/capi-ipam-in-cluster-{name}")));
    assert_eq!([has("metrics-reader"), has("added")], [false, true], "{roles}");

    goes_once_nothing_needs_it(&town);
}

/// Deleted while objects of its kinds are there, or, of core, other providers: it is said what is in the way, and nothing goes.
fn goes_once_nothing_needs_it(town: &Town) {
    let pool = json!({"apiVersion": "ipam.cluster.x-k8s.io/v1alpha2", "kind": "InClusterIPPool",
        "metadata": {"name": "kept", "namespace": "default"},
        "spec": {"addresses": ["10.0.0.10-10.0.0.20"], "prefix": 24, "gateway": "10.0.0.1"}});
    town.plane.apply(&pool.to_string());
    let resource = |row: Row| format!("{}s.operator.cluster.x-k8s.io", row.kind.to_lowercase());
    for row in [CORE, IPAM] {
        town.plane.kubectl(&["delete", &resource(row), row.name, "-n", row.namespace, "--wait=false"]);
    }
    let blocked = |row: Row| {
        let field = |field: &str| {
            town.field(row, &format!(".status.conditions[?(@.type==\"DeletionBlocked\")].{field}"))
        };
        (field("status"), field("message"))
    };
    town.wait("nobody says what is in the way", || [CORE, IPAM].iter().all(|row| blocked(*row).0 == "True"));
    let said = blocked(IPAM).1;
    assert!(
        said.contains("inclusterippools.ipam.cluster.x-k8s.io") && said.contains("default/kept"),
        "{said}"
    );
    assert!(blocked(CORE).1.contains("IPAMProvider"), "{}", blocked(CORE).1);
    let deployments = || town.plane.kubectl(&["get", "deployments", "-A", "-o", "name"]).lines().count();
    assert_eq!(deployments(), 2);

    town.plane.kubectl(&["delete", "inclusterippools.ipam.cluster.x-k8s.io", "kept", "-n", "default"]);
    town.wait("they do not go", || {
        town.plane.kubectl(&["get", &town.kinds(), "-A", "-o", "name"]).is_empty()
    });
    assert_eq!(deployments(), 0);
    let left = town.plane.kubectl(&["get", "clusterroles", "-l", "cluster.x-k8s.io/provider", "-o", "name"]);
    assert_eq!(left, "", "cluster-scoped objects go, too");
    let kept = town.plane.kubectl(&["get", "crd", "-l", "cluster.x-k8s.io/provider", "-o", "name"]);
    assert!(kept.lines().count() > 10, "definitions stay: {kept}");
}

/// How many Deployments were stopped at once, by the writes of the installer.
fn at_once(town: &Town) -> usize {
    let (mut down, mut most) = (std::collections::BTreeSet::new(), 0);
    for request in town.plane.audit() {
        let is_own = request.is_by("capstan-system", "capstan-providers") && request.is_write();
        if !is_own || request.resource != "deployments" || request.code >= 300 {
            continue;
        }
        // The scaling is a JSON Patch, the application an object.
        let stops = request.body.as_array().is_some_and(|operations| {
            operations.iter().any(|one| one["path"] == "/spec/replicas" && one["value"] == 0)
        });
        if stops {
            down.insert(request.namespace.clone());
        } else {
            down.remove(&request.namespace);
        }
        most = most.max(down.len());
    }
    most
}

/// Killed again and again, the end is that of one that was not.
#[test]
fn a_killed_process_installs_and_upgrades_to_the_same_end() {
    let Some(town) = Town::build() else { return };
    for row in [CORE, IPAM] {
        let version = if row.kind == CORE.kind { "v1.12.8" } else { "v1.0.3" };
        town.publish(row, version);
        town.ask(row, version, &json!({}));
    }
    town.reconciler.start();
    for pause in [700, 1100, 1900, 2600, 3300] {
        std::thread::sleep(Duration::from_millis(pause));
        town.reconciler.kill();
        town.reconciler.start();
    }
    town.wait_for(&[(CORE, "v1.12.8"), (IPAM, "v1.0.3")]);
    town.publish(CORE, "v1.13.4");
    town.ask(CORE, "v1.13.4", &json!({}));
    for pause in [900, 1500, 2100, 2800, 3700] {
        std::thread::sleep(Duration::from_millis(pause));
        town.reconciler.kill();
        town.reconciler.start();
    }
    town.wait_for(&[(CORE, "v1.13.4"), (IPAM, "v1.0.3")]);
    let writes = town.settle();
    let broken = town.objects();
    town.reconciler.kill();
    town.reconciler.start();
    std::thread::sleep(tally::wait(Duration::from_secs(8)));
    assert_eq!(town.settle(), writes, "{:?}", town.writes().split_off(writes));
    assert_eq!(town.objects(), broken);
    let text = town.plane.kubectl(&["get", "managedproviders", "-A", "-o", "json"]);
    let records: Value = serde_json::from_str(&text).unwrap();
    for record in records["items"].as_array().unwrap() {
        assert_eq!(record["status"]["phase"], "Settled", "{record:#}");
        assert_eq!(record["status"].get("stopped"), None, "{record:#}");
    }
}

/// An object that the API server refuses: nothing of that provider is written, and it is said. The others go on.
#[test]
fn nothing_of_a_provider_is_written_where_the_api_server_refuses_one_object() {
    let Some(town) = Town::build() else { return };
    town.publish(CORE, "v1.12.8");
    town.ask(CORE, "v1.12.8", &json!({}));
    town.publish(IPAM, "v1.0.3");
    let bad = json!({"patches": [{"target": {"kind": "Deployment"},
        "patch": "{\"spec\": {\"template\": {\"spec\": {\"restartPolicy\": \"Sometimes\"}}}}"}]});
    town.ask(IPAM, "v1.0.3", &bad);
    town.reconciler.start();
    let reason = |row| town.field(row, ".status.conditions[?(@.type==\"PreflightCheckPassed\")].reason");
    town.wait("nothing is said", || reason(IPAM) == "ObjectRefused");
    town.wait_for(&[(CORE, "v1.12.8")]);
    let told = town.field(IPAM, ".status.conditions[?(@.type==\"PreflightCheckPassed\")].message");
    assert!(told.contains("restartPolicy"), "{told}");
    let of_ipam = |write: &String| write.contains(IPAM.namespace) && !write.contains("providers/status");
    let of_ipam: Vec<String> = town.writes().into_iter().filter(of_ipam).collect();
    assert_eq!(of_ipam, [""; 0]);
    town.ask(IPAM, "v1.0.3", &json!({}));
    town.wait_for(&[(CORE, "v1.12.8"), (IPAM, "v1.0.3")]);
}

/// What the operator installed: a condition reports it, Capstan takes it over, and no pod restarts.
#[test]
fn what_the_operator_installed_is_taken_over_without_a_restart() {
    let Some(town) = Town::build() else { return };
    town.publish(CORE, "v1.12.8");
    town.ask(CORE, "v1.12.8", &json!({}));
    town.publish(IPAM, "v1.0.3");
    town.ask(IPAM, "v1.0.3", &json!({}));
    town.reconciler.start();
    town.wait_for(&[(CORE, "v1.12.8"), (IPAM, "v1.0.3")]);
    town.settle();
    town.reconciler.kill();
    // As if the operator had applied it all: its name on every field, its cache, its mark.
    let installed = town.objects();
    for text in installed.iter().filter(|text| text.contains(IPAM.label)) {
        let object: Value = serde_json::from_str(text).unwrap();
        let name = object["metadata"]["name"].as_str().unwrap();
        let resource = format!("{}.{}/{name}", object["kind"].as_str().unwrap(), group(&object));
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or("default");
        let get = ["get", resource.as_str(), "-n", namespace, "-o", "json", "--show-managed-fields"];
        let mut live: Value = serde_json::from_str(&town.plane.kubectl(&get)).unwrap();
        for entry in live["metadata"]["managedFields"].as_array_mut().unwrap() {
            if entry["manager"] == "capstan" {
                entry["manager"] = json!("capi-operator");
            }
        }
        let patch = json!([{"op": "replace", "path": "/metadata/managedFields", "value": live["metadata"]["managedFields"]}]);
        town.plane.kubectl(&["patch", &resource, "-n", namespace, "--type=json", "-p", &patch.to_string()]);
    }
    town.plane.kubectl(&["delete", "managedproviders", "--all", "-n", IPAM.namespace]);
    let cache = "ipam-in-cluster-v1.0.3-cache";
    town.plane.kubectl(&[
        "create",
        "secret",
        "generic",
        cache,
        "-n",
        IPAM.namespace,
        "--from-literal=cache=[]",
    ]);
    let resource = "ipamproviders.operator.cluster.x-k8s.io";
    let annotate = |text: &str| {
        town.plane.kubectl(&["annotate", resource, IPAM.name, "-n", IPAM.namespace, text]);
    };
    annotate("operator.cluster.x-k8s.io/applied-spec-hash=ab");
    let generation = || {
        let path = "jsonpath={.items[*].metadata.generation} {.items[*].metadata.uid}";
        town.plane.kubectl(&["get", "deployments", "-n", IPAM.namespace, "-o", path])
    };
    let before = generation();

    town.reconciler.start();
    let preflight = |field: &str| {
        town.field(IPAM, &format!(".status.conditions[?(@.type==\"PreflightCheckPassed\")].{field}"))
    };
    town.wait("nothing is shown", || preflight("reason") == "AdoptionNeeded");
    let told = preflight("message");
    assert!(told.contains("were applied by capi-operator, not by Capstan"), "{told}");
    assert!(told.contains("changes only who manages their fields, and no pod is restarted"), "{told}");
    let secrets = || town.plane.kubectl(&["get", "secrets", "-n", IPAM.namespace, "-o", "name"]);
    assert!(secrets().contains(cache) && town.objects() == installed);

    annotate("capstan.dev/adopt=take");
    town.wait("it is not taken over", || {
        preflight("reason") == "PreflightChecksPassed" && !secrets().contains(cache)
    });
    town.wait_for(&[(IPAM, "v1.0.3")]);
    town.settle();
    assert_eq!(generation(), before, "no pod is restarted");
    assert_eq!(town.objects(), installed);
    let maps = town.plane.kubectl(&["get", "configmaps", "-n", IPAM.namespace, "-o", "name"]);
    assert!(maps.contains("configmap/v1.0.3"), "{maps}");
    let get = ["get", "deployments", "-n", IPAM.namespace, "-o", "yaml", "--show-managed-fields"];
    assert!(!town.plane.kubectl(&get).contains("manager: capi-operator"));
}

fn group(object: &Value) -> String {
    let version = object["apiVersion"].as_str().unwrap();
    version
        .split_once('/')
        .map(|(group, version)| format!("{version}.{group}"))
        .unwrap_or_else(|| format!("{version}."))
}
