//! What is wrong with a settings file, and where.

use std::fmt;

use crate::tree::RepoPath;

/// A settings file that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsError {
    /// The file.
    pub file: RepoPath,
    /// Line, from 1; `None` where the whole file is meant.
    pub line: Option<u32>,
    /// Column, from 1.
    pub column: Option<u32>,
    /// What was found and what to write instead.
    pub message: String,
}

impl fmt::Display for SettingsError {
    /// `.capstan.yaml:4:9: unknown key `trak`; did you mean `track`?`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
            if let Some(column) = self.column {
                write!(f, ":{column}")?;
            }
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for SettingsError {}
