//! Commands that await their answer, and what is known of who gives them.

use std::collections::{BTreeMap, BTreeSet};

use capstan_plan::command::{CommandError, CommentId, Denied, Hearing, Push, Right};
use capstan_plan::proposal::{self, ProposalId, ResultDigest};
use capstan_plan::verbs::{Command, Effect, OfCluster, OfCommit, Verb};
use jiff::Timestamp;

use capstan_ports::{Comment, Press, PullRequest};

/// Where somebody asked for something.
pub(super) enum Origin {
    /// In a comment.
    Comment(Comment),
    /// Beside a box of the dashboard that was ticked: the so-manieth of them, about that proposal where it is about one.
    Tick { at: usize, about: Option<ProposalId> },
    /// By a button of a check.
    Button(Press),
}

/// By this an answer finds its request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RequestId {
    /// A comment, or an issue.
    Comment(CommentId),
    /// The so-manieth tick in the dashboard.
    Tick(usize),
    /// GitHub's id of the delivery that told of a button.
    Button(String),
}

impl std::fmt::Display for RequestId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Comment(id) => write!(f, "{id}"),
            Self::Tick(at) => write!(f, "tick {at}"),
            Self::Button(id) => write!(f, "button {id}"),
        }
    }
}

/// Commands that await their answer: of a comment, of a tick, or of a button.
pub(super) struct Request {
    /// The number of the pull request or issue where they stand.
    pub(super) number: u64,
    /// The pull request that they stand on; for a tick or a button the open one of its proposal.
    pub(super) pull: Option<PullRequest>,
    /// Who gives them: a login.
    pub(super) by: String,
    /// When.
    pub(super) given_at: Timestamp,
    pub(super) origin: Origin,
    pub(super) commands: Vec<Result<Command, CommandError>>,
    /// Which of them its author may not use here, by their place; all are judged before any is carried out.
    pub(super) denied: BTreeMap<usize, Denied>,
    /// What its author may do in the repository.
    pub(super) right: Right,
    pub(super) hearing: Hearing,
    /// The proposals that its commands may write anew.
    pub(super) rewritten: Vec<ProposalId>,
    /// What its author had not seen of a branch that would be written anew, where there is such a one.
    pub(super) unseen: Option<UnseenBranch>,
    /// What its author had not seen of the head that they mean.
    pub(super) moved: Option<UnseenBranch>,
    /// What the pull request changes, where its author approves that; `None` in a conflict.
    pub(super) result: Option<ResultDigest>,
}

/// The proposals for which somebody asks for `retarget`.
pub(super) fn retargeted(requests: &[Request]) -> BTreeSet<ProposalId> {
    let asked = requests.iter().filter(|request| request.carries_out(Verb::Retarget));
    asked.flat_map(|request| request.rewritten.iter().cloned()).collect()
}

/// A branch with commits that the author of a command had not seen.
pub(super) struct UnseenBranch {
    pub(super) branch: String,
    /// Newest first; empty where GitHub does not tell.
    pub(super) pushes: Vec<Push>,
}

impl Request {
    pub(super) fn id(&self) -> RequestId {
        match &self.origin {
            Origin::Comment(comment) => RequestId::Comment(comment.id),
            Origin::Tick { at, .. } => RequestId::Tick(*at),
            Origin::Button(press) => RequestId::Button(press.delivery.clone()),
        }
    }

    /// Whether it means a head without naming it.
    pub(super) fn means_the_head(&self) -> bool {
        let unnamed = |command: &Command| {
            matches!(command, Command::Approve(OfCommit(None)) | Command::Merge(OfCommit(None)))
        };
        self.carried_out().any(|(_, command)| unnamed(command))
    }

    /// What the comment asks of the proposal as a whole. Of several wishes the one that loses least counts.
    pub(super) fn wish(&self) -> proposal::Command {
        let wish = |command: &Command| match command {
            Command::Skip(OfCluster(None)) => Some((0, proposal::Command::Skip)),
            Command::Unskip(OfCluster(None)) => Some((1, proposal::Command::Offer)),
            Command::Replan => Some((2, proposal::Command::Replan)),
            _ => None,
        };
        let wishes = self.carried_out().filter_map(|(_, command)| wish(command));
        wishes.min_by_key(|(loss, _)| *loss).map_or(proposal::Command::None, |(_, wish)| wish)
    }

    /// The commands that are carried out, each with its place.
    pub(super) fn carried_out(&self) -> impl Iterator<Item = (usize, &Command)> {
        let commands = self.commands.iter().enumerate();
        commands.filter_map(|(at, command)| Some((at, command.as_ref().ok()?))).filter(|(at, command)| {
            let overtaken = command.verb().effect() == Effect::Overwrites && self.unseen.is_some();
            let moved = self.moved.is_some()
                && matches!(command, Command::Approve(OfCommit(None)) | Command::Merge(OfCommit(None)));
            self.hearing == Hearing::Obeyed && !self.denied.contains_key(at) && !overtaken && !moved
        })
    }

    /// Whether that verb stands there, and is carried out.
    pub(super) fn carries_out(&self, verb: Verb) -> bool {
        self.carried_out().any(|(_, command)| command.verb() == verb)
    }

    pub(super) fn may_overwrite(&self) -> bool {
        self.carried_out().any(|(_, command)| command.verb().effect() == Effect::Overwrites)
    }
}
