//! A forge with people, and the real bot: server, SQLite, mirrors, GitHub client and worker, driven step
//! by step so that a conversation needs no waiting.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use capstan::app::planner::Generator;
use capstan::app::ports::{Cause, Clock, FleetView as _, Jobs, SystemClock};
use capstan::app::sync::Ports;
use capstan::app::worker::{perform, resync};
use capstan::database::Database;
use capstan::forge::{CheckView, Edit, Forge, NewPull, Options, Permission, PullState, PullView, Selection};
use capstan::git::{MirrorLimits, Mirrors};
use capstan::github::{AppCredentials, GitHub, GitHubLimits};
use capstan::server::{self, Parts, Probe};
use capstan::telemetry;
use capstan_domain::report::BlockKey;
use tokio::task::JoinHandle;

use super::sample;
use crate::forge::conformance::assert_conforms;

pub(super) const REPOSITORY: &str = "acme/gitops";

/// A forge with `acme/gitops`, where ada may write and mallory may read.
pub(super) fn forge() -> Forge {
    // The forge has a runtime of its own, which cannot be made inside another.
    let started = std::thread::spawn(|| Forge::start(Options::default()).unwrap());
    let forge = started.join().unwrap();
    forge.create_organization("acme").unwrap();
    for person in ["ada", "mallory"] {
        forge.create_user(person).unwrap();
    }
    forge.create_repository(REPOSITORY).unwrap();
    forge.grant(REPOSITORY, "ada", Permission::Write).unwrap();
    forge.grant(REPOSITORY, "mallory", Permission::Read).unwrap();
    forge.install("acme", Selection::All).unwrap();
    forge
}

/// The bot in this process.
struct Bot {
    ports: Ports,
    database: Database,
    jobs: Arc<dyn Jobs>,
    serving: JoinHandle<()>,
}

/// Forge and bot.
pub(super) struct Town {
    pub(super) forge: Forge,
    bot: Bot,
    folder: tempfile::TempDir,
    lives: u32,
}

impl Bot {
    async fn start(forge: &Forge, state: &Path, life: u32) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let url = format!("sqlite://{}", state.join(format!("capstan-{life}.sqlite")).display());
        let database = Database::open(&url, Arc::clone(&clock)).await.unwrap();
        let app = forge.app();
        let key = app.private_key.clone();
        let credentials = AppCredentials::from_pem(app.id, &key.clone().into(), "test").unwrap();
        let limits = GitHubLimits { first_retry_after: Duration::from_millis(5), ..GitHubLimits::default() };
        let github = GitHub::connect(&forge.url().parse().unwrap(), credentials, limits).unwrap();
        let ports = Ports {
            host: Arc::new(github),
            mirror: Arc::new(Mirrors::open(state, MirrorLimits::default()).unwrap()),
            records: Arc::new(database.clone()),
            clock: Arc::clone(&clock),
            planner: Arc::new(Generator::default()),
            key: BlockKey::derive(key.as_bytes()),
            reconcilers: None,
        };
        let listener = server::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
        forge.deliver_to(&format!("http://{}/github/webhook", listener.local_addr().unwrap()));
        let parts = Parts {
            deliveries: Arc::new(database.clone()),
            fleet: Arc::new(database.clone()),
            github: Probe::new(|| async { Ok(()) }),
            metrics: telemetry::metrics_recorder().unwrap().handle(),
            webhook_secrets: vec![app.webhook_secret.into()],
            web_url: forge.url().parse().unwrap(),
            clock,
            agents: None,
        };
        let serving = tokio::spawn(async move {
            server::serve(listener, parts, std::future::pending()).await.unwrap();
        });
        Self { ports, database: database.clone(), jobs: Arc::new(database), serving }
    }
}

impl Town {
    /// A town whose repository has these clusters at `aws/v21.0.0`.
    pub(super) async fn new(settings: &str, clusters: &[&str]) -> Self {
        let forge = forge();
        let folder = tempfile::tempdir().unwrap();
        let bot = Bot::start(&forge, folder.path(), 0).await;
        let town = Self { forge, bot, folder, lives: 0 };
        town.push("main", &sample::repository(settings, clusters));
        town.settle().await;
        town
    }

    pub(super) fn push(&self, branch: &str, edits: &[Edit]) -> String {
        self.forge.commit(REPOSITORY, branch, "ada", "A change", edits).unwrap()
    }

    pub(super) fn release(&self, name: &str, kubernetes: &str) {
        self.push("main", &[sample::release(name, kubernetes)]);
    }

    /// Until every webhook has been delivered and every job done, those that follow from them included.
    pub(super) async fn settle(&self) {
        for _ in 0..50 {
            assert!(self.forge.delivered(Duration::from_secs(20)).await, "webhooks are not delivered");
            let Some(job) = self.bot.jobs.claim("test", Duration::from_secs(60)).await.unwrap() else {
                return;
            };
            perform(&self.bot.ports, &self.bot.jobs, &job).await.unwrap();
        }
        panic!("the bot never comes to rest");
    }

    /// What the bot does every few minutes.
    pub(super) async fn resync(&self) {
        resync(&self.bot.ports, &self.bot.jobs, Cause::Resync).await.unwrap();
        self.settle().await;
    }

    /// The bot is gone; with it, what webhooks arrive.
    pub(super) fn stop_bot(&self) {
        self.bot.serving.abort();
    }

    /// A new process with a database that knows nothing.
    pub(super) async fn restart_without_database(&mut self) {
        self.bot.serving.abort();
        self.lives += 1;
        self.bot = Bot::start(&self.forge, self.folder.path(), self.lives).await;
        resync(&self.bot.ports, &self.bot.jobs, Cause::Start).await.unwrap();
        self.settle().await;
    }

    /// A new process on a new disk: neither database nor mirrors.
    pub(super) async fn restart_with_nothing(&mut self) {
        self.folder = tempfile::tempdir().unwrap();
        self.restart_without_database().await;
    }

    /// What the fleet page says of a cluster: its state, and why.
    pub(super) async fn standing(&self, cluster: &str) -> (String, String) {
        let fleet = self.bot.database.fleet().await.unwrap();
        let mut clusters = fleet.repositories.into_iter().flat_map(|repository| repository.clusters);
        let found = clusters.rfind(|row| row.cluster == cluster).unwrap();
        (found.state, found.reason)
    }

    pub(super) fn pulls(&self) -> Vec<PullView> {
        self.forge.pulls(REPOSITORY).unwrap()
    }

    pub(super) fn open_pulls(&self) -> Vec<PullView> {
        self.pulls().into_iter().filter(|pull| pull.state == PullState::Open).collect()
    }

    pub(super) fn pull(&self, number: u64) -> PullView {
        self.forge.pull(REPOSITORY, number).unwrap()
    }

    /// The check `capstan` on a pull request's head that GitHub shows: the latest.
    pub(super) fn check(&self, number: u64) -> CheckView {
        let mut checks = self.forge.checks(REPOSITORY, &self.pull(number).head).unwrap();
        checks.retain(|check| check.name == "capstan");
        checks.into_iter().max_by_key(|check| check.id).unwrap()
    }

    pub(super) fn file(&self, revision: &str, path: &str) -> String {
        self.forge.file(REPOSITORY, revision, path).unwrap().unwrap_or_default()
    }

    pub(super) fn open(&self, author: &str, branch: &str, edits: &[Edit]) -> u64 {
        self.forge.commit(REPOSITORY, branch, "ada", "Mine", edits).unwrap();
        let new = NewPull {
            title: "Mine".to_owned(),
            head: branch.to_owned(),
            base: "main".to_owned(),
            ..NewPull::default()
        };
        self.forge.open_pull(REPOSITORY, author, new).unwrap()
    }

    pub(super) async fn comment(&self, number: u64, by: &str, body: &str) -> u64 {
        let comment = self.forge.comment(REPOSITORY, number, by, body).unwrap();
        self.settle().await;
        comment
    }

    /// What Capstan answered on a pull request.
    pub(super) fn answers(&self, number: u64) -> Vec<String> {
        let bot = self.forge.bot_login();
        let comments = self.forge.comments(REPOSITORY, number).unwrap();
        comments.into_iter().filter(|comment| comment.author == bot).map(|comment| comment.body).collect()
    }

    /// Every call was one that GitHub knows.
    pub(super) fn done(self) {
        assert_conforms(&self.forge);
    }
}
