//! Identities as kustomize compares them: with the API version, and with the names that were.

use crate::render::placed::PlacedValue;
use crate::render::resource::{Former, RenderedResource};
use crate::render::schema::is_cluster_scoped;
use capstan_model::object::ObjectId;

/// Group, version and kind; an empty part of a pattern fits all.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::render) struct Gvk {
    pub(in crate::render) group: String,
    pub(in crate::render) version: String,
    pub(in crate::render) kind: String,
}

impl Gvk {
    pub(super) fn new(group: &str, version: &str, kind: &str) -> Self {
        Self { group: group.to_owned(), version: version.to_owned(), kind: kind.to_owned() }
    }

    /// Of an object or a patch, whatever its text.
    pub(in crate::render) fn of(value: &PlacedValue) -> Self {
        let api_version = text_at(value, &["apiVersion"]);
        let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
        Self::new(group, version, &text_at(value, &["kind"]))
    }

    /// Whether this fits a pattern.
    pub(super) fn fits(&self, pattern: &Self) -> bool {
        let fits = |pattern: &str, text: &str| pattern.is_empty() || pattern == text;
        fits(&pattern.group, &self.group)
            && fits(&pattern.version, &self.version)
            && fits(&pattern.kind, &self.kind)
    }

    pub(super) fn is_cluster_scoped(&self) -> bool {
        is_cluster_scoped(&self.group, &self.version, &self.kind)
    }

    pub(super) fn api_version(&self) -> String {
        match self.group.as_str() {
            "" => self.version.clone(),
            group => format!("{group}/{}", self.version),
        }
    }
}

/// One identity of an object, present or former.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::render) struct Id {
    pub(in crate::render) gvk: Gvk,
    /// As written; of a former identity the one that counted.
    pub(in crate::render) namespace: String,
    pub(in crate::render) name: String,
}

/// What two identities have in common that are the same object for kustomize ([`Id::is`]).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct IdKey {
    gvk: Gvk,
    namespace: String,
    name: String,
}

/// The namespace of kinds that have none.
const NOT_A_NAMESPACE: &str = "_non_namespaceable_";

impl Id {
    /// The present identity of an object, or the one that a patch names.
    pub(in crate::render) fn of(value: &PlacedValue) -> Self {
        Self {
            gvk: Gvk::of(value),
            namespace: text_at(value, &["metadata", "namespace"]),
            name: text_at(value, &["metadata", "name"]),
        }
    }

    /// The namespace that counts: none is `default`.
    pub(in crate::render) fn effective_namespace(&self) -> &str {
        if self.gvk.is_cluster_scoped() {
            NOT_A_NAMESPACE
        } else if self.namespace.is_empty() {
            "default"
        } else {
            &self.namespace
        }
    }

    pub(super) fn is_cluster_scoped(&self) -> bool {
        self.gvk.is_cluster_scoped()
    }

    pub(super) fn same_namespace(&self, other: &Self) -> bool {
        self.effective_namespace() == other.effective_namespace()
    }

    /// By what it is found among many.
    pub(super) fn key(self) -> IdKey {
        IdKey { namespace: self.effective_namespace().to_owned(), gvk: self.gvk, name: self.name }
    }

    /// The same object for kustomize.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.name == other.name && self.gvk == other.gvk && self.same_namespace(other)
    }

    pub(in crate::render) fn object_id(&self) -> ObjectId {
        ObjectId {
            group: self.gvk.group.clone(),
            kind: self.gvk.kind.clone(),
            namespace: (!self.namespace.is_empty()).then(|| self.namespace.clone()),
            name: self.name.clone(),
        }
    }
}

impl RenderedResource {
    /// The present identity.
    pub(in crate::render) fn id(&self) -> Id {
        Id::of(&self.value)
    }

    /// The former identities, oldest first, under the present API version.
    pub(super) fn former_ids(&self) -> Vec<Id> {
        let Gvk { group, version, .. } = Gvk::of(&self.value);
        let id = |former: &Former| Id {
            gvk: Gvk::new(&group, &version, &former.kind),
            namespace: former.namespace.clone(),
            name: former.name.clone(),
        };
        self.former.iter().map(id).collect()
    }

    /// The identity under which it was loaded.
    pub(in crate::render) fn original_id(&self) -> Id {
        self.former_ids().into_iter().next().unwrap_or_else(|| self.id())
    }

    /// The former identities, and the present one.
    pub(super) fn ids(&self) -> Vec<Id> {
        let mut ids = self.former_ids();
        ids.push(self.id());
        ids
    }

    /// Keeps the present identity among the former ones, before it is changed.
    pub(super) fn remember(&mut self) {
        let id = self.id();
        self.former.push(Former {
            namespace: id.effective_namespace().to_owned(),
            kind: id.gvk.kind,
            name: id.name,
        });
    }
}

pub(super) fn text_at(value: &PlacedValue, keys: &[&str]) -> String {
    value
        .at(keys)
        .filter(|found| !found.is_null())
        .map_or_else(String::new, |found| found.written().into_owned())
}
