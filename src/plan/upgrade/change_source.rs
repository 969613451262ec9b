//! What brings change, read: its objects, and what else is to be said of it.

use std::fmt;

use super::components::Part;
use super::fields::FieldSource;
use crate::merge::Source;
use capstan_model::ids::{ContentId, ReleaseId};
use capstan_model::source::{SourceContent, SourceId};

/// A source of change, read once and shared by the plans of all targets.
///
/// A plan asks the old state of a source and the new one. What follows from them is common to all sources: how
/// objects are matched and merged, the gate before a file is edited, conflicts, rules, rollouts, and everything that
/// carries an [`Upgrade`](super::Upgrade): proposals, campaigns, reports, records.
pub trait ChangeSource: fmt::Debug + Send + Sync {
    /// Which source it is.
    fn id(&self) -> &SourceId;

    /// Its content; `None` where nobody can tell it from another.
    fn content(&self) -> Option<SourceContent>;

    /// Objects, and parts of them, that are merged into those of the target; [`Source::read`] makes them of files.
    fn documents(&self) -> &Source;

    /// Fields that it sets in objects that the target has already; where there are any, nothing is merged.
    fn fields(&self) -> Option<OwnFields<'_>> {
        None
    }

    /// What the target records of itself once the change is in; `None` where a release is not what it brings.
    fn record(&self) -> Option<ReleaseRecord<'_>> {
        None
    }

    /// Components and apps that it brings, with their versions, in its order.
    fn components(&self) -> Vec<ComponentVersion> {
        Vec::new()
    }
}

/// Fields that a source sets by itself. Sources of this package alone can have some: which they are depends on the
/// target's objects as they were read.
#[derive(Clone, Copy)]
pub struct OwnFields<'s>(pub(super) &'s dyn FieldSource);

/// A release as a cluster records it.
#[derive(Debug, Clone)]
pub struct ReleaseRecord<'s> {
    /// The release.
    pub release: ReleaseId,
    /// Its content, where that has an id.
    pub content: Option<&'s ContentId>,
}

/// One component or app of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComponentVersion {
    /// Which list it stands in.
    pub part: Part,
    /// Its name: `cilium`.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// A release folder, and whatever else is made of files alone.
impl ChangeSource for Source {
    fn id(&self) -> &SourceId {
        &self.id
    }

    fn content(&self) -> Option<SourceContent> {
        self.content.as_ref().map(SourceContent::from)
    }

    fn documents(&self) -> &Source {
        self
    }

    fn record(&self) -> Option<ReleaseRecord<'_>> {
        Some(ReleaseRecord { release: self.id.release()?, content: self.content.as_ref() })
    }
}
