//! Which objects an object names, with the places of the names.

use crate::templates::reference_paths;
use capstan_kustomize::render::{PlacedValue, RenderedObject};
use capstan_model::kinds::{KindRole, role_of_fragment};
use capstan_model::object::{FieldPath, api_group};

#[derive(Debug)]
pub(super) struct FieldReference<'a> {
    pub(super) group: &'a str,
    pub(super) kind: &'a str,
    pub(super) name: &'a str,
    /// The version that the reference names besides; none since v1beta2.
    pub(super) api_version: Option<&'a PlacedValue>,
    /// The mapping, or the scalar that is the name itself.
    pub(super) value: &'a PlacedValue,
    pub(super) path: FieldPath,
    /// The name's scalar.
    pub(super) at: &'a PlacedValue,
    /// The reference says neither group nor kind.
    pub(super) implied: bool,
}

impl FieldReference<'_> {
    /// The `apiGroup` that wrongly holds a version too.
    pub(super) fn versioned_group(&self) -> Option<&str> {
        let text = self.value.text_at(&["apiGroup"])?;
        (text.contains('/') && !text.contains("${")).then_some(text)
    }

    /// Whether a ClusterClass is meant.
    pub(super) fn is_class(&self) -> bool {
        let group = Some(self.group).filter(|_| !self.implied);
        role_of_fragment(group, self.kind) == Some(KindRole::Class)
    }
}

/// What an object names, in the order of the table of references.
pub(super) fn named_by(object: &RenderedObject) -> Vec<FieldReference<'_>> {
    let mut found = Vec::new();
    for reference in reference_paths(&object.id.group, &object.id.kind) {
        follow(&object.placed, reference.steps, &FieldPath::root(), &mut |path, value| {
            let kind = value.text_at(&["kind"]).or(reference.kind);
            let at = value.field("name").unwrap_or(value);
            let (Some(kind), Some(name)) = (kind, at.as_str()) else { return };
            let api_version = value.field("apiVersion");
            let group = value
                .text_at(&["apiGroup"])
                // `reference-mismatch` reports an `apiGroup` with a version; here it means its group.
                .map(api_group_alone)
                .or_else(|| api_version.and_then(PlacedValue::as_str).map(api_group))
                .unwrap_or(&object.id.group);
            let implied = reference.kind.is_some();
            found.push(FieldReference { group, kind, name, api_version, value, path, at, implied });
        });
    }
    found
}

/// The group of an `apiGroup` that wrongly holds a version too.
pub(super) fn api_group_alone(text: &str) -> &str {
    text.split_once('/').map_or(text, |(group, _)| group)
}

fn follow<'a>(
    value: &'a PlacedValue,
    steps: &[&str],
    path: &FieldPath,
    found: &mut dyn FnMut(FieldPath, &'a PlacedValue),
) {
    match steps.split_first() {
        None => found(path.clone(), value),
        Some((&"*", rest)) => {
            for (index, item) in value.items().iter().enumerate() {
                follow(item, rest, &path.index(index), found);
            }
        }
        Some((key, rest)) => {
            if let Some(next) = value.field(key) {
                follow(next, rest, &path.key(key), found);
            }
        }
    }
}
