//! The GraphQL API, as far as Capstan uses it: pull requests beyond what REST tells, and the mutations that REST
//! has not, above all `updateRefs`, which moves references only from where the caller believes them to be.

mod document;
mod mutations;
mod nodes;

use serde_json::{Map, Value, json};

use super::call::Call;
use super::error::ApiError;
use document::{Document, Field, Selection};

/// An error inside an answer of status 200.
#[derive(Debug)]
pub(super) struct GraphQlError {
    kind: &'static str,
    message: String,
}

impl GraphQlError {
    fn new(kind: &'static str, message: impl Into<String>) -> GraphQlError {
        GraphQlError { kind, message: message.into() }
    }
}

impl From<ApiError> for GraphQlError {
    fn from(error: ApiError) -> GraphQlError {
        let kind = match error.status {
            404 => "NOT_FOUND",
            401 | 403 => "FORBIDDEN",
            _ => "UNPROCESSABLE",
        };
        GraphQlError::new(kind, error.message)
    }
}

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

/// The fields selected on an object of a type, fragments resolved.
fn fields<'a>(document: &'a Document, selections: &'a [Selection], on: &str) -> Vec<&'a Field> {
    let mut found = Vec::new();
    for selection in selections {
        match selection {
            Selection::Field(field) => found.push(field),
            Selection::Inline(condition, inner) => {
                if condition.as_deref().is_none_or(|condition| applies(condition, on)) {
                    found.extend(fields(document, inner, on));
                }
            }
            Selection::Spread(name) => {
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
fn project(document: &Document, field: &Field, value: Value) -> Result<Value, GraphQlError> {
    match value {
        Value::Array(items) => {
            items.into_iter().map(|item| project(document, field, item)).collect::<Result<_, _>>()
        }
        Value::Object(mut object) => {
            let on = object.get("__typename").and_then(Value::as_str).unwrap_or_default().to_owned();
            let mut chosen = Map::new();
            for inner in fields(document, &field.selections, &on) {
                let value = object.get(&inner.name).cloned().ok_or_else(|| {
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

/// Applies what connections have for arguments: filters by state and branch, `first` and `last`, one by number or
/// name.
fn narrow(field: &Field, value: Value) -> Value {
    let argument = |name: &str| field.arguments.get(name).filter(|value| !value.is_null());
    let Value::Object(mut connection) = value else { return value };
    // A look-up such as pullRequest(number: 3) is prepared as a map from key to object.
    if let Some(found) = connection.remove("__by") {
        let key = ["number", "qualifiedName", "expression", "oid"].iter().find_map(|name| argument(name));
        let key = key.map(|key| key.as_str().map_or_else(|| key.to_string(), str::to_owned));
        return key.and_then(|key| found.get(&key).cloned()).unwrap_or(Value::Null);
    }
    let Some(Value::Array(mut nodes)) = connection.remove("nodes") else { return Value::Object(connection) };
    if let Some(states) = argument("states") {
        let states = states.as_array().cloned().unwrap_or_else(|| vec![states.clone()]);
        nodes.retain(|node| states.contains(&node["state"]));
    }
    for name in ["headRefName", "baseRefName"] {
        if let Some(wanted) = argument(name) {
            nodes.retain(|node| &node[name] == wanted);
        }
    }
    let total = nodes.len();
    let after = argument("after").and_then(|cursor| cursor.as_str()?.parse::<usize>().ok()).unwrap_or(0);
    let count = |name: &str| argument(name).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
    let kept: Vec<Value> = match (count("first"), count("last")) {
        (Some(first), _) => nodes.into_iter().skip(after).take(first).collect(),
        (None, Some(last)) => nodes.split_off(total.saturating_sub(last)),
        _ => nodes,
    };
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
