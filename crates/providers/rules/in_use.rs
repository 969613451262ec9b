//! `provider-api-in-use`, of the repository's files.

use std::collections::BTreeMap;

use capstan_kustomize::render::PlacedValue;
use capstan_model::finding::{Finding, Place, rules};
use capstan_model::object::{FieldPath, ObjectId, api_group};

use super::case::{RuleCase, named};
use crate::definitions::{Certainty, CrdDefinition, misfits, served};
use crate::state::{RenderedSet, SetMember};

/// Places of one problem that are listed; the last one says how many more there are.
const MOST_LISTED: usize = 10;

/// A kind as the set defines it, before and after.
pub(super) struct Defined<'c> {
    pub(super) member: &'c SetMember,
    pub(super) before: Option<CrdDefinition<'c>>,
    pub(super) after: CrdDefinition<'c>,
}

/// What goes wrong with a version or a field of a kind: definition, version, node of the schema, what.
type VersionProblem = (String, String, String, String);

struct VersionUse {
    place: Place,
    object: ObjectId,
    path: FieldPath,
    message: String,
    certainty: Certainty,
}

/// The definitions of the set, by group and kind.
pub(super) fn defined<'c>(case: &RuleCase<'c>) -> BTreeMap<(&'c str, &'c str), Defined<'c>> {
    let before: BTreeMap<&str, CrdDefinition<'c>> = case
        .before
        .into_iter()
        .flat_map(definitions)
        .map(|(_, definition)| (definition.name, definition))
        .collect();
    let defined = |(member, after): (&'c SetMember, CrdDefinition<'c>)| {
        let before = before.get(after.name).cloned();
        ((after.group, after.kind), Defined { member, before, after })
    };
    definitions(case.after).map(defined).collect()
}

/// Every definition of a set, with its provider.
pub(super) fn definitions(set: &RenderedSet) -> impl Iterator<Item = (&SetMember, CrdDefinition<'_>)> {
    set.members.iter().flat_map(|member| {
        let objects = member.rendered().into_iter().flat_map(|rendered| &rendered.objects);
        objects.filter_map(CrdDefinition::read).map(move |definition| (member, definition))
    })
}

pub(super) fn judge(case: &RuleCase<'_>, findings: &mut Vec<Finding>) {
    if case.facts.objects.is_empty() {
        return;
    }
    let defined = defined(case);
    let mut troubles: BTreeMap<VersionProblem, Vec<VersionUse>> = BTreeMap::new();
    for object in &case.facts.objects {
        let text = |keys: &[&str]| object.text_at(keys).unwrap_or_default();
        let (api_version, kind) = (text(&["apiVersion"]), text(&["kind"]));
        let Some(defined) = defined.get(&(api_group(api_version), kind)) else { continue };
        let version = api_version.rsplit_once('/').map_or(api_version, |(_, version)| version);
        judge_object(object, version, defined, &mut troubles);
    }
    for ((..), uses) in troubles {
        let more = uses.len().saturating_sub(MOST_LISTED);
        for (at, use_) in uses.into_iter().take(MOST_LISTED).enumerate() {
            let tail = if more > 0 && at + 1 == MOST_LISTED {
                format!("; {more} more do the same")
            } else {
                String::new()
            };
            let finding = Finding::new(rules::PROVIDER_API_IN_USE, format!("{}{tail}", use_.message))
                .object(&use_.object)
                .path(&use_.path)
                .place(use_.place);
            findings.push(match use_.certainty {
                Certainty::Certain => finding,
                Certainty::May => finding.warning(),
            });
        }
    }
}

fn judge_object(
    object: &PlacedValue,
    version: &str,
    defined: &Defined<'_>,
    troubles: &mut BTreeMap<VersionProblem, Vec<VersionUse>>,
) {
    let id = id_of(object);
    let brings = named(defined.member);
    let mut add = |node: String, what: String, use_: VersionUse| {
        let trouble = (defined.after.name.to_owned(), version.to_owned(), node, what);
        troubles.entry(trouble).or_default().push(use_);
    };
    let new = defined.after.version(version);
    let Some(new) = new.filter(|new| new.served) else {
        let field = object.field("apiVersion").unwrap_or(object);
        let message = format!(
            "{id} uses {version} of {}, which {brings} does not serve: write it in {}",
            defined.after.name,
            served(&defined.after)
        );
        let path = FieldPath::root().key("apiVersion");
        let place = Place::from(&field.place);
        add(
            String::new(),
            String::new(),
            VersionUse { place, object: id, path, message, certainty: Certainty::Certain },
        );
        return;
    };
    let Some(old) = defined.before.as_ref().and_then(|before| before.version(version)) else { return };
    for misfit in misfits(old.schema, new.schema, object) {
        let field = if misfit.node.is_empty() { "it".to_owned() } else { format!("`{}`", misfit.node) };
        let message = format!("{id} says {field}, and with {brings} {}", misfit.what);
        let place = Place::from(misfit.written);
        let use_ =
            VersionUse { place, object: id.clone(), path: misfit.path, message, certainty: misfit.certainty };
        add(misfit.node, misfit.what, use_);
    }
}

pub(super) fn id_of(object: &PlacedValue) -> ObjectId {
    let text = |keys: &[&str]| object.text_at(keys).unwrap_or_default();
    let namespace = text(&["metadata", "namespace"]);
    ObjectId {
        group: api_group(text(&["apiVersion"])).to_owned(),
        kind: text(&["kind"]).to_owned(),
        namespace: (!namespace.is_empty()).then(|| namespace.to_owned()),
        name: text(&["metadata", "name"]).to_owned(),
    }
}
