//! What a plan says of variables: two values for one, none for one that is needed ([U3]).
//!
//! [U3]: crate::substitution#u3

use std::collections::BTreeSet;

use super::context::Context;
use super::redact::{hide_in, redact};
use super::request::OldSource;
use super::said::UpgradeReport;
use crate::merge::ReleaseSource;
use crate::merge::cluster_merge::{ClusterMerge, NewObject};
use crate::merge::decision::MergeDecision;
use crate::substitution::{BoundValue, Missing, SubstitutionError, expressions};
use capstan_model::finding::{Finding, Place, RuleEntry, rules};
use capstan_model::object::{FieldPath, ObjectId};
use capstan_yaml::{Node, Value, flow_text};

/// Variables with two values: in the cluster's objects, and in what is written down for them.
pub(super) fn contradictions(context: Context<'_>, merge: &ClusterMerge, said: &mut UpgradeReport) {
    for (name, one, other) in &merge.contradictions {
        let message = format!(
            "${{{name}}} of the release is {} and {} in this cluster's objects, so neither binds it. Set it in `variables:` of the cluster's capstan.yaml, or give the release a variable for each.",
            shown(context, one),
            shown(context, other),
        );
        let rule = rules::VARIABLE_CONTRADICTION;
        let id = &context.base.objects[other.object].id;
        let finding = Finding::new(rule, message).place(context.base.place_before(other.object, other.at));
        said.findings.push(finding.object(id).path(&other.path));
    }
    say_disagreements(context, said);
}

fn shown(context: Context<'_>, found: &BoundValue) -> String {
    let id = &context.base.objects[found.object].id;
    let value =
        hide_in(context.base.node_before(found.object), &found.path, Value::from(found.value.as_str()));
    let value = match redact(id, &found.path, Some(&value)) {
        Value::String(text) => format!("`{text}`"),
        _ => "a secret value".to_owned(),
    };
    let line = context.base.place_before(found.object, found.at).without_column();
    format!("{value} at {line} ({})", found.path)
}

/// What is written down twice and differently: by two Kustomizations of Flux, by Flux and the
/// cluster's settings, by the settings for what is the release's.
fn say_disagreements(context: Context<'_>, said: &mut UpgradeReport) {
    let cluster = context.request.cluster;
    let used = used(context);
    let declared: Vec<(&String, &String)> =
        cluster.variables.iter().filter(|(name, _)| used.contains(*name)).collect();
    let mut findings = Vec::new();
    let mut say = |place: Place, message: String| {
        findings.push(Finding::new(rules::VARIABLE_CONTRADICTION, message).place(place));
    };
    for item in cluster.flux.disagreements().iter().filter(|item| used.contains(&item.name)) {
        let shown = |given: &crate::flux::PlacedVariable| {
            let value =
                given.text.as_ref().map_or_else(|| "a secret value".to_owned(), |text| format!("`{text}`"));
            format!("{value} by {given}")
        };
        let message = format!(
            "Flux gives ${{{}}} two values for this cluster: {} and {}. Neither binds it.",
            item.name,
            shown(&item.one),
            shown(&item.other),
        );
        say(item.other.place.clone(), message);
    }
    for (name, value) in declared {
        let place = declaration(context, name);
        if context.request.new.documents().variables.get(name).is_some_and(|own| own != value) {
            let message = format!(
                "`variables:` gives ${{{name}}} a value, but the release {} declares it and its value wins. Remove it here.",
                context.request.new.id(),
            );
            say(place, message);
        } else if let Some(given) = cluster.flux.given(name)
            && given.text.as_ref().is_some_and(|text| text != value)
        {
            let message = format!(
                "${{{name}}} is `{value}` here and `{}` in {given}, which Flux substitutes. Upgrades use `variables:`: make them equal, or remove it here.",
                given.text.as_deref().unwrap_or_default(),
            );
            say(place, message);
        }
    }
    said.findings.extend(findings);
}

/// Names of the variables that the releases have.
fn used(context: Context<'_>) -> BTreeSet<String> {
    let mut used = BTreeSet::new();
    let old = match context.request.old {
        OldSource::Known(source) => Some(source.documents()),
        _ => None,
    };
    let mut add = |source: &ReleaseSource| {
        let templated = source.all_pieces().filter(|piece| piece.templated);
        templated.for_each(|piece| expressions(&piece.root, &mut used));
    };
    old.into_iter().chain([context.request.new.documents()]).for_each(&mut add);
    used
}

/// Where `variables:` names a variable.
fn declaration(context: Context<'_>, name: &str) -> Place {
    let cluster = context.request.cluster;
    let Some(record) = &cluster.record else { return Place::whole(cluster.id.folder().clone()) };
    let position = record.read().ok().and_then(|file| {
        let entry = file.documents().iter().find_map(|document| {
            let entry = document.root.get("variables")?.entry(name)?;
            Some(entry.key_span.start)
        });
        entry.map(|at| file.position(at))
    });
    Place::maybe_at(record.path.clone(), position)
}

/// The release's value for a field of the cluster has an expression without a value.
pub(super) fn without_value(
    context: Context<'_>,
    object: usize,
    decision: &MergeDecision,
    missing: &Missing,
    said: &mut UpgradeReport,
) {
    let id = context.base.objects[object].id.clone();
    let path: FieldPath = decision.path.steps().iter().chain(missing.below.steps()).cloned().collect();
    let stands = decision.cluster.as_ref().and_then(|node| node.at(&missing.below));
    let begins = decision.at.unwrap_or(context.base.node(object).span.start);
    let at = stands.filter(|_| !missing.below.is_root()).map_or(begins, |node| node.span.start);
    let text = stands.map(|node| node.as_scalar().map_or_else(|| flow_text(node), |own| own.text.clone()));
    let is_secret = stands.map(Node::value).is_some_and(|own| {
        let shown = hide_in(context.base.node(object), &path, own.clone());
        redact(&id, &path, Some(&shown)) != own
    });
    let here = match &text {
        Some(_) if is_secret => "there is a secret value here".to_owned(),
        Some(text) if text.len() <= LONGEST_SHOWN => format!("`{text}` is here"),
        Some(_) => "there is a longer text here".to_owned(),
        None => "there is nothing here yet".to_owned(),
    };
    let proposed = text.filter(|_| !is_secret).and_then(|text| missing.proposed(&text));
    let verdict = trouble(context, &missing.trouble, &here, proposed.as_deref());
    say(verdict, context.base.place(object, at), &id, &path, said);
}

/// A new object of the release has an expression without a value.
pub(super) fn new_without_value(
    context: Context<'_>,
    new: &NewObject,
    place: &Place,
    missing: &Missing,
    said: &mut UpgradeReport,
) {
    let here = format!("{} is new", new.id);
    let verdict = trouble(context, &missing.trouble, &here, None);
    say(verdict, place.clone().at_first_column(), &new.id, &missing.below, said);
}

fn say(
    verdict: MissingValueVerdict,
    place: Place,
    id: &ObjectId,
    path: &FieldPath,
    said: &mut UpgradeReport,
) {
    let MissingValueVerdict { rule, message, blocks } = verdict;
    let finding = Finding::new(rule, message).place(place).object(id).path(path);
    match blocks {
        Some(sentence) if !said.blocked.contains(&sentence) => said.block(finding, sentence),
        Some(sentence) => said.findings.push(finding.stopping(&sentence)),
        None => said.findings.push(finding),
    }
}

/// The verdict on an expression without a value, which would replace what is `here`. It comes in as the release writes
/// it where the tool that applies the cluster knows it; else it blocks.
fn trouble(
    context: Context<'_>,
    trouble: &SubstitutionError,
    here: &str,
    proposed: Option<&str>,
) -> MissingValueVerdict {
    match trouble {
        SubstitutionError::Unbound(name) => MissingValueVerdict {
            rule: rules::UNBOUND_VARIABLE,
            message: format!(
                "The release's ${{{name}}} has no value for this cluster, and {here}: a variable without a value replaces nothing. {} Literal text is written `$${{{name}}}` in the release.",
                line_to_add(context, name, proposed)
            ),
            blocks: Some(format!("The release's ${{{name}}} has no value for this cluster.")),
        },
        SubstitutionError::Secret(name) => {
            let given = context.request.cluster.flux.given(name);
            let from = given.map_or_else(String::new, |given| {
                format!(" ({}, {})", given.by, given.place.clone().without_column())
            });
            let message = format!(
                "The release's ${{{name}}} stays as it is: Flux takes its value from a secret{from}, which Capstan never reads, and substitutes it for this cluster. Other tools do not."
            );
            MissingValueVerdict { rule: rules::SECRET_VARIABLE, message, blocks: None }
        }
        SubstitutionError::NotGiven(name) => MissingValueVerdict {
            rule: rules::UNBOUND_VARIABLE,
            message: format!(
                "The release's ${{{name}}} would stay in this file for Flux to substitute, but neither `substitute` nor `substituteFrom` of its Kustomization gives it a value, so it becomes empty. Add it there first."
            ),
            blocks: Some(format!("Flux has no value for the release's ${{{name}}}.")),
        },
        SubstitutionError::Unsupported(raw) => MissingValueVerdict {
            rule: rules::UNSUPPORTED_SUBSTITUTION,
            message: format!(
                "The release's `{raw}` is not an expression that Capstan can compute. Capstan understands ${{V}}, defaults (`:=`, `:-`, `=`), and the functions that clusterctl and Flux share (`,` `^` `:` `/` `#` `%`) with plain arguments; literal text is written `$${{…}}`."
            ),
            blocks: Some(format!("The release's `{raw}` is not an expression that Capstan can compute.")),
        },
    }
}

/// What to write, and where, so that a variable has a value.
fn line_to_add(context: Context<'_>, name: &str, proposed: Option<&str>) -> String {
    let value = proposed.map_or_else(|| "…".to_owned(), |value| Value::from(value).to_string());
    let cluster = context.request.cluster;
    let has_variables = cluster.record.as_ref().and_then(|record| {
        let file = record.read().ok()?;
        let documents = file.documents();
        Some(documents.iter().any(|document| document.root.get("variables").is_some()))
    });
    let file = cluster
        .record
        .as_ref()
        .map_or_else(|| format!("{}/capstan.yaml", cluster.id.folder()), |record| record.path.to_string());
    if has_variables == Some(true) {
        format!("Add `{name}: {value}` under `variables:` in {file}.")
    } else {
        format!("Add `variables: {{{name}: {value}}}` to {file}.")
    }
}

/// What is said of an expression without a value.
struct MissingValueVerdict {
    rule: &'static RuleEntry,
    message: String,
    /// Why the upgrade blocks, where it does.
    blocks: Option<String>,
}

/// Longer texts are not shown in a message.
const LONGEST_SHOWN: usize = 80;
