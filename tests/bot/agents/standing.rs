//! Which questions are still of use: those about pull requests that may yet be merged.

use std::time::Duration;

use capstan_live::agent::{ClusterAnswer, PreflightAnswer, PreflightVerdict};

use super::{EU, US, cluster, each_engine, enrolled};
use crate::running::sample;
use crate::running::town::REPOSITORY;

#[tokio::test(flavor = "multi_thread")]
async fn a_question_stays_open_until_its_pull_request_is_closed() {
    each_engine(&["gauss/peu01"], async |town, _| {
        let states = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let agent = enrolled(&town, EU, states[0].path()).await;
        let other = enrolled(&town, US, states[1].path()).await;
        let number = town.open("ada", "more", &[sample::machine_pool("gauss/peu01", "v1.21.4", 5)]);
        town.settle().await;
        let work = agent.work(None, Duration::ZERO).await.unwrap();
        let id = work.preflights[0].id.clone();
        assert_eq!(work.standing, Some(vec![id.clone()]), "from the moment that it is asked");
        let taken = ClusterAnswer {
            cluster: cluster("gauss/peu01"),
            verdict: PreflightVerdict::Accepted,
            reasons: vec![],
            names: vec![],
        };
        agent.answer(&id, &PreflightAnswer { clusters: vec![taken], duration_ms: 1 }).await.unwrap();
        town.settle().await;
        let stands = async || agent.work(None, Duration::ZERO).await.unwrap().standing;
        assert_eq!(stands().await, Some(vec![id.clone()]), "and when it was answered");
        assert_eq!(
            other.work(None, Duration::ZERO).await.unwrap().standing,
            Some(vec![]),
            "to whom it was asked"
        );
        town.forge.close(REPOSITORY, number, "ada").unwrap();
        town.settle().await;
        assert_eq!(stands().await, Some(vec![]), "at once");
        // A reopened pull request causes a new question.
        town.forge.reopen(REPOSITORY, number, "ada").unwrap();
        town.settle().await;
        let work = agent.work(None, Duration::ZERO).await.unwrap();
        assert_eq!(work.standing, Some(vec![work.preflights[0].id.clone()]));
        assert_ne!(work.preflights[0].id, id);
        town.done();
    })
    .await;
}
