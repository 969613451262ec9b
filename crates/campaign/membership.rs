//! Which wave a cluster is in, and waves that cannot be meant.

use std::collections::BTreeMap;
use std::fmt;

use capstan_model::glob::Glob;
use capstan_model::ids::ClusterId;
use capstan_model::wording::count;
use jiff::Timestamp;

use super::settings::{CampaignSettings, Membership, WaveSettings};
use super::time::{WindowOpening, opening};

/// What waves tell clusters apart by.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct WaveCandidate {
    pub cluster: ClusterId,
    /// Labels of its `Cluster`.
    pub labels: BTreeMap<String, String>,
    /// Scalar fields of its `Cluster`, as text, by JSON Pointer; those at least that the settings name.
    pub fields: BTreeMap<String, String>,
}

impl Membership {
    /// Whether a cluster is meant.
    pub fn holds(&self, candidate: &WaveCandidate) -> bool {
        let by_path = self.clusters.is_empty() || Glob::any(&self.clusters, candidate.cluster.as_str());
        let has =
            |all: &BTreeMap<String, String>, (key, value): (&String, &String)| all.get(key) == Some(value);
        by_path
            && self.labels.iter().all(|label| has(&candidate.labels, label))
            && self.fields.iter().all(|field| has(&candidate.fields, field))
    }

    /// Whether it takes all remaining clusters.
    fn is_rest(&self) -> bool {
        let is_all = |glob: &Glob| matches!(glob.as_str(), "**" | "**/*");
        self.labels.is_empty()
            && self.fields.is_empty()
            && (self.clusters.is_empty() || self.clusters.iter().any(is_all))
            && !self.clusters.iter().any(Glob::is_exclusion)
    }
}

/// Whether a release moves by this campaign.
pub fn is_of(settings: &CampaignSettings, release: &str) -> bool {
    settings.releases.is_empty() || Glob::any(&settings.releases, release)
}

/// The wave of a cluster, by its place: the first that it matches; `None` where it matches none.
pub fn wave_of(settings: &CampaignSettings, candidate: &WaveCandidate) -> Option<usize> {
    settings.waves.iter().position(|wave| wave.matches.holds(candidate))
}

/// What cannot be meant of a campaign, and of which wave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doubt {
    /// The wave, by its place; `None` = the campaign.
    pub wave: Option<usize>,
    /// What is doubtful.
    pub what: DoubtfulPart,
}

/// What is doubtful.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DoubtfulPart {
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
    /// Clusters are in no wave: nobody proposes anything to them.
    Missed {
        /// The first of them.
        cluster: ClusterId,
        /// How many more there are.
        others: usize,
    },
}

impl fmt::Display for DoubtfulPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Overlaps { cluster, others: 0, .. } => write!(
                f,
                "`{cluster}` also matches an earlier wave, and is in that one: leave it out here, or let the last wave match `**`"
            ),
            Self::Overlaps { cluster, others, .. } => write!(
                f,
                "`{cluster}` and {} also match an earlier wave, and are in that one: leave them out here, or let the last wave match `**`",
                count(*others, "other", "others")
            ),
            Self::Empty { pattern: Some(_) } => f.write_str("this pattern matches no cluster"),
            Self::Empty { pattern: None } => f.write_str("no cluster is in this wave"),
            Self::NeverOpen => f.write_str("every window of it is in a freeze: it would wait for ever"),
            Self::Missed { cluster, others: 0 } => write!(
                f,
                "`{cluster}` matches no wave, so Capstan proposes nothing for it: add a last wave that matches `**`"
            ),
            Self::Missed { cluster, others } => write!(
                f,
                "`{cluster}` and {} match no wave, so Capstan proposes nothing for them: add a last wave that matches `**`",
                count(*others, "other", "others")
            ),
        }
    }
}

/// Which waves match which clusters. Each wave is asked once about each cluster: patterns are slow to match, and what is
/// doubtful is read from here alone.
struct Matches {
    /// By wave, for each cluster of the fleet.
    by_wave: Vec<Vec<bool>>,
    /// The wave of each cluster.
    first: Vec<Option<usize>>,
}

impl Matches {
    fn of(
        waves: &[WaveSettings],
        fleet: &[WaveCandidate],
        holds: impl Fn(&WaveSettings, &WaveCandidate) -> bool,
    ) -> Self {
        let mut first = vec![None; fleet.len()];
        let of_wave = |(at, wave): (usize, &WaveSettings)| {
            let column: Vec<bool> = fleet.iter().map(|candidate| holds(wave, candidate)).collect();
            for (first, _) in first.iter_mut().zip(&column).filter(|(_, matches)| **matches) {
                first.get_or_insert(at);
            }
            column
        };
        let by_wave = waves.iter().enumerate().map(of_wave).collect();
        Self { by_wave, first }
    }

    fn wave(&self, at: usize) -> &[bool] {
        self.by_wave.get(at).map_or(&[], Vec::as_slice)
    }

    /// Whether a wave holds all clusters that an earlier one does, and more: canaries first, then their region, is what
    /// people mean.
    fn is_within(&self, earlier: usize, later: usize) -> bool {
        let both = || self.wave(earlier).iter().zip(self.wave(later));
        both().any(|(earlier, later)| *later && !earlier) && both().all(|(earlier, later)| *later || !earlier)
    }
}

/// Everything that cannot be meant, for a fleet as it is.
pub fn doubts(settings: &CampaignSettings, fleet: &[WaveCandidate], now: Timestamp) -> Vec<Doubt> {
    doubts_of(settings, fleet, now, |wave, candidate| wave.matches.holds(candidate))
}

fn doubts_of(
    settings: &CampaignSettings,
    fleet: &[WaveCandidate],
    now: Timestamp,
    holds: impl Fn(&WaveSettings, &WaveCandidate) -> bool,
) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    let matches = Matches::of(&settings.waves, fleet, holds);
    for (at, wave) in settings.waves.iter().enumerate() {
        let mut say = |what| doubts.push(Doubt { wave: Some(at), what });
        if matches.wave(at).contains(&true) {
            for (pattern, glob) in wave.matches.clusters.iter().enumerate() {
                let is_vain = || !fleet.iter().any(|candidate| glob.matches(candidate.cluster.as_str()));
                if !glob.is_exclusion() && is_vain() {
                    say(DoubtfulPart::Empty { pattern: Some(pattern) });
                }
            }
        } else {
            say(DoubtfulPart::Empty { pattern: None });
        }
        if !wave.matches.is_rest() {
            let is_within: Vec<bool> = (0..at).map(|earlier| matches.is_within(earlier, at)).collect();
            let matched = fleet.iter().zip(&matches.first).zip(matches.wave(at)).filter(|(_, is_in)| **is_in);
            let mut twice = matched.filter_map(|((candidate, first), _)| {
                // Of its own wave there is none among the earlier ones.
                let earlier = first.filter(|first| is_within.get(*first) == Some(&false))?;
                Some((&candidate.cluster, earlier))
            });
            if let Some((cluster, earlier)) = twice.next() {
                let others = twice.count();
                say(DoubtfulPart::Overlaps { cluster: cluster.clone(), others, earlier });
            }
        }
        let opens = opening(&wave.windows, &settings.freezes, &settings.time_zone, now);
        if matches!(opens, WindowOpening::Shut { until: None, .. }) {
            say(DoubtfulPart::NeverOpen);
        }
    }
    let mut missed = fleet.iter().zip(&matches.first).filter(|(_, first)| first.is_none());
    if let Some((first, _)) = missed.next() {
        let what = DoubtfulPart::Missed { cluster: first.cluster.clone(), others: missed.count() };
        doubts.push(Doubt { wave: None, what });
    }
    doubts
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::decision_tests::{at, campaign, id, wave};
    use crate::time::{Cron, Period, Window};

    fn candidate(cluster: &str, tier: &str) -> WaveCandidate {
        let one = |key: &str| BTreeMap::from([(key.to_owned(), tier.to_owned())]);
        WaveCandidate {
            cluster: id(cluster),
            labels: one("tier"),
            fields: one("/spec/topology/classRef/name"),
        }
    }

    #[test]
    fn a_cluster_is_in_the_first_wave_of_which_it_matches_all_that_is_said() {
        let mut settings = campaign(vec![wave("gold", "eu/*"), wave("silver", "eu/*"), wave("rest", "**")]);
        settings.waves[0].matches.labels = candidate("eu/1", "gold").labels;
        settings.waves[1].matches.fields = candidate("eu/1", "silver").fields;
        for (cluster, tier, expected) in
            [("eu/1", "gold", 0), ("eu/1", "silver", 1), ("eu/1", "none", 2), ("us/1", "gold", 2)]
        {
            assert_eq!(wave_of(&settings, &candidate(cluster, tier)), Some(expected), "{cluster} {tier}");
        }
        settings.waves.pop();
        assert_eq!(wave_of(&settings, &candidate("us/1", "gold")), None);
    }

    #[test]
    fn a_campaign_without_patterns_is_of_every_release() {
        let mut settings = campaign(Vec::new());
        assert!(is_of(&settings, "aws/v1.0.0"));
        settings.releases = vec![Glob::parse("aws/*").unwrap()];
        assert!(is_of(&settings, "aws/v1.0.0"));
        assert!(!is_of(&settings, "openstack/v1.0.0"));
    }

    #[test]
    fn a_wave_that_takes_in_all_of_an_earlier_one_is_meant() {
        let fleet = ["eu/canary-1", "eu/1", "us/1"].map(|cluster| candidate(cluster, "gold"));
        let now = at("2026-11-24T12:00:00Z");
        let waves = |globs: [&str; 3]| {
            let [one, two, three] = globs;
            let settings = campaign(vec![wave("canary", one), wave("region", two), wave("all", three)]);
            doubts(&settings, &fleet, now).len()
        };
        assert_eq!(waves(["*/canary*", "eu/*", "*/*"]), 0);
        // The same wave again is not.
        assert_eq!(waves(["*/canary*", "eu/*", "eu/*"]), 2);
    }

    #[test]
    fn each_wave_is_asked_once_about_each_cluster_however_many_are_in_several() {
        let waves = vec![wave("canary", "*/c?"), wave("region", "eu/*"), wave("again", "eu/*")];
        let settings = campaign(waves);
        for clusters in [100, 200] {
            let fleet: Vec<WaveCandidate> =
                (0..clusters).map(|at| candidate(&format!("eu/c{at}"), "gold")).collect();
            let asked = Cell::new(0);
            let told = doubts_of(&settings, &fleet, at("2026-11-24T12:00:00Z"), |wave, candidate| {
                asked.set(asked.get() + 1);
                wave.matches.holds(candidate)
            });
            let overlaps = |wave, others, earlier, cluster| Doubt {
                wave: Some(wave),
                what: DoubtfulPart::Overlaps { cluster: id(cluster), others, earlier },
            };
            // The first ten are in the first wave, which is within the third.
            assert_eq!(told, [overlaps(2, clusters - 11, 1, "eu/c10")]);
            assert_eq!(asked.get(), 3 * clusters);
        }
    }

    #[test]
    fn waves_with_mistakes_raise_doubts() {
        let mut settings = campaign(vec![wave("a", "eu/*"), wave("b", "eu/1"), wave("c", "nobody/*")]);
        settings.waves[0].matches.clusters.push(Glob::parse("asia/*").unwrap());
        let cron = Cron::parse("0 0 30 2 *").unwrap();
        settings.waves[1].windows = vec![Window { cron, duration: Period::minutes(60) }];
        let fleet = ["eu/1", "eu/2", "us/1", "us/2"].map(|cluster| candidate(cluster, "gold"));
        let told: Vec<String> = doubts(&settings, &fleet, at("2026-11-24T12:00:00Z"))
            .into_iter()
            .map(|doubt| format!("{:?} {}", doubt.wave, doubt.what))
            .collect();
        assert_eq!(
            told,
            [
                "Some(0) this pattern matches no cluster",
                "Some(1) `eu/1` also matches an earlier wave, and is in that one: leave it out here, or let the last wave match `**`",
                "Some(1) every window of it is in a freeze: it would wait for ever",
                "Some(2) no cluster is in this wave",
                "None `us/1` and 1 other match no wave, so Capstan proposes nothing for them: add a last wave that matches `**`",
            ]
        );
    }
}
