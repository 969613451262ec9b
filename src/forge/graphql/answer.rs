//! Answers to queries and mutations.

use serde_json::{Map, Value, json};

use super::project::{fields, project};
use super::{document, mutations, nodes};
use crate::api::Call;

/// Answers a query or mutation: always status 200 once the caller is known.
pub(crate) fn answer(call: &mut Call<'_>) -> Value {
    let text = call.body["query"].as_str().unwrap_or_default().to_owned();
    let variables = match &call.body["variables"] {
        Value::Object(variables) => Value::Object(variables.clone()),
        _ => json!({}),
    };
    let document = match document::parse(&text, &variables) {
        Ok(document) => document,
        Err(message) => return json!({"errors": [{"message": message}]}),
    };
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
