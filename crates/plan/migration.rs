//! Newer API versions for the objects of one cluster or provider set, as a source of change: a release that says nothing
//! but in which version each object is. What a plan does of it is what it does of any release that goes to another version
//! ([U7a](crate::merge::converted#u7a)).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use serde_json::json;

use crate::merge::cluster_objects::Base;
use crate::merge::{ClusterFacts, ReleaseSource, SourceFacts, SourceFile};
use capstan_kustomize::conversion::versions_after;
use capstan_kustomize::schema::Schemas;
use capstan_model::finding::FileError;
use capstan_model::object::{ObjectId, version_age};
use capstan_model::source::{SourceId, SourceKind};
use capstan_model::wording::list;

/// An API version that somebody asks for: of one API group, or of all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedVersion {
    group: Option<String>,
    version: String,
}

impl FromStr for WantedVersion {
    type Err = String;

    /// Reads `v1beta2` or `infrastructure.cluster.x-k8s.io/v1beta2`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (group, version) = match text.split_once('/') {
            Some((group, version)) => (Some(group.to_owned()), version),
            None => (None, text),
        };
        if version_age(version).is_none() || group.as_deref() == Some("") {
            return Err(format!("`{text}` is not an API version: write `v1beta2` or `GROUP/v1beta2`"));
        }
        Ok(Self { group, version: version.to_owned() })
    }
}

impl fmt::Display for WantedVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.group {
            Some(group) => write!(f, "{group}/{}", self.version),
            None => f.write_str(&self.version),
        }
    }
}

impl WantedVersion {
    /// Whether it is that version of that group.
    pub fn is(&self, api_version: &str) -> bool {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        self.version == version && self.group.as_deref().is_none_or(|own| own == group)
    }
}

/// The step to newer API versions.
#[derive(Debug)]
pub struct Migration {
    /// The objects that move, in the versions that they have.
    pub old: ReleaseSource,
    /// The same in the versions that they come to.
    pub new: ReleaseSource,
    /// What a person should know besides.
    pub notes: Vec<String>,
}

impl Migration {
    /// What moves of a cluster: to the versions asked for, or, where none is, to the newest. `None` where nothing does.
    ///
    /// # Errors
    /// A file of the cluster that cannot be read as YAML, with its place.
    pub fn of(
        cluster: &ClusterFacts,
        wanted: &[WantedVersion],
        schemas: &Schemas,
    ) -> Result<Option<Self>, FileError> {
        let base = Base::read(cluster)?;
        let (mut old, mut new) = (Documents::default(), Documents::default());
        let (mut moved, mut versions) = (BTreeMap::<&str, BTreeSet<&str>>::new(), BTreeSet::new());
        for object in 0..base.kustomizations.start {
            let id = &base.objects[object].id;
            let Some(own) = base.version_before(object) else { continue };
            let after = versions_after(&id.kind, own, schemas);
            let is_wanted = |version: &&String| wanted.is_empty() || wanted.iter().any(|one| one.is(version));
            let Some(to) = after.iter().rfind(is_wanted) else { continue };
            moved.entry(own).or_default().insert(&id.kind);
            versions.insert(to.clone());
            let file = &base.file_of(object).below;
            old.add(file, id, own);
            new.add(file, id, to);
        }
        if versions.is_empty() {
            return Ok(None);
        }
        let to: BTreeSet<&str> =
            versions.iter().filter_map(|version| Some(version.split_once('/')?.1)).collect();
        let path = to.into_iter().collect::<Vec<_>>().join("+");
        let read = |path: &str, documents: Documents| documents.read(path, cluster);
        Ok(Some(Self { old: read("present", old)?, new: read(&path, new)?, notes: notes(versions, &moved) }))
    }
}

/// What moves, and the order that is safe.
fn notes(versions: BTreeSet<String>, moved: &BTreeMap<&str, BTreeSet<&str>>) -> Vec<String> {
    let served: Vec<String> = versions.into_iter().collect();
    let moved = moved.iter().map(|(version, kinds)| {
        let kinds: Vec<String> = kinds.iter().map(|kind| (*kind).to_owned()).collect();
        format!("{} of {version}", list(&kinds))
    });
    let moved: Vec<String> = moved.collect();
    vec![
        format!("Moves {}.", moved.join("; ")),
        format!(
            "Merge it once the management cluster serves {}: the providers go first, then the clusters, and the old versions end last.",
            list(&served)
        ),
    ]
}

/// Documents that say in which version an object is, by file below the base.
#[derive(Default)]
struct Documents(BTreeMap<String, Vec<String>>);

impl Documents {
    fn add(&mut self, file: &str, id: &ObjectId, api_version: &str) {
        let mut metadata = json!({"name": id.name});
        if let Some(namespace) = &id.namespace {
            metadata["namespace"] = json!(namespace);
        }
        let document = json!({"apiVersion": api_version, "kind": id.kind, "metadata": metadata});
        self.0.entry(file.to_owned()).or_default().push(document.to_string());
    }

    fn read(self, path: &str, cluster: &ClusterFacts) -> Result<ReleaseSource, FileError> {
        let files = self.0.into_iter().filter_map(|(below, documents)| {
            let path = cluster.base_folder.join(&below).ok()?;
            Some(SourceFile::new(path, documents.join("\n---\n") + "\n"))
        });
        let base_folder = cluster.base_folder.clone();
        let facts = SourceFacts { base_folder, base: files.collect(), ..SourceFacts::default() };
        ReleaseSource::read(SourceId::new(SourceKind::MIGRATION, path), None, &facts)
    }
}
