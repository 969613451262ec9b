//! Pods that are alike for the scheduler: they share a shape.

use std::collections::{BTreeMap, BTreeSet};

use crate::selector::{Labels, index, number};
use crate::workload::{
    HostPort, NodeTerm, Placement, Quantities, SpreadConstraint, Taint, TaintEffect, Toleration, Workload,
    WorkloadNode,
};

use super::node_set::NodeSet;
use super::terms::PodTerms;

/// Every pod takes one of these.
const PODS: &str = "pods";
/// The key of a node's name in node affinity. Kubernetes writes it as a field.
const NODE_NAME: &str = "metadata.name";
const CORDON: &str = "node.kubernetes.io/unschedulable";

/// What the scheduler looks at in a pod.
pub(super) struct Shape<'a> {
    /// Resource and amount.
    pub(super) requests: Vec<(usize, i64)>,
    pub(super) ports: &'a [HostPort],
    pub(super) affinity: Vec<u32>,
    pub(super) anti: Vec<u32>,
    pub(super) spread: Vec<(u32, &'a SpreadConstraint)>,
    pub(super) matched_by: Vec<u32>,
    pub(super) tolerates_cordon: bool,
    /// The largest share of a node that it requests.
    pub(super) weight: f64,
    /// Whether nothing but requests, labels and taints decides.
    pub(super) is_simple: bool,
    affine: usize,
    tolerated: usize,
    placement: &'a Placement,
}

/// All shapes, and what they have in common.
pub(super) struct Shapes<'a> {
    pub(super) all: Vec<Shape<'a>>,
    resources: Vec<&'a str>,
    /// The largest allocatable amount of each resource.
    pub(super) largest: Vec<f64>,
    nodes: &'a [WorkloadNode],
    bits: Vec<NodeSet>,
}

type ShapeKey<'a> = (&'a Placement, PodTerms);

impl<'a> Shapes<'a> {
    pub(super) fn new(
        workload: &'a Workload,
        nodes: &'a [WorkloadNode],
        of_pods: Vec<PodTerms>,
    ) -> (Self, Vec<u32>) {
        let requested = workload.pods.iter().flat_map(|pod| pod.placement.requests.keys());
        let resources: BTreeSet<&str> = requested.map(String::as_str).chain([PODS]).collect();
        let resources: Vec<&str> = resources.into_iter().collect();
        let largest = resources.iter().map(|name| {
            let amounts = nodes.iter().filter_map(|node| node.allocatable.get(*name));
            float(signed(amounts.copied().max().unwrap_or_default()))
        });
        let mut shapes =
            Self { all: Vec::new(), largest: largest.collect(), resources, nodes, bits: Vec::new() };
        let mut known: BTreeMap<ShapeKey<'a>, u32> = BTreeMap::new();
        let mut affine = BTreeMap::new();
        let mut tolerated = BTreeMap::new();
        let mut shape_of = Vec::with_capacity(workload.pods.len());
        for (pod, terms) in workload.pods.iter().zip(of_pods) {
            let placement = &pod.placement;
            let key = (placement, terms);
            if let Some(shape) = known.get(&key) {
                shape_of.push(*shape);
                continue;
            }
            let affine_key = (&placement.node_selector, &placement.node_affinity, &placement.volumes);
            let affine = *affine
                .entry(affine_key)
                .or_insert_with(|| shapes.add_bits(|node| is_affine(placement, node, true)));
            let tolerations = &placement.tolerations;
            let tolerated = *tolerated
                .entry(tolerations)
                .or_insert_with(|| shapes.add_bits(|node| tolerates_all(tolerations, &node.taints)));
            let shape = shapes.shape(placement, &key.1, affine, tolerated);
            let next = number(shapes.all.len());
            shapes.all.push(shape);
            known.insert(key, next);
            shape_of.push(next);
        }
        (shapes, shape_of)
    }

    fn shape(
        &self,
        placement: &'a Placement,
        terms: &PodTerms,
        affine: usize,
        tolerated: usize,
    ) -> Shape<'a> {
        let one_pod = [(PODS, 1)];
        let requests = placement.requests.iter().map(|(name, amount)| (name.as_str(), signed(*amount)));
        let requests = requests.filter(|(name, amount)| *amount > 0 && *name != PODS).chain(one_pod);
        let requests: Vec<(usize, i64)> = requests
            .filter_map(|(name, amount)| Some((self.resources.binary_search(&name).ok()?, amount)))
            .collect();
        let share = |(resource, amount): &(usize, i64)| float(*amount) / self.largest[*resource].max(1.0);
        let cordon = Taint { key: CORDON.to_owned(), value: String::new(), effect: TaintEffect::NoSchedule };
        let is_simple = placement.host_ports.is_empty() && *terms == PodTerms::default();
        Shape {
            weight: requests.iter().map(share).fold(0.0, f64::max),
            requests,
            ports: &placement.host_ports,
            affinity: terms.affinity.clone(),
            anti: terms.anti.clone(),
            spread: terms.spread.iter().copied().zip(&placement.spread).collect(),
            matched_by: terms.matched_by.clone(),
            tolerates_cordon: tolerates_all(&placement.tolerations, &[cordon]),
            is_simple,
            affine,
            tolerated,
            placement,
        }
    }

    fn add_bits(&mut self, holds: impl Fn(&WorkloadNode) -> bool) -> usize {
        let mut bits = NodeSet::default();
        for (at, _) in (0..).zip(self.nodes).filter(|(_, node)| holds(node)) {
            bits.insert(at);
        }
        self.bits.push(bits);
        self.bits.len() - 1
    }

    fn has(&self, bits: usize, node: u32) -> bool {
        self.bits[bits].has(node)
    }

    pub(super) fn is_affine(&self, shape: &Shape<'_>, node: u32) -> bool {
        self.has(shape.affine, node)
    }

    pub(super) fn is_tolerated(&self, shape: &Shape<'_>, node: u32) -> bool {
        self.has(shape.tolerated, node)
    }

    /// Whether volumes alone keep a pod off a node.
    pub(super) fn volumes_match(&self, shape: &Shape<'_>, node: u32) -> bool {
        let node = &self.nodes[index(node)];
        shape.placement.volumes.iter().all(|terms| one_matches(terms, node, true))
    }

    /// Whether a DaemonSet's pod of this shape runs on a node. The pod's affinity names the node where it runs now.
    pub(super) fn takes_daemon(&self, shape: &Shape<'_>, node: u32) -> bool {
        self.is_tolerated(shape, node) && is_affine(shape.placement, &self.nodes[index(node)], false)
    }

    pub(super) fn resource(&self, resource: usize) -> &'a str {
        self.resources[resource]
    }

    /// No amount of each resource.
    pub(super) fn nothing(&self) -> Vec<i64> {
        vec![0; self.resources.len()]
    }

    pub(super) fn allocatable(&self, node: &WorkloadNode) -> Vec<i64> {
        let amount = |name: &&str| signed(amount(&node.allocatable, name));
        self.resources.iter().map(amount).collect()
    }
}

fn amount(quantities: &Quantities, name: &str) -> u64 {
    quantities.get(name).copied().unwrap_or_default()
}

fn signed(amount: u64) -> i64 {
    i64::try_from(amount).unwrap_or(i64::MAX)
}

#[expect(clippy::cast_precision_loss, reason = "shares of a node are compared with a margin")]
pub(super) fn float(amount: i64) -> f64 {
    amount as f64
}

fn is_affine(placement: &Placement, node: &WorkloadNode, with_name: bool) -> bool {
    let selected =
        |labels: &Labels| placement.node_selector.iter().all(|(key, value)| labels.get(key) == Some(value));
    selected(&node.labels)
        && one_matches(&placement.node_affinity, node, with_name)
        && placement.volumes.iter().all(|terms| one_matches(terms, node, true))
}

fn one_matches(terms: &[NodeTerm], node: &WorkloadNode, with_name: bool) -> bool {
    let matches = |term: &NodeTerm| {
        term.iter().all(|one| match one.key.as_str() {
            NODE_NAME => !with_name || one.matches(Some(&node.name)),
            key => one.matches(node.labels.get(key)),
        })
    };
    terms.is_empty() || terms.iter().any(matches)
}

fn tolerates_all(tolerations: &[Toleration], taints: &[Taint]) -> bool {
    let hard = taints.iter().filter(|taint| taint.effect != TaintEffect::PreferNoSchedule);
    hard.into_iter().all(|taint| tolerations.iter().any(|one| one.tolerates(taint)))
}
