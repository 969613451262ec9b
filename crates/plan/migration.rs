//! Newer API versions for the objects of one cluster or provider set, as a source of change: a release that says nothing
//! but in which version each object is. What a plan does of it is what it does of any release that goes to another version
//! ([U7a](crate::merge::converted#u7a)).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use serde_json::json;

use crate::merge::cluster_objects::Base;
use crate::merge::{ClusterFacts, ReleaseSource, SourceFacts, SourceFile};
use crate::policy::InstalledProviders;
use capstan_kustomize::conversion::{ServedSince, served_since, versions_after};
use capstan_kustomize::schema::Schemas;
use capstan_model::finding::FileError;
use capstan_model::object::{ObjectId, api_group, version_age};
use capstan_model::source::{SourceId, SourceKind};
use capstan_model::version::ReleaseVersion;
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

/// What moves of a cluster, and what stays though there is a newer version.
#[derive(Debug)]
pub struct Moves {
    /// The step; `None` where nothing moves.
    pub migration: Option<Migration>,
    /// Why objects do not go to the newest version.
    pub held: Vec<String>,
}

impl Moves {
    /// What moves: to the versions asked for, or, where none is, to the newest that is served. That is known from a
    /// definition, else from the provider's release, as far as the repository installs it.
    ///
    /// # Errors
    /// A file of the cluster that cannot be read as YAML, with its place.
    pub fn of(
        cluster: &ClusterFacts,
        wanted: &[WantedVersion],
        schemas: &Schemas,
        installed: &InstalledProviders,
    ) -> Result<Self, FileError> {
        let base = Base::read(cluster)?;
        let mut held = BTreeMap::<(&str, String), BTreeSet<&str>>::new();
        let (mut old, mut new) = (Documents::default(), Documents::default());
        let (mut moved, mut versions) = (BTreeMap::<&str, BTreeSet<&str>>::new(), BTreeSet::new());
        for object in 0..base.kustomizations.start {
            let id = &base.objects[object].id;
            let Some(own) = base.version_before(object) else { continue };
            let after = versions_after(&id.kind, own, schemas);
            let is_wanted = |version: &&String| wanted.is_empty() || wanted.iter().any(|one| one.is(version));
            let is_known = !wanted.is_empty() || !schemas.served(&id.kind, api_group(own)).is_empty();
            let why_not = |version: &str| {
                served_since(&id.kind, version)
                    .filter(|_| !is_known)
                    .and_then(|since| why_held(since, installed))
            };
            if let Some((version, why)) = after.last().and_then(|newest| Some((newest, why_not(newest)?))) {
                held.entry((own, format!("{version} {why}"))).or_default().insert(&id.kind);
            }
            let is_served = |version: &&String| is_wanted(version) && why_not(version).is_none();
            let Some(to) = after.iter().rfind(is_served) else { continue };
            moved.entry(own).or_default().insert(&id.kind);
            versions.insert(to.clone());
            let file = &base.file_of(object).below;
            old.add(file, id, own);
            new.add(file, id, to);
        }
        let held = held.into_iter().map(|((own, why), kinds)| {
            let kinds: Vec<String> = kinds.into_iter().map(str::to_owned).collect();
            format!("{} of {own} could go to {why}", list(&kinds))
        });
        let held = held.collect();
        if versions.is_empty() {
            return Ok(Self { migration: None, held });
        }
        let to: BTreeSet<&str> =
            versions.iter().filter_map(|version| Some(version.split_once('/')?.1)).collect();
        let path = to.into_iter().collect::<Vec<_>>().join("+");
        let read = |path: &str, documents: Documents| documents.read(path, cluster);
        let (old, new) = (read("present", old)?, read(&path, new)?);
        Ok(Self { migration: Some(Migration { old, new, notes: notes(versions, &moved) }), held })
    }
}

/// Why no object goes to a version by itself that is served from such a release on: the rest of a sentence that names
/// the version. `None` where it does.
fn why_held(since: ServedSince, installed: &InstalledProviders) -> Option<String> {
    let ServedSince { provider, release, is_final } = since;
    let first = ReleaseVersion::parse(release)?;
    let mut known = installed.releases_of(provider).peekable();
    if known.peek().is_none() {
        return (!is_final).then(|| {
            format!(
                "with {provider} {release}, which is not known to be a final release: name the version with `--to`, if your \
                 management cluster serves it."
            )
        });
    }
    let older = known.find(|own| **own < first)?;
    Some(format!(
        "with {provider} {release}, and the repository installs v{older}: upgrade the provider first, or name the version \
         with `--to`."
    ))
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
