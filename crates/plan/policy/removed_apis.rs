//! Which API versions Kubernetes stopped serving, and when.
//!
//! From <https://kubernetes.io/docs/reference/using-api/deprecation-guide/>; configuration files of the
//! control plane (audit policy, scheduler) from their own reference pages.

/// An API version that is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Removed {
    group: &'static str,
    version: &'static str,
    /// Empty: every kind of the group in that version.
    kinds: &'static [&'static str],
    /// The minor of Kubernetes 1 that no longer has it.
    pub(super) since: u64,
    /// What to write instead; empty where there is nothing.
    pub(super) instead: &'static str,
}

const fn gone(
    since: u64,
    group: &'static str,
    version: &'static str,
    kinds: &'static [&'static str],
    instead: &'static str,
) -> Removed {
    Removed { group, version, kinds, since, instead }
}

const TABLE: &[Removed] = &[
    gone(16, "apps", "v1beta1", &[], "apps/v1"),
    gone(16, "apps", "v1beta2", &[], "apps/v1"),
    gone(16, "extensions", "v1beta1", &["DaemonSet", "Deployment", "ReplicaSet"], "apps/v1"),
    gone(16, "extensions", "v1beta1", &["NetworkPolicy"], "networking.k8s.io/v1"),
    gone(16, "extensions", "v1beta1", &["PodSecurityPolicy"], ""),
    gone(22, "admissionregistration.k8s.io", "v1beta1", WEBHOOKS, "admissionregistration.k8s.io/v1"),
    gone(22, "apiextensions.k8s.io", "v1beta1", &["CustomResourceDefinition"], "apiextensions.k8s.io/v1"),
    gone(22, "apiregistration.k8s.io", "v1beta1", &[], "apiregistration.k8s.io/v1"),
    gone(22, "authentication.k8s.io", "v1beta1", &["TokenReview"], "authentication.k8s.io/v1"),
    gone(22, "authorization.k8s.io", "v1beta1", &[], "authorization.k8s.io/v1"),
    gone(22, "certificates.k8s.io", "v1beta1", &["CertificateSigningRequest"], "certificates.k8s.io/v1"),
    gone(22, "coordination.k8s.io", "v1beta1", &["Lease"], "coordination.k8s.io/v1"),
    gone(22, "extensions", "v1beta1", &["Ingress"], "networking.k8s.io/v1"),
    gone(22, "networking.k8s.io", "v1beta1", &["Ingress", "IngressClass"], "networking.k8s.io/v1"),
    gone(22, "rbac.authorization.k8s.io", "v1alpha1", &[], "rbac.authorization.k8s.io/v1"),
    gone(22, "rbac.authorization.k8s.io", "v1beta1", &[], "rbac.authorization.k8s.io/v1"),
    gone(22, "scheduling.k8s.io", "v1beta1", &["PriorityClass"], "scheduling.k8s.io/v1"),
    gone(22, "storage.k8s.io", "v1beta1", STORAGE, "storage.k8s.io/v1"),
    gone(23, "kubescheduler.config.k8s.io", "v1beta1", &[], "kubescheduler.config.k8s.io/v1"),
    gone(24, "audit.k8s.io", "v1alpha1", &[], "audit.k8s.io/v1"),
    gone(24, "audit.k8s.io", "v1beta1", &[], "audit.k8s.io/v1"),
    gone(25, "autoscaling", "v2beta1", &[], "autoscaling/v2"),
    gone(25, "batch", "v1beta1", &["CronJob"], "batch/v1"),
    gone(25, "discovery.k8s.io", "v1beta1", &["EndpointSlice"], "discovery.k8s.io/v1"),
    gone(25, "events.k8s.io", "v1beta1", &["Event"], "events.k8s.io/v1"),
    gone(25, "node.k8s.io", "v1beta1", &["RuntimeClass"], "node.k8s.io/v1"),
    gone(25, "policy", "v1beta1", &["PodDisruptionBudget"], "policy/v1"),
    gone(25, "policy", "v1beta1", &["PodSecurityPolicy"], ""),
    gone(26, "autoscaling", "v2beta2", &[], "autoscaling/v2"),
    gone(26, "flowcontrol.apiserver.k8s.io", "v1beta1", &[], "flowcontrol.apiserver.k8s.io/v1beta3"),
    gone(27, "storage.k8s.io", "v1beta1", &["CSIStorageCapacity"], "storage.k8s.io/v1"),
    gone(28, "kubescheduler.config.k8s.io", "v1beta2", &[], "kubescheduler.config.k8s.io/v1"),
    gone(29, "flowcontrol.apiserver.k8s.io", "v1beta2", &[], "flowcontrol.apiserver.k8s.io/v1"),
    gone(29, "kubescheduler.config.k8s.io", "v1beta3", &[], "kubescheduler.config.k8s.io/v1"),
    gone(32, "flowcontrol.apiserver.k8s.io", "v1beta3", &[], "flowcontrol.apiserver.k8s.io/v1"),
];

const WEBHOOKS: &[&str] = &["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];
const STORAGE: &[&str] = &["CSIDriver", "CSINode", "StorageClass", "VolumeAttachment"];

/// What became of an object's API version; `None` where Kubernetes still serves it, or never did.
pub(super) fn removed(api_version: &str, kind: &str) -> Option<&'static Removed> {
    let (group, version) = api_version.split_once('/')?;
    // A list of a kind goes with the kind.
    let kind = kind.strip_suffix("List").unwrap_or(kind);
    TABLE.iter().find(|removed| {
        removed.group == group
            && removed.version == version
            && (removed.kinds.is_empty() || removed.kinds.contains(&kind))
    })
}
