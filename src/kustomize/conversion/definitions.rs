//! Everybody else's kinds: only `apiVersion` changes, where the definitions of both versions show the
//! same shape for every field that the object has.
//!
//! The same shape need not mean the same; but a provider that gives a field another meaning under its
//! old name and type has broken Kubernetes' own rules for versions.

use super::refusal::{Refusal, Refusals};
use crate::schema::{Schema, Schemas, Unlisted};
use capstan_model::object::FieldPath;
use capstan_yaml::{Entry, Node, NodeKind};

/// Refuses what has another shape in the newer version.
pub(super) fn same_shape(
    object: &Node,
    kind: &str,
    from: &str,
    to: &str,
    schemas: &Schemas,
) -> Result<(), Refusals> {
    let definition = |version| schemas.definitions(kind, version).map(|(schema, _)| schema).next();
    let missing = |version: &str| {
        let why = format!("no definition of {kind} in {version} is known, so nobody can tell what moved");
        let advice = "put the provider's CustomResourceDefinition into .capstan/crds, or bring the object \
                      to that version by hand";
        Refusal::whole(why, advice)
    };
    let older = definition(from).ok_or_else(|| missing(from))?;
    let newer = definition(to).ok_or_else(|| missing(to))?;
    let mut refused = Vec::new();
    for entry in object.as_mapping().unwrap_or_default() {
        if !matches!(entry.key.as_str(), "apiVersion" | "kind" | "metadata" | "status") {
            let path = FieldPath::root().key(&entry.key);
            field(&path, entry, (older, newer), &mut refused);
        }
    }
    Refusals::none(refused)
}

fn field(
    path: &FieldPath,
    Entry { key, value: node, .. }: &Entry,
    (older, newer): (&Schema, &Schema),
    refused: &mut Vec<Refusal>,
) {
    match (older.field(key), newer.field(key)) {
        (Some(older), Some(newer)) => value(path, node, (older, newer), refused),
        (None, None) if keeps(older) == keeps(newer) => {}
        (None, _) if !keeps(older) => refused.push(*Refusal::new(
            path.clone(),
            node,
            "the older version has no such field, so the server drops it today",
            "remove the field, or bring the object to the newer version by hand",
        )),
        _ => refused.push(by_hand(path, node, "the newer version has no such field")),
    }
}

fn keeps(schema: &Schema) -> bool {
    schema.unlisted == Unlisted::Kept
}

fn value(path: &FieldPath, node: &Node, (older, newer): (&Schema, &Schema), refused: &mut Vec<Refusal>) {
    if node.is_null() {
        return;
    }
    if older.kind != newer.kind || older.list != newer.list || older.value != newer.value {
        return refused.push(by_hand(path, node, differs(older, newer)));
    }
    let is_template = node.as_scalar().is_some_and(|scalar| scalar.text.contains("${"));
    if !newer.choices.is_empty() && !is_template && !newer.choices.contains(&node.value()) {
        return refused.push(by_hand(path, node, "the newer version does not take this value"));
    }
    match &node.kind {
        NodeKind::Mapping(entries) => {
            entries.iter().for_each(|entry| field(&path.key(&entry.key), entry, (older, newer), refused));
        }
        NodeKind::Sequence(items) => match (older.item(), newer.item()) {
            (Some(older), Some(newer)) => {
                let items = items.iter().enumerate();
                items.for_each(|(at, item)| value(&path.index(at), item, (older, newer), refused));
            }
            (None, None) => {}
            _ => refused.push(by_hand(path, node, "the two versions' lists hold different things")),
        },
        NodeKind::Scalar(_) => {}
    }
}

fn differs(older: &Schema, newer: &Schema) -> String {
    let (was, is) = (older.kind.noun(), newer.kind.noun());
    if older.kind == newer.kind {
        "the two versions read it differently".to_owned()
    } else {
        format!("it is {was} in the older version and {is} in the newer one")
    }
}

fn by_hand(path: &FieldPath, node: &Node, why: impl Into<String>) -> Refusal {
    let advice = "bring the object to the newer version by hand, as the provider's notes on it say";
    *Refusal::new(path.clone(), node, why, advice)
}

#[cfg(test)]
#[path = "definitions_tests.rs"]
mod tests;
