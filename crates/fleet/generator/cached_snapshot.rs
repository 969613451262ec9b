//! One look at a repository, kept for the next one: which clusters a push left alone needs no question to
//! each of them.
//!
//! *Expected flow*: [`CachedSnapshot::next`] makes the look at a snapshot from the one before it, at the price of the
//! files in which they differ; the fleet plans; [`CachedSnapshot::keep_plans`] stores the plans. *Guarantee*: a plan is
//! [trusted](CachedSnapshot::trusted) only if neither its cluster's folder nor anything that any plan read outside of
//! its own folder has changed. The others are judged one by one, as [`plan_each_source`] does it.
//!
//! [`plan_each_source`]: super::plan_each_source

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use capstan_model::tree::{Folder, Tree, changed_files};
use capstan_plan::layout::{self, Layout};
use capstan_plan::settings::RepositorySettings;

use super::cached_plan::CachedPlan;
use super::following::Next;
use super::read_set::Paths;
use super::supplement::FromOutside;
use super::wide::Wide;

/// A push that changes more files is treated as the first look at a repository.
const MOST_CHANGED: usize = 5_000;

/// A repository at one commit, as it was found.
pub(super) struct CachedSnapshot {
    /// `None` where the snapshot was not made of folders: nothing follows such a look.
    root: Option<Arc<Folder>>,
    settings: RepositorySettings,
    pub(super) layout: Arc<Layout>,
    pub(super) wide: Arc<Wide>,
    /// The plans that are known, of one fleet, under one set of conditions.
    plans: Mutex<Option<Plans>>,
}

#[derive(Clone)]
struct Plans {
    /// The fleet's number.
    fleet: usize,
    given: FromOutside,
    /// By the clusters' place in the layout; those that were not kept, or may no longer hold, lead nowhere.
    by_cluster: Vec<Weak<CachedPlan>>,
    /// What they read outside of their own folders, all of them together.
    outside: Paths,
}

impl CachedSnapshot {
    /// A first look.
    pub(super) fn first(
        root: Option<&Arc<Folder>>,
        settings: &RepositorySettings,
        layout: Arc<Layout>,
    ) -> Self {
        Self {
            root: root.cloned(),
            settings: settings.clone(),
            layout,
            wide: Arc::default(),
            plans: Mutex::default(),
        }
    }

    /// Whether it is of this snapshot under these settings.
    pub(super) fn is_of(&self, root: &Folder, settings: &RepositorySettings) -> bool {
        self.settings == *settings && self.root.as_ref().is_some_and(|own| own.id() == root.id())
    }

    /// The look at a snapshot that differs little from this one's; `None` where it differs much.
    pub(super) fn next(
        &self,
        root: &Arc<Folder>,
        tree: &dyn Tree,
        settings: &RepositorySettings,
    ) -> Option<Self> {
        let earlier = self.root.as_ref().filter(|_| self.settings == *settings)?;
        let changed = changed_files(earlier, root, MOST_CHANGED)?;
        let followed = layout::follow(&self.layout, tree, settings, &changed)?;
        let touched: Vec<usize> = followed.touched.into_iter().collect();
        let layout = Arc::new(followed.layout);
        let next = Next { earlier, tree, layout: &layout, changed: &changed, touched: &touched };
        let wide = self.wide.follow(&next);
        let all_hold = self.wide.all_hold_in(&wide);
        let holds = |plans: &Plans| all_hold && !changed.iter().any(|path| plans.outside.hold(path));
        let plans = lock(&self.plans).clone().filter(holds).map(|mut plans| {
            for at in &touched {
                if let Some(plan) = plans.by_cluster.get_mut(*at) {
                    *plan = Weak::new();
                }
            }
            plans
        });
        Some(Self {
            root: Some(Arc::clone(root)),
            settings: settings.clone(),
            layout,
            wide: Arc::new(wide),
            plans: Mutex::new(plans),
        })
    }

    /// The plans that hold without a question, by the clusters' place in the layout; empty where none does.
    pub(super) fn trusted(&self, fleet: usize, given: &FromOutside) -> Vec<Weak<CachedPlan>> {
        let fits = |plans: &&Plans| plans.fleet == fleet && plans.given == *given;
        lock(&self.plans).as_ref().filter(fits).map(|plans| plans.by_cluster.clone()).unwrap_or_default()
    }

    /// What is known of clusters whose folders are the same, whatever else may have changed.
    pub(super) fn known(&self) -> Vec<Weak<CachedPlan>> {
        lock(&self.plans).as_ref().map(|plans| plans.by_cluster.clone()).unwrap_or_default()
    }

    /// Keeps what all clusters came to, for the next look: plans by the clusters' place in the layout, and what they read
    /// outside of the clusters' folders.
    pub(super) fn keep_plans(
        &self,
        fleet: usize,
        given: FromOutside,
        mut trusted: Vec<Weak<CachedPlan>>,
        (others, read): (impl Iterator<Item = (usize, Option<Weak<CachedPlan>>)>, Paths),
    ) {
        let mut plans = lock(&self.plans);
        let known = plans.take().filter(|_| !trusted.is_empty());
        let mut outside = known.map(|plans| plans.outside).unwrap_or_default();
        outside.files.extend(read.files);
        outside.folders.extend(read.folders);
        trusted.resize_with(self.layout.targets.len(), Weak::new);
        for (at, kept) in others {
            if let (Some(place), Some(kept)) = (trusted.get_mut(at), kept) {
                *place = kept;
            }
        }
        *plans = Some(Plans { fleet, given, by_cluster: trusted, outside });
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
