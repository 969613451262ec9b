//! An object on its way through a render: its value, and what kustomize remembers about it.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::error::RenderError;
use super::placed::{PlacedValue, RenderSource, SourceOffset};
use super::rendered::RenderedObject;
use super::spread::spread;
use capstan_model::object::{ObjectId, api_group};
use capstan_model::tree::RepoPath;
use capstan_yaml::YamlFile;

/// An object that is being rendered.
#[derive(Debug, Clone)]
pub(super) struct RenderedResource {
    pub(super) value: PlacedValue,
    /// What it was called before, oldest first: patches and references may still say that.
    pub(super) former: Vec<Former>,
    /// Prefixes and suffixes that were put to its name, in that order: of several objects that a
    /// reference could mean, it means the one of its own folder.
    pub(super) prefixes: Vec<String>,
    pub(super) suffixes: Vec<String>,
    /// Whether its name ends in the hash of its content.
    pub(super) hashed: Hashed,
    /// The variables (`vars`) that take their value from it.
    pub(super) gives: Vec<String>,
    /// How many nodes of labels and annotations kustomize has made for it.
    pub(super) nodes: u32,
    /// Whether one of them is at several places.
    pub(super) shares: Shares,
}

/// A name that an object had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Former {
    pub(super) kind: String,
    /// The namespace that counted: `default` where none was written.
    pub(super) namespace: String,
    pub(super) name: String,
}

/// Whether a generated object gets a hash to its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hashed {
    Yes,
    No,
}

/// Whether an object has one node at several places ([`super::shared`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shares {
    Some,
    None,
}

/// The identity of a Kubernetes object, with its API version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ResourceIdentity<'v> {
    pub(super) api_version: &'v str,
    pub(super) kind: &'v str,
    pub(super) namespace: Option<&'v str>,
    pub(super) name: &'v str,
}

impl<'v> ResourceIdentity<'v> {
    /// Reads the identity of an object, or of a patch.
    pub(super) fn of(value: &'v PlacedValue) -> Result<Self, RenderError> {
        let text = |keys: &[&str], what: &str| match value.at(keys) {
            Some(found) => match found.as_str() {
                Some(text) if !text.is_empty() => Ok(text),
                _ => Err(RenderError::malformed(
                    &found.place,
                    format!("`{what}` is not a text: Kubernetes requires a string here, so quote it"),
                )),
            },
            None => Err(RenderError::malformed(
                &value.place,
                format!(
                    "this document is not a Kubernetes object, because it has no `{what}`: complete it or move it elsewhere"
                ),
            )),
        };
        if !value.is_mapping() {
            return Err(RenderError::malformed(
                &value.place,
                "this document is not a Kubernetes object but a single value: complete it or move it elsewhere",
            ));
        }
        Ok(Self {
            api_version: text(&["apiVersion"], "apiVersion")?,
            kind: text(&["kind"], "kind")?,
            namespace: match value.at(&["metadata", "namespace"]) {
                Some(found) if !found.is_null() => {
                    Some(text(&["metadata", "namespace"], "metadata.namespace")?)
                }
                _ => None,
            },
            name: text(&["metadata", "name"], "metadata.name")?,
        })
    }

    pub(super) fn object_id(&self) -> ObjectId {
        ObjectId {
            group: api_group(self.api_version).to_owned(),
            kind: self.kind.to_owned(),
            namespace: self.namespace.map(str::to_owned),
            name: self.name.to_owned(),
        }
    }
}

impl RenderedResource {
    pub(super) fn new(value: PlacedValue) -> Result<Self, RenderError> {
        ResourceIdentity::of(&value)?;
        Ok(Self::unnamed(value))
    }

    /// One whose identity was checked elsewhere.
    pub(super) const fn unnamed(value: PlacedValue) -> Self {
        Self {
            value,
            former: Vec::new(),
            prefixes: Vec::new(),
            suffixes: Vec::new(),
            hashed: Hashed::No,
            gives: Vec::new(),
            nodes: 0,
            shares: Shares::None,
        }
    }

    /// Lets what was set at one place show at all places that are the same node for kustomize.
    pub(super) fn spread(&mut self) {
        if self.shares == Shares::Some {
            spread(&mut self.value);
        }
    }

    pub(super) fn identity(&self) -> Result<ResourceIdentity<'_>, RenderError> {
        ResourceIdentity::of(&self.value)
    }

    pub(super) fn finish(self) -> Result<RenderedObject, RenderError> {
        let identity = self.identity()?;
        let former = self.former.iter().map(|former| &former.name).filter(|name| *name != identity.name);
        Ok(RenderedObject {
            former_names: former.cloned().collect(),
            id: identity.object_id(),
            api_version: identity.api_version.to_owned(),
            value: self.value.to_value(),
            placed: self.value,
        })
    }
}

impl RenderedObject {
    /// An object with only its value and its file; `None` where the value is not an object.
    pub fn from_value(file: RepoPath, value: &Value) -> Option<Self> {
        let source = Arc::new(RenderSource::new(file, YamlFile::read("").ok()?));
        RenderedResource::new(PlacedValue::from_value(value, &SourceOffset::new(source, 0)))
            .ok()?
            .finish()
            .ok()
    }
}

/// Refuses a second object of one identity.
pub(super) fn refuse_twins(objects: &[RenderedResource]) -> Result<(), RenderError> {
    let mut seen: HashMap<(&str, &str, Option<&str>, &str), &SourceOffset> =
        HashMap::with_capacity(objects.len());
    for object in objects {
        let id = object.identity()?;
        let namespace = id.namespace.filter(|namespace| *namespace != "default");
        let place = &object.value.place;
        let known = seen.insert((api_group(id.api_version), id.kind, namespace, id.name), place);
        if let Some(first) = known {
            let id = ResourceIdentity { namespace, ..id }.object_id();
            return Err(RenderError::at(
                place,
                super::RenderErrorKind::Duplicate,
                format!(
                    "{id} is here and also in {} line {}. An object may be there only once: remove or rename one",
                    first.file(),
                    first.position().line
                ),
            ));
        }
    }
    Ok(())
}
