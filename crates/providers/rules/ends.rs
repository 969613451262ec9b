//! `api-version-ends`, where a set brings the release with which an API version ends, and its definitions are not at hand.
//! Where they are, `provider-api-in-use` reads them.

use std::collections::{BTreeMap, BTreeSet};

use capstan_kustomize::conversion::served_until;
use capstan_kustomize::render::PlacedValue;
use capstan_model::finding::{Finding, Place, rules};
use capstan_model::object::{FieldPath, api_group};
use capstan_model::version::ReleaseVersion;
use capstan_model::wording::count;

use super::case::{RuleCase, named, parsed};
use super::in_use::{defined, id_of};
use crate::state::SetMember;

pub(super) fn judge(case: &RuleCase<'_>, findings: &mut Vec<Finding>) {
    let defined = defined(case);
    let mut uses: BTreeMap<(&str, String), (&SetMember, Vec<&PlacedValue>)> = BTreeMap::new();
    for object in &case.facts.objects {
        let text = |key: &str| object.text_at(&[key]).unwrap_or_default();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        let Some(until) = served_until(kind, api_version) else { continue };
        let ended = |member: &&SetMember| {
            let release = ReleaseVersion::parse(until.release);
            member.label() == until.provider
                && parsed(member).zip(release).is_some_and(|(own, first)| own >= first)
        };
        if defined.contains_key(&(api_group(api_version), kind)) {
            continue;
        }
        if let Some(member) = case.after.members.iter().find(ended) {
            uses.entry((api_version, member.label())).or_insert((member, Vec::new())).1.push(object);
        }
    }
    for ((api_version, _), (member, objects)) in uses {
        let place = |object: &PlacedValue| Place::from(&object.field("apiVersion").unwrap_or(object).place);
        let places: Vec<Place> = objects.iter().map(|object| place(object)).collect();
        let files: BTreeSet<_> = places.iter().map(Place::file).collect();
        let Some((first, place)) = objects.first().zip(places.first()) else { continue };
        let message = format!(
            "{} no longer serves {api_version}, which {} (the first one here): migrate them before, with `capstan migrate`",
            named(member),
            count(files.len(), "file uses", "files use")
        );
        let finding = Finding::new(rules::API_VERSION_ENDS, message).object(&id_of(first));
        findings.push(finding.path(&FieldPath::root().key("apiVersion")).place(place.clone()));
    }
}
