//! Why one cluster cannot be planned or rendered; the others can.

use capstan_kustomize::render::RenderError;
use capstan_model::finding::{FileError, Place};
use capstan_model::tree::RepoPath;
use capstan_plan::path::NoSuchRelease;
use capstan_plan::release::ReleaseError;
use capstan_plan::settings::{ClaimedTwice, REPOSITORY_FILE};

/// Why one cluster cannot be planned or rendered; the others can.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default())]
pub struct Refused {
    /// What was found and what to do.
    pub message: String,
    /// Where; `None` where no single file is to blame.
    pub place: Option<Place>,
}

impl From<RenderError> for Refused {
    fn from(error: RenderError) -> Self {
        Self { message: error.to_string(), place: Some(error.place().clone()) }
    }
}

impl From<FileError> for Refused {
    fn from(error: FileError) -> Self {
        Self { message: error.one_line(), place: Some(error.place) }
    }
}

impl From<ClaimedTwice> for Refused {
    fn from(error: ClaimedTwice) -> Self {
        Self { message: error.to_string(), place: RepoPath::parse(REPOSITORY_FILE).ok().map(Place::whole) }
    }
}

impl From<NoSuchRelease> for Refused {
    fn from(error: NoSuchRelease) -> Self {
        Self { message: error.to_string(), place: None }
    }
}

impl From<ReleaseError> for Refused {
    fn from(error: ReleaseError) -> Self {
        Self { message: format!("the release cannot be read: {error}"), place: Some(error.place().clone()) }
    }
}
