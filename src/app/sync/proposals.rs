//! From plans to proposals: facts of each, the decision, and its effects within the limits.

use std::collections::{BTreeMap, BTreeSet};

use capstan_model::rest::Rest;
use capstan_model::source::SourceKind;
use capstan_model::target::Target;
use capstan_model::wording::sentence;
use capstan_plan::campaign::{Candidate, Load, turn};
use capstan_plan::forecast::worst;
use capstan_plan::proposal::{
    Action, BranchStep, Closer, Command, Decisions, Draft, ProposalId, Scope, Skipped, Stage, Standing,
    Wanted, WhyLeftOut, wanted,
};
use capstan_plan::settings::{Mode, RepositorySettings};
use capstan_plan::upgrade::Retarget;
use capstan_report::{Block, BlockPart, Refusal, decisions_fingerprint, rest_in_a_word, standing_in_words};

use super::carriers::Arranged;
use super::deciding::{Decided, Earlier, plan_of};
use super::facts::part_id;
use super::intent::{Intent, Part};
use super::noting::now;
use super::outcome::{Outcome, ProposalState, Wrote};
use super::publish::Published;
use super::refusals::Write;
use super::{Ending, Planned, Plans, Run, SyncError};
use crate::app::ports::{CodeHostError, PullRequest};

fn refused_words(reason: &str, not_before: jiff::Timestamp) -> String {
    let minute = jiff::Timestamp::from_second(not_before.as_second() / 60 * 60).unwrap_or(not_before);
    format!("GitHub does not take it: {reason}. It is tried again after {minute}.")
}

impl Run<'_> {
    pub(super) async fn bring_proposals_up(self, planned: Planned<'_>) -> Result<Outcome, SyncError> {
        let Planned { settings, plans, .. } = planned;
        let mut outcome = Outcome { sources: offered(&self.facts.kinds, plans), ..Outcome::default() };
        let mut decided: BTreeMap<ProposalId, Decided> = BTreeMap::new();
        let wanted = self.wanted(planned);
        let Arranged { mut carriers, leaving, homes } = self.arrange(planned, &wanted).await?;
        let earlier = match self.earlier(&carriers, &wanted).await {
            // What is open goes on without it.
            Err(error) if error.is_of_one() => {
                tracing::warn!(repository = %self.repository.name, error = %error, "earlier pull requests cannot be found: nothing new is opened");
                let why = error.to_string();
                carriers.retain(|id, members| {
                    let opens = |member: &&ProposalId| self.may_join(id, member, &wanted);
                    let new: Vec<ProposalId> = members.iter().filter(opens).cloned().collect();
                    for member in &new {
                        let state = ProposalState::new("failed", why.clone());
                        outcome.proposals.insert(member.clone(), state);
                    }
                    members.retain(|member| !new.contains(member));
                    new.is_empty() || self.is_open(id)
                });
                outcome.ending.fail(error);
                Earlier::default()
            }
            earlier => earlier?,
        };
        for (id, members) in &carriers {
            match self.decide_carrier(planned, (id, members), &wanted, &earlier).await {
                Ok(one) => {
                    decided.insert(id.clone(), one);
                }
                Err(error) => {
                    let state = match self.unless_gone(id, error, &mut outcome.ending).await {
                        // What GitHub or Git does not tell of one is not its neighbours' trouble.
                        Err(error) if error.is_of_one() => {
                            tracing::warn!(repository = %self.repository.name, cluster = %id, error = %error, "the proposal cannot be decided");
                            let why = error.to_string();
                            outcome.ending.fail(error);
                            ProposalState::new("failed", why)
                        }
                        state => state?,
                    };
                    note(&mut outcome, members, &state);
                }
            }
        }
        let mut held = self.held_by_rollouts(planned, &decided).await?;
        for (id, why) in &held {
            note(&mut outcome, &decided[id].carried, &ProposalState::new("waiting", why.clone()));
        }
        for (id, why) in self.held_by_refusals(&decided) {
            note(&mut outcome, &decided[&id].carried, &ProposalState::new("refused", why.clone()));
            held.insert(id, why);
        }
        for (id, one) in &decided {
            for (member, why) in &one.left_out {
                let state = match why {
                    WhyLeftOut::Waits(why) => ProposalState::new("waiting", why.clone()),
                    WhyLeftOut::Stands(standing) => leave(&id.kind, standing, settings, &mut outcome),
                };
                outcome.proposals.insert(member.clone(), state);
            }
        }
        decided.retain(|id, one| !held.contains_key(id) || one.opens());
        let limits = (settings.mode != Mode::Observe).then_some(&settings.upgrade.proposals);
        let opens = decided.values().any(Decided::opens);
        let mut shown = if opens && limits.is_some() { self.load().await? } else { Load::default() };
        // What moves to another pull request makes room for it.
        shown.open = shown.open.saturating_sub(u32::try_from(leaving.len()).unwrap_or(u32::MAX));
        let candidates: Vec<Candidate<'_>> = decided
            .iter()
            .map(|(id, one)| Candidate {
                held: held.contains_key(id),
                carries: &one.carried,
                action: &one.action,
                command: one.command,
                proposal: id,
            })
            .collect();
        let selection = turn(&candidates, limits, shown);
        for waiting in selection.waiting {
            let Some(one) = decided.get(&waiting.proposal) else { continue };
            note(&mut outcome, &one.carried, &ProposalState::new("waiting", waiting.why));
        }
        for id in selection.now {
            let Some(decided) = decided.get(&id) else { continue };
            let state = if settings.mode == Mode::Observe && !matches!(decided.action, Action::Leave(_)) {
                let why =
                    "The settings say `mode: observe`: no branch or pull request is written.".to_owned();
                ProposalState::new("observed", why)
            } else {
                let state = self.carry_out(planned, &id, decided, &mut outcome).await;
                self.settled(&id, decided, state, &mut outcome.ending).await?
            };
            // Of one that nobody shares any more each has its own standing.
            note(&mut outcome, &decided.carried, &state);
        }
        self.let_go(planned, (&leaving, &homes), &wanted, &mut outcome).await?;
        self.remark(planned, &mut outcome);
        Ok(outcome)
    }

    /// Leaves for the checks of open pull requests which rules' errors pass, and how each stands.
    fn remark(&self, planned: Planned<'_>, outcome: &mut Outcome) {
        for (id, pull) in &self.facts.proposals {
            for member in outcome.members_of(self.facts, id) {
                let Some(upgrade) = plan_of(planned, &member) else { continue };
                let overrides = planned.decided.of(&member).still(upgrade, self.today).overrides;
                if !overrides.is_empty() {
                    let remarks = outcome.remarks.entry(pull.number).or_default();
                    remarks.overrides.insert(member.target, overrides);
                }
            }
        }
        if planned.settings.mode == Mode::Observe {
            return;
        }
        let Outcome { proposals, remarks, carried, .. } = outcome;
        for (proposal, state) in proposals {
            let stage = match state.word {
                "held" => Stage::Held,
                "paused" => Stage::Paused,
                "refused" => Stage::Refused,
                _ => Stage::Offered,
            };
            // Who stays out of a shared one says nothing of it.
            let brings = |id: &ProposalId| {
                let members = carried.get(id).cloned().unwrap_or_else(|| self.facts.members_of(id));
                members.contains(proposal)
            };
            let open = self.facts.carrier(proposal).filter(|id| brings(id));
            let open = open.and_then(|id| self.open_proposal(id)).map(|pull| pull.number);
            if let Some(number) = state.pull.or(open) {
                remarks.entry(number).or_default().stage = Some(stage);
            }
        }
    }

    /// What is said of a proposal whose open pull request has gone meanwhile: nothing failed then. Any other error
    /// stays one.
    async fn unless_gone(
        self,
        proposal: &ProposalId,
        error: SyncError,
        ending: &mut Ending,
    ) -> Result<ProposalState, SyncError> {
        let open = self.open_proposal(proposal).map(|pull| pull.number);
        match (&error, open) {
            (SyncError::Host(CodeHostError::NotFound { .. }), Some(number))
                if self.is_gone(number).await? =>
            {
                tracing::info!(repository = %self.repository.name, cluster = %proposal, pull_request = number, "the pull request is gone");
                ending.look_again();
                let why = format!("#{number} is gone: the cluster is looked at again.");
                Ok(ProposalState::new("waiting", why))
            }
            _ => Err(error),
        }
    }

    /// What became of a proposal that was written, or that GitHub does not take: that is its own trouble, and is
    /// remembered.
    async fn settled(
        self,
        proposal: &ProposalId,
        decided: &Decided,
        state: Result<ProposalState, SyncError>,
        ending: &mut Ending,
    ) -> Result<ProposalState, SyncError> {
        let Some(write) = decided.write(proposal) else { return state };
        match state {
            Ok(state) if state.word == "refused" => {
                let not_before = self.refused(&write, &state.why).await?;
                Ok(ProposalState { why: refused_words(&state.why, not_before), ..state })
            }
            Ok(state) => {
                self.taken(&write).await?;
                Ok(state)
            }
            Err(error) => match self.unless_gone(proposal, error, ending).await {
                Err(SyncError::Host(error)) if error.is_refusal() => {
                    let not_before = self.refused(&write, &error.to_string()).await?;
                    Ok(ProposalState::new("refused", refused_words(&error.to_string(), not_before)))
                }
                result => result,
            },
        }
    }

    /// Proposals whose cluster's next step waits for its machines. Whoever asks by command need not wait. Of those that
    /// share a pull request each was looked at by itself.
    async fn held_by_rollouts(
        self,
        planned: Planned<'_>,
        decided: &BTreeMap<ProposalId, Decided>,
    ) -> Result<BTreeMap<ProposalId, String>, SyncError> {
        let mut held = BTreeMap::new();
        for (proposal, one) in decided {
            if one.opens() && one.command == Command::None && proposal.target.group().is_none() {
                let why = self.rollout_of(planned, proposal).await?;
                held.extend(why.map(|why| (proposal.clone(), why)));
            }
        }
        Ok(held)
    }

    /// Proposals that GitHub refused to take a while ago. Whoever asks by command need not wait.
    fn held_by_refusals(self, decided: &BTreeMap<ProposalId, Decided>) -> BTreeMap<ProposalId, String> {
        let held =
            decided.iter().filter(|(_, one)| one.command == Command::None).filter_map(|(proposal, one)| {
                let refusal = self.refusal(&one.write(proposal)?)?;
                Some((proposal.clone(), refused_words(&refusal.reason, refusal.not_before)))
            });
        held.collect()
    }

    /// What counts against the limits.
    async fn load(self) -> Result<Load, SyncError> {
        let hour_ago = self.ports.clock.now() - jiff::SignedDuration::from_hours(1);
        let opened = self.ports.host.pull_requests_since(self.repository, hour_ago).await?;
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Ok(Load {
            open: count(self.facts.proposals.len()),
            opened_last_hour: count(self.facts.proposals_among(self.repository, &opened)),
        })
    }

    pub(super) fn is_open(&self, proposal: &ProposalId) -> bool {
        self.open_proposal(proposal).is_some()
    }

    /// The pull request of a proposal that was open when the run began.
    pub(super) fn open_proposal(&self, proposal: &ProposalId) -> Option<&PullRequest> {
        self.facts.proposals.get(proposal)
    }

    /// The open proposals that were made under `retarget`.
    pub(super) fn retargeted_before(&self) -> Vec<ProposalId> {
        let mut proposals = Vec::new();
        for (proposal, pull) in &self.facts.proposals {
            let allowed = |part: &&BlockPart| part.retarget == Retarget::Allowed;
            let parts = self.facts.parts_of(proposal).iter().filter(allowed);
            proposals.extend(parts.map(|part| part_id(proposal, part)));
            let block = Block::read(&pull.body, &self.ports.key, self.repository.id, pull.number, proposal);
            if block.is_some_and(|block| block.retarget == Retarget::Allowed) {
                proposals.push(proposal.clone());
            }
        }
        proposals
    }

    /// What is wanted of every proposal, and of every open one whose target or source is gone.
    fn wanted(&self, planned: Planned<'_>) -> BTreeMap<ProposalId, Wanted> {
        let mut all: BTreeMap<ProposalId, Wanted> =
            planned.plans.iter().map(|(id, plan)| (id.clone(), wanted(&id.kind, plan))).collect();
        for proposal in self.facts.proposals.keys().flat_map(|id| self.facts.members_of(id)) {
            let gone = || Wanted::Nothing { why: sentence(&planned.missing(&proposal)), rest: Rest::Gone };
            all.entry(proposal.clone()).or_insert_with(gone);
        }
        all
    }

    async fn carry_out(
        self,
        planned: Planned<'_>,
        proposal: &ProposalId,
        decided: &Decided,
        outcome: &mut Outcome,
    ) -> Result<ProposalState, SyncError> {
        let (number, branch) = match &decided.action {
            Action::Leave(standing) => {
                let refused =
                    self.keep_decisions(planned, proposal, (standing, &decided.wanted), outcome).await?;
                let left = leave(&proposal.kind, standing, planned.settings, outcome);
                return Ok(refused.unwrap_or(left));
            }
            Action::Close { pull, why, by, rest } => {
                if let Some(pull) = self.pull(proposal, *pull) {
                    let members = self.facts.members_of(proposal);
                    self.close((proposal, &members), pull, why, *by).await?;
                    outcome.wrote = Wrote::PullRequests;
                    if proposal.target.group().is_some() && *by == Closer::Capstan {
                        // What was decided about its clusters goes on without it.
                        outcome.superseded.insert(proposal.clone());
                    }
                }
                let word = match by {
                    Closer::Capstan => rest_in_a_word(*rest),
                    Closer::Person => "declined",
                };
                return Ok(ProposalState::new(word, why.clone()));
            }
            Action::Open { branch } => (None, branch.clone()),
            Action::Update { pull, branch } => (Some(*pull), branch.clone()),
        };
        let pull = number.and_then(|number| self.pull(proposal, number));
        let Some(intent) = self.intent(planned, proposal, decided, (branch, pull), outcome) else {
            return Ok(ProposalState::new("failed", "There is no plan to publish."));
        };
        match self.publish(&intent).await {
            Ok(published) => self.published(&intent, published, outcome).await,
            // One proposal's trouble is not its neighbours': the run goes on, and tells it at its end.
            Err(error @ SyncError::Outside(_)) => {
                tracing::error!(repository = %self.repository.name, cluster = %proposal, error = %error, "the proposal could not be published");
                let why = error.to_string();
                outcome.ending.fail(error);
                Ok(ProposalState::new("failed", why))
            }
            Err(error) => Err(error),
        }
    }

    /// What is published; `None` where one of those whose changes it brings has no plan.
    fn intent<'a>(
        &self,
        planned: Planned<'a>,
        proposal: &'a ProposalId,
        decided: &'a Decided,
        (branch, pull): (BranchStep, Option<&'a PullRequest>),
        outcome: &Outcome,
    ) -> Option<Intent<'a>> {
        let Wanted::Offer(offer) = &decided.wanted else { return None };
        let part = |member: &'a ProposalId| -> Option<Part<'a>> {
            let upgrade = plan_of(planned, member)?;
            let scope = planned.scopes.get(&member.target)?;
            let retarget = planned.retarget_of(member);
            Some(Part {
                proposal: member,
                scope: Scope { retarget, ..scope.clone() },
                upgrade,
                decisions: planned.decided.of(member).still(upgrade, self.today),
                reporter: member.target.cluster().and_then(|cluster| planned.reporters.name_for(cluster)),
            })
        };
        let mut parts: Vec<Part<'a>> = decided.carried.iter().map(part).collect::<Option<_>>()?;
        let order: Vec<&Target> = worst(parts.iter().map(|part| part.upgrade), usize::MAX)
            .into_iter()
            .map(|one| &one.target)
            .collect();
        parts.sort_by_key(|part| order.iter().position(|target| **target == part.proposal.target));
        let why = |member: &ProposalId| {
            let state = outcome.proposals.get(member);
            state.map_or_else(String::new, |state| format!("{}: {}", state.word, state.why))
        };
        let told = decided.left_out.iter().filter(|(_, why)| {
            !matches!(
                why,
                WhyLeftOut::Stands(Standing::NothingOffered { rest: Rest::Current | Rest::Gone, .. })
            )
        });
        // Where the dashboard keeps what was decided about those that stay out, it does not end with this. That a release
        // was declined has to be told here: of the pull requests of a branch only the newest is looked at.
        let noted = |(member, why): &(ProposalId, WhyLeftOut)| {
            let mut decisions = planned.decided.of(member).without_pull_request(false);
            if planned.decided.is_dashboard_kept() {
                decisions = Decisions::default();
            }
            let by = match why {
                WhyLeftOut::Stands(Standing::Skipped { by }) => Some(by.clone()),
                WhyLeftOut::Stands(_) | WhyLeftOut::Waits(_) => None,
            };
            let source = plan_of(planned, member).and_then(|upgrade| upgrade.to.as_ref());
            let skipped = by.zip(source).map(|(by, source)| Skipped { source: source.to_string(), by });
            decisions.skipped = skipped.or(decisions.skipped);
            (!decisions.is_empty()).then(|| (member.target.clone(), decisions))
        };
        let left_out = decided.left_out.iter().filter_map(noted);
        Some(Intent {
            left_out: told.map(|(member, _)| (member.target.clone(), why(member))).collect(),
            noted_besides: left_out.collect(),
            decisions: planned.decided.of(proposal),
            drafted: planned.decided.drafted(proposal),
            proposal,
            parts,
            offer,
            branch,
            pull,
            settings: planned.settings,
            origin: planned.origin,
        })
    }

    /// Of what is left as it is, what people decided now is written all the same; what is held or blocks is a draft. What
    /// is said where GitHub does not take that: it is this proposal's own trouble, and is remembered.
    async fn keep_decisions(
        self,
        planned: Planned<'_>,
        proposal: &ProposalId,
        (standing, wanted): (&Standing, &Wanted),
        outcome: &mut Outcome,
    ) -> Result<Option<ProposalState>, SyncError> {
        let Some(pull) = self.open_proposal(proposal).filter(|_| planned.settings.mode != Mode::Observe)
        else {
            return Ok(None);
        };
        let decided = planned.decided;
        let want = match (standing, wanted) {
            (Standing::Held { .. } | Standing::Blocked { .. }, _) => Draft::Draft,
            (Standing::Paused { .. }, _) => now(pull),
            (_, Wanted::Offer(offer)) => offer.draft,
            _ => now(pull),
        };
        let changes = decided.drafted(proposal).change(now(pull), want).is_some();
        let members = self.facts.members_of(proposal);
        let is_over = |member: &ProposalId| {
            let before = decided.of(member);
            before.hold.is_some() && before.hold_on(self.today).is_none()
        };
        let is_new = members.iter().chain([proposal]).any(|one| decided.is_new(one) || is_over(one));
        if !is_new && !changes {
            return Ok(None);
        }
        let before = decided.of(proposal);
        let decisions = match planned.plans.get(proposal) {
            Some(Ok(upgrade)) => before.still(upgrade, self.today),
            _ => before,
        };
        let content = match proposal.target.group() {
            None => decisions_fingerprint(&decisions),
            Some(_) => {
                let all = members.iter().chain([proposal]);
                all.map(|one| decisions_fingerprint(&decided.of(one))).collect::<Vec<_>>().join(" ")
            }
        };
        let write = Write::proposal(proposal, format!("decided: {content}"));
        if let Some(refusal) = self.refusal(&write) {
            let why = refused_words(&refusal.reason, refusal.not_before);
            return Ok(Some(ProposalState::new("refused", why)));
        }
        match self.write_decisions(planned, proposal, pull, decisions, want).await {
            Ok(()) => {
                outcome.wrote = Wrote::PullRequests;
                self.taken(&write).await?;
                Ok(None)
            }
            Err(error) => match self.unless_gone(proposal, error, &mut outcome.ending).await {
                Err(SyncError::Host(error)) if error.is_refusal() => {
                    let not_before = self.refused(&write, &error.to_string()).await?;
                    let why = refused_words(&error.to_string(), not_before);
                    Ok(Some(ProposalState::new("refused", why)))
                }
                gone => gone.map(Some),
            },
        }
    }

    async fn published(
        self,
        intent: &Intent<'_>,
        published: Published,
        outcome: &mut Outcome,
    ) -> Result<ProposalState, SyncError> {
        let Intent { proposal, offer, .. } = *intent;
        let (number, verb) = match published {
            Published::Opened(number) => (number, "opened"),
            Published::Updated(number) => (number, "brought up to date"),
            Published::Unchanged(number) => (number, "as it should be"),
            Published::Refused(why) => {
                return Ok(ProposalState::new("refused", why));
            }
            Published::Overtaken => {
                outcome.ending.look_again();
                outcome.overtaken.insert(proposal.clone());
                outcome.overtaken.extend(intent.parts.iter().map(|part| part.proposal.clone()));
                let why = "Somebody wrote the branch meanwhile: it is looked at again.".to_owned();
                return Ok(ProposalState::new("waiting", why));
            }
        };
        if verb != "as it should be" {
            outcome.wrote = Wrote::PullRequests;
            tracing::info!(repository = %self.repository.name, cluster = %proposal, pull_request = number, source = %offer.source, "pull request {verb}");
        }
        let carried = intent.parts.iter().map(|part| part.proposal.clone());
        outcome.carried.insert(proposal.clone(), carried.collect());
        let besides = intent.noted_besides.iter();
        let besides =
            besides.map(|(target, _)| ProposalId { target: target.clone(), kind: proposal.kind.clone() });
        outcome.noted_besides.extend(besides);
        let findings = &mut outcome.remarks.entry(number).or_default().findings;
        for part in &intent.parts {
            findings.insert(part.proposal.target.clone(), part.upgrade.findings.clone());
        }
        let why = match intent.parts.as_slice() {
            [_] | [] => format!("#{number} offers `{}`.", offer.source.source()),
            several => format!("#{number} offers `{}` to {} clusters.", offer.source.source(), several.len()),
        };
        Ok(ProposalState { word: "proposed", why, pull: Some(number) })
    }

    fn pull(&self, proposal: &ProposalId, number: u64) -> Option<&PullRequest> {
        self.open_proposal(proposal).filter(|pull| pull.number == number)
    }
}

/// Notes the same of several proposals.
fn note(outcome: &mut Outcome, proposals: &[ProposalId], state: &ProposalState) {
    outcome.proposals.extend(proposals.iter().map(|proposal| (proposal.clone(), state.clone())));
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

/// What is said of a proposal that is left as it is, here and in its check.
fn leave(
    kind: &SourceKind,
    standing: &Standing,
    settings: &RepositorySettings,
    outcome: &mut Outcome,
) -> ProposalState {
    let words = standing_in_words(standing, kind, settings.commands.prefix.as_str());
    if let Some(number) = words.remarked_on {
        let remarks = outcome.remarks.entry(number).or_default();
        match standing {
            Standing::Blocked { why, .. } => remarks.blocked.clone_from(why),
            _ => remarks.notes.push(format!("{} {}", words.why, Refusal::State.sentence())),
        }
    }
    ProposalState::new(words.word, words.why)
}
