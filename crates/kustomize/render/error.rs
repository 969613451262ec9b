//! Why a cluster cannot be rendered.

use super::placed::SourceOffset;
use capstan_model::finding::{Finding, Place, Position, RuleEntry, rules};
use capstan_model::tree::{RepoPath, Unreadable};

/// Why a cluster cannot be rendered: what was found, and what to do. [`RenderError::place`] says where; the
/// text does not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RenderError {
    message: String,
    place: Place,
    trouble: RenderErrorKind,
}

/// The kinds of trouble, for those who decide by them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RenderErrorKind {
    /// A file's content cannot be had.
    Unreadable,
    /// Not YAML, or not valid at that place of a Kubernetes object or kustomization.
    Malformed,
    /// A feature of kustomize that Capstan does not render.
    Unsupported,
    /// It names something that does not exist, or is outside the repository.
    Reference,
    /// One object twice.
    Duplicate,
    /// Kustomizations that include one another.
    Cycle,
    /// More than a render may cost.
    TooLarge,
}

impl RenderError {
    pub(super) fn at(written: &SourceOffset, trouble: RenderErrorKind, message: impl Into<String>) -> Self {
        Self { message: message.into(), place: Place::from(written), trouble }
    }

    pub(super) fn malformed(written: &SourceOffset, message: impl Into<String>) -> Self {
        Self::at(written, RenderErrorKind::Malformed, message)
    }

    pub(super) fn unsupported(written: &SourceOffset, message: impl Into<String>) -> Self {
        Self::at(written, RenderErrorKind::Unsupported, message)
    }

    pub(super) fn reference(written: &SourceOffset, message: impl Into<String>) -> Self {
        Self::at(written, RenderErrorKind::Reference, message)
    }

    /// A file whose content cannot be had.
    pub(super) fn unreadable(unreadable: Unreadable) -> Self {
        let message = format!("the file cannot be read: {}", unreadable.reason);
        Self { message, place: Place::whole(unreadable.path), trouble: RenderErrorKind::Unreadable }
    }

    /// A step that costs more than a render may.
    pub(super) fn too_large(place: Place, message: impl Into<String>) -> Self {
        Self { message: message.into(), place, trouble: RenderErrorKind::TooLarge }
    }

    /// A file that is not YAML.
    pub(super) fn no_yaml(file: &RepoPath, position: Position, message: impl Into<String>) -> Self {
        let place = Place::at(file.clone(), position);
        Self { message: message.into(), place, trouble: RenderErrorKind::Malformed }
    }

    /// A folder or file that is needed and is not there as one, where no file names it.
    pub(super) fn missing(path: &RepoPath, message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            place: Place::whole(path.clone()),
            trouble: RenderErrorKind::Reference,
        }
    }

    /// Where.
    pub const fn place(&self) -> &Place {
        &self.place
    }

    /// What kind of trouble it is.
    pub const fn trouble(&self) -> RenderErrorKind {
        self.trouble
    }

    /// The rule that `validate` tells it under.
    pub const fn rule(&self) -> &'static RuleEntry {
        match self.trouble {
            RenderErrorKind::Unreadable => rules::UNREADABLE_FILE,
            RenderErrorKind::Duplicate => rules::DUPLICATE_OBJECT,
            RenderErrorKind::TooLarge => rules::TOO_LARGE,
            RenderErrorKind::Malformed
            | RenderErrorKind::Unsupported
            | RenderErrorKind::Reference
            | RenderErrorKind::Cycle => rules::RENDER_FAILED,
        }
    }
}

impl From<&RenderError> for Finding {
    fn from(error: &RenderError) -> Self {
        Self::new(error.rule(), &error.message).place(error.place.clone())
    }
}
