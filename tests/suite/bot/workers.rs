//! One repository that hangs, or ends the work on it in the middle, holds no other up.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use capstan::app::planner::{JudgedBy, OpenFailed, OpenFleet, Planner, PlannerFailed};
use capstan::app::ports::{Clock, Jobs};
use capstan::app::sync::Ports;
use capstan::app::worker::{Deadline, Heartbeats, Timely, Workforce, perform, work};
use capstan_forge::{Edit, NewPull, Permission};
use capstan_model::tree::{RepoPath, Tree};
use capstan_plan::proposal::Scope;
use capstan_plan::settings::RepositorySettings;
use capstan_report::JudgedCluster;
use jiff::Timestamp;
use jiff::civil::Date;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::sample;
use super::town::{REPOSITORY, Town};

const OTHER: &str = "acme/other";

/// A planner that hangs where there is a file `hang`, until it is let go.
struct Hanging {
    inner: Arc<dyn Planner>,
    held: Mutex<bool>,
    let_go: Condvar,
    is_entered: AtomicBool,
}

impl Hanging {
    fn around(inner: &Arc<dyn Planner>) -> Arc<Self> {
        Arc::new(Self {
            inner: Arc::clone(inner),
            held: Mutex::new(true),
            let_go: Condvar::new(),
            is_entered: AtomicBool::new(false),
        })
    }

    fn let_go(&self) {
        *self.held.lock().unwrap() = false;
        self.let_go.notify_all();
    }
}

impl Planner for Hanging {
    fn open(&self, tree: Arc<dyn Tree>, today: Date) -> Result<Box<dyn OpenFleet>, OpenFailed> {
        if tree.entry(&RepoPath::parse("hang").unwrap()).is_some() {
            self.is_entered.store(true, Ordering::SeqCst);
            drop(self.let_go.wait_while(self.held.lock().unwrap(), |held| *held).unwrap());
        }
        self.inner.open(tree, today)
    }

    fn judge(
        &self,
        before: Arc<dyn Tree>,
        after: Arc<dyn Tree>,
        by: JudgedBy<'_>,
    ) -> Result<Vec<JudgedCluster>, PlannerFailed> {
        self.inner.judge(before, after, by)
    }

    fn scopes(
        &self,
        tree: Arc<dyn Tree>,
        settings: &RepositorySettings,
    ) -> Result<Vec<Scope>, PlannerFailed> {
        self.inner.scopes(tree, settings)
    }
}

/// A clock that panics when it is asked for the first time.
struct Panicking {
    inner: Arc<dyn Clock>,
    asked: AtomicUsize,
}

impl Clock for Panicking {
    fn now(&self) -> Timestamp {
        assert!(self.asked.fetch_add(1, Ordering::SeqCst) > 0, "this clock panics once");
        self.inner.now()
    }
}

struct Office {
    heartbeats: Heartbeats,
    stop: CancellationToken,
    working: JoinHandle<()>,
}

impl Office {
    fn open(town: &Town, ports: Ports, workforce: Workforce) -> Self {
        let jobs: Arc<dyn Jobs> = Arc::new(town.database().clone());
        let (heartbeats, stop) = (Heartbeats::default(), CancellationToken::new());
        let working = tokio::spawn({
            let (heartbeats, stop) = (heartbeats.clone(), stop.clone());
            async move { work(&ports, &jobs, "test", workforce, &heartbeats, &stop).await }
        });
        Self { heartbeats, stop, working }
    }

    async fn close(self) {
        self.stop.cancel();
        self.working.await.unwrap();
    }
}

async fn until(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..1_200 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("never: {what}");
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_are_answered_while_another_repository_of_the_owner_hangs() {
    for workers in [2, 3] {
        let after = answers_beside_a_repository_that_hangs(workers).await;
        // Two seconds are wanted; how long it takes is the machine's matter, and that it waits for nobody is not.
        println!(
            "answered by {workers} workers after {} ms beside a repository that hangs",
            after.as_millis()
        );
    }
}

/// How long an answer takes.
async fn answers_beside_a_repository_that_hangs(workers: usize) -> Duration {
    let town = Town::new("mode: propose\n", &["gauss/peu01"]).await;
    town.forge.create_repository(OTHER).unwrap();
    town.forge.grant(OTHER, "ada", Permission::Write).unwrap();
    let commit = |branch: &str, edits: &[Edit]| {
        town.forge.commit(OTHER, branch, "ada", "A change", edits).unwrap();
    };
    commit("main", &sample::repository("mode: propose\n", &["noether/peu02"]));
    commit("mine", &[Edit::write("README.md", "hello\n")]);
    let new = NewPull {
        title: "Mine".to_owned(),
        head: "mine".to_owned(),
        base: "main".to_owned(),
        ..NewPull::default()
    };
    let number = town.forge.open_pull(OTHER, "ada", new).unwrap();
    town.settle().await;

    let hanging = Hanging::around(&town.ports().planner);
    let ports = Ports { planner: hanging.clone(), ..town.ports().clone() };
    let office = Office::open(&town, ports, Workforce { workers, deadline: Duration::from_secs(600) });
    town.push("main", &[Edit::write("hang", "")]);
    until("the repository hangs", || hanging.is_entered.load(Ordering::SeqCst)).await;
    // More of the same repository takes no further worker.
    for number in 0..20 {
        town.push("main", &[Edit::write("hang", number.to_string())]);
    }
    let asked = Instant::now();
    town.forge.comment(OTHER, number, "ada", "/capstan help").unwrap();
    let bot = town.forge.bot_login();
    let answered = || {
        let comments = town.forge.comments(OTHER, number).unwrap();
        comments.iter().any(|comment| comment.author == bot && comment.body.contains("replan"))
    };
    until("an answer", answered).await;
    let after = asked.elapsed();
    assert!(*hanging.held.lock().unwrap(), "the other one still hangs");
    assert_eq!(office.heartbeats.check(), Ok(()));
    hanging.let_go();
    office.close().await;
    town.done();
    after
}

#[tokio::test(flavor = "multi_thread")]
async fn what_takes_too_long_is_put_back_and_a_panic_is_its_jobs_alone() {
    let town = Town::new("mode: propose\n", &["gauss/peu01"]).await;
    town.push("main", &[sample::release("v22.0.0", "v1.22.7"), Edit::write("hang", "")]);
    let hanging = Hanging::around(&town.ports().planner);
    let clock = Arc::new(Panicking { inner: town.ports().clock.clone(), asked: AtomicUsize::new(0) });
    let ports = Ports { planner: hanging.clone(), clock: clock.clone(), ..town.ports().clone() };
    // The one worker panics, then hangs, and is there for the third try.
    let office = Office::open(&town, ports, Workforce { workers: 1, deadline: Duration::from_secs(5) });
    until("the panic", || clock.asked.load(Ordering::SeqCst) > 0).await;
    until("the hang", || {
        town.pass(60);
        hanging.is_entered.load(Ordering::SeqCst)
    })
    .await;
    let entered = clock.asked.load(Ordering::SeqCst);
    until("another try", || {
        town.pass(60);
        clock.asked.load(Ordering::SeqCst) > entered
    })
    .await;
    hanging.let_go();
    until("the proposal", || {
        town.pass(60);
        !town.forge.pulls(REPOSITORY).unwrap().is_empty()
    })
    .await;
    office.close().await;
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_that_stays_too_long_is_put_off_and_nobody_is_told() {
    let town = Town::new("mode: propose\n", &["gauss/peu01"]).await;
    town.push("main", &[Edit::write("hang", "")]);
    town.push("mine", &[Edit::write("README.md", "hello\n")]);
    let new = NewPull {
        title: "Mine".to_owned(),
        head: "mine".to_owned(),
        base: "main".to_owned(),
        ..NewPull::default()
    };
    let number = town.forge.open_pull(REPOSITORY, "ada", new).unwrap();
    assert!(town.forge.delivered(Duration::from_secs(20)).await);
    let hanging = Hanging::around(&town.ports().planner);
    let ports = Ports { planner: hanging.clone(), ..town.ports().clone() };
    let jobs: Arc<dyn Jobs> = Arc::new(town.database().clone());
    let job = jobs.claim("test", Duration::from_secs(60), 1).await.unwrap().unwrap();
    let ended = perform(&ports, &jobs, &job, Deadline::Guest(Duration::from_secs(1))).await.unwrap();
    assert_eq!(ended, Timely::No);
    assert!(town.check_named("capstan", number).is_none(), "it is no failure");
    hanging.let_go();
    town.pass(60);
    let job = jobs.claim("test", Duration::from_secs(60), 1).await.unwrap().unwrap();
    assert_eq!(job.attempt, 1, "it did not fail");
    assert_eq!(perform(&ports, &jobs, &job, Duration::from_secs(600)).await.unwrap(), Timely::Yes);
    town.done();
}
