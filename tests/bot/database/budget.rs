//! What is left of GitHub's limits, and deliveries that were asked for again.

use std::collections::BTreeSet;
use std::time::Duration;

use capstan_ports::{BudgetWrite, Budgets, Clock, KeptBudget, MissedDeliveries};

use super::each_engine;

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_is_written_over_the_version_that_was_read_alone() {
    each_engine(async |bench| {
        let database = &bench.database;
        assert_eq!(database.budget("installation 17").await.unwrap(), None);
        assert_eq!(database.keep_budget("installation 17", None, "a").await.unwrap(), BudgetWrite::Written);
        assert_eq!(database.keep_budget("installation 17", None, "b").await.unwrap(), BudgetWrite::Overtaken);
        let kept = database.budget("installation 17").await.unwrap();
        assert_eq!(kept, Some(KeptBudget { version: 1, ledger: "a".to_owned() }));
        assert_eq!(
            database.keep_budget("installation 17", Some(1), "c").await.unwrap(),
            BudgetWrite::Written
        );
        assert_eq!(
            database.keep_budget("installation 17", Some(1), "d").await.unwrap(),
            BudgetWrite::Overtaken
        );
        assert_eq!(
            database.keep_budget("installation 18", Some(1), "d").await.unwrap(),
            BudgetWrite::Overtaken
        );
        let kept = bench.reopened().await.budget("installation 17").await.unwrap();
        assert_eq!(kept, Some(KeptBudget { version: 2, ledger: "c".to_owned() }));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_is_asked_for_again_once_and_the_last_look_only_moves_on() {
    each_engine(async |bench| {
        let database = &bench.database;
        let guids = ["a".to_owned(), "b".to_owned()];
        assert!(database.note_redelivery("a").await.unwrap());
        assert!(!database.note_redelivery("a").await.unwrap());
        assert_eq!(database.unheard(&guids).await.unwrap(), BTreeSet::from(["b".to_owned()]));
        bench.clock.advance(Duration::from_secs(60));
        assert_eq!(database.forget_redeliveries(bench.clock.now()).await.unwrap(), 1);
        assert_eq!(database.unheard(&guids).await.unwrap().len(), 2);

        assert_eq!(database.last_look().await.unwrap(), None);
        let (early, late) = (bench.clock.now(), bench.clock.now() + Duration::from_secs(5));
        database.note_look(late).await.unwrap();
        database.note_look(early).await.unwrap();
        assert_eq!(database.last_look().await.unwrap(), Some(late));
    })
    .await;
}
