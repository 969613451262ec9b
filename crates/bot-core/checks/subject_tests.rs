//! How the way of a pull request to the default branch decides what it is judged with.

use capstan_facts::PullRequest;
use capstan_plan::proposal::{Unclear, Way};

use super::subject::subject_of;
use crate::testing::{Case, commit, pull};

#[test]
fn in_a_stack_everything_from_the_default_branch_on_is_judged() {
    let facts = Case::new().facts();
    let pull = PullRequest { base_branch: "topic".to_owned(), ..pull(3, "above", 'a') };
    for (way, branch, below, is_prefix) in [
        (Way::Straight, "topic", vec![], false),
        (Way::Aside("topic".to_owned()), "topic", vec![], false),
        (Way::Above(vec![1, 2]), "main", vec![1, 2], true),
        (Way::Unknown(Unclear::Disagree), "main", vec![], true),
    ] {
        assert_eq!(facts.judged_against(&pull, &way), branch, "{way:?}");
        let subject = subject_of(&pull, way, (branch, commit('1')));
        assert_eq!((subject.below(), subject.is_prefix()), (&*below, is_prefix));
    }
}

#[test]
fn a_head_as_if_for_the_default_branch_keeps_its_number_and_what_it_saw() {
    let facts = Case::new().facts();
    let subject = subject_of(&pull(3, "above", 'a'), Way::Aside("topic".to_owned()), ("topic", commit('1')));
    let other = facts.as_for_default(&subject);
    assert_eq!((other.base_branch.as_str(), other.pull, other.is_prefix()), ("main", Some(3), true));
    assert_eq!((other.seen_base, other.head), (commit('0'), commit('a')));
}
