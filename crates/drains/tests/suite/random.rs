//! Random clusters: what holds of every answer.

use std::collections::BTreeMap;

use capstan_drains::oracle::drains;
use capstan_drains::plan::{DrainBehavior, MachineDrainRule, Plan, PodSelector};
use capstan_drains::selector::Labels;
use capstan_drains::verdict::{Drains, Verdict};
use capstan_drains::workload::{Amount, DisruptionBudget, Health, Pod, SpreadConstraint, Workload};
use capstan_test_support::random::{Random, seed};

use crate::example::{HOST, ZONE, apart, budget, controller, delete_first, node, pod, selector, surge};

const CLUSTERS: u64 = 1_000;

fn small(random: &mut Random, below: usize) -> u32 {
    u32::try_from(random.below(below)).unwrap()
}

fn random_budget(random: &mut Random, app: &str, replicas: u32) -> DisruptionBudget {
    let amount = match random.below(3) {
        0 => Amount::Percent(small(random, 11) * 10),
        _ => Amount::Number(small(random, usize::try_from(replicas).unwrap() + 2)),
    };
    let mut budget = budget(&format!("shop/{app}"), app);
    if random.percent(50) {
        budget.min_available = Some(amount);
    } else {
        budget.max_unavailable = Some(amount);
    }
    budget.always_allow_unhealthy = random.percent(20);
    budget
}

fn random_pod(random: &mut Random, name: &str, app: &str, like: usize) -> Pod {
    let on = format!("n{}", 1 + random.below(5));
    let mut pod = pod(&format!("shop/{name}"), &format!("ReplicaSet/{app}"), &on);
    pod.placement.requests.insert("cpu".to_owned(), [200, 700, 1_500][like % 3]);
    match like {
        0 => pod.placement.anti_affinity = vec![apart(app)],
        1 => {
            pod.placement.spread = vec![SpreadConstraint {
                max_skew: 1,
                topology_key: [HOST, ZONE][random.below(2)].to_owned(),
                selector: Some(selector(&[("app", app)])),
                ..SpreadConstraint::default()
            }];
        }
        _ => {}
    }
    pod.health = match random.below(20) {
        0 => Health::Unready,
        1 => Health::Failing,
        _ => Health::Ready,
    };
    pod
}

fn random_cluster(random: &mut Random) -> (Workload, Plan) {
    let mut workload =
        Workload { namespaces: [("shop".to_owned(), Labels::new())].into(), ..Workload::default() };
    let mut rules = Vec::new();
    for at in 1..=5 {
        let mut node = node(&format!("n{at}"));
        node.labels.insert(ZONE.to_owned(), ["a", "b"][at % 2].to_owned());
        workload.nodes.push(node);
    }
    for app in ["api", "db", "web", "job"].into_iter().take(1 + random.below(4)) {
        let replicas = 1 + small(random, 4);
        let like = random.below(6);
        workload.controllers.push(controller("shop", &format!("ReplicaSet/{app}"), Some(replicas)));
        for at in 0..replicas {
            let pod = random_pod(random, &format!("{app}-{at}"), app, like);
            workload.pods.push(pod);
        }
        if random.percent(70) {
            let budget = random_budget(random, app, replicas);
            workload.budgets.push(budget);
        }
        let order = [-1, 0, 3][random.below(3)];
        let pods = vec![PodSelector { selector: Some(selector(&[("app", app)])), namespace_selector: None }];
        rules.push(MachineDrainRule {
            name: app.to_owned(),
            behavior: DrainBehavior::Drain { order },
            machines: Vec::new(),
            pods,
        });
    }
    let leave = ["n1", "n2", "n3", "n4", "n5"];
    let leave = &leave[..1 + random.below(5)];
    let mut plan = if random.percent(50) { surge(leave) } else { delete_first(leave, 1 + random.below(2)) };
    for machine in &mut plan.groups[0].leave {
        machine.drain_timeout_seconds = u64::from(random.percent(10)) * 300;
    }
    plan.rules = rules;
    (workload, plan)
}

/// Evictions of a machine go by order.
fn orders_rise(drains: &Drains, plan: &Plan) -> bool {
    let orders: BTreeMap<&str, i32> = plan
        .rules
        .iter()
        .filter_map(|rule| match rule.behavior {
            DrainBehavior::Drain { order } => Some((rule.name.as_str(), order)),
            _ => None,
        })
        .collect();
    let order = |pod: &String| {
        let app = pod.trim_start_matches("shop/").split('-').next().unwrap();
        orders[app]
    };
    drains.steps.iter().all(|step| step.evicted.iter().map(order).is_sorted())
}

#[test]
fn answers_hold_together() {
    let first = seed();
    eprintln!("seed {first}");
    let mut verdicts: BTreeMap<&str, u32> = BTreeMap::new();
    for seed in first..first + CLUSTERS {
        let (workload, plan) = random_cluster(&mut Random::new(seed));
        let found = drains(&workload, &plan);
        assert_eq!(found, drains(&workload, &plan), "seed {seed}: the same input, another answer");
        assert!(orders_rise(&found, &plan), "seed {seed}: {:#?}", found.steps);
        let free = Workload { budgets: Vec::new(), ..workload.clone() };
        let without = drains(&free, &plan).verdict;
        assert_eq!(without, Verdict::GoesThrough { waits_at_most: 0 }, "seed {seed}: without budgets");
        // A budget that allows nobody is kept by every eviction.
        for budget in &workload.budgets {
            let keeps_all = match (budget.min_available, budget.max_unavailable) {
                (Some(Amount::Number(least)), _) => {
                    let pods = workload.pods.iter().filter(|pod| pod.labels["app"] == budget.name).count();
                    usize::try_from(least).unwrap() >= pods
                }
                (_, Some(most)) => most.of(100) == 0,
                _ => false,
            };
            let is_of_budget = |name: &String| name.starts_with(&format!("shop/{}-", budget.name));
            let all_ready = workload
                .pods
                .iter()
                .all(|pod| pod.labels["app"] != budget.name || pod.health == Health::Ready);
            if keeps_all && all_ready {
                let evicted =
                    found.steps.iter().flat_map(|step| &step.evicted).find(|name| is_of_budget(name));
                assert_eq!(evicted, None, "seed {seed}: below {}", budget.name);
            }
        }
        let word = match found.verdict {
            Verdict::GoesThrough { .. } => "goes through",
            Verdict::Stops(_) => "stops",
            Verdict::MayStop(_) => "may stop",
            Verdict::TimesOut { .. } => "times out",
            Verdict::CannotBeTold { missing } => panic!("seed {seed}: {missing:?}"),
        };
        *verdicts.entry(word).or_default() += 1;
    }
    eprintln!("{verdicts:?}");
    for word in ["goes through", "stops", "may stop", "times out"] {
        assert!(verdicts.contains_key(word), "no rollout {word}: {verdicts:?}");
    }
}
