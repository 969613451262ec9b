//! The template table (U12): what an edit of an object of a known kind does.
//!
//! Machine templates are immutable by CAPI's contract
//! (<https://cluster-api.sigs.k8s.io/developer/providers/contracts/infra-machine#inframachinetemplate-support-cluster-topology>),
//! and a bootstrap template edited in place replaces no machine, so both get a new name instead. A kind
//! that is not here is told by the role in which others name it ([`super::role`]), so that the table need
//! not know every provider: it holds those of `clusterctl`'s list that were looked up.

/// What an edit of an object of some kind does to machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Treatment {
    /// A change needs a new object with a new name.
    Rotate,
    /// May be edited in place; machines roll.
    MutableAndRolls,
    /// May be edited in place; nothing rolls.
    MutableSilent,
    /// Named by a ClusterClass only: rotated together with the class, never alone.
    Never,
}

/// Machine templates and bootstrap config templates: rotated.
const ROTATE: &[&str] = &[
    "AWSMachineTemplate",
    "AzureMachineTemplate",
    "ByoMachineTemplate",
    "CK8sConfigTemplate",
    "CloudStackMachineTemplate",
    "CloudscaleMachineTemplate",
    "CoxMachineTemplate",
    "DOMachineTemplate",
    "DevMachineTemplate",
    "DockerMachineTemplate",
    "EKSConfigTemplate",
    "ElfMachineTemplate",
    "GCPMachineTemplate",
    "HCloudMachineTemplate",
    "HarvesterMachineTemplate",
    "HetznerBareMetalMachineTemplate",
    "IBMPowerVSMachineTemplate",
    "IBMVPCMachineTemplate",
    "IonosCloudMachineTemplate",
    "K3sConfigTemplate",
    "K0sWorkerConfigTemplate",
    "K8sInstallerConfigTemplate",
    "KKMachineTemplate",
    "KairosConfigTemplate",
    "KThreesConfigTemplate",
    "KubeadmConfigTemplate",
    "KubemarkMachineTemplate",
    "KubevirtMachineTemplate",
    "LXCMachineTemplate",
    "LinodeMachineTemplate",
    "MaasMachineTemplate",
    "Metal3DataTemplate",
    "Metal3MachineTemplate",
    "MetalMachineTemplate",
    "MetalStackMachineTemplate",
    "MicrovmMachineTemplate",
    "MicroK8sConfigTemplate",
    "NodeadmConfigTemplate",
    "NutanixMachineTemplate",
    "OCIMachineTemplate",
    "ONEMachineTemplate",
    "OpenStackMachineTemplate",
    "OscMachineTemplate",
    "OxideMachineTemplate",
    "PacketMachineTemplate",
    "ProxmoxMachineTemplate",
    "RKE2ConfigTemplate",
    "RemoteMachineTemplate",
    "ScalewayMachineTemplate",
    "TalosConfigTemplate",
    "TinkerbellMachineTemplate",
    "VCDMachineTemplate",
    "VSphereMachineTemplate",
    "VirtinkMachineTemplate",
    "VultrMachineTemplate",
];

/// Parts of a ClusterClass that no machine names directly.
const CLASS_ONLY: &[&str] = &[
    "AWSClusterTemplate",
    "AWSManagedClusterTemplate",
    "AWSManagedControlPlaneTemplate",
    "AWSManagedMachinePoolTemplate",
    "AWSMachinePoolTemplate",
    "AzureClusterTemplate",
    "AzureManagedClusterTemplate",
    "AzureManagedControlPlaneTemplate",
    "AzureManagedMachinePoolTemplate",
    "CK8sControlPlaneTemplate",
    "CloudStackClusterTemplate",
    "DOClusterTemplate",
    "DevClusterTemplate",
    "DevMachinePoolTemplate",
    "DockerClusterTemplate",
    "DockerMachinePoolTemplate",
    "GCPClusterTemplate",
    "GCPManagedClusterTemplate",
    "GCPManagedControlPlaneTemplate",
    "GCPManagedMachinePoolTemplate",
    "HetznerClusterTemplate",
    "IBMVPCClusterTemplate",
    "IBMPowerVSClusterTemplate",
    "K0sControlPlaneTemplate",
    "K0smotronControlPlaneTemplate",
    "KamajiControlPlaneTemplate",
    "KThreesControlPlaneTemplate",
    "KubeadmControlPlaneTemplate",
    "KubevirtClusterTemplate",
    "LXCClusterTemplate",
    "LinodeClusterTemplate",
    "Metal3ClusterTemplate",
    "NutanixClusterTemplate",
    "OCIClusterTemplate",
    "OCIManagedClusterTemplate",
    "OCIManagedControlPlaneTemplate",
    "OpenStackClusterTemplate",
    "ProxmoxClusterTemplate",
    "RKE2ControlPlaneTemplate",
    "RosaControlPlaneTemplate",
    "TinkerbellClusterTemplate",
    "VCDClusterTemplate",
    "VSphereClusterTemplate",
];

/// Infrastructure of a MachinePool: edited in place, instances roll.
const POOLS: &[&str] = &[
    "AWSMachinePool",
    "AzureMachinePool",
    "DevMachinePool",
    "DockerMachinePool",
    "GCPMachinePool",
    "LinodeMachinePool",
    "OCIMachinePool",
    "ScalewayMachinePool",
];

/// Templates that are read anew each time and replace no machine.
const SILENT: &[&str] = &[
    "HetznerBareMetalRemediationTemplate",
    "HCloudRemediationTemplate",
    "Metal3RemediationTemplate",
    "SelfNodeRemediationTemplate",
];

/// The treatment of a kind; `None` for a kind that the table does not list (one that ends in `Template`, and
/// whose owners and shape do not tell either, is the finding `unknown-template`).
pub fn treatment(kind: &str) -> Option<Treatment> {
    let listed = |table: &[&str]| table.contains(&kind);
    if listed(ROTATE) {
        Some(Treatment::Rotate)
    } else if listed(CLASS_ONLY) {
        Some(Treatment::Never)
    } else if listed(POOLS) {
        Some(Treatment::MutableAndRolls)
    } else if listed(SILENT) {
        Some(Treatment::MutableSilent)
    } else {
        None
    }
}

/// Whether the kind is an infrastructure template or machine pool, where images live (U9).
pub fn bears_images(group: &str, kind: &str) -> bool {
    group == "infrastructure.cluster.x-k8s.io"
        && (kind.ends_with("MachineTemplate") || kind.ends_with("MachinePool") || kind.ends_with("Machine"))
}
