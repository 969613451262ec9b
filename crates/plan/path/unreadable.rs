//! The release that a cluster would need and that cannot be read: an error of that cluster, not a release
//! that is simply not there.

use jiff::civil::Date;

use super::choose::within;
use super::{ProviderUnknown, TargetPosition};
use crate::release::{Catalogue, ReleaseError};
use crate::settings::{EffectiveSettings, Track};
use capstan_model::ids::{Provider, ReleaseId};
use capstan_model::source::is_archived;
use capstan_model::version::ReleaseVersion;

/// Whether the content of a cluster's own release is known from elsewhere than its folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnContent {
    /// In another folder, or in history.
    Elsewhere,
    /// In its folder, if anywhere.
    InItsFolder,
}

/// The release without which a cluster cannot be planned, and why it cannot be read: its own, or the newest
/// that it would be offered. An older one that is broken is passed over, and the offer says so.
///
/// Of a release asked for by name [`super::offer`] itself says that it cannot be read.
pub fn unreadable<'a>(
    standing: &TargetPosition,
    settings: &EffectiveSettings,
    catalogue: &'a Catalogue,
    own: OwnContent,
    today: Date,
) -> Option<&'a ReleaseError> {
    if settings.hold_on(today).is_some() || settings.track == Track::None {
        return None;
    }
    unreadable_own(standing, catalogue, own).or_else(|| newest(standing, settings.track, catalogue))
}

/// Why the cluster's own release cannot be read, where that is all there is of it.
pub fn unreadable_own<'a>(
    standing: &TargetPosition,
    catalogue: &'a Catalogue,
    own: OwnContent,
) -> Option<&'a ReleaseError> {
    let id = standing
        .release
        .as_ref()
        .filter(|id| own == OwnContent::InItsFolder && catalogue.find(id).is_none())?;
    let is_own = |other: &ReleaseId| {
        other == id
            || (other.provider() == id.provider()
                && other.version() == id.version()
                && id.version().is_some())
    };
    catalogue.unreadable().iter().find(|(other, _)| is_own(other)).map(|(_, error)| error)
}

/// The newest release that the track allows, if it cannot be read.
fn newest<'a>(standing: &TargetPosition, track: Track, catalogue: &'a Catalogue) -> Option<&'a ReleaseError> {
    let is_wanted = |provider: &Provider| match &standing.provider {
        Ok(own) => own == provider,
        Err(ProviderUnknown::Named { provider: named, .. }) => {
            named == provider || named.as_str() == provider.name()
        }
        Err(ProviderUnknown::NoReleases) => true,
        Err(ProviderUnknown::Several { .. }) => false,
    };
    let current = standing.version.as_ref();
    let is_next = |version: &ReleaseVersion| {
        !version.is_prerelease()
            && current.is_none_or(|current| version > current)
            && within(track, current, version)
    };
    let readable = standing.provider.as_ref().ok().and_then(|provider| {
        let offered = standing.releases(catalogue, provider).filter(|release| release.is_offered());
        offered.map(|release| &release.version).filter(|version| is_next(version)).last()
    });
    let broken = catalogue.unreadable().iter().filter_map(|(id, error)| {
        let counts = !is_archived(error.place().file()) && is_wanted(&id.provider());
        let version = id.version().filter(|_| counts)?;
        is_next(&version).then_some((version, error))
    });
    let (version, error) = broken.max_by(|(one, _), (other, _)| one.cmp(other))?;
    readable.is_none_or(|readable| version > *readable).then_some(error)
}
