//! Which file hears and answers each command. A new verb does not compile until it is named here.

use capstan_plan::proposal::{ProposalCommand as Wish, ProposalId};
use capstan_plan::upgrade::Side;
use capstan_plan::verbs::{Command, OfCluster};
use capstan_report::Answer;

use super::answering::{Answering, Asks};
use super::given::CommandContext;
use super::rollback::RollBacks;
use super::upgrade::ReleaseAsked;
use super::{
    approve, campaign, create, destroy, explain, help, hold, keep, merge, r#override, pause, plan, replan,
    resume, retarget, rollback, skip, status, unapprove, unhold, unskip, upgrade,
};
use crate::requests::Request;

/// What a command wishes of the proposal of its pull request as a whole.
pub(super) const fn wish(command: &Command) -> Option<Wish> {
    match command {
        Command::Replan => Some(replan::WISH),
        Command::Skip(OfCluster(None)) => Some(skip::WISH),
        Command::Unskip(OfCluster(None)) => Some(unskip::WISH),
        _ => None,
    }
}

/// The release that a command asks for, for these proposals; an error is the answer where there is none.
pub(super) fn release(
    command: &Command,
    (request, at): (&Request, usize),
    proposals: Vec<ProposalId>,
    rollbacks: &RollBacks,
) -> Option<Result<ReleaseAsked, Answer>> {
    match command {
        Command::Upgrade(to) => Some(Ok(upgrade::release(to, proposals))),
        Command::Rollback(_) => Some(rollback::release(&request.by, rollbacks.of(request, at)?, &proposals)),
        _ => None,
    }
}

/// Hears a command, and returns the answer where it is known at once.
pub(super) fn hear(given: &mut CommandContext<'_>) -> Option<Answer> {
    match given.command {
        Command::Approve(commit) => Some(approve::hear(given, commit)),
        Command::Campaign(order) => Some(campaign::hear(given, order)),
        Command::Hold(held) => Some(hold::hear(given, held)),
        Command::Keep(named) => Some(keep::hear(given, named, Side::Cluster)),
        Command::Override(overruled) => Some(r#override::hear(given, overruled)),
        Command::Pause(reason) => Some(pause::hear(given, reason)),
        Command::Resume => Some(resume::hear(given)),
        Command::Skip(of) => skip::hear(given, of),
        Command::Take(named) => Some(keep::hear(given, named, Side::Release)),
        Command::Unapprove => Some(unapprove::hear(given)),
        Command::Unhold(_) => Some(unhold::hear(given)),
        Command::Unskip(_) => {
            unskip::hear(given);
            None
        }
        // These have a wish, ask for a release, or only get an answer.
        Command::Create(_)
        | Command::Destroy(_)
        | Command::Explain(_)
        | Command::Help
        | Command::Merge(_)
        | Command::Plan(_)
        | Command::Preflight
        | Command::Render
        | Command::Replan
        | Command::Retarget(_)
        | Command::Retry
        | Command::Rollback(_)
        | Command::Status(_)
        | Command::Upgrade(_) => None,
    }
}

/// The answer to a command that was carried out, or what has to be found out or done first.
pub(super) fn answer<'a>(asked: &Answering<'a>) -> Result<Answer, Asks<'a>> {
    match asked.command {
        Command::Approve(_) | Command::Unapprove => Ok(approve::answer(asked)),
        Command::Campaign(_) | Command::Pause(_) | Command::Resume => Ok(asked.said_at_once()),
        Command::Create(from) => Err(create::asks(from)),
        Command::Destroy(gone) => Err(destroy::asks(gone)),
        Command::Explain(rule) => Ok(explain::answer(asked, rule)),
        Command::Help => Ok(help::answer(asked)),
        Command::Hold(_)
        | Command::Keep(_)
        | Command::Override(_)
        | Command::Take(_)
        | Command::Unhold(_) => Ok(asked.decided()),
        Command::Merge(_) => Ok(merge::answer(asked)),
        Command::Plan(_) => plan::answer(asked),
        Command::Preflight => Err(Asks::Preflight),
        Command::Render => Err(Asks::Render),
        Command::Replan => Ok(replan::answer(asked)),
        Command::Retarget(_) => retarget::answer(asked),
        Command::Retry => Err(Asks::Retry),
        Command::Rollback(_) => Ok(rollback::answer(asked)),
        Command::Skip(of) => Ok(skip::answer(asked, of)),
        Command::Status(_) => status::answer(asked),
        Command::Unskip(_) => Ok(unskip::answer(asked)),
        Command::Upgrade(_) => Ok(upgrade::answer(asked)),
    }
}
