//! Which pods a drain skips, waits for or evicts, and in which order.

use std::collections::BTreeSet;

use capstan_drains::oracle::drains;
use capstan_drains::plan::{DrainBehavior, MachineDrainRule, MachineSelector, Plan, PodSelector};
use capstan_drains::selector::{Expression, Operator, Selector};
use capstan_drains::treatment::{Filters, PodTreatment, SkipReason, daemon_sets};
use capstan_drains::workload::{Phase, Pod, Workload};

use crate::example::{controller, labels, machine, pod, selector, surge, web};

fn rule(name: &str, behavior: DrainBehavior, app: &str) -> MachineDrainRule {
    let pods = vec![PodSelector { selector: Some(selector(&[("app", app)])), namespace_selector: None }];
    MachineDrainRule { name: name.to_owned(), behavior, machines: Vec::new(), pods }
}

fn labelled(value: &str) -> Pod {
    let mut pod = pod("shop/web-1", "ReplicaSet/web", "n1");
    pod.labels.insert("cluster.x-k8s.io/drain".to_owned(), value.to_owned());
    pod
}

fn finished(mut pod: Pod) -> Pod {
    pod.phase = Phase::Succeeded;
    pod
}

#[test]
fn the_first_filter_that_decides_counts() {
    let workload = Workload {
        controllers: vec![controller("shop", "DaemonSet/log", None)],
        namespaces: [("shop".to_owned(), labels(&[("team", "blue")]))].into(),
        ..Workload::default()
    };
    let mut plan = Plan {
        rules: vec![
            rule("b-late", DrainBehavior::Drain { order: 7 }, "web"),
            rule("a-skip", DrainBehavior::Skip, "cache"),
            rule("c-never-reached", DrainBehavior::Skip, "web"),
            rule("d-wait", DrainBehavior::WaitCompleted, "once"),
        ],
        ..Plan::default()
    };
    let mut other_team = rule("0-other-team", DrainBehavior::Skip, "web");
    other_team.pods[0].namespace_selector = Some(selector(&[("team", "red")]));
    let mut other_machine = rule("0-other-machine", DrainBehavior::Skip, "web");
    other_machine.machines =
        vec![MachineSelector { selector: Some(selector(&[("pool", "b")])), cluster_selector: None }];
    plan.rules.extend([other_team, other_machine]);
    let evict = |order| PodTreatment::Evict { order };
    let skip = PodTreatment::Skip;
    let mut mirror = pod("shop/etcd", "Node/n1", "n1");
    mirror.mirror = true;
    let mut deleted = pod("shop/web-1", "ReplicaSet/web", "n1");
    deleted.deleted = true;
    let mut foreign = pod("shop/log-2", "DaemonSet/log", "n1");
    foreign.owner.as_mut().unwrap().api_version = "apps.kruise.io/v1alpha1".to_owned();
    let mut foreign_alone = pod("shop/log-3", "DaemonSet/other", "n1");
    foreign_alone.owner.as_mut().unwrap().api_version = "apps.kruise.io/v1alpha1".to_owned();
    let rows = [
        ("of a rule", false, pod("shop/web-1", "ReplicaSet/web", "n1"), evict(7)),
        ("of no rule", false, pod("shop/api-1", "ReplicaSet/api", "n1"), evict(0)),
        (
            "skipped by a rule",
            false,
            pod("shop/c-1", "ReplicaSet/cache", "n1"),
            skip(SkipReason::Rule("a-skip".to_owned())),
        ),
        ("waited for by a rule", false, pod("shop/o-1", "Job/once", "n1"), PodTreatment::WaitCompleted),
        ("label skip", false, labelled("Skip"), skip(SkipReason::Label)),
        ("label wait-completed", false, labelled("wait-completed"), PodTreatment::WaitCompleted),
        ("label WaitCompleted", false, labelled("WaitCompleted"), PodTreatment::WaitCompleted),
        ("unknown label", false, labelled("later"), evict(7)),
        ("DaemonSet", false, pod("shop/log-1", "DaemonSet/log", "n1"), skip(SkipReason::DaemonSet)),
        ("finished DaemonSet", false, finished(pod("shop/log-1", "DaemonSet/log", "n1")), evict(0)),
        ("orphan of a DaemonSet", false, pod("shop/x-1", "DaemonSet/gone", "n1"), evict(0)),
        ("another group's DaemonSet of the same name", false, foreign, skip(SkipReason::DaemonSet)),
        ("another group's DaemonSet", false, foreign_alone, evict(0)),
        ("static pod", false, mirror, skip(SkipReason::StaticPod)),
        ("deleted", false, deleted.clone(), evict(7)),
        ("deleted, unreachable", true, deleted, skip(SkipReason::DeletedOnUnreachableNode)),
    ];
    let known = daemon_sets(&workload);
    let filters = Filters::new(&plan, &machine("n1"), &workload, &known);
    for (name, unreachable, pod, treatment) in rows {
        assert_eq!(filters.treat(&pod, unreachable), Some(treatment), "{name}");
    }
    let elsewhere = pod("elsewhere/web-1", "ReplicaSet/web", "n1");
    assert_eq!(filters.treat(&elsewhere, false), None);
}

#[test]
fn pods_go_by_order_and_then_by_name() {
    let mut workload = web(&["n1", "n2"]);
    for name in ["shop/b-9", "shop/b-10", "a/z", "shop/early", "shop/late"] {
        workload.pods.push(pod(name, "ReplicaSet/x", "n1"));
    }
    workload.namespaces.insert("a".to_owned(), labels(&[]));
    let mut plan = surge(&["n1"]);
    for (name, order) in [("early", -5), ("late", 5)] {
        let at = workload.pods.iter().position(|pod| pod.name == name).unwrap();
        workload.pods[at].labels = labels(&[("app", name)]);
        plan.rules.push(rule(name, DrainBehavior::Drain { order }, name));
    }
    let drains = drains(&workload, &plan);
    let evicted = ["shop/early", "a/z", "shop/b-10", "shop/b-9", "shop/web-1", "shop/late"];
    assert_eq!(drains.steps[0].evicted, evicted);
}

#[test]
fn selectors_are_kubernetes() {
    let one = |key: &str, operator: Operator, values: &[&str]| Selector {
        match_expressions: vec![Expression {
            key: key.to_owned(),
            operator,
            values: values.iter().map(|value| (*value).to_owned()).collect(),
        }],
        ..Selector::default()
    };
    let held = labels(&[("rack", "7")]);
    for (selector, matches, is_valid) in [
        (one("rack", Operator::In, &["7", "8"]), true, true),
        (one("rack", Operator::In, &[]), false, false),
        (one("rack", Operator::NotIn, &["7"]), false, true),
        (one("row", Operator::NotIn, &["7"]), true, true),
        (one("rack", Operator::Exists, &[]), true, true),
        (one("rack", Operator::Exists, &["7"]), true, false),
        (one("row", Operator::DoesNotExist, &[]), true, true),
        (one("rack", Operator::Gt, &["6"]), true, false),
        (one("rack", Operator::Lt, &["7"]), false, false),
        (one("rack", Operator::Other, &["7"]), false, false),
        (Selector::default(), true, true),
        (selector(&[("rack", "8")]), false, true),
    ] {
        assert_eq!((selector.matches(&held), selector.is_valid()), (matches, is_valid), "{selector:?}");
    }
    let read: Selector = serde_json::from_value(serde_json::json!({
        "matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "Like"}]
    }))
    .unwrap();
    assert_eq!(
        (read.match_labels, read.match_expressions[0].operator),
        (labels(&[("a", "b")]), Operator::Other)
    );
}

#[test]
fn a_machine_without_a_drain_takes_its_pods_with_it() {
    let workload = web(&["n1", "n2"]);
    let mut plan = surge(&["n1"]);
    let leaving = &mut plan.groups[0].leave[0];
    leaving.annotations = BTreeSet::from(["machine.cluster.x-k8s.io/exclude-node-draining".to_owned()]);
    let drains = drains(&workload, &plan);
    assert_eq!(
        (drains.steps[0].evicted.len(), drains.steps[0].killed.as_slice()),
        (0, &["shop/web-1".to_owned()][..])
    );
}
