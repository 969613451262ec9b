//! Which free hosts go to which role: exact, and the same for the same facts.
//!
//! The maximum number of hosts for each role is a maximum flow ([`flow`](super::flow)): first what all roles
//! need, in the order of their names, then standby. The hosts themselves are then picked one by one, the best
//! first; a pick is kept only if the flow shows that the others can still have theirs.

use super::flow::{Class, FlowNetwork};

/// What a role wants of the free hosts.
pub(super) struct Demand {
    /// Without these nothing is chosen.
    pub(super) active: usize,
    /// On top of these.
    pub(super) standby: usize,
    /// The domains, by their number: how many hosts of the role each has.
    pub(super) domains: Vec<usize>,
    /// How many each may have.
    pub(super) most_per_domain: usize,
}

/// A host and the role that it goes to, by their numbers.
pub(super) struct Pick {
    pub(super) role: usize,
    pub(super) host: usize,
}

/// What is available.
pub(super) struct Matching {
    /// As many active ones as are available, then standby where no active one lacks.
    pub(super) picks: Vec<Pick>,
    /// Active ones that lack, by role.
    pub(super) active_lacking: Vec<usize>,
}

impl Matching {
    pub(super) fn is_enough(&self) -> bool {
        self.active_lacking.iter().all(|lacking| *lacking == 0)
    }
}

/// `candidates` are the free hosts, better ones first among equals: the domain of each for each role, `None` where the role
/// cannot take it.
pub(super) fn pick(demands: &[Demand], candidates: &[Vec<Option<usize>>]) -> Matching {
    let mut state = MatchingState {
        has: demands.iter().map(|demand| demand.domains.clone()).collect(),
        demands,
        candidates,
        is_free: vec![true; candidates.len()],
    };
    let mut network = FlowNetwork::new(&state.rooms(), &state.classes());
    let active: Vec<usize> =
        demands.iter().enumerate().map(|(role, one)| network.send(role, one.active)).collect();
    let lacking: Vec<usize> = demands.iter().zip(&active).map(|(one, got)| one.active - got).collect();
    let mut standby = vec![0; demands.len()];
    if lacking.iter().all(|lacking| *lacking == 0) {
        for (role, demand) in demands.iter().enumerate() {
            standby[role] = network.send(role, demand.standby);
        }
    }
    let mut left: Vec<usize> =
        active.iter().zip(&standby).map(|(active, standby)| active + standby).collect();
    let mut picks = Vec::new();
    for numbers in [active, standby] {
        for (role, number) in numbers.into_iter().enumerate() {
            for _ in 0..number {
                left[role] -= 1;
                let Some(host) = state.best(role, &left) else { continue };
                state.take(role, host);
                picks.push(Pick { role, host });
            }
        }
    }
    Matching { picks, active_lacking: lacking }
}

struct MatchingState<'a> {
    demands: &'a [Demand],
    candidates: &'a [Vec<Option<usize>>],
    is_free: Vec<bool>,
    /// Hosts of a role in a domain, picks included.
    has: Vec<Vec<usize>>,
}

impl MatchingState<'_> {
    fn rooms(&self) -> Vec<Vec<usize>> {
        let room = |(has, demand): (&Vec<usize>, &Demand)| {
            has.iter().map(|has| demand.most_per_domain.saturating_sub(*has)).collect()
        };
        self.has.iter().zip(self.demands).map(room).collect()
    }

    fn classes(&self) -> Vec<Class> {
        let mut classes = std::collections::BTreeMap::new();
        for (domains, _) in self.candidates.iter().zip(&self.is_free).filter(|(_, is_free)| **is_free) {
            *classes.entry(domains.clone()).or_insert(0) += 1;
        }
        classes.into_iter().collect()
    }

    fn take(&mut self, role: usize, host: usize) {
        self.is_free[host] = false;
        if let Some(domain) = self.candidates[host][role] {
            self.has[role][domain] += 1;
        }
    }

    /// The best host for a role that leaves enough for everybody: of the domain with the fewest of the role, then the first.
    /// Hosts of one class leave the same, so one of each is tried.
    fn best(&mut self, role: usize, left: &[usize]) -> Option<usize> {
        let mut tried: Vec<&Vec<Option<usize>>> = Vec::new();
        loop {
            let free = (0..self.candidates.len()).filter(|host| self.is_free[*host]);
            let fitting = free.filter_map(|host| {
                let has = self.has[role][self.candidates[host][role]?];
                (has < self.demands[role].most_per_domain && !tried.contains(&&self.candidates[host]))
                    .then_some((has, host))
            });
            let (_, host) = fitting.min()?;
            self.take(role, host);
            let mut network = FlowNetwork::new(&self.rooms(), &self.classes());
            let is_enough = left.iter().enumerate().all(|(role, left)| network.send(role, *left) == *left);
            self.give_back(role, host);
            if is_enough {
                return Some(host);
            }
            tried.push(&self.candidates[host]);
        }
    }

    fn give_back(&mut self, role: usize, host: usize) {
        self.is_free[host] = true;
        if let Some(domain) = self.candidates[host][role] {
            self.has[role][domain] -= 1;
        }
    }
}
