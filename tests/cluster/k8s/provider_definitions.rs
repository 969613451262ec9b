//! The seven kinds of providers: what `capstan crds --providers` prints is what `deploy/providers` holds, and a real API
//! server takes, completes and refuses objects by it as written here. `make test-real` sends the same objects to one with
//! the operator's own definitions.

use capstan_test_support::tally;
use serde_json::{Value, json};

use super::shared;
use capstan_test_parts::plane::Plane;

/// Kind and plural.
pub(crate) const KINDS: [(&str, &str); 7] = [
    ("CoreProvider", "coreproviders"),
    ("BootstrapProvider", "bootstrapproviders"),
    ("ControlPlaneProvider", "controlplaneproviders"),
    ("InfrastructureProvider", "infrastructureproviders"),
    ("IPAMProvider", "ipamproviders"),
    ("RuntimeExtensionProvider", "runtimeextensionproviders"),
    ("AddonProvider", "addonproviders"),
];

/// What becomes of a `spec`.
pub(crate) enum Becomes {
    /// It is kept as it was sent.
    Same,
    /// It is kept with what is written here.
    Completed(&'static str),
    /// It is refused; the answer holds this.
    Refused(&'static str),
}

use Becomes::{Completed, Refused, Same};

/// `spec` as it is sent, and what becomes of it.
pub(crate) const CASES: &[(&str, Becomes)] = &[
    ("{}", Same),
    ("{version: v1.13.4}", Same),
    ("{version: 1.13}", Refused("spec.version")),
    ("{verzion: v1.13.4}", Refused("verzion")),
    ("{manager: {}}", Completed(r#"{"manager": {"verbosity": 1}}"#)),
    ("{manager: {verbosity: 0}}", Same),
    ("{manager: {verbosity: -1}}", Refused("spec.manager.verbosity")),
    ("{manager: {verbosity: high}}", Refused("spec.manager.verbosity")),
    ("{manager: {maxConcurrentReconciles: 0}}", Refused("spec.manager.maxConcurrentReconciles")),
    (
        "{manager: {maxConcurrentReconciles: 1}}",
        Completed(r#"{"manager": {"maxConcurrentReconciles": 1, "verbosity": 1}}"#),
    ),
    (
        "{manager: {verbosity: 2, syncPeriod: 10m0s, cacheNamespace: a, gracefulShutDown: 30s, profilerAddress: ':6060', \
          featureGates: {A: true, B: false}, additionalArgs: {insecure: 'true'}, \
          controller: {groupKindConcurrency: {Cluster.cluster.x-k8s.io: 5}, cacheSyncTimeout: 120000000000, recoverPanic: true}, \
          metrics: {bindAddress: ':8080', diagnosticsAddress: ':8443', insecureDiagnostics: true}, \
          health: {healthProbeBindAddress: ':9440', readinessEndpointName: /readyz, livenessEndpointName: /healthz}, \
          webhook: {port: 9443, host: a, certDir: /certs}}}",
        Same,
    ),
    (
        "{manager: {verbosity: 1, leaderElection: {leaderElect: true, leaseDuration: 15s, renewDeadline: 10s, \
          retryPeriod: 2s, resourceLock: leases, resourceName: a, resourceNamespace: b}}}",
        Same,
    ),
    (
        "{manager: {leaderElection: {leaderElect: true}}}",
        Refused("spec.manager.leaderElection.leaseDuration"),
    ),
    ("{manager: {featureGates: {A: 'true'}}}", Refused("spec.manager.featureGates.A")),
    ("{manager: {additionalArgs: {a: 1}}}", Refused("spec.manager.additionalArgs.a")),
    ("{manager: {syncPeriod: 10}}", Refused("spec.manager.syncPeriod")),
    ("{manager: {webhook: {port: '9443'}}}", Refused("spec.manager.webhook.port")),
    ("{manager: {controller: {cacheSyncTimeout: 2m}}}", Refused("spec.manager.controller.cacheSyncTimeout")),
    (
        "{manager: {controller: {groupKindConcurrency: {A.b: many}}}}",
        Refused("spec.manager.controller.groupKindConcurrency.A.b"),
    ),
    ("{manager: {metrics: {address: a}}}", Refused("metrics.address")),
    ("{deployment: {replicas: 0}}", Same),
    ("{deployment: {replicas: -1}}", Refused("spec.deployment.replicas")),
    ("{deployment: {replicas: 1.5}}", Refused("spec.deployment.replicas")),
    ("{deployment: {nodeSelector: {a: b}, serviceAccountName: c}}", Same),
    ("{deployment: {nodeSelector: {a: 1}}}", Refused("spec.deployment.nodeSelector.a")),
    ("{deployment: {tolerations: []}}", Same),
    (
        "{deployment: {tolerations: [{key: a, operator: Equal, value: b, effect: NoExecute, tolerationSeconds: 5}]}}",
        Same,
    ),
    (
        "{deployment: {tolerations: [{tolerationSeconds: 5s}]}}",
        Refused("spec.deployment.tolerations[0].tolerationSeconds"),
    ),
    (
        "{deployment: {imagePullSecrets: [{}, {name: a}]}}",
        Completed(r#"{"deployment": {"imagePullSecrets": [{"name": ""}, {"name": "a"}]}}"#),
    ),
    ("{deployment: {containers: [{imageUrl: a}]}}", Refused("spec.deployment.containers[0].name")),
    ("{deployment: {containers: [{name: a, image: b}]}}", Refused("image")),
    (
        "{deployment: {containers: [{name: manager, imageUrl: 'a.example/b:c', args: {a: b}, command: [/manager], \
          env: [{name: A, value: b}], resources: {limits: {cpu: 1, memory: 128Mi}, requests: {cpu: 100m}, \
          claims: [{name: a, request: b}]}}]}}",
        Same,
    ),
    (
        "{deployment: {containers: [{name: a, resources: {limits: {memory: 1 Gi}}}]}}",
        Refused("spec.deployment.containers[0].resources.limits.memory"),
    ),
    (
        "{deployment: {containers: [{name: a, resources: {claims: [{name: a}, {name: a}]}}]}}",
        Refused("claims"),
    ),
    ("{deployment: {containers: [{name: a, env: [{value: b}]}]}}", Refused("env[0].name")),
    (
        "{deployment: {containers: [{name: a, env: [{name: A, valueFrom: {configMapKeyRef: {key: k}}}, \
          {name: B, valueFrom: {secretKeyRef: {key: k, name: s, optional: true}}}, \
          {name: C, valueFrom: {fileKeyRef: {key: k, path: p, volumeName: v}}}, \
          {name: D, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: 1m}}}]}]}}",
        Completed(
            r#"{"deployment": {"containers": [{"name": "a", "env": [
                {"name": "A", "valueFrom": {"configMapKeyRef": {"key": "k", "name": ""}}},
                {"name": "B", "valueFrom": {"secretKeyRef": {"key": "k", "name": "s", "optional": true}}},
                {"name": "C", "valueFrom": {"fileKeyRef": {"key": "k", "path": "p", "volumeName": "v", "optional": false}}},
                {"name": "D", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}}}]}]}}"#,
        ),
    ),
    (
        "{deployment: {containers: [{name: a, env: [{name: A, valueFrom: {fieldRef: {apiVersion: v1}}}]}]}}",
        Refused("fieldRef.fieldPath"),
    ),
    (
        "{deployment: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: \
          {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: In, values: [b]}]}]}, \
          preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchFields: [{key: a, operator: Exists}]}}]}, \
          podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 5, podAffinityTerm: \
          {topologyKey: zone, labelSelector: {matchLabels: {a: b}}, namespaces: [c], matchLabelKeys: [d]}}]}}}}",
        Same,
    ),
    (
        "{deployment: {affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{namespaces: [a]}]}}}}",
        Refused("topologyKey"),
    ),
    (
        "{deployment: {affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1}]}}}}",
        Refused("preference"),
    ),
    ("{configSecret: {name: a}}", Same),
    ("{configSecret: {name: a, namespace: b}}", Same),
    ("{configSecret: {namespace: b}}", Refused("spec.configSecret.name")),
    ("{additionalManifests: {name: a}}", Same),
    ("{additionalManifests: {}}", Refused("spec.additionalManifests.name")),
    ("{fetchConfig: {url: 'https://github.com/a/b/releases'}}", Same),
    ("{fetchConfig: {oci: a.example/b}}", Same),
    ("{fetchConfig: {selector: {matchLabels: {a: b}}}}", Same),
    ("{fetchConfig: {selector: {matchExpressions: [{key: a, operator: In, values: [b]}]}}}", Same),
    ("{fetchConfig: {selector: {matchExpressions: [{key: a}]}}}", Refused("operator")),
    ("{fetchConfig: {}}", Refused("Must specify one and only one of {oci, url, selector}")),
    ("{fetchConfig: {oci: a, url: b}}", Refused("Must specify one and only one of {oci, url, selector}")),
    (
        "{fetchConfig: {url: b, selector: {}}}",
        Refused("Must specify one and only one of {oci, url, selector}"),
    ),
    ("{manifestPatches: ['a: b']}", Same),
    ("{manifestPatches: 'a: b'}", Refused("spec.manifestPatches")),
    (
        "{patches: [{patch: 'a: b'}, {patch: '[]', target: {group: a, version: b, kind: c, name: d, namespace: e, labelSelector: f=g}}]}",
        Same,
    ),
    ("{patches: [{patch: {a: b}}]}", Refused("spec.patches[0].patch")),
    ("{patches: [], manifestPatches: []}", Refused("Cannot set both 'patches' and 'manifestPatches'")),
    (
        "{additionalDeployments: {a: {manager: {}, deployment: {replicas: 2}}}}",
        Completed(
            r#"{"additionalDeployments": {"a": {"manager": {"verbosity": 1}, "deployment": {"replicas": 2}}}}"#,
        ),
    ),
    (
        "{additionalDeployments: {a: {deployment: {replicas: -1}}}}",
        Refused("spec.additionalDeployments.a.deployment.replicas"),
    ),
    ("{additionalDeployments: {a: {replicas: 1}}}", Refused("replicas")),
];

/// What an API server makes of an object of that kind: its spec, or why not.
pub(crate) fn tried(plane: &Plane, kind: &str, spec: &str) -> Result<Value, String> {
    let object = format!(
        "apiVersion: operator.cluster.x-k8s.io/v1alpha2\nkind: {kind}\nmetadata: {{name: a, namespace: default}}\nspec: {spec}\n"
    );
    let flags = ["create", "--dry-run=server", "--validate=strict", "-o", "json", "-f", "-"];
    let answer = plane.try_kubectl(&flags, &object)?;
    Ok(serde_json::from_str::<Value>(&answer).unwrap()["spec"].take())
}

/// Holds an API server's definitions against the table.
pub(crate) fn hold(plane: &Plane, kind: &str, cases: &[(&str, Becomes)]) {
    for (spec, becomes) in cases {
        let sent: Value = serde_saphyr::from_str(spec).unwrap();
        let answer = tried(plane, kind, spec);
        match becomes {
            Same => assert_eq!(answer, Ok(sent), "{kind} {spec}"),
            Completed(written) => {
                let written: Value = serde_json::from_str(written).unwrap();
                assert_eq!(answer, Ok(written), "{kind} {spec}");
            }
            Refused(says) => {
                let Err(refused) = answer else { panic!("{kind} {spec} is taken") };
                assert!(refused.contains(says), "{kind} {spec}: {refused}");
            }
        }
    }
}

/// What `capstan crds --providers` prints.
pub(crate) fn printed() -> String {
    let output =
        tally::command(env!("CARGO_BIN_EXE_capstan")).args(["crds", "--providers"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Waits until an API server has all seven kinds.
pub(crate) fn established(plane: &Plane) {
    for (_, plural) in KINDS {
        let name = format!("crd/{plural}.operator.cluster.x-k8s.io");
        plane.kubectl(&["wait", "--for=condition=Established", "--timeout=60s", &name]);
    }
}

/// Installs Capstan's, once for all tests that share the API server.
pub(crate) fn install(plane: &Plane) {
    plane.apply(&printed());
    established(plane);
}

#[test]
fn deploy_holds_the_providers_definitions_that_are_printed() {
    let held = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/providers/definitions/crds.yaml");
    assert!(
        std::fs::read_to_string(held).unwrap_or_default() == printed(),
        "deploy/providers/definitions/crds.yaml is out of date: capstan crds --providers >deploy/providers/definitions/crds.yaml"
    );
}

#[test]
fn the_providers_definitions_take_complete_and_refuse() {
    let Some(plane) = shared() else { return };
    let said = plane.try_kubectl(
        &["apply", "--server-side", "--dry-run=server", "--warnings-as-errors", "-f", "-"],
        &printed(),
    );
    said.unwrap();
    install(plane);
    hold(plane, "InfrastructureProvider", CASES);
    // The other kinds have the same schema: a look at each.
    for (kind, plural) in KINDS {
        hold(plane, kind, &CASES[3..5]);
        let problems = plane.kubectl(&[
            "get",
            &format!("crd/{plural}.operator.cluster.x-k8s.io"),
            "-o",
            "jsonpath={.status.conditions[?(@.type==\"NonStructuralSchema\")].message}",
        ]);
        assert_eq!(problems, "", "{plural}");
    }
    let names = plane.kubectl(&[
        "api-resources",
        "--api-group=operator.cluster.x-k8s.io",
        "--no-headers",
        "-o",
        "wide",
    ]);
    let words: Vec<Vec<&str>> = names.lines().map(|line| line.split_whitespace().take(5).collect()).collect();
    let expected = [
        ["addonproviders", "caap", "AddonProvider"],
        ["bootstrapproviders", "cabp", "BootstrapProvider"],
        ["controlplaneproviders", "cacpp", "ControlPlaneProvider"],
        ["coreproviders", "cacp", "CoreProvider"],
        ["infrastructureproviders", "caip", "InfrastructureProvider"],
        ["ipamproviders", "caipamp", "IPAMProvider"],
        ["runtimeextensionproviders", "carep", "RuntimeExtensionProvider"],
    ];
    let expected: Vec<Vec<&str>> = expected
        .iter()
        .map(|[plural, short, kind]| {
            vec![*plural, *short, "operator.cluster.x-k8s.io/v1alpha2", "true", *kind]
        })
        .collect();
    assert_eq!(words, expected);
}

#[test]
fn a_providers_row_shows_its_installed_version_and_whether_it_is_ready() {
    let Some(plane) = shared() else { return };
    install(plane);
    let object = "apiVersion: operator.cluster.x-k8s.io/v1alpha2\nkind: AddonProvider\nmetadata: {name: shown, namespace: default}\n";
    plane.apply(object);
    let status = json!({"status": {
        "installedVersion": "v0.3.2", "contract": "v1beta2", "observedGeneration": 1,
        "conditions": [{"type": "Ready", "status": "True", "reason": "MinimumReplicasAvailable", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1}],
    }});
    let patch = ["patch", "caap", "shown", "-n", "default", "--subresource=status", "--type=merge", "-p"];
    plane.kubectl(&[&patch[..], &[&status.to_string()]].concat());
    let shown = plane.kubectl(&["get", "caap", "shown", "-n", "default"]);
    let rows: Vec<Vec<&str>> = shown.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows, [vec!["NAME", "INSTALLEDVERSION", "READY"], vec!["shown", "v0.3.2", "True"]]);
    // A reason with a space is refused, as by the operator's definition.
    let wrong = status.to_string().replace("MinimumReplicasAvailable", "two words");
    let refused = plane.try_kubectl(&[&patch[..], &[wrong.as_str()]].concat(), "").unwrap_err();
    assert!(refused.contains("status.conditions[0].reason"), "{refused}");
    plane.kubectl(&["delete", "caap", "shown", "-n", "default"]);
}
