//! Whether a rollout is stuck, since when, by which object, and in whose words.
//!
//! If something is missing that will not come by itself, the rollout is stuck after a short while; if nothing moves,
//! after a long one. A machine moves when it is created, is being deleted, reaches another step on its way up, or
//! gets a new status during an update in place. The moment at which something went wrong or fell due counts as a move,
//! too. So a node that went away a minute ago, or a `rollout.after` that has just come, does not make a rollout of last
//! month stuck.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::machines::ObservedMachine;
use super::observed_owner::{ObservedOwner, is_owned_by_topology, owner_named};
use super::reading::{OwnerCondition, OwnerReading, conditions, status_written, time, written};
use super::rules::{Ends, OwnerState, is_applied, waits_for_nobody};
use super::verdict::{MachineAge, RolloutProgress};
use crate::live_objects::{is_terminating, text};
use crate::rollout::owner::MachineOwner;
use capstan_model::kinds::{KindRole, Workers, role_of};
use capstan_model::object::ObjectId;
use capstan_plan::templates::references;

/// What holds a rollout up.
pub(super) struct HeldUp {
    pub(super) since: Timestamp,
    pub(super) on: ObjectId,
    pub(super) words: String,
}

/// Reasons of a machine's conditions that do not pass by themselves.
const GONE: &[&str] = &["ObjectDoesNotExist", "ObjectDeleted"];
const HOPELESS: &[&str] = &["CannotBeRemediated", "RemediationTemplateNotFound"];

pub(super) fn held_up(
    owner: &ObservedOwner<'_>,
    reading: &OwnerReading<'_>,
    machines: &[ObservedMachine<'_>],
    standing: &OwnerState,
) -> Option<HeldUp> {
    let patience = owner.patience;
    let over = |since: Timestamp, patience: SignedDuration| owner.now.duration_since(since) >= patience;
    match standing.state {
        RolloutProgress::Rolling => {
            let missing = missing(owner, reading, machines);
            if let Some(held) = missing.filter(|held| over(held.since, patience.blocked)) {
                return Some(held);
            }
            let since = last_movement(owner, reading, machines)?;
            if !over(since, patience.still) {
                return None;
            }
            let (on, words) = culprit(owner, reading, machines, standing);
            Some(HeldUp { since, on, words })
        }
        // Git's word is in the object, and its controller does not take it up: a template is missing, or
        // the controller is away.
        RolloutProgress::Waiting if !is_terminating(reading.object) => {
            if let Some(behind) = &standing.behind {
                let lasts = |since: &Timestamp| over(*since, patience.unobserved);
                let since = behind.since.filter(|since| behind.ends == Ends::WhenSeen && lasts(since))?;
                return Some(HeldUp { since, on: behind.on.clone(), words: behind.words.clone() });
            }
            let unobserved = reading.observed.is_some_and(|observed| observed != reading.generation)
                || !reading.has_status();
            let since = reading.written().filter(|_| unobserved && applied(owner, reading))?;
            let words = format!(
                "its controller has not observed generation {} (it has observed {})",
                reading.generation,
                reading.observed.unwrap_or_default()
            );
            over(since, patience.unobserved).then(|| HeldUp { since, on: owner.id.clone(), words })
        }
        RolloutProgress::Waiting
        | RolloutProgress::Done
        | RolloutProgress::Unknown
        | RolloutProgress::Stuck => None,
    }
}

/// Whether the wait is for a controller: not for Capstan, nor for a person.
fn applied(owner: &ObservedOwner<'_>, reading: &OwnerReading<'_>) -> bool {
    is_applied(owner, reading.object) && waits_for_nobody(owner, reading)
}

/// Something that is missing and will not come by itself.
fn missing(
    owner: &ObservedOwner<'_>,
    reading: &OwnerReading<'_>,
    machines: &[ObservedMachine<'_>],
) -> Option<HeldUp> {
    let written = reading.written();
    for machine in machines.iter().filter(|machine| !is_terminating(machine.object)) {
        let hopeless = machine.conditions.iter().find(|condition| {
            let part =
                ["BootstrapConfigReady", "BootstrapReady", "InfrastructureReady"].contains(&condition.kind);
            !condition.is_true()
                && (part && GONE.contains(&condition.reason) || HOPELESS.contains(&condition.reason))
        });
        if let Some(condition) = hopeless {
            let since = condition.since.or(machine.created)?;
            return Some(HeldUp { since, on: machine.id.clone(), words: condition.sentence() });
        }
        let failed = ["/status/failureMessage", "/status/deprecated/v1beta1/failureMessage"];
        if let Some(words) = failed.iter().find_map(|pointer| text(machine.object, pointer)) {
            let since = machine.created?;
            return Some(HeldUp { since, on: machine.id.clone(), words: words.to_owned() });
        }
    }
    let scaling = reading.condition("ScalingUp").filter(misses_a_template);
    if let Some(condition) = scaling {
        // The condition may be older than the edit that named what is missing.
        let since = reading.rolling_since().into_iter().chain(written).max()?;
        return Some(HeldUp { since, on: owner.id.clone(), words: condition.message.to_owned() });
    }
    let hopeless = reading.conditions.iter().find(|condition| HOPELESS.contains(&condition.reason));
    hopeless.and_then(|condition| {
        Some(HeldUp { since: condition.since?, on: owner.id.clone(), words: condition.sentence() })
    })
}

/// `Scaling up would be blocked because DevMachineTemplate does not exist`: that something is missing, Cluster API
/// says in these words alone, under the reasons that the condition has anyway.
fn misses_a_template(condition: &&OwnerCondition<'_>) -> bool {
    condition.message.contains("does not exist")
}

/// `Scaling up from 1 to 2 replicas is blocked because:\n* …`: there is no reason of its own for it either.
fn is_blocked(condition: &&OwnerCondition<'_>) -> bool {
    condition.message.contains("blocked")
}

/// When a machine last moved; where none did, when the rollout began.
fn last_movement(
    owner: &ObservedOwner<'_>,
    reading: &OwnerReading<'_>,
    machines: &[ObservedMachine<'_>],
) -> Option<Timestamp> {
    let steps = ["BootstrapConfigReady", "BootstrapReady", "InfrastructureReady", "NodeReady"];
    let moved = machines.iter().flat_map(|machine| {
        let up = machine
            .conditions
            .iter()
            .filter(|condition| condition.is_true() && steps.contains(&condition.kind))
            .filter(|_| machine.state.age == MachineAge::New)
            .filter_map(|condition| condition.since);
        let deleted_at = time(machine.object.pointer("/metadata/deletionTimestamp"));
        up.chain(machine.created).chain(machine.overdue).chain(deleted_at).collect::<Vec<_>>()
    });
    let broke = machines.iter().filter_map(|machine| {
        machine.condition(&["Ready"]).filter(|ready| !ready.is_true()).and_then(|ready| ready.since)
    });
    // The condition keeps the time at which the update began. A failure that persists writes nothing new.
    let updated = machines.iter().filter_map(|machine| {
        machine.updating()?.since.into_iter().chain(status_written(machine.object)).max()
    });
    let went_wrong = ["Available", "MachinesReady", "MachinesUpToDate", "Ready", "TopologyReconciled"]
        .iter()
        .filter_map(|kind| reading.condition(kind))
        .filter(|condition| !condition.is_true())
        .filter_map(|condition| condition.since);
    // What a pool is made of rolls in place.
    let named = references(&owner.id.group, &owner.id.kind, reading.object);
    let parts = named
        .iter()
        .filter_map(|reference| owner.live.meant(reference, owner.id.namespace.as_deref()))
        .filter_map(written);
    let began = reading.rolling_since().into_iter().chain(reading.written()).chain(parts);
    moved.chain(broke).chain(updated).chain(went_wrong).chain(began).max()
}

/// Who is to blame: a machine whose update in place does not end, one that does not come up, one that does not go, a set that is blocked, else the
/// owner itself.
fn culprit(
    owner: &ObservedOwner<'_>,
    reading: &OwnerReading<'_>,
    machines: &[ObservedMachine<'_>],
    standing: &OwnerState,
) -> (ObjectId, String) {
    let updating =
        machines.iter().find_map(|machine| Some((machine.id.clone(), machine.updating()?.sentence())));
    if let Some(updating) = updating {
        return updating;
    }
    let coming = machines.iter().find(|machine| {
        !is_terminating(machine.object) && !machine.is_ready() && machine.state.age == MachineAge::New
    });
    if let Some(machine) = coming {
        let words = machine.state.words.clone().unwrap_or_else(|| format!("phase {}", machine.state.state));
        return (machine.id.clone(), words);
    }
    if let Some((id, words)) = blocked_set(owner) {
        return (id, words);
    }
    let blocked =
        ["ScalingUp", "ScalingDown"].iter().find_map(|kind| reading.condition(kind).filter(is_blocked));
    if let Some(machine) = machines.iter().find(|machine| is_terminating(machine.object)) {
        let words = machine
            .condition(&["Deleting"])
            .map_or_else(|| "is stuck in deletion".to_owned(), OwnerCondition::sentence);
        return (machine.id.clone(), words);
    }
    let lagging = machines.iter().find(|machine| !machine.is_ready());
    if let (None, Some(machine)) = (blocked, lagging) {
        let words = machine.state.words.clone().unwrap_or_else(|| format!("phase {}", machine.state.state));
        return (machine.id.clone(), words);
    }
    let says = |kind: &str, status: &str| {
        reading
            .condition(kind)
            .filter(|condition| condition.status == status && !condition.message.is_empty())
    };
    let words = blocked
        .or_else(|| says("Available", "False"))
        .or_else(|| says("RollingOut", "True"))
        .or_else(|| says("TopologyReconciled", "False"))
        .map(|condition| condition.message)
        .or(standing.words.as_deref())
        .unwrap_or("no machine has changed");
    (owner.id.clone(), words.to_owned())
}

/// A set of machines of the owner that says it is blocked.
fn blocked_set(owner: &ObservedOwner<'_>) -> Option<(ObjectId, String)> {
    let owns = |set: &Value| match owner.kind {
        MachineOwner::Deployment => owner_named(set, &owner.id.kind) == Some(owner.id.name.as_str()),
        MachineOwner::Topology => {
            is_owned_by_topology(set) && text(set, "/spec/clusterName") == Some(owner.id.name.as_str())
        }
        _ => false,
    };
    owner
        .live
        .iter()
        .filter(|(id, set)| role_of(id) == Some(KindRole::Workers(Workers::Set)) && owns(set))
        .find_map(|(id, set)| {
            let blocked = conditions(set).into_iter().find(|condition| {
                ["ScalingUp", "ScalingDown"].contains(&condition.kind) && is_blocked(&condition)
            })?;
            Some((id.clone(), blocked.message.to_owned()))
        })
}
