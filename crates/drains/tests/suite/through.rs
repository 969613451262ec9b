//! Rollouts that go through, and those that a timeout ends.

use capstan_drains::budgets::Refusal;
use capstan_drains::oracle::drains;
use capstan_drains::plan::{MachineGroup, Plan};
use capstan_drains::verdict::{StepEnd, Stop, StopCause, Verdict};
use capstan_drains::workload::{SpreadConstraint, Workload};

use crate::example::{
    HOST, apart, delete_first, machine, max_unavailable, min_available, node, pod, selector, surge, web,
};

const NODES: [&str; 3] = ["n1", "n2", "n3"];

fn through(waits_at_most: usize) -> Verdict {
    Verdict::GoesThrough { waits_at_most }
}

fn with_each(workload: &Workload, change: impl Fn(&mut capstan_drains::workload::Pod)) -> Workload {
    let mut workload = workload.clone();
    workload.pods.iter_mut().for_each(change);
    workload
}

#[test]
fn rollouts_go_through() {
    let mut one_may_go = web(&NODES);
    one_may_go.budgets.push(max_unavailable(1));
    let apart_each = with_each(&one_may_go, |pod| pod.placement.anti_affinity = vec![apart("web")]);
    let spread_each = with_each(&one_may_go, |pod| {
        pod.placement.spread = vec![SpreadConstraint {
            max_skew: 1,
            topology_key: HOST.to_owned(),
            selector: Some(selector(&[("app", "web")])),
            ..SpreadConstraint::default()
        }];
    });
    // All three pods on one node: the budget lets one go after the other.
    let together = with_each(&one_may_go, |pod| pod.node = Some("n1".to_owned()));
    let full = |workload: &Workload| {
        let mut workload = workload.clone();
        for node in &mut workload.nodes {
            node.allocatable.insert("cpu".to_owned(), 1_000);
        }
        workload
    };
    for (name, workload, plan, expected) in [
        ("no budgets", web(&NODES), surge(&NODES), through(0)),
        // The first two pods may land on the third node: then two of three wait there.
        ("one by one", one_may_go.clone(), surge(&NODES), through(2)),
        ("all on one node", together, surge(&NODES), through(2)),
        ("full nodes, surge first", full(&one_may_go), surge(&NODES), through(0)),
        ("full nodes, delete first", full(&one_may_go), delete_first(&NODES, 1), through(0)),
        ("apart, surge first", apart_each.clone(), surge(&NODES), through(0)),
        ("apart, delete first", apart_each.clone(), delete_first(&NODES, 1), through(0)),
        // The second machine waits until the pod of the first one runs on the first new machine.
        ("apart, two at once", apart_each, delete_first(&NODES, 2), through(1)),
        ("spread over nodes", spread_each, surge(&NODES), through(0)),
    ] {
        let drains = drains(&workload, &plan);
        assert_eq!(drains.verdict, expected, "{name}: {:#?}", drains.steps);
        assert!(drains.steps.iter().all(|step| step.end == StepEnd::Gone), "{name}");
    }
}

/// Each node has a place for one pod; the first one may have more.
fn narrow(workload: &Workload, first: u64) -> Workload {
    let mut workload = workload.clone();
    for node in &mut workload.nodes {
        node.allocatable.insert("cpu".to_owned(), 1_000);
    }
    workload.nodes[0].allocatable.insert("cpu".to_owned(), first);
    workload.budgets.push(max_unavailable(1));
    workload
}

fn group(leave: &[&str], come: usize) -> MachineGroup {
    let mut group = surge(leave).groups.remove(0);
    group.come = come;
    group.new_node.allocatable.insert("cpu".to_owned(), 1_000);
    group
}

#[test]
fn machines_come_also_where_fewer_leave_and_a_surplus_leaves_first() {
    let pair = narrow(&web(&["n1", "n2"]), 1_000);
    for (name, workload, groups, expected) in [
        // Both leave at once, so the second pod waits for the first.
        ("a group that only grows", pair.clone(), vec![group(&[], 2), group(&["n1", "n2"], 0)], through(1)),
        // The second machine leaves when the new one has the pod of the first.
        ("two leave and one comes", pair, vec![group(&["n1", "n2"], 1)], through(0)),
    ] {
        let drains = drains(&workload, &Plan { groups, side_by_side: 1, ..Plan::default() });
        assert_eq!(drains.verdict, expected, "{name}: {:#?}", drains.steps);
    }
}

#[test]
fn a_timeout_ends_a_stop_and_kills_what_is_left() {
    let mut workload = web(&["n1", "n2"]);
    workload.budgets.push(min_available(2));
    workload.pods.push(pod("shop/free", "ReplicaSet/free", "n1"));
    workload.pods[2].grace_seconds = 900;
    let mut plan = surge(&["n1", "n2"]);
    plan.groups[0].leave[0].drain_timeout_seconds = 600;
    plan.groups[0].leave[1].drain_timeout_seconds = 300;
    let found = drains(&workload, &plan);
    let refusal = Refusal::NoneAllowed { budget: "web".to_owned(), expected: 2, desired: 2, healthy: 2 };
    let because = StopCause::Eviction { refusal, pending: Vec::new() };
    let stop =
        Stop { machine: "m-n1".to_owned(), pod: Some("shop/web-1".to_owned()), because: because.clone() };
    let killed = vec!["shop/web-1".to_owned()];
    assert_eq!(
        found.verdict,
        Verdict::TimesOut { stop: stop.clone(), after_seconds: 600, killed, surely: true }
    );
    assert_eq!(found.steps[0].evicted, ["shop/free"]);
    assert_eq!(found.steps[0].cut_short, ["shop/free"]);
    assert_eq!(found.steps[0].end, StepEnd::TimedOut { after_seconds: 600, because: because.clone() });
    // The pods that died run again on other nodes, so the next machine stops in the same way.
    assert_eq!(found.steps[1].end, StepEnd::TimedOut { after_seconds: 300, because: because.clone() });
    // Without a timeout the second one never ends.
    plan.groups[0].leave[1].drain_timeout_seconds = 0;
    let pod = Some("shop/web-2".to_owned());
    assert_eq!(
        drains(&workload, &plan).verdict,
        Verdict::Stops(Stop { machine: "m-n2".to_owned(), pod, because })
    );
}

#[test]
fn machines_without_a_node_and_empty_nodes_leave_at_once() {
    let mut workload = web(&["n1"]);
    workload.nodes.push(node("n2"));
    let mut plan = surge(&["n2", "gone"]);
    plan.groups[0].leave.push(machine("n9"));
    plan.groups[0].leave[2].node = None;
    let found = drains(&workload, &plan);
    assert_eq!(found.verdict, through(0));
    assert_eq!(found.steps.len(), 3);
}

/// Somebody deleted it: its node does not wait until it ends.
#[test]
fn a_pod_that_is_deleted_is_not_waited_for_until_it_ends() {
    let mut workload = web(&["n1"]);
    workload.pods[0].labels.insert("cluster.x-k8s.io/drain".to_owned(), "wait-completed".to_owned());
    let because = StopCause::NeverCompletes;
    let stop = Stop { machine: "m-n1".to_owned(), pod: Some("shop/web-1".to_owned()), because };
    assert_eq!(drains(&workload, &surge(&["n1"])).verdict, Verdict::Stops(stop));
    workload.pods[0].deleted = true;
    assert_eq!(drains(&workload, &surge(&["n1"])).verdict, through(0));
}

#[test]
fn groups_roll_one_after_the_other() {
    let mut workload = web(&["n1", "n2"]);
    workload.budgets.push(min_available(1));
    let group = |name: &str| MachineGroup { leave: vec![machine(name)], ..surge(&[name]).groups.remove(0) };
    let plan = Plan { groups: vec![group("n2"), group("n1")], side_by_side: 1, ..Plan::default() };
    let found = drains(&workload, &plan);
    let machines: Vec<&str> = found.steps.iter().map(|step| step.machine.as_str()).collect();
    assert_eq!(machines, ["m-n2", "m-n1"]);
    // The pod of the first node may land on the second one.
    assert_eq!(found.verdict, through(1));
    // Side by side the second pod waits for the first.
    assert_eq!(drains(&workload, &Plan { side_by_side: 2, ..plan }).verdict, through(1));
}
