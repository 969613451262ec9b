//! Why a file cannot be used.

use serde::{Deserialize, Serialize};

use super::place::Place;
use super::rule::RuleEntry;
use super::{Finding, rule_id, rules};
use crate::tree::Unreadable;

/// A file that cannot be read, or not as what it should be. It stops what is made of that file and nothing
/// else: the cluster or release is refused by name, and others go on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error, Serialize, Deserialize)]
#[error("{place}: {message}")]
pub struct FileError {
    /// Where.
    pub place: Place,
    /// What was found and what to do, without the place.
    pub message: String,
    /// The rule that `validate` tells it under.
    #[serde(with = "rule_id")]
    pub rule: &'static RuleEntry,
}

impl FileError {
    /// Of that rule, there.
    pub fn new(rule: &'static RuleEntry, place: Place, message: impl Into<String>) -> Self {
        Self { place, message: message.into(), rule }
    }
}

impl From<Unreadable> for FileError {
    fn from(unreadable: Unreadable) -> Self {
        Self::new(rules::UNREADABLE_FILE, Place::whole(unreadable.path), unreadable.reason)
    }
}

impl From<&FileError> for Finding {
    fn from(error: &FileError) -> Self {
        Self::new(error.rule, &error.message).place(error.place.clone())
    }
}
