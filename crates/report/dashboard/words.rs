//! The text of the dashboard.

use std::collections::BTreeMap;

use capstan_model::source::SourceKind;
use capstan_model::wording::{count, fitting};
use capstan_plan::proposal::{OnHold, ProposalId};
use capstan_plan::verbs::Verb;

use super::boxes::Choice;
use super::record::DashboardRecord;
use crate::block::ascii;
use crate::markdown::{MAX_BODY, Page, code, code_cell, more_items, prose};
use crate::pages::Refusal;
use crate::standing::pause_in_words;
use crate::state::ProposalState;

/// Characters shown of a reason.
const LONGEST_REASON: usize = 300;
/// Share of the page for campaigns, in percent.
const CAMPAIGNS: usize = 30;
/// Waves and skipped clusters listed for each campaign.
const WAVES: usize = 20;
/// Conflicts of one cluster that have boxes.
const CONFLICTS: usize = 5;
/// Sources that have a row.
const SOURCES: usize = 20;
/// Bytes of headings, the record's frame and codes.
const FRAME: usize = 3_000;
/// Bytes that the overwritten text takes in the record.
const EARLIER: usize = 2_000;

/// A conflict that blocks an upgrade.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockingConflict {
    /// `Kind/name`
    pub object: String,
    /// The field.
    pub path: String,
}

/// The state of one proposal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposalEntry {
    /// Which.
    pub proposal: ProposalId,
    pub state: ProposalState,
    /// The reason, in sentences.
    pub why: String,
    /// The open pull request.
    pub pull: Option<u64>,
    /// The target's current source, if it is known.
    pub at: Option<String>,
    /// The offered source.
    pub offered: Option<String>,
    /// Conflicts that block it and that people may settle.
    pub conflicts: Vec<BlockingConflict>,
    /// Who holds it by command.
    pub hold: Option<OnHold>,
}

/// Progress of a release that moves through a campaign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CampaignStanding {
    /// The campaign's name.
    pub name: String,
    pub release: String,
    /// Why it stopped, as a sentence; `None` = it continues.
    pub stopped: Option<String>,
    /// Each wave, and its state in a few words.
    pub waves: Vec<(String, String)>,
    /// Clusters that the campaign skips.
    pub skipped: Vec<String>,
}

/// The content of the dashboard.
#[derive(Debug, Clone, Copy)]
pub struct Dashboard<'a> {
    /// What commands begin with.
    pub prefix: &'a str,
    /// All proposals, in their order.
    pub entries: &'a [ProposalEntry],
    /// Releases that move through campaigns.
    pub campaigns: &'a [CampaignStanding],
    /// The pause, and the answers.
    pub record: &'a DashboardRecord,
    /// Why nothing at all is planned, if that is so.
    pub trouble: Option<&'a str>,
}

/// The part of the dashboard that shows an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DashboardPart {
    NeedsSomebody,
    Open,
    Paused,
    Waiting,
    Observed,
    Held,
    Skipped,
    /// It is only counted.
    Resting,
}

const fn part(state: ProposalState) -> DashboardPart {
    match state {
        ProposalState::Blocked
        | ProposalState::Refused
        | ProposalState::Edited
        | ProposalState::Unplannable
        | ProposalState::Unknown
        | ProposalState::Failed => DashboardPart::NeedsSomebody,
        ProposalState::Proposed | ProposalState::Approved => DashboardPart::Open,
        ProposalState::Paused => DashboardPart::Paused,
        ProposalState::Waiting => DashboardPart::Waiting,
        ProposalState::Observed => DashboardPart::Observed,
        ProposalState::Held => DashboardPart::Held,
        ProposalState::Declined | ProposalState::Reverted => DashboardPart::Skipped,
        ProposalState::Pinned | ProposalState::Gone | ProposalState::Current => DashboardPart::Resting,
    }
}

/// A part of the dashboard, with its entries below a heading.
struct Section {
    part: DashboardPart,
    heading: &'static str,
    /// What a tick there does; empty where there are no boxes.
    hint: &'static str,
    /// Share of the page, in percent.
    share: usize,
}

const SECTIONS: [Section; 7] = [
    Section {
        part: DashboardPart::NeedsSomebody,
        heading: "Needs somebody",
        hint: "A tick means: `keep` or `take` for a conflict, `retry` for what GitHub refused, `replan` for an edited branch (this overwrites people's commits there).",
        share: 45,
    },
    Section {
        part: DashboardPart::Open,
        heading: "Open",
        hint: "A tick means `replan`: Capstan rewrites the branch, and overwrites people's commits on it.",
        share: 40,
    },
    Section { part: DashboardPart::Paused, heading: "Paused", hint: "", share: 40 },
    Section {
        part: DashboardPart::Waiting,
        heading: "Waiting",
        hint: "A tick means `upgrade`: Capstan opens the pull request now.",
        share: 40,
    },
    Section { part: DashboardPart::Observed, heading: "Would be proposed", hint: "", share: 40 },
    Section { part: DashboardPart::Held, heading: "On hold", hint: "A tick means `unhold`.", share: 50 },
    Section {
        part: DashboardPart::Skipped,
        heading: "Skipped",
        hint: "A tick offers the upgrade again: `unskip`, or `replan` where it was merged.",
        share: 100,
    },
];

/// Whether there is anything to show: where nothing is offered to any cluster, no issue is needed.
pub fn is_worth_telling(dashboard: &Dashboard<'_>) -> bool {
    let told = |entry: &ProposalEntry| part(entry.state) != DashboardPart::Resting;
    let DashboardRecord { pause, decisions, notices, .. } = dashboard.record;
    dashboard.trouble.is_some()
        || pause.is_some()
        || !decisions.is_empty()
        || !notices.is_empty()
        || !dashboard.campaigns.is_empty()
        || dashboard.entries.iter().any(told)
}

/// What people see.
pub fn dashboard_text(dashboard: &Dashboard<'_>) -> String {
    let Dashboard { prefix, entries, campaigns: moving, record, trouble } = *dashboard;
    let noted = ascii(&record.to_json(u64::MAX)).len();
    let end = resting(entries) + &pause_box(record);
    let mut page = Page::new(MAX_BODY.saturating_sub(noted + EARLIER + FRAME + end.len()));
    page.push(&format!(
        "Capstan keeps this page up to date: it shows the state of each cluster of this repository. A ticked box is a command of the person who ticked it, with the same rights as a comment (`{prefix} help`). Capstan reverts any other edit. To have no dashboard, close this issue, or set `dashboard: {{enabled: false}}` in `.capstan.yaml`. What each state means, and what to do: {}.\n",
        Refusal::State.shown()
    ));
    if let Some(trouble) = trouble {
        page.push(&format!("\n> **Nothing can be planned**: {}\n", prose(trouble, 900)));
    }
    if let Some(pause) = &record.pause {
        page.push(&format!(
            "\n> **{}** Capstan opens, writes and merges nothing.\n",
            prose(&pause_in_words(pause), 600)
        ));
    }
    let notices: Vec<String> =
        record.notices.iter().rev().map(|notice| format!("- {}\n", notice.text)).collect();
    page.section("\n### Just now\n\n", &notices, page.free() / 4, |left| format!("- and {left} earlier\n"));
    page.push(&campaigns(entries));
    let told: Vec<String> = moving.iter().map(campaign).collect();
    let budget = page.free() * CAMPAIGNS / 100;
    page.section("\n### Campaigns\n\n", &told, budget, |left| more_items(left, "release", "releases"));
    for section in &SECTIONS {
        let mut told: Vec<&ProposalEntry> =
            entries.iter().filter(|entry| part(entry.state) == section.part).collect();
        told.sort_by_key(|entry| entry.state);
        let rows: Vec<String> = told.iter().map(|entry| row(entry)).collect();
        let hint = if section.hint.is_empty() { String::new() } else { format!("{}\n\n", section.hint) };
        let head = format!("\n### {} ({})\n\n{hint}", section.heading, rows.len());
        let budget = page.free() * section.share / 100;
        page.section(&head, &rows, budget, |left| {
            format!("- … and {left} more that {} not fit here\n", fitting(left, "does", "do"))
        });
    }
    page.finish() + &end
}

/// The progress of a release in its campaign, with the box that stops or resumes it.
fn campaign(one: &CampaignStanding) -> String {
    let mut text = format!("- {} through campaign {}", code(&one.release, 100), code(&one.name, 100));
    match &one.stopped {
        Some(why) => text.push_str(&format!(": **stopped** {}\n", prose(why, 2 * LONGEST_REASON))),
        None => text.push('\n'),
    }
    for (wave, how) in one.waves.iter().take(WAVES) {
        text.push_str(&format!("  - {}: {}\n", code(wave, 100), prose(how, LONGEST_REASON)));
    }
    if let Some(more) = one.waves.len().checked_sub(WAVES).filter(|more| *more > 0) {
        text.push_str(&format!("  - and {}\n", count(more, "more wave", "more waves")));
    }
    if !one.skipped.is_empty() {
        let named: Vec<String> = one.skipped.iter().take(WAVES).map(|id| code(id, 200)).collect();
        let more = match one.skipped.len().saturating_sub(WAVES) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        text.push_str(&format!("  - it continues without {}{more}\n", named.join(", ")));
    }
    let (order, words) = match one.stopped {
        Some(_) => ("resume", "`campaign resume`: it continues, and failures so far no longer count"),
        None => ("stop", "`campaign stop`: it opens no pull request until `campaign resume`"),
    };
    let given = format!("{order} of {}", one.name);
    let choice = Choice { verb: Verb::Campaign, given, proposal: None };
    // A box can only ask for what a comment can.
    if choice.command().is_some() {
        text.push_str(&format!("  {}{words}\n", choice.to_box()));
    }
    text
}

/// The box at the end.
fn pause_box(record: &DashboardRecord) -> String {
    let (verb, words) = match record.pause {
        Some(_) => (Verb::Resume, "`resume`: Capstan continues in this repository"),
        None => (
            Verb::Pause,
            "`pause`: Capstan opens, writes and merges nothing in this repository until `resume`",
        ),
    };
    let choice = Choice { verb, given: String::new(), proposal: None };
    format!("\n{}{words}\n", choice.to_box())
}

/// The body of a dashboard that Capstan closes.
pub fn closed_dashboard(why: &str) -> String {
    format!("> Closed by Capstan: {}\n", prose(why, 900))
}

fn row(entry: &ProposalEntry) -> String {
    let verb = box_of(entry);
    let lead = verb.map_or_else(|| "- ".to_owned(), |verb| Choice::about(verb, &entry.proposal).to_box());
    // A link that leaves no mention at its target.
    let pull = entry.pull.map_or_else(String::new, |number| format!(" [#{number}](../pull/{number})"));
    let of_release = entry.proposal.kind == SourceKind::RELEASE;
    let to = match &entry.offered {
        // The target's own release: with other values, or other content.
        Some(to) if entry.at.as_ref() == Some(to) && of_release => {
            format!(" to {} as it is now", code(to, 100))
        }
        Some(to) if entry.at.as_ref() != Some(to) => format!(" to {}", code(to, 100)),
        _ => String::new(),
    };
    let of = if of_release { String::new() } else { format!(" ({})", entry.proposal.kind) };
    let how = if entry.state == ProposalState::Proposed {
        // The line shows already that it is open and what it offers.
        String::new()
    } else {
        format!(", {}: {}", entry.state.as_str(), prose(&entry.why, LONGEST_REASON))
    };
    let target = code(entry.proposal.target.path(), 200);
    let mut text = format!("{lead}{target}{of}{to}{pull}{how}\n");
    if entry.state == ProposalState::Blocked {
        text.push_str(&conflicts(entry));
    }
    text
}

/// What the box of an entry asks for.
const fn box_of(entry: &ProposalEntry) -> Option<Verb> {
    match entry.state {
        ProposalState::Refused => Some(Verb::Retry),
        ProposalState::Edited
        | ProposalState::Proposed
        | ProposalState::Approved
        | ProposalState::Reverted => Some(Verb::Replan),
        ProposalState::Waiting => Some(Verb::Upgrade),
        ProposalState::Declined => Some(Verb::Unskip),
        ProposalState::Held if entry.hold.is_some() => Some(Verb::Unhold),
        ProposalState::Held
        | ProposalState::Blocked
        | ProposalState::Unplannable
        | ProposalState::Unknown
        | ProposalState::Failed
        | ProposalState::Paused
        | ProposalState::Observed
        | ProposalState::Pinned
        | ProposalState::Gone
        | ProposalState::Current => None,
    }
}

fn conflicts(entry: &ProposalEntry) -> String {
    let mut text = String::new();
    for conflict in entry.conflicts.iter().take(CONFLICTS) {
        let BlockingConflict { object, path } = conflict;
        let named = format!("{object} {path}");
        let taken = format!("the {}'s value is taken", entry.proposal.kind);
        for (verb, whose) in [(Verb::Keep, "the cluster's value stays"), (Verb::Take, taken.as_str())] {
            let choice = Choice { verb, given: named.clone(), proposal: Some(entry.proposal.clone()) };
            // A box can only ask for what a comment can.
            if choice.command().is_some() {
                text.push_str(&format!(
                    "  {}`{}` {}: {whose}\n",
                    choice.to_box(),
                    verb.word(),
                    code(&named, 300)
                ));
            }
        }
    }
    match entry.conflicts.len().saturating_sub(CONFLICTS) {
        0 => {}
        more => text.push_str(&format!("  - and {}\n", count(more, "more conflict", "more conflicts"))),
    }
    text
}

/// The progress of each offered source.
fn campaigns(entries: &[ProposalEntry]) -> String {
    let mut sources: BTreeMap<&str, [usize; 4]> = BTreeMap::new();
    for entry in entries {
        let column = match part(entry.state) {
            DashboardPart::Resting if entry.state == ProposalState::Current => 0,
            DashboardPart::Resting => continue,
            DashboardPart::Open => 1,
            DashboardPart::Paused
            | DashboardPart::Waiting
            | DashboardPart::Observed
            | DashboardPart::Held
            | DashboardPart::Skipped => 2,
            DashboardPart::NeedsSomebody => 3,
        };
        if let Some(offered) = &entry.offered {
            sources.entry(offered).or_default()[column] += 1;
        }
    }
    // Targets that have it are not offered it.
    for entry in
        entries.iter().filter(|entry| entry.state == ProposalState::Current && entry.offered.is_none())
    {
        if let Some(columns) = entry.at.as_deref().and_then(|at| sources.get_mut(at)) {
            columns[0] += 1;
        }
    }
    if sources.is_empty() {
        return String::new();
    }
    let mut text =
        String::from("\n| offered | done | open | waiting | needs somebody |\n|---|---|---|---|---|\n");
    for (source, [done, open, waiting, needs]) in sources.iter().take(SOURCES) {
        text.push_str(&format!("| {} | {done} | {open} | {waiting} | {needs} |\n", code_cell(source, 100)));
    }
    match sources.len().saturating_sub(SOURCES) {
        0 => {}
        more => text.push_str(&format!("\n… and {more} more.\n")),
    }
    text
}

/// Entries that are only counted.
fn resting(entries: &[ProposalEntry]) -> String {
    let of = |state| entries.iter().filter(|entry| entry.state == state).count();
    let told: Vec<String> = [
        (ProposalState::Current, "up to date"),
        (ProposalState::Pinned, "held back by their track"),
        (ProposalState::Gone, "gone"),
    ]
    .into_iter()
    .filter_map(|(state, meaning)| match of(state) {
        0 => None,
        number => Some(format!("{} {meaning}", count(number, "cluster is", "clusters are"))),
    })
    .collect();
    if told.is_empty() { String::new() } else { format!("\n{}.\n", told.join(", ")) }
}
