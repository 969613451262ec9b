//! What all sources bring to all targets: plans that are kept where they hold, and new ones where they do not.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use capstan_model::ids::ClusterId;
use capstan_model::source::SourceKind;
use capstan_plan::upgrade::Upgrade;

use super::cached_plan::CachedPlan;
use super::gather::Gathered;
use super::kept_plan::kept;
use super::plan::plan_target;
use super::read_set::Paths;
use super::reuse::{is_reusable, keep};
use super::threads::on_all_cores;
use super::valued_clusters::valued_clusters;
use super::valued_folder::is_settled;
use super::valued_plan::values_made;
use super::{Fleet, Refused, WatchRenders};

/// What of a target is to be planned.
#[derive(Default)]
struct Open {
    /// Its place in the layout, where a release may bring it something.
    release: Option<usize>,
    /// Whether the inventory may bring it something.
    values: bool,
}

/// Plans for each target what the `wanted` sources bring to it: first a newer release, then the inventory. `take`
/// gets `None` if the inventory brings nothing. Targets come in any order, from several threads; `watch` is called
/// around each one that is planned. A target keeps its plan if nothing that concerns it has changed since the last
/// look.
pub fn plan_each_source(
    fleet: &Fleet,
    wanted: impl Fn(&ClusterId, &SourceKind) -> bool,
    watch: &dyn WatchRenders,
    take: impl Fn(&ClusterId, SourceKind, Option<Result<Arc<Upgrade>, Refused>>) + Sync,
) {
    let kept = fleet.known().zip(fleet.look()).map(|(known, look)| {
        let given = fleet.supplement().for_releases();
        let trusted = look.trusted(known.number(), &given);
        known.want_all();
        (known, look, given, trusted)
    });
    let trusted = |at: usize| kept.as_ref().and_then(|(.., trusted)| trusted.get(at)?.upgrade());
    let mut open: BTreeMap<ClusterId, Open> = BTreeMap::new();
    for (at, folder) in fleet.layout().targets.iter().enumerate() {
        if !wanted(&folder.id, &SourceKind::RELEASE) {
            continue;
        }
        match (trusted(at), &kept) {
            (Some(plan), Some((known, ..))) => {
                known.count_reused(1);
                take(&folder.id, SourceKind::RELEASE, Some(Ok(Arc::clone(&plan.upgrade))));
            }
            _ => open.entry(folder.id.clone()).or_default().release = Some(at),
        }
    }
    for id in valued_clusters(fleet).into_iter().filter(|id| wanted(id, &SourceKind::INVENTORY)) {
        open.entry(id).or_default().values = true;
    }
    let open: Vec<(ClusterId, Open)> = open.into_iter().collect();
    // Of each plan only what leads to it is held on to: of what has no room in the memory nothing stays.
    let outside = Mutex::new(Paths::default());
    let made = on_all_cores(&open, |(id, open)| {
        let release = open.release.map(|at| {
            watch.begun(id);
            let (plan, kept) = match cached_or_made(fleet, id) {
                Ok((upgrade, kept)) => (Ok(upgrade), kept),
                Err(refused) => (Err(refused), None),
            };
            take(id, SourceKind::RELEASE, Some(plan));
            if let Some(step) = kept.as_ref().and_then(|kept| kept.given.step.as_ref()) {
                outside.lock().unwrap_or_else(PoisonError::into_inner).add(&step.outside);
            }
            (at, kept.map(|kept| Arc::downgrade(&kept)))
        });
        if open.values {
            let made = if is_settled(fleet, id) {
                None
            } else {
                watch.begun(id);
                values_made(fleet, id).transpose()
            };
            take(id, SourceKind::INVENTORY, made);
        }
        release
    });
    if let Some((known, look, given, trusted)) = kept {
        let outside = outside.into_inner().unwrap_or_else(PoisonError::into_inner);
        look.keep_plans(known.number(), given, trusted, (made.into_iter().flatten(), outside));
    }
}

/// The plan for the release that a cluster is offered, with what is kept of it.
fn cached_or_made(fleet: &Fleet, id: &ClusterId) -> Result<(Arc<Upgrade>, Option<Arc<CachedPlan>>), Refused> {
    let asked = fleet.supplement().asked_release(id);
    let Some(known) = fleet.known() else {
        return plan_target(fleet, id, asked).map(|upgrade| (Arc::new(upgrade), None));
    };
    if let Some(kept) = kept(fleet, id).filter(|kept| is_reusable(fleet, known, kept)) {
        return Ok((Arc::clone(&kept.upgrade), Some(kept)));
    }
    known.count_planned();
    Ok(keep(known, Gathered::of(fleet, id, asked)?, asked))
}
