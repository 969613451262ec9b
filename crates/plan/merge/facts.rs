//! The facts of one cluster that a merge reads.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::flux::PostBuild;
use capstan_model::finding::{FileError, Place, rules};
use capstan_model::ids::{ClusterId, ReleaseId};
use capstan_model::target::{Target, TargetKind};
use capstan_model::tree::{BlobId, RepoPath};
use capstan_yaml::{YamlError, YamlFile};

/// A file of the repository, with its text.
#[derive(Debug, Clone)]
pub struct SourceFile {
    /// Its path from the repository's root.
    pub path: RepoPath,
    content: ParsedContent,
}

/// A caller that has parsed a file passes the result on, so that a plan does not parse it again.
#[derive(Debug, Clone)]
enum ParsedContent {
    Text(Arc<str>),
    Parsed(YamlFile),
}

impl SourceFile {
    /// A file that is not parsed yet.
    pub fn new(path: RepoPath, text: impl Into<Arc<str>>) -> Self {
        Self { path, content: ParsedContent::Text(text.into()) }
    }

    /// A file that was parsed.
    pub const fn parsed(path: RepoPath, file: YamlFile) -> Self {
        Self { path, content: ParsedContent::Parsed(file) }
    }

    pub fn text(&self) -> &str {
        match &self.content {
            ParsedContent::Text(text) => text,
            ParsedContent::Parsed(file) => file.text(),
        }
    }

    /// Its content as YAML.
    ///
    /// # Errors
    /// The content is not YAML, with the place.
    pub fn read(&self) -> Result<YamlFile, FileError> {
        self.read_as(YamlFile::read)
    }

    /// Its content as a template, which may be YAML only once it has values.
    ///
    /// # Errors
    /// The content is not a template, with the place.
    pub fn read_template(&self) -> Result<YamlFile, FileError> {
        self.read_as(YamlFile::read_template)
    }

    fn read_as(&self, read: impl FnOnce(&str) -> Result<YamlFile, YamlError>) -> Result<YamlFile, FileError> {
        match &self.content {
            ParsedContent::Parsed(file) => Ok(file.clone()),
            ParsedContent::Text(text) => read(text).map_err(|error| {
                let place = Place::at(self.path.clone(), error.position);
                FileError::new(rules::INVALID_YAML, place, error.message)
            }),
        }
    }
}

/// A file of the base that is not a manifest. A kustomization may generate objects from it.
#[derive(Debug, Clone)]
pub struct OtherFile {
    /// Its path below the base folder.
    pub below: String,
    /// Its content's id.
    pub blob: BlobId,
    /// Its text; `None` if it is not text.
    pub text: Option<Arc<str>>,
}

/// A cluster's folder as facts: everything the plan needs to know of one cluster.
///
/// The caller gathers them. The files are those that end in `.yaml` or `.yml`. With `base: "."`, `base` must not
/// contain the overlay's files and the two `capstan.yaml`.
#[derive(Debug, Clone)]
pub struct ClusterFacts {
    /// The cluster or provider set.
    pub id: ClusterId,
    /// Which of them it is.
    pub kind: TargetKind,
    /// The folder that is Capstan's: `gauss/peu01/base`.
    pub base_folder: RepoPath,
    /// The base's files, ordered by path.
    pub base: Vec<SourceFile>,
    /// The base's files that are not manifests, if a release has files of those names.
    pub contents: Vec<OtherFile>,
    /// The overlay's files, ordered by path. Read, never written.
    pub overlay: Vec<SourceFile>,
    /// The cluster's `capstan.yaml`, where it has one.
    pub record: Option<SourceFile>,
    /// Variables that bind in the cluster: its own `variables:`.
    pub variables: BTreeMap<String, String>,
    /// What Flux substitutes in its objects, which binds after those.
    pub flux: PostBuild,
    /// The release that the folder is recorded to be at, whether or not its content was found.
    pub release: Option<ReleaseId>,
    /// Who applies the cluster.
    pub applied: AppliedBy,
    /// Names of ClusterClasses of this folder that Clusters of other folders use.
    pub classes_used_elsewhere: Vec<String>,
}

impl ClusterFacts {
    pub fn target(&self) -> Target {
        Target::new(self.kind, self.id.clone())
    }
}

/// Who applies the objects in a cluster's folder. That decides how templates are rotated
/// ([U12](crate::templates#u12)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppliedBy {
    /// A management cluster that claims it: Git keeps the logical names.
    Reconciler,
    /// Flux, Argo CD, kubectl: a changed template comes as a new object with a new name.
    Others,
}
