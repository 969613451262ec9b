//! What an owner shows, held against what it should: generation, conditions, counters, versions.

use serde_json::Value;

use super::standing::Unmet;
use crate::live_objects::text;
use crate::rollout::observed::observed_owner::ObservedOwner;
use crate::rollout::observed::reading::{Contract, OwnerReading, is_version};
use crate::rollout::observed::verdict::{Counts, Readiness};
use capstan_model::kinds::{self, version_fields};

/// The version that the live object asks for.
pub(super) fn version_asked<'v>(owner: &ObservedOwner<'_>, reading: &OwnerReading<'v>) -> Option<&'v str> {
    version_fields(&owner.id.group, &owner.id.kind)
        .find_map(|(_, keys)| text(reading.object, &kinds::pointer(keys)))
}

/// Its controller must have seen the present generation.
pub(super) fn observed(reading: &OwnerReading<'_>, unmet: &mut Unmet) {
    if !reading.is_observed() {
        unmet.add(format!(
            "its controller has not observed generation {} (it has observed {})",
            reading.generation,
            reading.observed.map_or_else(|| "none".to_owned(), |generation| generation.to_string())
        ));
    }
}

/// Conditions that must be so: the first ones where they are there at all, the second ones in any case. One
/// of an older generation says nothing.
pub(super) fn expect(
    reading: &OwnerReading<'_>,
    unmet: &mut Unmet,
    if_there: &[(&str, &str)],
    always: &[(&str, &str)],
) {
    for (kind, wanted) in if_there.iter().chain(always) {
        let Some(condition) = reading.condition(kind) else {
            if always.contains(&(kind, wanted)) {
                unmet.add(format!("it has no condition {kind} yet"));
            }
            continue;
        };
        if condition.status != *wanted {
            unmet.add(condition.sentence());
        } else if condition.observed.is_some_and(|observed| observed != reading.generation) {
            unmet.add(format!("its condition {kind} is for an older generation"));
        } else if condition.observed.is_none() && reading.contract == Contract::V1beta2 {
            unmet.add(format!("its condition {kind} has no generation"));
        }
    }
}

/// There must be as many machines as are wanted, and as many of each of these sorts.
pub(super) fn all_are_there(counts: Counts, unmet: &mut Unmet, parts: &[(&str, u32)]) {
    let Counts { wanted, current, .. } = counts;
    for (words, number) in parts {
        if *number != wanted {
            unmet.add(format!("{number} of {wanted} machines are {words}"));
        }
    }
    if current != wanted {
        unmet.add(format!("there are {current} machines, but there should be {wanted}"));
    }
}

/// One version must run, the wanted one, on as many as there shall be.
pub(super) fn one_version(
    running: &[(&str, u32)],
    wanted: &str,
    replicas: u32,
    what: &str,
    unmet: &mut Unmet,
) {
    match running {
        [] if replicas == 0 => {}
        [] => unmet.add(format!("none of {replicas} {what} runs yet")),
        [(version, number)] if is_version(version, wanted) && *number == replicas => {}
        [(version, number)] if is_version(version, wanted) => {
            unmet.add(format!("{number} of {replicas} {what} run {wanted}"));
        }
        several => {
            let said: Vec<String> =
                several.iter().map(|(version, number)| format!("{number} of {version}")).collect();
            unmet.add(format!("{what} run {}, wanted is {wanted}", said.join(" and ")));
        }
    }
}

/// Whether an owner says that it is ready, in any contract.
pub(super) fn readiness(reading: &OwnerReading<'_>) -> Readiness {
    let is_current = reading.observed.is_none() || reading.is_observed();
    let said = ["Available", "Ready"].into_iter().find_map(|kind| reading.condition(kind));
    let ready = match said {
        Some(condition) => condition.is_true(),
        None => reading.object.pointer("/status/ready") == Some(&Value::Bool(true)),
    };
    if is_current && ready { Readiness::Ready } else { Readiness::NotReady }
}
