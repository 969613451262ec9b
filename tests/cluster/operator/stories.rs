//! D1, D3 and D9 to D14: what becomes of the same provider objects with the operator and with Capstan.

use std::time::Duration;

use capstan_fleet::components::layers;
use capstan_ports::{AllowedHosts, ComponentSource as _, FetchLimits, SourceCredentials};
use capstan_providers::{OciArtifact, Published};
use capstan_registries::Fetcher;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::differences::{Meant, held, meant, objects};
use super::pair::{Pair, items, log, operate};
use super::rendering::built;
use super::running::{self, ACCOUNT};
use super::{released, set_of};
use crate::installing::town::{AWS, BOOTSTRAP, CONTROL_PLANE, CORE, IPAM, Row, Town};
use capstan_test_parts::components::registry::{Asks, Registry};

const THREE: [Row; 3] = [CORE, BOOTSTRAP, CONTROL_PLANE];
const NAMESPACES: [&str; 4] = [CORE.namespace, BOOTSTRAP.namespace, CONTROL_PLANE.namespace, IPAM.namespace];

/// What the operator keeps beside the objects, and Capstan does not.
const KEPT: &[Meant] = &[
    // What it rendered, values of variables included, so that a pass can apply it again.
    meant("Secret */*-cache", "", "there", "-"),
    // By which it knows that nothing changed.
    meant("*Provider */*", "/metadata/annotations", "*applied-spec-hash*", "-"),
];

#[tokio::test(flavor = "multi_thread")]
async fn the_operator_and_capstan_come_to_the_same_one_by_one() {
    let Some(registry) = Registry::start(&Asks::Nothing) else { return };
    if push_ipam(&registry).await.is_none() {
        return;
    }
    let story = tokio::task::spawn_blocking(move || one_by_one(&registry));
    story.await.unwrap();
}

/// A selector that matches one ConfigMap. If several match, the operator does not continue and says so only in its log.
fn one(row: Row, version: &str) -> Value {
    let labels = json!({"for": row.name, "provider.cluster.x-k8s.io/version": version});
    json!({"fetchConfig": {"selector": {"matchLabels": labels}}})
}

/// Puts the IPAM provider into the registry, as `providers fetch --push` does; `None`, said aloud, where its release was
/// never fetched.
async fn push_ipam(registry: &Registry) -> Option<()> {
    let object = json!({"apiVersion": "operator.cluster.x-k8s.io/v1alpha2", "kind": IPAM.kind,
        "metadata": {"name": IPAM.name, "namespace": IPAM.namespace}, "spec": {"version": "v1.0.3"}});
    let (metadata, components) = released(IPAM.label, "v1.0.3", IPAM.file)?;
    let published = Published::read("v1.0.3", metadata.into(), components.into(), "x").unwrap();
    let set = set_of(&[object]);
    let fetcher = Fetcher::new(AllowedHosts::new([registry.host.as_str()]), FetchLimits::default()).unwrap();
    let address = format!("http://{}/own/{}", registry.host, IPAM.label);
    let artifact = OciArtifact::parse(&address, Some("v1.0.3")).unwrap();
    let files = layers(&set.providers()[0], &published);
    fetcher.push(&artifact, &files, &SourceCredentials::default()).await.unwrap();
    Some(())
}

fn one_by_one(registry: &Registry) {
    let Some(pair) = Pair::start(&["--provider-hosts", &format!("http://{}", registry.host)]) else { return };
    refusals(&pair);

    // D1 and D3: core, bootstrap and control plane from packed ConfigMaps, IPAM from the registry.
    let oci = json!({"fetchConfig": {"oci": format!("http://{}/own/{}", registry.host, IPAM.label)}});
    pair.each(|town| {
        for row in THREE {
            town.publish(row, "v1.12.8");
            town.ask(row, "v1.12.8", &one(row, "v1.12.8"));
        }
        town.ask(IPAM, "v1.0.3", &oci);
    });
    pair.wait_for(&[(CORE, "v1.12.8"), (BOOTSTRAP, "v1.12.8"), (CONTROL_PLANE, "v1.12.8"), (IPAM, "v1.0.3")]);
    pair.compare("D1 and D3, installed", &NAMESPACES, &[KEPT]);

    // D11: a spec that says more, then less.
    let mut more = oci.clone();
    more["manager"] = json!({"verbosity": 4, "maxConcurrentReconciles": 3, "featureGates": {}});
    more["deployment"] = json!({"replicas": 2, "nodeSelector": {"a": "b"},
        "tolerations": [{"key": "a", "operator": "Exists"}],
        "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 1, "podAffinityTerm": {"topologyKey": "zone"}}]}},
        "containers": [{"name": "manager", "resources": {"limits": {"memory": "1Gi"}}}]});
    more["patches"] = json!([{"target": {"kind": "Deployment"},
        "patch": "{\"metadata\": {\"annotations\": {\"example.com/a\": \"b\"}, \"labels\": {\"example.com/c\": \"d\"}}}"}]);
    // The operator has a webhook for the namespace, which does not run here.
    more["additionalManifests"] = json!({"name": "more", "namespace": IPAM.namespace});
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "more", "namespace": IPAM.namespace},
        "data": {"manifests": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: added, namespace: x}\ndata: {a: b}\n"}});
    pair.each(|town| {
        town.plane.apply(&map.to_string());
        town.ask(IPAM, "v1.0.3", &more);
    });
    let has = |town: &Town, name: &str| {
        let all = ["get", "configmaps", "-n", IPAM.namespace, "-o", "name"];
        town.plane.kubectl(&all).lines().any(|line| line == format!("configmap/{name}"))
    };
    pair.wait("the additional manifest is not there", |town| has(town, "added"));
    pair.wait_for(&[(IPAM, "v1.0.3")]);
    pair.compare("D11, modified", &NAMESPACES, &[KEPT]);
    pair.each(|town| town.ask(IPAM, "v1.0.3", &oci));
    let selector = |town: &Town| {
        let path = "jsonpath={.items[*].spec.template.spec.nodeSelector}";
        town.plane.kubectl(&["get", "deployments", "-n", IPAM.namespace, "-o", path])
    };
    pair.ours.wait("the selector does not go", || selector(&pair.ours).is_empty());
    pair.wait_for(&[(IPAM, "v1.0.3")]);
    pair.compare("D11, modified back", &NAMESPACES, &[KEPT, LEFT]);

    // D9: upgraded one by one.
    for row in THREE {
        pair.each(|town| {
            town.publish(row, "v1.13.4");
            town.ask(row, "v1.13.4", &one(row, "v1.13.4"));
        });
        pair.wait_for(&[(row, "v1.13.4")]);
        pair.compare(&format!("D9, {} upgraded", row.label), &NAMESPACES, &[KEPT, LEFT]);
    }

    // D12: deleted.
    let resource = "ipamproviders.operator.cluster.x-k8s.io";
    pair.each(|town| {
        town.plane.kubectl(&["delete", resource, IPAM.name, "-n", IPAM.namespace, "--wait=false"]);
    });
    pair.wait("it is not gone", |town| town.plane.kubectl(&["get", resource, "-A", "-o", "name"]).is_empty());
    pair.settle();
    pair.compare("D12, deleted", &NAMESPACES, &[KEPT, DELETED]);

    // D14: AWS, whose variables have values in a Secret.
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "values", "namespace": AWS.namespace},
        "stringData": {"AWS_B64ENCODED_CREDENTIALS": "eA==", "AWS_CONTROLLER_IAM_ROLE": "arn:aws:iam::1:role/capa"}});
    pair.each(|town| {
        town.publish(AWS, "v2.8.4");
        town.plane.apply(&secret.to_string());
        town.ask(AWS, "v2.8.4", &json!({"configSecret": {"name": "values", "namespace": AWS.namespace}}));
    });
    pair.wait_for(&[(AWS, "v2.8.4")]);
    let namespaces = [&NAMESPACES[..], &[AWS.namespace]].concat();
    pair.compare("D14, AWS", &namespaces, &[KEPT, DELETED]);

    // D13: an older minor. Set right again, the operator's condition stays what it was: it goes by its cache.
    pair.each(|town| town.ask(BOOTSTRAP, "v1.12.8", &one(BOOTSTRAP, "v1.12.8")));
    let [theirs, ours] = pair.refusal(BOOTSTRAP);
    assert_eq!(theirs.0, "UnsupportedProviderDowngradeReason");
    assert_eq!(theirs.1, "Downgrade is not supported for provider %s", "the README says how it is told here");
    let told = "Downgrade is not supported for provider bootstrap-kubeadm";
    assert_eq!(ours, (theirs.0, told.to_owned()));
    pair.end();
}

/// What the operator leaves where a spec says less again.
const LEFT: &[Meant] = &[
    // The operator still owns the fields that it created the object with.
    meant(IPAM_DEPLOYMENT, "/metadata/annotations", r#"{"example.com/a":"b"}"#, "-"),
    meant(IPAM_DEPLOYMENT, "/metadata/labels/example.com/c", "d", "-"),
    meant(IPAM_DEPLOYMENT, "/spec/template/spec/affinity", "*podAntiAffinity*", "-"),
    meant(IPAM_DEPLOYMENT, "/spec/template/spec/nodeSelector", r#"{"a":"b"}"#, "-"),
    meant(IPAM_DEPLOYMENT, "/spec/template/spec/tolerations", r#"[{"key":"a","operator":"Exists"}]"#, "-"),
    // What additional manifests no longer name.
    meant("ConfigMap capi-ipam-in-cluster-system/added", "", "there", "-"),
];
const IPAM_DEPLOYMENT: &str =
    "Deployment capi-ipam-in-cluster-system/capi-ipam-in-cluster-controller-manager";
/// What the operator leaves of a provider that is deleted.
const DELETED: &[Meant] = &[
    meant("ClusterRole /capi-ipam-in-cluster-manager-role", "", "there", "-"),
    meant("ClusterRole /capi-ipam-in-cluster-metrics-reader", "", "there", "-"),
    meant("ClusterRole /capi-ipam-in-cluster-proxy-role", "", "there", "-"),
    meant("ClusterRoleBinding /capi-ipam-in-cluster-manager-rolebinding", "", "there", "-"),
    meant("ClusterRoleBinding /capi-ipam-in-cluster-proxy-rolebinding", "", "there", "-"),
];

/// The provider objects with their specs, the one whose condition is checked, and the expected reason and message.
type Case<'a> = (&'a [(Row, Value)], Row, &'static str, &'static str);

/// D13: what preflight refuses, with which reason and message.
fn refusals(pair: &Pair) {
    let ipam = |name: &'static str, namespace: &'static str| Row { name, namespace, ..IPAM };
    let infrastructure = Row { kind: "InfrastructureProvider", name: "own", namespace: "own-system", ..IPAM };
    let core = |name: &'static str, namespace: &'static str| Row { name, namespace, ..CORE };
    let selector = json!({"selector": {"matchLabels": {"for": "nobody"}}});
    let with = |version: &str| json!({"version": version, "fetchConfig": selector});
    let cases: [Case<'_>; 6] = [
        (
            &[(IPAM, with("nonsense"))],
            IPAM,
            "IncorrectVersionFormat",
            "could not parse \"nonsense\" as version",
        ),
        (
            &[(core("core", "capi-system"), with("v1.12.8"))],
            core("core", "capi-system"),
            "IncorrectCoreProviderNameReason",
            "Incorrect CoreProvider name: core. It should be cluster-api",
        ),
        (
            &[(infrastructure, json!({"version": "v1.0.0"}))],
            infrastructure,
            "FetchConfigValidationError",
            "Either Selector, OCI URL or provider URL must be provided for a not predefined provider",
        ),
        (
            &[(core("cluster-api", "one"), with("v1.12.8")), (core("cluster-api", "two"), with("v1.12.8"))],
            core("cluster-api", "two"),
            "MoreThanOneExists",
            "CoreProvider already exists in the cluster. Only one is allowed.",
        ),
        (
            &[(ipam("in-cluster", "one"), with("v1.0.3")), (ipam("in-cluster", "two"), with("v1.0.3"))],
            ipam("in-cluster", "two"),
            "MoreThanOneExists",
            "There is already a IPAMProvider with name in-cluster in the cluster. Only one is allowed.",
        ),
        (
            &[(IPAM, with("v1.0.3"))],
            IPAM,
            "WaitingForCoreProviderReady",
            "Waiting for the CoreProvider to be installed.",
        ),
    ];
    for (present, looked_at, reason, message) in cases {
        pair.each(|town| {
            for (row, spec) in present {
                let namespace =
                    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": row.namespace}});
                town.plane.apply(&namespace.to_string());
                let object = json!({"apiVersion": "operator.cluster.x-k8s.io/v1alpha2", "kind": row.kind,
                    "metadata": {"name": row.name, "namespace": row.namespace}, "spec": spec});
                town.plane.apply(&object.to_string());
            }
        });
        let said = (reason.to_owned(), message.to_owned());
        // It prints name and namespace where it means kind and name.
        let mended = message.replace("a IPAMProvider with name in-cluster", "a in-cluster with name one");
        let [theirs, ours] = pair.refusal(looked_at);
        assert_eq!(ours, said, "Capstan, of {} {}", looked_at.kind, looked_at.name);
        assert_eq!(
            theirs,
            (reason.to_owned(), mended),
            "the operator, of {} {}",
            looked_at.kind,
            looked_at.name
        );
        pair.each(|town| {
            for (row, _) in present {
                let resource = format!("{}s.operator.cluster.x-k8s.io", row.kind.to_lowercase());
                town.plane.kubectl(&["delete", &resource, row.name, "-n", row.namespace, "--wait=false"]);
            }
        });
        pair.wait("the refused are not gone", |town| items(town, &[&town.kinds(), "-A"]).is_empty());
    }
    println!("D13: six reasons alike, message by message; a refused downgrade follows");
}

/// D10: one commit upgrades all three. The operator stops all three at once, Capstan one after the other. The end is
/// the same.
#[test]
fn the_operator_and_capstan_come_to_the_same_in_one_commit() {
    let Some(pair) = Pair::start(&[]) else { return };
    let since = Timestamp::now();
    pair.each(|town| {
        for row in THREE {
            town.publish(row, "v1.12.8");
            town.ask(row, "v1.12.8", &one(row, "v1.12.8"));
        }
        town.publish(IPAM, "v1.0.3");
        town.ask(IPAM, "v1.0.3", &json!({}));
    });
    pair.wait_for(&[(CORE, "v1.12.8"), (BOOTSTRAP, "v1.12.8"), (CONTROL_PLANE, "v1.12.8"), (IPAM, "v1.0.3")]);
    pair.print_figures("D1", since);
    pair.compare("D1, installed", &NAMESPACES, &[KEPT]);
    let since = Timestamp::now();
    pair.each(|town| {
        THREE.iter().for_each(|row| town.publish(*row, "v1.13.4"));
        THREE.iter().for_each(|row| town.ask(*row, "v1.13.4", &one(*row, "v1.13.4")));
    });
    pair.wait_for(&[(CORE, "v1.13.4"), (BOOTSTRAP, "v1.13.4"), (CONTROL_PLANE, "v1.13.4"), (IPAM, "v1.0.3")]);
    pair.print_figures("D10", since);
    pair.compare("D10, upgraded in one commit", &NAMESPACES, &[KEPT]);
    pair.end();
}

/// Providers that the operator installed are taken over and given back: no pod restarts, and no object is recreated.
#[test]
fn the_operator_gives_a_provider_and_gets_it_back_without_a_restart() {
    let Some(town) = Town::build() else { return };
    let Some(operator) = operate(&town) else { return };
    for row in [CORE, IPAM] {
        let version = if row.kind == CORE.kind { "v1.12.8" } else { "v1.0.3" };
        town.publish(row, version);
        town.ask(row, version, &json!({}));
    }
    let all = [(CORE, "v1.12.8"), (IPAM, "v1.0.3")];
    town.wait("the operator does not install", || {
        all.iter().all(|(row, version)| town.is_ready(*row, version))
    });
    std::thread::sleep(Duration::from_secs(5));

    // While the operator runs, nothing is written, and the log says what taking over would change.
    town.plane.apply(DEPLOYED);
    town.reconciler.start();
    for label in ["cluster-api", "ipam-in-cluster"] {
        let said =
            format!("objects of {label} were applied by capi-operator, not by Capstan; taking them over");
        town.wait("what taking over would change is not said", || town.reconciler.log().contains(&said));
    }
    assert!(town.reconciler.log().contains("OwnedElsewhere"), "{}", town.reconciler.log());
    assert_eq!(town.writes(), [""; 0], "written while the operator lives");
    town.reconciler.kill();
    town.plane.kubectl(&[
        "scale",
        "deployment",
        "capi-operator",
        "-n",
        "capi-operator-system",
        "--replicas=0",
    ]);
    drop(operator);
    let before = identities(&town);
    let namespaces = [CORE.namespace, IPAM.namespace];
    let installed = objects(&town, &namespaces);

    town.reconciler.start();
    let reason = |row| town.field(row, ".status.conditions[?(@.type==\"PreflightCheckPassed\")].reason");
    town.wait("nothing is shown", || all.iter().all(|(row, _)| reason(*row) == "AdoptionNeeded"));
    for (row, _) in all {
        let resource = format!("{}s.operator.cluster.x-k8s.io", row.kind.to_lowercase());
        town.plane.kubectl(&["annotate", &resource, row.name, "-n", row.namespace, "capstan.dev/adopt=take"]);
    }
    let caches = || {
        let secrets = town.plane.kubectl(&["get", "secrets", "-A", "-o", "name"]);
        secrets.lines().filter(|name| name.ends_with("-cache")).count()
    };
    town.wait("they are not taken over", || {
        all.iter()
            .all(|(row, version)| reason(*row) == "PreflightChecksPassed" && town.is_ready(*row, version))
            && caches() == 0
    });
    town.settle();
    assert_eq!(identities(&town), before, "taken over");

    // Capstan holds the operator's Lease: an operator that starts now waits.
    let holder = || {
        let lease = ["get", "lease", "controller-leader-election-capi-operator", "-n", ACCOUNT.0];
        town.plane.kubectl(&[&lease[..], &["-o", "jsonpath={.spec.holderIdentity}"]].concat())
    };
    assert!(holder().starts_with("capstan-providers_"), "{}", holder());
    let asked = town.plane.audit().len();
    let elected = running::operate_elected(&town.plane, &built().unwrap().join("operator"));
    if let Some(operator) = &elected {
        town.wait("it does not ask for its Lease", || {
            log(operator).contains("attempting to acquire leader lease")
        });
        // It asks every two seconds, and a Lease that nobody renews is dead after 15.
        std::thread::sleep(Duration::from_secs(20));
        assert!(holder().starts_with("capstan-providers_"), "{}", holder());
        let its = its_writes(&town, asked);
        assert_eq!(its, [""; 0], "written by one that stands by\n{}", log(operator));
    }
    town.reconciler.kill();

    let operator = elected.unwrap_or_else(|| operate(&town).unwrap());
    town.wait("the operator does not take it back", || {
        caches() == 2 && all.iter().all(|(row, version)| town.is_ready(*row, version))
    });
    std::thread::sleep(Duration::from_secs(5));
    assert_eq!(identities(&town), before, "given back\n{}", log(&operator));
    let mut its = its_writes(&town, asked);
    // It may update existing objects, but not recreate them.
    its.retain(|words| !words.starts_with("patch ") && !words.starts_with("update "));
    assert_eq!(its, [""; 0], "made or deleted by the operator that got it back");
    let given_back = objects(&town, &namespaces);
    held("given back", &installed, &given_back, &[BACK]).unwrap();
}

/// What the operator wrote since then, aside from its caches, its Lease and what it tells.
fn its_writes(town: &Town, since: usize) -> Vec<String> {
    let own = |resource: &str| matches!(resource, "secrets" | "events" | "leases");
    town.plane.audit()[since..]
        .iter()
        .filter(|one| one.is_by(ACCOUNT.0, ACCOUNT.1) && one.is_write() && one.code < 300)
        .filter(|one| !own(&one.resource))
        .map(capstan_test_parts::plane::audit::Request::words)
        .collect()
}

/// By what an operator is known.
const DEPLOYED: &str = "
apiVersion: apps/v1
kind: Deployment
metadata:
  name: capi-operator
  namespace: capi-operator-system
  labels: {clusterctl.cluster.x-k8s.io/core: capi-operator, control-plane: controller-manager}
spec:
  selector: {matchLabels: {control-plane: controller-manager}}
  template:
    metadata: {labels: {control-plane: controller-manager}}
    spec: {containers: [{name: manager, image: registry.example/operator}]}
";

/// What is otherwise once the operator has its providers back.
const BACK: &[Meant] = &[
    // The test wrote this annotation, so the test removes it.
    meant("*Provider */*", "/metadata/annotations/capstan.dev/adopt", "-", "take"),
];

/// The UID of every object of the providers, and the generation of Deployments: a recreated object or a restarted
/// Deployment has another one.
fn identities(town: &Town) -> Vec<String> {
    let brought = "deployments,services,serviceaccounts,clusterroles,clusterrolebindings,roles,rolebindings,customresourcedefinitions,\
                   mutatingwebhookconfigurations,validatingwebhookconfigurations,issuers,certificates";
    let mut all: Vec<String> = items(town, &[brought, "-A", "-l", "cluster.x-k8s.io/provider"])
        .iter()
        .map(|object| {
            let metadata = &object["metadata"];
            let generation =
                if object["kind"] == "Deployment" { &metadata["generation"] } else { &Value::Null };
            format!("{} {} {} {generation}", object["kind"], metadata["name"], metadata["uid"])
        })
        .collect();
    all.sort();
    all
}
