use super::*;

/// Seen on a real management cluster under load: the deployment's controller has observed the new template and
/// counts by what the machines said before their own controller came round.
#[test]
fn a_deployment_is_not_done_while_its_machines_are_of_another_template_whatever_they_say() {
    let done = deployment(DONE);
    let of = |set: &str| running(&format!("{set}-x"), ("MachineSet", set), "09:00:00");
    let (old, new) = (machine_set("md-a", "cp-a"), machine_set("md-b", "cp-b"));
    for (set, state, age, words) in [
        ("md-a", RolloutProgress::Rolling, MachineAge::Old, "1 machine is yet to be replaced"),
        ("md-b", RolloutProgress::Done, MachineAge::New, ""),
    ] {
        let live = [&done, &old, &new, &of(set)];
        assert_eq!(said(DEPLOYMENT, &live, "10:00:30"), (state, words.to_owned()));
        assert_eq!(verdict(DEPLOYMENT, &live, "10:00:30").machines[0].age, age);
    }
}

#[test]
fn machines_are_old_or_new_and_the_replaced_ones_are_known_by_name() {
    let says =
        |status: &str| json!([{"type": "UpToDate", "status": status}, {"type": "Ready", "status": "True"}]);
    let going = with(
        &machine("cp-a", PLANE, "v1.34.3", "09:00:00", &says("False")),
        &[("/metadata/deletionTimestamp", json!("2026-11-21T10:00:20Z"))],
    );
    let (new, old) = (
        machine("cp-b", PLANE, VERSION, "10:00:10", &says("True")),
        machine("cp-c", PLANE, VERSION, "09:00:00", &says("False")),
    );
    let found = verdict(CONTROL_PLANE, &[&control_plane(HALFWAY), &going, &new, &old], "10:00:30");
    let seen: Vec<(&str, &str, MachineAge)> =
        found.machines.iter().map(|one| (one.name.as_str(), one.state.as_str(), one.age)).collect();
    assert_eq!(
        seen,
        [
            ("cp-a", "Deleting", MachineAge::Old),
            ("cp-b", "Provisioning", MachineAge::New),
            ("cp-c", "Provisioning", MachineAge::Old)
        ]
    );
}
