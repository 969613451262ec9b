//! Objects on their way from the files of a kustomization to its end.

use std::sync::Arc;

use super::config::Config;
use super::file::Kustomization;
use super::id::Id;
use super::vars::Var;
use crate::render::error::{RenderError, Trouble};
use crate::render::resource::Resource;

/// Objects on their way, and the fields that transformers above may reach.
#[derive(Debug, Clone, Default)]
pub(in crate::render) struct Accumulated {
    pub(in crate::render) resources: Vec<Resource>,
    pub(super) config: Option<Arc<Config>>,
    pub(super) vars: Vec<Var>,
}

impl Accumulated {
    /// Objects that no kustomization gave.
    pub(in crate::render) const fn plain(resources: Vec<Resource>) -> Self {
        Self { resources, config: None, vars: Vec::new() }
    }

    /// Takes in which fields a kustomization configures.
    pub(super) fn take_config(
        &mut self,
        other: &Arc<Config>,
        kustomization: &Kustomization,
    ) -> Result<(), RenderError> {
        match &mut self.config {
            None => self.config = Some(Arc::clone(other)),
            Some(config) if Arc::ptr_eq(config, other) => {}
            Some(config) => Arc::make_mut(config).merge(other, &kustomization.place)?,
        }
        Ok(())
    }

    /// Adds objects; one identity may come only once.
    pub(super) fn append(&mut self, more: Vec<Resource>) -> Result<(), RenderError> {
        let mut ids: Vec<Id> = self.resources.iter().map(Resource::id).collect();
        for resource in more {
            let id = resource.id();
            let twin = ids.iter().position(|known| known.is(&id)).and_then(|at| self.resources.get(at));
            if let Some(twin) = twin {
                return Err(twins(&id, twin, &resource));
            }
            ids.push(id);
            self.resources.push(resource);
        }
        Ok(())
    }
}

fn twins(id: &Id, first: &Resource, second: &Resource) -> RenderError {
    RenderError::at(
        &second.value.place,
        Trouble::Duplicate,
        format!(
            "{} stands here and in {} line {} too: an object may be given only once, remove or rename one",
            id.object_id(),
            first.value.place.file(),
            first.value.place.position().line
        ),
    )
}
