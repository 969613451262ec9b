//! Every kind of control plane and of machines that is known, with what the table says of it.

use super::*;

/// Group (before `cluster.x-k8s.io`), kind, what it is, where its version stands.
const KNOWN: &[(&str, &str, &str, &str)] = &[
    ("", "Cluster", "cluster", "/spec/topology/version"),
    ("controlplane.", "KubeadmControlPlane", "own", "/spec/version"),
    ("controlplane.", "RKE2ControlPlane", "own", "/spec/version"),
    ("controlplane.", "K0sControlPlane", "own", "/spec/version"),
    ("controlplane.", "KThreesControlPlane", "own", "/spec/version"),
    ("controlplane.", "K3sControlPlane", "own", "/spec/version"),
    ("controlplane.", "TalosControlPlane", "own", "/spec/version"),
    ("controlplane.", "MicroK8sControlPlane", "own", "/spec/version"),
    ("controlplane.", "CK8sControlPlane", "own", "/spec/version"),
    ("controlplane.", "OpenshiftAssistedControlPlane", "own", "/spec/distributionVersion /spec/version"),
    ("controlplane.", "NestedControlPlane", "provider", "/spec/version"),
    ("controlplane.", "AWSManagedControlPlane", "provider", "/spec/version"),
    ("controlplane.", "ROSAControlPlane", "provider", "/spec/version"),
    ("controlplane.", "RosaControlPlane", "provider", "/spec/version"),
    ("controlplane.", "AROControlPlane", "provider", "/spec/version"),
    ("controlplane.", "KamajiControlPlane", "provider", "/spec/version"),
    ("controlplane.", "K0smotronControlPlane", "provider", "/spec/version"),
    ("controlplane.", "HostedControlPlane", "provider", "/spec/version"),
    ("controlplane.", "GardenerShootControlPlane", "provider", "/spec/version"),
    ("hosted.", "HostedControlPlane", "provider", "/spec/version"),
    ("infrastructure.", "AzureManagedControlPlane", "provider", "/spec/version"),
    ("infrastructure.", "AzureASOManagedControlPlane", "provider", "/spec/version"),
    ("infrastructure.", "GCPManagedControlPlane", "provider", "/spec/version /spec/controlPlaneVersion"),
    ("infrastructure.", "OCIManagedControlPlane", "provider", "/spec/version"),
    ("infrastructure.", "ScalewayManagedControlPlane", "provider", "/spec/version"),
    ("infrastructure.", "IBMManagedControlPlane", "provider", "/spec/version"),
    ("infrastructure.", "VCluster", "provider", "/spec/kubernetesVersion"),
    ("", "MachineDeployment", "workers", "/spec/template/spec/version"),
    ("", "MachineSet", "workers", "/spec/template/spec/version"),
    ("", "MachinePool", "workers", "/spec/template/spec/version"),
    ("exp.", "MachinePool", "workers", "/spec/template/spec/version"),
    ("", "Machine", "machine", "/spec/version"),
    ("infrastructure.", "OCIManagedMachinePool", "pool", "/spec/version"),
    ("infrastructure.", "ROSAMachinePool", "pool", "/spec/version"),
    ("infrastructure.", "AROMachinePool", "pool", "/spec/version"),
];

/// What looks like one and is none.
const NONE: &[(&str, &str)] = &[
    ("controlplane.cluster.x-k8s.io", "KubeadmControlPlaneTemplate"),
    ("controlplane.cluster.x-k8s.io", "NestedEtcd"),
    ("infrastructure.cluster.x-k8s.io", "AzureManagedControlPlaneTemplate"),
    ("infrastructure.cluster.x-k8s.io", "AWSManagedMachinePool"),
    ("infrastructure.cluster.x-k8s.io", "Cluster"),
    ("maistra.io", "ServiceMeshControlPlane"),
    ("notcluster.x-k8s.io", "KubeadmControlPlane"),
    ("postgresql.example.org", "Cluster"),
    ("", "ConfigMap"),
];

#[test]
fn every_known_kind_says_its_version_where_the_table_says() {
    for (group, kind, role, versions) in KNOWN {
        let group = format!("{group}cluster.x-k8s.io");
        let is = match super::role(&group, kind) {
            Some(KindRole::Cluster) => "cluster",
            Some(KindRole::ControlPlane(Machines::Own)) => "own",
            Some(KindRole::ControlPlane(Machines::Provider)) => "provider",
            Some(KindRole::Workers) => "workers",
            Some(KindRole::Machine) => "machine",
            Some(KindRole::Pool) => "pool",
            None => "nothing",
        };
        let fields: Vec<String> = version_fields(&group, kind).map(|(_, keys)| pointer(keys)).collect();
        assert_eq!((is, fields.join(" ").as_str()), (*role, *versions), "{group} {kind}");
        let of_control_plane = matches!(is, "cluster" | "own" | "provider");
        assert!(
            version_fields(&group, kind)
                .all(|(role, _)| (role == VersionRole::ControlPlane) == of_control_plane),
            "{group} {kind}"
        );
    }
}

#[test]
fn what_only_looks_like_a_control_plane_has_no_version() {
    for (group, kind) in NONE {
        assert_eq!(role(group, kind), None, "{group} {kind}");
        assert_eq!(version_fields(group, kind).count(), 0, "{group} {kind}");
    }
}

#[test]
fn a_fragment_may_be_any_kind_that_it_does_not_rule_out() {
    let fields = |group: Option<&str>, kind: Option<&str>| -> Vec<String> {
        version_fields_of_fragment(group, kind).map(|(_, keys)| pointer(keys)).collect()
    };
    assert_eq!(fields(None, Some("GCPManagedControlPlane")), ["/spec/version", "/spec/controlPlaneVersion"]);
    assert_eq!(fields(None, Some("MachinePool")), ["/spec/template/spec/version"]);
    assert_eq!(fields(Some("maistra.io"), Some("ServiceMeshControlPlane")), Vec::<String>::new());
    let any = fields(None, None);
    for pointer in ["/spec/version", "/spec/topology/version", "/spec/template/spec/version"] {
        assert!(any.iter().any(|other| other == pointer), "{pointer}");
    }
}
