//! Terms between pods: affinity, anti-affinity and spread. Each is counted by the domains of its topology key.

use std::collections::{BTreeMap, BTreeSet};

use crate::selector::{LabelIndex, Selector, index, number};
use crate::workload::{Pod, PodTerm, Workload, WorkloadNode};

/// The values of topology keys, as numbers.
pub(super) struct Domains<'a> {
    keys: Vec<&'a str>,
    /// For each key, the domain of each node.
    of_nodes: Vec<Vec<Option<u32>>>,
    counts: Vec<usize>,
    /// For each key, the number of nodes in its largest domain.
    largest: Vec<u32>,
}

impl<'a> Domains<'a> {
    pub(super) fn new(workload: &'a Workload, nodes: &[WorkloadNode]) -> Self {
        let placements = workload.pods.iter().map(|pod| &pod.placement);
        let keys: BTreeSet<&str> = placements
            .flat_map(|one| {
                let terms =
                    one.affinity.iter().chain(&one.anti_affinity).map(|term| term.topology_key.as_str());
                terms.chain(one.spread.iter().map(|one| one.topology_key.as_str()))
            })
            .collect();
        let keys: Vec<&str> = keys.into_iter().collect();
        let (mut of_nodes, mut counts, mut largest) = (Vec::new(), Vec::new(), Vec::new());
        for key in &keys {
            let mut values: BTreeMap<&str, u32> = BTreeMap::new();
            let mut domains: Vec<Option<u32>> = Vec::new();
            for node in nodes {
                let next = number(values.len());
                domains.push(node.labels.get(*key).map(|value| *values.entry(value).or_insert(next)));
            }
            let mut sizes = vec![0; values.len()];
            domains.iter().flatten().for_each(|domain| sizes[index(*domain)] += 1);
            largest.push(sizes.into_iter().max().unwrap_or_default());
            counts.push(values.len());
            of_nodes.push(domains);
        }
        Self { keys, of_nodes, counts, largest }
    }

    pub(super) fn keys(&self) -> usize {
        self.keys.len()
    }

    pub(super) fn count(&self, key: usize) -> usize {
        self.counts[key]
    }

    pub(super) fn largest(&self, key: usize) -> u32 {
        self.largest[key]
    }

    pub(super) fn of(&self, key: usize, node: u32) -> Option<u32> {
        self.of_nodes[key][index(node)]
    }

    fn number(&self, key: &str) -> usize {
        self.keys.binary_search(&key).unwrap_or_default()
    }
}

/// Pods that a selector selects, by domain.
pub(super) struct Term {
    pub(super) key: usize,
    matched: Vec<u32>,
    /// Pods with this term as anti-affinity.
    owned: Vec<u32>,
    /// How many pods it selects, and how many have it as anti-affinity.
    pub(super) most: u32,
    /// Pods of unknown domain.
    loose_matched: u32,
    loose_owned: u32,
}

/// How many pods of a term count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TermSide {
    Matched,
    /// Those with it as anti-affinity.
    Owned,
}

impl Term {
    pub(super) fn count(&mut self, domain: Option<u32>, (is_matched, is_owned): (bool, bool), change: i64) {
        let add = |count: &mut u32| *count = count.saturating_add_signed(i32::from(change > 0) * 2 - 1);
        let (matched, owned) = match domain {
            Some(domain) => (&mut self.matched[index(domain)], &mut self.owned[index(domain)]),
            None => (&mut self.loose_matched, &mut self.loose_owned),
        };
        if is_matched {
            add(matched);
        }
        if is_owned {
            add(owned);
        }
    }

    pub(super) fn in_domain(&self, counted: TermSide, domain: u32) -> u32 {
        match counted {
            TermSide::Matched => self.matched[index(domain)],
            TermSide::Owned => self.owned[index(domain)],
        }
    }

    pub(super) fn loose(&self, counted: TermSide) -> u32 {
        match counted {
            TermSide::Matched => self.loose_matched,
            TermSide::Owned => self.loose_owned,
        }
    }

    /// Whether no pod that it selects is anywhere.
    pub(super) fn has_none(&self) -> bool {
        self.loose_matched == 0 && self.matched.iter().all(|count| *count == 0)
    }
}

/// The terms that concern a pod, by their numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PodTerms {
    pub(super) affinity: Vec<u32>,
    pub(super) anti: Vec<u32>,
    pub(super) spread: Vec<u32>,
    /// Every term that selects the pod.
    pub(super) matched_by: Vec<u32>,
}

/// What makes two terms the same: namespaces, selector, key.
type TermKey<'a> = (Vec<&'a str>, Option<&'a Selector>, usize);

/// All terms of the pods, each once.
pub(super) fn terms<'a>(
    workload: &'a Workload,
    labels: &LabelIndex<'a>,
    domains: &Domains<'a>,
) -> (Vec<Term>, Vec<PodTerms>) {
    let mut numbers: BTreeMap<TermKey<'a>, u32> = BTreeMap::new();
    let mut of_pods: Vec<PodTerms> = Vec::with_capacity(workload.pods.len());
    let mut intern = |key: TermKey<'a>| {
        let next = number(numbers.len());
        *numbers.entry(key).or_insert(next)
    };
    for pod in &workload.pods {
        let mut between = |terms: &'a [PodTerm]| -> Vec<u32> {
            let key = |term: &'a PodTerm| {
                (
                    namespaces(pod, term, workload, labels),
                    term.selector.as_ref(),
                    domains.number(&term.topology_key),
                )
            };
            terms.iter().map(|term| intern(key(term))).collect()
        };
        let (affinity, anti) = (between(&pod.placement.affinity), between(&pod.placement.anti_affinity));
        let spread = pod.placement.spread.iter().map(|one| {
            intern((vec![pod.namespace.as_str()], one.selector.as_ref(), domains.number(&one.topology_key)))
        });
        of_pods.push(PodTerms { affinity, anti, spread: spread.collect(), matched_by: Vec::new() });
    }
    let mut keys: Vec<(TermKey<'a>, u32)> = numbers.into_iter().collect();
    keys.sort_by_key(|(_, number)| *number);
    let mut all = Vec::with_capacity(keys.len());
    for ((namespaces, selector, key), number) in keys {
        let none = || vec![0; domains.count(key)];
        all.push(Term { key, matched: none(), owned: none(), most: 0, loose_matched: 0, loose_owned: 0 });
        for pod in selector
            .iter()
            .flat_map(|selector| namespaces.iter().flat_map(|one| labels.select(one, selector)))
        {
            of_pods[index(pod)].matched_by.push(number);
        }
    }
    for term in of_pods.iter().flat_map(|pod| pod.matched_by.iter().chain(&pod.anti)) {
        all[index(*term)].most += 1;
    }
    (all, of_pods)
}

fn namespaces<'a>(
    pod: &'a Pod,
    term: &'a PodTerm,
    workload: &'a Workload,
    labels: &LabelIndex<'a>,
) -> Vec<&'a str> {
    if term.namespaces.is_empty() && term.namespace_selector.is_none() {
        return vec![&pod.namespace];
    }
    let mut all: BTreeSet<&str> = term.namespaces.iter().map(String::as_str).collect();
    if let Some(selector) = &term.namespace_selector {
        let has_labels = |name: &&str| match workload.namespaces.get(*name) {
            Some(labels) => selector.matches(labels),
            None => *selector == Selector::default(),
        };
        all.extend(labels.namespaces().filter(has_labels));
    }
    all.into_iter().collect()
}
