//! What Kubernetes' own types say to kustomize: which lists merge by which keys, and which kinds have no
//! namespace.
//!
//! Kustomize has the OpenAPI description of Kubernetes 1.21 built in (`x-kubernetes-patch-merge-key` and
//! `x-kubernetes-patch-strategy`, <https://github.com/kubernetes-sigs/kustomize/tree/master/kyaml/openapi>).
//! Kinds and versions that are not in it have no keys, custom resources above all: their lists are replaced.
//! So this lists the types that kustomize knows, not those of Kubernetes; `schema` has what Kubernetes itself
//! says about a list.

use super::custom_schema::{CustomSchema, TypeDefinition};
use super::list_merge::ListMerge;

/// What is known about a value's type.
#[derive(Debug, Clone, Copy)]
pub(super) enum KnownType<'a> {
    /// One of kustomize's own.
    BuiltIn(BuiltIn),
    /// One of a file that `openapi` names.
    Custom(&'a CustomSchema, TypeDefinition<'a>),
}

/// The built-in types that have lists with keys somewhere below.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BuiltIn {
    /// An object whose fields at `below` hold the type.
    Object(Root),
    Metadata,
    /// `spec` of a workload and everything on the way to the template of its pods.
    Way(&'static [&'static str], Leaf),
    PodTemplate,
    PodSpec,
    Container,
    EphemeralContainer,
    ServiceSpec,
    NodeSpec,
    CsiNodeSpec,
    Status,
    /// A known type without such lists.
    Plain,
}

/// What a built-in object holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Root {
    way: &'static [&'static str],
    leaf: Leaf,
    list: Option<(&'static str, &'static str)>,
}

/// The type at the end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leaf {
    PodTemplate,
    Pod,
    Service,
    Node,
    CsiNode,
    Nothing,
}

impl Leaf {
    const fn of(self) -> BuiltIn {
        match self {
            Self::PodTemplate => BuiltIn::PodTemplate,
            Self::Pod => BuiltIn::PodSpec,
            Self::Service => BuiltIn::ServiceSpec,
            Self::Node => BuiltIn::NodeSpec,
            Self::CsiNode => BuiltIn::CsiNodeSpec,
            Self::Nothing => BuiltIn::Plain,
        }
    }
}

/// Which schema is in use: kustomize's own, or the one of a file.
#[derive(Debug, Default)]
pub(super) struct Schemas {
    custom: Option<CustomSchema>,
}

impl Schemas {
    /// A kustomization's `openapi: {path: …}` replaces what is built in. Only the first counts.
    pub(super) fn replace(&mut self, custom: CustomSchema) {
        self.custom.get_or_insert(custom);
    }

    pub(super) const fn is_replaced(&self) -> bool {
        self.custom.is_some()
    }

    /// The type of an object, as far as it is known.
    pub(super) fn of(&self, api_version: &str, kind: &str) -> Option<KnownType<'_>> {
        match &self.custom {
            Some(custom) => {
                custom.of(api_version, kind).map(|definition| KnownType::Custom(custom, definition))
            }
            None => built_in(api_version, kind).map(|root| KnownType::BuiltIn(BuiltIn::Object(root))),
        }
    }
}

impl<'a> KnownType<'a> {
    /// The type of a field, and how its list is merged.
    pub(super) fn field(self, name: &str) -> (Option<Self>, Option<ListMerge>) {
        match self {
            Self::BuiltIn(built_in) => {
                let (inner, merge) = built_in.field(name);
                (inner.map(Self::BuiltIn), merge)
            }
            Self::Custom(schema, definition) => {
                let (inner, merge) = schema.field(definition, name);
                (inner.map(|inner| Self::Custom(schema, inner)), merge)
            }
        }
    }
}

fn keys(names: &[&str]) -> Option<ListMerge> {
    Some(ListMerge::ByKey(names.iter().map(|name| (*name).to_owned()).collect()))
}

impl BuiltIn {
    /// Of a list it is the type of the items.
    fn field(self, name: &str) -> (Option<Self>, Option<ListMerge>) {
        match (self, name) {
            (Self::Object(_) | Self::PodTemplate, "metadata") => (Some(Self::Metadata), None),
            (Self::Object(root), "status") if root.list.is_none() => (Some(Self::Status), None),
            (Self::Object(root), _) => match (root.way.split_first(), root.list) {
                (_, Some((field, key))) if field == name => (Some(Self::Plain), keys(&[key])),
                (Some((first, rest)), _) if *first == name => (Some(on_the_way(rest, root.leaf)), None),
                _ => (None, None),
            },
            (Self::Way(way, leaf), _) => match way.split_first() {
                Some((first, rest)) if *first == name => (Some(on_the_way(rest, leaf)), None),
                _ if name == "metadata" => (Some(Self::Metadata), None),
                _ => (None, None),
            },
            (Self::Metadata, "ownerReferences") => (Some(Self::Plain), keys(&["uid"])),
            (Self::Metadata, "finalizers") | (Self::NodeSpec, "podCIDRs") => (None, Some(ListMerge::Union)),
            (Self::PodTemplate, "spec") => (Some(Self::PodSpec), None),
            (Self::PodSpec, "containers" | "initContainers") => (Some(Self::Container), keys(&["name"])),
            (Self::PodSpec, "ephemeralContainers") => (Some(Self::EphemeralContainer), keys(&["name"])),
            (Self::PodSpec, "volumes" | "imagePullSecrets") | (Self::CsiNodeSpec, "drivers") => {
                (Some(Self::Plain), keys(&["name"]))
            }
            (Self::PodSpec, "hostAliases") => (Some(Self::Plain), keys(&["ip"])),
            (Self::PodSpec, "topologySpreadConstraints") => {
                (Some(Self::Plain), keys(&["topologyKey", "whenUnsatisfiable"]))
            }
            (Self::Container, "ports") => (Some(Self::Plain), keys(&["containerPort", "protocol"])),
            (Self::Container | Self::EphemeralContainer, "env") => (Some(Self::Plain), keys(&["name"])),
            (Self::Container | Self::EphemeralContainer, "volumeMounts") => {
                (Some(Self::Plain), keys(&["mountPath"]))
            }
            (Self::Container | Self::EphemeralContainer, "volumeDevices") => {
                (Some(Self::Plain), keys(&["devicePath"]))
            }
            (Self::ServiceSpec, "ports") => (Some(Self::Plain), keys(&["port", "protocol"])),
            (Self::Status, "conditions") => (Some(Self::Plain), keys(&["type"])),
            // A claim inside a volume or a StatefulSet has metadata of its own.
            (Self::Plain, "metadata") => (Some(Self::Metadata), None),
            (Self::Plain, "ephemeral" | "volumeClaimTemplate") => (Some(Self::Plain), None),
            _ => (None, None),
        }
    }
}

const fn on_the_way(rest: &'static [&'static str], leaf: Leaf) -> BuiltIn {
    if rest.is_empty() { leaf.of() } else { BuiltIn::Way(rest, leaf) }
}

/// Kinds whose lists have keys beyond those of `metadata`; `None` for kinds that kustomize does not know.
fn built_in(api_version: &str, kind: &str) -> Option<Root> {
    let root = |way, leaf| Some(Root { way, leaf, list: None });
    match (api_version, kind) {
        ("apps/v1", "DaemonSet" | "Deployment" | "ReplicaSet" | "StatefulSet")
        | ("batch/v1", "Job")
        | ("v1", "ReplicationController") => root(&["spec", "template"], Leaf::PodTemplate),
        ("batch/v1" | "batch/v1beta1", "CronJob") => {
            root(&["spec", "jobTemplate", "spec", "template"], Leaf::PodTemplate)
        }
        ("v1", "PodTemplate") => root(&["template"], Leaf::PodTemplate),
        ("v1", "Pod") => root(&["spec"], Leaf::Pod),
        ("v1", "Service") => root(&["spec"], Leaf::Service),
        ("v1", "Node") => root(&["spec"], Leaf::Node),
        ("storage.k8s.io/v1" | "storage.k8s.io/v1beta1", "CSINode") => root(&["spec"], Leaf::CsiNode),
        ("v1", "ServiceAccount") => {
            Some(Root { way: &[], leaf: Leaf::Nothing, list: Some(("secrets", "name")) })
        }
        (
            "admissionregistration.k8s.io/v1" | "admissionregistration.k8s.io/v1beta1",
            "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration",
        ) => Some(Root { way: &[], leaf: Leaf::Nothing, list: Some(("webhooks", "name")) }),
        _ => SCOPES
            .iter()
            .any(|(known, namespaced, global)| {
                *known == api_version && (namespaced.contains(&kind) || global.contains(&kind))
            })
            .then_some(Root { way: &[], leaf: Leaf::Nothing, list: None }),
    }
}

/// By API version: kinds with a namespace, and kinds without.
type KindScopes = (&'static str, &'static [&'static str], &'static [&'static str]);

const WEBHOOKS: &[&str] = &["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];
const RBAC: (&[&str], &[&str]) = (&["Role", "RoleBinding"], &["ClusterRole", "ClusterRoleBinding"]);
const FLOW: &[&str] = &["FlowSchema", "PriorityLevelConfiguration"];
const HPA: &[&str] = &["HorizontalPodAutoscaler"];
const STORAGE: &[&str] = &["CSIDriver", "CSINode", "StorageClass", "VolumeAttachment"];

/// Kustomize's own list (`precomputedIsNamespaceScoped` in kyaml's openapi.go); what is not in it counts
/// as having a namespace.
const SCOPES: [KindScopes; 36] = [
    ("admissionregistration.k8s.io/v1", &[], WEBHOOKS),
    ("admissionregistration.k8s.io/v1beta1", &[], WEBHOOKS),
    ("apiextensions.k8s.io/v1", &[], &["CustomResourceDefinition"]),
    ("apiextensions.k8s.io/v1beta1", &[], &["CustomResourceDefinition"]),
    ("apiregistration.k8s.io/v1", &[], &["APIService"]),
    ("apiregistration.k8s.io/v1beta1", &[], &["APIService"]),
    ("apps/v1", &["ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"], &[]),
    ("autoscaling/v1", HPA, &[]),
    ("autoscaling/v2beta1", HPA, &[]),
    ("autoscaling/v2beta2", HPA, &[]),
    ("batch/v1", &["CronJob", "Job"], &[]),
    ("batch/v1beta1", &["CronJob"], &[]),
    ("certificates.k8s.io/v1", &[], &["CertificateSigningRequest"]),
    ("certificates.k8s.io/v1beta1", &[], &["CertificateSigningRequest"]),
    ("coordination.k8s.io/v1", &["Lease"], &[]),
    ("coordination.k8s.io/v1beta1", &["Lease"], &[]),
    ("discovery.k8s.io/v1", &["EndpointSlice"], &[]),
    ("discovery.k8s.io/v1beta1", &["EndpointSlice"], &[]),
    ("events.k8s.io/v1", &["Event"], &[]),
    ("events.k8s.io/v1beta1", &["Event"], &[]),
    ("extensions/v1beta1", &["Ingress"], &[]),
    ("flowcontrol.apiserver.k8s.io/v1beta1", &[], FLOW),
    ("networking.k8s.io/v1", &["Ingress", "NetworkPolicy"], &["IngressClass"]),
    ("networking.k8s.io/v1beta1", &["Ingress"], &["IngressClass"]),
    ("node.k8s.io/v1", &[], &["RuntimeClass"]),
    ("node.k8s.io/v1beta1", &[], &["RuntimeClass"]),
    ("policy/v1", &["PodDisruptionBudget"], &[]),
    ("policy/v1beta1", &["PodDisruptionBudget"], &["PodSecurityPolicy"]),
    ("rbac.authorization.k8s.io/v1", RBAC.0, RBAC.1),
    ("rbac.authorization.k8s.io/v1beta1", RBAC.0, RBAC.1),
    ("scheduling.k8s.io/v1", &[], &["PriorityClass"]),
    ("scheduling.k8s.io/v1beta1", &[], &["PriorityClass"]),
    ("storage.k8s.io/v1", &[], STORAGE),
    ("storage.k8s.io/v1beta1", &["CSIStorageCapacity"], STORAGE),
    ("v1", CORE, &["ComponentStatus", "Namespace", "Node", "PersistentVolume"]),
    ("policy/v1beta1", &["Eviction"], &[]),
];

const CORE: &[&str] = &[
    "ConfigMap",
    "Endpoints",
    "Event",
    "LimitRange",
    "PersistentVolumeClaim",
    "Pod",
    "PodTemplate",
    "ReplicationController",
    "ResourceQuota",
    "Secret",
    "Service",
    "ServiceAccount",
];

/// Whether kustomize knows that a kind has no namespace.
pub(super) fn is_cluster_scoped(group: &str, version: &str, kind: &str) -> bool {
    SCOPES.iter().any(|(api_version, _, global)| {
        let (known_group, known_version) = api_version.split_once('/').unwrap_or(("", api_version));
        known_group == group && known_version == version && global.contains(&kind)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merge(api_version: &str, kind: &str, path: &[&str]) -> Option<ListMerge> {
        let schemas = Schemas::default();
        let mut known = schemas.of(api_version, kind);
        let mut merge = None;
        for step in path {
            (known, merge) = known?.field(step);
        }
        merge
    }

    #[test]
    fn lists_of_the_kinds_that_kustomize_knows_merge_by_their_keys_and_all_others_are_replaced() {
        let template = ["spec", "template", "spec"];
        let deep = ["spec", "jobTemplate", "spec", "template", "spec", "volumes"];
        let cases: [(&str, &str, Vec<&str>, Option<ListMerge>); 16] = [
            ("apps/v1", "Deployment", [&template[..], &["containers"]].concat(), keys(&["name"])),
            ("apps/v1", "Deployment", [&template[..], &["containers", "env"]].concat(), keys(&["name"])),
            ("apps/v1", "Deployment", [&template[..], &["containers", "args"]].concat(), None),
            ("apps/v1", "Deployment", [&template[..], &["tolerations"]].concat(), None),
            (
                "apps/v1",
                "Deployment",
                vec!["spec", "template", "metadata", "finalizers"],
                Some(ListMerge::Union),
            ),
            ("apps/v1", "Deployment", vec!["status", "conditions"], keys(&["type"])),
            ("apps/v2", "Deployment", [&template[..], &["containers"]].concat(), None),
            ("batch/v1", "CronJob", deep.to_vec(), keys(&["name"])),
            ("v1", "Pod", vec!["spec", "containers"], keys(&["name"])),
            ("v1", "Service", vec!["spec", "ports"], keys(&["port", "protocol"])),
            ("v1", "ServiceAccount", vec!["secrets"], keys(&["name"])),
            ("v1", "ServiceAccount", vec!["imagePullSecrets"], None),
            ("v1", "ConfigMap", vec!["metadata", "finalizers"], Some(ListMerge::Union)),
            ("autoscaling/v2", "HorizontalPodAutoscaler", vec!["metadata", "finalizers"], None),
            ("cluster.x-k8s.io/v1beta1", "Cluster", vec!["metadata", "finalizers"], None),
            ("cluster.x-k8s.io/v1beta1", "Cluster", vec!["spec", "topology", "variables"], None),
        ];
        for (api_version, kind, path, expected) in cases {
            assert_eq!(merge(api_version, kind, &path), expected, "{kind} {path:?}");
        }
    }

    #[test]
    fn kinds_of_versions_that_kustomize_does_not_know_count_as_having_a_namespace() {
        assert!(is_cluster_scoped("", "v1", "Namespace"));
        assert!(is_cluster_scoped("rbac.authorization.k8s.io", "v1", "ClusterRole"));
        assert!(!is_cluster_scoped("rbac.authorization.k8s.io", "v2", "ClusterRole"));
        assert!(!is_cluster_scoped("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy"));
        assert!(!is_cluster_scoped("apps", "v1", "Deployment"));
    }
}
