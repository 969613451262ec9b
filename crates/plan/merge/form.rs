//! In which of two forms a cluster holds a release that has kustomizations: as their files, or as the objects
//! that they render.
//!
//! A base that mirrors the release has the release's kustomization with its patches and generators: it is
//! merged file by file, and renders to what the release renders to. Any other base holds objects, and is
//! compared with what the release renders to.

use std::collections::BTreeSet;

use super::cluster_objects::Base;
use super::piece::Form;
use super::source::ReleaseSource;
use crate::release::only_lists;
use capstan_yaml::Node;

/// The form in which a base holds these releases. Where their kustomizations only list files, both are
/// the same.
pub(crate) fn form_of(base: &Base, old: Option<&ReleaseSource>, new: &ReleaseSource) -> Form {
    let sources = || old.into_iter().chain([new]);
    if !sources().any(ReleaseSource::is_made) {
        return Form::AsFiles;
    }
    let is_closed = !sources().any(|source| source.reads_outside);
    if is_closed && mirrors(base, old, new) { Form::AsFiles } else { Form::Rendered }
}

/// Whether a base has kustomizations that do what the release's own do.
fn mirrors(base: &Base, old: Option<&ReleaseSource>, new: &ReleaseSource) -> bool {
    if !base.has_kustomization() {
        return false;
    }
    let own: BTreeSet<&str> = base.kustomizations.clone().flat_map(|at| makers(base.node(at))).collect();
    let from = |source: &'_ ReleaseSource| -> BTreeSet<String> {
        let pieces = source.kustomizations.iter();
        pieces.flat_map(|piece| makers(&piece.root)).map(str::to_owned).collect()
    };
    match old {
        // Both only list files, so far: what the release says now is said there too, where it needs no files.
        Some(old) if own.is_empty() => {
            from(old).is_empty() && !new.inputs.values().any(|input| input.blob.is_none())
        }
        _ => from(old.unwrap_or(new)).iter().any(|field| own.contains(field.as_str())),
    }
}

/// Fields of a kustomization that make something of the files that it lists.
fn makers(root: &Node) -> impl Iterator<Item = &str> {
    let fields = root.as_mapping().unwrap_or_default().iter();
    fields.filter(|field| !only_lists(root, field)).map(|field| field.key.as_str())
}
