//! Files that kustomizations read besides resources: patches, configurations, contents of generated objects.
//!
//! They are merged as texts: what the cluster has as the old release had it becomes what the new one has, lines that
//! somebody edited elsewhere stay, and where they touch it is a conflict.

use std::collections::{BTreeMap, BTreeSet};

use super::cluster_merge::MergedInput;
use super::cluster_objects::Base;
use super::decision::DecisionKind;
use super::facts::OtherFile;
use super::kustomization::{files_besides, files_of_secrets};
use super::matched::Matched;
use super::piece::Form;
use super::source::Input;
use super::texts::merge_texts;
use crate::substitution::{Bindings, Substitution};
use capstan_model::tree::{BlobId, RepoPath};

/// How the releases change the cluster's own files, and the new release's files that cannot be written because they
/// are not text.
pub(super) fn merge<'a>(
    base: &Base,
    contents: &[OtherFile],
    old: Option<&Matched<'a>>,
    new: &Matched<'a>,
    bindings: &Bindings,
) -> (Vec<MergedInput>, Vec<RepoPath>) {
    let (mut merged, mut unwritable) = (Vec::new(), Vec::new());
    if new.form == Form::Rendered || !base.has_kustomization() {
        return (merged, unwritable);
    }
    let nothing = BTreeMap::new();
    let before = old.map_or(&nothing, |old| &old.source.inputs);
    let after = &new.source.inputs;
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    for below in names {
        let (o, n) = (before.get(below), after.get(below));
        let c = OwnFile::of(base, contents, below);
        let unchanged = o.zip(n).is_some_and(|(o, n)| o.is_same(n));
        let taken = n.is_some_and(|n| c.is_that(n));
        if unchanged || taken {
            continue;
        }
        if [o, n].into_iter().flatten().any(|input| input.text.is_none()) || matches!(c, OwnFile::NoText(_)) {
            unwritable.extend(n.map(|input| input.path.clone()));
            continue;
        }
        let texts = |source: Option<&Input>, matched: Option<&Matched<'a>>| {
            let text = source.and_then(|input| input.text.as_deref());
            let scope = matched.map(|matched| matched.scope(bindings, Substitution::FULL));
            ReleaseText {
                substituted: text.zip(scope).map(|(text, scope)| scope.text(text)),
                written: text.map(str::to_owned),
            }
        };
        let input = three_ways(below, &texts(o, old), c.text(), texts(n, Some(new)));
        let goes = |input: &MergedInput| input.release.is_none() && still_named(base, old, below);
        let is_secret = becomes_secret(base, old.into_iter().chain([new]), below);
        merged.extend(input.filter(|input| !goes(input)).map(|input| MergedInput { is_secret, ..input }));
    }
    (merged, unwritable)
}

/// A release's text, as it is written and with the cluster's values.
struct ReleaseText {
    written: Option<String>,
    substituted: Option<String>,
}

/// What becomes of one file; `None` where there is nothing to do.
fn three_ways(below: &str, old: &ReleaseText, own: Option<&str>, new: ReleaseText) -> Option<MergedInput> {
    let is = |text: &Option<String>| same(text.as_deref(), own);
    if is(&new.written) || is(&new.substituted) {
        return None;
    }
    let as_written = own.is_some() && is(&old.written);
    let has_values = if own.is_some() { is(&old.substituted) } else { old.written.is_none() };
    let release = if as_written { new.written } else { new.substituted };
    // A variable of the new release that has no value never replaces the cluster's text.
    let tokens = |text: &Option<String>| text.as_ref().map_or(0, |text| text.matches("${").count());
    let is_bound = tokens(&release) <= tokens(&old.substituted);
    let is_taken = as_written || has_values && is_bound;
    let sides = [old.substituted.as_deref(), own, release.as_deref()];
    let merged = match sides {
        [Some(old), Some(own), Some(new)] if !is_taken && is_bound => merge_texts(old, own, new),
        _ => None,
    };
    let merged = merged.filter(|merged| merged.disputed.is_empty()).map(|merged| merged.taken);
    let kind = if is_taken || merged.is_some() { DecisionKind::Take } else { DecisionKind::Conflict };
    let release = merged.or(release);
    let (base, cluster) = (old.substituted.clone(), own.map(str::to_owned));
    Some(MergedInput { below: below.to_owned(), kind, base, cluster, release, is_secret: false })
}

impl Input {
    fn is_same(&self, other: &Self) -> bool {
        match (&self.text, &other.text) {
            (Some(one), Some(other)) => one == other,
            _ => self.blob.is_some() && self.blob == other.blob,
        }
    }
}

/// The cluster's file of that name.
enum OwnFile<'b> {
    Absent,
    NoText(&'b BlobId),
    Text(&'b str),
}

impl<'b> OwnFile<'b> {
    fn of(base: &'b Base, contents: &'b [OtherFile], below: &str) -> Self {
        if let Some(file) = base.files.iter().position(|file| file.below == below) {
            return Self::Text(base.text_before(file).text());
        }
        match contents.iter().find(|content| content.below == below) {
            Some(OtherFile { text: Some(text), .. }) => Self::Text(text),
            Some(other) => Self::NoText(&other.blob),
            None => Self::Absent,
        }
    }

    fn is_that(&self, input: &Input) -> bool {
        matches!(self, Self::NoText(blob) if input.blob.as_ref() == Some(blob))
    }

    const fn text(&self) -> Option<&'b str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Absent | Self::NoText(_) => None,
        }
    }
}

/// Line ends are a matter of the checkout.
fn same(one: Option<&str>, other: Option<&str>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one == other || one.lines().eq(other.lines()),
        (None, None) => true,
        _ => false,
    }
}

/// Whether a kustomization of the cluster names a file that the old release's did not name there: then it stays,
/// though the release drops it.
fn still_named(base: &Base, old: Option<&Matched<'_>>, below: &str) -> bool {
    base.kustomizations.clone().any(|at| {
        let file = base.file_of(at);
        let names = |root| leads_to(&file.below, files_besides(root), below);
        let pieces = old.map(|old| old.source.kustomizations.as_slice()).unwrap_or_default();
        let was_named = pieces.iter().any(|piece| piece.file == file.below && names(&piece.root));
        names(base.node(at)) && !was_named
    })
}

/// Whether a kustomization makes a Secret of a file: the cluster's, or one of a release.
fn becomes_secret<'a: 'm, 'm>(
    base: &Base,
    mut releases: impl Iterator<Item = &'m Matched<'a>>,
    below: &str,
) -> bool {
    let mut own = base.kustomizations.clone().map(|at| (&base.file_of(at).below, base.node(at)));
    own.any(|(file, root)| leads_to(file, files_of_secrets(root), below))
        || releases.any(|matched| {
            let mut pieces = matched.source.kustomizations.iter();
            pieces.any(|piece| leads_to(&piece.file, files_of_secrets(&piece.root), below))
        })
}

/// Whether one of the paths in a kustomization leads to a file.
fn leads_to(kustomization: &str, paths: Vec<&str>, below: &str) -> bool {
    let folder = kustomization.rsplit_once('/').map_or("", |(folder, _)| folder);
    let folder = RepoPath::parse(folder).unwrap_or_default();
    paths.into_iter().any(|text| folder.join(text).is_ok_and(|path| path.as_str() == below))
}
