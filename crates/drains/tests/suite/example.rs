//! Small clusters.

use capstan_drains::plan::{LeavingMachine, MachineGroup, Plan};
use capstan_drains::selector::{Expression, Labels, Operator, Selector};
use capstan_drains::workload::{
    Amount, BudgetStatus, DisruptionBudget, NodeTerm, OwnerReference, Pod, PodController, PodTerm, Workload,
    WorkloadNode,
};

pub(crate) const HOST: &str = "kubernetes.io/hostname";
pub(crate) const ZONE: &str = "topology.kubernetes.io/zone";

pub(crate) fn labels(pairs: &[(&str, &str)]) -> Labels {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

pub(crate) fn selector(pairs: &[(&str, &str)]) -> Selector {
    Selector { match_labels: labels(pairs), match_expressions: Vec::new() }
}

pub(crate) fn in_list(key: &str, value: &str) -> NodeTerm {
    vec![Expression { key: key.to_owned(), operator: Operator::In, values: vec![value.to_owned()] }]
}

/// A node with 4 CPUs and places for 10 pods, in zone `a`.
pub(crate) fn node(name: &str) -> WorkloadNode {
    let amounts = [("cpu", 4_000), ("memory", 16 << 30), ("pods", 10)];
    WorkloadNode {
        name: name.to_owned(),
        labels: labels(&[(HOST, name), (ZONE, "a")]),
        allocatable: amounts.map(|(key, amount)| (key.to_owned(), amount)).into(),
        ..WorkloadNode::default()
    }
}

/// `ReplicaSet/web`, or none for an empty text.
pub(crate) fn reference(text: &str) -> Option<OwnerReference> {
    let (kind, name) = text.split_once('/')?;
    let api_version = match kind {
        "Job" => "batch/v1",
        "Node" => "v1",
        "Cluster" => "postgresql.cnpg.io/v1",
        _ => "apps/v1",
    };
    Some(OwnerReference { api_version: api_version.to_owned(), kind: kind.to_owned(), name: name.to_owned() })
}

/// A ready pod `namespace/name` with 1 CPU and the label `app`: the owner's name, or `bare`.
pub(crate) fn pod(full_name: &str, owner: &str, node: &str) -> Pod {
    let (namespace, name) = full_name.split_once('/').unwrap();
    let owner = reference(owner);
    let app = owner.as_ref().map_or("bare", |owner| owner.name.as_str());
    let mut pod = Pod {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        labels: labels(&[("app", app)]),
        node: (!node.is_empty()).then(|| node.to_owned()),
        ..Pod::default()
    };
    pod.owner = owner;
    pod.placement.requests.insert("cpu".to_owned(), 1_000);
    pod
}

pub(crate) fn controller(namespace: &str, name: &str, replicas: Option<u32>) -> PodController {
    PodController {
        namespace: namespace.to_owned(),
        reference: reference(name).unwrap(),
        replicas,
        controller: None,
    }
}

/// An observed budget for the pods of one `app`.
pub(crate) fn budget(full_name: &str, app: &str) -> DisruptionBudget {
    let (namespace, name) = full_name.split_once('/').unwrap();
    DisruptionBudget {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        selector: Some(selector(&[("app", app)])),
        generation: 1,
        status: BudgetStatus { observed_generation: 1, ..BudgetStatus::default() },
        ..DisruptionBudget::default()
    }
}

pub(crate) fn min_available(amount: u32) -> DisruptionBudget {
    DisruptionBudget { min_available: Some(Amount::Number(amount)), ..budget("shop/web", "web") }
}

pub(crate) fn max_unavailable(amount: u32) -> DisruptionBudget {
    DisruptionBudget { max_unavailable: Some(Amount::Number(amount)), ..budget("shop/web", "web") }
}

/// One pod of the ReplicaSet `web` on each of these nodes.
pub(crate) fn web(nodes: &[&str]) -> Workload {
    let pods = (1..).zip(nodes).map(|(at, node)| pod(&format!("shop/web-{at}"), "ReplicaSet/web", node));
    let pods: Vec<Pod> = pods.collect();
    Workload {
        nodes: nodes.iter().map(|name| node(name)).collect(),
        controllers: vec![controller("shop", "ReplicaSet/web", Some(u32::try_from(pods.len()).unwrap()))],
        pods,
        namespaces: [("shop".to_owned(), Labels::new())].into(),
        budgets: Vec::new(),
    }
}

/// No two pods with this `app` on one node.
pub(crate) fn apart(app: &str) -> PodTerm {
    PodTerm { selector: Some(selector(&[("app", app)])), topology_key: HOST.to_owned(), ..PodTerm::default() }
}

pub(crate) fn machine(node: &str) -> LeavingMachine {
    LeavingMachine { name: format!("m-{node}"), node: Some(node.to_owned()), ..LeavingMachine::default() }
}

/// The machines of these nodes leave one by one. For each, `new-1` and so on comes first.
pub(crate) fn surge(nodes: &[&str]) -> Plan {
    let group = MachineGroup {
        leave: nodes.iter().map(|node| machine(node)).collect(),
        new_node: node("new"),
        come: nodes.len(),
        surge: 1,
        unavailable: 0,
    };
    Plan { groups: vec![group], side_by_side: 1, ..Plan::default() }
}

/// As many machines as `unavailable` leave at once, before new ones come.
pub(crate) fn delete_first(nodes: &[&str], unavailable: usize) -> Plan {
    let mut plan = surge(nodes);
    (plan.groups[0].surge, plan.groups[0].unavailable) = (0, unavailable);
    plan
}

/// The machines of these nodes leave at once, and none comes.
pub(crate) fn scale_down(nodes: &[&str]) -> Plan {
    let mut plan = surge(nodes);
    plan.groups[0].come = 0;
    plan
}
