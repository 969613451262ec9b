//! Provider sets that the settings name: what is wrong with the folders there.

use super::found::Layout;
use crate::settings::{REPOSITORY_FILE, RepositorySettings};
use capstan_inventory::kinds::InventoryFiles;
use capstan_inventory::origin::LevelKind;
use capstan_model::finding::FileError;
use capstan_model::target::TargetKind;
use capstan_model::tree::{RepoPath, Tree};
use capstan_model::version::ReleaseVersion;

/// Every folder that `managementClusters[].providers` names and that is not a provider set. The error is at the
/// entry in the snapshot's own settings, if the snapshot has the same entry.
pub(super) fn misnamed(tree: &dyn Tree, settings: &RepositorySettings, layout: &Layout) -> Vec<FileError> {
    let named = settings.management_clusters.iter().enumerate();
    let wrong: Vec<(usize, String)> = named
        .filter_map(|(at, management)| {
            let path = management.providers.as_ref()?.path.path();
            let why = why(path, settings, layout)?;
            (!is_to_come(tree, settings, &management.name, path)).then_some((at, why))
        })
        .collect();
    if wrong.is_empty() {
        return Vec::new();
    }
    let Ok(file) = RepoPath::parse(REPOSITORY_FILE) else { return Vec::new() };
    let text = tree.entry(&file).and_then(|entry| tree.read(entry).ok());
    let text = text.as_deref().and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default();
    wrong.into_iter().map(|(at, why)| settings.error_at_providers(&file, text, at, &why)).collect()
}

/// Whether a folder is still empty, and the inventory defines the management cluster whose provider objects go
/// there.
fn is_to_come(tree: &dyn Tree, settings: &RepositorySettings, management: &str, path: &RepoPath) -> bool {
    let Some(inventory) = &settings.inventory else { return false };
    let is_defined = || {
        let inventory = InventoryFiles::read_in(tree, inventory.path.path());
        inventory.object(LevelKind::ManagementClusterDefinition, management).is_some()
    };
    tree.entries_in(path).is_empty() && is_defined()
}

/// Why a folder is not a provider set; `None` if it is one.
fn why(path: &RepoPath, settings: &RepositorySettings, layout: &Layout) -> Option<String> {
    if layout.target(path.as_str()).is_some_and(|target| target.kind == TargetKind::Providers) {
        return None;
    }
    let release =
        layout.releases.iter().find(|release| release.folder == *path || path.is_in(&release.folder));
    if let Some(release) = release {
        return Some(format!(
            "is the release {} or inside it: name the folder that receives such releases",
            release.id
        ));
    }
    if ReleaseVersion::parse(path.name()).is_some() {
        return Some("is named like a version, as releases are: rename the folder".to_owned());
    }
    if let Some(outer) = layout.target_around(path) {
        return Some(format!(
            "is inside the {} {}: move it to a folder of its own",
            outer.kind.noun(),
            outer.id
        ));
    }
    let base = settings.clusters.base.path();
    let place = if base.is_root() { "directly in it".to_owned() } else { format!("in its folder `{base}`") };
    Some(format!(
        "has no provider object {place} (`apiVersion: operator.cluster.x-k8s.io/v1alpha2`): correct the \
         path, or put the management cluster's provider objects there"
    ))
}
