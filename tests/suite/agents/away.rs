//! The bot goes away and comes back.

use std::time::Duration;

use capstan_agent_client::AgentError;
use capstan_live::agent::RolloutState;

use super::{EU, SETTINGS, client, cluster, commit, delivered, enrolled, report};
use crate::bot::town::{REPOSITORY, Town};
use capstan_ports::RolloutRecords as _;

#[tokio::test(flavor = "multi_thread")]
async fn while_the_bot_is_away_the_last_tree_stays_and_reports_wait_in_order() {
    let mut town = Town::new(SETTINGS, &["gauss/peu01", "gauss/peu02"]).await;
    let state = tempfile::tempdir().unwrap();
    let agent = enrolled(&town, EU, state.path()).await;
    let fetched = agent.fetch().await.unwrap();
    assert!(agent.kept().await.unwrap().is_none(), "nobody has opened it");
    agent.keep(&fetched.commit).await.unwrap();
    town.go_away().await;

    let away = agent.fetch().await.err().unwrap();
    assert!(matches!(away, AgentError::Away { .. }), "{away}");
    for (id, state, ready) in [
        ("gauss/peu01", RolloutState::Rolling, 0),
        ("gauss/peu01", RolloutState::Rolling, 1),
        ("gauss/peu02", RolloutState::Done, 2),
    ] {
        agent.report(report(id, &fetched.commit, state, ready)).await.unwrap();
    }
    agent.report(report("gauss/peu02", &fetched.commit, RolloutState::Done, 2)).await.unwrap();
    assert_eq!(agent.waiting_reports(), 3, "what says nothing new is not stored");
    drop(agent);

    // A new process, and still no bot.
    let agent = client(&town, EU, state.path(), None);
    let kept = agent.kept().await.unwrap().unwrap();
    assert_eq!(kept.commit, fetched.commit);
    assert_eq!(kept.tree.entries(), fetched.tree.entries());
    assert_eq!(agent.waiting_reports(), 3);
    agent.report(report("gauss/peu01", &fetched.commit, RolloutState::Done, 2)).await.unwrap();

    town.come_back().await;
    delivered(&agent).await;
    let repository = town.forge.resolve(REPOSITORY, "main").unwrap().unwrap();
    assert_eq!(commit(&repository), fetched.commit);
    let standings = all_standings(&town).await;
    assert_eq!(standings, [("gauss/peu01".to_owned(), 2), ("gauss/peu02".to_owned(), 2)]);
}

async fn all_standings(town: &Town) -> Vec<(String, u32)> {
    use capstan_ports::AgentWork as _;
    let watched = town.database().watched_repository(REPOSITORY).await.unwrap().unwrap();
    let mut found = Vec::new();
    for id in ["gauss/peu01", "gauss/peu02"] {
        for standing in town.database().standings_of(watched.repository.id, &cluster(id)).await.unwrap() {
            found.push((id.to_owned(), standing.report.ready));
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_poll_ends_as_soon_as_there_is_a_new_commit() {
    let town = Town::new(SETTINGS, &["gauss/peu01"]).await;
    let state = tempfile::tempdir().unwrap();
    let agent = enrolled(&town, EU, state.path()).await;
    let tip = agent.fetch().await.unwrap().commit;
    let (work, pushed) = tokio::join!(agent.work(Some(&tip), Duration::from_secs(50)), async {
        let pushed = town.push("main", &[capstan_forge::Edit::write("README.md", "hello\n")]);
        town.settle().await;
        pushed
    });
    assert_eq!(work.unwrap().commit, Some(commit(&pushed)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bot_that_lost_its_records_takes_the_agent_back_with_a_new_code() {
    let mut town = Town::new(SETTINGS, &["gauss/peu01"]).await;
    let state = tempfile::tempdir().unwrap();
    let agent = enrolled(&town, EU, state.path()).await;
    let fetched = agent.fetch().await.unwrap();
    agent.keep(&fetched.commit).await.unwrap();
    drop(agent);
    town.restart_without_database().await;
    let code = town.invite(EU).await;
    // The bot has moved, and so it is another one: its key is new, and nothing of the old one is believed.
    let agent = client(&town, EU, state.path(), Some(&code));
    assert!(agent.kept().await.unwrap().is_none());
    assert_eq!(agent.fetch().await.unwrap().commit, fetched.commit);
}
