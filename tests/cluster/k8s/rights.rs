//! The rights in `deploy/` are enough and not more: a real `capstan reconcile` with them, and what it asked for.

use capstan_test_support::PATIENCE;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use capstan_telemetry::{METRICS, Program};
use capstan_test_support::tally;
use serde_json::{Value, json};

use crate::running::real::live_inventory::{FLEET, inventory};
use crate::running::secrets::vault::{Beside, CANARY};
use capstan_test_parts::deployed::deployed;
use capstan_test_parts::metrics;
use capstan_test_parts::plane::audit::Request;
use capstan_test_parts::plane::process::Process;
use capstan_test_parts::plane::reconciler::{self, HOME};
use capstan_test_parts::plane::{Parts, Plane, tail};
use capstan_test_parts::repository::TestRepository;

/// Whose folders are applied.
const CUSTOMER: &str = "acme";
/// A namespace that is deleted.
const LEAVING: &str = "leaving";

/// One kind of the OpenStack resource controller, as far as rights have to do with it.
const SERVER_GROUPS: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: servergroups.openstack.k-orc.cloud}
spec:
  group: openstack.k-orc.cloud
  names: {kind: ServerGroup, listKind: ServerGroupList, plural: servergroups, singular: servergroup}
  scope: Namespaced
  versions:
  - name: v1alpha1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
";

#[test]
fn the_reconciler_gets_by_with_its_rights_and_none_is_idle() {
    let Some(plane) = Plane::start(Parts::Kinds) else { return };
    reconciler::install(&plane);
    plane.kubectl(&["create", "namespace", CUSTOMER]);
    plane.kubectl(&["apply", "-n", CUSTOMER, "-k", &deployed("applier").display().to_string()]);
    let repository = TestRepository::new();
    let folder = tempfile::tempdir().unwrap();
    let beside = Beside::start(&plane);
    for namespace in [CUSTOMER, LEAVING] {
        beside.vault.role(&format!("capstan-{namespace}"));
        beside.vault.put(&format!("kv/{namespace}/web"), json!({"password": CANARY}));
    }
    reconciler::prepare_namespace(&plane, LEAVING);
    beside.vault.put("kv/others/web", json!({"password": CANARY}));
    settle(&plane, &repository, &beside.vault.url);
    let process = reconciler::process(&plane, folder.path());
    process.start();
    let wait = |what: &str, done: &dyn Fn() -> bool| {
        let begun = Instant::now();
        while !done() {
            process.is_well().unwrap();
            assert!(
                begun.elapsed() < PATIENCE,
                "{what} does not happen:\n{}\n{}",
                tail(&process.log(), 40),
                plane.kubectl(&["get", "fleets,managedclusters", "-A", "-o", "yaml"])
            );
            std::thread::sleep(Duration::from_millis(200));
        }
    };
    let is_there =
        |kind: &str, name: &str| plane.try_kubectl(&["get", kind, name, "-n", CUSTOMER], "").is_ok();
    let ready_of = |cluster: &str| {
        let reason = "jsonpath={.status.conditions[?(@.type==\"Ready\")].reason}";
        plane.kubectl(&["get", "managedcluster", cluster, "-n", HOME, "-o", reason])
    };
    let all_there = |names: &[(&str, &str)]| names.iter().all(|(kind, name)| is_there(kind, name));

    // All objects are created. No controller runs here, so the test itself reports the control plane as up.
    wait("the cluster is created", &|| {
        all_there(&[
            ("cluster", "web"),
            ("kubeadmcontrolplane", "web-cp"),
            ("configmap", "notes"),
            ("secret", "login"),
            ("secret", "out-of-vault"),
            ("servergroup", "web"),
        ])
    });
    finish_control_plane(&plane);
    wait("the workers are applied", &|| is_there("machinedeployment", "web-md"));

    wait("the control plane of a topology is looked for", &|| {
        plane.audit().iter().any(|request| request.name == "topo-cp" && request.verb == "get")
    });

    // Asked for a look, of a Fleet and of a cluster.
    for (kind, name) in [("fleet", "gitops"), ("managedcluster", "acme-web")] {
        plane.kubectl(&["annotate", kind, name, "-n", HOME, "capstan.dev/reconcile=now"]);
        wait("the annotation is taken away", &|| {
            let annotations = ["get", kind, name, "-n", HOME, "-o", "jsonpath={.metadata.annotations}"];
            !plane.kubectl(&annotations).contains("capstan.dev/reconcile")
        });
    }

    // The live inventory: a cluster is created from it, and the status of its objects is written.
    plane.apply(FLEET);
    plane.apply(&inventory("shop", "first"));
    wait("a cluster comes of an inventory", &|| is_there("configmap", "shop-note"));
    let status = ["get", "site", "fra1", "-n", HOME, "-o", "jsonpath={.status.clusters}"];
    wait("and is told of", &|| plane.kubectl(&status) == "1");

    // Vault's policy separates customers, whatever a reference names. The VaultSecret reports the denial, and no Secret
    // is written.
    let others = "{apiVersion: capstan.dev/v1alpha1, kind: VaultSecret, metadata: {name: of-others, namespace: acme}, spec: {store: eu, refreshSeconds: 10, data: {password: {mount: kv, path: others/web, key: password}}}}";
    plane.apply(others);
    let reason_in = |namespace: &str, name: &str| {
        let path = "jsonpath={.status.conditions[0].reason}";
        plane.kubectl(&["get", "vaultsecret", name, "-n", namespace, "-o", path])
    };
    let reason = |name: &str| reason_in(CUSTOMER, name);
    wait("what is another customer's is refused", &|| reason("of-others") == "Denied");
    assert!(!is_there("secret", "of-others"));
    assert_eq!(reason("out-of-vault"), "Resolved");
    // The next regular pass is ten minutes away, longer than this test waits: only the watch can report it.
    plane.kubectl(&["delete", "secret", "out-of-vault", "-n", CUSTOMER]);
    wait("a Secret that was removed by hand returns", &|| is_there("secret", "out-of-vault"));

    // A namespace is deleted, the rights of its account first. Then only the reconciler itself can remove the finalizer
    // of a VaultSecret.
    plane.apply(
        &others.replace("of-others", "leaves").replace("acme", LEAVING).replace("others/web", "leaving/web"),
    );
    wait("it holds what it asks for", &|| reason_in(LEAVING, "leaves") == "Resolved");
    plane.kubectl(&["delete", "namespace", LEAVING, "--wait=false"]);
    plane.try_kubectl(&["delete", "rolebinding,role", "capstan-applier", "-n", LEAVING], "").ok();
    plane.try_kubectl(&["delete", "vaultsecret", "leaves", "-n", LEAVING, "--wait=false"], "").ok();
    wait("it goes with its namespace", &|| {
        plane.kubectl(&["get", "vaultsecrets", "-n", LEAVING, "-o", "name"]).trim().is_empty()
    });
    wait("an event says so", &|| {
        plane
            .kubectl(&["get", "events.events.k8s.io", "-n", CUSTOMER, "-o", "jsonpath={.items[*].reason}"])
            .contains("Denied")
    });
    plane.kubectl(&["delete", "vaultsecret", "of-others", "-n", CUSTOMER]);

    // Pruned, with a tombstone where one is needed.
    let base = |file: &str| repository.at(&format!("acme/web/base/{file}"));
    for file in ["notes.yaml", "login.yaml", "check.yaml", "addons.yaml", "group.yaml"] {
        std::fs::remove_file(base(file)).unwrap();
    }
    repository.write(
        "acme/web/capstan.yaml",
        "delete: [{kind: Secret, name: login}, {kind: ServerGroup, name: web}]\n",
    );
    repository.commit_all("Without what nobody needs");
    wait("what is gone from Git is deleted", &|| {
        !is_there("configmap", "notes")
            && !is_there("secret", "login")
            && !is_there("machinehealthcheck", "web")
            && !is_there("clusterresourceset", "web")
            && !is_there("servergroup", "web")
    });

    // The whole cluster, and then its folder.
    repository.write("acme/web/capstan.yaml", "delete: cluster\n");
    repository.commit_all("Away with it");
    wait("the cluster is deleted", &|| {
        !is_there("cluster", "web")
            && !is_there("kubeadmcontrolplane", "web-cp")
            && !is_there("devcluster", "web")
            && !is_there("vaultsecret", "out-of-vault")
            && !is_there("secret", "out-of-vault")
            // Else what is gone and not known to be would stay in the record.
            && ready_of("acme-web") == "Removed"
    });
    std::fs::remove_dir_all(repository.at("acme/web")).unwrap();
    repository.commit_all("And its folder");
    wait("its record is gone", &|| {
        plane.try_kubectl(&["get", "managedcluster", "acme-web", "-n", HOME], "").is_err()
    });
    // Without a Fleet there is no account that may read it: the reconciler reports that with its own rights.
    plane.kubectl(&["delete", "fleets", "--all", "-n", HOME]);
    plane.apply(&others.replace("of-others", "of-nobody"));
    wait("that nobody applies is said", &|| reason("of-nobody") == "NotAllowed");
    tells_what_it_does(&process);
    assert!(!process.log().contains(CANARY), "a value of Vault's stands in the log");
    drop(process);
    let everything = ["get", "vaultsecrets,fleets,managedclusters,events.events.k8s.io", "-A", "-o", "yaml"];
    assert!(!plane.kubectl(&everything).contains(CANARY));

    let audit = plane.audit();
    // A watch of all Secrets and ConfigMaps would read them all. They, and the kinds of a single cloud, are watched
    // only in the namespaces where they are applied, with the customer's rights. One refused request for all
    // namespaces precedes it.
    let is_unwatched = |request: &Request| {
        request.verb == "list"
            && request.namespace.is_empty()
            && ["secrets", "configmaps", "servergroups"].contains(&&*request.resource)
    };
    let refused: Vec<String> = audit
        .iter()
        .filter(|request| request.code == 403 && request.user.contains("capstan") && !is_unwatched(request))
        // Its account's rights are gone.
        .filter(|request| request.namespace != LEAVING)
        .map(Request::words)
        .collect();
    assert_eq!(refused, Vec::<String>::new(), "rights are missing");

    let answered = |request: &&Request| request.code < 400 || request.code == 404 || request.code == 409;
    let own: Vec<&Request> = audit
        .iter()
        .filter(answered)
        .filter(|request| request.is_by(HOME, "capstan") && request.impersonated.is_none())
        .collect();
    let applied: Vec<&Request> = audit.iter().filter(|request| request.impersonated.is_some()).collect();
    let is_by = |request: &Request| {
        [CUSTOMER, LEAVING].iter().any(|namespace| request.is_by(namespace, "capstan-applier"))
    };
    assert!(applied.iter().all(|request| is_by(request)));
    let mut idle = idle_rights(&deployed("rbac.yaml"), &own, &applied);
    idle.extend(idle_rights(&deployed("applier/applier.yaml"), &applied, &[]));
    assert_eq!(idle, Vec::<String>::new(), "granted and never used");

    // What a folder says is never written, and no Secret of a customer read, with the reconciler's own rights.
    let lets_go = |request: &Request| {
        request.namespace == LEAVING && request.resource == "vaultsecrets" && request.verb == "patch"
    };
    // The reconciler itself writes the status of a VaultSecret: a folder's account may not write it.
    let says = |request: &Request| request.resource == "vaultsecrets/status" && request.verb == "patch";
    let strays: Vec<String> = own
        .iter()
        .filter(|request| request.namespace != HOME && !lets_go(request) && !says(request))
        .filter(|request| {
            request.is_write() || request.resource == "secrets" || request.resource == "configmaps"
        })
        .map(|request| request.words())
        .collect();
    assert_eq!(strays, Vec::<String>::new());
}

/// The process exposes every metric of the reconciler, except those of failures and of preflights.
fn tells_what_it_does(process: &Process) {
    let log = process.log();
    let address = log.split("address=").nth(1).unwrap().split_whitespace().next().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let answer = runtime.block_on(async {
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        client.get(format!("http://{address}/metrics")).send().await.unwrap().text().await.unwrap()
    });
    let told = metrics::names_of(&answer, Program::Reconciler);
    let all = METRICS.iter().filter(|metric| metric.programs.contains(&Program::Reconciler));
    // Whether anything failed on the way is chance.
    let failures = ["capstan_reconciler_failures_total", "capstan_service_failures_total"];
    let all = all.map(|metric| metric.name).filter(|name| !failures.contains(name));
    let untold: Vec<&str> = all.filter(|name| !told.contains(*name)).collect();
    // Nobody asked what a merge would give.
    assert_eq!(untold, ["capstan_preflight_duration_seconds"], "{answer}");
}

/// A repository with one cluster that has a bit of everything, a Fleet that reads it, and one whose source is away.
fn settle(plane: &Plane, repository: &TestRepository, vault: &str) {
    let sample =
        tally::command(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/controlplane/sample-cluster"))
            .args(["web", "--namespace", CUSTOMER])
            .output()
            .unwrap();
    assert!(sample.status.success(), "{}", String::from_utf8_lossy(&sample.stderr));
    let list: Value = serde_json::from_slice(&sample.stdout).unwrap();
    for object in list["items"].as_array().unwrap() {
        let words =
            [&object["kind"], &object["metadata"]["name"]].map(|word| word.as_str().unwrap().to_lowercase());
        // The sample's own mark begins as Capstan's do, which a folder may not bring.
        let text = object.to_string().replace("capstan.dev/sample", "example.com/sample");
        repository.write(&format!("acme/web/base/{}.yaml", words.join("-")), &text);
    }
    plane.apply(SERVER_GROUPS);
    let more = [
        (
            "notes.yaml",
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: notes, namespace: acme}, data: {a: b}}",
        ),
        (
            "login.yaml",
            "{apiVersion: v1, kind: Secret, metadata: {name: login, namespace: acme}, stringData: {a: b}}",
        ),
        (
            "check.yaml",
            "{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineHealthCheck, metadata: {name: web, namespace: acme}, spec: {clusterName: web, selector: {matchLabels: {a: b}}, checks: {nodeStartupTimeoutSeconds: 600}}}",
        ),
        (
            "group.yaml",
            "{apiVersion: openstack.k-orc.cloud/v1alpha1, kind: ServerGroup, metadata: {name: web, namespace: acme}, spec: {resource: {policy: anti-affinity}, cloudCredentialsRef: {secretName: login, cloudName: a}}}",
        ),
        (
            "vault.yaml",
            "{apiVersion: capstan.dev/v1alpha1, kind: VaultSecret, metadata: {name: out-of-vault, namespace: acme}, spec: {store: eu, refreshSeconds: 600, data: {password: {mount: kv, path: acme/web, key: password}}}}",
        ),
        (
            "addons.yaml",
            "{apiVersion: addons.cluster.x-k8s.io/v1beta2, kind: ClusterResourceSet, metadata: {name: web, namespace: acme}, spec: {clusterSelector: {matchLabels: {a: b}}, strategy: Reconcile, resources: [{kind: ConfigMap, name: notes}]}}",
        ),
    ];
    for (file, text) in more {
        repository.write(&format!("acme/web/base/{file}"), text);
    }
    // A live topology whose control plane is in no folder: the reconciler looks for it itself.
    let topology = |more: &str| {
        format!(
            "{{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {{name: topo, namespace: {CUSTOMER}}}, spec: {{topology: {{classRef: {{name: small}}, version: v1.34.3}}{more}}}}}"
        )
    };
    let reference = ", controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: topo-cp}";
    plane.apply(&topology(reference));
    repository.write("acme/topo/base/cluster.yaml", &topology(""));
    let uid = plane.uid();
    repository.write(
        ".capstan.yaml",
        &format!("managementClusters:\n- {{name: here, uid: {uid}, clusters: ['acme/*']}}\n"),
    );
    repository.commit_all("A cluster");
    plane.apply(&format!(
        "apiVersion: capstan.dev/v1alpha1
kind: VaultStore
metadata: {{name: eu, namespace: {HOME}}}
spec:
  url: {vault}
  auth: {{jwt: {{role: 'capstan-{{namespace}}', audience: vault}}}}
  namespaces: [{CUSTOMER}, {LEAVING}]
"
    ));
    let url = repository.path().display();
    plane.apply(&format!(
        "apiVersion: capstan.dev/v1alpha1
kind: Fleet
metadata: {{name: gitops, namespace: {HOME}}}
spec:
  managementCluster: here
  source: {{git: {{url: 'file://{url}'}}}}
  intervalSeconds: 5
  guards: {{createClusters: always}}
---
apiVersion: v1
kind: Secret
metadata: {{name: away, namespace: {HOME}}}
stringData: {{token: t}}
---
apiVersion: capstan.dev/v1alpha1
kind: Fleet
metadata: {{name: away, namespace: {HOME}}}
spec:
  managementCluster: here
  source: {{git: {{url: 'http://127.0.0.1:1/away.git', secretName: away}}}}
  intervalSeconds: 5
"
    ));
}

/// Writes the status that Cluster API's controller would.
fn finish_control_plane(plane: &Plane) {
    let condition = |kind: &str, status: &str| {
        format!(
            r#"{{"type": "{kind}", "status": "{status}", "reason": "Said", "message": "", "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z"}}"#
        )
    };
    let conditions = [
        condition("Available", "True"),
        condition("RollingOut", "False"),
        condition("MachinesUpToDate", "True"),
        condition("ScalingUp", "False"),
        condition("ScalingDown", "False"),
    ]
    .join(",");
    let status = format!(
        r#"{{"status": {{"observedGeneration": 1, "version": "v1.34.3", "replicas": 1, "upToDateReplicas": 1,
        "readyReplicas": 1, "availableReplicas": 1, "initialization": {{"controlPlaneInitialized": true}},
        "versions": [{{"version": "v1.34.3", "replicas": 1}}], "conditions": [{conditions}]}}}}"#
    );
    plane.kubectl(&[
        "patch",
        "kubeadmcontrolplane",
        "web-cp",
        "-n",
        CUSTOMER,
        "--subresource=status",
        "--type=merge",
        "-p",
        &status,
    ]);
}

/// The rights of the Roles and ClusterRoles of a file that no request used, as `verb resource.group`. Where a rule
/// says every resource of a group, one of them is enough.
pub(crate) fn idle_rights(file: &Path, asked: &[&Request], impersonated: &[&Request]) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap();
    let file = capstan_yaml::YamlFile::read(&text).unwrap();
    let documents = file.documents().iter().map(|document| document.root.value());
    let used: BTreeSet<(&str, &str, &str)> = asked
        .iter()
        .flat_map(|request| {
            let resource = request.resource.as_str();
            // A server-side apply that creates asks for both; the log names one.
            let creates = (request.verb == "patch" && request.code == 201).then_some("create");
            [Some(request.verb.as_str()), creates]
                .into_iter()
                .flatten()
                .map(move |verb| (request.group.as_str(), resource, verb))
        })
        .collect();
    let mut idle = Vec::new();
    for role in documents {
        let words = |rule: &Value, key: &str| -> Vec<String> {
            let items = rule[key].as_array().into_iter().flatten();
            items.map(|item| item.as_str().unwrap().to_owned()).collect()
        };
        for rule in role["rules"].as_array().into_iter().flatten() {
            for group in words(rule, "apiGroups") {
                for resource in words(rule, "resources") {
                    for verb in words(rule, "verbs") {
                        let is_used = if verb == "impersonate" {
                            !impersonated.is_empty()
                        } else {
                            used.iter().any(|(of, name, done)| {
                                *of == group && (resource == "*" || *name == resource) && *done == verb
                            })
                        };
                        if !is_used {
                            idle.push(format!("{verb} {resource}.{group}"));
                        }
                    }
                }
            }
        }
    }
    idle
}
