//! A process that dies before or after any of its writes, with or without its database, is followed by
//! one that ends in the same state, and never opens a second pull request.

use super::memory::{Death, World};
use capstan_plan::command::CommentId;
use capstan_plan::proposal::Sidebar;
use capstan_ports::{Issue, IssueState, Permission, PullRequestState, Reaction};
use capstan_report::{BlockKey, DashboardReading, DashboardRecord, read_dashboard};

const SETTINGS: (&str, &str) = (
    ".capstan.yaml",
    "upgrade:\n  proposals: {labels: [capstan], assignees: [ada], reviewers: [ada, acme/ops]}\n",
);

/// What people see in the end.
#[derive(Debug, PartialEq)]
struct Seen {
    pulls: Vec<(String, PullRequestState, String, Option<String>, Sidebar)>,
    checks: Vec<String>,
    answers: Vec<usize>,
    /// Of each dashboard that is open: whether it is as Capstan wrote it.
    dashboards: Vec<DashboardReading>,
}

fn seen(world: &World) -> Seen {
    let mut pulls: Vec<_> = world
        .pulls()
        .into_iter()
        .map(|pull| {
            let file = world.file(
                &pull.head_branch,
                &format!("{}/base/v", pull.head_branch.trim_start_matches("capstan/upgrade/")),
            );
            (pull.head_branch, pull.state, pull.title, file, pull.sidebar)
        })
        .collect();
    pulls.sort_by(|a, b| a.0.cmp(&b.0));
    let numbers: Vec<u64> = world.pulls().iter().map(|pull| pull.number).collect();
    let mut checks: Vec<String> =
        numbers.iter().filter_map(|number| world.check_on(*number)).map(|check| check.title).collect();
    checks.sort();
    let mut answers: Vec<usize> = numbers.iter().map(|number| world.answers(*number).len()).collect();
    answers.sort_unstable();
    let key = BlockKey::derive(b"test");
    let state = world.state();
    let open = state.issues.iter().filter(|(issue, _)| issue.state == IssueState::Open);
    let reading = |(issue, _): &(Issue, _)| {
        let record = DashboardRecord::read(&issue.body, &key, 7).unwrap();
        read_dashboard(&issue.body, &record, &key, 7)
    };
    let dashboards = open.map(reading).collect();
    Seen { pulls, checks, answers, dashboards }
}

/// Two clusters with proposals for v2: one was edited by a person who then asks Capstan to replan it, one is open. A
/// third cluster is new, a stranger's pull request is open, and v3 has just appeared.
async fn busy() -> World {
    let world = World::new(&[
        SETTINGS,
        ("releases/v1/base/v", "one\n"),
        ("releases/v2/base/v", "two\n"),
        ("c/a/base/v", "one\nmine\n"),
        ("c/b/base/v", "one\n"),
    ]);
    world.sync().await;
    world.state().permissions.insert("ada".to_owned(), Permission::Write);
    world.push("capstan/upgrade/c/a", &[("c/a/base/v", Some("two\nedited\n"))]);
    let edited = world.open_pulls().into_iter().find(|pull| pull.head_branch.ends_with("c/a")).unwrap();
    world.comment(edited.number, "ada", "/capstan replan");
    world.open_pull("stranger", &[("c/b/base/v", Some("one\nan error\n"))]);
    world.push("main", &[("releases/v3/base/v", Some("three\n")), ("c/d/base/v", Some("one\n"))]);
    world
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Database {
    Kept,
    Lost,
}

#[tokio::test]
async fn death_at_any_write_leads_to_the_same_end() {
    let undisturbed = busy().await;
    let start = undisturbed.state().writes.len();
    undisturbed.sync().await;
    let total = undisturbed.writes_since(start).len();
    let expected = seen(&undisturbed);
    assert!(total > 15, "the scenario makes {total} writes only");
    assert_eq!(expected.pulls.len(), 4);
    assert_eq!(expected.dashboards, [DashboardReading::AsWritten]);

    for database in [Database::Kept, Database::Lost] {
        for at in 0..total {
            for death in [Death::Before(start + at), Death::After(start + at)] {
                let world = busy().await;
                assert_eq!(world.state().writes.len(), start, "the scenario is the same each time");
                world.state().death = Some(death);
                world.try_sync().await.unwrap_err();
                world.state().death = None;
                if database == Database::Lost {
                    world.lose_database();
                }
                world.sync().await;
                assert_eq!(seen(&world), expected, "{death:?} of {total}, database {database:?}");

                let mark = world.state().writes.len();
                world.sync().await;
                assert_eq!(world.writes_since(mark), Vec::<&str>::new(), "{death:?}: nothing is left to do");
            }
        }
    }
}

#[tokio::test]
async fn a_lost_database_costs_no_write_once_all_is_done() {
    let world = busy().await;
    world.sync().await;
    world.lose_database();
    let mark = world.state().writes.len();
    world.sync().await;
    assert_eq!(world.writes_since(mark), Vec::<&str>::new());
}

/// Two proposals: one is held, the other is approved; all of it shows, so that no comment says it.
async fn commanded() -> (World, Vec<CommentId>) {
    let world = World::new(&[
        (".capstan.yaml", "mode: propose\n"),
        ("releases/v1/base/v", "one\n"),
        ("releases/v2/base/v", "two\n"),
        ("c/a/base/v", "one\n"),
        ("c/b/base/v", "one\n"),
    ]);
    world.sync().await;
    world.state().permissions.insert("ada".to_owned(), Permission::Write);
    let said = [(1, "/capstan hold the audit"), (2, "/capstan approve")];
    let comments = said.map(|(number, body)| CommentId::Comment(world.comment(number, "ada", body)));
    (world, comments.to_vec())
}

/// What is seen of them: what the bodies begin with, answers, and verdicts on each comment. Not whether it is a draft: that
/// Capstan makes it one is noted before, and who died in between leaves it ready, as if a person had taken that back.
fn verdicts(world: &World, comments: &[CommentId]) -> (Vec<String>, usize, Vec<Vec<Reaction>>) {
    let first_line = |body: &str| body.lines().next().unwrap_or_default().to_owned();
    let pulls = world.pulls().iter().map(|pull| first_line(&pull.body)).collect();
    let answers = world.answers(1).len() + world.answers(2).len();
    let verdicts = comments.iter().map(|comment| {
        let state = world.state();
        let own = state.reactions.iter().filter(|(on, reaction)| on == comment && reaction.is_verdict());
        let mut own: Vec<Reaction> = own.map(|(_, reaction)| *reaction).collect();
        own.dedup();
        own
    });
    (pulls, answers, verdicts.collect())
}

#[tokio::test]
async fn death_between_what_a_command_does_and_its_reaction_leads_to_the_same_end() {
    let (undisturbed, comments) = commanded().await;
    let start = undisturbed.state().writes.len();
    undisturbed.sync().await;
    let writes = undisturbed.writes_since(start);
    let expected = verdicts(&undisturbed, &comments);
    assert_eq!(expected.0[0], "> On hold by `ada`: the audit.");
    assert!(expected.0[1].starts_with("> Approved by `ada` for `"), "{expected:?}");
    assert_eq!(undisturbed.pulls().iter().map(|pull| pull.draft).collect::<Vec<_>>(), [true, false]);
    assert_eq!((expected.1, &expected.2), (0, &vec![vec![Reaction::ThumbsUp]; 2]));
    assert_eq!(writes.iter().filter(|write| **write == "reaction").count(), 4, "{writes:?}");

    for database in [Database::Kept, Database::Lost] {
        for at in 0..writes.len() {
            for death in [Death::Before(start + at), Death::After(start + at)] {
                let (world, comments) = commanded().await;
                world.state().death = Some(death);
                world.try_sync().await.unwrap_err();
                world.state().death = None;
                if database == Database::Lost {
                    world.lose_database();
                }
                world.sync().await;
                assert_eq!(verdicts(&world, &comments), expected, "{death:?} of {writes:?}, {database:?}");
                world.lose_database();
                let mark = world.state().writes.len();
                let read = world.state().reactions_read;
                world.sync().await;
                assert_eq!(world.writes_since(mark), Vec::<&str>::new(), "{death:?}: nothing is done again");
                assert_eq!(world.state().reactions_read - read, 2, "one call a comment");
            }
        }
    }
}
