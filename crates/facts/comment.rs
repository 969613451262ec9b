//! Comments, reactions to them, and what their authors may do.

use capstan_plan::command::CommentId;

/// A comment on a pull request or an issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// By what it is found.
    pub id: CommentId,
    /// Who wrote it.
    pub author: String,
    /// Whether the author is an App or another bot.
    pub by_bot: bool,
    /// Its text as it is now.
    pub body: String,
    /// When it was written.
    pub created_at: jiff::Timestamp,
    /// When it last changed, in whole seconds; when it was written, if it never changed. An issue has no such
    /// time: labels and answers change the one that GitHub gives.
    pub updated_at: jiff::Timestamp,
    /// How many reactions it has that show a result ([`Reaction::is_verdict`]), by anybody; `None` where
    /// GitHub does not count them.
    pub verdicts: Option<u32>,
    /// GraphQL id.
    pub node_id: String,
}

/// A comment, and its issue or pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedComment {
    /// Number of the pull request or issue (the end of GitHub's `issue_url`).
    pub number: u64,
    /// It is on a pull request (GitHub's `html_url` has `/pull/`).
    pub on_pull_request: bool,
    pub comment: Comment,
}

/// A person's right in a repository; later includes earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Permission {
    /// Nothing.
    None,
    /// Read (triage included).
    Read,
    /// Write (maintain included).
    Write,
    /// Administration.
    Admin,
}

/// A reaction to a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaction {
    /// Seen and being done.
    Eyes,
    /// Done.
    ThumbsUp,
    /// Not understood, or not allowed.
    Confused,
}

impl Reaction {
    /// Whether it shows the result of a comment, and not only that it was read.
    pub const fn is_verdict(self) -> bool {
        match self {
            Self::ThumbsUp | Self::Confused => true,
            Self::Eyes => false,
        }
    }
}
