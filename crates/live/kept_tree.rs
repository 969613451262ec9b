//! What may be done from a tree that was kept on a disk, while it is unknown whether it is the newest.
//!
//! Two reconcilers have a disk each, and a volume can be restored: a kept tree may be older than what another process
//! has applied since. Without history the older of two commits is unknown, so a commit other than the one applied from
//! last counts as older.
//!
//! *Rules*: what is deleted is deleted on the word of a tree that its source named as the present tip since this
//! process began to lead, and of no other. A kept tree repairs what it was the last to have been applied to; of
//! anything else it does nothing.

use capstan_model::tree::{CommitId, TreeId};

/// How a tree came to be the one that is applied from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeOrigin {
    /// Its source named it as the present tip since this process began to lead.
    Confirmed,
    /// It was kept on a disk.
    Kept,
}

impl TreeOrigin {
    /// Whether something may be deleted, forgotten or handed on because this tree lacks it.
    pub const fn may_delete(self) -> bool {
        matches!(self, Self::Confirmed)
    }
}

/// What is recorded of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempted<'a> {
    /// The commit that was tried last; `None` where none ever was.
    pub commit: Option<&'a str>,
    /// The tree id of its folder at the commit that was read last.
    pub folder: Option<&'a str>,
}

/// Whether a kept commit is the one that clusters of the Fleet were applied from last. `applied_from` is what the
/// Fleet says, which is written before anything is applied from a commit.
pub fn is_newest(kept: &CommitId, applied_from: Option<&str>) -> bool {
    applied_from == Some(kept.as_str())
}

/// Whether a kept commit, the newest of its Fleet, may repair a cluster: not where another content of its folder was
/// tried. `folder` is the tree id of its folder there.
pub fn may_repair(kept: &CommitId, folder: Option<&TreeId>, attempted: Attempted<'_>) -> bool {
    let Some(tried) = attempted.commit else { return true };
    tried == kept.as_str() || folder.is_some() && attempted.folder == folder.map(TreeId::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit(digit: char) -> CommitId {
        CommitId::parse(&digit.to_string().repeat(40)).unwrap()
    }

    fn folder(digit: char) -> TreeId {
        TreeId::parse(&digit.to_string().repeat(40)).unwrap()
    }

    #[test]
    fn only_a_confirmed_tree_deletes() {
        assert!(TreeOrigin::Confirmed.may_delete());
        assert!(!TreeOrigin::Kept.may_delete());
    }

    #[test]
    fn a_commit_that_is_not_the_last_one_applied_from_is_older() {
        assert!(is_newest(&commit('a'), Some(commit('a').as_str())));
        assert!(!is_newest(&commit('a'), Some(commit('b').as_str())));
        assert!(!is_newest(&commit('a'), None), "the Fleet was made anew: nobody knows");
    }

    #[test]
    fn a_cluster_of_which_other_content_was_tried_is_not_repaired() {
        let (kept, other) = (commit('a'), commit('b'));
        let attempted = |commit, folder| Attempted { commit, folder };
        let (same, changed) = (folder('1'), folder('2'));
        for (was, expected) in [
            (attempted(None, None), true),
            (attempted(Some(kept.as_str()), Some(changed.as_str())), true),
            // A commit that changes nothing of a cluster is not written down there.
            (attempted(Some(other.as_str()), Some(same.as_str())), true),
            (attempted(Some(other.as_str()), Some(changed.as_str())), false),
            (attempted(Some(other.as_str()), None), false),
        ] {
            assert_eq!(may_repair(&kept, Some(&same), was), expected, "{was:?}");
        }
        assert!(!may_repair(&kept, None, attempted(Some(other.as_str()), None)));
    }
}
