//! Both sides of a case, and what may differ between them.

use std::collections::BTreeMap;

use capstan_model::tree::RepoPath;
use capstan_providers::{Inputs, ProviderSet, VariableValues, render};
use capstan_test_support::Files;
use serde_json::{Value, json};

use super::operator::Operator;

/// What Capstan refuses and the operator takes, on purpose, by words of the message: the rows of `docs/providers.md`,
/// "Where it differs from the operator".
const MEANT: &[&str] = &[
    // A value of a variable must end up inside one scalar, or one comment.
    "does not fit into one scalar",
    // Labels or annotations that are not texts: the operator drops all of the object's labels there.
    "must be a mapping of texts",
    // One object twice is applied twice.
    "it is twice among the components",
];

/// A provider object, and the ConfigMaps and Secrets of its namespace.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) provider: Value,
    pub(crate) objects: Vec<Value>,
}

/// What a case came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Came {
    /// The same objects.
    Same,
    /// Both refuse; in the operator's words.
    Refused(String),
    /// Capstan alone refuses, on purpose.
    Meant,
}

/// What Capstan makes of a case: version, contract, objects.
pub(crate) fn ours(case: &Case) -> Result<(String, String, Vec<Value>), String> {
    let texts: Vec<(String, String)> = [&case.provider]
        .into_iter()
        .chain(&case.objects)
        .enumerate()
        .map(|(at, object)| (format!("set/{at}.json"), object.to_string()))
        .collect();
    let tree = Files::from_bytes(texts.into_iter().map(|(path, text)| (path, text.into_bytes())));
    let set = ProviderSet::read(&tree, &RepoPath::parse("set").unwrap())
        .map_err(|refused| refused.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
    let variables = VariableValues::default();
    let inputs = Inputs { tree: &tree, set: &set, variables: &variables, configuration: None };
    let rendered = render(&set.providers()[0], inputs).map_err(|refusal| refusal.to_string())?;
    Ok((rendered.version, rendered.contract, rendered.objects))
}

/// Holds both sides against each other.
pub(crate) fn compare(operator: &mut Operator, case: &Case) -> Result<Came, String> {
    let theirs = operator.render(&case.provider, &case.objects);
    let (ours, theirs) = match (ours(case), theirs) {
        (Ok(ours), Ok(theirs)) => (ours, theirs),
        (Err(_), Err(theirs)) => return Ok(Came::Refused(theirs)),
        (Err(ours), Ok(_)) if MEANT.iter().any(|meant| ours.contains(meant)) => return Ok(Came::Meant),
        (Err(ours), Ok(_)) => return Err(format!("Capstan alone refuses: {ours}")),
        (Ok(_), Err(theirs)) => return Err(format!("the operator alone refuses: {theirs}")),
    };
    let (version, contract, ours) = ours;
    if (json!(version), json!(contract)) != (theirs["version"].clone(), theirs["contract"].clone()) {
        return Err(format!("{version} {contract}, and there {} {}", theirs["version"], theirs["contract"]));
    }
    let theirs = theirs["objects"].as_array().cloned().unwrap_or_default();
    let ours = operator.typed(&ours).map_err(|error| format!("Capstan's objects: {error}"))?;
    let theirs = operator.typed(&theirs).map_err(|error| format!("the operator's objects: {error}"))?;
    let multiple = has_unordered_arguments(&case.provider["spec"]);
    order(&ours, &theirs)?;
    let (ours, theirs) = (by_name(ours, multiple), by_name(theirs, multiple));
    for (name, object) in &ours {
        match theirs.get(name) {
            None => return Err(format!("the operator makes no {name}")),
            Some(other) if other != object => {
                let mut found = Vec::new();
                differences(object, other, "", &mut found);
                return Err(format!("{name}:\n{}", found.join("\n")));
            }
            Some(_) => {}
        }
    }
    match theirs.keys().find(|name| !ours.contains_key(*name)) {
        Some(name) => Err(format!("Capstan makes no {name}")),
        None => Ok(Came::Same),
    }
}

fn name(object: &Value) -> String {
    let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
    format!(
        "{} {} {}/{}",
        text("/apiVersion"),
        text("/kind"),
        text("/metadata/namespace"),
        text("/metadata/name")
    )
}

/// cert-manager's come first; there they have no certain order among each other.
fn order(ours: &[Value], theirs: &[Value]) -> Result<(), String> {
    let split = |objects: &[Value]| {
        let is_cert = |name: &String| name.starts_with("cert-manager.io/");
        let names: Vec<String> = objects.iter().map(name).collect();
        let count = names.iter().take_while(|name| is_cert(name)).count();
        let mut first = names[..count].to_vec();
        first.sort();
        (first, names[count..].to_vec())
    };
    let (ours, theirs) = (split(ours), split(theirs));
    if ours == theirs { Ok(()) } else { Err(format!("another order: {ours:?}, and there {theirs:?}")) }
}

/// Whether the operator appends arguments out of a map with several keys, so in random order.
fn has_unordered_arguments(spec: &Value) -> bool {
    match spec {
        Value::Object(fields) => fields.iter().any(|(key, value)| {
            let is_map = ["args", "additionalArgs", "groupKindConcurrency"].contains(&key.as_str());
            (is_map && value.as_object().is_some_and(|map| map.len() > 1)) || has_unordered_arguments(value)
        }),
        Value::Array(values) => values.iter().any(has_unordered_arguments),
        _ => false,
    }
}

fn by_name(objects: Vec<Value>, sorted: bool) -> BTreeMap<String, Value> {
    let with_order = |mut object: Value| {
        let containers = object.pointer_mut("/spec/template/spec/containers").and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten().filter(|_| sorted) {
            if let Some(arguments) = container.get_mut("args").and_then(Value::as_array_mut) {
                arguments.sort_by_key(ToString::to_string);
            }
        }
        object
    };
    objects.into_iter().map(|object| (name(&object), with_order(object))).collect()
}

/// Where two values differ, a line each.
fn differences(ours: &Value, theirs: &Value, path: &str, found: &mut Vec<String>) {
    match (ours, theirs) {
        (Value::Object(a), Value::Object(b)) => {
            let mut keys: Vec<&String> = a.keys().chain(b.keys()).collect();
            keys.sort();
            keys.dedup();
            for key in keys {
                let of = |map: &serde_json::Map<String, Value>| map.get(key).cloned().unwrap_or(Value::Null);
                differences(&of(a), &of(b), &format!("{path}/{key}"), found);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (at, (a, b)) in a.iter().zip(b).enumerate() {
                differences(a, b, &format!("{path}/{at}"), found);
            }
        }
        _ if ours != theirs => found.push(format!("  {path}: {ours}, and there {theirs}")),
        _ => {}
    }
}
