//! What a step is decided from.

use std::collections::BTreeMap;

use capstan_model::object::ObjectId;
use capstan_providers::ProviderKind;

use super::record::{Record, Revision};
use crate::installing::Health;

/// What is known of one provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderFacts {
    /// The provider object.
    pub id: ObjectId,
    /// Its kind.
    pub kind: ProviderKind,
    /// What shall be there.
    pub wanted: Wanted,
    /// What is remembered; `None` where nothing ever was.
    pub record: Option<Record>,
    /// What was seen of its objects; `None` where nobody looked.
    pub look: Option<Look>,
    /// Why a step of it could not be performed: it is tried again by the next pass, and the others go on meanwhile.
    pub failed: Option<String>,
}

/// What shall be there of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// These objects.
    Components(Components),
    /// What is installed: something else is asked for, and was given up. Why, in words.
    Back {
        /// What is installed.
        components: Components,
        /// What was given up, and why.
        why: String,
    },
    /// It cannot be said, or the provider may not be gone on with: why, in words.
    Halted(String),
    /// Nothing: the provider object is gone, or may go.
    Nothing,
}

/// A provider, rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Components {
    /// Which version and content.
    pub revision: Revision,
    /// The objects, in the order of the components.
    pub objects: Vec<Component>,
}

/// One object of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Component {
    /// Which.
    pub id: ObjectId,
    /// `apps/v1`
    pub api_version: String,
}

/// What was seen of the objects that are rendered, and of those in the inventory.
pub type Look = BTreeMap<ObjectId, Seen>;

/// What was seen of one object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// What is there, beside what is rendered.
    pub fit: Fit,
    /// Of a definition: whether the API server serves it.
    pub is_established: bool,
    /// Of a definition: versions that the rendered one has no more, and that something is still stored or managed in.
    pub going: Vec<String>,
    /// Of what runs pods: how it stands.
    pub health: Option<Health>,
    /// Of a Deployment: how many replicas it asks for.
    pub replicas: Option<i64>,
    /// Of a Deployment: how many pods of it there are.
    pub pods: usize,
    /// Whether Capstan applied it for this provider: only such an object is ever deleted.
    pub is_own: bool,
}

/// What is there of an object, beside what is rendered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Fit {
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
    pub(super) fn components(&self) -> Option<&Components> {
        match &self.wanted {
            Wanted::Components(components) | Wanted::Back { components, .. } => Some(components),
            Wanted::Halted(_) | Wanted::Nothing => None,
        }
    }

    pub(super) fn seen(&self, id: &ObjectId) -> Option<&Seen> {
        self.look.as_ref()?.get(id)
    }

    /// The first object that the API server refuses, and why.
    pub(super) fn refused(&self) -> Option<(&ObjectId, &str)> {
        let components = self.components()?;
        components.objects.iter().find_map(|object| match &self.seen(&object.id)?.fit {
            Fit::Refused(why) => Some((&object.id, why.as_str())),
            _ => None,
        })
    }
}
