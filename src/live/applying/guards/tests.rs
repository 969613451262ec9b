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
            "/spec/version VersionBelowLive KubeadmControlPlane org/cp would go back from Kubernetes {live}, which is live, to {wanted}: Kubernetes cannot be downgraded; write {live} or newer"
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
            vec!["/spec/version NoVersion KubeadmControlPlane org/cp asks for Kubernetes `not-a-version`, which is no version, while v1.34.3 is live: write a version".to_owned()],
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
                "/spec/version SkipsMinor KubeadmControlPlane org/cp would go from Kubernetes v1.34.3, which is live, to v1.36.0, and Kubernetes is upgraded one minor at a time: go to a version of 1.35 first",
            ],
        ),
        // The step is one minor, and the last one is not through: it waits.
        (
            "v1.36.0",
            "v1.35.1",
            "{version: v1.34.3, versions: [{version: v1.34.3, replicas: 2}, {version: v1.35.1, replicas: 1}]}",
            vec![
                "/spec/version StillRolling KubeadmControlPlane org/cp waits with Kubernetes v1.36.0: machines of v1.34.3 still run, and Kubernetes is upgraded one minor at a time",
            ],
        ),
        // What stands there already is not set anew.
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
    // A class that lists its versions is gone through by Cluster API itself.
    let chained = format!("{alive}spec: {{kubernetesVersions: [v1.35.1, v1.36.0, v1.37.0]}}\n");
    assert_eq!(verdicts(&topology("v1.37.0"), &chained), Vec::<String>::new());
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
            "/spec/machineTemplate/spec/infrastructureRef/name MissingReference KubeadmControlPlane org/cp names DevMachineTemplate cp-a, which is being deleted: name another one, or render it anew once it is gone"
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
fn nothing_is_made_anew_beneath_a_cluster_that_somebody_deletes() {
    let cluster =
        "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: c, namespace: org}\n";
    let going = cluster.replace("namespace: org", "namespace: org, deletionTimestamp: now");
    let found = guards(&objects(cluster), &live(&going));
    assert_eq!(
        found[0].to_string(),
        "Cluster org/c is being deleted, though Git still has it: nothing is applied until it is gone"
    );
    assert!(found[0].is_waiting());
    assert_eq!(guards(&objects(cluster), &live(cluster)), []);
}

#[test]
fn a_broken_guard_says_where_it_was_written() {
    let found = guards(&objects(&control_plane("v1.33.0")), &live(&live_control_plane("v1.34.3", "{}")));
    assert_eq!(found[0].written.to_string(), "c/base/a.yaml:4:17");
}

/// Every way in which a render, a live object and its machines can stand to one another: what passes never
/// goes back and never leaves out a minor, neither from what is asked for nor from what runs.
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
    // What stands there already, in 1*5 + 2*4 + 3*3 + 4*2 + 5*1 ways; one minor on, in three from each of four.
    assert_eq!(passed, 35 + 12);
}
