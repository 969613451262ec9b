//! What to do with one target's proposal, given what the planner wants and what GitHub and Git show.
//!
//! The decision looks at the present state alone. Made twice it says the same; made after a crash
//! between any two writes it says what is still missing.
//!
//! A fact that costs a call is asked for only where it changes the decision. [`decide`] answers with a
//! [`ProposalQuestion`]; the caller adds the answer to the same facts, and calls [`decide`] again. An answer never
//! takes back an earlier question, so there are at most as many rounds as kinds of questions.

use super::offer_name::name_of;
use super::{Authorship, Draft, OfBase, OnHold, Paused, PlanDigest, Skipped, SourceState};
use capstan_model::rest::Rest;
use capstan_model::source::SourceKind;
use capstan_model::tree::CommitId;

/// Everything that decides one proposal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullFacts {
    /// What the planner wants at the tip of the base branch.
    pub wanted: ProposalPlan,
    /// Pull requests from its branch to the base branch, newest first.
    pub pulls: Vec<Pull>,
    /// What a person with the right to do so has just asked for.
    pub command: ProposalCommand,
    /// Somebody said that it is to be left alone.
    pub hold: Option<OnHold>,
    /// Somebody said that a source is not to be offered.
    pub skipped: Option<Skipped>,
    /// Somebody said that nothing is to be written in the repository.
    pub pause: Option<Paused>,
    /// Whether the open pull request brings what must not be merged.
    pub leaving: Leaving,
    /// What was asked so far.
    pub answers: Answers,
}

/// Whether somebody whose changes an open pull request brings has to leave it: they are held, say, or block. Only of one
/// that several share others stay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Leaving {
    /// Nobody has.
    #[default]
    Nobody,
    /// Somebody has.
    Somebody,
}

/// Answers to [`ProposalQuestion`]s; `None` = not asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answers {
    /// The proposal's branch, where it exists.
    pub branch: Option<Option<Branch>>,
    /// How far people have taken the open pull request.
    pub reviewed: Option<Reviewed>,
    /// Whether the open pull request merges.
    pub mergeable: Option<Mergeable>,
}

/// What has to be known before a proposal can be decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProposalQuestion {
    /// Where the proposal's branch is, and whose work is on it.
    Branch,
    /// How far people, or the queue, have taken the open pull request.
    Reviewed,
    /// Whether the open pull request merges.
    Mergeable,
}

/// The result of deciding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    Do(Action),
    /// First find out that.
    Ask(ProposalQuestion),
}

/// What the planner wants of a proposal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProposalPlan {
    /// Nothing is offered: the target is where it should be, held back, or there no more.
    Nothing {
        /// Why, as a sentence.
        why: String,
        /// The same in a word.
        rest: Rest,
    },
    /// An upgrade that can be written.
    Offer(Offer),
    /// An upgrade that blocks: nothing of it may be written.
    Blocked {
        /// Why, a sentence each.
        why: Vec<String>,
    },
    /// The target cannot be planned (an unreadable file): nothing is known, so nothing is touched.
    Unplannable {
        /// Why, with the place.
        why: String,
    },
}

/// An upgrade that can be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The source offered, and its content.
    pub source: SourceState,
    /// Digest of what would be written on the tip of the base branch.
    pub plan: PlanDigest,
    /// Whether it is offered as a draft.
    pub draft: Draft,
    /// What kind of source brings it.
    pub brought_by: SourceKind,
    /// What it changes.
    pub writes: Writes,
}

/// What an offer changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Writes {
    #[default]
    Objects,
    /// Only what Capstan records of values that the base has already. A merged record that is gone does not mean that
    /// somebody took a change back.
    RecordAlone,
}

impl Offer {
    /// By what it is known to who declined or skipped it. A release by its name: who declined it need not decline each
    /// correction of it. What the inventory brings by its values, too: the next edit is another matter.
    pub fn name(&self) -> String {
        name_of(&self.source, &self.brought_by)
    }

    /// Whether that is what a pull request offered.
    fn is(&self, offered: &SourceState) -> bool {
        self.name() == name_of(offered, &self.brought_by)
    }
}

/// The proposal's branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// Its commit.
    pub head: CommitId,
    /// Whose work that is.
    pub authorship: Authorship,
    /// Whether the commits below that one are known to be the base branch's. Otherwise there may be commits in between
    /// that no plan made, and the branch is written again rather than offered as it is.
    pub of_base: OfBase,
}

/// A pull request from the proposal's branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pull {
    pub number: u64,
    /// Open, merged, or closed and by which side.
    pub state: PullState,
    pub head: CommitId,
    /// The source that it offers (or offered last), as its body's block or its commit says.
    pub source: Option<SourceState>,
    /// The source that it rolls back from, where it is a rollback.
    pub leaves: Option<String>,
}

/// State of a proposal's pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PullState {
    Open,
    Merged,
    /// Closed without a merge.
    Closed(Closer),
}

/// Whether an open pull request merges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mergeable {
    /// It does, or GitHub has not computed it yet.
    PerhapsYes,
    /// It conflicts with its base.
    Conflicts,
}

/// How far a person, or the queue, has taken an open pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reviewed {
    /// Nobody has decided.
    Not,
    Approved,
    /// Set to merge by itself.
    AutoMerge,
    /// In a merge queue.
    Queued,
}

/// Who closed a pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Closer {
    /// Capstan, because nothing was left to do: says nothing about the source.
    Capstan,
    /// A person, who thereby declined the source.
    Person,
}

/// A person's wish.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProposalCommand {
    None,
    /// Write the proposal again, whatever is on its branch.
    Replan,
    /// Offer it again, no matter who closed it; what people wrote on its branch stays.
    Offer,
    /// Close it: this source is not offered again.
    Skip,
}

/// What to do with the branch before the pull request is opened or updated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BranchStep {
    /// It carries what is wanted.
    Keep,
    /// It does not exist.
    Create,
    /// It is moved, if it still is at `before`.
    Move {
        /// Its present commit.
        before: CommitId,
    },
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Open a pull request: counts against the limits.
    Open {
        /// What to do with the branch first.
        branch: BranchStep,
    },
    /// Bring an open pull request's branch and text to what is wanted.
    Update {
        /// Its number.
        pull: u64,
        /// What to do with the branch first.
        branch: BranchStep,
    },
    /// Close an open pull request: nothing is left to do.
    Close {
        /// Its number.
        pull: u64,
        /// Why, as a sentence.
        why: String,
        /// Whose wish that is: of a person's the source is declined.
        by: Closer,
        /// The same in a word, where it is Capstan's.
        rest: Rest,
    },
    /// Touch nothing.
    Leave(LeaveReason),
}

/// Why nothing is touched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeaveReason {
    NothingOffered {
        why: String,
        /// The same in a word.
        rest: Rest,
    },
    /// The upgrade blocks.
    Blocked {
        /// The open pull request it concerns, if any.
        pull: Option<u64>,
        /// Why, a sentence each.
        why: Vec<String>,
    },
    /// The target cannot be planned.
    Unplannable {
        /// The open pull request it concerns, if any.
        pull: Option<u64>,
        why: String,
    },
    /// The open pull request has been taken further by people: its target stays.
    Waits {
        /// Its number.
        pull: u64,
        /// How far it has been taken.
        reviewed: Reviewed,
        /// What waits: `None` where only the base moved.
        newer: Option<SourceState>,
    },
    /// A person said that it is to be left alone.
    Held {
        /// The open pull request, if any.
        pull: Option<u64>,
        /// Who, why, until when.
        hold: OnHold,
    },
    /// Nothing is written in the repository for now.
    Paused {
        /// The open pull request, if any.
        pull: Option<u64>,
        /// Who, why, since when.
        pause: Paused,
    },
    /// The branch holds a person's work.
    Edited {
        /// The open pull request, if any.
        pull: Option<u64>,
    },
    /// A person said that this source is not wanted.
    Skipped {
        /// Who.
        by: String,
    },
    /// A person closed this source's pull request.
    Declined {
        /// Its number.
        pull: u64,
    },
    /// Somebody rolled back from this source.
    RolledBack {
        /// The number of the rollback.
        pull: u64,
    },
    /// This source was merged; if the base has it no longer, a person took it back.
    Merged {
        /// Its number.
        pull: u64,
    },
}

/// Decides, or asks what it has to know for that.
pub fn decide(facts: &PullFacts) -> Decision {
    let open = facts.pulls.iter().find(|pull| pull.state == PullState::Open);
    let number = open.map(|pull| pull.number);
    let skipped = facts.skipped.as_ref().filter(|one| is_skipped(one, &facts.wanted, facts.command));
    if let (Some(pull), true) = (number, facts.command == ProposalCommand::Skip || skipped.is_some()) {
        let why =
            "Somebody asked for it with `skip`: Capstan does not offer this again, only something newer."
                .to_owned();
        return Decision::Do(Action::Close { pull, why, by: Closer::Person, rest: Rest::Current });
    }
    if let Some(hold) = &facts.hold
        && !matches!(facts.wanted, ProposalPlan::Nothing { .. })
    {
        return Decision::Do(Action::Leave(LeaveReason::Held { pull: number, hold: hold.clone() }));
    }
    if let Some(Skipped { by, .. }) = skipped {
        return Decision::Do(Action::Leave(LeaveReason::Skipped { by: by.clone() }));
    }
    // A pause changes nothing for the others: they neither open, write nor close a pull request.
    if let (Some(pause), ProposalPlan::Offer(_), _) | (Some(pause), ProposalPlan::Nothing { .. }, Some(_)) =
        (&facts.pause, &facts.wanted, open)
    {
        return Decision::Do(Action::Leave(LeaveReason::Paused { pull: number, pause: pause.clone() }));
    }
    let decided = match (&facts.wanted, open) {
        (ProposalPlan::Unplannable { why }, _) => {
            Ok(Action::Leave(LeaveReason::Unplannable { pull: number, why: why.clone() }))
        }
        (ProposalPlan::Blocked { why }, _) => {
            Ok(Action::Leave(LeaveReason::Blocked { pull: number, why: why.clone() }))
        }
        (ProposalPlan::Nothing { why, rest }, None) => {
            Ok(Action::Leave(LeaveReason::NothingOffered { why: why.clone(), rest: *rest }))
        }
        (ProposalPlan::Nothing { why, rest }, Some(pull)) => close(facts, pull.number, why, *rest),
        (ProposalPlan::Offer(offer), Some(pull)) => update(facts, offer, pull.number),
        (ProposalPlan::Offer(offer), None) => open_new(facts, offer),
    };
    decided.map_or_else(Decision::Ask, Decision::Do)
}

/// Whether what is offered is what somebody skipped, and nobody has asked for it since.
pub(super) fn is_skipped(skipped: &Skipped, wanted: &ProposalPlan, command: ProposalCommand) -> bool {
    let asked = matches!(command, ProposalCommand::Offer | ProposalCommand::Replan);
    matches!(wanted, ProposalPlan::Offer(offer) if offer.name() == skipped.source) && !asked
}

impl Answers {
    fn branch(&self) -> Result<Option<&Branch>, ProposalQuestion> {
        self.branch.as_ref().map(Option::as_ref).ok_or(ProposalQuestion::Branch)
    }

    fn reviewed(&self) -> Result<Reviewed, ProposalQuestion> {
        self.reviewed.ok_or(ProposalQuestion::Reviewed)
    }

    fn mergeable(&self) -> Result<Mergeable, ProposalQuestion> {
        self.mergeable.ok_or(ProposalQuestion::Mergeable)
    }
}

fn close(facts: &PullFacts, pull: u64, why: &str, rest: Rest) -> Result<Action, ProposalQuestion> {
    let branch = facts.answers.branch()?;
    if facts.command != ProposalCommand::Replan {
        if edited(branch) == EditedBranch::Yes {
            return Ok(Action::Leave(LeaveReason::Edited { pull: Some(pull) }));
        }
        let reviewed = facts.answers.reviewed()?;
        if reviewed == Reviewed::Queued {
            return Ok(Action::Leave(LeaveReason::Waits { pull, reviewed, newer: None }));
        }
    }
    Ok(Action::Close { pull, why: why.to_owned(), by: Closer::Capstan, rest })
}

fn update(facts: &PullFacts, offer: &Offer, pull: u64) -> Result<Action, ProposalQuestion> {
    let answers = &facts.answers;
    // The branch of an open pull request is missing only for a moment: GitHub closes the pull request.
    let Some(branch) = answers.branch()? else {
        return Ok(Action::Update { pull, branch: BranchStep::Create });
    };
    let keep = Action::Update { pull, branch: BranchStep::Keep };
    let write_anew = Action::Update { pull, branch: BranchStep::Move { before: branch.head.clone() } };
    let waits = |reviewed, newer| Action::Leave(LeaveReason::Waits { pull, reviewed, newer });
    let (source, plan) = match (&branch.authorship, facts.command) {
        (_, ProposalCommand::Replan) => {
            let as_wanted = carries(branch, offer) && answers.mergeable()? == Mergeable::PerhapsYes;
            return Ok(if as_wanted { keep } else { write_anew });
        }
        (Authorship::Person, _) => {
            return Ok(Action::Leave(LeaveReason::Edited { pull: Some(pull) }));
        }
        (Authorship::Capstan { source, plan }, _) => (source, plan),
    };
    if *source != offer.source {
        return Ok(match answers.reviewed()? {
            Reviewed::Not => write_anew,
            reviewed => waits(reviewed, Some(offer.source.clone())),
        });
    }
    let is_current = *plan == offer.plan && branch.of_base == OfBase::Yes;
    if is_current && answers.mergeable()? == Mergeable::PerhapsYes {
        return Ok(keep);
    }
    // What people approved is changed only where it cannot or must not be merged as it is; its target stays.
    match answers.reviewed()? {
        Reviewed::Not => Ok(write_anew),
        Reviewed::Approved | Reviewed::AutoMerge
            if facts.leaving == Leaving::Somebody || answers.mergeable()? == Mergeable::Conflicts =>
        {
            Ok(write_anew)
        }
        reviewed => Ok(waits(reviewed, None)),
    }
}

/// How an earlier pull request ended, where that speaks against offering this again and nobody asks for it.
pub(super) fn ended_against(pull: &Pull, offer: &Offer, command: ProposalCommand) -> Option<LeaveReason> {
    if !matches!(command, ProposalCommand::None | ProposalCommand::Skip) {
        return None;
    }
    let same_source = pull.source.as_ref().is_some_and(|source| offer.is(source));
    match pull.state {
        PullState::Closed(Closer::Person) if same_source || pull.source.is_none() => {
            Some(LeaveReason::Declined { pull: pull.number })
        }
        // What was merged and is wanted again was reverted. It comes again with another content, a newer source, or
        // when somebody asks (`replan`), and not against the will of the person who reverted it.
        PullState::Merged if pull.leaves.as_ref() == Some(&offer.source.source().to_string()) => {
            Some(LeaveReason::RolledBack { pull: pull.number })
        }
        PullState::Merged
            if pull.source.as_ref() == Some(&offer.source) && offer.writes == Writes::Objects =>
        {
            Some(LeaveReason::Merged { pull: pull.number })
        }
        _ => None,
    }
}

fn open_new(facts: &PullFacts, offer: &Offer) -> Result<Action, ProposalQuestion> {
    let newest = facts.pulls.first();
    if let Some(standing) = newest.and_then(|pull| ended_against(pull, offer, facts.command)) {
        return Ok(Action::Leave(standing));
    }
    let Some(branch) = facts.answers.branch()? else {
        return Ok(Action::Open { branch: BranchStep::Create });
    };
    // A merged branch that nobody deleted: the base has everything that is on it.
    let merged = newest.is_some_and(|pull| pull.state == PullState::Merged && pull.head == branch.head);
    if edited(Some(branch)) == EditedBranch::Yes && !merged && facts.command != ProposalCommand::Replan {
        return Ok(Action::Leave(LeaveReason::Edited { pull: None }));
    }
    let keep = carries(branch, offer) && !merged;
    Ok(Action::Open {
        branch: if keep { BranchStep::Keep } else { BranchStep::Move { before: branch.head.clone() } },
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum EditedBranch {
    Yes,
    No,
}

const fn edited(branch: Option<&Branch>) -> EditedBranch {
    match branch {
        Some(Branch { authorship: Authorship::Person, .. }) => EditedBranch::Yes,
        _ => EditedBranch::No,
    }
}

fn carries(branch: &Branch, offer: &Offer) -> bool {
    branch.of_base == OfBase::Yes
        && matches!(&branch.authorship, Authorship::Capstan { source, plan }
        if *source == offer.source && *plan == offer.plan)
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
