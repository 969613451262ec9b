//! What the eviction API answers, row by row: the status of the first budget, and the answers to one eviction of each
//! pod, in order.

use capstan_drains::budgets::{Budgets, PodState, Refusal};
use capstan_drains::selector::{LabelIndex, Selector};
use capstan_drains::workload::{Amount, DisruptionBudget, Health, Phase, Pod, Workload};
use capstan_test_support::random::{Random, seed};

use crate::example::{budget, controller, max_unavailable, min_available, pod, reference};

fn answer(answer: Result<(), Refusal>) -> String {
    match answer {
        Ok(()) => "201".to_owned(),
        Err(Refusal::ManyBudgets(budgets)) => format!("500 {}", budgets.join(" ")),
        Err(Refusal::SyncFailed { controller, .. }) => format!("429 {controller} cannot be scaled"),
        Err(Refusal::NotObserved { .. }) => "429 still being processed".to_owned(),
        Err(Refusal::UnknownScale { controller, .. }) => format!("replicas of {controller}?"),
        Err(Refusal::NoneAllowed { desired, healthy, .. }) => format!("429 needs {desired}, has {healthy}"),
    }
}

fn index_of(workload: &Workload) -> LabelIndex<'_> {
    LabelIndex::new(workload.pods.iter().map(|pod| (pod.namespace.as_str(), &pod.labels)))
}

fn evict(workload: &Workload) -> (Option<[u32; 4]>, Vec<String>) {
    let mut budgets = Budgets::new(workload, &index_of(workload));
    let status = budgets.status(0);
    let mut answers = Vec::new();
    for (at, pod) in (0..).zip(&workload.pods) {
        let answered = budgets.ask(at, PodState::of(pod), false);
        if answered.is_ok() {
            budgets.change(at, PodState::of(pod), PodState::Terminating);
        }
        answers.push(answer(answered));
    }
    (status, answers)
}

/// Pods of the ReplicaSet `web`, which has as many replicas.
fn replicas(count: u32) -> Workload {
    let web = |at: u32| pod(&format!("shop/web-{at}"), "ReplicaSet/web", "n1");
    Workload {
        pods: (1..=count).map(web).collect(),
        controllers: vec![controller("shop", "ReplicaSet/web", Some(count))],
        ..Workload::default()
    }
}

fn with(mut workload: Workload, budgets: &[DisruptionBudget]) -> Workload {
    workload.budgets = budgets.to_vec();
    workload
}

fn change(mut workload: Workload, at: usize, change: impl Fn(&mut Pod)) -> Workload {
    change(&mut workload.pods[at]);
    workload
}

fn owned(owners: &[&str]) -> Workload {
    let pods = (1..).zip(owners).map(|(at, owner)| Pod {
        labels: crate::example::labels(&[("app", "web")]),
        ..pod(&format!("shop/p-{at}"), owner, "n1")
    });
    Workload {
        pods: pods.collect(),
        controllers: vec![controller("shop", "ReplicaSet/web", Some(1))],
        ..Workload::default()
    }
}

fn unready(pod: &mut Pod) {
    pod.health = Health::Unready;
}

fn in_phase(phase: Phase) -> impl Fn(&mut Pod) {
    move |pod| (pod.phase, pod.health) = (phase, Health::Unready)
}

#[test]
fn the_eviction_api_answers_as_a_real_one() {
    let always = DisruptionBudget { always_allow_unhealthy: true, ..min_available(1) };
    let without = DisruptionBudget { selector: None, ..min_available(1) };
    let everything = DisruptionBudget { selector: Some(Selector::default()), ..min_available(2) };
    let percent =
        DisruptionBudget { max_unavailable: Some(Amount::Percent(30)), ..budget("shop/web", "web") };
    let changed = DisruptionBudget { generation: 2, ..max_unavailable(1) };
    let other = DisruptionBudget { name: "other".to_owned(), ..min_available(1) };
    let two = [min_available(1), other];
    let none = |text: &str| vec![text.to_owned()];
    let rows = [
        (
            "1 replica, minAvailable 1",
            with(replicas(1), &[min_available(1)]),
            Some([1, 1, 1, 0]),
            none("429 needs 1, has 1"),
        ),
        ("two budgets", with(replicas(1), &two), Some([1, 1, 1, 0]), none("500 web other")),
        (
            "bare pod, maxUnavailable 1",
            with(owned(&[""]), &[max_unavailable(1)]),
            Some([0, 0, 1, 0]),
            none("429 needs 0, has 1"),
        ),
        (
            "2 bare pods, minAvailable 1",
            with(owned(&["", ""]), &[min_available(1)]),
            Some([2, 1, 2, 1]),
            vec!["201".to_owned(), "429 needs 1, has 1".to_owned()],
        ),
        (
            "Job",
            with(owned(&["Job/once"]), &[max_unavailable(1)]),
            None,
            none("429 jobs.batch cannot be scaled"),
        ),
        (
            "DaemonSet and ReplicaSet",
            with(owned(&["DaemonSet/log", "ReplicaSet/web"]), &[max_unavailable(1)]),
            None,
            vec!["429 daemonsets.apps cannot be scaled".to_owned(); 2],
        ),
        (
            "not ready",
            with(change(replicas(1), 0, unready), &[min_available(1)]),
            Some([1, 1, 0, 0]),
            none("429 needs 1, has 0"),
        ),
        (
            "not ready, AlwaysAllow",
            with(change(replicas(1), 0, unready), &[always]),
            Some([1, 1, 0, 0]),
            none("201"),
        ),
        (
            "not ready, minAvailable 0",
            with(change(replicas(1), 0, unready), &[min_available(0)]),
            Some([1, 0, 0, 0]),
            none("429 needs 0, has 0"),
        ),
        (
            "2 of 3 ready, minAvailable 2",
            with(change(replicas(3), 0, unready), &[min_available(2)]),
            Some([3, 2, 2, 0]),
            vec!["201".to_owned(), "429 needs 2, has 2".to_owned(), "429 needs 2, has 2".to_owned()],
        ),
        ("no selector", with(replicas(1), &[without]), Some([0, 1, 0, 0]), none("201")),
        (
            "an empty selector, minAvailable 2",
            with(replicas(2), &[everything]),
            Some([2, 2, 2, 0]),
            vec!["429 needs 2, has 2".to_owned(); 2],
        ),
        (
            "Pending",
            with(change(replicas(1), 0, in_phase(Phase::Pending)), &[min_available(1)]),
            Some([1, 1, 0, 0]),
            none("201"),
        ),
        (
            "finished, two budgets",
            with(change(replicas(1), 0, in_phase(Phase::Succeeded)), &two),
            Some([1, 1, 0, 0]),
            none("201"),
        ),
        (
            "5 replicas, maxUnavailable 30 %",
            with(replicas(5), &[percent]),
            Some([5, 3, 5, 2]),
            ["201", "201", "429 needs 3, has 3", "429 needs 3, has 3", "429 needs 3, has 3"]
                .map(str::to_owned)
                .to_vec(),
        ),
        (
            "terminating",
            with(change(replicas(1), 0, |pod| pod.deleted = true), &[min_available(1)]),
            Some([1, 1, 0, 0]),
            none("201"),
        ),
        (
            "not observed",
            with(replicas(2), &[changed]),
            Some([2, 1, 2, 1]),
            vec!["429 still being processed".to_owned(); 2],
        ),
    ];
    for (name, workload, status, answers) in rows {
        assert_eq!(evict(&workload), (status, answers), "{name}");
    }
}

#[test]
fn replicas_are_those_of_the_deployment_and_each_controller_counts_once() {
    let half = DisruptionBudget { min_available: Some(Amount::Percent(50)), ..budget("shop/web", "web") };
    // Two ReplicaSets of a Deployment of 5, in the middle of its own rollout; and a StatefulSet of 2.
    let mut workload =
        with(owned(&["ReplicaSet/web", "ReplicaSet/new", "StatefulSet/db", "StatefulSet/db"]), &[half]);
    workload.controllers = vec![
        controller("shop", "ReplicaSet/web", Some(3)),
        controller("shop", "ReplicaSet/new", Some(2)),
        controller("shop", "StatefulSet/db", Some(2)),
        controller("shop", "Deployment/web", Some(5)),
        controller("other", "StatefulSet/db", Some(9)),
    ];
    for at in [0, 1] {
        workload.controllers[at].controller = reference("Deployment/web");
    }
    assert_eq!(evict(&workload).0, Some([7, 4, 4, 0]));
}

#[test]
fn the_status_counts_where_nobody_read_the_replicas() {
    let mut workload = with(owned(&["Cluster/pg", "Cluster/pg"]), &[max_unavailable(1)]);
    assert_eq!(evict(&workload).1[0], "429 needs 0, has 2");
    workload.budgets[0].status.observed_generation = 0;
    assert_eq!(evict(&workload).1[0], "replicas of Cluster pg?");
    workload.budgets[0].status.observed_generation = 1;
    (workload.budgets[0].status.expected_pods, workload.budgets[0].status.desired_healthy) = (2, 1);
    assert_eq!(
        evict(&workload),
        (Some([2, 1, 2, 1]), vec!["201".to_owned(), "429 needs 1, has 1".to_owned()])
    );
    workload.budgets[0].status.sync_failed = true;
    assert_eq!(evict(&workload).1[0], "429 Cluster pg cannot be scaled");
}

#[test]
fn no_granted_eviction_goes_below_a_budget() {
    let first = seed();
    eprintln!("seed {first}");
    for seed in first..first + 2_000 {
        let mut random = Random::new(seed);
        let count = u32::try_from(1 + random.below(8)).unwrap();
        let amount = u32::try_from(random.below(9)).unwrap();
        let amount = if random.percent(50) { Amount::Number(amount) } else { Amount::Percent(amount * 12) };
        let mut budget = budget("shop/web", "web");
        if random.percent(50) {
            budget.min_available = Some(amount);
        } else {
            budget.max_unavailable = Some(amount);
        }
        let mut workload = with(replicas(count), &[budget]);
        for pod in &mut workload.pods {
            pod.health = if random.percent(80) { Health::Ready } else { Health::Unready };
        }
        let mut budgets = Budgets::new(&workload, &index_of(&workload));
        let mut states: Vec<PodState> = workload.pods.iter().map(PodState::of).collect();
        for _ in 0..30 {
            let at = random.below(states.len());
            let pod = u32::try_from(at).unwrap();
            let to = match states[at] {
                PodState::Terminating => PodState::Ready,
                state => {
                    if budgets.ask(pod, state, false).is_err() {
                        continue;
                    }
                    PodState::Terminating
                }
            };
            budgets.change(pod, states[at], to);
            states[at] = to;
            let healthy = states.iter().filter(|state| **state == PodState::Ready).count();
            let [_, desired, counted, _] = budgets.status(0).unwrap();
            assert_eq!(usize::try_from(counted).unwrap(), healthy, "seed {seed}");
            assert!(to == PodState::Ready || counted >= desired, "seed {seed}: {counted} of {desired}");
        }
    }
}
