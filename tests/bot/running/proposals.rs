//! What becomes of proposals as releases, people and the base branch move.

use super::memory::{Moment, World};
use capstan_ports::{CheckConclusion, MergeQueueState, Permission, PullRequestState, ReviewDecision};

// Writes are counted here, and the dashboard has stories of its own.
const PROPOSE: (&str, &str) = (".capstan.yaml", "mode: propose\ndashboard: {enabled: false}\n");
const A: &str = "capstan/upgrade/c/a";

fn one_cluster() -> World {
    World::new(&[
        PROPOSE,
        ("releases/v1/base/v", "one\n"),
        ("c/a/base/v", "one\nmine\n"),
        ("c/a/capstan.yaml", "release: releases/v1\n"),
    ])
}

fn release(world: &World, name: &str, line: &str) {
    world.push("main", &[(&format!("releases/{name}/base/v"), Some(line))]);
}

#[tokio::test]
async fn a_release_opens_one_pull_request_with_four_writes_and_a_check() {
    let world = one_cluster();
    world.sync().await;
    assert_eq!(world.pulls().len(), 0, "it is at the newest release");
    release(&world, "v2", "two\n");
    let mark = world.state().writes.len();
    world.sync().await;
    assert_eq!(world.writes_since(mark), ["tree", "commit", "reference", "pull request", "check"]);
    assert_eq!(world.file(A, "c/a/base/v").unwrap(), "two\nmine\n");
    assert_eq!(world.file(A, "c/a/capstan.yaml").unwrap(), "release: releases/v2\n");
    assert_eq!(world.check_on(1).unwrap().conclusion, Some(CheckConclusion::Success));

    let mark = world.state().writes.len();
    world.sync().await;
    assert_eq!(world.writes_since(mark), Vec::<&str>::new(), "nothing moved, no call");
}

#[tokio::test]
async fn a_newer_release_updates_the_pull_request_in_place() {
    let world = one_cluster();
    release(&world, "v2", "two\n");
    world.sync().await;
    release(&world, "v3", "three\n");
    let mark = world.state().writes.len();
    world.sync().await;
    assert_eq!(world.writes_since(mark), ["tree", "commit", "reference", "pull request", "check"]);
    let pulls = world.open_pulls();
    assert_eq!(pulls.len(), 1);
    assert!(pulls[0].title.ends_with("to releases/v3"), "{}", pulls[0].title);
    let (above, below) =
        pulls[0].body.split_once("### Offered here before\n\n- `releases/v2`, until ").unwrap();
    assert!(above.contains("to `releases/v3`.") && !above.contains("`releases/v2`"), "{above}");
    assert!(!below.contains("`releases/v"), "{below}");
    assert_eq!(world.file(A, "c/a/base/v").unwrap(), "three\nmine\n");
    // The history outlives the next one, and a lost database.
    world.lose_database();
    release(&world, "v4", "four\n");
    world.sync().await;
    let body = world.open_pulls().remove(0).body;
    let (_, history) = body.split_once("### Offered here before\n\n- `releases/v3`, until ").unwrap();
    assert!(history.contains("\n- `releases/v2`, until "), "{body}");
}

#[tokio::test]
async fn an_approved_queued_or_auto_merging_proposal_keeps_its_target_and_says_so() {
    let none = MergeQueueState { review: ReviewDecision::None, queued: false, auto_merge: false };
    for state in [
        MergeQueueState { review: ReviewDecision::Approved, ..none },
        MergeQueueState { queued: true, ..none },
        MergeQueueState { auto_merge: true, ..none },
    ] {
        let world = one_cluster();
        release(&world, "v2", "two\n");
        world.sync().await;
        world.state().reviews.insert(1, state);
        release(&world, "v3", "three\n");
        world.sync().await;
        assert_eq!(world.file(A, "c/a/base/v").unwrap(), "two\nmine\n");
        assert!(
            world
                .check_on(1)
                .unwrap()
                .summary
                .contains("Capstan offers `releases/v3` when it is merged or closed")
        );
        assert_eq!(world.state().campaign["c/a"].0, "approved");

        world.merge(1);
        world.sync().await;
        assert_eq!(world.open_pulls().len(), 1, "the newer release has its turn");
        assert_eq!(world.file(A, "c/a/base/v").unwrap(), "three\nmine\n");
    }
}

#[tokio::test]
async fn the_base_moves_and_the_proposal_follows() {
    let world = one_cluster();
    release(&world, "v2", "two\n");
    world.sync().await;
    world.push("main", &[("c/a/base/v", Some("one\nmine\nand more\n"))]);
    world.sync().await;
    assert_eq!(world.pulls().len(), 1);
    assert_eq!(world.file(A, "c/a/base/v").unwrap(), "two\nmine\nand more\n");

    world.push("main", &[("README.md", Some("hello\n"))]);
    let mark = world.state().writes.len();
    world.sync().await;
    assert_eq!(world.writes_since(mark), Vec::<&str>::new(), "what moved elsewhere needs no new commit");
}

#[tokio::test]
async fn merged_is_done_and_the_next_release_opens_a_new_one() {
    let world = one_cluster();
    release(&world, "v2", "two\n");
    world.sync().await;
    world.merge(1);
    world.sync().await;
    assert_eq!(world.pulls().len(), 1);
    assert_eq!(world.file("main", "c/a/capstan.yaml").unwrap(), "release: releases/v2\n");
    release(&world, "v3", "three\n");
    world.sync().await;
    assert_eq!(world.pulls().len(), 2);
    assert_eq!(world.open_pulls().len(), 1);
}

#[tokio::test]
async fn what_a_person_closed_is_not_offered_again_with_or_without_the_database() {
    let world = one_cluster();
    release(&world, "v2", "two\n");
    world.sync().await;
    world.close(1);
    world.sync().await;
    world.lose_database();
    world.sync().await;
    assert_eq!(world.open_pulls().len(), 0);
    assert_eq!(world.state().campaign["c/a"].0, "declined");

    release(&world, "v3", "three\n");
    world.sync().await;
    assert_eq!(world.open_pulls().len(), 1, "a newer release opens a new one");
    assert_eq!(world.pulls().len(), 2);
}

#[tokio::test]
async fn a_closed_pull_request_without_its_block_is_read_from_its_commit() {
    let world = one_cluster();
    release(&world, "v2", "two\n");
    world.sync().await;
    world.state().pulls[0].body = "somebody's own words".to_owned();
    world.close(1);
    world.lose_database();
    world.sync().await;
    assert_eq!(world.open_pulls().len(), 0);
}

#[tokio::test]
async fn a_closed_proposal_is_offered_again_on_replan() {
    let world = one_cluster();
    world.state().permissions.insert("ada".to_owned(), Permission::Write);
    release(&world, "v2", "two\n");
    world.sync().await;
    world.close(1);
    world.comment(1, "ada", "/capstan replan");
    world.sync().await;
    assert_eq!(world.open_pulls().len(), 1);
    assert!(world.answers(1)[0].contains("See #2."), "{:?}", world.answers(1));
}

#[tokio::test]
async fn an_edited_branch_is_left_alone_until_a_writer_says_replan() {
    let world = one_cluster();
    release(&world, "v2", "two\n");
    world.sync().await;
    world.push(A, &[("c/a/base/v", Some("two\nedited\n"))]);
    release(&world, "v3", "three\n");
    world.lose_database();
    world.sync().await;
    assert_eq!(world.file(A, "c/a/base/v").unwrap(), "two\nedited\n");
    assert!(world.check_on(1).unwrap().summary.contains("`/capstan replan` on the pull request rewrites it"));

    world.comment(1, "mallory", "/capstan replan");
    world.sync().await;
    assert_eq!(world.file(A, "c/a/base/v").unwrap(), "two\nedited\n", "mallory may not");
    assert!(world.answers(1)[0].contains("write permission"));

    world.state().permissions.insert("ada".to_owned(), Permission::Write);
    world.comment(1, "ada", "/capstan replan");
    world.sync().await;
    assert_eq!(world.file(A, "c/a/base/v").unwrap(), "three\nmine\n");
    world.lose_database();
    world.sync().await;
    assert_eq!(world.answers(1).len(), 1, "who was refused is told, once; the other sees it");
}

#[tokio::test]
async fn with_nothing_left_to_do_the_proposal_is_closed_and_that_declines_nothing() {
    let world = one_cluster();
    release(&world, "v2", "two\n");
    world.sync().await;
    world.push("main", &[("releases/v2/base/v", None)]);
    world.sync().await;
    assert_eq!(world.pulls()[0].state, PullRequestState::Closed);
    assert!(world.pulls()[0].body.starts_with("> Closed by Capstan:"));
    release(&world, "v2", "two\n");
    world.lose_database();
    world.sync().await;
    assert_eq!(world.open_pulls().len(), 1);
}

#[tokio::test]
async fn a_cluster_that_is_gone_closes_its_proposal() {
    let world = one_cluster();
    release(&world, "v2", "two\n");
    world.sync().await;
    world.push("main", &[("c/a/base/v", None), ("c/a/capstan.yaml", None)]);
    world.sync().await;
    assert_eq!(world.pulls()[0].state, PullRequestState::Closed);
}

#[tokio::test]
async fn limits_hold_and_waiting_clusters_give_the_reason() {
    let settings = "upgrade:\n  proposals: {open: 2, perHour: 3, order: [\"c/canary*\"]}\n";
    let world = World::new(&[
        (".capstan.yaml", settings),
        ("releases/v2/base/v", "two\n"),
        ("c/a/base/v", "one\n"),
        ("c/b/base/v", "one\n"),
        ("c/canary/base/v", "one\n"),
        ("c/d/base/v", "one\n"),
        ("c/e/base/v", "one\n"),
    ]);
    world.sync().await;
    let heads =
        |world: &World| world.open_pulls().into_iter().map(|pull| pull.head_branch).collect::<Vec<_>>();
    assert_eq!(heads(&world), ["capstan/upgrade/c/canary", "capstan/upgrade/c/a"]);
    assert!(world.state().campaign["c/b"].1.contains("2 of at most 2 proposals are open"));

    world.merge(1);
    world.merge(2);
    world.sync().await;
    assert_eq!(heads(&world), ["capstan/upgrade/c/b"], "one more this hour");
    assert!(world.state().campaign["c/d"].1.contains("in the last hour"));

    world.state().now += 3_601;
    world.sync().await;
    assert_eq!(heads(&world), ["capstan/upgrade/c/b", "capstan/upgrade/c/d"]);
}

#[tokio::test]
async fn a_blocked_or_unreadable_cluster_gets_no_pull_request_and_stops_nobody_else() {
    let world = World::new(&[
        PROPOSE,
        ("releases/v2/base/v", "two\n"),
        ("c/a/base/v", "one\n"),
        ("c/b/base/v", "one\nblock\n"),
        ("c/u/base/v", "one\nunreadable\n"),
    ]);
    world.sync().await;
    assert_eq!(world.open_pulls().len(), 1);
    assert_eq!(world.state().campaign["c/b"].0, "blocked");
    assert_eq!(world.state().campaign["c/u"].0, "unplannable");
}

#[tokio::test]
async fn a_proposal_that_blocks_now_is_left_and_its_check_asks_for_a_person() {
    let world = one_cluster();
    release(&world, "v2", "two\n");
    world.sync().await;
    world.push("main", &[("c/a/base/v", Some("one\nmine\nblock\n"))]);
    world.sync().await;
    assert_eq!(world.file(A, "c/a/base/v").unwrap(), "two\nmine\n");
    let check = world.check_on(1).unwrap();
    assert_eq!(check.conclusion, Some(CheckConclusion::ActionRequired));
    assert!(check.summary.contains("It blocks."));
    assert!(world.open_pulls()[0].draft, "nobody merges it by mistake");

    world.push("main", &[("c/a/base/v", Some("one\nmine\n"))]);
    world.sync().await;
    assert!(!world.open_pulls()[0].draft, "nothing blocks any more");
    assert_eq!(world.check_on(1).unwrap().conclusion, Some(CheckConclusion::Success));
}

#[tokio::test]
async fn without_settings_nothing_is_written_and_in_observe_mode_checks_alone() {
    let world = World::new(&[("releases/v2/base/v", "two\n"), ("c/a/base/v", "one\n")]);
    world.open_pull("mine", &[("c/a/base/v", Some("one\nan error\n"))]);
    world.sync().await;
    assert_eq!(world.state().writes, Vec::<&str>::new());

    world.push("main", &[(".capstan.yaml", Some("mode: observe\n"))]);
    world.sync().await;
    assert_eq!(world.state().writes, ["check"]);
    assert_eq!(world.state().campaign["c/a"].0, "observed");
}

#[tokio::test]
async fn a_strangers_pull_request_is_judged_by_what_it_adds() {
    let world = World::new(&[
        PROPOSE,
        ("c/a/base/v", "one\n"),
        ("c/b/base/v", "an old error\n"),
        ("README.md", "x\n"),
    ]);
    let docs = world.open_pull("docs", &[("README.md", Some("y\n"))]);
    let bad = world.open_pull("bad", &[("c/a/base/v", Some("one\nfine\nan error\n"))]);
    let older = world.open_pull("older", &[("c/b/base/v", Some("an old error\nmore\n"))]);
    world.sync().await;
    let check = world.check_on(docs).unwrap();
    assert_eq!(
        (check.conclusion, check.title.as_str()),
        (Some(CheckConclusion::Success), "No cluster is touched")
    );
    let check = world.check_on(bad).unwrap();
    assert_eq!(check.conclusion, Some(CheckConclusion::Failure));
    assert_eq!((check.annotations[0].path.as_str(), check.annotations[0].line), ("c/a/base/v", 3));
    assert_eq!(world.check_on(older).unwrap().conclusion, Some(CheckConclusion::Success));

    world.push("main", &[("c/a/base/v", Some("two\n"))]);
    world.sync().await;
    assert!(world.check_on(bad).unwrap().summary.contains("Capstan judged its head alone"));
}

#[tokio::test]
async fn broken_settings_stop_everything_but_the_pull_request_that_mends_them() {
    let world = one_cluster();
    world.push("main", &[(".capstan.yaml", Some("mode: propse\n"))]);
    release(&world, "v2", "two\n");
    let other = world.open_pull("other", &[("c/a/base/v", Some("one\nmore\n"))]);
    let mends = world.open_pull("mends", &[(".capstan.yaml", Some("mode: propose\n"))]);
    world.sync().await;
    assert_eq!(world.pulls().len(), 2, "nothing is proposed");
    let check = world.check_on(other).unwrap();
    assert_eq!(check.conclusion, Some(CheckConclusion::ActionRequired));
    assert!(check.summary.contains(".capstan.yaml"), "{}", check.summary);
    assert_eq!(world.check_on(mends).unwrap().conclusion, Some(CheckConclusion::Success));
    world.merge(mends);
    world.sync().await;
    assert_eq!(world.open_pulls().len(), 2, "now it is");
}

#[tokio::test]
async fn commands_are_answered_once_and_noise_is_ignored() {
    let world = one_cluster();
    world.state().permissions.insert("ada".to_owned(), Permission::Write);
    release(&world, "v2", "two\n");
    world.sync().await;
    world.comment(1, "ada", "/capstan plan");
    world.comment(1, "ada", "/capstan pln");
    world.comment(1, "mallory", "/capstan help");
    world.comment(1, "ada", "> /capstan plan\n\n```\n/capstan plan\n```\n");
    world.comment(1, "renovate[bot]", "/capstan plan");
    world.sync().await;
    world.sync().await;
    let answers: Vec<String> =
        world.answers(1).into_iter().filter(|body| body.contains("capstan-answer")).collect();
    assert_eq!(answers.len(), 3);
    assert!(answers[0].contains("### What changes") || answers[0].contains("| Changes |"), "{}", answers[0]);
    assert!(answers[1].contains("did you mean `/capstan plan`?"), "{}", answers[1]);
    assert!(answers[2].contains("it needs write permission"), "{}", answers[2]);
}

#[tokio::test]
async fn people_who_merge_or_close_while_the_bot_works_lose_nothing() {
    for moment in [Moment::Tip, Moment::Reference] {
        let world = one_cluster();
        release(&world, "v2", "two\n");
        world.sync().await;
        release(&world, "v3", "three\n");
        world.state().meanwhile = Some((moment, |world| world.merge(1)));
        world.try_sync().await.unwrap();
        world.sync().await;
        assert_eq!(world.file("main", "c/a/capstan.yaml").unwrap(), "release: releases/v2\n");
        assert_eq!(world.open_pulls().len(), 1, "v3 is offered in a new pull request");
        assert_eq!(world.file(A, "c/a/base/v").unwrap(), "three\nmine\n");

        let world = one_cluster();
        release(&world, "v2", "two\n");
        world.sync().await;
        release(&world, "v3", "three\n");
        world.state().meanwhile = Some((moment, |world| world.close(1)));
        world.try_sync().await.unwrap();
        world.sync().await;
        assert_eq!(world.pulls().len(), 2, "v2 was declined, v3 was not");
        assert_eq!(world.open_pulls().len(), 1);
    }
}
