//! Provider objects, components and Secrets made at random: mostly right, sometimes wrong, all small.

use capstan_test_support::random::Random;
use serde_json::{Map, Value, json};

use super::cases::{config_map, provider, secret};
use super::compare::Case;

const VALUES: &[&str] = &[
    "",
    "true",
    "yes",
    "1",
    "0x1F",
    "plain",
    "two words",
    "a,b",
    "arn:aws:iam::1:role/x",
    "Ünïcode",
    "~",
    "null",
    "1e3",
    "'q'",
];
const WORDS: &[&str] = &["alpha", "beta", "gamma", "on", "no", "5", "1.50", "--x", "a=b", "v1"];
const NAMES: &[&str] = &["A", "B_TWO", "C3", "UNSET"];

/// A case of this seed.
pub(crate) fn case(random: &mut Random) -> Case {
    let mut provider = provider("InfrastructureProvider", "acme", "v1.2.3");
    let deployments = deployments(random);
    let text = components(random, &deployments);
    let metadata = "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\nreleaseSeries:\n- {major: 1, minor: 2, contract: v1beta2}\n";
    let mut objects = vec![config_map("acme", "v1.2.3", metadata, &text)];
    let spec = &mut provider["spec"];
    if random.percent(80) {
        spec["configSecret"] = json!({"name": "values"});
        let mut pairs: Vec<(&str, &str)> = Vec::new();
        for name in &NAMES[..3] {
            if random.percent(70) {
                pairs.push((name, random.pick::<&str>(VALUES)));
            }
        }
        let overrides = images(random);
        if random.percent(25) {
            pairs.push(("images", overrides));
        }
        objects.push(secret(&pairs));
    }
    if random.percent(50) {
        spec["manager"] = manager(random);
    }
    if random.percent(50) {
        spec["deployment"] = deployment(random);
    }
    if random.percent(25) {
        let mut all = Map::new();
        for name in &deployments {
            if random.percent(60) {
                let mut one = json!({});
                if random.percent(60) {
                    one["manager"] = manager(random);
                }
                if random.percent(60) {
                    one["deployment"] = deployment(random);
                }
                all.insert(name.clone(), one);
            }
        }
        spec["additionalDeployments"] = Value::Object(all);
    }
    match random.below(10) {
        0..3 => spec["patches"] = (0..=random.below(2)).map(|_| patch(random)).collect(),
        3 => spec["manifestPatches"] = json!([manifest_patch(random)]),
        _ => {}
    }
    if random.percent(20) {
        spec["additionalManifests"] = json!({"name": "more"});
        let more = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: more-{}}}\ndata: {{k: {}}}\n",
            random.below(3),
            value(random)
        );
        objects.push(json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "more", "namespace": "providers"},
            "data": {"manifests": more},
        }));
    }
    Case { provider, objects }
}

fn images(random: &mut Random) -> &'static str {
    random.pick::<&str>(&[
        "all: {repository: mirror.example.com/all}",
        "all: {tag: v9}",
        "infrastructure-acme: {repository: mirror.example.com/acme, tag: v8}",
        "infrastructure-acme/one: {repository: mirror.example.com/one}\nall: {repository: mirror.example.com/all}",
        "bootstrap-acme: {tag: v7}",
    ])
}

fn deployments(random: &mut Random) -> Vec<String> {
    let names = ["capa-controller-manager", "second", "caXYZ-controller-manager", "controller-manager"];
    let count = 1 + random.below(3);
    let first = random.below(names.len());
    (0..count).map(|at| names[(first + at) % names.len()].to_owned()).collect()
}

/// A scalar: a word, a variable, or both.
fn value(random: &mut Random) -> String {
    match random.below(8) {
        0..3 => format!("'{}'", random.pick(WORDS)),
        3 => format!("\"x-{}-y\"", expression(random)),
        4 => format!("'{}'", expression(random)),
        5 => (*random.pick(WORDS)).to_owned(),
        _ => format!("pre-{}", expression(random)),
    }
}

fn expression(random: &mut Random) -> String {
    let name = random.pick(NAMES);
    let word = random.pick(&["x", "def", "5", ""]);
    match random.below(16) {
        0..5 => format!("${{{name}:=d{word}}}"),
        5 => format!("${{ {name}:=d }}"),
        6 => format!("${{{name}=d{word}}}"),
        7 => format!("${{{name}:-d{word}}}"),
        8 => format!("${{{name}:=d}}${{{name}^^}}"),
        9 => format!("${{{name}:=d}}${{{name}/a/b}}"),
        10 => format!("${{{name}:=d}}${{{name}#a}}"),
        11 => format!("${{{name}:=d}}${{#{name}}}"),
        12 => format!("$${{{name}}}"),
        13 => format!("${{{name}:=${{A:=inner}}}}"),
        14 => format!("${{{name}:=d}}${{{name}:1:2}}"),
        _ => {
            if random.percent(15) {
                format!("${{{name}}}")
            } else {
                format!("${name}")
            }
        }
    }
}

/// Documents in any order; some names carry the old namespace.
fn components(random: &mut Random, deployments: &[String]) -> String {
    let mut documents = vec![
        "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: manager, namespace: old}\n".to_owned(),
        format!(
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {{name: acme, labels: {{a: {}}}}}\nrules:\n- {{apiGroups: [''], resources: [secrets], verbs: [get]}}\n",
            value(random)
        ),
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: acme}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: acme}\nsubjects:\n- {kind: ServiceAccount, name: manager, namespace: old}\n- {kind: Group, name: g, apiGroup: rbac.authorization.k8s.io}\n".to_owned(),
        format!("# {}\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  one: {}\n  text: |\n    a\n    {}\n", expression(random), value(random), expression(random)),
    ];
    if random.percent(70) {
        documents
            .push("apiVersion: v1\nkind: Namespace\nmetadata: {name: old, labels: {keep: me}}\n".to_owned());
    }
    if random.percent(3) {
        documents.push("apiVersion: v1\nkind: Namespace\nmetadata: {name: another}\n".to_owned());
    }
    for optional in [
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: leader, namespace: old}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: leader}\nsubjects: [{kind: ServiceAccount, name: manager}]\n",
        "apiVersion: v1\nkind: Service\nmetadata: {name: webhook, namespace: old}\nspec: {ports: [{port: 443, targetPort: webhook}]}\n",
        "apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: serving, namespace: old}\nspec: {dnsNames: [webhook.old.svc, webhook.old.svc.cluster.local, x.old.old.y]}\n",
        "apiVersion: cert-manager.io/v1\nkind: Issuer\nmetadata: {name: own, namespace: old}\nspec: {selfSigned: {}}\n",
        "apiVersion: cert-manager.io/v1\nkind: ClusterIssuer\nmetadata: {name: all}\nspec: {selfSigned: {}}\n",
        "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\nmetadata: {name: m, annotations: {cert-manager.io/inject-ca-from: old/serving}}\nwebhooks:\n- {name: a.b.c, admissionReviewVersions: [v1], sideEffects: None, clientConfig: {service: {name: webhook, namespace: old, path: /x}}}\n",
        "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: v, annotations: {cert-manager.io/inject-ca-from: old/serving}}\nwebhooks:\n- {name: a.b.c, admissionReviewVersions: [v1], sideEffects: None, clientConfig: {url: 'https://x'}}\n",
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: as.acme.example, annotations: {cert-manager.io/inject-ca-from: old/serving}}\nspec:\n  group: acme.example\n  names: {kind: A, plural: as}\n  scope: Namespaced\n  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]\n  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {service: {name: webhook, namespace: old, path: /convert}}}}\n",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: old}\nstringData: {y: n}\n",
        "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: agent, namespace: old}\nspec:\n  selector: {matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: b}}\n    spec: {containers: [{name: agent, image: 'registry.k8s.io/acme/agent:v1'}]}\n",
        "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: p, namespace: old}\nspec: {minAvailable: 1}\n",
    ] {
        if random.percent(35) {
            documents.push(optional.to_owned());
        }
    }
    documents.extend(deployments.iter().map(|name| deployed(random, name)));
    for at in (1..documents.len()).rev() {
        documents.swap(at, random.below(at + 1));
    }
    documents.join("---\n")
}

fn deployed(random: &mut Random, name: &str) -> String {
    let image = if random.percent(2) {
        "acme:v1"
    } else {
        random.pick::<&str>(&[
            "registry.k8s.io/acme/one:v1",
            "quay.io/two@sha256:0123456789012345678901234567890123456789012345678901234567890123",
            "localhost:5000/three/four",
        ])
    };
    let gates = random.pick(&[
        "",
        "        - --feature-gates=MachinePool=${A:=true},Old=false\n",
        "        - \"--feature-gates=X=true\"\n",
    ]);
    let container = random.pick(&["manager", "manager", "kube-rbac-proxy"]);
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {name}\n  namespace: old\n  labels: {{control-plane: x}}\nspec:\n  replicas: 1\n  selector: {{matchLabels: {{a: b}}}}\n  template:\n    metadata: {{labels: {{a: b}}}}\n    spec:\n      containers:\n      - name: {container}\n        image: {image}\n        args:\n        - --leader-elect\n        - --v=${{B_TWO:=2}}\n{gates}        - --metrics-bind-addr=localhost:8080\n        env: [{{name: E, value: '${{C3:=c}}'}}]\n        livenessProbe: {{httpGet: {{path: /healthz, port: 9440}}}}\n      - {{name: second, image: 'registry.k8s.io/acme/side:v2'}}\n      tolerations: [{{key: t}}]\n      nodeSelector: {{old: node}}\n"
    )
}

/// Takes some of these fields.
fn some(random: &mut Random, chance: usize, fields: &[(&str, Value)]) -> Value {
    let mut all = Map::new();
    for (name, value) in fields {
        if random.percent(chance) {
            all.insert((*name).to_owned(), value.clone());
        }
    }
    Value::Object(all)
}

fn manager(random: &mut Random) -> Value {
    let sync = *random.pick(&["1m30s", "10m0s", "499ms", "500ms", "0s"]);
    let elect = random.percent(50);
    let number = random.below(12);
    let flag = *random.pick(&["--kube-api-qps", "--v", "--leader-elect", "--x"]);
    some(
        random,
        22,
        &[
            ("syncPeriod", json!(sync)),
            (
                "leaderElection",
                json!({"leaderElect": elect, "leaseDuration": "15s", "renewDeadline": "10s", "retryPeriod": "1500ms", "resourceLock": "leases", "resourceName": "n", "resourceNamespace": "ns"}),
            ),
            ("cacheNamespace", json!("watched")),
            ("gracefulShutDown", json!("5s")),
            ("controller", json!({"groupKindConcurrency": {"Machine.Pool": number}})),
            ("metrics", json!({"bindAddress": ":9", "insecureDiagnostics": elect})),
            (
                "health",
                json!({"healthProbeBindAddress": ":1", "livenessEndpointName": "live", "readinessEndpointName": "ready"}),
            ),
            ("webhook", json!({"port": 9000 + number, "host": "0.0.0.0", "certDir": "/certs"})),
            ("profilerAddress", json!("localhost:6060")),
            ("maxConcurrentReconciles", json!(number + 1)),
            ("verbosity", json!(number)),
            ("featureGates", json!({"MachinePool": elect, "Zeta": true, "Alpha": false})),
            ("additionalArgs", json!({flag: "7"})),
        ],
    )
}

fn deployment(random: &mut Random) -> Value {
    let number = random.below(4);
    let mut containers = Vec::new();
    for name in ["manager", "second", "nobody"] {
        if random.percent(if name == "nobody" { 2 } else { 30 }) {
            let mut container = some(
                random,
                35,
                &[
                    ("imageUrl", json!("r.example.com/x:y")),
                    ("args", json!({"--v": "9"})),
                    ("env", json!([{"name": "E", "value": "new"}, {"name": "F", "value": ""}])),
                    ("resources", json!({"limits": {"cpu": "0.5", "memory": "1Gi"}})),
                    ("command", json!(["/run"])),
                ],
            );
            container["name"] = json!(name);
            containers.push(container);
        }
    }
    let mut made = some(
        random,
        25,
        &[
            ("replicas", json!(number)),
            ("nodeSelector", if number == 0 { json!({}) } else { json!({"n": "v"}) }),
            ("tolerations", if number == 1 { json!([]) } else { json!([{"operator": "Exists"}]) }),
            (
                "affinity",
                json!({"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": {"topologyKey": "zone"}}]}}),
            ),
            ("serviceAccountName", json!("other")),
            ("imagePullSecrets", if number == 2 { json!([]) } else { json!([{"name": "p"}]) }),
        ],
    );
    if !containers.is_empty() {
        made["containers"] = json!(containers);
    }
    made
}

fn patch(random: &mut Random) -> Value {
    // What fits a Deployment alone means one; now and then it means everything, which fails on both sides.
    const OF_DEPLOYMENTS: [&str; 2] = [
        "spec: {replicas: 7, template: {spec: {nodeSelector: {p: q}}}}",
        "- {op: add, path: /spec/template/spec/containers/0/args/-, value: --added}",
    ];
    if random.percent(30) {
        return json!({"patch": random.pick::<&str>(&OF_DEPLOYMENTS), "target": {"kind": "Deployment"}});
    }
    if random.percent(8) {
        return json!({"patch": random.pick::<&str>(&[OF_DEPLOYMENTS[1], "- {op: remove, path: /data/one}", "- {op: test, path: /kind, value: Deployment}"])});
    }
    let target = match random.below(6) {
        0 => json!({"kind": "Deployment"}),
        1 => json!({"group": "rbac.authorization.k8s.io"}),
        2 => json!({"kind": "ConfigMap", "name": "settings"}),
        3 => json!({"labelSelector": "control-plane=x"}),
        4 => json!({"version": "v1", "namespace": "providers"}),
        _ => Value::Null,
    };
    let text = *random.pick(&[
        "metadata: {annotations: {a: b}}",
        "metadata: {labels: {x: null, control-plane: changed}}",
        "[{\"op\": \"add\", \"path\": \"/metadata/annotations\", \"value\": {\"j\": \"k\"}}]",
        "- {op: replace, path: /metadata/labels/cluster.x-k8s.io~1provider, value: other}",
    ]);
    let mut made = json!({"patch": text});
    if !target.is_null() {
        made["target"] = target;
    }
    made
}

fn manifest_patch(random: &mut Random) -> &'static str {
    random.pick::<&str>(&[
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: providers}\ndata: {one: null, two: '2'}\n",
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: acme}\nrules: []\n",
        "apiVersion: v1\nkind: Service\nmetadata: {name: webhook, namespace: elsewhere}\nspec: {type: NodePort}\n",
    ])
}
