//! What two releases say about the step from the one to the other.

use std::cmp::Ordering;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::parts::Release;
use capstan_model::version::LooseVersion;

/// A component or app that goes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Downgrade<'a> {
    pub name: &'a str,
    /// Its version in the release that is left.
    pub old: &'a LooseVersion,
    /// Its older version in the release that is entered.
    pub new: &'a LooseVersion,
}

/// Components and apps that go back, in the order of the release that is left. Kubernetes has rules of
/// its own; versions that cannot be compared are unknown, which is not a downgrade.
pub fn downgrades<'a>(from: &'a Release, to: &'a Release) -> Vec<Downgrade<'a>> {
    let parts = from.parts().filter(|(name, _)| *name != "kubernetes");
    parts
        .filter_map(|(name, old)| {
            let new = to.version_of(name)?;
            (new.compare(old) == Some(Ordering::Less)).then_some(Downgrade { name, old, new })
        })
        .collect()
}

/// The days of two releases, where the newer version was published before the older one. That happens where an older
/// minor is still maintained: `33.4.0` may be months younger than `34.0.0`. A step to an older version is back in time
/// anyway, and other rules report it.
pub fn goes_back_in_time(from: &Release, to: &Release) -> Option<(Date, Date)> {
    let (old, new) = (from.published()?, to.published()?);
    (new < old && to.version > from.version).then(|| (day(old), day(new)))
}

impl Release {
    /// When it was published, where its `release.yaml` says so in a way that can be read.
    pub fn published(&self) -> Option<Timestamp> {
        let text = self.date.as_deref()?.trim();
        let midnight = |date: Date| Some(date.to_zoned(TimeZone::UTC).ok()?.timestamp());
        text.parse().ok().or_else(|| midnight(text.parse().ok()?))
    }

    /// The day (UTC) on which it was published.
    pub fn day(&self) -> Option<Date> {
        self.published().map(day)
    }

    /// Its components and apps with their versions.
    pub fn parts(&self) -> impl Iterator<Item = (&str, &LooseVersion)> {
        let components = self.components.iter().map(|part| (part.name.as_str(), &part.version));
        components.chain(self.apps.iter().map(|part| (part.name.as_str(), &part.version)))
    }

    /// The version of a component or app.
    pub fn version_of(&self, name: &str) -> Option<&LooseVersion> {
        self.parts().find(|(other, _)| *other == name).map(|(_, version)| version)
    }
}

fn day(time: Timestamp) -> Date {
    time.to_zoned(TimeZone::UTC).date()
}
