//! Everybody else's kinds: only `apiVersion` changes, where the definitions of both versions show the
//! same shape for every field that the object has.
//!
//! The same shape need not mean the same; but a provider that gives a field another meaning under its
//! old name and type has broken Kubernetes' own rules for versions.

use super::Refusal;
use crate::object::FieldPath;
use crate::schema::{Schema, Schemas, Type, Unlisted};
use crate::yaml::{Node, NodeKind};

/// Refuses what has another shape in the newer version.
pub(super) fn same_shape(
    object: &Node,
    kind: &str,
    from: &str,
    to: &str,
    schemas: &Schemas,
) -> Result<(), Box<Refusal>> {
    let definition = |version| schemas.definitions(kind, version).map(|(schema, _)| schema).next();
    let missing = |version: &str| {
        let why = format!("no definition of {kind} in {version} is known, so nobody can tell what moved");
        let advice = "put the provider's CustomResourceDefinition into .capstan/crds, or bring the object \
                      to that version by hand";
        Refusal::whole(why, advice)
    };
    let older = definition(from).ok_or_else(|| missing(from))?;
    let newer = definition(to).ok_or_else(|| missing(to))?;
    for entry in object.as_mapping().unwrap_or_default() {
        if !matches!(entry.key.as_str(), "apiVersion" | "kind" | "metadata" | "status") {
            let path = FieldPath::root().key(&entry.key);
            field(&path, &entry.key, &entry.value, older, newer)?;
        }
    }
    Ok(())
}

fn field(
    path: &FieldPath,
    name: &str,
    node: &Node,
    older: &Schema,
    newer: &Schema,
) -> Result<(), Box<Refusal>> {
    match (older.field(name), newer.field(name)) {
        (Some(older), Some(newer)) => value(path, node, older, newer),
        (None, None) if keeps(older) == keeps(newer) => Ok(()),
        (None, _) if !keeps(older) => {
            Err(refused(path, node, "the older version has no such field, so the server drops it today"))
        }
        _ => Err(refused(path, node, "the newer version has no such field")),
    }
}

fn keeps(schema: &Schema) -> bool {
    schema.unlisted == Unlisted::Kept
}

fn value(path: &FieldPath, node: &Node, older: &Schema, newer: &Schema) -> Result<(), Box<Refusal>> {
    if node.is_null() {
        return Ok(());
    }
    if older.kind != newer.kind || older.list != newer.list || older.value != newer.value {
        let noun = |schema: &Schema| match schema.kind {
            Type::Any => "anything".to_owned(),
            kind => kind.noun().to_owned(),
        };
        let why = if older.kind == newer.kind {
            "the two versions read it differently".to_owned()
        } else {
            format!("it is {} in the older version and {} in the newer one", noun(older), noun(newer))
        };
        return Err(refused(path, node, why));
    }
    let is_template = node.as_scalar().is_some_and(|scalar| scalar.text.contains("${"));
    let value_of = node.value();
    if !newer.choices.is_empty() && !is_template && !newer.choices.contains(&value_of) {
        return Err(refused(path, node, "the newer version does not take this value"));
    }
    match &node.kind {
        NodeKind::Mapping(entries) => entries
            .iter()
            .try_for_each(|entry| field(&path.key(&entry.key), &entry.key, &entry.value, older, newer)),
        NodeKind::Sequence(items) => match (older.item(), newer.item()) {
            (Some(older), Some(newer)) => {
                items.iter().enumerate().try_for_each(|(at, item)| value(&path.index(at), item, older, newer))
            }
            (None, None) => Ok(()),
            _ => Err(refused(path, node, "the two versions' lists hold different things")),
        },
        NodeKind::Scalar(_) => Ok(()),
    }
}

fn refused(path: &FieldPath, node: &Node, why: impl Into<String>) -> Box<Refusal> {
    Refusal::new(
        path.clone(),
        node,
        why,
        "bring the object to the newer version by hand, as the provider's notes on it say",
    )
}
