//! Many targets' plans, each let go once it was seen.

use capstan_model::ids::{ClusterId, ReleaseName};
use capstan_plan::migration::WantedVersion;

use super::Fleet;
use super::plan::{Planned, PlannedWithReasons, plan_migration, plan_with_reasons};
use super::threads::in_order;

/// Plans several clusters and lets each plan go once it was seen: `make` is called from any thread, in any order,
/// `take` on this one, in the order of the ids.
///
/// # Errors
/// The first of `take`; nothing more is planned then.
pub fn plan_each<T: Send, E>(
    fleet: &Fleet,
    clusters: &[ClusterId],
    asked: Option<&ReleaseName>,
    make: impl Fn(&ClusterId, PlannedWithReasons) -> T + Sync,
    take: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    in_order(clusters, |id| make(id, plan_with_reasons(fleet, id, asked)), take)
}

/// Plans newer API versions for several targets: those asked for, or the newest. `take` is called on this thread, in
/// the order of the ids.
///
/// # Errors
/// The first of `take`; nothing more is planned then.
pub fn migrate_each<E>(
    fleet: &Fleet,
    targets: &[ClusterId],
    wanted: &[WantedVersion],
    take: impl FnMut(Planned) -> Result<(), E>,
) -> Result<(), E> {
    in_order(targets, |id| plan_migration(fleet, id, wanted), take)
}
