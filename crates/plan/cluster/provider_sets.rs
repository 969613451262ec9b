//! What a folder with provider objects may not hold.

use super::ParsedBaseFile;
use crate::layout::TargetFolder;
use crate::strangers::first_stranger;
use capstan_model::finding::{Finding, Place, rules};
use capstan_model::target::TargetKind;
use capstan_model::tree::{RepoPath, is_manifest};

/// Provider objects in one base with other objects of Cluster API.
pub(super) fn beside_others(kind: TargetKind, base: &[ParsedBaseFile]) -> Option<Finding> {
    let files = base.iter().map(|manifest| (&manifest.entry.path, &manifest.file));
    let (place, message) = first_stranger(kind, files)?;
    Some(Finding::new(rules::PROVIDERS_BESIDE_OTHERS, message).place(place))
}

/// Files of a provider set's overlay: it may hold back, and nothing else.
pub(super) fn overlay_changes(folder: &TargetFolder) -> Vec<Finding> {
    if folder.kind != TargetKind::Providers {
        return Vec::new();
    }
    let about = |path: &RepoPath| {
        let what = if is_manifest(path) { "changes" } else { "is beside" };
        format!(
            "the overlay of a provider set may only hold it back, with `hold` and `track` in its `capstan.yaml`, but this file {what} the set. Move its content to a release or to the base, or remove it"
        )
    };
    let files = folder.overlay_files.iter();
    files
        .map(|entry| {
            Finding::new(rules::OVERLAY_CHANGES_PROVIDERS, about(&entry.path))
                .place(Place::line_of(entry.path.clone(), 1))
        })
        .collect()
}
