//! The inventory of a snapshot, and what a change of it would do to the fleet: which clusters, which machines.

use std::collections::BTreeMap;

use capstan_inventory::origin::Origin;
use capstan_inventory::reach::{Course, Fate, LevelReach, Reached, Rendering, by_level, reach};
use capstan_inventory::record::ValuesRecord;
use capstan_inventory::survey::{Elsewhere as KnownElsewhere, Survey};
use capstan_inventory::templates;
use capstan_kustomize::render::{self, Edited, ParsedFiles};
use capstan_live::rollout;
use capstan_model::finding::Finding;
use capstan_model::ids::{ClusterId, ReleaseId, ReleaseName};
use capstan_model::tree::{RepoPath, Tree, is_manifest};
use capstan_plan::boundary::{Scopes, Surroundings};
use capstan_plan::classes::Elsewhere;
use capstan_plan::cluster::Cluster;
use capstan_plan::flux::PostBuild;
use capstan_plan::layout::TargetFolder;
use capstan_plan::merge::{AppliedBy, ClusterFacts, Source, SourceFacts, SourceFile};
use capstan_plan::policy::{self, Facts, Occasion};
use capstan_plan::settings::InventorySettings;
use capstan_plan::upgrade::{
    self, Change, Effect, MergeSettings, OldSource, Planned, Request, Retarget, Settled, Upgrade,
};

use jiff::civil::Date;

use super::generator::{Fleet, Refused};

/// Reads the inventory of a snapshot, with what only the clusters' folders and the settings know of them.
pub fn survey(fleet: &Fleet, settings: &InventorySettings) -> Survey {
    let tree = fleet.tree().as_ref();
    let mut survey = Survey::read(tree, settings.path.path(), KnownElsewhere::recorded(tree));
    survey.know_releases(tree, |folder| recorded_release(fleet, folder));
    survey.know_managed(|folder| {
        let claimed = fleet.settings().claimed_by(&ClusterId::new(folder.clone()));
        claimed.ok().flatten().map(|management| management.name.clone())
    });
    survey
}

/// The release that a cluster's folder records.
fn recorded_release(fleet: &Fleet, folder: &RepoPath) -> Option<ReleaseId> {
    let target = fleet.layout().target(folder.as_str())?;
    let recorded = Cluster::read(fleet.tree().as_ref(), target).ok()?.recorded?;
    match recorded.name {
        ReleaseName::Id(id) => Some(id),
        ReleaseName::Version(_) => None,
    }
}

/// What a change of the inventory would do.
#[derive(Debug)]
pub struct Difference {
    /// What becomes of every cluster, ordered by id.
    pub clusters: Vec<Reached>,
    /// Counts by level.
    pub levels: Vec<LevelReach>,
    /// What would change in the files of those clusters that change and have a base, ordered by id.
    pub plans: Vec<(String, Result<Changed, Refused>)>,
}

/// What would change in one cluster.
#[derive(Debug)]
pub struct Changed {
    /// The three-way merge of the two renders into its base.
    pub upgrade: Upgrade,
    /// Digests of the values before and after.
    pub digests: (Option<String>, String),
    /// Where the values stand that each change comes from, in the order of the changes.
    pub origins: Vec<Vec<Origin>>,
}

impl Difference {
    /// From the inventory of one snapshot to that of another, over the clusters' folders as the other has them.
    pub fn between(before: &Survey, after: &Survey, fleet: &Fleet, today: Date) -> Self {
        let clusters = reach(before, after);
        let changed = clusters.iter().filter_map(|cluster| match &cluster.fate {
            Fate::Changed(course) => Some((cluster, course.as_ref())),
            _ => None,
        });
        let plans: Vec<(String, Result<Changed, Refused>)> = changed
            .filter_map(|(cluster, course)| {
                let target = fleet.layout().target(course.folder.as_str())?;
                Some((cluster.id.clone(), planned((before, after), (fleet, today), target, cluster, course)))
            })
            .collect();
        let machines: BTreeMap<&str, u64> = plans
            .iter()
            .filter_map(|(id, plan)| Some((id.as_str(), machines(&plan.as_ref().ok()?.upgrade)?)))
            .collect();
        let levels = by_level(&after.inventory.settings.levels, &clusters, |cluster| {
            machines.get(cluster.id.as_str()).copied()
        });
        Self { clusters, levels, plans }
    }

    /// The clusters whose machines are replaced, and how many these are as far as Git says it.
    pub fn rolling(&self) -> (usize, u64) {
        let all = self.plans.iter().filter_map(|(_, plan)| machines(&plan.as_ref().ok()?.upgrade));
        all.fold((0, 0), |(clusters, sum), machines| (clusters + 1, sum + machines))
    }
}

/// The machines that an upgrade replaces; `None` where it replaces none.
fn machines(upgrade: &Upgrade) -> Option<u64> {
    let rolls = || upgrade.rollouts.iter().filter(|rollout| rollout.course.effect == Effect::Replaces);
    rolls().next()?;
    Some(rolls().filter_map(|rollout| rollout.machines).map(u64::from).sum())
}

fn planned(
    (before, after): (&Survey, &Survey),
    (fleet, today): (&Fleet, Date),
    target: &TargetFolder,
    reached: &Reached,
    course: &Course,
) -> Result<Changed, Refused> {
    let tree = fleet.tree().as_ref();
    let cluster = Cluster::read(tree, target)?;
    let settings = fleet.settings();
    let effective = settings.for_target(
        &target.target(),
        cluster.settings.as_ref(),
        cluster.overlay_settings.as_ref(),
    )?;
    let facts = ClusterFacts {
        id: cluster.id.clone(),
        kind: target.kind,
        base_folder: target.base.clone(),
        base: cluster
            .base
            .iter()
            .map(|manifest| SourceFile::parsed(manifest.entry.path.clone(), manifest.file.clone()))
            .collect(),
        contents: Vec::new(),
        overlay: overlay(tree, target),
        record: None,
        variables: cluster.settings.as_ref().map(|own| own.variables.clone()).unwrap_or_default(),
        flux: PostBuild::default(),
        release: course.from.as_ref().and_then(|from| from.release.clone()),
        applied: if effective.claimed_by.is_some() { AppliedBy::Reconciler } else { AppliedBy::Others },
        classes_used_elsewhere: Vec::new(),
    };
    let (old, new) = (course.from.as_ref().map(source).transpose()?, source(&course.to)?);
    let merge = MergeSettings {
        conflicts: settings.upgrade.conflicts,
        owners: settings.upgrade.fields.clone(),
        ..MergeSettings::default()
    };
    let request = Request {
        cluster: &facts,
        old: old.as_ref().map_or(OldSource::Unknown, |old| OldSource::Known(old)),
        new: &new,
        settings: &merge,
        schemas: fleet.schemas(),
        retarget: Retarget::Refused,
    };
    let upgrade = judged((fleet, today), target, facts.applied, upgrade::plan(&request)?)?;
    let digest = |survey: &Survey, side: &Rendering| {
        let record = ValuesRecord {
            definition: reached.name.clone(),
            levels: side.levels.clone(),
            components: survey.components_of(&reached.name),
            values: side.values.value(),
        };
        record.digest()
    };
    let digests = (course.from.as_ref().map(|from| digest(before, from)), digest(after, &course.to));
    let origins = upgrade.changes.iter().map(|change| origins(&course.to, change)).collect();
    Ok(Changed { upgrade, digests, origins })
}

/// Where the values stand that a change comes from. A whole object comes from its template: the values in it are many,
/// and say nothing of why it comes.
fn origins(side: &Rendering, change: &Change) -> Vec<Origin> {
    if change.path.is_root() {
        return Vec::new();
    }
    let objects = side.rendered.files.iter().flat_map(|file| &file.objects);
    let placed = objects.filter(|object| object.id == change.object).flat_map(|object| &object.placements);
    let concerned = placed
        .filter(|placed| placed.path.starts_with(&change.path) || change.path.starts_with(&placed.path));
    let mut origins: Vec<Origin> = Vec::new();
    for read in concerned.flat_map(|placed| &placed.reads) {
        let Some(value) = side.values.merged.at(read) else { continue };
        if !origins.iter().any(|known| known.place() == value.origin.place()) {
            origins.push(value.origin.clone());
        }
    }
    origins
}

/// The plan with what only the rendered objects tell: rules, and the machines that are replaced.
fn judged(
    (fleet, today): (&Fleet, Date),
    target: &TargetFolder,
    applied_by: AppliedBy,
    mut planned: Planned,
) -> Result<Upgrade, Refused> {
    let tree = fleet.tree().as_ref();
    let (folders, parsed) = (policy::folders_of(target), ParsedFiles::default());
    let before = render::render_with(tree, &folders, &parsed)?;
    let render_after =
        |planned: &Planned| render::render_with(&Edited::new(tree, &planned.intended), &folders, &parsed);
    let mut after = render_after(&planned);
    if let Ok(rendered) = &after
        && planned.settle_leftovers(&before, rendered) == Settled::Changed
    {
        after = render_after(&planned);
    }
    let severities = fleet.settings().severities();
    planned.upgrade.findings = severities.settle(std::mem::take(&mut planned.upgrade.findings));
    let after = match after {
        Ok(after) => after,
        Err(error) => {
            planned.upgrade.blocked.push(format!("The changed cluster cannot be rendered: {error}."));
            planned.upgrade.findings.push(Finding::from(&error));
            return Ok(planned.finish(Vec::new(), Vec::new()));
        }
    };
    let inside = policy::inside(tree, &folders, &after, None, &parsed);
    let scopes = Scopes::default();
    let facts = Facts {
        folders: &folders,
        before: &before,
        after: &after,
        inside: &inside,
        applied_by,
        occasion: Occasion::Upgrade,
        release: None,
        schemas: fleet.schemas(),
        cluster_api: None,
        boundary: (applied_by == AppliedBy::Reconciler).then_some(Surroundings {
            folder: &target.id,
            settings: fleet.settings(),
            scopes: &scopes,
            neighbours: None,
        }),
        today,
    };
    let findings = policy::judge(&facts, &severities);
    let rollouts = rollout::rollouts(&before.objects, &after.objects, applied_by, &Elsewhere::default());
    Ok(planned.finish(findings, rollouts))
}

/// Files of an overlay that can be read: what cannot is told when the cluster is planned.
fn overlay(tree: &dyn Tree, target: &TargetFolder) -> Vec<SourceFile> {
    let manifests = target.overlay_files.iter().filter(|entry| is_manifest(&entry.path));
    let read = manifests.filter_map(|entry| {
        let bytes = tree.read(entry).ok()?;
        Some(SourceFile::new(entry.path.clone(), std::str::from_utf8(&bytes).ok()?))
    });
    read.collect()
}

/// A render as a source of change.
fn source(side: &Rendering) -> Result<Source, Refused> {
    let release = side.release.clone().unwrap_or_else(|| ReleaseId::from_path(""));
    let base_folder = RepoPath::parse(release.as_str())
        .and_then(|folder| folder.join(templates::FOLDER))
        .unwrap_or_default();
    let files = side
        .rendered
        .files
        .iter()
        .filter(|file| !file.objects.is_empty())
        .filter_map(|file| Some(SourceFile::new(base_folder.join(&file.name).ok()?, file.text.as_str())));
    let facts =
        SourceFacts { base: files.collect(), base_folder: base_folder.clone(), ..SourceFacts::default() };
    Ok(Source::read(release, None, &facts)?)
}
