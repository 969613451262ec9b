//! From plans to proposals: facts of each cluster, the decision, and its effects within the limits.

use std::collections::{BTreeMap, BTreeSet};

use capstan_model::finding::Finding;
use capstan_model::tree::CommitId;
use capstan_plan::campaign::{Load, select};
use capstan_plan::cluster::ClusterId;
use capstan_plan::proposal::{
    Action, BranchStep, Closer, Command, Facts, Mergeable, Offer, Pull, PullState, Reviewed, Scope, Standing,
    Wanted, branch_of, cluster_of, decide, wanted,
};
use capstan_plan::settings::{Mode, RepositorySettings};
use capstan_plan::upgrade::Retarget;
use capstan_report::{Block, ClosedBy};

use super::publish::{Intent, Published};
use super::{Plans, Run, SyncError, answers::Request};
use crate::app::ports::{CodeHostError, PullRequest, PullRequestState, ReviewDecision};

/// What became of a repository's proposals.
#[derive(Default)]
pub(super) struct Outcome {
    /// Each cluster's state.
    pub(super) clusters: BTreeMap<ClusterId, ClusterState>,
    /// What is offered, for the campaign.
    pub(super) source: String,
    /// Whether a pull request's head or text was written: what was listed before is old.
    pub(super) wrote: Wrote,
    /// What the check of a proposal says besides.
    pub(super) remarks: BTreeMap<u64, Remarks>,
}

/// Whether pull requests were written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Wrote {
    /// None.
    #[default]
    Nothing,
    /// Some.
    PullRequests,
}

/// A cluster's state in a word of a closed set, and why.
#[derive(Debug, Clone)]
pub(super) struct ClusterState {
    pub(super) word: &'static str,
    pub(super) why: String,
    /// The pull request, where one carries the upgrade.
    pub(super) pull: Option<u64>,
}

impl ClusterState {
    fn new(word: &'static str, why: impl Into<String>) -> Self {
        Self { word, why: why.into(), pull: None }
    }
}

/// What the check of a proposal says besides what its content says.
#[derive(Debug, Clone, Default)]
pub(super) struct Remarks {
    pub(super) notes: Vec<String>,
    pub(super) blocked: Vec<String>,
    pub(super) findings: Vec<Finding>,
}

/// A cluster with what was decided about it.
struct Decided {
    wanted: Wanted,
    action: Action,
    command: Command,
}

impl Run<'_> {
    pub(super) async fn bring_proposals_up(
        &mut self,
        settings: &RepositorySettings,
        scopes: &BTreeMap<ClusterId, Scope>,
        plans: &Plans,
        requests: &[Request],
        retarget: &BTreeSet<ClusterId>,
    ) -> Result<Outcome, SyncError> {
        let mut replan: BTreeSet<ClusterId> = requests.iter().filter_map(Request::replans).collect();
        // Whoever asks for names to follow wants the upgrade now, whether or not it was offered before; an
        // open proposal keeps what people wrote on it.
        replan.extend(retarget.iter().filter(|cluster| !self.is_open(cluster)).cloned());
        let mut outcome = Outcome { source: offered(plans), ..Outcome::default() };
        let mut decided = BTreeMap::new();
        for (cluster, wanted) in self.wanted(plans) {
            let command = if replan.contains(&cluster) { Command::Replan } else { Command::None };
            match self.decide_one(&cluster, &wanted, command).await {
                Ok(action) => {
                    decided.insert(cluster, Decided { wanted, action, command });
                }
                Err(error) => {
                    let state = self.unless_gone(&cluster, error).await?;
                    outcome.clusters.insert(cluster, state);
                }
            }
        }
        let held = self.held_by_rollouts(&decided).await?;
        for (cluster, why) in &held {
            outcome.clusters.insert(cluster.clone(), ClusterState::new("waiting", why.clone()));
        }
        let turn = self.choose(settings, &decided, &held, &mut outcome);
        for cluster in turn {
            let Some(decided) = decided.get(&cluster) else { continue };
            let state = if settings.mode == Mode::Observe && !matches!(decided.action, Action::Leave(_)) {
                let why =
                    "The settings say `mode: observe`: no branch or pull request is written.".to_owned();
                ClusterState::new("observed", why)
            } else {
                match self.carry_out(settings, scopes, plans, &cluster, decided, &mut outcome).await {
                    Ok(state) => state,
                    Err(error) => self.unless_gone(&cluster, error).await?,
                }
            };
            outcome.clusters.insert(cluster, state);
        }
        Ok(outcome)
    }

    /// What is said of a cluster whose open proposal has gone meanwhile: nothing failed then. Any other error
    /// stays one.
    async fn unless_gone(
        &mut self,
        cluster: &ClusterId,
        error: SyncError,
    ) -> Result<ClusterState, SyncError> {
        let open = self.open_proposal(cluster).map(|pull| pull.number);
        match (&error, open) {
            (SyncError::Host(CodeHostError::NotFound { .. }), Some(number))
                if self.is_gone(number).await? =>
            {
                tracing::info!(repository = %self.repository.name, %cluster, pull_request = number, "the pull request is gone");
                self.look_again();
                let why = format!("#{number} is gone: the cluster is looked at again.");
                Ok(ClusterState::new("waiting", why))
            }
            _ => Err(error),
        }
    }

    /// Clusters whose next step waits for their machines. Whoever asks by command need not wait.
    async fn held_by_rollouts(
        &self,
        decided: &BTreeMap<ClusterId, Decided>,
    ) -> Result<BTreeMap<ClusterId, String>, SyncError> {
        let mut held = BTreeMap::new();
        for (cluster, one) in decided {
            let opens = matches!(one.action, Action::Open { .. }) && one.command == Command::None;
            if opens && let Some(why) = self.awaits_rollout(cluster).await? {
                held.insert(cluster.clone(), why);
            }
        }
        Ok(held)
    }

    fn is_open(&self, cluster: &ClusterId) -> bool {
        self.open_proposal(cluster).is_some()
    }

    /// The proposal of a cluster that was open when the run began.
    fn open_proposal(&self, cluster: &ClusterId) -> Option<&PullRequest> {
        let mut pulls = self.facts.proposals.get(&branch_of(cluster))?.iter();
        pulls.find(|pull| pull.state == PullRequestState::Open)
    }

    /// The clusters whose open proposal was made under `retarget`.
    pub(super) fn retargeted_before(&self) -> Vec<ClusterId> {
        let mut clusters = Vec::new();
        for (branch, pulls) in &self.facts.proposals {
            let Some(cluster) = cluster_of(branch) else { continue };
            let allowed = pulls.iter().filter(|pull| pull.state == PullRequestState::Open).any(|pull| {
                let block = Block::read(&pull.body, &self.ports.key, self.repository.id, cluster.as_str());
                block.is_some_and(|block| block.retarget == Retarget::Allowed)
            });
            if allowed {
                clusters.push(cluster);
            }
        }
        clusters
    }

    /// What is wanted for every cluster, and for every open proposal whose cluster is gone.
    fn wanted(&self, plans: &Plans) -> BTreeMap<ClusterId, Wanted> {
        let mut all: BTreeMap<ClusterId, Wanted> =
            plans.iter().map(|(cluster, plan)| (cluster.clone(), wanted(plan))).collect();
        for (branch, pulls) in &self.facts.proposals {
            let open = pulls.iter().any(|pull| pull.state == PullRequestState::Open);
            if let Some(cluster) = cluster_of(branch).filter(|_| open) {
                all.entry(cluster).or_insert_with(|| Wanted::Nothing {
                    why: "The base branch has no such cluster any more.".to_owned(),
                });
            }
        }
        all
    }

    /// Decides one cluster; what costs a call is asked only where it can change the decision.
    async fn decide_one(
        &self,
        cluster: &ClusterId,
        wanted: &Wanted,
        command: Command,
    ) -> Result<Action, SyncError> {
        let branch = branch_of(cluster);
        let none = Vec::new();
        let pulls = self.facts.proposals.get(&branch).unwrap_or(&none);
        let mut facts = Facts {
            wanted: wanted.clone(),
            branch: None,
            pulls: self.pull_facts(cluster, pulls).await?,
            command,
        };
        let open = pulls.iter().any(|pull| pull.state == PullRequestState::Open);
        if open || matches!(wanted, Wanted::Offer(_)) {
            facts.branch = self.branch_facts(cluster, &branch, pulls).await?;
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

    async fn pull_facts(&self, cluster: &ClusterId, pulls: &[PullRequest]) -> Result<Vec<Pull>, SyncError> {
        let mut facts = Vec::new();
        for (index, pull) in pulls.iter().enumerate() {
            let block = Block::read(&pull.body, &self.ports.key, self.repository.id, cluster.as_str());
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
        decided: &BTreeMap<ClusterId, Decided>,
        held: &BTreeMap<ClusterId, String>,
        outcome: &mut Outcome,
    ) -> Vec<ClusterId> {
        let opens = |decided: &Decided| matches!(decided.action, Action::Open { .. });
        let mut turn: Vec<ClusterId> = decided
            .iter()
            .filter(|(_, one)| !opens(one) || one.command == Command::Replan)
            .map(|(cluster, _)| cluster.clone())
            .collect();
        let candidates: Vec<ClusterId> = decided
            .iter()
            .filter(|(cluster, one)| {
                opens(one) && one.command == Command::None && !held.contains_key(*cluster)
            })
            .map(|(cluster, _)| cluster.clone())
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
            outcome.clusters.insert(waiting.cluster, ClusterState::new("waiting", waiting.why));
        }
        turn.extend(selection.now);
        turn
    }

    async fn carry_out(
        &mut self,
        settings: &RepositorySettings,
        scopes: &BTreeMap<ClusterId, Scope>,
        plans: &Plans,
        cluster: &ClusterId,
        decided: &Decided,
        outcome: &mut Outcome,
    ) -> Result<ClusterState, SyncError> {
        let (number, branch) = match &decided.action {
            Action::Leave(standing) => return Ok(leave(standing, settings, outcome)),
            Action::Close { pull, why } => {
                if let Some(pull) = self.pull(cluster, *pull) {
                    self.close(cluster, pull, why).await?;
                    outcome.wrote = Wrote::PullRequests;
                }
                return Ok(ClusterState::new("closed", why.clone()));
            }
            Action::Open { branch } => (None, branch.clone()),
            Action::Update { pull, branch } => (Some(*pull), branch.clone()),
        };
        let (Wanted::Offer(offer), Some(Ok(upgrade)), Some(scope)) =
            (&decided.wanted, plans.get(cluster), scopes.get(cluster))
        else {
            return Ok(ClusterState::new("failed", "There is no plan to publish."));
        };
        let intent = Intent {
            scope,
            upgrade,
            offer,
            branch,
            pull: number.and_then(|number| self.pull(cluster, number)),
            command_prefix: settings.commands.prefix.as_str(),
        };
        match self.publish(&intent).await {
            Ok(published) => {
                self.published(cluster, offer, upgrade.findings.clone(), published, outcome).await
            }
            // One cluster's trouble is not its neighbours': the run goes on, and fails at its end.
            Err(error @ (SyncError::Outside(_) | SyncError::Host(CodeHostError::Unexpected { .. }))) => {
                tracing::error!(repository = %self.repository.name, %cluster, error = %error, "the proposal could not be published");
                let why = error.to_string();
                self.failure.get_or_insert(error);
                Ok(ClusterState::new("failed", why))
            }
            Err(error) => Err(error),
        }
    }

    async fn published(
        &mut self,
        cluster: &ClusterId,
        offer: &Offer,
        findings: Vec<Finding>,
        published: Published,
        outcome: &mut Outcome,
    ) -> Result<ClusterState, SyncError> {
        let (number, verb) = match published {
            Published::Opened(number) => (number, "opened"),
            Published::Updated(number) => (number, "brought up to date"),
            Published::Unchanged(number) => (number, "as it should be"),
            Published::Refused(why) => {
                tracing::warn!(repository = %self.repository.name, %cluster, reason = why, "GitHub refuses the proposal");
                self.audit(cluster, "proposal-refused", why.clone()).await?;
                return Ok(ClusterState::new("refused", why));
            }
            Published::Overtaken => {
                self.look_again();
                let why = "Somebody wrote the branch meanwhile: it is looked at again.".to_owned();
                return Ok(ClusterState::new("waiting", why));
            }
        };
        if verb != "as it should be" {
            outcome.wrote = Wrote::PullRequests;
            tracing::info!(repository = %self.repository.name, %cluster, pull_request = number, source = %offer.source, "pull request {verb}");
        }
        outcome.remarks.entry(number).or_default().findings = findings;
        let why = format!("#{number} offers `{}`.", offer.source.release());
        Ok(ClusterState { word: "proposed", why, pull: Some(number) })
    }

    fn pull(&self, cluster: &ClusterId, number: u64) -> Option<&PullRequest> {
        self.facts.proposals.get(&branch_of(cluster))?.iter().find(|pull| pull.number == number)
    }
}

fn set_state(facts: &mut Facts, number: u64, reviewed: Reviewed, mergeable: Mergeable) {
    for pull in facts.pulls.iter_mut().filter(|pull| pull.number == number) {
        pull.state = PullState::Open { reviewed, mergeable };
    }
}

/// The sources that the plans offer, in a line.
fn offered(plans: &Plans) -> String {
    let sources: BTreeSet<String> =
        plans.values().flatten().filter_map(|upgrade| Some(upgrade.to.as_ref()?.to_string())).collect();
    sources.into_iter().collect::<Vec<_>>().join(", ")
}

fn leave(standing: &Standing, settings: &RepositorySettings, outcome: &mut Outcome) -> ClusterState {
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
                "#{pull} was closed by a person: this release is not offered again. `{prefix} replan` there offers it, and so does a newer release."
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
    ClusterState::new(word, why)
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
            newer.release()
        ),
        None => format!("The pull request is {how}, so it stays as it is."),
    }
}
