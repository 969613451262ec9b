//! What is decided about each pull request: what GitHub and Git show of it, what is wanted of those whose changes it
//! carries, and the heart's word.

use std::collections::BTreeMap;

use capstan_model::rest::Rest;
use capstan_plan::proposal::{
    Action, Answers, Closer, Command, Decision, Decisions, Facts, Gathered, Leaving, Member, Mergeable,
    OnHold, OutsideTarget, ProposalId, Pull, PullState, Question, Reviewed, Scope, Skipped, SourceState,
    Standing, Stands, Wanted, WhyLeftOut, decide, gather, guard_upgrade,
};
use capstan_plan::upgrade::{Upgrade, ValuesCourse};
use capstan_report::{Block, BlockPart, room_for_part};

use super::earlier::Earlier;
use super::refusals::Write;
use super::{Planned, Run, SyncError};
use capstan_ports::{EarlierPullRequest, PullRequest, ReviewDecision};

/// What was decided about a pull request.
pub(super) struct Decided {
    pub(super) wanted: Wanted,
    pub(super) action: Action,
    pub(super) command: Command,
    /// Whose changes it brings.
    pub(super) carried: Vec<ProposalId>,
    /// Those of its group that stay out, and why.
    pub(super) left_out: Vec<(ProposalId, WhyLeftOut)>,
    /// Whether the open pull request brings changes of somebody who has to leave it.
    pub(super) leaving: Leaving,
    /// What the plan of one of its group wants to write where it must not: the others go without that one.
    pub(super) outside: Option<OutsideTarget>,
    /// The pull request of its branch before the one that is to be opened.
    pub(super) after: Option<u64>,
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

/// What decides about one pull request, beside what it has to be asked for.
struct Known<'a> {
    wanted: &'a Wanted,
    command: Command,
    hold: Option<OnHold>,
    skipped: Option<Skipped>,
    leaving: Leaving,
    /// What people decided about it as a whole.
    decisions: &'a Decisions,
}

impl Run<'_> {
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
                leaving: Leaving::Nobody,
                decisions: &decisions,
            };
            let earlier = match earlier.of(id) {
                Some((on, pull)) if !self.is_open(id) => Some((self.earlier_facts(on, pull).await?, pull)),
                _ => None,
            };
            let action = self.decide_one(planned, id, &known, earlier).await?;
            let command = known.command;
            let (carried, left_out, leaving) = (vec![id.clone()], Vec::new(), Leaving::Nobody);
            let wanted = wanted.clone();
            let (outside, after) = (None, None);
            return Ok(Decided { wanted, action, command, carried, left_out, leaving, outside, after });
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
        let outside = self.outside(planned, members);
        let room_of = |member: &ProposalId| {
            room_for_part(&BlockPart::left_out(member.target.clone(), of_each[member].clone()))
        };
        let there = self.facts.members_of(id);
        let is_there = |member: &ProposalId| self.is_open(id) && there.contains(member);
        // What is wished of the whole brings nobody in who was skipped by name, or who stays out of what is open.
        let wish_for = |member: &ProposalId| {
            let own = by_command.wish(member);
            let is_of_whole = is_there(member) || !self.is_open(id);
            let is_asked = is_of_whole && of_each[member].skipped.is_none();
            if is_asked { strongest([by_command.wish(id), own]) } else { own }
        };
        let mut waits: BTreeMap<ProposalId, Option<String>> = BTreeMap::new();
        loop {
            let all: Vec<Member<'_>> = members
                .iter()
                .map(|member| {
                    let joins = self.may_join(id, member, wanted);
                    Member {
                        proposal: member,
                        wanted: match outside.get(member) {
                            Some((_, refused)) => refused,
                            None => wanted.get(member).unwrap_or(&nothing),
                        },
                        files: plan_of(planned, member)
                            .map(|upgrade| upgrade.files.as_slice())
                            .unwrap_or_default(),
                        hold: of_each[member].hold_on(self.today),
                        skipped: of_each[member].skipped.as_ref().or(earlier.skipped.get(member)),
                        command: wish_for(member),
                        earlier: joins
                            .then(|| earlier.of(member))
                            .flatten()
                            .and_then(|(on, _)| ended.get(on))
                            .filter(|pull| pull.state != PullState::Open),
                        waits: waits.get(member).and_then(|why| why.as_deref()),
                        stands: if is_there(member) { Stands::There } else { Stands::Elsewhere },
                        room: room_of(member),
                    }
                })
                .collect();
            let Gathered { wanted: of_group, hold, carried, left_out, leaving } =
                gather(&all, offered.as_ref());
            // Who has a pull request of its own now is to be merged with that.
            let moved = there.iter().any(|member| !members.contains(member));
            let leaving = if moved { Leaving::Somebody } else { leaving };
            let known =
                Known { wanted: &of_group, command, hold, skipped: None, leaving, decisions: &decisions };
            let action = self.decide_one(planned, id, &known, on_branch.clone()).await?;
            let joins = |member: &&ProposalId| {
                self.may_join(id, member, wanted)
                    && wish_for(member) == Command::None
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
                let told = |why| {
                    // The next pull request of the branch takes the place of that one, and notes it.
                    let by = match &why {
                        WhyLeftOut::Stands(Standing::Declined { pull }) => format!("whoever closed #{pull}"),
                        WhyLeftOut::Stands(Standing::Merged { pull }) => {
                            format!("whoever took #{pull} back")
                        }
                        _ => return why,
                    };
                    if writes { WhyLeftOut::Stands(Standing::Skipped { by }) } else { why }
                };
                let left_out = left_out.into_iter().map(|one| (one.proposal, told(one.why))).collect();
                let outside = outside.into_values().map(|(error, _)| error).next();
                let after = earlier.pulls.get(id).map(|pull| pull.number);
                let wanted = of_group;
                return Ok(Decided { wanted, action, command, carried, left_out, leaving, outside, after });
            }
        }
    }

    /// Those whose plan wants to write where it must not, a fault of Capstan's: the others of their group go without them.
    fn outside(
        &self,
        planned: Planned<'_>,
        members: &[ProposalId],
    ) -> BTreeMap<ProposalId, (OutsideTarget, Wanted)> {
        let one = |member: &ProposalId| {
            let (upgrade, scope) = (plan_of(planned, member)?, planned.scopes.get(&member.target)?);
            let scope = Scope { retarget: planned.retarget_of(member), ..scope.clone() };
            let error = guard_upgrade(&scope, self.facts.base.tree.as_ref(), upgrade).err()?;
            tracing::error!(repository = %self.repository.name, cluster = %member, error = %error, "the plan is not published");
            let refused = Wanted::Unplannable { why: error.to_string() };
            Some((member.clone(), (error, refused)))
        };
        members.iter().filter_map(one).collect()
    }

    /// Why a proposal waits for its cluster's machines, where it does.
    pub(super) async fn rollout_of(
        self,
        planned: Planned<'_>,
        proposal: &ProposalId,
    ) -> Result<Option<String>, SyncError> {
        let Planned { reporters, scopes, .. } = planned;
        let Some(cluster) = proposal.target.cluster() else { return Ok(None) };
        // One that comes has no rollout yet, and one that goes need not finish it.
        let values = plan_of(planned, proposal).and_then(|upgrade| upgrade.values.as_deref());
        if values.is_some_and(|values| values.course != ValuesCourse::Changes) {
            return Ok(None);
        }
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
        let (hold, skipped, leaving) = (None, None, Leaving::Nobody);
        let known = Known { wanted: &wanted, command, hold, skipped, leaving, decisions: &decisions };
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
            leaving: known.leaving,
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
