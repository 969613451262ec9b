use super::*;

#[test]
fn a_topology_is_done_when_all_that_its_controller_made_is() {
    let (green, old) = (topology([NEW, NEW]), topology([OLD, OLD]));
    let plane = owned(&control_plane(DONE), None);
    let workers = owned(&deployment(DONE), None);
    let rolling_workers = owned(&deployment(BEGUN), None);
    let old_workers = owned(&deployment(BEFORE), None);
    let upgrading = json!("Cluster is upgrading to v1.35.1\n  * KubeadmControlPlane upgrading");
    let upgrading =
        [("/status/conditions/0/status", json!("False")), ("/status/conditions/0/message", upgrading)];
    let unseen = with(&green, &[("/status/conditions/0/observedGeneration", json!(3))]);
    let chained = with(&green, &[("/status/workers/upgradePlan", json!([{"version": "v1.37.0"}]))]);
    for (what, cluster, parts, state) in [
        ("all done", &green, vec![&plane, &workers], RolloutProgress::Done),
        (
            "green at the first look, versions still old",
            &old,
            vec![&plane, &workers],
            RolloutProgress::Rolling,
        ),
        ("the topology controller has not looked", &unseen, vec![&plane, &workers], RolloutProgress::Rolling),
        ("upgrading", &with(&green, &upgrading), vec![&plane, &workers], RolloutProgress::Rolling),
        (
            "between control plane and workers",
            &green,
            vec![&plane, &rolling_workers],
            RolloutProgress::Rolling,
        ),
        ("a group still to go", &green, vec![&plane, &old_workers], RolloutProgress::Rolling),
        ("more to come in a chain", &chained, vec![&plane, &workers], RolloutProgress::Rolling),
        ("nobody read the control plane", &green, vec![&workers], RolloutProgress::Unknown),
    ] {
        let all: Vec<&Value> = [cluster].into_iter().chain(parts).collect();
        let found = verdict(TOPOLOGY, &all, "10:00:30");
        assert_eq!(found.state, state, "{what}: {:?}", found.owners);
        assert_eq!(found.owners[0].kind, OwnerKind::ControlPlane);
    }
    assert_eq!(
        said(TOPOLOGY, &[&with(&old, &upgrading), &plane, &workers], "10:00:30").1,
        "Cluster is upgrading to v1.35.1 * KubeadmControlPlane upgrading"
    );
}

/// Nothing rolls, and the verdict does not say that it does.
#[test]
fn a_topology_that_its_controller_cannot_reconcile_waits_and_then_is_stuck() {
    let failing = |reason: &str| {
        with(
            &topology([NEW, NEW]),
            &[
                ("/status/conditions/0/status", json!("False")),
                ("/status/conditions/0/reason", json!(reason)),
                (
                    "/status/conditions/0/message",
                    json!("error reading the ClusterClass: DevMachineTemplate not found"),
                ),
            ],
        )
    };
    let (plane, workers) = (owned(&control_plane(DONE), None), owned(&deployment(DONE), None));
    let words = "error reading the ClusterClass: DevMachineTemplate not found".to_owned();
    for reason in ["ReconcileFailed", "TopologyReconcileFailed", "ClusterClassNotReconciled"] {
        let cluster = failing(reason);
        let all = [&cluster, &plane, &workers];
        assert_eq!(said(TOPOLOGY, &all, "10:00:59"), (RolloutProgress::Waiting, words.clone()));
        // Cluster API calls the Cluster unavailable for it.
        for (lacks, state) in [
            (format!("* TopologyReconciled: {words}"), RolloutProgress::Waiting),
            (format!("* TopologyReconciled: {words}\n* WorkersAvailable: 0 of 1"), RolloutProgress::Rolling),
        ] {
            let unavailable = [
                ("/status/conditions/2/status", json!("False")),
                ("/status/conditions/2/message", json!(lacks)),
            ];
            let cluster = with(&cluster, &unavailable);
            assert_eq!(verdict(TOPOLOGY, &[&cluster, &plane, &workers], "10:00:59").state, state);
        }
        let held = (at("10:00:00"), id("cluster.x-k8s.io/Cluster org/c"), words.clone());
        assert_eq!(stuck(TOPOLOGY, &all, "10:01:00"), held);
        let rolling = owned(&deployment(BEGUN), None);
        assert_eq!(
            said(TOPOLOGY, &[&cluster, &plane, &rolling], "10:00:59"),
            (RolloutProgress::Rolling, words.clone())
        );
    }
}
