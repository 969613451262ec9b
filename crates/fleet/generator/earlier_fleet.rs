//! Plans of an earlier fleet that hold though releases have changed: those of clusters that follow other providers.
//!
//! *Guarantee*: a plan is taken over only where nothing that it asked of the releases can have another answer: the
//! releases of the provider that it [follows](CachedPlan::follows) are the same, so are the providers that there are, and
//! no release that changed has or had the content that its cluster records.

use std::collections::BTreeSet;

use capstan_model::ids::{ContentId, Provider, ReleaseId, ReleaseName};
use capstan_model::source::SourceKind;
use capstan_model::target::TargetKind;
use capstan_model::tree::RepoPath;
use capstan_plan::layout::ReleaseFolder;
use capstan_plan::release::Catalogue;

use super::cached_plan::CachedPlan;
use super::inputs::{FleetInputs, PlanInputs};
use super::reading::Offered;

/// An earlier fleet, and the providers whose releases are others now.
pub(super) struct EarlierFleet {
    /// What its plans are kept under.
    pub(super) number: usize,
    changed: BTreeSet<Provider>,
    /// What those releases hold and held.
    contents: Vec<ContentId>,
}

impl EarlierFleet {
    /// `None` if something else has changed, too, or a changed path belongs to no provider.
    pub(super) fn of(
        number: usize,
        (earlier, earlier_catalogue): (&FleetInputs, &Catalogue),
        (now, catalogue): (&FleetInputs, &Catalogue),
    ) -> Option<Self> {
        let is_same = earlier.settings == now.settings
            && earlier.today == now.today
            && earlier.elsewhere == now.elsewhere
            && earlier.definitions == now.definitions
            && [TargetKind::Cluster, TargetKind::Providers]
                .into_iter()
                .all(|kind| earlier_catalogue.providers_for(kind) == catalogue.providers_for(kind));
        if !is_same {
            return None;
        }
        let folders = || earlier.releases.iter().chain(&now.releases);
        let mut changed: BTreeSet<Provider> = folders().map(|release| release.provider.clone()).collect();
        changed.retain(|provider| {
            let own = |release: &&ReleaseFolder| release.provider == *provider;
            !earlier.releases.iter().filter(own).eq(now.releases.iter().filter(own))
        });
        for path in earlier.looked.differences(&now.looked) {
            changed.insert(whose(path, folders())?.clone());
        }
        let of_changed = |catalogue: &Catalogue| -> Vec<ContentId> {
            let releases = catalogue.releases().iter();
            let releases = releases.filter(|release| changed.contains(&release.provider));
            releases.filter_map(|release| release.content.clone()).collect()
        };
        let contents = [of_changed(earlier_catalogue), of_changed(catalogue)].concat();
        Some(Self { number, changed, contents })
    }

    /// Of how many providers.
    pub(super) fn providers_changed(&self) -> usize {
        self.changed.len()
    }

    /// Whether a plan of that fleet is one of this.
    pub(super) fn holds(&self, kept: &CachedPlan) -> bool {
        let recorded = kept.given.old.as_ref().and_then(|old| old.content.as_ref());
        kept.follows.as_ref().is_some_and(|provider| !self.changed.contains(provider))
            && recorded.is_none_or(|recorded| !self.contents.iter().any(|content| recorded.may_be(content)))
    }
}

/// The provider of the release whose folder holds this path, or whose `requests.yaml` it is.
fn whose<'r>(path: &RepoPath, mut releases: impl Iterator<Item = &'r ReleaseFolder>) -> Option<&'r Provider> {
    let is_its = |release: &&ReleaseFolder| {
        *path == release.folder
            || path.is_in(&release.folder)
            || path.parent().is_some_and(|parent| parent.as_str() == release.provider.as_str())
    };
    releases.find(is_its).map(|release| &release.provider)
}

/// The provider whose releases alone decide a plan. `None` if others may, too: if all releases were read to find the
/// provider, if a release was requested by name, or if the inventory changes something.
pub(super) fn follows(offered: &Offered, given: &PlanInputs) -> Option<Provider> {
    let reading = &offered.reading;
    let provider = reading.standing.provider.as_ref().ok()?;
    let recorded = reading.cluster.recorded.as_ref().map(|recorded| &recorded.name);
    let is_named = reading.effective.provider.is_some()
        || recorded.is_some_and(|name| matches!(name, ReleaseName::Id(_)));
    let is_of_it = |id: &ReleaseId| id.provider() == *provider;
    let alone = is_named
        && reading.cluster.folder.kind == TargetKind::Cluster
        && reading.standing.release.as_ref().is_none_or(is_of_it)
        && given.old.as_ref().is_none_or(|old| is_of_it(&old.release))
        && given.brought_by == SourceKind::RELEASE
        && given.asked.is_none()
        && given.said.is_none()
        && given.components.is_empty()
        && reading.effective.wished.is_none()
        && !reading.valued.is_defined
        && reading.valued.record.is_none();
    alone.then(|| provider.clone())
}
