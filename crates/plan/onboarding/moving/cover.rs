//! Whether an object that was seen applies what moves down.
//!
//! The objects that apply a folder may be in a chart, in another repository or in a cluster alone. What moves down is
//! deleted if they do not take subfolders. A folder with files that move therefore needs a proof: a kustomization of its
//! own that names them, or an object of Flux or Argo CD that takes all that is below it.

use std::collections::{BTreeMap, BTreeSet};

use super::appliers::around;
use super::facts::{MoveFacts, Moving, in_words};
use super::proof::kustomization_of;
use crate::onboarding::sources::{GitSource, Origin};
use crate::onboarding::survey::{Applies, Depth, FolderReading, Who, has_wildcards};
use capstan_kustomize::render::INCLUDE_FIELDS;
use capstan_model::finding::Place;
use capstan_model::tree::{RepoPath, Tree};
use capstan_yaml::YamlFile;

/// Fields of a kustomization that change no `spec` of what applies folders.
const KEEPS_SPECS: [&str; 15] = [
    "apiVersion",
    "kind",
    "metadata",
    "sortOptions",
    "namespace",
    "namePrefix",
    "nameSuffix",
    "labels",
    "commonLabels",
    "commonAnnotations",
    "images",
    "configMapGenerator",
    "secretGenerator",
    "generatorOptions",
    "buildMetadata",
];

/// Refuses the folders of which nothing shows that what applies them takes what is below.
pub(super) fn look(facts: &MoveFacts<'_>, moving: &mut Moving) {
    let cover = Cover::of(facts);
    let mut open: BTreeMap<RepoPath, RepoPath> = BTreeMap::new();
    for (from, targets) in &moving.moves {
        for to in targets.iter().filter(|to| *to != from) {
            let folder = around(from, to);
            if !cover.takes_below(&folder) && !cover.is_built(from) {
                open.entry(folder).or_insert_with(|| from.clone());
            }
        }
    }
    for (folder, file) in open {
        if let Some(source) = cover.sparse_source(&folder) {
            let message = format!(
                "the GitRepository at {} takes only the folders of its `sparseCheckout`, which does not name {}, so nothing shows that Flux applies the clusters that move down: add the folder there, commit that, and run the command again. If you know that all that applies it takes its subfolders, run `capstan init --write --move --applied-below`",
                source.place,
                in_words(&folder)
            );
            moving.refuse(Place::whole(file), message);
            continue;
        }
        let message = format!(
            "nothing in this repository shows that what applies {} takes its subfolders, too, and if it does not, it deletes the clusters that move down: commit the Flux Kustomization of this folder and its GitRepository, or its Argo CD Application with `directory: {{recurse: true}}`, first. The URL of its source must be a remote of this checkout (`git remote -v`). If you know that all that applies it takes its subfolders, run `capstan init --write --move --applied-below`",
            in_words(&folder)
        );
        moving.refuse(Place::whole(file), message);
    }
}

/// The objects that apply folders and are what they seem.
struct Cover<'f> {
    facts: &'f MoveFacts<'f>,
    applies: Vec<&'f Applies>,
}

impl<'f> Cover<'f> {
    fn of(facts: &'f MoveFacts<'f>) -> Self {
        let patched = patched(facts);
        let is_sure = |applies: &&Applies| {
            let file = applies.place.file();
            let all = &facts.survey.applies;
            // What applies a folder of that name out of another repository says nothing of this one.
            let is_own = facts.survey.origin(applies, facts.own) == Origin::This;
            is_own
                && !applies.is_suspended
                && !patched.contains(file)
                && !all.iter().any(|other| other.patches && reaches(&other.who, file))
        };
        Self { facts, applies: facts.survey.applies.iter().filter(is_sure).collect() }
    }

    /// Whether something takes all that is below a folder.
    fn takes_below(&self, folder: &RepoPath) -> bool {
        self.applies.iter().any(|applies| match &applies.who {
            Who::Flux(apply) if apply.from_git => {
                // Flux builds a kustomization instead of what is below it.
                self.is_plain_between(folder, &apply.path)
                    && self.facts.survey.takes(applies, folder)
                    && kustomization_of(self.facts.tree, folder).is_none()
            }
            Who::Flux(_) => false,
            Who::Argo { depth, .. } => {
                let is_around = |path: &RepoPath| path == folder || folder.is_in(path);
                *depth == Depth::Below && application_paths(&applies.who).iter().any(is_around)
            }
        })
    }

    /// The source that leaves a folder out, of an object of Flux that would take all that is below it.
    fn sparse_source(&self, folder: &RepoPath) -> Option<&'f GitSource> {
        let all = self.applies.iter().filter(|applies| {
            matches!(&applies.who, Who::Flux(apply) if apply.from_git && self.is_plain_between(folder, &apply.path))
        });
        let sources = all.flat_map(|applies| applies.source.objects(&self.facts.survey.git_sources));
        sources.into_iter().find(|source| !source.takes(folder))
    }

    /// Whether a kustomization names a file, and either is in its folder or applied itself.
    fn is_built(&self, file: &RepoPath) -> bool {
        let names = self.takers(file);
        names.into_iter().any(|taker| {
            Some(taker) == file.parent().as_ref() || self.is_applied(taker, &mut BTreeSet::new())
        })
    }

    fn takers(&self, target: &RepoPath) -> Vec<&'f RepoPath> {
        let all = self.facts.survey.kustomizations.iter();
        all.filter(|(_, named)| named.targets.contains(target)).map(|(folder, _)| folder).collect()
    }

    /// Whether something builds the kustomization of a folder.
    fn is_applied(&self, folder: &RepoPath, known: &mut BTreeSet<RepoPath>) -> bool {
        if !known.insert(folder.clone()) {
            return false;
        }
        let is_named = self.applies.iter().any(|applies| match &applies.who {
            Who::Flux(apply) => {
                apply.from_git
                    && self.is_plain_between(folder, &apply.path)
                    && self.facts.survey.takes(applies, folder)
            }
            Who::Argo { reading, .. } => {
                *reading == FolderReading::Kustomized && application_paths(&applies.who).contains(folder)
            }
        });
        is_named || self.takers(folder).into_iter().any(|taker| self.is_applied(taker, known))
    }

    /// Whether a folder is another or in it, without a kustomization above the folder on the way.
    fn is_plain_between(&self, folder: &RepoPath, top: &RepoPath) -> bool {
        folder == top
            || folder.is_in(top)
                && std::iter::successors(folder.parent(), RepoPath::parent)
                    .take_while(|above| above == top || above.is_in(top))
                    .all(|above| kustomization_of(self.facts.tree, &above).is_none())
    }
}

/// Whether an object may apply a file.
fn reaches(who: &Who, file: &RepoPath) -> bool {
    match who {
        Who::Flux(apply) => apply.from_git && file.is_in(&apply.path),
        Who::Argo { paths, guessed, .. } => {
            let is_around = |path: &String| {
                has_wildcards(path) || RepoPath::root().join(path).is_ok_and(|path| file.is_in(&path))
            };
            !guessed.is_empty() || paths.iter().any(is_around)
        }
    }
}

/// The folders that an Application names. What an ApplicationSet makes depends on more than is seen here.
fn application_paths(who: &Who) -> BTreeSet<RepoPath> {
    match who {
        Who::Argo { kind, paths, guessed, .. } if kind == "Application" && guessed.is_empty() => {
            paths.iter().filter_map(|path| RepoPath::root().join(path).ok()).collect()
        }
        _ => BTreeSet::new(),
    }
}

/// The files that a kustomization takes and may give another `spec`.
fn patched(facts: &MoveFacts<'_>) -> BTreeSet<RepoPath> {
    let all = &facts.survey.kustomizations;
    let changing = all.iter().filter(|(folder, _)| changes_specs(facts.tree, folder));
    let mut open: Vec<&RepoPath> = changing.flat_map(|(_, named)| &named.targets).collect();
    let mut found = BTreeSet::new();
    while let Some(target) = open.pop() {
        if found.insert(target.clone()) {
            open.extend(all.get(target).into_iter().flat_map(|named| &named.targets));
        }
    }
    found
}

fn changes_specs(tree: &dyn Tree, folder: &RepoPath) -> bool {
    let path = kustomization_of(tree, folder);
    let bytes = path.and_then(|path| tree.entry(&path)).and_then(|entry| tree.read(entry).ok());
    let Some(Ok(file)) = bytes.map(|bytes| YamlFile::read_bytes(&bytes)) else { return true };
    let keeps = |key: &str| {
        let lists = INCLUDE_FIELDS.iter().filter(|list| !list.eq_ignore_ascii_case("components"));
        lists.chain(&KEEPS_SPECS).any(|known| known.eq_ignore_ascii_case(key))
    };
    let mut entries =
        file.documents().iter().flat_map(|document| document.root.as_mapping().unwrap_or_default());
    entries.any(|entry| !keeps(&entry.key))
}
