//! The objects of a live inventory, as the API server has them.

use std::collections::BTreeMap;
use std::sync::Arc;

use capstan_inventory::kinds::{API_VERSION, SETTINGS};
use capstan_inventory::origin::LevelKind;
use capstan_model::digest::sha256_of_lines;
use capstan_model::tree::{CommitId, RepoPath};
use capstan_yaml::YamlFile;
use serde_json::{Value, json};

use super::release::{self, HOME, ReleaseFiles};
use crate::reconcile::ports::SourceError;
use capstan_ports::{ApiKind, As, LiveError, ManagementCluster};

/// Objects and ConfigMaps that are read.
const OBJECTS: usize = 20_000;
/// Bytes of all of them, as they are listed, and of releases unpacked.
const BYTES: usize = 128 << 20;

#[derive(Debug, Clone)]
pub(super) struct FetchedObject {
    /// `None` of the `Inventory` itself.
    pub(super) level: Option<LevelKind>,
    pub(super) name: String,
    pub(super) uid: String,
    pub(super) resource_version: String,
    pub(super) generation: i64,
    pub(super) is_deleting: bool,
    pub(super) finalizers: Vec<String>,
    /// Whether it says `retire: true`.
    pub(super) retires: bool,
    pub(super) status: Value,
    spec: Value,
}

/// All that was read in one look.
#[derive(Debug)]
pub(super) struct ReadInventory {
    pub(super) objects: Vec<FetchedObject>,
    releases: ReleaseFiles,
    /// ConfigMaps that look like releases but are not.
    pub(super) nameless: Vec<String>,
    /// SHA-256 of all that has a say.
    pub(super) revision: CommitId,
}

/// The kinds that are read.
pub(super) fn kinds() -> Vec<(Option<LevelKind>, ApiKind)> {
    let of = |level: LevelKind| (Some(level), api_kind(level.kind()));
    std::iter::once((None, api_kind(SETTINGS))).chain(LevelKind::OF_OBJECTS.map(of)).collect()
}

/// A kind of the inventory.
pub(super) fn api_kind(kind: &str) -> ApiKind {
    ApiKind::of_version(API_VERSION, kind)
}

/// The kind of the objects that releases are.
pub(super) fn config_maps() -> ApiKind {
    ApiKind::of_version("v1", "ConfigMap")
}

/// The text at a pointer; empty where there is no text.
pub(super) fn text<'v>(object: &'v Value, pointer: &str) -> &'v str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Reads everything, or nothing.
///
/// # Errors
/// A kind is not served or may not be listed, or a list failed or is too long: what it would have held is unknown.
pub(super) async fn read(
    live: &dyn ManagementCluster,
    namespace: &str,
    labels: &BTreeMap<String, String>,
) -> Result<ReadInventory, SourceError> {
    let unread = |reason: String| SourceError::Away {
        source_name: format!("the inventory in the namespace {namespace}"),
        reason,
    };
    let failed = |error: LiveError| unread(error.to_string());
    let within = |count: usize, bytes: usize| judge(count, bytes).map_err(unread);
    let mut objects = Vec::new();
    let mut bytes = 0;
    for (level, kind) in kinds() {
        // The list of a kind that is not served is empty, but that does not mean that the objects were deleted.
        if live.scope(&kind).await.map_err(failed)?.is_none() {
            return Err(unread(format!("{kind} is not served: install the definitions of `capstan crds`")));
        }
        for object in live.list(&As::Reconciler, &kind, Some(namespace), &[]).await.map_err(failed)? {
            let found = FetchedObject::read(level, &object);
            bytes += found.spec.to_string().len();
            objects.push(found);
        }
        within(objects.len(), bytes)?;
    }
    let labels: Vec<(&str, &str)> =
        labels.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    let maps = live.list(&As::Reconciler, &config_maps(), Some(namespace), &labels).await.map_err(failed)?;
    within(objects.len() + maps.len(), bytes)?;
    // What a few KiB unpack to is counted release by release: all of them together might be more than there is memory.
    let (releases, nameless) =
        release::files(&maps, |of_releases| within(objects.len() + maps.len(), bytes + of_releases))?;
    objects.sort_by(|one, other| (one.level, &one.name).cmp(&(other.level, &other.name)));
    let revision =
        CommitId::parse(&revision(&objects, &releases)).map_err(|error| unread(error.to_string()))?;
    Ok(ReadInventory { objects, releases, nameless, revision })
}

/// Whether so many objects of so many bytes may be read.
fn judge(count: usize, bytes: usize) -> Result<(), String> {
    if count > OBJECTS {
        return Err(format!("it has more than {OBJECTS} objects"));
    }
    if bytes > BYTES {
        return Err(format!("its objects and releases are more than {} MiB", BYTES >> 20));
    }
    Ok(())
}

/// What tells all that has a say from anything else that could have.
fn revision(objects: &[FetchedObject], releases: &ReleaseFiles) -> String {
    let object = |one: &FetchedObject| format!("{} {} {}", one.kind(), one.name, one.spec);
    let file = |(path, content): (&RepoPath, &Result<Arc<[u8]>, String>)| match content {
        Ok(bytes) => format!("{path} {}", capstan_model::digest::sha256(bytes)),
        Err(why) => format!("{path} is broken: {why}"),
    };
    sha256_of_lines(objects.iter().map(object).chain(releases.iter().map(file)))
}

impl FetchedObject {
    fn read(level: Option<LevelKind>, object: &Value) -> Self {
        let finalizers = object.pointer("/metadata/finalizers").and_then(Value::as_array);
        let mut spec = object.get("spec").cloned().unwrap_or(Value::Null);
        spec.sort_all_objects();
        Self {
            level,
            name: text(object, "/metadata/name").to_owned(),
            uid: text(object, "/metadata/uid").to_owned(),
            resource_version: text(object, "/metadata/resourceVersion").to_owned(),
            generation: object.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or_default(),
            is_deleting: object.pointer("/metadata/deletionTimestamp").is_some(),
            finalizers: finalizers
                .into_iter()
                .flatten()
                .filter_map(|one| Some(one.as_str()?.to_owned()))
                .collect(),
            retires: spec.get("retire").and_then(Value::as_bool).unwrap_or_default(),
            status: object.get("status").cloned().unwrap_or(Value::Null),
            spec,
        }
    }

    pub(super) fn kind(&self) -> &'static str {
        self.level.map_or(SETTINGS, LevelKind::kind)
    }

    /// The folder that a definition names.
    pub(super) fn folder(&self) -> Option<&str> {
        self.spec.get("folder").and_then(Value::as_str)
    }

    /// Its file, as Git would hold the same object. An object that no file can hold (it nests too deep) gets a file
    /// with a wrong spec. So the definitions that name it are refused, and no others.
    fn file(&self) -> (RepoPath, Result<Arc<[u8]>, String>) {
        let path = RepoPath::parse(&format!("{HOME}/{}/{}.yaml", self.kind(), self.name)).unwrap_or_default();
        let manifest = |spec: &Value| {
            let mut manifest =
                json!({"apiVersion": API_VERSION, "kind": self.kind(), "metadata": {"name": self.name}});
            if !spec.is_null() {
                manifest["spec"] = spec.clone();
            }
            serde_json::to_string_pretty(&manifest)
        };
        let text = manifest(&self.spec).ok().filter(|text| YamlFile::read(text).is_ok());
        let broken = || manifest(&json!("it nests too deep, or holds characters that no YAML has")).ok();
        let content = text.or_else(broken).ok_or_else(|| "it cannot be written".to_owned());
        (path, content.map(|text| text.into_bytes().into()))
    }
}

impl ReadInventory {
    /// The files that the generator reads: the releases, and the objects but for definitions of these names.
    pub(super) fn files_without(&self, definitions: &BTreeMap<String, String>) -> ReleaseFiles {
        let is_left_out = |one: &FetchedObject| {
            one.level == Some(LevelKind::ClusterDefinition) && definitions.contains_key(&one.name)
        };
        let objects = self.objects.iter().filter(|one| !is_left_out(one)).map(FetchedObject::file);
        self.releases.clone().into_iter().chain(objects).collect()
    }

    /// The definitions of clusters.
    pub(super) fn definitions(&self) -> impl Iterator<Item = &FetchedObject> {
        self.objects.iter().filter(|one| one.level == Some(LevelKind::ClusterDefinition))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inventory_is_read_at_each_bound_and_refused_beyond() {
        assert_eq!(judge(20_000, 134_217_728), Ok(()));
        assert_eq!(judge(20_001, 0), Err("it has more than 20000 objects".to_owned()));
        let told = "its objects and releases are more than 128 MiB".to_owned();
        assert_eq!(judge(0, 134_217_729), Err(told));
    }
}
