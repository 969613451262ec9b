//! What of a branch the author of a command cannot have seen.
//!
//! What they had before their eyes nobody knows; what they cannot have had is known: commits that came to the branch
//! after they had written. Both times are GitHub's own: it dates a comment when it takes it, and notes with its own
//! clock each push that it receives, and whose token made it (`GET /repos/{owner}/{repo}/activity`). Neither a
//! commit's dates nor its author count, which anybody may write as they like, nor the order in which events arrive.

use capstan_model::tree::CommitId;
use jiff::{SignedDuration, Timestamp};

/// GitHub notes a push a moment after it has taken it. For a comment older than this nobody waits any more.
const NOTED_WITHIN: SignedDuration = SignedDuration::from_mins(10);

/// A push to a branch, or what moved it otherwise, as GitHub noted it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Push {
    /// The commit that the branch has since; zeros where it was deleted.
    pub after: CommitId,
    /// Who did it; `None` where the account is gone.
    pub actor: Option<String>,
    /// When GitHub took it, in whole seconds.
    pub at: Timestamp,
}

/// What the author of a command had not seen of a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unseen {
    /// Nothing: what stands there now stood there then, or Capstan wrote it since.
    Nothing,
    /// These pushes, newest first.
    Pushes(Vec<Push>),
    /// GitHub has not noted yet how the branch came to its head.
    NotYetNoted,
    /// GitHub does not tell.
    NotTold,
}

/// What of a branch at `head` the author of a comment written at `asked_at` had not seen; `pushes` are those to the
/// branch, newest first, `own` is Capstan's login. What came within the second in which they wrote counts as unseen.
pub fn unseen(pushes: &[Push], head: &CommitId, asked_at: Timestamp, own: &str, now: Timestamp) -> Unseen {
    let later = pushes.iter().filter(|push| push.at >= asked_at && push.actor.as_deref() != Some(own));
    let later: Vec<Push> = later.cloned().collect();
    if !later.is_empty() {
        Unseen::Pushes(later)
    } else if pushes.iter().any(|push| push.after == *head) {
        Unseen::Nothing
    } else if now.duration_since(asked_at) < NOTED_WITHIN {
        Unseen::NotYetNoted
    } else {
        Unseen::NotTold
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASKED: i64 = 1_000;

    fn second(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn commit(digit: char) -> CommitId {
        CommitId::parse(&digit.to_string().repeat(40)).unwrap()
    }

    fn push(after: char, actor: &str, at: i64) -> Push {
        let actor = (!actor.is_empty()).then(|| actor.to_owned());
        Push { after: commit(after), actor, at: second(at) }
    }

    fn found(pushes: &[Push], head: char, now: i64) -> Unseen {
        unseen(pushes, &commit(head), second(ASKED), "capstan[bot]", second(now))
    }

    #[test]
    fn what_came_after_the_comment_was_not_seen() {
        let before = push('a', "ada", 999);
        assert_eq!(found(std::slice::from_ref(&before), 'a', 1_001), Unseen::Nothing);
        for (actor, at) in [("mallory", 1_001), ("mallory", 1_000), ("ada", 1_001), ("", 1_001)] {
            let after = push('b', actor, at);
            let pushes = [after.clone(), before.clone()];
            assert_eq!(found(&pushes, 'b', 1_002), Unseen::Pushes(vec![after]), "{actor} {at}");
        }
    }

    #[test]
    fn what_capstan_wrote_since_loses_nobody_anything_but_hides_no_persons_push() {
        let before = push('a', "ada", 999);
        let own = push('c', "capstan[bot]", 1_005);
        assert_eq!(found(&[own.clone(), before.clone()], 'c', 1_006), Unseen::Nothing);
        let theirs = push('b', "mallory", 1_003);
        assert_eq!(found(&[own, theirs.clone(), before], 'c', 1_006), Unseen::Pushes(vec![theirs]));
    }

    #[test]
    fn a_head_that_is_not_noted_is_waited_for_and_never_taken_for_seen() {
        let before = [push('a', "ada", 999)];
        assert_eq!(found(&before, 'b', 1_002), Unseen::NotYetNoted);
        assert_eq!(found(&[], 'b', 1_599), Unseen::NotYetNoted);
        assert_eq!(found(&[], 'b', 1_600), Unseen::NotTold);
    }
}
