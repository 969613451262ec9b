//! Whether two `kubeadmConfigSpec` mean the same machine, as the control plane's controller compares them.

use super::facts::KUBEADM_IGNORED;
use super::pointer::{PointerTarget, is_below};
use capstan_yaml::Value;

/// What differs, and which machines it concerns.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Differences {
    /// JSON Pointers of fields that replace machines.
    pub(super) rolls: Vec<String>,
    /// Fields that concern only the machine that `kubeadm init` made, if it still lives: the others joined,
    /// and are compared with `joinConfiguration`.
    pub(super) first_machine_only: Vec<String>,
}

/// The leaves that differ below `pointer`.
///
/// Empty maps and lists equal absent ones, and `extraArgs` as a map (v1beta1) equal those as a list of
/// `{name, value}` (v1beta2): what the conversion between the versions does replaces nothing.
pub(super) fn differences(before: &Value, after: &Value, pointer: &str) -> Differences {
    let mut leaves = Vec::new();
    walk(before.at(pointer), after.at(pointer), "", &mut leaves);
    let mut found = Differences::default();
    for leaf in leaves {
        if KUBEADM_IGNORED.iter().any(|ignored| is_below(&leaf, ignored)) {
            continue;
        }
        let path = format!("{pointer}{leaf}");
        if is_below(&leaf, "/initConfiguration") {
            found.first_machine_only.push(path);
        } else {
            found.rolls.push(path);
        }
    }
    found
}

fn walk(before: Option<&Value>, after: Option<&Value>, path: &str, leaves: &mut Vec<String>) {
    let (one, other) = (before.filter(|value| !is_empty(value)), after.filter(|value| !is_empty(value)));
    match (one, other) {
        (None, None) => {}
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            let keys = one.keys().chain(other.keys().filter(|key| !one.contains_key(*key)));
            for key in keys {
                let escaped = key.replace('~', "~0").replace('/', "~1");
                walk(one.get(key), other.get(key), &format!("{path}/{escaped}"), leaves);
            }
        }
        (Some(one), Some(other)) if one == other || same_arguments(one, other) => {}
        // A part that comes or goes is compared field by field, so that ignored fields are left out.
        (Some(Value::Object(map)), None) | (None, Some(Value::Object(map))) => {
            for (key, value) in map {
                let escaped = key.replace('~', "~0").replace('/', "~1");
                let path = format!("{path}/{escaped}");
                match one {
                    Some(_) => walk(Some(value), None, &path, leaves),
                    None => walk(None, Some(value), &path, leaves),
                }
            }
        }
        _ => leaves.push(path.to_owned()),
    }
}

/// Whether a value says nothing: what Go reads from it is what it reads from an absent one.
pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(map) => map.values().all(is_empty),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// A map of arguments and a list of them.
fn same_arguments(one: &Value, other: &Value) -> bool {
    let (map, list) = match (one, other) {
        (Value::Object(map), Value::Array(list)) | (Value::Array(list), Value::Object(map)) => (map, list),
        _ => return false,
    };
    map.len() == list.len()
        && list.iter().all(|item| {
            let name = item.get("name").and_then(Value::as_str);
            name.is_some_and(|name| map.get(name) == item.get("value"))
        })
}
