//! Cases by hand: real components, and every field of the spec, alone and together.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::compare::{Came, Case, compare, ours};
use super::operator::{Operator, released};

/// A provider object in its namespace, of what ConfigMaps with its label hold.
pub(crate) fn provider(kind: &str, name: &str, version: &str) -> Value {
    json!({
        "apiVersion": "operator.cluster.x-k8s.io/v1alpha2",
        "kind": kind,
        "metadata": {"name": name, "namespace": "providers", "uid": "11111111-2222-3333-4444-555555555555"},
        "spec": {"version": version, "fetchConfig": {"selector": {"matchLabels": {"for": name}}}},
    })
}

pub(crate) fn config_map(name: &str, version: &str, metadata: &str, components: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": version, "namespace": "providers", "labels": {"for": name}},
        "data": {"metadata": metadata, "components": components},
    })
}

/// The same components, packed.
fn packed(map: &Value) -> Value {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(map["data"]["components"].as_str().unwrap().as_bytes()).unwrap();
    let mut map = map.clone();
    map["binaryData"] = json!({"components": STANDARD.encode(encoder.finish().unwrap())});
    map["data"].as_object_mut().unwrap().remove("components");
    map["metadata"]["annotations"] = json!({"provider.cluster.x-k8s.io/compressed": "true"});
    map
}

pub(crate) fn secret(pairs: &[(&str, &str)]) -> Value {
    let data: serde_json::Map<String, Value> =
        pairs.iter().map(|(name, value)| ((*name).to_owned(), json!(STANDARD.encode(value)))).collect();
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "values", "namespace": "providers"},
        "data": data,
    })
}

/// Kind, name, version, file of the real ones.
const REAL: [(&str, &str, &str, &str, &str); 8] = [
    ("CoreProvider", "cluster-api", "cluster-api", "v1.12.8", "core-components.yaml"),
    ("CoreProvider", "cluster-api", "cluster-api", "v1.13.4", "core-components.yaml"),
    ("BootstrapProvider", "kubeadm", "bootstrap-kubeadm", "v1.12.8", "bootstrap-components.yaml"),
    ("BootstrapProvider", "kubeadm", "bootstrap-kubeadm", "v1.13.4", "bootstrap-components.yaml"),
    ("ControlPlaneProvider", "kubeadm", "control-plane-kubeadm", "v1.12.8", "control-plane-components.yaml"),
    ("ControlPlaneProvider", "kubeadm", "control-plane-kubeadm", "v1.13.4", "control-plane-components.yaml"),
    ("IPAMProvider", "in-cluster", "ipam-in-cluster", "v1.0.3", "ipam-components.yaml"),
    ("InfrastructureProvider", "aws", "infrastructure-aws", "v2.8.4", "infrastructure-components.yaml"),
];

fn real(at: usize) -> Option<Case> {
    let (kind, name, label, version, file) = REAL[at];
    let (metadata, components) = released(label, version, file)?;
    let mut provider = provider(kind, name, version);
    let mut objects = vec![config_map(name, version, &metadata, &components)];
    if name == "aws" {
        provider["spec"]["configSecret"] = json!({"name": "values"});
        objects.push(secret(&[("AWS_B64ENCODED_CREDENTIALS", "W2RlZmF1bHRd")]));
    }
    Some(Case { provider, objects })
}

fn same(operator: &mut Operator, case: &Case, what: &str) {
    match compare(operator, case) {
        Ok(Came::Same) => {}
        other => panic!("{what}: {other:?}\n{:#}", case.provider["spec"]),
    }
}

/// D1, D2, D14.
#[test]
fn real_components_come_to_the_same_plain_and_packed() {
    let Some(mut operator) = Operator::start() else { return };
    let mut count = 0;
    for (at, (_, _, label, version, _)) in REAL.iter().enumerate() {
        let Some(mut case) = real(at) else { return };
        same(&mut operator, &case, &format!("{label} {version}"));
        case.objects[0] = packed(&case.objects[0]);
        same(&mut operator, &case, &format!("{label} {version}, packed"));
        count += ours(&case).unwrap().2.len();
    }
    assert!(count > 140, "{count} objects");
}

/// D5, D7, D14: the variables of real components, each set, and overrides of images.
#[test]
fn variables_set_and_defaulted_and_images_overridden_come_to_the_same() {
    let Some(mut operator) = Operator::start() else { return };
    let Some(core) = real(0) else { return };
    let aws = real(7).unwrap();
    for (case, pairs) in [
        (
            &core,
            vec![
                ("EXP_RUNTIME_SDK", "true"),
                ("CLUSTER_TOPOLOGY", ""),
                ("CAPI_DIAGNOSTICS_ADDRESS", "0.0.0.0:1"),
            ],
        ),
        (&core, vec![("images", "all: {repository: mirror.example.com/k8s}")]),
        (&core, vec![("images", "cluster-api: {tag: v9.9.9}\nall: {repository: other.example.com}")]),
        (
            &core,
            vec![("images", "cluster-api/cluster-api-controller: {repository: r.example.com/a, tag: x}")],
        ),
        (&core, vec![("images", "bootstrap-kubeadm: {tag: v9.9.9}")]),
        (
            &aws,
            vec![
                ("AWS_B64ENCODED_CREDENTIALS", "YQ=="),
                ("AWS_CONTROLLER_IAM_ROLE", "arn:aws:iam::1:role/capa"),
            ],
        ),
        (
            &aws,
            vec![
                ("AWS_B64ENCODED_CREDENTIALS", "YQ=="),
                ("K8S_CP_LABEL", "node-role.kubernetes.io/control-plane"),
                ("CAPA_LOGLEVEL", "5"),
            ],
        ),
    ] {
        let mut case = case.clone();
        case.provider["spec"]["configSecret"] = json!({"name": "values"});
        case.objects.truncate(1);
        case.objects.push(secret(&pairs));
        same(&mut operator, &case, &format!("{pairs:?}"));
    }
}

/// D6: all that are missing, by name, on both sides.
#[test]
fn missing_variables_are_reported_alike() {
    let Some(mut operator) = Operator::start() else { return };
    let Some(mut case) = real(7) else { return };
    case.objects.pop();
    case.provider["spec"].as_object_mut().unwrap().remove("configSecret");
    let theirs = operator.render(&case.provider, &case.objects).unwrap_err();
    let ours = ours(&case).unwrap_err();
    assert!(theirs.contains("AWS_B64ENCODED_CREDENTIALS"), "{theirs}");
    assert!(ours.contains("neither value nor default: AWS_B64ENCODED_CREDENTIALS;"), "{ours}");
}

/// Every field of `manager`.
fn managers() -> Vec<Value> {
    vec![
        json!({"syncPeriod": "90s"}),
        json!({"syncPeriod": "10m0s"}),
        json!({"syncPeriod": "300ms"}),
        json!({"leaderElection": {"leaderElect": true, "leaseDuration": "20s", "renewDeadline": "15s", "retryPeriod": "5s", "resourceLock": "leases", "resourceName": "a", "resourceNamespace": "b"}}),
        json!({"leaderElection": {"leaderElect": false, "leaseDuration": "0s", "renewDeadline": "0s", "retryPeriod": "0s", "resourceLock": "", "resourceName": "", "resourceNamespace": ""}}),
        json!({"cacheNamespace": "watched"}),
        json!({"gracefulShutDown": "30s"}),
        json!({"controller": {"groupKindConcurrency": {"Cluster.Cluster.x-k8s.io": 7}, "cacheSyncTimeout": 5, "recoverPanic": true}}),
        json!({"metrics": {"bindAddress": ":1", "diagnosticsAddress": ":2", "insecureDiagnostics": true}}),
        json!({"metrics": {"insecureDiagnostics": false}}),
        json!({"health": {"healthProbeBindAddress": ":3", "readinessEndpointName": "r", "livenessEndpointName": "l"}}),
        json!({"webhook": {"port": 9000, "host": "h", "certDir": "/c"}}),
        json!({"profilerAddress": "localhost:6060"}),
        json!({"maxConcurrentReconciles": 5}),
        json!({"verbosity": 0}),
        json!({"verbosity": 1}),
        json!({"verbosity": 5}),
        json!({"featureGates": {"MachinePool": false, "Zebra": true, "Apple": false}}),
        json!({"additionalArgs": {"--kube-api-qps": "100"}}),
        json!({"additionalArgs": {"--leader-elect": "x"}}),
    ]
}

/// Every field of `deployment`; the container's name is the manager's.
fn deployments() -> Vec<Value> {
    let of = |container: Value| {
        let mut container = container;
        container["name"] = json!("manager");
        json!({"containers": [container]})
    };
    vec![
        json!({"replicas": 0}),
        json!({"replicas": 3}),
        json!({"nodeSelector": {"a": "b"}}),
        json!({"nodeSelector": {}}),
        json!({"tolerations": []}),
        json!({"tolerations": [{"key": "k", "operator": "Exists", "effect": "NoSchedule"}, {"tolerationSeconds": 5}]}),
        json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "k", "operator": "In", "values": ["v"]}]}]}}}}),
        json!({"serviceAccountName": "other"}),
        json!({"imagePullSecrets": [{"name": "pull"}]}),
        of(json!({"imageUrl": "r.example.com/x:y"})),
        of(json!({"args": {"--v": "9"}})),
        of(json!({"args": {"--new": "1"}})),
        of(
            json!({"env": [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]}),
        ),
        of(json!({"resources": {"limits": {"cpu": "1000m", "memory": "1024Mi"}, "requests": {"cpu": 1}}})),
        of(json!({"command": ["/other", "x"]})),
        json!({"containers": [{"name": "nobody", "imageUrl": "x"}]}),
    ]
}

/// D4, every field singly, on core, which has one Deployment, and on the in-cluster IPAM provider, whose manager has a neighbour.
#[test]
fn every_field_alone_comes_to_the_same() {
    let Some(mut operator) = Operator::start() else { return };
    for at in [2, 6] {
        let Some(case) = real(at) else { return };
        let mut refused = 0;
        for (key, values) in [("manager", managers()), ("deployment", deployments())] {
            for value in values {
                let mut case = case.clone();
                case.provider["spec"][key] = value.clone();
                match compare(&mut operator, &case) {
                    Ok(Came::Same) => {}
                    Ok(Came::Refused(_)) => refused += 1,
                    other => panic!("{} {key} {value}: {other:?}", REAL[at].2),
                }
            }
        }
        assert!(refused <= 2, "{refused} are refused");
    }
}

/// D4 together.
#[test]
fn all_fields_together_come_to_the_same() {
    let Some(mut operator) = Operator::start() else { return };
    let Some(mut case) = real(4) else { return };
    let merge = |values: Vec<Value>, but: &[&str]| {
        let mut all = json!({});
        for value in values {
            for (key, field) in value.as_object().unwrap() {
                if !but.contains(&key.as_str()) {
                    all[key] = field.clone();
                }
            }
        }
        all
    };
    case.provider["spec"]["manager"] = merge(managers(), &["additionalArgs"]);
    case.provider["spec"]["manager"]["additionalArgs"] =
        json!({"--kube-api-qps": "100", "--kube-api-burst": "200"});
    case.provider["spec"]["deployment"] = merge(deployments(), &["containers"]);
    case.provider["spec"]["deployment"]["containers"] = json!([{"name": "manager", "imageUrl": "r.example.com/x:y", "args": {"--v": "9", "--z": "1"}, "command": ["/m"]}]);
    same(&mut operator, &case, "together");
}

/// D8.
#[test]
fn patches_additional_manifests_and_deployments_come_to_the_same() {
    let Some(mut operator) = Operator::start() else { return };
    let Some(case) = real(2) else { return };
    let deployment = json!({"kind": "Deployment"});
    let second = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: second, namespace: x}\nspec:\n  selector: {matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: b}}\n    spec:\n      containers:\n      - {name: worker, image: 'r.example.com/worker:v1', args: [--a=b]}\n";
    let mut specs = vec![
        json!({"patches": [{"patch": "[{\"op\": \"replace\", \"path\": \"/spec/replicas\", \"value\": 3}]", "target": deployment}]}),
        json!({"patches": [{"patch": "- {op: add, path: /metadata/labels/x, value: y}"}]}),
        json!({"patches": [{"patch": "spec: {template: {spec: {containers: [{name: only, image: a}]}}}", "target": deployment}]}),
        json!({"patches": [{"patch": "metadata: {labels: {x: null, cluster.x-k8s.io/provider: null}}", "target": {"labelSelector": "cluster.x-k8s.io/provider=bootstrap-kubeadm"}}]}),
        json!({"patches": [{"patch": "metadata: {annotations: {a: b}}", "target": {"group": "rbac.authorization.k8s.io", "version": "v1", "name": "capi-kubeadm-bootstrap-manager-role"}}]}),
        json!({"patches": [{"patch": "metadata: {annotations: {a: b}}", "target": {"kind": "Nothing"}}]}),
        json!({"patches": [{"patch": "[{\"op\": \"remove\", \"path\": \"/nowhere\"}]", "target": deployment}]}),
        json!({"patches": [{"patch": "[{\"op\": \"test\", \"path\": \"/kind\", \"value\": \"Deployment\"}, {\"op\": \"copy\", \"from\": \"/metadata/name\", \"path\": \"/metadata/annotations\"}]", "target": deployment}]}),
        json!({"manifestPatches": ["apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: capi-kubeadm-bootstrap-controller-manager, namespace: providers}\nspec: {replicas: 4}\n"]}),
        json!({"manifestPatches": ["apiVersion: v1\nkind: Service\nmetadata: {name: capi-kubeadm-bootstrap-webhook-service}\nspec: null\n"]}),
        json!({"additionalManifests": {"name": "more"}}),
        json!({"additionalManifests": {"name": "more"}, "additionalDeployments": {"second": {"manager": {"verbosity": 7}, "deployment": {"replicas": 2, "containers": [{"name": "worker", "args": {"--a": "c"}}]}}}, "deployment": {"replicas": 5}}),
        json!({"additionalDeployments": {"capi-kubeadm-bootstrap-controller-manager": {"deployment": {"replicas": 9}}}}),
    ];
    specs.push(json!({"patches": [{"patch": "a: b: c"}]}));
    for fields in specs {
        let mut case = case.clone();
        for (key, value) in fields.as_object().unwrap() {
            case.provider["spec"][key] = value.clone();
        }
        case.objects.push(json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "more", "namespace": "providers"},
            "data": {"manifests": second},
        }));
        if let Err(difference) = compare(&mut operator, &case) {
            panic!("{fields}: {difference}");
        }
    }
}
