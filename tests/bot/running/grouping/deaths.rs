//! Deaths at any write lead to the same end.

use super::super::memory::Death;
use super::*;
use capstan_plan::proposal::Sidebar;
use capstan_ports::PullRequestState;

/// Branch, state, title, the file of each cluster on the branch, and the sidebar.
type SeenPull = (String, PullRequestState, String, [Option<String>; 3], Sidebar);

/// What people see in the end.
#[derive(Debug, PartialEq)]
struct Seen {
    pulls: Vec<SeenPull>,
    answers: Vec<String>,
}

fn seen(world: &World) -> Seen {
    let one = |pull: PullRequest| {
        let paths = ["c/g/a/base/v", "c/g/b/base/v", "c/g/d/base/v"];
        // The base of another cluster's branch does not matter: it says nothing about these clusters.
        let is_theirs = pull.head_branch != X;
        let files = paths.map(|path| world.file(&pull.head_branch, path).filter(|_| is_theirs));
        (pull.head_branch, pull.state, pull.title, files, pull.sidebar)
    };
    let mut pulls: Vec<_> = world.pulls().into_iter().map(one).collect();
    pulls.sort_by(|one, other| one.0.cmp(&other.0));
    let answers = world.pulls().iter().flat_map(|pull| world.answers(pull.number)).collect();
    Seen { pulls, answers }
}

/// What has happened when a run begins.
#[derive(Debug, Clone, Copy)]
enum Before {
    /// Each cluster has its own pull request. Then the settings group them, a release comes, and a person holds one of
    /// them.
    Switched,
    /// A person closed the pull request of the group, and then one more cluster came.
    Declined,
}

async fn begin(before: Before) -> World {
    match before {
        Before::Switched => {
            let world = world(SINGLE_WITH_DASHBOARD);
            world.sync().await;
            let number = open(&world, A).unwrap().number;
            let settings = "upgrade: {proposals: {group: {by: \"c/*/\"}, labels: [capstan]}}\n";
            world.push(
                "main",
                &[
                    (".capstan.yaml", Some(settings)),
                    ("releases/v3/base/v", Some("three\n")),
                    ("c/g/d/base/v", Some("one\n")),
                ],
            );
            world.comment(number, "ada", "/capstan hold for c/g/b an audit");
            world
        }
        Before::Declined => {
            let world = world(GROUPED);
            world.sync().await;
            world.close(shared(&world).number);
            world.push("main", &[("c/g/d/base/v", Some("one\n"))]);
            world
        }
    }
}

/// Another end after a death at any write, with or without the database, is a fault.
async fn ends_the_same(before: Before, least: usize) {
    let undisturbed = begin(before).await;
    let start = undisturbed.state().writes.len();
    undisturbed.sync().await;
    let total = undisturbed.writes_since(start).len();
    let expected = seen(&undisturbed);
    assert!(total >= least, "the scenario makes {total} writes only");
    assert_eq!(heads(&undisturbed), [X, GROUP]);
    for keeps in [true, false] {
        for at in 0..total {
            for death in [Death::Before(start + at), Death::After(start + at)] {
                let world = begin(before).await;
                world.state().death = Some(death);
                world.try_sync().await.unwrap_err();
                world.state().death = None;
                if !keeps {
                    world.lose_database();
                }
                world.sync().await;
                assert_eq!(
                    seen(&world),
                    expected,
                    "{before:?}, {death:?} of {total}, database kept: {keeps}"
                );
                let mark = world.state().writes.len();
                world.sync().await;
                assert_eq!(world.writes_since(mark), Vec::<&str>::new(), "{death:?}: nothing is left to do");
            }
        }
    }
}

#[tokio::test]
async fn death_at_any_write_while_proposals_move_leads_to_the_same_end() {
    ends_the_same(Before::Switched, 13).await;
}

#[tokio::test]
async fn death_at_any_write_forgets_nothing_that_was_declined() {
    ends_the_same(Before::Declined, 5).await;
}
