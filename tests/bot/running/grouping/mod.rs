//! Clusters of a group share a pull request: opened, kept current, commanded, found again, and moved over when the
//! settings change.

mod commands;
mod deaths;
mod members;
mod moves;
mod on_a_forge;
mod sizes;

use super::memory::World;
use capstan_ports::{CheckConclusion, MergeQueueState, Permission, PullRequest, ReviewDecision};

const SINGLE: &str = "mode: propose\ndashboard: {enabled: false}\n";
const GROUPED: &str =
    "mode: propose\ndashboard: {enabled: false}\nupgrade: {proposals: {group: {by: \"c/*/\"}}}\n";
/// The same with a dashboard, which shows the decisions about clusters without a pull request.
const GROUPED_WITH_DASHBOARD: &str = "mode: propose\nupgrade: {proposals: {group: {by: \"c/*/\"}}}\n";
const SINGLE_WITH_DASHBOARD: &str = "mode: propose\n";
const GROUP: &str = "capstan/upgrade/%group/c%2Fg";
const A: &str = "capstan/upgrade/c/g/a";
const B: &str = "capstan/upgrade/c/g/b";
const X: &str = "capstan/upgrade/c/x";

/// Two clusters below `c/g` and one beside them, for which there is a release.
fn world(settings: &str) -> World {
    let world = World::new(&[
        (".capstan.yaml", settings),
        ("releases/v1/base/v", "one\n"),
        ("releases/v2/base/v", "two\n"),
        ("c/g/a/base/v", "one\nmine\n"),
        ("c/g/b/base/v", "one\n"),
        ("c/x/base/v", "one\n"),
    ]);
    world.state().permissions.insert("ada".to_owned(), Permission::Write);
    world
}

fn open(world: &World, branch: &str) -> Option<PullRequest> {
    world.open_pulls().into_iter().find(|pull| pull.head_branch == branch)
}

fn shared(world: &World) -> PullRequest {
    open(world, GROUP).unwrap_or_else(|| panic!("{:?}", heads(world)))
}

fn heads(world: &World) -> Vec<String> {
    world.open_pulls().into_iter().map(|pull| pull.head_branch).collect()
}

fn state(world: &World, cluster: &str) -> (String, String) {
    world.state().campaign[cluster].clone()
}

fn last(world: &World, number: u64) -> String {
    world.answers(number).pop().unwrap_or_default()
}

/// Nobody has reviewed the pull request.
const UNSEEN: MergeQueueState =
    MergeQueueState { review: ReviewDecision::None, queued: false, auto_merge: false };

fn approve(world: &World, number: u64) {
    let approved = MergeQueueState { review: ReviewDecision::Approved, ..UNSEEN };
    world.state().reviews.insert(number, approved);
}

#[tokio::test]
async fn a_release_opens_one_pull_request_for_a_group_and_one_for_who_is_in_none() {
    let world = world(GROUPED);
    let mark = world.state().writes.len();
    world.sync().await;
    let branch = ["tree", "commit", "reference"];
    let shown = ["pull request", "pull request", "check", "check"];
    assert_eq!(world.writes_since(mark), [branch.as_slice(), &branch, &shown].concat());
    assert_eq!(heads(&world), [GROUP, X]);
    let pull = shared(&world);
    assert_eq!(pull.title, "Upgrade c/g (2 clusters) to releases/v2");
    assert!(pull.body.contains("<details><summary>c/g/a: "), "{}", pull.body);
    assert!(pull.body.contains("<details><summary>c/g/b: "), "{}", pull.body);
    assert_eq!(world.file(GROUP, "c/g/a/base/v").unwrap(), "two\nmine\n");
    assert_eq!(world.file(GROUP, "c/g/b/capstan.yaml").unwrap(), "release: releases/v2\n");
    assert_eq!(world.file(GROUP, "c/x/base/v").unwrap(), "one\n", "that is somebody else's");
    for cluster in ["c/g/a", "c/g/b"] {
        assert_eq!(
            state(&world, cluster),
            ("proposed".into(), "#1 offers `releases/v2` to 2 clusters.".into())
        );
    }
    let check = world.check_on(pull.number).unwrap();
    assert_eq!(check.conclusion, Some(CheckConclusion::Success), "{}", check.summary);
    assert!(check.summary.contains("c/g/a") && check.summary.contains("c/g/b"), "{}", check.summary);

    let mark = world.state().writes.len();
    world.sync().await;
    assert_eq!(world.writes_since(mark), Vec::<&str>::new(), "nothing moved, no call");

    world.push("main", &[("releases/v3/base/v", Some("three\n"))]);
    world.sync().await;
    assert_eq!(heads(&world), [GROUP, X], "updated in place");
    assert_eq!(world.file(GROUP, "c/g/a/base/v").unwrap(), "three\nmine\n");
    assert_eq!(world.file(GROUP, "c/g/b/base/v").unwrap(), "three\n");
    assert!(shared(&world).title.ends_with("to releases/v3"));
}

#[tokio::test]
async fn merged_it_is_done_for_all_and_the_next_release_opens_a_new_one() {
    let world = world(GROUPED);
    world.sync().await;
    world.merge(shared(&world).number);
    world.sync().await;
    assert_eq!(heads(&world), [X]);
    assert_eq!(world.file("main", "c/g/a/capstan.yaml").unwrap(), "release: releases/v2\n");
    assert_eq!(world.file("main", "c/g/b/capstan.yaml").unwrap(), "release: releases/v2\n");
    world.push("main", &[("releases/v3/base/v", Some("three\n"))]);
    world.lose_database();
    world.sync().await;
    assert_eq!(heads(&world), [X, GROUP]);
    assert_eq!(world.file(GROUP, "c/g/b/base/v").unwrap(), "three\n");
}
