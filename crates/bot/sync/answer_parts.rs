//! What is said to each command of a request, in their order; how it is delivered is [`super::answers`]' matter.

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

use super::dashboard::Kept;
use super::decisions::instead_of;
use super::outcome::{JudgedProposal, Outcome, ProposalOutcome};
use super::request::Request;
use super::{Planned, Run, SyncError};

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

impl Run<'_> {
    /// What is said to each of its commands, in their order.
    pub(super) async fn parts(
        self,
        request: &Request,
        planned: Planned<'_>,
        outcome: &Outcome,
        kept: &Kept,
    ) -> Result<Vec<Answer>, SyncError> {
        let prefix = &planned.settings.commands.prefix;
        if request.hearing == Hearing::Edited {
            return Ok(request.commands.iter().map(|_| edited_refusal(prefix.as_str())).collect());
        }
        let carried_out: Vec<usize> = request.carried_out().map(|(at, _)| at).collect();
        let mut parts = Vec::new();
        for (at, command) in request.commands.iter().enumerate() {
            let command = match command {
                Ok(command) => command,
                Err(error) => {
                    parts.push(Answer::refused(Refusal::NotUnderstood, &error.answer(prefix)));
                    continue;
                }
            };
            if !carried_out.contains(&at) {
                let written = written(prefix, command.verb());
                parts.push(match request.denied.get(&at) {
                    Some(why) => denied(&written, why),
                    None if request.hearing != Hearing::Obeyed => refusal(&written),
                    None if command.verb().is_of_commit() => moved_text(request, &written),
                    None => unseen_text(request, &written),
                });
                continue;
            }
            if let Kept::Not(why) = kept
                && planned.decided.is_in_dashboard(request, at)
            {
                parts.push(not_noted(&written(prefix, command.verb()), why, instead_of(command.verb())));
                continue;
            }
            parts.push(match command {
                Command::Help => Answer::told(command::help(prefix)),
                Command::Plan(_) => {
                    let each = Each {
                        none: ", so there is nothing to plan",
                        most: MAX_PLANS,
                        more: ": `capstan plan` in a checkout shows what becomes of them",
                    };
                    let one = |proposal: &ProposalId, of: usize| one_plan(proposal, planned, prefix, of);
                    self.text_of_each((request, command), planned, each, one).await?
                }
                Command::Status(_) => {
                    let each = Each { none: "", most: MAX_STATUSES, more: "" };
                    let one = |proposal: &ProposalId, _| -> Answer {
                        let told = outcome.told_of(proposal);
                        told.iter().map(|one| self.one_status(one, planned, outcome)).collect()
                    };
                    let pause = planned.decided.pause().map(pause_in_words);
                    let pause = pause.map(|pause| {
                        Answer::told(format!("{}\n", capstan_report::markdown::prose(&pause, 600)))
                    });
                    let each = self.text_of_each((request, command), planned, each, one).await?;
                    pause.unwrap_or_default().and(each)
                }
                Command::Explain(Rule(rule)) => match policy::rule(rule.id()) {
                    Some(rule) => rule_answer(rule.about(), &planned.settings.severities()),
                    None => Answer::default(),
                },
                Command::Skip(OfCluster(cluster))
                    if cluster.is_some() || planned.decided.answer(request, at).is_some() =>
                {
                    self.decided_text(request, (at, command), planned, outcome)
                }
                Command::Replan | Command::Skip(_) | Command::Unskip(_) => {
                    self.own_proposal_text((request, command), planned, outcome)
                }
                Command::Upgrade(_) => self.asked_text((request, command), at, planned, outcome).0,
                Command::Rollback(_) => {
                    let (answer, proposals) = self.asked_text((request, command), at, planned, outcome);
                    let answer =
                        proposals.iter().fold(answer, |answer, one| answer.with(&notes(one, planned)));
                    // What stayed stands in no description.
                    answer.nowhere_else()
                }
                Command::Retarget(_) => {
                    let each = Each { none: ", so there is no overlay to edit", most: MAX_PLANS, more: "" };
                    let one = |proposal: &ProposalId, _| one_retarget(proposal, planned, outcome);
                    self.text_of_each((request, command), planned, each, one).await?
                }
                Command::Retry => self.retry(request).await?,
                Command::Preflight => self.preflight_text(request, planned).await?,
                Command::Create(_) | Command::Destroy(_) => self.cluster_text(request, at, planned).await?,
                Command::Render => self.render_text(request, planned).await?,
                Command::Approve(_) | Command::Unapprove => self.approval_text(request, at, planned, outcome),
                Command::Merge(_) => {
                    outcome.merges.get(&request.id()).cloned().unwrap_or_else(no_open_proposal)
                }
                Command::Keep(_)
                | Command::Take(_)
                | Command::Override(_)
                | Command::Hold(_)
                | Command::Unhold(_) => self.decided_text(request, (at, command), planned, outcome),
                Command::Pause(_) | Command::Resume | Command::Campaign(_) => {
                    planned.decided.answer(request, at).cloned().unwrap_or_default()
                }
            });
        }
        Ok(parts)
    }

    /// What is said of each proposal that the pull request of a request concerns; it is told of how many something is
    /// said.
    async fn text_of_each(
        self,
        (request, command): (&Request, &Command),
        planned: Planned<'_>,
        each: Each<'_>,
        one: impl Fn(&ProposalId, usize) -> Answer,
    ) -> Result<Answer, SyncError> {
        let proposals = match command.cluster() {
            Some(_) => self.proposals_of(request, command),
            None => match self.concerned_by(request, planned.scopes).await? {
                Ok(proposals) => proposals,
                Err(why) => return Ok(why),
            },
        };
        if proposals.is_empty() {
            let text = format!("This pull request touches no cluster{}.\n", each.none);
            return Ok(Answer::refused(Refusal::NothingThere, &text));
        }
        let told = proposals.len().min(each.most);
        let answer: Answer = proposals.iter().take(told).map(|proposal| one(proposal, told)).collect();
        Ok(answer.and(more_clusters(proposals.len() - told, each.more)))
    }

    fn one_status(&self, proposal: &ProposalId, planned: Planned<'_>, outcome: &Outcome) -> Answer {
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
            pull: self.facts.pull_of(proposal).map(|pull| pull.number),
            decisions: &planned.decided.of(proposal),
            approvals: &outcome
                .judged
                .get(self.facts.carrier(proposal).unwrap_or(proposal))
                .map(|judged| approvals_in_words(&judged.approved))
                .unwrap_or_default(),
        })
    }

    /// What an approval, or taking it back, came to.
    fn approval_text(&self, request: &Request, at: usize, planned: Planned<'_>, outcome: &Outcome) -> Answer {
        let said = planned.decided.answer(request, at).cloned().unwrap_or_default();
        let judged = self.carrier_of(request).and_then(|id| Some((outcome.judged.get(&id)?, id)));
        let Some((JudgedProposal { approved, .. }, proposal)) = judged.filter(|_| said.is_empty()) else {
            return said;
        };
        let mut words = approvals_in_words(approved);
        words
            .extend(approvals_gate(approved, planned.settings.commands.prefix.as_str()).map(|gate| gate.why));
        // The description names who approved, the check what is missing; why somebody does not count is said here alone.
        let counts = approved.counted.iter().any(|one| one.by.eq_ignore_ascii_case(&request.by));
        let say = if counts { shown } else { about };
        say(proposal.target.path(), &words.join(" "))
    }

    /// What is said to who asked for a release, and of which proposals.
    fn asked_text(
        &self,
        (request, command): (&Request, &Command),
        at: usize,
        planned: Planned<'_>,
        outcome: &Outcome,
    ) -> (Answer, Vec<ProposalId>) {
        if let Some(refused) = planned.decided.answer(request, at) {
            return (refused.clone(), Vec::new());
        }
        let proposals = self.proposals_of(request, command);
        if proposals.is_empty() {
            let text = "Name the cluster: this is no proposal of one.\n";
            return (Answer::refused(Refusal::NothingThere, text), proposals);
        }
        (texts(&proposals, planned, outcome), proposals)
    }

    /// Forgets what GitHub refused of a pull request: the next run tries it.
    async fn retry(self, request: &Request) -> Result<Answer, SyncError> {
        let head = request.pull.as_ref().map(|pull| pull.head.as_str());
        let refused = self.facts.refusals.of(self.carrier_of(request).as_ref(), head);
        for what in &refused {
            self.ports.records.forget_refused_write(self.repository.id, what).await?;
        }
        Ok(Answer::told(match refused.len() {
            0 => "GitHub has refused nothing of this pull request that is not tried again already.\n"
                .to_owned(),
            _ => format!("It is tried again now: {}.\n", refused.join(", ")),
        }))
    }

    /// What was decided, and what became of the proposal with it.
    fn decided_text(
        &self,
        request: &Request,
        (at, command): (usize, &Command),
        planned: Planned<'_>,
        outcome: &Outcome,
    ) -> Answer {
        let mut answer = planned.decided.answer(request, at).cloned().unwrap_or_default();
        for proposal in self.proposals_of(request, command) {
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
                answer =
                    answer.and(if is_remarked(one.state) { Answer::shown(why) } else { Answer::told(why) });
            }
        }
        answer
    }

    fn own_proposal_text(
        &self,
        (request, command): (&Request, &Command),
        planned: Planned<'_>,
        outcome: &Outcome,
    ) -> Answer {
        let mut proposals = self.proposals_of(request, command);
        if proposals.is_empty() {
            // Of a shared one whose record somebody took out it is known now whose changes it brings.
            let id = self.carrier_of(request).filter(|id| outcome.carried.contains_key(id));
            proposals = id.map(|id| outcome.members_of(self.facts, &id)).unwrap_or_default();
        }
        if proposals.is_empty() {
            return no_proposal();
        }
        let answer = texts(&proposals, planned, outcome);
        // That nothing is open then is what was asked for.
        match command.verb() {
            Verb::Replan => answer,
            Verb::Skip if proposals.iter().all(|one| is_declined(one, outcome)) => {
                Answer::shown(answer.text())
            }
            _ => Answer::told(answer.text()),
        }
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

/// Answers as one line of text, at most so many characters, for where no more stands. What is cut off leaves no code span
/// open.
pub(super) fn in_one_line(answers: &[Answer], most: usize) -> String {
    let texts: Vec<String> = answers.iter().map(Answer::text).collect();
    let words: Vec<&str> = texts.iter().flat_map(|text| text.split_whitespace()).collect();
    let line = words.join(" ");
    let Some((end, _)) = line.char_indices().nth(most) else { return line };
    let kept = line.get(..end).and_then(|cut| Some(cut.rsplit_once(' ')?.0)).unwrap_or_default();
    let open = kept.matches('`').count() % 2 == 1;
    let kept = if open { kept.rsplit_once('`').map_or(kept, |(before, _)| before) } else { kept };
    format!("{} …", kept.trim_end())
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
        "This pull request is not one of Capstan's proposals, so there is nothing to write anew. Its check `capstan` \
         shows what it does to clusters.\n",
    )
}

fn no_open_proposal() -> Answer {
    let text = "This pull request is not one of Capstan's open proposals: it is merged as usual.\n";
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
            " Names in its overlay follow their templates, and nothing else there is edited."
        }
        (None, _) => " Nothing in its overlay is edited.",
        (Some(_), None) => "",
    };
    let link = one.pull.map_or_else(String::new, |number| format!("\nSee #{number}.\n"));
    let answer = standing_answer(target, one.state, &format!("{}{overlay}", one.why)).with(&link);
    // The description shows which files of the overlay are edited; that none is shows nowhere.
    if edited.is_some() && one.pull.is_some() { Answer::shown(answer.text()) } else { answer }
}
