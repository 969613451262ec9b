//! The rows. A new kind is a new row or a name in one; the first row that fits a kind counts, so special
//! kinds stand before the patterns that would take them too.
//!
//! Sources: Cluster API's contracts
//! (<https://cluster-api.sigs.k8s.io/developer/providers/contracts/overview>; of versions
//! <https://cluster-api.sigs.k8s.io/developer/providers/contracts/control-plane#controlplane-version-management>)
//! and, for what differs from them, the API types of the providers that are named.

use super::row::{Groups, KindRole, Loss, Machines, Row, Stage, Treatment, Workers};
use super::templates;

const CORE: Groups = Groups::Are(&["cluster.x-k8s.io"]);
/// MachinePools stood in a group of their own in v1alpha3.
const POOLS: Groups = Groups::Are(&["cluster.x-k8s.io", "exp.cluster.x-k8s.io"]);
const INFRASTRUCTURE: Groups = Groups::Are(&["infrastructure.cluster.x-k8s.io"]);
const KUBERNETES: Groups = Groups::Are(&[""]);

/// The tables of rows, in the order in which they are asked.
pub(super) const TABLES: &[&[Row]] =
    &[CLUSTER_API, CONTROL_PLANES, templates::ROWS, PROVIDERS, OPERATOR, OTHERS];

/// Cluster API's own kinds.
const CLUSTER_API: &[Row] = &[
    Row {
        groups: CORE,
        kinds: &["Cluster"],
        role: KindRole::Cluster,
        versions: &[&["spec", "topology", "version"]],
        edit: None,
        stage: (Stage::ControlPlane, 0),
        loss: Loss::Cluster,
    },
    Row {
        groups: CORE,
        kinds: &["ClusterClass"],
        role: KindRole::Class,
        versions: &[],
        edit: None,
        stage: (Stage::Templates, 3),
        loss: Loss::Class,
    },
    Row {
        groups: CORE,
        kinds: &["MachineDeployment"],
        role: KindRole::Workers(Workers::Deployment),
        ..WORKERS
    },
    Row { groups: CORE, kinds: &["MachineSet"], role: KindRole::Workers(Workers::Set), ..WORKERS },
    Row { groups: POOLS, kinds: &["MachinePool"], role: KindRole::Workers(Workers::Pool), ..WORKERS },
    Row {
        groups: CORE,
        kinds: &["Machine"],
        role: KindRole::Machine,
        versions: &[&["spec", "version"]],
        ..WORKERS
    },
    Row {
        groups: CORE,
        kinds: &["MachineHealthCheck"],
        role: KindRole::HealthCheck,
        versions: &[],
        edit: None,
        stage: (Stage::AddOns, 0),
        loss: Loss::Nothing,
    },
    Row {
        groups: Groups::Are(&["addons.cluster.x-k8s.io"]),
        kinds: &["ClusterResourceSet"],
        role: KindRole::ResourceSet,
        versions: &[],
        edit: None,
        stage: (Stage::AddOns, 0),
        loss: Loss::Nothing,
    },
];

/// What all workers have in common.
const WORKERS: Row = Row {
    groups: CORE,
    kinds: &[],
    role: KindRole::Machine,
    versions: &[&["spec", "template", "spec", "version"]],
    edit: None,
    stage: (Stage::Workers, 2),
    loss: Loss::Unknown,
};

/// Control planes, by whatever group: some stand among the infrastructure.
const CONTROL_PLANES: &[Row] = &[
    // GKE: `controlPlaneVersion` until v1.7 of the provider, then `version`; both are served.
    Row {
        kinds: &["GCPManagedControlPlane"],
        versions: &[&["spec", "version"], &["spec", "controlPlaneVersion"]],
        ..MANAGED
    },
    // One object is both infrastructure and control plane.
    Row {
        groups: INFRASTRUCTURE,
        kinds: &["VCluster"],
        versions: &[&["spec", "kubernetesVersion"]],
        ..MANAGED
    },
    // The version of OpenShift, by which the provider upgrades.
    Row {
        kinds: &["OpenshiftAssistedControlPlane"],
        role: KindRole::ControlPlane(Machines::Own),
        versions: &[&["spec", "distributionVersion"], &["spec", "version"]],
        ..MANAGED
    },
    // AKS, OKE and Kapsule among the kinds of the infrastructure group.
    Row {
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
    Row { kinds: &["*ControlPlane"], role: KindRole::ControlPlane(Machines::Own), ..MANAGED },
];

/// What control planes have in common that a provider runs.
const MANAGED: Row = Row {
    groups: Groups::Providers,
    kinds: &[],
    role: KindRole::ControlPlane(Machines::Provider),
    versions: &[&["spec", "version"]],
    edit: None,
    stage: (Stage::ControlPlane, 1),
    loss: Loss::Cluster,
};

/// What else providers have.
const PROVIDERS: &[Row] = &[
    // Their node groups are upgraded by this field, not by the MachinePool's.
    Row {
        kinds: &["AROMachinePool", "OCIManagedMachinePool", "ROSAMachinePool", "RosaMachinePool"],
        role: KindRole::Pool(Machines::Provider),
        versions: &[&["spec", "version"]],
        ..POOL
    },
    Row { kinds: &["*ManagedMachinePool"], role: KindRole::Pool(Machines::Provider), ..POOL },
    // Edited in place, instances roll.
    Row {
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
    Row { kinds: &["*Machine"], role: KindRole::MachineInfrastructure, ..POOL },
    // Of kinds without a namespace the only ones that belong to a folder, as AWSClusterStaticIdentity does.
    Row {
        kinds: &["*Identity"],
        role: KindRole::Identity,
        stage: (Stage::Credentials, 2),
        ..INFRASTRUCTURE_PART
    },
    Row {
        kinds: &["*Cluster"],
        role: KindRole::InfrastructureCluster,
        loss: Loss::ClusterIfNamed,
        ..INFRASTRUCTURE_PART
    },
    INFRASTRUCTURE_PART,
    // A pool's is rotated like a template; a Machine's goes with it.
    Row {
        groups: Groups::Are(&["bootstrap.cluster.x-k8s.io"]),
        kinds: &["*Config", "*"],
        role: KindRole::BootstrapConfig,
        versions: &[],
        edit: None,
        stage: (Stage::Templates, 1),
        loss: Loss::Template,
    },
    // Parts of control planes: NestedEtcd.
    Row {
        groups: Groups::Are(&["controlplane.cluster.x-k8s.io"]),
        kinds: &["*"],
        role: KindRole::Part,
        versions: &[],
        edit: None,
        stage: (Stage::ControlPlane, 1),
        loss: Loss::Cluster,
    },
];

/// The infrastructure of a MachinePool.
const POOL: Row = Row {
    groups: INFRASTRUCTURE,
    kinds: &["*MachinePool"],
    role: KindRole::Pool(Machines::Own),
    versions: &[],
    edit: None,
    stage: (Stage::Workers, 1),
    loss: Loss::Unknown,
};

const INFRASTRUCTURE_PART: Row = Row {
    groups: INFRASTRUCTURE,
    kinds: &["*"],
    role: KindRole::Part,
    versions: &[],
    edit: None,
    stage: (Stage::Templates, 2),
    loss: Loss::Unknown,
};

/// The kinds of the Cluster API operator, by which a management cluster gets its providers
/// (<https://cluster-api-operator.sigs.k8s.io/02_concepts/02_glossary>). What they say in `spec.version` is no version
/// of Kubernetes ([`super::component_version`]).
const OPERATOR: &[Row] = &[Row {
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
    stage: (Stage::AddOns, 0),
    loss: Loss::Unknown,
}];

/// What clusters need besides, of Kubernetes and of those who make Secrets.
const OTHERS: &[Row] = &[
    Row { kinds: &["Namespace"], role: KindRole::Namespace, stage: (Stage::Namespaces, 0), ..CREDENTIAL },
    Row { kinds: &["ConfigMap"], role: KindRole::ConfigMap, loss: Loss::WhileNamed, ..CREDENTIAL },
    Row { kinds: &["Secret"], role: KindRole::Secret, ..CREDENTIAL },
    Row { kinds: &["ServiceAccount"], role: KindRole::ServiceAccount, ..CREDENTIAL },
    Row {
        groups: Groups::Are(&["rbac.authorization.k8s.io"]),
        kinds: &["*"],
        role: KindRole::Part,
        stage: (Stage::Credentials, 1),
        ..CREDENTIAL
    },
    Row {
        groups: Groups::All,
        kinds: &["ClusterSecretStore", "ExternalSecret", "SealedSecret", "SecretStore"],
        role: KindRole::Part,
        stage: (Stage::Credentials, 1),
        ..CREDENTIAL
    },
    Row {
        groups: Groups::Are(&["capstan.dev"]),
        kinds: &["VaultSecret"],
        stage: (Stage::Credentials, 1),
        ..CREDENTIAL
    },
    // What a cloud must have before a cluster: <https://k-orc.cloud>.
    Row {
        groups: Groups::Are(&[super::ORC_GROUP]),
        kinds: &["*"],
        role: KindRole::Part,
        stage: (Stage::Credentials, 3),
        ..CREDENTIAL
    },
];

const CREDENTIAL: Row = Row {
    groups: KUBERNETES,
    kinds: &[],
    role: KindRole::Secret,
    versions: &[],
    edit: None,
    stage: (Stage::Credentials, 0),
    loss: Loss::Unknown,
};
