//! The rows. A new kind is a new row or a name in one; the first row that fits a kind counts, so special
//! kinds stand before the patterns that would take them too.
//!
//! Sources: Cluster API's contracts
//! (<https://cluster-api.sigs.k8s.io/developer/providers/contracts/overview>; of versions
//! <https://cluster-api.sigs.k8s.io/developer/providers/contracts/control-plane#controlplane-version-management>)
//! and, for what differs from them, the API types of the providers that are named.

use super::row::{ApplyStage, Groups, KindRole, KindRow, Loss, Machines, Treatment, Workers};
use super::templates;

const CORE: Groups = Groups::Are(&["cluster.x-k8s.io"]);
/// MachinePools had a group of their own in v1alpha3.
const POOLS: Groups = Groups::Are(&["cluster.x-k8s.io", "exp.cluster.x-k8s.io"]);
const INFRASTRUCTURE: Groups = Groups::Are(&["infrastructure.cluster.x-k8s.io"]);
const KUBERNETES: Groups = Groups::Are(&[""]);

/// The tables of rows, in the order in which they are asked.
pub(super) const TABLES: &[&[KindRow]] =
    &[CLUSTER_API, CONTROL_PLANES, templates::ROWS, PROVIDERS, OPERATOR, OTHERS];

/// Cluster API's own kinds.
const CLUSTER_API: &[KindRow] = &[
    KindRow {
        groups: CORE,
        kinds: &["Cluster"],
        role: KindRole::Cluster,
        versions: &[&["spec", "topology", "version"]],
        edit: None,
        stage: (ApplyStage::ControlPlane, 0),
        loss: Loss::Cluster,
    },
    KindRow {
        groups: CORE,
        kinds: &["ClusterClass"],
        role: KindRole::Class,
        versions: &[],
        edit: None,
        stage: (ApplyStage::Templates, 3),
        loss: Loss::Class,
    },
    KindRow {
        groups: CORE,
        kinds: &["MachineDeployment"],
        role: KindRole::Workers(Workers::Deployment),
        ..WORKERS
    },
    KindRow { groups: CORE, kinds: &["MachineSet"], role: KindRole::Workers(Workers::Set), ..WORKERS },
    KindRow { groups: POOLS, kinds: &["MachinePool"], role: KindRole::Workers(Workers::Pool), ..WORKERS },
    KindRow {
        groups: CORE,
        kinds: &["Machine"],
        role: KindRole::Machine,
        versions: &[&["spec", "version"]],
        ..WORKERS
    },
    KindRow {
        groups: CORE,
        kinds: &["MachineHealthCheck"],
        role: KindRole::HealthCheck,
        versions: &[],
        edit: None,
        stage: (ApplyStage::AddOns, 0),
        loss: Loss::Nothing,
    },
    KindRow {
        groups: Groups::Are(&["addons.cluster.x-k8s.io"]),
        kinds: &["ClusterResourceSet"],
        role: KindRole::ResourceSet,
        versions: &[],
        edit: None,
        stage: (ApplyStage::AddOns, 0),
        loss: Loss::Nothing,
    },
];

/// What all workers have in common.
const WORKERS: KindRow = KindRow {
    groups: CORE,
    kinds: &[],
    role: KindRole::Machine,
    versions: &[&["spec", "template", "spec", "version"]],
    edit: None,
    stage: (ApplyStage::Workers, 2),
    loss: Loss::Unknown,
};

/// Control planes, by whatever group: some stand among the infrastructure.
const CONTROL_PLANES: &[KindRow] = &[
    // GKE: `controlPlaneVersion` until v1.7 of the provider, then `version`; both are served.
    KindRow {
        kinds: &["GCPManagedControlPlane"],
        versions: &[&["spec", "version"], &["spec", "controlPlaneVersion"]],
        ..MANAGED
    },
    // One object is both infrastructure and control plane.
    KindRow {
        groups: INFRASTRUCTURE,
        kinds: &["VCluster"],
        versions: &[&["spec", "kubernetesVersion"]],
        ..MANAGED
    },
    // The version of OpenShift, by which the provider upgrades.
    KindRow {
        kinds: &["OpenshiftAssistedControlPlane"],
        role: KindRole::ControlPlane(Machines::Own),
        versions: &[&["spec", "distributionVersion"], &["spec", "version"]],
        ..MANAGED
    },
    // AKS, OKE and Kapsule among the kinds of the infrastructure group.
    KindRow {
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
        ..MANAGED
    },
    // By contract: KubeadmControlPlane, RKE2ControlPlane, K0sControlPlane, KThreesControlPlane,
    // TalosControlPlane, MicroK8sControlPlane, CK8sControlPlane and the next one.
    KindRow { kinds: &["*ControlPlane"], role: KindRole::ControlPlane(Machines::Own), ..MANAGED },
];

/// What control planes have in common that a provider runs.
const MANAGED: KindRow = KindRow {
    groups: Groups::Providers,
    kinds: &[],
    role: KindRole::ControlPlane(Machines::Provider),
    versions: &[&["spec", "version"]],
    edit: None,
    stage: (ApplyStage::ControlPlane, 1),
    loss: Loss::Cluster,
};

/// What else providers have.
const PROVIDERS: &[KindRow] = &[
    // Their node groups are upgraded by this field, not by the MachinePool's.
    KindRow {
        kinds: &["AROMachinePool", "OCIManagedMachinePool", "ROSAMachinePool", "RosaMachinePool"],
        role: KindRole::Pool(Machines::Provider),
        versions: &[&["spec", "version"]],
        ..POOL
    },
    KindRow { kinds: &["*ManagedMachinePool"], role: KindRole::Pool(Machines::Provider), ..POOL },
    // Edited in place, instances roll.
    KindRow {
        kinds: &[
            "AWSMachinePool",
            "AzureMachinePool",
            "DevMachinePool",
            "DockerMachinePool",
            "GCPMachinePool",
            "LinodeMachinePool",
            "OCIMachinePool",
            "ScalewayMachinePool",
        ],
        edit: Some(Treatment::MutableAndRolls),
        ..POOL
    },
    POOL,
    KindRow { kinds: &["*Machine"], role: KindRole::MachineInfrastructure, ..POOL },
    // Of kinds without a namespace the only ones that belong to a folder, as AWSClusterStaticIdentity does.
    KindRow {
        kinds: &["*Identity"],
        role: KindRole::Identity,
        stage: (ApplyStage::Credentials, 2),
        ..INFRASTRUCTURE_PART
    },
    KindRow {
        kinds: &["*Cluster"],
        role: KindRole::InfrastructureCluster,
        loss: Loss::ClusterIfNamed,
        ..INFRASTRUCTURE_PART
    },
    INFRASTRUCTURE_PART,
    // A pool's is rotated like a template; a Machine's goes with it.
    KindRow {
        groups: Groups::Are(&["bootstrap.cluster.x-k8s.io"]),
        kinds: &["*Config", "*"],
        role: KindRole::BootstrapConfig,
        versions: &[],
        edit: None,
        stage: (ApplyStage::Templates, 1),
        loss: Loss::Template,
    },
    // Parts of control planes: NestedEtcd.
    KindRow {
        groups: Groups::Are(&["controlplane.cluster.x-k8s.io"]),
        kinds: &["*"],
        role: KindRole::Part,
        versions: &[],
        edit: None,
        stage: (ApplyStage::ControlPlane, 1),
        loss: Loss::Cluster,
    },
];

/// The infrastructure of a MachinePool.
const POOL: KindRow = KindRow {
    groups: INFRASTRUCTURE,
    kinds: &["*MachinePool"],
    role: KindRole::Pool(Machines::Own),
    versions: &[],
    edit: None,
    stage: (ApplyStage::Workers, 1),
    loss: Loss::Unknown,
};

const INFRASTRUCTURE_PART: KindRow = KindRow {
    groups: INFRASTRUCTURE,
    kinds: &["*"],
    role: KindRole::Part,
    versions: &[],
    edit: None,
    stage: (ApplyStage::Templates, 2),
    loss: Loss::Unknown,
};

/// The kinds of the Cluster API operator, which installs a management cluster's providers
/// (<https://cluster-api-operator.sigs.k8s.io/02_concepts/02_glossary>). Their `spec.version` is not a
/// version of Kubernetes ([`super::component_version`]).
const OPERATOR: &[KindRow] = &[KindRow {
    groups: Groups::Are(&[super::OPERATOR_GROUP]),
    kinds: &[
        "AddonProvider",
        "BootstrapProvider",
        "ControlPlaneProvider",
        "CoreProvider",
        "InfrastructureProvider",
        "IPAMProvider",
        "RuntimeExtensionProvider",
    ],
    role: KindRole::Provider,
    versions: &[],
    edit: None,
    stage: (ApplyStage::AddOns, 0),
    loss: Loss::Unknown,
}];

/// What clusters need besides, of Kubernetes and of those who make Secrets.
const OTHERS: &[KindRow] = &[
    KindRow {
        kinds: &["Namespace"],
        role: KindRole::Namespace,
        stage: (ApplyStage::Namespaces, 0),
        ..CREDENTIAL
    },
    KindRow { kinds: &["ConfigMap"], role: KindRole::ConfigMap, loss: Loss::WhileNamed, ..CREDENTIAL },
    KindRow { kinds: &["Secret"], role: KindRole::Secret, ..CREDENTIAL },
    KindRow { kinds: &["ServiceAccount"], role: KindRole::ServiceAccount, ..CREDENTIAL },
    KindRow {
        groups: Groups::Are(&["rbac.authorization.k8s.io"]),
        kinds: &["*"],
        role: KindRole::Part,
        stage: (ApplyStage::Credentials, 1),
        ..CREDENTIAL
    },
    KindRow {
        groups: Groups::All,
        kinds: &["ClusterSecretStore", "ExternalSecret", "SealedSecret", "SecretStore"],
        role: KindRole::Part,
        stage: (ApplyStage::Credentials, 1),
        ..CREDENTIAL
    },
    KindRow {
        groups: Groups::Are(&["capstan.dev"]),
        kinds: &["VaultSecret"],
        stage: (ApplyStage::Credentials, 1),
        ..CREDENTIAL
    },
    // What a cloud must have before a cluster: <https://k-orc.cloud>.
    KindRow {
        groups: Groups::Are(&[super::ORC_GROUP]),
        kinds: &["*"],
        role: KindRole::Part,
        stage: (ApplyStage::Credentials, 3),
        ..CREDENTIAL
    },
];

const CREDENTIAL: KindRow = KindRow {
    groups: KUBERNETES,
    kinds: &[],
    role: KindRole::Secret,
    versions: &[],
    edit: None,
    stage: (ApplyStage::Credentials, 0),
    loss: Loss::Unknown,
};
