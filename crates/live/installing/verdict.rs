//! What has become of a provider set that was applied: provider by provider, from its object's conditions *and* from its
//! workloads, since an operator's `Ready` alone tells of one Deployment and of no version.
//!
//! A provider is done when its object is of the generation that was seen, at the version that Git asks for, installed and
//! ready, and every workload of it runs at its own generation. The set is what its worst provider is; nothing of it is a
//! machine.

use capstan_kustomize::render::RenderedObject;
use capstan_model::kinds::{KindRole, role_of};
use capstan_model::object::ObjectId;
use capstan_providers::ProviderKind;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::conditions::{INSTALLED, PREFLIGHT, READY, UPGRADED, WAITING_FOR_LEASE};
use super::workloads::{WorkloadHealth, workload};
use crate::live_objects::{LiveObjects, label, shortened, text};
use crate::rollout::observed::{Counts, OwnerKind, OwnerVerdict, Readiness, RolloutProgress, RolloutVerdict};

/// The label by which a workload belongs to a provider.
pub const PROVIDER_LABEL: &str = "cluster.x-k8s.io/provider";

/// What a set is judged by.
#[derive(Debug, Clone, Copy)]
pub struct SetFacts<'a> {
    /// What the folder renders, with its namespaces.
    pub rendered: &'a [RenderedObject],
    /// The provider objects, and all workloads with [`PROVIDER_LABEL`] in their namespaces, in one read.
    pub live: &'a LiveObjects,
    /// Whether something installs what the provider objects say; `Err` if no installer is seen, in words.
    pub installer: Result<(), &'a str>,
    /// When something of the folder was written last.
    pub applied_at: Option<Timestamp>,
    pub now: Timestamp,
    /// How long nothing may move before it is stuck.
    pub still: SignedDuration,
}

/// Whether an object asks for a provider.
pub fn is_provider(id: &ObjectId) -> bool {
    role_of(id) == Some(KindRole::Provider)
}

/// The state of a set.
pub fn judge_set(facts: &SetFacts<'_>) -> RolloutVerdict {
    let asked = facts.rendered.iter().filter(|object| is_provider(&object.id));
    let mut owners: Vec<OwnerVerdict> = asked.map(|object| judge(facts, object)).collect();
    owners.sort_by(|a, b| a.object.cmp(&b.object));
    let state = owners.iter().map(|owner| owner.state).max().unwrap_or(RolloutProgress::Done);
    RolloutVerdict { state, owners, machines: Vec::new() }
}

fn judge(facts: &SetFacts<'_>, asked: &RenderedObject) -> OwnerVerdict {
    let (state, since, words) = standing(facts, asked);
    // Conditions may be older than what is waited for.
    let since = since.into_iter().chain(facts.applied_at).max();
    let is_still = since.is_some_and(|since: Timestamp| facts.now.duration_since(since) >= facts.still);
    let state = if state == RolloutProgress::Rolling && is_still { RolloutProgress::Stuck } else { state };
    OwnerVerdict {
        object: asked.id.clone(),
        kind: OwnerKind::Workers,
        state,
        since: since.filter(|_| state != RolloutProgress::Done),
        until: None,
        on: None,
        words: words.map(|words| shortened(&words)),
        counts: Counts::default(),
        ready: if state == RolloutProgress::Done { Readiness::Ready } else { Readiness::NotReady },
    }
}

/// Its state, since when, and why it is not done.
fn standing(
    facts: &SetFacts<'_>,
    asked: &RenderedObject,
) -> (RolloutProgress, Option<Timestamp>, Option<String>) {
    let Some(live) = facts.live.get(&asked.id) else {
        return (RolloutProgress::Waiting, None, Some("not applied yet".to_owned()));
    };
    let wanted = text(&asked.value, "/spec/version");
    if wanted.is_some() && text(live, "/spec/version") != wanted {
        return (RolloutProgress::Waiting, None, Some("not applied yet".to_owned()));
    }
    let since = |condition: Option<&WorkloadCondition<'_>>| condition.and_then(|condition| condition.since);
    let generation = |pointer: &str| live.pointer(pointer).and_then(Value::as_i64);
    let conditions = WorkloadConditions::of(live);
    let seen = generation("/status/observedGeneration");
    let is_seen = seen.is_some() && seen >= generation("/metadata/generation");
    // A check that failed says so whatever the generation: the operator does not raise it where it fails.
    for kind in [PREFLIGHT, INSTALLED, UPGRADED] {
        let Some(condition) = conditions.get(kind).filter(|condition| condition.status == "False") else {
            continue;
        };
        let words = format!("{}: {}", condition.reason, condition.message);
        // What waits for others, or is on its way, passes by itself.
        let state = match condition.reason {
            "WaitingForCoreProviderReady" | "WaitingForSet" | WAITING_FOR_LEASE => RolloutProgress::Waiting,
            _ => RolloutProgress::Rolling,
        };
        return (state, since(Some(&condition)), Some(words));
    }
    let ready = conditions.get(READY);
    if let (Err(nobody), false) = (facts.installer, is_seen) {
        return (RolloutProgress::Stuck, None, Some(nobody.to_owned()));
    }
    if !is_seen {
        let words = "its current generation was not observed yet".to_owned();
        return (RolloutProgress::Rolling, since(ready.as_ref()), Some(words));
    }
    let installed = text(live, "/status/installedVersion");
    if let Some(wanted) = wanted.filter(|wanted| installed != Some(wanted)) {
        let has = installed.map_or_else(|| "nothing".to_owned(), str::to_owned);
        return (
            RolloutProgress::Rolling,
            since(ready.as_ref()),
            Some(format!("{has} is installed, {wanted} is requested")),
        );
    }
    if conditions.get(INSTALLED).is_none() {
        return (RolloutProgress::Rolling, None, Some(format!("it has no condition {INSTALLED} yet")));
    }
    let workloads = workloads(facts.live, &asked.id);
    let open = workloads.iter().find_map(|(id, value)| {
        let health = workload(id, Some(value))?.health;
        (!matches!(health, WorkloadHealth::Available { .. })).then_some((*id, health))
    });
    if let Some((id, health)) = open {
        return (
            RolloutProgress::Rolling,
            since(ready.as_ref()),
            Some(format!("{id}: {}", in_words(&health))),
        );
    }
    match ready {
        Some(ready) if ready.status == "True" => (RolloutProgress::Done, None, None),
        Some(ready) => {
            (RolloutProgress::Rolling, ready.since, Some(format!("{}: {}", ready.reason, ready.message)))
        }
        // An operator says nothing of a provider that runs nothing.
        None if workloads.is_empty() => (RolloutProgress::Done, None, None),
        None => (RolloutProgress::Rolling, None, Some(format!("it has no condition {READY} yet"))),
    }
}

fn in_words(health: &WorkloadHealth) -> String {
    match health {
        WorkloadHealth::Available { .. } => "available".to_owned(),
        WorkloadHealth::Absent => "not there".to_owned(),
        WorkloadHealth::Unobserved => "changed, but its controller has not observed it".to_owned(),
        WorkloadHealth::Unknown => "no condition Available yet".to_owned(),
        WorkloadHealth::Unavailable { reason, message } => format!("{reason}: {message}"),
        WorkloadHealth::RollingOut { ready, wanted } => {
            format!("{ready} of {wanted} pods are up to date and available")
        }
    }
}

/// The workloads of a provider, by the label of its components.
fn workloads<'l>(live: &'l LiveObjects, provider: &ObjectId) -> Vec<(&'l ObjectId, &'l Value)> {
    let Some(kind) = ProviderKind::parse(&provider.kind) else { return Vec::new() };
    let wanted = kind.label(&provider.name);
    let is_its = |(id, value): &(&ObjectId, &Value)| {
        id.namespace == provider.namespace && label(value, PROVIDER_LABEL) == Some(wanted.as_str())
    };
    live.iter().filter(is_its).collect()
}

/// A condition, as it is read.
struct WorkloadCondition<'v> {
    status: &'v str,
    reason: &'v str,
    message: &'v str,
    since: Option<Timestamp>,
}

struct WorkloadConditions<'v>(&'v [Value]);

impl<'v> WorkloadConditions<'v> {
    fn of(live: &'v Value) -> Self {
        let conditions = live.pointer("/status/conditions").and_then(Value::as_array);
        Self(conditions.map(Vec::as_slice).unwrap_or_default())
    }

    fn get(&self, kind: &str) -> Option<WorkloadCondition<'v>> {
        let found = self.0.iter().find(|one| text(one, "/type") == Some(kind))?;
        Some(WorkloadCondition {
            status: text(found, "/status").unwrap_or_default(),
            reason: text(found, "/reason").unwrap_or_default(),
            message: text(found, "/message").unwrap_or_default(),
            since: text(found, "/lastTransitionTime").and_then(|time| time.parse().ok()),
        })
    }
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
