use super::*;

fn commit(digit: char) -> CommitId {
    CommitId::parse(&digit.to_string().repeat(40)).unwrap()
}

fn source(release: &str) -> SourceState {
    SourceState::parse(&format!("{release}@{}", "a".repeat(40))).unwrap()
}

fn plan(digit: char) -> PlanDigest {
    PlanDigest::parse(&digit.to_string().repeat(32)).unwrap()
}

fn offer(release: &str, digit: char) -> ProposalPlan {
    ProposalPlan::Offer(Offer {
        source: source(release),
        plan: plan(digit),
        draft: Draft::Ready,
        brought_by: SourceKind::RELEASE,
        writes: Writes::Objects,
    })
}

fn ours(release: &str, digit: char) -> Option<Branch> {
    let authorship = Authorship::Capstan { source: source(release), plan: plan(digit) };
    Some(Branch { head: commit('c'), authorship, of_base: OfBase::Yes })
}

fn a_persons() -> Option<Branch> {
    Some(Branch { head: commit('d'), authorship: Authorship::Person, of_base: OfBase::Unknown })
}

fn pull(number: u64, state: PullState, release: &str) -> Pull {
    Pull { number, state, head: commit('c'), source: Some(source(release)), leaves: None }
}

/// All is known: the open pull request merges, and nobody has reviewed it.
fn facts(wanted: ProposalPlan, branch: Option<Branch>, pulls: Vec<Pull>) -> PullFacts {
    let answers = Answers {
        branch: Some(branch),
        reviewed: Some(Reviewed::Not),
        mergeable: Some(Mergeable::PerhapsYes),
    };
    PullFacts {
        wanted,
        pulls,
        command: ProposalCommand::None,
        hold: None,
        skipped: None,
        pause: None,
        leaving: Leaving::Nobody,
        answers,
    }
}

fn reviewed(mut facts: PullFacts, reviewed: Reviewed) -> PullFacts {
    facts.answers.reviewed = Some(reviewed);
    facts
}

/// What is done once everything is known.
fn decided(facts: &PullFacts) -> Action {
    match decide(facts) {
        Decision::Do(action) => action,
        Decision::Ask(question) => panic!("{question:?} was answered"),
    }
}

/// What is asked, in its order, where these are the answers; and what is done then.
fn asked(all: &PullFacts) -> (Vec<ProposalQuestion>, Action) {
    let mut facts = PullFacts { answers: Answers::default(), ..all.clone() };
    let mut questions = Vec::new();
    loop {
        match decide(&facts) {
            Decision::Do(action) => return (questions, action),
            Decision::Ask(question) => {
                assert!(!questions.contains(&question), "{question:?} was answered");
                questions.push(question);
                match question {
                    ProposalQuestion::Branch => facts.answers.branch.clone_from(&all.answers.branch),
                    ProposalQuestion::Reviewed => facts.answers.reviewed = all.answers.reviewed,
                    ProposalQuestion::Mergeable => facts.answers.mergeable = all.answers.mergeable,
                }
            }
        }
    }
}

fn replan(mut facts: PullFacts) -> PullFacts {
    facts.command = ProposalCommand::Replan;
    facts
}

fn nothing() -> ProposalPlan {
    ProposalPlan::Nothing { why: "It is up to date.".to_owned(), rest: Rest::Current }
}

fn moved(from: char) -> BranchStep {
    BranchStep::Move { before: commit(from) }
}

#[test]
fn an_upgrade_without_branch_or_pull_request_opens_one() {
    assert_eq!(
        decided(&facts(offer("aws/v2.0.0", '1'), None, vec![])),
        Action::Open { branch: BranchStep::Create }
    );
}

#[test]
fn a_branch_without_its_pull_request_was_interrupted_and_gets_it() {
    let found = facts(offer("aws/v2.0.0", '1'), ours("aws/v2.0.0", '1'), vec![]);
    assert_eq!(decided(&found), Action::Open { branch: BranchStep::Keep });
    let older = facts(offer("aws/v3.0.0", '2'), ours("aws/v2.0.0", '1'), vec![]);
    assert_eq!(decided(&older), Action::Open { branch: moved('c') });
}

#[test]
fn a_proposal_that_is_as_wanted_keeps_its_branch() {
    let pulls = vec![pull(5, PullState::Open, "aws/v2.0.0")];
    let found = facts(offer("aws/v2.0.0", '1'), ours("aws/v2.0.0", '1'), pulls);
    assert_eq!(decided(&found), Action::Update { pull: 5, branch: BranchStep::Keep });
}

#[test]
fn a_newer_release_or_a_moved_base_updates_it_in_place() {
    let pulls = vec![pull(5, PullState::Open, "aws/v2.0.0")];
    for wanted in [offer("aws/v3.0.0", '2'), offer("aws/v2.0.0", '2')] {
        let found = facts(wanted, ours("aws/v2.0.0", '1'), pulls.clone());
        assert_eq!(decided(&found), Action::Update { pull: 5, branch: moved('c') });
    }
}

#[test]
fn a_proposal_that_conflicts_with_its_base_is_rewritten() {
    let pulls = vec![pull(5, PullState::Open, "aws/v2.0.0")];
    let found = facts(offer("aws/v2.0.0", '1'), ours("aws/v2.0.0", '1'), pulls);
    let mut found = reviewed(found, Reviewed::Approved);
    found.answers.mergeable = Some(Mergeable::Conflicts);
    assert_eq!(decided(&found), Action::Update { pull: 5, branch: moved('c') });
}

#[test]
fn a_shared_proposal_is_rewritten_if_a_member_has_to_leave_even_after_approval() {
    let pulls = vec![pull(5, PullState::Open, "aws/v2.0.0")];
    let anew = Action::Update { pull: 5, branch: moved('c') };
    let waits = |by, newer| Action::Leave(LeaveReason::Waits { pull: 5, reviewed: by, newer });
    for (by, expected) in [
        (Reviewed::Approved, anew.clone()),
        (Reviewed::AutoMerge, anew),
        (Reviewed::Queued, waits(Reviewed::Queued, None)),
    ] {
        let found = facts(offer("aws/v2.0.0", '2'), ours("aws/v2.0.0", '1'), pulls.clone());
        let found = PullFacts { leaving: Leaving::Somebody, ..reviewed(found, by) };
        assert_eq!(decided(&found), expected, "{by:?}");
    }
    let newer = facts(offer("aws/v3.0.0", '2'), ours("aws/v2.0.0", '1'), pulls.clone());
    let newer = PullFacts { leaving: Leaving::Somebody, ..reviewed(newer, Reviewed::Approved) };
    assert_eq!(decided(&newer), waits(Reviewed::Approved, Some(source("aws/v3.0.0"))), "its target stays");
    let edited = facts(offer("aws/v2.0.0", '2'), a_persons(), pulls);
    let edited = PullFacts { leaving: Leaving::Somebody, ..edited };
    assert_eq!(decided(&edited), Action::Leave(LeaveReason::Edited { pull: Some(5) }));
}

#[test]
fn an_approved_queued_or_auto_merging_proposal_keeps_its_target() {
    for by in [Reviewed::Approved, Reviewed::AutoMerge, Reviewed::Queued] {
        let pulls = vec![pull(5, PullState::Open, "aws/v2.0.0")];
        let found = reviewed(facts(offer("aws/v3.0.0", '2'), ours("aws/v2.0.0", '1'), pulls), by);
        let newer = Some(source("aws/v3.0.0"));
        assert_eq!(decided(&found), Action::Leave(LeaveReason::Waits { pull: 5, reviewed: by, newer }));
    }
}

#[test]
fn an_edited_branch_is_left_until_a_person_asks() {
    let pulls = vec![pull(5, PullState::Open, "aws/v2.0.0")];
    let found = facts(offer("aws/v3.0.0", '2'), a_persons(), pulls);
    assert_eq!(decided(&found), Action::Leave(LeaveReason::Edited { pull: Some(5) }));
    assert_eq!(decided(&replan(found)), Action::Update { pull: 5, branch: moved('d') });

    let closed = vec![pull(5, PullState::Closed(Closer::Person), "aws/v2.0.0")];
    let found = facts(offer("aws/v3.0.0", '2'), a_persons(), closed);
    assert_eq!(decided(&found), Action::Leave(LeaveReason::Edited { pull: None }));
}

#[test]
fn what_a_person_closed_is_not_offered_again_but_a_newer_release_is() {
    let pulls = vec![pull(5, PullState::Closed(Closer::Person), "aws/v2.0.0")];
    let same = facts(offer("aws/v2.0.0", '9'), ours("aws/v2.0.0", '1'), pulls.clone());
    assert_eq!(decided(&same), Action::Leave(LeaveReason::Declined { pull: 5 }));
    let newer = facts(offer("aws/v3.0.0", '2'), ours("aws/v2.0.0", '1'), pulls.clone());
    assert_eq!(decided(&newer), Action::Open { branch: moved('c') });
    let newer_without_branch = facts(offer("aws/v3.0.0", '2'), None, pulls.clone());
    assert_eq!(decided(&newer_without_branch), Action::Open { branch: BranchStep::Create });
    let interrupted = facts(offer("aws/v3.0.0", '2'), ours("aws/v3.0.0", '2'), pulls);
    assert_eq!(decided(&interrupted), Action::Open { branch: BranchStep::Keep });
}

#[test]
fn replan_on_a_closed_proposal_offers_it_again() {
    let pulls = vec![pull(5, PullState::Closed(Closer::Person), "aws/v2.0.0")];
    let found = facts(offer("aws/v2.0.0", '1'), ours("aws/v2.0.0", '1'), pulls);
    assert_eq!(decided(&replan(found)), Action::Open { branch: BranchStep::Keep });
}

#[test]
fn what_capstan_closed_says_nothing_about_the_release() {
    let pulls = vec![pull(5, PullState::Closed(Closer::Capstan), "aws/v2.0.0")];
    let found = facts(offer("aws/v2.0.0", '1'), ours("aws/v2.0.0", '1'), pulls);
    assert_eq!(decided(&found), Action::Open { branch: BranchStep::Keep });
}

#[test]
fn a_merged_source_needs_nothing_further_and_the_next_one_takes_over_the_branch() {
    let pulls = vec![pull(5, PullState::Merged, "aws/v2.0.0")];
    let done = facts(nothing(), ours("aws/v2.0.0", '1'), pulls.clone());
    assert!(matches!(decided(&done), Action::Leave(LeaveReason::NothingOffered { .. })));
    let reverted = facts(offer("aws/v2.0.0", '1'), ours("aws/v2.0.0", '1'), pulls.clone());
    assert_eq!(decided(&reverted), Action::Leave(LeaveReason::Merged { pull: 5 }));
    let next = facts(offer("aws/v3.0.0", '2'), ours("aws/v2.0.0", '1'), pulls.clone());
    assert_eq!(decided(&next), Action::Open { branch: moved('c') });

    let edited = Some(Branch { head: commit('c'), authorship: Authorship::Person, of_base: OfBase::Unknown });
    let next = facts(offer("aws/v3.0.0", '2'), edited, pulls);
    assert_eq!(decided(&next), Action::Open { branch: moved('c') }, "all of it is in the base");
}

#[test]
fn with_nothing_left_to_do_it_is_closed_unless_a_person_worked_there_or_it_is_queued() {
    let pulls = || vec![pull(5, PullState::Open, "aws/v2.0.0")];
    let (by, rest) = (Closer::Capstan, Rest::Current);
    let closing = Action::Close { pull: 5, why: "It is up to date.".to_owned(), by, rest };
    let own = facts(nothing(), ours("aws/v2.0.0", '1'), pulls());
    assert_eq!(decided(&reviewed(own.clone(), Reviewed::Approved)), closing);
    let edited = facts(nothing(), a_persons(), pulls());
    assert_eq!(decided(&edited), Action::Leave(LeaveReason::Edited { pull: Some(5) }));
    let queued = reviewed(own, Reviewed::Queued);
    assert!(matches!(decided(&queued), Action::Leave(LeaveReason::Waits { .. })));
}

#[test]
fn a_blocked_or_unreadable_cluster_is_never_written() {
    let pulls = vec![pull(5, PullState::Open, "aws/v2.0.0")];
    let why = vec!["It would skip a minor.".to_owned()];
    let blocked = facts(ProposalPlan::Blocked { why: why.clone() }, ours("aws/v2.0.0", '1'), pulls.clone());
    assert_eq!(decided(&replan(blocked)), Action::Leave(LeaveReason::Blocked { pull: Some(5), why }));
    let unreadable = ProposalPlan::Unplannable { why: "a.yaml:3:1: tab".to_owned() };
    let unreadable = facts(unreadable, ours("aws/v2.0.0", '1'), pulls);
    assert!(matches!(decided(&replan(unreadable)), Action::Leave(LeaveReason::Unplannable { .. })));
}

#[test]
fn a_commit_that_looks_like_capstans_on_another_parent_is_rewritten() {
    let branch = ours("aws/v2.0.0", '1').map(|branch| Branch { of_base: OfBase::Unknown, ..branch });
    let new = facts(offer("aws/v2.0.0", '1'), branch.clone(), vec![]);
    assert_eq!(decided(&new), Action::Open { branch: moved('c') });
    let pulls = vec![pull(7, PullState::Open, "aws/v2.0.0")];
    let shown = facts(offer("aws/v2.0.0", '1'), branch, pulls);
    assert_eq!(decided(&shown), Action::Update { pull: 7, branch: moved('c') });
}

#[test]
fn what_costs_a_call_is_asked_only_where_it_can_change_the_decision() {
    use ProposalQuestion::{Branch, Mergeable, Reviewed as Review};
    let open = || vec![pull(5, PullState::Open, "aws/v2.0.0")];
    let current = || facts(offer("aws/v2.0.0", '1'), ours("aws/v2.0.0", '1'), open());
    let (keep, anew) = (
        Action::Update { pull: 5, branch: BranchStep::Keep },
        Action::Update { pull: 5, branch: moved('c') },
    );
    let waits = |by, newer| Action::Leave(LeaveReason::Waits { pull: 5, reviewed: by, newer });

    let blocked = facts(ProposalPlan::Blocked { why: vec![] }, ours("aws/v2.0.0", '1'), open());
    assert_eq!(asked(&blocked).0, []);
    assert_eq!(asked(&facts(nothing(), None, vec![])).0, []);
    let declined = vec![pull(5, PullState::Closed(Closer::Person), "aws/v2.0.0")];
    assert_eq!(asked(&facts(offer("aws/v2.0.0", '1'), None, declined)).0, []);
    assert_eq!(asked(&facts(offer("aws/v2.0.0", '1'), None, vec![])).0, [Branch]);

    assert_eq!(asked(&current()), (vec![Branch, Mergeable], keep.clone()));
    assert_eq!(asked(&replan(current())), (vec![Branch, Mergeable], keep));
    let mut conflicting = current();
    conflicting.answers.mergeable = Some(super::Mergeable::Conflicts);
    assert_eq!(asked(&conflicting), (vec![Branch, Mergeable, Review], anew.clone()));
    let queued = reviewed(conflicting.clone(), Reviewed::Queued);
    assert_eq!(asked(&queued), (vec![Branch, Mergeable, Review], waits(Reviewed::Queued, None)));
    assert_eq!(asked(&replan(conflicting)), (vec![Branch, Mergeable], anew.clone()));

    let moved_base = || facts(offer("aws/v2.0.0", '2'), ours("aws/v2.0.0", '1'), open());
    assert_eq!(asked(&moved_base()), (vec![Branch, Review], anew.clone()));
    let approved = reviewed(moved_base(), Reviewed::Approved);
    assert_eq!(asked(&approved), (vec![Branch, Review, Mergeable], waits(Reviewed::Approved, None)));
    let queued = reviewed(moved_base(), Reviewed::Queued);
    assert_eq!(asked(&queued), (vec![Branch, Review], waits(Reviewed::Queued, None)));
    assert_eq!(asked(&replan(moved_base())), (vec![Branch], anew.clone()));

    let newer = || facts(offer("aws/v3.0.0", '2'), ours("aws/v2.0.0", '1'), open());
    assert_eq!(asked(&newer()), (vec![Branch, Review], anew));
    let approved = reviewed(newer(), Reviewed::Approved);
    let waiting = waits(Reviewed::Approved, Some(source("aws/v3.0.0")));
    assert_eq!(asked(&approved), (vec![Branch, Review], waiting));

    assert_eq!(asked(&facts(nothing(), a_persons(), open())).0, [Branch]);
    assert_eq!(asked(&facts(nothing(), ours("aws/v2.0.0", '1'), open())).0, [Branch, Review]);
    assert_eq!(asked(&replan(facts(nothing(), a_persons(), open()))).0, [Branch]);
}

fn on_hold(mut facts: PullFacts) -> PullFacts {
    facts.hold = Some(OnHold { by: "ada".to_owned(), reason: None, until: None });
    facts
}

#[test]
fn a_proposal_on_hold_is_left_alone_unless_nothing_is_left_to_do() {
    let open = || vec![pull(5, PullState::Open, "aws/v2.0.0")];
    let held = |wanted| on_hold(facts(wanted, ours("aws/v2.0.0", '1'), open()));
    for found in [held(offer("aws/v3.0.0", '2')), replan(held(offer("aws/v2.0.0", '2')))] {
        let (questions, action) = asked(&found);
        assert!(matches!(action, Action::Leave(LeaveReason::Held { pull: Some(5), .. })), "{action:?}");
        assert_eq!(questions, []);
    }
    let action = decided(&held(nothing()));
    assert!(matches!(action, Action::Close { pull: 5, by: Closer::Capstan, .. }), "{action:?}");
}

#[test]
fn what_is_on_hold_and_has_no_pull_request_gets_none() {
    let held = on_hold(facts(offer("aws/v2.0.0", '1'), None, vec![]));
    assert!(matches!(decided(&held), Action::Leave(LeaveReason::Held { pull: None, .. })));
    assert!(matches!(decided(&replan(held)), Action::Leave(LeaveReason::Held { pull: None, .. })));
}

/// Of each thing that could be wanted: what is done while Capstan is paused, and without asking anything.
#[test]
fn nothing_is_opened_written_or_closed_while_paused_but_what_a_person_skips() {
    let open = || vec![pull(5, PullState::Open, "aws/v2.0.0")];
    let paused = |wanted, pulls| {
        let pause = Paused { by: "ada".to_owned(), reason: None, since: jiff::civil::date(2026, 11, 23) };
        let branch = ours("aws/v2.0.0", '1');
        PullFacts { pause: Some(pause), ..facts(wanted, branch, pulls) }
    };
    for (found, on) in [
        (paused(offer("aws/v3.0.0", '2'), open()), Some(5)),
        (paused(offer("aws/v3.0.0", '2'), vec![]), None),
        (paused(nothing(), open()), Some(5)),
        (replan(paused(offer("aws/v2.0.0", '2'), open())), Some(5)),
    ] {
        let (questions, action) = asked(&found);
        assert!(
            matches!(&action, Action::Leave(LeaveReason::Paused { pull, .. }) if *pull == on),
            "{action:?}"
        );
        assert_eq!(questions, []);
    }
    let rest = decided(&paused(nothing(), vec![]));
    assert!(matches!(rest, Action::Leave(LeaveReason::NothingOffered { .. })), "{rest:?}");
    let held = decided(&on_hold(paused(offer("aws/v3.0.0", '2'), open())));
    assert!(matches!(held, Action::Leave(LeaveReason::Held { .. })), "{held:?}");
    let skipped = PullFacts { command: ProposalCommand::Skip, ..paused(offer("aws/v3.0.0", '2'), open()) };
    assert!(matches!(decided(&skipped), Action::Close { by: Closer::Person, .. }));
}

#[test]
fn what_is_skipped_is_closed_as_a_person_closes_it_and_offered_again_without_loss() {
    let open = vec![pull(5, PullState::Open, "aws/v2.0.0")];
    for branch in [ours("aws/v2.0.0", '1'), a_persons()] {
        let mut found = on_hold(facts(offer("aws/v2.0.0", '1'), branch, open.clone()));
        found.command = ProposalCommand::Skip;
        let action = decided(&found);
        assert!(matches!(action, Action::Close { pull: 5, by: Closer::Person, .. }), "{action:?}");
    }
    let closed = vec![pull(5, PullState::Closed(Closer::Person), "aws/v2.0.0")];
    let again = |branch, command| {
        decided(&PullFacts { command, ..facts(offer("aws/v2.0.0", '1'), branch, closed.clone()) })
    };
    let keep = Action::Open { branch: BranchStep::Keep };
    assert_eq!(again(ours("aws/v2.0.0", '1'), ProposalCommand::Offer), keep);
    assert_eq!(again(a_persons(), ProposalCommand::Offer), Action::Leave(LeaveReason::Edited { pull: None }));
    let declined = Action::Leave(LeaveReason::Declined { pull: 5 });
    assert_eq!(again(ours("aws/v2.0.0", '1'), ProposalCommand::Skip), declined, "done already");
}

#[test]
fn what_somebody_rolled_back_from_is_not_offered_again_and_a_newer_source_is() {
    let mut rollback = pull(6, PullState::Merged, "aws/v21.0.0");
    rollback.leaves = Some("aws/v22.0.0".to_owned());
    let offered = |release: &str| facts(offer(release, '1'), None, vec![rollback.clone()]);
    assert_eq!(decided(&offered("aws/v22.0.0")), Action::Leave(LeaveReason::RolledBack { pull: 6 }));
    assert_eq!(decided(&offered("aws/v23.0.0")), Action::Open { branch: BranchStep::Create });
    let asked = PullFacts { command: ProposalCommand::Offer, ..offered("aws/v22.0.0") };
    assert_eq!(decided(&asked), Action::Open { branch: BranchStep::Create });
}

#[test]
fn what_was_skipped_is_not_offered_until_it_is_something_else_or_somebody_asks() {
    let by = |release: &str| Some(Skipped { source: release.to_owned(), by: "ada".to_owned() });
    let mut facts = facts(offer("aws/v22.0.0", '1'), None, vec![]);
    facts.skipped = by("aws/v22.0.0");
    let skipped = Action::Leave(LeaveReason::Skipped { by: "ada".to_owned() });
    assert_eq!(asked(&facts), (vec![], skipped));
    facts.skipped = by("aws/v21.0.0");
    assert_eq!(decided(&facts), Action::Open { branch: BranchStep::Create });
    facts.skipped = by("aws/v22.0.0");
    facts.command = ProposalCommand::Offer;
    assert_eq!(decided(&facts), Action::Open { branch: BranchStep::Create });
    facts.command = ProposalCommand::None;
    facts.pulls = vec![pull(7, PullState::Open, "aws/v22.0.0")];
    let Action::Close { pull: 7, by: Closer::Person, .. } = decided(&facts) else {
        panic!("an open one is closed: {:?}", decided(&facts));
    };
}
