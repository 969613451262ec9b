//! On which nodes a pod fits, as the scheduler's filters decide (`pkg/scheduler/framework/plugins`).
//!
//! A pod that moved has a node, or it is [`PodPlace::Loose`]: it runs on one of several nodes, which is
//! not known.

mod certainty;
mod fit;
mod loose;
mod node_set;
mod obstacle;
mod shapes;
mod terms;

use crate::selector::{LabelIndex, index, number};
use crate::workload::{HostPort, Workload, WorkloadNode};

use self::loose::{Loose, WHOLE_NODE};
pub use self::node_set::NodeSet;
pub use self::obstacle::Obstacle;
use self::shapes::{Shape, Shapes};
use self::terms::{Domains, Term};

/// Where a pod is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PodPlace {
    Nowhere,
    Node(u32),
    /// On one of several nodes. For each topology key the domain, if all these nodes are in the same one.
    Loose(Vec<Option<u32>>),
}

/// Nodes, and the pods on them.
pub struct Places<'a> {
    nodes: Vec<NodeState<'a>>,
    shapes: Shapes<'a>,
    /// The shape of each pod.
    shape_of: Vec<u32>,
    terms: Vec<Term>,
    domains: Domains<'a>,
    places: Vec<PodPlace>,
    loose: Loose<'a>,
    work: u64,
}

struct NodeState<'a> {
    free: Vec<i64>,
    ports: Vec<&'a HostPort>,
    is_present: bool,
    is_cordoned: bool,
}

impl<'a> Places<'a> {
    /// `new` nodes are not present yet. The places of pods are those of the workload.
    pub fn new(workload: &'a Workload, nodes: &'a [WorkloadNode], labels: &LabelIndex<'a>) -> Self {
        let domains = Domains::new(workload, nodes);
        let (terms, of_pods) = terms::terms(workload, labels, &domains);
        let (shapes, shape_of) = Shapes::new(workload, nodes, of_pods);
        let states = nodes.iter().map(|node| NodeState {
            free: shapes.allocatable(node),
            ports: Vec::new(),
            is_present: false,
            is_cordoned: node.unschedulable || node.unreachable,
        });
        let mut places = Self {
            nodes: states.collect(),
            loose: Loose::new(&shapes),
            shapes,
            shape_of,
            terms,
            domains,
            places: vec![PodPlace::Nowhere; workload.pods.len()],
            work: 0,
        };
        for node in 0..workload.nodes.len() {
            places.nodes[node].is_present = true;
        }
        let names: std::collections::BTreeMap<&str, u32> =
            (0..).zip(nodes).map(|(at, node)| (node.name.as_str(), at)).collect();
        for (at, pod) in (0..).zip(&workload.pods).filter(|(_, pod)| !pod.has_finished()) {
            let node = pod.node.as_ref().and_then(|node| names.get(node.as_str()));
            if let Some(node) = node {
                places.put(at, PodPlace::Node(*node));
            }
        }
        places
    }

    /// How many nodes were compared with pods.
    pub fn work(&self) -> u64 {
        self.work
    }

    pub fn place(&self, pod: u32) -> &PodPlace {
        &self.places[index(pod)]
    }

    pub fn shape_number(&self, pod: u32) -> u32 {
        self.shape_of[index(pod)]
    }

    fn shape(&self, pod: u32) -> &Shape<'a> {
        &self.shapes.all[index(self.shape_of[index(pod)])]
    }

    /// Puts a pod somewhere else.
    pub fn put(&mut self, pod: u32, place: PodPlace) {
        let old = std::mem::replace(&mut self.places[index(pod)], place.clone());
        self.count(pod, &old, -1);
        self.count(pod, &place, 1);
    }

    fn count(&mut self, pod: u32, place: &PodPlace, change: i64) {
        let shape_number = self.shape_number(pod);
        let shape = &self.shapes.all[index(shape_number)];
        match place {
            PodPlace::Nowhere => return,
            PodPlace::Node(node) => {
                let state = &mut self.nodes[index(*node)];
                for (resource, amount) in &shape.requests {
                    state.free[*resource] -= change * amount;
                }
                for port in shape.ports {
                    if change > 0 {
                        state.ports.push(port);
                    } else if let Some(at) = state.ports.iter().position(|one| *one == port) {
                        state.ports.swap_remove(at);
                    }
                }
                self.loose.spend(shape.weight);
            }
            PodPlace::Loose(_) => self.loose.count(shape, change),
        }
        for term in shape.matched_by.iter().chain(&shape.anti) {
            let term_state = &self.terms[index(*term)];
            let domain = match place {
                PodPlace::Node(node) => match self.domains.of(term_state.key, *node) {
                    None => continue,
                    domain => domain,
                },
                PodPlace::Loose(domains) => domains.get(term_state.key).copied().flatten(),
                PodPlace::Nowhere => None,
            };
            let is_own = shape.anti.contains(term);
            let is_matched = shape.matched_by.contains(term);
            self.terms[index(*term)].count(domain, (is_matched, is_own), change);
        }
    }

    /// A new machine has joined.
    pub fn join(&mut self, node: u32) {
        self.nodes[index(node)].is_present = true;
    }

    /// No pod comes to this node any more, but for those that tolerate that.
    pub fn cordon(&mut self, node: u32) {
        self.nodes[index(node)].is_cordoned = true;
        self.loose.spend(WHOLE_NODE);
    }

    pub fn leave(&mut self, node: u32) {
        self.cordon(node);
        self.nodes[index(node)].is_present = false;
    }

    /// Reserves what the pods of DaemonSets take on a node that joins: `daemons` has one pod of each.
    pub fn reserve(&mut self, node: u32, daemons: &[u32]) {
        for pod in daemons {
            let shape = &self.shapes.all[index(self.shape_of[index(*pod)])];
            if self.shapes.takes_daemon(shape, node) {
                for (resource, amount) in &shape.requests {
                    self.nodes[index(node)].free[*resource] -= amount;
                }
            }
        }
    }

    /// A loose place on one of these nodes.
    pub fn loose_on(&self, nodes: &[u32]) -> PodPlace {
        let keys = 0..self.domains.keys();
        let shared = |key: usize| {
            let mut all = nodes.iter().map(|node| self.domains.of(key, *node));
            let first = all.next().flatten()?;
            all.all(|other| other == Some(first)).then_some(first)
        };
        PodPlace::Loose(keys.map(shared).collect())
    }

    pub fn tolerates_cordon(&self, pod: u32) -> bool {
        self.shape(pod).tolerates_cordon
    }

    /// What all these pods request together.
    pub fn requests(&self, pods: &[u32]) -> Vec<i64> {
        let mut sums = self.shapes.nothing();
        for (resource, amount) in pods.iter().flat_map(|pod| &self.shape(*pod).requests) {
            sums[*resource] += amount;
        }
        sums
    }

    /// Whether a node has all of these resources free.
    pub fn has_room(&self, node: u32, requests: &[i64]) -> bool {
        self.nodes[index(node)].free.iter().zip(requests).all(|(free, amount)| free >= amount)
    }

    /// Every node, present or not.
    pub fn every_node(&self) -> NodeSet {
        NodeSet::all(self.nodes.len())
    }

    fn is_open(&self, shape: &Shape<'_>, node: u32) -> bool {
        let state = &self.nodes[index(node)];
        state.is_present && (!state.is_cordoned || shape.tolerates_cordon)
    }

    fn has_free(&self, shape: &Shape<'_>, node: u32) -> bool {
        let free = &self.nodes[index(node)].free;
        shape.requests.iter().all(|(resource, amount)| free[*resource] >= *amount)
    }

    fn all_nodes(&self) -> impl Iterator<Item = u32> + use<> {
        0..number(self.nodes.len())
    }
}
