//! Whose work a commit is: what is asked, and what is said of it.

use std::collections::BTreeMap;

use capstan_facts::{CommitTrailers, ProposalRecord, Snapshot};
use capstan_plan::command::Push;
use capstan_plan::proposal::{Authorship, OfBase, PlanDigest, TRAILER_SEAL, trailer_value};
use capstan_report::sealed_message;

use super::heads::pushed_by;
use super::{BranchOwner, BranchPushes, DecisionStep, HeadFacts, HeadFound, HeadNeed};
use crate::facts::Facts;
use crate::testing::{Case, V22, commit, id, key, now, snapshot, source};

const BRANCH: &str = "capstan/upgrade/gauss/peu01";
const FILE: &str = "gauss/peu01/base/a.yaml";

/// What Capstan wrote: one file.
fn plan() -> PlanDigest {
    PlanDigest::of_contents([(FILE, Some("new".as_bytes()))].into_iter())
}

fn base() -> Snapshot {
    snapshot(commit('0'), &[(FILE, "old")])
}

/// A commit on that parent with Capstan's trailers, and no seal.
fn unsealed(letter: char, parent: char) -> Snapshot {
    let trailers =
        CommitTrailers { source: Some(source(V22).to_string()), plan: Some(plan().to_string()), seal: None };
    Snapshot { parents: vec![commit(parent)], trailers, ..snapshot(commit(letter), &[(FILE, "new")]) }
}

/// The same with the seal for a branch.
fn sealed_for(branch: &str, letter: char, parent: char) -> Snapshot {
    let mut made = unsealed(letter, parent);
    let message = format!("Upgrade\n\nCapstan-Source: {}\nCapstan-Plan: {}\n", source(V22), plan());
    let message = sealed_message(message, (7, branch), (&commit(parent), &made.root), &key());
    made.trailers.seal = trailer_value(&message, TRAILER_SEAL).map(str::to_owned);
    made
}

fn sealed(letter: char, parent: char) -> Snapshot {
    sealed_for(BRANCH, letter, parent)
}

/// A person's commit.
fn persons(letter: char, parents: &[char], files: &[(&str, &str)]) -> Snapshot {
    let parents = parents.iter().map(|parent| commit(*parent)).collect();
    Snapshot { parents, ..snapshot(commit(letter), files) }
}

fn push(after: char, actor: Option<&str>) -> Push {
    Push { after: commit(after), actor: actor.map(str::to_owned), at: now() }
}

fn pushes(all: &[(char, &str)]) -> BranchPushes {
    let all = all.iter().map(|(after, actor)| push(*after, Some(actor))).collect();
    BranchPushes { all, own: "capstan[bot]".to_owned() }
}

fn facts() -> Facts {
    Case { files: vec![(FILE, "old")], ..Case::new() }.facts()
}

/// Answers from these commits and pushes until there is a decision. What was asked, and the decision.
fn ask<'h, T>(
    head: &HeadFacts<'h>,
    question: fn(&HeadFacts<'h>, &HeadFound) -> DecisionStep<T, HeadNeed>,
    (commits, pushes): (&[Snapshot], &BranchPushes),
) -> (String, T) {
    let all: BTreeMap<_, _> = commits.iter().map(|one| (one.commit.clone(), one.clone())).collect();
    let (mut found, mut asked) = (HeadFound::default(), Vec::new());
    loop {
        match question(head, &found) {
            DecisionStep::Decided(decided) => return (asked.join(" "), decided),
            DecisionStep::Ask(HeadNeed::Commit(commit)) => {
                asked.push(commit.as_str().get(..1).unwrap().to_owned());
                let read = all.get(&commit).cloned();
                assert!(found.commits.insert(commit, read).is_none(), "it asks twice: {asked:?}");
            }
            DecisionStep::Ask(HeadNeed::Pushes) => {
                asked.push("pushes".to_owned());
                assert!(found.pushes.replace(pushes.clone()).is_none(), "it asks twice: {asked:?}");
            }
        }
    }
}

fn is_capstans(authorship: &Authorship) -> bool {
    *authorship == Authorship::Capstan { source: source(V22), plan: plan() }
}

fn recorded(head: char, source: &str) -> Facts {
    let record = ProposalRecord {
        repository: 7,
        proposal: id("gauss/peu01"),
        pull_request: Some(3),
        source: source.to_owned(),
        plan: plan().to_string(),
        head: commit(head),
        opened_at: now(),
        ended_at: None,
    };
    Case { records: vec![record], files: vec![(FILE, "old")], ..Case::new() }.facts()
}

#[test]
fn a_recorded_head_needs_no_question() {
    let (facts, head) = (recorded('a', &source(V22).to_string()), commit('a'));
    let head = HeadFacts::of(&facts, &id("gauss/peu01"), &head, None);
    let (asked, branch) = ask(&head, HeadFacts::branch, (&[], &pushes(&[])));
    assert_eq!((asked.as_str(), branch.head, branch.of_base), ("", commit('a'), OfBase::Yes));
    assert!(is_capstans(&branch.authorship));
    let (asked, owner) = ask(&head, HeadFacts::owner, (&[], &pushes(&[])));
    assert_eq!((asked.as_str(), owner), ("", BranchOwner::Capstan));
}

#[test]
fn a_record_proves_a_commit_that_says_what_it_offers_and_no_other() {
    let valid = source(V22).to_string();
    for (record, commits, expected) in [
        // A record whose source an earlier version wrote otherwise: the commit says it.
        (('a', "v22"), vec![unsealed('a', '0'), base()], ("a 0 pushes", true)),
        // The record is of an earlier commit.
        (('b', valid.as_str()), vec![unsealed('a', '0'), base()], ("a 0 pushes", false)),
        // The commit is gone.
        (('b', valid.as_str()), vec![], ("a", false)),
    ] {
        let (facts, head) = (recorded(record.0, record.1), commit('a'));
        let head = HeadFacts::of(&facts, &id("gauss/peu01"), &head, None);
        let (asked, branch) = ask(&head, HeadFacts::branch, (&commits, &pushes(&[('a', "ada")])));
        assert_eq!((asked.as_str(), is_capstans(&branch.authorship)), expected, "{record:?}");
    }
}

#[test]
fn a_seal_or_githubs_record_of_the_push_proves_a_commit() {
    let other = "capstan/upgrade/gauss/peu02";
    for (made, pushed, asked, expected) in [
        (sealed('a', '0'), pushes(&[]), "a 0", true),
        (sealed_for(other, 'a', '0'), pushes(&[('a', "ada")]), "a 0 pushes", false),
        (unsealed('a', '0'), pushes(&[('a', "capstan[bot]")]), "a 0 pushes", true),
        (unsealed('a', '0'), pushes(&[('b', "capstan[bot]")]), "a 0 pushes", false),
        (unsealed('a', '0'), pushes(&[('a', "ada")]), "a 0 pushes", false),
        // GitHub refuses to say.
        (unsealed('a', '0'), BranchPushes::default(), "a 0 pushes", false),
        // Nothing says that it is Capstan's: GitHub is not asked.
        (persons('a', &['0'], &[(FILE, "new")]), pushes(&[('a', "capstan[bot]")]), "a 0", false),
    ] {
        let (facts, head) = (facts(), commit('a'));
        let head = HeadFacts::on(&facts, BRANCH, &head, None);
        let (questions, branch) = ask(&head, HeadFacts::branch, (&[made, base()], &pushed));
        assert_eq!((questions.as_str(), is_capstans(&branch.authorship)), (asked, expected));
    }
}

#[test]
fn a_sealed_commit_that_was_amended_is_a_persons() {
    let mut amended = sealed('a', '0');
    amended.tree = snapshot(commit('a'), &[(FILE, "newer")]).tree;
    let (facts, head) = (facts(), commit('a'));
    let head = HeadFacts::on(&facts, BRANCH, &head, None);
    let (_, branch) = ask(&head, HeadFacts::branch, (&[amended, base()], &pushes(&[])));
    assert_eq!(branch.authorship, Authorship::Person);
}

#[test]
fn a_commit_is_on_the_base_where_the_tip_or_the_pull_request_says_so() {
    for (parent, base_seen, expected) in [
        ('0', None, OfBase::Yes),
        ('b', Some('b'), OfBase::Yes),
        ('b', Some('c'), OfBase::Unknown),
        ('b', None, OfBase::Unknown),
    ] {
        let (facts, head, seen) = (facts(), commit('a'), base_seen.map(commit));
        let head = HeadFacts::on(&facts, BRANCH, &head, seen.as_ref());
        let below = Snapshot { commit: commit(parent), ..base() };
        let (_, branch) = ask(&head, HeadFacts::branch, (&[sealed('a', parent), below], &pushes(&[])));
        assert_eq!(branch.of_base, expected, "{parent} {base_seen:?}");
    }
}

#[test]
fn a_clean_merge_of_the_base_stays_capstans() {
    let other = "kiel/peu01/base/a.yaml";
    let newer_base = || persons('b', &['0'], &[(FILE, "old"), (other, "x")]);
    for (files, base_seen, expected) in [
        (vec![(FILE, "new"), (other, "x")], Some('b'), true),
        // It brings more than that.
        (vec![(FILE, "new"), (other, "y")], Some('b'), false),
        // What was merged is not the base.
        (vec![(FILE, "new"), (other, "x")], None, false),
    ] {
        let (facts, head, seen) = (facts(), commit('c'), base_seen.map(commit));
        let head = HeadFacts::on(&facts, BRANCH, &head, seen.as_ref());
        let merge = persons('c', &['a', 'b'], &files);
        let commits = [merge, sealed('a', '0'), newer_base(), base()];
        let (asked, branch) = ask(&head, HeadFacts::branch, (&commits, &pushes(&[])));
        assert_eq!((asked.as_str(), is_capstans(&branch.authorship)), ("c a b 0", expected), "{files:?}");
    }
}

#[test]
fn the_parents_of_an_octopus_merge_are_not_read() {
    let (facts, head) = (facts(), commit('c'));
    let head = HeadFacts::on(&facts, BRANCH, &head, None);
    let merge = persons('c', &['0', 'a', 'b'], &[(FILE, "new")]);
    let (asked, tip) = ask(&head, HeadFacts::tip, (&[merge], &pushes(&[])));
    assert_eq!((asked.as_str(), tip.parents.len(), tip.first_parent), ("c", 0, None));
}

#[test]
fn a_head_that_is_not_capstans_is_the_work_of_those_who_pushed() {
    let people = |all: &[&str]| BranchOwner::People(all.iter().map(|one| (*one).to_owned()).collect());
    for (made, pushed, asked, expected) in [
        (sealed('a', '0'), pushes(&[('a', "ada")]), "a 0", BranchOwner::Capstan),
        (
            persons('a', &['0'], &[]),
            pushes(&[('a', "Ada"), ('b', "capstan[bot]")]),
            "a 0 pushes",
            people(&["ada"]),
        ),
        (unsealed('a', '0'), pushes(&[('a', "ada"), ('b', "eve")]), "a 0 pushes", people(&["ada", "eve"])),
        (persons('a', &['0'], &[]), BranchPushes::default(), "a 0 pushes", BranchOwner::Unknown),
    ] {
        let (facts, head) = (facts(), commit('a'));
        let head = HeadFacts::on(&facts, BRANCH, &head, None);
        let (questions, owner) = ask(&head, HeadFacts::owner, (&[made, base()], &pushed));
        assert_eq!((questions.as_str(), owner), (asked, expected));
    }
}

#[test]
fn a_head_that_capstan_did_not_write_is_the_work_of_those_who_pushed() {
    let push = |after: char, actor: Option<&str>| Push {
        after: commit(after),
        actor: actor.map(str::to_owned),
        at: now(),
    };
    let people = |all: &[&str]| BranchOwner::People(all.iter().map(|one| (*one).to_owned()).collect());
    for (pushes, expected) in [
        (vec![], BranchOwner::Unknown),
        (vec![push('b', Some("ada"))], BranchOwner::Unknown),
        (vec![push('a', Some("Ada"))], people(&["ada"])),
        (
            vec![push('a', Some("ada")), push('b', Some("capstan[bot]")), push('c', Some("eve"))],
            people(&["ada", "eve"]),
        ),
        (vec![push('a', None)], people(&[])),
    ] {
        assert_eq!(pushed_by(&pushes, &commit('a'), "capstan[bot]"), expected);
    }
}

#[test]
fn capstans_last_commit_is_found_below_those_of_people() {
    let on_top = |letter: char, parent: char| persons(letter, &[parent], &[(FILE, "newer")]);
    for (commits, pushed, asked, expected) in [
        (vec![sealed('a', '0')], pushes(&[]), "a", Some('0')),
        (vec![on_top('a', 'b'), on_top('b', 'c'), sealed('c', '0')], pushes(&[]), "a b c", Some('0')),
        // Somebody copied the trailers of the commit below.
        (vec![unsealed('a', 'b'), sealed('b', '0')], pushes(&[('a', "ada")]), "a pushes b", Some('0')),
        (vec![on_top('a', 'b')], pushes(&[]), "a b", None),
        (vec![Snapshot { parents: vec![], ..on_top('a', 'b') }], pushes(&[]), "a", None),
        (vec![], pushes(&[]), "a", None),
    ] {
        let (facts, head) = (facts(), commit('a'));
        let head = HeadFacts::on(&facts, BRANCH, &head, None);
        let (questions, last) = ask(&head, HeadFacts::last_own, (&commits, &pushed));
        let last = last.map(|(offered, below)| {
            assert_eq!(offered, source(V22));
            below
        });
        assert_eq!((questions.as_str(), last), (asked, expected.map(commit)));
    }
}

#[test]
fn only_twenty_commits_are_looked_through() {
    let letters: Vec<char> = ('0'..='9').chain('a'..='f').collect();
    let name = |at: usize| {
        let two: String = [letters[at / 16], letters[at % 16]].into_iter().collect();
        capstan_model::tree::CommitId::parse(&two.repeat(20)).unwrap()
    };
    let commits: Vec<Snapshot> = (1..=30)
        .map(|at| Snapshot { parents: vec![name(at + 1)], ..snapshot(name(at), &[(FILE, "newer")]) })
        .collect();
    let (facts, head) = (facts(), name(1));
    let head = HeadFacts::on(&facts, BRANCH, &head, None);
    let (asked, last) = ask(&head, HeadFacts::last_own, (&commits, &pushes(&[])));
    assert_eq!((asked.split(' ').count(), last), (20, None));
}
