//! The context of a command, and how the command decides about one proposal after the other.

use std::collections::BTreeSet;

use capstan_plan::proposal::{Decisions, ProposalId};
use capstan_plan::settings::Mode;
use capstan_plan::upgrade::Upgrade;
use capstan_plan::verbs::Command;
use capstan_report::{Answer, Refusal, not_noted, refused};

use crate::facts::TargetPlans;
use crate::requests::{Ground, Noted, Request, RunDecisions};

/// The answer where there is no room for more.
const TOO_MUCH: &str =
    "Its description has no room for more decisions: edit the release or the cluster instead.";

/// A command of a request, with the facts and the decisions so far.
pub(super) struct CommandContext<'a> {
    /// What people decided so far.
    pub decided: &'a mut RunDecisions,
    /// The facts, targets and settings that it is judged by.
    pub ground: Ground<'a>,
    /// The plans, with what was decided so far.
    pub plans: &'a TargetPlans,
    pub request: &'a Request,
    /// Its place there.
    pub at: usize,
    pub command: &'a Command,
    /// Whether its pull request is a shared one that is no longer open.
    pub is_ended: bool,
    /// Proposals of which conflicts were settled: they are planned again.
    pub settled: &'a mut BTreeSet<ProposalId>,
}

/// Where a decision about a proposal is noted. `instead` says what people can do where there is no dashboard.
#[derive(Clone, Copy)]
pub(super) enum NotedIn {
    /// In its open pull request alone.
    PullRequest,
    /// In its open pull request; in the dashboard where a named cluster has none.
    Any { instead: &'static str },
    /// The same; but a named cluster leaves the pull request that it shares, and its decision is in the dashboard.
    Apart { instead: &'static str },
}

/// One of the proposals that a command decides about.
pub(super) struct Deciding<'g, 'a> {
    pub given: &'g mut CommandContext<'a>,
    pub proposal: &'g ProposalId,
}

impl<'a> CommandContext<'a> {
    /// The login of its author.
    pub(super) fn by(&self) -> &'a str {
        &self.request.by
    }

    /// What commands begin with here.
    pub(super) fn prefix(&self) -> &'a str {
        self.ground.settings.commands.prefix.as_str()
    }

    /// The proposals that it decides about.
    pub(super) fn those(&self) -> Vec<ProposalId> {
        self.ground.facts.decided_by(self.ground.scopes, self.request, self.command)
    }

    /// Whether it means one cluster: it names one, or is a box of one. On a shared pull request that has ended, a command
    /// is about each of its clusters.
    fn names(&self) -> bool {
        self.command.cluster().is_some() || self.request.is_tick() || self.is_ended
    }

    /// Notes its decision in the dashboard. The error is the answer where there is no dashboard.
    pub(super) fn note_in_dashboard(&mut self, instead: &'static str) -> Result<(), Answer> {
        if let Some(why) = self.decided.why_no_dashboard() {
            let written = format!("{} {}", self.prefix(), self.command.verb().word());
            return Err(not_noted(&written, why, instead));
        }
        self.decided.note_in_dashboard((self.request.id(), self.at), instead);
        Ok(())
    }

    /// Decides about each of these proposals, and returns the answers.
    pub(super) fn decide_each(
        &mut self,
        those: &[ProposalId],
        noted: NotedIn,
        decide: impl Fn(&mut Deciding<'_, 'a>) -> Answer,
    ) -> Answer {
        if self.ground.settings.mode == Mode::Observe {
            let answer = "The settings say `mode: observe`: there are no proposals to decide about.\n";
            return Answer::refused(Refusal::Observed, answer);
        }
        if those.is_empty() {
            return no_open_proposal();
        }
        those.iter().map(|proposal| self.decide_one(proposal, noted, &decide)).collect()
    }

    fn decide_one(
        &mut self,
        proposal: &ProposalId,
        noted: NotedIn,
        decide: &impl Fn(&mut Deciding<'_, 'a>) -> Answer,
    ) -> Answer {
        let facts = self.ground.facts;
        let names = self.names();
        let carrier = facts.carrier(proposal);
        if names && !self.plans.contains_key(proposal) && proposal.target.group().is_none() {
            let why = "there is no such cluster on the default branch.";
            return refused(proposal.target.path(), why, Refusal::NothingThere);
        }
        let leaves = carrier.is_some_and(|id| id.target.group().is_some() && facts.members_of(id).len() > 1);
        let in_dashboard = match noted {
            NotedIn::Apart { instead } if names && (leaves || carrier.is_none()) => Some(instead),
            NotedIn::Any { instead } if names && carrier.is_none() => Some(instead),
            _ if carrier.is_some() => None,
            _ => return no_open_proposal(),
        };
        if let Some(Err(answer)) = in_dashboard.map(|instead| self.note_in_dashboard(instead)) {
            return answer;
        }
        let before = self.decided.of(proposal);
        let answer = decide(&mut Deciding { given: &mut *self, proposal });
        let replans = before.settled != self.decided.of(proposal).settled;
        match self.decided.note(facts, proposal, before) {
            Noted::Yes => {
                self.settled.extend(replans.then(|| proposal.clone()));
                answer
            }
            Noted::TooMuch => refused(proposal.target.path(), TOO_MUCH, Refusal::NotNoted),
        }
    }
}

impl<'g, 'a> Deciding<'g, 'a> {
    /// The target's path.
    pub(super) fn target(&self) -> &'g str {
        self.proposal.target.path()
    }

    /// What is decided of it.
    pub(super) fn decisions(&mut self) -> &mut Decisions {
        self.given.decided.entry(self.proposal)
    }

    /// The upgrade that is planned for it.
    pub(super) fn upgrade(&self) -> Option<&'a Upgrade> {
        self.given.plans.get(self.proposal)?.as_ref().ok().map(AsRef::as_ref)
    }
}

fn no_open_proposal() -> Answer {
    Answer::refused(
        Refusal::NothingThere,
        "This pull request is not one of Capstan's open proposals, so there is nothing to decide here; `for CLUSTER` names another one.\n",
    )
}
