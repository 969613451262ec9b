//! One repository that hangs, or ends the work on it in the middle, holds no other up.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use capstan_bot::sync::Ports;
use capstan_bot::worker::{Deadline, Heartbeats, Timely, Workforce, perform, work};
use capstan_fleet::planner::{JudgedBy, OpenFailed, OpenFleet, Planner, PlannerFailed};
use capstan_forge::{Edit, NewPull, Permission, PullState};
use capstan_model::tree::{RepoPath, Tree};
use capstan_plan::proposal::Scope;
use capstan_plan::settings::RepositorySettings;
use capstan_ports::{ClaimedJob, Clock, DeadJob, Fate, JobRequest, Jobs, Lease, RecordsError};
use capstan_report::JudgedCluster;
use jiff::Timestamp;
use jiff::civil::Date;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::sample;
use super::town::{REPOSITORY, Town};

const OTHER: &str = "acme/other";

/// A planner that hangs where there is a file `hang`, or one is added that is called `hang-judging`, until it is let go.
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

    fn hang(&self) {
        self.is_entered.store(true, Ordering::SeqCst);
        drop(self.let_go.wait_while(self.held.lock().unwrap(), |held| *held).unwrap());
    }

    fn let_go(&self) {
        *self.held.lock().unwrap() = false;
        self.let_go.notify_all();
    }
}

impl Planner for Hanging {
    fn open(&self, tree: Arc<dyn Tree>, today: Date) -> Result<Box<dyn OpenFleet>, OpenFailed> {
        if tree.entry(&RepoPath::parse("hang").unwrap()).is_some() {
            self.hang();
        }
        self.inner.open(tree, today)
    }

    fn judge(
        &self,
        before: Arc<dyn Tree>,
        after: Arc<dyn Tree>,
        by: JudgedBy<'_>,
    ) -> Result<Vec<JudgedCluster>, PlannerFailed> {
        if after.entry(&RepoPath::parse("hang-judging").unwrap()).is_some() {
            self.hang();
        }
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

/// A queue that panics when it is asked for a job for the first time, so that who asks dies.
struct Deadly {
    inner: Arc<dyn Jobs>,
    asked: AtomicUsize,
}

#[async_trait]
impl Jobs for Deadly {
    async fn enqueue(&self, request: &JobRequest) -> Result<(), RecordsError> {
        self.inner.enqueue(request).await
    }

    async fn claim(
        &self,
        worker: &str,
        lease: Duration,
        most: usize,
    ) -> Result<Option<ClaimedJob>, RecordsError> {
        assert!(self.asked.fetch_add(1, Ordering::SeqCst) > 0, "this queue panics once");
        self.inner.claim(worker, lease, most).await
    }

    async fn claim_guest(
        &self,
        worker: &str,
        lease: Duration,
        most: usize,
        but: &BTreeSet<u64>,
    ) -> Result<Option<ClaimedJob>, RecordsError> {
        self.inner.claim_guest(worker, lease, most, but).await
    }

    async fn heartbeat(&self, job: &ClaimedJob, lease: Duration) -> Result<Lease, RecordsError> {
        self.inner.heartbeat(job, lease).await
    }

    async fn complete(&self, job: &ClaimedJob, look_again: Option<Timestamp>) -> Result<Lease, RecordsError> {
        self.inner.complete(job, look_again).await
    }

    async fn fail(&self, job: &ClaimedJob, why: &str, wait: Option<Duration>) -> Result<Fate, RecordsError> {
        self.inner.fail(job, why, wait).await
    }

    async fn put_off(&self, job: &ClaimedJob, why: &str) -> Result<Fate, RecordsError> {
        self.inner.put_off(job, why).await
    }

    async fn put_off_for(&self, job: &ClaimedJob, why: &str, wait: Duration) -> Result<Fate, RecordsError> {
        self.inner.put_off_for(job, why, wait).await
    }

    async fn reclaim(&self, worker: &str) -> Result<u64, RecordsError> {
        self.inner.reclaim(worker).await
    }

    async fn dead(&self) -> Result<Vec<DeadJob>, RecordsError> {
        self.inner.dead().await
    }

    async fn forget_deliveries(&self, before: Timestamp) -> Result<u64, RecordsError> {
        self.inner.forget_deliveries(before).await
    }

    async fn wait_for_work(&self, at_most: Duration) {
        self.inner.wait_for_work(at_most).await;
    }
}

struct Office {
    heartbeats: Heartbeats,
    stop: CancellationToken,
    working: JoinHandle<()>,
}

impl Office {
    fn open(town: &Town, ports: Ports, workforce: Workforce) -> Self {
        Self::with(Arc::new(town.database().clone()), ports, workforce)
    }

    fn with(jobs: Arc<dyn Jobs>, ports: Ports, workforce: Workforce) -> Self {
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

pub(super) async fn until(what: &str, is_so: impl Fn() -> bool) {
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
        // The goal is two seconds. The time depends on the machine, but the answer must not wait for other work.
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

/// Twelve proposals are rewritten, twelve people's comments come with the push, and another repository is as busy. Each
/// comment gets its reaction before any work on the comments begins.
#[tokio::test(flavor = "multi_thread")]
async fn a_comment_under_load_is_acknowledged_before_the_work_and_answered_after_it() {
    let names: Vec<String> = (1..=12).map(|at| format!("gauss/peu{at:02}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let town = Town::new("mode: propose\n", &names).await;
    town.forge.create_repository(OTHER).unwrap();
    town.forge.grant(OTHER, "ada", Permission::Write).unwrap();
    let other = |edits: &[Edit]| drop(town.forge.commit(OTHER, "main", "ada", "A change", edits).unwrap());
    other(&sample::repository("mode: propose\n", &names));
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    assert_eq!(town.open_pulls().len(), 12);

    town.forge.pause_deliveries();
    town.forge.clear_exchanges();
    town.release("v22.1.0", "v1.22.6");
    other(&[sample::release("v22.0.0", "v1.22.5")]);
    let numbers: Vec<u64> = town.open_pulls().iter().map(|pull| pull.number).collect();
    let comments: Vec<u64> = numbers
        .iter()
        .map(|number| town.forge.comment(REPOSITORY, *number, "ada", "/capstan replan").unwrap())
        .collect();
    town.forge.resume_deliveries(capstan_forge::DeliveryOrder::AsHappened);
    let asked = Instant::now();
    // All arrive before the first run begins. Another test covers those that arrive during a run.
    assert!(town.forge.delivered(Duration::from_secs(60)).await);
    let office = Office::open(
        &town,
        town.ports().clone(),
        Workforce { workers: 4, deadline: Duration::from_secs(600) },
    );
    let reactions = || -> Vec<Vec<String>> {
        let all = numbers.iter().flat_map(|number| town.forge.comments(REPOSITORY, *number).unwrap());
        let own = all.filter(|comment| comments.contains(&comment.id));
        own.map(|comment| comment.reactions.into_iter().map(|(_, content)| content).collect()).collect()
    };
    until("all are heard", || reactions().iter().all(|one| one.contains(&"eyes".to_owned()))).await;
    println!("12 comments are heard after {} ms", asked.elapsed().as_millis());
    until("all are answered", || reactions().iter().all(|one| one.contains(&"+1".to_owned()))).await;
    println!("12 comments are answered after {} ms", asked.elapsed().as_millis());
    office.close().await;

    let of_repository = format!("/repos/{REPOSITORY}/");
    let calls = town.forge.exchanges();
    let own: Vec<_> =
        calls.iter().filter(|call| call.path.starts_with(&of_repository) && call.is_write()).collect();
    let heard = own.iter().rposition(|call| call.request["content"] == "eyes").unwrap();
    let worked = own.iter().position(|call| call.path.ends_with("/git/trees")).unwrap();
    assert!(heard < worked, "the last is heard at {heard}, and the first commit is begun at {worked}");
    for number in numbers {
        let pull = town.pull(number);
        assert!(pull.title.ends_with("to aws/v22.1.0"), "{}", pull.title);
    }
    town.done();
}

/// One pull request takes long to be judged. Meanwhile a comment on another one, a new issue or a pressed button is
/// acknowledged at once. The command is carried out afterwards.
#[tokio::test(flavor = "multi_thread")]
async fn comments_issues_and_buttons_are_acknowledged_at_once_during_the_work() {
    let town = Town::new("mode: propose\n", &["gauss/peu01", "gauss/peu02"]).await;
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    let edits = [sample::machine_pool("gauss/peu01", "v1.21.4", 5), Edit::write("hang-judging", "")];
    town.open("ada", "long", &edits);
    // GitHub's times are whole seconds: a comment of this second is not older than the run by this clock.
    town.pass(-1);
    let hanging = Hanging::around(&town.ports().planner);
    let ports = Ports { planner: hanging.clone(), ..town.ports().clone() };
    let office = Office::open(&town, ports, Workforce { workers: 4, deadline: Duration::from_secs(600) });
    until("the judging hangs", || hanging.is_entered.load(Ordering::SeqCst)).await;
    let lists =
        || town.forge.count_requests(|call| call.method == "GET" && call.path.ends_with("/issues/comments"));
    let before_comments = lists();
    let asked = Instant::now();
    let say = |by: &str, body: &str| town.forge.comment(REPOSITORY, 1, by, body).unwrap();
    let (obeyed, refused, edited) =
        (say("ada", "/capstan hold"), say("mallory", "/capstan skip"), say("ada", "I see."));
    town.forge.edit_comment(REPOSITORY, edited, "ada", "/capstan skip").unwrap();
    let reactions = |id: u64| -> Vec<String> {
        let comments = town.forge.comments(REPOSITORY, 1).unwrap();
        let comment = comments.into_iter().find(|comment| comment.id == id).unwrap();
        comment.reactions.into_iter().map(|(_, content)| content).collect()
    };
    until("it is heard", || reactions(obeyed) == ["eyes"]).await;
    println!("heard after {} ms, at work all the time", asked.elapsed().as_millis());
    let asked = Instant::now();
    let open = |by: &str, body: &str| town.forge.open_issue(REPOSITORY, by, "A wish", body).unwrap();
    let (issue, others) = (open("ada", "/capstan status for gauss/peu01"), open("mallory", "/capstan skip"));
    let to_issue = |number: u64| town.forge.issue_reactions(REPOSITORY, number).unwrap();
    until("the issue is heard", || to_issue(issue) == [(town.forge.bot_login(), "eyes".to_owned())]).await;
    println!("an issue is heard after {} ms", asked.elapsed().as_millis());
    let asked = Instant::now();
    let (before, second) = (town.check(2), "`replan`, pressed by `ada`, is queued");
    town.forge.press_button(REPOSITORY, before.id, "replan", "ada").unwrap();
    until("the button is heard", || town.check(2).summary.contains(second)).await;
    println!("a button is heard after {} ms", asked.elapsed().as_millis());
    let heard = town.check(2);
    assert!(heard.summary.ends_with(&before.summary), "what it said stands below: {}", heard.summary);
    assert_eq!((heard.title, heard.conclusion, heard.id), (before.title, before.conclusion, before.id));
    assert!(to_issue(others).is_empty(), "nobody else is");
    // Three comments and an edit. The two issues and the button that came after them say nothing of comments.
    let listed = lists() - before_comments;
    assert!((1..=4).contains(&listed), "{listed}: GitHub is asked only when a delivery tells of something");
    assert!(*hanging.held.lock().unwrap() && !town.pull(1).draft, "nothing is done about it yet");
    assert!(reactions(refused).is_empty() && reactions(edited).is_empty(), "nobody else is");
    hanging.let_go();
    until("it is held", || town.pull(1).draft).await;
    until("it is answered", || reactions(obeyed) == ["eyes", "+1"]).await;
    until("the button is answered", || !town.check(2).summary.contains(second)).await;
    let summary = town.check(2).summary;
    assert!(summary.contains("`replan`, pressed by `ada`: `gauss/peu02`: "), "{summary}");
    until("the issue is answered", || town.answers(issue).len() == 1).await;
    office.close().await;
    assert_eq!(town.pull(1).state, PullState::Open);
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_takes_too_long_is_put_back_a_panic_is_its_jobs_alone_and_a_dead_worker_is_replaced() {
    let town = Town::new("mode: propose\n", &["gauss/peu01"]).await;
    town.push("main", &[sample::release("v22.0.0", "v1.22.7"), Edit::write("hang", "")]);
    let hanging = Hanging::around(&town.ports().planner);
    let clock = Arc::new(Panicking { inner: town.ports().clock.clone(), asked: AtomicUsize::new(0) });
    let ports = Ports { planner: hanging.clone(), clock: clock.clone(), ..town.ports().clone() };
    let queue = Deadly { inner: Arc::new(town.database().clone()), asked: AtomicUsize::new(0) };
    // The one worker dies and another one takes its place, which panics at work, then hangs, and is there for the third try.
    let office =
        Office::with(Arc::new(queue), ports, Workforce { workers: 1, deadline: Duration::from_secs(5) });
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
async fn a_slow_guest_is_put_off_without_a_failure() {
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
