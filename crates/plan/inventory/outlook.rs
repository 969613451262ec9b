//! What a change of the inventory, of schemas or of templates does to clusters, seen before its merge.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capstan_model::finding::{Finding, Place};
use capstan_model::ids::ClusterId;
use serde::{Deserialize, Serialize};

use crate::upgrade::{MachineCount, Upgrade, ValuesCourse};

/// A level by the kind and name of its object.
pub type LevelName = (String, String);

/// The clusters that a change may concern, and what the rules find in the inventory before and after it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct InventoryChange {
    /// The clusters for which the inventory says something else after the change, ordered.
    pub clusters: Vec<ClusterId>,
    /// How many clusters the inventory defines.
    pub all: usize,
    /// Those of the clusters that it does not define, so that they are not among these.
    #[serde(default)]
    pub uncounted: BTreeSet<ClusterId>,
    /// The same of levels: those that belonged to theirs before alone.
    #[serde(default)]
    pub without_level: BTreeSet<ClusterId>,
    /// The levels of those that it concerns, upper ones first.
    pub levels: BTreeMap<ClusterId, Vec<LevelName>>,
    /// How many clusters belong to each of these levels.
    pub totals: Vec<(LevelName, usize)>,
    /// Where to look first.
    pub place: Option<Place>,
    /// Findings on the base branch.
    pub before: Vec<Finding>,
    /// Findings on what a merge would give.
    pub after: Vec<Finding>,
}

/// What becomes of the clusters of one level.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LevelReach {
    /// Those that belong to it.
    pub all: usize,
    /// Those that change, come or go.
    pub changed: usize,
    /// Those of whose machines some are replaced.
    pub rolling: usize,
    /// How many machines that is.
    pub machines: MachineCount,
    /// Those whose proposal would block, or that cannot be planned.
    pub blocked: usize,
}

/// What a change does.
#[derive(Debug, Clone, Default)]
pub struct InventoryOutlook {
    /// All of it together.
    pub whole: LevelReach,
    /// The same by level, in the order of the levels.
    pub levels: Vec<(LevelName, LevelReach)>,
    /// Clusters that get other values, or another release.
    pub changed: Vec<ClusterId>,
    /// Clusters that come.
    pub created: Vec<ClusterId>,
    /// Clusters that go.
    pub retired: Vec<ClusterId>,
    /// Clusters that cannot be planned, and why.
    pub errors: Vec<(ClusterId, String)>,
    /// Clusters for which the inventory says something else and that were not planned: there are too many.
    pub unplanned: usize,
    /// The upgrades to look into: as many as the caller wants.
    pub worst: Vec<Arc<Upgrade>>,
}

/// A cluster's plans: from releases, and what the inventory brings.
pub type PlansOfCluster = Vec<Result<Arc<Upgrade>, String>>;

impl InventoryOutlook {
    /// What becomes of clusters, by their plans before and after the change. One that would be proposed without the
    /// change, too, is not its doing.
    pub fn of(
        change: &InventoryChange,
        before: &BTreeMap<ClusterId, PlansOfCluster>,
        after: &BTreeMap<ClusterId, PlansOfCluster>,
        worst: impl Fn(Vec<Arc<Upgrade>>) -> Vec<Arc<Upgrade>>,
    ) -> Self {
        let mut outlook = Self {
            whole: LevelReach { all: change.all, ..LevelReach::default() },
            unplanned: change.clusters.iter().filter(|id| !after.contains_key(*id)).count(),
            ..Self::default()
        };
        let mut levels: BTreeMap<&LevelName, LevelReach> = change
            .totals
            .iter()
            .map(|(level, all)| (level, LevelReach { all: *all, ..LevelReach::default() }))
            .collect();
        let mut brought = Vec::new();
        for (cluster, plans) in after {
            let known = before.get(cluster).map(Vec::as_slice).unwrap_or_default();
            let new: Vec<&Result<Arc<Upgrade>, String>> =
                plans.iter().filter(|plan| is_new(plan, known)).collect();
            let one = ClusterOutcome::of(&new);
            if !one.changes {
                continue;
            }
            for plan in &new {
                match plan {
                    Ok(upgrade) => brought.push(Arc::clone(upgrade)),
                    Err(why) => outlook.errors.push((cluster.clone(), why.clone())),
                }
            }
            match one.course {
                ValuesCourse::Comes => outlook.created.push(cluster.clone()),
                ValuesCourse::Goes => outlook.retired.push(cluster.clone()),
                ValuesCourse::Changes if new.iter().any(|plan| plan.is_ok()) => {
                    outlook.changed.push(cluster.clone())
                }
                ValuesCourse::Changes => {}
            }
            // A cluster that changes counts among all, even if the inventory does not define it.
            outlook.whole.all += usize::from(change.uncounted.contains(cluster));
            one.add_to(&mut outlook.whole);
            let own: BTreeSet<&LevelName> = change.levels.get(cluster).into_iter().flatten().collect();
            own.into_iter().for_each(|level| {
                if let Some(level) = levels.get_mut(level) {
                    level.all += usize::from(change.without_level.contains(cluster));
                    one.add_to(level);
                }
            });
        }
        let order = change.totals.iter().map(|(level, _)| level);
        let told = order.filter_map(|level| Some((level.clone(), levels.remove(level)?)));
        outlook.levels = told.filter(|(_, reach)| reach.changed > 0).collect();
        outlook.worst = worst(brought);
        outlook
    }
}

/// Whether a plan asks for something that the plans before did not.
pub(super) fn is_new(plan: &Result<Arc<Upgrade>, String>, known: &[Result<Arc<Upgrade>, String>]) -> bool {
    let upgrade: &Upgrade = match plan {
        Ok(upgrade) if upgrade.to.is_some() => upgrade.borrow(),
        Ok(_) => return false,
        Err(why) => return !known.iter().any(|known| known.as_ref().err() == Some(why)),
    };
    let is_it = |one: &Upgrade| {
        let after = |one: &Upgrade| -> Vec<_> {
            one.files.iter().map(|file| (file.path.clone(), file.after.clone())).collect()
        };
        one.brought_by() == upgrade.brought_by()
            && one.blocked == upgrade.blocked
            && after(one) == after(upgrade)
    };
    does_something(upgrade) && !known.iter().flatten().any(|known| is_it(known))
}

/// Whether an upgrade writes anything, or says why it does not.
pub(super) fn does_something(upgrade: &Upgrade) -> bool {
    !upgrade.blocked.is_empty() || upgrade.files.iter().any(|file| file.before != file.after)
}

/// What becomes of one cluster.
#[derive(Default)]
struct ClusterOutcome {
    changes: bool,
    blocks: bool,
    machines: MachineCount,
    course: ValuesCourse,
}

impl ClusterOutcome {
    fn of(plans: &[&Result<Arc<Upgrade>, String>]) -> Self {
        let mut reached = Self { changes: !plans.is_empty(), ..Self::default() };
        for plan in plans {
            let Ok(upgrade) = plan else {
                reached.blocks = true;
                continue;
            };
            reached.blocks |= !upgrade.blocked.is_empty();
            if let Some(values) = &upgrade.values
                && values.course != ValuesCourse::Changes
            {
                reached.course = values.course;
            }
            reached.machines = reached.machines.and(MachineCount::of(&upgrade.rollouts));
        }
        reached
    }

    fn add_to(&self, level: &mut LevelReach) {
        level.changed += usize::from(self.changes);
        level.blocked += usize::from(self.blocks);
        level.rolling += usize::from(!self.machines.is_none());
        level.machines = level.machines.and(self.machines);
    }
}
