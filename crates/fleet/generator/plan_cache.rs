//! What a worker keeps of a repository between two looks at it, so that a push costs what it changes.
//!
//! *Expected flow.* [`Fleet::open_with`](super::Fleet::open_with) takes the memory along; a cluster whose inputs are
//! those of a plan that is kept is not planned again, not even read. *Guarantee*: with memory and without it the plans
//! are equal, because a plan is made from its [`PlanInputs`](super::inputs::PlanInputs) alone, and that is kept with it
//! and compared whole. *Bounds*: the bytes of plans and contents, and the number of fleets; what does not fit is
//! computed again. Nothing is stored: a restart forgets, and the first look plans everything.
//!
//! Only what was read well is kept: a file that could not be had may be there next time.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use capstan_kustomize::render::RenderedObject;
use capstan_model::ids::ClusterId;
use capstan_model::source::SourceKind;
use capstan_model::tree::{BlobId, Folder, RepoPath, Tree, TreeEntry, TreeId, Unreadable};
use capstan_plan::classes::{ClassIndex, ClassRef, Classes, FoundClass, named_elsewhere};
use capstan_plan::layout::{self, Layout};
use capstan_plan::policy::Snapshot;
use capstan_plan::release::Catalogue;
use capstan_plan::settings::RepositorySettings;
use jiff::civil::Date;

use super::bounded::Bounded;
use super::cached_plan::CachedPlan;
use super::cached_snapshot::CachedSnapshot;
use super::class_users::read_class_users;
use super::definitions::Definitions;
use super::earlier_fleet::EarlierFleet;
use super::fleet_inputs::{ReadReleases, ReleasesIn, read_releases, unread};
use super::inputs::{Conditions, FleetInputs, PlanInputs};
use super::renders::{KeptRenders, Renders};
use super::shared::Shared;
use super::sources::Sources;

/// How much may be remembered, of each kind. Nothing is remembered where a bound is 0 (`benches/remembered`).
#[derive(Debug, Clone, Copy)]
pub struct PlanCacheLimits {
    /// Bytes of plans, over all repositories; an estimate.
    pub plan_bytes: usize,
    /// Bytes of small files that every look reads again.
    pub content_bytes: usize,
    /// Bytes of releases as clusters' values have them, over all repositories; an estimate.
    pub render_bytes: usize,
    /// Bytes of what renders read outside of their clusters' folders, over all repositories; an estimate.
    pub read_bytes: usize,
    /// Snapshots: of repositories, and of pull requests that are judged.
    pub snapshots: usize,
    /// Repositories, or states of their settings and releases.
    pub fleets: usize,
}

impl Default for PlanCacheLimits {
    fn default() -> Self {
        Self {
            plan_bytes: 256 << 20,
            content_bytes: 64 << 20,
            render_bytes: 32 << 20,
            read_bytes: 64 << 20,
            snapshots: 32,
            fleets: 16,
        }
    }
}

/// How many plans were made, and how many were known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PlanCounts {
    /// Clusters that were read and planned.
    pub planned: usize,
    /// Clusters whose plan was kept.
    pub reused: usize,
}

/// Plans, contents, layouts and catalogues of earlier looks. Shared by all workers: a copy is the same
/// cache.
#[derive(Clone)]
pub struct PlanCache(Arc<Caches>);

/// What is remembered, by kind.
struct Caches {
    limits: PlanCacheLimits,
    contents: Arc<Mutex<Bounded<BlobId, Arc<[u8]>>>>,
    looks: Mutex<VecDeque<Arc<CachedSnapshot>>>,
    fleets: Mutex<VecDeque<Arc<CachedFleet>>>,
    next_fleet: AtomicUsize,
    plans: Arc<Plans>,
    renders: KeptRenders,
}

/// The plans of all fleets, by the fleet's number, the folder, and what brings the change.
pub(super) struct Plans {
    kept: Mutex<Bounded<(usize, ClusterId, SourceKind), Arc<CachedPlan>>>,
    planned: AtomicUsize,
    reused: AtomicUsize,
}

/// A cluster's folder, and what the inventory says of it.
pub(super) type Settled = (Option<TreeId>, Option<String>);

/// What all clusters of a fleet share, with what it was made from.
pub(super) struct CachedFleet {
    /// Tells the plans of this fleet from those of others.
    number: usize,
    given: Arc<FleetInputs>,
    pub(super) shared: Arc<Shared>,
    plans: Arc<Plans>,
    /// The fleet before it, where only releases of some providers have changed since.
    earlier: Option<EarlierFleet>,
    /// Clusters that the inventory is known to bring nothing.
    settled: Mutex<BTreeMap<ClusterId, Settled>>,
}

impl Default for PlanCache {
    fn default() -> Self {
        Self::new(PlanCacheLimits::default())
    }
}

impl PlanCache {
    /// An empty memory with these bounds.
    pub fn new(limits: PlanCacheLimits) -> Self {
        Self(Arc::new(Caches {
            limits,
            contents: Arc::new(Mutex::new(Bounded::new(limits.content_bytes))),
            looks: Mutex::default(),
            fleets: Mutex::default(),
            next_fleet: AtomicUsize::new(0),
            plans: Arc::new(Plans {
                kept: Mutex::new(Bounded::new(limits.plan_bytes)),
                planned: AtomicUsize::new(0),
                reused: AtomicUsize::new(0),
            }),
            renders: KeptRenders::new(limits.render_bytes),
        }))
    }

    /// How many plans were made and reused since the memory was made.
    pub fn counts(&self) -> PlanCounts {
        PlanCounts {
            planned: self.0.plans.planned.load(Ordering::Relaxed),
            reused: self.0.plans.reused.load(Ordering::Relaxed),
        }
    }

    /// Begins a look at a repository: what it does not ask for is the first to give way.
    pub(super) fn begin(&self) {
        lock(&self.0.contents).begin_round();
        lock(&self.0.plans.kept).begin_round();
        self.0.renders.begin_round();
    }

    /// A snapshot whose small files are read once, whichever snapshot they are asked of.
    pub fn remembering(&self, tree: Arc<dyn Tree>) -> Arc<dyn Tree> {
        Arc::new(Remembering { tree, contents: Arc::clone(&self.0.contents) })
    }

    /// A snapshot as these settings see it, for judging it.
    pub fn view(&self, tree: Arc<dyn Tree>, settings: &RepositorySettings) -> SnapshotView {
        let tree = self.remembering(tree);
        let look = self.look(tree.as_ref(), settings);
        SnapshotView { tree, look }
    }

    /// The look at a snapshot: made from an earlier one where it differs little from that one's.
    pub(super) fn look(&self, tree: &dyn Tree, settings: &RepositorySettings) -> Arc<CachedSnapshot> {
        let discover = || Arc::new(layout::discover(tree, settings));
        let Some(root) = tree.root() else {
            return Arc::new(CachedSnapshot::first(None, settings, discover()));
        };
        let known: Vec<Arc<CachedSnapshot>> = lock(&self.0.looks).iter().cloned().collect();
        if let Some(look) = known.iter().find(|look| look.is_of(root, settings)) {
            return Arc::clone(look);
        }
        let next = known.iter().find_map(|look| look.next(root, tree, settings));
        let look = Arc::new(next.unwrap_or_else(|| CachedSnapshot::first(Some(root), settings, discover())));
        // A problem may be a file that could not be had this time.
        if look.layout.problems.is_empty() {
            let mut looks = lock(&self.0.looks);
            looks.push_front(Arc::clone(&look));
            looks.truncate(self.0.limits.snapshots);
        }
        look
    }

    /// What the clusters of this fleet share: as it was kept, where all that it was made from still holds.
    pub(super) fn fleet(
        &self,
        releases: &ReleasesIn<'_>,
        definitions: &Arc<Definitions>,
        settings: &RepositorySettings,
        today: Date,
    ) -> Arc<CachedFleet> {
        let conditions = Conditions { settings, today };
        let unread = unread(conditions, releases, definitions);
        let mut fleets = lock(&self.0.fleets);
        let holds = |known: &Arc<CachedFleet>| known.given.is_still(&unread, releases.tree);
        if let Some(known) = fleets.iter().position(holds).and_then(|at| fleets.remove(at)) {
            fleets.push_front(Arc::clone(&known));
            return known;
        }
        drop(fleets);
        let ReadReleases { inputs, catalogue, failed } = read_releases(conditions, releases, definitions);
        let known: Vec<Arc<CachedFleet>> = lock(&self.0.fleets).iter().cloned().collect();
        let now = (&inputs, &catalogue);
        let earlier = known
            .iter()
            .filter_map(|known| {
                EarlierFleet::of(known.number, (known.given.as_ref(), known.catalogue()?), now)
            })
            .min_by_key(EarlierFleet::providers_changed);
        let number = self.0.next_fleet.fetch_add(1, Ordering::Relaxed);
        let sources = Sources::with_renders(Renders::of(number, self.0.renders.clone()));
        let known = Arc::new(CachedFleet {
            number,
            given: Arc::new(inputs),
            shared: Arc::new(Shared::new(catalogue, sources)),
            plans: Arc::clone(&self.0.plans),
            earlier,
            settled: Mutex::default(),
        });
        if !failed {
            let mut fleets = lock(&self.0.fleets);
            fleets.push_front(Arc::clone(&known));
            fleets.truncate(self.0.limits.fleets);
        }
        known
    }
}

/// A snapshot under some settings, with what is known of it as a whole.
pub struct SnapshotView {
    tree: Arc<dyn Tree>,
    look: Arc<CachedSnapshot>,
}

impl SnapshotView {
    /// Its releases and clusters.
    pub fn layout(&self) -> &Layout {
        &self.look.layout
    }

    /// What rules want to know of it.
    pub fn snapshot(&self) -> Snapshot<'_> {
        let (tree, layout) = (self.tree.as_ref(), self.layout());
        let schemas = self.look.wide.defined(tree, layout).schemas();
        let wide = &self.look.wide;
        let (cluster_api, flux) = (wide.cluster_api(tree, layout), Some(wide.flux(tree, layout)));
        Snapshot { tree, layout, schemas, cluster_api, flux, neighbours: None, supplies: None }
    }
}

impl SnapshotView {
    /// What is known of the classes that a cluster's render names and lacks.
    pub fn classes_elsewhere(&self, rendered: &[RenderedObject], cluster: &ClusterId) -> Classes {
        let (tree, layout, wide) = (self.tree.as_ref(), self.layout(), &self.look.wide);
        let named = named_elsewhere(rendered).into_iter();
        Classes(named.map(|class| wide.elsewhere.find(tree, layout, class, cluster).found).collect())
    }

    /// Where its ClusterClasses are.
    pub fn class_index(&self) -> &ClassIndex {
        self.look.wide.elsewhere.index(self.tree.as_ref(), self.layout())
    }

    /// What a class is for a cluster.
    pub fn class_for(&self, class: &ClassRef, cluster: &ClusterId) -> Arc<FoundClass> {
        let (tree, layout) = (self.tree.as_ref(), self.layout());
        self.look.wide.elsewhere.find(tree, layout, class.clone(), cluster).found.1
    }

    /// Which clusters use which class.
    pub fn class_users(&self) -> &BTreeMap<ClassRef, Vec<ClusterId>> {
        let (tree, layout) = (self.tree.as_ref(), self.layout());
        self.look.wide.class_users(|| read_class_users(tree, layout, |_| None))
    }
}

impl CachedFleet {
    /// What its plans are given.
    pub(super) const fn given(&self) -> &Arc<FleetInputs> {
        &self.given
    }

    /// The plan that is kept of a cluster; the caller looks whether what it was given still holds.
    pub(super) fn kept(&self, cluster: &ClusterId) -> Option<Arc<CachedPlan>> {
        let known =
            |number: usize| lock(&self.plans.kept).get(&(number, cluster.clone(), SourceKind::RELEASE));
        if let Some(kept) = known(self.number) {
            return Some(kept);
        }
        let earlier = self.earlier.as_ref()?;
        let kept = known(earlier.number).filter(|kept| earlier.holds(kept))?;
        let given = PlanInputs { fleet: Arc::clone(&self.given), ..kept.given.clone() };
        let kept = CachedPlan { given, ..kept.as_ref().clone() };
        // Its texts are the earlier one's.
        let bytes = bytes_given(&kept);
        Some(self.keep_of(kept, bytes))
    }

    /// Its releases, once they were read.
    fn catalogue(&self) -> Option<&Catalogue> {
        self.shared.catalogue.get()
    }

    /// The plan of what the inventory brings to a cluster, where it is kept.
    pub(super) fn kept_values(&self, cluster: &ClusterId) -> Option<Arc<CachedPlan>> {
        lock(&self.plans.kept).get(&(self.number, cluster.clone(), SourceKind::INVENTORY))
    }

    /// The folder and the words of the inventory with which it is known to bring a cluster nothing.
    pub(super) fn settled_values(&self, cluster: &ClusterId) -> Option<Settled> {
        lock(&self.settled).get(cluster).cloned()
    }

    pub(super) fn note_settled(&self, cluster: &ClusterId, settled: Settled) {
        lock(&self.settled).insert(cluster.clone(), settled);
    }

    /// Tells the fleet from others.
    pub(super) const fn number(&self) -> usize {
        self.number
    }

    /// Counts plans that were reused.
    pub(super) fn count_reused(&self, plans: usize) {
        self.plans.reused.fetch_add(plans, Ordering::Relaxed);
    }

    /// Says that the fleet's plans are wanted, so that they stay when there is no room for all.
    pub(super) fn want_all(&self) {
        let mut kept = lock(&self.plans.kept);
        kept.want_group(self.number);
        if let Some(earlier) = &self.earlier {
            kept.supersede(earlier.number);
        }
    }

    /// Counts a plan that was made.
    pub(super) fn count_planned(&self) {
        self.plans.planned.fetch_add(1, Ordering::Relaxed);
    }

    /// Keeps a plan, where there is room.
    pub(super) fn keep(&self, kept: CachedPlan) -> Arc<CachedPlan> {
        let bytes = bytes_of(&kept);
        self.keep_of(kept, bytes)
    }

    fn keep_of(&self, kept: CachedPlan, bytes: usize) -> Arc<CachedPlan> {
        let kept = Arc::new(kept);
        if let Some(id) = kept.upgrade.target.id() {
            let key = (self.number, id.clone(), kept.given.brought_by.clone());
            lock(&self.plans.kept).keep(key, Arc::clone(&kept), bytes, self.number);
        }
        kept
    }
}

/// About how much memory a plan takes.
fn bytes_of(kept: &CachedPlan) -> usize {
    /// Of a change, conflict or finding, with its strings.
    const ITEM: usize = 600;
    let upgrade = &kept.upgrade;
    let texts = upgrade.files.iter().flat_map(|file| [&file.before, &file.after]).flatten();
    let items = upgrade.changes.len() + upgrade.conflicts.len() + upgrade.findings.len();
    bytes_given(kept) + texts.map(String::len).sum::<usize>() + items * ITEM
}

/// Of that what it was given, and itself.
fn bytes_given(kept: &CachedPlan) -> usize {
    1_000 + kept.given.step.as_ref().map_or(0, |step| step.outside.bytes())
}

/// A snapshot over contents that are known already.
struct Remembering {
    tree: Arc<dyn Tree>,
    contents: Arc<Mutex<Bounded<BlobId, Arc<[u8]>>>>,
}

/// Larger files are read each time.
const SMALL: usize = 64 << 10;

impl Tree for Remembering {
    fn entries(&self) -> &[TreeEntry] {
        self.tree.entries()
    }

    fn read(&self, entry: &TreeEntry) -> Result<Arc<[u8]>, Unreadable> {
        if !entry.is_file() {
            return self.tree.read(entry);
        }
        if let Some(content) = lock(&self.contents).get(&entry.blob) {
            return Ok(content);
        }
        let content = self.tree.read(entry)?;
        if content.len() <= SMALL {
            lock(&self.contents).keep(entry.blob.clone(), Arc::clone(&content), content.len() + 200, 0);
        }
        Ok(content)
    }

    fn folder_id(&self, folder: &RepoPath) -> Option<TreeId> {
        self.tree.folder_id(folder)
    }

    fn root(&self) -> Option<&Arc<Folder>> {
        self.tree.root()
    }

    fn entry(&self, path: &RepoPath) -> Option<&TreeEntry> {
        self.tree.entry(path)
    }

    fn entries_in(&self, folder: &RepoPath) -> &[TreeEntry] {
        self.tree.entries_in(folder)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "plan_cache_tests.rs"]
mod tests;
