//! What an inventory says, over the clusters as they are in another snapshot.

use std::collections::{BTreeMap, BTreeSet};

use capstan_model::file_change::FileChange;
use capstan_model::ids::ClusterId;
use capstan_model::tree::{RepoPath, Tree, TreeEntry};

use super::Fleet;

/// What the inventory here says, over the clusters as they are in another snapshot, which is what is merged there;
/// `None` where their folders are the same in both, but for the customers' overlays.
pub fn over_clusters_of(fleet: &Fleet, merged: &Fleet, clusters: &[ClusterId]) -> Option<Fleet> {
    let inventory = fleet.inventory()?;
    let mut files = Vec::new();
    for id in clusters.iter().filter(|id| inventory.definition_in(id.folder()).is_some()) {
        if fleet.tree().folder_id(id.folder()) == merged.tree().folder_id(id.folder()) {
            continue;
        }
        let overlay = fleet.settings().clusters.overlay.inside(id.folder());
        let own = |tree: &dyn Tree| -> BTreeMap<RepoPath, TreeEntry> {
            let entries = tree.entries_in(id.folder()).iter();
            let own = entries.filter(|entry| !entry.path.is_in(&overlay));
            own.map(|entry| (entry.path.clone(), entry.clone())).collect()
        };
        let (now, then) = (own(fleet.tree().as_ref()), own(merged.tree().as_ref()));
        let both: BTreeSet<&RepoPath> = now.keys().chain(then.keys()).collect();
        for path in both {
            let [here, there] = [now.get(path), then.get(path)];
            if here.map(|entry| &entry.blob) == there.map(|entry| &entry.blob) {
                continue;
            }
            let [before, after] =
                [text_in(fleet.tree().as_ref(), here), text_in(merged.tree().as_ref(), there)];
            if here.is_some() == before.is_some() && there.is_some() == after.is_some() {
                files.push(FileChange { path: path.clone(), before, after });
            }
        }
    }
    if files.is_empty() {
        return None;
    }
    let mut over = fleet.with_files(&files);
    over.supplement_mut().take_contents(fleet.supplement());
    over.supplement_mut().take_contents(merged.supplement());
    Some(over)
}

fn text_in(tree: &dyn Tree, entry: Option<&TreeEntry>) -> Option<String> {
    let bytes = tree.read(entry?).ok()?;
    std::str::from_utf8(&bytes).ok().map(str::to_owned)
}
