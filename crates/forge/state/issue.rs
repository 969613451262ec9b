//! Issues and their conversations.

use super::account::Account;
use super::pull::Pull;
use crate::clock::Seconds;

/// A label of a repository.
#[derive(Clone, Debug)]
pub(crate) struct Label {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) color: String,
    pub(crate) description: Option<String>,
}

/// An issue, or the conversation of a pull request.
#[derive(Clone, Debug)]
pub(crate) struct ForgeIssue {
    pub(crate) id: u64,
    pub(crate) number: u64,
    pub(crate) title: String,
    pub(crate) body: Option<String>,
    pub(crate) user: Account,
    pub(crate) open: bool,
    pub(crate) locked: bool,
    pub(crate) labels: Vec<Label>,
    pub(crate) assignees: Vec<Account>,
    pub(crate) created_at: Seconds,
    pub(crate) updated_at: Seconds,
    pub(crate) closed_at: Option<Seconds>,
    pub(crate) closed_by: Option<Account>,
    pub(crate) reactions: Vec<Reaction>,
    /// Who changed its body and when, oldest first; the first is the body as it was opened, once somebody changed it.
    pub(crate) edits: Vec<(Account, Seconds)>,
    pub(crate) pull: Option<Pull>,
}

/// A comment in a conversation.
#[derive(Clone, Debug)]
pub(crate) struct Comment {
    pub(crate) id: u64,
    pub(crate) issue: u64,
    pub(crate) user: Account,
    pub(crate) by_app: bool,
    pub(crate) body: String,
    pub(crate) created_at: Seconds,
    pub(crate) updated_at: Seconds,
    /// Who changed its text last, and when.
    pub(crate) edited: Option<(Account, Seconds)>,
    /// Whether somebody who moderates has hidden it.
    pub(crate) minimized: bool,
    pub(crate) reactions: Vec<Reaction>,
}

/// A reaction to a comment or an issue.
#[derive(Clone, Debug)]
pub(crate) struct Reaction {
    pub(crate) id: u64,
    pub(crate) user: Account,
    pub(crate) content: String,
    pub(crate) at: Seconds,
}
