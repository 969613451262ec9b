//! Several owners of one cluster.

use super::*;

#[test]
fn owners_come_and_go() {
    let both = format!("{CONTROL_PLANE}---\n{DEPLOYMENT}");
    let (one, two) = (rendered(CONTROL_PLANE), rendered(&both));
    assert_eq!(summary_of(&rollouts(&two, &one, AppliedBy::Others)), "5 offline [] 0/0/5");
    assert_eq!(summary_of(&rollouts(&one, &two, AppliedBy::Others)), "0 offline [/spec/replicas] 0/5/0");
}

#[test]
fn the_control_plane_goes_before_the_workers() {
    let tree =
        |version: &str| rendered(&format!("{CONTROL_PLANE}---\n{DEPLOYMENT}").replace("v1.30.2", version));
    let found = rollouts(&tree("v1.30.2"), &tree("v1.31.1"), AppliedBy::Reconciler);
    let orders: Vec<_> = found.iter().map(|one| (one.object.kind.as_str(), one.course.order)).collect();
    assert_eq!(orders, [("MachineDeployment", Some(2)), ("KubeadmControlPlane", Some(1))]);
    assert_eq!(found[0].course.notes[1], "Waits until the control plane is done.");
}

/// The preflight checks are the MachineSet controller's.
#[test]
fn nothing_holds_a_machine_pool_back() {
    let tree = |version: &str| {
        rendered(&format!("{CONTROL_PLANE}---\n{DEPLOYMENT}---\n{POOL}").replace("v1.30.2", version))
    };
    let found = rollouts(&tree("v1.30.2"), &tree("v1.31.1"), AppliedBy::Others);
    let of = |kind: &str| found.iter().find(|one| one.object.kind == kind).unwrap().course.notes.join(" ");
    assert!(of("MachineDeployment").contains("they hold back new workers"));
    assert!(!of("MachinePool").contains("preflight"), "{}", of("MachinePool"));
    assert!(of("MachinePool").contains("Its kubelets may be newer than the API server"));
}

/// `KubeadmVersionSkew`: of the minor of their control plane alone.
#[test]
fn kubeadm_workers_of_an_older_minor_get_no_machine() {
    let tree = |control_plane: &str, workers: &str, more: &str| {
        let plane = CONTROL_PLANE.replace("v1.30.2", control_plane);
        let workers = DEPLOYMENT
            .replace("v1.30.2", workers)
            .replace("namespace: org}", &format!("namespace: org{more}}}"));
        rendered(&format!("{plane}---\n{workers}"))
    };
    let notes = |before: &[RenderedObject], after: &[RenderedObject], kind: &str| {
        let found = rollouts(before, after, AppliedBy::Others);
        let of_kind = found.iter().find(|one| one.object.kind == kind);
        of_kind.map(|one| one.course.notes.join(" ")).unwrap_or_default()
    };
    let none = "kubeadm joins machines to a control plane of their own minor alone. Cluster API makes no machine of these until they ask for Kubernetes 1.33.";
    let skip = ", annotations: {machineset.cluster.x-k8s.io/skip-preflight-checks: All}";
    for (was, is, more, is_said) in [
        ("v1.31.1", "v1.32.1", "", true),
        ("v1.32.1", "v1.33.1", "", false),
        ("v1.31.1", "v1.32.1", skip, false),
    ] {
        let found = notes(&tree("v1.33.1", was, more), &tree("v1.33.1", is, more), "MachineDeployment");
        assert_eq!(found.contains(none), is_said, "{was} {is} {more}: {found}");
    }
    let scaled = tree("v1.33.1", "v1.32.1", "");
    let more = rendered(
        &format!(
            "{}---\n{}",
            CONTROL_PLANE.replace("v1.30.2", "v1.33.1"),
            DEPLOYMENT.replace("v1.30.2", "v1.32.1")
        )
        .replace("replicas: 5", "replicas: 7"),
    );
    assert!(notes(&scaled, &more, "MachineDeployment").contains(none));
    // The control plane alone is upgraded: its own note says so.
    let left = "MachineDeployment org/md keeps running Kubernetes v1.32.1, but cannot grow or replace a machine until it asks for 1.33.";
    for (from, more, is_said) in [("v1.32.1", "", true), ("v1.33.0", "", false), ("v1.32.1", skip, false)] {
        let found =
            notes(&tree(from, "v1.32.1", more), &tree("v1.33.1", "v1.32.1", more), "KubeadmControlPlane");
        assert_eq!(found.contains(left), is_said, "{from} {more}: {found}");
    }
    let both = [tree("v1.32.1", "v1.32.1", skip), tree("v1.33.1", "v1.33.1", skip)];
    let found = notes(&both[0], &both[1], "MachineDeployment");
    assert!(
        found.contains("an annotation skips the preflight checks that would hold back new workers"),
        "{found}"
    );
}
