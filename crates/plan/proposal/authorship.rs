//! Whose work the head of a proposal's branch is: Capstan's, or a person's too.
//!
//! What a commit says of itself proves nothing: trailers can be copied, anybody who changes files can compute their
//! digest, and the web editor signs as GitHub. A commit is Capstan's own if Capstan remembers it. Otherwise two things
//! are needed. Somebody vouches for it: its seal, which takes Capstan's key, or GitHub's record of who pushed it. And
//! what it changes, measured against its parent, has the digest that its own trailer names. A clean merge of the base
//! into such a commit adds nothing of a person's.

use super::{PlanDigest, SourceState};
use capstan_model::tree::CommitId;

/// The head of a branch as Git shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchTip {
    pub commit: CommitId,
    /// `Capstan-Source:`, where it is one.
    pub source: Option<SourceState>,
    /// `Capstan-Plan:`, where it is one.
    pub plan: Option<PlanDigest>,
    /// Whether anything but itself says that Capstan wrote it.
    pub vouched: Vouched,
    /// Its parents, and what it changes against each.
    pub parents: Vec<Parent>,
    /// Its first parent, read in the same way; only needed for a merge.
    pub first_parent: Option<Box<BranchTip>>,
}

/// A parent of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parent {
    /// The parent.
    pub commit: CommitId,
    /// Digest of what the commit changes against this parent; `None` where that cannot be read.
    pub changes: Option<PlanDigest>,
    /// The parent is, or was, the tip of the base branch.
    pub of_base: OfBase,
}

/// Whether anything but a commit itself says that Capstan wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vouched {
    /// Its seal does, or GitHub: it noted that the App pushed it.
    Yes,
    /// Nothing does.
    No,
}

/// Whether a commit is known to stand on the base branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfBase {
    /// It is.
    Yes,
    /// Nothing says so.
    Unknown,
}

/// Whose work a head is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Authorship {
    /// Capstan's: what it offers, and its plan.
    Capstan {
        /// The source state offered.
        source: SourceState,
        /// What was written.
        plan: PlanDigest,
    },
    /// A person's, in whole or in part.
    Person,
}

impl BranchTip {
    /// Whether Capstan's commit is directly on the base. For a clean merge of the base that is the parent it merged:
    /// against the base it changes what the plan does, and nothing else.
    pub fn of_base(&self) -> OfBase {
        match self.parents.as_slice() {
            [only] => only.of_base,
            [_, merged] => merged.of_base,
            _ => OfBase::Unknown,
        }
    }
}

/// Judges a head; `recorded` is the commit that Capstan remembers writing last, where it does.
///
/// A record alone proves a commit (its id names its content); without one somebody must vouch for it.
pub fn judge_head(head: &BranchTip, recorded: Option<&CommitId>) -> Authorship {
    if let Some(own) = own_commit(head, recorded) {
        return own;
    }
    let [first, second] = head.parents.as_slice() else { return Authorship::Person };
    let Some(merged) = &head.first_parent else { return Authorship::Person };
    match own_commit(merged, recorded) {
        // Against the base, a clean merge changes exactly what Capstan's own commit changed.
        Some(Authorship::Capstan { source, plan })
            if merged.commit == first.commit
                && second.of_base == OfBase::Yes
                && second.changes.as_ref() == Some(&plan) =>
        {
            Authorship::Capstan { source, plan }
        }
        _ => Authorship::Person,
    }
}

fn own_commit(head: &BranchTip, recorded: Option<&CommitId>) -> Option<Authorship> {
    let (source, plan) = (head.source.clone()?, head.plan.clone()?);
    let known = recorded == Some(&head.commit);
    let proven = head.vouched == Vouched::Yes
        && matches!(head.parents.as_slice(), [only] if only.changes.as_ref() == Some(&plan));
    (known || proven).then_some(Authorship::Capstan { source, plan })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit(digit: char) -> CommitId {
        CommitId::parse(&digit.to_string().repeat(40)).unwrap()
    }

    fn digest(digit: char) -> PlanDigest {
        PlanDigest::parse(&digit.to_string().repeat(32)).unwrap()
    }

    /// Capstan's commit `c` on base `b`, whose trailer names plan 1 and which changes `changes`.
    fn written(changes: char) -> BranchTip {
        BranchTip {
            commit: commit('c'),
            source: SourceState::parse("aws/v22.0.0@-"),
            plan: Some(digest('1')),
            vouched: Vouched::Yes,
            parents: vec![Parent {
                commit: commit('b'),
                changes: Some(digest(changes)),
                of_base: OfBase::Yes,
            }],
            first_parent: None,
        }
    }

    fn merge(of_base: OfBase, changes: char) -> BranchTip {
        BranchTip {
            commit: commit('e'),
            source: None,
            plan: None,
            vouched: Vouched::No,
            parents: vec![
                Parent { commit: commit('c'), changes: Some(digest('7')), of_base: OfBase::Unknown },
                Parent { commit: commit('d'), changes: Some(digest(changes)), of_base },
            ],
            first_parent: Some(Box::new(written('1'))),
        }
    }

    fn is_capstan(head: &BranchTip, recorded: Option<&CommitId>) -> bool {
        matches!(judge_head(head, recorded), Authorship::Capstan { .. })
    }

    #[test]
    fn a_commit_that_changes_what_its_trailer_says_is_capstans_also_without_a_record() {
        assert!(is_capstan(&written('1'), None));
        assert!(is_capstan(&written('1'), Some(&commit('9'))));
    }

    /// Anybody who changes files can copy trailers, and compute the digest of the change.
    #[test]
    fn a_commit_for_which_nobody_vouches_is_a_persons_whatever_it_says_of_itself() {
        let forged = BranchTip { vouched: Vouched::No, ..written('1') };
        assert!(!is_capstan(&forged, None));
        assert!(!is_capstan(&forged, Some(&commit('9'))));
        assert!(is_capstan(&forged, Some(&commit('c'))), "Capstan remembers that it wrote it");
        let below = BranchTip { first_parent: Some(Box::new(forged)), ..merge(OfBase::Yes, '1') };
        assert!(!is_capstan(&below, None));
    }

    #[test]
    fn an_amended_commit_keeps_its_trailers_and_belongs_to_its_author() {
        assert!(!is_capstan(&written('2'), None));
    }

    #[test]
    fn a_commit_on_top_is_a_persons() {
        let mut head = written('1');
        head.source = None;
        head.plan = None;
        assert!(!is_capstan(&head, None));
    }

    #[test]
    fn a_clean_merge_of_the_base_is_still_capstans() {
        assert!(is_capstan(&merge(OfBase::Yes, '1'), None));
        assert!(!is_capstan(&merge(OfBase::Yes, '2'), None), "the merge brought more than Capstan wrote");
        assert!(!is_capstan(&merge(OfBase::Unknown, '1'), None), "what was merged is not the base");
    }
}
