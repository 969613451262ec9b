//! Which Kubernetes versions a cluster's objects ask for.

use capstan_kustomize::render::{PlacedValue, RenderedObject};
use capstan_model::finding::{Finding, RuleEntry};
pub(super) use capstan_model::kinds::VersionRole as Role;
use capstan_model::kinds::{Keys, version_fields};
use capstan_model::object::{FieldPath, ObjectId};
use capstan_model::version::KubernetesVersion;

/// A version that an object asks for.
#[derive(Debug, Clone)]
pub(super) struct RequiredVersion<'a> {
    pub(super) object: &'a ObjectId,
    pub(super) keys: Keys,
    pub(super) placed: &'a PlacedValue,
    pub(super) version: KubernetesVersion,
    pub(super) role: Role,
}

impl RequiredVersion<'_> {
    /// The field.
    pub(super) fn path(&self) -> FieldPath {
        FieldPath::of_keys(self.keys)
    }

    /// What a rule says of it, at its place.
    pub(super) fn finding(&self, rule: &'static RuleEntry, message: String) -> Finding {
        Finding::new(rule, message).object(self.object).path(&self.path()).place(&self.placed.place)
    }
}

/// The versions that objects ask for. A value that is not a version (a variable, say) is skipped.
pub(super) fn wanted(objects: &[RenderedObject]) -> Vec<RequiredVersion<'_>> {
    let mut found = Vec::new();
    for object in objects {
        for (role, keys) in version_fields(&object.id.group, &object.id.kind) {
            let Some(placed) = object.placed.at(keys) else { continue };
            let Some(version) = placed.as_str().and_then(KubernetesVersion::parse) else { continue };
            found.push(RequiredVersion { object: &object.id, keys, placed, version, role });
        }
    }
    found
}
