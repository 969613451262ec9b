//! Nothing moves until a person does something, or a time comes: a wait, and never stuck.

use super::*;

const UNSEEN: Row = Row((2, 1), OLD, (1, 1, 1), Says::Quiet(1));

#[test]
fn what_a_person_holds_back_is_a_wait_and_never_stuck() {
    let paused = "paused: nothing happens until somebody removes the pause";
    let plane = with(
        &control_plane(UNSEEN),
        &[("/metadata/annotations", json!({"cluster.x-k8s.io/paused": "true"}))],
    );
    let cluster = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
        "metadata": {"name": "c", "namespace": "org"}, "spec": {"paused": true}});
    let on_delete = with(&deployment(BEGUN), &[("/spec/rollout", json!({"strategy": {"type": "OnDelete"}}))]);
    for (rendered, live, words) in [
        (CONTROL_PLANE, vec![&plane], paused),
        (DEPLOYMENT, vec![&deployment(UNSEEN), &cluster], paused),
        (DEPLOYMENT, vec![&on_delete], "`OnDelete`: 1 machines are replaced when somebody deletes them"),
    ] {
        assert_eq!(said(rendered, &live, "23:00:00"), (RolloutProgress::Waiting, words.to_owned()));
    }
}

/// Where v1beta2 and v1beta1 have it.
fn at_time(object: &Value, field: &str, time: &str) -> Value {
    with(object, &[(field, json!(format!("2026-11-21T{time}Z")))])
}

/// Two machines of a control plane and of workers. A machine of workers is as old as its set.
fn plane_and_workers(after: &str, set_made: &str) -> [Value; 4] {
    let set = with(
        &machine_set("md-a", "cp-b"),
        &[("/metadata/creationTimestamp", json!(format!("2026-11-21T{set_made}Z")))],
    );
    [
        at_time(&control_plane(DONE), "/spec/rollout/after", after),
        at_time(&deployment(DONE), "/spec/rollout/after", after),
        set,
        running("md-a-1", ("MachineSet", "md-a"), "10:00:10"),
    ]
}

#[test]
fn machines_that_a_time_to_come_will_replace_are_waited_for_until_then() {
    let [plane, workers, set, of_workers] = plane_and_workers("12:00:00", "09:00:00");
    let of_plane = running("cp-1", PLANE, "09:00:00");
    let both = format!("{CONTROL_PLANE}---\n{DEPLOYMENT}");
    let all = [&plane, &workers, &set, &of_workers, &of_plane];
    let words = "rollout.after: its machines are replaced from 2026-11-21T12:00:00Z on; until then all are up to date, and it waits";
    for now in ["10:00:30", "11:59:59"] {
        let found = verdict(&both, &all, now);
        let each: Vec<_> = found.owners.iter().map(|owner| (owner.state, owner.words.as_deref())).collect();
        assert_eq!(each, [(RolloutProgress::Waiting, Some(words)); 2], "{now}");
        assert!(found.machines.iter().all(|machine| machine.age == MachineAge::New), "as wished for now");
        // Nothing checks it before, and nothing waits for it: outdated templates are deleted.
        assert_eq!(
            (found.put_off_until(), found.state_for_now()),
            (Some(at("12:00:00")), RolloutProgress::Done)
        );
        assert_eq!(found.sentence(), format!("MachineDeployment org/md: waiting: {words}"));
    }
    // Then they are old, whatever their controllers said before, and stuck only when nothing moves after that.
    let found = verdict(&both, &all, "12:00:00");
    // Cluster API sees it at its resync: nothing may move until then, and the words say so.
    let words = "1 machine is yet to be replaced: rollout.after, 2026-11-21T12:00:00Z, has come";
    let until_resync = format!("{words}; Cluster API looks at its next resync, by 2026-11-21T12:10:00Z");
    for owner in &found.owners {
        assert_eq!(
            (owner.state, owner.words.as_deref()),
            (RolloutProgress::Rolling, Some(until_resync.as_str()))
        );
    }
    assert_eq!(found.sentence(), format!("MachineDeployment org/md: rolling: {until_resync}"));
    assert!(found.machines.iter().all(|machine| machine.age == MachineAge::Old));
    assert_eq!((found.put_off_until(), found.state_for_now()), (None, RolloutProgress::Rolling));
    assert_eq!(verdict(&both, &all, "12:09:59").state, RolloutProgress::Rolling);
    let workers = id("cluster.x-k8s.io/MachineDeployment org/md");
    assert_eq!(stuck(&both, &all, "12:10:00"), (at("12:00:00"), workers, words.to_owned()));
}

#[test]
fn machines_older_than_a_time_that_is_over_are_old() {
    // When machines of the control plane and the set of workers were made, beside a time of 09:30.
    for (made, state) in [
        ("09:00:00", RolloutProgress::Rolling),
        ("09:29:59", RolloutProgress::Rolling),
        ("09:30:00", RolloutProgress::Done),
    ] {
        let [plane, workers, set, of_workers] = plane_and_workers("09:30:00", made);
        let of_plane = running("cp-1", PLANE, made);
        assert_eq!(super::state(CONTROL_PLANE, &[&plane, &of_plane]), state, "{made}");
        assert_eq!(super::state(DEPLOYMENT, &[&workers, &set, &of_workers]), state, "{made}");
        // In v1beta1 it has another name.
        let in_v1beta1 = at_time(&control_plane(DONE), "/spec/rolloutAfter", "09:30:00");
        assert_eq!(super::state(CONTROL_PLANE, &[&in_v1beta1, &of_plane]), state, "{made}");
    }
    // Where a person replaces them, a person is waited for.
    let [_, workers, set, of_workers] = plane_and_workers("09:30:00", "09:00:00");
    let on_delete = with(&workers, &[("/spec/rollout/strategy", json!({"type": "OnDelete"}))]);
    assert_eq!(
        said(DEPLOYMENT, &[&on_delete, &set, &of_workers], "23:00:00"),
        (
            RolloutProgress::Waiting,
            "`OnDelete`: 1 machines are replaced when somebody deletes them".to_owned()
        )
    );
}

#[test]
fn a_time_counts_only_where_there_is_something_to_replace_and_where_it_is_applied() {
    let none = with(
        &deployment(Row((2, 2), NEW, (0, 0, 0), Says::Quiet(2))),
        &[("/spec/replicas", json!(0)), ("/status/versions", json!([]))],
    );
    let none = at_time(&none, "/spec/rollout/after", "12:00:00");
    let rendered = DEPLOYMENT.replace("replicas: 1", "replicas: 0");
    assert_eq!(state(&rendered, &[&none]), RolloutProgress::Done);

    let wished = DEPLOYMENT
        .replace("  replicas: 1\n", "  replicas: 1\n  rollout: {after: \"2026-11-21T13:00:00+01:00\"}\n");
    assert_eq!(
        said(&wished, &[&deployment(DONE)], "10:00:30"),
        (
            RolloutProgress::Waiting,
            "not applied yet: Git has 2026-11-21T12:00:00Z as rollout.after".to_owned()
        )
    );
    let applied = at_time(&deployment(DONE), "/spec/rollout/after", "12:00:00");
    assert_eq!(verdict(&wished, &[&applied], "10:00:30").put_off_until(), Some(at("12:00:00")));
}

#[test]
fn a_rollout_in_progress_is_not_put_off() {
    let plane = at_time(&control_plane(HALFWAY), "/spec/rollout/after", "12:00:00");
    let workers = at_time(&deployment(DONE), "/spec/rollout/after", "12:00:00");
    let both = format!("{CONTROL_PLANE}---\n{DEPLOYMENT}");
    let found = verdict(&both, &[&plane, &workers], "10:00:30");
    assert_eq!(
        (found.state, found.put_off_until(), found.state_for_now()),
        (RolloutProgress::Rolling, None, RolloutProgress::Rolling)
    );
}

#[test]
fn a_topology_waits_for_the_first_time_of_what_was_made_of_it() {
    let plane = owned(&at_time(&control_plane(DONE), "/spec/rollout/after", "12:00:00"), None);
    let workers = owned(&at_time(&deployment(DONE), "/spec/rollout/after", "11:00:00"), None);
    let cluster = topology([NEW, NEW]);
    let set = machine_set("md-a", "cp-b");
    let topologys =
        |machine: Value| with(&machine, &[("/metadata/labels/topology.cluster.x-k8s.io~1owned", json!(""))]);
    let of_plane = topologys(running("cp-1", PLANE, "09:00:00"));
    let of_workers = topologys(running("md-a-1", ("MachineSet", "md-a"), "09:00:00"));
    let all = [&cluster, &plane, &workers, &set, &of_plane, &of_workers];
    let found = verdict(TOPOLOGY, &all, "10:00:30");
    assert_eq!(
        (found.state, found.owners[0].words.as_deref(), found.put_off_until()),
        (
            RolloutProgress::Waiting,
            Some(
                "MachineDeployment org/md: rollout.after: its machines are replaced from 2026-11-21T11:00:00Z on; until then all are up to date, and it waits"
            ),
            Some(at("11:00:00"))
        )
    );
    let old = |now: &str| -> Vec<(String, MachineAge)> {
        let found = verdict(TOPOLOGY, &all, now);
        assert_eq!(found.state, RolloutProgress::Rolling);
        found.machines.into_iter().map(|machine| (machine.name, machine.age)).collect()
    };
    let (cp, md) = ("cp-1".to_owned(), "md-a-1".to_owned());
    assert_eq!(old("11:00:00"), [(cp.clone(), MachineAge::New), (md.clone(), MachineAge::Old)]);
    assert_eq!(old("12:00:00"), [(cp, MachineAge::Old), (md, MachineAge::Old)]);
}
