//! One operation of a JSON patch (RFC 6902) on a template.

use serde_json::json;

use super::value::{is_uncomputed, uncomputed};
use capstan_yaml::Value;

/// What an operation does at its path.
#[derive(Debug, Clone)]
pub(super) enum ClassPatchOperation {
    Add(Value),
    Replace(Value),
    Remove,
    /// Whether it is done at all is not computed, or what.
    Uncertain(Value),
}

impl ClassPatchOperation {
    /// All that it means, as one value.
    pub(super) fn as_value(&self) -> Value {
        match self {
            Self::Add(value) => json!(["add", value]),
            Self::Replace(value) => json!(["replace", value]),
            Self::Remove => json!(["remove"]),
            Self::Uncertain(value) => json!(["uncertain", value]),
        }
    }
}

/// An operation that cannot be done to this document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RefusedPatch;

/// Longer paths lead nowhere in any template.
const LONGEST: usize = 64;

/// Does it. Parents that are missing are made: in the live template the API server may have defaulted them.
pub(super) fn apply(
    document: &mut Value,
    path: &str,
    operation: &ClassPatchOperation,
) -> Result<(), RefusedPatch> {
    let steps: Vec<String> = match path.strip_prefix('/') {
        Some(rest) => rest.split('/').map(|step| step.replace("~1", "/").replace("~0", "~")).collect(),
        None => return Err(RefusedPatch),
    };
    if steps.len() > LONGEST {
        return Err(RefusedPatch);
    }
    let (last, parents) = steps.split_last().ok_or(RefusedPatch)?;
    let mut parent = document;
    for (at, step) in parents.iter().enumerate() {
        if is_uncomputed(parent) {
            break;
        }
        parent = child(parent, step, steps.get(at + 1).unwrap_or(last), operation)?;
    }
    if is_uncomputed(parent) {
        *parent = uncomputed(&json!([parent, path, operation.as_value()]));
        return Ok(());
    }
    write(parent, last, operation)
}

/// What a step leads to, made where it is missing.
fn child<'d>(
    parent: &'d mut Value,
    step: &str,
    next: &str,
    operation: &ClassPatchOperation,
) -> Result<&'d mut Value, RefusedPatch> {
    if parent.is_null() {
        *parent = json!({});
    }
    match parent {
        Value::Object(map) => {
            let found = map.entry(step).or_insert(Value::Null);
            if found.is_null() && !matches!(operation, ClassPatchOperation::Remove) {
                *found = if is_index(next) { json!([]) } else { json!({}) };
            }
            Ok(found)
        }
        Value::Array(items) => {
            items.get_mut(step.parse::<usize>().map_err(|_| RefusedPatch)?).ok_or(RefusedPatch)
        }
        _ => Err(RefusedPatch),
    }
}

fn is_index(step: &str) -> bool {
    step == "-" || step == "0"
}

fn write(parent: &mut Value, step: &str, operation: &ClassPatchOperation) -> Result<(), RefusedPatch> {
    if let (Value::Array(_), ClassPatchOperation::Uncertain(value)) = (&*parent, operation) {
        // How many items there are is not known any more, nor which.
        *parent = uncomputed(&json!([parent, step, value]));
        return Ok(());
    }
    match parent {
        Value::Null if matches!(operation, ClassPatchOperation::Remove) => Ok(()),
        Value::Object(map) => {
            match operation {
                ClassPatchOperation::Add(value) | ClassPatchOperation::Replace(value) => {
                    map.insert(step.to_owned(), value.clone());
                }
                ClassPatchOperation::Remove => drop(map.remove(step)),
                ClassPatchOperation::Uncertain(value) => {
                    let was = map.get(step).cloned().unwrap_or(Value::Null);
                    map.insert(step.to_owned(), uncomputed(&json!([was, value])));
                }
            }
            Ok(())
        }
        Value::Array(items) => write_item(items, step, operation),
        _ => Err(RefusedPatch),
    }
}

fn write_item(
    items: &mut Vec<Value>,
    step: &str,
    operation: &ClassPatchOperation,
) -> Result<(), RefusedPatch> {
    let at = if step == "-" { items.len() } else { step.parse::<usize>().map_err(|_| RefusedPatch)? };
    match operation {
        ClassPatchOperation::Add(value) if at <= items.len() => items.insert(at, value.clone()),
        ClassPatchOperation::Replace(value) => *items.get_mut(at).ok_or(RefusedPatch)? = value.clone(),
        ClassPatchOperation::Remove if at < items.len() => drop(items.remove(at)),
        _ => return Err(RefusedPatch),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_as_the_standard_has_them_but_that_missing_parents_are_made() {
        let document = json!({"a": {"list": [1, 2]}, "text": "t"});
        let value = || json!(9);
        for (path, operation, expected) in [
            ("/a/b", ClassPatchOperation::Add(value()), json!({"a": {"list": [1, 2], "b": 9}, "text": "t"})),
            ("/a/list/1", ClassPatchOperation::Add(value()), json!({"a": {"list": [1, 9, 2]}, "text": "t"})),
            ("/a/list/-", ClassPatchOperation::Add(value()), json!({"a": {"list": [1, 2, 9]}, "text": "t"})),
            ("/a/list/0", ClassPatchOperation::Replace(value()), json!({"a": {"list": [9, 2]}, "text": "t"})),
            ("/a/list/0", ClassPatchOperation::Remove, json!({"a": {"list": [2]}, "text": "t"})),
            ("/text", ClassPatchOperation::Remove, json!({"a": {"list": [1, 2]}})),
            ("/gone", ClassPatchOperation::Remove, document.clone()),
            (
                "/n/x~1y/-",
                ClassPatchOperation::Add(value()),
                json!({"a": {"list": [1, 2]}, "text": "t", "n": {"x/y": [9]}}),
            ),
        ] {
            let mut is = document.clone();
            assert_eq!(apply(&mut is, path, &operation), Ok(()), "{path}");
            assert_eq!(is, expected, "{path} {operation:?}");
        }
        let deep = "/a".repeat(100);
        for (path, operation) in [
            ("/text/b", ClassPatchOperation::Add(value())),
            ("/a/list/7", ClassPatchOperation::Add(value())),
            ("/a/list/2", ClassPatchOperation::Replace(value())),
            ("/a/list/x", ClassPatchOperation::Remove),
            ("a", ClassPatchOperation::Remove),
            (deep.as_str(), ClassPatchOperation::Add(value())),
        ] {
            assert_eq!(apply(&mut document.clone(), path, &operation), Err(RefusedPatch), "{path}");
        }
    }

    #[test]
    fn what_is_uncertain_makes_its_place_uncertain_and_nothing_else() {
        let document = json!({"a": {"list": [1, 2], "b": 1}});
        let after = |path: &str| {
            let mut is = document.clone();
            assert_eq!(apply(&mut is, path, &ClassPatchOperation::Uncertain(json!(9))), Ok(()));
            is
        };
        let field = after("/a/b");
        assert!(is_uncomputed(&field["a"]["b"]) && field["a"]["list"] == json!([1, 2]));
        assert_eq!(field, after("/a/b"), "the same from the same");
        let item = after("/a/list/0");
        assert!(is_uncomputed(&item["a"]["list"]) && item["a"]["b"] == json!(1));
        // A value that is written below it depends on it.
        let mut below = item.clone();
        assert_eq!(apply(&mut below, "/a/list/0/c", &ClassPatchOperation::Add(json!(1))), Ok(()));
        assert!(is_uncomputed(&below["a"]["list"]) && below != item);
    }
}
