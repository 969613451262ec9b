//! From plans to proposals: facts of each, the decision, and its effects within the limits.

use std::collections::{BTreeMap, BTreeSet};

use capstan_model::finding::Finding;
use capstan_model::source::SourceKind;
use capstan_model::tree::CommitId;
use capstan_plan::campaign::{Load, select};
use capstan_plan::proposal::{
    Action, BranchStep, Closer, Command, Facts, Mergeable, Offer, ProposalId, Pull, PullState, Reviewed,
    Scope, Standing, Wanted, decide, wanted,
};
use capstan_plan::settings::{Mode, RepositorySettings};
use capstan_plan::upgrade::Retarget;
use capstan_report::{Block, ClosedBy};

use super::answers::Request;
use super::outcome::{Outcome, ProposalState, Wrote};
use super::publish::{Intent, Published};
use super::{Plans, Run, Scopes, SyncError};
use crate::app::ports::{CodeHostError, PullRequest, PullRequestState, ReviewDecision};

/// What was decided about a proposal.
struct Decided {
    wanted: Wanted,
    action: Action,
    command: Command,
}

impl Run<'_> {
    pub(super) async fn bring_proposals_up(
        &mut self,
        settings: &RepositorySettings,
        scopes: &Scopes,
        plans: &Plans,
        requests: &[Request],
        retarget: &BTreeSet<ProposalId>,
    ) -> Result<Outcome, SyncError> {
        let asked = requests.iter().filter_map(Request::replans);
        let mut replan: BTreeSet<ProposalId> =
            asked.filter_map(|pull| self.facts.proposal_of(pull)).collect();
        // Whoever asks for names to follow wants the upgrade now, whether or not it was offered before; an
        // open proposal keeps what people wrote on it.
        replan.extend(retarget.iter().filter(|proposal| !self.is_open(proposal)).cloned());
        let mut outcome = Outcome { sources: offered(&self.facts.kinds, plans), ..Outcome::default() };
        let mut decided = BTreeMap::new();
        for (proposal, wanted) in self.wanted(plans) {
            let command = if replan.contains(&proposal) { Command::Replan } else { Command::None };
            match self.decide_one(&proposal, &wanted, command).await {
                Ok(action) => {
                    decided.insert(proposal, Decided { wanted, action, command });
                }
                Err(error) => {
                    let state = self.unless_gone(&proposal, error).await?;
                    outcome.proposals.insert(proposal, state);
                }
            }
        }
        let held = self.held_by_rollouts(&decided).await?;
        for (proposal, why) in &held {
            outcome.proposals.insert(proposal.clone(), ProposalState::new("waiting", why.clone()));
        }
        let turn = self.choose(settings, &decided, &held, &mut outcome);
        for proposal in turn {
            let Some(decided) = decided.get(&proposal) else { continue };
            let state = if settings.mode == Mode::Observe && !matches!(decided.action, Action::Leave(_)) {
                let why =
                    "The settings say `mode: observe`: no branch or pull request is written.".to_owned();
                ProposalState::new("observed", why)
            } else {
                match self.carry_out(settings, scopes, plans, &proposal, decided, &mut outcome).await {
                    Ok(state) => state,
                    Err(error) => self.unless_gone(&proposal, error).await?,
                }
            };
            outcome.proposals.insert(proposal, state);
        }
        Ok(outcome)
    }

    /// What is said of a proposal whose open pull request has gone meanwhile: nothing failed then. Any other error
    /// stays one.
    async fn unless_gone(
        &mut self,
        proposal: &ProposalId,
        error: SyncError,
    ) -> Result<ProposalState, SyncError> {
        let open = self.open_proposal(proposal).map(|pull| pull.number);
        match (&error, open) {
            (SyncError::Host(CodeHostError::NotFound { .. }), Some(number))
                if self.is_gone(number).await? =>
            {
                tracing::info!(repository = %self.repository.name, cluster = %proposal, pull_request = number, "the pull request is gone");
                self.look_again();
                let why = format!("#{number} is gone: the cluster is looked at again.");
                Ok(ProposalState::new("waiting", why))
            }
            _ => Err(error),
        }
    }

    /// Proposals whose cluster's next step waits for its machines. Whoever asks by command need not wait.
    async fn held_by_rollouts(
        &self,
        decided: &BTreeMap<ProposalId, Decided>,
    ) -> Result<BTreeMap<ProposalId, String>, SyncError> {
        let mut held = BTreeMap::new();
        for (proposal, one) in decided {
            let opens = matches!(one.action, Action::Open { .. }) && one.command == Command::None;
            if opens
                && let Some(cluster) = proposal.target.cluster()
                && let Some(why) = self.awaits_rollout(cluster).await?
            {
                held.insert(proposal.clone(), why);
            }
        }
        Ok(held)
    }

    fn is_open(&self, proposal: &ProposalId) -> bool {
        self.open_proposal(proposal).is_some()
    }

    /// The pull request of a proposal that was open when the run began.
    fn open_proposal(&self, proposal: &ProposalId) -> Option<&PullRequest> {
        let mut pulls = self.facts.proposals.get(proposal)?.iter();
        pulls.find(|pull| pull.state == PullRequestState::Open)
    }

    /// Whether a proposal may edit names of templates in its cluster's overlay.
    pub(super) fn retarget_of(&self, proposal: &ProposalId) -> Retarget {
        if self.retargeted.contains(proposal) { Retarget::Allowed } else { Retarget::Refused }
    }

    /// The open proposals that were made under `retarget`.
    pub(super) fn retargeted_before(&self) -> Vec<ProposalId> {
        let mut proposals = Vec::new();
        for (proposal, pulls) in &self.facts.proposals {
            let allowed = pulls.iter().filter(|pull| pull.state == PullRequestState::Open).any(|pull| {
                let block = Block::read(&pull.body, &self.ports.key, self.repository.id, proposal);
                block.is_some_and(|block| block.retarget == Retarget::Allowed)
            });
            if allowed {
                proposals.push(proposal.clone());
            }
        }
        proposals
    }

    /// What is wanted of every proposal, and of every open one whose target is gone.
    fn wanted(&self, plans: &Plans) -> BTreeMap<ProposalId, Wanted> {
        let mut all: BTreeMap<ProposalId, Wanted> =
            plans.iter().map(|(id, plan)| (id.clone(), wanted(&id.kind, plan))).collect();
        for (proposal, pulls) in &self.facts.proposals {
            if pulls.iter().any(|pull| pull.state == PullRequestState::Open) {
                all.entry(proposal.clone()).or_insert_with(|| Wanted::Nothing {
                    why: "The base branch has no such cluster any more.".to_owned(),
                });
            }
        }
        all
    }

    /// Decides one proposal; what costs a call is asked only where it can change the decision.
    async fn decide_one(
        &self,
        proposal: &ProposalId,
        wanted: &Wanted,
        command: Command,
    ) -> Result<Action, SyncError> {
        let none = Vec::new();
        let pulls = self.facts.proposals.get(proposal).unwrap_or(&none);
        let mut facts = Facts {
            wanted: wanted.clone(),
            branch: None,
            pulls: self.pull_facts(proposal, pulls).await?,
            command,
        };
        let open = pulls.iter().any(|pull| pull.state == PullRequestState::Open);
        if open || matches!(wanted, Wanted::Offer(_)) {
            facts.branch = self.branch_facts(proposal, pulls).await?;
        }
        let mut action = decide(&facts);
        let Some(open) = pulls.iter().find(|pull| pull.state == PullRequestState::Open) else {
            return Ok(action);
        };
        let keeps = matches!(action, Action::Update { branch: BranchStep::Keep, .. });
        if keeps && !self.stands_on_tip(&open.head).await? {
            let now = self.ports.host.pull_request(self.repository, open.number).await?;
            if now.mergeable == Some(false) {
                set_state(&mut facts, open.number, Reviewed::Not, Mergeable::Conflicts);
                action = decide(&facts);
            }
        }
        let touches =
            matches!(action, Action::Close { .. } | Action::Update { branch: BranchStep::Move { .. }, .. });
        if touches && command == Command::None {
            let state = self.ports.host.merge_queue_state(self.repository, open).await?;
            let reviewed = if state.queued {
                Reviewed::Queued
            } else if state.auto_merge {
                Reviewed::AutoMerge
            } else if state.review == ReviewDecision::Approved {
                Reviewed::Approved
            } else {
                Reviewed::Not
            };
            let mergeable = if reviewed == Reviewed::Not {
                Mergeable::PerhapsYes
            } else {
                let now = self.ports.host.pull_request(self.repository, open.number).await?;
                if now.mergeable == Some(false) { Mergeable::Conflicts } else { Mergeable::PerhapsYes }
            };
            if reviewed != Reviewed::Not {
                set_state(&mut facts, open.number, reviewed, mergeable);
                action = decide(&facts);
            }
        }
        Ok(action)
    }

    /// Whether a head needs no merge: what it conflicts with cannot be.
    async fn stands_on_tip(&self, head: &CommitId) -> Result<bool, SyncError> {
        let head = self.snapshot(head).await?;
        Ok(head.is_some_and(|head| head.parents.contains(&self.facts.base.commit)))
    }

    async fn pull_facts(&self, proposal: &ProposalId, pulls: &[PullRequest]) -> Result<Vec<Pull>, SyncError> {
        let mut facts = Vec::new();
        for (index, pull) in pulls.iter().enumerate() {
            let block = Block::read(&pull.body, &self.ports.key, self.repository.id, proposal);
            let state = match pull.state {
                PullRequestState::Open => {
                    PullState::Open { reviewed: Reviewed::Not, mergeable: Mergeable::PerhapsYes }
                }
                PullRequestState::Merged => PullState::Merged,
                PullRequestState::Closed => {
                    PullState::Closed(match block.as_ref().and_then(|block| block.closed_by) {
                        Some(ClosedBy::Capstan) => Closer::Capstan,
                        None => Closer::Person,
                    })
                }
            };
            // A body can be written after the end, by a run that had not heard of it; the head cannot.
            let ended = index == 0 && pull.state != PullRequestState::Open;
            let of_head = if ended { self.source_of_commit(&pull.head).await? } else { None };
            let source = of_head.or_else(|| block.map(|block| block.source));
            facts.push(Pull { number: pull.number, state, head: pull.head.clone(), source });
        }
        Ok(facts)
    }

    /// Whose turn it is: those with something open, then new ones within the limits, in their order.
    fn choose(
        &self,
        settings: &RepositorySettings,
        decided: &BTreeMap<ProposalId, Decided>,
        held: &BTreeMap<ProposalId, String>,
        outcome: &mut Outcome,
    ) -> Vec<ProposalId> {
        let opens = |decided: &Decided| matches!(decided.action, Action::Open { .. });
        let mut turn: Vec<ProposalId> = decided
            .iter()
            .filter(|(_, one)| !opens(one) || one.command == Command::Replan)
            .map(|(proposal, _)| proposal.clone())
            .collect();
        let candidates: Vec<ProposalId> = decided
            .iter()
            .filter(|(proposal, one)| {
                opens(one) && one.command == Command::None && !held.contains_key(*proposal)
            })
            .map(|(proposal, _)| proposal.clone())
            .collect();
        if settings.mode == Mode::Observe {
            turn.extend(candidates);
            return turn;
        }
        let closing = decided.values().filter(|one| matches!(one.action, Action::Close { .. })).count();
        let asked = decided.values().filter(|one| opens(one) && one.command == Command::Replan).count();
        let hour_ago = self.ports.clock.now() - jiff::SignedDuration::from_hours(1);
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let load = Load {
            open: count((self.facts.open_proposals() + asked).saturating_sub(closing)),
            opened_last_hour: count(self.facts.opened_since(hour_ago) + asked),
        };
        let selection = select(candidates, &settings.upgrade.proposals, load);
        for waiting in selection.waiting {
            outcome.proposals.insert(waiting.proposal, ProposalState::new("waiting", waiting.why));
        }
        turn.extend(selection.now);
        turn
    }

    async fn carry_out(
        &mut self,
        settings: &RepositorySettings,
        scopes: &Scopes,
        plans: &Plans,
        proposal: &ProposalId,
        decided: &Decided,
        outcome: &mut Outcome,
    ) -> Result<ProposalState, SyncError> {
        let (number, branch) = match &decided.action {
            Action::Leave(standing) => return Ok(leave(&proposal.kind, standing, settings, outcome)),
            Action::Close { pull, why } => {
                if let Some(pull) = self.pull(proposal, *pull) {
                    self.close(proposal, pull, why).await?;
                    outcome.wrote = Wrote::PullRequests;
                }
                return Ok(ProposalState::new("closed", why.clone()));
            }
            Action::Open { branch } => (None, branch.clone()),
            Action::Update { pull, branch } => (Some(*pull), branch.clone()),
        };
        let (Wanted::Offer(offer), Some(Ok(upgrade)), Some(scope)) =
            (&decided.wanted, plans.get(proposal), scopes.get(&proposal.target))
        else {
            return Ok(ProposalState::new("failed", "There is no plan to publish."));
        };
        let scope = Scope { retarget: self.retarget_of(proposal), ..scope.clone() };
        let intent = Intent {
            proposal,
            scope: &scope,
            upgrade,
            offer,
            branch,
            pull: number.and_then(|number| self.pull(proposal, number)),
            command_prefix: settings.commands.prefix.as_str(),
        };
        match self.publish(&intent).await {
            Ok(published) => {
                self.published(proposal, offer, upgrade.findings.clone(), published, outcome).await
            }
            // One proposal's trouble is not its neighbours': the run goes on, and fails at its end.
            Err(error @ (SyncError::Outside(_) | SyncError::Host(CodeHostError::Unexpected { .. }))) => {
                tracing::error!(repository = %self.repository.name, cluster = %proposal, error = %error, "the proposal could not be published");
                let why = error.to_string();
                self.failure.get_or_insert(error);
                Ok(ProposalState::new("failed", why))
            }
            Err(error) => Err(error),
        }
    }

    async fn published(
        &mut self,
        proposal: &ProposalId,
        offer: &Offer,
        findings: Vec<Finding>,
        published: Published,
        outcome: &mut Outcome,
    ) -> Result<ProposalState, SyncError> {
        let (number, verb) = match published {
            Published::Opened(number) => (number, "opened"),
            Published::Updated(number) => (number, "brought up to date"),
            Published::Unchanged(number) => (number, "as it should be"),
            Published::Refused(why) => {
                tracing::warn!(repository = %self.repository.name, cluster = %proposal, reason = why, "GitHub refuses the proposal");
                self.audit(proposal, "proposal-refused", why.clone()).await?;
                return Ok(ProposalState::new("refused", why));
            }
            Published::Overtaken => {
                self.look_again();
                let why = "Somebody wrote the branch meanwhile: it is looked at again.".to_owned();
                return Ok(ProposalState::new("waiting", why));
            }
        };
        if verb != "as it should be" {
            outcome.wrote = Wrote::PullRequests;
            tracing::info!(repository = %self.repository.name, cluster = %proposal, pull_request = number, source = %offer.source, "pull request {verb}");
        }
        outcome.remarks.entry(number).or_default().findings = findings;
        let why = format!("#{number} offers `{}`.", offer.source.source());
        Ok(ProposalState { word: "proposed", why, pull: Some(number) })
    }

    fn pull(&self, proposal: &ProposalId, number: u64) -> Option<&PullRequest> {
        self.facts.proposals.get(proposal)?.iter().find(|pull| pull.number == number)
    }
}

fn set_state(facts: &mut Facts, number: u64, reviewed: Reviewed, mergeable: Mergeable) {
    for pull in facts.pulls.iter_mut().filter(|pull| pull.number == number) {
        pull.state = PullState::Open { reviewed, mergeable };
    }
}

/// The sources that the plans offer, in a line for each kind.
fn offered(kinds: &[SourceKind], plans: &Plans) -> BTreeMap<SourceKind, String> {
    let mut sources: BTreeMap<SourceKind, BTreeSet<String>> =
        kinds.iter().map(|kind| (kind.clone(), BTreeSet::new())).collect();
    for (proposal, plan) in plans {
        let to = plan.iter().filter_map(|upgrade| upgrade.to.as_ref());
        sources.entry(proposal.kind.clone()).or_default().extend(to.map(ToString::to_string));
    }
    let in_a_line = |sources: BTreeSet<String>| sources.into_iter().collect::<Vec<_>>().join(", ");
    sources.into_iter().map(|(kind, sources)| (kind, in_a_line(sources))).collect()
}

fn leave(
    kind: &SourceKind,
    standing: &Standing,
    settings: &RepositorySettings,
    outcome: &mut Outcome,
) -> ProposalState {
    let prefix = settings.commands.prefix.as_str();
    let (word, why, pull) = match standing {
        Standing::NothingOffered { why } => ("current", why.clone(), None),
        Standing::Blocked { pull, why } => {
            if let Some(number) = pull {
                outcome.remarks.entry(*number).or_default().blocked = why.clone();
            }
            ("blocked", why.join(" "), None)
        }
        Standing::Unplannable { pull, why } => {
            ("unplannable", format!("The cluster cannot be planned: {why}"), *pull)
        }
        Standing::Waits { pull, reviewed, newer } => {
            ("approved", waits(*reviewed, newer.as_ref()), Some(*pull))
        }
        Standing::Edited { pull } => (
            "edited",
            format!(
                "The branch holds a person's work, so Capstan leaves it alone. `{prefix} replan` on the pull request writes it anew."
            ),
            *pull,
        ),
        Standing::Declined { pull } => (
            "declined",
            format!(
                "#{pull} was closed by a person: this {kind} is not offered again. `{prefix} replan` there offers it, and so does a newer {kind}."
            ),
            None,
        ),
        Standing::Merged { pull } => (
            "merged",
            format!(
                "#{pull} was merged and its content is not on the base branch any more: `{prefix} replan` there offers it again."
            ),
            None,
        ),
    };
    if let Some(number) = pull {
        outcome.remarks.entry(number).or_default().notes.push(why.clone());
    }
    ProposalState::new(word, why)
}

fn waits(reviewed: Reviewed, newer: Option<&capstan_plan::proposal::SourceState>) -> String {
    let how = match reviewed {
        Reviewed::Queued => "in the merge queue",
        Reviewed::AutoMerge => "set to merge by itself",
        Reviewed::Approved | Reviewed::Not => "approved",
    };
    match newer {
        Some(newer) => format!(
            "The pull request is {how}, so its target stays: `{}` is offered once it is merged or closed.",
            newer.source()
        ),
        None => format!("The pull request is {how}, so it stays as it is."),
    }
}
