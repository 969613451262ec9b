//! The objects of one side of a change, found by what references name.

use std::collections::HashMap;

use capstan_kustomize::render::RenderedObject;
use capstan_model::object::ObjectId;
use capstan_yaml::Value;

/// Objects by group, kind and name: references carry no namespace of their own.
pub(super) type ById<'a> = HashMap<(&'a str, &'a str, &'a str), &'a RenderedObject>;

/// Of these objects; of several of one id the last.
pub(super) fn by_id(objects: &[RenderedObject]) -> ById<'_> {
    objects.iter().map(|object| (key(&object.id), object)).collect()
}

/// What an object is found by.
pub(super) fn key(id: &ObjectId) -> (&str, &str, &str) {
    (&id.group, &id.kind, &id.name)
}

/// The object of a kind and name, whatever its group.
pub(super) fn find_value_in<'a>(objects: &ById<'a>, kind: &str, name: &str) -> Option<&'a Value> {
    let found = objects.iter().find(|((_, other, called), _)| *other == kind && *called == name);
    found.map(|(_, object)| &object.value)
}
