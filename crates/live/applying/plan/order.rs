//! In which order objects are applied: what is named comes before what names it.

use std::collections::BTreeMap;

use capstan_kustomize::render::RenderedObject;
use capstan_model::kinds::{ApplyStage, stage};
use capstan_model::object::ObjectId;
use capstan_plan::templates::{TemplateRole, references};
use capstan_providers::{GROUP, ProviderKind};

/// What others name an object for decides its place where its kind does not.
pub(super) struct ApplyOrder<'a> {
    roles: BTreeMap<&'a ObjectId, Vec<TemplateRole>>,
}

impl<'a> ApplyOrder<'a> {
    pub(super) fn of(rendered: &'a [RenderedObject]) -> Self {
        let mut roles: BTreeMap<&ObjectId, Vec<TemplateRole>> = BTreeMap::new();
        for owner in rendered {
            for reference in references(&owner.id.group, &owner.id.kind, &owner.value) {
                let named = rendered
                    .iter()
                    .filter(|object| reference.means(owner.id.namespace.as_deref(), &object.id));
                for object in named {
                    roles.entry(&object.id).or_default().push(reference.role);
                }
            }
        }
        Self { roles }
    }

    /// The stage of an object, and its order in it.
    pub(super) fn place(&self, object: &RenderedObject) -> (ApplyStage, u8) {
        let id = &object.id;
        let named_as = |role: TemplateRole| self.roles.get(id).is_some_and(|roles| roles.contains(&role));
        let provider = id.group.ends_with(".cluster.x-k8s.io");
        if provider && (named_as(TemplateRole::PoolBootstrap) || named_as(TemplateRole::Pool)) {
            (ApplyStage::Workers, 1)
        } else if provider && named_as(TemplateRole::Data) {
            (ApplyStage::Templates, 0)
        } else if let Some(kind) = ProviderKind::parse(&id.kind).filter(|_| id.group == GROUP) {
            // Their installer may begin before all have changed. So they are applied in the order of their kinds, after
            // the ConfigMaps that they are rendered from.
            (ApplyStage::AddOns, 1 + kind as u8)
        } else if let Some(place) = stage(id) {
            place
        } else if named_as(TemplateRole::Standing) {
            (ApplyStage::Templates, 2)
        } else {
            (ApplyStage::AddOns, 0)
        }
    }
}
