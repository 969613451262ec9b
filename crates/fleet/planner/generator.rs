//! The planner that the bot runs with: the generator of the command line.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use capstan_campaign::membership::WaveCandidate;
use capstan_kustomize::render::{self, FieldDifference, Folders, RenderedFolder, RenderedObject};
use capstan_live::rollout;
use capstan_model::finding::Place;
use capstan_model::ids::{ClusterId, ContentId, ReleaseId, ReleaseName};
use capstan_model::source::SourceKind;
use capstan_model::target::TargetKind;
use capstan_model::tree::{RepoPath, Tree, TreeId, differences};
use capstan_plan::boundary::Neighbours;
use capstan_plan::classes::{ClassRef, ClassesElsewhere, has_class};
use capstan_plan::cluster::Cluster;
use capstan_plan::creation::CreatedCluster;
use capstan_plan::inventory::InventoryChange;
use capstan_plan::layout::{self, Layout};
use capstan_plan::merge::AppliedBy;
use capstan_plan::onboarding::Onboarding;
use capstan_plan::policy::{
    self, ClusterState, ServiceDifference, Snapshot, compare_services, folders_of, validate,
};
use capstan_plan::proposal::{ProposalId, Scope};
use capstan_plan::provider_set::{self, SetState};
use capstan_plan::release::ReleaseContent;
use capstan_plan::retirement::RetiredCluster;
use capstan_plan::settings::{Deletion, RepositorySettings};
use capstan_plan::templates::TemplateNames;
use capstan_plan::upgrade::{
    Change, ChangeReason, Retarget, SettledConflict, Upgrade, Versions, hide_beside,
};
use capstan_plan::verbs::ClusterFrom;
use capstan_providers::{MissingComponents, Supplies};
use capstan_report::{Becomes, ChangedRelease, JudgedCluster, JudgedReleases, JudgedService, Judgement};
use capstan_yaml::Value;
use jiff::civil::Date;

use super::{
    JudgedBy, MadeOf, OpenFailed, OpenFleet, PlanResults, Planner, PlannerFailed, ReleasesFailed, files_in,
};
use crate::generator::{
    Fleet, NoWatch, NotPossible, PlanCache, PlanCacheLimits, Refused, RenderReads, WatchRenders,
    campaign_candidates, consents, create_cluster, inventory_change, missing_contents_of_all, onboard,
    plan_each_source, read_beside, retire_cluster, scopes_to_come, valued_target,
};

/// The generator as the bot's planner, with a memory of what it planned before.
#[derive(Default)]
pub struct Generator {
    plan_cache: PlanCache,
    /// What the folders of the last base bring: it is the same for every head.
    neighbours: Mutex<Option<KnownNeighbours>>,
    render_reads: RenderReads,
}

/// The folder that a proposal brings to a release; `None` where it is of another source, or of several clusters.
fn of_release(proposal: &ProposalId) -> Option<&ClusterId> {
    proposal.target.id().filter(|_| proposal.kind == SourceKind::RELEASE)
}

/// Renders a neighbour, unless it is skipped, and says so.
fn around(watch: &dyn WatchRenders) -> impl FnMut(&ClusterId, &mut dyn FnMut()) {
    |cluster, render| {
        if !watch.skips(cluster) {
            watch.begun(cluster);
            render();
            watch.ended(cluster);
        }
    }
}

/// What the folders of a snapshot bring, under these settings.
struct KnownNeighbours {
    root: TreeId,
    settings: RepositorySettings,
    neighbours: Arc<Neighbours>,
}

impl Generator {
    /// One that remembers so much.
    pub fn new(limits: PlanCacheLimits) -> Self {
        let render_reads = RenderReads::new(limits.read_bytes);
        Self { plan_cache: PlanCache::new(limits), render_reads, ..Self::default() }
    }

    /// What it remembers, for figures.
    pub const fn plan_cache(&self) -> &PlanCache {
        &self.plan_cache
    }

    fn neighbours(
        &self,
        base: Snapshot<'_>,
        settings: &RepositorySettings,
        watch: &dyn WatchRenders,
    ) -> Arc<Neighbours> {
        let root = base.tree.root().map(|root| root.id().clone());
        let known = self.neighbours.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it =
            |known: &&KnownNeighbours| Some(&known.root) == root.as_ref() && known.settings == *settings;
        if let Some(known) = known.as_ref().filter(is_it) {
            return Arc::clone(&known.neighbours);
        }
        drop(known);
        let neighbours = Arc::new(Neighbours::read(base.tree, base.layout, settings, &mut around(watch)));
        if let Some(root) = root {
            let known =
                KnownNeighbours { root, settings: settings.clone(), neighbours: Arc::clone(&neighbours) };
            *self.neighbours.lock().unwrap_or_else(PoisonError::into_inner) = Some(known);
        }
        neighbours
    }

    /// [`Planner::open`], as what it is.
    pub(super) fn open_fleet(
        &self,
        tree: Arc<dyn Tree>,
        settings: Option<RepositorySettings>,
        today: Date,
    ) -> Result<Fleet, OpenFailed> {
        Ok(match settings {
            Some(settings) => Fleet::open_under(&self.plan_cache, tree, settings, today),
            None => Fleet::open_with(&self.plan_cache, tree, today)?,
        })
    }

    /// [`Planner::touched`]; `watch` is called around each render.
    pub(super) fn touched_each(
        &self,
        before: &dyn Tree,
        after: &dyn Tree,
        scopes: &[Scope],
        watch: &dyn WatchRenders,
    ) -> Vec<ClusterId> {
        let folders = |scope: &Scope| Some((scope.target.id()?.clone(), scope.folders()));
        let clusters: Vec<_> = scopes.iter().filter_map(folders).collect();
        self.render_reads.touched(before, after, &clusters, watch)
    }

    /// [`Planner::made_of`], one cluster at a time; `watch` is called around each render. A skipped cluster gets only
    /// the files of its folder.
    pub(super) fn made_of_each(
        &self,
        tree: &dyn Tree,
        clusters: &[Folders],
        watch: &dyn WatchRenders,
        made: &mut dyn FnMut(ClusterId, MadeOf),
    ) {
        let mut around = around(watch);
        for folders in clusters {
            let cluster = ClusterId::new(folders.cluster.clone());
            // A cluster that cannot be rendered still has the files of its folder.
            let mut files = files_in(tree, &folders.cluster);
            around(&cluster, &mut || {
                files.extend(read_beside(tree, folders).into_iter().map(|entry| (entry.path.clone(), entry)));
            });
            made(cluster, files);
        }
    }

    /// [`Planner::judge`], one cluster at a time; `watch` is called around each render that all of them share.
    pub(super) fn judging<'a>(
        &self,
        before: Arc<dyn Tree>,
        after: Arc<dyn Tree>,
        by: JudgedBy<'a>,
        watch: &dyn WatchRenders,
    ) -> impl Fn(&ClusterId) -> JudgedCluster + use<'a> {
        let JudgedBy { settings, clusters, live, supplies, today } = by;
        // The second look follows what the first has found: definitions are looked for once.
        let old_look = self.plan_cache.view(before, settings);
        let new_look = self.plan_cache.view(after, settings);
        let claimed =
            |cluster: &ClusterId| is_claimed(settings, [new_look.layout(), old_look.layout()], cluster);
        let (beside_old, beside_new) = if clusters.iter().any(claimed) {
            let (old, new) = (old_look.snapshot(), new_look.snapshot());
            let beside = self.neighbours(old, settings, watch);
            let changed = beside.in_snapshot(new.tree, new.layout, settings, clusters, &mut around(watch));
            (beside, changed)
        } else {
            Default::default()
        };
        move |cluster| {
            let supplies = supplies.as_ref();
            let beside = Some(beside_old.as_ref());
            let old = Snapshot { neighbours: beside, supplies: Some(supplies), ..old_look.snapshot() };
            let beside = Some(&beside_new);
            let new = Snapshot { neighbours: beside, supplies: Some(supplies), ..new_look.snapshot() };
            let alone = BTreeSet::from([cluster.clone()]);
            let scope = policy::ValidationScope::Clusters(&alone);
            let (was, is) = (rendered(old, cluster), rendered(new, cluster));
            let kept: &[_] = if asks_to_go(new, cluster) { &[] } else { &is.objects };
            let claimed = is_claimed(settings, [new.layout, old.layout], cluster);
            let applied = if claimed { AppliedBy::Reconciler } else { AppliedBy::Others };
            let elsewhere = ClassesElsewhere {
                before: old_look.classes_elsewhere(&was.objects, cluster),
                after: new_look.classes_elsewhere(&is.objects, cluster),
            };
            let judgement = Judgement {
                changes: render::diff(&was.objects, &is.objects)
                    .into_iter()
                    .map(|difference| change(difference, cluster))
                    .collect(),
                rollouts: match live.get(cluster).filter(|_| applied == AppliedBy::Reconciler) {
                    Some(names) => {
                        let names = [&names.before, &names.after];
                        rollout::rollouts_live(&was.objects, kept, names, &elsewhere, new.schemas)
                    }
                    None => rollout::rollouts(&was.objects, kept, applied, &elsewhere, new.schemas),
                },
                services: if claimed {
                    services(old, new, cluster, [&was.objects, &is.objects])
                } else {
                    Vec::new()
                },
                before: validate(old, None, settings, scope, today),
                after: validate(new, Some(old), settings, scope, today),
            };
            let unasked = unasked(old, &was, cluster).into_iter().chain(unasked(new, &is, cluster)).collect();
            JudgedCluster { cluster: cluster.clone(), judgement, unasked }
        }
    }
}

impl Planner for Generator {
    fn open(&self, tree: Arc<dyn Tree>, today: Date) -> Result<Box<dyn OpenFleet>, OpenFailed> {
        Ok(Box::new(self.open_fleet(tree, None, today)?))
    }

    fn open_under(
        &self,
        tree: Arc<dyn Tree>,
        settings: &RepositorySettings,
        today: Date,
    ) -> Result<Box<dyn OpenFleet>, OpenFailed> {
        Ok(Box::new(self.open_fleet(tree, Some(settings.clone()), today)?))
    }

    fn judge_releases(
        &self,
        before: Arc<dyn Tree>,
        after: Arc<dyn Tree>,
        settings: &RepositorySettings,
        today: Date,
    ) -> Result<JudgedReleases, PlannerFailed> {
        let old = self.plan_cache.view(Arc::clone(&before), settings);
        let new = self.plan_cache.view(Arc::clone(&after), settings);
        let changed = changed_releases((before.as_ref(), old.layout()), (after.as_ref(), new.layout()));
        if changed.is_empty() {
            return Ok(JudgedReleases::default());
        }
        let scope = policy::ValidationScope::Releases;
        Ok(JudgedReleases {
            changed,
            before: validate(old.snapshot(), None, settings, scope, today),
            after: validate(new.snapshot(), None, settings, scope, today),
        })
    }

    fn judge(
        &self,
        before: Arc<dyn Tree>,
        after: Arc<dyn Tree>,
        by: JudgedBy<'_>,
    ) -> Result<Vec<JudgedCluster>, PlannerFailed> {
        Ok(by.clusters.iter().map(self.judging(before, after, by, &NoWatch)).collect())
    }

    fn inventory_change(
        &self,
        before: Arc<dyn Tree>,
        after: Arc<dyn Tree>,
        settings: &RepositorySettings,
        today: Date,
    ) -> Result<Option<InventoryChange>, PlannerFailed> {
        let open = |tree| Fleet::open_under(&self.plan_cache, tree, settings.clone(), today);
        Ok(inventory_change(&open(before), &open(after)))
    }

    fn touched(
        &self,
        before: Arc<dyn Tree>,
        after: Arc<dyn Tree>,
        scopes: &[Scope],
    ) -> Result<Vec<ClusterId>, PlannerFailed> {
        Ok(self.touched_each(before.as_ref(), after.as_ref(), scopes, &NoWatch))
    }

    fn touched_through_classes(
        &self,
        before: Arc<dyn Tree>,
        after: Arc<dyn Tree>,
        settings: &RepositorySettings,
    ) -> Result<Vec<ClusterId>, PlannerFailed> {
        let changed = differences(before.as_ref(), after.as_ref());
        let old = self.plan_cache.view(Arc::clone(&before), settings);
        let paths = || changed.iter().map(|difference| &difference.path);
        let (layout, tree) = (old.layout(), before.as_ref());
        let is_beside =
            |path: &RepoPath| layout.target_around(path).is_none() && layout.release_around(path).is_none();
        // Most pull requests change one cluster, which no other has its class from.
        let clusters: BTreeSet<&ClusterId> =
            paths().filter_map(|path| Some(&layout.target_around(path)?.id)).collect();
        let mut clusters = clusters.into_iter().filter_map(|id| layout.target(id.as_str()));
        if !paths().any(|path| is_beside(path)) && !clusters.any(|folder| has_class(tree, folder)) {
            return Ok(Vec::new());
        }
        let has_classes = !old.class_index().is_empty();
        let new = self.plan_cache.view(Arc::clone(&after), settings);
        if !has_classes && new.class_index().is_empty() {
            return Ok(Vec::new());
        }
        let uses_another = |class: &ClassRef, user: &ClusterId| {
            !new.class_index().is_own(class, user) && old.class_for(class, user) != new.class_for(class, user)
        };
        let users = new.class_users().iter();
        let users =
            users.flat_map(|(class, users)| users.iter().filter(move |user| uses_another(class, user)));
        let users: BTreeSet<ClusterId> = users.cloned().collect();
        Ok(users.into_iter().collect())
    }

    fn made_of(&self, tree: Arc<dyn Tree>, clusters: &[Folders]) -> Result<Vec<MadeOf>, PlannerFailed> {
        let mut all = Vec::with_capacity(clusters.len());
        self.made_of_each(tree.as_ref(), clusters, &NoWatch, &mut |_, made| all.push(made));
        Ok(all)
    }

    fn scopes(
        &self,
        tree: Arc<dyn Tree>,
        settings: &RepositorySettings,
    ) -> Result<Vec<Scope>, PlannerFailed> {
        Ok(scopes_of(self.plan_cache.view(tree, settings).layout(), |_| Retarget::Refused))
    }

    fn onboard(&self, tree: Arc<dyn Tree>, today: Date) -> Result<Option<Onboarding>, PlannerFailed> {
        Ok(onboard(&tree, today, &NoWatch))
    }
}

/// The releases that differ between two snapshots, by their folders' contents.
fn changed_releases(old: (&dyn Tree, &Layout), new: (&dyn Tree, &Layout)) -> Vec<ChangedRelease> {
    let contents = |(tree, layout): (&dyn Tree, &Layout)| -> BTreeMap<ReleaseId, Option<TreeId>> {
        layout.releases.iter().map(|folder| (folder.id.clone(), tree.folder_id(&folder.folder))).collect()
    };
    let (mut old, mut changed) = (contents(old), Vec::new());
    for (release, content) in contents(new) {
        let becomes = match old.remove(&release) {
            None => Becomes::Added,
            Some(before) if before != content => Becomes::Changed,
            Some(_) => continue,
        };
        changed.push(ChangedRelease { release, becomes });
    }
    changed.extend(old.into_keys().map(|release| ChangedRelease { release, becomes: Becomes::Removed }));
    changed
}

/// Whether a reconciler applies a folder, by the first of these layouts that knows it.
fn is_claimed(settings: &RepositorySettings, layouts: [&Layout; 2], id: &ClusterId) -> bool {
    let knows = layouts.into_iter().find(|layout| layout.target(id.as_str()).is_some());
    let by = knows.map_or_else(|| settings.claimed_by(id), |layout| layout.claimed_by(id, settings));
    by.is_ok_and(|by| by.is_some())
}

/// What is applied; nothing where the cluster does not exist or cannot be rendered, which a finding says.
fn rendered(snapshot: Snapshot<'_>, cluster: &ClusterId) -> RenderedFolder {
    let folder = snapshot.layout.target(cluster.as_str());
    let rendered = folder.and_then(|folder| render::render(snapshot.tree, &folders_of(folder)).ok());
    rendered.unwrap_or_default()
}

/// What becomes of what runs inside a cluster.
fn services(
    old: Snapshot<'_>,
    new: Snapshot<'_>,
    cluster: &ClusterId,
    base: [&[RenderedObject]; 2],
) -> Vec<JudgedService> {
    let [before, after] = [old, new].map(|snapshot| {
        let folder = snapshot.layout.target(cluster.as_str())?;
        Some(ClusterState { tree: snapshot.tree, folder })
    });
    let judged = |service: ServiceDifference| JudgedService {
        name: service.name,
        role: service.role,
        is_on: service.is_on,
        changes: service.differences.into_iter().map(|difference| change(difference, cluster)).collect(),
        notes: service.notes,
    };
    compare_services(before, after, base).into_iter().map(judged).collect()
}

/// The components that a provider set lacks and that were not requested; none for a cluster.
fn unasked(snapshot: Snapshot<'_>, rendered: &RenderedFolder, id: &ClusterId) -> BTreeSet<MissingComponents> {
    let folder = snapshot.layout.target(id.as_str()).filter(|folder| folder.kind == TargetKind::Providers);
    let (Some(folder), Some(supplies)) = (folder, snapshot.supplies) else { return BTreeSet::new() };
    let settings = Cluster::settings_of(snapshot.tree, folder).ok().flatten();
    provider_set::unasked(SetState { tree: snapshot.tree, rendered }, settings.as_ref(), supplies)
}

/// Whether the cluster's settings say `delete: cluster`: no machine outlives that, whatever is rendered.
fn asks_to_go(snapshot: Snapshot<'_>, cluster: &ClusterId) -> bool {
    let folder = snapshot.layout.target(cluster.as_str());
    let settings = folder.and_then(|folder| Cluster::settings_of(snapshot.tree, folder).ok().flatten());
    settings.is_some_and(|settings| settings.delete == Deletion::Cluster)
}

fn change(difference: FieldDifference, cluster: &ClusterId) -> Change {
    let place = difference.new_place.as_ref().or(difference.old_place.as_ref());
    let shown = |value: &Option<Value>| {
        value.clone().map(|value| hide_beside(&difference.path, difference.beside.as_deref(), value))
    };
    let (old, new) = (shown(&difference.old), shown(&difference.new));
    Change {
        place: Place::known(
            place.map_or_else(|| cluster.folder().clone(), |place| place.file().clone()),
            difference.old_place.as_ref().map(|place| place.position().line),
            None,
        ),
        object: difference.object,
        path: difference.path,
        old,
        new,
        from: None,
        reason: ChangeReason::Release,
    }
}

fn scopes_of(layout: &Layout, retarget: impl Fn(&ClusterId) -> Retarget) -> Vec<Scope> {
    let scope = |folder: &layout::TargetFolder| Scope {
        target: folder.target(),
        base: folder.base.clone(),
        overlay: folder.overlay.clone(),
        retarget: retarget(&folder.id),
    };
    layout.targets.iter().map(|folder| scope(folder)).collect()
}

impl OpenFleet for Fleet {
    fn settings(&self) -> &RepositorySettings {
        self.settings()
    }

    fn scopes(&self) -> Vec<Scope> {
        scopes_of(self.layout(), |cluster| {
            self.supplement().instructions(&SourceKind::RELEASE, cluster).retarget
        })
    }

    fn releases_repository(&self) -> Option<String> {
        Self::releases_repository(self).map(str::to_owned)
    }

    fn provide_releases(&mut self, releases: Arc<dyn Tree>, consumer: &str) -> Result<(), ReleasesFailed> {
        let named = Self::releases_repository(self).unwrap_or_default();
        consents(releases.as_ref(), named, consumer).map_err(ReleasesFailed::Refused)?;
        Self::provide_releases(self, releases);
        Ok(())
    }

    fn refuse_releases(&mut self, why: String) {
        Self::refuse_releases(self, why);
    }

    fn missing_contents(&self) -> Vec<ContentId> {
        missing_contents_of_all(self).into_iter().collect()
    }

    fn provide_content(&mut self, id: ContentId, content: ReleaseContent) {
        self.supplement_mut().contents.insert(id, content);
    }

    fn scopes_to_come(&self) -> Vec<Scope> {
        scopes_to_come(self)
    }

    fn allow_retarget(&mut self, proposal: &ProposalId) {
        if let Some(id) = proposal.target.id() {
            self.supplement_mut()
                .instruct(proposal.kind.clone(), id.clone(), |given| given.retarget = Retarget::Allowed);
        }
    }

    fn ask_for(&mut self, proposal: &ProposalId, release: Option<ReleaseName>) {
        if let Some(id) = of_release(proposal) {
            self.supplement_mut().instruct(SourceKind::RELEASE, id.clone(), |given| given.release = release);
        }
    }

    fn settle(&mut self, proposal: &ProposalId, settled: Vec<SettledConflict>) {
        if let Some(id) = proposal.target.id() {
            self.supplement_mut()
                .instruct(proposal.kind.clone(), id.clone(), |given| given.settled = settled);
        }
    }

    fn set_versions(&mut self, proposal: &ProposalId, versions: Versions) {
        if let Some(id) = of_release(proposal) {
            self.supplement_mut()
                .instruct(SourceKind::RELEASE, id.clone(), |given| given.versions = versions);
        }
    }

    fn know_names(&mut self, names: BTreeMap<ClusterId, Arc<TemplateNames>>) {
        self.supplement_mut().names = names;
    }

    fn provide_components(&mut self, supplies: Arc<Supplies>) {
        self.supplement_mut().supplies = supplies;
    }

    fn candidates(&self) -> Result<Vec<WaveCandidate>, PlannerFailed> {
        Ok(campaign_candidates(self, &NoWatch))
    }

    fn create(&self, wanted: &ClusterFrom) -> Result<Result<CreatedCluster, NotPossible>, PlannerFailed> {
        Ok(create_cluster(self, wanted))
    }

    fn retire(&self, cluster: &ClusterId) -> Result<Result<RetiredCluster, NotPossible>, PlannerFailed> {
        Ok(retire_cluster(self, cluster))
    }

    fn plan_all(&self) -> Result<PlanResults, PlannerFailed> {
        Ok(plans_of(self, |_| true))
    }

    fn plan_some(&self, clusters: &BTreeSet<ClusterId>) -> Result<PlanResults, PlannerFailed> {
        Ok(plans_of(self, |cluster| clusters.contains(cluster)))
    }
}

/// What each source brings to the `wanted` targets, as far as that is something.
fn plans_of(fleet: &Fleet, wanted: impl Fn(&ClusterId) -> bool) -> PlanResults {
    let planned = Mutex::new(BTreeMap::new());
    let take = |cluster: &ClusterId, kind: SourceKind, plan: Option<Result<Arc<Upgrade>, Refused>>| {
        let Some(plan) = plan else { return };
        let proposal = ProposalId { target: valued_target(fleet, cluster), kind };
        let plan = plan.map_err(|refused| refused.to_string());
        planned.lock().unwrap_or_else(PoisonError::into_inner).insert(proposal, plan);
    };
    plan_each_source(fleet, |cluster, _| wanted(cluster), &NoWatch, take);
    planned.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().collect()
}
