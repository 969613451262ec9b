//! One look at a repository, kept for the next one: which clusters a push left alone needs no question to
//! each of them.
//!
//! *Expected flow*: [`Look::next`] makes the look at a snapshot from the one before it, at the price of the
//! files in which they differ; the fleet plans; [`Look::keep_plans`] says what came of it. *Guarantee*: a plan is
//! [trusted](Look::trusted) only where neither its cluster's folder nor anything that any plan looked at outside
//! of its own folder has changed; the others are judged one by one, as [`Fleet::plan_or_recall`] does it.
//!
//! [`Fleet::plan_or_recall`]: super::Fleet::plan_or_recall

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use capstan_model::ids::{ClusterId, ContentId, ReleaseId};
use capstan_model::tree::{Folder, RepoPath, Tree, TreeId, changed_files};
use capstan_plan::layout::{self, Layout};
use capstan_plan::settings::RepositorySettings;
use capstan_plan::templates::TemplateNames;

use super::following::Next;
use super::kept_plan::Kept;
use super::seen::Seen;
use super::wide::Wide;

/// A push that changes more files is looked at as if it were the first.
const MOST_CHANGED: usize = 5_000;

/// A repository at one commit, as it was found.
pub(super) struct Look {
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
    given: Given,
    /// By the clusters' place in the layout; those that were not kept, or may no longer hold, lead nowhere.
    by_cluster: Vec<Weak<Kept>>,
    asked: Asked,
}

/// What was given to a fleet from outside of its snapshot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Given {
    pub(super) retarget: BTreeSet<ClusterId>,
    pub(super) names: BTreeMap<ClusterId, Arc<TemplateNames>>,
    pub(super) contents: BTreeSet<ContentId>,
    pub(super) past: BTreeMap<ReleaseId, (TreeId, String)>,
}

/// What plans looked at outside of their own folders, all of them together.
#[derive(Debug, Clone, Default)]
struct Asked {
    files: BTreeSet<RepoPath>,
    folders: BTreeSet<RepoPath>,
    flux: bool,
    classes: bool,
    elsewhere: bool,
    cluster_api: bool,
}

impl Asked {
    fn add(&mut self, seen: &Seen) {
        match seen {
            Seen::File(path, _) => drop(self.files.insert(path.clone())),
            Seen::Folder(path, _) => drop(self.folders.insert(path.clone())),
            Seen::Flux(_) => self.flux = true,
            Seen::Classes { .. } => self.classes = true,
            Seen::Elsewhere(_) => self.elsewhere = true,
            Seen::ClusterApi(_) => self.cluster_api = true,
            // What is given from outside is compared as a whole.
            Seen::OldContent(..) | Seen::Past(..) | Seen::Retarget(_) | Seen::Names(_) => {}
        }
    }

    /// Whether all of it is as it was.
    fn holds(&self, changed: &[RepoPath], before: &Wide, now: &Wide) -> bool {
        let kept = |asked: bool, before: bool, now: bool| !asked || before && now;
        let is_inside = |path: &RepoPath| {
            std::iter::successors(path.parent(), RepoPath::parent)
                .any(|folder| self.folders.contains(&folder))
        };
        !changed.iter().any(|path| self.files.contains(path) || !self.folders.is_empty() && is_inside(path))
            && kept(self.flux, before.flux.get().is_some(), now.flux.get().is_some())
            && kept(self.classes, before.class_users.get().is_some(), now.class_users.get().is_some())
            && (!self.elsewhere || before.elsewhere.all_hold_in(&now.elsewhere))
            && kept(self.cluster_api, before.cluster_api.get().is_some(), now.cluster_api.get().is_some())
    }
}

impl Look {
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
        let holds = |plans: &Plans| plans.asked.holds(&changed, &self.wide, &wide);
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
    pub(super) fn trusted(&self, fleet: usize, given: &Given) -> Vec<Weak<Kept>> {
        let fits = |plans: &&Plans| plans.fleet == fleet && plans.given == *given;
        lock(&self.plans).as_ref().filter(fits).map(|plans| plans.by_cluster.clone()).unwrap_or_default()
    }

    /// What is known of clusters whose folders are the same, whatever else may have changed.
    pub(super) fn known(&self) -> Vec<Weak<Kept>> {
        lock(&self.plans).as_ref().map(|plans| plans.by_cluster.clone()).unwrap_or_default()
    }

    /// Keeps what all clusters came to, for the next look.
    pub(super) fn keep_plans(
        &self,
        fleet: usize,
        given: Given,
        mut trusted: Vec<Weak<Kept>>,
        others: &[(usize, Option<Arc<Kept>>)],
    ) {
        let mut plans = lock(&self.plans);
        let known = plans.take().filter(|_| !trusted.is_empty());
        let mut asked = known.map(|plans| plans.asked).unwrap_or_default();
        trusted.resize_with(self.layout.clusters.len(), Weak::new);
        for (at, kept) in others {
            kept.iter().flat_map(|kept| &kept.seen).for_each(|seen| asked.add(seen));
            if let (Some(place), Some(kept)) = (trusted.get_mut(*at), kept) {
                *place = Arc::downgrade(kept);
            }
        }
        *plans = Some(Plans { fleet, given, by_cluster: trusted, asked });
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
