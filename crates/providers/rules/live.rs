//! `provider-api-in-use`, for the objects of the management cluster: a version that a definition loses may
//! still be in `status.storedVersions`, where the API server refuses the definition, and in
//! `metadata.managedFields`, where it refuses to change the object
//! (<https://github.com/kubernetes-sigs/cluster-api/issues/10051>).

use std::collections::BTreeMap;

use capstan_model::finding::{Finding, rules};
use capstan_model::object::api_group;
use capstan_model::wording::{count, few, list};

use super::Migration;
use super::case::{RuleCase, found, named};
use super::in_use::{Defined, defined};

/// How many objects a message names.
const NAMED: usize = 3;

pub(super) fn judge(case: &RuleCase<'_>, findings: &mut Vec<Finding>) {
    let Some(live) = &case.facts.live else { return };
    let defined = defined(case);
    let after = match case.facts.migration {
        Migration::Nobody => "migrate it first",
        Migration::Capstan => "Capstan migrates it before it changes the definition",
    };
    let add = |findings: &mut Vec<Finding>, defined: &Defined<'_>, message: String| {
        let finding = found(rules::PROVIDER_API_IN_USE, defined.member, message);
        findings.push(match case.facts.migration {
            Migration::Nobody => finding,
            Migration::Capstan => finding.warning(),
        });
    };
    for one in defined.values() {
        let stored = live.stored_versions.get(one.after.name).into_iter().flatten();
        let lost: Vec<String> =
            stored.filter(|version| one.after.version(version).is_none()).cloned().collect();
        if !lost.is_empty() {
            let message = format!(
                "the management cluster has {} in `status.storedVersions` of {}, but {} no longer defines it, which an API server refuses: {after}",
                list(&lost),
                one.after.name,
                named(one.member)
            );
            add(findings, one, message);
        }
    }
    let mut held: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    for managed in &live.managed {
        let (group, kind) = (api_group(&managed.api_version), managed.object.kind.as_str());
        let version = managed.api_version.rsplit_once('/').map_or("", |(_, version)| version);
        let Some(one) = defined.get(&(group, kind)) else { continue };
        if one.after.version(version).is_none() {
            held.entry((one.after.name, version)).or_default().push(managed.object.to_string());
        }
    }
    for ((name, version), mut objects) in held {
        objects.sort();
        objects.dedup();
        let Some(one) = defined.values().find(|one| one.after.name == name) else { continue };
        let message = format!(
            "{} on the management cluster {} fields managed in {version} of {name} ({}), but {} no longer defines it, and then an API server refuses to change them: {after}",
            count(objects.len(), "object", "objects"),
            if objects.len() == 1 { "has" } else { "have" },
            few(&objects, NAMED, "more").join(", "),
            named(one.member)
        );
        add(findings, one, message);
    }
}

/// What only the management cluster knows, by label of the provider.
pub(super) fn unknown(case: &RuleCase<'_>) -> Vec<(String, String)> {
    if case.facts.live.is_some() {
        return Vec::new();
    }
    let mut lost: BTreeMap<String, (usize, Vec<String>)> = BTreeMap::new();
    for one in defined(case).values() {
        let versions = one.before.iter().flat_map(|before| &before.versions);
        let gone: Vec<&str> =
            versions.map(|version| version.name).filter(|name| one.after.version(name).is_none()).collect();
        if !gone.is_empty() {
            let (definitions, versions) = lost.entry(one.member.label()).or_default();
            *definitions += 1;
            versions.extend(gone.into_iter().map(str::to_owned));
        }
    }
    let words = |(label, (definitions, mut versions)): (String, (usize, Vec<String>))| {
        versions.sort();
        versions.dedup();
        let what = format!(
            "whether the management cluster still stores objects, or has fields managed, in {}, which {} no longer",
            list(&versions),
            count(definitions, "definition has", "definitions have")
        );
        (label, what)
    };
    lost.into_iter().map(words).collect()
}
