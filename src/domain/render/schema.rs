//! What Kubernetes' own types say about merging lists.
//!
//! Kustomize reads this from the OpenAPI description that is built into it (`x-kubernetes-patch-merge-key`
//! and `x-kubernetes-patch-strategy`,
//! <https://github.com/kubernetes-sigs/kustomize/tree/master/kyaml/openapi>). It has no schema for
//! custom resources: their lists are replaced.

/// How a patch's list meets the object's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListMerge {
    /// The patch's list stands.
    Replace,
    /// Items are merged by these fields; one that both lack is equal.
    ByKey(&'static [&'static str]),
    /// Both lists' items, each once.
    Union,
}

/// API groups whose types kustomize knows.
const BUILT_IN: [&str; 19] = [
    "",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "apps",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
];

/// Kinds of those groups that have no namespace.
const CLUSTER_SCOPED: [&str; 18] = [
    "APIService",
    "CSIDriver",
    "CSINode",
    "CertificateSigningRequest",
    "ClusterRole",
    "ClusterRoleBinding",
    "CustomResourceDefinition",
    "FlowSchema",
    "IngressClass",
    "MutatingWebhookConfiguration",
    "Namespace",
    "Node",
    "PersistentVolume",
    "PriorityClass",
    "PriorityLevelConfiguration",
    "RuntimeClass",
    "StorageClass",
    "ValidatingWebhookConfiguration",
];

/// Whether kustomize has a schema for the group's kinds.
pub(super) fn is_built_in(group: &str) -> bool {
    BUILT_IN.contains(&group) || group == "scheduling.k8s.io"
}

/// Whether a kind is known to have no namespace; kinds that are not known are taken to have one.
pub(super) fn is_cluster_scoped(group: &str, kind: &str) -> bool {
    is_built_in(group) && (CLUSTER_SCOPED.contains(&kind) || kind.starts_with("ValidatingAdmissionPolicy"))
}

/// Where a kind keeps the template of its pods.
pub(super) fn pod_template(group: &str, kind: &str) -> Option<&'static [&'static str]> {
    match (group, kind) {
        ("apps", "DaemonSet" | "Deployment" | "ReplicaSet" | "StatefulSet")
        | ("batch", "Job")
        | ("", "ReplicationController") => Some(&["spec", "template"]),
        ("batch", "CronJob") => Some(&["spec", "jobTemplate", "spec", "template"]),
        ("", "PodTemplate") => Some(&["template"]),
        _ => None,
    }
}

/// How the list at `path` of a kind is merged. The path's items are keys; list items have none.
pub(super) fn list_merge(group: &str, kind: &str, path: &[&str]) -> ListMerge {
    if !is_built_in(group) {
        return ListMerge::Replace;
    }
    if let Some(merge) = of_metadata(path.strip_prefix(&["metadata"]).unwrap_or_default()) {
        return merge;
    }
    if let Some(template) = pod_template(group, kind).and_then(|keys| path.strip_prefix(keys)) {
        if let Some(merge) = of_metadata(template.strip_prefix(&["metadata"]).unwrap_or_default()) {
            return merge;
        }
        return template.strip_prefix(&["spec"]).map_or(ListMerge::Replace, of_pod);
    }
    match (kind, path) {
        ("Pod", ["spec", rest @ ..]) => of_pod(rest),
        ("Service", ["spec", "ports"]) => ListMerge::ByKey(&["port", "protocol"]),
        ("ServiceAccount", ["secrets" | "imagePullSecrets"])
        | ("MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration", ["webhooks"]) => {
            ListMerge::ByKey(&["name"])
        }
        ("Node", ["spec", "podCIDRs"]) | ("PersistentVolumeClaim", ["spec", "finalizers"]) => {
            ListMerge::Union
        }
        (_, ["status", "conditions"]) => ListMerge::ByKey(&["type"]),
        _ => ListMerge::Replace,
    }
}

const fn of_metadata(path: &[&str]) -> Option<ListMerge> {
    match path {
        [field] => match field.as_bytes() {
            b"ownerReferences" => Some(ListMerge::ByKey(&["uid"])),
            b"finalizers" => Some(ListMerge::Union),
            _ => None,
        },
        _ => None,
    }
}

fn of_pod(path: &[&str]) -> ListMerge {
    match path {
        ["containers" | "initContainers" | "ephemeralContainers"]
        | ["volumes" | "imagePullSecrets" | "resourceClaims" | "schedulingGates"] => {
            ListMerge::ByKey(&["name"])
        }
        ["hostAliases"] => ListMerge::ByKey(&["ip"]),
        ["topologySpreadConstraints"] => ListMerge::ByKey(&["topologyKey", "whenUnsatisfiable"]),
        ["containers" | "initContainers" | "ephemeralContainers", field] => match *field {
            "env" => ListMerge::ByKey(&["name"]),
            "ports" => ListMerge::ByKey(&["containerPort", "protocol"]),
            "volumeMounts" => ListMerge::ByKey(&["mountPath"]),
            "volumeDevices" => ListMerge::ByKey(&["devicePath"]),
            _ => ListMerge::Replace,
        },
        _ => ListMerge::Replace,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_built_in_kinds_merge_by_their_schema_and_all_others_are_replaced() {
        let name = ListMerge::ByKey(&["name"]);
        let cases: [(&str, &str, &[&str], ListMerge); 10] = [
            ("apps", "Deployment", &["spec", "template", "spec", "containers"], name),
            ("apps", "Deployment", &["spec", "template", "spec", "containers", "env"], name),
            ("apps", "Deployment", &["spec", "template", "spec", "containers", "args"], ListMerge::Replace),
            ("apps", "Deployment", &["spec", "template", "spec", "tolerations"], ListMerge::Replace),
            ("batch", "CronJob", &["spec", "jobTemplate", "spec", "template", "spec", "volumes"], name),
            ("", "Pod", &["spec", "containers"], name),
            ("", "Service", &["spec", "ports"], ListMerge::ByKey(&["port", "protocol"])),
            ("", "ConfigMap", &["metadata", "finalizers"], ListMerge::Union),
            ("cluster.x-k8s.io", "Cluster", &["metadata", "finalizers"], ListMerge::Replace),
            ("cluster.x-k8s.io", "Cluster", &["spec", "topology", "variables"], ListMerge::Replace),
        ];
        for (group, kind, path, expected) in cases {
            assert_eq!(list_merge(group, kind, path), expected, "{kind} {path:?}");
        }
    }
}
