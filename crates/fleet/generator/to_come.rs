//! What a definition's release gives under its values, before the folder exists.

use std::sync::Arc;

use capstan_inventory::record::ValuesRecord;
use capstan_inventory::values::ClusterValues;
use capstan_model::ids::ReleaseId;
use capstan_plan::inventory::{ReleaseTemplates, ReleaseWithValues};

use super::contents::Contents;
use super::refused::Refused;
use super::valued::Subject;

/// What is to come of a definition.
pub(super) struct ToCome {
    pub(super) release: ReleaseId,
    pub(super) templates: Arc<ReleaseTemplates>,
    pub(super) values: ClusterValues,
    pub(super) record: ValuesRecord,
    pub(super) source: Arc<ReleaseWithValues>,
}

impl ToCome {
    /// The source that a definition's release gives under its values.
    ///
    /// # Errors
    /// It names no release, or one that cannot be read or rendered.
    pub(super) fn of(contents: &dyn Contents, subject: &Subject<'_>) -> Result<Self, Refused> {
        let definition = subject.member.definition;
        let refused =
            |message: String| Refused { message, place: Some(definition.level.place(definition.offset)) };
        let Some((release, _)) = &subject.member.wishes.release else {
            let why = "no level sets a `release`, so it is unknown what to make this cluster from: write `release` in its definition or a level above it";
            return Err(refused(why.to_owned()));
        };
        let found = contents.catalogue().find(release);
        let found = found.ok_or_else(|| refused(format!("there is no readable release `{release}`")))?;
        let templates = contents.sources().templates_of(contents.releases(), found)?;
        let (values, record) = subject.values(contents, &templates);
        let source = subject.render(contents, &templates, (&values, &record))?;
        Ok(Self { release: release.clone(), templates, values, record, source })
    }
}
