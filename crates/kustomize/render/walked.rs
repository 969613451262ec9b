//! What merging a value of a patch comes to.

use super::error::RenderError;
use super::placed::{Placed, SourceOffset};

/// Why a patch does not fit its object.
#[derive(Debug, Clone)]
pub(super) struct Misfit {
    pub(super) place: SourceOffset,
    pub(super) message: String,
}

impl Misfit {
    pub(super) fn new(place: &SourceOffset, message: impl Into<String>) -> Self {
        Self { place: place.clone(), message: message.into() }
    }
}

/// Why a patch is not applied.
#[derive(Debug)]
pub(super) enum Unapplied {
    /// It is left out, and told.
    Misfit(Misfit),
    /// It would cost more than a render may: nothing is rendered.
    TooLarge(RenderError),
}

impl From<Misfit> for Unapplied {
    fn from(misfit: Misfit) -> Self {
        Self::Misfit(misfit)
    }
}

impl From<RenderError> for Unapplied {
    fn from(error: RenderError) -> Self {
        Self::TooLarge(error)
    }
}

/// What a walk leaves in the object's place.
pub(super) enum Walked {
    /// Nothing.
    Gone,
    /// The object's own value, merged where it stands.
    Same,
    /// Another value.
    Other(Placed),
}
