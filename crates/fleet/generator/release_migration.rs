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
use capstan_model::tree::{EntryKind, RepoPath, Tree};
use capstan_plan::flux::PostBuild;
use capstan_plan::merge::{AppliedBy, ClusterFacts};
use capstan_plan::migration::{Moves, WantedVersion};
use capstan_plan::release::{Release, ReleaseState};
use capstan_plan::upgrade::{self, MergeSettings, OldSource, Retarget, Upgrade, UpgradeRequest};
use capstan_yaml::{Node, manifest};

use super::plan::Planned;
use super::{Fleet, Refused, sources};

/// Plans newer API versions for the newest release of each provider: the id of each new version, and its plan.
/// Those of Giant Swarm hold no objects. Those of another repository are not written here.
pub fn migrate_releases(fleet: &Fleet, wanted: &[WantedVersion]) -> Vec<(ClusterId, Planned)> {
    let plan = |release: &Release| {
        let folder = next_version(fleet, release)?;
        let id = ClusterId::new(folder.clone());
        let planned = migrate_release(fleet, release, (&id, &folder), wanted);
        Some((id, planned))
    };
    newest_releases(fleet).into_iter().filter_map(plan).collect()
}

/// The kind and the API version of each document of the releases that [`migrate_releases`] is for.
///
/// # Errors
/// A file of a release that cannot be read.
pub fn versions_of_releases(fleet: &Fleet) -> Result<BTreeSet<(String, String)>, Refused> {
    let tree = fleet.releases_tree();
    let mut found = BTreeSet::new();
    for release in newest_releases(fleet) {
        for files in [&release.base_files, &release.overlay_files] {
            for file in sources::files(tree, files)? {
                let yaml = file.read()?;
                let nodes = yaml.documents().iter().flat_map(|document| manifest::objects(&document.root));
                let text = |node: &Node, key: &str| node.text_at(key).unwrap_or_default().to_owned();
                found.extend(nodes.map(|(_, node)| (text(node, "kind"), text(node, "apiVersion"))));
            }
        }
    }
    Ok(found)
}

/// The newest release of each provider that has objects and is written in this repository.
fn newest_releases(fleet: &Fleet) -> Vec<&Release> {
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
    newest.into_values().collect()
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
        whole(tree, [&release.folder, folder], std::mem::take(&mut upgrade.files))?
    } else {
        Vec::new()
    };
    upgrade.notes.push(format!("A new version of {}, with newer API versions and nothing else.", release.id));
    upgrade.notes.extend(migration.notes);
    upgrade.notes.extend(moves.held);
    Ok(upgrade)
}

/// All files of a release, some of them changed or new, in another folder.
fn whole(
    tree: &dyn Tree,
    [from, to]: [&RepoPath; 2],
    changed: Vec<FileChange>,
) -> Result<Vec<FileChange>, Refused> {
    let mut changed: BTreeMap<RepoPath, FileChange> =
        changed.into_iter().map(|change| (change.path.clone(), change)).collect();
    let mut files = Vec::new();
    for entry in tree.entries_in(from) {
        let what = match entry.kind {
            EntryKind::File => None,
            EntryKind::Executable => Some("an executable file"),
            EntryKind::Symlink => Some("a symbolic link"),
            EntryKind::Submodule => Some("a submodule"),
            EntryKind::Unnamed => Some("of a name that has a backslash or is not UTF-8"),
        };
        if let Some(what) = what {
            let message = format!(
                "it is {what}, which Capstan does not write to {to}: write that version of the release by hand"
            );
            return Err(Refused { message, place: Some(Place::whole(entry.path.clone())) });
        }
        files.push(match changed.remove(&entry.path) {
            Some(change) => change,
            None => {
                let after = Some(sources::file(tree, entry)?.text().to_owned());
                FileChange { path: entry.path.clone(), before: None, after }
            }
        });
    }
    files.extend(changed.into_values());
    let moved = |change: FileChange| match change.path.below(from).and_then(|below| to.join(below).ok()) {
        Some(path) => change.after.map(|after| FileChange { path, before: None, after: Some(after) }),
        None => Some(change),
    };
    Ok(files.into_iter().filter_map(moved).collect())
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

#[cfg(test)]
mod tests {
    use super::*;
    use capstan_test_support::Files;

    fn path(text: &str) -> RepoPath {
        RepoPath::parse(text).unwrap()
    }

    fn release() -> Files {
        Files::new(&[("aws/v1.0.0/base/a.yaml", "a: 1\n"), ("aws/v1.0.0/base/b.yaml", "b: 1\n")])
    }

    fn written(tree: &dyn Tree, changed: Vec<FileChange>) -> Result<Vec<FileChange>, String> {
        let folders = [&path("aws/v1.0.0"), &path("aws/v1.0.1")];
        whole(tree, folders, changed).map_err(|refused| refused.to_string())
    }

    #[test]
    fn files_of_a_release_are_written_with_those_that_change_and_those_that_come() {
        let change = |at: &str, before: Option<&str>, after: Option<&str>| FileChange {
            path: path(at),
            before: before.map(str::to_owned),
            after: after.map(str::to_owned),
        };
        let changed = vec![
            change("aws/v1.0.0/base/b.yaml", Some("b: 1\n"), Some("b: 2\n")),
            change("aws/v1.0.0/base/new.yaml", None, Some("c: 3\n")),
            change("shared/all.yaml", Some("d: 1\n"), Some("d: 2\n")),
        ];
        let expected = vec![
            change("aws/v1.0.1/base/a.yaml", None, Some("a: 1\n")),
            change("aws/v1.0.1/base/b.yaml", None, Some("b: 2\n")),
            change("aws/v1.0.1/base/new.yaml", None, Some("c: 3\n")),
            change("shared/all.yaml", Some("d: 1\n"), Some("d: 2\n")),
        ];
        assert_eq!(written(&release(), changed), Ok(expected));
        let gone = vec![change("aws/v1.0.0/base/a.yaml", Some("a: 1\n"), None)];
        let expected = vec![change("aws/v1.0.1/base/b.yaml", None, Some("b: 1\n"))];
        assert_eq!(written(&release(), gone), Ok(expected));
    }

    #[test]
    fn other_entries_than_plain_files_are_refused_by_name() {
        for (kind, what) in [
            (EntryKind::Symlink, "it is a symbolic link"),
            (EntryKind::Executable, "it is an executable file"),
            (EntryKind::Submodule, "it is a submodule"),
        ] {
            let tree = release().with_kind("aws/v1.0.0/base/b.yaml", kind);
            let refused = written(&tree, Vec::new()).unwrap_err();
            assert!(refused.starts_with(&format!("aws/v1.0.0/base/b.yaml: {what}")), "{refused}");
        }
    }
}
