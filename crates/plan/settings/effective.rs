//! What holds for one cluster or provider set, once every file has had its say.

use jiff::civil::Date;

use super::cluster::{ClusterSettings, Hold, OverlaySettings};
use super::fields::Track;
use super::key_path::{KeyPath, find};
use super::repository::{ManagementCluster, ProviderSetSettings, ProvidersBy, RepositorySettings};
use capstan_model::finding::{FileError, Place, rules};
use capstan_model::glob::Glob;
use capstan_model::ids::{ClusterId, Provider, ReleaseId};
use capstan_model::target::Target;
use capstan_model::tree::RepoPath;

/// What holds for one cluster or provider set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectiveSettings {
    /// How far it follows new releases.
    pub track: Track,
    /// The customer's brake, in force or not: see [`EffectiveSettings::hold_on`].
    pub hold: Option<Hold>,
    /// The provider that the settings name; `None` where it is to be found out.
    pub provider: Option<Provider>,
    /// The management cluster whose reconciler applies it; `None` = other tools.
    pub claimed_by: Option<ManagementCluster>,
    /// The release that the inventory asks for: it leads there and no further.
    pub wished: Option<ReleaseId>,
    /// What was written but has no effect, one sentence each.
    pub notes: Vec<String>,
}

/// What the levels of an inventory say of a cluster: over the rules of `.capstan.yaml`, under its own `capstan.yaml`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wished {
    pub release: Option<ReleaseId>,
    /// How far newer ones are followed.
    pub track: Option<Track>,
}

impl EffectiveSettings {
    /// The hold that is in force on that day (UTC).
    pub fn hold_on(&self, today: Date) -> Option<&Hold> {
        self.hold.as_ref().filter(|hold| hold.is_in_force(today))
    }
}

/// Two management clusters claim one cluster.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the cluster {cluster} is claimed by two management clusters, `{first}` and `{second}`: change `managementClusters` in .capstan.yaml so that only one has it"
)]
pub struct ClaimedTwice {
    pub cluster: ClusterId,
    /// Who claims it first in the file.
    pub first: String,
    /// Who claims it too.
    pub second: String,
}

impl RepositorySettings {
    /// What holds for a target: rules in their order, over them its own `capstan.yaml`, and at last
    /// the overlay's, which may only narrow.
    ///
    /// # Errors
    /// Two management clusters claim it.
    pub fn for_target(
        &self,
        target: &Target,
        own: Option<&ClusterSettings>,
        overlay: Option<&OverlaySettings>,
    ) -> Result<EffectiveSettings, ClaimedTwice> {
        self.for_wishing_target(target, own, overlay, Wished::default())
    }

    /// The same for a target of which an inventory says something.
    ///
    /// # Errors
    /// Two management clusters claim it.
    pub fn for_wishing_target(
        &self,
        target: &Target,
        own: Option<&ClusterSettings>,
        overlay: Option<&OverlaySettings>,
        wished: Wished,
    ) -> Result<EffectiveSettings, ClaimedTwice> {
        let mut track = Track::default();
        let mut provider = None;
        for rule in self.clusters.rules.iter().filter(|rule| rule.matches.matches(target.path())) {
            track = rule.track.unwrap_or(track);
            provider = rule.provider.as_deref().map(Provider::new).or(provider);
        }
        if wished.release.is_some() {
            // It says how far.
            track = Track::Any;
        }
        track = wished.track.unwrap_or(track);
        track = own.and_then(|own| own.track).unwrap_or(track);
        let mut notes = Vec::new();
        if let Some(narrower) = overlay.and_then(|overlay| overlay.track) {
            if narrower > track {
                notes.push(format!(
                    "the overlay's `track: {narrower}` is wider than `{track}` and has no effect: an overlay may only narrow the track"
                ));
            }
            track = track.min(narrower);
        }
        Ok(EffectiveSettings {
            track,
            hold: overlay.and_then(|overlay| overlay.hold.clone()),
            provider,
            claimed_by: self.claims(target)?.cloned(),
            wished: wished.release,
            notes,
        })
    }

    /// The management cluster whose reconciler applies a target; `None` = other tools, as they do every provider set that
    /// the settings do not name.
    ///
    /// # Errors
    /// Two management clusters claim it.
    pub fn claims(&self, target: &Target) -> Result<Option<&ManagementCluster>, ClaimedTwice> {
        match target.cluster() {
            Some(cluster) => self.claimed_by(cluster),
            None => Ok(target.id().and_then(|id| self.applier_of_set(id))),
        }
    }

    /// The management cluster whose reconciler applies a provider set: the one that names it, unless it says `others`.
    fn applier_of_set(&self, id: &ClusterId) -> Option<&ManagementCluster> {
        let (management, providers) = self.providers_of(id)?;
        (providers.by != ProvidersBy::Others).then_some(management)
    }

    /// The management cluster whose provider set a folder is, as far as the settings say so, and what they say of it.
    pub fn providers_of(&self, id: &ClusterId) -> Option<(&ManagementCluster, &ProviderSetSettings)> {
        let mut named =
            self.management_clusters.iter().filter_map(|one| Some((one, one.providers.as_ref()?)));
        named.find(|(_, providers)| providers.path.path() == id.folder())
    }

    /// Whether they name that folder as a provider set.
    pub fn names_providers(&self, id: &ClusterId) -> bool {
        self.providers_of(id).is_some()
    }

    /// What is wrong with the provider set of the management cluster at `index`, at its path in the file's text.
    pub(crate) fn error_at_providers(
        &self,
        file: &RepoPath,
        text: &str,
        index: usize,
        why: &str,
    ) -> FileError {
        let place = KeyPath::root().key("managementClusters").index(index).key("providers").key("path");
        let path = self.management_clusters.get(index).and_then(|one| Some(&one.providers.as_ref()?.path));
        let path = path.map(ToString::to_string).unwrap_or_default();
        let position = find(text, &place).map(|found| found.value);
        let message = format!("`managementClusters[{index}].providers.path`: `{path}` {why}");
        FileError::new(rules::INVALID_SETTINGS, Place::maybe_at(file.clone(), position), message)
    }

    /// The management cluster that applies a cluster, or a provider set that they name; `None` = other tools.
    pub fn claimed_by(&self, cluster: &ClusterId) -> Result<Option<&ManagementCluster>, ClaimedTwice> {
        // A set is its own management cluster's, whatever pattern its folder fits.
        if self.names_providers(cluster) {
            return Ok(self.applier_of_set(cluster));
        }
        let claims = |management: &&ManagementCluster| Glob::grants(&management.clusters, cluster.as_str());
        let mut claimants = self.management_clusters.iter().filter(claims);
        match (claimants.next(), claimants.next()) {
            (Some(first), Some(second)) => Err(ClaimedTwice {
                cluster: cluster.clone(),
                first: first.name.clone(),
                second: second.name.clone(),
            }),
            (first, _) => Ok(first),
        }
    }

    /// Whether two folders have one owner, who may let them reach one another.
    pub fn have_one_owner(&self, one: &ClusterId, other: &ClusterId) -> bool {
        let (one, other) = (one.as_str(), other.as_str());
        let (exclusions, owners): (Vec<&Glob>, Vec<&Glob>) =
            self.clusters.one_owner.iter().partition(|pattern| pattern.is_exclusion());
        let is_of = |owner: &&Glob| owner.matches(one) && owner.matches(other);
        // What an exclusion takes out is kept apart from every other folder.
        exclusions.iter().all(is_of) && owners.iter().any(is_of)
    }

    /// Every cluster that two management clusters claim, at the second claim in the file's text.
    pub fn check_claims<'a>(
        &self,
        file: &RepoPath,
        text: &str,
        clusters: impl IntoIterator<Item = &'a ClusterId>,
    ) -> Vec<FileError> {
        let errors = clusters.into_iter().filter_map(|cluster| self.claimed_by(cluster).err());
        errors
            .map(|error| {
                let position = self.second_claim(&error).and_then(|place| find(text, &place));
                let place = Place::maybe_at(file.clone(), position.map(|found| found.value));
                FileError::new(rules::INVALID_SETTINGS, place, error.to_string())
            })
            .collect()
    }

    fn second_claim(&self, error: &ClaimedTwice) -> Option<KeyPath> {
        let index = self.management_clusters.iter().position(|management| management.name == error.second)?;
        let patterns = &self.management_clusters.get(index)?.clusters;
        let pattern = patterns.iter().position(|pattern| pattern.matches(error.cluster.as_str()))?;
        Some(KeyPath::root().key("managementClusters").index(index).key("clusters").index(pattern))
    }
}
