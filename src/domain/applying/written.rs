//! Where something was written, for whoever has to mend it.

use std::fmt;

use serde::Serialize;

use crate::object::FieldPath;
use crate::render::{Place, RenderedObject};
use crate::tree::RepoPath;

/// A file, a line and a column.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Written {
    /// The file.
    pub file: RepoPath,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

impl Written {
    /// Where a field of an object was written; where the object has no such field, what stands nearest
    /// above it.
    pub fn of(object: &RenderedObject, field: &FieldPath) -> Self {
        Self::from(&object.placed.nearest(field).place)
    }
}

impl From<&Place> for Written {
    fn from(place: &Place) -> Self {
        let position = place.position();
        Self { file: place.file().clone(), line: position.line, column: position.column }
    }
}

impl fmt::Display for Written {
    /// `gauss/peu01/base/machinepool.yaml:7:3`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

impl Serialize for Written {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Place<'w> {
            file: &'w str,
            line: u32,
            column: u32,
        }
        Place { file: self.file.as_str(), line: self.line, column: self.column }.serialize(serializer)
    }
}
