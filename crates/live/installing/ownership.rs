//! Who installs providers here: one of Capstan and the Cluster API operator, never both.
//!
//! An operator is recognized by its Deployment: its manifests, its Helm chart and forks keep the labels. An operator
//! with changed labels is recognized by the Lease of its leader election. It *lives* while its Deployment asks for a
//! pod, or while its Lease is renewed. When Capstan installs, it holds that Lease: an operator that is started later
//! waits for it.
//!
//! No clock of another machine is trusted: a Lease is dead when no renewal was seen for as long as it lasts
//! ([`Sightings`]). So its state is unknown at first, and until that time has passed a Lease with a holder counts as
//! held.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use crate::live_objects::{label, text};

/// The name of the Lease by which operators elect their leader, in the namespace of their Deployment.
pub const LEASE: &str = "controller-leader-election-capi-operator";

/// How the identity begins under which Capstan holds that Lease.
pub const HOLDER: &str = "capstan-providers_";

/// The labels by which an operator's Deployment is found.
pub const OPERATOR_LABELS: [(&str, &str); 2] =
    [("clusterctl.cluster.x-k8s.io/core", "capi-operator"), ("control-plane", "controller-manager")];

/// Why Capstan installs nothing.
pub const OWNED_ELSEWHERE: &str = "OwnedElsewhere";

/// How long a Lease lasts that does not say it.
const USUAL_DURATION: Duration = Duration::from_secs(15);

/// The holder of a Lease renews it every two seconds: if it is not renewed for this long, the holder has stopped,
/// wherever it ran.
const SILENT: Duration = Duration::from_secs(5);

/// What was seen of Leases, and when. The caller keeps it from one look to the next.
#[derive(Debug, Clone, Default)]
pub struct Sightings {
    seen: BTreeMap<String, SeenLease>,
}

#[derive(Debug, Clone)]
struct SeenLease {
    /// Holder, time of the last renewal, transitions: what a renewal changes.
    mark: [String; 3],
    since: Duration,
}

impl Sightings {
    /// Notes a look at all Leases of that name. `at` is a time of one's own: how long this process runs.
    pub fn look(&mut self, leases: &[Value], at: Duration) {
        let now: BTreeMap<String, [String; 3]> = leases
            .iter()
            .filter(|lease| text(lease, "/metadata/name") == Some(LEASE))
            .map(|lease| (namespace(lease).to_owned(), mark(lease)))
            .collect();
        self.seen.retain(|namespace, seen| now.get(namespace) == Some(&seen.mark));
        for (namespace, mark) in now {
            self.seen.entry(namespace).or_insert(SeenLease { mark, since: at });
        }
    }

    /// Whether a Lease may still be held.
    fn is_held(&self, lease: &Value, at: Duration) -> bool {
        text(lease, "/spec/holderIdentity").is_some() && self.unchanged(lease, at) <= lasts(lease)
    }

    /// For how long no renewal of a Lease was seen.
    fn unchanged(&self, lease: &Value, at: Duration) -> Duration {
        let seen = self.seen.get(namespace(lease)).filter(|seen| seen.mark == mark(lease));
        seen.map_or(Duration::ZERO, |seen| at.saturating_sub(seen.since))
    }
}

/// How long a Lease is held without a renewal.
fn lasts(lease: &Value) -> Duration {
    let seconds = lease.pointer("/spec/leaseDurationSeconds").and_then(Value::as_u64);
    seconds.map_or(USUAL_DURATION, Duration::from_secs)
}

fn mark(lease: &Value) -> [String; 3] {
    let text = |pointer: &str| text(lease, pointer).unwrap_or_default().to_owned();
    let transitions = lease.pointer("/spec/leaseTransitions").and_then(Value::as_i64).unwrap_or(0);
    [text("/spec/holderIdentity"), text("/spec/renewTime"), transitions.to_string()]
}

fn namespace(object: &Value) -> &str {
    text(object, "/metadata/namespace").unwrap_or_default()
}

/// What ownership is judged by.
#[derive(Debug, Clone, Copy)]
pub struct OwnerFacts<'a> {
    /// The Deployments with [`OPERATOR_LABELS`], in all namespaces.
    pub deployments: &'a [Value],
    /// The Leases of the name [`LEASE`], in all namespaces.
    pub leases: &'a [Value],
    /// What was seen of them, this look included.
    pub sightings: &'a Sightings,
    /// The time of this look, as [`Sightings::look`] had it.
    pub at: Duration,
}

/// Who installs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstallOwner {
    /// Capstan may, once it holds the Leases of these namespaces: where an operator is or was.
    Capstan {
        /// Namespaces, ordered, each once.
        hold: Vec<String>,
    },
    /// Operators live; never empty.
    Elsewhere(Vec<LiveOperator>),
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LiveOperator {
    pub namespace: String,
    /// Its Deployment; `None` where none has the labels.
    pub deployment: Option<String>,
    /// The holder of its Lease, if any.
    pub holder: Option<String>,
    /// Of one that has stopped: after how long its Lease runs out unless it is renewed.
    pub runs_out: Option<Duration>,
}

impl std::fmt::Display for LiveOperator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let namespace = &self.namespace;
        match (&self.deployment, &self.holder) {
            (Some(name), Some(holder)) => {
                write!(f, "Deployment {namespace}/{name}, whose Lease {namespace}/{LEASE} {holder} holds")
            }
            (Some(name), None) => {
                write!(f, "Deployment {namespace}/{name} (its Lease has no holder: {namespace}/{LEASE})")
            }
            (None, holder) => {
                let holder = holder.as_deref().unwrap_or("somebody");
                write!(
                    f,
                    "the holder of Lease {namespace}/{LEASE}: {holder} (no Deployment there has its labels)"
                )
            }
        }
    }
}

impl InstallOwner {
    /// Where all operators have stopped, so that their Leases alone are waited for: in which namespaces, and for how long.
    pub fn runs_out(&self) -> Option<(Vec<String>, Duration)> {
        let Self::Elsewhere(operators) = self else { return None };
        let left: Option<Vec<Duration>> = operators.iter().map(|operator| operator.runs_out).collect();
        let namespaces = operators.iter().map(|operator| operator.namespace.clone()).collect();
        Some((namespaces, left?.into_iter().max()?))
    }

    /// Why Capstan installs nothing, in words; `None` where it may.
    pub fn refusal(&self) -> Option<String> {
        let Self::Elsewhere(operators) = self else { return None };
        if let Some((namespaces, left)) = self.runs_out() {
            let leases: Vec<String> =
                namespaces.iter().map(|namespace| format!("{namespace}/{LEASE}")).collect();
            return Some(format!(
                "the Cluster API operator has stopped. Capstan installs providers when its Lease expires, in {} s unless it is renewed: {}",
                left.as_secs() + 1,
                leases.join(", ")
            ));
        }
        let named: Vec<String> = operators.iter().map(ToString::to_string).collect();
        Some(format!(
            "the Cluster API operator installs providers here: {}. Scale it to 0 and wait until its Lease expires, or set `by: operator`",
            named.join("; ")
        ))
    }
}

/// Who installs providers here.
pub fn owner(facts: &OwnerFacts<'_>) -> InstallOwner {
    let mut hold: Vec<String> = Vec::new();
    let mut operators: BTreeMap<String, Vec<LiveOperator>> = BTreeMap::new();
    let holder_in = |namespace: &str| {
        let lease = facts.leases.iter().find(|lease| {
            self::namespace(lease) == namespace && text(lease, "/metadata/name") == Some(LEASE)
        })?;
        let is_held = facts.sightings.is_held(lease, facts.at);
        text(lease, "/spec/holderIdentity").filter(|_| is_held)
    };
    for deployment in facts.deployments {
        let has = |(key, value): &(&str, &str)| label(deployment, key) == Some(*value);
        let (Some(name), true) = (text(deployment, "/metadata/name"), OPERATOR_LABELS.iter().all(has)) else {
            continue;
        };
        let namespace = namespace(deployment);
        hold.push(namespace.to_owned());
        let holder = holder_in(namespace);
        let is_ours = holder.is_some_and(|holder| holder.starts_with(HOLDER));
        // It waits while Capstan holds its Lease, unless it runs without leader election.
        let stands_by = is_ours && elects(deployment);
        if asks_for_pods(deployment) && !stands_by {
            let holder = holder.filter(|_| !is_ours).map(str::to_owned);
            let operator = LiveOperator {
                namespace: namespace.to_owned(),
                deployment: Some(name.to_owned()),
                holder,
                runs_out: None,
            };
            operators.entry(namespace.to_owned()).or_default().push(operator);
        }
    }
    for lease in facts.leases.iter().filter(|lease| text(lease, "/metadata/name") == Some(LEASE)) {
        let namespace = namespace(lease);
        hold.push(namespace.to_owned());
        let Some(holder) = holder_in(namespace).filter(|holder| !holder.starts_with(HOLDER)) else {
            continue;
        };
        let named = operators.entry(namespace.to_owned()).or_default();
        if named.is_empty() {
            // A Deployment at 0 whose pod still runs, or one with other labels.
            let is_there =
                facts.deployments.iter().find(|deployment| self::namespace(deployment) == namespace);
            let unchanged = facts.sightings.unchanged(lease, facts.at);
            let has_stopped = is_there.is_some() || unchanged >= SILENT;
            named.push(LiveOperator {
                namespace: namespace.to_owned(),
                deployment: is_there.and_then(|found| text(found, "/metadata/name")).map(str::to_owned),
                holder: Some(holder.to_owned()),
                runs_out: has_stopped.then(|| lasts(lease).saturating_sub(unchanged)),
            });
        }
    }
    hold.sort();
    hold.dedup();
    let living: Vec<LiveOperator> = operators.into_values().flatten().collect();
    if living.is_empty() { InstallOwner::Capstan { hold } } else { InstallOwner::Elsewhere(living) }
}

/// Whether a Deployment asks for a pod, or has one still.
fn asks_for_pods(deployment: &Value) -> bool {
    let number = |pointer: &str| deployment.pointer(pointer).and_then(Value::as_i64);
    number("/spec/replicas").unwrap_or(1) != 0 || number("/status/replicas").unwrap_or(0) > 0
}

/// Whether an operator of that Deployment elects a leader: by `--leader-elect`, which the shipped one has.
fn elects(deployment: &Value) -> bool {
    let containers = deployment.pointer("/spec/template/spec/containers").and_then(Value::as_array);
    let arguments = containers.into_iter().flatten().flat_map(|container| {
        ["command", "args"].into_iter().filter_map(|key| container.get(key)?.as_array()).flatten()
    });
    arguments
        .filter_map(Value::as_str)
        .any(|argument| matches!(argument, "--leader-elect" | "--leader-elect=true"))
}

#[cfg(test)]
#[path = "ownership_tests.rs"]
mod tests;
