//! Which releases of providers no longer serve an API version.

use super::convert::version;
use crate::schema::TypeFields;
use capstan_model::object::{api_group, api_version as joined};

/// From which release of its provider on an API version is no longer served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServedUntil {
    /// The provider, as the value of its label says: `infrastructure-aws`.
    pub provider: &'static str,
    /// The first release without the version.
    pub release: &'static str,
    /// Year and month for which that release is planned; `None` where it is out.
    pub planned: Option<(i16, i8)>,
}

/// Cluster API's own v1beta1, of its core and of its kubeadm providers
/// (<https://cluster-api.sigs.k8s.io/reference/versions>).
const CLUSTER_API: ServedUntil =
    ServedUntil { provider: "cluster-api", release: "v1.16.0", planned: Some((2027, 4)) };

/// Kinds by API group and the beginning of their names, the version, its provider, and the first release without it.
const ENDED: &[(&str, &str, &str, &str, &str)] = &[
    ("infrastructure.cluster.x-k8s.io", "OpenStack", "v1alpha6", "infrastructure-openstack", "v0.11.0"),
    ("infrastructure.cluster.x-k8s.io", "OpenStack", "v1alpha7", "infrastructure-openstack", "v0.12.0"),
    ("controlplane.cluster.x-k8s.io", "RKE2", "v1alpha1", "control-plane-rke2", "v0.22.0"),
    ("bootstrap.cluster.x-k8s.io", "RKE2", "v1alpha1", "bootstrap-rke2", "v0.22.0"),
    ("infrastructure.cluster.x-k8s.io", "AWS", "v1beta1", "infrastructure-aws", "v2.4.0"),
    ("controlplane.cluster.x-k8s.io", "AWS", "v1beta1", "infrastructure-aws", "v2.4.0"),
    ("bootstrap.cluster.x-k8s.io", "EKSConfig", "v1beta1", "infrastructure-aws", "v2.4.0"),
    ("controlplane.cluster.x-k8s.io", "Kamaji", "v1alpha1", "control-plane-kamaji", "v0.20.0"),
];

/// From which release on an API version (`group/version`) of a kind is no longer served; `None` where no end is known.
pub fn served_until(kind: &str, api_version: &str) -> Option<ServedUntil> {
    let (group, own) = (api_group(api_version), version(api_version));
    if own == "v1beta1" && TypeFields::of(kind, &joined(group, "v1beta2")).is_some() {
        return Some(CLUSTER_API);
    }
    let is_it = |row: &&(&str, &str, &str, _, _)| row.0 == group && kind.starts_with(row.1) && row.2 == own;
    let (.., provider, release) = ENDED.iter().find(is_it)?;
    Some(ServedUntil { provider, release, planned: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_api_version_ends_with_a_release_of_its_provider() {
        let until = |kind: &str, api_version: &str| {
            served_until(kind, api_version).map(|until| (until.provider, until.release, until.planned))
        };
        let openstack = "infrastructure-openstack";
        let coming = Some(("cluster-api", "v1.16.0", Some((2027, 4))));
        for (kind, api_version, expected) in [
            ("Cluster", "cluster.x-k8s.io/v1beta1", coming),
            ("KubeadmControlPlane", "controlplane.cluster.x-k8s.io/v1beta1", coming),
            ("Cluster", "cluster.x-k8s.io/v1beta2", None),
            (
                "OpenStackCluster",
                "infrastructure.cluster.x-k8s.io/v1alpha7",
                Some((openstack, "v0.12.0", None)),
            ),
            ("OpenStackCluster", "infrastructure.cluster.x-k8s.io/v1beta1", None),
            ("OpenStackServer", "infrastructure.cluster.x-k8s.io/v1alpha1", None),
            (
                "RKE2ControlPlane",
                "controlplane.cluster.x-k8s.io/v1alpha1",
                Some(("control-plane-rke2", "v0.22.0", None)),
            ),
        ] {
            assert_eq!(until(kind, api_version), expected, "{kind} {api_version}");
        }
    }
}
