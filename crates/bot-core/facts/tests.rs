//! What a run concludes from the facts, as tables.

use capstan_facts::{BranchHead, ProposalRecord, PullRequest, PullRequestState, StackPlace};
use capstan_plan::command::CommentId;
use capstan_plan::proposal::{ProposalId, SidebarStep};
use capstan_plan::upgrade::Retarget;
use capstan_report::{Block, BlockPart, BlockPlace};
use jiff::SignedDuration;

use super::*;
use crate::testing::{Case, V22, block, carried, commit, id, key, now, pull, tree};

fn names(all: &[ProposalId]) -> Vec<String> {
    all.iter().map(ToString::to_string).collect()
}

#[test]
fn a_pull_request_is_a_proposal_by_its_branch_its_repository_and_its_kind() {
    let upgrade = "capstan/upgrade/gauss/peu01";
    let facts = Case::new().facts();
    let fork = PullRequest { head_in_repository: false, ..pull(1, upgrade, 'a') };
    for (pull, expected) in [
        (pull(1, upgrade, 'a'), Some("gauss/peu01")),
        (fork, None),
        (pull(1, "capstan/upgrade/%group/gauss", 'a'), Some("group://gauss")),
        (pull(1, "topic", 'a'), None),
        // A branch of an unknown kind counts as a person's, whatever its name.
        (pull(1, "capstan/strange/gauss/peu01", 'a'), None),
        (pull(1, ONBOARDING_BRANCH, 'a'), None),
    ] {
        let found = facts.proposal_of(&pull).map(|id| id.target.to_string());
        assert_eq!(found.as_deref(), expected, "{}", pull.head_branch);
    }
}

#[test]
fn open_proposals_are_those_that_come_onto_the_default_branch() {
    let branch = "capstan/upgrade/gauss/peu01";
    let to = |base: &str| PullRequest { base_branch: base.to_owned(), ..pull(3, branch, 'a') };
    let stack = |base: &str| PullRequest {
        stack: Some(StackPlace { base_branch: base.to_owned(), position: Some(2) }),
        ..to("other")
    };
    for (pull, expected) in
        [(to("main"), Some(3)), (to("other"), None), (stack("main"), Some(3)), (stack("other"), None)]
    {
        let facts = Case { open: vec![pull], ..Case::new() }.facts();
        assert_eq!(facts.open_proposal(&id("gauss/peu01")).map(|pull| pull.number), expected);
    }
    // Of two that GitHub listed while one replaced the other, the newest counts.
    let facts = Case { open: vec![pull(8, branch, 'b'), pull(3, branch, 'a')], ..Case::new() }.facts();
    assert_eq!(facts.open_proposal(&id("gauss/peu01")).map(|pull| pull.number), Some(8));
}

#[test]
fn a_shared_pull_request_carries_those_that_its_block_names_as_carried() {
    let mut without = carried("gauss/peu03");
    without.place = BlockPlace::LeftOut;
    let parts: Vec<BlockPart> = vec![carried("gauss/peu01"), carried("gauss/peu02"), without];
    let with_parts = Block { parts, ..block(5, &id("group://gauss"), V22) };
    let facts = Case::new().proposed_with(5, "group://gauss", 'a', with_parts).facts();
    assert_eq!(names(&facts.members_of(&id("group://gauss"))), ["gauss/peu01", "gauss/peu02"]);
    for (target, carrier) in [
        ("gauss/peu01", Some("group://gauss")),
        ("gauss/peu02", Some("group://gauss")),
        ("gauss/peu03", None),
        ("group://gauss", Some("group://gauss")),
        ("other/peu09", None),
    ] {
        assert_eq!(facts.carrier(&id(target)).map(ToString::to_string).as_deref(), carrier, "{target}");
        assert_eq!(facts.pull_of(&id(target)).map(|pull| pull.number), carrier.map(|_| 5), "{target}");
    }
    // A person removed the block from the body: its members are unknown.
    let mut lost = Case::new().shared(5, "group://gauss", 'a', &["gauss/peu01"]);
    lost.open[0].body = "Text.".to_owned();
    assert!(lost.facts().members_of(&id("group://gauss")).is_empty());
    // A pull request of one cluster has only that member.
    assert_eq!(names(&Case::new().facts().members_of(&id("gauss/peu01"))), ["gauss/peu01"]);
}

#[test]
fn while_a_cluster_moves_between_pull_requests_it_is_in_the_newer_one() {
    let own = |number| Case::new().proposed(number, "gauss/peu01", 'a');
    for (own_number, shared_number, expected) in [(3, 5, "group://gauss"), (7, 5, "gauss/peu01")] {
        let facts = own(own_number).shared(shared_number, "group://gauss", 'b', &["gauss/peu01"]).facts();
        assert_eq!(facts.carrier(&id("gauss/peu01")).unwrap().to_string(), expected);
    }
}

#[test]
fn the_body_of_an_ended_pull_request_lists_what_it_brought() {
    let facts = Case::new().facts();
    let group = id("group://gauss");
    let ended =
        |body: String| PullRequest { body, state: PullRequestState::Merged, ..pull(4, &group.branch(), 'a') };
    let parts = vec![carried("gauss/peu01"), carried("gauss/peu02")];
    let body = Block { parts, ..block(4, &group, V22) }.render(&key());
    assert_eq!(names(&facts.members_in(&group, &ended(body))), ["gauss/peu01", "gauss/peu02"]);
    assert!(facts.members_in(&group, &ended(String::new())).is_empty());
    // A block of another pull request does not count.
    let parts = vec![carried("gauss/peu01")];
    let other = Block { parts, ..block(5, &group, V22) }.render(&key());
    assert!(facts.members_in(&group, &ended(other)).is_empty());
}

#[test]
fn of_shared_pull_requests_each_cluster_counts_against_the_limits() {
    let case = Case::new()
        .proposed(1, "kiel/peu01", 'a')
        .shared(2, "group://gauss", 'b', &["gauss/peu01", "gauss/peu02"])
        .persons(3, 'c');
    let facts = case.facts();
    assert_eq!(facts.proposals_among(&case.open), 3);
    assert_eq!(facts.clusters_in(facts.proposals.keys()), 3);
    assert_eq!(facts.clusters_in(std::iter::empty()), 0);
    // A group pull request without its block counts as at least one.
    let mut lost = case;
    for pull in &mut lost.open {
        pull.body.clear();
    }
    let facts = lost.facts();
    assert_eq!(facts.proposals_among(&lost.open), 2);
    assert_eq!(facts.clusters_in(facts.proposals.keys()), 2);
}

#[test]
fn groups_that_ended_have_a_branch_and_no_open_pull_request() {
    let branch = |name: &str| BranchHead { branch: name.to_owned(), commit: commit('d') };
    let mut case = Case::new().shared(2, "group://kiel", 'b', &["kiel/peu01"]);
    case.branches.push(branch("capstan/upgrade/%group/gauss"));
    case.branches.push(branch("capstan/upgrade/gauss/peu01"));
    case.branches.push(branch(ONBOARDING_BRANCH));
    let facts = case.facts();
    let ended: Vec<String> = facts.ended_groups().into_iter().map(ToString::to_string).collect();
    assert_eq!(ended, ["group://gauss"]);
    assert_eq!(facts.onboarding, Some(commit('d')));
    assert_eq!(facts.branches.len(), 3);
}

#[test]
fn the_record_of_a_shared_branch_is_found_by_its_head() {
    let record = |target: &str, head: char| ProposalRecord {
        repository: 7,
        proposal: id(target),
        pull_request: Some(2),
        source: String::new(),
        plan: String::new(),
        head: commit(head),
        opened_at: now(),
        ended_at: None,
    };
    let case = Case { records: vec![record("gauss/peu01", 'b'), record("kiel/peu01", 'c')], ..Case::new() };
    let facts = case.facts();
    for (target, head, expected) in [
        ("gauss/peu01", 'b', Some('b')),
        // Capstan's last write is in the record, whatever the branch contains now.
        ("gauss/peu01", 'f', Some('b')),
        ("group://gauss", 'b', Some('b')),
        ("group://gauss", 'f', None),
        ("other/peu01", 'b', None),
    ] {
        let found = facts.record_of(&id(target), &commit(head)).map(|record| record.head.clone());
        assert_eq!(found, expected.map(commit), "{target} {head}");
    }
}

#[test]
fn retarget_holds_for_whose_block_says_so() {
    let allowed = Block { retarget: Retarget::Allowed, ..block(1, &id("gauss/peu01"), V22) };
    let mut part = carried("kiel/peu02");
    part.retarget = Retarget::Allowed;
    let shared = Block { parts: vec![carried("kiel/peu01"), part], ..block(2, &id("group://kiel"), V22) };
    let facts = Case::new()
        .proposed_with(1, "gauss/peu01", 'a', allowed)
        .proposed_with(2, "group://kiel", 'b', shared)
        .proposed(3, "gauss/peu02", 'c')
        .facts();
    assert_eq!(names(&facts.retargeted()), ["gauss/peu01", "kiel/peu02"]);
}

#[test]
fn a_folder_is_a_provider_set_where_the_tree_has_one_there() {
    let case = Case::new().target("gauss/peu01").target("providers://mc/providers");
    for (folder, expected) in
        [("gauss/peu01", "gauss/peu01"), ("mc/providers", "providers://mc/providers"), ("nowhere", "nowhere")]
    {
        let folder = id(folder).target.id().unwrap().clone();
        assert_eq!(target_in(&case.scopes, &folder).to_string(), expected);
        assert_eq!(proposal_for(&case.scopes, &folder).target.to_string(), expected);
    }
}

#[test]
fn a_refused_write_is_left_alone_for_longer_each_time_or_until_it_says_something_else() {
    let write = |content: &str| Write::proposal(&id("gauss/peu01"), content.to_owned());
    let none = Refusals::default();
    let first = none.refused(&write("a"), 7, "locked", now());
    assert_eq!((first.what.as_str(), first.refusals), ("proposal gauss/peu01", 1));
    let known: Refusals = [first.clone()].into_iter().collect();
    let second = known.refused(&write("a"), 7, "locked", now());
    assert_eq!(second.refusals, 2);
    assert!(second.not_before > first.not_before);
    // A refusal of other content is a first one.
    assert_eq!(known.refused(&write("b"), 7, "locked", now()).refusals, 1);
    let long = none.refused(&write("a"), 7, &"x".repeat(900), now());
    assert_eq!(long.reason.len(), 512);
    let later = first.not_before + SignedDuration::from_secs(1);
    for (content, at, expected) in
        [("a", now(), true), ("a", first.not_before, false), ("a", later, false), ("b", now(), false)]
    {
        assert_eq!(known.against(&write(content), at).is_some(), expected, "{content} {at}");
    }
    assert!(known.knows(&write("b")));
    assert!(!known.knows(&Write::merge(&id("gauss/peu01"), "a")));
}

#[test]
fn what_retry_forgets_is_of_the_proposal_its_head_and_the_dashboard() {
    let step = SidebarStep::default();
    let writes = [
        Write::proposal(&id("gauss/peu01"), "x".to_owned()),
        Write::sidebar(&id("gauss/peu01"), &step),
        Write::merge(&id("gauss/peu01"), "abc"),
        Write::check("abc", "i"),
        Write::dashboard(),
        Write::answer(CommentId::Comment(5)),
        Write::proposal(&id("kiel/peu01"), "x".to_owned()),
        Write::check("def", "i"),
        Write::onboarding("x".to_owned()),
        Write::tree_status("abc", "x"),
        Write::cluster("capstan/create/gauss/peu09", "x".to_owned()),
    ];
    let none = Refusals::default();
    let known: Refusals = writes.iter().map(|write| none.refused(write, 7, "no", now())).collect();
    let of = |proposal: Option<&str>, head: Option<&str>| known.of(proposal.map(id).as_ref(), head);
    assert_eq!(
        of(Some("gauss/peu01"), Some("abc")),
        ["check abc", "dashboard", "merge gauss/peu01", "proposal gauss/peu01", "sidebar gauss/peu01"]
    );
    assert_eq!(of(None, Some("def")), ["check def", "dashboard"]);
    assert_eq!(of(None, None), ["dashboard"]);
}

#[test]
fn a_refused_write_of_a_group_is_in_no_clusters_history() {
    let none = Refusals::default();
    for (target, expected) in [("gauss/peu01", Some("gauss/peu01")), ("group://gauss", None)] {
        let write = Write::proposal(&id(target), "x".to_owned());
        let entry = write.refusal_audited(&none.refused(&write, 7, "locked", now()));
        assert_eq!(entry.proposal.map(|id| id.to_string()).as_deref(), expected);
        assert_eq!((entry.action, entry.detail), ("write-refused", format!("proposal {target}: locked")));
    }
}

#[test]
fn refused_words_tell_the_minute() {
    let at = "2026-03-02T12:34:56Z".parse().unwrap();
    assert_eq!(
        refused_words("a ruleset refuses it", at),
        "GitHub refuses it: a ruleset refuses it. Capstan retries after 2026-03-02 12:34 UTC."
    );
}

#[test]
fn the_digest_of_what_differs_is_that_of_a_plan_that_writes_just_that() {
    let before = tree(&[("gauss/peu01/a", "1"), ("kiel/b", "1")]);
    let after = tree(&[("gauss/peu01/a", "2"), ("kiel/b", "2")]);
    let folder = |path: &str| capstan_model::tree::RepoPath::parse(path).unwrap();
    let file = |path: &str| capstan_model::file_change::FileChange {
        path: folder(path),
        before: Some("1".to_owned()),
        after: Some("2".to_owned()),
    };
    let of = |files: &[capstan_model::file_change::FileChange]| {
        Some(capstan_plan::proposal::PlanDigest::of(files))
    };
    assert_eq!(digest_of_changes(&before, &after), of(&[file("gauss/peu01/a"), file("kiel/b")]));
    assert_eq!(digest_of_changes_in(&folder("gauss/peu01"), &before, &after), of(&[file("gauss/peu01/a")]));
    assert_eq!(digest_of_changes_in(&folder("nowhere"), &before, &after), of(&[]));
    assert!(settings_file(&tree(&[(".capstan.yaml", "")])).is_some());
    assert!(settings_file(&tree(&[("x/.capstan.yaml", "")])).is_none());
}
