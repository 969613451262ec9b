//! What a step is decided from.

use std::collections::BTreeMap;

use capstan_model::object::ObjectId;
use capstan_providers::ProviderKind;

use super::record::{ProviderRecord, Revision};
use crate::installing::WorkloadHealth;

/// What is known of one provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderFacts {
    /// The provider object.
    pub id: ObjectId,
    pub kind: ProviderKind,
    /// What shall be there.
    pub wanted: DesiredProvider,
    /// What is remembered; `None` where nothing ever was.
    pub record: Option<ProviderRecord>,
    /// What was read of its objects; `None` if nothing was.
    pub look: Option<ObjectsLook>,
    /// Why a step of it could not be performed: it is tried again by the next pass, and the others go on meanwhile.
    pub failed: Option<String>,
}

/// What shall be there of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DesiredProvider {
    /// These objects.
    Components(RenderedProvider),
    /// What is installed: something else is asked for, and was given up. Why, in words.
    Back {
        /// What is installed.
        components: RenderedProvider,
        /// What was given up, and why.
        why: String,
    },
    /// It cannot be said, or the provider may not be gone on with: why, in words.
    Halted(String),
    /// Nothing: the provider object is gone, or may go.
    Nothing,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedProvider {
    /// Which version and content.
    pub revision: Revision,
    /// The objects, in the order of the components.
    pub objects: Vec<ProviderObject>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderObject {
    /// Which.
    pub id: ObjectId,
    /// `apps/v1`
    pub api_version: String,
}

/// What was seen of the objects that are rendered, and of those in the inventory.
pub type ObjectsLook = BTreeMap<ObjectId, SeenObject>;

/// What was seen of one object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SeenObject {
    /// What is there, beside what is rendered.
    pub fit: ObjectFit,
    /// Of a definition: whether the API server serves it.
    pub is_established: bool,
    /// Of a definition: versions that the rendered one has no more, and that something is still stored or managed in.
    pub going: Vec<String>,
    /// Of what runs pods: its health.
    pub health: Option<WorkloadHealth>,
    /// Of a Deployment: how many replicas it asks for.
    pub replicas: Option<i64>,
    /// Of a Deployment: how many pods of it there are.
    pub pods: usize,
    /// Whether Capstan applied it for this provider: only such an object is ever deleted.
    pub is_own: bool,
}

/// What is there of an object, beside what is rendered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ObjectFit {
    /// Nothing is there, and the API server would take it.
    #[default]
    Absent,
    /// It is as rendered.
    Same,
    /// It is not as rendered, or that is not known.
    Differs,
    /// It cannot be tried yet: a definition of the same pass brings its kind.
    Later,
    /// The API server refuses what is rendered: why.
    Refused(String),
    /// It is being deleted.
    Terminating,
}

impl ProviderFacts {
    /// The components, where they are known.
    pub(super) fn components(&self) -> Option<&RenderedProvider> {
        match &self.wanted {
            DesiredProvider::Components(components) | DesiredProvider::Back { components, .. } => {
                Some(components)
            }
            DesiredProvider::Halted(_) | DesiredProvider::Nothing => None,
        }
    }

    pub(super) fn seen(&self, id: &ObjectId) -> Option<&SeenObject> {
        self.look.as_ref()?.get(id)
    }

    /// The first object that the API server refuses, and why.
    pub(super) fn refused(&self) -> Option<(&ObjectId, &str)> {
        let components = self.components()?;
        components.objects.iter().find_map(|object| match &self.seen(&object.id)?.fit {
            ObjectFit::Refused(why) => Some((&object.id, why.as_str())),
            _ => None,
        })
    }
}
