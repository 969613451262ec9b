//! Settings that find some folders and no others: which folder of a cluster holds its manifests, and patterns.
//!
//! The text is read again with the parser of the settings, and used to search. What the search does not find is
//! reported, and not promised.

use std::collections::{BTreeMap, BTreeSet};

use super::text;
use super::units::Units;
use crate::layout::{Layout, discover, exact, holder, others, patterns};
use crate::settings::{REPOSITORY_FILE, RepositorySettings, RuleIds};
use capstan_model::finding::{FileError, Place, rules};
use capstan_model::target::TargetKind;
use capstan_model::tree::{RepoPath, Tree};

/// Nobody reads settings with more patterns than this.
pub(super) const MOST_PATTERNS: usize = 200;

/// Names of folders that describe their content, and not the cluster.
const STRUCTURAL: [&str; 10] = [
    "base",
    "capi",
    "capi-cluster",
    "cluster",
    "cluster-api",
    "infra",
    "infrastructure",
    "manifests",
    "mapi",
    "resources",
];
const BASE: &str = "base";

/// Settings, and what they find.
pub(super) struct Chosen {
    pub(super) text: String,
    pub(super) settings: RepositorySettings,
    pub(super) layout: Layout,
    pub(super) left: Vec<FileError>,
}

/// A way to separate a cluster's folder from the folder of its manifests inside of it.
struct Way {
    /// `.` if they are directly in it.
    base: RepoPath,
    /// The folders of manifests, by the clusters' folders.
    taken: BTreeMap<RepoPath, RepoPath>,
}

/// Chooses settings. `None` if the text cannot be read again, which would be a bug of Capstan.
pub(super) fn choose(tree: &dyn Tree, units: &Units, shaped: Layout) -> Option<Chosen> {
    let way = best(tree, units);
    let mut left = Vec::new();
    let taken: BTreeSet<&RepoPath> = way.taken.values().collect();
    for (folder, place) in units.folders.iter().filter(|(folder, _)| !taken.contains(folder)) {
        left.push(not_taken(&way, folder, place));
    }
    let wanted: BTreeSet<RepoPath> = way.taken.keys().cloned().collect();
    let (shared, own): (BTreeSet<RepoPath>, BTreeSet<RepoPath>) = wanted
        .iter()
        .cloned()
        .partition(|cluster| way.taken.get(cluster).is_some_and(|folder| units.shared.contains(folder)));
    let mut shared = patterns(&shared, &own);
    if shared.len() > MOST_PATTERNS {
        // A rule too few would have an upgrade make a second cluster; one too many only offers nothing.
        shared = vec!["**".to_owned()];
    }
    let sets: Vec<&str> = shaped
        .targets
        .iter()
        .filter(|one| one.kind == TargetKind::Providers)
        .map(|one| one.id.as_str())
        .collect();
    let found =
        text::SettingsSurvey { clusters: wanted.len(), shared: &shared, sets: &sets, left: &units.left };
    if wanted.is_empty() && shaped.clusters().next().is_some() {
        // Without patterns, folders that are not clusters would count by their shape.
        let text = text::without_clusters(found);
        let settings = read(&text)?;
        let layout = discover(tree, &settings);
        return Some(Chosen { text, settings, layout, left });
    }
    if finds(&shaped, &wanted) && (wanted.is_empty() || way.base.as_str() == BASE) {
        let text = text::by_shape(found);
        let settings = read(&text)?;
        return Some(Chosen { text, settings, layout: shaped, left });
    }
    let rivals = if way.base.is_root() { others(tree, &wanted) } else { holders(tree, &way.base, &wanted) };
    // A release is not a cluster, even if a pattern matches it.
    let is_free = |folder: &RepoPath| {
        !shaped.releases.iter().any(|release| release.folder == *folder || folder.is_in(&release.folder))
    };
    let rivals: BTreeSet<RepoPath> = rivals.into_iter().filter(is_free).collect();
    let mut chosen: Option<Chosen> = None;
    for mut paths in [patterns(&wanted, &rivals), wanted.iter().map(exact).collect()] {
        paths.truncate(MOST_PATTERNS);
        let mut text = text::by_pattern(&paths, &way.base, found);
        let Some(settings) = read(&text) else { continue };
        let layout = discover(tree, &settings);
        let is_right = finds(&layout, &wanted);
        if !is_right {
            let found = text::SettingsSurvey { clusters: layout.clusters().count(), ..found };
            text = text::by_pattern(&paths, &way.base, found);
        }
        if is_right || chosen.is_none() {
            chosen = Some(Chosen { text, settings, layout, left: Vec::new() });
        }
        if is_right {
            break;
        }
    }
    let mut chosen = chosen?;
    for (cluster, folder) in &way.taken {
        if chosen.layout.target(cluster.as_str()).is_none() {
            let place = units.folders.get(folder).cloned().unwrap_or_else(|| Place::whole(folder.clone()));
            let message =
                format!("no pattern of these settings matches {cluster}: add it to `clusters.paths`");
            left.push(FileError::new(rules::CLUSTER_OUTSIDE, place, message));
        }
    }
    for cluster in chosen.layout.clusters().filter(|cluster| !wanted.contains(cluster.id.folder())) {
        let message = format!(
            "these settings also match {}, which is not a cluster: narrow `clusters.paths`",
            cluster.id
        );
        left.push(FileError::new(rules::CLUSTER_OUTSIDE, Place::whole(cluster.base.clone()), message));
    }
    chosen.left = left;
    Some(chosen)
}

fn read(text: &str) -> Option<RepositorySettings> {
    RepositorySettings::read(&RepoPath::parse(REPOSITORY_FILE).ok()?, text, &RuleIds::default()).ok()
}

fn finds(layout: &Layout, wanted: &BTreeSet<RepoPath>) -> bool {
    layout.clusters().count() == wanted.len()
        && layout.clusters().all(|cluster| wanted.contains(cluster.id.folder()))
}

/// Where in its folder each cluster has its manifests; the root where they are directly in it.
pub(super) fn base_of(tree: &dyn Tree, units: &Units) -> RepoPath {
    if units.folders.is_empty() { RepoPath::root() } else { best(tree, units).base }
}

/// The way that takes most; of equals that which the shape of folders says by itself.
fn best(tree: &dyn Tree, units: &Units) -> Way {
    let base = RepoPath::parse(BASE).unwrap_or_default();
    let ways = [Some(base), common_ending(units), Some(RepoPath::root())];
    let mut best: Option<Way> = None;
    for base in ways.into_iter().flatten() {
        let way = Way { taken: taken_by(tree, &base, units), base };
        if best.as_ref().is_none_or(|best| best.taken.len() < way.taken.len()) {
            best = Some(way);
        }
    }
    best.unwrap_or(Way { base: RepoPath::root(), taken: BTreeMap::new() })
}

fn taken_by(tree: &dyn Tree, base: &RepoPath, units: &Units) -> BTreeMap<RepoPath, RepoPath> {
    let mut taken: BTreeMap<RepoPath, RepoPath> = BTreeMap::new();
    for folder in units.folders.keys() {
        let cluster = if base.is_root() {
            // The overlay beside a base would belong to no cluster.
            let overlay = folder.parent().and_then(|above| above.join("overlay").ok());
            let has_overlay = overlay.is_some_and(|overlay| !tree.entries_in(&overlay).is_empty());
            (folder.name() != BASE || !has_overlay).then(|| folder.clone())
        } else {
            holder(folder, base)
        };
        if let Some(cluster) = cluster.filter(|cluster| !cluster.is_root()) {
            taken.insert(cluster, folder.clone());
        }
    }
    // With another folder for its manifests, a cluster may come to hold others: the inner ones are taken.
    let above: BTreeSet<RepoPath> =
        taken.keys().flat_map(|cluster| std::iter::successors(cluster.parent(), RepoPath::parent)).collect();
    taken.retain(|cluster, _| !above.contains(cluster));
    taken
}

/// The structural names that all folders end with, as many as leave each a folder of its own.
fn common_ending(units: &Units) -> Option<RepoPath> {
    let mut folders = units.folders.keys();
    let first = folders.next()?;
    // With a single cluster it is unclear which part of the path is its name, so two parts are left.
    let most = if units.folders.len() > 1 { 1 } else { 2 };
    let mut ending: Vec<&str> = first.parts().rev().take_while(|part| STRUCTURAL.contains(part)).collect();
    ending.truncate(first.parts().count().saturating_sub(most));
    for folder in folders {
        let common =
            ending.iter().zip(folder.parts().rev()).take_while(|(one, other)| **one == *other).count();
        ending.truncate(common.min(folder.parts().count().saturating_sub(1)));
    }
    ending.reverse();
    RepoPath::parse(&ending.join("/")).ok().filter(|ending| !ending.is_root())
}

/// The other folders that hold such a folder.
fn holders(tree: &dyn Tree, base: &RepoPath, members: &BTreeSet<RepoPath>) -> BTreeSet<RepoPath> {
    let mut known = BTreeSet::new();
    let mut found = BTreeSet::new();
    for entry in tree.entries() {
        for folder in std::iter::successors(entry.path.parent(), RepoPath::parent) {
            if folder.is_root() || known.contains(&folder) {
                break;
            }
            found.extend(holder(&folder, base).filter(|holder| !members.contains(holder)));
            known.insert(folder);
        }
    }
    found
}

fn not_taken(way: &Way, folder: &RepoPath, place: &Place) -> FileError {
    let message = if way.base.is_root() {
        format!(
            "{folder} has an overlay beside it, and other clusters have their manifests directly in their folders: keep one shape for all"
        )
    } else {
        format!(
            "the manifests of this cluster are in {folder}, but those of others in `{}` of their folders. All clusters of a repository need the same layout: move them to such a folder",
            way.base
        )
    };
    FileError::new(rules::CLUSTER_OUTSIDE, place.clone(), message)
}
