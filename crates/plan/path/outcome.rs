//! What is offered to a cluster, or why nothing is.

use std::fmt;

use capstan_model::ids::{ContentId, Provider, ReleaseId};
use capstan_model::rest::Rest;
use capstan_model::target::TargetKind;
use capstan_model::version::KubernetesMinor;
use jiff::civil::Date;

use super::standing::ProviderUnknown;
use crate::settings::Track;

/// What a cluster is offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The release it is at; `None` = unknown.
    pub from: Option<ReleaseId>,
    /// The next step, or why there is none.
    pub outcome: PathOutcome,
    /// What a person should know besides, one sentence each.
    pub notes: Vec<String>,
}

impl Offer {
    /// The next step; `None` where nothing is offered.
    pub const fn step(&self) -> Option<&OfferedStep> {
        match &self.outcome {
            PathOutcome::Step(step) => Some(step),
            PathOutcome::Nothing(_) => None,
        }
    }
}

/// The next step, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathOutcome {
    Step(OfferedStep),
    /// Nothing, for this reason.
    Nothing(NotOffered),
}

/// One step on the path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedStep {
    /// The release that it leads to.
    pub to: ReleaseId,
    /// Its content now.
    pub content: Option<ContentId>,
    /// How that release relates to the cluster's.
    pub direction: Direction,
    /// Where the step leaves out a minor of Kubernetes. Such a step is offered as a draft at most.
    pub minor_skip: Option<MinorSkip>,
    /// The releases that would be offered after it, in order.
    pub follows: Vec<ReleaseId>,
}

/// How a release relates to the cluster's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// It is newer, or the cluster's is unknown.
    Forward,
    /// It is the same release with other content.
    Refresh,
    /// It is older; only by name.
    Back,
    /// It is another provider's; only by name.
    Aside,
}

/// A step that leaves out a minor of Kubernetes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MinorSkip {
    /// The cluster's minor.
    pub from: KubernetesMinor,
    /// The release's.
    pub to: KubernetesMinor,
}

/// Why nothing is offered. Its text is one sentence for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotOffered {
    /// The customer holds upgrades back.
    Held {
        /// Why, in the customer's words.
        reason: String,
        /// Until when.
        until: Option<Date>,
    },
    TrackNone,
    /// It is unknown whose releases the cluster follows.
    Provider(ProviderUnknown),
    /// The track needs to know where the cluster is.
    ReleaseUnknown {
        track: Track,
    },
    /// There is no newer release.
    Newest {
        /// The cluster's release.
        at: Option<ReleaseId>,
        provider: Provider,
    },
    /// There are newer releases, but the track or their state excludes them.
    Excluded {
        /// The cluster's release.
        at: ReleaseId,
        /// The newest of them.
        newest: ReleaseId,
        /// What excludes that one.
        by: Excludes,
        /// Why that one is excluded.
        why: String,
    },
    /// The inventory asks for a release to which no step leads by itself.
    Unreachable {
        /// The cluster's release.
        at: Option<ReleaseId>,
        /// The one that the inventory asks for.
        wished: ReleaseId,
        /// Why not, to be read after its name.
        why: String,
    },
    /// The inventory defines the cluster, and something there comes first or prevents the step: one sentence.
    Inventory(String),
    /// The release asked for is the cluster's, unchanged.
    AlreadyThere {
        /// The release.
        at: ReleaseId,
    },
}

/// What excludes a newer release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Excludes {
    /// The cluster's track.
    Track,
    /// The release's own state: nobody is offered it.
    State,
}

impl NotOffered {
    /// The same in a word.
    pub const fn rest(&self) -> Rest {
        match self {
            Self::Held { .. } => Rest::Held,
            Self::TrackNone
            | Self::Excluded { by: Excludes::Track, .. }
            | Self::Unreachable { .. }
            | Self::Inventory(_) => Rest::Pinned,
            Self::Provider(_) | Self::ReleaseUnknown { .. } | Self::Newest { at: None, .. } => Rest::Unknown,
            Self::Newest { at: Some(_), .. }
            | Self::Excluded { by: Excludes::State, .. }
            | Self::AlreadyThere { .. } => Rest::Current,
        }
    }
}

impl fmt::Display for NotOffered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tell(TargetKind::Cluster, f)
    }
}

/// A reason, in words for a target of some kind.
pub(super) struct ReasonInWords<'r>(&'r NotOffered, TargetKind);

impl fmt::Display for ReasonInWords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.tell(self.1, f)
    }
}

impl NotOffered {
    /// The sentence, of a target of that kind.
    pub fn describe(&self, kind: TargetKind) -> String {
        ReasonInWords(self, kind).to_string()
    }

    pub(super) fn tell(&self, kind: TargetKind, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noun = kind.noun();
        match self {
            Self::Held { reason, until: Some(until) } => {
                write!(f, "The overlay holds upgrades back until {until}: {reason}.")
            }
            Self::Held { reason, until: None } => write!(f, "The overlay holds upgrades back: {reason}."),
            Self::TrackNone => write!(f, "The {noun}'s track is `none`, so nothing is offered."),
            Self::Provider(unknown) => unknown.tell(kind, f),
            Self::ReleaseUnknown { track } => write!(
                f,
                "The {noun}'s release is unknown, so what its track `{track}` allows is unknown: record `release` in its capstan.yaml."
            ),
            Self::Newest { at: Some(at), .. } => {
                write!(f, "The {noun} is at {at}, and there is no newer release.")
            }
            Self::Newest { at: None, provider } => {
                write!(f, "The provider {provider} has no release that is offered.")
            }
            Self::Excluded { at, newest, why, .. } => {
                write!(f, "The {noun} is at {at}; the newest release {newest} is not offered, because {why}.")
            }
            Self::Unreachable { wished, why, .. } => {
                write!(f, "The inventory asks for {wished}, which {why}.")
            }
            Self::Inventory(why) => f.write_str(why),
            Self::AlreadyThere { at } => {
                write!(f, "The {noun} is up to date with {at}.")
            }
        }
    }
}

/// A release that was asked for by name and is not there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no release {asked}{hint}")]
pub struct NoSuchRelease {
    /// What was asked for.
    pub asked: String,
    /// What may have been meant, ready to be appended; empty where nothing comes near.
    pub hint: String,
}
