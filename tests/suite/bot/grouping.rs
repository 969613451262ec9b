//! Clusters of a group share a pull request: opened, kept current, commanded, found again, and moved over when the
//! settings change.

use capstan_forge::MergeMethod;

use super::memory::{Death, World};
use super::town::{REPOSITORY, Town};
use capstan::app::ports::{CheckConclusion, Permission, PullRequest, PullRequestState};
use capstan_plan::proposal::Sidebar;

const SINGLE: &str = "mode: propose\ndashboard: {enabled: false}\n";
const GROUPED: &str =
    "mode: propose\ndashboard: {enabled: false}\nupgrade: {proposals: {group: {by: \"c/*/\"}}}\n";
/// The same with a dashboard, where what is decided about clusters without a pull request stands.
const GROUPED_WITH_DASHBOARD: &str = "mode: propose\nupgrade: {proposals: {group: {by: \"c/*/\"}}}\n";
const SINGLE_WITH_DASHBOARD: &str = "mode: propose\n";
const GROUP: &str = "capstan/upgrade/%group/c/g";
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

#[tokio::test]
async fn a_release_opens_one_pull_request_for_a_group_and_one_for_who_is_in_none() {
    let world = world(GROUPED);
    let mark = world.state().writes.len();
    world.sync().await;
    let four = ["tree", "commit", "reference", "pull request"];
    assert_eq!(world.writes_since(mark), [four.as_slice(), &four, &["check", "check"]].concat());
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
async fn who_blocks_stays_out_is_told_and_comes_in_later() {
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
async fn what_a_person_closed_is_declined_for_whom_it_carried_also_where_they_share_nothing_any_more() {
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
    assert_eq!(last(&world, number).matches("See #1.").count(), 2, "{}", last(&world, number));
}

#[tokio::test]
async fn a_command_is_about_all_of_them_or_for_one() {
    let world = world(GROUPED_WITH_DASHBOARD);
    world.sync().await;
    let number = shared(&world).number;
    world.comment(number, "ada", "/capstan hold for c/g/b an audit");
    world.sync().await;
    assert_eq!(state(&world, "c/g/b").0, "held");
    assert_eq!(state(&world, "c/g/a").0, "proposed");
    assert_eq!(world.file(GROUP, "c/g/b/base/v").unwrap(), "one\n", "it left");
    assert!(
        shared(&world).body.contains("- `c/g/b`: held: On hold by `ada`: an audit."),
        "{}",
        shared(&world).body
    );
    let answer = last(&world, number);
    assert!(
        answer.starts_with("`c/g/b`: On hold by `ada`: an audit. `/capstan unhold for c/g/b` takes it back."),
        "{answer}"
    );
    world.lose_database();
    world.sync().await;
    assert_eq!(state(&world, "c/g/b").0, "held", "the dashboard remembers");
    world.comment(number, "ada", "/capstan unhold for c/g/b");
    world.sync().await;
    assert_eq!(world.file(GROUP, "c/g/b/base/v").unwrap(), "two\n");

    world.comment(number, "ada", "/capstan skip for c/g/a");
    world.sync().await;
    let answer = last(&world, number);
    assert!(
        answer.starts_with("`c/g/a`: `releases/v2` is not offered to it again, a newer one is."),
        "{answer}"
    );
    assert_eq!(state(&world, "c/g/a").0, "declined");
    assert_eq!(world.file(GROUP, "c/g/a/base/v").unwrap(), "one\nmine\n");
    world.comment(number, "ada", "/capstan unskip for c/g/a");
    world.sync().await;
    assert_eq!(world.file(GROUP, "c/g/a/base/v").unwrap(), "two\nmine\n");

    world.comment(number, "ada", "/capstan status");
    world.sync().await;
    let answer = last(&world, number);
    assert!(answer.contains("`c/g/a`") && answer.contains("`c/g/b`"), "{answer}");
    world.comment(number, "ada", "/capstan status for c/x");
    world.sync().await;
    let answer = last(&world, number);
    assert!(answer.contains("`c/x`") && !answer.contains("`c/g/b`"), "{answer}");

    world.comment(number, "ada", "/capstan hold");
    world.sync().await;
    let pull = shared(&world);
    assert!(pull.draft, "all of it is held");
    assert!(
        pull.body.starts_with("> `c/g/a`: On hold by `ada`.\n\n> `c/g/b`: On hold by `ada`.\n\n"),
        "{}",
        pull.body
    );
    world.lose_database();
    world.sync().await;
    assert_eq!((state(&world, "c/g/a").0, state(&world, "c/g/b").0), ("held".into(), "held".into()));
    world.comment(number, "ada", "/capstan unhold");
    world.sync().await;
    assert!(!shared(&world).draft);
    world.comment(number, "ada", "/capstan skip");
    world.sync().await;
    assert_eq!(heads(&world), [X]);
    assert_eq!((state(&world, "c/g/a").0, state(&world, "c/g/b").0), ("declined".into(), "declined".into()));
}

#[tokio::test]
async fn without_a_dashboard_who_would_leave_alone_has_no_place_to_be_noted_in() {
    let world = world(GROUPED);
    world.sync().await;
    let number = shared(&world).number;
    world.comment(number, "ada", "/capstan hold for c/g/b");
    world.sync().await;
    assert!(
        last(&world, number).contains("was not carried out: it would be noted in the dashboard issue"),
        "{}",
        last(&world, number)
    );
    assert_eq!(world.file(GROUP, "c/g/b/base/v").unwrap(), "two\n");
}

#[tokio::test]
async fn a_command_needs_the_right_for_every_cluster_and_says_for_which_it_lacks() {
    let world = world(GROUPED_WITH_DASHBOARD);
    world.push("main", &[("CODEOWNERS", Some("/c/g/a/ @ada\n/c/g/b/ @grace\n"))]);
    world.state().permissions.insert("grace".to_owned(), Permission::Write);
    world.sync().await;
    let number = shared(&world).number;
    world.comment(number, "ada", "/capstan skip");
    world.sync().await;
    assert!(
        last(&world, number).contains("was not carried out: it needs for `c/g/b`"),
        "{}",
        last(&world, number)
    );
    assert_eq!(heads(&world), [GROUP, X]);
    world.comment(number, "ada", "/capstan skip for c/g/a");
    world.comment(number, "ada", "/capstan skip for c/g/b");
    world.sync().await;
    assert_eq!((state(&world, "c/g/a").0, state(&world, "c/g/b").0), ("declined".into(), "proposed".into()));
}

#[tokio::test]
async fn limits_count_pull_requests() {
    let settings = "dashboard: {enabled: false}\nupgrade: {proposals: {open: 1, group: {by: \"c/*/\"}, order: [\"c/g/b\"]}}\n";
    let world = world(settings);
    world.sync().await;
    assert_eq!(heads(&world), [GROUP]);
    assert!(
        state(&world, "c/x").1.contains("1 of at most 1 proposals are open"),
        "{:?}",
        state(&world, "c/x")
    );
    // What moves over makes its own room.
    world.push(
        "main",
        &[(".capstan.yaml", Some("dashboard: {enabled: false}\nupgrade: {proposals: {open: 2}}\n"))],
    );
    world.sync().await;
    world.sync().await;
    assert_eq!(heads(&world), [A, B]);
}

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
        closed.body.starts_with("> Closed by Capstan: What this offers stands in #\u{200b}4 now. The settings have several clusters share a pull request (`upgrade.proposals.group`)."),
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
    assert!(
        closed.body.contains("The settings do not have these clusters share a pull request any more"),
        "{}",
        closed.body
    );
    world.comment(open(&world, A).unwrap().number, "ada", "/capstan unhold for c/g/b");
    world.sync().await;
    assert_eq!(heads(&world), [X, A, B]);
}

const TOWN: &str = "mode: propose\nupgrade: {proposals: {group: {by: \"*/\"}}, merge: {approvals: 1}}\n";
const PEU: [&str; 2] = ["gauss/peu01", "gauss/peu02"];
const GAUSS: &str = "capstan/upgrade/%group/gauss";

#[tokio::test(flavor = "multi_thread")]
async fn on_a_forge_it_is_opened_approved_and_merged_and_found_again() {
    let mut town = Town::new(TOWN, &PEU).await;
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    let pulls = town.open_pulls();
    assert_eq!(pulls.len(), 1);
    let (number, pull) = (pulls[0].number, &pulls[0]);
    assert_eq!(
        (pull.head_branch.as_str(), pull.title.as_str()),
        (GAUSS, "Upgrade gauss (2 clusters) to aws/v22.0.0")
    );
    for cluster in PEU {
        let row = format!("\n| `{cluster}` | `aws/v21.0.0` | ");
        assert!(pull.body.contains(&row), "{}", pull.body);
        assert!(town.file(GAUSS, &format!("{cluster}/base/machinepool.yaml")).contains("v1.22.5"));
        assert_eq!(town.standing(cluster).await.0, "proposed");
    }
    let commit = &town.forge.commits(REPOSITORY, GAUSS).unwrap()[0];
    assert!(commit.message.contains("\ngauss/peu02 from aws/v21.0.0: "), "{}", commit.message);
    assert!(town.check(number).title.starts_with("1 of 1 approval missing"), "{}", town.check(number).title);

    let before = town.forge.write_calls();
    town.restart_without_database().await;
    assert_eq!(town.open_pulls().len(), 1);
    assert_eq!(town.forge.write_calls(), before, "all was found again");

    town.comment(number, "ada", "/capstan merge").await;
    assert!(town.answers(number).last().unwrap().starts_with("`gauss`: "), "{:?}", town.answers(number));
    town.comment(number, "ada", "/capstan approve").await;
    let answer = town.answers(number).pop().unwrap();
    assert!(answer.starts_with("`gauss`: Approved by `ada` for "), "{answer}");
    town.restart_without_database().await;
    assert_eq!(town.check(number).conclusion.as_deref(), Some("success"), "{}", town.check(number).summary);
    assert_eq!(town.check(number).buttons, ["merge", "replan"]);
    town.comment(number, "ada", "/capstan merge").await;
    for cluster in PEU {
        let record = town.file("main", &format!("{cluster}/capstan.yaml"));
        assert!(record.starts_with("release: aws/v22.0.0\n"), "{record}");
        assert_eq!(town.standing(cluster).await.0, "current");
    }
    assert!(town.open_pulls().is_empty());
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_forge_a_release_asked_for_by_name_and_a_rollback_are_one_clusters_own() {
    let town = Town::new(TOWN, &PEU).await;
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    let number = town.open_pulls()[0].number;
    town.comment(number, "ada", "/capstan upgrade gauss/peu02 to aws/v22.0.0").await;
    let own = town.open_pulls().into_iter().find(|pull| pull.head_branch == "capstan/upgrade/gauss/peu02");
    let own = own.unwrap_or_else(|| panic!("{:?}", town.answers(number)));
    assert!(!town.file(GAUSS, "gauss/peu02/base/machinepool.yaml").contains("v1.22.5"), "it left");
    assert!(town.file(GAUSS, "gauss/peu01/base/machinepool.yaml").contains("v1.22.5"));
    let link = format!("See #{}.", own.number);
    assert!(town.answers(number).last().unwrap().contains(&link), "{:?}", town.answers(number));
    town.forge.merge_pull(REPOSITORY, own.number, "ada", MergeMethod::Squash).unwrap();
    town.settle().await;
    town.release("v22.1.0", "v1.22.9");
    town.settle().await;
    assert_eq!(town.open_pulls().len(), 1, "merged, it is in its group again");
    assert!(town.file(GAUSS, "gauss/peu02/base/machinepool.yaml").contains("v1.22.9"));

    town.forge.merge_pull(REPOSITORY, number, "ada", MergeMethod::Squash).unwrap();
    town.settle().await;
    town.comment(number, "ada", "/capstan rollback").await;
    let answer = town.answers(number).pop().unwrap();
    assert!(answer.contains("Name the cluster, as in `rollback gauss/peu01`"), "{answer}");
    town.comment(number, "ada", "/capstan rollback gauss/peu01").await;
    let back = town.open_pulls();
    assert_eq!(back.len(), 1, "{:?}", town.answers(number));
    assert!(back[0].title.starts_with("Roll gauss/peu01 back from aws/v22.1.0"), "{}", back[0].title);
    town.done();
}

/// What people see in the end.
#[derive(Debug, PartialEq)]
struct Seen {
    pulls: Vec<(String, PullRequestState, String, Option<String>, Option<String>, Sidebar)>,
    answers: Vec<String>,
}

fn seen(world: &World) -> Seen {
    let one = |pull: PullRequest| {
        let files = ["c/g/a/base/v", "c/g/b/base/v"].map(|path| world.file(&pull.head_branch, path));
        let [a, b] = files;
        (pull.head_branch, pull.state, pull.title, a, b, pull.sidebar)
    };
    let mut pulls: Vec<_> = world.pulls().into_iter().map(one).collect();
    pulls.sort_by(|one, other| one.0.cmp(&other.0));
    let answers = world.pulls().iter().flat_map(|pull| world.answers(pull.number)).collect();
    Seen { pulls, answers }
}

/// Each cluster has its own; then the settings group them, a release comes, and somebody holds one of them.
async fn busy() -> World {
    let world = world(SINGLE_WITH_DASHBOARD);
    world.sync().await;
    let number = open(&world, A).unwrap().number;
    world.push(
        "main",
        &[
            (".capstan.yaml", Some("upgrade: {proposals: {group: {by: \"c/*/\"}, labels: [capstan]}}\n")),
            ("releases/v3/base/v", Some("three\n")),
            ("c/g/d/base/v", Some("one\n")),
        ],
    );
    world.comment(number, "ada", "/capstan hold for c/g/b an audit");
    world
}

#[tokio::test]
async fn death_at_any_write_with_or_without_the_database_leads_to_the_same_end() {
    let undisturbed = busy().await;
    let start = undisturbed.state().writes.len();
    undisturbed.sync().await;
    let total = undisturbed.writes_since(start).len();
    let expected = seen(&undisturbed);
    assert!(total > 12, "the scenario makes {total} writes only");
    assert_eq!(heads(&undisturbed), [X, GROUP]);
    for keeps in [true, false] {
        for at in 0..total {
            for death in [Death::Before(start + at), Death::After(start + at)] {
                let world = busy().await;
                world.state().death = Some(death);
                world.try_sync().await.unwrap_err();
                world.state().death = None;
                if !keeps {
                    world.lose_database();
                }
                world.sync().await;
                assert_eq!(seen(&world), expected, "{death:?} of {total}, database kept: {keeps}");
                let mark = world.state().writes.len();
                world.sync().await;
                assert_eq!(world.writes_since(mark), Vec::<&str>::new(), "{death:?}: nothing is left to do");
            }
        }
    }
}
