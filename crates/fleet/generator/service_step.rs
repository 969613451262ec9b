//! The services of a cluster as a part of its step: what is read for them, and a note if no reconciler applies them.

use std::sync::Arc;

use capstan_model::source::SourceId;
use capstan_model::target::TargetKind;
use capstan_plan::cluster::services_not_claimed;
use capstan_plan::merge::AppliedBy;
use capstan_plan::release::Release;
use capstan_plan::services::{self, ReleaseServices, ServiceFacts, ServicesStep, judge_coming_kubernetes};
use capstan_plan::upgrade::{PlannedUpgrade, UpgradeRequest};

use super::contents::Contents;
use super::old_release::OldRelease;
use super::reading::{Offered, Reading, Step, StepFacts, Unplanned};
use super::refused::Refused;
use super::step_facts::applied_by;

/// What the old release brings of services: of a release that was inferred, what its folder has.
fn old_services(
    step: Step<'_>,
    contents: &dyn Contents,
    inferred: Option<&SourceId>,
) -> Result<Option<Arc<ReleaseServices>>, Refused> {
    let (catalogue, sources, schemas) = (contents.catalogue(), contents.sources(), contents.schemas());
    let here = |release: &Release| sources.services_of(contents.releases(), release, schemas);
    let Some(old) = step.offered.old.as_ref() else {
        let release = inferred.and_then(SourceId::release);
        return release.and_then(|id| catalogue.find(&id)).map(here).transpose();
    };
    OldRelease::find(contents, old).map(|old| old.services(contents)).transpose()
}

/// What the step does to services of a cluster that a management cluster claims. No reconciler would apply those of
/// another one, and a note says so.
pub(super) fn plan_services(
    step: Step<'_>,
    facts: StepFacts<'_>,
    release: &Release,
    request: &UpgradeRequest<'_>,
    planned: &mut PlannedUpgrade,
) -> Result<(), Unplanned> {
    let StepFacts { contents, tree, .. } = facts;
    let Offered { reading: Reading { cluster, effective, .. }, .. } = step.offered;
    if cluster.folder.kind != TargetKind::Cluster {
        return Ok(());
    }
    if applied_by(effective) == AppliedBy::Others {
        let said = services_not_claimed(tree, &cluster.folder, cluster.settings.as_ref());
        planned.upgrade.findings.extend(said);
        return Ok(());
    }
    let new = contents.sources().services_of(contents.releases(), release, contents.schemas())?;
    let old = old_services(step, contents, planned.upgrade.from.as_ref())?;
    if new.is_empty() && old.as_ref().is_none_or(|old| old.is_empty()) {
        judge_coming(step, release, request, planned);
        return Ok(());
    }
    let releases: Vec<&ReleaseServices> = old.as_deref().into_iter().chain([&*new]).collect();
    let there = ServiceFacts::read(tree, &cluster.folder, &releases)?;
    let of_services = ServicesStep {
        cluster: request.cluster,
        services: &there,
        old: old.as_deref(),
        new: &new,
        settings: request.settings,
        schemas: request.schemas,
    };
    services::plan_services(&of_services, planned)?;
    judge_coming(step, release, request, planned);
    Ok(())
}

/// Tells of services that do not allow the minor of Kubernetes that comes.
fn judge_coming(
    step: Step<'_>,
    release: &Release,
    request: &UpgradeRequest<'_>,
    planned: &mut PlannedUpgrade,
) {
    let Reading { cluster, standing, .. } = &step.offered.reading;
    let Some(coming) = standing.brought_by(release) else { return };
    if cluster.kubernetes.as_ref().is_some_and(|now| now.minor() == coming.minor()) {
        return;
    }
    let overlay = cluster.overlay_settings.as_ref().map(|overlay| overlay.services.as_slice());
    judge_coming_kubernetes(request.cluster, planned, overlay.unwrap_or_default(), coming);
}
