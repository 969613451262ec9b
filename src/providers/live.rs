//! Provider objects that an API server holds, rendered from what it holds alone.
//!
//! What is wrong with one provider object hides no other; the operator's own checks are made elsewhere.

use std::sync::Arc;

use capstan_kustomize::render::{Placed, SourceOffset, placed_documents};
use capstan_model::digest::sha256;
use capstan_model::object::{ObjectId, api_group};
use capstan_model::tree::{RepoPath, Tree, TreeEntry, TreeId, Unreadable};
use capstan_yaml::YamlFile;
use serde_json::Value;

use super::kind::GROUP;
use super::refusal::Refusal;
use super::rendering::{Inputs, Rendered, render};
use super::set::ProviderSet;
use super::source;
use super::spec::{Provider, Reference};
use super::variables::Values;

/// The providers of a management cluster, as its API server holds them.
#[derive(Debug, Default)]
pub struct LiveSet {
    set: ProviderSet,
    /// Provider objects that cannot be read, and why.
    pub unreadable: Vec<(ObjectId, Refusal)>,
}

/// There is no repository.
struct NoFiles;

impl Tree for NoFiles {
    fn entries(&self) -> &[TreeEntry] {
        &[]
    }

    fn read(&self, entry: &TreeEntry) -> Result<Arc<[u8]>, Unreadable> {
        Err(Unreadable { path: entry.path.clone(), reason: "there are no files".to_owned() })
    }

    fn folder_id(&self, _folder: &RepoPath) -> Option<TreeId> {
        None
    }
}

impl LiveSet {
    /// Reads provider objects, ConfigMaps and Secrets.
    pub fn read(objects: &[Value]) -> Self {
        let mut read = Self::default();
        let Some(nowhere) = nowhere() else { return read };
        for object in objects {
            let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            let placed = Placed::from_value(object, &nowhere);
            if api_group(text("/apiVersion")) != GROUP {
                read.set.insert(placed);
                continue;
            }
            match Provider::read(&placed) {
                Ok(provider) => read.set.insert_provider(provider),
                Err(refusal) => {
                    let id = ObjectId {
                        group: GROUP.to_owned(),
                        kind: text("/kind").to_owned(),
                        namespace: Some(text("/metadata/namespace").to_owned()),
                        name: text("/metadata/name").to_owned(),
                    };
                    read.unreadable.push((id, refusal));
                }
            }
        }
        read
    }

    /// The providers, in clusterctl's order of kinds and by name.
    pub fn providers(&self) -> &[Provider] {
        self.set.providers()
    }

    /// Renders one of them.
    ///
    /// # Errors
    /// As for [`render`](super::render); a config Secret that is not there, or lies in another namespace.
    pub fn render(&self, provider: &Provider) -> Result<Rendered, Refusal> {
        if let Some(secret) = &provider.spec.config_secret {
            if secret.namespace != provider.namespace {
                return Err(Refusal::new(format!(
                    "`spec.configSecret` names Secret {secret}, and a Secret of another namespace is not read: put it into namespace {}",
                    provider.namespace
                )));
            }
            if self.set.secret_names(secret).is_none() {
                return Err(Refusal::new(format!(
                    "Secret {secret}, which `spec.configSecret` names, is not there: create it"
                )));
            }
        }
        let variables = Values::default();
        render(
            provider,
            Inputs { tree: &NoFiles, set: &self.set, variables: &variables, configuration: None },
        )
    }
}

impl LiveSet {
    /// Renders one of them at another version than the one that it asks for.
    ///
    /// # Errors
    /// As for [`LiveSet::render`].
    pub fn render_at(&self, provider: &Provider, version: &str) -> Result<Rendered, Refusal> {
        let mut asked = provider.clone();
        asked.spec.version = Some(version.to_owned());
        self.render(&asked)
    }
}

impl Rendered {
    /// SHA-256 of the objects in their order, in hex digits: what it was rendered from does not matter.
    pub fn digest(&self) -> String {
        let texts: Vec<String> = self.objects.iter().map(Value::to_string).collect();
        sha256(texts.join("\n"))
    }
}

impl Provider {
    /// The provider object.
    pub fn id(&self) -> ObjectId {
        ObjectId {
            group: GROUP.to_owned(),
            kind: self.kind.name().to_owned(),
            namespace: Some(self.namespace.clone()),
            name: self.name.clone(),
        }
    }

    /// Whether `spec.fetchConfig` says where its components come from.
    pub fn has_source(&self) -> bool {
        self.spec.source.is_some()
    }

    /// The config Secret that is read: one of its own namespace.
    pub fn config_secret(&self) -> Option<&str> {
        let of_it = |secret: &&Reference| secret.namespace == self.namespace;
        self.spec.config_secret.as_ref().filter(of_it).map(|secret| secret.name.as_str())
    }

    /// Whether it may be rendered from a ConfigMap of its namespace.
    pub fn reads(&self, config_map: &Value) -> bool {
        let text = |pointer: &str| config_map.pointer(pointer).and_then(Value::as_str);
        if text("/metadata/namespace") != Some(&self.namespace) {
            return false;
        }
        let is_named = self
            .spec
            .additional_manifests
            .as_ref()
            .is_some_and(|named| Some(named.name.as_str()) == text("/metadata/name"));
        let label = |key: &str| config_map.get("metadata")?.get("labels")?.get(key)?.as_str();
        is_named || source::selector(self).meets(label)
    }
}

/// What an API server holds has no place in a file.
fn nowhere() -> Option<SourceOffset> {
    let path = RepoPath::parse("management-cluster").ok()?;
    let file = YamlFile::read("{}").ok()?;
    placed_documents(&path, &file).into_iter().next().map(|document| document.place)
}
