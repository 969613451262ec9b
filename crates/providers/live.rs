//! Provider objects that an API server holds, rendered from what it holds alone.
//!
//! What is wrong with one provider object hides no other; the operator's own checks are made elsewhere.

use std::sync::Arc;

use capstan_kustomize::render::{PlacedValue, SourceOffset, placed_documents};
use capstan_model::digest::sha256_of_lines;
use capstan_model::object::{ObjectId, api_group};
use capstan_model::tree::{RepoPath, Tree, TreeEntry, TreeId, Unreadable};
use capstan_yaml::YamlFile;
use serde_json::Value;

use super::kind::GROUP;
use super::refusal::Refusal;
use super::rendering::{Inputs, RenderedObjects, render};
use super::set::ProviderSet;
use super::source;
use super::spec::{FetchSource, Provider, SpecReference};
use super::variables::VariableValues;

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
        read.set.is_live = true;
        let Some(nowhere) = nowhere() else { return read };
        for object in objects {
            let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            let placed = PlacedValue::from_value(object, &nowhere);
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

    /// What the config Secret of one of them says, where it is here. Nothing where it names none.
    ///
    /// # Errors
    /// A Secret that cannot be read: never with a value.
    pub fn values(&self, provider: &Provider) -> Result<VariableValues, Refusal> {
        self.set.values(provider, &VariableValues::default())
    }

    /// Renders one of them.
    ///
    /// # Errors
    /// As for [`render`](super::render); a config Secret that does not exist, or is in another namespace.
    pub fn render(&self, provider: &Provider) -> Result<RenderedObjects, Refusal> {
        if let Some(secret) = &provider.spec.config_secret {
            if secret.namespace != provider.namespace {
                return Err(Refusal::new(format!(
                    "`spec.configSecret` names Secret {secret}, but Capstan does not read a Secret of another namespace: put it into namespace {}",
                    provider.namespace
                )));
            }
            if self.set.secret_names(secret).is_none() {
                return Err(Refusal::new(format!(
                    "Secret {secret}, which `spec.configSecret` names, does not exist: create it"
                )));
            }
        }
        let variables = VariableValues::default();
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
    pub fn render_at(&self, provider: &Provider, version: &str) -> Result<RenderedObjects, Refusal> {
        let mut asked = provider.clone();
        asked.spec.version = Some(version.to_owned());
        self.render(&asked)
    }
}

/// The annotation of a provider object that says which components its set records: `v1.13.4 sha256:4f0c…`.
pub const COMPONENTS_ANNOTATION: &str = "capstan.dev/components";

/// Version and SHA-256 of components, as a set records them and a provider object carries them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedComponents {
    /// `v1.13.4`
    pub version: String,
    /// In hex digits.
    pub sha256: String,
}

impl RecordedComponents {
    /// What a provider object carries; `None` where it carries nothing.
    ///
    /// # Errors
    /// It is not such a record, so it cannot be compared.
    pub fn of(object: &Value) -> Result<Option<Self>, Refusal> {
        let annotations = object.pointer("/metadata/annotations");
        let Some(text) = annotations.and_then(|all| all.get(COMPONENTS_ANNOTATION)?.as_str()) else {
            return Ok(None);
        };
        let parts = text.split_once(" sha256:");
        let digest = |digits: &str| digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        match parts.filter(|(version, digits)| !version.is_empty() && digest(digits)) {
            Some((version, digits)) => {
                Ok(Some(Self { version: version.to_owned(), sha256: digits.to_ascii_lowercase() }))
            }
            None => Err(Refusal::new(format!(
                "the annotation `{COMPONENTS_ANNOTATION}` is `{text}`: write it as `v1.13.4 sha256:` and 64 hex digits, or remove it"
            ))),
        }
    }

    /// As the annotation has it.
    pub fn annotation(&self) -> String {
        format!("{} sha256:{}", self.version, self.sha256)
    }

    /// Why other components of that version are not taken.
    pub fn differs(&self, found: &str) -> String {
        format!(
            "its components have SHA-256 {found}, but the set records {} for {}: somebody changed them under the same version. Find out why, then record them with a new pull request",
            self.sha256, self.version
        )
    }
}

impl RenderedObjects {
    /// SHA-256 of the objects in their order, in hex digits: what it was rendered from does not matter.
    pub fn digest(&self) -> String {
        sha256_of_lines(self.objects.iter().map(Value::to_string))
    }

    /// SHA-256 of the components' text before variables have values, in hex digits.
    pub fn components_sha256(&self) -> &str {
        &self.traces.sha256
    }
}

impl ProviderSet {
    /// Adds ConfigMaps and Secrets that an API server holds to what was read elsewhere, which comes before them.
    pub fn complete_with(&mut self, live: &[Value]) {
        let Some(nowhere) = nowhere() else { return };
        live.iter().for_each(|object| self.complete(PlacedValue::from_value(object, &nowhere)));
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

    /// `spec.fetchConfig.oci`, as it is written.
    pub fn oci_address(&self) -> Option<&str> {
        match self.spec.source.as_ref()? {
            FetchSource::Oci(address) => Some(address),
            _ => None,
        }
    }

    /// The config Secret that is read: one of its own namespace.
    pub fn config_secret(&self) -> Option<&str> {
        let of_it = |secret: &&SpecReference| secret.namespace == self.namespace;
        self.spec.config_secret.as_ref().filter(of_it).map(|secret| secret.name.as_str())
    }

    /// The labels of the ConfigMaps of its namespace that its components may be in, as `kubectl -l` takes them; empty where
    /// any may be.
    pub fn components_selector(&self) -> String {
        source::selector(self).to_string()
    }

    /// The ConfigMap of its namespace that its additional manifests are in.
    pub fn additional_manifests(&self) -> Option<&str> {
        self.spec.additional_manifests.as_ref().map(|named| named.name.as_str())
    }

    /// Whether a ConfigMap of its namespace holds components of the version that it asks for; of any, where it asks for
    /// none.
    pub fn is_supplied_by(&self, config_map: &Value) -> bool {
        let text = |pointer: &str| config_map.pointer(pointer).and_then(Value::as_str);
        if text("/metadata/namespace") != Some(&self.namespace) {
            return false;
        }
        let label = |key: &str| config_map.get("metadata")?.get("labels")?.get(key)?.as_str();
        let version = label(source::VERSION_LABEL).or_else(|| text("/metadata/name"));
        source::selector(self).meets(label) && self.version().is_none_or(|wanted| Some(wanted) == version)
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written_and_nothing_else_is_one() {
        let sha256 = "a0100a3365cce338591e6982fe985d36a3812dc8e40e04f19deb74b067772a0f";
        let object = |text: &str| json!({"metadata": {"annotations": {COMPONENTS_ANNOTATION: text}}});
        let record = RecordedComponents { version: "v1.0.0".to_owned(), sha256: sha256.to_owned() };
        assert_eq!(record.annotation(), format!("v1.0.0 sha256:{sha256}"));
        assert_eq!(RecordedComponents::of(&object(&record.annotation())), Ok(Some(record)));
        assert_eq!(RecordedComponents::of(&json!({"metadata": {}})), Ok(None));
        for wrong in ["", sha256, "v1.0.0 sha256:a0", &format!(" sha256:{sha256}")] {
            let refusal = RecordedComponents::of(&object(wrong)).unwrap_err().to_string();
            assert!(refusal.contains("write it as `v1.13.4 sha256:`"), "{refusal}");
        }
    }

    #[test]
    fn a_config_map_supplies_a_provider_of_its_namespace_and_version() {
        let provider = |spec: Value| {
            json!({"apiVersion": "operator.cluster.x-k8s.io/v1alpha2", "kind": "InfrastructureProvider",
                "metadata": {"name": "own", "namespace": "own-system"}, "spec": spec})
        };
        let map = |namespace: &str, name: &str, labels: Value| {
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace,
                "labels": labels}})
        };
        let downloaded = |version: &str| {
            json!({"provider.cluster.x-k8s.io/name": "own", "provider.cluster.x-k8s.io/type": "infrastructure",
                "provider.cluster.x-k8s.io/version": version, "provider.cluster.x-k8s.io/source": "oci",
                "managed-by.operator.cluster.x-k8s.io": "true"})
        };
        let oci = json!({"version": "v1.0.0", "fetchConfig": {"oci": "r.example/own"}});
        let any = json!({"fetchConfig": {"oci": "r.example/own"}});
        let selects =
            json!({"version": "v1.0.0", "fetchConfig": {"selector": {"matchLabels": {"for": "own"}}}});
        for (spec, map, expected) in [
            (&oci, map("own-system", "x", downloaded("v1.0.0")), true),
            (&oci, map("own-system", "x", downloaded("v1.0.1")), false),
            (&oci, map("elsewhere", "x", downloaded("v1.0.0")), false),
            (&any, map("own-system", "x", downloaded("v1.0.1")), true),
            (&selects, map("own-system", "v1.0.0", json!({"for": "own"})), true),
            (&selects, map("own-system", "v1.0.0", json!({"for": "other"})), false),
        ] {
            let set = LiveSet::read(&[provider(spec.clone())]);
            assert_eq!(set.providers()[0].is_supplied_by(&map), expected, "{spec} {map}");
        }
    }
}
