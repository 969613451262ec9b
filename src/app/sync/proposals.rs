//! From plans to proposals: facts of each, the decision, and its effects within the limits.

use std::collections::{BTreeMap, BTreeSet};

use capstan_model::finding::Finding;
use capstan_model::rest::Rest;
use capstan_model::source::SourceKind;
use capstan_model::wording::sentence;
use capstan_plan::campaign::{Candidate, Load, turn};
use capstan_plan::proposal::{
    Action, Answers, Closer, Command, Decision, Decisions, Draft, Facts, Mergeable, Offer, Paused,
    ProposalId, Pull, PullState, Question, Reviewed, Scope, Stage, Standing, Wanted, decide, wanted,
};
use capstan_plan::settings::{Mode, RepositorySettings};
use capstan_plan::upgrade::Retarget;
use capstan_report::{Block, ClosedBy, Refusal, decisions_fingerprint, rest_in_a_word, standing_in_words};

use super::decisions::now;
use super::outcome::{Outcome, ProposalState, Wrote};
use super::publish::{Intent, Published};
use super::refusals::Write;
use super::{Ending, Planned, Plans, Run, SyncError};
use crate::app::ports::{CodeHostError, EarlierPullRequest, PullRequest, PullRequestState, ReviewDecision};

/// The newest pull request of proposals that are not open.
type Earlier = BTreeMap<ProposalId, EarlierPullRequest>;

/// What was decided about a proposal.
struct Decided {
    wanted: Wanted,
    action: Action,
    command: Command,
}

impl Decided {
    /// What is written to GitHub, where anything is.
    fn write(&self, proposal: &ProposalId) -> Option<Write> {
        let content = match (&self.action, &self.wanted) {
            (Action::Leave(_), _) => return None,
            (Action::Close { why, .. }, _) => format!("closed: {why}"),
            (_, Wanted::Offer(offer)) => format!("{} {}", offer.source, offer.plan),
            (_, _) => return None,
        };
        Some(Write::proposal(proposal, content))
    }
}

fn refused_words(reason: &str, not_before: jiff::Timestamp) -> String {
    let minute = jiff::Timestamp::from_second(not_before.as_second() / 60 * 60).unwrap_or(not_before);
    format!("GitHub does not take it: {reason}. It is tried again after {minute}.")
}

impl Run<'_> {
    pub(super) async fn bring_proposals_up(self, planned: Planned<'_>) -> Result<Outcome, SyncError> {
        let Planned { settings, plans, decided: by_command, .. } = planned;
        let mut outcome = Outcome { sources: offered(&self.facts.kinds, plans), ..Outcome::default() };
        let mut decided = BTreeMap::new();
        let mut wanted = self.wanted(planned);
        let earlier = match self.earlier(&wanted).await {
            // What is open goes on without it.
            Err(error) if error.is_of_one() => {
                tracing::warn!(repository = %self.repository.name, error = %error, "earlier pull requests cannot be found: nothing new is opened");
                let why = error.to_string();
                wanted.retain(|proposal, wanted| {
                    let opens = self.may_open(proposal, wanted);
                    if opens {
                        let state = ProposalState::new("failed", why.clone());
                        outcome.proposals.insert(proposal.clone(), state);
                    }
                    !opens
                });
                outcome.ending.fail(error);
                Earlier::new()
            }
            earlier => earlier?,
        };
        for (proposal, wanted) in wanted {
            let command = by_command.wish(&proposal);
            let decisions = by_command.of(&proposal);
            let said = (&decisions, by_command.pause());
            match self.decide_one(&proposal, &wanted, command, said, earlier.get(&proposal)).await {
                Ok(action) => {
                    decided.insert(proposal, Decided { wanted, action, command });
                }
                Err(error) => {
                    let state = match self.unless_gone(&proposal, error, &mut outcome.ending).await {
                        // What GitHub or Git does not tell of one is not its neighbours' trouble.
                        Err(error) if error.is_of_one() => {
                            tracing::warn!(repository = %self.repository.name, cluster = %proposal, error = %error, "the proposal cannot be decided");
                            let why = error.to_string();
                            outcome.ending.fail(error);
                            ProposalState::new("failed", why)
                        }
                        state => state?,
                    };
                    outcome.proposals.insert(proposal, state);
                }
            }
        }
        let mut held = self.held_by_rollouts(planned, &decided).await?;
        for (proposal, why) in &held {
            outcome.proposals.insert(proposal.clone(), ProposalState::new("waiting", why.clone()));
        }
        for (proposal, why) in self.held_by_refusals(&decided) {
            outcome.proposals.insert(proposal.clone(), ProposalState::new("refused", why.clone()));
            held.insert(proposal, why);
        }
        decided.retain(|proposal, one| {
            !held.contains_key(proposal) || matches!(one.action, Action::Open { .. })
        });
        let limits = (settings.mode != Mode::Observe).then_some(&settings.upgrade.proposals);
        let opens = decided.values().any(|one| matches!(one.action, Action::Open { .. }));
        let shown = if opens && limits.is_some() { self.load().await? } else { Load::default() };
        let candidates: Vec<Candidate<'_>> = decided
            .iter()
            .map(|(proposal, one)| Candidate {
                held: held.contains_key(proposal),
                action: &one.action,
                command: one.command,
                proposal,
            })
            .collect();
        let selection = turn(&candidates, limits, shown);
        for waiting in selection.waiting {
            outcome.proposals.insert(waiting.proposal, ProposalState::new("waiting", waiting.why));
        }
        for proposal in selection.now {
            let Some(decided) = decided.get(&proposal) else { continue };
            let state = if settings.mode == Mode::Observe && !matches!(decided.action, Action::Leave(_)) {
                let why =
                    "The settings say `mode: observe`: no branch or pull request is written.".to_owned();
                ProposalState::new("observed", why)
            } else {
                let state = self.carry_out(planned, &proposal, decided, &mut outcome).await;
                self.settled(&proposal, decided, state, &mut outcome.ending).await?
            };
            outcome.proposals.insert(proposal, state);
        }
        for (proposal, pull) in &self.facts.proposals {
            let Some(Ok(upgrade)) = plans.get(proposal) else { continue };
            let overrides = by_command.of(proposal).still(upgrade, self.today).overrides;
            if !overrides.is_empty() {
                outcome.remarks.entry(pull.number).or_default().overrides = overrides;
            }
        }
        if settings.mode != Mode::Observe {
            for (proposal, state) in &outcome.proposals {
                let stage = match state.word {
                    "held" => Stage::Held,
                    "paused" => Stage::Paused,
                    "refused" => Stage::Refused,
                    _ => Stage::Offered,
                };
                let number = state.pull.or_else(|| self.open_proposal(proposal).map(|pull| pull.number));
                if let Some(number) = number {
                    outcome.remarks.entry(number).or_default().stage = Some(stage);
                }
            }
        }
        Ok(outcome)
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

    /// Proposals whose cluster's next step waits for its machines. Whoever asks by command need not wait.
    async fn held_by_rollouts(
        self,
        planned: Planned<'_>,
        decided: &BTreeMap<ProposalId, Decided>,
    ) -> Result<BTreeMap<ProposalId, String>, SyncError> {
        let Planned { reporters, scopes, .. } = planned;
        let mut held = BTreeMap::new();
        for (proposal, one) in decided {
            let opens = matches!(one.action, Action::Open { .. }) && one.command == Command::None;
            if opens && let Some(cluster) = proposal.target.cluster() {
                let why = match self.awaits_rollout(reporters, scopes, cluster).await {
                    // What is wrong with one cluster's last rollout is not its neighbours' trouble.
                    Err(error) if error.is_of_one() => {
                        tracing::warn!(repository = %self.repository.name, cluster = %proposal, error = %error, "whether a rollout is done cannot be told");
                        Some(format!("Whether its last rollout is done cannot be told: {error}"))
                    }
                    why => why?,
                };
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

    /// The newest pull request of each proposal that may be opened: whether it is hangs on what became of that. It
    /// was not open when the run began, so that a merge of it is in the base's tip, which was read after that.
    async fn earlier(self, all: &BTreeMap<ProposalId, Wanted>) -> Result<Earlier, SyncError> {
        let mut by_branch: BTreeMap<String, &ProposalId> = BTreeMap::new();
        for (proposal, _) in all.iter().filter(|(proposal, wanted)| self.may_open(proposal, wanted)) {
            by_branch.insert(proposal.branch(), proposal);
        }
        if by_branch.is_empty() {
            return Ok(Earlier::new());
        }
        let branches: Vec<String> = by_branch.keys().cloned().collect();
        let (host, base) = (&self.ports.host, &self.repository.default_branch);
        let found = host.newest_pull_requests(self.repository, &branches, Some(base)).await?;
        let of_proposal =
            |pull: EarlierPullRequest| Some(((*by_branch.get(&pull.head_branch)?).clone(), pull));
        Ok(found.into_iter().filter_map(of_proposal).collect())
    }

    fn may_open(&self, proposal: &ProposalId, wanted: &Wanted) -> bool {
        matches!(wanted, Wanted::Offer(_)) && !self.is_open(proposal)
    }

    fn is_open(&self, proposal: &ProposalId) -> bool {
        self.open_proposal(proposal).is_some()
    }

    /// The pull request of a proposal that was open when the run began.
    fn open_proposal(&self, proposal: &ProposalId) -> Option<&PullRequest> {
        self.facts.proposals.get(proposal)
    }

    /// The open proposals that were made under `retarget`.
    pub(super) fn retargeted_before(&self) -> Vec<ProposalId> {
        let mut proposals = Vec::new();
        for (proposal, pull) in &self.facts.proposals {
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
        for proposal in self.facts.proposals.keys() {
            let gone = || Wanted::Nothing { why: sentence(&planned.missing(proposal)), rest: Rest::Gone };
            all.entry(proposal.clone()).or_insert_with(gone);
        }
        all
    }

    /// Decides one proposal: finds out what the decision asks for, until there is one.
    async fn decide_one(
        self,
        proposal: &ProposalId,
        wanted: &Wanted,
        command: Command,
        (decisions, pause): (&Decisions, Option<&Paused>),
        earlier: Option<&EarlierPullRequest>,
    ) -> Result<Action, SyncError> {
        let open = self.open_proposal(proposal);
        let pull = match (open, earlier) {
            (Some(open), _) => {
                let block =
                    Block::read(&open.body, &self.ports.key, self.repository.id, open.number, proposal);
                let source = block.map(|block| block.source);
                let (number, head) = (open.number, open.head.clone());
                Some(Pull { number, state: PullState::Open, head, source, leaves: None })
            }
            (None, Some(earlier)) => Some(self.earlier_facts(proposal, earlier).await?),
            (None, None) => None,
        };
        let base = open.map(|pull| &pull.base).or(earlier.map(|pull| &pull.base));
        let mut facts = Facts {
            wanted: wanted.clone(),
            pulls: pull.into_iter().collect(),
            command,
            hold: decisions.hold_on(self.today).cloned(),
            pause: pause.cloned(),
            answers: Answers::default(),
        };
        loop {
            match (decide(&facts), open) {
                (Decision::Do(action), _) => return Ok(action),
                (Decision::Ask(Question::Branch), _) => {
                    facts.answers.branch = Some(self.branch_facts(proposal, base).await?);
                }
                (Decision::Ask(Question::Reviewed), Some(open)) => {
                    facts.answers.reviewed = Some(self.reviewed(open, decisions).await?);
                }
                (Decision::Ask(Question::Mergeable), Some(open)) => {
                    facts.answers.mergeable = Some(self.mergeable(open).await?);
                }
                // Of what is not open nobody asks that.
                (Decision::Ask(Question::Reviewed), None) => facts.answers.reviewed = Some(Reviewed::Not),
                (Decision::Ask(Question::Mergeable), None) => {
                    facts.answers.mergeable = Some(Mergeable::PerhapsYes);
                }
            }
        }
    }

    async fn reviewed(self, open: &PullRequest, decisions: &Decisions) -> Result<Reviewed, SyncError> {
        let state = self.ports.host.merge_queue_state(self.repository, open).await?;
        Ok(if state.queued {
            Reviewed::Queued
        } else if state.auto_merge {
            Reviewed::AutoMerge
        } else if state.review == ReviewDecision::Approved || decisions.is_approved() {
            Reviewed::Approved
        } else {
            Reviewed::Not
        })
    }

    async fn mergeable(self, open: &PullRequest) -> Result<Mergeable, SyncError> {
        // A head that stands on the tip needs no merge: what it conflicts with cannot be.
        let head = self.snapshot(&open.head).await?;
        if head.is_some_and(|head| head.parents.contains(&self.facts.base.commit)) {
            return Ok(Mergeable::PerhapsYes);
        }
        let now = self.ports.host.pull_request(self.repository, open.number).await?;
        Ok(if now.mergeable == Some(false) { Mergeable::Conflicts } else { Mergeable::PerhapsYes })
    }

    /// What became of a proposal's pull request that was not open when the run began.
    async fn earlier_facts(
        self,
        proposal: &ProposalId,
        pull: &EarlierPullRequest,
    ) -> Result<Pull, SyncError> {
        let block = Block::read(&pull.body, &self.ports.key, self.repository.id, pull.number, proposal);
        let state = match pull.state {
            PullRequestState::Open => PullState::Open,
            PullRequestState::Merged => PullState::Merged,
            PullRequestState::Closed => {
                PullState::Closed(match block.as_ref().and_then(|block| block.closed_by) {
                    Some(ClosedBy::Capstan) => Closer::Capstan,
                    Some(ClosedBy::Person) | None => Closer::Person,
                })
            }
        };
        // A body can be written after the end, by a run that had not heard of it; the head cannot.
        let of_head = match state {
            PullState::Open => None,
            PullState::Merged | PullState::Closed(_) => self.source_of_commit(&pull.head).await?,
        };
        let rollback = block.as_ref().and_then(|block| block.decisions.rollback.as_ref());
        let leaves = rollback.map(|rollback| rollback.leaves.clone());
        let source = of_head.or_else(|| block.map(|block| block.source));
        Ok(Pull { number: pull.number, state, head: pull.head.clone(), source, leaves })
    }

    async fn carry_out(
        self,
        planned: Planned<'_>,
        proposal: &ProposalId,
        decided: &Decided,
        outcome: &mut Outcome,
    ) -> Result<ProposalState, SyncError> {
        let Planned { settings, scopes, plans, origin, reporters, .. } = planned;
        let (number, branch) = match &decided.action {
            Action::Leave(standing) => {
                let refused =
                    self.keep_decisions(planned, proposal, (standing, &decided.wanted), outcome).await?;
                let left = leave(&proposal.kind, standing, settings, outcome);
                return Ok(refused.unwrap_or(left));
            }
            Action::Close { pull, why, by, rest } => {
                if let Some(pull) = self.pull(proposal, *pull) {
                    self.close(proposal, pull, why, *by).await?;
                    outcome.wrote = Wrote::PullRequests;
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
        let (Wanted::Offer(offer), Some(Ok(upgrade)), Some(scope)) =
            (&decided.wanted, plans.get(proposal), scopes.get(&proposal.target))
        else {
            return Ok(ProposalState::new("failed", "There is no plan to publish."));
        };
        let scope = Scope { retarget: planned.retarget_of(proposal), ..scope.clone() };
        let decisions = planned.decided.of(proposal).still(upgrade, self.today);
        let intent = Intent {
            decisions: &decisions,
            drafted: planned.decided.drafted(proposal),
            proposal,
            scope: &scope,
            upgrade,
            offer,
            branch,
            pull: number.and_then(|number| self.pull(proposal, number)),
            settings,
            origin,
            reporter: proposal.target.cluster().and_then(|cluster| reporters.name_for(cluster)),
        };
        match self.publish(&intent).await {
            Ok(published) => {
                self.published(proposal, offer, upgrade.findings.clone(), published, outcome).await
            }
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
        let before = decided.of(proposal);
        let is_over = before.hold.is_some() && before.hold_on(self.today).is_none();
        if !decided.is_new(proposal) && !is_over && !changes {
            return Ok(None);
        }
        let decisions = match planned.plans.get(proposal) {
            Some(Ok(upgrade)) => before.still(upgrade, self.today),
            _ => before,
        };
        let write = Write::proposal(proposal, format!("decided: {}", decisions_fingerprint(&decisions)));
        if let Some(refusal) = self.refusal(&write) {
            let why = refused_words(&refusal.reason, refusal.not_before);
            return Ok(Some(ProposalState::new("refused", why)));
        }
        match self.write_decisions(proposal, pull, decisions, want).await {
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
                return Ok(ProposalState::new("refused", why));
            }
            Published::Overtaken => {
                outcome.ending.look_again();
                outcome.overtaken.insert(proposal.clone());
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
        self.open_proposal(proposal).filter(|pull| pull.number == number)
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
