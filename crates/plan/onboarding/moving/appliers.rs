//! Whether what applies a folder still applies what moves down from it.
//!
//! Flux applies everything below a folder without a kustomization. Argo CD applies what is directly in it, unless
//! it is configured otherwise. An ApplicationSet may make an Application of each new folder.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::{MoveFacts, Moving, in_words};
use super::proof::kustomization_of;
use crate::onboarding::appliers::excludes;
use crate::onboarding::sources::Origin;
use crate::onboarding::survey::{Applies, Depth, FolderReading, Who, has_wildcards};
use crate::settings::Glob;
use capstan_kustomize::render::is_kustomization;
use capstan_model::file_change::FileChange;
use capstan_model::finding::Place;
use capstan_model::tree::RepoPath;

/// What Flux leaves out of a source, in the form of `.gitignore`.
pub(super) const IGNORED_BY_FLUX: &str = ".sourceignore";

/// Refuses what would not be applied any more, or would be applied by another, and notes what has to come to the same.
pub(super) fn look(facts: &MoveFacts<'_>, moving: &mut Moving) {
    if moving.moves.is_empty() {
        return;
    }
    let touched = Touched::of(facts, moving);
    for applies in &facts.survey.applies {
        match &applies.who {
            Who::Flux(apply) if apply.from_git => {
                moving.rendered.extend(touched.is_touched(&apply.path).then(|| apply.path.clone()));
            }
            Who::Flux(_) => {}
            Who::Argo { kind, name, paths, guessed, depth, reading, git_lists, .. } => {
                let words = format!("the {kind} `{name}` of Argo CD");
                let argo = Argo { applies, words, depth: *depth, reading: *reading, touched: &touched };
                if *git_lists > 1 && argo.may_touch(paths.iter().chain(guessed), moving) {
                    argo.refuse_several(moving);
                    continue;
                }
                for path in paths {
                    if has_wildcards(path) {
                        argo.look_at_pattern(path, moving);
                    } else if let Ok(path) = RepoPath::root().join(path) {
                        argo.look_at_path(&path, moving);
                    }
                }
                for pattern in guessed {
                    argo.look_at_guess(pattern, moving);
                }
            }
        }
    }
    look_at_ignored(facts, moving);
    look_at_sparse_sources(facts, moving);
}

/// The folders that files leave or arrive in, or in which one changes; and the folders around them.
struct Touched {
    /// The folders themselves.
    folders: BTreeSet<RepoPath>,
    /// Those of them that files only arrive in.
    entered: BTreeSet<RepoPath>,
    /// These and all around them, and the files directly in each.
    around: BTreeMap<RepoPath, Vec<RepoPath>>,
    /// Those that have a kustomization.
    built: BTreeSet<RepoPath>,
}

impl Touched {
    fn of(facts: &MoveFacts<'_>, moving: &Moving) -> Self {
        let folders: BTreeSet<RepoPath> =
            moving.changes.iter().filter_map(|change| change.path.parent()).collect();
        let left: BTreeSet<RepoPath> = moving.moves.keys().filter_map(RepoPath::parent).collect();
        let with_above =
            folders.iter().flat_map(|folder| std::iter::successors(Some(folder.clone()), RepoPath::parent));
        let mut around: BTreeMap<RepoPath, Vec<RepoPath>> =
            with_above.map(|folder| (folder, Vec::new())).collect();
        let is_built = |folder: &&RepoPath| kustomization_of(facts.tree, folder).is_some();
        let built = around.keys().filter(is_built).cloned().collect();
        for entry in facts.tree.entries() {
            if let Some(files) = entry.path.parent().and_then(|folder| around.get_mut(&folder)) {
                files.push(entry.path.clone());
            }
        }
        Self { entered: folders.difference(&left).cloned().collect(), folders, around, built }
    }

    fn is_touched(&self, folder: &RepoPath) -> bool {
        self.folders.iter().any(|one| one == folder || one.is_in(folder))
    }
}

/// An object of Argo CD's that may apply what moves.
struct Argo<'a> {
    applies: &'a Applies,
    words: String,
    depth: Depth,
    reading: FolderReading,
    touched: &'a Touched,
}

impl Argo<'_> {
    fn refuse(&self, moving: &mut Moving, message: String) {
        moving.refuse(self.applies.place.clone(), message);
    }

    fn refuse_reading(&self, path: &RepoPath, moving: &mut Moving) {
        let message = format!(
            "{} reads {path}, which would move or change: move the clusters of this folder by hand, together with what reads the file",
            self.words
        );
        self.refuse(moving, message);
    }

    /// A folder of a source; or a file of a generator, which may make an Application of the folder around it.
    fn look_at_path(&self, path: &RepoPath, moving: &mut Moving) {
        if moving.changes.iter().any(|change| change.path == *path) {
            self.refuse_reading(path, moving);
            return;
        }
        for (folder, files) in &self.touched.around {
            if folder == path || files.contains(path) {
                self.look_at_folder(folder, moving);
            }
        }
    }

    /// Whether one of these paths and patterns may be a folder or a file that the move touches.
    fn may_touch<'p>(&self, mut paths: impl Iterator<Item = &'p String>, moving: &Moving) -> bool {
        paths.any(|path| {
            let Ok(glob) = Glob::parse(path) else { return true };
            self.touched.around.keys().any(|folder| glob.matches(folder.as_str()))
                || self.touched.around.values().flatten().any(|file| glob.matches(file.as_str()))
                || moving.changes.iter().any(|change| glob.matches(change.path.as_str()))
        })
    }

    fn refuse_several(&self, moving: &mut Moving) {
        let message = format!(
            "{} has several generators that read Git, and one of them may take what would move: move the clusters by hand",
            self.words
        );
        self.refuse(moving, message);
    }

    /// A path with variables may be each folder that fits it, and each file.
    fn look_at_guess(&self, pattern: &str, moving: &mut Moving) {
        let glob = Glob::parse(pattern).ok();
        let fits = |path: &RepoPath| glob.as_ref().is_none_or(|glob| glob.matches(path.as_str()));
        for folder in self.touched.around.keys().filter(|folder| fits(folder)) {
            self.look_at_folder(folder, moving);
        }
        if let Some(path) = moving.changes.iter().map(|change| &change.path).find(|path| fits(path)).cloned()
        {
            self.refuse_reading(&path, moving);
        }
    }

    /// A folder that is applied. A kustomization gives the same as before, where Argo CD builds it.
    fn look_at_folder(&self, folder: &RepoPath, moving: &mut Moving) {
        if self.touched.built.contains(folder) {
            if self.reading == FolderReading::AsFiles {
                let message = format!(
                    "{} reads the files of {}, since its source says `directory` or `plugin`, and does not build the kustomization there: remove that from its source, let Argo CD apply that, and run the command again",
                    self.words,
                    in_words(folder)
                );
                self.refuse(moving, message);
            }
            return;
        }
        match self.depth {
            Depth::Below => self.look_below(folder, moving),
            Depth::Here if self.touched.entered.contains(folder) => {
                let message = format!(
                    "{} applies {}, where files of a cluster would arrive: move the clusters by hand, or let it apply another folder first",
                    self.words,
                    in_words(folder)
                );
                self.refuse(moving, message);
            }
            Depth::Here if self.touched.folders.contains(folder) => {
                let message = format!(
                    "{} applies only what is directly in {}, and would delete what moves down: give each of its sources `directory: {{recurse: true}}` without `include` and `exclude`, let Argo CD apply that, and run the command again",
                    self.words,
                    in_words(folder)
                );
                self.refuse(moving, message);
            }
            Depth::Here => {}
        }
    }

    /// Of a folder of manifests Argo CD reads a kustomization as one more manifest.
    fn look_below(&self, folder: &RepoPath, moving: &mut Moving) {
        let makes = |change: &FileChange| change.before.is_none() && is_kustomization(&change.path);
        if moving.changes.iter().any(|change| makes(change) && change.path.is_in(folder)) {
            let message = format!(
                "{} applies all manifests below {}, and the new folders get kustomizations, which it would take for manifests: give it a kustomization instead first, or move the clusters by hand",
                self.words,
                in_words(folder)
            );
            self.refuse(moving, message);
        }
        moving.rendered.insert(folder.clone());
    }

    fn look_at_pattern(&self, pattern: &str, moving: &mut Moving) {
        let Ok(glob) = Glob::parse(pattern) else {
            let message = format!(
                "Capstan cannot read the pattern `{pattern}` of {}: correct it, or move the clusters by hand",
                self.words
            );
            self.refuse(moving, message);
            return;
        };
        let fits = |path: &RepoPath| glob.matches(path.as_str()) && !excludes(&self.applies.who, path);
        let left: BTreeSet<RepoPath> = moving.moves.keys().filter_map(RepoPath::parent).collect();
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
            self.refuse(moving, message);
            return;
        }
        let changed = moving.changes.iter().map(|change| &change.path).find(|path| fits(path)).cloned();
        if let Some(file) = changed {
            let message = format!(
                "{} reads {file}, which would move or change: move the clusters of this folder by hand, together with the pattern `{pattern}`",
                self.words
            );
            self.refuse(moving, message);
            return;
        }
        for (folder, files) in &self.touched.around {
            if fits(folder) || files.iter().any(fits) {
                self.look_at_folder(folder, moving);
            }
        }
    }
}

/// A pattern that tells a new folder from the one around it may leave out what Flux applies today, or the other way
/// round. The repository's own Flux object need not be in it.
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
        for (place, text) in &facts.survey.ignored {
            let tells = text.lines().any(|line| tells_apart(line, &RepoPath::root(), around, home));
            told.extend(tells.then(|| place.clone()));
        }
        for folder in std::iter::successors(Some(home.clone()), RepoPath::parent) {
            let Ok(path) = folder.join(IGNORED_BY_FLUX) else { continue };
            let Some(entry) = facts.tree.entry(&path) else { continue };
            // One that is a link, or cannot be read, may say anything.
            let Some(bytes) = facts.tree.read(entry).ok().filter(|_| entry.is_file()) else {
                told.insert(Place::whole(path));
                continue;
            };
            let text = String::from_utf8_lossy(&bytes).into_owned();
            // One below the folder that both share says nothing of what is outside of it today.
            let tells = |line: &str| {
                if folder.is_in(around) { is_pattern(line) } else { tells_apart(line, &folder, around, home) }
            };
            let lines = (1..).zip(text.lines()).filter(|(_, line)| tells(line));
            told.extend(lines.map(|(line, _)| Place::line_of(path.clone(), line)));
        }
    }
    for place in told {
        moving.refuse(
            place,
            "Flux leaves out what this pattern matches, and it may match a new folder of a cluster and not the one around it: write it so that it names no folder at that depth, or move the clusters by hand",
        );
    }
}

/// A source of Flux that takes some folders alone must take both a file and where it moves, or neither.
fn look_at_sparse_sources(facts: &MoveFacts<'_>, moving: &mut Moving) {
    let own = facts.survey.git_sources.iter().filter(|source| source.origin(facts.own) != Origin::Another);
    for source in own.filter(|source| source.is_sparse()) {
        let ways = moving.moves.iter().flat_map(|(from, targets)| targets.iter().map(move |to| (from, to)));
        let Some((from, to)) = ways
            .into_iter()
            .find(|(from, to)| source.takes(from) != source.takes(to))
            .map(|(from, to)| (from.clone(), to.clone()))
        else {
            continue;
        };
        let message = format!(
            "this GitRepository of Flux takes only the folders of its `sparseCheckout`: it would take one of {from} and {to} alone, where the file is and where it would move. Name a folder there that holds both, commit that, and run the command again"
        );
        moving.refuse(source.place.clone(), message);
    }
}

/// Whether a line of a `.gitignore` is one that matches something.
fn is_pattern(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && !line.starts_with('#')
}

/// The folder that two paths share.
pub(super) fn around(one: &RepoPath, other: &RepoPath) -> RepoPath {
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
