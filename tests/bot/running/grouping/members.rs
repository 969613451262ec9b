//! Who is in a group's pull request, who comes and who leaves.

use super::*;
use capstan_ports::PullRequestState;

#[tokio::test]
async fn a_blocked_member_stays_out_with_a_reason_and_comes_in_later() {
    let world = world(GROUPED);
    world
        .push("main", &[("c/g/b/base/v", Some("one\nblock\n")), ("c/g/d/base/v", Some("one\nunreadable\n"))]);
    world.sync().await;
    let pull = shared(&world);
    assert_eq!(pull.title, "Upgrade c/g (1 cluster) to releases/v2");
    assert!(pull.body.contains("- `c/g/b`: blocked: It blocks."), "{}", pull.body);
    assert!(pull.body.contains("- `c/g/d`: unplannable: "), "{}", pull.body);
    assert_eq!(world.file(GROUP, "c/g/b/base/v").unwrap(), "one\nblock\n");
    assert_eq!(state(&world, "c/g/b").0, "blocked");
    assert_eq!(world.check_on(pull.number).unwrap().conclusion, Some(CheckConclusion::Success));

    world.push("main", &[("c/g/b/base/v", Some("one\n"))]);
    world.sync().await;
    assert_eq!(world.file(GROUP, "c/g/b/base/v").unwrap(), "two\n");
    assert!(!shared(&world).body.contains("`c/g/b`: blocked"));
    // And one that blocks after it came in leaves again.
    world.push("main", &[("c/g/b/base/v", Some("one\nblock\n"))]);
    world.sync().await;
    assert_eq!(world.file(GROUP, "c/g/b/base/v").unwrap(), "one\nblock\n");
    assert_eq!(world.file(GROUP, "c/g/a/base/v").unwrap(), "two\nmine\n");
}

#[tokio::test]
async fn a_cluster_that_goes_is_dropped_and_the_last_one_closes_it() {
    let world = world(GROUPED);
    world.sync().await;
    let number = shared(&world).number;
    world.push("main", &[("c/g/b/base/v", None)]);
    world.sync().await;
    assert_eq!(shared(&world).title, "Upgrade c/g (1 cluster) to releases/v2");
    assert_eq!(world.file(GROUP, "c/g/b/capstan.yaml"), None);
    world.push("main", &[("c/g/a/base/v", None)]);
    world.sync().await;
    let closed = world.pulls().into_iter().find(|pull| pull.number == number).unwrap();
    assert_eq!(closed.state, PullRequestState::Closed);
    assert!(closed.body.starts_with("> Closed by Capstan:"), "{}", closed.body);
    assert_eq!(heads(&world), [X]);
}

#[tokio::test]
async fn a_closed_group_pull_request_stays_declined_for_its_members_even_after_grouping_ends() {
    let world = world(GROUPED);
    world.sync().await;
    world.close(shared(&world).number);
    world.push("main", &[("c/g/d/base/v", Some("one\n"))]);
    world.lose_database();
    world.sync().await;
    assert_eq!(state(&world, "c/g/a").0, "declined");
    assert_eq!(shared(&world).title, "Upgrade c/g (1 cluster) to releases/v2", "one came that nobody asked");
    assert_eq!(world.file(GROUP, "c/g/a/base/v").unwrap(), "one\nmine\n");
    let mark = world.state().writes.len();
    world.sync().await;
    assert_eq!(world.writes_since(mark), Vec::<&str>::new());
    assert_eq!(state(&world, "c/g/a").0, "declined", "also with another pull request on the branch");
    world.push("main", &[(".capstan.yaml", Some(SINGLE))]);
    world.sync().await;
    world.sync().await;
    assert_eq!(heads(&world), [X, "capstan/upgrade/c/g/d"], "{:?}", state(&world, "c/g/a"));
}

#[tokio::test]
async fn an_edited_branch_is_left_alone_until_a_writer_says_replan() {
    let world = world(GROUPED);
    world.sync().await;
    let number = shared(&world).number;
    world.push(GROUP, &[("c/g/a/base/v", Some("two\nedited\n"))]);
    world.push("main", &[("releases/v3/base/v", Some("three\n"))]);
    world.lose_database();
    world.sync().await;
    assert_eq!(world.file(GROUP, "c/g/a/base/v").unwrap(), "two\nedited\n");
    assert_eq!((state(&world, "c/g/a").0, state(&world, "c/g/b").0), ("edited".into(), "edited".into()));
    // Nor does it move over.
    world.push("main", &[(".capstan.yaml", Some(SINGLE))]);
    world.sync().await;
    assert_eq!(heads(&world), [GROUP, X]);
    world.push("main", &[(".capstan.yaml", Some(GROUPED))]);
    world.comment(number, "ada", "/capstan replan");
    world.sync().await;
    assert_eq!(world.file(GROUP, "c/g/a/base/v").unwrap(), "three\nmine\n");
    let verdict = world.state().reactions.last().map(|(_, reaction)| *reaction);
    assert_eq!(verdict, Some(capstan_ports::Reaction::ThumbsUp), "the pull request shows it");
}

#[tokio::test]
async fn who_is_held_leaves_an_approved_one_which_changes_for_nobody_who_comes() {
    let world = world(GROUPED_WITH_DASHBOARD);
    world.sync().await;
    let number = shared(&world).number;
    approve(&world, number);
    world.push("main", &[("c/g/d/base/v", Some("one\n"))]);
    world.sync().await;
    assert_eq!(world.file(GROUP, "c/g/d/base/v"), None, "what is approved stays as it is");
    assert_eq!(state(&world, "c/g/d").0, "waiting");
    world.comment(number, "ada", "/capstan hold for c/g/b an audit");
    world.sync().await;
    assert_eq!(world.file(GROUP, "c/g/b/base/v").unwrap(), "one\n", "nobody merges what is held");
    assert_eq!(world.file(GROUP, "c/g/a/base/v").unwrap(), "two\nmine\n");
    assert!(!shared(&world).draft, "the others go on");
    assert_eq!((state(&world, "c/g/a").0, state(&world, "c/g/b").0), ("proposed".into(), "held".into()));
}

#[tokio::test]
async fn who_blocks_leaves_an_approved_one() {
    let world = world(GROUPED);
    world.sync().await;
    approve(&world, shared(&world).number);
    world.push("main", &[("c/g/b/base/v", Some("one\nblock\n"))]);
    world.sync().await;
    assert_eq!(world.file(GROUP, "c/g/b/base/v").unwrap(), "one\nblock\n");
    assert_eq!(world.file(GROUP, "c/g/a/base/v").unwrap(), "two\nmine\n");
    assert!(shared(&world).body.contains("- `c/g/b`: blocked: It blocks."), "{}", shared(&world).body);
}

#[tokio::test]
async fn one_that_cannot_be_written_is_a_draft_while_somebody_in_it_is_held() {
    for queued in [false, true] {
        let world = world(GROUPED_WITH_DASHBOARD);
        world.sync().await;
        let number = shared(&world).number;
        if queued {
            world.state().reviews.insert(number, MergeQueueState { queued, ..UNSEEN });
        } else {
            world.push(GROUP, &[("c/g/a/base/v", Some("two\nedited\n"))]);
        }
        world.comment(number, "ada", "/capstan hold for c/g/b an audit");
        world.sync().await;
        let pull = shared(&world);
        assert!(pull.draft, "queued: {queued}");
        assert!(pull.body.starts_with("> `c/g/b`: On hold by `ada`: an audit.\n\n"), "{}", pull.body);
        assert_eq!(world.file(GROUP, "c/g/b/base/v").unwrap(), "two\n");
        let mark = world.state().writes.len();
        world.lose_database();
        world.sync().await;
        assert_eq!(world.writes_since(mark), Vec::<&str>::new(), "queued: {queued}");
        assert_eq!(state(&world, "c/g/b").0, "held");
        world.comment(number, "ada", "/capstan unhold for c/g/b");
        world.sync().await;
        assert!(!shared(&world).draft, "queued: {queued}");
    }
}

#[tokio::test]
async fn who_took_a_merge_back_is_not_asked_again_though_another_one_was_merged_since() {
    let world = world(GROUPED_WITH_DASHBOARD);
    world.sync().await;
    world.comment(shared(&world).number, "ada", "/capstan hold for c/g/b");
    world.sync().await;
    world.merge(shared(&world).number);
    world.sync().await;
    let back = [("c/g/a/base/v", Some("one\nmine\n")), ("c/g/a/capstan.yaml", None)];
    world.push("main", &back);
    world.sync().await;
    assert_eq!(state(&world, "c/g/a").0, "reverted");
    let any = world.pulls()[0].number;
    world.comment(any, "ada", "/capstan unhold for c/g/b");
    world.sync().await;
    assert_eq!(world.file(GROUP, "c/g/b/base/v").unwrap(), "two\n");
    assert_eq!(world.file(GROUP, "c/g/a/base/v").unwrap(), "one\nmine\n");
    world.merge(shared(&world).number);
    world.lose_database();
    world.sync().await;
    assert_eq!(heads(&world), [X], "{:?}", state(&world, "c/g/a"));
    world.push("main", &[("releases/v3/base/v", Some("three\n"))]);
    world.sync().await;
    assert_eq!(world.file(GROUP, "c/g/a/base/v").unwrap(), "three\nmine\n", "a newer one is offered");
}

#[tokio::test]
async fn where_somebody_took_the_record_out_it_is_written_again_and_nobody_is_lost() {
    let world = world(GROUPED);
    world.sync().await;
    let number = shared(&world).number;
    let index = usize::try_from(number).unwrap() - 1;
    world.state().pulls[index].body = "My own words.".to_owned();
    world.lose_database();
    world.sync().await;
    assert_eq!(heads(&world), [GROUP, X]);
    assert!(shared(&world).body.contains("<details><summary>c/g/b: "), "{}", shared(&world).body);
    // On an edited branch Capstan does not write the record again. Commands are then about what the head changes.
    world.push(GROUP, &[("c/g/a/base/v", Some("two\nedited\n"))]);
    world.state().pulls[index].body = "My own words.".to_owned();
    world.state().permissions.insert("grace".to_owned(), Permission::Write);
    world.push("main", &[("CODEOWNERS", Some("/c/g/a/ @ada\n/c/g/b/ @grace\n"))]);
    world.comment(number, "ada", "/capstan skip");
    world.sync().await;
    assert!(last(&world, number).contains("it needs for `c/g/b`"), "{}", last(&world, number));
    assert_eq!(world.file(GROUP, "c/g/a/base/v").unwrap(), "two\nedited\n");
}
