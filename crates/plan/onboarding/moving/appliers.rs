//! Whether what applies a folder still applies what moves down from it.
//!
//! Flux takes everything below a folder without a kustomization. Argo CD takes what is directly in it, unless it is told
//! otherwise, and an ApplicationSet may make an Application of each new folder.

use std::collections::BTreeSet;

use super::proof::kustomization_of;
use super::{MoveFacts, Moving};
use crate::onboarding::appliers::excludes;
use crate::onboarding::survey::{Applies, Depth, Who};
use crate::settings::Glob;
use capstan_kustomize::render::is_kustomization;
use capstan_model::file_change::FileChange;
use capstan_model::finding::Place;
use capstan_model::tree::RepoPath;

/// What Flux leaves out of a source, in the form of `.gitignore`.
const IGNORED_BY_FLUX: &str = ".sourceignore";

/// Refuses what would not be applied any more, and notes what has to come to the same.
pub(super) fn look(facts: &MoveFacts<'_>, moving: &mut Moving) {
    let left: BTreeSet<RepoPath> = moving.moves.keys().filter_map(RepoPath::parent).collect();
    if left.is_empty() {
        return;
    }
    let is_built = |folder: &RepoPath| kustomization_of(facts.tree, folder).is_some();
    let is_left = |folder: &RepoPath| left.iter().any(|one| one == folder || one.is_in(folder));
    let mut has_flux = false;
    for applies in &facts.survey.applies {
        match &applies.who {
            Who::Flux(apply) if apply.from_git => {
                has_flux = true;
                moving.rendered.extend(is_left(&apply.path).then(|| apply.path.clone()));
            }
            Who::Flux(_) => {}
            Who::Argo { kind, name, paths, depth, .. } => {
                let argo = Argo { applies, words: format!("the {kind} `{name}` of Argo CD") };
                for path in paths {
                    if path.contains(['*', '?', '[']) {
                        argo.look_at_pattern(path, *depth, &left, &is_built, moving);
                    } else if let Ok(folder) = RepoPath::root().join(path)
                        && !is_built(&folder)
                    {
                        match depth {
                            Depth::Below if is_left(&folder) => argo.look_below(folder, moving),
                            Depth::Here if left.contains(&folder) => argo.refuse_depth(&folder, moving),
                            Depth::Below | Depth::Here => {}
                        }
                    }
                }
            }
        }
    }
    if has_flux {
        look_at_ignored(facts, moving);
    }
}

struct Argo<'a> {
    applies: &'a Applies,
    words: String,
}

impl Argo<'_> {
    fn refuse_depth(&self, folder: &RepoPath, moving: &mut Moving) {
        let message = format!(
            "{} applies only what is directly in {folder}, and would delete what moves down: give its source `directory: {{recurse: true}}` without `include` and `exclude`, let Argo CD apply that, and run the command again",
            self.words
        );
        moving.refuse(self.applies.place.clone(), message);
    }

    /// Of a folder of manifests Argo CD reads a kustomization as one more manifest.
    fn look_below(&self, folder: RepoPath, moving: &mut Moving) {
        let makes = |change: &FileChange| change.before.is_none() && is_kustomization(&change.path);
        if moving.changes.iter().any(|change| makes(change) && change.path.is_in(&folder)) {
            let message = format!(
                "{} applies all manifests below {folder}, and the new folders get kustomizations, which it would take for manifests: give {folder} a kustomization first, or move the clusters by hand",
                self.words
            );
            moving.refuse(self.applies.place.clone(), message);
        }
        moving.rendered.insert(folder);
    }

    fn look_at_pattern(
        &self,
        pattern: &str,
        depth: Depth,
        left: &BTreeSet<RepoPath>,
        is_built: &dyn Fn(&RepoPath) -> bool,
        moving: &mut Moving,
    ) {
        let Ok(glob) = Glob::parse(pattern) else { return };
        let fits = |path: &RepoPath| glob.matches(path.as_str()) && !excludes(&self.applies.who, path);
        let fresh = moving
            .clusters
            .iter()
            .flat_map(|home| std::iter::successors(Some(home.clone()), RepoPath::parent));
        let is_fresh = |folder: &RepoPath| left.iter().any(|one| folder.is_in(one)) && !left.contains(folder);
        if let Some(folder) = fresh.into_iter().find(|folder| is_fresh(folder) && fits(folder)) {
            let message = format!(
                "{} makes an Application of each folder that `{pattern}` matches, and would make one of {folder} too: exclude the new folders from it first",
                self.words
            );
            moving.refuse(self.applies.place.clone(), message);
        } else if let Some(file) = moving.moves.keys().find(|file| fits(file)) {
            let message = format!(
                "{} reads {file}, which would move: move the clusters of this folder by hand, together with the pattern `{pattern}`",
                self.words
            );
            moving.refuse(self.applies.place.clone(), message);
        } else if depth == Depth::Here
            && let Some(folder) = left.iter().find(|folder| fits(folder) && !is_built(folder))
        {
            self.refuse_depth(folder, moving);
        }
    }
}

/// A pattern that tells a new folder from the one around it may leave out what Flux applies today, or the other way round.
fn look_at_ignored(facts: &MoveFacts<'_>, moving: &mut Moving) {
    let ways: BTreeSet<(RepoPath, RepoPath)> = moving
        .moves
        .iter()
        .flat_map(|(from, targets)| {
            targets.iter().filter(move |to| *to != from).map(move |to| (around(from, to), to))
        })
        .filter_map(|(around, to)| Some((around, to.parent()?)))
        .collect();
    let mut told = BTreeSet::new();
    for (around, home) in &ways {
        for folder in std::iter::successors(Some(home.clone()), RepoPath::parent) {
            let entry = folder.join(IGNORED_BY_FLUX).ok().and_then(|path| facts.tree.entry(&path));
            let Some(bytes) = entry.and_then(|entry| facts.tree.read(entry).ok()) else { continue };
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let lines = (1..).zip(text.lines()).filter(|(_, line)| tells_apart(line, &folder, around, home));
            told.extend(
                lines.filter_map(|(line, _)| Some(Place::line_of(folder.join(IGNORED_BY_FLUX).ok()?, line))),
            );
        }
    }
    for place in told {
        moving.refuse(
            place,
            "Flux leaves out what this pattern matches, and it may match a new folder of a cluster and not the one around it: write it so that it names no folder at that depth, or move the clusters by hand",
        );
    }
}

/// The folder that two paths share.
fn around(one: &RepoPath, other: &RepoPath) -> RepoPath {
    let shared = std::iter::successors(one.parent(), RepoPath::parent);
    shared.into_iter().find(|folder| other.is_in(folder)).unwrap_or_default()
}

/// Whether a pattern of a `.gitignore` in `folder` may match one of `around` and `home`, which is in it, alone.
fn tells_apart(pattern: &str, folder: &RepoPath, around: &RepoPath, home: &RepoPath) -> bool {
    let pattern = pattern.trim().trim_start_matches('!').trim_end_matches('/');
    if pattern.is_empty() || pattern.starts_with('#') {
        return false;
    }
    if !pattern.contains('/') {
        // A name at any depth: that of the file stays.
        let below = home.below(around).unwrap_or_default();
        return Glob::parse(pattern).map_or(true, |glob| below.split('/').any(|part| glob.matches(part)));
    }
    // What matches a folder at its depth, matches all below it.
    let depth = around.parts().count().saturating_sub(folder.parts().count());
    pattern.contains("**") || pattern.trim_start_matches('/').split('/').count() > depth
}
