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
