//! The queue of jobs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use capstan_ports::{
    ClaimedJob, Clock, Fate, FleetView, Hints, JobCause, JobCounts, JobRequest, Jobs, Lease, RepositoryName,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::each_engine;

const LEASE: Duration = Duration::from_secs(30);

fn request(repository: u64, cause: JobCause) -> JobRequest {
    let name = RepositoryName::parse(&format!("acme/gitops-{repository}")).unwrap();
    JobRequest { repository, installation: 7, name, cause }
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

async fn claim(jobs: &impl Jobs) -> Option<ClaimedJob> {
    jobs.claim("worker", LEASE, 8).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_for_a_waiting_job_are_absorbed_by_it() {
    each_engine(async |bench| {
        let jobs = &bench.database;
        for _ in 0..3 {
            jobs.enqueue(&request(1, JobCause::Event)).await.unwrap();
        }
        let job = claim(jobs).await.unwrap();
        assert_eq!((job.repository, job.installation, job.attempt), (1, 7, 1));
        assert_eq!(job.name.to_string(), "acme/gitops-1");
        assert_eq!(job.hints, Hints::default());
        assert_eq!(claim(jobs).await, None);
        assert_eq!(jobs.complete(&job, None).await.unwrap(), Lease::Held);
        assert_eq!(claim(jobs).await, None);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_for_a_running_job_makes_it_run_once_more() {
    each_engine(async |bench| {
        let jobs = &bench.database;
        jobs.enqueue(&request(1, JobCause::Event)).await.unwrap();
        let job = claim(jobs).await.unwrap();
        jobs.enqueue(&request(1, JobCause::Event)).await.unwrap();
        jobs.enqueue(&request(1, JobCause::Event)).await.unwrap();
        assert_eq!(claim(jobs).await, None, "one job a repository at a time");
        jobs.complete(&job, None).await.unwrap();
        let again = claim(jobs).await.unwrap();
        jobs.complete(&again, None).await.unwrap();
        assert_eq!(claim(jobs).await, None);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resync_does_not_make_a_running_job_run_once_more() {
    each_engine(async |bench| {
        let jobs = &bench.database;
        jobs.enqueue(&request(1, JobCause::Start)).await.unwrap();
        let job = claim(jobs).await.unwrap();
        jobs.enqueue(&request(1, JobCause::Resync)).await.unwrap();
        jobs.complete(&job, None).await.unwrap();
        assert_eq!(claim(jobs).await, None);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_job_that_has_waited_longest_comes_first() {
    each_engine(async |bench| {
        let jobs = &bench.database;
        for repository in [3, 1, 2] {
            jobs.enqueue(&request(repository, JobCause::Event)).await.unwrap();
            bench.clock.advance(seconds(1));
        }
        jobs.enqueue(&request(3, JobCause::Event)).await.unwrap();
        for repository in [3, 1, 2] {
            assert_eq!(claim(jobs).await.unwrap().repository, repository);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_that_ran_out_gives_the_job_to_another_and_the_first_can_do_nothing_more() {
    each_engine(async |bench| {
        let jobs = &bench.database;
        jobs.enqueue(&request(1, JobCause::Event)).await.unwrap();
        let first = claim(jobs).await.unwrap();
        bench.clock.advance(seconds(29));
        assert_eq!(claim(jobs).await, None);
        bench.clock.advance(seconds(1));
        let second = claim(jobs).await.unwrap();
        assert_ne!(first.lease, second.lease);
        assert_eq!(jobs.heartbeat(&first, LEASE).await.unwrap(), Lease::Lost);
        assert_eq!(jobs.complete(&first, None).await.unwrap(), Lease::Lost);
        assert_eq!(jobs.fail(&first, "too late", None).await.unwrap(), Fate::Lost);
        assert_eq!(jobs.complete(&second, None).await.unwrap(), Lease::Held);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_heartbeat_keeps_the_lease() {
    each_engine(async |bench| {
        let jobs = &bench.database;
        jobs.enqueue(&request(1, JobCause::Event)).await.unwrap();
        let job = claim(jobs).await.unwrap();
        for _ in 0..10 {
            bench.clock.advance(seconds(20));
            assert_eq!(jobs.heartbeat(&job, LEASE).await.unwrap(), Lease::Held);
            assert_eq!(claim(jobs).await, None);
        }
        assert_eq!(jobs.complete(&job, None).await.unwrap(), Lease::Held);
    })
    .await;
}

/// The end of a soak and the opening of a window are not events, and nothing else may be due at that time.
#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_rests_until_a_time_is_taken_then_once_though_nobody_asked() {
    each_engine(async |bench| {
        let jobs = &bench.database;
        jobs.enqueue(&request(1, JobCause::Event)).await.unwrap();
        let job = claim(jobs).await.unwrap();
        // Longer than any failure makes a job wait.
        let look_again = bench.clock.now() + seconds(48 * 3_600);
        assert_eq!(jobs.complete(&job, Some(look_again)).await.unwrap(), Lease::Held);
        bench.clock.advance(seconds(48 * 3_600 - 1));
        assert_eq!(claim(jobs).await, None);
        bench.clock.advance(seconds(1));
        let job = claim(jobs).await.unwrap();
        assert_eq!((job.repository, job.hints.clone()), (1, Hints::default()));
        jobs.complete(&job, None).await.unwrap();
        bench.clock.advance(seconds(48 * 3_600));
        assert_eq!(claim(jobs).await, None);
        // A new request does not wait for that time.
        jobs.enqueue(&request(1, JobCause::Event)).await.unwrap();
        let job = claim(jobs).await.unwrap();
        jobs.complete(&job, Some(bench.clock.now() + seconds(600))).await.unwrap();
        jobs.enqueue(&request(1, JobCause::Event)).await.unwrap();
        assert_eq!(claim(jobs).await.unwrap().repository, 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restarted_process_takes_its_own_jobs_back_at_once_and_no_other_ones() {
    each_engine(async |bench| {
        let jobs = &bench.database;
        jobs.enqueue(&request(1, JobCause::Event)).await.unwrap();
        jobs.enqueue(&request(2, JobCause::Event)).await.unwrap();
        jobs.claim("this", LEASE, 8).await.unwrap().unwrap();
        jobs.claim("that", LEASE, 8).await.unwrap().unwrap();
        assert_eq!(claim(jobs).await, None);
        assert_eq!(bench.reopened().await.reclaim("this").await.unwrap(), 1);
        assert_eq!(claim(jobs).await.unwrap().repository, 1);
        assert_eq!(claim(jobs).await, None);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_installation_has_all_workers_and_who_has_fewest_at_work_comes_first() {
    each_engine(async |bench| {
        let jobs = &bench.database;
        for repository in 1..=4 {
            jobs.enqueue(&request(repository, JobCause::Event)).await.unwrap();
        }
        for repository in 5..=6 {
            let other = JobRequest { installation: 8, ..request(repository, JobCause::Event) };
            jobs.enqueue(&other).await.unwrap();
        }
        let claim = async |worker: &str| {
            let job = jobs.claim(worker, LEASE, 2).await.unwrap();
            job.map(|job| job.repository)
        };
        assert_eq!(claim("this").await, Some(1));
        assert_eq!(claim("this").await, Some(5), "the other installation has none at work");
        assert_eq!(claim("this").await, Some(2));
        assert_eq!(claim("this").await, Some(6));
        assert_eq!(claim("this").await, None, "two of each is what this process may have");
        assert_eq!(claim("that").await, Some(3), "another process has workers of its own");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_is_one_more_of_an_installation_and_none_of_those_that_may_not_be() {
    each_engine(async |bench| {
        let jobs = &bench.database;
        for repository in [1, 2, 12] {
            jobs.enqueue(&request(repository, JobCause::Event)).await.unwrap();
        }
        assert_eq!(jobs.claim("this", LEASE, 1).await.unwrap().unwrap().repository, 1);
        assert_eq!(jobs.claim("this", LEASE, 1).await.unwrap(), None);
        let guest = async |but: &[u64]| {
            let but = but.iter().copied().collect();
            let job = jobs.claim_guest("this", LEASE, 1, &but).await.unwrap();
            job.map(|job| job.repository)
        };
        assert_eq!(guest(&[2, 12]).await, None);
        assert_eq!(guest(&[2]).await, Some(12), "another id than 2 and 1");
        assert_eq!(guest(&[]).await, None, "one guest is enough");
        let other = JobRequest { installation: 8, ..request(5, JobCause::Event) };
        jobs.enqueue(&other).await.unwrap();
        assert_eq!(jobs.claim("this", LEASE, 1).await.unwrap().unwrap().repository, 5);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_job_is_tried_again_later_and_says_how_often() {
    each_engine(async |bench| {
        let jobs = &bench.database;
        jobs.enqueue(&request(1, JobCause::Event)).await.unwrap();
        let job = claim(jobs).await.unwrap();
        let Fate::Retried { not_before } = jobs.fail(&job, "GitHub does not answer", None).await.unwrap()
        else {
            panic!("it is tried again")
        };
        let wait = not_before.duration_since(bench.clock.now()).as_secs_f64();
        assert!((2.5..=5.0).contains(&wait), "{wait}");
        assert_eq!(claim(jobs).await, None);
        // Something new does not cut the wait short: what failed a moment ago would fail again.
        jobs.enqueue(&request(1, JobCause::Event)).await.unwrap();
        assert_eq!(claim(jobs).await, None);
        bench.clock.advance(seconds(5));
        let job = claim(jobs).await.unwrap();
        assert_eq!(job.attempt, 2);
        jobs.complete(&job, None).await.unwrap();
        jobs.enqueue(&request(1, JobCause::Event)).await.unwrap();
        assert_eq!(claim(jobs).await.unwrap().attempt, 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rate_limit_is_waited_for() {
    each_engine(async |bench| {
        let jobs = &bench.database;
        jobs.enqueue(&request(1, JobCause::Event)).await.unwrap();
        let job = claim(jobs).await.unwrap();
        jobs.fail(&job, "GitHub asks to wait", Some(seconds(600))).await.unwrap();
        bench.clock.advance(seconds(599));
        assert_eq!(claim(jobs).await, None);
        bench.clock.advance(seconds(6));
        assert_eq!(claim(jobs).await.unwrap().attempt, 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_is_put_off_waits_longer_each_time_and_never_dies_and_anything_new_ends_the_wait() {
    each_engine(async |bench| {
        let jobs = &bench.database;
        jobs.enqueue(&request(1, JobCause::Event)).await.unwrap();
        for (least, most) in [(2.5, 5.0), (5.0, 10.0), (10.0, 20.0), (20.0, 40.0)] {
            let job = claim(jobs).await.unwrap();
            assert_eq!(job.attempt, 1, "it did not fail");
            let fate = jobs.put_off(&job, "GitHub is still computing").await.unwrap();
            let Fate::Retried { not_before } = fate else { panic!("it is tried again: {fate:?}") };
            let wait = not_before.duration_since(bench.clock.now()).as_secs_f64();
            assert!((least..=most).contains(&wait), "{wait}");
            jobs.enqueue(&request(1, JobCause::Resync)).await.unwrap();
            assert_eq!(claim(jobs).await, None, "a resync does not hurry it");
            bench.clock.advance(seconds(40));
        }
        for _ in 0..20 {
            let job = claim(jobs).await.unwrap();
            let fate = jobs.put_off(&job, "GitHub is still computing").await.unwrap();
            assert!(matches!(fate, Fate::Retried { .. }), "{fate:?}");
            bench.clock.advance(seconds(1800));
        }
        let job = claim(jobs).await.unwrap();
        jobs.put_off(&job, "GitHub is still computing").await.unwrap();
        jobs.enqueue(&request(1, JobCause::Event)).await.unwrap();
        let job = claim(jobs).await.expect("something new is looked at now");
        let Fate::Retried { not_before } = jobs.put_off(&job, "again").await.unwrap() else { panic!("kept") };
        let wait = not_before.duration_since(bench.clock.now()).as_secs_f64();
        assert!((2.5..=5.0).contains(&wait), "the waits begin anew: {wait}");
    })
    .await;
}

/// However long the wait would be, a push or a comment that arrives during a run is handled no later than one that
/// arrives after it.
#[tokio::test(flavor = "multi_thread")]
async fn what_comes_while_a_job_is_worked_on_ends_its_wait_before_it_begins() {
    each_engine(async |bench| {
        let jobs = &bench.database;
        jobs.enqueue(&request(1, JobCause::Event)).await.unwrap();
        let job = claim(jobs).await.unwrap();
        jobs.enqueue(&request(1, JobCause::Event)).await.unwrap();
        jobs.put_off(&job, "GitHub is still computing").await.unwrap();
        let job = claim(jobs).await.expect("it is looked at now");
        jobs.enqueue(&request(1, JobCause::Event)).await.unwrap();
        jobs.put_off_for(&job, "there is nothing left to be asked", seconds(600)).await.unwrap();
        let job = claim(jobs).await.expect("it is looked at now");
        jobs.put_off_for(&job, "there is nothing left to be asked", seconds(600)).await.unwrap();
        assert_eq!(claim(jobs).await, None, "nothing new came");
        bench.clock.advance(seconds(600));
        assert!(claim(jobs).await.is_some());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_keeps_failing_is_dead_until_something_happens() {
    each_engine(async |bench| {
        let jobs = &bench.database;
        jobs.enqueue(&request(1, JobCause::Event)).await.unwrap();
        for _ in 1..12 {
            let job = claim(jobs).await.unwrap();
            let fate = jobs.fail(&job, "the mirror is broken", None).await.unwrap();
            assert!(matches!(fate, Fate::Retried { .. }), "{fate:?}");
            bench.clock.advance(seconds(1800));
        }
        let job = claim(jobs).await.unwrap();
        assert_eq!(job.attempt, 12);
        assert_eq!(jobs.fail(&job, "the mirror is broken", None).await.unwrap(), Fate::Dead);

        bench.clock.advance(seconds(3_000));
        assert_eq!(claim(jobs).await, None);
        jobs.enqueue(&request(1, JobCause::Resync)).await.unwrap();
        assert_eq!(claim(jobs).await, None, "a resync does not revive it at once");
        let dead = jobs.dead().await.unwrap();
        assert_eq!(dead.len(), 1);
        assert_eq!((dead[0].attempts, dead[0].reason.as_str()), (12, "the mirror is broken"));
        assert_eq!(jobs.job_counts().await.unwrap(), JobCounts { dead: 1, ..JobCounts::default() });

        jobs.enqueue(&request(1, JobCause::Event)).await.unwrap();
        assert_eq!(claim(jobs).await.unwrap().attempt, 1);
        assert_eq!(jobs.dead().await.unwrap(), []);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_during_the_last_try_is_not_lost() {
    each_engine(async |bench| {
        let jobs = &bench.database;
        jobs.enqueue(&request(1, JobCause::Event)).await.unwrap();
        for _ in 1..12 {
            let job = claim(jobs).await.unwrap();
            jobs.fail(&job, "no", None).await.unwrap();
            bench.clock.advance(seconds(1800));
        }
        let last = claim(jobs).await.unwrap();
        jobs.enqueue(&request(1, JobCause::Event)).await.unwrap();
        assert!(matches!(jobs.fail(&last, "no", None).await.unwrap(), Fate::Retried { .. }));
        bench.clock.advance(seconds(1800));
        assert_eq!(claim(jobs).await.unwrap().attempt, 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_kills_its_process_again_and_again_is_dead() {
    each_engine(async |bench| {
        let jobs = &bench.database;
        jobs.enqueue(&request(1, JobCause::Event)).await.unwrap();
        for _ in 0..10 {
            claim(jobs).await.unwrap();
            bench.clock.advance(LEASE);
        }
        // A new job comes first, although it has waited less: the next process may die of the first one, too.
        jobs.enqueue(&request(2, JobCause::Event)).await.unwrap();
        let other = claim(jobs).await.unwrap();
        assert_eq!(other.repository, 2);
        jobs.complete(&other, None).await.unwrap();
        for _ in 0..11 {
            claim(jobs).await.unwrap();
            bench.clock.advance(LEASE);
        }
        assert_eq!(claim(jobs).await, None);
        assert_eq!(
            jobs.dead().await.unwrap()[0].reason,
            "the process that worked on it stopped without an answer, again and again"
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_worker_wakes_for_a_new_job() {
    each_engine(async |bench| {
        let database = bench.database.clone();
        let waiting = tokio::spawn(async move { database.wait_for_work(seconds(3600)).await });
        bench.database.enqueue(&request(1, JobCause::Event)).await.unwrap();
        tokio::time::timeout(seconds(60), waiting).await.expect("it woke").unwrap();
    })
    .await;
}

/// Many workers at once, in two processes' worth of pools: no worker ever holds a repository that another one holds,
/// and a run that began later follows every request.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_workers_never_share_a_repository_and_lose_no_request() {
    let seed: u64 = rand::rng().random();
    println!("seed {seed}");
    each_engine(async |bench| {
        const REPOSITORIES: u64 = 5;
        let other = bench.reopened().await;
        let held: Arc<Mutex<HashMap<u64, String>>> = Arc::default();
        // Per repository: requests made, and how many of them the last completed run knew of.
        let asked: Arc<Mutex<HashMap<u64, (u32, u32)>>> = Arc::default();

        let mut tasks = tokio::task::JoinSet::new();
        for worker in 0..6_u64 {
            let jobs = if worker % 2 == 0 { bench.database.clone() } else { other.clone() };
            let (held, asked) = (held.clone(), asked.clone());
            let mut random = StdRng::seed_from_u64(seed.wrapping_add(worker));
            tasks.spawn(async move {
                for _ in 0..40 {
                    let repository = random.random_range(0..REPOSITORIES);
                    // Count first: another worker may complete the job before this one continues.
                    asked.lock().unwrap().entry(repository).or_default().0 += 1;
                    jobs.enqueue(&request(repository, JobCause::Event)).await.unwrap();
                    run_one(&jobs, &held, &asked).await;
                }
            });
        }
        while let Some(done) = tasks.join_next().await {
            done.unwrap();
        }
        while run_one(&bench.database, &held, &asked).await {}
        for (repository, (requests, known)) in asked.lock().unwrap().iter() {
            assert_eq!(requests, known, "repository {repository}, seed {seed}");
        }
    })
    .await;
}

async fn run_one(
    jobs: &impl Jobs,
    held: &Mutex<HashMap<u64, String>>,
    asked: &Mutex<HashMap<u64, (u32, u32)>>,
) -> bool {
    let Some(job) = claim(jobs).await else { return false };
    let before = held.lock().unwrap().insert(job.repository, job.lease.clone());
    assert_eq!(before, None, "repository {} was held already", job.repository);
    let known = asked.lock().unwrap().get(&job.repository).map_or(0, |(requests, _)| *requests);
    tokio::task::yield_now().await;
    held.lock().unwrap().remove(&job.repository);
    asked.lock().unwrap().entry(job.repository).or_default().1 = known;
    assert_eq!(jobs.complete(&job, None).await.unwrap(), Lease::Held);
    true
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_set_back_holds_no_job_up() {
    each_engine(async |bench| {
        let database = &bench.database;
        // Far ahead: one job waits, one is held by a process that dies, one has failed.
        bench.clock.advance(Duration::from_secs(10 * 86_400));
        for repository in 1..=3 {
            database.enqueue(&request(repository, JobCause::Event)).await.unwrap();
        }
        let held = claim(database).await.unwrap();
        let failed = claim(database).await.unwrap();
        database.fail(&failed, "GitHub does not answer", Some(Duration::from_secs(3600))).await.unwrap();
        bench.clock.set_back(Duration::from_secs(10 * 86_400));

        let mut taken = Vec::new();
        while let Some(job) = claim(database).await {
            taken.push(job.repository);
            database.complete(&job, None).await.unwrap();
        }
        taken.sort_unstable();
        assert_eq!(taken, [1, 2, 3]);
        assert_eq!(database.heartbeat(&held, LEASE).await.unwrap(), Lease::Lost);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_been_dead_for_an_hour_is_tried_once_by_a_resync() {
    each_engine(async |bench| {
        let (jobs, clock) = (&bench.database, &bench.clock);
        jobs.enqueue(&request(1, JobCause::Event)).await.unwrap();
        while jobs.dead().await.unwrap().is_empty() {
            clock.advance(seconds(3600));
            let job = claim(jobs).await.unwrap();
            jobs.fail(&job, "GitHub does not answer", None).await.unwrap();
        }
        clock.advance(seconds(3599));
        jobs.enqueue(&request(1, JobCause::Resync)).await.unwrap();
        assert_eq!(claim(jobs).await, None);
        clock.advance(seconds(1));
        jobs.enqueue(&request(1, JobCause::Resync)).await.unwrap();
        let job = claim(jobs).await.unwrap();
        assert_eq!(jobs.fail(&job, "GitHub does not answer", None).await.unwrap(), Fate::Dead, "one try");
        clock.advance(seconds(3600));
        jobs.enqueue(&request(1, JobCause::Resync)).await.unwrap();
        let job = claim(jobs).await.unwrap();
        jobs.complete(&job, None).await.unwrap();
        assert_eq!(jobs.dead().await.unwrap(), []);
    })
    .await;
}
