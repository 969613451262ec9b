//! The rows of templates: of machines, of their bootstrap configs, and of what only a ClusterClass names.
//!
//! Machine templates are immutable by CAPI's contract
//! (<https://cluster-api.sigs.k8s.io/developer/providers/contracts/infra-machine#inframachinetemplate-support-cluster-topology>),
//! and a bootstrap template edited in place replaces no machine, so both get a new name instead. The rows
//! hold the providers of `clusterctl`'s list that were looked up; a template of another kind is told by the
//! role in which others name it (`capstan_plan::templates::treatment_in_role`).

use super::row::{Groups, KindRole, Loss, Row, Stage, Treatment};

/// What all templates have in common.
const TEMPLATE: Row = Row {
    groups: Groups::Providers,
    kinds: &["*Template"],
    role: KindRole::Template,
    versions: &[],
    edit: None,
    stage: (Stage::Templates, 1),
    loss: Loss::Template,
};

pub(super) const ROWS: &[Row] = &[
    // What templates themselves are made from.
    Row {
        kinds: &["K8sInstallerConfigTemplate", "Metal3DataTemplate"],
        role: KindRole::DataTemplate,
        edit: Some(Treatment::Rotate),
        stage: (Stage::Templates, 0),
        ..TEMPLATE
    },
    // Machines are made from them.
    Row {
        kinds: &[
            "AWSMachineTemplate",
            "AzureMachineTemplate",
            "ByoMachineTemplate",
            "CloudStackMachineTemplate",
            "CloudscaleMachineTemplate",
            "CoxMachineTemplate",
            "DOMachineTemplate",
            "DevMachineTemplate",
            "DockerMachineTemplate",
            "ElfMachineTemplate",
            "GCPMachineTemplate",
            "HCloudMachineTemplate",
            "HarvesterMachineTemplate",
            "HetznerBareMetalMachineTemplate",
            "IBMPowerVSMachineTemplate",
            "IBMVPCMachineTemplate",
            "IonosCloudMachineTemplate",
            "KKMachineTemplate",
            "KubemarkMachineTemplate",
            "KubevirtMachineTemplate",
            "LXCMachineTemplate",
            "LinodeMachineTemplate",
            "MaasMachineTemplate",
            "Metal3MachineTemplate",
            "MetalMachineTemplate",
            "MetalStackMachineTemplate",
            "MicrovmMachineTemplate",
            "NutanixMachineTemplate",
            "OCIMachineTemplate",
            "ONEMachineTemplate",
            "OpenStackMachineTemplate",
            "OscMachineTemplate",
            "OxideMachineTemplate",
            "PacketMachineTemplate",
            "ProxmoxMachineTemplate",
            "RemoteMachineTemplate",
            "ScalewayMachineTemplate",
            "TinkerbellMachineTemplate",
            "VCDMachineTemplate",
            "VSphereMachineTemplate",
            "VirtinkMachineTemplate",
            "VultrMachineTemplate",
        ],
        edit: Some(Treatment::Rotate),
        ..TEMPLATE
    },
    // Machines are bootstrapped from them.
    Row {
        kinds: &[
            "CK8sConfigTemplate",
            "EKSConfigTemplate",
            "K3sConfigTemplate",
            "K0sWorkerConfigTemplate",
            "KairosConfigTemplate",
            "KThreesConfigTemplate",
            "KubeadmConfigTemplate",
            "MicroK8sConfigTemplate",
            "NodeadmConfigTemplate",
            "RKE2ConfigTemplate",
            "TalosConfigTemplate",
        ],
        edit: Some(Treatment::Rotate),
        ..TEMPLATE
    },
    // Parts of a ClusterClass that no machine names directly.
    Row {
        kinds: &[
            "AWSClusterTemplate",
            "AWSManagedClusterTemplate",
            "AWSManagedControlPlaneTemplate",
            "AWSManagedMachinePoolTemplate",
            "AWSMachinePoolTemplate",
            "AzureASOManagedClusterTemplate",
            "AzureASOManagedControlPlaneTemplate",
            "AzureASOManagedMachinePoolTemplate",
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
        ],
        edit: Some(Treatment::Never),
        ..TEMPLATE
    },
    // They are read anew each time and replace no machine.
    Row {
        kinds: &[
            "HetznerBareMetalRemediationTemplate",
            "HCloudRemediationTemplate",
            "Metal3RemediationTemplate",
        ],
        edit: Some(Treatment::MutableSilent),
        ..TEMPLATE
    },
    // Of an operator beside Cluster API, which MachineHealthChecks may name: nothing is known of who else does.
    Row {
        groups: Groups::Are(&["self-node-remediation.medik8s.io"]),
        kinds: &["SelfNodeRemediationTemplate"],
        edit: Some(Treatment::MutableSilent),
        stage: (Stage::AddOns, 0),
        loss: Loss::Unknown,
        ..TEMPLATE
    },
    // Of a provider that nobody looked up.
    TEMPLATE,
];
