//! Which commands of a request are carried out: a row is what its author wrote, by places from 0.

use capstan_plan::command::{Denied, Hearing};
use capstan_plan::verbs::Verb;

use super::request::{Request, RequestId, UnseenBranch};
use crate::testing::{comment, pull};

fn request(text: &str) -> Request {
    comment(1, "ada", Some(&pull(3, "capstan/upgrade/gauss/peu01", 'a')), text)
}

fn branch() -> Option<UnseenBranch> {
    Some(UnseenBranch { branch: "topic".to_owned(), pushes: Vec::new() })
}

fn places(request: &Request) -> Vec<usize> {
    request.carried_out().map(|(at, _)| at).collect()
}

#[test]
fn an_answer_finds_its_request_by_words_that_no_other_has() {
    for (id, expected) in [
        (RequestId::Tick(0), "tick 0"),
        (RequestId::Button("d1".to_owned()), "button d1"),
        (RequestId::Page("page-7".to_owned()), "page-7"),
    ] {
        assert_eq!(id.to_string(), expected);
    }
}

#[test]
fn a_denied_command_leaves_the_others_at_their_places() {
    for (denied, expected) in
        [(vec![], vec![0, 1, 2]), (vec![1], vec![0, 2]), (vec![0, 1, 2], vec![]), (vec![3], vec![0, 1, 2])]
    {
        let denied = denied.into_iter().map(|at| (at, Denied::ForkAuthor)).collect();
        let request = Request { denied, ..request("/capstan hold\n/capstan merge\n/capstan plan") };
        assert_eq!(places(&request), expected);
    }
}

#[test]
fn a_command_that_cannot_be_read_keeps_its_place() {
    let request = request("/capstan hold\n/capstan nonsense\n/capstan plan");
    assert_eq!((places(&request), request.commands.len()), (vec![0, 2], 3));
}

#[test]
fn only_what_is_obeyed_is_carried_out() {
    for hearing in [Hearing::Edited, Hearing::Refused, Hearing::Waved, Hearing::PassedOver] {
        let request = Request { hearing, ..request("/capstan replan\n/capstan approve") };
        assert_eq!(places(&request), Vec::<usize>::new(), "{hearing:?}");
        assert!(!request.may_overwrite() && !request.means_the_head(), "{hearing:?}");
    }
}

#[test]
fn commits_that_nobody_saw_stop_what_writes_over_a_branch() {
    for (text, expected) in [
        ("/capstan replan", vec![]),
        ("/capstan retarget", vec![]),
        ("/capstan render", vec![]),
        ("/capstan hold", vec![0]),
        ("/capstan merge", vec![0]),
        ("/capstan approve", vec![0]),
    ] {
        let request = Request { unseen: branch(), ..request(text) };
        assert_eq!(places(&request), expected, "{text}");
    }
}

#[test]
fn a_head_that_moved_and_a_branch_that_nobody_saw_stop_a_command_each() {
    let request = Request {
        unseen: branch(),
        moved: branch(),
        ..request("/capstan replan\n/capstan approve\n/capstan hold")
    };
    assert_eq!(places(&request), vec![2]);
}

#[test]
fn a_denied_command_overwrites_nothing() {
    let allowed = request("/capstan hold\n/capstan replan");
    assert!(allowed.may_overwrite() && allowed.carries_out(Verb::Replan));
    let denied = Request { denied: [(1, Denied::ForkAuthor)].into(), ..allowed };
    assert!(!denied.may_overwrite() && !denied.carries_out(Verb::Replan) && denied.carries_out(Verb::Hold));
}

#[test]
fn a_denied_approval_does_not_mean_the_head() {
    let request =
        Request { denied: [(0, Denied::ForkAuthor)].into(), ..request("/capstan approve\n/capstan hold") };
    assert!(!request.means_the_head());
}
