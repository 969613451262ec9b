//! The cost of an installation and an upgrade, by the audit log: requests, lasting writes, wall time, and downtimes.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use capstan_test_parts::plane::audit::Request;

/// What one of the two did in a while.
pub(super) struct Figures {
    wall: SignedDuration,
    requests: usize,
    dry_runs: usize,
    writes: usize,
    peak: f64,
}

/// One of the two.
pub(super) struct Side {
    /// Its requests.
    pub(super) requests: Vec<Request>,
    /// The most memory that it had, in MiB.
    pub(super) peak: Option<f64>,
}

impl Figures {
    /// Of its requests since then; leases, events and watches aside.
    pub(super) fn of(side: &Side, since: Timestamp) -> Self {
        let is_counted = |one: &&Request| one.at >= since && !one.is_housekeeping();
        let all: Vec<&Request> = side.requests.iter().filter(is_counted).collect();
        let writes: Vec<&&Request> = all.iter().filter(|one| one.is_write() && one.code < 300).collect();
        let last = writes.iter().map(|one| one.at).max().unwrap_or(since);
        Self {
            wall: last.duration_since(since),
            requests: all.len(),
            dry_runs: all.iter().filter(|one| one.dry_run).count(),
            writes: writes.len(),
            peak: side.peak.unwrap_or_default(),
        }
    }

    pub(super) fn print(&self, what: &str) {
        println!(
            "{what:<28} {:>6.1} s  {:>5} requests, of these {:>4} dry runs and {:>4} lasting writes  {:>5.0} MiB at most",
            self.wall.as_secs_f64(),
            self.requests,
            self.dry_runs,
            self.writes,
            self.peak
        );
    }
}

/// How long the Deployments of each namespace had no replicas or were deleted, and how many namespaces at once at most.
pub(super) fn down(requests: &[Request], since: Timestamp) -> (BTreeMap<String, SignedDuration>, usize) {
    let (mut times, mut begun, mut most) = (BTreeMap::new(), BTreeMap::new(), 0);
    let of_deployments = requests
        .iter()
        .filter(|one| one.at >= since && one.is_write() && one.code < 300 && one.resource == "deployments");
    let mut down: BTreeSet<&str> = BTreeSet::new();
    for request in of_deployments {
        let of_patch = |body: &Value| {
            let operations = body.as_array()?;
            operations.iter().find(|one| one["path"] == "/spec/replicas")?["value"].as_i64()
        };
        let replicas = of_patch(&request.body).or_else(|| request.body.pointer("/spec/replicas")?.as_i64());
        let is_stopped = request.verb.starts_with("delete") || replicas == Some(0);
        if is_stopped {
            begun.entry(request.namespace.clone()).or_insert(request.at);
            down.insert(&request.namespace);
            most = most.max(down.len());
        } else if let Some(since) = begun.remove(&request.namespace) {
            down.remove(request.namespace.as_str());
            times.insert(request.namespace.clone(), request.at.duration_since(since));
        }
    }
    (times, most)
}
