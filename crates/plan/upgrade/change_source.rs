//! What brings change, read: its objects, and what else is to be said of it.

use std::fmt;

use super::component::{ComponentChange, ComponentVersion};
use super::model::{Conflict, Rollout};
use crate::merge::ReleaseSource;
use crate::merge::cluster_objects::Base;
use crate::settings::ConflictPolicy;
use capstan_model::finding::{Finding, Place};
use capstan_model::ids::{ContentId, ReleaseId};
use capstan_model::object::FieldPath;
use capstan_model::source::{SourceContent, SourceId};
use capstan_yaml::Edit;

/// A source of change, read once and shared by the plans of all targets.
///
/// A plan asks the old state of a source and the new one. What follows from them is common to all sources: how
/// objects are matched and merged, the gate before a file is edited, conflicts, rules, rollouts, and everything that
/// carries an [`Upgrade`](super::Upgrade): proposals, campaigns, reports, records.
pub trait ChangeSource: fmt::Debug + Send + Sync {
    /// Which source it is.
    fn id(&self) -> &SourceId;

    /// Its content; `None` where nothing distinguishes it from another.
    fn content(&self) -> Option<SourceContent>;

    /// Objects, and parts of them, that are merged into those of the target; [`ReleaseSource::read`] makes them of files.
    fn documents(&self) -> &ReleaseSource;

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
    pub release: ReleaseId,
    /// Its content, where that has an id.
    pub content: Option<&'s ContentId>,
}

/// Knows the fields of a target that a source sets.
pub(super) trait FieldSource: Send + Sync {
    /// What becomes of them, the target coming from `old` where that is known.
    ///
    /// # Errors
    /// Why it is unclear which fields are meant: nothing is changed then.
    fn changes(
        &self,
        target: &Base,
        old: Option<&dyn ChangeSource>,
        policy: ConflictPolicy,
    ) -> Result<FieldChanges, AmbiguousFields>;

    /// Why such a field changes, and where the source says so.
    fn origin(&self) -> (&'static str, Place);
}

/// What becomes of fields.
#[derive(Debug, Default)]
pub(super) struct FieldChanges {
    /// Those that change, in their order.
    pub(super) sets: Vec<FieldSet>,
    /// Those that stay, with what is said of each.
    pub(super) stays: Vec<(Finding, Option<Conflict>)>,
    /// What a person should know besides.
    pub(super) notes: Vec<String>,
    /// Components and apps that differ.
    pub(super) components: Vec<ComponentChange>,
    /// Machines that may be replaced, which nothing rendered shows.
    pub(super) rollouts: Vec<Rollout>,
}

/// A field that changes.
#[derive(Debug)]
pub(super) struct FieldSet {
    /// Index into the target's objects.
    pub(super) object: usize,
    /// The field as it is reported; where a string contains the field, the path leads into the string.
    pub(super) path: FieldPath,
    /// Its file and line.
    pub(super) place: Place,
    pub(super) old: String,
    pub(super) new: String,
    pub(super) edit: Edit,
}

/// Why it is unclear which fields are meant.
#[derive(Debug)]
pub(super) struct AmbiguousFields {
    pub(super) sentence: String,
    pub(super) finding: Option<Box<Finding>>,
}

/// A release folder, and whatever else is made of files alone.
impl ChangeSource for ReleaseSource {
    fn id(&self) -> &SourceId {
        &self.id
    }

    fn content(&self) -> Option<SourceContent> {
        self.content.as_ref().map(SourceContent::from)
    }

    fn documents(&self) -> &ReleaseSource {
        self
    }

    fn record(&self) -> Option<ReleaseRecord<'_>> {
        Some(ReleaseRecord { release: self.id.release()?, content: self.content.as_ref() })
    }
}
