//! An error with one pull request, one installation or one long text does not affect the others.

use capstan_bot::sync::{SyncError, Synced};
use capstan_forge::{Fault, Matching, Permission as Right, Selection, Strike};
use capstan_ports::{CheckConclusion, CodeHostError, Permission, PullRequestState};

use super::memory::{Moment, World};
use super::sample;
use super::town::{REPOSITORY, Town};

const PROPOSE: (&str, &str) = (".capstan.yaml", "mode: propose\n");

/// Clusters `a`, `b` and `d` at `releases/v1`, where ada may write.
fn three_clusters() -> World {
    let world = World::new(&[
        PROPOSE,
        ("releases/v1/base/v", "one\n"),
        ("c/a/base/v", "one\n"),
        ("c/a/capstan.yaml", "release: releases/v1\n"),
        ("c/b/base/v", "one\n"),
        ("c/b/capstan.yaml", "release: releases/v1\n"),
        ("c/d/base/v", "one\n"),
        ("c/d/capstan.yaml", "release: releases/v1\n"),
    ]);
    world.state().permissions.insert("ada".to_owned(), Permission::Write);
    world
}

#[tokio::test]
async fn one_bad_head_stops_neither_the_others_nor_commands() {
    // Heads are judged in the order of their ids, so each of them has its turn to be the bad one.
    for bad in 1..=3 {
        let world = three_clusters();
        for cluster in ["a", "b", "d"] {
            world.open_pull(cluster, &[(&format!("c/{cluster}/base/v"), Some("one\nan error\n"))]);
        }
        // Now a head needs GitHub's test merge.
        world.push("main", &[("README.md", Some("hello\n"))]);
        let good = bad % 3 + 1;
        world.comment(good, "ada", "/capstan help");
        world.state().trouble.insert(bad, 500);

        let synced = world.try_sync().await.unwrap();
        let Synced::Partly(SyncError::Host(CodeHostError::Unexpected { status: 500, .. })) = synced else {
            panic!("{synced:?}")
        };
        for number in 1..=3 {
            let told = world.check_on(number).map(|check| check.conclusion.unwrap());
            // The check may be required, so it says that the pull request could not be judged.
            let expected = match number == bad {
                true => CheckConclusion::ActionRequired,
                false => CheckConclusion::Failure,
            };
            assert_eq!(told, Some(expected), "#{number} while #{bad} is bad");
        }
        assert_eq!(world.answers(good).len(), 1);

        world.state().trouble.clear();
        world.sync().await;
        assert_eq!(world.check_on(bad).unwrap().conclusion, Some(CheckConclusion::Failure));
    }
}

#[tokio::test]
async fn a_pull_request_that_vanishes_before_it_is_judged_fails_nothing() {
    for gone in 1..=3 {
        let world = three_clusters();
        for cluster in ["a", "b", "d"] {
            world.open_pull(cluster, &[(&format!("c/{cluster}/base/v"), Some("one\nan error\n"))]);
        }
        world.push("main", &[("README.md", Some("hello\n"))]);
        let vanish: fn(&World) = match gone {
            1 => |world| world.vanish(1),
            2 => |world| world.vanish(2),
            _ => |world| world.vanish(3),
        };
        // It is listed still, and gone once the tip was read.
        world.state().meanwhile = Some((Moment::Tip, vanish));
        assert!(matches!(world.try_sync().await.unwrap(), Synced::Again));
        for number in 1..=3 {
            assert_eq!(world.check_on(number).is_some(), number != gone, "#{number} while #{gone} vanishes");
        }
        world.sync().await;
    }
}

#[tokio::test]
async fn a_proposal_that_vanishes_at_any_moment_fails_nothing() {
    for moment in [Moment::Tip, Moment::PullRequest, Moment::Reference] {
        let world = three_clusters();
        world.push("main", &[("releases/v2/base/v", Some("two\n"))]);
        world.sync().await;
        assert_eq!(world.open_pulls().len(), 3);
        world.push("main", &[("releases/v3/base/v", Some("three\n"))]);
        world.comment(1, "ada", "/capstan plan");
        world.state().meanwhile = Some((moment, |world| world.vanish(1)));
        world.try_sync().await.unwrap();
        for cluster in ["b", "d"] {
            let branch = format!("capstan/upgrade/c/{cluster}");
            assert_eq!(world.file(&branch, &format!("c/{cluster}/base/v")).unwrap(), "three\n");
        }
        // The upgrade itself is offered in another pull request.
        world.sync().await;
        let numbers: Vec<u64> = world.open_pulls().iter().map(|pull| pull.number).collect();
        assert_eq!(numbers, [2, 3, 4]);
        assert_eq!(world.file("capstan/upgrade/c/a", "c/a/base/v").unwrap(), "three\n");
        assert!(world.open_pulls()[2].title.ends_with("to releases/v3"));
    }
}

#[tokio::test]
async fn a_proposal_that_vanishes_before_it_is_closed_fails_nothing() {
    for moment in [Moment::Tip, Moment::PullRequest] {
        let world = three_clusters();
        world.push("main", &[("releases/v2/base/v", Some("two\n"))]);
        world.sync().await;
        world.push("main", &[("releases/v2/base/v", None)]);
        world.state().meanwhile = Some((moment, |world| world.vanish(1)));
        world.try_sync().await.unwrap();
        world.sync().await;
        let states: Vec<PullRequestState> = world.pulls().iter().map(|pull| pull.state).collect();
        assert_eq!(states, [PullRequestState::Closed, PullRequestState::Closed], "#2 and #3");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_installation_whose_repositories_cannot_be_listed_holds_no_other_up() {
    let town = Town::new("mode: propose\n", &["gauss/peu01"]).await;
    town.forge.create_organization("euler").unwrap();
    town.forge.create_repository("euler/gitops").unwrap();
    town.forge.grant("euler/gitops", "ada", Right::Write).unwrap();
    town.forge.install("euler", Selection::All).unwrap();
    town.settle().await;
    town.forge.lose_deliveries(u32::MAX);
    let clusters = sample::repository("mode: propose\n", &["gauss/peu01"]);
    let newer = [sample::release("v22.0.0", "v1.22.5")];
    for (repository, edits) in
        [("euler/gitops", clusters.as_slice()), ("euler/gitops", &newer), ("acme/gitops", &newer)]
    {
        town.forge.commit(repository, "main", "ada", "A change", edits).unwrap();
    }
    let offered = || ["acme/gitops", "euler/gitops"].map(|name| town.forge.pulls(name).unwrap().len());

    // An address that may not call, for the installation that is asked first.
    let listing = Matching::any().method("GET").path("/installation/repositories");
    town.forge.fail_next(1, listing, Strike::Before, Fault::Status(403));
    town.resync().await;
    assert_eq!(offered(), [0, 1]);
    town.resync().await;
    assert_eq!(offered(), [1, 1]);
    town.done();
}

#[tokio::test]
async fn a_full_body_of_a_proposal_that_is_closed_still_says_why() {
    let world = three_clusters();
    world.push("main", &[("releases/v2/base/v", Some("two\n"))]);
    world.sync().await;
    // People filled what Capstan left free, above its record.
    let written = world.pulls()[0].body.clone();
    let (text, record) = written.split_once("<details><summary>Capstan's record").unwrap();
    let free = 65_536 - written.chars().count();
    let full = format!("{text}{}<details><summary>Capstan's record{record}", "ö".repeat(free));
    assert_eq!(full.chars().count(), 65_536);
    world.state().pulls[0].body = full;

    world.push("main", &[("releases/v2/base/v", None)]);
    world.sync().await;
    let closed = &world.pulls()[0];
    assert_eq!(closed.state, PullRequestState::Closed);
    assert!(closed.body.chars().count() <= 65_536, "{}", closed.body.chars().count());
    assert!(closed.body.starts_with("> Closed by Capstan: "), "{}", &closed.body[..200]);
    assert!(!closed.body.starts_with("> Closed by Capstan: \n"));
    assert!(closed.body.contains("… the rest does not fit here."));

    // The record is complete: it says that Capstan closed the pull request, not a person.
    world.push("main", &[("releases/v2/base/v", Some("two\n"))]);
    world.lose_database();
    world.sync().await;
    assert_eq!(world.open_pulls().len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn pull_requests_of_the_past_cost_no_call() {
    let town = Town::new("mode: propose\n", &["gauss/peu01", "gauss/peu02"]).await;
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    town.forge.close(REPOSITORY, 1, "ada").unwrap();
    town.settle().await;
    let calls = async || {
        town.forge.clear_exchanges();
        town.resync().await;
        town.forge.count_requests(|_| true)
    };
    let before = calls().await;
    town.forge.add_closed_pulls(REPOSITORY, "ada", 40_000).unwrap();
    assert_eq!(calls().await, before);
    assert!(before < 20, "{before}");
    let open = || town.open_pulls().into_iter().map(|pull| pull.number).collect::<Vec<_>>();
    assert_eq!(open(), [2], "and what a person closed is found among them");
    town.release("v22.1.0", "v1.22.9");
    town.settle().await;
    assert_eq!(open(), [2, 40_003], "a newer release is another matter");
    town.done();
}
