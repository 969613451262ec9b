//! Proposals of two kinds of sources for one cluster are independent of each other.

use super::memory::World;

const RELEASE: &str = "capstan/upgrade/c/a";
const VALUES: &str = "capstan/values/c/a";

/// A cluster at release one whose own line is `small`, while release two is there and its values say `large`.
fn world() -> World {
    World::new(&[
        (".capstan.yaml", "{}"),
        ("releases/v1/base/v", "one\n"),
        ("releases/v2/base/v", "two\n"),
        ("values/a", "large\n"),
        ("c/a/base/v", "one\nsmall\n"),
        ("c/a/capstan.yaml", "release: releases/v1\n"),
    ])
}

fn heads(world: &World) -> Vec<String> {
    world.open_pulls().into_iter().map(|pull| pull.head_branch).collect()
}

#[tokio::test]
async fn both_are_open_side_by_side_and_the_one_merged_later_is_replanned() {
    let world = world();
    world.sync().await;
    assert_eq!(heads(&world), [RELEASE, VALUES]);
    assert_eq!(world.file(RELEASE, "c/a/base/v").unwrap(), "two\nsmall\n");
    assert_eq!(world.file(VALUES, "c/a/base/v").unwrap(), "one\nlarge\n");
    let states: Vec<_> =
        world.state().campaign.iter().map(|(id, (word, _))| (id.clone(), word.clone())).collect();
    assert_eq!(
        states,
        [("c/a".to_owned(), "proposed".to_owned()), ("c/a (values)".to_owned(), "proposed".to_owned())]
    );

    // Nothing moved: nothing is written, with or without the database.
    for lose in [false, true] {
        let mark = world.state().writes.len();
        if lose {
            world.lose_database();
        }
        world.sync().await;
        assert_eq!(world.writes_since(mark), Vec::<&str>::new());
    }

    world.merge(1);
    world.sync().await;
    assert_eq!(heads(&world), [VALUES]);
    assert_eq!(world.file(VALUES, "c/a/base/v").unwrap(), "two\nlarge\n", "planned on what was merged");

    world.merge(2);
    world.sync().await;
    assert_eq!(heads(&world), Vec::<String>::new());
    assert_eq!(world.file("main", "c/a/base/v").unwrap(), "two\nlarge\n");
}

#[tokio::test]
async fn the_other_order_gives_the_same() {
    let world = world();
    world.sync().await;
    world.merge(2);
    world.sync().await;
    assert_eq!(heads(&world), [RELEASE]);
    assert_eq!(world.file(RELEASE, "c/a/base/v").unwrap(), "two\nlarge\n");
}

#[tokio::test]
async fn who_declines_one_has_not_declined_the_other() {
    let world = world();
    world.sync().await;
    world.close(2);
    world.lose_database();
    world.sync().await;
    assert_eq!(heads(&world), [RELEASE]);
    assert_eq!(world.state().campaign["c/a (values)"].0, "declined");
    assert_eq!(world.state().campaign["c/a"].0, "proposed");
}

#[tokio::test]
async fn a_persons_branch_that_is_called_like_another_kind_is_left_alone() {
    let world = world();
    let mine = world.open_pull("capstan/fix/c/a", &[("c/a/base/v", Some("one\nmine\n"))]);
    world.sync().await;
    world.sync().await;
    assert!(world.open_pulls().iter().any(|pull| pull.number == mine));
    assert_eq!(world.file("capstan/fix/c/a", "c/a/base/v").unwrap(), "one\nmine\n");
}
