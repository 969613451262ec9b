//! Objects on their way from the files of a kustomization to its end.

use std::collections::HashMap;
use std::sync::Arc;

use super::config::Config;
use super::file::Kustomization;
use super::id::{Id, IdKey};
use super::vars::Var;
use crate::render::budget::RenderBudget;
use crate::render::error::{RenderError, RenderErrorKind};
use crate::render::resource::RenderedResource;

/// Objects on their way, and the fields that transformers above may reach.
#[derive(Debug, Clone, Default)]
pub(in crate::render) struct Accumulated {
    pub(in crate::render) resources: Vec<RenderedResource>,
    pub(super) config: Option<Arc<Config>>,
    pub(super) vars: Vec<Var>,
}

impl Accumulated {
    /// Objects that no kustomization gave.
    pub(in crate::render) const fn plain(resources: Vec<RenderedResource>) -> Self {
        Self { resources, config: None, vars: Vec::new() }
    }

    /// Takes in which fields a kustomization configures.
    pub(super) fn take_config(
        &mut self,
        other: &Arc<Config>,
        kustomization: &Kustomization,
        budget: &RenderBudget,
    ) -> Result<(), RenderError> {
        match &mut self.config {
            None => self.config = Some(Arc::clone(other)),
            Some(config) if Arc::ptr_eq(config, other) => {}
            Some(config) => Arc::make_mut(config).merge(other, &kustomization.place, budget)?,
        }
        Ok(())
    }
}

/// Objects that others are added to, and nothing else is done with meanwhile.
pub(super) struct Appending<'a> {
    pub(super) all: &'a mut Accumulated,
    /// The index of the object with an identity.
    known: HashMap<IdKey, usize>,
}

impl<'a> Appending<'a> {
    pub(super) fn to(all: &'a mut Accumulated) -> Self {
        let known = all.resources.iter().enumerate().rev().map(|(at, one)| (one.id().key(), at)).collect();
        Self { all, known }
    }

    /// Adds objects; one identity may come only once.
    pub(super) fn append(&mut self, more: Vec<RenderedResource>) -> Result<(), RenderError> {
        for resource in more {
            let id = resource.id();
            let at = *self.known.entry(id.clone().key()).or_insert(self.all.resources.len());
            if let Some(twin) = self.all.resources.get(at) {
                return Err(twins(&id, twin, &resource));
            }
            self.all.resources.push(resource);
        }
        Ok(())
    }
}

fn twins(id: &Id, first: &RenderedResource, second: &RenderedResource) -> RenderError {
    RenderError::at(
        &second.value.place,
        RenderErrorKind::Duplicate,
        format!(
            "{} is here and also in {} line {}. An object may be there only once: remove or rename one",
            id.object_id(),
            first.value.place.file(),
            first.value.place.position().line
        ),
    )
}
