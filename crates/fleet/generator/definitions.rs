//! The files of a snapshot that define kinds, and what they say.

use std::sync::OnceLock;

use capstan_kustomize::schema::{SchemaFile, Schemas};
use capstan_model::tree::{RepoPath, Tree};
use capstan_plan::layout::{self, Layout};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::content::Content;

/// Read when first asked for.
#[derive(Debug, Default)]
pub(super) struct Definitions {
    files: Vec<SchemaFile>,
    schemas: OnceLock<Schemas>,
}

impl Definitions {
    /// Finds the files of a snapshot.
    pub(super) fn find(tree: &dyn Tree, layout: &Layout) -> Self {
        Self::of(layout::definitions(tree, layout))
    }

    /// Of these files, ordered by path.
    pub(super) fn of(files: Vec<SchemaFile>) -> Self {
        Self { files, schemas: OnceLock::new() }
    }

    pub(super) fn schemas(&self) -> &Schemas {
        self.schemas.get_or_init(|| Schemas::read(self.files.clone()))
    }

    /// Whether a file that came, went or changed may be one of them.
    pub(super) fn may_change(&self, tree: &dyn Tree, layout: &Layout, path: &RepoPath) -> bool {
        layout::may_define(tree, layout, &self.files, path)
    }
}

/// Equal where their files are.
impl PartialEq for Definitions {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other) || self.files == other.files
    }
}

impl Eq for Definitions {}

impl Serialize for Definitions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.files.iter().map(|file| (&file.path, Content(file.bytes.clone()))))
    }
}

impl<'de> Deserialize<'de> for Definitions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written: Vec<(RepoPath, Content)> = Deserialize::deserialize(deserializer)?;
        let file = |(path, Content(bytes))| SchemaFile { path, bytes };
        Ok(Self::of(written.into_iter().map(file).collect()))
    }
}
