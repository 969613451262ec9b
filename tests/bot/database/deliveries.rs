//! Deliveries and the hints that they give to jobs.

use std::time::Duration;

use capstan_bot::intake::{
    Delivery, DeliveryHint, DeliveryStore, Event, NamedRepository, PressHint, Stored, TickHint,
};
use capstan_ports::{
    Arrivals, ClaimedJob, Clock, CommentHint, FleetView, Hints, Jobs, Press, Records, RefusedWrite,
    RepositoryName, Ticks,
};

use super::each_engine;

const LEASE: Duration = Duration::from_secs(30);

fn named(id: u64) -> NamedRepository {
    NamedRepository { id, name: RepositoryName::parse(&format!("acme/gitops-{id}")).unwrap() }
}

fn delivery(guid: &str, repository: u64, hint: DeliveryHint) -> Delivery {
    Delivery {
        guid: guid.to_owned(),
        event: Event::IssueComment,
        action: "created".to_owned(),
        installation: 7,
        repositories: vec![named(repository)],
        hint,
        received_at: "2026-11-21T12:00:00Z".parse().unwrap(),
    }
}

fn comment(pull_request: u64, comment: u64) -> DeliveryHint {
    DeliveryHint { pull_request: Some(pull_request), comment: Some(comment), ..DeliveryHint::default() }
}

/// Stores a delivery about a comment, and with it the job of its repository.
pub(super) async fn store_comment(database: &capstan_database::Database, guid: &str, repository: u64) {
    database.store(&[delivery(guid, repository, comment(1, 1))]).await.unwrap();
}

async fn claim(jobs: &impl Jobs) -> Option<ClaimedJob> {
    jobs.claim("worker", LEASE, 8).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_queues_the_job_of_its_repository_and_hints_at_what_it_named() {
    each_engine(async |bench| {
        let database = &bench.database;
        let head = "1f".repeat(20);
        let press = PressHint { by: "ada".to_owned(), button: "merge".to_owned() };
        let pressed =
            DeliveryHint { head: Some("2e".repeat(20)), press: Some(press), ..DeliveryHint::default() };
        let boxes = r#"{"edition":3,"text":"0123456789abcdef","ticked":[{"do":"pause"}]}"#;
        let ticks = TickHint { by: "ada".to_owned(), boxes: boxes.to_owned() };
        let batch = [
            delivery("b", 1, comment(12, 900)),
            delivery("a", 1, comment(3, 901)),
            delivery("c", 1, DeliveryHint { head: Some(head.clone()), ..DeliveryHint::default() }),
            delivery("d", 1, DeliveryHint { pull_request: Some(12), ..DeliveryHint::default() }),
            delivery("e", 1, DeliveryHint::default()),
            delivery("f", 1, pressed),
            delivery("g", 1, DeliveryHint { issue: Some(5), ..DeliveryHint::default() }),
            delivery("h", 1, DeliveryHint { ticks: Some(ticks.clone()), ..DeliveryHint::default() }),
        ];
        assert_eq!(database.store(&batch).await.unwrap(), [Stored::New; 8]);
        let job = claim(database).await.unwrap();
        assert_eq!((job.repository, job.installation), (1, 7));
        assert_eq!(
            job.hints,
            Hints {
                issues: vec![5],
                pull_requests: vec![3, 12],
                comments: vec![
                    CommentHint { comment: 900, pull_request: 12 },
                    CommentHint { comment: 901, pull_request: 3 }
                ],
                heads: vec![head],
                presses: vec![Press {
                    at: batch[5].received_at,
                    delivery: "f".to_owned(),
                    by: "ada".to_owned(),
                    button: "merge".to_owned(),
                    head: "2e".repeat(20),
                }],
                ticks: vec![Ticks {
                    at: batch[7].received_at,
                    by: "ada".to_owned(),
                    boxes: serde_json::from_str(boxes).unwrap(),
                }],
                orders: Vec::new(),
            }
        );
        assert_eq!(claim(database).await, None);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_that_is_known_only_queues_the_job_again() {
    each_engine(async |bench| {
        let database = &bench.database;
        let once = delivery("a", 1, comment(3, 900));
        let twice = [once.clone(), once.clone()];
        assert_eq!(database.store(&twice).await.unwrap(), [Stored::New, Stored::Known]);
        let job = claim(database).await.unwrap();
        database.complete(&job, None).await.unwrap();

        assert_eq!(database.store(&[once]).await.unwrap(), [Stored::Known]);
        assert_eq!(claim(database).await.unwrap().hints, Hints::default());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hints_are_given_again_until_a_job_completes() {
    each_engine(async |bench| {
        let database = &bench.database;
        database.store(&[delivery("a", 1, comment(3, 900))]).await.unwrap();
        // It fails: the next claim is given the same.
        let failed = claim(database).await.unwrap();
        database.fail(&failed, "no", None).await.unwrap();
        bench.clock.advance(Duration::from_secs(5));
        // It dies: likewise.
        let died = claim(database).await.unwrap();
        assert_eq!(died.hints, failed.hints);
        bench.clock.advance(LEASE);
        let job = claim(database).await.unwrap();
        assert_eq!(job.hints, failed.hints);
        // One that arrives meanwhile is not used up by a run that did not see it.
        database.store(&[delivery("b", 1, comment(4, 901))]).await.unwrap();
        database.complete(&job, None).await.unwrap();
        let next = claim(database).await.unwrap();
        assert_eq!(next.hints.comments, [CommentHint { comment: 901, pull_request: 4 }]);
        database.complete(&next, None).await.unwrap();
        assert_eq!(claim(database).await, None);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_installation_queues_a_job_for_each_of_its_repositories() {
    each_engine(async |bench| {
        let mut installed = delivery("a", 1, DeliveryHint::default());
        installed.event = Event::Installation;
        installed.repositories = (1..=300).map(named).collect();
        bench.database.store(&[installed]).await.unwrap();
        assert_eq!(bench.database.job_counts().await.unwrap().queued, 300);
    })
    .await;
}

/// What GitHub refused because a right was missing, it may take now.
#[tokio::test(flavor = "multi_thread")]
async fn an_owner_who_accepts_permissions_has_refused_writes_tried_again() {
    each_engine(async |bench| {
        let database = &bench.database;
        let elsewhere = Delivery { installation: 8, ..delivery("b", 2, DeliveryHint::default()) };
        database.store(&[delivery("a", 1, DeliveryHint::default()), elsewhere]).await.unwrap();
        for repository in [1, 2] {
            let refused = RefusedWrite {
                repository,
                what: "check a".to_owned(),
                content: String::new(),
                refusals: 1,
                not_before: bench.clock.now(),
                reason: "not granted".to_owned(),
            };
            database.save_refused_write(&refused).await.unwrap();
        }
        let mut accepted = delivery("c", 1, DeliveryHint::default());
        accepted.event = Event::Installation;
        let left = async || {
            let of = async |repository| database.refused_writes(repository).await.unwrap().len();
            (of(1).await, of(2).await)
        };
        // GitHub names no repository there where the App is installed on all.
        accepted.repositories = vec![];
        accepted.action = "created".to_owned();
        database.store(&[accepted.clone()]).await.unwrap();
        assert_eq!(left().await, (1, 1));
        accepted =
            Delivery { guid: "d".to_owned(), action: "new_permissions_accepted".to_owned(), ..accepted };
        database.store(&[accepted]).await.unwrap();
        assert_eq!(left().await, (0, 1));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_batch_is_stored_whole() {
    each_engine(async |bench| {
        let batch: Vec<_> = (0..256).map(|n| delivery(&format!("guid-{n}"), n % 7, comment(1, n))).collect();
        assert_eq!(bench.database.store(&batch).await.unwrap(), [Stored::New; 256]);
        assert_eq!(bench.database.store(&batch).await.unwrap(), [Stored::Known; 256]);
        assert_eq!(bench.database.job_counts().await.unwrap().queued, 7);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn old_deliveries_are_forgotten_once_their_hints_are_used_up() {
    each_engine(async |bench| {
        let database = &bench.database;
        let quiet = delivery("a", 1, DeliveryHint::default());
        let waiting = delivery("b", 1, comment(3, 900));
        database.store(&[quiet.clone(), waiting.clone()]).await.unwrap();
        assert_eq!(database.forget_deliveries(bench.clock.now()).await.unwrap(), 0);
        bench.clock.advance(Duration::from_secs(1));
        assert_eq!(database.forget_deliveries(bench.clock.now()).await.unwrap(), 1);
        assert_eq!(database.store(&[quiet, waiting]).await.unwrap(), [Stored::New, Stored::Known]);
    })
    .await;
}

/// A delivery that arrives while a job is claimed: its run sees that at once, and the next claim includes it.
#[tokio::test(flavor = "multi_thread")]
async fn an_arrival_while_a_job_runs_is_visible_before_the_next_claim() {
    each_engine(async |bench| {
        let database = &bench.database;
        let began = bench.clock.now();
        database.store(&[delivery("a", 1, comment(3, 900))]).await.unwrap();
        let job = claim(database).await.unwrap();
        assert_eq!(database.arrivals(1, began).await.unwrap(), Arrivals::default(), "the run was given it");

        let mut woken = database.wait_for_arrivals(Duration::from_secs(3_600));
        assert!(futures_util::poll!(&mut woken).is_pending());
        let press = PressHint { by: "ada".to_owned(), button: "merge".to_owned() };
        let head = Some("2e".repeat(20));
        let on_issue = DeliveryHint { comment: Some(902), ..DeliveryHint::default() };
        let batch = [
            delivery("b", 1, comment(3, 901)),
            delivery("c", 1, on_issue),
            delivery("d", 1, DeliveryHint { issue: Some(5), ..DeliveryHint::default() }),
            delivery("e", 1, DeliveryHint { head, press: Some(press), ..DeliveryHint::default() }),
            delivery("f", 2, comment(3, 903)),
        ];
        database.store(&batch).await.unwrap();
        tokio::time::timeout(Duration::from_secs(60), woken).await.expect("who waits is woken");
        let arrived = database.arrivals(1, began).await.unwrap();
        assert_eq!((arrived.comments.as_slice(), arrived.issues.as_slice()), (&[901, 902][..], &[5][..]));
        assert_eq!(arrived.presses.iter().map(|press| press.delivery.as_str()).collect::<Vec<_>>(), ["e"]);
        let later = bench.clock.now() + jiff::SignedDuration::from_secs(3_600);
        assert_eq!(database.arrivals(1, later).await.unwrap(), Arrivals::default());

        database.complete(&job, None).await.unwrap();
        let next = claim(database).await.unwrap();
        assert_eq!(
            (next.repository, next.hints.issues.as_slice(), next.hints.presses.len()),
            (1, &[5][..], 1)
        );
    })
    .await;
}
