//! The setting is switched while proposals are open.

use super::*;

#[tokio::test]
async fn the_setting_is_switched_both_ways_and_decisions_survive() {
    let world = world(SINGLE_WITH_DASHBOARD);
    world.sync().await;
    assert_eq!(heads(&world), [A, B, X]);
    let of_b = open(&world, B).unwrap().number;
    world.comment(of_b, "ada", "/capstan hold an audit");
    world.sync().await;
    world.push("main", &[(".capstan.yaml", Some(GROUPED_WITH_DASHBOARD))]);
    world.sync().await;
    assert_eq!(heads(&world), [X, GROUP]);
    let closed = world.pulls().into_iter().find(|pull| pull.head_branch == A).unwrap();
    assert!(
        closed.body.starts_with("> Closed by Capstan: What this offers is now in #\u{200b}4. The settings group several clusters in one pull request (`upgrade.proposals.group`)."),
        "{}",
        closed.body
    );
    assert_eq!((state(&world, "c/g/a").0, state(&world, "c/g/b").0), ("proposed".into(), "held".into()));
    assert_eq!(world.file(GROUP, "c/g/b/base/v").unwrap(), "one\n");
    world.lose_database();
    world.sync().await;
    assert_eq!(state(&world, "c/g/b").0, "held");
    let mark = world.state().writes.len();
    world.sync().await;
    assert_eq!(world.writes_since(mark), Vec::<&str>::new(), "nothing is left to do");

    world.push("main", &[(".capstan.yaml", Some(SINGLE_WITH_DASHBOARD))]);
    world.sync().await;
    assert_eq!(heads(&world), [X, A]);
    assert_eq!((state(&world, "c/g/a").0, state(&world, "c/g/b").0), ("proposed".into(), "held".into()));
    let closed = world.pulls().into_iter().find(|pull| pull.head_branch == GROUP).unwrap();
    assert!(closed.body.contains("The settings no longer group these clusters"), "{}", closed.body);
    world.comment(open(&world, A).unwrap().number, "ada", "/capstan unhold for c/g/b");
    world.sync().await;
    assert_eq!(heads(&world), [X, A, B]);
}

#[tokio::test]
async fn one_that_somebody_worked_on_or_approved_keeps_its_form_until_it_is_merged() {
    let world = world(SINGLE);
    world.push("main", &[("c/g/d/base/v", Some("one\n"))]);
    world.sync().await;
    world.push(A, &[("c/g/a/base/v", Some("two\nedited\n"))]);
    let of_b = open(&world, B).unwrap().number;
    approve(&world, of_b);
    world.push("main", &[(".capstan.yaml", Some(GROUPED))]);
    world.sync().await;
    assert_eq!(heads(&world), [A, B, X, GROUP]);
    assert_eq!(world.file(A, "c/g/a/base/v").unwrap(), "two\nedited\n");
    assert_eq!(shared(&world).title, "Upgrade c/g (1 cluster) to releases/v2");
    world.lose_database();
    world.sync().await;
    assert_eq!(heads(&world), [A, B, X, GROUP]);
    world.merge(open(&world, A).unwrap().number);
    world.merge(of_b);
    world.push("main", &[("releases/v3/base/v", Some("three\n"))]);
    world.sync().await;
    assert_eq!(heads(&world), [X, GROUP]);
    assert_eq!(world.file(GROUP, "c/g/b/base/v").unwrap(), "three\n", "merged, they are in their group");
    assert_eq!(world.file(GROUP, "c/g/a/base/v").unwrap(), "three\nedited\n");
}

#[tokio::test]
async fn an_approved_shared_one_keeps_its_form_and_ends_as_one() {
    let world = world(GROUPED);
    world.sync().await;
    let number = shared(&world).number;
    approve(&world, number);
    world.push("main", &[(".capstan.yaml", Some(SINGLE))]);
    world.sync().await;
    world.lose_database();
    world.sync().await;
    assert_eq!(heads(&world), [GROUP, X]);
    world.merge(number);
    world.push("main", &[("releases/v3/base/v", Some("three\n"))]);
    world.sync().await;
    assert_eq!(heads(&world), [X, A, B]);
}

#[tokio::test]
async fn what_was_declined_alone_is_not_offered_in_a_group() {
    let world = world(SINGLE);
    world.sync().await;
    world.close(open(&world, A).unwrap().number);
    world.push("main", &[(".capstan.yaml", Some(GROUPED))]);
    world.lose_database();
    world.sync().await;
    assert_eq!(heads(&world), [X, GROUP]);
    assert_eq!(world.file(GROUP, "c/g/a/base/v").unwrap(), "one\nmine\n");
    assert_eq!((state(&world, "c/g/a").0, state(&world, "c/g/b").0), ("declined".into(), "proposed".into()));
}

#[tokio::test]
async fn another_pattern_moves_them_to_other_groups() {
    let world = world(GROUPED);
    world.sync().await;
    let wider = "mode: propose\ndashboard: {enabled: false}\nupgrade: {proposals: {group: {by: \"*/\"}}}\n";
    world.push("main", &[(".capstan.yaml", Some(wider))]);
    world.sync().await;
    assert_eq!(heads(&world), ["capstan/upgrade/%group/c"]);
    let closed = world.pulls().into_iter().find(|pull| pull.head_branch == GROUP).unwrap();
    assert!(
        closed.body.contains("The settings group clusters differently (`upgrade.proposals.group`)."),
        "{}",
        closed.body
    );
    for (cluster, word) in [("c/g/a", "proposed"), ("c/g/b", "proposed"), ("c/x", "proposed")] {
        assert_eq!(state(&world, cluster).0, word, "{cluster}");
    }
}

#[tokio::test]
async fn in_observe_mode_nothing_moves() {
    let world = world(GROUPED);
    world.sync().await;
    world.push("main", &[(".capstan.yaml", Some("mode: observe\ndashboard: {enabled: false}\n"))]);
    let mark = world.state().writes.len();
    world.sync().await;
    let written = world.writes_since(mark);
    assert!(written.iter().all(|write| *write == "check"), "{written:?}");
    assert_eq!(heads(&world), [GROUP, X]);
}
