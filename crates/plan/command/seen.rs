//! What of a branch the author of a command cannot have seen.
//!
//! Capstan cannot know what authors saw. It does know what they cannot have seen: commits that came to the branch
//! after they wrote. Both times are GitHub's own. GitHub dates a comment when it arrives. It also logs each push
//! with its own clock, and the account that pushed (`GET /repos/{owner}/{repo}/activity`). A commit's dates and
//! author do not count, because anybody can set them. The order in which events arrive does not count, either.

use capstan_model::tree::CommitId;
use jiff::{SignedDuration, Timestamp};

/// GitHub logs a push a moment after it arrives. Capstan waits for the log only until a comment has this age.
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
    /// Nothing: the branch has not changed since, or only Capstan wrote to it.
    Nothing,
    /// These pushes, newest first.
    Pushes(Vec<Push>),
    /// GitHub has not logged yet how the branch came to its head.
    NotYetNoted,
    /// GitHub did not log it in time.
    NotLogged,
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
        Unseen::NotLogged
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
        assert_eq!(found(&[], 'b', 1_600), Unseen::NotLogged);
    }
}
