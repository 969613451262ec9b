//! Who applies a folder from this repository.

use std::collections::BTreeMap;

use super::survey::{Applies, Survey, Who, has_wildcards};
use crate::flux::{AppliedExtent, reached};
use crate::settings::Glob;
use capstan_model::tree::{RepoPath, Tree};

/// At most this many objects that apply folders are followed; each reaches at most a thousand folders.
const MOST_FOLLOWED: usize = 500;

/// At most this many different patterns of Argo CD are compared with each cluster's folder.
const MOST_PATTERNS: usize = 1_000;
/// At most this many are reported for one folder.
const MOST_REPORTED: usize = 20;

/// Who applies what.
pub(super) struct Appliers<'s> {
    survey: &'s Survey,
    folders: BTreeMap<RepoPath, Vec<(AppliedExtent, usize)>>,
    /// Patterns as they are written, and who names them.
    patterns: BTreeMap<String, (Glob, Vec<usize>)>,
}

impl<'s> Appliers<'s> {
    pub(super) fn of(tree: &dyn Tree, survey: &'s Survey) -> Self {
        let mut appliers = Self { survey, folders: BTreeMap::new(), patterns: BTreeMap::new() };
        for (at, applies) in survey.applies.iter().enumerate().take(MOST_FOLLOWED) {
            match &applies.who {
                Who::Flux(apply) if apply.from_git => appliers.follow(tree, &apply.path, at),
                Who::Flux(_) => {}
                Who::Argo { paths, .. } => {
                    for path in paths {
                        appliers.follow_argo(tree, path, at);
                    }
                }
            }
        }
        appliers
    }

    fn follow(&mut self, tree: &dyn Tree, path: &RepoPath, at: usize) {
        for (folder, extent) in reached(tree, path) {
            self.folders.entry(folder).or_default().push((extent, at));
        }
    }

    /// A generator's `path` may be a pattern, and a source's `.` is the root.
    fn follow_argo(&mut self, tree: &dyn Tree, path: &str, at: usize) {
        if has_wildcards(path) {
            if let Some((_, known)) = self.patterns.get_mut(path) {
                known.push(at);
            } else if self.patterns.len() < MOST_PATTERNS
                && let Ok(glob) = Glob::parse(path)
            {
                self.patterns.insert(path.to_owned(), (glob, vec![at]));
            }
        } else if let Ok(path) = RepoPath::root().join(path) {
            self.follow(tree, &path, at);
        }
    }

    /// The objects that apply a folder, in the survey's order. These are the objects that name it or something in
    /// it, or else those that apply all of the nearest folder above it. At most `MOST_REPORTED` of them.
    pub(super) fn of_folder(&self, folder: &RepoPath) -> Vec<&'s Applies> {
        let own = self
            .folders
            .range(folder.clone()..)
            .take_while(|(path, _)| path.as_str().starts_with(folder.as_str()));
        let own = own.filter(|(path, _)| *path == folder || path.is_in(folder));
        let mut found: Vec<usize> = own.flat_map(|(_, list)| list.iter().map(|(_, at)| *at)).collect();
        let with_above: Vec<RepoPath> =
            std::iter::successors(Some(folder.clone()), RepoPath::parent).collect();
        let fits = |glob: &Glob| with_above.iter().any(|folder| glob.matches(folder.as_str()));
        let generated = self.patterns.values().filter(|(glob, _)| fits(glob));
        found.extend(generated.flat_map(|(_, list)| list.iter().copied()));
        for ancestor in with_above.iter().skip(1) {
            if !found.is_empty() {
                break;
            }
            let list = self.folders.get(ancestor).map(Vec::as_slice).unwrap_or_default();
            found
                .extend(list.iter().filter(|(extent, _)| *extent == AppliedExtent::Below).map(|(_, at)| *at));
        }
        found.sort_unstable();
        found.dedup();
        let found = found.into_iter().filter_map(|at| self.survey.applies.get(at));
        found.filter(|applies| !excludes(&applies.who, folder)).take(MOST_REPORTED).collect()
    }
}

/// Whether an ApplicationSet leaves a folder out, as its pattern or its name says.
pub(super) fn excludes(who: &Who, folder: &RepoPath) -> bool {
    let Who::Argo { excluded, .. } = who else { return false };
    let fits = |pattern: &String| {
        pattern == folder.as_str() || Glob::parse(pattern).is_ok_and(|glob| glob.matches(folder.as_str()))
    };
    excluded.iter().any(fits)
}
