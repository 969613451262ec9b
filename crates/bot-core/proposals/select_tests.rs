//! What a selection asks, what is carried out, and what is said of the rest: one rule a test.

use std::collections::BTreeMap;

use capstan_model::rest::Rest;
use capstan_plan::campaign::ProposalLoad;
use capstan_plan::proposal::{
    Action, BranchStep, Closer, LeaveReason, ProposalCommand, ProposalId, WhyLeftOut,
};
use capstan_plan::settings::Mode;

use super::select::*;
use super::tests::decided_pull;
use super::*;
use crate::facts::Refusals;
use crate::testing::{Case, id, now};

fn opens() -> Action {
    Action::Open { branch: BranchStep::Create }
}

fn updates(pull: u64) -> Action {
    Action::Update { pull, branch: BranchStep::Keep }
}

fn closes(pull: u64) -> Action {
    Action::Close { pull, why: "gone".to_owned(), by: Closer::Capstan, rest: Rest::Gone }
}

/// A decision about one cluster's own pull request.
fn own(target: &str, action: Action) -> (ProposalId, DecidedPull) {
    (id(target), decided_pull(action, ProposalCommand::None, &[target]))
}

fn asked(target: &str, action: Action) -> (ProposalId, DecidedPull) {
    (id(target), decided_pull(action, ProposalCommand::Replan, &[target]))
}

fn shared(group: &str, members: &[&str]) -> (ProposalId, DecidedPull) {
    (id(group), decided_pull(opens(), ProposalCommand::None, members))
}

fn made(decisions: impl IntoIterator<Item = (ProposalId, DecidedPull)>) -> DecidedPulls {
    DecidedPulls { made: decisions.into_iter().collect(), failed: BTreeMap::new() }
}

/// Everything that may be asked, where nothing holds anything up.
fn facts_with(decisions: impl IntoIterator<Item = (ProposalId, DecidedPull)>) -> SelectionFacts {
    SelectionFacts {
        earlier: Some(Ok(Earlier::default())),
        decided: Some(made(decisions)),
        rollouts: Some(BTreeMap::new()),
        campaigns: Some((Campaigns::default(), BTreeMap::new())),
        again: Some(DecidedPulls::default()),
        load: Some(Ok(ProposalLoad::default())),
    }
}

fn waits(target: &str, for_all: bool) -> BTreeMap<ProposalId, Waits> {
    BTreeMap::from([(id(target), Waits { why: "wave 2 has not begun".to_owned(), for_all })])
}

fn names<'i>(ids: impl IntoIterator<Item = &'i ProposalId>) -> String {
    ids.into_iter().map(|id| id.to_string()).collect::<Vec<_>>().join(" ")
}

/// Asks until nothing more has to be known; `told` answers. What was asked, what is carried out, and what is known then.
fn drive(case: &Case, carriers: &[(&str, &[&str])], told: &SelectionFacts) -> (String, String, Outcome) {
    let members = |members: &[&str]| members.iter().map(|one| id(one)).collect();
    let carriers = carriers.iter().map(|(carrier, of)| (id(carrier), members(of))).collect();
    drive_arranged(case, Arranged { carriers, ..Arranged::default() }, told)
}

fn drive_arranged(case: &Case, arranged: Arranged, told: &SelectionFacts) -> (String, String, Outcome) {
    case.look(|planned| {
        let (wanted, mut found) = (wanted_of(planned), SelectionFacts::default());
        let selecting = Selecting { planned, wanted: &wanted, arranged: &arranged, now: now() };
        let mut asked = Vec::new();
        loop {
            let need = match select(&selecting, &found) {
                DecisionStep::Decided(selected) => {
                    return (asked.join(", "), names(&selected.now), selected.outcome);
                }
                DecisionStep::Ask(need) => need,
            };
            let before = asked.len();
            match need {
                SelectionNeed::Earlier => found.earlier.clone_from(&told.earlier),
                SelectionNeed::Decided(carriers) => {
                    asked.push(format!("decided {}", names(carriers.values().flatten())));
                    found.decided.clone_from(&told.decided);
                }
                SelectionNeed::Rollouts(proposals) => {
                    asked.push(format!("rollouts {}", names(&proposals)));
                    found.rollouts.clone_from(&told.rollouts);
                }
                SelectionNeed::Campaigns(held) => {
                    asked.push(format!("campaigns, held {}", names(held.keys())));
                    found.campaigns.clone_from(&told.campaigns);
                }
                SelectionNeed::Again(carriers) => {
                    asked.push(format!("again {}", names(carriers.values().flatten())));
                    found.again.clone_from(&told.again);
                }
                SelectionNeed::Load => {
                    asked.push("load".to_owned());
                    found.load.clone_from(&told.load);
                }
            }
            assert!(asked.len() > before || found.earlier.is_some(), "it asks the same for ever: {asked:?}");
        }
    })
}

/// A proposal's state, and why.
fn said(outcome: &Outcome, target: &str) -> String {
    let one = outcome.proposals.get(&id(target));
    one.map_or_else(String::new, |one| format!("{}: {}", one.state.as_str(), one.why))
}

const ONE: &[(&str, &[&str])] = &[("gauss/peu01", &["gauss/peu01"])];
const TWO: &[(&str, &[&str])] = &[("gauss/peu01", &["gauss/peu01"]), ("gauss/peu02", &["gauss/peu02"])];
const GROUP: &[(&str, &[&str])] = &[("group://gauss", &["gauss/peu01", "gauss/peu02"])];

fn two() -> Case {
    Case::new().offered("gauss/peu01").offered("gauss/peu02")
}

fn two_open() -> Case {
    two().proposed(3, "gauss/peu01", 'a').proposed(4, "gauss/peu02", 'b')
}

#[test]
fn nothing_new_is_opened_where_earlier_pull_requests_are_unknown() {
    let failure = || ProposalFailure::Failed("GitHub does not answer".to_owned(), NextRun::MayGetFurther);
    let unknown = |decisions: Vec<(ProposalId, DecidedPull)>| SelectionFacts {
        earlier: Some(Err(failure())),
        ..facts_with(decisions)
    };
    let case = two().proposed(3, "gauss/peu01", 'a');
    let (asked, now, outcome) = drive(&case, TWO, &unknown(vec![own("gauss/peu01", updates(3))]));
    assert!(asked.starts_with("decided gauss/peu01, "), "{asked}");
    assert_eq!(now, "gauss/peu01");
    assert_eq!(said(&outcome, "gauss/peu02"), "failed: GitHub does not answer");
    assert_eq!(names(&outcome.undecided), "gauss/peu02");
}

#[test]
fn an_open_shared_pull_request_continues_without_members_that_would_come_in() {
    let failure = ProposalFailure::Refused("no permission".to_owned());
    let case = two().shared(5, "group://gauss", 'a', &["gauss/peu01"]);
    let decided = (id("group://gauss"), decided_pull(updates(5), ProposalCommand::None, &["gauss/peu01"]));
    let (asked, now, outcome) =
        drive(&case, GROUP, &SelectionFacts { earlier: Some(Err(failure)), ..facts_with([decided]) });
    assert!(asked.starts_with("decided gauss/peu01, "), "{asked}");
    assert_eq!(now, "group://gauss");
    assert_eq!(said(&outcome, "gauss/peu02"), "failed: no permission");
    // What is refused is refused the next time, too.
    assert_eq!(names(&outcome.undecided), "");
}

#[test]
fn what_cannot_be_decided_costs_its_neighbours_nothing() {
    let timeout = "Git does not answer".to_owned();
    for (failure, expected, undecided) in [
        (
            ProposalFailure::Failed(timeout.clone(), NextRun::MayGetFurther),
            "failed: Git does not answer",
            "gauss/peu02",
        ),
        (ProposalFailure::Failed(timeout, NextRun::FailsAgain), "failed: Git does not answer", ""),
        (ProposalFailure::Gone(4), "waiting: #4 is gone: Capstan checks the cluster again.", ""),
    ] {
        let mut told = facts_with([own("gauss/peu01", opens())]);
        if let Some(decided) = &mut told.decided {
            decided.failed.insert(id("gauss/peu02"), failure);
        }
        let (_, now, outcome) = drive(&two(), TWO, &told);
        assert_eq!(now, "gauss/peu01");
        assert_eq!(said(&outcome, "gauss/peu02"), expected);
        assert_eq!(names(&outcome.undecided), undecided);
    }
}

#[test]
fn machines_are_asked_for_where_something_is_opened_that_nobody_asked_for() {
    for (decision, expected) in [
        (own("gauss/peu01", opens()), "rollouts gauss/peu01"),
        (asked("gauss/peu01", opens()), "rollouts "),
        (own("gauss/peu01", updates(3)), "rollouts "),
        (own("gauss/peu01", closes(3)), "rollouts "),
        // Each member of a shared pull request was checked separately before.
        (shared("group://gauss", &["gauss/peu01"]), "rollouts "),
    ] {
        let carriers: &[(&str, &[&str])] =
            if decision.0.target.group().is_some() { &[("group://gauss", &["gauss/peu01"])] } else { ONE };
        let (questions, ..) = drive(&two(), carriers, &facts_with([decision]));
        assert!(questions.contains(&format!("{expected}, campaigns")), "{questions}");
    }
}

#[test]
fn a_proposal_waits_for_the_machines_of_its_cluster() {
    let rollouts = BTreeMap::from([(id("gauss/peu01"), "2 of 3 machines are ready".to_owned())]);
    let told = SelectionFacts {
        rollouts: Some(rollouts),
        ..facts_with([own("gauss/peu01", opens()), own("gauss/peu02", opens())])
    };
    let (asked, now, outcome) = drive(&two(), TWO, &told);
    assert!(asked.contains("campaigns, held gauss/peu01"), "{asked}");
    assert_eq!(now, "gauss/peu02");
    assert_eq!(said(&outcome, "gauss/peu01"), "waiting: 2 of 3 machines are ready");
}

#[test]
fn what_github_refused_a_while_ago_is_left_alone_unless_somebody_asks() {
    for (decision, now_expected, state) in [
        (
            own("gauss/peu01", opens()),
            "",
            "refused: GitHub refuses it: a ruleset. Capstan retries after 2026-03-02 12:05 UTC.",
        ),
        (asked("gauss/peu01", opens()), "gauss/peu01", ""),
        // What is open waits as well.
        (
            own("gauss/peu01", updates(3)),
            "",
            "refused: GitHub refuses it: a ruleset. Capstan retries after 2026-03-02 12:05 UTC.",
        ),
    ] {
        let write = decision.1.write(&decision.0).unwrap();
        let refused = capstan_facts::RefusedWrite {
            not_before: now() + jiff::SignedDuration::from_mins(5),
            ..Refusals::NONE.refused(&write, 7, "a ruleset", now())
        };
        let case = Case { refused: vec![refused], ..two() };
        let (_, now, outcome) = drive(&case, ONE, &facts_with([decision]));
        assert_eq!((now.as_str(), said(&outcome, "gauss/peu01").as_str()), (now_expected, state));
    }
}

#[test]
fn members_left_out_of_their_group_get_the_reason() {
    let (group, mut one) = shared("group://gauss", &["gauss/peu01"]);
    one.left_out = vec![
        (id("gauss/peu02"), WhyLeftOut::Waits("It waits for its machines.".to_owned())),
        (id("gauss/peu03"), WhyLeftOut::LeftAlone(LeaveReason::Skipped { by: "ada".to_owned() })),
    ];
    let (_, now, outcome) = drive(&two(), GROUP, &facts_with([(group, one)]));
    assert_eq!(now, "group://gauss");
    assert_eq!(said(&outcome, "gauss/peu02"), "waiting: It waits for its machines.");
    assert_eq!(
        said(&outcome, "gauss/peu03"),
        "declined: Skipped by `ada`: Capstan does not offer this release again, only a newer one. `/capstan unskip for CLUSTER` undoes it."
    );
}

#[test]
fn a_command_passes_a_wave_and_no_campaign_that_was_stopped() {
    for (decision, for_all, expected) in [
        (own("gauss/peu01", opens()), false, ""),
        (own("gauss/peu01", opens()), true, ""),
        (asked("gauss/peu01", opens()), false, "gauss/peu01"),
        (asked("gauss/peu01", opens()), true, ""),
        // What is open is kept up to date whatever its campaign says.
        (own("gauss/peu01", updates(3)), true, "gauss/peu01"),
    ] {
        let campaigns = Some((Campaigns::default(), waits("gauss/peu01", for_all)));
        let told = SelectionFacts { campaigns, ..facts_with([decision]) };
        let (_, now, outcome) = drive(&two(), ONE, &told);
        assert_eq!(now, expected, "{for_all}");
        assert_eq!(said(&outcome, "gauss/peu01"), "waiting: wave 2 has not begun");
    }
}

#[test]
fn a_group_goes_without_the_member_that_waits_for_its_wave() {
    let campaigns = || Some((Campaigns::default(), waits("gauss/peu02", false)));
    let first = || facts_with([shared("group://gauss", &["gauss/peu01", "gauss/peu02"])]);
    let again = Some(made([shared("group://gauss", &["gauss/peu01"])]));
    let (asked, now, outcome) =
        drive(&two(), GROUP, &SelectionFacts { campaigns: campaigns(), again, ..first() });
    assert!(asked.ends_with("again gauss/peu01, load"), "{asked}");
    assert_eq!(now, "group://gauss");
    assert_eq!(said(&outcome, "gauss/peu02"), "waiting: wave 2 has not begun");
    // It cannot be decided without that one: it waits for the next run.
    let failed =
        BTreeMap::from([(id("group://gauss"), ProposalFailure::Refused("no permission".to_owned()))]);
    let again = Some(DecidedPulls { failed, ..DecidedPulls::default() });
    let (_, now, outcome) =
        drive(&two(), GROUP, &SelectionFacts { campaigns: campaigns(), again, ..first() });
    assert_eq!(now, "");
    assert_eq!(said(&outcome, "gauss/peu01"), "failed: no permission");
}

#[test]
fn the_limits_are_asked_for_where_something_is_opened_under_them() {
    let observe = || two().settings(|settings| settings.mode = Mode::Observe);
    for (case, action, expected) in [
        (two(), opens(), true),
        (two(), updates(3), false),
        (two(), closes(3), false),
        (observe(), opens(), false),
    ] {
        let (asked, now, _) = drive(&case, ONE, &facts_with([own("gauss/peu01", action)]));
        assert_eq!(asked.ends_with(", load"), expected, "{asked}");
        assert_eq!(now, "gauss/peu01");
    }
}

#[test]
fn nothing_new_is_opened_where_it_is_unknown_what_was_opened_lately() {
    let failure = ProposalFailure::Failed("GitHub does not answer".to_owned(), NextRun::MayGetFurther);
    let told = SelectionFacts {
        load: Some(Err(failure)),
        ..facts_with([own("gauss/peu01", updates(3)), own("gauss/peu02", opens())])
    };
    let (_, now, outcome) = drive(&two(), TWO, &told);
    assert_eq!(now, "gauss/peu01");
    assert_eq!(said(&outcome, "gauss/peu02"), "waiting: GitHub does not answer");
    assert_eq!(names(&outcome.undecided), "gauss/peu02");
}

#[test]
fn new_proposals_wait_for_the_limits_and_what_closes_or_moves_makes_room() {
    let limited = |case: Case| case.settings(|settings| settings.upgrade.proposals.open = 2);
    let full = |decisions: Vec<(ProposalId, DecidedPull)>| SelectionFacts {
        load: Some(Ok(ProposalLoad { open: 2, opened_last_hour: 0 })),
        ..facts_with(decisions)
    };
    let waits = "waiting: 2 of at most 2 proposals are open (`upgrade.proposals.open`). It waits until one is merged or closed.";
    let (_, now, outcome) = drive(&limited(two()), ONE, &full(vec![own("gauss/peu01", opens())]));
    assert_eq!((now.as_str(), said(&outcome, "gauss/peu01").as_str()), ("", waits));
    let closing = vec![own("gauss/peu01", opens()), own("gauss/peu02", closes(4))];
    let (_, now, _) = drive(&limited(two_open()), TWO, &full(closing));
    assert_eq!(now, "gauss/peu02 gauss/peu01");
    let carriers = Carriers::from([(id("gauss/peu01"), vec![id("gauss/peu01")])]);
    let leaving = Carriers::from([(id("gauss/peu02"), vec![id("gauss/peu02")])]);
    let arranged = Arranged { carriers, leaving, ..Arranged::default() };
    let (_, now, _) =
        drive_arranged(&limited(two_open()), arranged, &full(vec![own("gauss/peu01", opens())]));
    assert_eq!(now, "gauss/peu01");
}
