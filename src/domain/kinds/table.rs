//! The rows. A new kind is a new row or a name in one; the first row that fits a kind counts, so special
//! kinds stand before the patterns that would take them too.
//!
//! Sources: Cluster API's contract for control planes (`spec.version`,
//! <https://cluster-api.sigs.k8s.io/developer/providers/contracts/control-plane#controlplane-version-management>)
//! and, for what differs from it, the API types of the providers that are named.

use super::{Groups, KindRole, Machines, Row};

const CORE: Groups = Groups::Are(&["cluster.x-k8s.io"]);
/// MachinePools stood in a group of their own in v1alpha3.
const POOLS: Groups = Groups::Are(&["cluster.x-k8s.io", "exp.cluster.x-k8s.io"]);
const INFRASTRUCTURE: Groups = Groups::Are(&["infrastructure.cluster.x-k8s.io"]);

pub(super) const ROWS: &[Row] = &[
    Row {
        groups: CORE,
        kinds: &["Cluster"],
        role: KindRole::Cluster,
        versions: &[&["spec", "topology", "version"]],
    },
    // Where the group is left out of a fragment, a control plane is meant before a machine is.
    // GKE: `controlPlaneVersion` until v1.7 of the provider, then `version`; both are served.
    Row {
        groups: Groups::Providers,
        kinds: &["GCPManagedControlPlane"],
        role: KindRole::ControlPlane(Machines::Provider),
        versions: &[&["spec", "version"], &["spec", "controlPlaneVersion"]],
    },
    // One object is both infrastructure and control plane.
    Row {
        groups: INFRASTRUCTURE,
        kinds: &["VCluster"],
        role: KindRole::ControlPlane(Machines::Provider),
        versions: &[&["spec", "kubernetesVersion"]],
    },
    // The version of OpenShift, by which the provider upgrades.
    Row {
        groups: Groups::Providers,
        kinds: &["OpenshiftAssistedControlPlane"],
        role: KindRole::ControlPlane(Machines::Own),
        versions: &[&["spec", "distributionVersion"], &["spec", "version"]],
    },
    // A provider runs them; AKS, OKE and Kapsule among the kinds of the infrastructure group.
    Row {
        groups: Groups::Providers,
        kinds: &[
            "AROControlPlane",
            "AWSManagedControlPlane",
            "AzureASOManagedControlPlane",
            "AzureManagedControlPlane",
            "GardenerShootControlPlane",
            "HostedControlPlane",
            "K0smotronControlPlane",
            "KamajiControlPlane",
            "NestedControlPlane",
            "OCIManagedControlPlane",
            "ROSAControlPlane",
            "RosaControlPlane",
            "ScalewayManagedControlPlane",
            "*ManagedControlPlane",
        ],
        role: KindRole::ControlPlane(Machines::Provider),
        versions: &[&["spec", "version"]],
    },
    // By contract: KubeadmControlPlane, RKE2ControlPlane, K0sControlPlane, KThreesControlPlane,
    // TalosControlPlane, MicroK8sControlPlane, CK8sControlPlane and the next one.
    Row {
        groups: Groups::Providers,
        kinds: &["*ControlPlane"],
        role: KindRole::ControlPlane(Machines::Own),
        versions: &[&["spec", "version"]],
    },
    Row {
        groups: CORE,
        kinds: &["MachineDeployment", "MachineSet"],
        role: KindRole::Workers,
        versions: &[&["spec", "template", "spec", "version"]],
    },
    Row {
        groups: POOLS,
        kinds: &["MachinePool"],
        role: KindRole::Workers,
        versions: &[&["spec", "template", "spec", "version"]],
    },
    Row { groups: CORE, kinds: &["Machine"], role: KindRole::Machine, versions: &[&["spec", "version"]] },
    // Their node groups are upgraded by this field, not by the MachinePool's.
    Row {
        groups: INFRASTRUCTURE,
        kinds: &["AROMachinePool", "OCIManagedMachinePool", "ROSAMachinePool", "RosaMachinePool"],
        role: KindRole::Pool,
        versions: &[&["spec", "version"]],
    },
];
