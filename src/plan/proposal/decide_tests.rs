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

fn offer(release: &str, digit: char) -> Wanted {
    Wanted::Offer(Offer { source: source(release), plan: plan(digit), draft: Draft::Ready })
}

fn ours(release: &str, digit: char) -> Option<Branch> {
    let authorship = Authorship::Capstan { source: source(release), plan: plan(digit) };
    Some(Branch { head: commit('c'), authorship, stands_on: OfBase::Yes })
}

fn a_persons() -> Option<Branch> {
    Some(Branch { head: commit('d'), authorship: Authorship::Person, stands_on: OfBase::Unknown })
}

fn open(reviewed: Reviewed) -> PullState {
    PullState::Open { reviewed, mergeable: Mergeable::PerhapsYes }
}

fn pull(number: u64, state: PullState, release: &str) -> Pull {
    Pull { number, state, head: commit('c'), source: Some(source(release)) }
}

fn facts(wanted: Wanted, branch: Option<Branch>, pulls: Vec<Pull>) -> Facts {
    Facts { wanted, branch, pulls, command: Command::None }
}

fn replan(mut facts: Facts) -> Facts {
    facts.command = Command::Replan;
    facts
}

fn nothing() -> Wanted {
    Wanted::Nothing { why: "It is up to date.".to_owned() }
}

fn moved(from: char) -> BranchStep {
    BranchStep::Move { before: commit(from) }
}

#[test]
fn an_upgrade_without_branch_or_pull_request_opens_one() {
    assert_eq!(
        decide(&facts(offer("aws/v2.0.0", '1'), None, vec![])),
        Action::Open { branch: BranchStep::Create }
    );
}

#[test]
fn a_branch_without_its_pull_request_was_interrupted_and_gets_it() {
    let found = facts(offer("aws/v2.0.0", '1'), ours("aws/v2.0.0", '1'), vec![]);
    assert_eq!(decide(&found), Action::Open { branch: BranchStep::Keep });
    let older = facts(offer("aws/v3.0.0", '2'), ours("aws/v2.0.0", '1'), vec![]);
    assert_eq!(decide(&older), Action::Open { branch: moved('c') });
}

#[test]
fn a_proposal_that_is_as_wanted_keeps_its_branch() {
    let pulls = vec![pull(5, open(Reviewed::Not), "aws/v2.0.0")];
    let found = facts(offer("aws/v2.0.0", '1'), ours("aws/v2.0.0", '1'), pulls);
    assert_eq!(decide(&found), Action::Update { pull: 5, branch: BranchStep::Keep });
}

#[test]
fn a_newer_release_or_a_moved_base_updates_it_in_place() {
    let pulls = vec![pull(5, open(Reviewed::Not), "aws/v2.0.0")];
    for wanted in [offer("aws/v3.0.0", '2'), offer("aws/v2.0.0", '2')] {
        let found = facts(wanted, ours("aws/v2.0.0", '1'), pulls.clone());
        assert_eq!(decide(&found), Action::Update { pull: 5, branch: moved('c') });
    }
}

#[test]
fn a_proposal_that_conflicts_with_its_base_is_written_anew() {
    let state = PullState::Open { reviewed: Reviewed::Approved, mergeable: Mergeable::Conflicts };
    let found = facts(offer("aws/v2.0.0", '1'), ours("aws/v2.0.0", '1'), vec![pull(5, state, "aws/v2.0.0")]);
    assert_eq!(decide(&found), Action::Update { pull: 5, branch: moved('c') });
}

#[test]
fn an_approved_queued_or_auto_merging_proposal_keeps_its_target() {
    for reviewed in [Reviewed::Approved, Reviewed::AutoMerge, Reviewed::Queued] {
        let pulls = vec![pull(5, open(reviewed), "aws/v2.0.0")];
        let found = facts(offer("aws/v3.0.0", '2'), ours("aws/v2.0.0", '1'), pulls);
        let newer = Some(source("aws/v3.0.0"));
        assert_eq!(decide(&found), Action::Leave(Standing::Waits { pull: 5, reviewed, newer }));
    }
}

#[test]
fn an_edited_branch_is_left_until_a_person_asks() {
    let pulls = vec![pull(5, open(Reviewed::Not), "aws/v2.0.0")];
    let found = facts(offer("aws/v3.0.0", '2'), a_persons(), pulls);
    assert_eq!(decide(&found), Action::Leave(Standing::Edited { pull: Some(5) }));
    assert_eq!(decide(&replan(found)), Action::Update { pull: 5, branch: moved('d') });

    let closed = vec![pull(5, PullState::Closed(Closer::Person), "aws/v2.0.0")];
    let found = facts(offer("aws/v3.0.0", '2'), a_persons(), closed);
    assert_eq!(decide(&found), Action::Leave(Standing::Edited { pull: None }));
}

#[test]
fn what_a_person_closed_is_not_offered_again_but_a_newer_release_is() {
    let pulls = vec![pull(5, PullState::Closed(Closer::Person), "aws/v2.0.0")];
    let same = facts(offer("aws/v2.0.0", '9'), ours("aws/v2.0.0", '1'), pulls.clone());
    assert_eq!(decide(&same), Action::Leave(Standing::Declined { pull: 5 }));
    let newer = facts(offer("aws/v3.0.0", '2'), ours("aws/v2.0.0", '1'), pulls.clone());
    assert_eq!(decide(&newer), Action::Open { branch: moved('c') });
    let newer_without_branch = facts(offer("aws/v3.0.0", '2'), None, pulls.clone());
    assert_eq!(decide(&newer_without_branch), Action::Open { branch: BranchStep::Create });
    let interrupted = facts(offer("aws/v3.0.0", '2'), ours("aws/v3.0.0", '2'), pulls);
    assert_eq!(decide(&interrupted), Action::Open { branch: BranchStep::Keep });
}

#[test]
fn replan_on_a_closed_proposal_offers_it_again() {
    let pulls = vec![pull(5, PullState::Closed(Closer::Person), "aws/v2.0.0")];
    let found = facts(offer("aws/v2.0.0", '1'), ours("aws/v2.0.0", '1'), pulls);
    assert_eq!(decide(&replan(found)), Action::Open { branch: BranchStep::Keep });
}

#[test]
fn what_capstan_closed_says_nothing_about_the_release() {
    let pulls = vec![pull(5, PullState::Closed(Closer::Capstan), "aws/v2.0.0")];
    let found = facts(offer("aws/v2.0.0", '1'), ours("aws/v2.0.0", '1'), pulls);
    assert_eq!(decide(&found), Action::Open { branch: BranchStep::Keep });
}

#[test]
fn a_merged_source_needs_nothing_further_and_the_next_one_takes_over_the_branch() {
    let pulls = vec![pull(5, PullState::Merged, "aws/v2.0.0")];
    let done = facts(nothing(), ours("aws/v2.0.0", '1'), pulls.clone());
    assert!(matches!(decide(&done), Action::Leave(Standing::NothingOffered { .. })));
    let reverted = facts(offer("aws/v2.0.0", '1'), ours("aws/v2.0.0", '1'), pulls.clone());
    assert_eq!(decide(&reverted), Action::Leave(Standing::Merged { pull: 5 }));
    let next = facts(offer("aws/v3.0.0", '2'), ours("aws/v2.0.0", '1'), pulls.clone());
    assert_eq!(decide(&next), Action::Open { branch: moved('c') });

    let edited =
        Some(Branch { head: commit('c'), authorship: Authorship::Person, stands_on: OfBase::Unknown });
    let next = facts(offer("aws/v3.0.0", '2'), edited, pulls);
    assert_eq!(decide(&next), Action::Open { branch: moved('c') }, "all of it is in the base");
}

#[test]
fn with_nothing_left_to_do_it_is_closed_unless_a_person_worked_there_or_it_is_queued() {
    let pulls = |reviewed| vec![pull(5, open(reviewed), "aws/v2.0.0")];
    let closing = Action::Close { pull: 5, why: "It is up to date.".to_owned() };
    assert_eq!(decide(&facts(nothing(), ours("aws/v2.0.0", '1'), pulls(Reviewed::Approved))), closing);
    let edited = facts(nothing(), a_persons(), pulls(Reviewed::Not));
    assert_eq!(decide(&edited), Action::Leave(Standing::Edited { pull: Some(5) }));
    let queued = facts(nothing(), ours("aws/v2.0.0", '1'), pulls(Reviewed::Queued));
    assert!(matches!(decide(&queued), Action::Leave(Standing::Waits { .. })));
}

#[test]
fn a_blocked_or_unreadable_cluster_is_never_written() {
    let pulls = vec![pull(5, open(Reviewed::Not), "aws/v2.0.0")];
    let why = vec!["It would skip a minor.".to_owned()];
    let blocked = facts(Wanted::Blocked { why: why.clone() }, ours("aws/v2.0.0", '1'), pulls.clone());
    assert_eq!(decide(&replan(blocked)), Action::Leave(Standing::Blocked { pull: Some(5), why }));
    let unreadable = Wanted::Unplannable { why: "a.yaml:3:1: tab".to_owned() };
    let unreadable = facts(unreadable, ours("aws/v2.0.0", '1'), pulls);
    assert!(matches!(decide(&replan(unreadable)), Action::Leave(Standing::Unplannable { .. })));
}

#[test]
fn a_commit_that_looks_like_capstans_but_stands_on_something_else_is_written_anew() {
    let branch = ours("aws/v2.0.0", '1').map(|branch| Branch { stands_on: OfBase::Unknown, ..branch });
    let new = facts(offer("aws/v2.0.0", '1'), branch.clone(), vec![]);
    assert_eq!(decide(&new), Action::Open { branch: moved('c') });
    let pulls = vec![pull(7, open(Reviewed::Not), "aws/v2.0.0")];
    let shown = facts(offer("aws/v2.0.0", '1'), branch, pulls);
    assert_eq!(decide(&shown), Action::Update { pull: 7, branch: moved('c') });
}
