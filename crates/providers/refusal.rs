//! Why a provider cannot be read or rendered, in words that help to correct it.

use std::fmt;

use capstan_kustomize::render::SourceOffset;
use capstan_model::finding::Place;

/// Why something is not rendered: where that is written, of what it is said, what was found and what to do. Never the
/// value of a variable.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub struct Refusal {
    place: Option<Place>,
    subject: Option<String>,
    message: String,
    cause: RefusalCause,
    stage: RenderStage,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum RefusalCause {
    /// Something is wrong.
    #[default]
    Wrong,
    /// Components are not at hand: nothing is wrong, and nothing is known.
    NotAtHand,
}

/// How far rendering had come: the operator has a reason for each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum RenderStage {
    /// Components are found, given their values and read.
    #[default]
    Components,
    /// Its release says no contract that is understood.
    Contract,
    /// `deployment`, `manager` and their equivalents for other Deployments.
    Customization,
    /// `patches`, `manifestPatches`.
    Patches,
    /// Overrides of images that the operator's own configuration has.
    ImageOverrides,
}

impl Refusal {
    /// Nothing but a message: what was found and what to do, without a full stop.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            place: None,
            subject: None,
            message: message.into(),
            cause: RefusalCause::Wrong,
            stage: RenderStage::Components,
        }
    }

    /// Because components are not at hand.
    #[must_use]
    pub(crate) fn not_at_hand(self) -> Self {
        Self { cause: RefusalCause::NotAtHand, ..self }
    }

    /// Found at that stage.
    #[must_use]
    pub(crate) fn during(self, stage: RenderStage) -> Self {
        Self { stage, ..self }
    }

    /// How far rendering had come.
    pub const fn stage(&self) -> RenderStage {
        self.stage
    }

    pub const fn cause(&self) -> RefusalCause {
        self.cause
    }

    /// Written there, unless a place nearer to it is known already.
    #[must_use]
    pub fn at(self, place: impl Into<Place>) -> Self {
        Self { place: Some(self.place.unwrap_or_else(|| place.into())), ..self }
    }

    /// Written there.
    #[must_use]
    pub(crate) fn written(self, written: &SourceOffset) -> Self {
        self.at(written)
    }

    /// Said of this object, before what it is said of already.
    #[must_use]
    pub fn of(self, subject: impl fmt::Display) -> Self {
        let subject = match self.subject {
            Some(inner) => format!("{subject}: {inner}"),
            None => subject.to_string(),
        };
        Self { subject: Some(subject), ..self }
    }

    /// Where, if that is one place.
    pub const fn place(&self) -> Option<&Place> {
        self.place.as_ref()
    }

    /// Object, what was found and what to do: as it is shown, without the place.
    pub fn without_place(&self) -> String {
        Self { place: None, ..self.clone() }.to_string()
    }

    /// What was found and what to do, without place and object.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        if let Some(subject) = &self.subject {
            write!(f, "{subject}: ")?;
        }
        f.write_str(&self.message)
    }
}
