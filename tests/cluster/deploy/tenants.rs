//! Accounts of tenants have no right to write the status of Capstan's own kinds, because Capstan relies on it.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use capstan_test_parts::deployed::{deployed, documents, texts};

/// The API groups of Capstan's own kinds whose status Capstan believes, as far as it does.
const OWN: [&str; 2] = ["capstan.dev", "airship.airshipit.org"];
/// Accounts of Capstan itself; every other account belongs to a tenant.
const CAPSTANS: [&str; 2] = ["capstan", "capstan-providers"];

/// The files with this ending under a folder, folders included.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if path.extension().is_some_and(|held| held == ending) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// What a rule gives of the statuses of Capstan's own kinds, or of everything.
fn given(rule: &Value) -> Vec<String> {
    let groups = texts(&rule["apiGroups"]);
    let is_own = |group: &String| group == "*" || OWN.contains(&group.as_str());
    let is_status = |resource: &String| resource.contains('*') || resource.ends_with("/status");
    let resources = texts(&rule["resources"]).into_iter().filter(is_status);
    if groups.iter().any(is_own) { resources.collect() } else { Vec::new() }
}

#[test]
fn what_a_rule_gives_is_seen() {
    for (rule, gives) in [
        (serde_json::json!({"apiGroups": ["capstan.dev"], "resources": ["vaultsecrets"]}), 0),
        (serde_json::json!({"apiGroups": ["capstan.dev"], "resources": ["vaultsecrets/status"]}), 1),
        (serde_json::json!({"apiGroups": ["", "airship.airshipit.org"], "resources": ["*"]}), 1),
        (serde_json::json!({"apiGroups": ["*"], "resources": ["*/status"]}), 1),
        (serde_json::json!({"apiGroups": ["cluster.x-k8s.io"], "resources": ["*"]}), 0),
    ] {
        assert_eq!(given(&rule).len(), gives, "{rule}");
    }
}

/// Checks each Role and ClusterRole that is not bound to an account of Capstan, and every rule that the docs show.
#[test]
fn no_account_of_tenants_writes_the_status_of_a_kind_of_capstans() {
    let mut looked_at = Vec::new();
    let mut all = Vec::new();
    // Templates take the roles from these files.
    for path in
        files(&deployed(""), "yaml").into_iter().filter(|path| !path.starts_with(deployed("templates")))
    {
        let text = fs::read_to_string(&path).unwrap();
        if !text.contains("rbac.authorization.k8s.io") {
            continue;
        }
        all.extend(documents(&text).into_iter().map(|document| (path.clone(), document)));
    }
    let is_capstans = |role: &Value| {
        let binds = |(_, one): &&(PathBuf, Value)| {
            one["roleRef"]["name"] == role["metadata"]["name"] && one["roleRef"]["kind"] == role["kind"]
        };
        let bindings: Vec<&(PathBuf, Value)> = all.iter().filter(binds).collect();
        let subjects = bindings.iter().flat_map(|(_, one)| one["subjects"].as_array().into_iter().flatten());
        let is_own = |subject: &Value| CAPSTANS.iter().any(|own| subject["name"] == *own);
        !bindings.is_empty() && subjects.into_iter().all(is_own)
    };
    for (path, role) in &all {
        let kind = role["kind"].as_str().unwrap_or_default();
        if !["Role", "ClusterRole"].contains(&kind) || is_capstans(role) {
            continue;
        }
        let name = role["metadata"]["name"].as_str().unwrap().to_owned();
        for rule in role["rules"].as_array().into_iter().flatten() {
            assert_eq!(given(rule), [""; 0], "{} {kind} {name}: {rule}", path.display());
        }
        looked_at.push(name);
    }
    for name in ["capstan-applier", "capstan-hosts"] {
        assert!(looked_at.contains(&name.to_owned()), "{looked_at:?}");
    }
    let mut shown = 0;
    for path in files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("docs"), "md") {
        let text = fs::read_to_string(&path).unwrap();
        let blocks = text.split("```yaml").skip(1).filter_map(|rest| rest.split("```").next());
        for block in blocks.filter(|block| block.contains("apiGroups:")) {
            for document in block.split("\n---") {
                let Ok(read) = serde_saphyr::from_str::<Value>(document) else { continue };
                let rules = if read.is_array() { &read } else { &read["rules"] };
                for rule in rules.as_array().into_iter().flatten() {
                    shown += 1;
                    assert_eq!(given(rule), [""; 0], "{}: {rule}", path.display());
                }
            }
        }
    }
    assert!(shown > 0);
}
