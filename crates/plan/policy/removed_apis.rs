//! Which API versions Kubernetes stopped serving, and when.
//!
//! From <https://kubernetes.io/docs/reference/using-api/deprecation-guide/>; configuration files of the
//! control plane (audit policy, scheduler, kubeadm) from their own reference pages. From 1.33 on
//! `APILifecycleRemoved` of k8s.io/api v0.36.3 says it. What goes without a successor that is known by now is absent.

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
    // Groups come back with other kinds in the same version, so each row from here on names its kinds.
    gone(33, "authentication.k8s.io", "v1beta1", &["SelfSubjectReview"], "authentication.k8s.io/v1"),
    gone(34, "admissionregistration.k8s.io", "v1beta1", VALIDATING, "admissionregistration.k8s.io/v1"),
    gone(35, "storage.k8s.io", "v1alpha1", &["VolumeAttributesClass"], "storage.k8s.io/v1"),
    gone(
        36,
        "apiserver.config.k8s.io",
        "v1alpha1",
        &["WebhookAdmissionConfiguration"],
        "apiserver.config.k8s.io/v1",
    ),
    gone(37, "certificates.k8s.io", "v1alpha1", &["ClusterTrustBundle"], "certificates.k8s.io/v1beta1"),
    gone(37, "kubeadm.k8s.io", "v1beta3", KUBEADM, "kubeadm.k8s.io/v1beta4"),
    gone(37, "networking.k8s.io", "v1beta1", &["IPAddress", "ServiceCIDR"], "networking.k8s.io/v1"),
    gone(37, "storage.k8s.io", "v1beta1", &["VolumeAttributesClass"], "storage.k8s.io/v1"),
    gone(38, "admissionregistration.k8s.io", "v1alpha1", MUTATING, "admissionregistration.k8s.io/v1"),
    gone(38, "coordination.k8s.io", "v1alpha2", &["LeaseCandidate"], "coordination.k8s.io/v1beta1"),
    gone(38, "resource.k8s.io", "v1beta1", DEVICES, "resource.k8s.io/v1"),
    gone(39, "resource.k8s.io", "v1alpha3", &["DeviceTaintRule"], "resource.k8s.io/v1beta2"),
    gone(39, "resource.k8s.io", "v1beta2", DEVICES, "resource.k8s.io/v1"),
    gone(40, "admissionregistration.k8s.io", "v1beta1", MUTATING, "admissionregistration.k8s.io/v1"),
];

const VALIDATING: &[&str] = &["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"];
const MUTATING: &[&str] = &["MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"];
const DEVICES: &[&str] = &["DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"];
const KUBEADM: &[&str] = &["ClusterConfiguration", "InitConfiguration", "JoinConfiguration"];

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

#[cfg(test)]
mod tests {
    use super::*;

    /// Each row from 1.33 on, and older ones of the same group and version.
    #[test]
    fn an_api_version_goes_kind_by_kind() {
        for (api_version, kinds, since) in [
            ("authentication.k8s.io/v1beta1", "TokenReview", Some(22)),
            ("authentication.k8s.io/v1beta1", "SelfSubjectReview", Some(33)),
            ("admissionregistration.k8s.io/v1beta1", "ValidatingWebhookConfiguration", Some(22)),
            (
                "admissionregistration.k8s.io/v1beta1",
                "ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingAdmissionPolicyList",
                Some(34),
            ),
            ("storage.k8s.io/v1alpha1", "VolumeAttributesClass", Some(35)),
            ("apiserver.config.k8s.io/v1alpha1", "WebhookAdmissionConfiguration", Some(36)),
            ("certificates.k8s.io/v1alpha1", "ClusterTrustBundle", Some(37)),
            ("certificates.k8s.io/v1beta1", "CertificateSigningRequest", Some(22)),
            ("certificates.k8s.io/v1beta1", "ClusterTrustBundle", None),
            ("kubeadm.k8s.io/v1beta3", "ClusterConfiguration InitConfiguration JoinConfiguration", Some(37)),
            ("kubeadm.k8s.io/v1beta4", "ClusterConfiguration InitConfiguration JoinConfiguration", None),
            ("networking.k8s.io/v1beta1", "Ingress IngressClass", Some(22)),
            ("networking.k8s.io/v1beta1", "IPAddress ServiceCIDR ServiceCIDRList", Some(37)),
            ("storage.k8s.io/v1beta1", "StorageClass", Some(22)),
            ("storage.k8s.io/v1beta1", "CSIStorageCapacity", Some(27)),
            ("storage.k8s.io/v1beta1", "VolumeAttributesClass", Some(37)),
            ("storage.k8s.io/v1", "VolumeAttributesClass", None),
            (
                "admissionregistration.k8s.io/v1alpha1",
                "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding",
                Some(38),
            ),
            ("coordination.k8s.io/v1alpha2", "LeaseCandidate", Some(38)),
            ("coordination.k8s.io/v1beta1", "Lease", Some(22)),
            ("coordination.k8s.io/v1beta1", "LeaseCandidate", None),
            (
                "resource.k8s.io/v1beta1",
                "DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice",
                Some(38),
            ),
            ("resource.k8s.io/v1alpha3", "DeviceTaintRule", Some(39)),
            (
                "resource.k8s.io/v1beta2",
                "DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice",
                Some(39),
            ),
            ("resource.k8s.io/v1beta2", "DeviceTaintRule", None),
            (
                "admissionregistration.k8s.io/v1beta1",
                "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding",
                Some(40),
            ),
        ] {
            for kind in kinds.split(' ') {
                let found = removed(api_version, kind).map(|removed| removed.since);
                assert_eq!(found, since, "{api_version} {kind}");
            }
        }
    }
}
