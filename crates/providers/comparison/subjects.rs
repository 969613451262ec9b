//! Who gains and loses which rights, when the whole set is resolved.
//!
//! Providers of which one state is unknown are left out of both: what they bring, through aggregated roles too, would look
//! like a gain, or like none.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::rights::{RbacRight, RightsSubject, SubjectRights};
use crate::state::{RenderedSet, SetMember};

/// What a subject gains and loses.
#[derive(Debug, Clone)]
pub(crate) struct SubjectChange {
    pub(crate) subject: RightsSubject,
    pub(crate) gains: Vec<RbacRight>,
    pub(crate) loses: Vec<RbacRight>,
}

/// Every subject whose rights change, with the label of its provider.
pub(super) fn changes(before: &RenderedSet, after: &RenderedSet) -> Vec<(String, SubjectChange)> {
    let unknown: BTreeSet<String> = [before, after]
        .into_iter()
        .flat_map(|set| &set.members)
        .filter(|member| member.rendered().is_none())
        .map(SetMember::label)
        .collect();
    let (before, after) = (known(before, &unknown), known(after, &unknown));
    let rights = |set: &[(String, &[Value])]| SubjectRights::of(set.iter().flat_map(|(_, objects)| *objects));
    let (old, new) = (rights(&before), rights(&after));
    let mut homes: BTreeMap<RightsSubject, String> = BTreeMap::new();
    for (label, objects) in after.iter().chain(&before) {
        for subject in objects.iter().filter_map(service_account) {
            homes.entry(subject).or_insert_with(|| label.clone());
        }
    }
    for (label, objects) in after.iter().chain(&before) {
        for (subject, _) in SubjectRights::of(*objects).subjects() {
            homes.entry(subject.clone()).or_insert_with(|| label.clone());
        }
    }
    let subjects: BTreeSet<&RightsSubject> =
        old.subjects().chain(new.subjects()).map(|(subject, _)| subject).collect();
    let mut found = Vec::new();
    for subject in subjects {
        let (was, is) = (old.held_by(subject), new.held_by(subject));
        let gains: Vec<RbacRight> = is.beyond(&was).cloned().collect();
        let loses: Vec<RbacRight> = was.beyond(&is).cloned().collect();
        if gains.is_empty() && loses.is_empty() {
            continue;
        }
        let label = homes.get(subject).cloned().unwrap_or_default();
        found.push((label, SubjectChange { subject: subject.clone(), gains, loses }));
    }
    found
}

/// Labels and objects of the providers that are known.
fn known<'s>(set: &'s RenderedSet, unknown: &BTreeSet<String>) -> Vec<(String, &'s [Value])> {
    let members = set.members.iter().filter(|member| !unknown.contains(&member.label()));
    members.filter_map(|member| Some((member.label(), member.rendered()?.objects.as_slice()))).collect()
}

fn service_account(object: &Value) -> Option<RightsSubject> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    let is_one = text("/kind") == Some("ServiceAccount") && text("/apiVersion") == Some("v1");
    let subject = || {
        let (namespace, name) = (text("/metadata/namespace")?, text("/metadata/name")?);
        Some(RightsSubject::ServiceAccount { namespace: namespace.to_owned(), name: name.to_owned() })
    };
    is_one.then(subject).flatten()
}
