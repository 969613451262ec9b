//! The differences of two snapshots.

use capstan_model::ids::ClusterId;
use capstan_model::tree::{RepoPath, Tree, TreeEntry, differences};
use capstan_plan::proposal::PlanDigest;
use capstan_plan::settings::{ClusterSettings, FOLDER_FILE, REPOSITORY_FILE};

/// The entry of `.capstan.yaml`.
pub fn settings_file(tree: &dyn Tree) -> Option<&TreeEntry> {
    tree.entry(&RepoPath::parse(REPOSITORY_FILE).ok()?)
}

/// The settings of a cluster or provider set in a snapshot, if they can be read.
pub fn settings_in(tree: &dyn Tree, target: &ClusterId) -> Option<ClusterSettings> {
    let path = target.folder().join(FOLDER_FILE).ok()?;
    let bytes = tree.read(tree.entry(&path)?).ok()?;
    ClusterSettings::read(&path, std::str::from_utf8(&bytes).ok()?).ok()
}

/// Digest of the changes from `before` to `after`, as for a plan; `None` where a file cannot be read, or
/// where there are more changes than a proposal can have.
pub fn digest_of_changes(before: &dyn Tree, after: &dyn Tree) -> Option<PlanDigest> {
    digest_of_changes_in(&RepoPath::root(), before, after)
}

/// The same for the changes in a folder.
pub fn digest_of_changes_in(folder: &RepoPath, before: &dyn Tree, after: &dyn Tree) -> Option<PlanDigest> {
    const MORE_THAN_A_PROPOSAL: usize = 5_000;
    let mut differences = differences(before, after);
    differences.retain(|difference| folder.is_root() || difference.path.is_in(folder));
    if differences.len() > MORE_THAN_A_PROPOSAL {
        return None;
    }
    let mut contents = Vec::with_capacity(differences.len());
    for difference in &differences {
        let content = match difference.after {
            Some(entry) => Some(after.read(entry).ok()?),
            None => None,
        };
        contents.push((difference.path.as_str(), content));
    }
    Some(PlanDigest::of_contents(contents.iter().map(|(path, content)| (*path, content.as_deref()))))
}
