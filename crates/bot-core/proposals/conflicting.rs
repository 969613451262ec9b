//! Whether an open pull request conflicts with its base branch.

use capstan_facts::{PullRequest, Snapshot};
use capstan_plan::proposal::Mergeable;

use super::deciding::DecisionStep;
use crate::facts::Facts;

/// A fact about a pull request that is needed first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeableNeed {
    /// The content of its head.
    Head,
    /// It as GitHub shows it now.
    Pull,
}

/// The answers so far. A fact that is absent was not asked for.
#[derive(Clone, Default)]
pub struct MergeableFound {
    /// The content of its head; `None` inside where it cannot be read.
    pub head: Option<Option<Snapshot>>,
    /// It as GitHub shows it now.
    pub now: Option<PullRequest>,
}

/// Says whether it conflicts. A head that is based on the tip cannot conflict with it: GitHub is not asked.
pub fn mergeable(facts: &Facts, found: &MergeableFound) -> DecisionStep<Mergeable, MergeableNeed> {
    let Some(head) = &found.head else { return DecisionStep::Ask(MergeableNeed::Head) };
    if head.as_ref().is_some_and(|head| head.parents.contains(&facts.base.commit)) {
        return DecisionStep::Decided(Mergeable::PerhapsYes);
    }
    match found.now.as_ref().map(|now| now.mergeable) {
        None => DecisionStep::Ask(MergeableNeed::Pull),
        Some(Some(false)) => DecisionStep::Decided(Mergeable::Conflicts),
        Some(Some(true) | None) => DecisionStep::Decided(Mergeable::PerhapsYes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Case, commit, pull, snapshot};

    #[test]
    fn github_is_asked_where_the_head_is_not_based_on_the_tip() {
        let case = Case::new();
        let facts = case.facts();
        let tip = facts.base.commit.clone();
        let on = |parent| Some(Snapshot { parents: vec![parent], ..snapshot(commit('a'), &[]) });
        let now = |mergeable| Some(PullRequest { mergeable, ..pull(3, "topic", 'a') });
        for (head, now, expected) in [
            (None, None, DecisionStep::Ask(MergeableNeed::Head)),
            (Some(on(tip)), None, DecisionStep::Decided(Mergeable::PerhapsYes)),
            (Some(on(commit('8'))), None, DecisionStep::Ask(MergeableNeed::Pull)),
            (Some(None), None, DecisionStep::Ask(MergeableNeed::Pull)),
            (Some(None), now(Some(false)), DecisionStep::Decided(Mergeable::Conflicts)),
            (Some(None), now(Some(true)), DecisionStep::Decided(Mergeable::PerhapsYes)),
            // GitHub still computes it.
            (Some(None), now(None), DecisionStep::Decided(Mergeable::PerhapsYes)),
        ] {
            let found = MergeableFound { head, now };
            assert_eq!(mergeable(&facts, &found), expected);
        }
    }
}
