//! The place of something in a file: one shape for findings, for errors that stop a file, and for everything
//! else that refers to a line.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::tree::RepoPath;

/// A place in a text as people count: line and column start at 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

/// A file or folder of the repository, and what of it is meant: all of it, a line, or a column of a line.
///
/// A column exists only with a line, so the three are not set one by one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Place {
    file: RepoPath,
    line: Option<u32>,
    column: Option<u32>,
}

impl Place {
    /// A file or folder as a whole.
    pub const fn whole(file: RepoPath) -> Self {
        Self { file, line: None, column: None }
    }

    /// A line, from 1.
    pub const fn line_of(file: RepoPath, line: u32) -> Self {
        Self { file, line: Some(line), column: None }
    }

    /// A line and a column.
    pub const fn at(file: RepoPath, position: Position) -> Self {
        Self { file, line: Some(position.line), column: Some(position.column) }
    }

    /// A line and a column where they are known, else the file.
    pub fn maybe_at(file: RepoPath, position: Option<Position>) -> Self {
        match position {
            Some(position) => Self::at(file, position),
            None => Self::whole(file),
        }
    }

    /// As much as is known; a column without a line says nothing.
    pub const fn known(file: RepoPath, line: Option<u32>, column: Option<u32>) -> Self {
        match line {
            Some(_) => Self { file, line, column },
            None => Self::whole(file),
        }
    }

    /// The file or folder.
    pub const fn file(&self) -> &RepoPath {
        &self.file
    }

    /// Line, from 1.
    pub const fn line(&self) -> Option<u32> {
        self.line
    }

    /// Column in characters, from 1; always with a line.
    pub const fn column(&self) -> Option<u32> {
        self.column
    }

    /// Line and column, where both are known.
    pub fn position(&self) -> Option<Position> {
        Some(Position { line: self.line?, column: self.column? })
    }

    /// The first column of its line: of a document that is meant as a whole. Nothing where no line is known.
    #[must_use]
    pub fn at_first_column(self) -> Self {
        Self { column: self.line.map(|_| 1), ..self }
    }

    /// The same line, or file, without the column.
    #[must_use]
    pub fn without_column(self) -> Self {
        Self { column: None, ..self }
    }

    /// The same file as a whole.
    #[must_use]
    pub fn without_line(self) -> Self {
        Self::whole(self.file)
    }
}

impl fmt::Display for Place {
    /// `gauss/peu01/base/pool.yaml:7:3`, as far as it is known; the root of the repository is `.`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", if self.file.is_root() { "." } else { self.file.as_str() })?;
        for number in [self.line, self.column].into_iter().flatten() {
            write!(f, ":{number}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_written_as_far_as_it_is_known() {
        let file = || RepoPath::parse("gauss/peu01/base/pool.yaml").unwrap();
        for (place, written) in [
            (Place::at(file(), Position { line: 7, column: 3 }), "gauss/peu01/base/pool.yaml:7:3"),
            (Place::line_of(file(), 7), "gauss/peu01/base/pool.yaml:7"),
            (Place::whole(file()), "gauss/peu01/base/pool.yaml"),
            (Place::whole(RepoPath::root()), "."),
        ] {
            assert_eq!(place.to_string(), written);
        }
    }
}
