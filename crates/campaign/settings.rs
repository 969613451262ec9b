//! A campaign as people write it.

use std::collections::{BTreeMap, BTreeSet};

use capstan_model::glob::Glob;
use capstan_model::plain_http;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

use super::facts::RolloutFailure;
use super::time::{Calendar, Freeze, Period, WaveCalendar, Window, ZoneName};

/// How releases move through the fleet, wave by wave.
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
    /// Times in which nothing starts.
    #[serde(default)]
    pub freezes: Vec<Freeze>,
    /// The zone of windows and freezes; UTC by default.
    #[serde(default)]
    #[schemars(with = "String")]
    pub time_zone: ZoneName,
    /// What stops the whole campaign.
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
    /// How long it must be healthy before the next wave begins: `24h`; no time by default.
    #[serde(default)]
    #[schemars(with = "String")]
    pub soak: Period,
    /// When its pull requests are opened; always by default.
    #[serde(default)]
    pub windows: Vec<Window>,
    /// Pull requests of it that are open at a time; only limited by `upgrade.proposals` by default.
    #[serde(default)]
    pub max_open: Option<u32>,
    /// What may roll at the same time.
    #[serde(default)]
    pub max_rolling: MaxRolling,
    /// What each cluster must show before the wave counts as verified.
    #[serde(default)]
    pub verify: Verify,
}

/// Which clusters are in a wave: those that match everything here.
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

/// What may roll at the same time. A cluster with an open pull request counts, because it may be merged at any
/// moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct MaxRolling {
    /// Clusters; no limit by default.
    pub clusters: Option<u32>,
    /// Machines that upgrades replace; no limit by default.
    pub machines: Option<u32>,
}

/// What each cluster must show before a wave counts as verified.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Verify {
    /// Checks of the merge's commit, by name, that must have passed.
    pub checks: BTreeSet<String>,
    /// A webhook that is asked after everything else, and answers pass or fail.
    pub webhook: Option<Webhook>,
}

/// A service that is asked whether a wave is well.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Webhook {
    /// Its URL: https, or http within the cluster that Capstan runs in and on its machine. The operator of Capstan
    /// must allow its host.
    #[schemars(with = "String")]
    pub url: WebhookUrl,
    /// How long an answer may take: 10 s by default, at most a minute.
    #[serde(default)]
    #[schemars(with = "String")]
    pub timeout: Timeout,
}

/// The URL of a webhook: https, or http where nobody can listen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookUrl(Url);

impl WebhookUrl {
    /// So many characters at most.
    const LONGEST: usize = 2_000;

    /// Reads an address.
    ///
    /// # Errors
    /// What it should look like.
    pub fn parse(text: &str) -> Result<Self, String> {
        let url = Url::parse(text).map_err(|error| format!("`{text}` is not a URL: {error}"))?;
        let Some(host) = url.host_str().filter(|_| text.len() <= Self::LONGEST) else {
            return Err(format!("this is not a URL with a host and at most {} characters", Self::LONGEST));
        };
        match url.scheme() {
            "https" => {}
            "http" if plain_http::is_private(host) => {}
            _ => {
                return Err(format!(
                    "`{text}` must begin with https:// (http:// is allowed only for hosts {})",
                    plain_http::WHERE
                ));
            }
        }
        if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
            return Err("the URL must have no user, password or fragment: the signature identifies Capstan"
                .to_owned());
        }
        Ok(Self(url))
    }

    /// The address.
    pub const fn url(&self) -> &Url {
        &self.0
    }

    /// Its host for people, with the port where that is not the scheme's own; never what may be secret.
    pub fn host(&self) -> String {
        let host = self.0.host_str().unwrap_or_default();
        self.0.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }
}

impl<'de> Deserialize<'de> for WebhookUrl {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl Serialize for WebhookUrl {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.as_str())
    }
}

/// How long an answer may take: `10s`, up to a minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeout(Period);

impl Timeout {
    /// A minute.
    const LONGEST: i64 = 60;

    /// Reads `10s`.
    ///
    /// # Errors
    /// What it should look like.
    pub fn parse(text: &str) -> Result<Self, String> {
        let period = Period::parse(text).ok();
        let fits = |period: &Period| (1..=Self::LONGEST).contains(&period.duration().as_secs());
        let wrong = || format!("`{text}` is not a duration from 1s to 1m (such as 10s)");
        period.filter(fits).map(Self).ok_or_else(wrong)
    }

    /// Whole seconds, at least one.
    pub fn seconds(self) -> u64 {
        self.0.duration().as_secs().unsigned_abs()
    }
}

impl Default for Timeout {
    fn default() -> Self {
        Self(Period::seconds(10))
    }
}

impl<'de> Deserialize<'de> for Timeout {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl Serialize for Timeout {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// What stops a whole campaign.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct StopOn {
    /// Results of rollouts that count as failed; all by default.
    pub failures: BTreeSet<RolloutFailure>,
    /// How many of them stop it; 1 by default.
    pub count: u32,
    /// Among how many of the last finished clusters; among all by default.
    pub of: Option<u32>,
}

impl CampaignSettings {
    /// When its waves may begin.
    pub fn calendar(&self) -> Calendar {
        let wave =
            |wave: &WaveSettings| WaveCalendar { name: wave.name.clone(), windows: wave.windows.clone() };
        Calendar {
            time_zone: self.time_zone.clone(),
            freezes: self.freezes.clone(),
            waves: self.waves.iter().map(wave).collect(),
        }
    }

    /// Whether a wave tells clusters apart by more than their folders.
    pub fn reads_clusters(&self) -> bool {
        let by_cluster =
            |wave: &WaveSettings| !wave.matches.labels.is_empty() || !wave.matches.fields.is_empty();
        self.waves.iter().any(by_cluster)
    }
}

impl Default for StopOn {
    fn default() -> Self {
        Self {
            failures: [RolloutFailure::Stuck, RolloutFailure::Refused, RolloutFailure::RolledBack].into(),
            count: 1,
            of: None,
        }
    }
}
