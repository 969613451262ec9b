//! Renders against live clusters, one a row.

use super::super::testing::{live, objects};
use super::*;

/// `field reason message`, a line each.
fn verdicts(base: &str, alive: &str) -> Vec<String> {
    let found = guards(&objects(base), &live(alive));
    found.iter().map(|broken| format!("{} {} {broken}", broken.field, broken.reason())).collect()
}

fn control_plane(version: &str) -> String {
    format!(
        "apiVersion: controlplane.cluster.x-k8s.io/v1beta2\nkind: KubeadmControlPlane\nmetadata: {{name: cp, namespace: org}}\nspec: {{version: {version}}}\n"
    )
}

fn live_control_plane(spec: &str, status: &str) -> String {
    format!("{}status: {status}\n", control_plane(spec))
}

#[test]
fn a_version_never_goes_back() {
    let below = |wanted: &str, live: &str| {
        vec![format!(
            "/spec/version VersionBelowLive KubeadmControlPlane org/cp would go back from the live Kubernetes {live} to {wanted}. Kubernetes cannot be downgraded: write {live} or newer"
        )]
    };
    for (wanted, spec, status, expected) in [
        ("v1.34.3", "v1.34.3", "{version: v1.34.3}", vec![]),
        ("v1.35.1", "v1.34.3", "{version: v1.34.3}", vec![]),
        // A merged upgrade reverted, or somebody raised the live object.
        ("v1.34.3", "v1.35.1", "{version: v1.34.3}", below("v1.34.3", "v1.35.1")),
        ("v1.34.3", "v1.34.5", "{version: v1.34.5}", below("v1.34.3", "v1.34.5")),
        // Somebody lowered the live object again while newer machines run.
        (
            "v1.34.3",
            "v1.34.3",
            "{version: v1.34.3, versions: [{version: v1.34.3, replicas: 2}, {version: v1.35.1, replicas: 1}]}",
            below("v1.34.3", "v1.35.1"),
        ),
        // Cluster API writes the `v` that Git leaves out.
        ("1.36.0", "v1.36.0", "{version: v1.36.0}", vec![]),
        // Older contracts have no list.
        ("v1.33.0", "v1.33.0", "{version: v1.34.0}", below("v1.33.0", "v1.34.0")),
        (
            "not-a-version",
            "v1.34.3",
            "{}",
            vec!["/spec/version NoVersion KubeadmControlPlane org/cp asks for Kubernetes `not-a-version`, which is not a version, while v1.34.3 is live: write a version".to_owned()],
        ),
    ] {
        assert_eq!(
            verdicts(&control_plane(wanted), &live_control_plane(spec, status)),
            expected,
            "{wanted} {spec} {status}"
        );
    }
    assert_eq!(verdicts(&control_plane("v1.20.0"), ""), Vec::<String>::new(), "a new cluster is any version");
}

#[test]
fn no_minor_is_left_out() {
    for (wanted, spec, status, expected) in [
        (
            "v1.36.0",
            "v1.34.3",
            "{version: v1.34.3}",
            vec![
                "/spec/version SkipsMinor KubeadmControlPlane org/cp would go from the live Kubernetes v1.34.3 to v1.36.0, but Kubernetes must be upgraded one minor at a time: first upgrade to 1.35",
            ],
        ),
        // The step is one minor, and the last one is not through: it waits.
        (
            "v1.36.0",
            "v1.35.1",
            "{version: v1.34.3, versions: [{version: v1.34.3, replicas: 2}, {version: v1.35.1, replicas: 1}]}",
            vec![
                "/spec/version StillRolling KubeadmControlPlane org/cp waits with Kubernetes v1.36.0: machines of v1.34.3 still run, and Kubernetes must be upgraded one minor at a time",
            ],
        ),
        // An unchanged version passes.
        ("v1.36.0", "v1.36.0", "{version: v1.34.3}", vec![]),
    ] {
        assert_eq!(
            verdicts(&control_plane(wanted), &live_control_plane(spec, status)),
            expected,
            "{wanted} {spec} {status}"
        );
    }
}

#[test]
fn workers_that_lag_may_catch_up_with_their_control_plane() {
    let workers = |kind: &str, version: &str| {
        format!(
            "apiVersion: cluster.x-k8s.io/v1beta1\nkind: {kind}\nmetadata: {{name: md, namespace: org}}\nspec: {{clusterName: c, template: {{spec: {{version: {version}}}}}}}\n"
        )
    };
    for kind in ["MachineDeployment", "MachinePool", "MachineSet"] {
        let lagging = workers(kind, "v1.33.0");
        let ready = format!("{lagging}---\n{}", live_control_plane("v1.35.1", "{version: v1.35.1}"));
        assert_eq!(verdicts(&workers(kind, "v1.35.1"), &ready), Vec::<String>::new(), "{kind}");
        let behind = format!("{lagging}---\n{}", live_control_plane("v1.35.1", "{version: v1.34.3}"));
        assert_eq!(verdicts(&workers(kind, "v1.35.1"), &behind).len(), 1, "{kind}");
        let back = verdicts(&workers(kind, "v1.32.0"), &lagging);
        assert!(back[0].starts_with("/spec/template/spec/version VersionBelowLive"), "{kind}: {back:?}");
    }
}

/// Cluster API makes no machine of them; a newer control plane may be running, or rendered.
#[test]
fn workers_that_kubeadm_joins_get_the_minor_of_their_control_plane_alone() {
    let workers = |version: &str, kind: &str, annotation: &str| {
        format!(
            "apiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineDeployment\nmetadata: {{name: md, namespace: org, annotations: {{{annotation}}}}}\nspec: {{clusterName: c, template: {{spec: {{version: {version}, bootstrap: {{configRef: {{apiVersion: bootstrap.cluster.x-k8s.io/v1beta1, kind: {kind}, name: md}}}}}}}}}}\n"
        )
    };
    let template = |annotation: &str| {
        format!(
            "---\napiVersion: bootstrap.cluster.x-k8s.io/v1beta1\nkind: KubeadmConfigTemplate\nmetadata: {{name: md, namespace: org, annotations: {{{annotation}}}}}\n"
        )
    };
    let skip = "machineset.cluster.x-k8s.io/skip-preflight-checks: KubeadmVersionSkew";
    let said = "/spec/template/spec/version CannotJoin MachineDeployment org/md would go to Kubernetes v1.34.0, but kubeadm joins no machine of that minor to a control plane of v1.35.1: ask for a version of 1.35, or skip that check with the annotation `machineset.cluster.x-k8s.io/skip-preflight-checks: KubeadmVersionSkew`";
    let kubeadm = "KubeadmConfigTemplate";
    for (wanted, kind, own, of_template, running, rendered, expected) in [
        ("v1.34.0", kubeadm, "", "", "v1.35.1", "v1.35.1", vec![said]),
        ("v1.35.1", kubeadm, "", "", "v1.35.1", "v1.35.1", vec![]),
        // The control plane follows first.
        ("v1.34.0", kubeadm, "", "", "v1.34.3", "v1.35.1", vec![said]),
        ("v1.34.0", kubeadm, skip, "", "v1.35.1", "v1.35.1", vec![]),
        ("v1.34.0", kubeadm, "", skip, "v1.35.1", "v1.35.1", vec![]),
        ("v1.34.0", "RKE2ConfigTemplate", "", "", "v1.35.1", "v1.35.1", vec![]),
        // What is live already stays.
        ("v1.33.0", kubeadm, "", "", "v1.35.1", "v1.35.1", vec![]),
    ] {
        let base = format!(
            "{}---\n{}{}",
            workers(wanted, kind, own),
            control_plane(rendered),
            template(of_template)
        );
        let alive = format!(
            "{}---\n{}{}",
            workers("v1.33.0", kind, own),
            live_control_plane(running, &format!("{{version: {running}}}")),
            template(of_template)
        );
        let found = verdicts(&base, &alive);
        let found: Vec<&str> =
            found.iter().map(String::as_str).filter(|line| !line.contains("MissingReference")).collect();
        assert_eq!(found, expected, "{wanted} {kind} {own} {of_template} {running}");
        // Workers that want no machine lack none.
        let none = base.replacen("clusterName: c,", "clusterName: c, replicas: 0,", 1);
        let found = verdicts(&none, &alive);
        assert!(found.iter().all(|line| line.contains("MissingReference")), "{found:?}");
    }
}

#[test]
fn other_control_planes_and_topologies_are_guarded_too() {
    for (group, kind, field, status) in [
        ("controlplane.cluster.x-k8s.io", "RKE2ControlPlane", "version", "version"),
        ("controlplane.cluster.x-k8s.io", "AWSManagedControlPlane", "version", "version"),
        ("infrastructure.cluster.x-k8s.io", "AzureManagedControlPlane", "version", "version"),
        (
            "infrastructure.cluster.x-k8s.io",
            "GCPManagedControlPlane",
            "controlPlaneVersion",
            "currentVersion",
        ),
    ] {
        let object = |version: &str| {
            format!(
                "apiVersion: {group}/v1beta1\nkind: {kind}\nmetadata: {{name: cp, namespace: org}}\nspec: {{{field}: {version}}}\n"
            )
        };
        let alive = format!("{}status: {{{status}: v1.35.1}}\n", object("v1.34.3"));
        let found = verdicts(&object("v1.34.3"), &alive);
        assert!(found[0].contains("VersionBelowLive"), "{kind}: {found:?}");
        let found = verdicts(&object("v1.37.0"), &alive);
        assert!(found[0].contains("SkipsMinor"), "{kind}: {found:?}");
    }
    let topology = |version: &str| {
        format!(
            "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {{name: t1, namespace: org}}\nspec: {{topology: {{classRef: {{name: fast}}, version: {version}}}}}\n"
        )
    };
    let class = "---\napiVersion: cluster.x-k8s.io/v1beta2\nkind: ClusterClass\nmetadata: {name: fast, namespace: org}\n";
    let alive = format!(
        "{}status: {{controlPlane: {{versions: [{{version: v1.35.1, replicas: 1}}]}}, workers: {{versions: [{{version: v1.34.3, replicas: 2}}]}}}}\n{class}",
        topology("v1.35.1")
    );
    assert_eq!(verdicts(&topology("v1.35.1"), &alive), Vec::<String>::new());
    assert_eq!(verdicts(&topology("v1.36.0"), &alive), Vec::<String>::new());
    assert!(verdicts(&topology("v1.34.3"), &alive)[0].contains("VersionBelowLive"));
    assert!(verdicts(&topology("v1.37.0"), &alive)[0].contains("SkipsMinor"));
    // Cluster API goes through the versions that a class lists, or that a runtime extension plans.
    for class in [
        "kubernetesVersions: [v1.35.1, v1.36.0, v1.37.0]",
        "upgrade: {external: {generateUpgradePlanExtension: plan.upgrades}}",
    ] {
        let alive = format!("{alive}spec: {{{class}}}\n");
        assert_eq!(verdicts(&topology("v1.37.0"), &alive), Vec::<String>::new(), "{class}");
    }
    let gap = format!("{alive}spec: {{kubernetesVersions: [v1.35.1, v1.37.0]}}\n");
    assert!(verdicts(&topology("v1.37.0"), &gap)[0].contains("SkipsMinor"));
}

#[test]
fn a_reference_to_nothing_is_refused_in_both_api_versions() {
    let v1beta2 = "\
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: cp, namespace: org}
spec:
  machineTemplate:
    spec:
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: cp-a}
";
    let v1beta1 = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachinePool
metadata: {name: mp, namespace: org}
spec:
  template:
    spec:
      bootstrap:
        configRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta1, kind: KubeadmConfig, name: mp}
      infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: DevMachinePool, name: mp}
";
    let template = |name: &str| {
        format!(
            "---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: DevMachineTemplate\nmetadata: {{name: {name}, namespace: org}}\n"
        )
    };
    assert_eq!(
        verdicts(v1beta2, ""),
        [
            "/spec/machineTemplate/spec/infrastructureRef/name MissingReference KubeadmControlPlane org/cp names DevMachineTemplate cp-a, which is neither rendered here nor live: correct the name or add the object"
        ]
    );
    assert_eq!(verdicts(&format!("{v1beta2}{}", template("cp-a")), ""), Vec::<String>::new(), "rendered");
    assert_eq!(verdicts(v1beta2, &template("cp-a")), Vec::<String>::new(), "live");
    let going = template("cp-a").replace("namespace: org", "namespace: org, deletionTimestamp: now");
    assert_eq!(
        verdicts(v1beta2, &going),
        [
            "/spec/machineTemplate/spec/infrastructureRef/name MissingReference KubeadmControlPlane org/cp names DevMachineTemplate cp-a, which is being deleted: name another one, or add it again when it is gone"
        ]
    );
    let found = verdicts(v1beta1, "");
    assert_eq!(found.len(), 2, "{found:?}");
    let missing = named_outside(&objects(v1beta1));
    let missing: Vec<String> = missing.iter().map(|id| format!("{}/{id}", id.group)).collect();
    assert_eq!(
        missing,
        [
            "bootstrap.cluster.x-k8s.io/KubeadmConfig org/mp",
            "infrastructure.cluster.x-k8s.io/DevMachinePool org/mp"
        ]
    );
}

#[test]
fn nothing_is_recreated_below_a_cluster_that_is_being_deleted() {
    let cluster =
        "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: c, namespace: org}\n";
    let going = cluster.replace("namespace: org", "namespace: org, deletionTimestamp: now");
    let found = guards(&objects(cluster), &live(&going));
    assert_eq!(
        found[0].to_string(),
        "Cluster org/c is being deleted, although Git still has it: Capstan applies nothing until it is gone"
    );
    assert!(found[0].is_waiting());
    assert_eq!(guards(&objects(cluster), &live(cluster)), []);
}

/// A cluster `c` that names a control plane, with that control plane under it.
fn cluster(name: &str, version: &str) -> String {
    format!(
        "{}---\n{}",
        pointed_at(name),
        control_plane(version).replace("name: cp,", &format!("name: {name},"))
    )
}

fn pointed_at(name: &str) -> String {
    format!(
        "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {{name: c, namespace: org}}\nspec: {{controlPlaneRef: {{apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: {name}}}}}\n"
    )
}

/// A machine of the cluster `c`.
fn machine(name: &str, version: &str, label: &str) -> String {
    format!(
        "---\napiVersion: cluster.x-k8s.io/v1beta2\nkind: Machine\nmetadata: {{name: {name}, namespace: org, labels: {{cluster.x-k8s.io/cluster-name: c{label}}}}}\nspec: {{clusterName: c, version: {version}}}\n"
    )
}

/// The same as [`verdicts`], where all machines were read.
fn with_machines(base: &str, alive: &str) -> Vec<String> {
    let mut live = live(alive);
    live.listed("cluster.x-k8s.io", "Machine");
    let found = guards(&objects(base), &live);
    found
        .iter()
        .map(|broken| format!("{} {} {}", broken.object.kind, broken.field, broken.reason()))
        .collect()
}

const PLANE: &str = ", cluster.x-k8s.io/control-plane: ''";

#[test]
fn a_control_plane_under_another_name_is_held_against_the_machines() {
    let replaced = "Cluster /spec/controlPlaneRef/name ControlPlaneReplaced".to_owned();
    let version = |reason: &str| format!("KubeadmControlPlane /spec/version {reason}");
    let machines =
        |plane: &str, worker: &str| format!("{}{}", machine("m-0", plane, PLANE), machine("m-1", worker, ""));
    let old = |machines: &str| format!("{}{machines}", cluster("cp", "v1.35.1"));
    for (wanted, machines, expected) in [
        ("v1.35.1", machines("v1.35.1", "v1.35.1"), vec![replaced.clone()]),
        ("v1.36.0", machines("v1.35.1", "v1.35.1"), vec![replaced.clone()]),
        // The way round the guard of versions.
        ("v1.34.3", machines("v1.35.1", "v1.35.1"), vec![replaced.clone(), version("VersionBelowLive")]),
        ("v1.37.0", machines("v1.35.1", "v1.35.1"), vec![replaced.clone(), version("SkipsMinor")]),
        ("new", machines("v1.35.1", "v1.35.1"), vec![replaced, version("NoVersion")]),
        // Its machines are gone; those of the workers stay, and have to bear the new one.
        ("v1.35.1", machine("m-1", "v1.35.1", ""), vec![]),
        ("v1.35.0", machine("m-1", "v1.35.1", ""), vec![]),
        ("v1.34.3", machine("m-1", "v1.35.1", ""), vec![version("VersionBelowLive")]),
        ("v1.38.0", machine("m-1", "v1.35.1", ""), vec![]),
        ("v1.39.0", machine("m-1", "v1.35.1", ""), vec![version("LeavesWorkersBehind")]),
        ("v1.20.0", String::new(), vec![]),
    ] {
        assert_eq!(with_machines(&cluster("new", wanted), &old(&machines)), expected, "{wanted} {machines}");
    }
    // What the old one says still runs counts too.
    let old =
        old("").replace("spec: {version: v1.35.1}", "spec: {version: v1.35.1}\nstatus: {version: v1.35.1}");
    assert_eq!(with_machines(&cluster("new", "v1.34.3"), &old), [version("VersionBelowLive")]);
    // It was not read whether there are machines.
    assert_eq!(verdicts(&cluster("new", "v1.35.1"), &cluster("cp", "v1.35.1")).len(), 1);
    // A control plane that a hand has deleted from beneath its machines, made again in another version.
    let orphans = format!("{}{}", pointed_at("cp"), machine("m-0", "v1.35.1", PLANE));
    assert_eq!(with_machines(&cluster("cp", "v1.34.3"), &orphans), [version("VersionBelowLive")]);
    assert_eq!(with_machines(&cluster("cp", "v1.35.1"), &orphans), [""; 0]);
    let alive = format!("{}{}", cluster("cp", "v1.35.1"), machine("m-0", "v1.35.1", PLANE));
    assert_eq!(with_machines(&cluster("cp", "v1.35.1"), &alive), [""; 0], "as it was");
    let mut all = live(&alive);
    all.listed("cluster.x-k8s.io", "Machine");
    assert_eq!(
        guards(&objects(&cluster("new", "v1.35.1")), &all)[0].to_string(),
        "Cluster org/c would leave KubeadmControlPlane cp, and 1 machine depends on it. Another control plane starts without them: name KubeadmControlPlane cp again"
    );
}

#[test]
fn a_cluster_is_not_pointed_at_a_control_plane_that_lives_elsewhere() {
    let of = |owner: &str| {
        control_plane("v1.35.1").replace(
            "name: cp, namespace: org",
            &format!("name: other, namespace: org, labels: {{cluster.x-k8s.io/cluster-name: {owner}}}"),
        )
    };
    let other =
        "---\napiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: d, namespace: org}\n";
    let of_another = "Cluster /spec/controlPlaneRef/name ControlPlaneOfAnother";
    let plane = machine("m-0", "v1.35.1", PLANE);
    let alive = |owner: &str| format!("{}{plane}---\n{}{other}", cluster("cp", "v1.35.1"), of(owner));
    let pointed = pointed_at("other");
    assert_eq!(
        with_machines(&pointed, &alive("d")),
        [of_another, "Cluster /spec/controlPlaneRef/name ControlPlaneReplaced"]
    );
    // A new Cluster over the control plane of one that lives.
    assert_eq!(with_machines(&pointed, &format!("{}{other}", of("d"))), [of_another]);
    assert_eq!(with_machines(&pointed, &of("c")), [""; 0], "its own");

    // Git drops the reference that Capstan applied.
    let bare = "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: c, namespace: org}\n";
    let ours = "namespace: org, managedFields: [{manager: capstan, operation: Apply, fieldsV1: {'f:spec': {'f:controlPlaneRef': {}}}}]}\nspec";
    let old = format!("{}{plane}", cluster("cp", "v1.35.1"));
    let applied = old.replacen("namespace: org}\nspec", ours, 1);
    assert_ne!(applied, old);
    assert_eq!(with_machines(bare, &applied), ["Cluster /spec/controlPlaneRef/name ControlPlaneReplaced"]);
    assert_eq!(with_machines(bare, &old), [""; 0], "somebody else's stays");
    let topology = format!("{bare}spec: {{topology: {{version: v1.35.1}}}}\n");
    assert_eq!(with_machines(&topology, &applied), [""; 0], "the topology controller names it");
}

#[test]
fn a_broken_guard_says_where_it_was_written() {
    let found = guards(&objects(&control_plane("v1.33.0")), &live(&live_control_plane("v1.34.3", "{}")));
    assert_eq!(found[0].written.to_string(), "c/base/a.yaml:4:17");
}

/// Every combination of a render, a live object and its machines: what passes never goes back and never leaves out a
/// minor, neither from what is asked for nor from what runs.
#[test]
fn whatever_passes_goes_forward_by_one_minor_at_most() {
    let minors = 33..38_u32;
    let mut passed = 0;
    for (wanted, spec) in minors.clone().flat_map(|wanted| minors.clone().map(move |spec| (wanted, spec))) {
        for (low, high) in minors.clone().flat_map(|low| (low..38).map(move |high| (low, high))) {
            let status = format!(
                "{{version: v1.{low}.0, versions: [{{version: v1.{low}.0, replicas: 1}}, {{version: v1.{high}.0, replicas: 1}}]}}"
            );
            let alive = live_control_plane(&format!("v1.{spec}.0"), &status);
            let passes = verdicts(&control_plane(&format!("v1.{wanted}.0")), &alive).is_empty();
            let back = wanted < spec.max(high);
            let nothing_new = wanted == spec;
            let leaves_out = wanted > spec + 1 || wanted > low + 1;
            assert_eq!(
                passes,
                !back && (nothing_new || !leaves_out),
                "{wanted} over {spec}, {low} to {high} run"
            );
            passed += u32::from(passes);
        }
    }
    // Unchanged versions pass in 1*5 + 2*4 + 3*3 + 4*2 + 5*1 ways; one minor on, in three from each of four.
    assert_eq!(passed, 35 + 12);
}
