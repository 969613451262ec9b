//! Which wave a cluster is in, and waves that cannot be meant.

use std::collections::BTreeMap;
use std::fmt;

use capstan_model::ids::ClusterId;
use jiff::Timestamp;

use super::settings::{CampaignSettings, Membership};
use super::time::{Opening, opening};

/// What waves tell clusters apart by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The cluster.
    pub cluster: ClusterId,
    /// Labels of its `Cluster`.
    pub labels: BTreeMap<String, String>,
    /// Scalar fields of its `Cluster`, as text, by JSON Pointer; those at least that the settings name.
    pub fields: BTreeMap<String, String>,
}

impl Membership {
    /// Whether a cluster is meant.
    pub fn holds(&self, candidate: &Candidate) -> bool {
        let by_path = self.clusters.is_empty()
            || self.clusters.iter().any(|glob| glob.matches(candidate.cluster.as_str()));
        let has =
            |all: &BTreeMap<String, String>, (key, value): (&String, &String)| all.get(key) == Some(value);
        by_path
            && self.labels.iter().all(|label| has(&candidate.labels, label))
            && self.fields.iter().all(|field| has(&candidate.fields, field))
    }

    /// Whether it takes whoever is left.
    fn is_rest(&self) -> bool {
        let is_all = |glob: &capstan_model::glob::Glob| matches!(glob.as_str(), "**" | "**/*");
        self.labels.is_empty()
            && self.fields.is_empty()
            && (self.clusters.is_empty() || self.clusters.iter().any(is_all))
    }
}

/// The wave of a cluster, by its place: the first that it matches; `None` where it matches none.
pub fn wave_of(settings: &CampaignSettings, candidate: &Candidate) -> Option<usize> {
    settings.waves.iter().position(|wave| wave.matches.holds(candidate))
}

/// What cannot be meant of a campaign, and of which wave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doubt {
    /// The wave, by its place; `None` = the campaign.
    pub wave: Option<usize>,
    /// What is doubtful.
    pub what: What,
}

/// What is doubtful.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// Clusters match this wave and an earlier one, in which they are.
    Overlaps {
        /// The first of them.
        cluster: ClusterId,
        /// How many more there are.
        others: usize,
        /// The wave in which that is, by its place.
        earlier: usize,
    },
    /// A pattern matches no cluster.
    Empty {
        /// The pattern, by its place in `match.clusters`; `None` = the wave matches nobody.
        pattern: Option<usize>,
    },
    /// No window comes that is not frozen.
    NeverOpen,
    /// A freeze ends before it begins, by its place.
    Reversed(usize),
    /// Clusters are in no wave: nobody proposes anything to them.
    Missed {
        /// The first of them.
        cluster: ClusterId,
        /// How many more there are.
        others: usize,
    },
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let and = |others: usize| match others {
            0 => String::new(),
            others => format!(" and {others} others"),
        };
        match self {
            Self::Overlaps { cluster, others, .. } => write!(
                f,
                "`{cluster}`{} match an earlier wave too, and are in that one: leave them out here, or let the last wave match `**`",
                and(*others)
            ),
            Self::Empty { pattern: Some(_) } => f.write_str("this pattern matches no cluster"),
            Self::Empty { pattern: None } => f.write_str("no cluster is in this wave"),
            Self::NeverOpen => {
                f.write_str("no window of it comes that is not frozen: it would wait for ever")
            }
            Self::Reversed(_) => f.write_str("it ends before it begins"),
            Self::Missed { cluster, others } => write!(
                f,
                "`{cluster}`{} match no wave, so nothing is proposed to them: add a last wave that matches `**`",
                and(*others)
            ),
        }
    }
}

/// Everything that cannot be meant, for a fleet as it is.
pub fn doubts(settings: &CampaignSettings, fleet: &[Candidate], now: Timestamp) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    for (at, freeze) in settings.freezes.iter().enumerate() {
        if freeze.until <= freeze.from {
            doubts.push(Doubt { wave: None, what: What::Reversed(at) });
        }
    }
    for (at, wave) in settings.waves.iter().enumerate() {
        let mut say = |what| doubts.push(Doubt { wave: Some(at), what });
        let mut matched = fleet.iter().filter(|candidate| wave.matches.holds(candidate)).peekable();
        if matched.peek().is_none() {
            say(What::Empty { pattern: None });
        } else {
            for (pattern, glob) in wave.matches.clusters.iter().enumerate() {
                if !fleet.iter().any(|candidate| glob.matches(candidate.cluster.as_str())) {
                    say(What::Empty { pattern: Some(pattern) });
                }
            }
        }
        if !wave.matches.is_rest() {
            let mut twice = matched.filter_map(|candidate| {
                let first = wave_of(settings, candidate).filter(|first| *first < at)?;
                Some((candidate.cluster.clone(), first))
            });
            if let Some((cluster, earlier)) = twice.next() {
                let others = twice.count();
                say(What::Overlaps { cluster, others, earlier });
            }
        }
        let opens = opening(&wave.windows, &settings.freezes, &settings.time_zone, now);
        if matches!(opens, Opening::Shut { until: None, .. }) {
            say(What::NeverOpen);
        }
    }
    let mut missed = fleet.iter().filter(|candidate| wave_of(settings, candidate).is_none());
    if let Some(first) = missed.next() {
        let what = What::Missed { cluster: first.cluster.clone(), others: missed.count() };
        doubts.push(Doubt { wave: None, what });
    }
    doubts
}
