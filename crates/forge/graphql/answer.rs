//! Answers to queries and mutations.

use serde_json::{Map, Value, json};

use super::document::{Document, GraphQlSelection, SelectedField};
use super::project::{fields, project};
use super::{document, mutations, nodes};
use crate::api::ForgeCall;

/// Answers a query or mutation: always status 200 once the caller is known.
pub(crate) fn answer(call: &mut ForgeCall<'_>) -> Value {
    let text = call.body["query"].as_str().unwrap_or_default().to_owned();
    let variables = match &call.body["variables"] {
        Value::Object(variables) => Value::Object(variables.clone()),
        _ => json!({}),
    };
    let document = match document::parse(&text, &variables) {
        Ok(document) => document,
        Err(message) => return json!({"errors": [{"message": message}]}),
    };
    if let Some(error) = lacking(call, &document) {
        return json!({"errors": [error]});
    }
    let mut data = Map::new();
    let mut errors = Vec::new();
    let root = if document.is_mutation { "Mutation" } else { "Query" };
    for field in fields(&document, &document.selections, root) {
        let value =
            if document.is_mutation { mutations::mutate(call, field) } else { nodes::query(call, field) };
        let projected = value.and_then(|value| project(&document, field, value));
        let value = projected.unwrap_or_else(|error| {
            errors.push(json!({"type": error.kind, "path": [field.key()], "message": error.message}));
            Value::Null
        });
        data.insert(field.key().to_owned(), value);
    }
    let mut answer = json!({"data": data});
    if !errors.is_empty() {
        answer["errors"] = Value::Array(errors);
    }
    answer
}

/// Fields of pull requests that an older GitHub Enterprise Server has not: each came with merge queues.
const WITH_MERGE_QUEUES: &[&str] =
    &["isInMergeQueue", "isMergeQueueEnabled", "mergeQueue", "mergeQueueEntry"];

/// What lets older servers take `updateRefs`.
const UPDATE_REFS_PREVIEW: &str = "application/vnd.github.update-refs-preview+json";

/// The error for the first field that the server has not, before anything is done.
fn lacking(call: &ForgeCall<'_>, document: &Document) -> Option<Value> {
    call.state.enterprise.as_ref()?;
    let mut selected = Vec::new();
    all_fields(&document.selections, &mut selected);
    document.fragments.values().for_each(|(_, selections)| all_fields(selections, &mut selected));
    let previews = call.accept.contains(UPDATE_REFS_PREVIEW);
    let (field, on) = selected.iter().find_map(|field| match field.name.as_str() {
        name if WITH_MERGE_QUEUES.contains(&name) => Some((name, "PullRequest")),
        name @ "updateRefs" if !previews => Some((name, "Mutation")),
        _ => None,
    })?;
    Some(json!({
        "path": [if document.is_mutation { "mutation" } else { "query" }, field],
        "extensions": {"code": "undefinedField", "typeName": on, "fieldName": field},
        "locations": [{"line": 1, "column": 1}],
        "message": format!("Field '{field}' doesn't exist on type '{on}'"),
    }))
}

fn all_fields<'a>(selections: &'a [GraphQlSelection], found: &mut Vec<&'a SelectedField>) {
    for selection in selections {
        match selection {
            GraphQlSelection::Field(field) => {
                found.push(field);
                all_fields(&field.selections, found);
            }
            GraphQlSelection::Inline(_, inner) => all_fields(inner, found),
            GraphQlSelection::Spread(_) => {}
        }
    }
}
