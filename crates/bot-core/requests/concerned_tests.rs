//! Which proposals a command is about, on a shared pull request above all.

use capstan_facts::{PullRequest, PullRequestState};
use capstan_model::ids::ClusterId;
use capstan_model::tree::RepoPath;
use capstan_plan::proposal::ProposalId;

use super::concerned::unreadable;
use super::request::Request;
use crate::testing::{Case, comment, id, open, tick};

fn case() -> Case {
    let members = ["gauss/peu01", "gauss/peu02"];
    Case::new().shared(3, "group://gauss", 'a', &members).proposed(4, "kiel/peu01", 'b').persons(9, 'f')
}

fn names(all: &[ProposalId]) -> String {
    all.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

fn on(number: u64, text: &str) -> Request {
    comment(1, "ada", Some(&open(&case(), number)), text)
}

#[test]
fn a_command_that_names_a_cluster_is_about_that_alone() {
    let (case, first) = (case(), id("gauss/peu01"));
    let facts = case.facts();
    for (request, expected) in [
        (on(3, "/capstan hold"), "gauss/peu01 gauss/peu02"),
        (on(3, "/capstan hold for gauss/peu02"), "gauss/peu02"),
        (on(3, "/capstan hold for kiel/peu01"), "kiel/peu01"),
        (on(4, "/capstan hold"), "kiel/peu01"),
        (on(9, "/capstan hold"), ""),
        (on(9, "/capstan hold for gauss/peu01"), "gauss/peu01"),
        (comment(1, "ada", None, "/capstan hold"), ""),
        (tick(0, "ada", &first, None, "/capstan hold"), "gauss/peu01"),
    ] {
        let command = request.commands[0].as_ref().unwrap();
        assert_eq!(names(&facts.proposals_of(&case.scopes, &request, command)), expected, "{command}");
    }
}

#[test]
fn what_is_decided_of_a_pull_request_as_a_whole_is_noted_of_its_own_proposal() {
    let (case, first) = (case(), id("gauss/peu01"));
    let facts = case.facts();
    for (request, expected) in [
        (on(3, "/capstan approve"), "group://gauss"),
        (on(3, "/capstan hold"), "gauss/peu01 gauss/peu02"),
        (on(9, "/capstan approve"), ""),
        (tick(0, "ada", &first, None, "/capstan approve"), "group://gauss"),
        (tick(0, "ada", &first, None, "/capstan hold"), "gauss/peu01"),
    ] {
        let command = request.commands[0].as_ref().unwrap();
        assert_eq!(names(&facts.decided_by(&case.scopes, &request, command)), expected, "{command}");
    }
}

#[test]
fn only_a_shared_pull_request_that_is_not_open_has_ended() {
    let (shared, single) = (open(&case(), 3), open(&case(), 4));
    let (now_open, none_open) = (case().facts(), Case::new().facts());
    let ticked = tick(0, "ada", &id("group://gauss"), Some(&shared), "/capstan hold");
    for (facts, request, expected) in [
        (&now_open, on(3, "/capstan hold"), false),
        (&none_open, on(3, "/capstan hold"), true),
        (&none_open, comment(1, "ada", Some(&single), "/capstan hold"), false),
        (&none_open, ticked, false),
        (&none_open, on(9, "/capstan hold"), false),
    ] {
        assert_eq!(facts.ended_shared(&request).is_some(), expected, "#{}", request.number);
    }
    let later = PullRequest { number: 2, state: PullRequestState::Closed, ..shared };
    assert!(now_open.ended_shared(&comment(1, "ada", Some(&later), "/capstan hold")).is_some());
}

#[test]
fn a_persons_pull_request_carries_nothing_and_touches_proposals_of_releases() {
    let case = case();
    let facts = case.facts();
    let cluster = ClusterId::new(RepoPath::parse("gauss/peu01").unwrap());
    for (number, carried) in [(3, "gauss/peu01 gauss/peu02"), (4, "kiel/peu01"), (9, "")] {
        let pull = open(&case, number);
        assert_eq!(names(&facts.carried_by(&pull)), carried, "#{number}");
        let touched = facts.proposals_touched(&pull, std::slice::from_ref(&cluster), &case.scopes);
        assert_eq!(names(&touched), "gauss/peu01", "#{number}");
    }
}

#[test]
fn why_nothing_can_be_read_ends_with_one_stop() {
    for why in ["the tree is gone", "the tree is gone.", "the tree is gone..."] {
        let text = unreadable(why).text();
        let expected = "Capstan cannot read what this pull request touches. The tree is gone.";
        assert!(text.starts_with(expected) && !text.contains(".."), "{text}");
    }
}
