//! In which order objects are applied: what is named comes before what names it.

use std::collections::BTreeMap;

use capstan_kustomize::render::RenderedObject;
use capstan_model::kinds::{Stage, stage};
use capstan_model::object::ObjectId;
use capstan_plan::templates::{Role, references};
use capstan_providers::{GROUP, ProviderKind};

/// What others name an object for decides its place where its kind does not.
pub(super) struct Order<'a> {
    roles: BTreeMap<&'a ObjectId, Vec<Role>>,
}

impl<'a> Order<'a> {
    pub(super) fn of(rendered: &'a [RenderedObject]) -> Self {
        let mut roles: BTreeMap<&ObjectId, Vec<Role>> = BTreeMap::new();
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
    pub(super) fn place(&self, object: &RenderedObject) -> (Stage, u8) {
        let id = &object.id;
        let named_as = |role: Role| self.roles.get(id).is_some_and(|roles| roles.contains(&role));
        let provider = id.group.ends_with(".cluster.x-k8s.io");
        if provider && (named_as(Role::PoolBootstrap) || named_as(Role::Pool)) {
            (Stage::Workers, 1)
        } else if provider && named_as(Role::Data) {
            (Stage::Templates, 0)
        } else if let Some(kind) = ProviderKind::parse(&id.kind).filter(|_| id.group == GROUP) {
            // Whoever installs them may begin before all have changed: those that come first change first, behind ConfigMaps
            // that they are rendered from.
            (Stage::AddOns, 1 + kind as u8)
        } else if let Some(place) = stage(id) {
            place
        } else if named_as(Role::Standing) {
            (Stage::Templates, 2)
        } else {
            (Stage::AddOns, 0)
        }
    }
}
