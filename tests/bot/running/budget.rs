//! GitHub's budget is used up: waiting work continues when there is more, and people get answers meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use capstan_bot::worker::perform;
use capstan_budget::{Priority, RateLimits, at_priority};
use capstan_forge::{Fault, Matching, Strike};
use capstan_plan::command::CommentId;
use capstan_ports::{CodeHostError, Jobs, RepositoryName};

use super::sample;
use super::town::{REPOSITORY, Town};

const CLUSTERS: [&str; 6] = ["gauss/a01", "gauss/a02", "gauss/a03", "gauss/a04", "gauss/a05", "gauss/a06"];

/// Requests so far that create content.
fn content(town: &Town) -> usize {
    let creates = ["/pulls", "/issues", "/comments", "/check-runs"];
    town.forge.count_requests(|exchange| {
        exchange.method == "POST" && creates.iter().any(|end| exchange.path.ends_with(end))
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn postponed_work_continues_with_a_new_budget_and_commands_are_answered_before() {
    let town = Town::new("mode: propose\n", &CLUSTERS).await;
    // Six proposals with their checks are twelve.
    let ports = town.ports_within(RateLimits { content_a_minute: 6, ..RateLimits::PUBLISHED });
    let jobs: Arc<dyn Jobs> = Arc::new(town.database().clone());
    let work = async || {
        assert!(town.forge.delivered(Duration::from_secs(20)).await);
        while let Some(job) = jobs.claim("test", Duration::from_secs(60), 8).await.unwrap() {
            assert_eq!(job.attempt, 1, "nothing failed");
            perform(&ports, &jobs, &job, Duration::from_secs(600)).await.unwrap();
            assert!(town.forge.delivered(Duration::from_secs(20)).await);
        }
    };
    town.forge.clear_exchanges();
    town.release("v22.0.0", "v1.22.5");
    work().await;
    let (first, used) = (town.open_pulls().len(), content(&town));
    assert!((1..6).contains(&first), "{first} are offered, the others wait");
    assert!(used < 6, "{used}: the last is kept for people");

    // Nothing is left for proposals, and a person comments.
    town.forge.comment(REPOSITORY, 1, "ada", "/capstan help").unwrap();
    work().await;
    assert_eq!(town.answers(1).len(), 1, "answered in the same minute");
    assert!(content(&town) <= 6, "{}", content(&town));

    let mut minutes = 0;
    while town.open_pulls().len() < 6
        || town.open_pulls().iter().any(|pull| town.check_named("capstan", pull.number).is_none())
    {
        minutes += 1;
        assert!(minutes < 10, "{} are offered", town.open_pulls().len());
        let before = content(&town);
        town.pass(62);
        work().await;
        assert!(content(&town) - before <= 6, "{} in a minute", content(&town) - before);
    }
    assert!(minutes >= 1);
    assert_eq!(town.pulls().len(), 6, "none twice");
    assert!(jobs.dead().await.unwrap().is_empty());
    town.done();
}

/// The wait that the budget asks for is longer than anybody waits for an answer.
#[tokio::test(flavor = "multi_thread")]
async fn who_asks_in_the_middle_of_a_run_that_uses_up_the_budget_is_answered_without_a_wait() {
    let town = Town::new("mode: propose\n", &CLUSTERS).await;
    let ports = town.ports_within(RateLimits { content_a_minute: 6, ..RateLimits::PUBLISHED });
    let jobs: Arc<dyn Jobs> = Arc::new(town.database().clone());
    let next = async || jobs.claim("test", Duration::from_secs(60), 8).await.unwrap();
    let mine = town.open("ada", "mine", &[sample::machine_pool(CLUSTERS[0], "v1.21.4", 5)]);
    assert!(town.forge.delivered(Duration::from_secs(20)).await);
    while let Some(job) = next().await {
        perform(&ports, &jobs, &job, Duration::from_secs(600)).await.unwrap();
    }
    town.pass(62);

    town.release("v22.0.0", "v1.22.5");
    assert!(town.forge.delivered(Duration::from_secs(20)).await);
    let job = next().await.expect("the release is looked at");
    let opening = Matching::any().method("POST").path("/pulls");
    town.forge.fail_next(1, opening, Strike::Before, Fault::Wait(Duration::from_secs(3)));
    let working = perform(&ports, &jobs, &job, Duration::from_secs(600));
    let asking = async {
        let branches =
            || town.forge.count_requests(|one| one.method == "POST" && one.path.ends_with("/refs"));
        while branches() == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        town.forge.comment(REPOSITORY, mine, "ada", "/capstan help").unwrap();
        assert!(town.forge.delivered(Duration::from_secs(20)).await);
    };
    let (worked, ()) = tokio::join!(working, asking);
    worked.unwrap();
    assert_eq!(town.answers(mine).len(), 0, "the run that was at work did not know of it");
    assert!((2..7).contains(&town.open_pulls().len()), "some wait for the budget");
    let job = next().await.expect("no time has passed");
    perform(&ports, &jobs, &job, Duration::from_secs(600)).await.unwrap();
    assert_eq!(town.answers(mine).len(), 1);
    town.done();
}

/// Another process of the same App reads and comments as much as it may, for more than a minute.
#[tokio::test(flavor = "multi_thread")]
async fn a_command_is_answered_by_the_first_run_while_all_that_may_be_asked_is_used() {
    let town = Town::new("mode: propose\n", &["gauss/peu01"]).await;
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    let busy = town.ports_within(RateLimits::PUBLISHED);
    let ports = town.ports_within(RateLimits::PUBLISHED);
    let clock = town.bot_clock();
    let installation = busy.host.installations().await.unwrap()[0].id;
    let name = RepositoryName::parse(REPOSITORY).unwrap();
    let repository = busy.host.repository(installation, &name).await.unwrap();
    let jobs: Arc<dyn Jobs> = Arc::new(town.database().clone());
    let (is_told_to_wait, is_over) = (AtomicBool::new(false), AtomicBool::new(false));

    // Five reads per comment, until the budget makes it wait. Then time passes, as long as that wait.
    let (shift, is_asked) = (|seconds| town.pass(seconds), AtomicBool::new(false));
    let using = async {
        let mut turn = 0_u64;
        while !is_over.load(Ordering::SeqCst) {
            turn += 1;
            let called = if turn.is_multiple_of(6) {
                let words = format!("Note {turn}.");
                let commenting = busy.host.create_comment(&repository, 1, &words);
                at_priority(Priority::Refresh, commenting).await.map(drop)
            } else {
                at_priority(Priority::Proposal, busy.host.branch(&repository, "main")).await.map(drop)
            };
            match called {
                Ok(()) => {}
                Err(CodeHostError::BudgetSpent { retry_after, .. }) => {
                    is_told_to_wait.store(true, Ordering::SeqCst);
                    // After the comment, time passes by itself.
                    if is_asked.load(Ordering::SeqCst) {
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    } else {
                        shift(i64::try_from(retry_after.as_secs()).unwrap() + 1);
                    }
                }
                Err(error) => panic!("{error}"),
            }
        }
    };
    let asking = async {
        let busy_until = clock.now() + Duration::from_secs(70);
        while clock.now() < busy_until || !is_told_to_wait.load(Ordering::SeqCst) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        // This test does not run the jobs that the earlier comments caused.
        assert!(town.forge.delivered(Duration::from_secs(20)).await);
        while let Some(job) = jobs.claim("test", Duration::from_secs(60), 8).await.unwrap() {
            jobs.complete(&job, None).await.unwrap();
        }
        is_asked.store(true, Ordering::SeqCst);
        let asked = clock.now();
        let comment = town.forge.comment(REPOSITORY, 1, "ada", "/capstan help").unwrap();
        assert!(town.forge.delivered(Duration::from_secs(20)).await);
        let answered = || {
            town.answers(1)
                .iter()
                .any(|answer| capstan_report::answered_comment(answer) == Some(CommentId::Comment(comment)))
        };
        let mut runs = 0;
        while !answered() {
            if let Some(job) = jobs.claim("test", Duration::from_secs(60), 8).await.unwrap() {
                runs += 1;
                perform(&ports, &jobs, &job, Duration::from_secs(600)).await.unwrap();
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
            assert!(clock.now().duration_since(asked).as_secs() < 60, "never answered");
        }
        is_over.store(true, Ordering::SeqCst);
        println!(
            "answered after {:?} beside a process that uses all there is",
            clock.now().duration_since(asked)
        );
        runs
    };
    let ((), runs) = tokio::join!(using, asking);
    // A call of a command waits for ten seconds at most, and a run with one that has to wait longer is put off.
    assert_eq!(runs, 1, "no call of it was put off");
    town.done();
}
