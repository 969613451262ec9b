//! Several owners of one cluster.

use super::*;

#[test]
fn owners_come_and_go() {
    let both = format!("{CONTROL_PLANE}---\n{DEPLOYMENT}");
    let (one, two) = (rendered(CONTROL_PLANE), rendered(&both));
    assert_eq!(told(&rollouts(&two, &one, AppliedBy::Others)), "5 offline [] 0/0/5");
    assert_eq!(told(&rollouts(&one, &two, AppliedBy::Others)), "0 offline [/spec/replicas] 0/5/0");
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
