//! `rollout.after`: machines that are replaced for no other reason than when they were made.
//!
//! Cluster API compares the time with the age of a control plane's machine (`ShouldRolloutAfter`), and for workers with
//! that of their MachineSet (`FindNewAndOldMachineSets`). What is older than the time is outdated once the time has
//! come. That moment triggers no controller: it sees the time with another event, or at its resync every ten minutes,
//! and until then every condition is green. So Capstan compares the times here.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::observed_owner::{ObservedOwner, control_plane_reference, owner_named};
use super::reading::{created, time};
use crate::rollout::facts::ROLLOUT_AFTER;
use crate::rollout::owner::MachineOwner;

/// How often Cluster API's controllers look at everything, asked or not (`--sync-period`).
const RESYNC: SignedDuration = SignedDuration::from_mins(10);

/// Machines that will be replaced.
pub(super) struct PutOff {
    pub(super) until: Timestamp,
    pub(super) words: String,
}

/// The time that an owner says.
pub(super) fn after(owner: &Value) -> Option<Timestamp> {
    ROLLOUT_AFTER.iter().find_map(|pointer| time(owner.pointer(pointer)))
}

impl ObservedOwner<'_> {
    /// Why machines are old whose time has come. Within a resync of it, nothing may move yet though nothing is
    /// wrong.
    pub(super) fn has_come(&self, time: Timestamp) -> String {
        let latest = time.saturating_add(RESYNC).unwrap_or(Timestamp::MAX);
        if self.now < latest {
            format!("rollout.after, {time}, has come; Cluster API looks at its next resync, by {latest}")
        } else {
            format!("rollout.after, {time}, has come")
        }
    }

    /// The replacement of all its machines that is still to come.
    pub(super) fn put_off(&self, object: &Value, machines: u32) -> Option<PutOff> {
        let goes_by_it = matches!(
            self.kind,
            MachineOwner::Kubeadm | MachineOwner::OtherControlPlane | MachineOwner::Deployment
        );
        let until = after(object).filter(|after| goes_by_it && machines > 0 && *after > self.now)?;
        let words = format!(
            "rollout.after: its machines are replaced from {until} on; until then all are up to date, and it waits"
        );
        Some(PutOff { until, words })
    }

    /// The time that made a machine outdated, where it has come.
    pub(super) fn overdue(&self, machine: &Value) -> Option<Timestamp> {
        let (made, after) = match self.workers_of(machine) {
            Some(workers) => (created(workers.set), after(workers.deployment.1)),
            None => (created(machine), after(self.control_plane_of(machine)?)),
        };
        after.filter(|after| *after <= self.now && made.is_some_and(|made| made < *after))
    }

    /// The control plane that a machine says it belongs to.
    fn control_plane_of(&self, machine: &Value) -> Option<&Value> {
        match self.kind {
            MachineOwner::Kubeadm | MachineOwner::OtherControlPlane => self.live.get(self.id),
            MachineOwner::Topology => {
                let named = control_plane_reference(self.id, self.live.get(self.id)?)?;
                let is_its = owner_named(machine, named.kind) == Some(named.name);
                self.live.meant(&named, self.id.namespace.as_deref()).filter(|_| is_its)
            }
            MachineOwner::ManagedControlPlane
            | MachineOwner::Deployment
            | MachineOwner::Set
            | MachineOwner::Pool => None,
        }
    }
}
