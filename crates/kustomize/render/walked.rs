//! What merging a value of a patch comes to.

use super::error::RenderError;
use super::placed::{PlacedValue, SourceOffset};

/// Why a patch does not fit its object.
#[derive(Debug, Clone)]
pub(super) struct PatchMisfit {
    pub(super) place: SourceOffset,
    pub(super) message: String,
}

impl PatchMisfit {
    pub(super) fn new(place: &SourceOffset, message: impl Into<String>) -> Self {
        Self { place: place.clone(), message: message.into() }
    }
}

/// Why a patch is not applied.
#[derive(Debug)]
pub(super) enum Unapplied {
    /// It is left out, and reported.
    Misfit(PatchMisfit),
    /// It would cost more than a render may: nothing is rendered.
    TooLarge(RenderError),
}

impl From<PatchMisfit> for Unapplied {
    fn from(misfit: PatchMisfit) -> Self {
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
    /// The object's own value, merged in place.
    Same,
    /// Another value.
    Other(PlacedValue),
}
