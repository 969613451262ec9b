//! The answer to a comment with slash-commands.

use capstan_facts::Reaction;
use capstan_plan::command::CommentId;

/// What a comment is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerOf {
    pub comment: CommentId,
    /// The pull request or issue that it is on.
    pub number: u64,
    /// The text; where a reaction says it all, for the case that GitHub takes none.
    pub body: String,
    /// Whether a reaction says it all: the rest is to be seen on the pull request.
    pub need: AnswerNeed,
    /// How it ended.
    pub verdict: Reaction,
}

/// What an answer takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerNeed {
    Reaction,
    /// A comment, too.
    Comment,
}
