//! What the reader cannot see of `campaigns`: names that stand twice, limits under which nothing would ever begin.

use capstan_campaign::settings::CampaignSettings;

use super::key_path::KeyPath;

/// The most waves that one campaign has.
const MOST_WAVES: usize = 100;
/// So long is the name of one at most.
const LONGEST_NAME: usize = 63;

/// What serde cannot see of `campaigns`.
pub(super) fn check(campaigns: &[CampaignSettings]) -> Result<(), (KeyPath, String)> {
    for (at, campaign) in campaigns.iter().enumerate() {
        let place = |key: &str| KeyPath::root().key("campaigns").index(at).key(key);
        let name = &campaign.name;
        // Commands and statuses of commits name it.
        let is_in_word = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if name.is_empty() || name.len() > LONGEST_NAME || !name.bytes().all(is_in_word) {
            let message = format!(
                "`campaigns[{at}].name` must be a word of at most {LONGEST_NAME} letters, digits, `-`, `_` and `.`"
            );
            return Err((place("name"), message));
        }
        if campaigns.iter().take(at).any(|earlier| earlier.name == *name) {
            return Err((place("name"), format!("two campaigns are named `{name}`")));
        }
        if campaign.waves.is_empty() || campaign.waves.len() > MOST_WAVES {
            let message = format!("`campaigns[{at}].waves` must hold 1 to {MOST_WAVES} waves");
            return Err((place("waves"), message));
        }
        if campaign.stop_on.count == 0 || campaign.stop_on.of.is_some_and(|of| of < campaign.stop_on.count) {
            let message = format!(
                "`campaigns[{at}].stopOn.count` must be at least 1, and at most `of` ({} can never happen)",
                campaign.stop_on.count
            );
            return Err((place("stopOn").key("count"), message));
        }
        for (index, freeze) in campaign.freezes.iter().enumerate() {
            if freeze.until <= freeze.from {
                let message = format!("`campaigns[{at}].freezes[{index}]` ends before it begins");
                return Err((place("freezes").index(index).key("until"), message));
            }
        }
        for (index, wave) in campaign.waves.iter().enumerate() {
            let place = |key: &str| place("waves").index(index).key(key);
            if wave.name.trim().is_empty() {
                return Err((
                    place("name"),
                    format!("`campaigns[{at}].waves[{index}].name` must not be empty"),
                ));
            }
            if campaign.waves.iter().take(index).any(|earlier| earlier.name == wave.name) {
                return Err((place("name"), format!("two waves of `{name}` are named `{}`", wave.name)));
            }
            for (key, limit) in [
                ("maxOpen", wave.max_open),
                ("maxRolling.clusters", wave.max_rolling.clusters),
                ("maxRolling.machines", wave.max_rolling.machines),
            ] {
                if limit == Some(0) {
                    let message = format!(
                        "`campaigns[{at}].waves[{index}].{key}` must be at least 1: otherwise nothing starts"
                    );
                    return Err((place(key.split('.').next().unwrap_or(key)), message));
                }
            }
        }
    }
    Ok(())
}
