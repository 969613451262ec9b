//! A forge with people, and the real bot: server, SQLite, mirrors, GitHub client and worker, driven step
//! by step so that a conversation needs no waiting.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use capstan_bot::agents::rollouts::{PACE, Reporting, RolloutReporter};
use capstan_bot::agents::{
    AgentLimits, AgentParts, Agents, Invitee, Notifier, Reconcilers, SealingKey, invite,
};
use capstan_bot::sync::{Ports, SyncError, Synced, sync_repository};
use capstan_bot::wave_webhooks::{WaveWebhooks, WebhookHost, WebhookParts};
use capstan_bot::worker::{Heartbeats, perform, resync};
use capstan_budget::{Meter, RateLimits};
use capstan_database::Database;
use capstan_fleet::components::{Supplier, SupplierLimits, SupplierPorts};
use capstan_fleet::planner::Planner;
use capstan_forge::{CheckView, Edit, Forge, NewPull, Options, Permission, PullState, PullView, Selection};
use capstan_git::{MirrorLimits, Mirrors};
use capstan_github::{AppCredentials, GitHub, GitHubLimits};
use capstan_plan::settings::OperatorHost;
use capstan_planner_process::{ProcessPlanner, Processes, STACK};
use capstan_ports::{
    AuditFilter, Clock, ClusterFilter, CodeHost, FetchLimits, Hints, JobCause, Jobs, ListExtent, Ordered,
    PageRecords as _, RepositoryName, VisibleRepositories,
};
use capstan_registries::{CacheLimits, Fetcher, FolderCache};
use capstan_report::BlockKey;
use capstan_server::{self as server, Listeners, Probe, ServerParts};
use capstan_server::{Intake, Mode};
use capstan_telemetry as telemetry;
use capstan_test_support::tally;
use capstan_webhooks::HttpWebhooks;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::sample;
use capstan_test_parts::canary;
use capstan_test_parts::conformance::assert_conforms;

pub(crate) const REPOSITORY: &str = "acme/gitops";

/// A forge with `acme/gitops`, where ada may write and mallory may read.
pub(crate) fn forge() -> Forge {
    // The forge has a runtime of its own, which cannot be made inside another.
    let started = std::thread::spawn(|| Forge::start(Options::default()).unwrap());
    let forge = started.join().unwrap();
    people(&forge);
    forge
}

/// `acme/gitops`, and who may do what in it.
pub(crate) fn people(forge: &Forge) {
    forge.create_organization("acme").unwrap();
    for person in ["ada", "mallory"] {
        forge.create_user(person).unwrap();
    }
    forge.create_repository(REPOSITORY).unwrap();
    forge.grant(REPOSITORY, "ada", Permission::Write).unwrap();
    forge.grant(REPOSITORY, "mallory", Permission::Read).unwrap();
    forge.install("acme", Selection::All).unwrap();
    canary::plant_key(&forge.app().private_key);
}

/// The machine's clock, put forward by hand.
#[derive(Default)]
pub(crate) struct ShiftedClock(Mutex<jiff::SignedDuration>);

impl ShiftedClock {
    fn advance(&self, seconds: i64) {
        *self.0.lock().unwrap() += jiff::SignedDuration::from_secs(seconds);
    }
}

impl Clock for ShiftedClock {
    fn now(&self) -> jiff::Timestamp {
        jiff::Timestamp::now() + *self.0.lock().unwrap()
    }
}

/// Plans in processes of the program, as the bot does it; the towns share them.
static PLANNER: LazyLock<Arc<dyn Planner>> =
    LazyLock::new(|| Arc::new(ProcessPlanner::new(processes(1 << 30))));

/// Planning processes that may take `memory` bytes each.
pub(crate) fn processes(memory: u64) -> Processes {
    Processes {
        program: env!("CARGO_BIN_EXE_capstan").into(),
        work: "Planning",
        count: 2,
        idle: 2,
        memory,
        share: None,
        stack: STACK,
        patience: Duration::from_secs(120),
        whole: Duration::from_secs(600),
        remembered: None,
    }
}

/// Hosts that repositories may name, as the operator allows them. All towns share the list, since each server has its
/// own port.
static OPERATORS: Mutex<Vec<OperatorHost>> = Mutex::new(Vec::new());

/// Lets repositories name a stand-in.
pub(super) fn let_name(host: &str) {
    OPERATORS.lock().unwrap().push(OperatorHost::parse(&format!("http://{host}")).unwrap());
}

/// Fetches components as the bot does, with less patience.
fn supplier(state: &Path, database: &Database, clock: &Arc<dyn Clock>) -> Supplier {
    let limits = FetchLimits { longest_wait: Duration::ZERO, ..FetchLimits::default() };
    let sources = SupplierPorts {
        connect: Box::new(move |hosts| Ok(Box::new(Fetcher::new(hosts, limits.clone())?))),
        cache: Arc::new(FolderCache::open(state.join("components"), CacheLimits::default()).unwrap()),
        jobs: Arc::new(database.clone()),
        clock: Arc::clone(clock),
        hosts: Box::new(|| OPERATORS.lock().unwrap().clone()),
        credentials: vec![],
    };
    Supplier::new(sources, SupplierLimits { patience: Duration::from_secs(5), ..SupplierLimits::default() })
}

/// Asks webhooks as the bot does.
fn webhooks(hosts: Vec<WebhookHost>, database: &Database, clock: &Arc<dyn Clock>) -> WaveWebhooks {
    WaveWebhooks::new(WebhookParts {
        port: Arc::new(HttpWebhooks::new().unwrap()),
        hosts,
        jobs: Arc::new(database.clone()),
        clock: Arc::clone(clock),
    })
}

/// With which the bot seals its keys.
pub(crate) const SEALING_KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

/// The bot in this process.
struct Bot {
    ports: Ports,
    database: Database,
    jobs: Arc<dyn Jobs>,
    agents: Arc<Agents>,
    reporter: RolloutReporter,
    webhook_secret: String,
    address: SocketAddr,
    /// Where its pages are.
    internal: SocketAddr,
    serving: JoinHandle<()>,
    stop: Option<oneshot::Sender<()>>,
}

/// Forge and bot.
pub(crate) struct Town {
    pub(crate) forge: Forge,
    bot: Bot,
    clock: Arc<ShiftedClock>,
    folder: tempfile::TempDir,
    lives: u32,
}

impl Bot {
    async fn start(
        forge: &Forge,
        state: &Path,
        life: u32,
        url: Option<&str>,
        shifted: &Arc<ShiftedClock>,
    ) -> Self {
        let clock: Arc<dyn Clock> = shifted.clone();
        let own = format!("sqlite://{}", state.join(format!("capstan-{life}.sqlite")).display());
        let url = url.unwrap_or(&own).to_owned();
        let database = Database::open(&url, Arc::clone(&clock)).await.unwrap();
        let app = forge.app();
        let key = app.private_key.clone();
        canary::plant_key(&key);
        canary::plant(SEALING_KEY);
        let credentials = AppCredentials::from_pem(app.id, &key.clone().into(), "test").unwrap();
        let limits = GitHubLimits {
            first_retry_after: Duration::from_millis(5),
            rest_when_unanswered: Duration::ZERO,
            ..GitHubLimits::default()
        };
        let github = GitHub::connect(&forge.url().parse().unwrap(), credentials, limits).unwrap();
        let reconcilers = Reconcilers { records: Arc::new(database.clone()), notifier: Notifier::default() };
        let ports = Ports {
            host: Arc::new(github),
            mirror: Arc::new(Mirrors::open(state, MirrorLimits::default()).unwrap()),
            records: Arc::new(database.clone()),
            clock: Arc::clone(&clock),
            planner: Arc::clone(&PLANNER),
            key: BlockKey::derive(key.as_bytes()).and(SEALING_KEY.as_bytes()),
            reconcilers: Some(reconcilers.clone()),
            components: Some(supplier(state, &database, &clock)),
            webhooks: Some(webhooks(Vec::new(), &database, &clock)),
        };
        let jobs: Arc<dyn Jobs> = Arc::new(database.clone());
        let parts = AgentParts {
            reconcilers: reconcilers.clone(),
            jobs: Arc::clone(&jobs),
            host: ports.host.clone(),
            mirror: ports.mirror.clone(),
            planner: ports.planner.clone(),
            clock: Arc::clone(&clock),
            sealing: SealingKey::parse(&SEALING_KEY.into()).unwrap(),
            limits: AgentLimits { look_every: Duration::from_millis(100), ..AgentLimits::default() },
        };
        let agents = Arc::new(Agents::open(parts).await.unwrap());
        let reporter = RolloutReporter::new(
            reconcilers,
            (ports.host.clone(), ports.records.clone()),
            clock,
            "test".to_owned(),
            PACE,
        )
        .at("https://capstan.example".parse().ok());
        let mut bot = Self {
            ports,
            database,
            jobs,
            agents,
            reporter,
            webhook_secret: app.webhook_secret,
            address: "127.0.0.1:0".parse().unwrap(),
            internal: "127.0.0.1:0".parse().unwrap(),
            serving: tokio::spawn(async {}),
            stop: None,
        };
        bot.serve(forge).await;
        bot
    }

    /// Listens where it listened before.
    async fn serve(&mut self, forge: &Forge) {
        let listeners = Listeners {
            public: server::bind(self.address, "--listen").await.unwrap(),
            internal: server::bind("127.0.0.1:0".parse().unwrap(), "--internal-listen").await.unwrap(),
            metrics: None,
        };
        self.address = listeners.public.local_addr().unwrap();
        self.internal = listeners.internal.local_addr().unwrap();
        forge.deliver_to(&format!("http://{}/github/webhook", self.address));
        let parts = ServerParts {
            deliveries: Arc::new(self.database.clone()),
            fleet: Arc::new(self.database.clone()),
            pages: Arc::new(self.database.clone()),
            visitors: None,
            github: Probe::new(|| async { Ok(()) }),
            workers: Heartbeats::default(),
            metrics: telemetry::metrics_recorder().unwrap().handle(),
            webhook_secrets: vec![self.webhook_secret.clone().into()],
            web_url: forge.url().parse().unwrap(),
            clock: self.ports.clock.clone(),
            agents: Some(Arc::clone(&self.agents)),
            intake: Intake::default(),
            mode: Mode::Live,
        };
        let (stop, stopped) = oneshot::channel::<()>();
        self.stop = Some(stop);
        self.serving = tokio::spawn(async move {
            let stopped = async {
                if stopped.await.is_err() {
                    std::future::pending::<()>().await;
                }
            };
            server::serve(listeners, parts, stopped).await;
        });
    }
}

impl Town {
    /// A town whose repository has these clusters at `aws/v21.0.0`.
    pub(crate) async fn new(settings: &str, clusters: &[&str]) -> Self {
        Self::on(settings, clusters, None).await
    }

    /// The same on a database of the caller's.
    pub(crate) async fn on(settings: &str, clusters: &[&str], database_url: Option<&str>) -> Self {
        Self::with(&sample::repository(settings, clusters), database_url).await
    }

    /// A town whose repository begins with these files.
    pub(crate) async fn with(files: &[Edit], database_url: Option<&str>) -> Self {
        tally::count(tally::Cost::World, 1);
        canary::watch_log();
        let forge = forge();
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(ShiftedClock::default());
        let bot = Bot::start(&forge, folder.path(), 0, database_url, &clock).await;
        let town = Self { forge, bot, clock, folder, lives: 0 };
        town.push("main", files);
        town.settle().await;
        town
    }

    pub(crate) fn push(&self, branch: &str, edits: &[Edit]) -> String {
        self.forge.commit(REPOSITORY, branch, "ada", "A change", edits).unwrap()
    }

    pub(crate) fn release(&self, name: &str, kubernetes: &str) {
        self.push("main", &[sample::release(name, kubernetes)]);
    }

    /// Until every webhook has been delivered and every job done, those that follow from them included.
    pub(crate) async fn settle(&self) {
        for _ in 0..50 {
            assert!(self.forge.delivered(Duration::from_secs(20)).await, "webhooks are not delivered");
            let Some(job) = self.bot.jobs.claim("test", Duration::from_secs(60), 8).await.unwrap() else {
                return;
            };
            perform(&self.bot.ports, &self.bot.jobs, &job, Duration::from_secs(600)).await.unwrap();
        }
        panic!("the bot never comes to rest");
    }

    /// What the bot needs from outside.
    pub(crate) fn ports(&self) -> &Ports {
        &self.bot.ports
    }

    /// The same with a client that makes no call again, as if the process died where one is not answered.
    pub(crate) fn hasty_ports(&self) -> Ports {
        let app = self.forge.app();
        let credentials = AppCredentials::from_pem(app.id, &app.private_key.clone().into(), "test").unwrap();
        let limits = GitHubLimits { retries: 0, ..GitHubLimits::default() };
        let github = GitHub::connect(&self.forge.url().parse().unwrap(), credentials, limits).unwrap();
        Ports { host: Arc::new(github), ..self.bot.ports.clone() }
    }

    /// The same with a client that keeps to these limits, counted in the bot's database by its clock.
    pub(crate) fn ports_within(&self, limits: RateLimits) -> Ports {
        let app = self.forge.app();
        let credentials = AppCredentials::from_pem(app.id, &app.private_key.clone().into(), "test").unwrap();
        let calls = GitHubLimits { first_retry_after: Duration::from_millis(5), ..GitHubLimits::default() };
        let seats = u32::try_from(calls.concurrent).unwrap();
        let budgets = Arc::new(self.bot.database.clone());
        let meter = Meter::new(budgets, self.clock.clone(), Some(limits), "test".to_owned(), seats);
        let github = GitHub::connect(&self.forge.url().parse().unwrap(), credentials, calls).unwrap();
        Ports { host: Arc::new(github.within(meter)), ..self.bot.ports.clone() }
    }

    /// From now on the bot may ask webhooks at these hosts; what it knows of others is forgotten.
    pub(crate) fn allow_webhooks(&mut self, hosts: Vec<WebhookHost>) {
        let clock = self.bot_clock();
        self.bot.ports.webhooks = Some(webhooks(hosts, &self.bot.database, &clock));
    }

    /// One run over the repository with these ports.
    pub(crate) async fn sync_with(&self, ports: &Ports) -> Result<Synced, SyncError> {
        let installation = ports.host.installations().await?[0].id;
        let name = RepositoryName::parse(REPOSITORY).unwrap();
        let repository = ports.host.repository(installation, &name).await?;
        sync_repository(ports, &repository, &Hints::default()).await
    }

    /// What the bot does every few minutes.
    pub(crate) async fn resync(&self) {
        resync(&self.bot.ports, &self.bot.jobs, JobCause::Resync).await.unwrap();
        self.settle().await;
    }

    /// The bot is gone; with it, what webhooks arrive.
    pub(crate) fn stop_bot(&self) {
        self.bot.serving.abort();
    }

    /// A new process with a database that knows nothing.
    pub(crate) async fn restart_without_database(&mut self) {
        self.bot.serving.abort();
        self.lives += 1;
        self.bot = Bot::start(&self.forge, self.folder.path(), self.lives, None, &self.clock).await;
        resync(&self.bot.ports, &self.bot.jobs, JobCause::Start).await.unwrap();
        self.settle().await;
    }

    /// A new process without a database, whose App has another private key.
    pub(crate) async fn restart_with_another_key(&mut self) {
        self.forge.renew_private_key().unwrap();
        self.restart_without_database().await;
    }

    /// A new process on a new disk: neither database nor mirrors.
    pub(crate) async fn restart_with_nothing(&mut self) {
        self.folder = tempfile::tempdir().unwrap();
        self.restart_without_database().await;
    }

    /// What the fleet page says of a cluster: its state, and why.
    pub(crate) async fn standing(&self, cluster: &str) -> (String, String) {
        let all = ListExtent { skip: 0, take: u32::MAX };
        let targets = self
            .bot
            .database
            .targets(&VisibleRepositories::Everything, &ClusterFilter::default(), all)
            .await
            .unwrap();
        let found = targets.into_iter().rfind(|row| row.target == cluster).unwrap();
        (found.state, found.reason)
    }

    /// A person presses a button on a campaign's page. Returns what the audit trail says about it, newest first.
    pub(crate) async fn press_on_page(&self, by: &str, given: &str) -> String {
        let database = &self.bot.database;
        let repository = database.shown_repositories(&VisibleRepositories::Everything).await.unwrap()[0].id;
        let Ordered::Recorded(id) = database.order(repository, by, given).await.unwrap() else {
            panic!("the repository is known");
        };
        self.settle().await;
        let filter = AuditFilter { text: id, actor: by.to_owned(), ..AuditFilter::default() };
        let all = ListExtent { skip: 0, take: 10 };
        let found = database.audit_trail(&VisibleRepositories::Everything, &filter, all).await.unwrap().items;
        let words: Vec<String> = found.into_iter().map(|entry| entry.action).collect();
        words.join(" ")
    }

    /// The audit trail, oldest first: who, what, and what of it.
    pub(crate) async fn audit(&self) -> Vec<String> {
        let file = self.folder.path().join(format!("capstan-{}.sqlite", self.lives));
        let pool = sqlx::SqlitePool::connect(&format!("sqlite://{}", file.display())).await.unwrap();
        let rows: Vec<(String, String, String)> =
            sqlx::query_as("SELECT actor, action, detail FROM audit ORDER BY id")
                .fetch_all(&pool)
                .await
                .unwrap();
        rows.into_iter().map(|(actor, action, detail)| format!("{actor} {action} {detail}")).collect()
    }

    /// Where the bot listens.
    pub(crate) fn bot_url(&self) -> String {
        format!("http://{}", self.bot.address)
    }

    /// What one of the bot's pages shows.
    pub(crate) async fn page(&self, path: &str) -> String {
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let answer = client.get(format!("http://{}{path}", self.bot.internal)).send().await.unwrap();
        assert!(answer.status().is_success(), "{path}: {}", answer.status());
        answer.text().await.unwrap()
    }

    /// The bot's records.
    pub(crate) fn database(&self) -> &Database {
        &self.bot.database
    }

    /// Where the bot's mirrors are.
    pub(crate) fn state_dir(&self) -> &Path {
        self.folder.path()
    }

    /// GitHub, as the bot reaches it.
    pub(crate) fn host(&self) -> Arc<dyn CodeHost> {
        self.bot.ports.host.clone()
    }

    /// The time, as the bot sees it.
    pub(crate) fn bot_clock(&self) -> Arc<dyn Clock> {
        self.clock.clone()
    }

    /// A join code for a management cluster.
    pub(crate) async fn invite(&self, uid: &str) -> String {
        let uid = capstan_plan::settings::ManagementClusterUid::parse(uid).unwrap();
        // Many tests have several of one management cluster: each has a name of its own.
        let name = Some(format!("agent-{}", ulid::Ulid::generate()));
        let invitee = Invitee { management_cluster: uid, name, invited_by: "ada@town".to_owned() };
        let invited = invite(&self.bot.database, self.clock.as_ref(), invitee).await.unwrap();
        canary::plant(invited.code.expose());
        invited.code.expose().to_owned()
    }

    /// Time passes for the bot.
    pub(crate) fn pass(&self, seconds: i64) {
        self.clock.advance(seconds);
    }

    /// What the bot's reporter does when it is woken.
    pub(crate) async fn report_rollouts(&self) -> Reporting {
        self.bot.reporter.report_all().await.unwrap()
    }

    /// The bot stops answering, and keeps its state.
    pub(crate) async fn go_away(&mut self) {
        self.bot.stop.take().unwrap().send(()).unwrap();
        (&mut self.bot.serving).await.unwrap();
    }

    /// It is back at its old place.
    pub(crate) async fn come_back(&mut self) {
        self.bot.serve(&self.forge).await;
    }

    /// A new process on the same disk and database.
    pub(crate) async fn restart(&mut self, database_url: Option<&str>) {
        self.go_away().await;
        let address = self.bot.address;
        let mut bot =
            Bot::start(&self.forge, self.folder.path(), self.lives, database_url, &self.clock).await;
        bot.stop.take().unwrap().send(()).unwrap();
        (&mut bot.serving).await.unwrap();
        bot.address = address;
        bot.serve(&self.forge).await;
        self.bot = bot;
    }

    pub(crate) fn pulls(&self) -> Vec<PullView> {
        self.forge.pulls(REPOSITORY).unwrap()
    }

    pub(crate) fn open_pulls(&self) -> Vec<PullView> {
        self.pulls().into_iter().filter(|pull| pull.state == PullState::Open).collect()
    }

    pub(crate) fn pull(&self, number: u64) -> PullView {
        self.forge.pull(REPOSITORY, number).unwrap()
    }

    /// The check `capstan` on a pull request's head that GitHub shows: the latest.
    pub(crate) fn check(&self, number: u64) -> CheckView {
        self.check_named("capstan", number).unwrap()
    }

    /// The latest check of that name on a pull request's head.
    pub(crate) fn check_named(&self, name: &str, number: u64) -> Option<CheckView> {
        let mut checks = self.forge.checks(REPOSITORY, &self.pull(number).head).unwrap();
        checks.retain(|check| check.name == name);
        checks.into_iter().max_by_key(|check| check.id)
    }

    pub(crate) fn file(&self, revision: &str, path: &str) -> String {
        self.forge.file(REPOSITORY, revision, path).unwrap().unwrap_or_default()
    }

    pub(crate) fn open(&self, author: &str, branch: &str, edits: &[Edit]) -> u64 {
        self.forge.commit(REPOSITORY, branch, "ada", "Mine", edits).unwrap();
        let new = NewPull {
            title: "Mine".to_owned(),
            head: branch.to_owned(),
            base: "main".to_owned(),
            ..NewPull::default()
        };
        self.forge.open_pull(REPOSITORY, author, new).unwrap()
    }

    pub(crate) async fn comment(&self, number: u64, by: &str, body: &str) -> u64 {
        let comment = self.forge.comment(REPOSITORY, number, by, body).unwrap();
        self.settle().await;
        comment
    }

    /// What Capstan answered on a pull request.
    pub(crate) fn answers(&self, number: u64) -> Vec<String> {
        let bot = self.forge.bot_login();
        let comments = self.forge.comments(REPOSITORY, number).unwrap();
        comments.into_iter().filter(|comment| comment.author == bot).map(|comment| comment.body).collect()
    }

    /// The places where a secret appears: what the bot sent to GitHub, what it keeps, and what it logged.
    pub(crate) fn secrets_shown(&self) -> Vec<String> {
        let exchanges = self.forge.exchanges();
        let sent = exchanges.iter().filter(|one| {
            let all = format!("{}?{} {}", one.path, one.query, one.request);
            one.who.starts_with("installation") && canary::found_in(all.as_bytes()).is_some()
        });
        let sent = sent.map(|one| format!("{} {}", one.method, one.path));
        let kept = canary::files_with_secrets(self.folder.path());
        sent.chain(kept).chain(canary::logged()).collect()
    }

    /// Every call was one that GitHub knows, and no secret is shown anywhere.
    pub(crate) fn done(self) {
        assert_eq!(self.secrets_shown(), [""; 0]);
        assert_conforms(&self.forge);
    }
}
