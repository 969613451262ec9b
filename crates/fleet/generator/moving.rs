//! Clusters that share a folder or a file, moved into folders of their own; and the proof that nothing else changes.
//!
//! *Guarantee*: what is returned without a refusal was checked as if it were written. Everything that is applied from
//! the repository still renders to the same objects, each of the clusters has its folder, and none of the others lost
//! its own.

use std::collections::BTreeSet;
use std::sync::Arc;

use capstan_kustomize::render::is_kustomization;
use capstan_model::file_change::FileChange;
use capstan_model::finding::{FileError, Place, rules};
use capstan_model::tree::{RepoPath, Tree, TreeEntry, is_manifest};
use capstan_plan::layout::discover;
use capstan_plan::onboarding::{AppliedBelow, Moving, RepositoryAddresses, differences, plan_moves, propose};
use capstan_plan::settings::REPOSITORY_FILE;

use super::settings_file::read_settings;
use capstan_ports::{Workspace, WorkspaceError};

/// Moves, not written yet.
pub struct MovedClusters {
    /// What moves, and what is in the way of it.
    pub moving: Moving,
    /// The repository as it would be; as it is where something is refused.
    pub after: Arc<dyn Tree>,
}

/// Whose the settings of the repository are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingsAfterMove {
    /// Capstan's, as it proposes them: they follow the move.
    Proposed,
    /// A person's: they stay as they are.
    Kept,
}

/// Plans the moves, and proves them.
///
/// # Errors
/// The checkout cannot be read.
pub fn move_clusters(
    workspace: &dyn Workspace,
    tree: &Arc<dyn Tree>,
    settings: SettingsAfterMove,
    applied_below: AppliedBelow,
) -> Result<MovedClusters, WorkspaceError> {
    let remotes = workspace.remotes();
    let own = RepositoryAddresses::of(remotes.iter().map(String::as_str));
    let mut moving = plan_moves(tree.as_ref(), &own, applied_below);
    if moving.changes.is_empty() {
        return Ok(MovedClusters { moving, after: Arc::clone(tree) });
    }
    let after = workspace.changed(tree, &moving.changes)?;
    moving.refused.extend(differences(tree.as_ref(), after.as_ref(), &moving));
    moving.refused.extend(not_found(tree.as_ref(), after.as_ref(), &moving));
    if settings == SettingsAfterMove::Kept {
        moving.refused.extend(not_covered(after.as_ref(), &moving));
    }
    if moving.refused.is_empty() {
        return Ok(MovedClusters { moving, after });
    }
    moving.changes.clear();
    Ok(MovedClusters { moving, after: Arc::clone(tree) })
}

/// The files that are not as the last commit has them, and that are part of a move or of its proof: a move that goes
/// wrong could not be taken back, and what is not committed proves nothing of what is applied.
///
/// # Errors
/// The checkout cannot be read.
pub fn uncommitted(
    workspace: &dyn Workspace,
    tree: &dyn Tree,
    changes: &[FileChange],
) -> Result<Vec<RepoPath>, WorkspaceError> {
    let committed = match workspace.commit("HEAD") {
        Ok(committed) => Some(committed),
        // Nothing is committed yet.
        Err(WorkspaceError::Usage(_)) => None,
        Err(failed) => return Err(failed),
    };
    let entries = |path: &RepoPath| (tree.entry(path), committed.as_ref().and_then(|tree| tree.entry(path)));
    let listed = tree.entries().iter().chain(committed.iter().flat_map(|tree| tree.entries()));
    let proving = listed.filter(|entry| proves(entry)).map(|entry| &entry.path);
    let all: BTreeSet<&RepoPath> = changes.iter().map(|change| &change.path).chain(proving).collect();
    let differing: Vec<RepoPath> = all
        .into_iter()
        .filter(|path| {
            let (now, then) = entries(path);
            now.map(|entry| (&entry.blob, entry.kind)) != then.map(|entry| (&entry.blob, entry.kind))
        })
        .cloned()
        .collect();
    // Other bytes may be the same content to Git: with other line ends, or as a filter checked it out.
    let stored = workspace.stored_contents(&differing)?;
    let is_stored = |path: &RepoPath| match entries(path) {
        (Some(now), Some(then)) => now.kind == then.kind && stored.get(path) == Some(&then.blob),
        _ => false,
    };
    Ok(differing.into_iter().filter(|path| !is_stored(path)).collect())
}

/// Whether a file may say what is applied. Settings do not.
fn proves(entry: &TreeEntry) -> bool {
    let path = &entry.path;
    let is_rule = [".sourceignore", ".gitattributes", ".gitignore", ".gitmodules"].contains(&path.name());
    let is_one = is_manifest(path) || is_kustomization(path) || is_rule || !entry.is_file();
    is_one && path.as_str() != REPOSITORY_FILE
}

/// Clusters that a person's settings would not find after the move.
fn not_covered(after: &dyn Tree, moving: &Moving) -> Option<FileError> {
    let place = RepoPath::parse(REPOSITORY_FILE).map(Place::whole).ok()?;
    let layout = match read_settings(after) {
        Ok((settings, _)) => discover(after, &settings),
        Err(unreadable) => return Some(unreadable),
    };
    let found: BTreeSet<&RepoPath> = layout.clusters().map(|cluster| &cluster.base).collect();
    let lost = moving.clusters.iter().find(|folder| !found.contains(folder))?;
    let message = format!(
        "these settings would not find {lost}, where the manifests of a cluster would be after the move: change `clusters` so that they do, or remove this file, and run the command again"
    );
    Some(FileError::new(rules::CLUSTER_OUTSIDE, place, message))
}

/// Clusters that Capstan would not find after the move.
fn not_found(before: &dyn Tree, after: &dyn Tree, moving: &Moving) -> Vec<FileError> {
    let bases = |tree: &dyn Tree| -> BTreeSet<RepoPath> {
        let proposed = propose(tree);
        let layout = proposed.iter().flat_map(|proposed| proposed.layout.clusters());
        layout.map(|cluster| cluster.base.clone()).collect()
    };
    let found = bases(after);
    let wanted = moving.clusters.iter().cloned().chain(bases(before));
    let lost: BTreeSet<RepoPath> = wanted.filter(|folder| !found.contains(folder)).collect();
    let told = lost.into_iter().map(|folder| {
        let message = format!(
            "after the move, Capstan would not find the cluster of {folder}, so nothing is moved: give all clusters of the repository the same layout by hand"
        );
        FileError::new(rules::CLUSTER_OUTSIDE, Place::whole(folder), message)
    });
    told.collect()
}
