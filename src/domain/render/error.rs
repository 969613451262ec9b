//! Why a cluster cannot be rendered.

use super::placed::Place;
use crate::tree::{RepoPath, Unreadable};

/// Why a cluster cannot be rendered: what was found, and what to do. [`RenderError::file`],
/// [`RenderError::line`] and [`RenderError::column`] say where; the text names none of them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// A file cannot be loaded.
    #[error("the file cannot be read: {}", .0.reason)]
    Unreadable(#[source] Unreadable),
    /// Something in a file is not right.
    #[error("{message}")]
    At {
        /// What was found and what to do.
        message: String,
        /// The file.
        file: RepoPath,
        /// Line, from 1.
        line: u32,
        /// Column, from 1.
        column: u32,
        /// What kind of trouble.
        trouble: Trouble,
    },
    /// A folder or file that is needed does not exist, where no file names it.
    #[error("{message}")]
    Missing {
        /// What was looked for and what to do.
        message: String,
        /// The folder or file.
        path: RepoPath,
    },
}

/// The kinds of trouble, for those who decide by them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Trouble {
    /// Not YAML, or not what stands there in a Kubernetes object or kustomization.
    Malformed,
    /// A feature of kustomize that Capstan does not render.
    Unsupported,
    /// It names something that does not exist, or lies outside the repository.
    Reference,
    /// One object twice.
    Duplicate,
    /// Kustomizations that include one another.
    Cycle,
}

impl RenderError {
    pub(super) fn at(place: &Place, trouble: Trouble, message: impl Into<String>) -> Self {
        let position = place.position();
        Self::At {
            message: message.into(),
            file: place.file().clone(),
            line: position.line,
            column: position.column,
            trouble,
        }
    }

    pub(super) fn malformed(place: &Place, message: impl Into<String>) -> Self {
        Self::at(place, Trouble::Malformed, message)
    }

    pub(super) fn unsupported(place: &Place, message: impl Into<String>) -> Self {
        Self::at(place, Trouble::Unsupported, message)
    }

    pub(super) fn reference(place: &Place, message: impl Into<String>) -> Self {
        Self::at(place, Trouble::Reference, message)
    }

    /// The file to look into.
    pub const fn file(&self) -> &RepoPath {
        match self {
            Self::Unreadable(unreadable) => &unreadable.path,
            Self::At { file, .. } => file,
            Self::Missing { path, .. } => path,
        }
    }

    /// The line, from 1.
    pub const fn line(&self) -> Option<u32> {
        match self {
            Self::At { line, .. } => Some(*line),
            Self::Unreadable(_) | Self::Missing { .. } => None,
        }
    }

    /// The column, from 1.
    pub const fn column(&self) -> Option<u32> {
        match self {
            Self::At { column, .. } => Some(*column),
            Self::Unreadable(_) | Self::Missing { .. } => None,
        }
    }

    /// What kind of trouble it is.
    pub const fn trouble(&self) -> Trouble {
        match self {
            Self::At { trouble, .. } => *trouble,
            Self::Unreadable(_) => Trouble::Malformed,
            Self::Missing { .. } => Trouble::Reference,
        }
    }
}
