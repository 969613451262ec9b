//! CustomResourceDefinitions compared: versions that come and go, fields that are gone or take less; and whether an
//! object still fits.
//!
//! A *path* is a node of a schema: a field, the items of a list (`[]`), the values of a map (`*`). Only versions that
//! both definitions have are compared field by field.
//!
//! Deliberately absent: conversion between versions, defaulting, and running expressions: what the text of a pattern or
//! of a validation rule refuses is not computed, so that "may refuse" is said.

mod fitting;
mod narrowing;
mod path;

use capstan_model::object::version_age;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) use fitting::{Certainty, misfits};

/// A definition, as an object holds it.
#[derive(Debug, Clone)]
pub(crate) struct CrdDefinition<'o> {
    /// `clusters.cluster.x-k8s.io`
    pub(crate) name: &'o str,
    pub(crate) group: &'o str,
    pub(crate) kind: &'o str,
    pub(crate) versions: Vec<DefinitionVersion<'o>>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct DefinitionVersion<'o> {
    pub(crate) name: &'o str,
    pub(crate) served: bool,
    pub(crate) storage: bool,
    /// `schema.openAPIV3Schema`; null where there is none.
    pub(crate) schema: &'o Value,
}

/// What becomes of a version of a definition.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct VersionChange {
    /// `v1beta2`
    pub name: String,
    /// Before; `None` = not defined.
    pub from: Option<VersionState>,
    /// After.
    pub to: Option<VersionState>,
}

/// What an API server does with a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum VersionState {
    /// It knows it, and serves nobody in it.
    Unserved,
    /// It serves it.
    Served,
    /// It serves it, and stores objects in it.
    Stored,
    /// It stores objects in it, and serves nobody in it.
    StoredUnserved,
}

/// What is said of a field of a version.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FieldNote {
    /// `v1beta1`
    pub version: String,
    /// `spec.template.spec.taints[].key`: items of lists as `[]`, values of maps as `*`; empty for the object itself,
    /// or the version.
    pub path: String,
    /// What, in plain words.
    pub what: String,
}

/// How two definitions of one name differ.
#[derive(Debug, Default)]
pub(crate) struct DefinitionDifference {
    /// Versions whose state changes, oldest first.
    pub(crate) versions: Vec<VersionChange>,
    /// New paths, in versions that both have.
    pub(crate) added: usize,
    /// Paths that are gone, in versions that both have; versions that were served and are no longer.
    pub(crate) gone: Vec<FieldNote>,
    /// Paths that take less.
    pub(crate) narrowed: Vec<FieldNote>,
}

impl DefinitionDifference {
    pub(crate) const fn is_empty(&self) -> bool {
        self.versions.is_empty() && self.added == 0 && self.gone.is_empty() && self.narrowed.is_empty()
    }
}

impl<'o> CrdDefinition<'o> {
    /// Reads an object; `None` where it is not a definition of `apiextensions.k8s.io/v1`.
    pub(crate) fn read(object: &'o Value) -> Option<Self> {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
        if text("/kind") != Some("CustomResourceDefinition")
            || text("/apiVersion") != Some("apiextensions.k8s.io/v1")
        {
            return None;
        }
        let versions = object.pointer("/spec/versions").and_then(Value::as_array)?.iter();
        let flag = |version: &Value, key: &str| version.get(key).and_then(Value::as_bool) == Some(true);
        let version = |version: &'o Value| {
            Some(DefinitionVersion {
                name: version.get("name")?.as_str()?,
                served: flag(version, "served"),
                storage: flag(version, "storage"),
                schema: version.pointer("/schema/openAPIV3Schema").unwrap_or(&Value::Null),
            })
        };
        Some(Self {
            name: text("/metadata/name")?,
            group: text("/spec/group")?,
            kind: text("/spec/names/kind")?,
            versions: versions.filter_map(version).collect(),
        })
    }

    /// The version of that name, served or not.
    pub(crate) fn version(&self, name: &str) -> Option<&DefinitionVersion<'o>> {
        self.versions.iter().find(|version| version.name == name)
    }

    /// The versions that are served, as they are written.
    pub(crate) fn served(&self) -> impl Iterator<Item = &'o str> {
        self.versions.iter().filter(|version| version.served).map(|version| version.name)
    }
}

impl DefinitionVersion<'_> {
    const fn state(&self) -> VersionState {
        match (self.served, self.storage) {
            (true, true) => VersionState::Stored,
            (true, false) => VersionState::Served,
            (false, true) => VersionState::StoredUnserved,
            (false, false) => VersionState::Unserved,
        }
    }
}

impl VersionState {
    /// Whether objects can be read and written in it.
    pub(crate) const fn is_served(self) -> bool {
        matches!(self, Self::Served | Self::Stored)
    }
}

impl std::fmt::Display for VersionChange {
    /// `v1beta2 is new, served and stored`
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words = |state: VersionState| match state {
            VersionState::Unserved => "not served",
            VersionState::Served => "served",
            VersionState::Stored => "served and stored",
            VersionState::StoredUnserved => "stored and not served",
        };
        match (self.from, self.to) {
            (None, Some(to)) => write!(f, "{} is new, {}", self.name, words(to)),
            (Some(from), None) => write!(f, "{} is removed; it was {}", self.name, words(from)),
            (Some(from), Some(to)) => {
                write!(f, "{} is {}, and was {}", self.name, words(to), words(from))
            }
            (None, None) => write!(f, "{} is not defined", self.name),
        }
    }
}

/// How two definitions of one name differ.
pub(crate) fn difference(before: &CrdDefinition<'_>, after: &CrdDefinition<'_>) -> DefinitionDifference {
    let mut found = DefinitionDifference::default();
    let new = after.versions.iter().filter(|version| before.version(version.name).is_none());
    for version in before.versions.iter().chain(new) {
        let (old, new) = (before.version(version.name), after.version(version.name));
        let (from, to) = (old.map(DefinitionVersion::state), new.map(DefinitionVersion::state));
        if from != to {
            found.versions.push(VersionChange { name: version.name.to_owned(), from, to });
        }
        let was_served = from.is_some_and(VersionState::is_served);
        if was_served && !to.is_some_and(VersionState::is_served) {
            let how = if to.is_none() { "it is no longer defined" } else { "it is no longer served" };
            let note = FieldNote {
                version: version.name.to_owned(),
                path: String::new(),
                what: format!("{how}; objects are written in {}", served(after)),
            };
            found.gone.push(note);
        }
        if let (Some(old), Some(new)) = (old, new) {
            narrowing::compare(old, new, &mut found);
        }
    }
    found
        .versions
        .sort_by(|a, b| version_age(&a.name).cmp(&version_age(&b.name)).then_with(|| a.name.cmp(&b.name)));
    found.gone.sort();
    found.narrowed.sort();
    found
}

/// The served versions, in words, the newest first.
pub(crate) fn served(definition: &CrdDefinition<'_>) -> String {
    let mut all: Vec<&str> = definition.served().collect();
    all.sort_by_key(|version| std::cmp::Reverse(version_age(version)));
    if all.is_empty() { "no version".to_owned() } else { all.join(" or ") }
}

#[cfg(test)]
mod tests;
