//! What there is to tell in the dashboard, and what is noted in it.

use capstan_facts::IssueState;
use capstan_plan::proposal::{Decisions, ProposalId};
use capstan_report::{
    Answer, BlockingConflict, DashboardReading, DashboardRecord, EarlierText, HeardTicks, Notice,
    ProposalEntry, ProposalState, newest_notices, remembered_texts,
};
use jiff::{SignedDuration, Timestamp};

use super::board::Board;
use crate::answers::in_one_line;
use crate::planned::PlannedRun;
use crate::proposals::{Outcome, ProposalOutcome};
use crate::requests::Request;

/// How long the issue shows the answer to a tick.
const SHOWN_FOR: SignedDuration = SignedDuration::from_hours(24);
/// How many of these answers it shows.
pub(super) const MOST_NOTICES: usize = 10;
/// How many characters of such an answer it shows.
const LONGEST_NOTICE: usize = 1_500;

/// Whether the ticks that were read can be answered now; else the body stays as it is. `ticks` are those that are
/// requests.
pub(super) fn is_answered_now(board: &Board, ticks: &[&Request], outcome: &Outcome) -> bool {
    let is_overtaken =
        |request: &&Request| request.rewritten.iter().any(|proposal| outcome.overtaken.contains(proposal));
    ticks.len() >= board.ticks && !ticks.iter().any(is_overtaken)
}

/// Whether a person closed the issue, and the settings have not asked for it again since: what people see of it then
/// stays as it is.
pub(super) fn is_declined(board: &Board, asked_for: bool) -> bool {
    let is_closed = board.issue.as_ref().is_some_and(|issue| issue.state == IssueState::Closed);
    board.record.closed.is_none() && is_closed && (!asked_for || board.record.asked_for)
}

/// What is noted in it.
pub(super) fn record(
    planned: PlannedRun<'_>,
    outcome: &Outcome,
    board: &Board,
    ticks: &[(&Request, Vec<Answer>)],
    now: Timestamp,
) -> DashboardRecord {
    let settings = &planned.settings.dashboard;
    let asked_for = settings.enabled == Some(true);
    let mut record = DashboardRecord {
        title: settings.title.clone(),
        asked_for,
        closed: None,
        pause: planned.decided.pause().cloned(),
        decisions: decisions_without_pull_request(planned, outcome),
        campaigns: outcome.campaigns.notes.clone(),
        notices: notices(board, ticks, now),
        ..board.record.clone()
    };
    if is_declined(board, asked_for) {
        // The decisions of people are still recorded.
        record.title.clone_from(&board.record.title);
        record.notices.clone_from(&board.record.notices);
    }
    record
}

/// The notices about ticks that are still shown, with the answers of this run.
pub(super) fn notices(board: &Board, ticks: &[(&Request, Vec<Answer>)], now: Timestamp) -> Vec<Notice> {
    let is_new = |notice: &&Notice| now.duration_since(notice.at) < SHOWN_FOR;
    let mut notices: Vec<Notice> = board.record.notices.iter().filter(is_new).cloned().collect();
    notices.extend(board.notices.iter().cloned());
    for (request, answers) in ticks {
        let answer = in_one_line(answers, LONGEST_NOTICE);
        let command = request.commands.iter().flatten().next().map_or("?".to_owned(), ToString::to_string);
        let how = if request.is_of_page() { "pressed on Capstan's page" } else { "ticked" };
        let by = capstan_report::markdown::code(&request.by, 60);
        let text = format!("{by} {how} {}: {answer}", capstan_report::markdown::code(&command, 200));
        notices.push(Notice { at: now, text });
    }
    newest_notices(notices, MOST_NOTICES)
}

/// What was decided about proposals that have no pull request to note it in.
pub(super) fn decisions_without_pull_request(
    planned: PlannedRun<'_>,
    outcome: &Outcome,
) -> Vec<(ProposalId, Decisions)> {
    let decided = planned.decided;
    let noted = |proposal: &ProposalId| {
        let state = outcome.proposals.get(proposal);
        let has_pull =
            outcome.is_noted(planned.facts, proposal) || state.is_some_and(|state| state.pull.is_some());
        let plan = planned.plans.get(proposal).filter(|_| !has_pull)?;
        let decisions = decided.of(proposal);
        let decisions = match plan {
            Ok(upgrade) => decisions.still(upgrade, planned.facts.today),
            Err(_) => decisions,
        };
        let blocks = state.is_some_and(|one| one.state == ProposalState::Blocked);
        let decisions = decisions.without_pull_request(blocks);
        (!decisions.is_empty()).then(|| (proposal.clone(), decisions))
    };
    decided.all().filter_map(noted).collect()
}

/// What the page tells of each target.
pub(super) fn entries(planned: PlannedRun<'_>, outcome: &Outcome) -> Vec<ProposalEntry> {
    let facts = planned.facts;
    let entry = |(proposal, one): (&ProposalId, &ProposalOutcome)| {
        let upgrade = planned.plans.get(proposal).and_then(|plan| plan.as_ref().ok());
        let blocking = upgrade
            .iter()
            .flat_map(|upgrade| &upgrade.conflicts)
            .filter(|conflict| conflict.blocks && !conflict.settling.values.is_empty());
        let carries = |id: &&ProposalId| {
            !outcome.superseded.contains(*id) && outcome.members_of(facts, id).contains(proposal)
        };
        let carrier = facts.carrier(proposal).filter(|_| !one.state.is_over()).filter(carries);
        let open = carrier.and_then(|id| facts.proposals.get(id)).map(|pull| pull.number);
        ProposalEntry {
            proposal: proposal.clone(),
            state: one.state,
            why: one.why.clone(),
            pull: one.pull.or(open),
            at: upgrade.and_then(|upgrade| upgrade.from.as_ref()).map(ToString::to_string),
            offered: upgrade.and_then(|upgrade| upgrade.to.as_ref()).map(ToString::to_string),
            conflicts: blocking
                .map(|conflict| BlockingConflict {
                    object: format!("{}/{}", conflict.object.kind, conflict.object.name),
                    path: conflict.path.to_string(),
                })
                .collect(),
            hold: planned.decided.of(proposal).hold_on(facts.today).cloned(),
        }
    };
    outcome.shown().map(entry).collect()
}

/// What is noted of texts that Capstan wrote before, once the present one is written over too.
pub(super) fn earlier_texts(board: &Board) -> Vec<EarlierText> {
    let mut earlier = board.record.earlier.clone();
    for (boxes, choice) in &board.late {
        earlier.iter_mut().filter(|text| text.is_of(boxes)).for_each(|text| text.hear(choice));
    }
    if board.issue.is_none() {
        return earlier;
    }
    let heard = match &board.reading {
        DashboardReading::AsWritten => HeardTicks::These(&[]),
        DashboardReading::Ticked(choices) => HeardTicks::These(choices),
        // A notice said that no checkbox of this edit was processed, so none of its ticks is late.
        DashboardReading::Edited => HeardTicks::Whatever,
    };
    remembered_texts(earlier, EarlierText::of(board.record.edition, &board.record.text, heard))
}

/// Whether two bodies are the same, line ends and blanks at the end aside.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    one.trim_end().lines().eq(other.trim_end().lines())
}
