//! What the check says of a change of the inventory: which clusters it affects, level by level, and how.

use capstan_model::ids::ClusterId;
use capstan_model::wording::{few, fitting, list, sentence};
use capstan_plan::inventory::{InventoryOutlook, LevelReach};

use super::field_diff;
use super::markdown::{Page, code, more_items, prose};
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
    format!("{} {}", grouped(u64::try_from(number).unwrap_or(u64::MAX)), fitting(number, one, many))
}

/// `214 of 10,000 clusters change, 12 roll 36 machines, 3 blocked`
pub fn reach(level: &LevelReach) -> String {
    let number = |number: usize| grouped(u64::try_from(number).unwrap_or(u64::MAX));
    if level.all == 0 {
        return "no cluster changes".to_owned();
    }
    let verb = if level.changed == 1 || level.all == 1 { "changes" } else { "change" };
    let mut text = format!("{} of {} {verb}", number(level.changed), count(level.all, "cluster", "clusters"));
    let (clusters, roll) = (number(level.rolling), fitting(level.rolling, "rolls", "roll"));
    let known = grouped(level.machines.known);
    let machines = if level.machines.known == 1 { "machine" } else { "machines" };
    text.push_str(&match (level.rolling, level.machines.known, level.machines.is_more) {
        (0, _, _) => ", no machine is replaced".to_owned(),
        (_, 0, _) => format!(", {clusters} {roll} an unknown number of machines"),
        (_, _, true) => format!(", {clusters} {roll} at least {known} {machines}"),
        (_, _, false) => format!(", {clusters} {roll} {known} {machines}"),
    });
    if level.blocked > 0 {
        text.push_str(&format!(", {} blocked", number(level.blocked)));
    }
    text
}

/// The same for the whole change, of which only a part is planned if it is too large. Where no proposals
/// remain to be made but the pull request itself changes clusters, it does not say *0 of 2 clusters change*.
fn whole(outlook: &InventoryOutlook, changes_here: bool) -> String {
    if changes_here && outlook.whole.changed == 0 && outlook.unplanned == 0 {
        return "no proposal follows".to_owned();
    }
    let least = if outlook.unplanned > 0 { "at least " } else { "" };
    format!("{least}{}", reach(&outlook.whole))
}

/// What the title says; `changes_here`: whether clusters change with the pull request itself.
pub(super) fn title(outlook: &InventoryOutlook, changes_here: bool) -> String {
    format!("the inventory: {}", whole(outlook, changes_here))
}

/// What follows a merge, as a paragraph: a cluster that blocks gets no proposal.
fn proposals(outlook: &InventoryOutlook) -> String {
    let LevelReach { changed, blocked, .. } = outlook.whole;
    let proposed = changed.saturating_sub(blocked);
    let own = "of its own, within the limits of `upgrade.proposals`";
    let who = match (proposed, changed) {
        (0, 0) => String::new(),
        (0, 1) => "After the merge it gets no proposal until the blocking errors are fixed.".to_owned(),
        (0, _) => {
            "After the merge none of these clusters gets a proposal until the blocking errors are fixed."
                .to_owned()
        }
        (1, 1) => format!("After the merge this cluster gets a proposal {own}."),
        (all, changed) if all == changed => {
            format!("After the merge each of these clusters gets a proposal {own}.")
        }
        (some, _) => format!(
            "After the merge {} of these clusters {} a proposal {own}. The others are blocked by errors.",
            grouped(u64::try_from(some).unwrap_or(u64::MAX)),
            fitting(some, "gets", "get"),
        ),
    };
    let later = match (outlook.unplanned, who.is_empty()) {
        (0, _) => "",
        (_, true) => "After the merge Capstan plans the clusters that it did not plan here.",
        (_, false) => " Capstan then plans the clusters that it did not plan here.",
    };
    if who.is_empty() && later.is_empty() { String::new() } else { format!("\n{who}{later}\n") }
}

pub(super) fn section(page: &mut Page, outlook: &InventoryOutlook, changes_here: bool, budget: usize) {
    page.push(&format!("\n### Inventory\n\n{}.\n", sentence(&whole(outlook, changes_here))));
    let rows: Vec<String> = outlook
        .levels
        .iter()
        .map(|((kind, name), level)| {
            format!("- {}: {}\n", code(&format!("{kind} {name}"), 120), reach(level))
        })
        .collect();
    page.section("\n", &rows, budget / 4, |left| more_items(left, "level", "levels"));
    if outlook.unplanned > 0 {
        page.push(&format!(
            "\n{}, and {} not planned (limit reached).\n",
            count(outlook.unplanned, "more cluster may change", "more clusters may change"),
            fitting(outlook.unplanned, "was", "were"),
        ));
    }
    let named =
        |clusters: &[ClusterId]| list(&few(clusters.iter().map(|id| code(id.as_str(), 120)), NAMED, "more"));
    if !outlook.created.is_empty() {
        page.push(&format!("\nCreated: {}.\n", named(&outlook.created)));
    }
    if !outlook.retired.is_empty() {
        page.push(&format!(
            "\n**Deleted**, with {} machines: {}.\n",
            fitting(outlook.retired.len(), "its", "their"),
            named(&outlook.retired)
        ));
    }
    let rows: Vec<String> = outlook
        .errors
        .iter()
        .map(|(cluster, why)| format!("- {}: {}\n", code(cluster.as_str(), 200), prose(why, 600)))
        .collect();
    page.section("\nCannot be planned:\n\n", &rows, budget / 4, |left| {
        more_items(left, "cluster", "clusters")
    });
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
    page.push(&proposals(outlook));
}

#[cfg(test)]
mod tests {
    use super::*;
    use capstan_plan::upgrade::MachineCount;

    fn known(known: u64) -> MachineCount {
        MachineCount { known, is_more: false }
    }

    #[test]
    fn what_a_level_reaches_is_one_sentence() {
        let some = MachineCount { known: 0, is_more: true };
        let more = |known| MachineCount { known, is_more: true };
        for (all, changed, rolling, machines, blocked, said) in [
            (0, 0, 0, known(0), 0, "no cluster changes"),
            (6, 6, 0, known(0), 6, "6 of 6 clusters change, no machine is replaced, 6 blocked"),
            (1, 0, 0, known(0), 0, "0 of 1 cluster changes, no machine is replaced"),
            (12, 0, 0, known(0), 0, "0 of 12 clusters change, no machine is replaced"),
            (1, 1, 1, known(1), 0, "1 of 1 cluster changes, 1 rolls 1 machine"),
            (12, 1, 1, known(3), 1, "1 of 12 clusters changes, 1 rolls 3 machines, 1 blocked"),
            (12, 2, 0, known(0), 0, "2 of 12 clusters change, no machine is replaced"),
            (2, 2, 2, some, 0, "2 of 2 clusters change, 2 roll an unknown number of machines"),
            (2, 2, 1, some, 0, "2 of 2 clusters change, 1 rolls an unknown number of machines"),
            (2, 2, 2, more(1), 0, "2 of 2 clusters change, 2 roll at least 1 machine"),
            (10_000, 214, 12, known(36), 3, "214 of 10,000 clusters change, 12 roll 36 machines, 3 blocked"),
            (
                1_234_567,
                1_000,
                0,
                known(0),
                1,
                "1,000 of 1,234,567 clusters change, no machine is replaced, 1 blocked",
            ),
        ] {
            assert_eq!(reach(&LevelReach { all, changed, rolling, machines, blocked }), said);
        }
    }

    #[test]
    fn only_clusters_that_get_a_proposal_are_counted() {
        const OWN: &str = "of its own, within the limits of `upgrade.proposals`";
        for (changed, blocked, unplanned, said) in [
            (0, 0, 0, String::new()),
            (0, 0, 7, "\nAfter the merge Capstan plans the clusters that it did not plan here.\n".to_owned()),
            (1, 0, 0, format!("\nAfter the merge this cluster gets a proposal {OWN}.\n")),
            (1, 1, 0, "\nAfter the merge it gets no proposal until the blocking errors are fixed.\n".to_owned()),
            (
                3,
                3,
                0,
                "\nAfter the merge none of these clusters gets a proposal until the blocking errors are fixed.\n"
                    .to_owned(),
            ),
            (3, 0, 0, format!("\nAfter the merge each of these clusters gets a proposal {OWN}.\n")),
            (
                3,
                2,
                0,
                format!(
                    "\nAfter the merge 1 of these clusters gets a proposal {OWN}. The others are blocked by errors.\n"
                ),
            ),
            (
                3,
                1,
                0,
                format!(
                    "\nAfter the merge 2 of these clusters get a proposal {OWN}. The others are blocked by errors.\n"
                ),
            ),
            (
                1_000,
                0,
                1,
                format!(
                    "\nAfter the merge each of these clusters gets a proposal {OWN}. Capstan then plans the clusters that it did not plan here.\n"
                ),
            ),
        ] {
            let whole = LevelReach { all: 5_000, changed, blocked, ..LevelReach::default() };
            let outlook = InventoryOutlook { whole, unplanned, ..InventoryOutlook::default() };
            assert_eq!(proposals(&outlook), said);
        }
    }

    #[test]
    fn beyond_the_limits_the_text_says_that_there_may_be_more() {
        for (unplanned, title_said, section_said) in [
            (0, "the inventory: 2 of 9 clusters change, no machine is replaced", ""),
            (
                1,
                "the inventory: at least 2 of 9 clusters change, no machine is replaced",
                "\n1 more cluster may change, and was not planned (limit reached).\n",
            ),
            (
                4_000,
                "the inventory: at least 2 of 9 clusters change, no machine is replaced",
                "\n4,000 more clusters may change, and were not planned (limit reached).\n",
            ),
        ] {
            let whole = LevelReach { all: 9, changed: 2, ..LevelReach::default() };
            let outlook = InventoryOutlook { whole, unplanned, ..InventoryOutlook::default() };
            assert_eq!(title(&outlook, true), title_said);
            let mut page = Page::new(10_000);
            section(&mut page, &outlook, true, 10_000);
            let text = page.finish();
            assert!(text.contains(section_said), "{text}");
            assert_eq!(text.contains("not planned ("), unplanned > 0, "{text}");
        }
    }

    #[test]
    fn what_is_in_the_pull_request_already_is_not_called_unchanged() {
        for (changed, unplanned, changes_here, said) in [
            (0, 0, false, "the inventory: 0 of 2 clusters change, no machine is replaced"),
            (0, 0, true, "the inventory: no proposal follows"),
            (0, 1, true, "the inventory: at least 0 of 2 clusters change, no machine is replaced"),
            (2, 0, true, "the inventory: 2 of 2 clusters change, no machine is replaced"),
        ] {
            let whole = LevelReach { all: 2, changed, ..LevelReach::default() };
            let outlook = InventoryOutlook { whole, unplanned, ..InventoryOutlook::default() };
            assert_eq!(title(&outlook, changes_here), said);
        }
    }
}
