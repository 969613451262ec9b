//! What is kept while kustomizations are built: files, patches, notes, schemas.

use super::origin::BuildOrigin;
use crate::render::load::Loader;
use crate::render::rendered::PatchUse;
use crate::render::schema::Schemas;
use capstan_model::tree::RepoPath;

/// Builds kustomizations, and keeps account of their patches.
pub(in crate::render) struct Builder<'a> {
    pub(in crate::render) loader: &'a Loader<'a>,
    /// Files that are Capstan's own and never rendered.
    pub(in crate::render) own: Vec<RepoPath>,
    pub(in crate::render) patches: Vec<PatchUse>,
    pub(in crate::render) notes: Vec<String>,
    pub(in crate::render) schemas: Schemas,
    pub(super) origin: BuildOrigin,
    /// The folders being built, outermost first.
    pub(super) way: Vec<RepoPath>,
}

impl<'a> Builder<'a> {
    pub(in crate::render) fn new(loader: &'a Loader<'a>, own: Vec<RepoPath>) -> Self {
        Self {
            loader,
            own,
            patches: Vec::new(),
            notes: Vec::new(),
            schemas: Schemas::default(),
            origin: BuildOrigin::default(),
            way: Vec::new(),
        }
    }
}
