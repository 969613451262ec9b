//! What patches say of an object: it is there, whatever the base's files say.

use super::patches::{Patches, PlainFiles};
use super::request::UpgradeRequest;
use super::retarget::text;
use crate::merge::cluster_objects::Base;
use capstan_model::object::FieldPath;
use capstan_yaml::{Node, YamlFile};
use std::collections::BTreeSet;

/// What the patches of the overlay and of the base say.
pub(super) struct SaidByPatches<'p>([Patches<'p>; 2]);

impl<'p> SaidByPatches<'p> {
    pub(super) fn of(request: &'p UpgradeRequest<'_>, base: &'p Base, overlay: &'p [YamlFile]) -> Self {
        Self(Patches::of(request, base, overlay))
    }

    /// The fields that they say of an object.
    pub(super) fn fields(&self, base: &Base, object: usize) -> BTreeSet<FieldPath> {
        let mut said = BTreeSet::new();
        for patches in &self.0 {
            let id = &base.objects[object].id;
            patches.each_of((id, base.node(object)), PlainFiles::Applied, &mut |patch| {
                said_in(patch.root, &mut said)
            });
        }
        said
    }
}

fn said_in(patch: &Node, said: &mut BTreeSet<FieldPath>) {
    let Some(operations) = patch.as_sequence() else {
        return fields_of(&FieldPath::root(), patch, said);
    };
    for operation in operations.iter().filter(|one| matches!(text(one, "op"), Some("add" | "replace"))) {
        let Some(path) = text(operation, "path").and_then(FieldPath::parse) else { continue };
        if let Some(value) = operation.get("value") {
            fields_of(&path, value, said);
        }
    }
}

/// A field and those below it that are said. A list is said as a whole.
fn fields_of(path: &FieldPath, node: &Node, said: &mut BTreeSet<FieldPath>) {
    if node.is_null() || node.get("$patch").is_some() {
        return;
    }
    said.insert(path.clone());
    for entry in node.as_mapping().unwrap_or_default() {
        fields_of(&path.key(&entry.key), &entry.value, said);
    }
}
