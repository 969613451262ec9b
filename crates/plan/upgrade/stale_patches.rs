//! Patches of kustomizations that name a field of an API version which the upgrade leaves ([U7a], [U11]), and that do not
//! follow ([`super::patch_follow`]). Each such field is named, with what it is in the newer version, and, where that is
//! known, with what to write.
//!
//! [U7a]: crate::merge::converted#u7a
//! [U11]: crate::policy#u11

use super::moved_fields::{MovedField, There, fate_of, moved_fields, put};
use super::patch_rewriting::NewPatch;
use super::patches::{FoundPatch, PatchEdits, PatchPlace, PatchTarget, Patches, PlainFiles, lent};
use super::retarget::text;
use crate::merge::cluster_objects::Base;
use capstan_kustomize::schema::Schemas;
use capstan_model::finding::{Finding, Place, RuleEntry, rules};
use capstan_model::object::{FieldPath, ObjectId};
use capstan_yaml::Node;
use std::collections::BTreeMap;

/// An object that comes to another API version.
struct ConvertedObject<'p> {
    id: &'p ObjectId,
    /// As it is in the repository.
    was: &'p Node,
    version: &'p str,
}

/// A field that a patch names, and where a person finds it.
struct Mention {
    moved: MovedField,
    place: Place,
    /// What to write instead.
    instead: Option<String>,
}

/// What patches say in the words of the version before, by the objects that they are for.
pub(super) fn stale_patches(
    base: &Base,
    patches: &Patches<'_>,
    (new, edits): (&BTreeMap<PatchPlace, NewPatch>, PatchEdits),
    rule: &'static RuleEntry,
    schemas: &Schemas,
) -> Vec<(usize, Finding)> {
    let mut findings = Vec::new();
    for (object, converted) in &base.converted {
        let Some(version) = text(base.node(*object), "apiVersion") else { continue };
        let target = ConvertedObject { id: &base.objects[*object].id, was: &converted.was, version };
        patches.each_of((target.id, target.was), PlainFiles::All, &mut |patch| {
            let new = new.get(&patch.at);
            if new.is_some() && edits == PatchEdits::Written {
                return;
            }
            let mentions = of_patch(patches, patch, &target, new, schemas);
            let mut found: Vec<Finding> =
                mentions.into_iter().map(|mention| of_field(mention, &target, rule)).collect();
            // Where the overlay loses a target, that is found in what is rendered.
            if found.is_empty() && rule == rules::API_VERSION_LEAVES_FIELD {
                found.extend(of_version(patches, patch, &target, rule));
            }
            findings.extend(found.into_iter().map(|finding| (*object, finding)));
        });
    }
    findings
}

/// A field that a patch names.
fn of_field(mention: Mention, target: &ConvertedObject<'_>, rule: &'static RuleEntry) -> Finding {
    let Mention { moved: MovedField { field, there }, place, instead } = mention;
    let (id, version) = (target.id, target.version);
    let instead = instead.map_or_else(String::new, |instead| format!(": `{instead}`"));
    let message = format!(
        "This patch is for {field} of {id}, which the upgrade converts to {version}. There the field {there}, so the patch fails or has no effect after the upgrade. Write it for {version} in the same change{instead}."
    );
    let finding = Finding::new(rule, message).place(place).object(id).path(&field);
    if rule == rules::API_VERSION_LEAVES_FIELD { finding.blocking() } else { finding }
}

/// A patch that says itself which object it is for, with the version before, and does not follow: its fields are the same
/// there, but kustomize finds no such object.
fn of_version(
    patches: &Patches<'_>,
    patch: &FoundPatch<'_>,
    target: &ConvertedObject<'_>,
    rule: &'static RuleEntry,
) -> Option<Finding> {
    let own = text(patch.root, "apiVersion").filter(|own| Some(*own) == text(target.was, "apiVersion"))?;
    if patch.by == PatchTarget::Selector {
        return None;
    }
    let (id, version) = (target.id, target.version);
    let message = format!(
        "This patch is for {id} in {own}, and the upgrade converts that object to {version}, so the patch finds no object after the upgrade. Write it for {version} in the same change."
    );
    let field = FieldPath::root().key("apiVersion");
    let place = patches.place(&patch.at, patch.root, &field);
    Some(Finding::new(rule, message).place(place).object(id).path(&field).blocking())
}

/// Whether a patch names a field of an object that is another one in the object's newer version.
pub(super) fn is_stale(
    base: &Base,
    object: usize,
    patches: &Patches<'_>,
    patch: &FoundPatch<'_>,
    schemas: &Schemas,
) -> bool {
    let Some((converted, version)) = base.converted.get(&object).zip(text(base.node(object), "apiVersion"))
    else {
        return false;
    };
    let target = ConvertedObject { id: &base.objects[object].id, was: &converted.was, version };
    !of_patch(patches, patch, &target, None, schemas).is_empty()
}

fn of_patch(
    patches: &Patches<'_>,
    patch: &FoundPatch<'_>,
    target: &ConvertedObject<'_>,
    new: Option<&NewPatch>,
    schemas: &Schemas,
) -> Vec<Mention> {
    let Some(operations) = patch.root.as_sequence() else {
        return of_fragment(patches, patch, target, new, schemas);
    };
    let mut found = Vec::new();
    for (at, operation) in operations.iter().enumerate() {
        let place = patches.place(&patch.at, operation, &FieldPath::root().key("path"));
        let instead = new.and_then(|new| new.operation(at));
        let mention = |moved| Mention { moved, place: place.clone(), instead: instead.clone() };
        found.extend(of_operation(operation, target, schemas).into_iter().map(mention));
    }
    found
}

/// A strategic merge patch, whose fields are those of the object.
fn of_fragment(
    patches: &Patches<'_>,
    patch: &FoundPatch<'_>,
    target: &ConvertedObject<'_>,
    new: Option<&NewPatch>,
    schemas: &Schemas,
) -> Vec<Mention> {
    let fragment = lent(patch.root, target.was);
    let moved = moved_fields(&fragment, target.version, schemas);
    let mention = |moved: MovedField| Mention {
        place: patches.place(&patch.at, patch.root, &moved.field),
        instead: new.and_then(|new| match &moved.there {
            There::Is(to) => new.field(to),
            There::Otherwise => new.field(&moved.field),
            There::PartOf(_) | There::ItemOf { .. } | There::Gone | There::NoCounterpart(_) => None,
        }),
        moved,
    };
    moved.into_iter().map(mention).collect()
}

/// One operation of a JSON patch (RFC 6902).
fn of_operation(operation: &Node, target: &ConvertedObject<'_>, schemas: &Schemas) -> Vec<MovedField> {
    let Some(field) = text(operation, "path").and_then(FieldPath::parse) else { return Vec::new() };
    let mut object = target.was.clone();
    if let Some(value) = operation.get("value") {
        put(&mut object, field.steps(), value.clone());
    }
    fate_of(&field, &object, target.version, schemas)
}
