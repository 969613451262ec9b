//! Moves the clusters of crowded folders into folders of their own: flat folders, and files with several clusters.
//!
//! *Expected flow*: which documents belong to which cluster (`owners`), each file cut between documents where it has to
//! be, what names the files follows them (`kustomizations`), and what applies the folder reaches the new ones
//! (`appliers`), as something in the repository shows (`cover`). Then [`differences`] renders what was rendered before,
//! before and after. *Guarantee*: nothing is guessed: what belongs to no cluster, or to two, is refused with its place,
//! and then there is no plan at all. Each byte of a file is in exactly one file afterwards.
//!
//! A file keeps its name, and moves down only: what applies all of a folder still applies what was in it. What several
//! clusters use stays where it is.
//!
//! Deliberately absent: reading and writing files, and whether they have uncommitted changes.

mod appliers;
mod cover;
mod facts;
mod kustomizations;
mod left_behind;
mod owners;
mod proof;
mod settings_file;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::appliers::Appliers;
use super::choose;
use super::sources::RepositoryAddresses;
use super::survey::Survey;
use super::units::{example, units};
use crate::layout::{discover, is_name};
use crate::settings::RepositorySettings;
use capstan_kustomize::render::is_kustomization;
use capstan_model::file_change::FileChange;
use capstan_model::finding::{FileError, Place, rules};
use capstan_model::tree::{EntryKind, RepoPath, Tree, TreeEntry, is_manifest};
use capstan_yaml::comments::document_parts;
use capstan_yaml::manifest::objects;
use capstan_yaml::{Document, YamlFile, same_meaning};
use owners::{Belonging, Owned, Resident, settle};
use settings_file::taken_for_a_manifest;

pub use self::facts::Moving;
use self::facts::{CLUSTER_API, LeavingCluster, MoveFacts, in_words, own_folder};
pub use proof::differences;
pub use settings_file::settings_in_the_way;

/// Whether what applies a folder takes its subfolders, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppliedBelow {
    /// An object in the repository has to show it.
    Shown,
    /// A person says so.
    Stated,
}

/// Plans the moves. Without any in a repository in which each cluster has its folder.
pub fn plan_moves(tree: &dyn Tree, own: &RepositoryAddresses, applied_below: AppliedBelow) -> Moving {
    let shaped = discover(tree, &RepositorySettings::default());
    let mut survey = Survey::of(tree, &shaped);
    let units = units(&survey, &shaped, &Appliers::of(tree, &survey));
    survey.add_hidden(tree, &shaped);
    let base = choose::base_of(tree, &units);
    let facts = MoveFacts { tree, own, shaped, survey, base, units };
    let mut moving = Moving::default();
    for folder in facts.units.crowded.keys() {
        moving.move_out_of(&facts, folder);
    }
    left_behind::look(&facts, &mut moving);
    kustomizations::follow(&facts, &mut moving);
    appliers::look(&facts, &mut moving);
    if applied_below == AppliedBelow::Shown {
        cover::look(&facts, &mut moving);
    }
    moving.refuse_links(tree);
    moving.refuse_shared_homes();
    moving.refuse_charts(tree);
    moving.refuse_executables(tree);
    if !moving.moves.is_empty() {
        moving.refused.extend(taken_for_a_manifest(tree, &facts.survey, own));
    }
    moving.refuse_obstacles(tree);
    moving.refuse_unread_files(&facts);
    if moving.moves.is_empty() {
        // One of these may hold the clusters that should move.
        moving.refused.extend(facts.survey.unreadable.iter().cloned());
    }
    moving.refused.sort();
    moving.refused.dedup();
    if !moving.refused.is_empty() {
        moving.changes.clear();
    }
    moving
}

/// A file of a crowded folder.
struct Manifested {
    path: RepoPath,
    file: YamlFile,
}

/// What a document of a crowded folder holds.
#[derive(Default)]
struct DocumentObjects {
    /// The objects that say what they are, by their index.
    named: Vec<usize>,
    /// The first one that does not.
    nameless: Option<Place>,
}

/// What becomes of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Destination {
    Stays,
    /// To the cluster of that index.
    Moves(usize),
    /// It says nothing, and goes with the one before it.
    Follows,
}

impl Moving {
    fn refuse(&mut self, place: Place, message: impl Into<String>) {
        self.refused.push(FileError::new(rules::CLUSTER_OUTSIDE, place, message));
    }

    fn move_out_of(&mut self, facts: &MoveFacts<'_>, folder: &RepoPath) {
        let mut files = Vec::new();
        for entry in facts.manifests(folder) {
            if !entry.is_file() {
                self.refuse(Place::whole(entry.path.clone()), not_a_file(entry.kind));
                continue;
            }
            let bytes = match facts.tree.read(entry) {
                Ok(bytes) => bytes,
                Err(unreadable) => {
                    let message = format!(
                        "Capstan cannot read this file, so it cannot tell to which cluster it belongs: {}. Move the clusters of this folder by hand",
                        unreadable.reason
                    );
                    self.refuse(Place::whole(entry.path.clone()), message);
                    continue;
                }
            };
            match YamlFile::read_bytes(&bytes) {
                Ok(file) => files.push(Manifested { path: entry.path.clone(), file }),
                // What is not of Cluster API stays.
                Err(error) if bytes.windows(CLUSTER_API.len()).any(|part| part == CLUSTER_API.as_bytes()) => {
                    let place = Place::maybe_at(entry.path.clone(), Some(error.position));
                    let message = format!(
                        "this file mentions a cluster, but Capstan cannot read it: {}",
                        error.message
                    );
                    self.refuse(place, message);
                }
                Err(_) => {}
            }
        }
        let roots: BTreeSet<Place> = facts.units.crowded.get(folder).into_iter().flatten().cloned().collect();
        let mut all: Vec<Owned<'_>> = Vec::new();
        let mut documents: Vec<Vec<DocumentObjects>> = Vec::new();
        for Manifested { path, file } in &files {
            let mut of_file = Vec::new();
            for document in file.documents() {
                let mut found = DocumentObjects::default();
                for (_, node) in objects(&document.root) {
                    let place = Place::at(path.clone(), file.position(node.span.start));
                    if let Some(object) = Owned::of(node, place.clone()) {
                        found.named.push(all.len());
                        all.push(object);
                    } else if !node.is_null() {
                        found.nameless.get_or_insert(place);
                    }
                }
                of_file.push(found);
            }
            documents.push(of_file);
        }
        let residents: BTreeSet<Resident> =
            all.iter().filter(|object| roots.contains(&object.place)).map(Owned::resident).collect();
        let residents: Vec<Resident> = residents.into_iter().collect();
        if let Some(reason) = unfit(&residents) {
            let place = roots.first().cloned().unwrap_or_else(|| Place::whole(folder.clone()));
            self.refuse(place, reason);
            return;
        }
        for unclear in settle(&mut all, &residents, &roots) {
            self.refuse(unclear.place, unclear.message);
        }
        let homes: Vec<RepoPath> =
            residents.iter().filter_map(|resident| facts.home(folder, &resident.name)).collect();
        let mut own: BTreeSet<(&RepoPath, usize)> = BTreeSet::new();
        for (Manifested { path, file }, of_file) in files.iter().zip(&documents) {
            let turns: Vec<Destination> =
                of_file.iter().map(|found| self.turn(&all, found, &residents)).collect();
            let mut distinct = turns.iter().filter(|turn| **turn != Destination::Follows);
            if let Some(Destination::Moves(at)) = distinct.next()
                && distinct.all(|turn| *turn == Destination::Moves(*at))
            {
                own.insert((path, *at));
            }
            self.cut(folder, path, file, &turns, &homes);
        }
        for (at, Resident { name, .. }) in residents.iter().enumerate() {
            let is_own = |entry: &TreeEntry| own.contains(&(&entry.path, at));
            if let Some(home) = own_folder(folder, name) {
                self.refuse_arrival(facts, &home, name, is_own);
            }
        }
        for root in all.iter().filter(|object| roots.contains(&object.place)) {
            let Resident { name, namespace } = root.resident();
            let Some(home) = own_folder(folder, &name) else { continue };
            let cluster = LeavingCluster { name, namespace, names: root.names(), from: folder.clone(), home };
            self.leaving.push(cluster);
        }
        self.clusters.extend(homes);
        self.rendered.insert(folder.clone());
    }

    /// What becomes of a document with these objects.
    fn turn(&mut self, all: &[Owned<'_>], found: &DocumentObjects, residents: &[Resident]) -> Destination {
        let objects: Vec<&Owned<'_>> = found.named.iter().filter_map(|at| all.get(*at)).collect();
        let Some(first) = objects.first() else {
            return if found.nameless.is_some() { Destination::Stays } else { Destination::Follows };
        };
        if let Some(place) = &found.nameless {
            self.refuse(
                place.clone(),
                "this object of a list has no name, so Capstan cannot tell whose it is: write it as a document of its own, after a line `---`",
            );
            return Destination::Stays;
        }
        let turns: BTreeSet<Destination> = objects.iter().map(|object| turn_of(object)).collect();
        let mut turns = turns.into_iter();
        match (turns.next(), turns.next()) {
            (Some(Destination::Stays), None) => {
                for object in &objects {
                    if let Some(why) = why_it_stays(object, residents) {
                        self.kept.push((object.place.clone(), why));
                    }
                }
                Destination::Stays
            }
            (Some(turn), None) => turn,
            _ => {
                self.refuse(
                    first.place.clone(),
                    "this list has objects of several clusters, or also of none: write each object as a document of its own, after a line `---`",
                );
                Destination::Stays
            }
        }
    }

    /// Puts the documents of a file where they belong.
    fn cut(
        &mut self,
        folder: &RepoPath,
        path: &RepoPath,
        file: &YamlFile,
        turns: &[Destination],
        homes: &[RepoPath],
    ) {
        let below = path.below(folder).unwrap_or_default();
        let target = |turn: Destination| match turn {
            Destination::Moves(at) => {
                let home = homes.get(at)?;
                // What is in the cluster's folder already stays there.
                if path.is_in(home) { Some(path.clone()) } else { home.join(below).ok() }
            }
            Destination::Stays | Destination::Follows => Some(path.clone()),
        };
        let targets: Vec<RepoPath> = followed(turns).into_iter().filter_map(target).collect();
        let distinct: BTreeSet<RepoPath> = targets.iter().cloned().collect();
        if distinct.iter().all(|target| target == path) {
            return;
        }
        let pieces = match pieces(file, &targets) {
            Ok(pieces) => pieces,
            Err((at, why)) => {
                self.refuse(Place::at(path.clone(), file.position(at)), why);
                return;
            }
        };
        for target in &distinct {
            let before = (target == path).then(|| file.text().to_owned());
            self.changes.push(FileChange {
                path: target.clone(),
                before,
                after: pieces.get(target).cloned(),
            });
        }
        if !distinct.contains(path) {
            let before = Some(file.text().to_owned());
            self.changes.push(FileChange { path: path.clone(), before, after: None });
        }
        self.moves.insert(path.clone(), distinct);
    }

    /// What applies the folder that a cluster gets applies the cluster too.
    fn refuse_arrival(
        &mut self,
        facts: &MoveFacts<'_>,
        home: &RepoPath,
        name: &str,
        is_own: impl Fn(&TreeEntry) -> bool,
    ) {
        let counts = |entry: &&TreeEntry| {
            is_manifest(&entry.path) || is_kustomization(&entry.path) || !entry.is_file()
        };
        let mut there = facts.tree.entries_in(home).iter().filter(counts);
        if let Some(entry) = there.find(|entry| !is_own(entry)) {
            let message = format!(
                "this is in the folder that `{name}` would get, and what applies it would apply the cluster too: move or remove it first"
            );
            self.refuse(Place::whole(entry.path.clone()), message);
        }
        if let Ok(own) = RepoPath::parse(name)
            && let Some(part) = example(&own)
        {
            let message = format!(
                "Capstan treats what is below a folder `{part}` as an example, unless something here applies it, so it would not find the cluster `{name}` there: move this cluster by hand, and add its folder to `clusters.paths`"
            );
            self.refuse(Place::whole(home.clone()), message);
        }
    }

    /// Two clusters of one name, of the root and of `clusters`.
    fn refuse_shared_homes(&mut self) {
        let mut homes = BTreeSet::new();
        let twice = self.clusters.iter().find(|home| !homes.insert(*home)).cloned();
        if let Some(home) = twice {
            let message =
                "two clusters would get this folder, and a cluster is a folder: move one of them by hand";
            self.refuse(Place::whole(home), message);
        }
    }

    /// A chart may read its files by their paths.
    fn refuse_charts(&mut self, tree: &dyn Tree) {
        let chart_of = |path: &RepoPath| {
            std::iter::successors(path.parent(), RepoPath::parent)
                .find(|folder| folder.join("Chart.yaml").is_ok_and(|file| tree.entry(&file).is_some()))
        };
        let in_charts = self.moves.keys().filter_map(|path| Some((path.clone(), chart_of(path)?)));
        for (path, chart) in in_charts.collect::<Vec<_>>() {
            let message = format!(
                "this file is in the Helm chart of {}, which may read it by its path: move the clusters by hand",
                in_words(&chart)
            );
            self.refuse(Place::whole(path), message);
        }
    }

    /// A new file is an ordinary one.
    fn refuse_executables(&mut self, tree: &dyn Tree) {
        let is_one =
            |path: &&RepoPath| tree.entry(path).is_some_and(|entry| entry.kind == EntryKind::Executable);
        for path in self.moves.keys().filter(is_one).cloned().collect::<Vec<_>>() {
            let message = "this file is executable, and the new one would not be: a manifest need not be (`git update-index --chmod=-x`), or move the clusters by hand";
            self.refuse(Place::whole(path), message);
        }
    }

    /// A link to a file that moves would lead nowhere, or to another file.
    fn refuse_links(&mut self, tree: &dyn Tree) {
        if self.moves.is_empty() {
            return;
        }
        for entry in tree.entries().iter().filter(|entry| entry.kind == EntryKind::Symlink) {
            let target: Option<Arc<[u8]>> = tree.read(entry).ok();
            let target = target.as_deref().and_then(|bytes| std::str::from_utf8(bytes).ok());
            let folder = entry.path.parent().unwrap_or_default();
            let Some(target) = target.and_then(|target| folder.join(target).ok()) else { continue };
            let touches = |path: &RepoPath| *path == target || path.is_in(&target);
            let message = if self.moves.contains_key(&target) {
                format!(
                    "this is a symbolic link to {target}, which would move: replace the link by what needs the file, or remove it"
                )
            } else if self.changes.iter().any(|change| touches(&change.path)) {
                let words = if target.is_root() { "the repository" } else { target.as_str() };
                format!(
                    "this is a symbolic link to {words}, where files would move or change, and Capstan does not look at what uses the link: replace the link by what needs the files, or remove it"
                )
            } else {
                continue;
            };
            self.refuse(Place::whole(entry.path.clone()), message);
        }
    }

    /// Something that was not read may apply or build what moves.
    fn refuse_unread_files(&mut self, facts: &MoveFacts<'_>) {
        if self.moves.is_empty() {
            return;
        }
        self.refused.extend(facts.survey.unfinished.iter().chain(&facts.survey.unseen).cloned());
        for (path, text) in &facts.survey.broken_kustomizations {
            if self.moves.keys().any(|moved| text.contains(moved.name())) {
                let message = "Capstan cannot read this kustomization, which mentions a file that would move: correct it, and run the command again";
                self.refuse(Place::whole(path.clone()), message);
            }
        }
        let unnamed = facts.tree.entries().iter().filter(|entry| entry.kind == EntryKind::Unnamed);
        for entry in unnamed {
            let message = "Capstan cannot read what has this name, since it is not UTF-8 or holds a backslash, so it cannot tell whether it applies or builds what would move: rename it, and run the command again";
            self.refuse(Place::whole(entry.path.clone()), message);
        }
        let links =
            facts.tree.entries().iter().filter(|entry| is_kustomization(&entry.path) && !entry.is_file());
        for entry in links {
            let message = "this kustomization is a symbolic link or cannot be read, so Capstan cannot tell whether it builds what would move: replace it by the file that it leads to";
            self.refuse(Place::whole(entry.path.clone()), message);
        }
    }

    /// What is there already is never overwritten.
    fn refuse_obstacles(&mut self, tree: &dyn Tree) {
        let mut found: BTreeSet<RepoPath> = BTreeSet::new();
        let mut made: BTreeSet<&RepoPath> = BTreeSet::new();
        for change in self.changes.iter().filter(|change| change.before.is_none()) {
            let above = std::iter::successors(change.path.parent(), RepoPath::parent);
            let is_there = tree.entry(&change.path).is_some() || !tree.entries_in(&change.path).is_empty();
            found.extend((is_there || !made.insert(&change.path)).then(|| change.path.clone()));
            found.extend(above.filter(|folder| tree.entry(folder).is_some()));
        }
        for path in found {
            let message = "this is where Capstan would put a file of a cluster, and it never overwrites anything: rename or remove it";
            self.refuse(Place::whole(path), message);
        }
    }
}

const fn not_a_file(kind: EntryKind) -> &'static str {
    match kind {
        EntryKind::Symlink => {
            "this is a symbolic link, which Capstan does not follow: replace it by the file that it leads to"
        }
        _ => "this cannot be read as a file of this repository: move the clusters of this folder by hand",
    }
}

/// Why clusters of these names cannot have folders of their own.
fn unfit(residents: &[Resident]) -> Option<String> {
    let mut names = BTreeSet::new();
    for Resident { name, .. } in residents {
        if !is_name(name) || name.contains('/') || RepoPath::parse(name).is_err() {
            return Some(format!("`{name}` cannot be the name of a folder: move this cluster by hand"));
        }
        if !names.insert(name) {
            return Some(format!(
                "two clusters of this folder are called `{name}`, in different namespaces, and would get the same folder: move one of them by hand"
            ));
        }
    }
    None
}

fn turn_of(object: &Owned<'_>) -> Destination {
    let mut owners = object.owners.iter();
    match (owners.next(), owners.next()) {
        (Some(Belonging::Resident(at)), None) => Destination::Moves(*at),
        _ => Destination::Stays,
    }
}

/// Why an object that clusters use stays in its place; `None` for an object that no cluster uses.
fn why_it_stays(object: &Owned<'_>, residents: &[Resident]) -> Option<String> {
    let users: Vec<String> = object
        .owners
        .iter()
        .filter_map(|owner| match owner {
            Belonging::Resident(at) => residents.get(*at).map(|resident| format!("`{}`", resident.name)),
            Belonging::Everybody => None,
        })
        .collect();
    let words = &object.words;
    match (object.owners.contains(&Belonging::Everybody), users.as_slice()) {
        (true, _) => Some(format!("{words}, which any cluster may use")),
        (false, []) => None,
        (false, users) => Some(format!("{words}, which {} use", users.join(" and "))),
    }
}

/// Each document with what becomes of it: what says nothing goes with the one before it, at the beginning with the next.
fn followed(turns: &[Destination]) -> Vec<Destination> {
    let first =
        turns.iter().copied().find(|turn| *turn != Destination::Follows).unwrap_or(Destination::Stays);
    let mut last = first;
    let follow = |turn: &Destination| {
        if *turn != Destination::Follows {
            last = *turn;
        }
        last
    };
    turns.iter().map(follow).collect()
}

/// The text that each target gets of a file, whose documents go to these; else the byte that is in the way, and why.
fn pieces(file: &YamlFile, targets: &[RepoPath]) -> Result<BTreeMap<RepoPath, String>, (usize, String)> {
    let mut texts: BTreeMap<RepoPath, String> = BTreeMap::new();
    for (span, target) in document_parts(file).into_iter().zip(targets) {
        texts.entry(target.clone()).or_default().push_str(file.text().get(span).unwrap_or_default());
    }
    if texts.len() < 2 {
        return Ok(texts);
    }
    if let Some(sealed) = file.documents().iter().find_map(|document| document.root.entry("sops")) {
        let why = "this file was encrypted by sops, and its seal breaks when it is cut: put each cluster's documents into a file of their own with sops";
        return Err((sealed.key_span.start, why.to_owned()));
    }
    for (target, text) in &texts {
        let of_target: Vec<&Document> = file
            .documents()
            .iter()
            .zip(targets)
            .filter(|(_, other)| *other == target)
            .map(|(document, _)| document)
            .collect();
        let start = of_target.first().map_or(0, |document| document.root.span.start);
        let piece = YamlFile::read(text).map_err(|error| {
            let why = format!(
                "the file cannot be cut into its documents, since this one needs something of another: {}. An anchor holds within one document: write out the value of the alias",
                error.message
            );
            (start, why)
        })?;
        let same = piece.documents().len() == of_target.len()
            && piece
                .documents()
                .iter()
                .zip(&of_target)
                .all(|(one, other)| same_meaning(&one.root, &other.root));
        if !same {
            let why = "the file cannot be cut into its documents, since this one would mean something else alone: put each cluster's documents into a file of their own by hand";
            return Err((start, why.to_owned()));
        }
    }
    Ok(texts)
}
