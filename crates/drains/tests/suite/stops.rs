//! Rollouts that stop, that may stop, and those that nobody can judge.

use capstan_drains::budgets::Refusal;
use capstan_drains::oracle::drains;
use capstan_drains::placing::Obstacle;
use capstan_drains::plan::{DrainBehavior, MachineDrainRule, Plan, PodSelector};
use capstan_drains::selector::{Expression, Operator, Selector};
use capstan_drains::verdict::{MissingFact, PendingPod, StepEnd, Stop, StopCause, Verdict};
use capstan_drains::workload::{Health, Toleration, Workload};

use crate::example::{
    HOST, budget, controller, delete_first, in_list, max_unavailable, min_available, pod, scale_down, surge,
    web,
};

fn verdict(workload: &Workload, plan: &Plan) -> Verdict {
    drains(workload, plan).verdict
}

fn stop(machine: &str, pod: &str, because: StopCause) -> Stop {
    let pod = (!pod.is_empty()).then(|| pod.to_owned());
    Stop { machine: machine.to_owned(), pod, because }
}

fn none_allowed([expected, desired, healthy]: [u32; 3], pending: Vec<PendingPod>) -> StopCause {
    let refusal = Refusal::NoneAllowed { budget: "web".to_owned(), expected, desired, healthy };
    StopCause::Eviction { refusal, pending }
}

fn pending(pod: &str, obstacles: &[(Obstacle, usize)]) -> Vec<PendingPod> {
    vec![PendingPod { pod: pod.to_owned(), obstacles: obstacles.iter().cloned().collect() }]
}

#[test]
fn a_budget_that_allows_none_stops_at_the_first_machine_with_its_pod() {
    let mut workload = web(&["n1", "n2", "n3"]);
    workload.pods.remove(0);
    workload.controllers[0].replicas = Some(2);
    workload.budgets.push(min_available(2));
    let drains = drains(&workload, &surge(&["n1", "n2", "n3"]));
    let because = none_allowed([2, 2, 2], Vec::new());
    assert_eq!(drains.verdict, Verdict::Stops(stop("m-n2", "shop/web-2", because.clone())));
    let ends: Vec<&StepEnd> = drains.steps.iter().map(|step| &step.end).collect();
    assert_eq!(ends, [&StepEnd::Gone, &StepEnd::Stopped(because)]);
    assert_eq!(drains.steps[1].waited, ["shop/web-2"]);
}

#[test]
fn what_is_certain_without_a_scheduler_stops() {
    let other = budget("shop/other", "web");
    let failing = |workload: &mut Workload| workload.pods[0].health = Health::Failing;
    let one_of = |health| {
        let mut workload = web(&["n1", "n2"]);
        workload.pods[0].health = health;
        workload.budgets.push(min_available(2));
        workload
    };
    let mut two = web(&["n1"]);
    two.budgets = vec![min_available(0), other];
    let mut job = web(&["n1"]);
    job.budgets = vec![max_unavailable(1)];
    job.pods[0].owner = crate::example::reference("Job/once");
    let mut bare = web(&["n1"]);
    bare.budgets = vec![max_unavailable(1)];
    bare.pods[0].owner = None;
    let mut strict = web(&["n1"]);
    strict.budgets = vec![max_unavailable(0)];
    let mut zero = web(&["n1"]);
    zero.budgets = vec![min_available(0)];
    failing(&mut zero);
    let eviction = |refusal| StopCause::Eviction { refusal, pending: Vec::new() };
    let failed = Refusal::SyncFailed { budget: "web".to_owned(), controller: "jobs.batch".to_owned() };
    let rows = [
        ("two budgets", two, eviction(Refusal::ManyBudgets(vec!["web".to_owned(), "other".to_owned()]))),
        ("no scale", job, eviction(failed)),
        ("bare pods", bare, none_allowed([0, 0, 1], Vec::new())),
        ("maxUnavailable 0", strict, none_allowed([1, 1, 1], Vec::new())),
        ("minAvailable 2 of 2, one fails", one_of(Health::Failing), none_allowed([2, 2, 1], Vec::new())),
        (
            "minAvailable 2 of 2, one is not ready now",
            one_of(Health::Unready),
            none_allowed([2, 2, 2], Vec::new()),
        ),
        ("minAvailable 0, the only pod fails", zero, none_allowed([1, 0, 0], Vec::new())),
    ];
    for (name, workload, because) in rows {
        assert_eq!(
            verdict(&workload, &surge(&["n1"])),
            Verdict::Stops(stop("m-n1", "shop/web-1", because)),
            "{name}"
        );
    }
}

#[test]
fn a_pod_that_may_become_ready_may_let_the_drain_through() {
    let mut workload = web(&["n1"]);
    workload.pods[0].health = Health::Unready;
    workload.budgets.push(min_available(0));
    let because = none_allowed([1, 0, 0], Vec::new());
    assert_eq!(verdict(&workload, &surge(&["n1"])), Verdict::MayStop(stop("m-n1", "shop/web-1", because)));
}

/// The second machine cannot go, because the pod of the first one found no node.
#[test]
fn a_pod_without_a_node_stops_the_next_machine_with_its_budget() {
    let old_pool = |workload: &mut Workload| {
        for at in 0..2 {
            workload.nodes[at].labels.insert("pool".to_owned(), "old".to_owned());
            workload.pods[at].placement.node_selector.insert("pool".to_owned(), "old".to_owned());
        }
        // The other old node has no place for a second one.
        workload.nodes[1].allocatable.insert("cpu".to_owned(), 1_000);
    };
    let local = |workload: &mut Workload| {
        for (at, node) in ["n1", "n2"].into_iter().enumerate() {
            workload.pods[at].placement.volumes = vec![vec![in_list(HOST, node)]];
        }
    };
    for (name, change, obstacle) in [
        ("a label of the old pool", &old_pool as &dyn Fn(&mut Workload), Obstacle::NodeAffinity),
        ("a local volume", &local, Obstacle::Volume),
    ] {
        let mut workload = web(&["n1", "n2"]);
        workload.budgets.push(max_unavailable(1));
        change(&mut workload);
        // Both new machines have come: the first at the beginning, the second after the first old one left.
        let because = none_allowed([2, 1, 1], pending("shop/web-1", &[(obstacle, 2)]));
        let expected = Verdict::Stops(stop("m-n2", "shop/web-2", because));
        assert_eq!(verdict(&workload, &surge(&["n1", "n2"])), expected, "{name}");
    }
}

#[test]
fn pods_that_land_on_an_old_node_move_again() {
    let mut workload = web(&["n1", "n2"]);
    for at in 0..2 {
        workload.nodes[at].labels.insert("pool".to_owned(), "old".to_owned());
        workload.pods[at].placement.node_selector.insert("pool".to_owned(), "old".to_owned());
    }
    workload.budgets.push(min_available(1));
    let drains = drains(&workload, &surge(&["n1", "n2"]));
    assert_eq!(drains.steps[1].evicted, ["shop/web-1"]);
    let because = none_allowed([2, 1, 1], pending("shop/web-1", &[(Obstacle::NodeAffinity, 2)]));
    assert_eq!(drains.verdict, Verdict::Stops(stop("m-n2", "shop/web-2", because)));
}

#[test]
fn pods_that_have_to_end_hold_their_machine() {
    for (owner, expected) in [
        ("ReplicaSet/web", Verdict::Stops(stop("m-n1", "shop/web-1", StopCause::NeverCompletes))),
        ("Job/once", Verdict::MayStop(stop("m-n1", "shop/web-1", StopCause::MayNotComplete))),
    ] {
        let mut workload = web(&["n1"]);
        workload.pods[0].owner = crate::example::reference(owner);
        workload.pods[0].labels.insert("cluster.x-k8s.io/drain".to_owned(), "wait-completed".to_owned());
        assert_eq!(verdict(&workload, &surge(&["n1"])), expected, "{owner}");
    }
}

/// Another pod may take the only node of `web-1`, or a node that nobody else needs.
#[test]
fn a_place_that_another_pod_may_take_may_stop_the_rollout() {
    let mut workload = web(&["n1", "n4", "n2", "n3"]);
    workload.pods.truncate(2);
    workload.controllers[0].replicas = Some(2);
    workload.budgets.push(min_available(1));
    for node in ["n2", "n3"] {
        let at = workload.nodes.iter().position(|one| one.name == node).unwrap();
        workload.nodes[at].allocatable.insert("cpu".to_owned(), 1_000);
    }
    workload.pods[0].placement.node_selector.insert(HOST.to_owned(), "n2".to_owned());
    workload.pods[1].placement.node_selector.insert(HOST.to_owned(), "n4".to_owned());
    workload.pods.push(pod("shop/a", "ReplicaSet/a", "n1"));
    let mut plan = scale_down(&["n1", "n4"]);
    // One after the other.
    plan.groups.push(plan.groups[0].clone());
    plan.groups[0].leave.truncate(1);
    plan.groups[1].leave.remove(0);
    let because = none_allowed([2, 1, 1], pending("shop/web-1", &[(Obstacle::NodeAffinity, 1)]));
    assert_eq!(verdict(&workload, &plan), Verdict::MayStop(stop("m-n4", "shop/web-2", because)));
    // With room for both on `n2`, nothing can prevent it.
    let at = workload.nodes.iter().position(|one| one.name == "n2").unwrap();
    workload.nodes[at].allocatable.insert("cpu".to_owned(), 2_000);
    assert_eq!(verdict(&workload, &plan), Verdict::GoesThrough { waits_at_most: 0 });
}

#[test]
fn pods_that_tolerate_the_cordon_come_back() {
    let tolerant = |nodes: &[&str]| {
        let mut workload = web(nodes);
        workload.pods.truncate(1);
        workload.pods[0].placement.tolerations = vec![Toleration::default()];
        workload
    };
    let because = StopCause::ComesBack;
    let may = Verdict::MayStop(stop("m-n1", "shop/web-1", because.clone()));
    assert_eq!(verdict(&tolerant(&["n1", "n2"]), &surge(&["n1"])), may);
    // No other node is left.
    let alone = verdict(&tolerant(&["n1"]), &delete_first(&["n1"], 1));
    assert_eq!(alone, Verdict::Stops(stop("m-n1", "shop/web-1", because)));
    let mut foreign = web(&["n1", "n2"]);
    foreign.pods[0].owner = crate::example::reference("DaemonSet/log");
    foreign.pods[0].owner.as_mut().unwrap().api_version = "apps.kruise.io/v1alpha1".to_owned();
    assert_eq!(verdict(&foreign, &surge(&["n1"])), may);
}

#[test]
fn what_is_on_the_machine_holds_it() {
    let annotated = |key: &str| {
        let mut plan = surge(&["n1"]);
        plan.groups[0].leave[0].annotations.insert(key.to_owned());
        plan
    };
    let hook = |key: &str| Verdict::MayStop(stop("m-n1", "", StopCause::Hook(key.to_owned())));
    let through = Verdict::GoesThrough { waits_at_most: 0 };
    let pre_drain = "pre-drain.delete.hook.machine.cluster.x-k8s.io/backup";
    let pre_terminate = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/backup";
    let own = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/kcp-cleanup";
    let mut attached = web(&["n1"]);
    attached.nodes[0].attached = vec!["shop/data".to_owned(), "pv-7".to_owned()];
    attached.pods[0].claims = vec!["data".to_owned()];
    let volume = Verdict::MayStop(stop("m-n1", "", StopCause::VolumeAttached("pv-7".to_owned())));
    let mut detaches = surge(&["n1"]);
    detaches.groups[0].leave[0].detach_timeout_seconds = 60;
    let mut unreachable = attached.clone();
    unreachable.nodes[0].unreachable = true;
    let rows = [
        ("pre-drain hook", web(&["n1"]), annotated(pre_drain), hook(pre_drain)),
        ("pre-terminate hook", web(&["n1"]), annotated(pre_terminate), hook(pre_terminate)),
        ("hook of the control plane", web(&["n1"]), annotated(own), through.clone()),
        ("volume without a pod", attached.clone(), surge(&["n1"]), volume),
        ("volume with a timeout", attached.clone(), detaches, through.clone()),
        (
            "volume that is not waited for",
            attached,
            annotated("machine.cluster.x-k8s.io/exclude-wait-for-node-volume-detach"),
            through.clone(),
        ),
        ("volume of an unreachable node", unreachable, surge(&["n1"]), through),
    ];
    for (name, workload, plan, expected) in rows {
        assert_eq!(verdict(&workload, &plan), expected, "{name}");
    }
}

#[test]
fn one_rule_with_an_invalid_selector_stops_every_drain() {
    let invalid = Selector {
        match_expressions: vec![Expression {
            key: "app".to_owned(),
            operator: Operator::In,
            values: Vec::new(),
        }],
        ..Selector::default()
    };
    let mut plan = surge(&["n1"]);
    plan.rules.push(MachineDrainRule {
        name: "broken".to_owned(),
        behavior: DrainBehavior::Skip,
        machines: Vec::new(),
        pods: vec![PodSelector { selector: Some(invalid), namespace_selector: None }],
    });
    let because = StopCause::InvalidRule("broken".to_owned());
    assert_eq!(verdict(&web(&["n1"]), &plan), Verdict::Stops(stop("m-n1", "", because)));
}

#[test]
fn replicas_of_several_controllers_are_as_many_as_can_be_counted() {
    let mut workload = web(&["n1"]);
    workload.pods.push(pod("shop/other-1", "ReplicaSet/other", "n1"));
    workload.pods[1].labels = workload.pods[0].labels.clone();
    workload.controllers[0].replicas = Some(u32::MAX);
    workload.controllers.push(controller("shop", "ReplicaSet/other", Some(u32::MAX)));
    workload.budgets.push(max_unavailable(1));
    let because = none_allowed([u32::MAX, u32::MAX - 1, 2], Vec::new());
    assert_eq!(verdict(&workload, &surge(&["n1"])), Verdict::Stops(stop("m-n1", "shop/other-1", because)));
}

#[test]
fn what_nobody_read_is_named() {
    let mut unknown = web(&["n1"]);
    unknown.budgets.push(max_unavailable(1));
    unknown.budgets[0].status.observed_generation = 0;
    unknown.pods[0].owner = crate::example::reference("Cluster/pg");
    let replicas = MissingFact::Replicas { budget: "web".to_owned(), controller: "Cluster pg".to_owned() };
    let mut elsewhere = web(&["n1"]);
    elsewhere.namespaces.clear();
    let mut with_rule = surge(&["n1"]);
    with_rule.rules.push(MachineDrainRule {
        name: "skip".to_owned(),
        behavior: DrainBehavior::Skip,
        machines: Vec::new(),
        pods: vec![PodSelector::default()],
    });
    let bounded = Plan { most_work: Some(3), ..surge(&["n1"]) };
    let mut many = surge(&["n1"]);
    many.groups[0].come = usize::MAX;
    many.groups.push(many.groups[0].clone());
    for (name, workload, plan, missing) in [
        ("replicas", unknown, surge(&["n1"]), replicas),
        ("labels of a namespace", elsewhere, with_rule, MissingFact::NamespaceLabels("shop".to_owned())),
        ("work", web(&["n1", "n2"]), bounded, MissingFact::MoreWork),
        ("machines without number", web(&["n1"]), many, MissingFact::MoreWork),
    ] {
        assert_eq!(verdict(&workload, &plan), Verdict::CannotBeTold { missing }, "{name}");
    }
}

#[test]
fn a_budget_that_is_not_observed_may_stop() {
    let mut workload = web(&["n1", "n2"]);
    workload.budgets.push(max_unavailable(1));
    workload.budgets[0].generation = 2;
    let refusal = Refusal::NotObserved { budget: "web".to_owned() };
    let because = StopCause::Eviction { refusal, pending: Vec::new() };
    assert_eq!(verdict(&workload, &surge(&["n1"])), Verdict::MayStop(stop("m-n1", "shop/web-1", because)));
}

#[test]
fn the_replicas_of_another_controller_are_not_its_own() {
    let mut workload = web(&["n1"]);
    workload.controllers.push(controller("shop", "StatefulSet/web", Some(9)));
    workload.budgets.push(max_unavailable(1));
    assert_eq!(verdict(&workload, &surge(&["n1"])), Verdict::GoesThrough { waits_at_most: 0 });
}
