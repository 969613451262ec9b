//! What a head is compared with: a row is what GitHub and Git answered so far.

use capstan_facts::{PullRequest, Snapshot};
use capstan_plan::proposal::{Unclear, Way};
use capstan_report::MergeBasis;

use super::*;
use crate::proposals::DecisionStep;
use crate::testing::{commit, pull, snapshot};

/// A commit with these parents.
fn with_parents(letter: char, parents: &[char]) -> Snapshot {
    let parents = parents.iter().copied().map(commit).collect();
    Snapshot { parents, ..snapshot(commit(letter), &[]) }
}

/// The head `a` of #3, for the tip `0` of `main`.
fn subject() -> CheckSubject {
    let seen = PullRequest { base: commit('9'), ..pull(3, "topic", 'a') };
    subject_of(&seen, Way::Straight, ("main", commit('0')))
}

/// A question, or the compared commits by their first letters, with the basis.
fn compared(subject: &CheckSubject, parents: &[char], known: &ComparisonAnswers) -> String {
    let (base, head) = (with_parents('0', &[]), with_parents('a', parents));
    match compare(ComparisonFacts { subject, base: &base, head: &head }, known) {
        DecisionStep::Ask(ComparisonNeed::Snapshot(commit)) => format!("? {}", &commit.as_str()[..1]),
        DecisionStep::Ask(need) => format!("? {need:?}"),
        DecisionStep::Decided(None) => "later".to_owned(),
        DecisionStep::Decided(Some(found)) => {
            format!("{}..{} {:?}", &found.base.as_str()[..1], &found.commit.as_str()[..1], found.basis)
        }
    }
}

fn read(mergeable: Option<bool>, merge: Option<char>) -> PullRequest {
    PullRequest { mergeable, merge_commit: merge.map(commit), ..pull(3, "topic", 'a') }
}

#[test]
fn a_head_on_the_tip_and_a_merge_group_are_the_merge_itself() {
    let known = ComparisonAnswers::default();
    let group = CheckSubject { pull: None, ..subject() };
    let above = CheckSubject { way: Way::Above(vec![2]), ..subject() };
    for (subject, parents, expected) in [
        (subject(), &['0'][..], "0..a Merge"),
        (above, &['0'][..], "0..a Merge"),
        (group, &['8'][..], "0..a Merge"),
        (subject(), &['8'][..], "? Pull"),
    ] {
        assert_eq!(compared(&subject, parents, &known), expected);
    }
}

#[test]
fn a_test_merge_is_read_as_often_as_github_may_need_to_compute_it() {
    let computing = || read(None, None);
    for (reads, expected) in [
        (vec![], "? Pull"),
        (vec![computing()], "? PullLater"),
        (vec![computing(), computing(), computing()], "? PullLater"),
        (vec![computing(), computing(), computing(), computing()], "later"),
        (vec![computing(), read(Some(true), Some('c'))], "? c"),
        // It may be merged, but there is no commit of it yet.
        (vec![read(Some(true), None)], "? PullLater"),
        (vec![computing(), read(Some(false), None)], "? SeenBase"),
        // A push came meanwhile: another head's merge is never used for this one.
        (vec![PullRequest { head: commit('b'), ..read(Some(true), Some('c')) }], "later"),
        (vec![PullRequest { head: commit('b'), ..read(Some(false), None) }], "later"),
    ] {
        let known = ComparisonAnswers { reads, ..ComparisonAnswers::default() };
        assert_eq!(compared(&subject(), &['8'], &known), expected, "{} reads", known.reads.len());
    }
}

#[test]
fn a_test_merge_is_compared_with_the_base_of_its_time() {
    for (snapshots, expected) in [
        (vec![with_parents('c', &['0', 'a'])], "0..c Merge"),
        (vec![with_parents('c', &['7', 'a'])], "? 7"),
        (vec![with_parents('c', &['7', 'a']), with_parents('7', &[])], "7..c Merge"),
        // One of an earlier head, which GitHub replaces.
        (vec![with_parents('c', &['0', 'b'])], "? PullLater"),
    ] {
        let reads = vec![read(Some(true), Some('c'))];
        let known = ComparisonAnswers { reads, snapshots, ..ComparisonAnswers::default() };
        assert_eq!(compared(&subject(), &['8'], &known), expected);
    }
}

#[test]
fn in_a_conflict_the_head_is_compared_with_the_base_that_its_pull_request_saw() {
    for (seen, expected) in [
        (None, "? SeenBase"),
        (Some(Some(with_parents('9', &[]))), "9..a HeadAlone"),
        // It is in the repository no more.
        (Some(None), "0..a HeadAlone"),
    ] {
        let reads = vec![read(Some(false), None)];
        let known = ComparisonAnswers { reads, seen_base: seen, ..ComparisonAnswers::default() };
        assert_eq!(compared(&subject(), &['8'], &known), expected);
    }
}

#[test]
fn a_head_in_a_stack_is_compared_from_where_it_leaves_the_default_branch() {
    let ways = [Way::Above(vec![2]), Way::Unknown(Unclear::Disagree)];
    for way in ways {
        let subject = CheckSubject { way, ..subject() };
        for (fork, snapshots, expected) in [
            (None, vec![], "? ForkPoint"),
            (Some(Some(commit('0'))), vec![], "0..a Merge"),
            (Some(Some(commit('7'))), vec![], "? 7"),
            (Some(Some(commit('7'))), vec![with_parents('7', &[])], "7..a BehindTip"),
            (Some(None), vec![], "0..a BehindTip"),
        ] {
            let known = ComparisonAnswers { fork, snapshots, ..ComparisonAnswers::default() };
            assert_eq!(compared(&subject, &['8'], &known), expected, "{:?}", subject.way);
        }
    }
}

#[test]
fn a_head_for_another_branch_is_judged_as_if_it_were_for_the_default_branch() {
    let facts = crate::testing::Case::new().facts();
    let aside = CheckSubject {
        base_branch: "release".to_owned(),
        base_tip: commit('5'),
        way: Way::Aside("release".to_owned()),
        ..subject()
    };
    let found = facts.as_for_default(&aside);
    assert_eq!((found.base_branch.as_str(), &found.base_tip), ("main", &commit('0')));
    assert_eq!((found.is_prefix(), &found.head, found.pull), (true, &commit('a'), Some(3)));
    let known = ComparisonAnswers { fork: Some(Some(commit('0'))), ..ComparisonAnswers::default() };
    assert_eq!(compared(&found, &['8'], &known), format!("0..a {:?}", MergeBasis::Merge));
}
