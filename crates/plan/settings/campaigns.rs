//! `campaigns`, in `.capstan.yaml` and in a file of its own that is read as strictly.

use serde::Deserialize;

use capstan_campaign::settings::CampaignSettings;
use capstan_model::finding::FileError;
use capstan_model::tree::RepoPath;

use super::campaign_check::check;
use super::more_errors::with_others;
use super::read::{error_at, read_strictly};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CampaignFile {
    campaigns: Vec<CampaignSettings>,
}

/// Reads `campaigns:` of a file that holds nothing else. The error's file is empty: the caller knows it.
///
/// # Errors
/// What is wrong, with its place.
pub fn read_campaigns(text: &str) -> Result<Vec<CampaignSettings>, FileError> {
    read_once(text).map_err(|first| with_others(text, first, |text| read_once(text).map(drop)))
}

fn read_once(text: &str) -> Result<Vec<CampaignSettings>, FileError> {
    let file: CampaignFile = read_strictly(text)?;
    check(&file.campaigns).map_err(|(place, message)| error_at(&RepoPath::root(), text, &place, message))?;
    Ok(file.campaigns)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "\
campaigns:
- name: fleet
  timeZone: Europe/Berlin
  freezes: [{from: 2026-12-20, until: 2027-01-04T09:00, reason: end of the year}]
  stopOn: {failures: [stuck, rolledBack], count: 2, of: 20}
  waves:
  - name: canary
    match: {clusters: [\"*/canary*\"]}
    soak: 24h
    verify: {checks: [e2e], webhook: {url: \"https://judge.example/\", timeout: 30s}}
  - name: rest
    match: {labels: {tier: gold}, fields: {/spec/topology/class: aws}}
    windows: [{cron: 0 9 * * MON-FRI, duration: 8h}]
    maxOpen: 5
    maxRolling: {clusters: 3, machines: 30}
";

    #[test]
    fn a_campaign_is_read_whole() {
        let campaigns = read_campaigns(GOOD).unwrap();
        let [campaign] = campaigns.as_slice() else { panic!("one") };
        assert_eq!(campaign.name, "fleet");
        assert_eq!(campaign.waves.len(), 2);
        assert_eq!(campaign.waves[0].soak.to_string(), "24h");
        assert_eq!(campaign.waves[1].max_rolling.machines, Some(30));
        assert_eq!(campaign.stop_on.of, Some(20));
        let webhook = campaign.waves[0].verify.webhook.as_ref().unwrap();
        assert_eq!((webhook.url.host().as_str(), webhook.timeout.seconds()), ("judge.example", 30));
    }

    #[test]
    fn mistakes_in_campaigns_are_reported_with_their_place() {
        let rows = [
            (
                "soak: 24h",
                "soak: 1d",
                9,
                "`1d` is not a duration from 0s to 2160h (such as 30m, 2h30m or 24h)",
            ),
            (
                "soak: 24h",
                "soaks: 24h",
                9,
                "unknown key `soaks` in `campaigns[0].waves[0]`; did you mean `soak`?",
            ),
            ("0 9 * * MON-FRI", "0 9 * *", 13, "is not a cron expression of five fields"),
            (
                "Europe/Berlin",
                "Europe/Bonn",
                3,
                "`Europe/Bonn` is not a time zone (such as UTC or Europe/Berlin)",
            ),
            ("until: 2027", "until: 2025", 4, "`campaigns[0].freezes[0]` ends before it begins"),
            ("maxOpen: 5", "maxOpen: 0", 14, "`campaigns[0].waves[1].maxOpen` must be at least 1"),
            ("name: fleet", "name: the fleet", 2, "`campaigns[0].name` must be a word of at most 63 letters"),
            ("count: 2", "count: 30", 5, "`campaigns[0].stopOn.count` must be at least 1, and at most `of`"),
            ("name: rest", "name: canary", 11, "two waves of `fleet` are named `canary`"),
            (
                "https://judge",
                "http://judge",
                10,
                "`http://judge.example/` must begin with https:// (http:// is allowed only for hosts within the cluster (*.svc) and on this machine)",
            ),
            (
                "https://judge",
                "https://me:s3cret@judge",
                10,
                "the URL must have no user, password or fragment",
            ),
            ("timeout: 30s", "timeout: 10m", 10, "`10m` is not a duration from 1s to 1m (such as 10s)"),
        ];
        for (was, is, line, said) in rows {
            let error = read_campaigns(&GOOD.replacen(was, is, 1)).unwrap_err();
            let (message, place) = (error.message.clone(), error.place.clone());
            assert!(message.contains(said), "{is}: {message}");
            assert_eq!(place.line(), Some(line), "{is}: {message}");
        }
        assert!(read_campaigns("").is_err());
    }
}
