//! What must be true of every request that Capstan ever made, whatever died meanwhile.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use capstan_model::version::KubernetesVersion;
use serde_json::Value;

use capstan_test_parts::plane::audit::Request;

/// Where an object says its Kubernetes version.
const VERSIONS: [&str; 3] = ["/spec/version", "/spec/template/spec/version", "/spec/topology/version"];

fn is_capstans(request: &Request) -> bool {
    request.impersonated.is_some() && request.is_write() && request.code < 300
}

fn object(request: &Request) -> String {
    format!("{} {}/{}", request.resource, request.namespace, request.name)
}

/// No version below one that anybody had set before.
pub(super) fn lowered_versions(audit: &[Request]) -> Vec<String> {
    let mut highest: BTreeMap<String, KubernetesVersion> = BTreeMap::new();
    let mut found = Vec::new();
    for request in audit.iter().filter(|request| request.is_write() && request.code < 300) {
        let versions = VERSIONS.iter().filter_map(|path| request.body.pointer(path)?.as_str());
        for version in versions.filter_map(KubernetesVersion::parse) {
            let seen = highest.entry(object(request)).or_insert_with(|| version.clone());
            if is_capstans(request) && version.compare(seen) == Some(Ordering::Less) {
                found.push(format!("{} at {}: {version} after {seen}", request.words(), request.at));
            }
            if version.compare(seen) == Some(Ordering::Greater) {
                *seen = version;
            }
        }
    }
    found
}

/// No object that went back to a form it had had before another one.
pub(super) fn forms_that_came_back(audit: &[Request]) -> Vec<String> {
    let mut forms: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
    let mut found = Vec::new();
    let applied = audit.iter().filter(|request| {
        is_capstans(request) && request.verb == "patch" && request.group.ends_with("cluster.x-k8s.io")
    });
    for request in applied {
        let known = forms.entry(object(request)).or_default();
        if known.last() == Some(&&request.body) {
            continue;
        }
        if known.contains(&&request.body) {
            found.push(format!("{} at {}: a form that was replaced before", request.words(), request.at));
        }
        known.push(&request.body);
    }
    found
}
