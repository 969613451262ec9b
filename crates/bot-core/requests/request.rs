//! Commands that await their answer, and what is known of who gives them.

use std::collections::BTreeMap;

use capstan_facts::{Comment, PageOrder, Press, PullRequest};
use capstan_plan::command::{CommandError, CommentId, Denied, Hearing, Push, Right};
use capstan_plan::proposal::{ProposalId, ResultDigest};
use capstan_plan::verbs::{Command, OfCommit, Verb, VerbEffect};
use jiff::Timestamp;

/// Where somebody asked for something.
#[derive(Debug, Clone)]
pub enum RequestOrigin {
    Comment(Comment),
    /// Beside a box of the dashboard that was ticked.
    Tick {
        /// The tick's index.
        at: usize,
        /// The proposal that it is about, where it is about one.
        about: Option<ProposalId>,
    },
    /// By a button of a check.
    Button(Press),
    /// On Capstan's page.
    Page(PageOrder),
}

/// By this an answer finds its request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequestId {
    /// A comment, or an issue.
    Comment(CommentId),
    /// The index of a tick in the dashboard.
    Tick(usize),
    /// GitHub's id of the delivery that reported a button.
    Button(String),
    /// The id under which an order on the page is recorded.
    Page(String),
}

impl std::fmt::Display for RequestId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Comment(id) => write!(f, "{id}"),
            Self::Tick(at) => write!(f, "tick {at}"),
            Self::Button(id) => write!(f, "button {id}"),
            Self::Page(id) => f.write_str(id),
        }
    }
}

/// Commands that await their answer: of a comment, of a tick, or of a button.
#[derive(Debug, Clone)]
pub struct Request {
    /// The number of the pull request or issue where they stand.
    pub number: u64,
    /// The pull request that they stand on; for a tick or a button the open one of its proposal.
    pub pull: Option<PullRequest>,
    /// Who gives them: a login.
    pub by: String,
    /// When.
    pub given_at: Timestamp,
    /// Where.
    pub origin: RequestOrigin,
    /// What was asked, in the order in which it was written.
    pub commands: Vec<Result<Command, CommandError>>,
    /// Which of them its author may not use here, by their place; all are judged before any is carried out.
    pub denied: BTreeMap<usize, Denied>,
    /// What its author may do in the repository.
    pub right: Right,
    /// Whether its author's commands count.
    pub hearing: Hearing,
    /// The proposals that its commands may rewrite.
    pub rewritten: Vec<ProposalId>,
    /// What its author had not seen of a branch that would be rewritten, if there is such a branch.
    pub unseen: Option<UnseenBranch>,
    /// What its author had not seen of the head that they mean.
    pub moved: Option<UnseenBranch>,
    /// What the pull request changes, where its author approves that; `None` in a conflict.
    pub result: Option<ResultDigest>,
}

/// A branch with commits that the author of a command had not seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnseenBranch {
    pub branch: String,
    /// Newest first; empty where GitHub does not tell.
    pub pushes: Vec<Push>,
}

/// Who gave commands, when, and whether they count.
#[derive(Clone, Copy)]
pub struct CommandAuthor<'a> {
    /// A login.
    pub by: &'a str,
    pub at: Timestamp,
    pub right: Right,
    pub hearing: Hearing,
}

impl Request {
    /// A request of which only the commands, their author and their place are known.
    pub fn new(
        origin: RequestOrigin,
        number: u64,
        pull: Option<PullRequest>,
        given: CommandAuthor<'_>,
        commands: Vec<Result<Command, CommandError>>,
    ) -> Self {
        Self {
            number,
            pull,
            by: given.by.to_owned(),
            given_at: given.at,
            origin,
            commands,
            denied: BTreeMap::new(),
            right: given.right,
            hearing: given.hearing,
            rewritten: Vec::new(),
            unseen: None,
            moved: None,
            result: None,
        }
    }

    /// Whether it is a tick in the dashboard.
    pub const fn is_tick(&self) -> bool {
        matches!(self.origin, RequestOrigin::Tick { .. })
    }

    /// Whether it was given on Capstan's page.
    pub const fn is_of_page(&self) -> bool {
        matches!(self.origin, RequestOrigin::Page(_))
    }

    /// By this an answer finds it.
    pub fn id(&self) -> RequestId {
        match &self.origin {
            RequestOrigin::Comment(comment) => RequestId::Comment(comment.id),
            RequestOrigin::Tick { at, .. } => RequestId::Tick(*at),
            RequestOrigin::Button(press) => RequestId::Button(press.delivery.clone()),
            RequestOrigin::Page(order) => RequestId::Page(order.id.clone()),
        }
    }

    /// Whether it means a head without naming it.
    pub fn means_the_head(&self) -> bool {
        self.carried_out().any(|(_, command)| means_the_head(command))
    }

    /// The commands that are carried out, each with its place.
    pub fn carried_out(&self) -> impl Iterator<Item = (usize, &Command)> {
        let commands = self.commands.iter().enumerate();
        commands.filter_map(|(at, command)| Some((at, command.as_ref().ok()?))).filter(|(at, command)| {
            let overtaken = command.verb().effect() == VerbEffect::Overwrites && self.unseen.is_some();
            let moved = self.moved.is_some() && means_the_head(command);
            self.hearing == Hearing::Obeyed && !self.denied.contains_key(at) && !overtaken && !moved
        })
    }

    /// Whether it has that verb, and the command is carried out.
    pub fn carries_out(&self, verb: Verb) -> bool {
        self.carried_out().any(|(_, command)| command.verb() == verb)
    }

    /// Whether one of its commands may write over what people did.
    pub fn may_overwrite(&self) -> bool {
        self.carried_out().any(|(_, command)| command.verb().effect() == VerbEffect::Overwrites)
    }
}

/// Whether a command is about a commit and names none.
fn means_the_head(command: &Command) -> bool {
    command.commit() == Some(&OfCommit(None))
}
