//! A cluster with a managed topology: one version in Git, machines that the topology controller makes.

use std::collections::BTreeSet;

use super::super::sample::Sample;
use super::super::setting::slower_workers_of_class;
use super::super::town::{LONG, SHORT, Town, brief};
use super::super::waiting::{holds, until};
use capstan_test_parts::plane::reconciler::HOME;
use capstan_test_parts::plane::world::Machine;

pub(super) fn play(town: &Town<'_>, cluster: &Sample) {
    town.wait_until_done_at_first(cluster);
    let newer = Sample { kubernetes: "v1.35.1".to_owned(), ..cluster.clone() };
    town.push("main", "Release topology/v1.1.0", &newer.release("v1.1.0"));
    let proposal = town.proposal(cluster, "v1.1.0");
    town.wait_for_check(proposal.number, "capstan", "success", SHORT);
    assert_eq!(town.prediction(proposal.number).machines(), 3, "{}", proposal.body);
    town.merge_and_compare("a topology upgraded", cluster, proposal.number, "v1.35.1");
    town.wait_for_check(proposal.number, "capstan/rollout", "success", SHORT);
    class_edited(town, &newer);
}

/// Somebody gives the class other workers. The `Cluster` gets no other generation by that, and all of it is green
/// until the topology controller has come round: Capstan, asked just then, must not say that it is done.
fn class_edited(town: &Town<'_>, cluster: &Sample) {
    let names = |machines: Vec<Machine>| -> BTreeSet<String> {
        machines.into_iter().map(|machine| machine.name).collect()
    };
    let (plane, namespace) = (&town.ground.plane, cluster.namespace());
    let before = names(town.machines(cluster));
    let managed = town.managed(cluster).unwrap()["metadata"]["name"].as_str().unwrap().to_owned();
    let (template, edit) = slower_workers_of_class(&namespace);
    plane.apply(&template);
    plane.kubectl(&["patch", "clusterclass", "in-memory", "-n", &namespace, "--type=json", "-p", edit]);
    plane.kubectl(&["annotate", "managedcluster", &managed, "-n", HOME, "capstan.dev/reconcile=now"]);
    let status = || town.managed(cluster).map(|managed| managed["status"].clone());
    until("the edited class is no longer called done", SHORT, || {
        let status = status()?;
        holds(status["rollout"]["state"] != "Done", || brief(&status))
    });
    // The status is read before the machines: what it says must be true of them.
    until("the workers of the edited class are done", LONG, || {
        let status = status()?;
        let is_done = status["rollout"]["state"] == "Done";
        let now = names(town.machines(cluster));
        let left = now.intersection(&before).count();
        assert!(!is_done || (now.len(), left) == (3, 1), "done too early: {}, {now:?}", brief(&status));
        holds(is_done, || brief(&status))
    });
}
