//! Compares a management cluster that the operator installed with one that Capstan installed: every object without the
//! fields that servers fill in. The intended differences are listed by hand.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::installing::town::Town;

/// What is compared: by identity, without what servers make.
pub(super) type Objects = BTreeMap<String, Value>;

/// What providers bring, whatever it is.
const BROUGHT: &str = "deployments,services,serviceaccounts,roles,rolebindings,clusterroles,clusterrolebindings,\
                       mutatingwebhookconfigurations,validatingwebhookconfigurations,issuers,certificates,\
                       customresourcedefinitions,configmaps,secrets,namespaces";

/// All objects of the providers, the provider objects with their status, and the ConfigMaps and Secrets of their
/// namespaces.
pub(super) fn objects(town: &Town, namespaces: &[&str]) -> Objects {
    let list = |arguments: &[&str]| -> Vec<Value> {
        let text = town.plane.kubectl(&[&["get", "-o", "json"], arguments].concat());
        serde_json::from_str::<Value>(&text).unwrap()["items"].as_array().unwrap().clone()
    };
    let mut all = list(&[BROUGHT, "-A", "-l", "cluster.x-k8s.io/provider"]);
    for namespace in namespaces {
        all.extend(list(&["configmaps,secrets", "-n", namespace]));
    }
    all.extend(list(&[&town.kinds(), "-A"]));
    let mut found = Objects::new();
    for mut object in all {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (kind, namespace, name) = (text("/kind"), text("/metadata/namespace"), text("/metadata/name"));
        // The API server's own.
        if name == "kube-root-ca.crt" {
            continue;
        }
        let is_provider = text("/apiVersion").starts_with("operator.cluster.x-k8s.io");
        clean(&mut object);
        if is_provider {
            object["status"] = status(&object["status"]);
        } else {
            object.as_object_mut().unwrap().remove("status");
        }
        let text = object.to_string().replace(&town.stub.url, "https://stub").replace(&town.stub.ca, "CA");
        found.insert(format!("{kind} {namespace}/{name}"), serde_json::from_str(&text).unwrap());
    }
    found
}

/// Takes away what servers make: who made an object when, and addresses that are given out.
fn clean(object: &mut Value) {
    let metadata = object["metadata"].as_object_mut().unwrap();
    for key in ["uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"] {
        metadata.remove(key);
    }
    for owner in metadata.get_mut("ownerReferences").and_then(Value::as_array_mut).into_iter().flatten() {
        owner.as_object_mut().unwrap().remove("uid");
    }
    if object["kind"] == "Service" {
        object["spec"].as_object_mut().unwrap().retain(|key, _| !key.starts_with("clusterIP"));
    }
}

/// Contract, version and conditions by type. Times of conditions are not compared.
fn status(status: &Value) -> Value {
    let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
    let conditions: BTreeMap<String, Value> = conditions
        .into_iter()
        .map(|one| {
            let told =
                json!([one["status"], one["reason"], one.get("message").cloned().unwrap_or(json!(""))]);
            (one["type"].as_str().unwrap().to_owned(), told)
        })
        .collect();
    json!({"contract": status["contract"], "installedVersion": status["installedVersion"], "conditions": conditions})
}

/// One thing that is not the same: of which object, where in it, what the operator has and what Capstan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Difference {
    object: String,
    path: String,
    theirs: String,
    ours: String,
}

const ABSENT: &str = "-";

/// All that is not the same.
pub(super) fn differences(theirs: &Objects, ours: &Objects) -> Vec<Difference> {
    let mut found = Vec::new();
    let ids: BTreeSet<&String> = theirs.keys().chain(ours.keys()).collect();
    for id in ids {
        match (theirs.get(id), ours.get(id)) {
            (Some(theirs), Some(ours)) => compare(id, "", theirs, ours, &mut found),
            (theirs, ours) => {
                let is_there =
                    |there: Option<&Value>| if there.is_some() { "there" } else { ABSENT }.to_owned();
                let (theirs, ours) = (is_there(theirs), is_there(ours));
                found.push(Difference { object: id.clone(), path: String::new(), theirs, ours });
            }
        }
    }
    found
}

fn compare(object: &str, path: &str, theirs: &Value, ours: &Value, found: &mut Vec<Difference>) {
    match (theirs, ours) {
        (Value::Object(theirs), Value::Object(ours)) => {
            let keys: BTreeSet<&String> = theirs.keys().chain(ours.keys()).collect();
            for key in keys {
                let at =
                    |map: &serde_json::Map<String, Value>| map.get(key).cloned().unwrap_or(json!(ABSENT));
                compare(object, &format!("{path}/{key}"), &at(theirs), &at(ours), found);
            }
        }
        (Value::Array(theirs), Value::Array(ours)) if theirs.len() == ours.len() => {
            for (at, (theirs, ours)) in theirs.iter().zip(ours).enumerate() {
                compare(object, &format!("{path}/{at}"), theirs, ours, found);
            }
        }
        _ if theirs == ours => {}
        _ => {
            let told = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            found.push(Difference {
                object: object.to_owned(),
                path: path.to_owned(),
                theirs: told(theirs),
                ours: told(ours),
            });
        }
    }
}

/// An intended difference. `*` matches anything.
pub(super) struct Meant {
    pub(super) object: &'static str,
    pub(super) path: &'static str,
    pub(super) theirs: &'static str,
    pub(super) ours: &'static str,
}

/// An intended difference, written as a row.
pub(super) const fn meant(
    object: &'static str,
    path: &'static str,
    theirs: &'static str,
    ours: &'static str,
) -> Meant {
    Meant { object, path, theirs, ours }
}

impl Meant {
    fn is(&self, difference: &Difference) -> bool {
        fits(self.object, &difference.object)
            && fits(self.path, &difference.path)
            && fits(self.theirs, &difference.theirs)
            && fits(self.ours, &difference.ours)
    }
}

fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.len() >= last.len() && rest.ends_with(last)
}

/// Nothing differs but what is meant to, and all of that does; else what there is.
pub(super) fn held(what: &str, theirs: &Objects, ours: &Objects, meant: &[&[Meant]]) -> Result<(), String> {
    let found = differences(theirs, ours);
    let rows: Vec<&Meant> = meant.iter().copied().flatten().collect();
    let told = |one: &Difference| {
        let short = |text: &str| text.chars().take(400).collect::<String>();
        format!(
            "{} {}\n    operator: {}\n    Capstan:  {}",
            one.object,
            one.path,
            short(&one.theirs),
            short(&one.ours)
        )
    };
    let stray: Vec<String> =
        found.iter().filter(|one| !rows.iter().any(|row| row.is(one))).map(told).collect();
    let idle: Vec<String> = rows
        .iter()
        .filter(|row| !found.iter().any(|one| row.is(one)))
        .map(|row| format!("{} {}: {} | {}", row.object, row.path, row.theirs, row.ours))
        .collect();
    if !stray.is_empty() || !idle.is_empty() {
        return Err(format!(
            "{what}: {} of {} objects differ otherwise than is written down:\n{}\nand these rows fit nothing:\n{}",
            stray.len(),
            theirs.len().max(ours.len()),
            stray.join("\n"),
            idle.join("\n")
        ));
    }
    println!(
        "{what}: {} objects alike, {} differences, each written down",
        theirs.len().max(ours.len()),
        found.len()
    );
    Ok(())
}

#[test]
fn a_pattern_fits_what_it_says() {
    assert!(fits("Secret */*-cache", "Secret a/core-cluster-api-v1-cache"));
    assert!(!fits("Secret */*-cache", "Secret a/core"));
    assert!(fits("*", "") && fits("a", "a") && !fits("a", "ab"));
}
