//! What the check says of a change of the inventory: whom it reaches, level by level, and what it does there.

use capstan_model::ids::ClusterId;
use capstan_model::wording::{few, list};
use capstan_plan::inventory::{InventoryOutlook, LevelReach};

use super::field_diff;
use super::markdown::{Page, code, prose};
use super::outlook::one_upgrade;

/// Clusters that are named in a sentence.
const NAMED: usize = 10;

/// `10,000`
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn count(number: usize, one: &str, many: &str) -> String {
    let noun = if number == 1 { one } else { many };
    format!("{} {noun}", grouped(u64::try_from(number).unwrap_or(u64::MAX)))
}

/// `214 of 10,000 clusters change, 12 roll 36 machines, 3 blocked`
pub fn reach(level: &LevelReach) -> String {
    let number = |number: usize| grouped(u64::try_from(number).unwrap_or(u64::MAX));
    let verb = if level.changed == 1 { "changes" } else { "change" };
    let mut text = format!("{} of {} {verb}", number(level.changed), count(level.all, "cluster", "clusters"));
    let machines = if level.machines == 1 { "machine" } else { "machines" };
    match level.rolling {
        0 => text.push_str(", no machine is replaced"),
        _ if level.machines == 0 => {
            let (clusters, roll) = (number(level.rolling), if level.rolling == 1 { "rolls" } else { "roll" });
            text.push_str(&format!(", {clusters} {roll} machines, and Git does not say how many"));
        }
        1 => text.push_str(&format!(", 1 rolls {} {machines}", grouped(level.machines))),
        rolling => {
            text.push_str(&format!(", {} roll {} {machines}", number(rolling), grouped(level.machines)))
        }
    }
    if level.blocked > 0 {
        text.push_str(&format!(", {} blocked", number(level.blocked)));
    }
    text
}

/// What the title says.
pub(super) fn title(outlook: &InventoryOutlook) -> String {
    format!("the inventory: {}", reach(&outlook.whole))
}

/// The section.
pub(super) fn section(page: &mut Page, outlook: &InventoryOutlook, budget: usize) {
    page.push(&format!("\n### Inventory\n\n{}.\n", reach(&outlook.whole)));
    let rows: Vec<String> = outlook
        .levels
        .iter()
        .map(|((kind, name), level)| {
            format!("- {}: {}\n", code(&format!("{kind} {name}"), 120), reach(level))
        })
        .collect();
    page.section("\n", &rows, budget / 4, |left| format!("- … and {left} more levels\n"));
    if outlook.unplanned > 0 {
        page.push(&format!(
            "\nOf {} more something else is said: they were not planned, because there are so many.\n",
            count(outlook.unplanned, "cluster", "clusters")
        ));
    }
    let named =
        |clusters: &[ClusterId]| list(&few(clusters.iter().map(|id| code(id.as_str(), 120)), NAMED, "more"));
    if !outlook.created.is_empty() {
        page.push(&format!("\nCome: {}.\n", named(&outlook.created)));
    }
    if !outlook.retired.is_empty() {
        page.push(&format!("\n**Go**, with their machines: {}.\n", named(&outlook.retired)));
    }
    let rows: Vec<String> = outlook
        .errors
        .iter()
        .map(|(cluster, why)| format!("- {}: {}\n", code(cluster.as_str(), 200), prose(why, 600)))
        .collect();
    page.section("\nCannot be planned:\n\n", &rows, budget / 4, |left| format!("- … and {left} more\n"));
    for (at, upgrade) in outlook.worst.iter().enumerate() {
        if at == 0 {
            page.push(match outlook.worst.len() {
                1 => "\n#### The cluster to look at\n",
                _ => "\n#### The clusters to look at first\n",
            });
        }
        one_upgrade(page, upgrade, budget / 8);
        page.push(&field_diff::changes(upgrade, budget / 8));
    }
    page.push("\nMerged, each of these clusters gets a proposal of its own, within the limits of `upgrade.proposals`.\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_level_reaches_is_one_sentence() {
        let level = |all, changed, rolling, machines, blocked| {
            reach(&LevelReach { all, changed, rolling, machines, blocked })
        };
        assert_eq!(
            level(10_000, 214, 12, 36, 3),
            "214 of 10,000 clusters change, 12 roll 36 machines, 3 blocked"
        );
        assert_eq!(level(1, 1, 1, 1, 0), "1 of 1 cluster changes, 1 rolls 1 machine");
        assert_eq!(
            level(2, 2, 2, 0, 0),
            "2 of 2 clusters change, 2 roll machines, and Git does not say how many"
        );
        assert_eq!(level(12, 2, 0, 0, 0), "2 of 12 clusters change, no machine is replaced");
        assert_eq!(
            level(1_234_567, 1_000, 0, 0, 1),
            "1,000 of 1,234,567 clusters change, no machine is replaced, 1 blocked"
        );
    }
}
