//! What is said to each command of a request.

use capstan_model::wording::count;
use capstan_plan::command::{self, Hearing};
use capstan_plan::policy;
use capstan_plan::proposal::{Drafted, ProposalId, SidebarStanding, Wanted, wanted};
use capstan_plan::settings::CommandPrefix;
use capstan_plan::verbs::{Command, OfCluster, Rule, Verb};
use capstan_report::{
    Answer, Proposal, ProposalState, Refusal, Status, about, approvals_gate, approvals_in_words, denied,
    edited_refusal, moved_refusal, not_noted, pause_in_words, plan_answer, refusal, refused, rule_answer,
    shown, standing_answer, status_answer, unseen_refusal, untold_refusal,
};

use super::kept::Kept;
use crate::commands::{Request, instead_of};
use crate::planned::Planned;
use crate::proposals::{JudgedProposal, Outcome, ProposalOutcome};

/// Plans shown in one answer; a comment has no room for more.
const MAX_PLANS: usize = 5;
/// Statuses shown in one answer.
const MAX_STATUSES: usize = 20;

/// How it is told what is said of several proposals.
struct Each<'a> {
    /// What follows where there is none.
    none: &'a str,
    /// So many are told.
    most: usize,
    /// What follows where there are more.
    more: &'a str,
}

/// What answers are made from.
#[derive(Clone, Copy)]
pub struct Told<'a> {
    /// What is planned, and what people decided.
    pub planned: Planned<'a>,
    /// What became of proposals.
    pub outcome: &'a Outcome,
    /// Whether the dashboard notes what was decided.
    pub kept: &'a Kept,
}

/// What is said to one command.
#[derive(Debug, Clone)]
pub enum Part {
    /// This.
    Says(Answer),
    /// It hangs on something that has to be found out or done first.
    Asks(Asks),
}

/// What an answer hangs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asks {
    /// Which proposals the pull request of the request concerns.
    Concerned,
    /// What GitHub refused of it is forgotten.
    Retry,
    /// What live clusters say to it.
    Preflight,
    /// The pull request that creates or destroys a cluster.
    Cluster,
    /// What a change of the inventory comes to is put on its branch.
    Render,
}

/// What the pull request of a request concerns, or why that cannot be told.
pub type Concerned = Result<Vec<ProposalId>, Answer>;

/// What is said to one of a request's commands, by its place. `concerned` is what was asked for with
/// [`Asks::Concerned`].
pub fn part(told: Told<'_>, request: &Request, at: usize, concerned: Option<&Concerned>) -> Part {
    let Told { planned, outcome, kept } = told;
    let prefix = &planned.settings.commands.prefix;
    let command = match request.commands.get(at) {
        None => return Part::Says(Answer::default()),
        Some(_) if request.hearing == Hearing::Edited => return Part::Says(edited_refusal(prefix.as_str())),
        Some(Ok(command)) => command,
        Some(Err(error)) => {
            return Part::Says(Answer::refused(Refusal::NotUnderstood, &error.answer(prefix)));
        }
    };
    if !request.carried_out().any(|(place, _)| place == at) {
        return Part::Says(not_carried_out(request, at, command, prefix));
    }
    if let Kept::Not(why) = kept
        && planned.decided.is_in_dashboard(request, at)
    {
        return Part::Says(not_noted(&written(prefix, command.verb()), why, instead_of(command.verb())));
    }
    let of_each = |each: Each<'_>, one: &dyn Fn(&ProposalId, usize) -> Answer| -> Result<Answer, Asks> {
        match (command.cluster(), concerned) {
            (Some(_), _) => {
                let proposals = planned.facts.proposals_of(planned.scopes, request, command);
                Ok(text_of_each(&proposals, &each, one))
            }
            (None, Some(Ok(proposals))) => Ok(text_of_each(proposals, &each, one)),
            (None, Some(Err(why))) => Ok(why.clone()),
            (None, None) => Err(Asks::Concerned),
        }
    };
    let said = match command {
        Command::Help => Ok(Answer::told(command::help(prefix))),
        Command::Plan(_) => {
            let each = Each {
                none: ", so there is nothing to plan",
                most: MAX_PLANS,
                more: ": `capstan plan` in a checkout shows their plans",
            };
            of_each(each, &|proposal, of| one_plan(proposal, planned, prefix, of))
        }
        Command::Status(_) => {
            let each = Each { none: "", most: MAX_STATUSES, more: "" };
            let one = |proposal: &ProposalId, _: usize| -> Answer {
                let told = outcome.told_of(proposal);
                told.iter().map(|one| one_status(one, planned, outcome)).collect()
            };
            let pause = planned.decided.pause().map(pause_in_words);
            let pause = pause
                .map(|pause| Answer::told(format!("{}\n", capstan_report::markdown::prose(&pause, 600))));
            of_each(each, &one).map(|each| pause.unwrap_or_default().and(each))
        }
        Command::Retarget(_) => {
            let each = Each { none: ", so there is no overlay to edit", most: MAX_PLANS, more: "" };
            of_each(each, &|proposal, _| one_retarget(proposal, planned, outcome))
        }
        Command::Explain(Rule(rule)) => Ok(match policy::rule(rule.id()) {
            Some(rule) => rule_answer(rule.about(), &planned.settings.severities()),
            None => Answer::default(),
        }),
        Command::Skip(OfCluster(cluster))
            if cluster.is_some() || planned.decided.answer(request, at).is_some() =>
        {
            Ok(decided_text(request, (at, command), planned, outcome))
        }
        Command::Replan | Command::Skip(_) | Command::Unskip(_) => {
            Ok(own_proposal_text((request, command), planned, outcome))
        }
        Command::Upgrade(_) => Ok(asked_text((request, command), at, planned, outcome).0),
        Command::Rollback(_) => {
            let (answer, proposals) = asked_text((request, command), at, planned, outcome);
            let answer = proposals.iter().fold(answer, |answer, one| answer.with(&notes(one, planned)));
            // What stayed stands in no description.
            Ok(answer.nowhere_else())
        }
        Command::Retry => Err(Asks::Retry),
        Command::Preflight => Err(Asks::Preflight),
        Command::Create(_) | Command::Destroy(_) => Err(Asks::Cluster),
        Command::Render => Err(Asks::Render),
        Command::Approve(_) | Command::Unapprove => Ok(approval_text(request, at, planned, outcome)),
        Command::Merge(_) => Ok(outcome.merges.get(&request.id()).cloned().unwrap_or_else(no_open_proposal)),
        Command::Keep(_)
        | Command::Take(_)
        | Command::Override(_)
        | Command::Hold(_)
        | Command::Unhold(_) => Ok(decided_text(request, (at, command), planned, outcome)),
        Command::Pause(_) | Command::Resume | Command::Campaign(_) => {
            Ok(planned.decided.answer(request, at).cloned().unwrap_or_default())
        }
    };
    said.map_or_else(Part::Asks, Part::Says)
}

/// Why a command is not carried out.
fn not_carried_out(request: &Request, at: usize, command: &Command, prefix: &CommandPrefix) -> Answer {
    let written = written(prefix, command.verb());
    match request.denied.get(&at) {
        Some(why) => denied(&written, why),
        None if request.hearing != Hearing::Obeyed => refusal(&written),
        None if command.verb().is_of_commit() => moved_text(request, &written),
        None => unseen_text(request, &written),
    }
}

/// What is said of each of these proposals; `one` is told of how many something is said.
fn text_of_each(
    proposals: &[ProposalId],
    each: &Each<'_>,
    one: &dyn Fn(&ProposalId, usize) -> Answer,
) -> Answer {
    if proposals.is_empty() {
        let text = format!("This pull request touches no cluster{}.\n", each.none);
        return Answer::refused(Refusal::NothingThere, &text);
    }
    let told = proposals.len().min(each.most);
    let answer: Answer = proposals.iter().take(told).map(|proposal| one(proposal, told)).collect();
    answer.and(more_clusters(proposals.len() - told, each.more))
}

/// What is said once what GitHub refused of a pull request is tried again.
pub fn retry_answer(refused: &[String]) -> Answer {
    Answer::told(if refused.is_empty() {
        "GitHub has refused no write for this pull request that Capstan is not already retrying.\n".to_owned()
    } else {
        format!("Capstan retries now: {}.\n", refused.join(", "))
    })
}

fn one_status(proposal: &ProposalId, planned: Planned<'_>, outcome: &Outcome) -> Answer {
    let facts = planned.facts;
    let missing = planned.missing(proposal);
    let became = outcome.proposals.get(proposal);
    status_answer(&Status {
        target: proposal.target.path(),
        kind: &proposal.kind,
        state: became.map_or(ProposalState::Unknown, |one| one.state),
        why: became.map_or(missing.as_str(), |one| one.why.as_str()),
        upgrade: match planned.plans.get(proposal) {
            Some(Ok(upgrade)) => Ok(upgrade.as_ref()),
            Some(Err(why)) => Err(why),
            None => Err(&missing),
        },
        pull: facts.pull_of(proposal).map(|pull| pull.number),
        decisions: &planned.decided.of(proposal),
        approvals: &outcome
            .judged
            .get(facts.carrier(proposal).unwrap_or(proposal))
            .map(|judged| approvals_in_words(&judged.approved))
            .unwrap_or_default(),
    })
}

/// What an approval, or taking it back, came to.
fn approval_text(request: &Request, at: usize, planned: Planned<'_>, outcome: &Outcome) -> Answer {
    let said = planned.decided.answer(request, at).cloned().unwrap_or_default();
    let judged = planned.facts.carrier_of(request).and_then(|id| Some((outcome.judged.get(&id)?, id)));
    let Some((JudgedProposal { approved, .. }, proposal)) = judged.filter(|_| said.is_empty()) else {
        return said;
    };
    let mut words = approvals_in_words(approved);
    words.extend(approvals_gate(approved, planned.settings.commands.prefix.as_str()).map(|gate| gate.why));
    // The description names who approved, the check what is missing; why somebody does not count is said here alone.
    let counts = approved.counted.iter().any(|one| one.by.eq_ignore_ascii_case(&request.by));
    let say = if counts { shown } else { about };
    say(proposal.target.path(), &words.join(" "))
}

/// What is said to who asked for a release, and of which proposals.
fn asked_text(
    (request, command): (&Request, &Command),
    at: usize,
    planned: Planned<'_>,
    outcome: &Outcome,
) -> (Answer, Vec<ProposalId>) {
    if let Some(refused) = planned.decided.answer(request, at) {
        return (refused.clone(), Vec::new());
    }
    let proposals = planned.facts.proposals_of(planned.scopes, request, command);
    if proposals.is_empty() {
        let text = "Name the cluster: this pull request is not a proposal for one.\n";
        return (Answer::refused(Refusal::NothingThere, text), proposals);
    }
    (texts(&proposals, planned, outcome), proposals)
}

/// What was decided, and what became of the proposal with it.
fn decided_text(
    request: &Request,
    (at, command): (usize, &Command),
    planned: Planned<'_>,
    outcome: &Outcome,
) -> Answer {
    let mut answer = planned.decided.answer(request, at).cloned().unwrap_or_default();
    for proposal in planned.facts.proposals_of(planned.scopes, request, command) {
        // That it is held or skipped is what was answered; that it is offered shows the pull request itself.
        let is_new = |one: &&ProposalOutcome| match one.state {
            ProposalState::Held | ProposalState::Proposed => false,
            ProposalState::Declined => command.verb() != Verb::Skip || answer.is_empty(),
            ProposalState::Blocked
            | ProposalState::Refused
            | ProposalState::Edited
            | ProposalState::Unplannable
            | ProposalState::Unknown
            | ProposalState::Failed
            | ProposalState::Approved
            | ProposalState::Paused
            | ProposalState::Waiting
            | ProposalState::Observed
            | ProposalState::Reverted
            | ProposalState::Pinned
            | ProposalState::Gone
            | ProposalState::Current => true,
        };
        if let Some(one) = outcome.proposals.get(&proposal).filter(is_new) {
            let why = capstan_report::markdown::prose(&one.why, 900);
            let why = Refusal::State.after(&format!("{why}\n"));
            answer = answer.and(if is_remarked(one.state) { Answer::shown(why) } else { Answer::told(why) });
        }
    }
    answer
}

fn own_proposal_text(
    (request, command): (&Request, &Command),
    planned: Planned<'_>,
    outcome: &Outcome,
) -> Answer {
    let mut proposals = planned.facts.proposals_of(planned.scopes, request, command);
    if proposals.is_empty() {
        // Of a shared one whose record somebody took out it is known now whose changes it brings.
        let id = planned.facts.carrier_of(request).filter(|id| outcome.carried.contains_key(id));
        proposals = id.map(|id| outcome.members_of(planned.facts, &id)).unwrap_or_default();
    }
    if proposals.is_empty() {
        return no_proposal();
    }
    let answer = texts(&proposals, planned, outcome);
    // That nothing is open then is what was asked for.
    match command.verb() {
        Verb::Replan => answer,
        Verb::Skip if proposals.iter().all(|one| is_declined(one, outcome)) => Answer::shown(answer.text()),
        _ => Answer::told(answer.text()),
    }
}

/// What became of proposals, each with its pull request.
fn texts(proposals: &[ProposalId], planned: Planned<'_>, outcome: &Outcome) -> Answer {
    let answer: Answer =
        proposals.iter().take(MAX_STATUSES).map(|one| proposal_text(one, planned, outcome)).collect();
    answer.and(more_clusters(proposals.len().saturating_sub(MAX_STATUSES), ""))
}

/// That of some clusters nothing is said, and `where_to` see them.
fn more_clusters(left: usize, where_to: &str) -> Answer {
    if left == 0 {
        Answer::default()
    } else {
        Answer::told(format!("… and {}{where_to}.\n", count(left, "more cluster", "more clusters")))
    }
}

/// What became of a proposal, with its pull request.
fn proposal_text(proposal: &ProposalId, planned: Planned<'_>, outcome: &Outcome) -> Answer {
    let target = proposal.target.path();
    match outcome.proposals.get(proposal) {
        Some(one) => {
            let link = one.pull.map_or_else(String::new, |number| format!("\nSee #{number}.\n"));
            let answer = standing_answer(target, one.state, &one.why).with(&link);
            if one.state == ProposalState::Proposed { Answer::shown(answer.text()) } else { answer }
        }
        None => refused(target, &planned.missing(proposal), Refusal::NothingThere),
    }
}

/// Whether the check of the pull request says why it is left as it is.
const fn is_remarked(state: ProposalState) -> bool {
    match state {
        ProposalState::Blocked
        | ProposalState::Edited
        | ProposalState::Unplannable
        | ProposalState::Approved
        | ProposalState::Paused => true,
        ProposalState::Refused
        | ProposalState::Unknown
        | ProposalState::Failed
        | ProposalState::Proposed
        | ProposalState::Waiting
        | ProposalState::Observed
        | ProposalState::Held
        | ProposalState::Declined
        | ProposalState::Reverted
        | ProposalState::Pinned
        | ProposalState::Gone
        | ProposalState::Current => false,
    }
}

/// Whether a proposal was closed, and its description says why.
fn is_declined(proposal: &ProposalId, outcome: &Outcome) -> bool {
    outcome.proposals.get(proposal).is_some_and(|one| one.state == ProposalState::Declined)
}

/// What a person should know of a plan besides.
fn notes(proposal: &ProposalId, planned: Planned<'_>) -> String {
    let Some(Ok(upgrade)) = planned.plans.get(proposal) else { return String::new() };
    let notes = upgrade.notes.iter().take(10);
    notes.map(|note| format!("\n{}\n", capstan_report::markdown::prose(note, 900))).collect()
}

fn written(prefix: &CommandPrefix, verb: Verb) -> String {
    format!("{prefix} {}", verb.word())
}

fn no_proposal() -> Answer {
    Answer::refused(
        Refusal::NothingThere,
        "This pull request is not one of Capstan's proposals, so there is nothing to replan. Its check `capstan` shows how it changes clusters.\n",
    )
}

fn no_open_proposal() -> Answer {
    let text = "This pull request is not one of Capstan's open proposals: merge it as usual.\n";
    Answer::refused(Refusal::NothingThere, text)
}

/// For a command that means a head which its author had not seen.
fn moved_text(request: &Request, command: &str) -> Answer {
    match (&request.moved, &request.pull) {
        (Some(moved), Some(pull)) => moved_refusal(command, &moved.branch, &pull.head, &moved.pushes),
        _ => refusal(command),
    }
}

/// For a command that is not carried out because of what its author had not seen.
fn unseen_text(request: &Request, command: &str) -> Answer {
    match &request.unseen {
        Some(unseen) if !unseen.pushes.is_empty() => unseen_refusal(command, &unseen.branch, &unseen.pushes),
        Some(unseen) => untold_refusal(command, &unseen.branch),
        None => refusal(command),
    }
}

fn one_plan(proposal: &ProposalId, planned: Planned<'_>, prefix: &CommandPrefix, plans: usize) -> Answer {
    let target = proposal.target.path();
    let Some(plan) = planned.plans.get(proposal) else {
        return refused(target, &planned.missing(proposal), Refusal::NothingThere);
    };
    match (wanted(&proposal.kind, plan), plan) {
        (Wanted::Offer(offer), Ok(upgrade)) => plan_answer(
            &Proposal {
                upgrade,
                source: &offer.source,
                plan: &offer.plan,
                origin: None,
                command_prefix: prefix.as_str(),
                retarget: planned.retarget_of(proposal),
                decisions: &planned.decided.of(proposal),
                drafted: Drafted::No,
                reporter: None,
                sidebar: &SidebarStanding::default(),
                previous: &[],
            },
            plans,
        ),
        (Wanted::Blocked { why }, _) => {
            let why = format!("the upgrade is blocked. {}", why.join(" "));
            refused(target, &why, Refusal::Blocked)
        }
        (Wanted::Nothing { why, rest }, _) => standing_answer(target, rest.into(), &why),
        (Wanted::Unplannable { why }, _) => refused(target, &why, Refusal::State),
        (Wanted::Offer(_), Err(why)) => refused(target, why, Refusal::State),
    }
}

fn one_retarget(proposal: &ProposalId, planned: Planned<'_>, outcome: &Outcome) -> Answer {
    let target = proposal.target.path();
    let Some(one) = outcome.proposals.get(proposal) else {
        return refused(target, &planned.missing(proposal), Refusal::NothingThere);
    };
    let scope = planned.scopes.get(&proposal.target);
    let edited = scope.zip(planned.plans.get(proposal)).and_then(|(scope, plan)| {
        let files = &plan.as_ref().ok()?.files;
        files.iter().find(|file| file.path.is_in(&scope.overlay))
    });
    let overlay = match (edited, one.pull) {
        (Some(_), Some(_)) => {
            " Names in its overlay follow their templates; nothing else in its overlay changes."
        }
        (None, _) => " Its overlay does not change.",
        (Some(_), None) => "",
    };
    let link = one.pull.map_or_else(String::new, |number| format!("\nSee #{number}.\n"));
    let answer = standing_answer(target, one.state, &format!("{}{overlay}", one.why)).with(&link);
    // The description shows which files of the overlay are edited; that none is shows nowhere.
    if edited.is_some() && one.pull.is_some() { Answer::shown(answer.text()) } else { answer }
}
