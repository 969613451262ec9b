//! The services of a cluster as a part of its step: what is read for them, and a note if no reconciler applies them.

use std::sync::Arc;

use capstan_model::source::SourceId;
use capstan_model::target::TargetKind;
use capstan_plan::cluster::services_not_claimed;
use capstan_plan::merge::AppliedBy;
use capstan_plan::release::Release;
use capstan_plan::services::{
    ReleaseServices, ServiceFacts, ServicesStep, judge_coming_kubernetes, plan_services,
};
use capstan_plan::upgrade::{Planned, Request};

use super::contents::Contents;
use super::inputs::Provided;
use super::planning::{Offered, Reading, Step, StepFacts, Unplanned, applied_by};
use super::refused::Refused;

impl Step<'_> {
    /// What the old release brings of services: of a release that was inferred, what its folder has.
    fn old_services(
        self,
        contents: &dyn Contents,
        inferred: Option<&SourceId>,
    ) -> Result<Option<Arc<ReleaseServices>>, Refused> {
        let (catalogue, sources, schemas) = (contents.catalogue(), contents.sources(), contents.schemas());
        let here = |release: &Release| sources.services_of(contents.releases(), release, schemas);
        let Some(old) = self.offered.old.as_ref() else {
            let release = inferred.and_then(SourceId::release);
            return release.and_then(|id| catalogue.find(&id)).map(here).transpose();
        };
        let id = &old.release;
        if let Some(taken) = &old.content {
            if let Some(release) = catalogue.find_content(taken) {
                return here(release).map(Some);
            }
            if let Some(content) = contents.provided(taken).filter(|_| old.provided == Provided::Yes) {
                return sources.services_of_content(content, id, taken, schemas).map(Some);
            }
        }
        if let Some(release) = catalogue.find(id) {
            return here(release).map(Some);
        }
        let Some(((tree, _), past)) = old.past.as_ref().zip(contents.past(id)) else { return Ok(None) };
        let content = Arc::clone(&past.content).into();
        sources.services_of_content(&content, id, &tree.clone().into(), schemas).map(Some)
    }

    /// What the step does to services of a cluster that a management cluster claims. No reconciler would apply those of
    /// another one, and a note says so.
    pub(super) fn plan_services(
        self,
        facts: StepFacts<'_>,
        release: &Release,
        request: &Request<'_>,
        planned: &mut Planned,
    ) -> Result<(), Unplanned> {
        let StepFacts { contents, tree, .. } = facts;
        let Offered { reading: Reading { cluster, effective, .. }, .. } = self.offered;
        if cluster.folder.kind != TargetKind::Cluster {
            return Ok(());
        }
        if applied_by(effective) == AppliedBy::Others {
            let said = services_not_claimed(tree, &cluster.folder, cluster.settings.as_ref());
            planned.upgrade.findings.extend(said);
            return Ok(());
        }
        let new = contents.sources().services_of(contents.releases(), release, contents.schemas())?;
        let old = self.old_services(contents, planned.upgrade.from.as_ref())?;
        if new.is_empty() && old.as_ref().is_none_or(|old| old.is_empty()) {
            self.judge_coming(release, request, planned);
            return Ok(());
        }
        let releases: Vec<&ReleaseServices> = old.as_deref().into_iter().chain([&*new]).collect();
        let services = ServiceFacts::read(tree, &cluster.folder, &releases)?;
        let step = ServicesStep {
            cluster: request.cluster,
            services: &services,
            old: old.as_deref(),
            new: &new,
            settings: request.settings,
            schemas: request.schemas,
        };
        plan_services(&step, planned)?;
        self.judge_coming(release, request, planned);
        Ok(())
    }

    /// Tells of services that do not allow the minor of Kubernetes that comes.
    fn judge_coming(self, release: &Release, request: &Request<'_>, planned: &mut Planned) {
        let Reading { cluster, standing, .. } = &self.offered.reading;
        let Some(coming) = standing.brought_by(release) else { return };
        if cluster.kubernetes.as_ref().is_some_and(|now| now.minor() == coming.minor()) {
            return;
        }
        let overlay = cluster.overlay_settings.as_ref().map(|overlay| overlay.services.as_slice());
        judge_coming_kubernetes(request.cluster, planned, overlay.unwrap_or_default(), coming);
    }
}
