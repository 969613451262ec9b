//! Whether a comment's commands are obeyed, by who wrote it and whether these are still the words that they wrote.

use std::fmt::{self, Display, Formatter};

use jiff::{SignedDuration, Timestamp};

/// An author without permission gets at most one answer in this time.
const ANSWERED_EVERY: SignedDuration = SignedDuration::from_hours(1);

/// By what a text with commands is found. The text that an issue begins with is a comment too, as in GitHub's
/// interface [`Comment`](https://docs.github.com/en/graphql/reference/interfaces#comment).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CommentId {
    /// GitHub's id of a comment.
    Comment(u64),
    /// The number of an issue.
    Issue(u64),
}

impl CommentId {
    /// Reads what `Display` writes, and a bare number, which is a comment's.
    pub fn parse(text: &str) -> Option<Self> {
        match text.split_once(' ') {
            None => text.parse().ok().map(Self::Comment),
            Some(("comment", id)) => id.parse().ok().map(Self::Comment),
            Some(("issue", number)) => number.parse().ok().map(Self::Issue),
            Some(_) => None,
        }
    }
}

impl Display for CommentId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Comment(id) => write!(f, "comment {id}"),
            Self::Issue(number) => write!(f, "issue {number}"),
        }
    }
}

/// What its author may do in the repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Right {
    /// Not even read.
    None,
    Read,
    Write,
    /// Administration.
    Admin,
}

/// Whether the settings allow some verb to users who may only read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readers {
    /// They do.
    Admitted,
    /// They do not.
    Refused,
}

/// Whether a comment's text is the one that its author wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wording {
    /// The text is unchanged.
    AsWritten,
    /// It was edited since, perhaps by another user: anybody who may manage issues can edit a comment.
    Edited,
    /// A moderator has hidden it.
    Hidden,
}

/// What becomes of a comment with commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hearing {
    /// Its commands are obeyed.
    Obeyed,
    /// None of them is: an answer says that the comment was edited.
    Edited,
    /// Those that anybody may give are obeyed, and an answer says of the others that its author may not.
    Refused,
    /// A reaction is all that it gets.
    Waved,
    /// Nothing: its author was answered just before, or the comment is hidden.
    PassedOver,
}

/// What becomes of a comment that was written at `at`, when its author's comment before that had commands too and
/// was dealt with was written at `before`.
///
/// Those of readers are heard like those of others where the settings admit some; which verbs they may use is
/// [judged](super::judge) of each. Whether it was edited counts only for those whose commands would be obeyed, and may
/// cost a call to know.
pub fn hear(right: Right, readers: Readers, at: Timestamp, before: Option<Timestamp>) -> Hearing {
    match right {
        Right::Write | Right::Admin => Hearing::Obeyed,
        Right::Read if readers == Readers::Admitted => Hearing::Obeyed,
        _ if before.is_some_and(|before| is_just_after(at, before)) => Hearing::PassedOver,
        Right::Read => Hearing::Refused,
        Right::None => Hearing::Waved,
    }
}

/// Whether a comment that was written at `at` counts to one that was dealt with and written at `before`: it is passed
/// over where its author may not, and does not put off when they are answered again.
pub fn is_just_after(at: Timestamp, before: Timestamp) -> bool {
    at.duration_since(before) < ANSWERED_EVERY
}

impl Hearing {
    /// The same, once it is known whether the text is the one that was written.
    #[must_use]
    pub const fn worded(self, wording: Wording) -> Self {
        match (self, wording) {
            (Self::Obeyed, Wording::Edited) => Self::Edited,
            (Self::Obeyed, Wording::Hidden) => Self::PassedOver,
            (hearing, _) => hearing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minute(minute: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + 60 * minute).unwrap()
    }

    #[test]
    fn who_may_write_is_always_heard_and_others_once_an_hour() {
        use Hearing::{Obeyed, PassedOver, Refused, Waved};
        for (right, before, expected) in [
            (Right::Admin, Some(59), Obeyed),
            (Right::Write, None, Obeyed),
            (Right::Write, Some(59), Obeyed),
            (Right::Read, None, Refused),
            (Right::Read, Some(1), PassedOver),
            (Right::Read, Some(60), PassedOver),
            (Right::Read, Some(0), Refused),
            (Right::None, None, Waved),
            (Right::None, Some(1), PassedOver),
            (Right::None, Some(0), Waved),
        ] {
            let found = hear(right, Readers::Refused, minute(60), before.map(minute));
            assert_eq!(found, expected, "{right:?} {before:?}");
        }
        assert_eq!(hear(Right::Read, Readers::Admitted, minute(60), Some(minute(59))), Obeyed);
        assert_eq!(hear(Right::None, Readers::Admitted, minute(60), None), Waved);
    }

    #[test]
    fn an_edited_or_hidden_comment_is_not_obeyed_and_nobody_gains_by_editing() {
        for (hearing, edited, hidden) in [
            (Hearing::Obeyed, Hearing::Edited, Hearing::PassedOver),
            (Hearing::Refused, Hearing::Refused, Hearing::Refused),
            (Hearing::Waved, Hearing::Waved, Hearing::Waved),
            (Hearing::PassedOver, Hearing::PassedOver, Hearing::PassedOver),
        ] {
            assert_eq!(hearing.worded(Wording::Edited), edited);
            assert_eq!(hearing.worded(Wording::Hidden), hidden);
            assert_eq!(hearing.worded(Wording::AsWritten), hearing);
        }
    }
}
