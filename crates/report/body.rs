//! Title and body of a proposal's pull request.

use super::block::{PreviousOffer, room_for, room_for_previous, room_for_sidebar};
use super::markdown::{MAX_BODY, Page, code, more, one_line, prose};
use super::merging::approvals_above;
use super::pages::{findings_head, percent_encoded};
use super::title::records_inferred;
use super::{Block, BlockKey, headline, provider_changes, service_changes, tables, values};
use capstan_campaign::wording::minute;
use capstan_model::digest::sha256;
use capstan_model::source::SourceKind;
use capstan_model::wording::sentence;
use capstan_plan::proposal::{
    Decisions, Drafted, PlanDigest, ReleasesOrigin, SidebarStanding, SourceState, TitleDigest,
};
use capstan_plan::upgrade::{Basis, MachineCount, Retarget, Upgrade, ValuesCourse};

/// The content of a proposal's text.
#[derive(Debug, Clone, Copy)]
pub struct Proposal<'a> {
    pub upgrade: &'a Upgrade,
    /// What is offered.
    pub source: &'a SourceState,
    /// What was written.
    pub plan: &'a PlanDigest,
    /// The repository that the release comes from, if it is another one.
    pub origin: Option<&'a ReleasesOrigin>,
    /// The prefix of slash-commands: `/capstan`.
    pub command_prefix: &'a str,
    /// Whether somebody asked for `retarget`.
    pub retarget: Retarget,
    /// Decisions made by command.
    pub decisions: &'a Decisions,
    /// Whether Capstan made it a draft.
    pub drafted: Drafted,
    /// The name of the management cluster whose reconciler reports on this cluster.
    pub reporter: Option<&'a str>,
    /// State of the sidebar that the settings ask for.
    pub sidebar: &'a SidebarStanding,
    /// What the pull request offered before, the oldest first.
    pub previous: &'a [PreviousOffer],
}

/// The whole body, within GitHub's limit: visible text and folded block. `pull_request` is its number, if it
/// has one yet; `title` is the title that Capstan wrote last.
pub fn proposal_body(
    proposal: &Proposal<'_>,
    repository: u64,
    pull_request: Option<u64>,
    title: &TitleDigest,
    key: &BlockKey,
) -> String {
    let visible = visible_text(proposal);
    let block = Block {
        repository,
        pull_request,
        target: proposal.upgrade.target.clone(),
        source: proposal.source.clone(),
        plan: proposal.plan.clone(),
        text: text_digest(&visible),
        retarget: proposal.retarget,
        decisions: proposal.decisions.clone(),
        drafted: proposal.drafted,
        title: Some(title.clone()),
        sidebar: proposal.sidebar.done.clone(),
        closed_by: None,
        parts: Vec::new(),
        after: None,
        previous: proposal.previous.to_vec(),
    };
    approvals_above(proposal.decisions) + &visible + &origin(proposal.origin) + &block.render(key)
}

/// Where the release comes from. This is not part of the text that decides whether a body is up to date: the
/// other repository moves without the release changing.
pub(super) fn origin(origin: Option<&ReleasesOrigin>) -> String {
    origin.map_or_else(String::new, |origin| {
        let commit = origin.commit.as_str();
        format!("\n> The release comes from {} at {}.\n", code(&origin.repository, 200), code(commit, 64))
    })
}

/// Identifies a visible text in a block.
pub fn text_digest(visible: &str) -> String {
    sha256(visible)[..16].to_owned()
}

/// What people see. The block needs room of its own, so this is kept well below the limit.
pub fn visible_text(proposal: &Proposal<'_>) -> String {
    // A target's id has up to 4,096 bytes, and six times as many when it is escaped in the block.
    let block = 4_096
        + 6 * proposal.upgrade.target.path().len().min(4_096)
        + room_for(proposal.decisions)
        + room_for_sidebar(&proposal.sidebar.done)
        + room_for_previous(proposal.previous)
        + approvals_above(proposal.decisions).len();
    let mut page = Page::new(MAX_BODY.saturating_sub(block));
    let (before, next) = (offered_before(proposal.previous), next_steps(proposal));
    page.push(&summary(proposal));
    page.push(&refused(proposal.sidebar));
    let room = page.free().saturating_sub(before.len() + next.len());
    sections(&mut page, proposal, room);
    page.push(&before);
    page.push(&next);
    page.finish()
}

/// What the pull request offered before, the newest first.
pub(super) fn offered_before(previous: &[PreviousOffer]) -> String {
    if previous.is_empty() {
        return String::new();
    }
    let row = |one: &PreviousOffer| {
        format!("- {}, until {}\n", code(&one.source.source().to_string(), 200), minute(one.until))
    };
    let rows: String = previous.iter().rev().map(row).collect();
    format!("\n### Offered here before\n\n{rows}")
}

/// Names listed of those that GitHub rejected.
const MOST_REFUSED: usize = 10;

/// What GitHub rejected of the sidebar that the settings ask for.
pub(super) fn refused(sidebar: &SidebarStanding) -> String {
    let refused = &sidebar.refused;
    let named = |what: &'static str, names: &[String]| -> Vec<String> {
        names.iter().map(|name| format!("{what} {}", code(name, 100))).collect()
    };
    let mut all = [
        named("the label", &refused.labels),
        named("the assignee", &refused.assignees),
        named("the reviewer", &refused.reviewers),
    ]
    .concat();
    if all.is_empty() {
        return String::new();
    }
    let is_one = all.len() == 1;
    if all.len() > MOST_REFUSED {
        let more = all.len() - MOST_REFUSED;
        all.truncate(MOST_REFUSED);
        all.push(format!("and {more} more"));
    }
    format!(
        "\n> GitHub refuses what `upgrade.proposals` asks for: {}. Make sure that {} and may read this repository. Capstan tries again.\n",
        all.join(", "),
        if is_one { "it exists" } else { "they exist" },
    )
}

/// The same without the next steps, for an answer to a comment.
pub(super) fn visible_plan(proposal: &Proposal<'_>, limit: usize) -> String {
    let mut page = Page::new(limit);
    page.push(&summary(proposal));
    let mut others = proposal.upgrade.reasons_beside_findings().peekable();
    if others.peek().is_none() && !proposal.upgrade.blocked.is_empty() {
        page.push("\n> **Blocked**: the findings below say why.\n");
    }
    for why in others {
        page.push(&format!("\n> **Blocked**: {}\n", prose(why, 900)));
    }
    let room = page.free();
    sections(&mut page, proposal, room);
    page.finish()
}

pub(super) fn summary(proposal: &Proposal<'_>) -> String {
    let upgrade = proposal.upgrade;
    let to = proposal.source.source();
    let kind = to.kind();
    let target = code(upgrade.target.path(), 200);
    let offered = code(&to.to_string(), 200);
    let of_values = values::summary(upgrade, &to.to_string());
    let by_inventory = of_values.is_some();
    let first = headline::first_line([upgrade]).map_or_else(String::new, |line| format!("{line}\n\n"));
    let said = match &upgrade.from {
        _ if by_inventory => of_values.unwrap_or_default(),
        _ if *kind == SourceKind::MIGRATION => {
            format!("Brings the objects of {target} to newer API versions: {}.\n\n", code(to.path(), 200))
        }
        Some(_) if records_inferred(upgrade, proposal.source) => {
            let does = if upgrade.changes.is_empty() {
                "This pull request records it and changes nothing else".to_owned()
            } else {
                format!("This pull request records it and brings {target} up to date")
            };
            format!("The content of {target} is that of {offered}, which was not recorded. {does}.\n\n")
        }
        Some(from) if from == to => {
            format!(
                "{} {offered} has changed since {target} took it. This pull request brings {target} up to date.\n\n",
                sentence(kind.as_str())
            )
        }
        Some(from) => {
            let from = code(&from.to_string(), 200);
            match &proposal.decisions.rollback {
                Some(rollback) => format!(
                    "Rolls {target} back from {from} to {offered}, as {} asked. It removes what the newer release brought. Changes of the cluster itself, versions and images stay. After the merge, Capstan does not offer {} to it again, only a newer release.\n\n",
                    code(&rollback.by, 100),
                    code(&rollback.leaves, 200),
                ),
                None => format!("Upgrades {target} from {from} to {offered}.\n\n"),
            }
        }
        None => format!("Upgrades {target} to {offered}.\n\n"),
    };
    let mut text = first + &said + &release_notes(proposal);
    match upgrade.basis {
        _ if by_inventory => {}
        Basis::Known => {}
        Basis::Inferred => text.push_str(&format!(
            "> The {kind} that this cluster comes from is not recorded. Capstan inferred it: all fields of that {kind} are still in the base.\n\n",
        )),
        Basis::Unknown => text.push_str(&format!(
            "> The {kind} that this cluster comes from is **not known**, so Capstan cannot tell which values are edits. It adds what is missing and keeps what is there. Only versions and images move with the {kind}. All differences are listed below. Use {} for values that the upgrade may replace, and look at each change before you take it out of draft.\n\n",
            code(&format!("{} take PATH", one_line(proposal.command_prefix, 40)), 100),
        )),
    }
    text.push_str("| | |\n|---|---|\n");
    text.push_str(&format!("| Changes | {} |\n", tables::changes(upgrade)));
    let is_settled =
        !upgrade.conflicts.is_empty() && upgrade.conflicts.iter().all(|conflict| !conflict.blocks);
    let settled = if is_settled { ", settled as shown below" } else { "" };
    text.push_str(&format!("| Conflicts | {}{settled} |\n", tables::conflicts(&upgrade.conflicts)));
    text.push_str(&format!("| Findings | {} |\n", tables::findings(&upgrade.findings)));
    text.push_str(&machine_rows(upgrade));
    for note in upgrade.notes.iter().take(20) {
        text.push_str(&format!("\n> {}\n", prose(note, 600)));
    }
    text
}

/// A link to the notes of the release offered. It is relative to the page of the pull request, so that no host is named.
fn release_notes(proposal: &Proposal<'_>) -> String {
    let Some(notes) = &proposal.upgrade.release_notes else {
        return String::new();
    };
    let repository = match proposal.origin {
        Some(origin) => format!("../../../{}", percent_encoded(&origin.repository)),
        None => "..".to_owned(),
    };
    let link = format!("{repository}/blob/HEAD/{}", percent_encoded(notes.as_str()));
    format!("Release notes: [{}](<{link}>)\n\n", code(notes.as_str(), 200))
}

/// How many machines are replaced, and how many are deleted, if any are.
pub(super) fn machine_rows(upgrade: &Upgrade) -> String {
    let (replaced, lost) = (MachineCount::replaced(&upgrade.rollouts), MachineCount::lost(&upgrade.rollouts));
    let row = |what: &str, number| format!("| Will be {what} | {} |\n", tables::machines(number));
    let deleted = if lost.is_none() { String::new() } else { row("deleted", lost) };
    row("replaced", replaced) + &deleted
}

pub(super) fn sections(page: &mut Page, proposal: &Proposal<'_>, room: usize) {
    let upgrade = proposal.upgrade;
    let source = proposal.source.source();
    let kind = &upgrade.brought_by();
    // Only releases can be named in a command.
    let asked = match source.release() {
        Some(_) if values::brought(upgrade).is_some() => String::new(),
        Some(release) => format!(" --to {}", shell_word(release.as_str())),
        None => String::new(),
    };
    let all = code(&format!("capstan plan {}{asked}", shell_word(upgrade.target.path())), 500);
    let more = |[one, many]: [&str; 2], left: usize| {
        format!("\n… and {}. {all} in a checkout shows all of them.\n", more(left, one, many))
    };
    let end = page.free().saturating_sub(room);
    let mut section = |head: String, rows: &[String], budget: usize, what: [&str; 2]| {
        let budget = budget.min(page.free().saturating_sub(end));
        page.section(&head, rows, budget, |left| more(what, left));
    };
    section(
        format!("\n### Machines\n\n{}", tables::rollouts_head(&upgrade.rollouts)),
        &tables::rollout_rows(&upgrade.rollouts),
        8_000,
        ["rollout", "rollouts"],
    );
    section(
        format!(
            "\n### Conflicts, and how they were settled\n\n{}\n\n{}",
            tables::conflicts_in_words(upgrade),
            tables::conflicts_head(kind)
        ),
        &tables::conflict_rows(upgrade),
        12_000,
        ["conflict", "conflicts"],
    );
    section(
        provider_changes::HEAD.to_owned(),
        &provider_changes::rows(upgrade),
        16_000,
        ["provider", "providers"],
    );
    section(
        service_changes::HEAD.to_owned(),
        &service_changes::rows(upgrade),
        16_000,
        ["service", "services"],
    );
    section(
        format!("\n### Components and apps\n\n{}", tables::COMPONENTS_HEAD),
        &tables::component_rows(&upgrade.components),
        16_000,
        ["component or app", "components and apps"],
    );
    section(findings_head(), &tables::finding_rows(&upgrade.findings), 10_000, ["finding", "findings"]);
    let edits = tables::edits_table(&upgrade.changes, kind, |at| values::origin(upgrade, at));
    edits.push(page, "\n### What changes\n\n", page.free().saturating_sub(end), &all);
}

fn next_steps(proposal: &Proposal<'_>) -> String {
    let prefix = one_line(proposal.command_prefix, 40);
    let kind = proposal.source.source().kind();
    let is_new = values::brought(proposal.upgrade).is_some_and(|values| values.course == ValuesCourse::Comes);
    let rolling = match proposal.reporter {
        None if is_new => "No reconciler reports on this cluster: after the merge, look yourself whether its machines come up.".to_owned(),
        None => "No reconciler reports on this cluster, so machines of an earlier upgrade may still be rolling. Look before you merge.".to_owned(),
        Some(name) => format!("The reconciler on {} follows the machines after the merge. The check `capstan/rollout` here shows their progress.", code(name, 100)),
    };
    let back = proposal.decisions.rollback.as_ref().map(|back| code(&back.leaves, 200));
    let decline = match (back, values::how_to_decline(proposal.upgrade)) {
        (Some(leaves), _) => format!("Close this pull request to keep {leaves}."),
        (None, Some(decline)) => decline.to_owned(),
        (None, None) => format!(
            "Close this pull request to decline this {kind}: Capstan does not offer it again, only a newer one."
        ),
    };
    let replaced = if is_new {
        "Machines are made only after the merge."
    } else {
        "Machines are replaced only after the merge."
    };
    format!(
        "\n### What to do next\n\n\
         - Read the changes above and the check `capstan`, then approve and merge. {replaced}\n\
         - {rolling}\n\
         - You may push commits to this branch. Capstan then leaves it alone until somebody with write permission comments {}.\n\
         - {decline}\n\
         - {} lists the commands.\n",
        code(&format!("{prefix} replan"), 60),
        code(&format!("{prefix} help"), 60),
    )
}

/// A word as a shell reads it back.
pub(super) fn shell_word(word: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_./@+=:,".contains(&b);
    if !word.is_empty() && word.bytes().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
#[path = "body_tests.rs"]
pub(crate) mod tests;
