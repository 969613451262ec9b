//! From the names in a kustomization to files and folders of the repository.

use std::collections::HashSet;
use std::sync::Arc;

use super::builder::Builder;
use super::file::PlacedText;
use super::remote;
use crate::render::dialect::Dialect;
use crate::render::error::RenderError;
use crate::render::keys::INCLUDE_FIELDS;
use crate::render::load::Loaded;
use crate::render::placed::PlacedValue;
use capstan_model::tree::{RepoPath, TreeEntry};

/// Whether a kustomization includes something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::render) enum Inclusion {
    Yes,
    No,
}

impl<'a> Builder<'a> {
    /// The path that a kustomization names, which may climb but not leave the repository; of something
    /// remote, where the repository keeps it.
    pub(super) fn locate(&self, folder: &RepoPath, name: &PlacedText) -> Result<RepoPath, RenderError> {
        let text = name.text.as_str();
        if let Some(remote) = remote::RemoteResource::parse(text) {
            return remote.vendored(self.loader.tree, &name.place);
        }
        if text.starts_with('/') {
            return Err(RenderError::reference(
                &name.place,
                format!("`{text}` is an absolute path: write it relative to this file's folder"),
            ));
        }
        folder.join(text).map_err(|_| {
            RenderError::reference(
                &name.place,
                format!("`{text}` leads out of the repository: name something within it"),
            )
        })
    }

    /// Kustomize reads files outside the kustomization's own folder only with a flag.
    pub(super) fn note_outside(&mut self, folder: &RepoPath, path: &RepoPath) {
        let note = "Capstan renders files outside a kustomization's own folder, as Flux does. `kubectl kustomize` needs `--load-restrictor LoadRestrictionsNone` for that.";
        let outside = !folder.is_root() && !path.is_in(folder);
        if outside && !self.notes.iter().any(|known| known == note) {
            self.notes.push(note.to_owned());
        }
    }

    fn entry(&self, path: &RepoPath, name: &PlacedText) -> Result<&'a TreeEntry, RenderError> {
        let tree = self.loader.tree;
        tree.entry(path).ok_or_else(|| {
            RenderError::reference(
                &name.place,
                format!("there is no file {path}: correct the path or add it"),
            )
        })
    }

    /// The bytes of a file that a kustomization names.
    pub(super) fn bytes(&self, folder: &RepoPath, name: &PlacedText) -> Result<Arc<[u8]>, RenderError> {
        let path = self.locate(folder, name)?;
        self.loader.bytes(self.entry(&path, name)?)
    }

    /// The documents of a file that a kustomization names, read as kustomize reads its own files.
    pub(super) fn read_file(
        &mut self,
        folder: &RepoPath,
        name: &PlacedText,
    ) -> Result<Arc<Loaded>, RenderError> {
        self.read_as(folder, name, Dialect::Kubernetes)
    }

    pub(super) fn read_as(
        &mut self,
        folder: &RepoPath,
        name: &PlacedText,
        dialect: Dialect,
    ) -> Result<Arc<Loaded>, RenderError> {
        let path = self.locate(folder, name)?;
        self.note_outside(folder, &path);
        self.loader.read_named(self.entry(&path, name)?, dialect)
    }

    /// The kustomization of a folder that is listed as a resource.
    pub(super) fn folder(&self, path: &RepoPath, name: &PlacedText) -> Result<&'a TreeEntry, RenderError> {
        match self.loader.kustomization(path)? {
            Some(entry) => Ok(entry),
            None if self.loader.tree.entries_in(path).is_empty() => Err(RenderError::reference(
                &name.place,
                format!("there is no file or folder {path}: correct `{}` or add it", name.text),
            )),
            None => Err(RenderError::reference(
                &name.place,
                format!(
                    "the folder {path} has no kustomization.yaml, which kustomize requires in a folder: add one or list its files"
                ),
            )),
        }
    }

    pub(super) fn component(
        &self,
        folder: &RepoPath,
        name: &PlacedText,
    ) -> Result<(RepoPath, &'a TreeEntry), RenderError> {
        let path = self.locate(folder, name)?;
        let entry = self.loader.kustomization(&path)?.ok_or_else(|| {
            RenderError::reference(&name.place, format!("{path} has no component: correct the path"))
        })?;
        Ok((path, entry))
    }

    /// Whether a kustomization includes something of a folder, to any depth.
    pub(in crate::render) fn reaches(
        &self,
        folder: &RepoPath,
        entry: &TreeEntry,
        wanted: &RepoPath,
    ) -> Result<Inclusion, RenderError> {
        let mut seen = HashSet::from([folder.clone()]);
        let mut waiting = vec![(folder.clone(), entry)];
        while let Some((folder, entry)) = waiting.pop() {
            let loaded = self.loader.read(entry, Dialect::Kubernetes)?;
            let names =
                loaded.documents.first().into_iter().flat_map(|document| {
                    INCLUDE_FIELDS.into_iter().filter_map(|field| document.field(field))
                });
            for name in names.flat_map(PlacedValue::items).filter_map(PlacedValue::as_str) {
                let Ok(path) = folder.join(name) else { continue };
                if path == *wanted || path.is_in(wanted) {
                    return Ok(Inclusion::Yes);
                }
                if let Some(inner) = self.loader.kustomization(&path)?
                    && seen.insert(path.clone())
                {
                    waiting.push((path, inner));
                }
            }
        }
        Ok(Inclusion::No)
    }
}
