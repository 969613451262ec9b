//! The budget, asked for each call: shared by processes through the database, kept for what is more important.

use std::sync::Arc;

use capstan_budget::{Meter, Priority, RateLimits, at_priority};
use capstan_ports::{Branches, CodeHostError, SystemClock};

use super::fleet::{Fleet, connect};
use crate::database::each_engine;

#[tokio::test(flavor = "multi_thread")]
async fn processes_together_ask_no_more_than_there_is_and_a_person_is_answered() {
    each_engine(async |bench| {
        let fleet = Fleet::new().await;
        let limits = RateLimits { points_a_minute: 200, ..RateLimits::PUBLISHED };
        let process = |name: &str| {
            let budgets = Arc::new(bench.database.clone());
            connect(&fleet.forge).within(Meter::new(
                budgets,
                Arc::new(SystemClock),
                Some(limits),
                name.to_owned(),
                8,
            ))
        };
        let (one, two) = (process("one"), process("two"));
        // Both read as fast as they can, until the budget makes each of them wait.
        let until_told = async |github: &capstan_github::GitHub| {
            for _ in 0..400 {
                let reading = github.branch(&fleet.repository, "main");
                match at_priority(Priority::Proposal, reading).await {
                    Ok(_) => {}
                    Err(CodeHostError::BudgetSpent { retry_after, limit, .. }) => {
                        assert_eq!(limit, "GitHub's limit of 900 points a minute");
                        return retry_after;
                    }
                    Err(error) => panic!("{error}"),
                }
            }
            panic!("nobody was told to wait");
        };
        let (first, second) = tokio::join!(until_told(&one), until_told(&two));
        println!("told to wait {first:?} and {second:?}");
        let asked = fleet.forge.count_requests(|exchange| exchange.path.contains("/git/ref/"));
        assert!((30..=200).contains(&asked), "{asked}");
        // What is more important goes at once.
        at_priority(Priority::Command, two.branch(&fleet.repository, "main")).await.unwrap();
        // Another process learns of it from the database.
        let third = process("three");
        let asked = at_priority(Priority::Proposal, third.branch(&fleet.repository, "main")).await;
        println!("a third process: {asked:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_github_asks_of_one_process_holds_for_all() {
    use capstan_forge::{Fault, Matching, Strike};
    let bench = crate::database::sqlite().await;
    let fleet = Fleet::new().await;
    let process = |name: &str| {
        let budgets = Arc::new(bench.database.clone());
        connect(&fleet.forge).within(Meter::new(budgets, Arc::new(SystemClock), None, name.to_owned(), 8))
    };
    let (one, two) = (process("one"), process("two"));
    let fault = Fault::SecondaryLimit { retry_after_seconds: 40 };
    fleet.forge.fail_next(1, Matching::any().path("/git/ref/"), Strike::Before, fault);
    let error = one.branch(&fleet.repository, "main").await.unwrap_err();
    assert!(matches!(error, CodeHostError::RateLimited { .. }), "{error}");
    // The first process records GitHub's limit with its next call.
    one.branch(&fleet.repository, "main").await.unwrap_err();
    let before = fleet.forge.count_requests(|exchange| exchange.path.contains("/git/ref/"));
    let error = two.branch(&fleet.repository, "main").await.unwrap_err();
    match error {
        CodeHostError::BudgetSpent { retry_after, .. } => assert!(retry_after.as_secs() >= 30),
        error => panic!("{error}"),
    }
    assert_eq!(fleet.forge.count_requests(|exchange| exchange.path.contains("/git/ref/")), before);
}
