//! A provider as it is applied. Each object is kept as the text that is sent: of a provider's definitions the values take
//! many times what the text does, and one object at a time is all that is ever needed.

use std::collections::BTreeMap;

use capstan_live::installing::pass::{ProviderObject, RenderedProvider, Revision, applied, is_definition};
use capstan_model::object::ObjectId;
use capstan_plan::templates::SpecDigest;
use capstan_providers::RenderedObjects;
use serde_json::Value;

use super::record::text;
use capstan_ports::ApiObject;

/// A provider as it is applied.
#[derive(Debug)]
pub struct Prepared {
    /// Which objects, in the order of the components.
    pub components: RenderedProvider,
    /// SHA-256 of what it was rendered from.
    pub components_sha256: String,
    /// As they are sent.
    pub manifests: BTreeMap<ObjectId, AppliedObject>,
}

#[derive(Debug)]
pub struct AppliedObject {
    /// Which it is.
    pub object: ApiObject,
    /// Of its content.
    pub digest: SpecDigest,
    /// Group and kind of what a definition brings.
    pub brings: Option<(String, String)>,
    text: Box<str>,
}

impl AppliedObject {
    fn of(object: ApiObject, rendered: &Value) -> Self {
        let manifest = applied(rendered);
        let word = |pointer: &str| text(&manifest, pointer).to_owned();
        let brings = is_definition(&object.id()).then(|| (word("/spec/group"), word("/spec/names/kind")));
        let digest = SpecDigest::of(&manifest);
        Self { object, digest, brings, text: manifest.to_string().into_boxed_str() }
    }

    /// The object, as it is sent.
    pub fn value(&self) -> Value {
        // It was written from a value; if it could not be read, the API server would be asked for nothing.
        serde_json::from_str(&self.text).unwrap_or_default()
    }
}

impl From<RenderedObjects> for Prepared {
    fn from(rendered: RenderedObjects) -> Self {
        let revision = Revision {
            version: rendered.version.clone(),
            contract: rendered.contract.clone(),
            digest: rendered.digest(),
        };
        let components_sha256 = rendered.components_sha256().to_owned();
        let (mut objects, mut manifests) = (Vec::new(), BTreeMap::new());
        for object in rendered.objects {
            let Some(api) = ApiObject::of(&object) else { continue };
            let id = api.id();
            objects.push(ProviderObject {
                id: id.clone(),
                api_version: text(&object, "/apiVersion").to_owned(),
            });
            manifests.insert(id, AppliedObject::of(api, &object));
        }
        Self { components: RenderedProvider { revision, objects }, components_sha256, manifests }
    }
}
