//! Newer API versions for a release, as a new version of it: what is planned for a cluster's base, planned for the
//! release's own.
//!
//! A release that exists is never edited: clusters record its content.

use std::collections::{BTreeMap, BTreeSet};

use capstan_kustomize::conversion::versions_after;
use capstan_kustomize::schema::Schemas;
use capstan_model::file_change::FileChange;
use capstan_model::finding::{Finding, Place, rules};
use capstan_model::ids::{ClusterId, Provider, ReleaseId};
use capstan_model::target::{Target, TargetKind};
use capstan_model::tree::{RepoPath, Tree};
use capstan_plan::flux::PostBuild;
use capstan_plan::merge::{AppliedBy, ClusterFacts};
use capstan_plan::migration::{Moves, WantedVersion};
use capstan_plan::release::{Release, ReleaseState};
use capstan_plan::upgrade::{self, MergeSettings, OldSource, Retarget, Upgrade, UpgradeRequest};
use capstan_yaml::manifest;

use super::plan::Planned;
use super::{Fleet, Refused, sources};

/// Plans newer API versions for the newest release of each provider: the id of each new version, and its plan.
/// Those of Giant Swarm hold no objects. Those of another repository are not written here.
pub fn migrate_releases(fleet: &Fleet, wanted: &[WantedVersion]) -> Vec<(ClusterId, Planned)> {
    if fleet.settings().releases.repository.is_some() {
        return Vec::new();
    }
    let mut newest: BTreeMap<&Provider, &Release> = BTreeMap::new();
    let releases = fleet.catalogue().releases().iter();
    for release in releases.filter(|one| one.state == ReleaseState::Active && one.manifest.is_none()) {
        let known = newest.entry(&release.provider).or_insert(release);
        if release.version > known.version {
            *known = release;
        }
    }
    let plan = |release: &&Release| {
        let folder = next_version(fleet, release)?;
        let id = ClusterId::new(folder.clone());
        let planned = migrate_release(fleet, release, (&id, &folder), wanted);
        Some((id, planned))
    };
    newest.values().filter_map(plan).collect()
}

/// The folder of the next patch version of a release that nothing is in yet, and that no archived release has as its id.
fn next_version(fleet: &Fleet, release: &Release) -> Option<RepoPath> {
    let (tree, version) = (fleet.releases_tree(), &release.version);
    let prefix = if release.folder.name().starts_with('v') { "v" } else { "" };
    let parent = release.folder.parent()?;
    let layout = fleet.releases_layout();
    (version.patch().checked_add(1)?..).find_map(|patch| {
        let name = format!("{prefix}{}.{}.{patch}", version.major(), version.minor());
        let folder = parent.join(&name).ok()?;
        let id = ReleaseId::from_path(folder.as_str());
        let is_known = layout.releases.iter().any(|known| known.id == id);
        (!is_known && tree.entries_in(&folder).is_empty()).then_some(folder)
    })
}

fn migrate_release(
    fleet: &Fleet,
    release: &Release,
    (id, folder): (&ClusterId, &RepoPath),
    wanted: &[WantedVersion],
) -> Planned {
    let (tree, schemas) = (fleet.releases_tree(), fleet.schemas());
    let facts = ClusterFacts {
        id: id.clone(),
        kind: TargetKind::Cluster,
        base_folder: release.folder.join("base").unwrap_or_default(),
        base: sources::files(tree, &release.base_files)?,
        contents: Vec::new(),
        overlay: sources::files(tree, &release.overlay_files)?,
        record: None,
        variables: BTreeMap::new(),
        flux: PostBuild::default(),
        release: None,
        // The names of its templates are not live ones.
        applied: AppliedBy::Reconciler,
        classes_used_elsewhere: Vec::new(),
    };
    let moves =
        Moves::of(&facts, wanted, schemas, fleet.wide().installed(fleet.tree().as_ref(), fleet.layout()))?;
    let Some(migration) = moves.migration else {
        let target = Target::new(TargetKind::Cluster, id.clone());
        return Ok(Upgrade { notes: moves.held, ..Upgrade::nothing(target) });
    };
    let planned = upgrade::plan(&UpgradeRequest {
        cluster: &facts,
        old: OldSource::Known(&migration.old),
        new: &migration.new,
        settings: &MergeSettings::default(),
        schemas,
        // The overlay of a release is the platform team's.
        retarget: Retarget::Allowed,
    })?;
    let mut upgrade = planned.finish(unnamed(&facts, wanted, schemas), Vec::new());
    upgrade.files = if upgrade.blocked.is_empty() {
        whole(tree, release, folder, std::mem::take(&mut upgrade.files))?
    } else {
        Vec::new()
    };
    upgrade.notes.push(format!("A new version of {}, with newer API versions and nothing else.", release.id));
    upgrade.notes.extend(migration.notes);
    upgrade.notes.extend(moves.held);
    Ok(upgrade)
}

/// All files of a release, some of them changed, in another folder.
fn whole(
    tree: &dyn Tree,
    release: &Release,
    folder: &RepoPath,
    changed: Vec<FileChange>,
) -> Result<Vec<FileChange>, Refused> {
    let mut changed: BTreeMap<RepoPath, Option<String>> =
        changed.into_iter().map(|change| (change.path, change.after)).collect();
    let mut files = Vec::new();
    for entry in tree.entries_in(&release.folder).iter().filter(|entry| entry.is_file()) {
        let text = match changed.remove(&entry.path) {
            Some(text) => text,
            None => Some(sources::file(tree, entry)?.text().to_owned()),
        };
        let path = entry.path.below(&release.folder).and_then(|below| folder.join(below).ok());
        files.extend(path.zip(text).map(|(path, text)| FileChange { path, before: None, after: Some(text) }));
    }
    Ok(files)
}

/// Documents without a name, which are parts of objects: which ones is not known here, so they keep their versions.
fn unnamed(facts: &ClusterFacts, wanted: &[WantedVersion], schemas: &Schemas) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in facts.base.iter().chain(&facts.overlay) {
        let Ok(yaml) = file.read() else { continue };
        for document in yaml.documents() {
            for (_, node) in manifest::objects(&document.root) {
                let text = |key: &str| node.text_at(key).unwrap_or_default();
                let after: BTreeSet<String> =
                    versions_after(text("kind"), text("apiVersion"), schemas).into_iter().collect();
                let is_wanted =
                    wanted.is_empty() || after.iter().any(|one| wanted.iter().any(|own| own.is(one)));
                if manifest::identity(node).is_some() || after.is_empty() || !is_wanted {
                    continue;
                }
                let message = format!(
                    "This document has no name and stays in {}: write it in the newer version by hand.",
                    text("apiVersion")
                );
                let place = Place::at(file.path.clone(), yaml.position(node.span.start));
                found.push(Finding::new(rules::API_VERSION_LEAVES_FIELD, message).place(place));
            }
        }
    }
    found
}
