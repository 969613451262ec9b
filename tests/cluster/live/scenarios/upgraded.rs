//! One minor up, workers after the control plane; then Git goes back, and somebody goes ahead by hand: the versions
//! that run are never lowered.

use super::super::sample::Sample;
use super::super::town::{LONG, SHORT, Town};
use super::super::waiting::{holds, until};

pub(super) fn play(town: &Town<'_>, cluster: &Sample) {
    town.wait_until_done_at_first(cluster);
    upgraded(town, cluster);
    reverted(town, cluster);
    raised_by_hand(town, cluster);
}

fn upgraded(town: &Town<'_>, cluster: &Sample) {
    let newer = Sample { kubernetes: "v1.35.1".to_owned(), ..cluster.clone() };
    town.push("main", "Release upgraded/v1.1.0", &newer.release("v1.1.0"));
    let proposal = town.proposal(cluster, "v1.1.0");
    town.wait_for_check(proposal.number, "capstan", "success", SHORT);
    assert_eq!(town.prediction(proposal.number).machines(), 3, "{}", proposal.body);
    let old: Vec<_> = town.machines(cluster);
    town.merge_and_compare("upgraded by one minor", cluster, proposal.number, "v1.35.1");
    town.wait_for_check(proposal.number, "capstan/rollout", "success", SHORT);

    // Workers were held back until no control plane machine of the old version was left.
    let audit = town.ground.plane.audit();
    let namespace = cluster.namespace();
    let control_plane = old.iter().find(|machine| machine.owner.starts_with("Kubeadm")).unwrap();
    let gone = audit.iter().filter(|request| {
        request.verb == "delete" && request.resource == "machines" && request.name == control_plane.name
    });
    let gone = gone.map(|request| request.at).min().unwrap();
    let sent = audit.iter().filter(|request| {
        request.is_write()
            && request.impersonated.is_some()
            && request.namespace == namespace
            && request.resource == "machinedeployments"
            && request.body["spec"]["template"]["spec"]["version"] == "v1.35.1"
    });
    let sent = sent.map(|request| request.at).min().unwrap();
    assert!(gone < sent, "workers were sent at {sent}, the old control plane went at {gone}");
}

/// The merge is reverted on the default branch.
fn reverted(town: &Town<'_>, cluster: &Sample) {
    let before = town.machines(cluster);
    town.push("main", "Revert", &cluster.folder());
    let said = town.wait_until_refused(cluster, "v1.34.3");
    assert!(said.contains("v1.35.1"), "{said}");
    assert_eq!(town.machines(cluster), before, "machines changed");
}

/// Somebody raises the live version by hand: Git is now behind, and stays refused.
fn raised_by_hand(town: &Town<'_>, cluster: &Sample) {
    let namespace = cluster.namespace();
    let name = format!("{}-cp", cluster.name);
    let newer = Sample { kubernetes: "v1.35.1".to_owned(), ..cluster.clone() };
    let commit = town.push("main", "As it runs", &newer.folder());
    town.wait_until_done(cluster, "v1.35.1", &commit);
    town.ground.plane.kubectl(&[
        "patch",
        "kubeadmcontrolplane",
        "-n",
        &namespace,
        &name,
        "--type=merge",
        "-p",
        r#"{"spec":{"version":"v1.35.4"}}"#,
    ]);
    let said = town.wait_until_refused(cluster, "v1.35.4");
    assert!(said.contains("v1.35.1"), "{said}");
    until("the control plane at the version set by hand", LONG, || {
        let machines = town.machines(cluster);
        let raised = machines.iter().any(|machine| {
            machine.owner.starts_with("Kubeadm") && machine.version == "v1.35.4" && machine.has_node
        });
        holds(raised, || format!("{machines:?}"))
    });
    let live = town.ground.world.object("KubeadmControlPlane", &namespace, &name).unwrap();
    assert_eq!(live["spec"]["version"], "v1.35.4");
}
