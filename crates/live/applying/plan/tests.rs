//! Folders, their changes and their state, and what is applied now: one a row.

use super::super::inventory::AppliedInventory;
use super::super::testing::{id, live, objects};
use super::*;
use crate::rollout::observed::{Counts, OwnerVerdict, Readiness, RolloutProgress};
use capstan_model::object::FieldPath;

const CLUSTER: &str = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: c, namespace: org}
spec:
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevCluster, name: c}
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: cp}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevCluster
metadata: {name: c, namespace: org}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: cp, namespace: org}
spec:
  version: v1.35.1
  machineTemplate: {spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: t}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {name: t, namespace: org}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: md, namespace: org}
spec: {clusterName: c, replicas: 3}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachinePool
metadata: {name: mp, namespace: org}
spec:
  clusterName: c
  template:
    spec:
      bootstrap: {configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: KubeadmConfig, name: mp}}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AWSMachinePool, name: mp}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSMachinePool
metadata: {name: mp, namespace: org}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfig
metadata: {name: mp, namespace: org}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineHealthCheck
metadata: {name: mhc, namespace: org}
---
apiVersion: v1
kind: Secret
metadata: {name: s, namespace: org}
---
apiVersion: v1
kind: Namespace
metadata: {name: org}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSClusterStaticIdentity
metadata: {name: i, namespace: org}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: cni, namespace: org}
";

const CP: &str = "controlplane.cluster.x-k8s.io/KubeadmControlPlane org/cp";
const MD: &str = "cluster.x-k8s.io/MachineDeployment org/md";
const MP: &str = "cluster.x-k8s.io/MachinePool org/mp";
const MP_INFRA: &str = "infrastructure.cluster.x-k8s.io/AWSMachinePool org/mp";
const MP_CONFIG: &str = "bootstrap.cluster.x-k8s.io/KubeadmConfig org/mp";

fn owner(object: &str, kind: OwnerKind, state: RolloutProgress, ready: Readiness) -> OwnerVerdict {
    OwnerVerdict {
        object: id(object),
        kind,
        state,
        since: None,
        until: None,
        on: None,
        words: None,
        counts: Counts::default(),
        ready,
    }
}

fn verdict(control_plane: RolloutProgress, workers: RolloutProgress) -> RolloutVerdict {
    RolloutVerdict {
        state: control_plane.max(workers),
        owners: vec![
            owner(CP, OwnerKind::ControlPlane, control_plane, Readiness::Ready),
            owner(MD, OwnerKind::Workers, workers, Readiness::Ready),
        ],
        machines: Vec::new(),
    }
}

fn changes(of: &[(&str, &[&str])]) -> Changes {
    of.iter()
        .map(|(object, fields)| {
            (id(object), fields.iter().map(|field| FieldPath::parse(field).unwrap()).collect())
        })
        .collect()
}

fn alive() -> LiveObjects {
    live(CLUSTER)
}

/// What is applied and what waits, as `Kind name` each.
fn planned(of: &[(&str, &[&str])], verdict: &RolloutVerdict) -> (Vec<String>, Vec<String>, ApplyPhase) {
    let plan = plan(&objects(CLUSTER), &changes(of), &alive(), verdict);
    let say = |id: &ObjectId| format!("{} {}", id.kind, id.name);
    let now = plan.steps.iter().flat_map(|step| step.objects.iter().map(say)).collect();
    (now, plan.withheld.iter().map(|held| say(&held.object)).collect(), plan.phase)
}

#[test]
fn a_new_cluster_is_applied_whole_and_in_order() {
    let rendered = objects(CLUSTER);
    let all: Changes = rendered.iter().map(|object| (object.id.clone(), vec![FieldPath::root()])).collect();
    let nothing = RolloutVerdict {
        state: RolloutProgress::Waiting,
        owners: vec![
            owner(CP, OwnerKind::ControlPlane, RolloutProgress::Waiting, Readiness::NotReady),
            owner(MD, OwnerKind::Workers, RolloutProgress::Waiting, Readiness::NotReady),
        ],
        machines: Vec::new(),
    };
    let plan = plan(&rendered, &all, &LiveObjects::default(), &nothing);
    let told: Vec<(ApplyStage, Vec<&str>)> = plan
        .steps
        .iter()
        .map(|step| (step.stage, step.objects.iter().map(|id| id.kind.as_str()).collect()))
        .collect();
    assert_eq!(
        told,
        [
            (ApplyStage::Namespaces, vec!["Namespace"]),
            (ApplyStage::Credentials, vec!["Secret", "AWSClusterStaticIdentity"]),
            (ApplyStage::Templates, vec!["DevMachineTemplate", "DevCluster"]),
            (ApplyStage::ControlPlane, vec!["Cluster", "KubeadmControlPlane"]),
            (ApplyStage::AddOns, vec!["MachineHealthCheck", "HelmRelease"]),
            (
                ApplyStage::Workers,
                vec!["KubeadmConfig", "AWSMachinePool", "MachineDeployment", "MachinePool"]
            ),
        ]
    );
    assert_eq!((plan.withheld, plan.phase), (vec![], ApplyPhase::ControlPlane));
}

#[test]
fn providers_are_applied_in_clusterctls_order_behind_their_config_maps() {
    let provider = |kind: &str| {
        format!(
            "---\napiVersion: operator.cluster.x-k8s.io/v1alpha2\nkind: {kind}\nmetadata: {{name: a, namespace: b}}\n"
        )
    };
    let kinds =
        ["AddonProvider", "BootstrapProvider", "ControlPlaneProvider", "CoreProvider", "IPAMProvider"];
    let text = kinds.map(provider).concat()
        + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n";
    let rendered = objects(&text);
    let all: Changes = rendered.iter().map(|object| (object.id.clone(), vec![FieldPath::root()])).collect();
    let nothing =
        RolloutVerdict { state: RolloutProgress::Waiting, owners: Vec::new(), machines: Vec::new() };
    let plan = plan(&rendered, &all, &LiveObjects::default(), &nothing);
    let kinds: Vec<&str> =
        plan.steps.iter().flat_map(|step| step.objects.iter().map(|id| id.kind.as_str())).collect();
    assert_eq!(
        kinds,
        [
            "ConfigMap",
            "CoreProvider",
            "BootstrapProvider",
            "ControlPlaneProvider",
            "IPAMProvider",
            "AddonProvider"
        ]
    );
}

#[test]
fn workers_wait_while_their_control_plane_changes_or_rolls() {
    let upgrade: &[(&str, &[&str])] = &[
        (CP, &["/spec/version", "/spec/machineTemplate/spec/infrastructureRef/name"]),
        (MD, &["/spec/template/spec/version", "/spec/template/spec/infrastructureRef/name"]),
        (MP, &["/spec/template/spec/version"]),
        (MP_INFRA, &["/spec/awsLaunchTemplate/ami/id"]),
        (MP_CONFIG, &[""]),
        ("infrastructure.cluster.x-k8s.io/DevMachineTemplate org/t", &[""]),
    ];
    let workers = ["KubeadmConfig mp", "MachineDeployment md", "MachinePool mp", "AWSMachinePool mp"];
    let (now, waits, phase) = planned(upgrade, &verdict(RolloutProgress::Done, RolloutProgress::Done));
    assert_eq!(now, ["DevMachineTemplate t", "KubeadmControlPlane cp"]);
    assert_eq!(waits, workers);
    assert_eq!(phase, ApplyPhase::ControlPlane);
    // Applied, and rolling.
    for state in [RolloutProgress::Waiting, RolloutProgress::Rolling, RolloutProgress::Stuck] {
        let (now, waits, phase) = planned(&upgrade[1..5], &verdict(state, RolloutProgress::Waiting));
        assert_eq!((now.len(), waits.len(), phase), (0, 4, ApplyPhase::ControlPlane), "{state:?}");
    }
    // Done: the workers follow.
    let (now, waits, phase) =
        planned(&upgrade[1..5], &verdict(RolloutProgress::Done, RolloutProgress::Waiting));
    assert_eq!(now, ["KubeadmConfig mp", "AWSMachinePool mp", "MachineDeployment md", "MachinePool mp"]);
    assert_eq!((waits.len(), phase), (0, ApplyPhase::Workers));
    // Nor does anybody wait for machines that the control plane replaces next month.
    let mut put_off = verdict(RolloutProgress::Waiting, RolloutProgress::Waiting);
    put_off.owners[0].until = Some("2026-12-24T02:00:00Z".parse().unwrap());
    let (now, waits, phase) = planned(&upgrade[1..5], &put_off);
    assert_eq!((now.len(), waits.len(), phase), (4, 0, ApplyPhase::Workers));
    assert_eq!(
        planned(&[], &verdict(RolloutProgress::Done, RolloutProgress::Rolling)).2,
        ApplyPhase::Workers
    );
    assert_eq!(planned(&[], &verdict(RolloutProgress::Done, RolloutProgress::Done)).2, ApplyPhase::Done);
    assert_eq!(
        planned(&[], &verdict(RolloutProgress::Rolling, RolloutProgress::Done)).2,
        ApplyPhase::ControlPlane
    );
}

#[test]
fn what_replaces_no_machine_is_not_withheld() {
    let rolling = verdict(RolloutProgress::Rolling, RolloutProgress::Done);
    for (object, field, waits) in [
        (MD, "/spec/replicas", false),
        (MD, "/metadata/labels/a", false),
        (MD, "/apiVersion", false),
        (MD, "/spec/strategy/rollingUpdate/maxSurge", false),
        (MD, "/spec/template/spec/nodeDrainTimeout", false),
        (MD, "/spec/template/spec/deletion/nodeDrainTimeoutSeconds", false),
        (MD, "/spec/template/metadata/labels/a", false),
        (MD, "/spec/template/spec/version", true),
        (MD, "/spec/template/spec/failureDomain", true),
        (MD, "/spec/template/spec/bootstrap/configRef/name", true),
        (MD, "/spec/rolloutAfter", true),
        (MD, "/spec/rollout/after", true),
        (MD, "/spec/strategy/type", true),
        (MD, "", true),
        (MP, "/spec/replicas", false),
        (MP_INFRA, "/spec/maxSize", false),
        (MP_INFRA, "/spec/awsLaunchTemplate/ami/id", true),
        (MP_INFRA, "/spec/additionalTags/a", true),
        (MP_INFRA, "/spec/awsLaunchTemplate/rootVolume/size", true),
        (MP_INFRA, "/spec/mixedInstancesPolicy/overrides", false),
        (MP_CONFIG, "/spec/files/0/content", true),
        ("cluster.x-k8s.io/MachineHealthCheck org/mhc", "/spec/maxUnhealthy", false),
        ("helm.toolkit.fluxcd.io/HelmRelease org/cni", "", false),
        ("Secret org/s", "/data/a", false),
    ] {
        let (now, held, _) = planned(&[(object, &[field])], &rolling);
        assert_eq!((now.len(), held.len()), if waits { (0, 1) } else { (1, 0) }, "{object} {field}");
    }
}

#[test]
fn an_object_is_applied_whole_or_not_at_all() {
    let both: &[(&str, &[&str])] = &[(MD, &["/spec/replicas", "/spec/template/spec/version"])];
    let (now, waits, _) = planned(both, &verdict(RolloutProgress::Rolling, RolloutProgress::Done));
    assert_eq!((now.len(), waits), (0, vec!["MachineDeployment md".to_owned()]));
    // A pool's scale waits with the instances that change.
    let pool: &[(&str, &[&str])] = &[(MP, &["/spec/replicas"]), (MP_INFRA, &["/spec/awsLaunchTemplate"])];
    let (now, waits, _) = planned(pool, &verdict(RolloutProgress::Rolling, RolloutProgress::Done));
    assert_eq!((now.len(), waits), (0, vec!["MachinePool mp".to_owned(), "AWSMachinePool mp".to_owned()]));
}

#[test]
fn a_control_plane_that_only_gets_a_label_holds_nobody_back() {
    let changed: &[(&str, &[&str])] =
        &[(CP, &["/metadata/labels/a"]), (MD, &["/spec/template/spec/version"])];
    let (now, waits, phase) = planned(changed, &verdict(RolloutProgress::Done, RolloutProgress::Done));
    assert_eq!(now, ["KubeadmControlPlane cp", "MachineDeployment md"]);
    assert_eq!((waits.len(), phase), (0, ApplyPhase::Workers));
}

#[test]
fn a_provider_that_shows_only_readiness_holds_nobody_back_for_ever() {
    let version: &[(&str, &[&str])] = &[(MD, &["/spec/template/spec/version"])];
    let mut unknown = verdict(RolloutProgress::Unknown, RolloutProgress::Done);
    assert_eq!(planned(version, &unknown).1.len(), 0);
    unknown.owners[0].ready = Readiness::NotReady;
    assert_eq!(planned(version, &unknown).1.len(), 1);
    unknown.owners.remove(0);
    assert_eq!(planned(version, &unknown).1.len(), 1, "a control plane that nobody judged");
}

#[test]
fn workers_follow_the_control_plane_of_the_cluster_that_they_name() {
    let workers = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: md, namespace: org}
spec: {clusterName: c}
";
    // The control plane is another tool's.
    let rendered = objects(workers);
    let change = changes(&[(MD, &["/spec/template/spec/version"])]);
    let held = plan(&rendered, &change, &alive(), &verdict(RolloutProgress::Rolling, RolloutProgress::Done));
    assert_eq!(held.withheld[0].waits_for, id(CP));
    assert_eq!(
        held.withheld[0].to_string(),
        "MachineDeployment org/md waits until KubeadmControlPlane org/cp is done: rolling"
    );
    assert_eq!(
        plan(
            &rendered,
            &change,
            &LiveObjects::default(),
            &verdict(RolloutProgress::Rolling, RolloutProgress::Done)
        )
        .withheld,
        []
    );

    // A topology carries both, and pools beside it follow the Cluster.
    let topology = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: c, namespace: org}
spec: {topology: {version: v1.35.1}}
---
";
    let rendered = objects(&format!("{topology}{workers}"));
    let cluster = "cluster.x-k8s.io/Cluster org/c";
    let stands = |state| RolloutVerdict {
        state,
        owners: vec![owner(cluster, OwnerKind::ControlPlane, state, Readiness::Ready)],
        machines: Vec::new(),
    };
    let all = changes(&[(cluster, &["/spec/topology/version"]), (MD, &["/spec/template/spec/version"])]);
    let upgrade = plan(&rendered, &all, &live(topology), &stands(RolloutProgress::Done));
    assert_eq!(upgrade.steps.iter().flat_map(|step| step.objects.clone()).collect::<Vec<_>>(), [id(cluster)]);
    assert_eq!(upgrade.withheld[0].waits_for, id(cluster));
}

proptest::proptest! {
    /// Whatever changes and whatever the state of the cluster: each change is planned once or withheld once, in order,
    /// and no worker's version passes a control plane that is not done.
    #[test]
    fn no_change_is_lost_and_no_version_overtakes(
        picked in proptest::collection::vec((0..14_usize, 0..6_usize), 0..20),
        plane in proptest::sample::select(vec![RolloutProgress::Done, RolloutProgress::Unknown, RolloutProgress::Waiting, RolloutProgress::Rolling, RolloutProgress::Stuck]),
        workers in proptest::sample::select(vec![RolloutProgress::Done, RolloutProgress::Rolling]),
        ready in proptest::bool::ANY,
    ) {
        const FIELDS: [&str; 6] =
            ["/spec/replicas", "/spec/version", "/spec/template/spec/version", "/metadata/labels/a", "/spec/awsLaunchTemplate/ami/id", ""];
        let rendered = objects(CLUSTER);
        let mut all = Changes::new();
        for (object, field) in picked {
            let Some(object) = rendered.get(object) else { continue };
            all.entry(object.id.clone()).or_default().push(FieldPath::parse(FIELDS[field]).unwrap());
        }
        let mut stands = verdict(plane, workers);
        stands.owners[0].ready = if ready { Readiness::Ready } else { Readiness::NotReady };
        let plan = plan(&rendered, &all, &alive(), &stands);
        let now: Vec<&ObjectId> = plan.steps.iter().flat_map(|step| &step.objects).collect();
        let mut told: Vec<&ObjectId> = now.iter().copied().chain(plan.withheld.iter().map(|held| &held.object)).collect();
        told.sort();
        proptest::prop_assert_eq!(told, all.keys().collect::<Vec<_>>());
        proptest::prop_assert!(plan.steps.is_sorted_by_key(|step| step.stage));
        let plane_is_done = (plane == RolloutProgress::Done || plane == RolloutProgress::Unknown && ready)
            && all.get(&id(CP)).is_none_or(|fields| fields.iter().all(|field| field.to_string().starts_with("/metadata")));
        let new_version = |id: &&&ObjectId| {
            id.kind.starts_with("Machine") && id.kind != "MachineHealthCheck"
                && all[**id].iter().any(|field| field.to_string() == "/spec/template/spec/version")
        };
        proptest::prop_assert!(plane_is_done || now.iter().find(new_version).is_none(), "{plan:?}");
        proptest::prop_assert_eq!(plan.phase == ApplyPhase::ControlPlane, !plane_is_done);
    }
}

const CLOUD: &str = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: md, namespace: org}
spec:
  clusterName: c
  template:
    spec:
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: OpenStackMachineTemplate, name: md}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackMachineTemplate
metadata: {name: md, namespace: org}
spec: {template: {spec: {image: {imageRef: {name: ubuntu}}, serverGroup: {filter: {name: c-worker}}}}}
---
apiVersion: openstack.k-orc.cloud/v1alpha1
kind: Image
metadata: {name: ubuntu, namespace: org, generation: 1}
spec: {managementPolicy: managed}
status: {id: a, conditions: [{type: Available, status: 'True', reason: Success, observedGeneration: 1}]}
---
apiVersion: openstack.k-orc.cloud/v1alpha1
kind: ServerGroup
metadata: {name: workers, namespace: org, generation: 1}
spec: {managementPolicy: managed, resource: {name: c-worker}}
status: {conditions: [{type: Progressing, status: 'True', reason: TransientError, message: '503', observedGeneration: 1}]}
";

#[test]
fn machines_wait_for_what_the_cloud_must_have_before() {
    let nothing = RolloutVerdict { state: RolloutProgress::Done, owners: Vec::new(), machines: Vec::new() };
    let template = "infrastructure.cluster.x-k8s.io/OpenStackMachineTemplate org/md";
    let (image, group) =
        ("openstack.k-orc.cloud/Image org/ubuntu", "openstack.k-orc.cloud/ServerGroup org/workers");
    let told = |text: &str, of: &[&str]| {
        let of: Vec<(&str, &[&str])> = of.iter().map(|object| (*object, &[""][..])).collect();
        let plan = plan(&objects(CLOUD), &changes(&of), &live(text), &nothing);
        let now: Vec<String> =
            plan.steps.iter().flat_map(|step| step.objects.iter().map(|id| id.kind.clone())).collect();
        (now.join(" "), plan.withheld.iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    let md = "MachineDeployment org/md waits until";
    // A new cluster: the objects of the cloud go first, and the machines wait for them.
    assert_eq!(
        told("", &[MD, template, image, group]),
        (
            "Image ServerGroup OpenStackMachineTemplate".to_owned(),
            vec![format!("{md} Image org/ubuntu is done: it changes first")]
        )
    );
    assert_eq!(
        told(CLOUD, &[MD]),
        (String::new(), vec![format!("{md} ServerGroup org/workers is done: TransientError: 503")])
    );
    let there = CLOUD.replace(
        "Progressing, status: 'True', reason: TransientError, message: '503'",
        "Available, status: 'True', reason: Success",
    );
    assert_eq!(told(&there, &[MD]), ("MachineDeployment".to_owned(), vec![]));
    // One whose state was not read.
    let other = there.replace("name: workers", "name: others");
    assert_eq!(
        told(&other, &[MD]).1,
        [format!("{md} ServerGroup org/workers is done: its state is unknown")]
    );
}

#[test]
fn a_change_that_makes_no_machine_waits_for_no_cloud() {
    let nothing = RolloutVerdict { state: RolloutProgress::Done, owners: Vec::new(), machines: Vec::new() };
    let label = changes(&[(MD, &["/metadata/labels/a"])]);
    assert_eq!(plan(&objects(CLOUD), &label, &live(CLOUD), &nothing).withheld, []);
}

const TOPOLOGY: &str = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: c, namespace: org}
spec: {topology: {classRef: {name: class}, version: v1.36.3, variables: [{name: group, value: {name: c-worker}}]}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: class, namespace: org}
spec:
  controlPlane:
    machineInfrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: OpenStackMachineTemplate, name: cp}}
  patches:
  - name: image
    definitions:
    - jsonPatches: [{op: add, path: /spec/template/spec/image/imageRef, valueFrom: {template: 'name: node-{{ .builtin.controlPlane.version }}'}}]
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackMachineTemplate
metadata: {name: cp, namespace: org}
spec: {template: {spec: {image: {imageRef: {name: none}}, ports: [{network: {filter: {name: nodes}}}]}}}
---
apiVersion: openstack.k-orc.cloud/v1alpha1
kind: Network
metadata: {name: net, namespace: org, generation: 1}
spec: {managementPolicy: unmanaged, import: {filter: {name: nodes}}}
status: {id: n, conditions: [{type: Available, status: 'True', reason: Success, observedGeneration: 1}]}
---
apiVersion: openstack.k-orc.cloud/v1alpha1
kind: Image
metadata: {name: node-v1.36.3, namespace: org, generation: 1}
spec: {managementPolicy: managed}
status: {id: a, conditions: [{type: Available, status: 'True', reason: Success, observedGeneration: 1}]}
---
apiVersion: openstack.k-orc.cloud/v1alpha1
kind: ServerGroup
metadata: {name: workers, namespace: org, generation: 1}
spec: {managementPolicy: managed, resource: {name: c-worker}}
status: {id: g, conditions: [{type: Available, status: 'True', reason: Success, observedGeneration: 1}]}
---
apiVersion: openstack.k-orc.cloud/v1alpha1
kind: Project
metadata: {name: nobody-names-it, namespace: org, generation: 1}
spec: {managementPolicy: managed}
";

#[test]
fn a_topology_waits_for_what_its_class_and_its_variables_name() {
    let nothing = RolloutVerdict { state: RolloutProgress::Done, owners: Vec::new(), machines: Vec::new() };
    let cluster = "cluster.x-k8s.io/Cluster org/c";
    let told = |text: &str, field: &str| {
        let plan = plan(&objects(TOPOLOGY), &changes(&[(cluster, &[field])]), &live(text), &nothing);
        plan.withheld.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(told(TOPOLOGY, ""), [""; 0]);
    let waits = |of: &str| {
        let [before, after] = TOPOLOGY.split(&format!("status: {{id: {of}, ")).collect::<Vec<_>>()[..] else {
            panic!("{of}")
        };
        let (_, after) = after.split_once('\n').unwrap();
        format!("{before}\n{after}")
    };
    let sentence =
        |of: &str| format!("Cluster org/c waits until {of} is done: its controller has not observed it yet");
    // By the template of its class, by a patch of it, and by its own variable.
    assert_eq!(told(&waits("n"), ""), [sentence("Network org/net")]);
    assert_eq!(told(&waits("a"), ""), [sentence("Image org/node-v1.36.3")]);
    assert_eq!(told(&waits("g"), "/spec/topology/version"), [sentence("ServerGroup org/workers")]);
    // A change outside its topology waits for nothing.
    assert_eq!(told(&waits("g"), "/spec/paused"), [""; 0]);
    // A class that is another folder's.
    let (own, of_class) = TOPOLOGY.split_once("---").unwrap();
    let (_, rest) = of_class.split_once("name: cp, namespace: org").unwrap();
    let (_, objects_of_cloud) = rest.split_once("---\n").unwrap();
    let rendered = objects(&format!("{own}---\n{objects_of_cloud}"));
    let plan = plan(&rendered, &changes(&[(cluster, &[""])]), &live(&waits("n")), &nothing);
    assert_eq!(
        plan.withheld.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [sentence("Network org/net")]
    );
}

#[test]
fn an_interrupted_create_is_repeated_three_times_and_a_refused_one_never() {
    let image = id("openstack.k-orc.cloud/Image org/ubuntu");
    let lost = "status: {conditions: [{type: Progressing, status: 'False', reason: InvalidConfiguration, message: 'invalid configuration creating resource: Post \"http://c/v2/images\": EOF', observedGeneration: 1}]}";
    let available = "status: {id: a, conditions: [{type: Available, status: 'True', reason: Success, observedGeneration: 1}]}";
    let refused = lost.replace("Post \"http://c/v2/images\": EOF", "no such disk format");
    let rendered = objects(CLOUD);
    let courses = |text: &str, changed: &[(&str, &[&str])], inventory: &AppliedInventory| {
        let all = given_up(&rendered, &changes(changed), &live(text), inventory);
        all.into_iter().map(|one| (one.object.id.clone(), one.course)).collect::<Vec<_>>()
    };
    let mut inventory = AppliedInventory::default();
    inventory.intend(&image, "openstack.k-orc.cloud/v1alpha1", "ubuntu");
    let dead = CLOUD.replace(available, lost);
    for _ in 0..3 {
        assert_eq!(courses(&dead, &[], &inventory), [(image.clone(), AfterGivingUp::Recreated)]);
        inventory.count_recreation(&image);
    }
    assert_eq!(courses(&dead, &[], &inventory), [(image.clone(), AfterGivingUp::Spent)]);
    let text = serde_json::to_string(&inventory).unwrap();
    assert!(text.contains("\"madeAnew\":3"), "{text}");
    assert_eq!(serde_json::from_str::<AppliedInventory>(&text).unwrap(), inventory);
    // It is there: the next create that dies has its three again.
    inventory.came_to_be(&image);
    assert_eq!(courses(&dead, &[], &inventory), [(image.clone(), AfterGivingUp::Recreated)]);
    assert_eq!(
        courses(&CLOUD.replace(available, &refused), &[], &inventory),
        [(image.clone(), AfterGivingUp::Refused)]
    );
    // What changes is another wish.
    assert_eq!(courses(&dead, &[("openstack.k-orc.cloud/Image org/ubuntu", &["/spec"])], &inventory), []);
    assert_eq!(courses(CLOUD, &[], &inventory), []);
}
