//! Complete objects cut down to what was selected.

use serde_json::{Map, Value, json};

use super::document::{Document, GraphQlSelection, SelectedField};
use super::error::GraphQlError;

/// The fields selected on an object of a type, fragments resolved.
pub(super) fn fields<'a>(
    document: &'a Document,
    selections: &'a [GraphQlSelection],
    on: &str,
) -> Vec<&'a SelectedField> {
    let mut found = Vec::new();
    for selection in selections {
        match selection {
            GraphQlSelection::Field(field) => found.push(field),
            GraphQlSelection::Inline(condition, inner) => {
                if condition.as_deref().is_none_or(|condition| applies(condition, on)) {
                    found.extend(fields(document, inner, on));
                }
            }
            GraphQlSelection::Spread(name) => {
                if let Some((condition, inner)) = document.fragments.get(name)
                    && applies(condition, on)
                {
                    found.extend(fields(document, inner, on));
                }
            }
        }
    }
    found
}

fn applies(condition: &str, on: &str) -> bool {
    condition == on
        || matches!(
            (condition, on),
            ("Node", _)
                | ("GitObject", "Commit" | "Tree" | "Blob")
                | ("Actor" | "RepositoryOwner", "User" | "Organization" | "Bot")
        )
}

/// Cuts a complete object down to what was selected.
pub(super) fn project(
    document: &Document,
    field: &SelectedField,
    value: Value,
) -> Result<Value, GraphQlError> {
    match value {
        Value::Array(items) => {
            items.into_iter().map(|item| project(document, field, item)).collect::<Result<_, _>>()
        }
        Value::Object(mut object) => {
            let on = object.get("__typename").and_then(Value::as_str).unwrap_or_default().to_owned();
            let mut chosen = Map::new();
            for inner in fields(document, &field.selections, &on) {
                let value = object.get(&inner.name).ok_or_else(|| {
                    GraphQlError::new(
                        "UNDEFINED_FIELD",
                        format!("Field '{}' doesn't exist on type '{on}'", inner.name),
                    )
                })?;
                let value = narrow(inner, value);
                chosen.insert(inner.key().to_owned(), project(document, inner, value)?);
            }
            object.clear();
            Ok(Value::Object(chosen))
        }
        scalar => Ok(scalar),
    }
}

/// Applies what connections have for arguments: filters by state and branch, an order, `first` and `last`, one by
/// number or name.
fn narrow(field: &SelectedField, value: &Value) -> Value {
    let argument = |name: &str| field.arguments.get(name).filter(|value| !value.is_null());
    let Value::Object(whole) = value else { return value.clone() };
    // A look-up such as pullRequest(number: 3) is prepared as a map from key to object.
    if let Some(found) = whole.get("__by") {
        let key = ["number", "qualifiedName", "expression", "oid"].iter().find_map(|name| argument(name));
        let key = key.map(|key| key.as_str().map_or_else(|| key.to_string(), str::to_owned));
        return key.and_then(|key| found.get(&key).cloned()).unwrap_or(Value::Null);
    }
    let Some(Value::Array(nodes)) = whole.get("nodes") else { return value.clone() };
    let besides = whole.iter().filter(|(name, _)| *name != "nodes");
    let mut connection: Map<String, Value> =
        besides.map(|(name, value)| (name.clone(), value.clone())).collect();
    let mut nodes: Vec<&Value> = nodes.iter().collect();
    if let Some(states) = argument("states") {
        let states = states.as_array().cloned().unwrap_or_else(|| vec![states.clone()]);
        nodes.retain(|node| states.contains(&node["state"]));
    }
    for name in ["headRefName", "baseRefName"] {
        if let Some(wanted) = argument(name) {
            nodes.retain(|node| &node[name] == wanted);
        }
    }
    if let Some(order) = argument("orderBy") {
        let by = if order["field"] == "UPDATED_AT" { "updatedAt" } else { "createdAt" };
        // Of those of one second the one that came later has the higher number.
        nodes.sort_by_key(|node| (node[by].as_str().map(str::to_owned), node["number"].as_u64()));
        if order["direction"] == "DESC" {
            nodes.reverse();
        }
    }
    let total = nodes.len();
    let after = argument("after").and_then(|cursor| cursor.as_str()?.parse::<usize>().ok()).unwrap_or(0);
    let count = |name: &str| argument(name).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
    let kept: Vec<&Value> = match (count("first"), count("last")) {
        (Some(first), _) => nodes.into_iter().skip(after).take(first).collect(),
        (None, Some(last)) => nodes.split_off(total.saturating_sub(last)),
        _ => nodes,
    };
    let kept: Vec<Value> = kept.into_iter().cloned().collect();
    let end = after + kept.len();
    connection.insert(
        "edges".to_owned(),
        kept.iter().map(|node| json!({"__typename": "Edge", "cursor": "", "node": node})).collect(),
    );
    connection.insert("nodes".to_owned(), Value::Array(kept));
    connection.insert("totalCount".to_owned(), json!(total));
    let page = json!({
        "__typename": "PageInfo",
        "hasNextPage": end < total,
        "hasPreviousPage": after > 0,
        "endCursor": end.to_string(),
        "startCursor": after.to_string(),
    });
    connection.insert("pageInfo".to_owned(), page);
    Value::Object(connection)
}
