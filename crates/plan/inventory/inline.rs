//! What of a change of the inventory may be put on its author's own branch, in the same pull request.
//!
//! *Guarantee*: all of the changes are put there, or none. Changes that a person should see first are left for a
//! proposal of their own: edits that the change meets, a base without a recorded release, machines that are
//! deleted, or a step to another release.

use std::collections::BTreeMap;
use std::sync::Arc;

use capstan_model::ids::ClusterId;
use capstan_model::source::SourceKind;
use capstan_model::wording::count;

use super::outlook::{InventoryChange, PlansOfCluster, does_something, is_new};
use crate::settings::InlineLimits;
use crate::upgrade::{Basis, MachineCount, Upgrade, ValuesCourse};

/// What is put on the branch.
#[derive(Debug, Default)]
pub struct Inline {
    /// One upgrade a cluster, in the order of their ids.
    pub upgrades: Vec<Arc<Upgrade>>,
    /// Clusters that get a proposal of their own instead, and why, as the rest of a sentence that begins with them.
    pub left: Vec<(ClusterId, &'static str)>,
}

impl Inline {
    /// What of a change may be put on the branch, by the plans before and after it.
    ///
    /// # Errors
    /// Why nothing is, in sentences without their full stops.
    pub fn of(
        limits: &InlineLimits,
        change: &InventoryChange,
        before: &BTreeMap<ClusterId, PlansOfCluster>,
        after: &BTreeMap<ClusterId, PlansOfCluster>,
    ) -> Result<Self, Vec<String>> {
        let mut inline = Self::default();
        let mut against = Vec::new();
        for id in &change.clusters {
            let Some(plans) = after.get(id) else {
                against.push(format!("{id} was not planned, because the change affects too many clusters"));
                break;
            };
            let known = before.get(id).map(Vec::as_slice).unwrap_or_default();
            let mut new = Vec::new();
            for plan in plans.iter().filter(|plan| is_new(plan, known)) {
                match plan {
                    Ok(upgrade) => new.push(upgrade),
                    Err(why) => against.push(format!("{id} cannot be planned: {why}")),
                }
            }
            let Some(first) = new.first() else { continue };
            let own = match new.as_slice() {
                [_] => reason_for_own(first, known),
                _ => Some(
                    "its release and its values both change, and proposals bring them one after the other",
                ),
            };
            match own {
                Some(why) => inline.left.push((id.clone(), why)),
                None if !first.blocked.is_empty() => {
                    against
                        .push(format!("{id} is blocked: {}", first.blocked.join(" ").trim_end_matches('.')));
                }
                None => inline.upgrades.push(Arc::clone(first)),
            }
        }
        against.extend(beyond(limits, &inline.upgrades));
        if against.is_empty() { Ok(inline) } else { Err(against) }
    }
}

/// Why an upgrade is brought by a proposal of its own, wherever it comes from.
fn reason_for_own(upgrade: &Upgrade, known: &[Result<Arc<Upgrade>, String>]) -> Option<&'static str> {
    let is_waiting = |one: &&Arc<Upgrade>| one.brought_by() == SourceKind::INVENTORY && does_something(one);
    if known.iter().flatten().any(|one| is_waiting(&one)) {
        return Some(
            "an earlier change of the inventory is still in its proposal, and Capstan does not mix the two",
        );
    }
    if upgrade.values.as_ref().is_some_and(|values| values.course == ValuesCourse::Goes) {
        return Some("it is to be deleted, with its machines");
    }
    let comes = upgrade.values.as_ref().is_some_and(|values| values.course == ValuesCourse::Comes);
    if !comes && upgrade.from != upgrade.to {
        return Some("it is a step to another release");
    }
    if !comes && upgrade.basis != Basis::Known {
        return Some("no record says which values its base was made from");
    }
    (!upgrade.conflicts.is_empty())
        .then_some("the change conflicts with edits of its base, which its proposal shows")
}

/// Why these are too many.
fn beyond(limits: &InlineLimits, upgrades: &[Arc<Upgrade>]) -> Option<String> {
    let mut parts = Vec::new();
    if u32::try_from(upgrades.len()).unwrap_or(u32::MAX) > limits.clusters {
        let changes = count(upgrades.len(), "cluster changes", "clusters change");
        parts.push(format!("{changes} and {} may", limits.clusters));
    }
    // If an autoscaler sizes a pool, its number of machines is unknown. An unknown number is over the limit.
    let machines = MachineCount::of(upgrades.iter().flat_map(|upgrade| &upgrade.rollouts));
    if machines.exactly().is_none_or(|known| known > u64::from(limits.machines)) {
        let replaced = match machines.exactly() {
            Some(known) => {
                let number = usize::try_from(known).unwrap_or(usize::MAX);
                count(number, "machine is replaced", "machines are replaced")
            }
            None => "an unknown number of machines are replaced".to_owned(),
        };
        parts.push(format!("{replaced} and {} may be", limits.machines));
    }
    let why = format!("{}: see the limits under `inventory.inline` in .capstan.yaml", parts.join(", "));
    (!parts.is_empty()).then_some(why)
}
