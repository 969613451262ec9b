//! The sources of change of one step.

use std::sync::Arc;

use capstan_plan::merge::ReleaseSource;
use capstan_plan::release::Release;
use capstan_plan::settings::WhenReleaseUnknown;

use super::contents::Contents;
use super::inputs::Conditions;
use super::old_release::OldRelease;
use super::reading::{Offered, Reading, Step};
use super::refused::Refused;
use super::sources::ReadSource;
use super::step_facts::{documents_of, releases_of, source_of};
use super::valued::{Asked, ValuedStep};

/// Those that a step comes from and goes to.
pub(super) struct StepSources<'a> {
    pub(super) release: &'a Release,
    pub(super) old: Option<Arc<ReadSource>>,
    candidates: Vec<Arc<ReadSource>>,
    pub(super) new: Arc<ReadSource>,
    pub(super) unknown: WhenReleaseUnknown,
    /// Where values have a say in it.
    pub(super) valued: Option<Arc<ValuedStep>>,
}

impl<'a> StepSources<'a> {
    /// The step as sources of change: those of the release that it comes from and goes to, and where the first is
    /// not known of those that it may come from.
    ///
    /// # Errors
    /// A release that cannot be read.
    pub(super) fn of(
        step: Step<'a>,
        conditions: Conditions<'_>,
        contents: &'a dyn Contents,
    ) -> Result<Self, Refused> {
        let release = contents.catalogue().find(&step.step.to).ok_or_else(|| Refused {
            message: format!("the release {} cannot be read", step.step.to),
            place: None,
        })?;
        let unknown = conditions.settings.upgrade.when_release_unknown;
        if let Some(valued) = valued(step, contents)? {
            // A base without a record may come from the release that it is to get.
            let candidates = match (&valued.old, unknown) {
                (None, WhenReleaseUnknown::Infer) => vec![Arc::clone(&valued.new)],
                _ => Vec::new(),
            };
            let (old, new) = (valued.old.clone(), Arc::clone(&valued.new));
            return Ok(Self { release, old, candidates, new, unknown, valued: Some(valued) });
        }
        let old = old_release(step, contents).map(|old| old.source(contents));
        let candidates = match (&old, unknown) {
            (None, WhenReleaseUnknown::Infer) => releases_of(contents, release.kind, [&release.provider]),
            _ => Vec::new(),
        };
        Ok(Self { release, old, candidates, new: source_of(contents, release), unknown, valued: None })
    }

    /// Releases that a cluster of unknown release may have come from.
    pub(super) fn candidates(&self) -> Vec<&ReleaseSource> {
        documents_of(&self.candidates)
    }

    /// Whether one of them has a variable: only then it matters what Flux substitutes.
    pub(super) fn have_variables(&self) -> bool {
        let known = self.old.iter().chain([&self.new]).chain(&self.candidates);
        known
            .filter_map(|source| source.as_ref().as_ref().ok())
            .any(|source| source.documents().has_variables())
    }
}

/// What of the step depends on values; `None` where nothing does.
fn valued(step: Step<'_>, contents: &dyn Contents) -> Result<Option<Arc<ValuedStep>>, Refused> {
    let Offered { reading: Reading { valued, cluster, .. }, brought_by, rendered, .. } = step.offered;
    if let Some(known) = rendered.get() {
        return Ok(known.clone());
    }
    let old = if valued.is_defined { old_release(step, contents) } else { None };
    let asked = Asked {
        valued,
        cluster,
        brought_by,
        to: &step.step.to,
        old: old.as_ref().map(|old| old.templates(contents)).transpose()?,
        old_content: old.as_ref().map(|old| old.source(contents)),
    };
    let found = asked.sources(contents)?.map(Arc::new);
    Ok(rendered.get_or_init(|| found).clone())
}

/// The release that the step comes from, where its content is found.
fn old_release<'a>(step: Step<'a>, contents: &'a dyn Contents) -> Option<OldRelease<'a>> {
    OldRelease::find(contents, step.offered.old.as_ref()?)
}
