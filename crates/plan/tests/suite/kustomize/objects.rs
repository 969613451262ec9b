//! Objects to be rendered: built-in kinds that name one another, and custom resources.

use super::write::{Yaml, list, map, raw, text};
use capstan_test_support::random::Random;

pub(super) const NAMES: [&str; 4] = ["web", "api", "db", "cfg"];
/// What variables of `vars` are called.
pub(super) const VARIABLES: [&str; 3] = ["ONE", "TWO", "ONE_MORE"];
pub(super) const NAMESPACES: [&str; 4] = ["", "default", "org", "other"];
pub(super) const IMAGES: [&str; 5] =
    ["nginx:1.25", "nginx", "acme.io:5000/tool:v2@sha256:abc", "redis@sha256:0ff", "acme.io/web.app:1"];

/// Kinds, and the API version in which they come.
pub(super) const KINDS: [(&str, &str); 24] = [
    ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"),
    ("apps/v1", "DaemonSet"),
    ("v1", "Service"),
    ("v1", "ConfigMap"),
    ("v1", "Secret"),
    ("v1", "ServiceAccount"),
    ("v1", "Pod"),
    ("batch/v1", "CronJob"),
    ("batch/v1", "Job"),
    ("v1", "Namespace"),
    ("v1", "PersistentVolumeClaim"),
    ("networking.k8s.io/v1", "Ingress"),
    ("networking.k8s.io/v1", "NetworkPolicy"),
    ("autoscaling/v2", "HorizontalPodAutoscaler"),
    ("policy/v1", "PodDisruptionBudget"),
    ("rbac.authorization.k8s.io/v1", "Role"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding"),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
    ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
    ("cluster.x-k8s.io/v1beta1", "Cluster"),
    ("cluster.x-k8s.io/v1beta1", "MachineDeployment"),
    ("bootstrap.cluster.x-k8s.io/v1beta1", "KubeadmConfigTemplate"),
    ("acme.io/v1", "Widget"),
];

/// One object that a tree has.
#[derive(Debug, Clone)]
pub(super) struct Object {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) name: String,
    /// Empty for an object without one.
    pub(super) namespace: String,
    pub(super) yaml: Yaml,
    pub(super) shape: Shape,
}

/// Whether an object still is as it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Written,
    Changed,
}

/// Kinds without a schema that kustomize knows, all with the same fields.
pub(super) fn has_custom_body(kind: &str) -> bool {
    ["Widget", "Cluster", "MachineDeployment", "KubeadmConfigTemplate"].contains(&kind)
}

pub(super) fn name(random: &mut Random) -> String {
    (*random.pick(&NAMES)).to_owned()
}

pub(super) fn object(random: &mut Random) -> Object {
    let (api_version, kind) = *random.pick(&KINDS);
    let (name, namespace) = (name(random), (*random.pick(&NAMESPACES)).to_owned());
    let mut metadata = map([("name", text(&name))]);
    if !namespace.is_empty() && kind != "Namespace" {
        metadata.set("namespace", text(&namespace));
    }
    if random.percent(40) {
        metadata.set("labels", marks(random));
    }
    if random.percent(40) {
        metadata.set("annotations", marks(random));
    }
    if random.percent(15) {
        metadata.set("finalizers", list([text("acme.io/hold"), text("acme.io/wait")]));
    }
    let mut yaml = map([("apiVersion", text(api_version)), ("kind", text(kind)), ("metadata", metadata)]);
    for (key, value) in body(kind, random) {
        yaml.set(key, value);
    }
    let is_in_none = ["Namespace", "ClusterRoleBinding", "ValidatingWebhookConfiguration"].contains(&kind);
    let namespace = if is_in_none { String::new() } else { namespace };
    let shape = Shape::Written;
    Object { api_version: api_version.to_owned(), kind: kind.to_owned(), name, namespace, yaml, shape }
}

/// Labels or annotations.
pub(super) fn marks(random: &mut Random) -> Yaml {
    let mut marks = map([("app", text(name(random)))]);
    if random.percent(30) {
        marks.set("tier", text(*random.pick(&["front", "back", "1", "true"])));
    }
    if random.percent(10) {
        marks.set("uses", variable(random));
    }
    if random.percent(15) {
        marks.set("acme.io/number", raw(*random.pick(&["12", "true", "on", "1.50"])));
    }
    marks
}

/// A text in which kustomize may replace variables.
fn variable(random: &mut Random) -> Yaml {
    let (one, other) = (*random.pick(&VARIABLES), *random.pick(&VARIABLES));
    text(match random.below(6) {
        0 => format!("a-$({one}).$({other})"),
        1 => format!("$$({one}) $({other}"),
        2 => format!("$5 $({one})$(NONE)"),
        _ => format!("$({one})"),
    })
}

/// A scalar of any look.
pub(super) fn scalar(random: &mut Random) -> Yaml {
    match random.below(3) {
        0 => text(*random.pick(&["a", "b-c", "12", "on", "x y", "a/b", "<&>", "Ünï", "a,b,c"])),
        _ => raw(*random.pick(&[
            "1",
            "42",
            "1.5",
            "1.20",
            "0644",
            "true",
            "on",
            "no",
            "null",
            "abc",
            "1e3",
            "2024-01-02",
        ])),
    }
}

fn body(kind: &str, random: &mut Random) -> Vec<(&'static str, Yaml)> {
    match kind {
        "Deployment" | "DaemonSet" | "StatefulSet" => {
            let mut spec = map([("template", template(random))]);
            if random.percent(60) {
                spec.set("selector", map([("matchLabels", map([("app", text(name(random)))]))]));
            }
            if random.percent(60) {
                spec.set("replicas", raw(random.below(5).to_string()));
            }
            if kind == "StatefulSet" {
                spec.set("serviceName", text(name(random)));
                if random.percent(50) {
                    let claim = map([
                        ("metadata", map([("name", text("data"))])),
                        ("spec", map([("storageClassName", text("fast"))])),
                    ]);
                    spec.set("volumeClaimTemplates", list([claim]));
                }
            }
            vec![("spec", spec)]
        }
        "Pod" => vec![("spec", pod(random))],
        "Job" => vec![("spec", map([("template", template(random))]))],
        "CronJob" => {
            let job = map([("spec", map([("template", template(random))]))]);
            vec![("spec", map([("schedule", text("0 * * * *")), ("jobTemplate", job)]))]
        }
        "ConfigMap" => vec![("data", data(random))],
        "Secret" => vec![("type", text("Opaque")), ("stringData", map([("key", text("value"))]))],
        "Service" => {
            let mut spec = map([("ports", ports(random, "port"))]);
            if random.percent(70) {
                spec.set("selector", map([("app", text(name(random)))]));
            }
            vec![("spec", spec)]
        }
        "ServiceAccount" => vec![("imagePullSecrets", list([map([("name", text(name(random)))])]))],
        "Ingress" => {
            let backend = map([(
                "service",
                map([("name", text(name(random))), ("port", map([("number", raw("80"))]))]),
            )]);
            let path = map([("path", text("/")), ("backend", backend)]);
            let rule = map([("host", text("a.acme.io")), ("http", map([("paths", list([path]))]))]);
            let tls = map([("secretName", text(name(random)))]);
            vec![("spec", map([("rules", list([rule])), ("tls", list([tls]))]))]
        }
        "NetworkPolicy" => {
            let peer = map([("podSelector", map([("matchLabels", map([("app", text("a"))]))]))]);
            vec![(
                "spec",
                map([("podSelector", map([])), ("ingress", list([map([("from", list([peer]))])]))]),
            )]
        }
        "HorizontalPodAutoscaler" => {
            let target = map([
                ("apiVersion", text("apps/v1")),
                ("kind", text(*random.pick(&["Deployment", "StatefulSet"]))),
                ("name", text(name(random))),
            ]);
            vec![("spec", map([("scaleTargetRef", target), ("maxReplicas", raw("4"))]))]
        }
        "PodDisruptionBudget" => {
            vec![("spec", map([("selector", map([("matchLabels", map([("app", text("a"))]))]))]))]
        }
        "Role" => {
            let rule = map([
                ("resources", list([text("secrets")])),
                ("resourceNames", list([text(name(random)), text("else")])),
            ]);
            vec![("rules", list([rule]))]
        }
        "RoleBinding" | "ClusterRoleBinding" => {
            let role = map([
                ("apiGroup", text("rbac.authorization.k8s.io")),
                ("kind", text(*random.pick(&["Role", "ClusterRole"]))),
                ("name", text(name(random))),
            ]);
            let mut subject = map([
                ("kind", text("ServiceAccount")),
                ("name", text(*random.pick(&["web", "api", "default"]))),
            ]);
            if random.percent(60) {
                subject.set("namespace", text(*random.pick(&NAMESPACES[1..])));
            }
            vec![("roleRef", role), ("subjects", list([subject]))]
        }
        "ValidatingWebhookConfiguration" => {
            let mut service = map([("name", text(name(random))), ("path", text("/v"))]);
            if random.percent(60) {
                service.set("namespace", text(*random.pick(&NAMESPACES[1..])));
            }
            let hook = map([("name", text("a.acme.io")), ("clientConfig", map([("service", service)]))]);
            vec![("webhooks", list([hook]))]
        }
        "PersistentVolumeClaim" => vec![("spec", map([("storageClassName", text("fast"))]))],
        "Namespace" => Vec::new(),
        _ => vec![("spec", custom(random))],
    }
}

fn custom(random: &mut Random) -> Yaml {
    let reference = map([("apiVersion", text("v1")), ("kind", text("Secret")), ("name", text(name(random)))]);
    let mut spec = map([
        ("version", text(*random.pick(&["v1.29.4", "v1.30.0"]))),
        ("count", raw(random.below(9).to_string())),
        (
            "deep",
            map([
                (
                    "list",
                    list([
                        map([
                            ("name", text("a")),
                            ("value", if random.percent(10) { variable(random) } else { scalar(random) }),
                        ]),
                        map([("name", text("b"))]),
                    ]),
                ),
                ("ref", reference),
            ]),
        ),
        ("plain", list([text("x"), text("y")])),
        ("mode", if random.percent(20) { variable(random) } else { scalar(random) }),
        ("json", text("{\"a\":{\"b\":1},\"c\":\"<d>\"}")),
    ]);
    if random.percent(40) {
        spec.set("template", map([("spec", map([("containers", list([container(random)]))]))]));
    }
    spec
}

fn template(random: &mut Random) -> Yaml {
    let mut template = map([("spec", pod(random))]);
    if random.percent(70) {
        template.set("metadata", map([("labels", map([("app", text(name(random)))]))]));
    }
    template
}

fn pod(random: &mut Random) -> Yaml {
    let mut containers = vec![container(random)];
    if random.percent(40) {
        let mut second = container(random);
        second.set("name", text("side"));
        containers.push(second);
    }
    let mut pod = map([("containers", list(containers))]);
    if random.percent(50) {
        let volumes = [
            map([("name", text("one")), ("configMap", map([("name", text(name(random)))]))]),
            map([("name", text("two")), ("secret", map([("secretName", text(name(random)))]))]),
        ];
        pod.set("volumes", list(volumes));
    }
    if random.percent(40) {
        pod.set("serviceAccountName", text(*random.pick(&["web", "api", "default"])));
    }
    if random.percent(20) {
        pod.set("initContainers", list([container(random)]));
    }
    if random.percent(20) {
        pod.set("tolerations", list([map([("key", text("a")), ("operator", text("Exists"))])]));
    }
    pod
}

fn container(random: &mut Random) -> Yaml {
    let mut container = map([("name", text("main")), ("image", text(*random.pick(&IMAGES)))]);
    if random.percent(60) {
        let from = map([("configMapKeyRef", map([("name", text(name(random))), ("key", text("k"))]))]);
        let env = [
            map([
                ("name", text("A")),
                ("value", if random.percent(30) { variable(random) } else { text("1") }),
            ]),
            map([("name", text("B")), ("valueFrom", from)]),
        ];
        container.set("env", list(env));
    }
    if random.percent(30) {
        container.set("envFrom", list([map([("secretRef", map([("name", text(name(random)))]))])]));
    }
    if random.percent(50) {
        container.set("ports", ports(random, "containerPort"));
    }
    if random.percent(30) {
        let mut args = vec![text("--a"), text("--b=1")];
        if random.percent(40) {
            args.push(variable(random));
        }
        container.set("args", list(args));
    }
    container
}

/// With and without protocols, the same port twice.
pub(super) fn ports(random: &mut Random, key: &str) -> Yaml {
    let mut ports = Vec::new();
    for _ in 0..=random.below(3) {
        let mut port = map([(key, raw(*random.pick(&["80", "443", "8080"])))]);
        if random.percent(50) {
            port.set("protocol", text(*random.pick(&["TCP", "UDP"])));
        }
        if random.percent(50) {
            port.set("name", text(*random.pick(&["http", "https"])));
        }
        ports.push(port);
    }
    list(ports)
}

fn data(random: &mut Random) -> Yaml {
    let mut data = map([("key", text("value"))]);
    if random.percent(50) {
        data.set("lines", text("one\ntwo\n"));
    }
    if random.percent(30) {
        data.set("values.json", text("{\n  \"a\": {\n    \"b\": 1\n  }\n}"));
    }
    data
}
