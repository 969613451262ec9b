//! Why a text is not read.

use super::position::Position;

/// Why Capstan cannot read a text as YAML, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {}, column {}: {message}", position.line, position.column)]
pub struct YamlError {
    /// What was found, and what to do where that is not plain.
    pub message: String,
    /// Where.
    pub position: Position,
}
