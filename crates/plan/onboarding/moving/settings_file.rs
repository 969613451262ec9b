//! Whether Flux would take the new settings for a manifest.

use super::appliers::IGNORED_BY_FLUX;
use super::proof::kustomization_of;
use crate::layout::discover;
use crate::onboarding::sources::{Origin, RepositoryAddresses};
use crate::onboarding::survey::{Survey, Who};
use crate::settings::{REPOSITORY_FILE, RepositorySettings};
use capstan_model::finding::{FileError, rules};
use capstan_model::tree::{RepoPath, Tree};

/// The objects of Flux that would fail on a new `.capstan.yaml`, each with what to do. None where the file exists.
pub fn settings_in_the_way(tree: &dyn Tree, own: &RepositoryAddresses) -> Vec<FileError> {
    let shaped = discover(tree, &RepositorySettings::default());
    let mut survey = Survey::of(tree, &shaped);
    survey.add_hidden(tree, &shaped);
    taken_for_a_manifest(tree, &survey, own)
}

/// The same, of a repository with a survey. Flux takes each file of a folder without a kustomization for a manifest.
pub(super) fn taken_for_a_manifest(
    tree: &dyn Tree,
    survey: &Survey,
    own: &RepositoryAddresses,
) -> Vec<FileError> {
    let root = RepoPath::root();
    let entry = |path: &str| RepoPath::parse(path).ok().and_then(|path| tree.entry(&path));
    let ignored = entry(IGNORED_BY_FLUX).and_then(|entry| tree.read(entry).ok()).unwrap_or_default();
    let ignored = String::from_utf8_lossy(&ignored);
    if entry(REPOSITORY_FILE).is_some()
        || kustomization_of(tree, &root).is_some()
        || ignored.lines().any(|line| line.trim().trim_start_matches('/') == REPOSITORY_FILE)
    {
        return Vec::new();
    }
    let fails = survey.applies.iter().filter(|applies| {
        let is_of_root = matches!(&applies.who, Who::Flux(apply) if apply.from_git && apply.path == root);
        is_of_root && survey.origin(applies, own) != Origin::Another && survey.takes(applies, &root)
    });
    let told = fails.map(|applies| {
        let message = format!(
            "this Kustomization of Flux applies every manifest below the repository's root, and would fail on {REPOSITORY_FILE}, which has no kind: add the line `{REPOSITORY_FILE}` to {IGNORED_BY_FLUX}, commit it, and run the command again"
        );
        FileError::new(rules::CLUSTER_OUTSIDE, applies.place.clone(), message)
    });
    told.collect()
}
