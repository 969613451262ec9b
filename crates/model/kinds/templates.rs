//! The rows of templates: of machines, of their bootstrap configs, and of what only a ClusterClass names.
//!
//! Machine templates are immutable by CAPI's contract
//! (<https://cluster-api.sigs.k8s.io/developer/providers/contracts/infra-machine#inframachinetemplate-support-cluster-topology>),
//! and a bootstrap template edited in place replaces no machine, so both get a new name instead. The rows are
//! for the examined providers of `clusterctl`'s list; a template of another kind is identified by the role in
//! which others name it (`capstan_plan::templates::treatment_in_role`).

use super::row::{ApplyStage, Groups, KindRole, KindRow, Loss, Treatment};

/// What all templates have in common.
const TEMPLATE: KindRow = KindRow {
    groups: Groups::Providers,
    kinds: &["*Template"],
    role: KindRole::Template,
    versions: &[],
    edit: None,
    stage: (ApplyStage::Templates, 1),
    loss: Loss::Template,
};

pub(super) const ROWS: &[KindRow] = &[
    // What templates themselves are made from.
    KindRow {
        kinds: &["K8sInstallerConfigTemplate", "Metal3DataTemplate"],
        role: KindRole::DataTemplate,
        edit: Some(Treatment::Rotate),
        stage: (ApplyStage::Templates, 0),
        ..TEMPLATE
    },
    // Machines are made from them.
    KindRow {
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
    KindRow {
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
    KindRow {
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
    // They are read again each time and replace no machine.
    KindRow {
        kinds: &[
            "HetznerBareMetalRemediationTemplate",
            "HCloudRemediationTemplate",
            "Metal3RemediationTemplate",
        ],
        edit: Some(Treatment::MutableSilent),
        ..TEMPLATE
    },
    // Of an operator beside Cluster API, which MachineHealthChecks may name: nothing is known of who else does.
    KindRow {
        groups: Groups::Are(&["self-node-remediation.medik8s.io"]),
        kinds: &["SelfNodeRemediationTemplate"],
        edit: Some(Treatment::MutableSilent),
        stage: (ApplyStage::AddOns, 0),
        loss: Loss::Unknown,
        ..TEMPLATE
    },
    // Of a provider that nobody looked up.
    TEMPLATE,
];
