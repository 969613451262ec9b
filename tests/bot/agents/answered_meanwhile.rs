//! A live cluster that answers in the very moment in which it is asked.

use std::time::Duration;

use capstan_live::agent::{ClusterAnswer, PreflightAnswer, PreflightVerdict};
use sqlx::Connection as _;

use super::{EU, SETTINGS, cluster, enrolled};
use crate::running::sample;
use crate::running::town::Town;

/// A check is not rewritten while its recorded inputs are the same. If the answer came before they were recorded, they
/// included it already, and the pending check would stay pending for ever.
#[tokio::test(flavor = "multi_thread")]
async fn a_check_that_was_pending_when_the_answer_came_still_shows_it() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}", folder.path().join("capstan.sqlite").display());
    let town = Town::on(SETTINGS, &["gauss/peu01"], Some(&url)).await;
    let state = tempfile::tempdir().unwrap();
    let agent = enrolled(&town, EU, state.path()).await;
    let bigger = |replicas| [sample::machine_pool("gauss/peu01", "v1.21.4", replicas)];
    let number = town.open("ada", "more", &bigger(5));
    town.settle().await;
    let question = agent.work(None, Duration::ZERO).await.unwrap().preflights.remove(0);
    let accepted = ClusterAnswer {
        cluster: cluster("gauss/peu01"),
        verdict: PreflightVerdict::Accepted,
        reasons: vec![],
        names: vec![],
    };
    agent.answer(&question.id, &PreflightAnswer { clusters: vec![accepted], duration_ms: 12 }).await.unwrap();
    town.settle().await;
    assert_eq!(town.check(number).conclusion.as_deref(), Some("success"));

    // From now on the database answers every question with the first answer, as soon as the question is inserted.
    let mut connection = sqlx::SqliteConnection::connect(&url).await.unwrap();
    for statement in [
        "CREATE TABLE first AS SELECT answer FROM preflights WHERE state = 'answered'",
        "CREATE TRIGGER at_once AFTER INSERT ON preflights BEGIN
           UPDATE preflights SET state = 'answered', answer = (SELECT answer FROM first) WHERE id = NEW.id;
         END",
    ] {
        sqlx::query(statement).execute(&mut connection).await.unwrap();
    }
    town.push("more", &bigger(3));
    town.settle().await;
    assert_eq!(town.check(number).status, "in_progress", "the run that asked says what it knew");
    town.pass(10);
    town.settle().await;
    assert_eq!(town.check(number).conclusion.as_deref(), Some("success"), "{}", town.check(number).summary);
    town.done();
}
