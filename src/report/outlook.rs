//! What the check says of what would be offered after a merge: of changed releases, and of changed settings.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::markdown::{Page, code, code_cell, prose, prose_cell};
use super::state::rest_in_a_word;
use super::tables;
use capstan_model::finding::{Finding, Severity};
use capstan_model::ids::{ClusterId, ReleaseId};
use capstan_model::source::SourceId;
use capstan_model::wording::{count, few, list};
use capstan_plan::forecast::Prospect;
use capstan_plan::upgrade::Upgrade;
use serde::{Deserialize, Serialize};

/// Clusters that are named in a sentence.
const NAMED: usize = 10;

/// What the rules say of the releases in two snapshots.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct JudgedReleases {
    /// Those that differ, ordered.
    pub changed: Vec<ChangedRelease>,
    /// Findings on the base branch; empty where none differs.
    pub before: Vec<Finding>,
    /// Findings on what a merge would give.
    pub after: Vec<Finding>,
}

/// A release that a change touches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedRelease {
    /// The release.
    pub release: ReleaseId,
    /// What becomes of it.
    pub becomes: Becomes,
}

/// What becomes of a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Becomes {
    /// It is new.
    Added,
    /// Its content changes.
    Changed,
    /// It is there no more.
    Removed,
}

/// Which clusters changed releases would be offered to.
#[derive(Debug, Clone, Default)]
pub struct ReleaseOutlook {
    /// The releases.
    pub releases: Vec<ChangedRelease>,
    /// How many clusters there are.
    pub clusters: usize,
    /// What would become of those that were looked at.
    pub prospects: BTreeMap<ClusterId, Prospect>,
    /// Those that are offered a release now that is there no more then.
    pub withdrawn: Vec<ClusterId>,
    /// The upgrades to look at first, the worst in front.
    pub worst: Vec<Arc<Upgrade>>,
    /// Repositories that use these releases: what becomes of their clusters is not known here.
    pub consumers: Vec<String>,
}

/// What changed settings would change.
#[derive(Debug, Clone, Default)]
pub struct SettingsOutlook {
    /// Folders that would be clusters and are none.
    pub found: Vec<ClusterId>,
    /// Clusters that would be none.
    pub lost: Vec<ClusterId>,
    /// Who would apply a cluster, by its name; `None` = other tools.
    pub appliers: Vec<(ClusterId, [Option<String>; 2])>,
    /// What would become of clusters under the old settings and under the new, where that differs.
    pub prospects: Vec<(ClusterId, [Prospect; 2])>,
    /// How many clusters were looked at for that, and how many there are.
    pub looked_at: [usize; 2],
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

/// Whether a cluster's prospect is one of these releases: what is previewed.
pub fn is_offered(releases: &[ChangedRelease], upgrade: &Upgrade) -> bool {
    let release = upgrade.to.as_ref().and_then(SourceId::release);
    let there = |changed: &ChangedRelease| changed.becomes != Becomes::Removed;
    release.is_some_and(|release| releases.iter().any(|one| there(one) && one.release == release))
}

/// What the title says of releases.
pub(super) fn release_title(outlook: &ReleaseOutlook) -> String {
    let offered = outlook.offered().count();
    let more = if outlook.prospects.len() < outlook.clusters { "at least " } else { "" };
    format!(
        "{} that would be offered to {more}{}",
        count(outlook.releases.len(), "release", "releases"),
        count(offered, "cluster", "clusters")
    )
}

/// What the title says of settings.
pub(super) fn settings_title(outlook: &SettingsOutlook) -> Option<String> {
    let parts = [
        (outlook.found.len(), "cluster more", "clusters more"),
        (outlook.lost.len(), "cluster less", "clusters less"),
        (outlook.prospects.len(), "cluster is offered something else", "clusters are offered something else"),
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
                Becomes::Changed => "has another content",
                Becomes::Removed => "is there no more",
            };
            format!("- {} {becomes}\n", code(changed.release.as_str(), 200))
        })
        .collect();
    page.section("\n### Releases\n\n", &rows, budget / 6, |left| format!("- … and {left} more\n"));
    page.push(&format!("\n{}\n", looked_at(outlook.prospects.len(), outlook.clusters)));
    let rows: Vec<String> =
        outlook.offered().map(|(cluster, prospect)| offered_row(cluster, prospect)).collect();
    let head = format!("\nWould be offered to {}:\n\n", count(rows.len(), "cluster", "clusters"));
    page.section(&head, &rows, budget / 4, |left| format!("- … and {left} more clusters\n"));
    if rows.is_empty() {
        page.push("\nNone of them would be offered to any.\n");
    }
    page.push(&not_offered(outlook));
    if !outlook.withdrawn.is_empty() {
        page.push(&format!("\nWould be offered no more to {}.\n", named(&outlook.withdrawn)));
    }
    if !outlook.consumers.is_empty() {
        let names = few(outlook.consumers.iter().map(|name| code(name, 140)), NAMED, "more");
        page.push(&format!(
            "\nOther repositories use these releases ({}): what becomes of their clusters is not looked at here.\n",
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

fn looked_at(looked_at: usize, clusters: usize) -> String {
    if looked_at < clusters {
        return format!(
            "{looked_at} of {} were looked at, those of the releases' own provider first, then in the order of `upgrade.proposals.order`.",
            count(clusters, "cluster", "clusters")
        );
    }
    format!(
        "{} looked at.",
        if clusters == 1 { "1 cluster was".to_owned() } else { format!("{clusters} clusters were") }
    )
}

fn offered_row(cluster: &ClusterId, prospect: &Prospect) -> String {
    let cluster = code(cluster.as_str(), 200);
    format!("- {cluster}: {}\n", prospect_in_words(prospect))
}

fn prospect_in_words(prospect: &Prospect) -> String {
    match prospect {
        Prospect::Offered(to) => code(&to.to_string(), 200),
        Prospect::Blocked(to) => format!("{}, which **blocks**", code(&to.to_string(), 200)),
        Prospect::Nothing(rest) => format!("nothing ({})", rest_in_a_word(*rest)),
        Prospect::Unplannable(why) => format!("cannot be planned ({})", prose_cell(why, 300)),
    }
}

/// Why the others are not offered them, counted.
fn not_offered(outlook: &ReleaseOutlook) -> String {
    let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
    let mut unplannable = Vec::new();
    let mut others = 0_usize;
    for prospect in outlook.prospects.values() {
        match prospect {
            Prospect::Nothing(rest) => *counts.entry(rest_in_a_word(*rest)).or_default() += 1,
            Prospect::Unplannable(why) => unplannable.push(why),
            Prospect::Offered(_) | Prospect::Blocked(_) => others += 1,
        }
    }
    others = others.saturating_sub(outlook.offered().count());
    let mut parts: Vec<String> = counts.iter().map(|(word, number)| format!("{number} {word}")).collect();
    parts.extend((others > 0).then(|| format!("{others} offered something else")));
    parts.extend((!unplannable.is_empty()).then(|| format!("{} that cannot be planned", unplannable.len())));
    let mut text = match parts.as_slice() {
        [] => String::new(),
        parts => format!("\nThe others: {}.\n", list(parts)),
    };
    if let Some(first) = unplannable.first() {
        text.push_str(&format!("\nThe first that cannot be planned: {}\n", prose(first, 600)));
    }
    text
}

/// An upgrade in short: what blocks it, its errors, conflicts and machines.
pub(super) fn one_upgrade(page: &mut Page, upgrade: &Upgrade, share: usize) {
    let from = upgrade
        .from
        .as_ref()
        .map_or_else(String::new, |from| format!(" from {}", code(&from.to_string(), 200)));
    let to = upgrade.to.as_ref().map_or_else(String::new, |to| format!(" to {}", code(&to.to_string(), 200)));
    page.push(&format!("\n**{}**{from}{to}\n", code(upgrade.target.path(), 200)));
    let blocked: Vec<String> = upgrade.blocked.iter().map(|why| format!("- {}\n", prose(why, 600))).collect();
    page.section("\nIt blocks:\n\n", &blocked, share / 3, |left| format!("- … and {left} more\n"));
    let errors: Vec<Finding> =
        upgrade.findings.iter().filter(|one| one.severity() == Severity::Error).cloned().collect();
    page.section("\n", &tables::finding_rows(&errors), share / 3, |left| format!("- … and {left} more\n"));
    let conflicts = tables::conflict_rows(upgrade);
    let head = format!("\n{}", tables::conflicts_head(&upgrade.brought_by()));
    page.section(&head, &conflicts, share / 3, |left| format!("\n… and {left} more conflicts.\n"));
    let rollouts = tables::rollout_rows(&upgrade.rollouts);
    page.section(&format!("\n{}", tables::ROLLOUTS_HEAD), &rollouts, share / 3, |left| {
        format!("\n… and {left} more rollouts.\n")
    });
    if blocked.is_empty() && errors.is_empty() && conflicts.is_empty() && rollouts.is_empty() {
        page.push(&format!(
            "\nNo error, no conflict, no machine is replaced; {}.\n",
            count(upgrade.changes.len(), "change", "changes")
        ));
    }
}

/// The section on settings.
pub(super) fn settings(page: &mut Page, outlook: &SettingsOutlook, budget: usize) {
    page.push("\n### Settings\n\nWhat would be otherwise under the new ones:\n");
    let mut nothing = true;
    for (clusters, what) in [
        (&outlook.found, "Clusters that would be found, and are not now"),
        (&outlook.lost, "Clusters that would be none any more: their proposals are closed"),
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
    page.section(head, &rows, budget / 3, |left| format!("\n… and {left} more clusters.\n"));
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
    page.section(head, &rows, budget / 3, |left| format!("\n… and {left} more clusters.\n"));
    if nothing {
        page.push("\nThe same clusters, applied by the same, and offered the same.\n");
    }
    let [looked_at, all] = outlook.looked_at;
    if looked_at < all {
        page.push(&format!("\nWhat is offered was compared for {looked_at} of {all} clusters.\n"));
    }
}

fn named(clusters: &[ClusterId]) -> String {
    list(&few(clusters.iter().map(|cluster| code(cluster.as_str(), 200)), NAMED, "more"))
}
