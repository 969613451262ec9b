//! The fields that kustomize's transformers reach where nobody configures others.
//!
//! From kustomize's built-in configuration
//! (<https://github.com/kubernetes-sigs/kustomize/tree/master/api/internal/konfig/builtinpluginconsts>).

use std::sync::{Arc, OnceLock};

use super::config::{Config, NameReference};
use super::fields::{Create, FieldSpec};
use super::id::Gvk;

/// Where kinds keep the specification of their pods.
const PODS: [(&str, &str); 9] = [
    ("Pod", "spec"),
    ("Deployment", "spec/template/spec"),
    ("DaemonSet", "spec/template/spec"),
    ("StatefulSet", "spec/template/spec"),
    ("Job", "spec/template/spec"),
    ("CronJob", "spec/jobTemplate/spec/template/spec"),
    ("ReplicaSet", "spec/template/spec"),
    ("PodTemplate", "template/spec"),
    ("ReplicationController", "spec/template/spec"),
];

/// Kinds that name ConfigMaps and Secrets; the others that name the rest.
const OF_DATA: [&str; 8] =
    ["Pod", "PodTemplate", "Deployment", "ReplicaSet", "DaemonSet", "StatefulSet", "Job", "CronJob"];
const OF_THE_REST: [&str; 7] =
    ["Pod", "StatefulSet", "Deployment", "ReplicationController", "CronJob", "Job", "DaemonSet"];

/// Kinds in whose containers variables are replaced.
const OF_VARIABLES: [&str; 7] =
    ["CronJob", "DaemonSet", "Deployment", "Job", "Pod", "ReplicaSet", "StatefulSet"];

const CONFIG_MAP: [&str; 6] = [
    "volumes/configMap/name",
    "containers/env/valueFrom/configMapKeyRef/name",
    "initContainers/env/valueFrom/configMapKeyRef/name",
    "containers/envFrom/configMapRef/name",
    "initContainers/envFrom/configMapRef/name",
    "volumes/projected/sources/configMap/name",
];
const SECRET: [&str; 7] = [
    "volumes/secret/secretName",
    "containers/env/valueFrom/secretKeyRef/name",
    "initContainers/env/valueFrom/secretKeyRef/name",
    "containers/envFrom/secretRef/name",
    "initContainers/envFrom/secretRef/name",
    "imagePullSecrets/name",
    "volumes/projected/sources/secret/name",
];

const ADMISSION: &str = "admissionregistration.k8s.io";
const RBAC: &str = "rbac.authorization.k8s.io";
const NGINX: &str = r"metadata/annotations/nginx.ingress.kubernetes.io\/";

/// The configuration that every kustomization begins with.
pub(super) fn built_in() -> Arc<Config> {
    static BUILT_IN: OnceLock<Arc<Config>> = OnceLock::new();
    Arc::clone(BUILT_IN.get_or_init(|| Arc::new(config())))
}

fn config() -> Config {
    Config {
        name_prefix: vec![spec("", "", "", "metadata/name", Create::No)],
        name_suffix: vec![spec("", "", "", "metadata/name", Create::No)],
        namespace: vec![
            spec("", "", "Namespace", "metadata/name", Create::Yes),
            spec("apiregistration.k8s.io", "", "APIService", "spec/service/namespace", Create::Yes),
            spec(
                "apiextensions.k8s.io",
                "",
                "CustomResourceDefinition",
                "spec/conversion/webhook/clientConfig/service/namespace",
                Create::No,
            ),
        ],
        common_labels: [selectors(), metadata_labels()].concat(),
        labels: Vec::new(),
        template_labels: metadata_labels(),
        annotations: annotations(),
        images: images(),
        replicas: ["Deployment", "ReplicationController", "ReplicaSet", "StatefulSet"]
            .map(|kind| spec("", "", kind, "spec/replicas", Create::Yes))
            .to_vec(),
        references: references(),
        variables: variables(),
    }
}

fn spec(group: &str, version: &str, kind: &str, path: &str, create: Create) -> FieldSpec {
    FieldSpec::new(Gvk::new(group, version, kind), path, create)
}

fn metadata_labels() -> Vec<FieldSpec> {
    [
        ("", "", "", "metadata/labels"),
        ("", "v1", "ReplicationController", "spec/template/metadata/labels"),
        ("", "", "Deployment", "spec/template/metadata/labels"),
        ("", "", "ReplicaSet", "spec/template/metadata/labels"),
        ("", "", "DaemonSet", "spec/template/metadata/labels"),
        ("apps", "", "StatefulSet", "spec/template/metadata/labels"),
        ("apps", "", "StatefulSet", "spec/volumeClaimTemplates[]/metadata/labels"),
        ("batch", "", "Job", "spec/template/metadata/labels"),
        ("batch", "", "CronJob", "spec/jobTemplate/metadata/labels"),
        ("batch", "", "CronJob", "spec/jobTemplate/spec/template/metadata/labels"),
    ]
    .map(|(group, version, kind, path)| spec(group, version, kind, path, Create::Yes))
    .to_vec()
}

fn selectors() -> Vec<FieldSpec> {
    let mut all: Vec<FieldSpec> = [
        ("", "v1", "Service", "spec/selector"),
        ("", "v1", "ReplicationController", "spec/selector"),
        ("", "", "Deployment", "spec/selector/matchLabels"),
        ("", "", "ReplicaSet", "spec/selector/matchLabels"),
        ("", "", "DaemonSet", "spec/selector/matchLabels"),
        ("apps", "", "StatefulSet", "spec/selector/matchLabels"),
    ]
    .map(|(group, version, kind, path)| spec(group, version, kind, path, Create::Yes))
    .to_vec();
    for kind in ["Deployment", "StatefulSet"] {
        for affinity in ["podAffinity", "podAntiAffinity"] {
            for term in [
                "preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm",
                "requiredDuringSchedulingIgnoredDuringExecution",
            ] {
                let path = format!("spec/template/spec/affinity/{affinity}/{term}/labelSelector/matchLabels");
                all.push(spec("apps", "", kind, &path, Create::No));
            }
        }
        let spread = "spec/template/spec/topologySpreadConstraints/labelSelector/matchLabels";
        all.push(spec("apps", "", kind, spread, Create::No));
    }
    all.extend(
        [
            ("batch", "Job", "spec/selector/matchLabels"),
            ("batch", "CronJob", "spec/jobTemplate/spec/selector/matchLabels"),
            ("policy", "PodDisruptionBudget", "spec/selector/matchLabels"),
            ("networking.k8s.io", "NetworkPolicy", "spec/podSelector/matchLabels"),
            ("networking.k8s.io", "NetworkPolicy", "spec/ingress/from/podSelector/matchLabels"),
            ("networking.k8s.io", "NetworkPolicy", "spec/egress/to/podSelector/matchLabels"),
        ]
        .map(|(group, kind, path)| spec(group, "", kind, path, Create::No)),
    );
    all
}

fn annotations() -> Vec<FieldSpec> {
    [
        ("", "", "", "metadata/annotations"),
        ("", "v1", "ReplicationController", "spec/template/metadata/annotations"),
        ("", "", "Deployment", "spec/template/metadata/annotations"),
        ("", "", "ReplicaSet", "spec/template/metadata/annotations"),
        ("", "", "DaemonSet", "spec/template/metadata/annotations"),
        ("", "", "StatefulSet", "spec/template/metadata/annotations"),
        ("batch", "", "Job", "spec/template/metadata/annotations"),
        ("batch", "", "CronJob", "spec/jobTemplate/metadata/annotations"),
        ("batch", "", "CronJob", "spec/jobTemplate/spec/template/metadata/annotations"),
    ]
    .map(|(group, version, kind, path)| spec(group, version, kind, path, Create::Yes))
    .to_vec()
}

fn images() -> Vec<FieldSpec> {
    let mut all = Vec::new();
    for way in ["spec", "spec/template/spec"] {
        for field in ["containers[]/image", "initContainers[]/image", "volumes[]/image/reference"] {
            all.push(spec("", "", "", &format!("{way}/{field}"), Create::Yes));
        }
    }
    all
}

/// Fields below the specification of pods, for each of these kinds.
fn below_pods(kinds: &[&str], fields: &[&str]) -> Vec<FieldSpec> {
    let mut all = Vec::new();
    for kind in kinds {
        for (_, way) in PODS.iter().filter(|(known, _)| known == kind) {
            all.extend(fields.iter().map(|field| spec("", "", kind, &format!("{way}/{field}"), Create::No)));
        }
    }
    all
}

/// Where `$(NAME)` of `vars` is replaced.
fn variables() -> Vec<FieldSpec> {
    let mut all = Vec::new();
    for (kind, way) in PODS.iter().filter(|(kind, _)| OF_VARIABLES.contains(kind)) {
        for containers in ["containers", "initContainers"] {
            for field in ["args", "command", "env/value", "volumeMounts/mountPath"] {
                all.push(spec("", "", kind, &format!("{way}/{containers}/{field}"), Create::No));
            }
        }
    }
    all.extend(
        [
            // Kustomize's own paths for these two, which match nothing: left as they are.
            ("CronJob", "spec/jobTemplate/spec/template/volumes/nfs/server"),
            ("StatefulSet", "spec/volumeClaimTemplates/spec/nfs/server"),
            ("DaemonSet", "spec/template/spec/volumes/nfs/server"),
            ("Deployment", "spec/template/spec/volumes/nfs/server"),
            ("Deployment", "spec/template/metadata/annotations"),
            ("Ingress", "spec/rules/host"),
            ("Ingress", "spec/tls/hosts"),
            ("Ingress", "spec/tls/secretName"),
            ("Job", "spec/template/spec/volumes/nfs/server"),
            ("Pod", "spec/volumes/nfs/server"),
            ("ReplicaSet", "spec/template/spec/volumes/nfs/server"),
            ("Service", "spec/ports/port"),
            ("Service", "spec/ports/targetPort"),
            ("PersistentVolume", "spec/nfs/server"),
            ("", "metadata/labels"),
            ("", "metadata/annotations"),
        ]
        .map(|(kind, path)| spec("", "", kind, path, Create::No)),
    );
    all
}

fn references() -> Vec<NameReference> {
    let reference = |group: &str, version: &str, kind: &str, more: &[(&str, &str, &str)]| NameReference {
        target: Gvk::new(group, version, kind),
        fields: more.iter().map(|(group, kind, path)| spec(group, "", kind, path, Create::No)).collect(),
    };
    let scaled =
        |kind: &str| reference("", "", kind, &[("", "HorizontalPodAutoscaler", "spec/scaleTargetRef/name")]);
    let rules = [("", "Role", "rules/resourceNames"), ("", "ClusterRole", "rules/resourceNames")];
    let mut all = vec![
        scaled("Deployment"),
        scaled("ReplicationController"),
        scaled("ReplicaSet"),
        scaled("StatefulSet"),
    ];

    let mut config_map = reference("", "v1", "ConfigMap", &rules);
    config_map.fields.extend(below_pods(&OF_DATA, &CONFIG_MAP));
    config_map.fields.push(spec("", "", "Node", "spec/configSource/configMap", Create::No));
    config_map.fields.push(spec("", "", "Ingress", &format!("{NGINX}fastcgi-params-configmap"), Create::No));
    all.push(config_map);

    let mut secret = reference("", "v1", "Secret", &rules);
    secret.fields.extend(below_pods(&OF_DATA, &SECRET));
    for path in ["spec/tls/secretName", r"metadata/annotations/ingress.kubernetes.io\/auth-secret"] {
        secret.fields.push(spec("", "", "Ingress", path, Create::No));
    }
    for annotation in ["auth-secret", "auth-tls-secret"] {
        secret.fields.push(spec("", "", "Ingress", &format!("{NGINX}{annotation}"), Create::No));
    }
    secret.fields.push(spec("", "", "ServiceAccount", "imagePullSecrets/name", Create::No));
    for field in ["secretName", "adminSecretName", "userSecretName", "secretRef"] {
        secret.fields.push(spec("", "", "StorageClass", &format!("parameters/{field}"), Create::No));
    }
    secret.fields.push(spec(
        "serving.knative.dev",
        "v1",
        "Service",
        "spec/template/spec/containers/env/valueFrom/secretKeyRef/name",
        Create::No,
    ));
    secret.fields.push(spec("", "", "PersistentVolume", "spec/azureFile/secretName", Create::No));
    all.push(secret);

    all.push(reference(
        "",
        "v1",
        "Service",
        &[
            ("apps", "StatefulSet", "spec/serviceName"),
            ("", "Ingress", "spec/rules/http/paths/backend/serviceName"),
            ("", "Ingress", "spec/backend/serviceName"),
            ("", "Ingress", "spec/rules/http/paths/backend/service/name"),
            ("", "Ingress", "spec/defaultBackend/service/name"),
            ("apiregistration.k8s.io", "APIService", "spec/service/name"),
            (ADMISSION, "ValidatingWebhookConfiguration", "webhooks/clientConfig/service"),
            (ADMISSION, "MutatingWebhookConfiguration", "webhooks/clientConfig/service"),
        ],
    ));
    all.push(reference(RBAC, "", "Role", &[(RBAC, "RoleBinding", "roleRef/name")]));
    all.push(reference(
        RBAC,
        "",
        "ClusterRole",
        &[(RBAC, "RoleBinding", "roleRef/name"), (RBAC, "ClusterRoleBinding", "roleRef/name")],
    ));
    let mut account = reference(
        "",
        "v1",
        "ServiceAccount",
        &[(RBAC, "RoleBinding", "subjects"), (RBAC, "ClusterRoleBinding", "subjects")],
    );
    account.fields.extend(below_pods(&OF_THE_REST, &["serviceAccountName"]));
    all.push(account);

    let mut claim = reference("", "v1", "PersistentVolumeClaim", &[]);
    claim.fields = below_pods(&OF_THE_REST, &["volumes/persistentVolumeClaim/claimName"]);
    all.push(claim);
    all.push(reference(
        "",
        "v1",
        "PersistentVolume",
        &[("", "PersistentVolumeClaim", "spec/volumeName"), ("", "ClusterRole", "rules/resourceNames")],
    ));
    all.push(reference(
        "storage.k8s.io",
        "v1",
        "StorageClass",
        &[
            ("", "PersistentVolume", "spec/storageClassName"),
            ("", "PersistentVolumeClaim", "spec/storageClassName"),
            ("", "StatefulSet", "spec/volumeClaimTemplates/spec/storageClassName"),
        ],
    ));
    let mut priority = reference("scheduling.k8s.io", "v1", "PriorityClass", &[]);
    priority.fields = below_pods(&OF_THE_REST, &["priorityClassName"]);
    all.push(priority);
    // Kustomize's entry for IngressClass has a version in its group and never fits: left out.
    all.push(reference(
        ADMISSION,
        "",
        "ValidatingAdmissionPolicy",
        &[(ADMISSION, "ValidatingAdmissionPolicyBinding", "spec/policyName")],
    ));
    all
}
