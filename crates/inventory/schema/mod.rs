//! A release's `schema.yaml`: what its values are called, of which type they are, and what they mean.
//!
//! An OpenAPI v3 structural schema, as custom resource definitions have it, with a root of type `object`; and
//! Capstan's own words: `x-capstan-levels` (who may set a value) and `x-capstan-secret` (only a reference to a store
//! may stand there). Read strictly: what is not understood is a finding, never passed over.

mod limits;
mod read;

use std::sync::Arc;

use capstan_kustomize::schema::SchemaType;
use capstan_model::finding::{Finding, Place, rules};
use capstan_model::tree::RepoPath;
use capstan_yaml::{Node, Value, YamlFile};

pub use limits::ValueBounds;

use super::origin::{InventoryLevel, LevelKind};

/// Name of the file in a release's folder.
pub const FILE: &str = "schema.yaml";

/// What is known of one value and of those in it.
#[derive(Debug, Clone, Default)]
pub struct ValueSchema {
    /// Its type.
    pub kind: SchemaType,
    /// Whether `null` is a value of its own; here it is always absence, so this is only read.
    pub nullable: bool,
    /// What it means.
    pub description: Option<String>,
    /// The values of a mapping, in the order of the file.
    pub properties: Vec<(String, Self)>,
    /// The schema of values that are not listed.
    pub others: Option<Box<Self>>,
    /// Whether a mapping may hold values that nobody described.
    pub open: bool,
    /// The schema of a list's items.
    pub items: Option<Box<Self>>,
    /// How a list merges.
    pub list: ListKind,
    /// What holds where nobody sets it.
    pub default: Option<Node>,
    /// What it may be: the release is tried with it.
    pub example: Option<Node>,
    /// The values of a mapping that must be there.
    pub required: Vec<String>,
    /// The values allowed; empty where any is.
    pub choices: Vec<Value>,
    /// Bounds.
    pub limits: ValueBounds,
    /// Who may set it; `None` where everybody may.
    pub levels: Option<Vec<LevelKind>>,
    /// Whether only a reference to a store may stand there.
    pub secret: bool,
    /// Where it begins in the file.
    pub offset: usize,
}

/// How a list of a lower level meets that of an upper one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ListKind {
    /// It replaces it.
    #[default]
    Atomic,
    /// They are united.
    Set,
    /// Items with equal values at these keys are merged.
    Map(Vec<String>),
}

impl ValueSchema {
    /// A schema that knows nothing and allows everything.
    pub fn anything() -> Self {
        Self { open: true, ..Self::default() }
    }

    /// The schema of a value of a mapping, listed or not; `None` where it is unknown.
    pub fn value(&self, key: &str) -> Option<&Self> {
        self.property(key).or(self.others.as_deref())
    }

    /// The schema of a value that is listed.
    pub fn property(&self, key: &str) -> Option<&Self> {
        self.properties.iter().find(|(name, _)| name == key).map(|(_, schema)| schema)
    }

    /// Whether a mapping may hold a value of that name.
    pub fn knows(&self, key: &str) -> bool {
        self.open || self.value(key).is_some()
    }

    /// The names that are listed.
    pub fn names(&self) -> Vec<&str> {
        self.properties.iter().map(|(name, _)| name.as_str()).collect()
    }
}

/// The schema of a release and its file.
#[derive(Debug)]
pub struct ReleaseSchema {
    /// The release's id and the file: the level of defaults.
    pub level: Arc<InventoryLevel>,
    /// The values.
    pub root: ValueSchema,
}

impl ReleaseSchema {
    /// Reads a `schema.yaml`. The findings say what is wrong in it; what was read of it still holds.
    pub fn read(release: &str, path: &RepoPath, bytes: &[u8]) -> (Option<Self>, Vec<Finding>) {
        let file = match YamlFile::read_bytes(bytes) {
            Ok(file) => file,
            Err(error) => {
                let place = Place::at(path.clone(), error.position);
                return (None, vec![Finding::new(rules::INVALID_YAML, error.message).place(place)]);
            }
        };
        let level = InventoryLevel {
            kind: LevelKind::Default,
            name: release.to_owned(),
            path: path.clone(),
            file: file.clone(),
        };
        let level = Arc::new(level);
        let (root, findings) = match file.documents() {
            [document] => {
                let (root, mut findings) =
                    read::read(&level, &document.root, document.duplicate_key.as_ref());
                if let Some((at, message)) = file.misread_key(&document.root) {
                    let finding = Finding::new(rules::INVALID_DEFINITION, message).place(level.place(at));
                    findings.push(finding.blocking());
                }
                (root, findings)
            }
            documents => {
                let at = documents.get(1).map_or(0, |document| document.root.span.start);
                let message = "a schema is one document: the values of this release".to_owned();
                let finding = Finding::new(rules::INVALID_DEFINITION, message).place(level.place(at));
                (ValueSchema::anything(), vec![finding.blocking()])
            }
        };
        (Some(Self { level, root }), findings)
    }
}
