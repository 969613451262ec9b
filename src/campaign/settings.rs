//! A campaign as people write it.

use std::collections::{BTreeMap, BTreeSet};

use capstan_model::glob::Glob;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::facts::Failure;
use super::time::{Freeze, Period, Window, ZoneName};

/// How releases move through the fleet: wave by wave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CampaignSettings {
    /// Its name, for commands and the dashboard.
    pub name: String,
    /// Patterns over releases: which of them move like this; all of them by default.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub releases: Vec<Glob>,
    /// The waves, in their order. A cluster is in the first that it matches.
    pub waves: Vec<WaveSettings>,
    /// Times in which nothing is begun.
    #[serde(default)]
    pub freezes: Vec<Freeze>,
    /// The zone of windows and freezes; UTC by default.
    #[serde(default)]
    #[schemars(with = "String")]
    pub time_zone: ZoneName,
    /// What stops it for all.
    #[serde(default)]
    pub stop_on: StopOn,
    /// Whether a release may say `urgency: now` and pass soaks, windows and freezes; not by default.
    #[serde(default)]
    pub allow_urgent: bool,
}

/// Clusters that get a release at the same time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WaveSettings {
    /// Its name.
    pub name: String,
    /// Who is in it.
    #[serde(rename = "match")]
    pub matches: Membership,
    /// How long it must have been well before the next begins: `24h`; no time by default.
    #[serde(default)]
    #[schemars(with = "String")]
    pub soak: Period,
    /// When its pull requests are opened; always by default.
    #[serde(default)]
    pub windows: Vec<Window>,
    /// Pull requests of it that are open at a time; only limited by `upgrade.proposals` by default.
    #[serde(default)]
    pub max_open: Option<u32>,
    /// What may roll at a time.
    #[serde(default)]
    pub max_rolling: MaxRolling,
    /// What must be seen of each cluster before the wave counts as verified.
    #[serde(default)]
    pub verify: Verify,
}

/// Who is in a wave: whoever matches all that is said here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Membership {
    /// Patterns over cluster ids; one of them must match.
    #[schemars(with = "Vec<String>")]
    pub clusters: Vec<Glob>,
    /// Labels that the `Cluster` has.
    pub labels: BTreeMap<String, String>,
    /// Fields of the `Cluster`, by JSON Pointer, and their values as text.
    pub fields: BTreeMap<String, String>,
}

/// What may roll at a time. Whatever has an open pull request counts, since it may be merged at any moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct MaxRolling {
    /// Clusters; no limit by default.
    pub clusters: Option<u32>,
    /// Machines that upgrades replace; no limit by default.
    pub machines: Option<u32>,
}

/// What must be seen of each cluster before a wave counts as verified.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Verify {
    /// Checks of the merge's commit, by name, that must have passed.
    pub checks: BTreeSet<String>,
    /// A webhook that is asked once all else was seen, and answers pass or fail.
    pub webhook: Option<Webhook>,
}

/// Somebody who is asked whether a wave is well.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Webhook {
    /// Where; https.
    pub url: String,
    /// How long it is waited for: `10m`.
    #[schemars(with = "String")]
    pub timeout: Period,
}

/// What stops a campaign for all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct StopOn {
    /// Ends of rollouts that count as failed; all by default.
    pub failures: BTreeSet<Failure>,
    /// So many of them stop it; 1 by default.
    pub count: u32,
    /// Among the last so many clusters that ended; among all by default.
    pub of: Option<u32>,
}

impl Default for StopOn {
    fn default() -> Self {
        Self { failures: [Failure::Stuck, Failure::Refused, Failure::RolledBack].into(), count: 1, of: None }
    }
}
