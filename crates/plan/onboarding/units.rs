//! Which folders are clusters, independently of settings: those whose build brings one `Cluster`.
//!
//! | found | the cluster is |
//! |---|---|
//! | a `Cluster` alone in its folder | that folder; with `base/` for a name, the one above |
//! | a base that several overlays change | each overlay |
//! | a base with `${…}` for a name | what builds it: a kustomization, or the one folder that Flux fills in |
//! | machines of a cluster in a folder beside it | the folder above both |
//!
//! What is found and is not one of these is reported: where it is, and what to do.

use std::collections::{BTreeMap, BTreeSet};

use super::appliers::Appliers;
use super::survey::{ClusterSign, Survey, What, Who, Whole};
use crate::layout::{ClusterName, Layout, TargetFolder};
use capstan_model::finding::{FileError, Place, rules};
use capstan_model::tree::RepoPath;
use capstan_model::wording::{few, list};

/// Parts of a path that mark what is below as an example, unless it is applied.
const EXAMPLES: [&str; 9] =
    ["docs", "e2e", "example", "examples", "samples", "test", "testdata", "tests", "templates"];
/// What such a part may end with as well.
const EXAMPLE_ENDS: [&str; 3] = ["-example", "-examples", "-samples"];
/// The report about a cluster in the repository's root.
const ROOT: &str = "the repository's root cannot be a cluster's folder: move the files of this cluster to a folder, whose path becomes the cluster's id";
/// How many clusters of one folder are reported one by one.
const MOST_REPORTED: usize = 20;

/// Folders of manifests that are clusters, and what was found that cannot be one.
#[derive(Debug, Default)]
pub(super) struct Units {
    /// The folder of the manifests, and by what it is a cluster.
    pub(super) folders: BTreeMap<RepoPath, Place>,
    /// Those of them whose objects are in a base that several build.
    pub(super) shared: BTreeSet<RepoPath>,
    /// Folders with clusters that need folders of their own, and where each of these is written.
    pub(super) crowded: BTreeMap<RepoPath, Vec<Place>>,
    pub(super) left: Vec<FileError>,
}

/// Finds them.
pub(super) fn units(survey: &Survey, shaped: &Layout, appliers: &Appliers<'_>) -> Units {
    let consumers = Consumers::of(survey);
    let mut found = Units::default();
    for (folder, seen) in by_folder(survey, shaped) {
        found.add(survey, shaped, &consumers, appliers, &folder, &seen);
    }
    // A base of a pool alone is a cluster by its shape too.
    let known: BTreeSet<RepoPath> = found.folders.keys().flat_map(above).collect();
    for path in survey.owners.iter().map(|owner| owner.place.file()) {
        let Some(cluster) = shaped.target_around(path).filter(|cluster| path.is_in(&cluster.base)) else {
            continue;
        };
        if !known.contains(cluster.id.folder()) {
            let place = || Place::whole(path.clone());
            found.folders.entry(cluster.base.clone()).or_insert_with(place);
        }
    }
    found.grow(survey);
    found.without_examples(shaped, appliers);
    found.without_nested();
    found
}

/// What is by folder: files in the base of a cluster by its shape belong to that base.
fn by_folder<'s>(survey: &'s Survey, shaped: &Layout) -> BTreeMap<RepoPath, Vec<&'s ClusterSign>> {
    let mut folders: BTreeMap<RepoPath, Vec<&ClusterSign>> = BTreeMap::new();
    for seen in &survey.seen {
        let cluster = shaped.target_around(&seen.path);
        let folder = match cluster {
            Some(cluster) if seen.path.is_in(&cluster.base) => cluster.base.clone(),
            _ => seen.path.parent().unwrap_or_default(),
        };
        folders.entry(folder).or_default().push(seen);
    }
    folders
}

/// Kustomizations by what they take from elsewhere.
struct Consumers<'s> {
    of: BTreeMap<&'s RepoPath, Vec<(&'s RepoPath, bool)>>,
}

impl<'s> Consumers<'s> {
    fn of(survey: &'s Survey) -> Self {
        let mut of: BTreeMap<&RepoPath, Vec<(&RepoPath, bool)>> = BTreeMap::new();
        for (folder, named) in &survey.kustomizations {
            for target in &named.targets {
                of.entry(target).or_default().push((folder, named.changes));
            }
        }
        Self { of }
    }

    /// Those that take a folder, or files in it, and are not above it: `true` for those that change it.
    fn beside(&self, folder: &RepoPath, files: &[&RepoPath]) -> BTreeMap<&'s RepoPath, bool> {
        let targets = files.iter().copied().chain([folder]);
        let all = targets.filter_map(|target| self.of.get(target)).flatten();
        let beside = all.filter(|(taker, _)| *taker != folder && !folder.is_in(taker) && !taker.is_root());
        beside.map(|(taker, changes)| (*taker, *changes)).collect()
    }

    /// The last in the chain of those that change what they take.
    fn ends(&self, takers: Vec<&'s RepoPath>) -> BTreeSet<RepoPath> {
        let mut known: BTreeSet<&RepoPath> = BTreeSet::new();
        let mut ends = BTreeSet::new();
        let mut open = takers;
        while let Some(folder) = open.pop() {
            if !known.insert(folder) {
                continue;
            }
            let next = self.beside(folder, &[]);
            let next: Vec<&RepoPath> =
                next.into_iter().filter(|(_, changes)| *changes).map(|(taker, _)| taker).collect();
            if next.is_empty() {
                ends.insert(folder.clone());
            }
            open.extend(next);
        }
        ends
    }
}

impl Units {
    fn add(
        &mut self,
        survey: &Survey,
        shaped: &Layout,
        consumers: &Consumers<'_>,
        appliers: &Appliers<'_>,
        folder: &RepoPath,
        seen: &[&ClusterSign],
    ) {
        let Some(first) = seen.first() else { return };
        let files: Vec<&RepoPath> = seen.iter().map(|seen| &seen.path).collect();
        let takers = consumers.beside(folder, &files);
        let is_overlay = |taker: &&RepoPath| {
            shaped
                .target(folder.parent().unwrap_or_default().as_str())
                .is_some_and(|cluster| cluster.overlay == **taker)
        };
        let changing: Vec<&RepoPath> = takers
            .iter()
            .filter(|(_, changes)| **changes)
            .map(|(taker, _)| *taker)
            .filter(|taker| !is_overlay(taker))
            .collect();
        if seen.iter().any(|seen| seen.whole == Whole::Yes) {
            if changing.len() > 1 {
                self.take_shared(consumers.ends(changing), first);
            } else {
                self.add_whole(survey, shaped, consumers, folder, seen);
            }
            return;
        }
        let takers: Vec<&RepoPath> = takers.into_keys().collect();
        if !takers.is_empty() {
            // An overlay that is not applied is a template itself, if another overlay of the base is applied.
            let ends = consumers.ends(takers);
            let applied = |end: &&RepoPath| !appliers.of_folder(end).is_empty();
            let used: BTreeSet<RepoPath> = ends.iter().filter(applied).cloned().collect();
            self.take_shared(if used.is_empty() { ends } else { used }, first);
            return;
        }
        let takes_more = survey.kustomizations.get(folder).is_some_and(|named| {
            named.targets.iter().any(|target| target != folder && !target.is_in(folder))
        });
        let filled_in = substituting(survey, folder);
        match filled_in.as_slice() {
            // Nothing fills it in: a template.
            [] if !takes_more => self.tell_template(shaped, folder, first),
            [] | [_] if folder.is_root() => self.tell(first.place.clone(), ROOT.to_owned()),
            [] | [_] => self.take([folder.clone()], first),
            several => {
                let names = list(&few(several.iter().map(|name| format!("`{name}`")), 3, "more"));
                self.tell(first.place.clone(), format!(
                    "this folder becomes several clusters: {names} each give its variables values. A cluster is a folder: give each its own folder, with a kustomization that builds this one"
                ));
            }
        }
    }

    fn add_whole(
        &mut self,
        survey: &Survey,
        shaped: &Layout,
        consumers: &Consumers<'_>,
        folder: &RepoPath,
        seen: &[&ClusterSign],
    ) {
        let whole: Vec<&&ClusterSign> = seen.iter().filter(|seen| seen.whole == Whole::Yes).collect();
        let Some(first) = whole.first() else { return };
        let is_shaped = by_shape(shaped, folder).is_some();
        if folder.is_root() {
            for seen in whole.iter().take(MOST_REPORTED) {
                self.tell(seen.place.clone(), ROOT.to_owned());
            }
            self.crowd(folder, &whole);
            return;
        }
        if let Some(named) = survey.kustomizations.get(folder).filter(|_| !is_shaped) {
            let is_named = |seen: &&&&ClusterSign| named.targets.contains(&seen.path);
            let by_others = |seen: &&&&ClusterSign| consumers.of.contains_key(&seen.path);
            let unnamed = whole.iter().find(|seen| !is_named(seen) && !by_others(seen));
            if let Some(seen) = unnamed {
                self.tell(
                    seen.place.clone(),
                    format!("the kustomization of {folder} does not name this file, so nothing builds it: name it there, or move it"),
                );
                if !whole.iter().any(|seen| is_named(&seen)) {
                    return;
                }
            }
        }
        let most_telling = whole.iter().map(|seen| seen.what).min().unwrap_or(What::Cluster);
        let named = whole.iter().filter(|seen| seen.what == most_telling).map(|seen| (&seen.name, ()));
        let named = ClusterName::distinct(&named.collect::<Vec<_>>());
        if named.len() > 1 && most_telling != What::Values && !is_shaped {
            let is_shared = |name: &str| named.iter().filter(|(other, ())| other.name == name).count() > 1;
            let told = whole.iter().filter(|seen| seen.what == most_telling).take(MOST_REPORTED);
            for seen in told {
                self.tell(
                    seen.place.clone(),
                    format!(
                        "`{folder}` has {} clusters, but a cluster is a folder: move the files of `{}` to {}",
                        named.len(),
                        seen.name.shown(is_shared(&seen.name.name)),
                        own_folder(folder, &seen.name.folder(is_shared(&seen.name.name)))
                    ),
                );
            }
            self.crowd(folder, &whole);
            return;
        }
        self.take([folder.clone()], first);
    }

    fn crowd(&mut self, folder: &RepoPath, seen: &[&&ClusterSign]) {
        let most_telling = seen.iter().map(|seen| seen.what).min();
        let places =
            seen.iter().filter(|seen| Some(seen.what) == most_telling).map(|seen| seen.place.clone());
        self.crowded.insert(folder.clone(), places.collect());
    }

    fn take(&mut self, folders: impl IntoIterator<Item = RepoPath>, by: &ClusterSign) {
        for folder in folders {
            self.folders.entry(folder).or_insert_with(|| by.place.clone());
        }
    }

    /// The objects that Giant Swarm's clusters are made from may be anywhere: their release is named in their own
    /// folder.
    fn take_shared(&mut self, folders: BTreeSet<RepoPath>, by: &ClusterSign) {
        if by.what == What::Cluster {
            self.shared.extend(folders.iter().cloned());
        }
        self.take(folders, by);
    }

    /// A template that is not filled in here is not a cluster. If it has the shape of one, it is reported, because
    /// Flux may fill it in from another repository.
    fn tell_template(&mut self, shaped: &Layout, folder: &RepoPath, first: &ClusterSign) {
        let Some(cluster) = by_shape(shaped, folder).filter(|_| example(folder).is_none()) else { return };
        self.tell(first.place.clone(), format!(
            "its name is a variable without a value in this repository, so Capstan treats it as a template. If Flux substitutes it from another repository, add {} to `clusters.paths`",
            cluster.id
        ));
    }

    fn tell(&mut self, place: Place, message: String) {
        self.left.push(FileError::new(rules::CLUSTER_OUTSIDE, place, message));
    }

    /// If a cluster's machines are in a folder beside its own, the folder above both becomes the cluster's. It does
    /// not if it also holds another cluster, or an object that applies folders.
    fn grow(&mut self, survey: &Survey) {
        let seen = survey.seen.iter().filter(|seen| seen.what == What::Cluster && seen.whole == Whole::Yes);
        let homes: BTreeMap<&str, RepoPath> =
            seen.map(|seen| (seen.name.name.as_str(), seen.path.parent().unwrap_or_default())).collect();
        let mut wider: BTreeMap<&RepoPath, RepoPath> = BTreeMap::new();
        for owner in &survey.owners {
            let Some(home) = owner.cluster.as_deref().and_then(|name| homes.get(name)) else { continue };
            if !self.folders.contains_key(home) || owner.place.file().is_in(home) {
                continue;
            }
            // Two levels are a folder for each kind; more is another place.
            let Some(common) =
                above(home).take(2).find(|folder| !folder.is_root() && owner.place.file().is_in(folder))
            else {
                continue;
            };
            let widest = wider.entry(home).or_insert_with(|| common.clone());
            if widest.is_in(&common) {
                *widest = common;
            }
        }
        let mut held: BTreeMap<RepoPath, usize> = BTreeMap::new();
        let appliers = survey.applies.iter().map(|applies| applies.place.file());
        for path in survey.seen.iter().map(|seen| &seen.path).chain(appliers) {
            for folder in above(path) {
                *held.entry(folder).or_default() += 1;
            }
        }
        for (home, common) in wider {
            // As many as in its own folder: there is nothing else.
            if held.get(home) == held.get(&common)
                && let Some(place) = self.folders.remove(home)
            {
                self.folders.insert(common, place);
            }
        }
    }

    /// Examples and tests are not clusters, unless Flux or Argo CD applies them.
    fn without_examples(&mut self, shaped: &Layout, appliers: &Appliers<'_>) {
        let mut told = Vec::new();
        self.folders.retain(|folder, place| {
            let Some(part) = example(folder).filter(|_| appliers.of_folder(folder).is_empty()) else { return true };
            let cluster = by_shape(shaped, folder).map_or(folder, |cluster| cluster.id.folder());
            told.push((
                place.clone(),
                format!(
                    "it is below `{part}`, and neither Flux nor Argo CD applies it from here, so Capstan treats it as an example. If it is a cluster, add {cluster} to `clusters.paths`"
                ),
            ));
            false
        });
        for (place, message) in told {
            self.tell(place, message);
        }
        // Nobody asked for other examples.
        self.crowded.retain(|folder, _| example(folder).is_none() || !appliers.of_folder(folder).is_empty());
    }

    /// A cluster never contains another: the inner ones are taken, since there is at least one of them.
    fn without_nested(&mut self) {
        let above: BTreeSet<RepoPath> = self.folders.keys().flat_map(above).collect();
        let outer: Vec<RepoPath> =
            self.folders.keys().filter(|folder| above.contains(*folder)).cloned().collect();
        for folder in outer {
            let Some(place) = self.folders.remove(&folder) else { continue };
            if place.file().parent().as_ref() == Some(&folder) {
                self.crowded.insert(folder.clone(), vec![place.clone()]);
            }
            self.tell(
                place,
                format!(
                    "{folder} has this cluster and the folders of others, but a cluster never contains another: move its manifests to a folder of their own"
                ),
            );
        }
    }
}

/// The folders around a folder.
fn above(folder: &RepoPath) -> impl Iterator<Item = RepoPath> + use<> {
    std::iter::successors(folder.parent(), RepoPath::parent)
}

/// The part of a path that says that what is below is an example.
pub(super) fn example(folder: &RepoPath) -> Option<&str> {
    let is_one = |part: &&str| EXAMPLES.contains(part) || EXAMPLE_ENDS.iter().any(|end| part.ends_with(end));
    folder.parts().find(is_one)
}

/// The cluster by its shape that a folder is the base of.
fn by_shape<'l>(shaped: &'l Layout, folder: &RepoPath) -> Option<&'l TargetFolder> {
    above(folder).find_map(|above| shaped.target(above.as_str()).filter(|cluster| cluster.base == *folder))
}

/// Who gives a folder's variables values.
fn substituting(survey: &Survey, folder: &RepoPath) -> Vec<String> {
    let names = survey.applies.iter().filter(|applies| applies.substitutes).filter_map(|applies| {
        match &applies.who {
            Who::Flux(apply) if apply.path == *folder => Some(apply.name.clone()),
            _ => None,
        }
    });
    names.collect()
}

fn own_folder(folder: &RepoPath, name: &str) -> String {
    // A name is a part of a path for Kubernetes' own rules, and else nothing is proposed.
    folder.join(name).map_or_else(|_| "a folder of its own".to_owned(), |own| format!("{own}/"))
}
