//! What the check says of the offers after a merge: of changed releases, and of changed settings.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::markdown::{Page, code, code_cell, more_below, more_items, prose, prose_cell};
use super::state::ProposalState;
use super::step::step_in_words;
use super::tables;
use capstan_model::finding::{Finding, Severity};
use capstan_model::ids::{ClusterId, ReleaseId};
use capstan_model::source::SourceId;
use capstan_model::wording::{count, few, fitting, list};
use capstan_plan::forecast::Prospect;
use capstan_plan::upgrade::Upgrade;
use serde::{Deserialize, Serialize};

/// Clusters that are named in a sentence.
const NAMED: usize = 10;

/// What the rules find in the releases of two snapshots.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct JudgedReleases {
    /// Those that differ, ordered.
    pub changed: Vec<ChangedRelease>,
    /// Findings on the base branch; empty where none differs.
    pub before: Vec<Finding>,
    /// Findings on the merge result.
    pub after: Vec<Finding>,
}

/// A release that a change touches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedRelease {
    pub release: ReleaseId,
    /// How it changes.
    pub becomes: Becomes,
}

/// How a release changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Becomes {
    /// It is new.
    Added,
    /// Its content changes.
    Changed,
    Removed,
}

/// Which clusters the changed releases would be offered to.
#[derive(Debug, Clone, Default)]
pub struct ReleaseOutlook {
    pub releases: Vec<ChangedRelease>,
    /// How many clusters there are.
    pub clusters: usize,
    /// The prospects of the examined clusters.
    pub prospects: BTreeMap<ClusterId, Prospect>,
    /// Clusters that are offered a release now that the change removes.
    pub withdrawn: Vec<ClusterId>,
    /// The upgrades to look at first, the worst first.
    pub worst: Vec<Arc<Upgrade>>,
    /// Repositories that use these releases: their clusters are not examined here.
    pub consumers: Vec<String>,
}

/// What changed settings would change.
#[derive(Debug, Clone, Default)]
pub struct SettingsOutlook {
    /// Folders that the change makes clusters.
    pub found: Vec<ClusterId>,
    /// Folders that are clusters no longer.
    pub lost: Vec<ClusterId>,
    /// The management cluster that applies a cluster, by name, before and after; `None` = other tools.
    pub appliers: Vec<(ClusterId, [Option<String>; 2])>,
    /// The prospects of clusters under the old settings and under the new, if they differ.
    pub prospects: Vec<(ClusterId, [Prospect; 2])>,
    /// How many clusters were examined, and how many there are.
    pub examined: [usize; 2],
}

impl ReleaseOutlook {
    fn offered(&self) -> impl Iterator<Item = (&ClusterId, &Prospect)> {
        let concerned = |prospect: &Prospect| {
            let release = prospect.source().and_then(SourceId::release);
            release.is_some_and(|release| {
                let is_it = |changed: &ChangedRelease| changed.release == release;
                self.releases.iter().any(|changed| changed.becomes != Becomes::Removed && is_it(changed))
            })
        };
        self.prospects.iter().filter(move |(_, prospect)| concerned(prospect))
    }
}

/// Whether the upgrade is to one of these releases: those are previewed.
pub fn is_offered(releases: &[ChangedRelease], upgrade: &Upgrade) -> bool {
    let release = upgrade.to.as_ref().and_then(SourceId::release);
    let there = |changed: &ChangedRelease| changed.becomes != Becomes::Removed;
    release.is_some_and(|release| releases.iter().any(|one| there(one) && one.release == release))
}

/// What the title says of releases.
pub(super) fn release_title(outlook: &ReleaseOutlook) -> String {
    let offered = outlook.offered().count();
    let gone = outlook.releases.iter().filter(|one| one.becomes == Becomes::Removed).count();
    let there = outlook.releases.len() - gone;
    let is_part = outlook.prospects.len() < outlook.clusters;
    let would = match (outlook.prospects.len(), offered, is_part) {
        (0, _, true) => format!("{}, and no cluster was checked", count(there, "release", "releases")),
        (seen, 0, true) => format!(
            "{} that would be offered to no cluster of the {seen} that {} checked",
            count(there, "release", "releases"),
            fitting(seen, "was", "were")
        ),
        (_, 0, false) => {
            format!("{} that would be offered to no cluster", count(there, "release", "releases"))
        }
        (_, some, is_part) => format!(
            "{} that would be offered to {}{}",
            count(there, "release", "releases"),
            if is_part { "at least " } else { "" },
            count(some, "cluster", "clusters")
        ),
    };
    let goes = format!("{} removed", count(gone, "release", "releases"));
    match (there, gone) {
        (0, _) => goes,
        (_, 0) => would,
        _ => format!("{would}, {goes}"),
    }
}

/// What the title says of settings.
pub(super) fn settings_title(outlook: &SettingsOutlook) -> Option<String> {
    let parts = [
        (outlook.found.len(), "cluster more", "clusters more"),
        (outlook.lost.len(), "cluster less", "clusters less"),
        (
            outlook.prospects.len(),
            "cluster is offered a different upgrade",
            "clusters are offered different upgrades",
        ),
    ];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(number, _, _)| *number > 0)
        .map(|(number, one, many)| count(*number, one, many))
        .collect();
    (!parts.is_empty()).then(|| format!("under the new settings {}", list(&parts)))
}

/// The section on releases.
pub(super) fn releases(page: &mut Page, outlook: &ReleaseOutlook, budget: usize) {
    let rows: Vec<String> = outlook
        .releases
        .iter()
        .map(|changed| {
            let becomes = match changed.becomes {
                Becomes::Added => "is new",
                Becomes::Changed => "has different content",
                Becomes::Removed => "is removed",
            };
            format!("- {} {becomes}\n", code(changed.release.as_str(), 200))
        })
        .collect();
    page.section("\n### Releases\n\n", &rows, budget / 6, |left| more_items(left, "release", "releases"));
    page.push(&format!("\n{}\n", checked_clusters(outlook.prospects.len(), outlook.clusters)));
    let rows: Vec<String> =
        outlook.offered().map(|(cluster, prospect)| offered_row(cluster, prospect)).collect();
    let head = format!("\nWould be offered to {}:\n\n", count(rows.len(), "cluster", "clusters"));
    page.section(&head, &rows, budget / 4, |left| more_items(left, "cluster", "clusters"));
    if rows.is_empty() && !outlook.prospects.is_empty() {
        page.push(match outlook.releases.len() {
            1 => "\nIt would be offered to none of them.\n",
            _ => "\nNone of these releases would be offered to any of them.\n",
        });
    }
    page.push(&not_offered(outlook));
    if !outlook.withdrawn.is_empty() {
        page.push(&format!("\nNo longer offered to {}.\n", named(&outlook.withdrawn)));
    }
    if !outlook.consumers.is_empty() {
        let names = few(outlook.consumers.iter().map(|name| code(name, 140)), NAMED, "more");
        page.push(&format!(
            "\nOther repositories use these releases ({}). This check does not look at their clusters.\n",
            list(&names)
        ));
    }
    for (at, upgrade) in outlook.worst.iter().enumerate() {
        if at == 0 {
            let head = match outlook.worst.len() {
                1 => "\n#### The upgrade\n".to_owned(),
                several => format!("\n#### The {several} upgrades to look at first\n"),
            };
            page.push(&head);
        }
        one_upgrade(page, upgrade, budget / 6);
    }
}

fn checked_clusters(examined: usize, clusters: usize) -> String {
    if examined == 0 {
        return "No cluster was checked.".to_owned();
    }
    if examined < clusters {
        return format!(
            "{examined} of {} {} checked: clusters of the releases' own provider first, then in the order of `upgrade.proposals.order`.",
            count(clusters, "cluster", "clusters"),
            fitting(examined, "was", "were"),
        );
    }
    format!("{} checked.", count(clusters, "cluster was", "clusters were"))
}

fn offered_row(cluster: &ClusterId, prospect: &Prospect) -> String {
    let cluster = code(cluster.as_str(), 200);
    format!("- {cluster}: {}\n", prospect_in_words(prospect))
}

fn prospect_in_words(prospect: &Prospect) -> String {
    match prospect {
        Prospect::Offered(to) => code_cell(&to.to_string(), 200),
        Prospect::Blocked(to) => format!("{}, which **blocks**", code_cell(&to.to_string(), 200)),
        Prospect::Nothing(rest) => format!("nothing ({})", ProposalState::from(*rest).as_str()),
        Prospect::Unplannable(why) => format!("cannot be planned ({})", prose_cell(why, 300)),
    }
}

/// Why these releases are not offered to the other clusters, with counts.
fn not_offered(outlook: &ReleaseOutlook) -> String {
    let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
    let mut unplannable = Vec::new();
    let mut others = 0_usize;
    for prospect in outlook.prospects.values() {
        match prospect {
            Prospect::Nothing(rest) => *counts.entry(ProposalState::from(*rest).as_str()).or_default() += 1,
            Prospect::Unplannable(why) => unplannable.push(why),
            Prospect::Offered(_) | Prospect::Blocked(_) => others += 1,
        }
    }
    let offered = outlook.offered().count();
    others = others.saturating_sub(offered);
    let mut parts: Vec<String> = counts.iter().map(|(word, number)| format!("{number} {word}")).collect();
    parts.extend((others > 0).then(|| format!("{others} offered a different upgrade")));
    parts.extend((!unplannable.is_empty()).then(|| format!("{} that cannot be planned", unplannable.len())));
    let mut text = match parts.as_slice() {
        [] => String::new(),
        parts if offered > 0 => format!("\nThe others: {}.\n", list(parts)),
        parts => format!("\nThe clusters: {}.\n", list(parts)),
    };
    if let Some(first) = unplannable.first() {
        text.push_str(&format!("\nThe first that cannot be planned: {}\n", prose(first, 600)));
    }
    text
}

/// A summary of an upgrade: what blocks it, its errors, conflicts and machines.
pub(super) fn one_upgrade(page: &mut Page, upgrade: &Upgrade, share: usize) {
    let step = step_in_words(upgrade, |name| code(name, 200));
    page.push(&format!("\n**{}**{step}\n", code(upgrade.target.path(), 200)));
    let others = upgrade.reasons_beside_findings();
    let others: Vec<String> = others.map(|why| format!("- {}\n", prose(why, 600))).collect();
    page.section("\nIt blocks:\n\n", &others, share / 3, |left| more_items(left, "reason", "reasons"));
    if others.is_empty() && !upgrade.blocked.is_empty() {
        page.push("\nIt is blocked by these errors:\n");
    }
    let errors: Vec<Finding> =
        upgrade.findings.iter().filter(|one| one.severity() == Severity::Error).cloned().collect();
    page.section("\n", &tables::finding_rows(&errors), share / 3, |left| more_items(left, "error", "errors"));
    let conflicts = tables::conflict_rows(upgrade);
    let head = format!("\n{}", tables::conflicts_head(&upgrade.brought_by()));
    page.section(&head, &conflicts, share / 3, |left| more_below(left, "conflict", "conflicts"));
    let rollouts = tables::rollout_rows(&upgrade.rollouts);
    page.section(&format!("\n{}", tables::rollouts_head(&upgrade.rollouts)), &rollouts, share / 3, |left| {
        more_below(left, "rollout", "rollouts")
    });
    if upgrade.blocked.is_empty() && errors.is_empty() && conflicts.is_empty() && rollouts.is_empty() {
        page.push(&format!(
            "\nNo errors, no conflicts, no machines are replaced; {}.\n",
            tables::changes(upgrade)
        ));
    }
}

/// The section on settings.
pub(super) fn settings(page: &mut Page, outlook: &SettingsOutlook, budget: usize) {
    page.push("\n### Settings\n\nWhat changes under the new settings:\n");
    let mut nothing = true;
    for (clusters, what) in [
        (&outlook.found, "Folders that become clusters"),
        (&outlook.lost, "Clusters that are no longer clusters (Capstan closes their proposals)"),
    ] {
        if !clusters.is_empty() {
            nothing = false;
            page.push(&format!("\n{what}: {}.\n", named(clusters)));
        }
    }
    let by = |name: &Option<String>| {
        name.as_ref().map_or_else(|| "other tools".to_owned(), |name| code_cell(name, 100))
    };
    let rows: Vec<String> = outlook
        .appliers
        .iter()
        .map(|(cluster, [old, new])| {
            format!("| {} | {} | {} |\n", code_cell(cluster.as_str(), 200), by(old), by(new))
        })
        .collect();
    nothing &= rows.is_empty();
    let head = "\n| Cluster | Applied by | would be applied by |\n|---|---|---|\n";
    page.section(head, &rows, budget / 3, |left| more_below(left, "cluster", "clusters"));
    let rows: Vec<String> = outlook
        .prospects
        .iter()
        .map(|(cluster, [old, new])| {
            let (old, new) = (prospect_in_words(old), prospect_in_words(new));
            format!("| {} | {old} | {new} |\n", code_cell(cluster.as_str(), 200))
        })
        .collect();
    nothing &= rows.is_empty();
    let head = "\n| Cluster | Is offered | would be offered |\n|---|---|---|\n";
    page.section(head, &rows, budget / 3, |left| more_below(left, "cluster", "clusters"));
    if nothing {
        page.push("\nNothing: the clusters, who applies them and what they are offered stay the same.\n");
    }
    let [examined, all] = outlook.examined;
    if examined < all {
        let compared = if examined == 0 { "none".to_owned() } else { examined.to_string() };
        page.push(&format!(
            "\nCapstan compared the offers of {compared} of {}.\n",
            count(all, "cluster", "clusters")
        ));
    }
}

fn named(clusters: &[ClusterId]) -> String {
    list(&few(clusters.iter().map(|cluster| code(cluster.as_str(), 200)), NAMED, "more"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use capstan_model::rest::Rest;
    use capstan_model::tree::RepoPath;

    fn outlook(becomes: &[Becomes], [clusters, examined, offered]: [usize; 3]) -> ReleaseOutlook {
        let releases = becomes.iter().enumerate().map(|(at, becomes)| ChangedRelease {
            release: ReleaseId::from_path(&format!("aws/v{at}")),
            becomes: *becomes,
        });
        let prospect = |at: usize| {
            let id = ClusterId::new(RepoPath::parse(&format!("c/n{at}")).unwrap());
            let to = || SourceId::parse("aws/v0").unwrap();
            (id, if at < offered { Prospect::Offered(to()) } else { Prospect::Nothing(Rest::Current) })
        };
        let prospects = (0..examined).map(prospect).collect();
        ReleaseOutlook { releases: releases.collect(), clusters, prospects, ..ReleaseOutlook::default() }
    }

    #[test]
    fn the_title_says_which_clusters_get_the_offer() {
        use Becomes::{Added, Changed, Removed};
        for (becomes, numbers, said) in [
            (&[Added][..], [0, 0, 0], "1 release that would be offered to no cluster"),
            (&[Added], [3, 3, 0], "1 release that would be offered to no cluster"),
            (&[Added], [3, 3, 1], "1 release that would be offered to 1 cluster"),
            (&[Added, Changed], [3, 3, 3], "2 releases that would be offered to 3 clusters"),
            (
                &[Added],
                [300, 200, 0],
                "1 release that would be offered to no cluster of the 200 that were checked",
            ),
            (
                &[Added],
                [300, 1, 0],
                "1 release that would be offered to no cluster of the 1 that was checked",
            ),
            (&[Added], [300, 200, 1], "1 release that would be offered to at least 1 cluster"),
            (&[Added], [300, 200, 200], "1 release that would be offered to at least 200 clusters"),
            (&[Added], [300, 0, 0], "1 release, and no cluster was checked"),
            (&[Removed], [3, 3, 0], "1 release removed"),
            (
                &[Added, Removed],
                [3, 3, 2],
                "1 release that would be offered to 2 clusters, 1 release removed",
            ),
        ] {
            assert_eq!(release_title(&outlook(becomes, numbers)), said);
        }
    }

    #[test]
    fn the_section_counts_the_checked_clusters() {
        for (numbers, said, not_said) in [
            ([0, 0, 0], &["No cluster was checked."][..], "offered to"),
            (
                [1, 1, 0],
                &[
                    "1 cluster was checked.",
                    "It would be offered to none of them.",
                    "The clusters: 1 current.",
                ],
                "others",
            ),
            ([1, 1, 1], &["1 cluster was checked.", "Would be offered to 1 cluster:"], "others"),
            (
                [3, 3, 1],
                &["3 clusters were checked.", "Would be offered to 1 cluster:", "The others: 2 current."],
                "none of them",
            ),
            ([300, 1, 0], &["1 of 300 clusters was checked:"], "others"),
            ([300, 2, 2], &["2 of 300 clusters were checked:", "Would be offered to 2 clusters:"], "others"),
        ] {
            let mut page = Page::new(20_000);
            releases(&mut page, &outlook(&[Becomes::Added], numbers), 20_000);
            let text = page.finish();
            for said in said {
                assert!(text.contains(said), "{said}: {text}");
            }
            assert!(!text.contains(not_said), "{not_said}: {text}");
        }
        let mut page = Page::new(20_000);
        releases(&mut page, &outlook(&[Becomes::Added], [61, 61, 61]), 4_000);
        let text = page.finish();
        let shown = text.matches("- `c/n").count();
        assert!(text.contains(&format!("- … and {} more clusters\n", 61 - shown)), "{text}");
    }
}
