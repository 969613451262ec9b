//! Every kind of control plane and of machines that is known, with what the table says of it.

mod one_table;

use super::*;

/// Group (before `cluster.x-k8s.io`), kind, role, and the place of its version.
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

/// Kinds that only look like one.
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
fn provider_objects_say_the_version_of_a_component_and_none_of_kubernetes() {
    for kind in [
        "AddonProvider",
        "BootstrapProvider",
        "ControlPlaneProvider",
        "CoreProvider",
        "InfrastructureProvider",
        "IPAMProvider",
        "RuntimeExtensionProvider",
    ] {
        let id = ObjectId {
            group: "operator.cluster.x-k8s.io".to_owned(),
            kind: kind.to_owned(),
            namespace: None,
            name: "a".to_owned(),
        };
        assert!(is_provider(&id.group, kind) && is_of_operator(&id.group), "{kind}");
        assert_eq!(component_version(&id).unwrap().to_string(), "/spec/version", "{kind}");
        assert_eq!(version_paths(&id), [], "{kind}");
        assert_eq!(loss(&id), Loss::Unknown, "{kind}");
    }
    assert!(!is_provider("cluster.x-k8s.io", "CoreProvider"));
    assert!(!is_provider("operator.cluster.x-k8s.io", "WidgetProvider"));
}

#[test]
fn every_known_kind_says_its_version_where_the_table_says() {
    for (group, kind, role, versions) in KNOWN {
        let group = format!("{group}cluster.x-k8s.io");
        let is = match super::role(&group, kind) {
            Some(KindRole::Cluster) => "cluster",
            Some(KindRole::ControlPlane(Machines::Own)) => "own",
            Some(KindRole::ControlPlane(Machines::Provider)) => "provider",
            Some(KindRole::Workers(_)) => "workers",
            Some(KindRole::Machine) => "machine",
            Some(KindRole::Pool(_)) => "pool",
            _ => "nothing",
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
        let has_machines = role(group, kind).is_some_and(KindRole::has_machines);
        assert!(!has_machines, "{group} {kind}");
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

type Applying = Option<(ApplyStage, u8)>;

/// Group, kind, what an edit does, when it is applied, what is lost with it.
const EDITED_APPLIED_LOST: &[(&str, &str, Option<Treatment>, Applying, Loss)] = {
    use Loss::{Class, Cluster, ClusterIfNamed, Nothing, Template, Unknown, WhileNamed};
    use Treatment::{MutableAndRolls, MutableSilent, Never, Rotate};
    const IN_PLACE: Applying = Some((ApplyStage::Workers, 1));
    const WORKERS: Applying = Some((ApplyStage::Workers, 2));
    const TEMPLATES: Applying = Some((ApplyStage::Templates, 1));
    const CONTROL_PLANE: Applying = Some((ApplyStage::ControlPlane, 1));
    &[
        ("cluster.x-k8s.io", "Cluster", None, Some((ApplyStage::ControlPlane, 0)), Cluster),
        ("cluster.x-k8s.io", "ClusterClass", None, Some((ApplyStage::Templates, 3)), Class),
        ("cluster.x-k8s.io", "MachineDeployment", None, WORKERS, Unknown),
        ("cluster.x-k8s.io", "MachinePool", None, WORKERS, Unknown),
        ("exp.cluster.x-k8s.io", "MachinePool", None, WORKERS, Unknown),
        ("cluster.x-k8s.io", "Machine", None, WORKERS, Unknown),
        ("cluster.x-k8s.io", "MachineHealthCheck", None, Some((ApplyStage::AddOns, 0)), Nothing),
        ("addons.cluster.x-k8s.io", "ClusterResourceSet", None, Some((ApplyStage::AddOns, 0)), Nothing),
        ("controlplane.cluster.x-k8s.io", "KubeadmControlPlane", None, CONTROL_PLANE, Cluster),
        ("infrastructure.cluster.x-k8s.io", "AzureManagedControlPlane", None, CONTROL_PLANE, Cluster),
        ("infrastructure.cluster.x-k8s.io", "VCluster", None, CONTROL_PLANE, Cluster),
        ("controlplane.cluster.x-k8s.io", "NestedEtcd", None, CONTROL_PLANE, Cluster),
        ("controlplane.cluster.x-k8s.io", "KubeadmControlPlaneTemplate", Some(Never), TEMPLATES, Template),
        ("infrastructure.cluster.x-k8s.io", "DockerMachineTemplate", Some(Rotate), TEMPLATES, Template),
        (
            "infrastructure.cluster.x-k8s.io",
            "Metal3DataTemplate",
            Some(Rotate),
            Some((ApplyStage::Templates, 0)),
            Template,
        ),
        (
            "infrastructure.cluster.x-k8s.io",
            "Metal3RemediationTemplate",
            Some(MutableSilent),
            TEMPLATES,
            Template,
        ),
        ("infrastructure.cluster.x-k8s.io", "ExampleMachineTemplate", None, TEMPLATES, Template),
        ("bootstrap.cluster.x-k8s.io", "KubeadmConfigTemplate", Some(Rotate), TEMPLATES, Template),
        ("bootstrap.cluster.x-k8s.io", "KubeadmConfig", None, TEMPLATES, Template),
        ("bootstrap.cluster.x-k8s.io", "RKE2Config", None, TEMPLATES, Template),
        ("infrastructure.cluster.x-k8s.io", "DockerMachinePool", Some(MutableAndRolls), IN_PLACE, Unknown),
        ("infrastructure.cluster.x-k8s.io", "AzureManagedMachinePool", None, IN_PLACE, Unknown),
        ("infrastructure.cluster.x-k8s.io", "DockerMachine", None, IN_PLACE, Unknown),
        (
            "infrastructure.cluster.x-k8s.io",
            "AWSCluster",
            None,
            Some((ApplyStage::Templates, 2)),
            ClusterIfNamed,
        ),
        (
            "infrastructure.cluster.x-k8s.io",
            "AWSClusterStaticIdentity",
            None,
            Some((ApplyStage::Credentials, 2)),
            Unknown,
        ),
        ("infrastructure.cluster.x-k8s.io", "Metal3Data", None, Some((ApplyStage::Templates, 2)), Unknown),
        ("", "Namespace", None, Some((ApplyStage::Namespaces, 0)), Unknown),
        ("", "ConfigMap", None, Some((ApplyStage::Credentials, 0)), WhileNamed),
        ("", "Secret", None, Some((ApplyStage::Credentials, 0)), Unknown),
        ("rbac.authorization.k8s.io", "Role", None, Some((ApplyStage::Credentials, 1)), Unknown),
        ("external-secrets.io", "ExternalSecret", None, Some((ApplyStage::Credentials, 1)), Unknown),
        ("capstan.dev", "VaultSecret", None, Some((ApplyStage::Credentials, 1)), Unknown),
        // Templates of other projects are not templates of a cluster, and a group is not Cluster API's by its
        // ending alone.
        ("argoproj.io", "WorkflowTemplate", None, None, Unknown),
        ("notcluster.x-k8s.io", "DockerMachineTemplate", None, None, Unknown),
        ("helm.toolkit.fluxcd.io", "HelmRelease", None, None, Unknown),
    ]
};

#[test]
fn a_row_says_what_an_edit_does_when_it_is_applied_and_what_is_lost() {
    for (group, kind, edit, turn, lost) in EDITED_APPLIED_LOST {
        let id = ObjectId {
            group: (*group).to_owned(),
            kind: (*kind).to_owned(),
            namespace: None,
            name: "peu01".to_owned(),
        };
        assert_eq!(
            (treatment(Some(group), kind), stage(&id), loss(&id)),
            (*edit, *turn, *lost),
            "{group} {kind}"
        );
    }
}

#[test]
fn a_reference_without_a_group_means_the_kind_that_it_names() {
    for (kind, edit) in [
        ("DockerMachineTemplate", Some(Treatment::Rotate)),
        ("LinodeMachinePool", Some(Treatment::MutableAndRolls)),
        ("AWSCluster", None),
        ("Widget", None),
    ] {
        assert_eq!(treatment(None, kind), edit, "{kind}");
    }
    assert_eq!(role_of_fragment(None, "KubeadmConfig"), Some(KindRole::BootstrapConfig));
    assert_eq!(role_of_fragment(None, "Cluster"), Some(KindRole::Cluster));
    assert_eq!(role_of_fragment(None, "Widget"), None);
}

#[test]
fn node_groups_that_a_provider_runs_are_recognised_by_their_kind() {
    for kind in ["AWSManagedMachinePool", "AzureASOManagedMachinePool", "ROSAMachinePool", "AROMachinePool"] {
        assert!(is_managed_pool(kind), "{kind}");
    }
    for kind in ["AWSMachinePool", "DockerMachinePool", "ExampleMachinePool", "AzureManagedControlPlane"] {
        assert!(!is_managed_pool(kind), "{kind}");
    }
}

#[test]
fn the_index_finds_what_all_rows_would() {
    let of_table = rows().flat_map(|row| row.kinds.iter()).map(|pattern| pattern.replace('*', "Some"));
    let others =
        ["", "Some", "ConfigMap", "Template", "DevMachineTemplate", "SomeMachinePool"].map(String::from);
    let mut found = 0;
    for kind in of_table.chain(others) {
        let groups =
            ["", "apps", "cluster.x-k8s.io", "infrastructure.cluster.x-k8s.io", "addons.projectsveltos.io"];
        for group in groups.into_iter().chain(["controlplane.cluster.x-k8s.io", "config.projectsveltos.io"]) {
            let wanted = rows().find(|row| row.fits_group(group) && row.fits_kind(&kind));
            let is_it = match (row(group, &kind), wanted) {
                (Some(is), Some(wanted)) => std::ptr::eq(is, wanted),
                (is, wanted) => is.is_none() && wanted.is_none(),
            };
            assert!(is_it, "{group} {kind}");
            found += usize::from(wanted.is_some());
        }
        let wanted = rows().find(|row| row.names_kind(&kind));
        let is = row_of_fragment(None, &kind);
        assert_eq!(is.map(std::ptr::from_ref), wanted.map(std::ptr::from_ref), "{kind}");
    }
    assert!(found > 200, "{found}");
}
