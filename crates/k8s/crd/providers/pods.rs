//! The fields of a provider object that are Kubernetes' own, as its API has them
//! (<https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.36/>).

use serde_json::{Value, json};

use super::super::parts::{atomic, atomic_list, boolean, integer, list, map, object, sized, text, with};

pub(super) fn label_selector() -> Value {
    atomic(object([("matchExpressions", expressions()), ("matchLabels", map(text()))], &[]))
}

fn expressions() -> Value {
    let expression = [("key", text()), ("operator", text()), ("values", atomic_list(text()))];
    atomic_list(object(expression, &["key", "operator"]))
}

pub(super) fn affinity() -> Value {
    let term = || atomic(object([("matchExpressions", expressions()), ("matchFields", expressions())], &[]));
    let preferred = object([("preference", term()), ("weight", sized("int32"))], &["preference", "weight"]);
    let required = atomic(object([("nodeSelectorTerms", atomic_list(term()))], &["nodeSelectorTerms"]));
    let of_nodes = object(
        [
            ("preferredDuringSchedulingIgnoredDuringExecution", atomic_list(preferred)),
            ("requiredDuringSchedulingIgnoredDuringExecution", required),
        ],
        &[],
    );
    object([("nodeAffinity", of_nodes), ("podAffinity", of_pods()), ("podAntiAffinity", of_pods())], &[])
}

fn of_pods() -> Value {
    let term = || {
        let fields = [
            ("labelSelector", label_selector()),
            ("matchLabelKeys", atomic_list(text())),
            ("mismatchLabelKeys", atomic_list(text())),
            ("namespaceSelector", label_selector()),
            ("namespaces", atomic_list(text())),
            ("topologyKey", text()),
        ];
        object(fields, &["topologyKey"])
    };
    let preferred =
        object([("podAffinityTerm", term()), ("weight", sized("int32"))], &["podAffinityTerm", "weight"]);
    object(
        [
            ("preferredDuringSchedulingIgnoredDuringExecution", atomic_list(preferred)),
            ("requiredDuringSchedulingIgnoredDuringExecution", atomic_list(term())),
        ],
        &[],
    )
}

/// A list of `Toleration`.
pub(super) fn tolerations() -> Value {
    let fields = [
        ("effect", text()),
        ("key", text()),
        ("operator", text()),
        ("tolerationSeconds", sized("int64")),
        ("value", text()),
    ];
    list(object(fields, &[]))
}

/// A list of `LocalObjectReference`.
pub(super) fn local_references() -> Value {
    list(atomic(object([("name", with(text(), "default", ""))], &[])))
}

/// A list of `EnvVar`.
pub(super) fn environment() -> Value {
    let key_of = || {
        let fields = [("key", text()), ("name", with(text(), "default", "")), ("optional", boolean())];
        atomic(object(fields, &["key"]))
    };
    let of_field = atomic(object([("apiVersion", text()), ("fieldPath", text())], &["fieldPath"]));
    let of_file = atomic(object(
        [
            ("key", text()),
            ("optional", with(boolean(), "default", false)),
            ("path", text()),
            ("volumeName", text()),
        ],
        &["key", "path", "volumeName"],
    ));
    let of_resource = atomic(object(
        [("containerName", text()), ("divisor", quantity()), ("resource", text())],
        &["resource"],
    ));
    let from = object(
        [
            ("configMapKeyRef", key_of()),
            ("fieldRef", of_field),
            ("fileKeyRef", of_file),
            ("resourceFieldRef", of_resource),
            ("secretKeyRef", key_of()),
        ],
        &[],
    );
    list(object([("name", text()), ("value", text()), ("valueFrom", from)], &["name"]))
}

/// `ResourceRequirements`.
pub(super) fn resources() -> Value {
    let mut claims = list(object([("name", text()), ("request", text())], &["name"]));
    claims["x-kubernetes-list-type"] = json!("map");
    claims["x-kubernetes-list-map-keys"] = json!(["name"]);
    object([("claims", claims), ("limits", map(quantity())), ("requests", map(quantity()))], &[])
}

/// A number with a unit, as <https://pkg.go.dev/k8s.io/apimachinery/pkg/api/resource#Quantity> writes it.
fn quantity() -> Value {
    const NUMBER: &str = r"(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))";
    json!({
        "anyOf": [integer(), text()],
        "pattern": format!(r"^(\+|-)?{NUMBER}(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?{NUMBER}))?$"),
        "x-kubernetes-int-or-string": true,
    })
}
