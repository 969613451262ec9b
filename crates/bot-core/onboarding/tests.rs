//! Whether people are asked for settings: a row has the facts from GitHub.

use capstan_facts::{AuditEntry, EarlierPullRequest, PullRequest, PullRequestState};
use capstan_model::finding::{FileError, Place, rules};
use capstan_model::tree::RepoPath;
use capstan_plan::onboarding::Onboarding;
use capstan_plan::proposal::{BranchStep, Drafted, SidebarStanding};

use super::pull_request::{
    Asking, asking, closed_write, closing, desired, holds_settings, limits_write, settings_path, was_answered,
};
use super::{OnboardingFound, OnboardingNeed, OnboardingStep, next_step};
use crate::effects::{BranchThere, Closing, DesiredPull, Effect, PullText};
use crate::facts::{ONBOARDING_BRANCH, Refusals};
use crate::proposals::DecisionStep;
use crate::testing::{Case, commit, now, pull, snapshot, tree};

/// What the planner finds in a repository whose settings are `mode: observe`.
fn settings_found() -> Onboarding {
    Onboarding {
        settings: "mode: observe\n".to_owned(),
        clusters: Vec::new(),
        sets: Vec::new(),
        left: Vec::new(),
        crowded: 0,
        example: None,
        releases: Vec::new(),
    }
}

#[test]
fn people_are_asked_once_and_in_no_fork() {
    let to = |base: &str| PullRequest { base_branch: base.to_owned(), ..pull(3, ONBOARDING_BRANCH, 'a') };
    let fork = PullRequest { head_in_repository: false, ..to("main") };
    let beyond = FileError::new(rules::TOO_LARGE, Place::whole(RepoPath::root()), "too large");
    for (case, expected) in [
        (Case::new(), Asking::AskEarlier),
        (Case { fork: true, ..Case::new() }, Asking::Never),
        (Case { beyond_limits: Some(beyond), ..Case::new() }, Asking::Never),
        (Case { open: vec![to("main")], ..Case::new() }, Asking::Open),
        (Case { open: vec![to("old")], ..Case::new() }, Asking::Answered),
        (Case { open: vec![fork], ..Case::new() }, Asking::AskEarlier),
        (Case { open: vec![pull(3, "topic", 'a')], ..Case::new() }, Asking::AskEarlier),
    ] {
        assert_eq!(asking(&case.facts()), expected);
    }
}

#[test]
fn what_people_closed_or_merged_is_an_answer() {
    let earlier = |branch: &str, state| EarlierPullRequest {
        number: 2,
        state,
        body: String::new(),
        head_branch: branch.to_owned(),
        head: commit('a'),
        base: commit('0'),
    };
    for (found, expected) in [
        (vec![], false),
        (vec![earlier(ONBOARDING_BRANCH, PullRequestState::Open)], false),
        (vec![earlier(ONBOARDING_BRANCH, PullRequestState::Closed)], true),
        (vec![earlier(ONBOARDING_BRANCH, PullRequestState::Merged)], true),
        (vec![earlier("capstan/other", PullRequestState::Closed)], false),
    ] {
        assert_eq!(was_answered(&found), expected, "{found:?}");
    }
}

#[test]
fn settings_are_held_where_the_file_says_just_that() {
    for (files, expected) in [
        (&[(".capstan.yaml", "mode: observe\n")][..], true),
        (&[(".capstan.yaml", "mode: propose\n")][..], false),
        (&[("x/.capstan.yaml", "mode: observe\n")][..], false),
        (&[][..], false),
    ] {
        assert_eq!(holds_settings(&tree(files), "mode: observe\n"), expected, "{files:?}");
    }
}

#[test]
fn each_write_of_it_is_known_by_what_it_says() {
    let all = [limits_write(), closed_write()];
    assert!(all.iter().all(|write| write.what() == "onboarding"));
    assert_eq!(settings_path().as_str(), ".capstan.yaml");
}

#[test]
fn the_pull_request_is_opened_rewritten_or_left_to_a_person() {
    let onboarding = settings_found();
    let body = capstan_report::onboarding_body(&onboarding);
    let there = |is_own, holds| Some(BranchThere { head: commit('a'), is_own, holds });
    let with = |text: &str| PullRequest { body: text.to_owned(), ..pull(3, ONBOARDING_BRANCH, 'a') };
    let moves = || BranchStep::Move { before: commit('a') };
    let facts = Case::new().facts();
    for (there, open, expected) in [
        (None, None, Some((BranchStep::Create, "opened"))),
        (there(true, true), None, Some((BranchStep::Keep, "opened"))),
        (there(true, false), Some(with("old")), Some((moves(), "written"))),
        (there(true, true), Some(with(&body)), Some((BranchStep::Keep, "kept"))),
        (there(false, false), Some(with("old")), None),
    ] {
        let desired = desired(&facts, &onboarding, (there.as_ref(), open.as_ref()), body.clone());
        let text = |pull: &DesiredPull<'_>| match &pull.text {
            PullText::New(new) => {
                let new = new.opened("main", pull.draft);
                assert_eq!((new.base_branch.as_str(), new.draft), ("main", false));
                assert_eq!((new.head_branch.as_str(), &new.body), (ONBOARDING_BRANCH, &body));
                "opened"
            }
            PullText::Open(open) => match (open.edit)(Drafted::No, &SidebarStanding::default()) {
                Some(edit) if edit.title.is_none() && edit.body == body => "written",
                Some(_) => "something else",
                None => "kept",
            },
        };
        let found = desired.as_ref().map(|one| (one.branch.step.clone(), text(&one.pull)));
        assert_eq!(found, expected, "{there:?}");
    }
}

#[test]
fn it_is_closed_once_there_are_settings() {
    let facts = Case::new().facts();
    let now = PullRequest { body: "Text.".to_owned(), ..pull(3, ONBOARDING_BRANCH, 'a') };
    let Closing { body, then } = closing(&facts, &now);
    assert!(body.contains("`.capstan.yaml` is on the default branch now, and applies."), "{body}");
    let detail = "#3: there are settings".to_owned();
    assert_eq!(then, [Effect::Audit(AuditEntry::own(7, None, "onboarding-closed", detail))]);
}

/// A decision or a question, in words.
fn next_in_words(case: &Case, found: &OnboardingFound) -> String {
    match next_step(&case.facts(), found, now()) {
        DecisionStep::Ask(OnboardingNeed::IsOwn(head)) => format!("whose is {}?", &head.as_str()[..1]),
        DecisionStep::Ask(OnboardingNeed::Content(head)) => format!("what has {}?", &head.as_str()[..1]),
        DecisionStep::Ask(need) => format!("{need:?}?"),
        DecisionStep::Decided(OnboardingStep::Nothing) => "nothing".to_owned(),
        DecisionStep::Decided(OnboardingStep::Rests) => "rests".to_owned(),
        DecisionStep::Decided(OnboardingStep::Exceeds(_, why)) => format!("exceeds: {why}"),
        DecisionStep::Decided(OnboardingStep::Writes(_, None)) => "a person's".to_owned(),
        DecisionStep::Decided(OnboardingStep::Writes(_, Some(desired))) => match desired.branch.step {
            BranchStep::Create => "creates".to_owned(),
            BranchStep::Keep => "keeps".to_owned(),
            BranchStep::Move { before } => format!("moves {}", &before.as_str()[..1]),
        },
    }
}

#[test]
fn a_repository_is_surveyed_once_for_each_commit() {
    let fork = || Case { fork: true, ..Case::new() };
    let elsewhere = PullRequest { base_branch: "old".to_owned(), ..pull(3, ONBOARDING_BRANCH, 'a') };
    let answered = || Case { open: vec![elsewhere.clone()], ..Case::new() };
    let beyond = Refusals::NONE.refused(&limits_write(), 7, "too large", now());
    let limited = || Case { refused: vec![beyond.clone()], ..Case::new() };
    for (case, surveyed, expected) in [
        (fork(), None, "nothing"),
        (Case::new(), None, "Surveyed?"),
        (Case::new(), Some(true), "nothing"),
        (limited(), Some(false), "nothing"),
        (answered(), Some(false), "rests"),
        (Case::new(), Some(false), "Newest?"),
    ] {
        let found = OnboardingFound { surveyed, ..OnboardingFound::default() };
        assert_eq!(next_in_words(&case, &found), expected);
    }
}

#[test]
fn settings_are_proposed_where_nobody_answered_and_there_is_something_to_do() {
    let ended = EarlierPullRequest {
        number: 2,
        state: PullRequestState::Closed,
        body: String::new(),
        head_branch: ONBOARDING_BRANCH.to_owned(),
        head: commit('a'),
        base: commit('0'),
    };
    for (newest, proposal, expected) in [
        (Some(ended), None, "rests"),
        (None, None, "Proposal?"),
        (None, Some(Ok(None)), "rests"),
        (None, Some(Err("too many files".to_owned())), "exceeds: too many files"),
        (None, Some(Ok(Some(settings_found()))), "creates"),
    ] {
        let found = OnboardingFound {
            surveyed: Some(false),
            newest: Some(newest),
            proposal,
            ..OnboardingFound::default()
        };
        assert_eq!(next_in_words(&Case::new(), &found), expected);
    }
}

#[test]
fn a_branch_that_is_there_is_read_before_it_is_written() {
    let case = Case { open: vec![pull(3, ONBOARDING_BRANCH, 'a')], ..Case::new() };
    let holds = || Some(Some(snapshot(commit('a'), &[(".capstan.yaml", "mode: observe\n")])));
    for (is_own, content, expected) in [
        (None, None, "whose is a?"),
        (Some(false), None, "a person's"),
        (Some(true), None, "what has a?"),
        (Some(true), holds(), "keeps"),
        (Some(true), Some(None), "moves a"),
    ] {
        let found = OnboardingFound {
            surveyed: Some(false),
            proposal: Some(Ok(Some(settings_found()))),
            is_own,
            content,
            ..OnboardingFound::default()
        };
        assert_eq!(next_in_words(&case, &found), expected);
    }
}
