//! Findings: a rule's verdict on an upgrade or a tree.

use serde::{Deserialize, Serialize};

use crate::object::{FieldPath, ObjectId};
use crate::tree::RepoPath;

/// How bad a finding is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth a look; never decides.
    Warning,
    /// Fails the check and gives exit code 3.
    Error,
}

/// A rule's verdict with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The rule's id, as the catalogue has it: `kubernetes-minor-skip`.
    pub rule: &'static str,
    /// The severity after the settings have had their say.
    pub severity: Severity,
    /// One or two sentences: what was found and what to do. No secret values.
    pub message: String,
    /// Where; `None` where no single file is to blame.
    pub file: Option<RepoPath>,
    /// Line in that file, from 1.
    pub line: Option<u32>,
    /// Column in that file, from 1.
    pub column: Option<u32>,
    /// The object spoken of; with rule and path it identifies a finding across two trees.
    pub object: Option<ObjectId>,
    /// The field spoken of.
    pub path: Option<FieldPath>,
}

/// A text as a sentence begins: with a capital letter.
pub(crate) fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
