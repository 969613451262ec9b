//! The greatest flow through roles, domains and classes of hosts.
//!
//! A host is of one class with all that are in the same domain of each role that may take them. A unit goes from a role,
//! through one of its domains (which takes no more than its room), to a class (which gives no more hosts than it has). A
//! greatest flow by augmenting paths (Ford and Fulkerson) fills as many places as any assignment does, and what a role was
//! sent is never taken from it again: paths end at hosts alone.

/// Hosts that are alike: the domain that they are in for each role, `None` where the role cannot take them; and how many.
pub(super) type Class = (Vec<Option<usize>>, usize);

struct Edge {
    to: usize,
    room: usize,
}

/// A network with what flows through it.
pub(super) struct FlowNetwork {
    /// An edge at an even place, its reverse behind it.
    edges: Vec<Edge>,
    /// Edges that leave a node: roles first, then domains, then classes, then the end.
    leaving: Vec<Vec<usize>>,
    end: usize,
}

impl FlowNetwork {
    /// `rooms[role][domain]` is how many more hosts of the role the domain takes.
    pub(super) fn new(rooms: &[Vec<usize>], classes: &[Class]) -> Self {
        let domains: usize = rooms.iter().map(Vec::len).sum();
        let first_class = rooms.len() + domains;
        let end = first_class + classes.len();
        let mut network = Self { edges: Vec::new(), leaving: vec![Vec::new(); end + 1], end };
        let mut first_domain = rooms.len();
        for (role, rooms) in rooms.iter().enumerate() {
            for (domain, room) in rooms.iter().enumerate() {
                network.join(role, first_domain + domain, *room);
            }
            for (class, (domain_of, _)) in classes.iter().enumerate() {
                if let Some(domain) = domain_of[role] {
                    network.join(first_domain + domain, first_class + class, usize::MAX);
                }
            }
            first_domain += rooms.len();
        }
        for (class, (_, hosts)) in classes.iter().enumerate() {
            network.join(first_class + class, end, *hosts);
        }
        network
    }

    fn join(&mut self, from: usize, to: usize, room: usize) {
        self.leaving[from].push(self.edges.len());
        self.edges.push(Edge { to, room });
        self.leaving[to].push(self.edges.len());
        self.edges.push(Edge { to: from, room: 0 });
    }

    /// Sends up to so many hosts more to a role, and tells how many it got.
    pub(super) fn send(&mut self, role: usize, wanted: usize) -> usize {
        let mut sent = 0;
        while sent < wanted {
            let Some(path) = self.path_from(role) else { break };
            let narrowest = path.iter().map(|edge| self.edges[*edge].room).min().unwrap_or(0);
            let amount = narrowest.min(wanted - sent);
            for edge in path {
                self.edges[edge].room -= amount;
                let back = &mut self.edges[edge ^ 1].room;
                *back = back.saturating_add(amount);
            }
            sent += amount;
        }
        sent
    }

    /// The edges of a shortest path to the end with room on each.
    fn path_from(&self, role: usize) -> Option<Vec<usize>> {
        let mut came_by: Vec<Option<usize>> = vec![None; self.leaving.len()];
        let mut queue = std::collections::VecDeque::from([role]);
        while let Some(node) = queue.pop_front() {
            if node == self.end {
                break;
            }
            for edge in &self.leaving[node] {
                let Edge { to, room } = self.edges[*edge];
                if room > 0 && to != role && came_by[to].is_none() {
                    came_by[to] = Some(*edge);
                    queue.push_back(to);
                }
            }
        }
        let mut path = Vec::new();
        let mut node = self.end;
        while node != role {
            let edge = came_by[node]?;
            path.push(edge);
            node = self.edges[edge ^ 1].to;
        }
        Some(path)
    }
}
