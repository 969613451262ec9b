//! The decision about each pull request, from what is known of it and of its members. It asks for further
//! facts one question at a time, so that nothing is read without need.

use std::collections::BTreeMap;

use capstan_facts::{EarlierPullRequest, MergeQueueState, ReviewDecision};
use capstan_model::ids::ClusterId;
use capstan_model::rest::Rest;
use capstan_model::tree::CommitId;
use capstan_plan::proposal::{
    Action, Answers as OfPull, Closer, Decision, Decisions, GroupContent, GroupMember, LeaveReason, Leaving,
    Mergeable, OnHold, OpenPullState, OutsideTarget, ProposalCommand, ProposalId, ProposalPlan,
    ProposalQuestion, Pull, PullFacts, PullState, Reviewed, Scope, Skipped, SourceState, WhyLeftOut, decide,
    gather, guard_upgrade,
};
use capstan_plan::upgrade::ValuesCourse;
use capstan_report::{BlockPart, room_for_part};

use super::carriers::Form;
use super::earlier::{Earlier, may_join};
use crate::facts::{Facts, Write};
use crate::planned::PlannedRun;

/// The decision about a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecidedPull {
    /// What it should be.
    pub wanted: ProposalPlan,
    /// What to do.
    pub action: Action,
    /// What a person asked for.
    pub command: ProposalCommand,
    /// The proposals whose changes it brings.
    pub carried: Vec<ProposalId>,
    /// Members of its group that are left out, and why.
    pub left_out: Vec<(ProposalId, WhyLeftOut)>,
    /// Whether the open pull request brings changes of a member that has to leave it.
    pub leaving: Leaving,
    /// A member whose plan would write outside of its target: the others continue without it.
    pub outside: Option<OutsideTarget>,
    /// The previous pull request of the branch on which one is to be opened.
    pub after: Option<u64>,
}

impl DecidedPull {
    /// The write to GitHub, if there is one.
    pub fn write(&self, proposal: &ProposalId) -> Option<Write> {
        let content = match (&self.action, &self.wanted) {
            (Action::Leave(_), _) => return None,
            (Action::Close { why, .. }, _) => format!("closed: {why}"),
            (_, ProposalPlan::Offer(offer)) => format!("{} {}", offer.source, offer.plan),
            (_, _) => return None,
        };
        Some(Write::proposal(proposal, content))
    }

    /// Whether a pull request is opened.
    pub const fn opens(&self) -> bool {
        matches!(self.action, Action::Open { .. })
    }
}

/// A fact that a decision needs first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Need {
    /// The branch of the proposal; `base` is the base as its pull request last saw it.
    Branch { base: Option<CommitId> },
    /// Whether its open pull request is approved, queued or on auto-merge.
    Reviewed,
    /// Whether its open pull request conflicts with its base.
    Mergeable,
    /// The fate of the previous pull request of that proposal's branch.
    Ended(ProposalId, Box<EarlierPullRequest>),
    /// Whether the clusters of these proposals still wait for their machines.
    Rollouts(Vec<ProposalId>),
}

/// The answers so far; a fact that is absent was not asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answers {
    /// About the pull request itself.
    pub of_pull: OfPull,
    /// The fate of earlier pull requests, by the proposal of their branch.
    pub ended: BTreeMap<ProposalId, Pull>,
    /// Why proposals wait for their clusters' machines; `None` where one does not.
    pub rollouts: BTreeMap<ProposalId, Option<String>>,
}

/// The state of a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DecisionStep<T, N = Need> {
    /// This has to be known first.
    Ask(N),
    /// The decision.
    Decided(T),
}

/// The facts about one pull request, without those that it asks for.
struct DecisionFacts<'a> {
    wanted: &'a ProposalPlan,
    command: ProposalCommand,
    hold: Option<OnHold>,
    skipped: Option<Skipped>,
    leaving: Leaving,
}

/// A pull request, open or not, with its possible members.
pub struct Carrier<'a> {
    planned: PlannedRun<'a>,
    id: &'a ProposalId,
    members: &'a [ProposalId],
    wanted: &'a BTreeMap<ProposalId, ProposalPlan>,
    earlier: &'a Earlier,
    /// The proposals whose changes the open pull request brings.
    there: Vec<ProposalId>,
    /// Members whose plan would write outside of their target, a bug of Capstan's: the others of their group
    /// continue without them.
    outside: BTreeMap<ProposalId, (OutsideTarget, ProposalPlan)>,
}

impl<'a> Carrier<'a> {
    /// Gathers the facts about it, without those that it asks for.
    pub fn new(
        planned: PlannedRun<'a>,
        (id, members): (&'a ProposalId, &'a [ProposalId]),
        wanted: &'a BTreeMap<ProposalId, ProposalPlan>,
        earlier: &'a Earlier,
    ) -> Self {
        let is_one = id.target.group().is_none() && wanted.contains_key(id);
        let outside = if is_one { BTreeMap::new() } else { outside(planned, members) };
        let there = if planned.facts.is_open(id) { planned.facts.members_of(id) } else { Vec::new() };
        Self { planned, id, members, wanted, earlier, there, outside }
    }

    /// Members whose plan would write outside of their target.
    pub fn outside(&self) -> impl Iterator<Item = (&ProposalId, &OutsideTarget)> {
        self.outside.iter().map(|(member, (error, _))| (member, error))
    }

    /// Decides about it, or says which fact is needed first.
    pub fn decide(&self, answers: &Answers) -> DecisionStep<DecidedPull> {
        let own = self.wanted.get(self.id).filter(|_| self.id.target.group().is_none());
        let decided = match own {
            Some(wanted) => self.decide_own(wanted, answers),
            None => self.decide_group(answers),
        };
        decided.map_or_else(DecisionStep::Ask, DecisionStep::Decided)
    }

    fn decide_own(&self, wanted: &ProposalPlan, answers: &Answers) -> Result<DecidedPull, Need> {
        let (facts, by_command) = (self.planned.facts, self.planned.decided);
        let decisions = by_command.of(self.id);
        let known = DecisionFacts {
            wanted,
            command: by_command.wish(self.id),
            hold: decisions.hold_on(facts.today).cloned(),
            skipped: decisions.skipped.clone().or_else(|| self.earlier.skipped.get(self.id).cloned()),
            leaving: Leaving::Nobody,
        };
        let earlier = match self.earlier.of(self.id) {
            Some((on, pull)) if !facts.is_open(self.id) => Some((ended(answers, on, pull)?.clone(), pull)),
            _ => None,
        };
        Ok(DecidedPull {
            action: decide_one(self.planned, self.id, &known, earlier, answers)?,
            command: known.command,
            wanted: wanted.clone(),
            carried: vec![self.id.clone()],
            left_out: Vec::new(),
            leaving: Leaving::Nobody,
            outside: None,
            after: None,
        })
    }

    /// A person's wish for one member. A wish for the whole group does not add a member that was skipped by
    /// name, or that is left out of the open pull request.
    fn member_command(&self, member: &ProposalId, decisions: &Decisions) -> ProposalCommand {
        let (facts, by_command) = (self.planned.facts, self.planned.decided);
        let own = by_command.wish(member);
        let is_of_whole = self.there.contains(member) || !facts.is_open(self.id);
        let is_asked = is_of_whole && decisions.skipped.is_none();
        if is_asked { strongest([by_command.wish(self.id), own]) } else { own }
    }

    fn decide_group(&self, answers: &Answers) -> Result<DecidedPull, Need> {
        let Self { planned, id, members, wanted, earlier, .. } = *self;
        let (facts, by_command) = (planned.facts, planned.decided);
        let command = strongest(
            std::iter::once(by_command.wish(id)).chain(members.iter().map(|member| by_command.wish(member))),
        );
        let of_each: BTreeMap<&ProposalId, Decisions> =
            members.iter().map(|member| (member, by_command.of(member))).collect();
        // Each is read once, however many members it had.
        let new = members.iter().filter(|member| may_join(facts, id, member, wanted));
        for (on, pull) in new.filter_map(|member| earlier.of(member)).chain(earlier.pulls.get_key_value(id)) {
            ended(answers, on, pull)?;
        }
        // The end of earlier pull requests concerns each of their members by itself.
        let on_branch = earlier.pulls.get(id).and_then(|pull| {
            let facts = answers.ended.get(id)?.clone();
            let state = match facts.state {
                PullState::Merged => PullState::Merged,
                PullState::Open | PullState::Closed(_) => PullState::Closed(Closer::Capstan),
            };
            Some((Pull { state, source: None, leaves: None, ..facts }, pull))
        });
        let nothing = ProposalPlan::Nothing { why: String::new(), rest: Rest::Gone };
        let room = |member: &ProposalId, decisions: &Decisions| {
            room_for_part(&BlockPart::left_out(member.target.clone(), decisions.clone()))
        };
        let all: Vec<GroupMember<'_>> = members
            .iter()
            .map(|one| {
                let decisions = &of_each[one];
                let joins = may_join(facts, id, one, wanted);
                GroupMember {
                    proposal: one,
                    wanted: match self.outside.get(one) {
                        Some((_, refused)) => refused,
                        None => wanted.get(one).unwrap_or(&nothing),
                    },
                    files: planned.plan_of(one).map(|plan| plan.files.as_slice()).unwrap_or_default(),
                    hold: decisions.hold_on(facts.today),
                    skipped: decisions.skipped.as_ref().or(earlier.skipped.get(one)),
                    command: self.member_command(one, decisions),
                    earlier: joins
                        .then(|| earlier.of(one))
                        .flatten()
                        .and_then(|(on, _)| answers.ended.get(on))
                        .filter(|pull| pull.state != PullState::Open),
                    waits: answers.rollouts.get(one).and_then(|why| why.as_deref()),
                    open_pull: if self.there.contains(one) {
                        OpenPullState::There
                    } else {
                        OpenPullState::Elsewhere
                    },
                    room: room(one, decisions),
                }
            })
            .collect();
        let GroupContent { wanted: of_group, hold, carried, left_out, leaving } =
            gather(&all, offered_by(facts, id).as_ref());
        // A member that has a pull request of its own now is merged with that.
        let moved = self.there.iter().any(|member| !members.contains(member));
        let leaving = if moved { Leaving::Somebody } else { leaving };
        let known = DecisionFacts { wanted: &of_group, command, hold, skipped: None, leaving };
        let action = decide_one(planned, id, &known, on_branch, answers)?;
        let writes = matches!(action, Action::Open { .. } | Action::Update { .. });
        // New members wait for their machines as they would outside.
        let is_unasked = |member: &&ProposalId| {
            may_join(facts, id, member, wanted)
                && of_each
                    .get(*member)
                    .is_some_and(|decisions| self.member_command(member, decisions) == ProposalCommand::None)
                && !answers.rollouts.contains_key(*member)
        };
        let unasked: Vec<ProposalId> = carried.iter().filter(is_unasked).cloned().collect();
        if writes && !unasked.is_empty() {
            return Err(Need::Rollouts(unasked));
        }
        let told = |why| {
            // The next pull request of the branch replaces this one, and records that.
            let by = match &why {
                WhyLeftOut::LeftAlone(LeaveReason::Declined { pull }) => {
                    format!("the person who closed #{pull}")
                }
                WhyLeftOut::LeftAlone(LeaveReason::Merged { pull }) => {
                    format!("the person who reverted #{pull}")
                }
                _ => return why,
            };
            if writes { WhyLeftOut::LeftAlone(LeaveReason::Skipped { by }) } else { why }
        };
        Ok(DecidedPull {
            wanted: of_group,
            action,
            command,
            carried,
            left_out: left_out.into_iter().map(|one| (one.proposal, told(one.why))).collect(),
            leaving,
            outside: self.outside.values().map(|(error, _)| error.clone()).next(),
            after: earlier.pulls.get(id).map(|pull| pull.number),
        })
    }
}

/// Whether an open pull request is kept although the settings move its changes to another one: people have
/// worked on it, approved it or queued it.
pub fn keeps_its_form(planned: PlannedRun<'_>, id: &ProposalId, answers: &Answers) -> DecisionStep<Form> {
    let decide = || -> Result<Form, Need> {
        if !planned.facts.is_open(id) {
            return Ok(Form::Moves);
        }
        let command = planned.decided.wish(id);
        let wanted = ProposalPlan::Nothing { why: String::new(), rest: Rest::Current };
        let (hold, skipped, leaving) = (None, None, Leaving::Nobody);
        let known = DecisionFacts { wanted: &wanted, command, hold, skipped, leaving };
        let closes = matches!(
            decide_one(planned, id, &known, None, answers)?,
            Action::Close { .. } | Action::Leave(LeaveReason::Paused { .. })
        );
        if !closes {
            return Ok(Form::Keeps);
        }
        if command != ProposalCommand::None {
            return Ok(Form::Moves);
        }
        match answers.of_pull.reviewed.ok_or(Need::Reviewed)? {
            Reviewed::Not => Ok(Form::Moves),
            Reviewed::Approved | Reviewed::Queued | Reviewed::AutoMerge => Ok(Form::Keeps),
        }
    };
    decide().map_or_else(DecisionStep::Ask, DecisionStep::Decided)
}

/// The fate of the previous pull request of a proposal's branch.
fn ended<'a>(answers: &'a Answers, on: &ProposalId, pull: &EarlierPullRequest) -> Result<&'a Pull, Need> {
    answers.ended.get(on).ok_or_else(|| Need::Ended(on.clone(), Box::new(pull.clone())))
}

/// Members whose plan would write outside of their target.
fn outside(
    planned: PlannedRun<'_>,
    members: &[ProposalId],
) -> BTreeMap<ProposalId, (OutsideTarget, ProposalPlan)> {
    let one = |member: &ProposalId| {
        let (upgrade, scope) = (planned.plan_of(member)?, planned.scopes.get(&member.target)?);
        let scope = Scope { retarget: planned.retarget_of(member), ..scope.clone() };
        let error = guard_upgrade(&scope, planned.facts.base.tree.as_ref(), upgrade).err()?;
        let refused = ProposalPlan::Unplannable { why: error.to_string() };
        Some((member.clone(), (error, refused)))
    };
    members.iter().filter_map(one).collect()
}

/// The cluster whose machines a proposal may have to wait for.
pub fn awaited_cluster<'p>(planned: PlannedRun<'_>, proposal: &'p ProposalId) -> Option<&'p ClusterId> {
    let cluster = proposal.target.cluster()?;
    // A new cluster has no rollout yet, and one that is deleted need not finish it.
    let values = planned.plan_of(proposal).and_then(|upgrade| upgrade.values.as_deref());
    values.is_none_or(|values| values.course == ValuesCourse::Changes).then_some(cluster)
}

/// The offer of a group's open pull request.
fn offered_by(facts: &Facts, id: &ProposalId) -> Option<SourceState> {
    let pull = facts.open_proposal(id)?;
    Some(facts.block(id, pull.number, &pull.body)?.source)
}

/// Decides one, or says which fact is needed first.
fn decide_one(
    planned: PlannedRun<'_>,
    proposal: &ProposalId,
    known: &DecisionFacts<'_>,
    earlier: Option<(Pull, &EarlierPullRequest)>,
    answers: &Answers,
) -> Result<Action, Need> {
    let facts = planned.facts;
    let open = facts.open_proposal(proposal);
    let base = open.map(|pull| &pull.base).or(earlier.as_ref().map(|(_, pull)| &pull.base)).cloned();
    let pull = match (open, earlier) {
        (Some(open), _) => {
            let source = facts.block(proposal, open.number, &open.body).map(|block| block.source);
            let (number, head) = (open.number, open.head.clone());
            Some(Pull { number, state: PullState::Open, head, source, leaves: None })
        }
        (None, Some((earlier, _))) => Some(earlier),
        (None, None) => None,
    };
    let mut of_pull = answers.of_pull.clone();
    if open.is_none() {
        // Only asked of open pull requests.
        of_pull.reviewed = Some(Reviewed::Not);
        of_pull.mergeable = Some(Mergeable::PerhapsYes);
    }
    let decision = decide(&PullFacts {
        wanted: known.wanted.clone(),
        pulls: pull.into_iter().collect(),
        command: known.command,
        hold: known.hold.clone(),
        skipped: known.skipped.clone(),
        pause: planned.decided.pause().cloned(),
        leaving: known.leaving,
        answers: of_pull,
    });
    match decision {
        Decision::Do(action) => Ok(action),
        Decision::Ask(ProposalQuestion::Branch) => Err(Need::Branch { base }),
        Decision::Ask(ProposalQuestion::Reviewed) => Err(Need::Reviewed),
        Decision::Ask(ProposalQuestion::Mergeable) => Err(Need::Mergeable),
    }
}

/// How far people have taken an open pull request.
pub fn reviewed(state: &MergeQueueState, decisions: &Decisions) -> Reviewed {
    if state.queued {
        Reviewed::Queued
    } else if state.auto_merge {
        Reviewed::AutoMerge
    } else if state.review == ReviewDecision::Approved || decisions.is_approved() {
        Reviewed::Approved
    } else {
        Reviewed::Not
    }
}

/// Of several wishes the one that includes the others.
pub(super) fn strongest(wishes: impl IntoIterator<Item = ProposalCommand>) -> ProposalCommand {
    let rank = |wish: &ProposalCommand| match wish {
        ProposalCommand::None => 0,
        ProposalCommand::Offer => 1,
        ProposalCommand::Replan => 2,
        ProposalCommand::Skip => 3,
    };
    wishes.into_iter().max_by_key(rank).unwrap_or(ProposalCommand::None)
}
