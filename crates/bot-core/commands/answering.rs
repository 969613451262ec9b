//! The context in which a command is answered, and the answers that several commands share.

use capstan_model::ids::ClusterId;
use capstan_model::wording::count;
use capstan_plan::proposal::ProposalId;
use capstan_plan::settings::CommandPrefix;
use capstan_plan::verbs::Command;
use capstan_report::markdown::prose;
use capstan_report::{Answer, ProposalState, Refusal, refused, standing_answer};

use crate::planned::PlannedRun;
use crate::proposals::{Outcome, ProposalOutcome};
use crate::requests::{DashboardWrite, Request};

/// Plans shown in one answer; a comment has no room for more.
pub(super) const MAX_PLANS: usize = 5;
/// Statuses shown in one answer.
pub(super) const MAX_STATUSES: usize = 20;

/// What answers are made from.
#[derive(Clone, Copy)]
pub struct AnswerContext<'a> {
    /// What is planned, and what people decided.
    pub planned: PlannedRun<'a>,
    /// What became of proposals.
    pub outcome: &'a Outcome,
    /// Whether the dashboard notes what was decided.
    pub kept: &'a DashboardWrite,
}

/// What has to be found out or done before an answer is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asks<'a> {
    /// Which proposals the pull request of the request concerns.
    Concerned,
    /// What GitHub refused of it is forgotten.
    Retry,
    /// What live clusters say to it.
    Preflight,
    /// The pull request that creates or destroys a cluster.
    Cluster(ClusterPullAsked<'a>),
    /// What a change of the inventory comes to is put on its branch.
    Render,
}

/// A pull request that creates or destroys a cluster, as a command asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClusterPullAsked<'a> {
    pub cluster: &'a ClusterId,
    /// Why, in a person's words.
    pub reason: Option<&'a str>,
    /// What explains that it was not done.
    pub page: Refusal,
}

/// The proposals that the pull request of a request concerns, or the answer that says why they are unknown.
pub type Concerned = Result<Vec<ProposalId>, Answer>;

/// A command that was carried out and is answered.
pub(super) struct Answering<'a> {
    pub planned: PlannedRun<'a>,
    pub outcome: &'a Outcome,
    pub request: &'a Request,
    /// Its place in the request.
    pub at: usize,
    pub command: &'a Command,
    /// What was asked for with [`Asks::Concerned`].
    pub concerned: Option<&'a Concerned>,
}

/// How an answer about several proposals is put together.
pub(super) struct Each<'a> {
    /// Ends the sentence where there is no proposal.
    pub none: &'a str,
    /// How many proposals the answer names at most.
    pub most: usize,
    /// Ends the line that counts the others.
    pub more: &'a str,
}

impl<'a> Answering<'a> {
    /// What commands begin with here.
    pub(super) const fn prefix(&self) -> &'a CommandPrefix {
        &self.planned.settings.commands.prefix
    }

    /// The answer that the decision about the command gave.
    pub(super) fn said_at_once(&self) -> Answer {
        self.planned.decided.answer(self.request, self.at).cloned().unwrap_or_default()
    }

    /// The proposals that the command is about, as far as facts say without reading the pull request.
    pub(super) fn proposals(&self) -> Vec<ProposalId> {
        self.planned.facts.proposals_of(self.planned.scopes, self.request, self.command)
    }

    /// The answer about each proposal that the command concerns. `one` gets the number of proposals that the answer
    /// names.
    pub(super) fn of_each(
        &self,
        each: &Each<'_>,
        one: impl Fn(&ProposalId, usize) -> Answer,
    ) -> Result<Answer, Asks<'a>> {
        let proposals = match (self.command.cluster(), self.concerned) {
            (Some(_), _) => self.proposals(),
            (None, Some(Ok(proposals))) => proposals.clone(),
            (None, Some(Err(why))) => return Ok(why.clone()),
            (None, None) => return Err(Asks::Concerned),
        };
        if proposals.is_empty() {
            let text = format!("This pull request touches no cluster{}.\n", each.none);
            return Ok(Answer::refused(Refusal::NothingThere, &text));
        }
        let told = proposals.len().min(each.most);
        let answer: Answer = proposals.iter().take(told).map(|proposal| one(proposal, told)).collect();
        Ok(answer.and(more_clusters(proposals.len() - told, each.more)))
    }

    /// The answer to a decision, with the state of each proposal. A hold is the answer itself, and an offer shows on the
    /// pull request: these states are left out.
    pub(super) fn decided(&self) -> Answer {
        self.decided_but(&[ProposalState::Held, ProposalState::Proposed])
    }

    /// The same; these states are left out.
    pub(super) fn decided_but(&self, said: &[ProposalState]) -> Answer {
        let mut answer = self.said_at_once();
        for proposal in self.proposals() {
            let became = self.outcome.proposals.get(&proposal);
            if let Some(one) = became.filter(|one| !said.contains(&one.state)) {
                let why = Refusal::State.after(&format!("{}\n", prose(&one.why, 900)));
                answer =
                    answer.and(if is_remarked(one.state) { Answer::shown(why) } else { Answer::info(why) });
            }
        }
        answer
    }

    /// The proposals of the pull request with their states; a refusal where the pull request is not Capstan's.
    pub(super) fn own_proposals(&self) -> Result<(Vec<ProposalId>, Answer), Answer> {
        let mut proposals = self.proposals();
        if proposals.is_empty() {
            // Of a shared one whose record somebody took out it is known now whose changes it brings.
            let id = self.planned.facts.carrier_of(self.request);
            let id = id.filter(|id| self.outcome.carried.contains_key(id));
            proposals = id.map(|id| self.outcome.members_of(self.planned.facts, &id)).unwrap_or_default();
        }
        if proposals.is_empty() {
            return Err(Answer::refused(
                Refusal::NothingThere,
                "This pull request is not one of Capstan's proposals, so there is nothing to replan. Its check `capstan` shows how it changes clusters.\n",
            ));
        }
        let answer = self.texts(&proposals);
        Ok((proposals, answer))
    }

    /// The states of proposals, each with its pull request.
    pub(super) fn texts(&self, proposals: &[ProposalId]) -> Answer {
        let told = proposals.iter().take(MAX_STATUSES);
        let answer: Answer = told.map(|one| self.text_of(one)).collect();
        answer.and(more_clusters(proposals.len().saturating_sub(MAX_STATUSES), ""))
    }

    fn text_of(&self, proposal: &ProposalId) -> Answer {
        let Some(one) = self.outcome.proposals.get(proposal) else { return self.missing(proposal) };
        let answer = standing_answer(proposal.target.path(), one.state, &one.why).with(&link(one));
        if one.state == ProposalState::Proposed { Answer::shown(answer.text()) } else { answer }
    }

    /// What is said of a proposal of which nothing is planned.
    pub(super) fn missing(&self, proposal: &ProposalId) -> Answer {
        refused(proposal.target.path(), &self.planned.missing(proposal), Refusal::NothingThere)
    }
}

/// The line that leads to its pull request.
pub(super) fn link(one: &ProposalOutcome) -> String {
    one.pull.map_or_else(String::new, |number| format!("\nSee #{number}.\n"))
}

/// The line that counts the clusters that the answer leaves out; `where_to` says where they are.
fn more_clusters(left: usize, where_to: &str) -> Answer {
    if left == 0 {
        Answer::default()
    } else {
        Answer::info(format!("… and {}{where_to}.\n", count(left, "more cluster", "more clusters")))
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
