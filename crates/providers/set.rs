//! The objects below a path of a repository: provider objects, and the ConfigMaps and Secrets that they may name.
//!
//! A folder with a kustomization, or with `base/`, is rendered as a cluster's is; of any other folder every
//! manifest is read. In a whole repository, a file that is not YAML is ignored unless it mentions providers.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use capstan_kustomize::render::{self, Folders, PlacedContent, PlacedValue, RenderError, is_kustomization};
use capstan_model::finding::Place;
use capstan_model::object::api_group;
use capstan_model::spelling;
use capstan_model::tree::{RepoPath, Tree, TreeEntry, is_manifest};
use capstan_yaml::YamlFile;

use super::kind::{GROUP, ProviderKind};
use super::known::{self, CORE_PROVIDER};
use super::published::Published;
use super::refusal::Refusal;
use super::spec::{Provider, SpecReference};
use super::variables::VariableValues;

/// The folder for Capstan's own files: vendored files and components.
const OWN_FOLDER: &str = ".capstan";

/// The objects below a path.
#[derive(Debug, Default)]
pub struct ProviderSet {
    providers: Vec<Provider>,
    pub(crate) config_maps: Vec<ConfigObject>,
    secrets: Vec<ConfigObject>,
    fetched: Vec<(String, Published)>,
    /// Why components could not be had, by label.
    missing: BTreeMap<String, String>,
    /// Whether it is what an API server holds: there are no folders then to put anything into.
    pub(crate) is_live: bool,
}

/// A ConfigMap or a Secret.
#[derive(Debug)]
pub(crate) struct ConfigObject(PlacedValue);

impl ProviderSet {
    /// Reads a path: a file or a folder.
    ///
    /// # Errors
    /// All errors, each with its place: files that cannot be read, provider objects that are not valid, and
    /// what the operator's checks before an installation refuse.
    pub fn read(tree: &dyn Tree, path: &RepoPath) -> Result<Self, Vec<Refusal>> {
        let mut refused = Vec::new();
        let objects = objects(tree, path, &mut refused);
        Self::sorted(objects, refused)
    }

    /// The set among objects that somebody rendered.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn of(objects: impl IntoIterator<Item = PlacedValue>) -> Result<Self, Vec<Refusal>> {
        Self::sorted(objects, Vec::new())
    }

    fn sorted(
        objects: impl IntoIterator<Item = PlacedValue>,
        mut refused: Vec<Refusal>,
    ) -> Result<Self, Vec<Refusal>> {
        let mut set = Self::default();
        for object in objects {
            let text = |key: &str| object.text_at(&[key]).unwrap_or_default();
            match (api_group(text("apiVersion")), text("kind")) {
                (GROUP, _) => match Provider::read(&object) {
                    Ok(provider) => set.providers.push(provider),
                    Err(refusal) => refused.push(refusal),
                },
                ("", "ConfigMap") => set.config_maps.push(ConfigObject(object)),
                ("", "Secret") => set.secrets.push(ConfigObject(object)),
                _ => {}
            }
        }
        set.providers.sort_by(|a, b| (a.kind, &a.name).cmp(&(b.kind, &b.name)));
        refused.extend(set.wrong());
        if refused.is_empty() { Ok(set) } else { Err(refused) }
    }

    /// Adds a ConfigMap or a Secret; anything else is passed over.
    pub(crate) fn insert(&mut self, object: PlacedValue) {
        match (object.text_at(&["apiVersion"]), object.text_at(&["kind"])) {
            (Some("v1"), Some("ConfigMap")) => self.config_maps.push(ConfigObject(object)),
            (Some("v1"), Some("Secret")) => self.secrets.push(ConfigObject(object)),
            _ => {}
        }
    }

    /// Adds a ConfigMap or a Secret where none of its name is here that can be read.
    pub(crate) fn complete(&mut self, object: PlacedValue) {
        let text = |path: &[&str]| object.text_at(path).unwrap_or_default();
        let named = SpecReference {
            namespace: text(&["metadata", "namespace"]).to_owned(),
            name: text(&["metadata", "name"]).to_owned(),
        };
        let is_there = match text(&["kind"]) {
            "ConfigMap" => self.config_map(&named).is_some(),
            _ => {
                self.secrets.retain(|held| !held.is(&named) || held.0.field("sops").is_none());
                self.secrets.iter().any(|held| held.is(&named))
            }
        };
        if !is_there {
            self.insert(object);
        }
    }

    /// Adds a provider object.
    pub(crate) fn insert_provider(&mut self, provider: Provider) {
        let key = |provider: &Provider| (provider.kind, provider.name.clone(), provider.namespace.clone());
        let at = self.providers.partition_point(|known| key(known) <= key(&provider));
        self.providers.insert(at, provider);
    }

    /// The providers, in clusterctl's order of kinds and by name.
    pub fn providers(&self) -> &[Provider] {
        &self.providers
    }

    /// Adds what was fetched for the provider of this label: it counts where nothing is at hand.
    pub fn provide(&mut self, label: impl Into<String>, published: Published) {
        self.fetched.push((label.into(), published));
    }

    /// Says why the components of the provider of this label could not be had.
    pub(crate) fn explain(&mut self, label: impl Into<String>, why: impl Into<String>) {
        self.missing.insert(label.into(), why.into());
    }

    /// Why a provider's components could not be had, where somebody tried.
    pub(crate) fn why_missing(&self, provider: &Provider) -> Option<&str> {
        self.missing.get(&provider.label()).map(String::as_str)
    }

    /// What was fetched for a provider.
    pub(crate) fn fetched(&self, provider: &Provider) -> impl Iterator<Item = &Published> {
        let label = provider.label();
        self.fetched.iter().filter(move |(of, _)| *of == label).map(|(_, published)| published)
    }

    /// What its config Secret says, where that is here; then what these say. Nothing where it names no Secret.
    ///
    /// # Errors
    /// A Secret that cannot be read: with the place, never with a value.
    pub fn values(&self, provider: &Provider, variables: &VariableValues) -> Result<VariableValues, Refusal> {
        let mut values = match &provider.spec.config_secret {
            Some(secret) => self.secret(secret)?.map(|(values, _)| values).unwrap_or_default(),
            None => VariableValues::default(),
        };
        values.fill(variables);
        Ok(values)
    }

    /// What the operator refuses before it looks at components.
    fn wrong(&self) -> Vec<Refusal> {
        let mut found = Vec::new();
        let mut known: BTreeMap<(ProviderKind, &str), &Provider> = BTreeMap::new();
        for provider in &self.providers {
            let refuse =
                |message: String| Refusal::new(message).of(provider.subject()).at(provider.place.clone());
            if let Some(first) = known.insert((provider.kind, &provider.name), provider) {
                found.push(refuse(format!(
                    "a second one of this kind and name; the first is in {}. A management cluster has only one: remove or rename one, or name the folder to use",
                    first.place
                )));
                continue;
            }
            if provider.kind == ProviderKind::Core && provider.name != CORE_PROVIDER {
                found.push(refuse(format!("a core provider must be named `{CORE_PROVIDER}`: rename it")));
            } else if provider.spec.source.is_none()
                && known::repository(provider.kind, &provider.name).is_none()
            {
                let hint = spelling::suggestion(&provider.name, known::names(provider.kind));
                found.push(refuse(format!(
                    "clusterctl knows no {} of this name, so it needs a source: add `spec.fetchConfig` with `selector`, `oci` or `url`{hint}",
                    provider.kind
                )));
            }
        }
        found
    }

    /// A ConfigMap by name.
    pub(crate) fn config_map(&self, wanted: &SpecReference) -> Option<&ConfigObject> {
        self.config_maps.iter().find(|held| held.is(wanted))
    }

    /// The values of a Secret, and names of those that are not text; `None` where there is no such Secret in
    /// Git.
    ///
    /// # Errors
    /// A second Secret of that name; values that are not base64: with the place, never with the value.
    pub(crate) fn secret(
        &self,
        wanted: &SpecReference,
    ) -> Result<Option<(VariableValues, Vec<String>)>, Refusal> {
        let mut found = self.secrets.iter().filter(|held| held.is(wanted));
        let Some(secret) = found.next() else { return Ok(None) };
        if let Some(second) = found.next() {
            let message = format!("Secret {wanted} is here and also in {}: keep one", secret.place());
            return Err(Refusal::new(message).at(second.place()));
        }
        if secret.0.field("sops").is_some() {
            return Ok(None);
        }
        let (mut values, mut no_text) = (VariableValues::default(), Vec::new());
        for (name, value) in secret.0.field("data").map(PlacedValue::entries).unwrap_or_default() {
            let broken = || {
                Refusal::new(format!(
                    "`data.{name}` of Secret {wanted} is not base64: correct it, or use `stringData`"
                ))
                .at(&value.place)
            };
            let encoded = if value.is_null() { "" } else { value.as_str().ok_or_else(broken)? };
            let compact: String = encoded.chars().filter(|c| !matches!(c, '\n' | '\r')).collect();
            match String::from_utf8(STANDARD.decode(compact).map_err(|_| broken())?) {
                Ok(text) => values.insert(name, text),
                Err(_) => no_text.push(name.clone()),
            }
        }
        for (name, value) in secret.0.field("stringData").map(PlacedValue::entries).unwrap_or_default() {
            let broken = || {
                Refusal::new(format!("`stringData.{name}` of Secret {wanted} is a text: quote it"))
                    .at(&value.place)
            };
            let text = if value.is_null() { "" } else { value.as_str().ok_or_else(broken)? };
            values.insert(name, text);
        }
        Ok(Some((values, no_text)))
    }
}

impl ProviderSet {
    /// The names that a Secret has values for, encrypted ones included; `None` where no such Secret is at hand.
    pub(crate) fn secret_names(&self, wanted: &SpecReference) -> Option<BTreeSet<String>> {
        let secret = self.secrets.iter().find(|held| held.is(wanted))?;
        let fields = ["data", "stringData"].into_iter().filter_map(|field| secret.0.field(field));
        Some(fields.flat_map(PlacedValue::entries).map(|(name, _)| name.clone()).collect())
    }
}

impl ConfigObject {
    fn is(&self, wanted: &SpecReference) -> bool {
        self.namespace() == wanted.namespace && self.name() == wanted.name
    }

    pub(crate) fn namespace(&self) -> &str {
        self.0.text_at(&["metadata", "namespace"]).unwrap_or_default()
    }

    pub(crate) fn name(&self) -> &str {
        self.0.text_at(&["metadata", "name"]).unwrap_or_default()
    }

    pub(crate) fn label(&self, key: &str) -> Option<&str> {
        self.0.text_at(&["metadata", "labels", key])
    }

    pub(crate) fn annotation(&self, key: &str) -> Option<&str> {
        self.0.text_at(&["metadata", "annotations", key])
    }

    /// A text of `data` or `binaryData`, and its place.
    pub(crate) fn text(&self, field: &str, key: &str) -> Option<(&str, Place)> {
        let value = self.0.at(&[field, key])?;
        Some((value.as_str()?, Place::from(&value.place)))
    }

    pub(crate) fn place(&self) -> Place {
        Place::from(&self.0.place)
    }
}

fn objects(tree: &dyn Tree, path: &RepoPath, refused: &mut Vec<Refusal>) -> Vec<PlacedValue> {
    if let Some(entry) = tree.entry(path) {
        return documents(tree, entry, Strict::Always, refused);
    }
    let strict = if path.is_root() { Strict::ForProviders } else { Strict::Always };
    match rendered(tree, path, refused) {
        Ok(None) => {
            let is_own = |entry: &&TreeEntry| entry.path.parts().next() == Some(OWN_FOLDER);
            let files =
                tree.entries_in(path).iter().filter(|entry| entry.is_file() && is_manifest(&entry.path));
            files
                .filter(|entry| !is_own(entry))
                .flat_map(|entry| documents(tree, entry, strict, refused))
                .collect()
        }
        Ok(Some(objects)) => objects,
        Err(error) => {
            refused.push(Refusal::new(error.to_string()).at(error.place().clone()));
            Vec::new()
        }
    }
}

/// The objects of a folder with a kustomization or with `base/`; `None` where it is neither.
fn rendered(
    tree: &dyn Tree,
    path: &RepoPath,
    refused: &mut Vec<Refusal>,
) -> Result<Option<Vec<PlacedValue>>, RenderError> {
    let entries = tree.entries_in(path);
    let below = |entry: &TreeEntry| entry.path.below(path).unwrap_or_default().to_owned();
    if entries.iter().any(|entry| !below(entry).contains('/') && is_kustomization(&entry.path)) {
        let objects = render::kustomized(tree, path)?;
        return Ok(objects.map(|objects| objects.into_iter().map(|object| object.placed).collect()));
    }
    let (Ok(base), Ok(overlay)) = (path.join("base"), path.join("overlay")) else { return Ok(None) };
    if path.is_root() || tree.entries_in(&base).is_empty() {
        return Ok(None);
    }
    let rendered = render::render(tree, &Folders { cluster: path.clone(), base, overlay })?;
    for patch in &rendered.patches {
        let lost = patch.lost.as_ref();
        refused.extend(
            lost.map(|why| {
                Refusal::new(format!("a patch of {} is lost: {why}", patch.target)).at(&patch.place)
            }),
        );
    }
    Ok(Some(rendered.objects.into_iter().map(|object| object.placed).collect()))
}

/// Which files must be YAML: in a whole repository lie templates of other things, too.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Strict {
    Always,
    /// Those that speak of the group.
    ForProviders,
}

/// The objects of a file, those of lists included.
fn documents(
    tree: &dyn Tree,
    entry: &TreeEntry,
    strict: Strict,
    refused: &mut Vec<Refusal>,
) -> Vec<PlacedValue> {
    let file =
        tree.read(entry).map_err(|error| Refusal::new(error.reason).at(Place::whole(entry.path.clone())));
    let bytes = match file {
        Ok(bytes) => bytes,
        Err(refusal) => {
            refused.push(refusal);
            return Vec::new();
        }
    };
    match YamlFile::read_bytes(&bytes) {
        Ok(file) => render::placed_documents(&entry.path, &file).into_iter().flat_map(expanded).collect(),
        Err(error) => {
            if strict == Strict::Always || bytes.windows(GROUP.len()).any(|window| window == GROUP.as_bytes())
            {
                let place = Place::at(entry.path.clone(), error.position);
                refused.push(Refusal::new(format!("this is not YAML: {}", error.message)).at(place));
            }
            Vec::new()
        }
    }
}

/// An object, or the items of a list.
fn expanded(document: PlacedValue) -> Vec<PlacedValue> {
    let is_list = document.text_at(&["kind"]).is_some_and(|kind| kind.ends_with("List"));
    match document.field("items").map(|items| &items.content) {
        Some(PlacedContent::Sequence(items)) if is_list => items.iter().cloned().flat_map(expanded).collect(),
        _ => vec![document],
    }
}
