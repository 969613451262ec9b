//! A value before and after, and where the two differ.

use super::pointer::PointerTarget;
use capstan_yaml::Value;

/// A field of an object, before and after.
#[derive(Clone, Copy)]
pub(super) struct FieldPair<'v> {
    pub(super) before: &'v Value,
    pub(super) after: &'v Value,
}

impl FieldPair<'_> {
    pub(super) fn differs(self, pointer: &str) -> bool {
        some(self.before.at(pointer)) != some(self.after.at(pointer))
    }
}

/// Null is absent.
pub(super) fn some(value: Option<&Value>) -> Option<&Value> {
    value.filter(|value| !value.is_null())
}

/// The deepest fields that differ; null is absent.
pub(super) fn differing(before: Option<&Value>, after: Option<&Value>, path: &str, found: &mut Vec<String>) {
    match (some(before), some(after)) {
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            let keys = one.keys().chain(other.keys().filter(|key| !one.contains_key(*key)));
            for key in keys {
                let below = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
                differing(one.get(key), other.get(key), &below, found);
            }
        }
        (one, other) if one != other => found.push(path.to_owned()),
        _ => {}
    }
}
