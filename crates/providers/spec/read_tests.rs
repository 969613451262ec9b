use capstan_kustomize::render::{PlacedValue, placed_documents};
use capstan_model::tree::RepoPath;
use capstan_yaml::YamlFile;
use serde_json::Value;

use super::super::Patches;
use super::super::parts::{PATCH, REFERENCE, TARGET};
use super::*;
use crate::duration::Seconds;

fn object(text: &str) -> PlacedValue {
    let path = RepoPath::parse("mc/aws.yaml").unwrap();
    placed_documents(&path, &YamlFile::read(text).unwrap()).remove(0)
}

/// An object whose `spec` begins on line 4.
fn with_spec(version: &str, spec: &str) -> Result<Provider, String> {
    let indented: String = spec.lines().map(|line| format!("  {line}\n")).collect();
    let text = format!(
        "apiVersion: operator.cluster.x-k8s.io/{version}\nkind: InfrastructureProvider\nmetadata: {{name: aws, namespace: capa-system}}\nspec:\n{indented}"
    );
    provider(&object(&text)).map_err(|refusal| refusal.to_string())
}

/// Every field of `spec` says what was written.
#[test]
fn every_field_is_read() {
    let spec = with_spec(
        "v1alpha2",
        "\
version: v2.8.4
manager:
  syncPeriod: 10m
  leaderElection: {leaderElect: true, leaseDuration: 15s, renewDeadline: 10s, resourceLock: leases, resourceName: name, resourceNamespace: ns, retryPeriod: 2s}
  cacheNamespace: a
  gracefulShutDown: 5s
  controller: {groupKindConcurrency: {Machine: 5}, cacheSyncTimeout: 1000, recoverPanic: true}
  metrics: {bindAddress: b, diagnosticsAddress: c, insecureDiagnostics: true}
  health: {healthProbeBindAddress: d, readinessEndpointName: e, livenessEndpointName: f}
  webhook: {port: 9443, host: g, certDir: h}
  profilerAddress: i
  maxConcurrentReconciles: 3
  verbosity: 0
  featureGates: {A: true, B: false}
  additionalArgs: {--x: why}
deployment:
  replicas: 0
  nodeSelector: {}
  tolerations: []
  affinity: {nodeAffinity: {x: why}}
  serviceAccountName: sa
  imagePullSecrets: [{name: pull}]
  containers:
  - {name: manager, imageUrl: h.io/i:v1, args: {--a: b}, env: [{name: E, value: v}], resources: {limits: {cpu: 1}}, command: []}
configSecret: {name: secret}
fetchConfig: {selector: {matchLabels: {a: b}}}
additionalManifests: {name: more, namespace: other}
patches:
- {patch: 'a: b', target: {group: g, version: v, kind: k, name: m, namespace: s, labelSelector: 'a=b,!c'}}
- {patch: 'c: d'}
additionalDeployments:
  webhook: {manager: {verbosity: 4}, deployment: {replicas: 2}}
",
    )
    .unwrap()
    .spec;
    assert_eq!(spec.version.as_deref(), Some("v2.8.4"));
    let manager = spec.manager.unwrap();
    assert_eq!(manager.sync_period, Some(Seconds(600)));
    let election = manager.leader_election.unwrap();
    assert!(election.leader_elect);
    assert_eq!(
        (election.lease_duration, election.renew_deadline, election.retry_period),
        (Seconds(15), Seconds(10), Seconds(2))
    );
    assert_eq!((election.resource_namespace.as_str(), election.resource_name.as_str()), ("ns", "name"));
    let texts = [
        &manager.cache_namespace,
        &manager.metrics_bind_address,
        &manager.diagnostics_address,
        &manager.health_probe_bind_address,
        &manager.readiness_endpoint_name,
        &manager.liveness_endpoint_name,
        &manager.webhook_host,
        &manager.webhook_cert_dir,
        &manager.profiler_address,
    ];
    assert_eq!(texts, ["a", "b", "c", "d", "e", "f", "g", "h", "i"]);
    assert_eq!(manager.group_kind_concurrency["Machine"], 5);
    assert!(manager.insecure_diagnostics && manager.feature_gates["A"] && !manager.feature_gates["B"]);
    assert_eq!(
        (manager.webhook_port, manager.max_concurrent_reconciles, manager.verbosity),
        (Some(9443), Some(3), 0)
    );
    assert_eq!(manager.additional_args["--x"], "why");
    let deployment = spec.deployment.unwrap();
    assert_eq!((deployment.replicas, deployment.service_account_name.as_str()), (Some(0), "sa"));
    assert_eq!((deployment.node_selector.unwrap().len(), deployment.tolerations.unwrap().len()), (0, 0));
    assert_eq!(deployment.affinity.unwrap()["nodeAffinity"]["x"], "why");
    assert_eq!(deployment.image_pull_secrets.unwrap()[0]["name"], "pull");
    let container = &deployment.containers[0];
    assert_eq!((container.name.as_str(), container.image_url.as_deref()), ("manager", Some("h.io/i:v1")));
    assert_eq!((container.args["--a"].as_str(), container.env[0]["value"].as_str()), ("b", Some("v")));
    assert_eq!(container.resources.as_ref().unwrap()["limits"]["cpu"], 1);
    assert_eq!(container.command.as_deref(), Some(&[][..]));
    assert_eq!(spec.config_secret.unwrap().to_string(), "capa-system/secret");
    assert!(matches!(spec.source, Some(FetchSource::Selector(selector)) if selector.to_string() == "a=b"));
    assert_eq!(spec.additional_manifests.unwrap().to_string(), "other/more");
    let Patches::Targeted(patches) = spec.patches else { panic!("no patches") };
    let target = patches[0].target.as_ref().unwrap();
    let parts =
        [&target.group, &target.version, &target.kind, &target.name, &target.namespace, &target.labels];
    assert_eq!(parts, ["g", "v", "k", "m", "s", "a=b,!c"]);
    assert!(patches[1].target.is_none() && patches[1].patch.text == "c: d");
    let additional = &spec.additional_deployments["webhook"];
    assert_eq!(additional.manager.as_ref().unwrap().verbosity, 4);
    assert_eq!(additional.deployment.as_ref().unwrap().replicas, Some(2));
}

/// The refusals, with their places.
#[test]
fn what_is_wrong_is_refused_with_file_and_line() {
    for (spec, said) in [
        (
            "verson: v1.0.0",
            "mc/aws.yaml:5:11: InfrastructureProvider capa-system/aws: `spec` has no field `verson`; did you mean `version`?",
        ),
        (
            "version: latest",
            "mc/aws.yaml:5:12: InfrastructureProvider capa-system/aws: `spec.version` is not a version",
        ),
        ("version: 1.2", "`spec.version` is a text"),
        ("manager: {verbosity: -1}", "`spec.manager.verbosity` is a whole number of at least 0"),
        (
            "manager: {maxConcurrentReconciles: 0}",
            "`spec.manager.maxConcurrentReconciles` is a whole number of at least 1",
        ),
        ("manager: {syncPeriod: 10}", "`spec.manager.syncPeriod` is a duration"),
        ("manager: {featureGates: {A: 'true'}}", "`spec.manager.featureGates.A` is `true` or `false`"),
        ("manager: {leaderElection: {leaderElect: true}}", "`leaseDuration` is missing"),
        ("manager: {health: {port: 1}}", "`spec.manager.health` has no field `port`"),
        ("deployment: {replicas: -1}", "`spec.deployment.replicas`"),
        ("deployment: {containers: [{imageUrl: a}]}", "`spec.deployment.containers[0]` wants `name`"),
        ("deployment: {containers: [{name: a, image: b}]}", "`image` of a container is a field of v1alpha1"),
        ("deployment: {containers: [{name: a, env: [{value: b}]}]}", "an entry without `name`"),
        ("deployment: {tolerations: [{effects: b}]}", "did you mean `effect`?"),
        (
            "secretName: a",
            "`spec.secretName` is a field of v1alpha1: in v1alpha2 write `spec.configSecret.name`",
        ),
        ("configSecret: {namespace: a}", "`spec.configSecret` wants `name`"),
        ("fetchConfig: {}", "`spec.fetchConfig` names no source"),
        ("fetchConfig: {oci: a, url: b}", "`spec.fetchConfig` names more than one source"),
        ("fetchConfig: {oci: '', selector: {}}", "`spec.fetchConfig` names more than one source"),
        ("fetchConfig: {selector: {matchExpressions: [{key: a, operator: Like}]}}", "must be `In`, `NotIn`"),
        ("fetchConfig: {selector: {matchExpressions: [{key: a, operator: In}]}}", "needs values for `In`"),
        ("patches: []\nmanifestPatches: []", "`spec.manifestPatches` and `patches` cannot both be set"),
        ("patches: [{target: {}}]", "`spec.patches[0]` has no `patch`"),
        ("patches: [{patch: a, target: {labelSelector: 'a like (b)'}}]", "is not a label selector"),
        ("manifestPatches: [{a: b}]", "`spec.manifestPatches[0]` must be a patch as one text"),
        (
            "additionalDeployments: {x: {replicas: 1}}",
            "`spec.additionalDeployments.x` has no field `replicas`",
        ),
        ("manager: []", "`spec.manager` must be a mapping"),
    ] {
        let refused = with_spec("v1alpha2", spec).unwrap_err();
        assert!(refused.contains(said) && refused.starts_with("mc/aws.yaml:"), "{spec}: {refused}");
    }
    for (head, said) in [
        (
            "apiVersion: operator.cluster.x-k8s.io/v1alpha2\nkind: InfraProvider\nmetadata: {name: a, namespace: b}\n",
            "has no kind `InfraProvider`",
        ),
        (
            "apiVersion: operator.cluster.x-k8s.io/v1alpha2\nkind: CoreProviders\nmetadata: {name: a, namespace: b}\n",
            "did you mean `CoreProvider`?",
        ),
        (
            "apiVersion: operator.cluster.x-k8s.io/v1alpha2\nkind: CoreProvider\nmetadata: {name: a}\n",
            "CoreProvider a: it has no `metadata.namespace`",
        ),
        ("apiVersion: operator.cluster.x-k8s.io/v1alpha2\nkind: CoreProvider\n", "has no `metadata.name`"),
        (
            "apiVersion: operator.cluster.x-k8s.io/v1\nkind: CoreProvider\nmetadata: {name: a, namespace: b}\n",
            "its version must be",
        ),
        (
            "apiVersion: operator.cluster.x-k8s.io/v1alpha2\nkind: CoreProvider\nmetadata: {name: a, namespace: b}\nspecs: {}\n",
            "has no field `specs`",
        ),
    ] {
        let refused = provider(&object(head)).unwrap_err().to_string();
        assert!(refused.contains(said) && refused.starts_with("mc/aws.yaml:"), "{refused}");
    }
    let bare = "apiVersion: operator.cluster.x-k8s.io/v1alpha2\nkind: CoreProvider\nmetadata: {name: cluster-api, namespace: b}\n";
    assert!(provider(&object(bare)).unwrap().spec.version.is_none(), "a provider may have no spec");
}

#[test]
fn v1alpha1_is_read_as_v1alpha2() {
    let image = |spec: &str| {
        let spec = format!("deployment: {{containers: [{{name: manager, image: {spec}}}]}}");
        with_spec("v1alpha1", &spec).unwrap().spec.deployment.unwrap().containers[0]
            .image_url
            .clone()
            .unwrap()
    };
    assert_eq!(image("{repository: h.io/a, name: b, tag: v1}"), "h.io/a/b:v1");
    assert_eq!(image("{name: b, tag: v1}"), "b:v1");
    assert_eq!(image("{repository: h.io/a/, name: b}"), "h.io/a/b");
    for (spec, secret) in [
        ("secretName: s", "capa-system/s"),
        ("secretName: s\nsecretNamespace: m", "m/s"),
        // As a real file has it.
        ("version: v1.6.0\nconfigSecret: {name: gcp-variables}", "capa-system/gcp-variables"),
    ] {
        assert_eq!(with_spec("v1alpha1", spec).unwrap().spec.config_secret.unwrap().to_string(), secret);
    }
    for (spec, said) in [
        ("secretName: s\nconfigSecret: {name: t}", "keep `configSecret`"),
        ("secretNamespace: s", "needs `secretName`"),
        ("deployment: {containers: [{name: a, image: {name: b}, imageUrl: c}]}", "keep `imageUrl`"),
    ] {
        let refused = with_spec("v1alpha1", spec).unwrap_err();
        assert!(refused.contains(said), "{refused}");
    }
}

#[test]
fn what_the_conversion_kept_comes_back() {
    let kept = r#"{"spec":{"version":"v9","manifestPatches":["a: b"],"additionalDeployments":{"x":{"deployment":{"replicas":2}}},"fetchConfig":{"oci":"ghcr.io/a/b"},"manager":{"additionalArgs":{"--c":"d"}}},"status":{}}"#;
    let text = |kept: &str| {
        format!(
            "apiVersion: operator.cluster.x-k8s.io/v1alpha1\nkind: CoreProvider\nmetadata:\n  name: cluster-api\n  namespace: capi-system\n  annotations: {{cluster.x-k8s.io/conversion-data: '{kept}'}}\nspec: {{version: v1.12.0, manager: {{verbosity: 2}}}}\n"
        )
    };
    let spec = provider(&object(&text(kept))).unwrap().spec;
    assert_eq!(spec.version.as_deref(), Some("v1.12.0"), "what the object says itself counts");
    assert!(matches!(spec.patches, Patches::Manifests(patches) if patches[0].text == "a: b"));
    assert_eq!(spec.additional_deployments["x"].deployment.as_ref().unwrap().replicas, Some(2));
    assert!(matches!(spec.source, Some(FetchSource::Oci(address)) if address == "ghcr.io/a/b"));
    assert_eq!(spec.manager.unwrap().additional_args["--c"], "d");
    let refused = provider(&object(&text("{"))).unwrap_err().to_string();
    assert!(refused.starts_with("mc/aws.yaml:6:") && refused.contains("is not JSON"), "{refused}");
}

/// The fields of the operator's own definition, as deep as they are read here, are those that are read.
#[test]
fn the_fields_are_those_of_the_real_definition() {
    let Some(files) = capstan_test_support::shared_data::files("crds/cluster-api-operator") else { return };
    let (_, bytes) = files
        .iter()
        .find(|(path, _)| path.starts_with("main-") && path.ends_with("_coreproviders.yaml"))
        .expect("the definition of core providers");
    let file = YamlFile::read_bytes(bytes).unwrap();
    let root = file.documents()[0].root.value();
    let spec = root.pointer("/spec/versions/0/schema/openAPIV3Schema/properties/spec").unwrap();
    let manager = ["manager"].as_slice();
    let container = ["deployment", "containers", "[]"].as_slice();
    for (path, fields) in [
        (&[][..], SPEC),
        (manager, workload::MANAGER),
        (&["manager", "controller"], workload::CONTROLLER),
        (&["manager", "health"], workload::HEALTH),
        (&["manager", "leaderElection"], workload::LEADER_ELECTION),
        (&["manager", "metrics"], workload::METRICS),
        (&["manager", "webhook"], workload::WEBHOOK),
        (&["deployment"], workload::DEPLOYMENT),
        (&["deployment", "affinity"], workload::AFFINITY),
        (&["deployment", "tolerations", "[]"], workload::TOLERATION),
        (container, workload::CONTAINER),
        (&["deployment", "containers", "[]", "env", "[]"], workload::ENV),
        (&["deployment", "containers", "[]", "resources"], workload::RESOURCES),
        (&["configSecret"], REFERENCE),
        (&["additionalManifests"], REFERENCE),
        (&["fetchConfig"], FETCH_CONFIG),
        (&["fetchConfig", "selector"], &["matchExpressions", "matchLabels"]),
        (&["fetchConfig", "selector", "matchExpressions", "[]"], selector::EXPRESSION_FIELDS),
        (&["patches", "[]"], PATCH),
        (&["patches", "[]", "target"], TARGET),
        (&["additionalDeployments", "*"], workload::ADDITIONAL_DEPLOYMENT),
    ] {
        let step = |schema: &'_ Value, key: &&str| match *key {
            "[]" => schema["items"].clone(),
            "*" => schema["additionalProperties"].clone(),
            key => schema["properties"][key].clone(),
        };
        let schema = path.iter().fold(spec.clone(), |schema, key| step(&schema, key));
        let mut real: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
        real.sort();
        assert_eq!(real, fields, "{path:?}");
    }
}
