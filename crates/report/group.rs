//! Title, body and commit message of a pull request that several clusters share.

use std::collections::BTreeSet;

use capstan_model::source::SourceId;
use capstan_model::target::{GroupName, Target};
use capstan_model::wording::{count, list};
use capstan_plan::proposal::{
    Decisions, Drafted, PlanDigest, ReleasesOrigin, SidebarStanding, SourceState, TRAILER_PLAN,
    TRAILER_RELEASES, TRAILER_SOURCE, TitleDigest,
};
use capstan_plan::settings::{TitleField, TitleTemplate};
use capstan_plan::upgrade::{MachineCount, Retarget};

use super::block::{BlockPart, PreviousOffer, room_for, room_for_parts, room_for_previous, room_for_sidebar};
use super::body::{Proposal, offered_before, origin, refused, sections, shell_word, summary, text_digest};
use super::markdown::{
    MAX_BODY, Page, code, code_cell, more_below, more_items, one_line, plain, prose_cell, text,
};
use super::merging::approvals_above;
use super::title::{UNKNOWN, cut};
use super::{Block, BlockKey, headline, tables};

/// The content of a shared pull request's text.
#[derive(Debug, Clone, Copy)]
pub struct GroupProposal<'a> {
    /// The group, as a target.
    pub target: &'a Target,
    /// Its name.
    pub group: &'a GroupName,
    /// The proposal of each cluster, the worst first.
    pub parts: &'a [Proposal<'a>],
    /// Clusters that are left out, and why: a sentence.
    pub left_out: &'a [(Target, String)],
    /// What is offered.
    pub source: &'a SourceState,
    /// What was written, for all of them together.
    pub plan: &'a PlanDigest,
    /// The repository that the release comes from, if it is another one.
    pub origin: Option<&'a ReleasesOrigin>,
    /// The prefix of slash-commands: `/capstan`.
    pub command_prefix: &'a str,
    /// Decisions about the pull request as a whole.
    pub decisions: &'a Decisions,
    /// The record of each cluster.
    pub noted: &'a [BlockPart],
    /// Whether Capstan made it a draft.
    pub drafted: Drafted,
    /// State of the sidebar that the settings ask for.
    pub sidebar: &'a SidebarStanding,
    /// The previous pull request of its branch.
    pub after: Option<u64>,
    /// What it offered before, the oldest first.
    pub previous: &'a [PreviousOffer],
}

/// Left out clusters that are listed one by one.
const MOST_LEFT_OUT: usize = 40;
/// Bytes that a cluster's part needs; with less room only its name is shown.
const LEAST_OF_A_PART: usize = 1_200;
/// Bytes of the sentence that names clusters without a part, at most.
const UNFOLDED_ROOM: usize = 600;
/// Shown where the clusters differ.
const SEVERAL: &str = "several";

/// The whole body, within GitHub's limit: visible text and folded block. `pull_request` is its number, if it
/// has one yet; `title` is the title that Capstan wrote last.
pub fn group_body(
    group: &GroupProposal<'_>,
    repository: u64,
    pull_request: Option<u64>,
    title: &TitleDigest,
    key: &BlockKey,
) -> String {
    let visible = visible_group_text(group);
    let block = Block {
        repository,
        pull_request,
        target: group.target.clone(),
        source: group.source.clone(),
        plan: group.plan.clone(),
        text: text_digest(&visible),
        retarget: Retarget::default(),
        decisions: group.decisions.clone(),
        drafted: group.drafted,
        title: Some(title.clone()),
        sidebar: group.sidebar.done.clone(),
        closed_by: None,
        parts: group.noted.to_vec(),
        after: group.after,
        previous: group.previous.to_vec(),
    };
    approvals_above(group.decisions) + &visible + &origin(group.origin) + &block.render(key)
}

/// What people see. The block needs room of its own, so this is kept well below the limit.
pub fn visible_group_text(group: &GroupProposal<'_>) -> String {
    let block = 4_096
        + 6 * group.target.path().len().min(4_096)
        + room_for(group.decisions)
        + room_for_parts(group.noted)
        + room_for_sidebar(&group.sidebar.done)
        + room_for_previous(group.previous)
        + approvals_above(group.decisions).len();
    let mut page = Page::new(MAX_BODY.saturating_sub(block));
    let next = offered_before(group.previous) + &next_steps(group);
    if let Some(line) = headline::first_line(group.parts.iter().map(|part| part.upgrade)) {
        page.push(&format!("{line}\n\n"));
    }
    page.push(&format!(
        "Upgrades {} of {} to {}.\n",
        count(group.parts.len(), "cluster", "clusters"),
        code(group.group.as_str(), 200),
        code(&group.source.source().to_string(), 200),
    ));
    page.push(&refused(group.sidebar));
    let rows: Vec<String> = group.parts.iter().map(row).collect();
    let room = page.free() / 4;
    page.section(
        "\n| Cluster | From | Changes | Conflicts | Findings | Will be replaced |\n|---|---|---|---|---|---|\n",
        &rows,
        room,
        |left| more_below(left, "cluster", "clusters"),
    );
    let left_out: Vec<String> = group.left_out.iter().take(MOST_LEFT_OUT).map(left_out_row).collect();
    let more = group.left_out.len() - left_out.len();
    let budget = page.free() / 4;
    page.section(
        "\n### Not in this pull request\n\nThese clusters of the group are not in this pull request. They do not hold up the others.\n\n",
        &left_out,
        budget,
        |left| more_items(left + more, "cluster", "clusters"),
    );
    let end = next.len() + UNFOLDED_ROOM;
    let mut unfolded = Vec::new();
    for (at, part) in group.parts.iter().enumerate() {
        let share = page.free().saturating_sub(end) / (group.parts.len() - at);
        if share < LEAST_OF_A_PART {
            unfolded.push(part.upgrade.target.path());
            continue;
        }
        page.push(&folded(part, share));
    }
    if !unfolded.is_empty() {
        let plan = code(&format!("capstan plan {}", shell_word(unfolded[0])), 120);
        page.push(&format!(
            "\n… and {}: {plan} in a checkout shows their changes.\n",
            count(unfolded.len(), "more cluster", "more clusters"),
        ));
    }
    page.push(&next);
    page.finish()
}

fn row(part: &Proposal<'_>) -> String {
    let upgrade = part.upgrade;
    let from =
        upgrade.from.as_ref().map_or_else(|| UNKNOWN.to_owned(), |from| code_cell(&from.to_string(), 100));
    format!(
        "| {} | {from} | {} | {} | {} | {} |\n",
        code_cell(upgrade.target.path(), 120),
        tables::changes(upgrade),
        tables::conflicts(&upgrade.conflicts),
        tables::findings(&upgrade.findings),
        replaced(part),
    )
}

/// `3 machines, and 2 machines deleted`
fn replaced(part: &Proposal<'_>) -> String {
    let rollouts = &part.upgrade.rollouts;
    let lost = MachineCount::lost(rollouts);
    let deleted =
        if lost.is_none() { String::new() } else { format!(", and {} deleted", tables::machines(lost)) };
    tables::machines(MachineCount::replaced(rollouts)) + &deleted
}

/// `3 machines are replaced`
fn becomes(part: &Proposal<'_>) -> String {
    headline::machine_changes(&part.upgrade.rollouts).unwrap_or_else(headline::none_replaced)
}

fn left_out_row((target, why): &(Target, String)) -> String {
    format!("- {}: {}\n", code(target.path(), 200), prose_cell(why, 500))
}

/// One cluster's part, folded, within its budget.
fn folded(part: &Proposal<'_>, budget: usize) -> String {
    const END: &str = "\n</details>\n";
    let head = format!(
        "\n<details><summary>{}: {}, {}</summary>\n\n",
        text(part.upgrade.target.path(), 120),
        tables::changes(part.upgrade),
        becomes(part),
    );
    let mut page = Page::new(budget.saturating_sub(head.len() + END.len()));
    page.push(&summary(part));
    let room = page.free();
    sections(&mut page, part, room);
    head + &page.finish() + END
}

fn next_steps(group: &GroupProposal<'_>) -> String {
    let prefix = one_line(group.command_prefix, 40);
    let kind = group.source.source().kind();
    let names: BTreeSet<&str> = group.parts.iter().filter_map(|part| part.reporter).collect();
    let unseen = group.parts.iter().filter(|part| part.reporter.is_none()).count();
    let mut rolling = Vec::new();
    if !names.is_empty() {
        let names: Vec<String> = names.into_iter().take(10).map(|name| code(name, 100)).collect();
        rolling.push(format!(
            "The reconcilers on {} follow the machines after the merge. The check `capstan/rollout` here shows the progress of each cluster.",
            list(&names)
        ));
    }
    if unseen > 0 {
        rolling.push(format!(
            "No reconciler reports on {}, so machines of an earlier upgrade may still be rolling. Look before you merge.",
            match group.parts.len() {
                1 => "this cluster".to_owned(),
                all if all == unseen => "these clusters".to_owned(),
                _ => format!("{unseen} of these clusters"),
            }
        ));
    }
    format!(
        "\n### What to do next\n\n\
         - Read the changes of each cluster and the check `capstan`, then approve and merge. Machines are replaced only after the merge.\n\
         - {}\n\
         - A command here applies to all of these clusters, and needs the right for each. {} applies to one. {} removes one from this pull request.\n\
         - You may push commits to this branch. Capstan then leaves it alone until somebody with write permission comments {}.\n\
         - Close this pull request to decline this {kind} for these clusters: Capstan does not offer it to them again, only a newer one.\n\
         - {} lists the commands.\n",
        rolling.join(" "),
        code(&format!("{prefix} … for CLUSTER"), 60),
        code(&format!("{prefix} hold for CLUSTER"), 60),
        code(&format!("{prefix} replan"), 60),
        code(&format!("{prefix} help"), 60),
    )
}

/// The title, at most 256 characters: as the settings write it, with the group's name instead of the
/// cluster's, else Capstan's own.
pub fn group_title(
    template: Option<&TitleTemplate>,
    group: &GroupName,
    parts: &[Proposal<'_>],
    source: &SourceState,
) -> String {
    let own = || {
        format!(
            "Upgrade {} ({}) to {}",
            plain(group.as_str(), 90),
            count(parts.len(), "cluster", "clusters"),
            plain(&source.source().to_string(), 70)
        )
    };
    let Some(release) = source.source().release() else { return own() };
    let shared = |values: BTreeSet<Option<String>>| match values.into_iter().collect::<Vec<_>>().as_slice() {
        [Some(one)] => one.clone(),
        [] | [None] => UNKNOWN.to_owned(),
        _ => SEVERAL.to_owned(),
    };
    let value = |field: TitleField| match field {
        TitleField::Cluster => plain(group.as_str(), 90),
        TitleField::Release => plain(release.as_str(), 70),
        TitleField::ReleaseVersion => plain(release.as_str().rsplit('/').next().unwrap_or(UNKNOWN), 70),
        TitleField::PreviousRelease => {
            let from = |part: &Proposal<'_>| {
                part.upgrade.from.as_ref().and_then(SourceId::release).map(|from| from.as_str().to_owned())
            };
            plain(&shared(parts.iter().map(from).collect()), 70)
        }
        TitleField::Provider => {
            let provider = release.provider();
            plain(if provider.as_str().is_empty() { UNKNOWN } else { provider.as_str() }, 70)
        }
        TitleField::KubernetesVersion => {
            let version = |part: &Proposal<'_>| {
                part.upgrade.kubernetes.as_ref().map(|version| version.as_str().to_owned())
            };
            plain(&shared(parts.iter().map(version).collect()), 40)
        }
    };
    template.map_or_else(own, |template| cut(template.fill(value).trim()))
}

/// The message of the commit with the files of all clusters: what changes, a line for each, and the trailers
/// that find it again.
pub fn group_commit_message(
    group: &GroupProposal<'_>,
    origin: Option<&ReleasesOrigin>,
    title: &str,
) -> String {
    let mut message = format!("{title}\n\n");
    for part in group.parts {
        let upgrade = part.upgrade;
        let from = match &upgrade.from {
            None => format!("from an unknown {}", group.source.source().kind()),
            Some(from) if from == group.source.source() => {
                format!("at {} as it was", plain(&from.to_string(), 120))
            }
            Some(from) => format!("from {}", plain(&from.to_string(), 120)),
        };
        message.push_str(&format!(
            "{} {from}: {}.\n",
            plain(upgrade.target.path(), 120),
            tables::changes(upgrade),
        ));
    }
    message.push_str(&format!("\n{TRAILER_SOURCE}: {}\n", group.source));
    if let Some(origin) = origin {
        message.push_str(&format!("{TRAILER_RELEASES}: {origin}\n"));
    }
    message.push_str(&format!("{TRAILER_PLAN}: {}\n", group.plan));
    message
}

#[cfg(test)]
#[path = "group_tests.rs"]
mod tests;
