//! What is decided about each pull request: what GitHub and Git show of it, what is wanted of those whose changes it
//! carries, and the heart's word.

use std::collections::{BTreeMap, BTreeSet};

use capstan_model::rest::Rest;
use capstan_plan::proposal::{
    Action, Answers, Closer, Command, Decision, Decisions, Facts, Gathered, Member, Mergeable, OnHold,
    ProposalId, Pull, PullState, Question, Reviewed, Skipped, SourceState, Standing, Wanted, WhyLeftOut,
    decide, gather,
};
use capstan_plan::upgrade::Upgrade;
use capstan_report::{Block, BlockPlace, ClosedBy};

use super::carriers::Carriers;
use super::facts::part_id;
use super::refusals::Write;
use super::{Planned, Run, SyncError};
use crate::app::ports::{EarlierPullRequest, PullRequest, PullRequestState, ReviewDecision};

/// What was decided about a pull request.
pub(super) struct Decided {
    pub(super) wanted: Wanted,
    pub(super) action: Action,
    pub(super) command: Command,
    /// Whose changes it brings.
    pub(super) carried: Vec<ProposalId>,
    /// Those of its group that stay out, and why.
    pub(super) left_out: Vec<(ProposalId, WhyLeftOut)>,
}

impl Decided {
    /// What is written to GitHub, where anything is.
    pub(super) fn write(&self, proposal: &ProposalId) -> Option<Write> {
        let content = match (&self.action, &self.wanted) {
            (Action::Leave(_), _) => return None,
            (Action::Close { why, .. }, _) => format!("closed: {why}"),
            (_, Wanted::Offer(offer)) => format!("{} {}", offer.source, offer.plan),
            (_, _) => return None,
        };
        Some(Write::proposal(proposal, content))
    }

    pub(super) const fn opens(&self) -> bool {
        matches!(self.action, Action::Open { .. })
    }
}

/// The newest pull requests that are not open any more, where what becomes of a proposal hangs on them.
#[derive(Default)]
pub(super) struct Earlier {
    /// By the proposal on whose branch each was.
    pulls: BTreeMap<ProposalId, EarlierPullRequest>,
    /// Whose changes those of groups brought; all of the group's where nobody knows any more.
    members: BTreeMap<ProposalId, BTreeSet<ProposalId>>,
    /// What was declined of those that stayed out of a group's, before or beside it.
    skipped: BTreeMap<ProposalId, Skipped>,
}

impl Earlier {
    /// The newest that brought a proposal's changes, and on whose branch it was.
    fn of(&self, proposal: &ProposalId) -> Option<(&ProposalId, &EarlierPullRequest)> {
        let carried = |id: &ProposalId| {
            id == proposal
                || id.kind == proposal.kind
                    && id.target.group().is_some()
                    && self.members.get(id).is_none_or(|members| members.contains(proposal))
        };
        self.pulls.iter().filter(|(id, _)| carried(id)).max_by_key(|(_, pull)| pull.number)
    }
}

/// What decides about one pull request, beside what it has to be asked for.
struct Known<'a> {
    wanted: &'a Wanted,
    command: Command,
    hold: Option<OnHold>,
    skipped: Option<Skipped>,
    /// What people decided about it as a whole.
    decisions: &'a Decisions,
}

impl Run<'_> {
    /// The newest pull request of each proposal that may be opened: whether it is hangs on what became of that. It
    /// was not open when the run began, so that a merge of it is in the base's tip, which was read after that.
    pub(super) async fn earlier(
        self,
        carriers: &Carriers,
        wanted: &BTreeMap<ProposalId, Wanted>,
    ) -> Result<Earlier, SyncError> {
        let mut asked: BTreeSet<ProposalId> = BTreeSet::new();
        for (id, members) in carriers {
            let is_new = |member: &&ProposalId| self.may_join(id, member, wanted);
            let new: Vec<&ProposalId> = members.iter().filter(is_new).collect();
            if new.is_empty() {
                continue;
            }
            if !self.is_open(id) {
                asked.insert(id.clone());
            }
            asked.extend(new.into_iter().filter(|member| !self.is_open(member)).cloned());
            // Those of a group that the settings make no more may have been declined there.
            let ended = self.facts.ended_groups().into_iter().filter(|group| group.kind == id.kind);
            asked.extend(ended.cloned());
        }
        let by_branch: BTreeMap<String, ProposalId> =
            asked.into_iter().map(|proposal| (proposal.branch(), proposal)).collect();
        if by_branch.is_empty() {
            return Ok(Earlier::default());
        }
        let branches: Vec<String> = by_branch.keys().cloned().collect();
        let (host, base) = (&self.ports.host, &self.repository.default_branch);
        let found = host.newest_pull_requests(self.repository, &branches, Some(base)).await?;
        let mut earlier = Earlier::default();
        for pull in found {
            let Some(id) = by_branch.get(&pull.head_branch) else { continue };
            if id.target.group().is_some()
                && let Some(block) =
                    Block::read(&pull.body, &self.ports.key, self.repository.id, pull.number, id)
            {
                let mut members = BTreeSet::new();
                for part in block.parts {
                    let member = part_id(id, &part);
                    match (part.place, part.decisions.skipped) {
                        (BlockPlace::Carried, _) => drop(members.insert(member)),
                        (BlockPlace::LeftOut, Some(one)) => drop(earlier.skipped.insert(member, one)),
                        (BlockPlace::LeftOut, None) => {}
                    }
                }
                earlier.members.insert(id.clone(), members);
            }
            earlier.pulls.insert(id.clone(), pull);
        }
        Ok(earlier)
    }

    /// Whether something new may be offered to a proposal in a pull request that does not bring its changes now.
    pub(super) fn may_join(
        &self,
        carrier: &ProposalId,
        member: &ProposalId,
        wanted: &BTreeMap<ProposalId, Wanted>,
    ) -> bool {
        let is_in = self.is_open(carrier) && self.facts.members_of(carrier).contains(member);
        matches!(wanted.get(member), Some(Wanted::Offer(_))) && !is_in
    }

    /// Decides about a pull request and those whose changes it is to bring.
    pub(super) async fn decide_carrier(
        self,
        planned: Planned<'_>,
        (id, members): (&ProposalId, &[ProposalId]),
        wanted: &BTreeMap<ProposalId, Wanted>,
        earlier: &Earlier,
    ) -> Result<Decided, SyncError> {
        let by_command = planned.decided;
        if let Some(wanted) = wanted.get(id).filter(|_| id.target.group().is_none()) {
            let decisions = by_command.of(id);
            let known = Known {
                wanted,
                command: by_command.wish(id),
                hold: decisions.hold_on(self.today).cloned(),
                skipped: decisions.skipped.clone().or_else(|| earlier.skipped.get(id).cloned()),
                decisions: &decisions,
            };
            let earlier = match earlier.of(id) {
                Some((on, pull)) if !self.is_open(id) => Some((self.earlier_facts(on, pull).await?, pull)),
                _ => None,
            };
            let action = self.decide_one(planned, id, &known, earlier).await?;
            let command = known.command;
            let (carried, left_out) = (vec![id.clone()], Vec::new());
            return Ok(Decided { wanted: wanted.clone(), action, command, carried, left_out });
        }
        self.decide_group(planned, (id, members), wanted, earlier).await
    }

    async fn decide_group(
        self,
        planned: Planned<'_>,
        (id, members): (&ProposalId, &[ProposalId]),
        wanted: &BTreeMap<ProposalId, Wanted>,
        earlier: &Earlier,
    ) -> Result<Decided, SyncError> {
        let by_command = planned.decided;
        let decisions = by_command.of(id);
        let command = strongest(
            std::iter::once(by_command.wish(id)).chain(members.iter().map(|member| by_command.wish(member))),
        );
        let of_each: BTreeMap<&ProposalId, Decisions> =
            members.iter().map(|member| (member, by_command.of(member))).collect();
        let offered = self.offered_by(id);
        // Each is read once, however many it carried.
        let mut ended: BTreeMap<&ProposalId, Pull> = BTreeMap::new();
        let new = members.iter().filter(|member| self.may_join(id, member, wanted));
        let before = new.filter_map(|member| earlier.of(member)).chain(earlier.pulls.get_key_value(id));
        for (on, pull) in before {
            if !ended.contains_key(on) {
                ended.insert(on, self.earlier_facts(on, pull).await?);
            }
        }
        // How those before it ended concerns whom they carried, each by itself.
        let on_branch = earlier.pulls.get(id).and_then(|pull| {
            let facts = ended.get(id)?.clone();
            let state = match facts.state {
                PullState::Merged => PullState::Merged,
                PullState::Open | PullState::Closed(_) => PullState::Closed(Closer::Capstan),
            };
            Some((Pull { state, source: None, leaves: None, ..facts }, pull))
        });
        let nothing = Wanted::Nothing { why: String::new(), rest: Rest::Gone };
        let mut waits: BTreeMap<ProposalId, Option<String>> = BTreeMap::new();
        loop {
            let all: Vec<Member<'_>> = members
                .iter()
                .map(|member| {
                    let joins = self.may_join(id, member, wanted);
                    Member {
                        proposal: member,
                        wanted: wanted.get(member).unwrap_or(&nothing),
                        files: plan_of(planned, member)
                            .map(|upgrade| upgrade.files.as_slice())
                            .unwrap_or_default(),
                        hold: of_each[member].hold_on(self.today),
                        skipped: of_each[member].skipped.as_ref().or(earlier.skipped.get(member)),
                        command: strongest([by_command.wish(id), by_command.wish(member)]),
                        earlier: joins
                            .then(|| earlier.of(member))
                            .flatten()
                            .and_then(|(on, _)| ended.get(on))
                            .filter(|pull| pull.state != PullState::Open),
                        waits: waits.get(member).and_then(|why| why.as_deref()),
                    }
                })
                .collect();
            let Gathered { wanted: of_group, hold, carried, left_out } = gather(&all, offered.as_ref());
            let known = Known { wanted: &of_group, command, hold, skipped: None, decisions: &decisions };
            let action = self.decide_one(planned, id, &known, on_branch.clone()).await?;
            let joins = |member: &&ProposalId| {
                self.may_join(id, member, wanted)
                    && strongest([by_command.wish(id), by_command.wish(member)]) == Command::None
                    && !waits.contains_key(*member)
            };
            let writes = matches!(action, Action::Open { .. } | Action::Update { .. });
            let new: Vec<ProposalId> = carried.iter().filter(joins).filter(|_| writes).cloned().collect();
            let mut waiting = false;
            for member in new {
                let why = self.rollout_of(planned, &member).await?;
                waiting |= why.is_some();
                waits.insert(member, why);
            }
            if !waiting {
                let told = |why| match why {
                    // The next pull request of the branch takes the place of that one, and notes it.
                    WhyLeftOut::Stands(Standing::Declined { pull }) if writes => {
                        let by = format!("whoever closed #{pull}");
                        WhyLeftOut::Stands(Standing::Skipped { by })
                    }
                    why => why,
                };
                let left_out = left_out.into_iter().map(|one| (one.proposal, told(one.why))).collect();
                return Ok(Decided { wanted: of_group, action, command, carried, left_out });
            }
        }
    }

    /// Why a proposal waits for its cluster's machines, where it does.
    pub(super) async fn rollout_of(
        self,
        planned: Planned<'_>,
        proposal: &ProposalId,
    ) -> Result<Option<String>, SyncError> {
        let Planned { reporters, scopes, .. } = planned;
        let Some(cluster) = proposal.target.cluster() else { return Ok(None) };
        match self.awaits_rollout(reporters, scopes, cluster).await {
            // What is wrong with one cluster's last rollout is not its neighbours' trouble.
            Err(error) if error.is_of_one() => {
                tracing::warn!(repository = %self.repository.name, cluster = %proposal, error = %error, "whether a rollout is done cannot be told");
                Ok(Some(format!("Whether its last rollout is done cannot be told: {error}")))
            }
            why => why,
        }
    }

    /// What the open pull request of a group offers.
    fn offered_by(&self, id: &ProposalId) -> Option<SourceState> {
        let pull = self.open_proposal(id)?;
        let block = Block::read(&pull.body, &self.ports.key, self.repository.id, pull.number, id)?;
        Some(block.source)
    }

    /// Whether an open pull request is left as it is although the settings give what it brings to another one: people
    /// have worked on it, or taken it further.
    pub(super) async fn keeps_its_form(
        self,
        planned: Planned<'_>,
        id: &ProposalId,
    ) -> Result<bool, SyncError> {
        let Some(open) = self.open_proposal(id) else { return Ok(false) };
        let decisions = planned.decided.of(id);
        let wanted = Wanted::Nothing { why: String::new(), rest: Rest::Current };
        let command = planned.decided.wish(id);
        let known = Known { wanted: &wanted, command, hold: None, skipped: None, decisions: &decisions };
        let closes = matches!(
            self.decide_one(planned, id, &known, None).await?,
            Action::Close { .. } | Action::Leave(Standing::Paused { .. })
        );
        Ok(!closes || command == Command::None && self.reviewed(open, &decisions).await? != Reviewed::Not)
    }

    /// Decides one: finds out what the decision asks for, until there is one.
    async fn decide_one(
        self,
        planned: Planned<'_>,
        proposal: &ProposalId,
        known: &Known<'_>,
        earlier: Option<(Pull, &EarlierPullRequest)>,
    ) -> Result<Action, SyncError> {
        let open = self.open_proposal(proposal);
        let base = open.map(|pull| &pull.base).or(earlier.as_ref().map(|(_, pull)| &pull.base)).cloned();
        let pull = match (open, earlier) {
            (Some(open), _) => {
                let block =
                    Block::read(&open.body, &self.ports.key, self.repository.id, open.number, proposal);
                let source = block.map(|block| block.source);
                let (number, head) = (open.number, open.head.clone());
                Some(Pull { number, state: PullState::Open, head, source, leaves: None })
            }
            (None, Some((earlier, _))) => Some(earlier),
            (None, None) => None,
        };
        let mut facts = Facts {
            wanted: known.wanted.clone(),
            pulls: pull.into_iter().collect(),
            command: known.command,
            hold: known.hold.clone(),
            skipped: known.skipped.clone(),
            pause: planned.decided.pause().cloned(),
            answers: Answers::default(),
        };
        loop {
            match (decide(&facts), open) {
                (Decision::Do(action), _) => return Ok(action),
                (Decision::Ask(Question::Branch), _) => {
                    facts.answers.branch = Some(self.branch_facts(proposal, base.as_ref()).await?);
                }
                (Decision::Ask(Question::Reviewed), Some(open)) => {
                    facts.answers.reviewed = Some(self.reviewed(open, known.decisions).await?);
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
}

/// The upgrade of a proposal, where there is one.
pub(super) fn plan_of<'a>(planned: Planned<'a>, proposal: &ProposalId) -> Option<&'a Upgrade> {
    planned.plans.get(proposal).and_then(|plan| plan.as_ref().ok()).map(AsRef::as_ref)
}

/// Of several wishes the one that the others are part of.
fn strongest(wishes: impl IntoIterator<Item = Command>) -> Command {
    let rank = |wish: &Command| match wish {
        Command::None => 0,
        Command::Offer => 1,
        Command::Replan => 2,
        Command::Skip => 3,
    };
    wishes.into_iter().max_by_key(rank).unwrap_or(Command::None)
}
