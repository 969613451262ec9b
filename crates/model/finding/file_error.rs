//! Why a file cannot be used.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::place::Place;
use super::rule::RuleEntry;
use super::{Finding, rule_id, rules};
use crate::tree::Unreadable;
use crate::wording::count;

/// A file that cannot be read, or not as what it should be. It stops what is made of that file and nothing
/// else: the cluster or release is refused by name, and others go on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error, Serialize, Deserialize)]
pub struct FileError {
    /// Where.
    pub place: Place,
    /// What was found and what to do, without the place.
    pub message: String,
    /// The rule that `validate` tells it under.
    #[serde(with = "rule_id")]
    pub rule: &'static RuleEntry,
    /// What else is wrong in the file, each with its own place.
    #[serde(default)]
    pub others: Vec<FileError>,
}

impl FileError {
    /// Of that rule, there.
    pub fn new(rule: &'static RuleEntry, place: Place, message: impl Into<String>) -> Self {
        Self { place, message: message.into(), rule, others: Vec::new() }
    }

    /// All that is wrong in the file, a line each.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        self.all().map(|error| format!("{}: {}", error.place, error.message))
    }

    /// All that is wrong in the file, a finding each.
    pub fn findings(&self) -> impl Iterator<Item = Finding> {
        self.all().map(Finding::from)
    }

    /// The message on one line, with how many more mistakes the file has.
    pub fn one_line(&self) -> String {
        match self.others.len() {
            0 => self.message.clone(),
            more => format!(
                "{} (and {} in this file, which `capstan validate` lists)",
                self.message,
                count(more, "other mistake", "other mistakes")
            ),
        }
    }

    /// By their places: what is found first need not be first in the file.
    fn all(&self) -> impl Iterator<Item = &Self> {
        let mut all: Vec<&Self> = std::iter::once(self).chain(&self.others).collect();
        all.sort_by(|one, other| one.place.cmp(&other.place));
        all.into_iter()
    }
}

impl fmt::Display for FileError {
    /// One line: the first mistake, and how many more there are.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.one_line())
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
