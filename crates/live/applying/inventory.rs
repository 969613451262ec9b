//! What a folder has applied: the only objects that may ever be deleted for it.
//!
//! An entry is written *before* its object is applied, so that a reconciler that is killed in between leaves no
//! unrecorded object behind. Its UID follows when the object exists.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use capstan_model::object::{ObjectId, api_version};

/// The objects that a folder has applied, or was about to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AppliedInventory {
    /// The objects, ordered by group, kind, namespace and name.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    objects: Vec<InventoryObject>,
}

/// One object of an inventory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InventoryObject {
    /// API group; empty for the core group.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The version in which it was applied last: `v1beta2`.
    pub version: String,
    /// Kind.
    pub kind: String,
    /// Namespace; absent for an object that has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The live object's name.
    pub name: String,
    /// The name in Git, if it differs: that of a rotated template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logical: Option<String>,
    /// The live object's UID; absent while it is only intended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// How often it was recreated because its creation failed and its controller gave up; 0 once it exists.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub made_anew: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's `skip_serializing_if` hands a reference")]
const fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl InventoryObject {
    /// Its identity.
    pub fn id(&self) -> ObjectId {
        ObjectId {
            group: self.group.clone(),
            kind: self.kind.clone(),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
        }
    }

    /// Its identity with the name that Git gives it.
    pub fn logical_id(&self) -> ObjectId {
        let name = self.logical.clone().unwrap_or_else(|| self.name.clone());
        ObjectId { name, ..self.id() }
    }

    /// `cluster.x-k8s.io/v1beta2`
    pub fn api_version(&self) -> String {
        api_version(&self.group, &self.version)
    }

    /// Whether it is the same object in Git: of a template under whatever live name.
    pub(super) fn is_logically(&self, other: &Self) -> bool {
        self.logical_id() == other.logical_id()
    }

    fn is(&self, id: &ObjectId) -> bool {
        self.kind == id.kind
            && self.name == id.name
            && self.group == id.group
            && self.namespace == id.namespace
    }
}

impl AppliedInventory {
    pub fn objects(&self) -> &[InventoryObject] {
        &self.objects
    }

    /// The entry of an object.
    pub fn get(&self, id: &ObjectId) -> Option<&InventoryObject> {
        self.objects.iter().find(|object| object.is(id))
    }

    /// The object is about to be applied in that API version (`cluster.x-k8s.io/v1beta2`), under that name
    /// in Git.
    pub fn intend(&mut self, id: &ObjectId, api_version: &str, logical: &str) {
        let version = api_version.rsplit('/').next().unwrap_or(api_version).to_owned();
        let logical = (logical != id.name).then(|| logical.to_owned());
        if let Some(object) = self.objects.iter_mut().find(|object| object.is(id)) {
            object.version = version;
            object.logical = logical;
            return;
        }
        self.objects.push(InventoryObject {
            group: id.group.clone(),
            version,
            kind: id.kind.clone(),
            namespace: id.namespace.clone(),
            name: id.name.clone(),
            logical,
            uid: None,
            made_anew: 0,
        });
        self.objects.sort_by_cached_key(InventoryObject::id);
    }

    /// The object is there, with that UID.
    pub fn applied(&mut self, id: &ObjectId, uid: &str) {
        if let Some(object) = self.objects.iter_mut().find(|object| object.is(id)) {
            object.uid = Some(uid.to_owned());
        }
    }

    /// Counts that the object is about to be deleted and created again.
    pub fn count_recreation(&mut self, id: &ObjectId) {
        if let Some(object) = self.objects.iter_mut().find(|object| object.is(id)) {
            object.made_anew = object.made_anew.saturating_add(1);
        }
    }

    /// The object came to be what it was made for.
    pub fn came_to_be(&mut self, id: &ObjectId) {
        if let Some(object) = self.objects.iter_mut().find(|object| object.is(id)) {
            object.made_anew = 0;
        }
    }

    /// The object is gone, or another folder's.
    pub fn forget(&mut self, id: &ObjectId) {
        self.objects.retain(|object| !object.is(id));
    }
}
