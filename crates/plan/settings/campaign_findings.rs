//! What of campaigns cannot be meant, of a fleet as it is: findings with their place in `.capstan.yaml`.

use std::collections::BTreeMap;

use capstan_campaign::membership::{DoubtfulPart, WaveCandidate, doubts};
use capstan_campaign::settings::{CampaignSettings, Webhook};
use capstan_model::finding::{Finding, Place, rules};
use capstan_model::ids::{ClusterId, ReleaseId};
use capstan_model::tree::RepoPath;
use jiff::Timestamp;
use serde_json::Value;

use super::key_path::{KeyPath, find};
use super::repository::RepositorySettings;

impl RepositorySettings {
    /// Waves that overlap, match nobody, leave clusters out or never begin, at their places in the file's text.
    pub fn judge_campaigns(
        &self,
        (file, text): (&RepoPath, &str),
        fleet: &[WaveCandidate],
        now: Timestamp,
    ) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (at, campaign) in self.campaigns.iter().enumerate() {
            for doubt in doubts(campaign, fleet, now) {
                // A campaign of some releases is not meant for everybody.
                if matches!(doubt.what, DoubtfulPart::Missed { .. }) && !campaign.releases.is_empty() {
                    continue;
                }
                let of_campaign = KeyPath::root().key("campaigns").index(at).key("waves");
                let wave = doubt.wave.and_then(|index| Some((index, campaign.waves.get(index)?)));
                let (whole, said) = match wave {
                    Some((index, wave)) => (
                        of_campaign.index(index),
                        format!("wave `{}` of campaign `{}`: {}", wave.name, campaign.name, doubt.what),
                    ),
                    None => (of_campaign, format!("campaign `{}`: {}", campaign.name, doubt.what)),
                };
                let (rule, place) = match &doubt.what {
                    DoubtfulPart::NeverOpen => (rules::CAMPAIGN_WAITS_FOR_EVER, whole.key("windows")),
                    DoubtfulPart::Empty { pattern: Some(pattern) } => {
                        (rules::CAMPAIGN_WAVES, whole.key("match").key("clusters").index(*pattern))
                    }
                    DoubtfulPart::Empty { pattern: None } | DoubtfulPart::Overlaps { .. } => {
                        (rules::CAMPAIGN_WAVES, whole.key("match"))
                    }
                    DoubtfulPart::Missed { .. } => (rules::CAMPAIGN_WAVES, whole),
                };
                findings.push(Finding::new(rule, said).place(place_of(file, text, &place)));
            }
        }
        findings
    }

    /// Patterns of `releases` that match none of these, at their places in the file's text.
    pub fn judge_campaign_releases(
        &self,
        (file, text): (&RepoPath, &str),
        releases: &[&ReleaseId],
    ) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (at, campaign) in self.campaigns.iter().enumerate() {
            for (index, pattern) in campaign.releases.iter().enumerate() {
                let is_vain = !releases.iter().any(|release| pattern.matches(release.as_str()));
                if pattern.is_exclusion() || !is_vain {
                    continue;
                }
                let place = KeyPath::root().key("campaigns").index(at).key("releases").index(index);
                let said = format!(
                    "campaign `{}`: no release matches `{pattern}`, so the pattern has no effect: correct it, or remove it",
                    campaign.name
                );
                findings.push(Finding::new(rules::CAMPAIGN_WAVES, said).place(place_of(file, text, &place)));
            }
        }
        findings
    }

    /// Waves that wait for ever because their webhook may not be asked, by what `judge` says of it.
    pub fn judge_webhooks(
        &self,
        (file, text): (&RepoPath, &str),
        judge: impl Fn(&Webhook) -> Result<(), String>,
    ) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (at, campaign) in self.campaigns.iter().enumerate() {
            for (index, wave) in campaign.waves.iter().enumerate() {
                let refused = wave.verify.webhook.as_ref().and_then(|webhook| judge(webhook).err());
                let Some(why) = refused else { continue };
                let place = KeyPath::root().key("campaigns").index(at).key("waves").index(index);
                let place = place.key("verify").key("webhook").key("url");
                let said = format!("wave `{}` of campaign `{}` never ends: {why}", wave.name, campaign.name);
                let finding = Finding::new(rules::CAMPAIGN_WAITS_FOR_EVER, said);
                findings.push(finding.place(place_of(file, text, &place)));
            }
        }
        findings
    }
}

fn place_of(file: &RepoPath, text: &str, place: &KeyPath) -> Place {
    let position = find(text, place).map(|found| found.key.unwrap_or(found.value));
    Place::maybe_at(file.clone(), position)
}

/// What waves tell a cluster apart by, from its `Cluster` as it is rendered (`null`: it has none).
pub fn campaign_candidate(id: &ClusterId, cluster: &Value, campaigns: &[CampaignSettings]) -> WaveCandidate {
    let as_text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        _ => None,
    };
    let labels = cluster.pointer("/metadata/labels").and_then(Value::as_object);
    let labels = labels.into_iter().flatten().filter_map(|(key, value)| Some((key.clone(), as_text(value)?)));
    let waves = campaigns.iter().flat_map(|campaign| &campaign.waves);
    let wanted = waves.flat_map(|wave| wave.matches.fields.keys());
    let fields: BTreeMap<String, String> =
        wanted.filter_map(|path| Some((path.clone(), as_text(cluster.pointer(path)?)?))).collect();
    WaveCandidate { cluster: id.clone(), labels: labels.collect(), fields }
}
