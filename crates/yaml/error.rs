//! Why a text is not read.

use super::position::Position;

/// Why a text is no YAML that Capstan reads, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {}, column {}: {message}", position.line, position.column)]
pub struct YamlError {
    /// What was found, and what to do where that is not plain.
    pub message: String,
    /// Where.
    pub position: Position,
}
