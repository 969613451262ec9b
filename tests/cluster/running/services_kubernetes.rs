//! Services that do not allow the Kubernetes that their cluster is to have.

use capstan_live::services::ServiceState;
use capstan_reconciler::reconcile::ReconcileEnd;

use super::adopting::with_machines;
use super::services::{CILIUM, come_up, named, states};
use super::world::World;

#[tokio::test]
async fn a_control_plane_waits_while_a_service_does_not_allow_its_coming_minor() {
    let world = World::new();
    let allows = |minors: &str| {
        let check = format!("[{minors}].exists(minor, kubernetesVersion.startsWith(minor))");
        let entry = "{name: cilium, role: cni, from: {folder: services/cilium}";
        world.write("gauss/peu01/capstan.yaml", &format!("services:\n- {entry}, checks: [\"{check}\"]}}\n"));
    };
    with_machines(&world, "v1.35.1", "one");
    world.write("gauss/peu01/services/cilium/cilium.yaml", CILIUM);
    allows("'v1.35.'");
    world.reconcile("gauss/peu01").await;
    let workload = come_up(&world, "peu01");
    world.reconcile("gauss/peu01").await;
    workload.take_writes();
    world.live.take_writes();

    // Merged although its proposal was a draft: only the control plane waits, and the network is applied.
    with_machines(&world, "v1.36.0", "one");
    world.write("gauss/peu01/services/cilium/cilium.yaml", &CILIUM.replace("v1.16.0", "v1.17.0"));
    for applied in [&["apply DaemonSet kube-system/cilium"][..], &[]] {
        let outcome = world.reconcile("gauss/peu01").await;
        let ReconcileEnd::Waiting(reasons) = &outcome.ended else { unreachable!("{:?}", outcome.ended) };
        assert_eq!((reasons.len(), reasons[0].kind), (1, "KubernetesNotAllowed"));
        assert_eq!(
            reasons[0].line(),
            "gauss/peu01/base/all.yaml:7: KubeadmControlPlane org/peu01-cp: service cilium does not allow Kubernetes v1.36.0: the check `['v1.35.'].exists(minor, kubernetesVersion.startsWith(minor))` is false. The control plane waits until its entry in the cluster's capstan.yaml allows that version"
        );
        assert_eq!(workload.take_writes(), applied);
        assert_eq!(world.live.take_writes(), [""; 0]);
    }
    assert!(
        world.status("gauss-peu01").withheld[0]
            .starts_with("KubeadmControlPlane org/peu01-cp: service cilium")
    );

    allows("'v1.35.', 'v1.36.'");
    world.reconcile("gauss/peu01").await;
    assert_eq!(world.live.take_writes(), ["apply KubeadmControlPlane org/peu01-cp"]);
    assert_eq!(states(&world).len(), named([("cilium", ServiceState::Ready)]).len());

    // A newer patch of the current minor needs no service's permission.
    allows("'v1.37.'");
    with_machines(&world, "v1.36.1", "one");
    world.reconcile("gauss/peu01").await;
    assert_eq!(world.live.take_writes(), ["apply KubeadmControlPlane org/peu01-cp"]);
}
