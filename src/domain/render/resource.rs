//! An object on its way through a render: its value, and the identities it has had.

use super::RenderedObject;
use super::error::RenderError;
use super::placed::{Place, Placed};
use crate::object::{ObjectId, api_group};

/// An object that is being rendered.
#[derive(Debug, Clone)]
pub(super) struct Resource {
    pub(super) value: Placed,
    /// Identities before transformers changed them: patches may still name those.
    pub(super) former: Vec<Identity>,
}

/// An identity as kustomize compares it: with the API version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) namespace: Option<String>,
    pub(super) name: String,
}

impl Identity {
    /// Reads the identity of an object, or of a patch.
    pub(super) fn of(value: &Placed) -> Result<Self, RenderError> {
        let text = |keys: &[&str], what: &str| match value.at(keys) {
            Some(found) => match found.as_str() {
                Some(text) if !text.is_empty() => Ok(text.to_owned()),
                _ => Err(RenderError::malformed(
                    &found.place,
                    format!("`{what}` is not a text: Kubernetes wants a string here, quote it"),
                )),
            },
            None => Err(RenderError::malformed(
                &value.place,
                format!(
                    "this document is no Kubernetes object, it has no `{what}`: complete it or move it elsewhere"
                ),
            )),
        };
        if !value.is_mapping() {
            return Err(RenderError::malformed(
                &value.place,
                "this document is no Kubernetes object but a single value: complete it or move it elsewhere",
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

    pub(super) fn group(&self) -> &str {
        api_group(&self.api_version)
    }

    pub(super) fn version(&self) -> &str {
        self.api_version.rsplit('/').next().unwrap_or_default()
    }

    /// No namespace is the namespace `default`, for kustomize.
    fn effective_namespace(&self) -> &str {
        self.namespace.as_deref().unwrap_or("default")
    }

    /// The same object for kustomize, which looks at the API version too.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.api_version == other.api_version
            && self.kind == other.kind
            && self.name == other.name
            && self.effective_namespace() == other.effective_namespace()
    }

    pub(super) fn object_id(&self) -> ObjectId {
        ObjectId {
            group: self.group().to_owned(),
            kind: self.kind.clone(),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
        }
    }
}

impl Resource {
    pub(super) fn new(value: Placed) -> Result<Self, RenderError> {
        Identity::of(&value)?;
        Ok(Self { value, former: Vec::new() })
    }

    pub(super) fn identity(&self) -> Result<Identity, RenderError> {
        Identity::of(&self.value)
    }

    /// The present identity and the former ones.
    pub(super) fn identities(&self) -> Result<Vec<Identity>, RenderError> {
        let mut all = vec![self.identity()?];
        all.extend(self.former.iter().cloned());
        Ok(all)
    }

    /// Keeps the present identity among the former ones, before it is changed.
    pub(super) fn remember_identity(&mut self) -> Result<(), RenderError> {
        let identity = self.identity()?;
        if !self.former.contains(&identity) {
            self.former.push(identity);
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<RenderedObject, RenderError> {
        let identity = self.identity()?;
        Ok(RenderedObject {
            id: identity.object_id(),
            api_version: identity.api_version,
            value: self.value.to_value(),
            placed: self.value,
        })
    }
}

/// Refuses a second object of one identity.
pub(super) fn refuse_twins(objects: &[Resource]) -> Result<(), RenderError> {
    let mut seen: std::collections::BTreeMap<ObjectId, &Place> = std::collections::BTreeMap::new();
    for object in objects {
        let mut id = object.identity()?.object_id();
        if id.namespace.as_deref() == Some("default") {
            id.namespace = None;
        }
        let place = &object.value.place;
        if let Some(first) = seen.get(&id) {
            return Err(RenderError::at(
                place,
                super::Trouble::Duplicate,
                format!(
                    "{id} stands here and in {} line {} too: an object may be given only once, remove or rename one",
                    first.file(),
                    first.position().line
                ),
            ));
        }
        seen.insert(id, place);
    }
    Ok(())
}
