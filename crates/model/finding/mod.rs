//! Findings: a rule's verdict on an upgrade or a tree, and what each of them is made of.
//!
//! Owns the one [`Place`], the one [`Finding`], what stops a file ([`FileError`]), the entries of the rules ([`rules`]) and what settings make
//! of their severity ([`Severities`]). It is the ground floor, beneath whatever finds something.
//!
//! Deliberately absent: judging, and what a rule means and why: `policy` has that.

mod file_error;
mod place;
mod rule;
mod rule_id;
pub mod rules;
mod severities;

use serde::{Deserialize, Serialize};

pub use self::file_error::FileError;
pub use self::place::{Place, Position};
pub use self::rule::{RuleEntry, SeverityChange};
pub use self::severities::{Severities, SeverityLevel, SeverityRefused};
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

/// A rule's verdict with its place. Made by [`Finding::new`] alone, so that its severity is its rule's
/// unless a method says why it is another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The rule, as the catalogue has it.
    #[serde(with = "rule_id")]
    pub rule: &'static RuleEntry,
    severity: Severity,
    /// One or two sentences: what was found and what to do. No secret values.
    pub message: String,
    /// Where; `None` where no single file is to blame.
    pub place: Option<Place>,
    /// The object spoken of; with rule and path it identifies a finding across two trees.
    pub object: Option<ObjectId>,
    /// The field spoken of.
    pub path: Option<FieldPath>,
    /// Why the upgrade blocks for it, in short: a sentence of those that say why nothing is written.
    #[serde(default)]
    pub stops: Option<String>,
}

impl Finding {
    /// A finding with nothing but its message, as bad as its rule's findings are.
    pub fn new(rule: &'static RuleEntry, message: impl Into<String>) -> Self {
        let severity = rule.severity();
        Self { rule, severity, message: message.into(), place: None, object: None, path: None, stops: None }
    }

    #[must_use]
    pub fn object(self, object: &ObjectId) -> Self {
        Self { object: Some(object.clone()), ..self }
    }

    /// Of this field.
    #[must_use]
    pub fn path(self, path: &FieldPath) -> Self {
        Self { path: Some(path.clone()), ..self }
    }

    /// Of this object and this field, where they are known.
    #[must_use]
    pub fn maybe_of(self, object: Option<ObjectId>, path: Option<FieldPath>) -> Self {
        Self { object: object.or(self.object), path: path.or(self.path), ..self }
    }

    /// There.
    #[must_use]
    pub fn place(self, place: impl Into<Place>) -> Self {
        Self { place: Some(place.into()), ..self }
    }

    /// There, where that is known.
    #[must_use]
    pub fn maybe_place(self, place: Option<Place>) -> Self {
        Self { place: place.or(self.place), ..self }
    }

    /// Less bad than the rule's findings are: not certain, say.
    #[must_use]
    pub fn warning(self) -> Self {
        Self { severity: Severity::Warning, ..self }
    }

    /// Worse than the rule's findings are: for this one the upgrade blocks.
    #[must_use]
    pub fn blocking(self) -> Self {
        Self { severity: Severity::Error, ..self }
    }

    /// For it the upgrade blocks, and this says so in short.
    #[must_use]
    pub fn stopping(self, reason: &str) -> Self {
        Self { stops: Some(reason.to_owned()), ..self }
    }

    /// Whether it says why the upgrade blocks, so that the sentence need not stand beside it.
    pub fn says(&self, reason: &str) -> bool {
        self.message == reason || self.stops.as_deref() == Some(reason)
    }

    /// How bad it is; the settings have had their say on it if it came through [`Severities`].
    pub const fn severity(&self) -> Severity {
        self.severity
    }

    /// The file, where one is to blame.
    pub fn file(&self) -> Option<&RepoPath> {
        self.place.as_ref().map(Place::file)
    }

    /// The line in it, from 1.
    pub fn line(&self) -> Option<u32> {
        self.place.as_ref().and_then(Place::line)
    }

    /// The column, from 1.
    pub fn column(&self) -> Option<u32> {
        self.place.as_ref().and_then(Place::column)
    }
}
