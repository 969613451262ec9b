//! The loops: sources followed, turns given, one failing cluster beside others, heads tried as the bot asks.

use capstan_test_support::PATIENCE;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use capstan_controllers::{ProbeHealth, Reconciler, ReconcilerParts};
use capstan_model::ids::ClusterId;
use capstan_model::tree::CommitId;
use capstan_ports::{Fence, Leadership, LiveError, Term};
use capstan_reconciler::reconcile::Ports;
use capstan_reconciler::reconcile::ports::{
    Bot, BotError, ClusterReport, FleetRecord, NewAgent, OpenSource, PendingWork, Preflight, PreflightAnswer,
    PreflightVerdict, SecretData, SourceError, SourceOpener, SourceTree, TreeSource, TrialFailed,
};
use capstan_reconciler::reconcile::resources::{ConditionType, SourceSpec};
use tokio_util::sync::CancellationToken;

use super::applying::plain;
use super::world::{MemoryTree, World, id};

/// Git, and the bot beside it.
#[derive(Default)]
struct Remote {
    files: Mutex<BTreeMap<String, String>>,
    commit: Mutex<u32>,
    is_away: Mutex<bool>,
    kept: Mutex<Option<SourceTree>>,
    heads: Mutex<BTreeMap<String, BTreeMap<String, String>>>,
    questions: Mutex<Vec<Preflight>>,
    answers: Mutex<Vec<PreflightAnswer>>,
    reports: Mutex<Vec<ClusterReport>>,
    /// How often it was asked for work.
    asked_for_work: AtomicUsize,
    enrolled: Mutex<Option<NewAgent>>,
}

fn commit(number: u32) -> CommitId {
    CommitId::parse(&format!("{number:040x}")).unwrap()
}

impl Remote {
    /// Everything that the world's folders hold now, as the next commit.
    fn push(&self, world: &World) {
        *self.files.lock().unwrap() = world.files.lock().unwrap().clone();
        *self.commit.lock().unwrap() += 1;
    }

    fn tree(files: BTreeMap<String, String>, commit: CommitId) -> SourceTree {
        SourceTree { commit, tree: Arc::new(MemoryTree::new(files)) }
    }

    fn away() -> SourceError {
        SourceError::Away { source_name: "https://git".into(), reason: "no answer".into() }
    }
}

#[derive(Clone)]
struct Handle(Arc<Remote>);

#[async_trait]
impl TreeSource for Handle {
    async fn kept(&self) -> Result<Option<SourceTree>, SourceError> {
        Ok(self.0.kept.lock().unwrap().clone())
    }
    async fn fetch(&self) -> Result<SourceTree, SourceError> {
        if *self.0.is_away.lock().unwrap() {
            return Err(Remote::away());
        }
        Ok(Remote::tree(self.0.files.lock().unwrap().clone(), commit(*self.0.commit.lock().unwrap())))
    }
    async fn keep(&self, opened: &CommitId) -> Result<(), SourceError> {
        let number = *self.0.commit.lock().unwrap();
        if *opened == commit(number) {
            let tree = Remote::tree(self.0.files.lock().unwrap().clone(), opened.clone());
            *self.0.kept.lock().unwrap() = Some(tree);
        }
        Ok(())
    }
    async fn at(&self, head: &CommitId) -> Result<SourceTree, SourceError> {
        let missing = || SourceError::Missing { source_name: "test".into(), what: format!("commit {head}") };
        let files = self.0.heads.lock().unwrap().get(head.as_str()).cloned().ok_or_else(missing)?;
        Ok(Remote::tree(files, head.clone()))
    }
    async fn wait(&self, _after: Option<&CommitId>, _patience: Duration) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[async_trait]
impl Bot for Handle {
    async fn work(&self, _after: Option<&CommitId>, _patience: Duration) -> Result<PendingWork, BotError> {
        tokio::time::sleep(Duration::from_millis(20)).await;
        self.0.asked_for_work.fetch_add(1, Ordering::SeqCst);
        Ok(PendingWork {
            commit: None,
            preflights: self.0.questions.lock().unwrap().drain(..).collect(),
            standing: None,
        })
    }
    async fn answer(
        &self,
        _question: &Preflight,
        answers: &[PreflightAnswer],
        _took: Duration,
    ) -> Result<(), BotError> {
        self.0.answers.lock().unwrap().extend_from_slice(answers);
        Ok(())
    }
    async fn report(&self, report: &ClusterReport) -> Result<(), BotError> {
        self.0.reports.lock().unwrap().push(report.clone());
        Ok(())
    }
    async fn recorded_elsewhere(&self, _cluster: &ClusterId) -> Result<Option<String>, BotError> {
        Ok(None)
    }
    fn newly_enrolled(&self) -> Option<NewAgent> {
        self.0.enrolled.lock().unwrap().take()
    }
}

#[async_trait]
impl SourceOpener for Handle {
    async fn open(
        &self,
        _ports: &Ports,
        _fleet: &FleetRecord,
        _uid: &str,
        _secret: Option<SecretData>,
    ) -> Result<OpenSource, SourceError> {
        Ok(OpenSource { tree: Arc::new(self.clone()), bot: Arc::new(self.clone()) })
    }
}

/// Lets everything through.
struct Open;

#[async_trait]
impl Fence for Open {
    async fn check(&self, _doing: &str) -> Result<(), LiveError> {
        Ok(())
    }
}

/// Nobody else wants to lead.
struct Alone;

#[async_trait]
impl Leadership for Alone {
    async fn lead(&self, stop: &CancellationToken) -> Option<Term> {
        let resigned = CancellationToken::new();
        let keeping = tokio::spawn(resigned.clone().cancelled_owned());
        let term = || Term::new(Arc::new(Open), CancellationToken::new(), resigned, keeping);
        (!stop.is_cancelled()).then(term)
    }
}

/// The whole reconciler, over one Fleet.
pub(super) struct Running {
    stop: CancellationToken,
    task: tokio::task::JoinHandle<()>,
}

impl Running {
    fn start(world: &World, remote: &Arc<Remote>) -> Self {
        {
            let mut fleet = world.fleet.lock().unwrap();
            let secret = "agent".to_owned();
            fleet.spec.source =
                SourceSpec::Bot { url: "https://bot".into(), repository: "acme/fleet".into(), secret };
        }
        Self::over(world, Arc::new(Handle(Arc::clone(remote))))
    }

    /// A reconciler over the current Fleet of a world.
    pub(super) fn over(world: &World, sources: Arc<dyn SourceOpener>) -> Self {
        {
            let fleet = world.fleet.lock().unwrap();
            let mut posted = world.status_store.posted();
            posted.fleets = vec![FleetRecord { status: posted.fleet_status.clone(), ..fleet.clone() }];
        }
        let stop = CancellationToken::new();
        let parts = ReconcilerParts {
            ports: world.ports(),
            sources,
            leadership: Arc::new(Alone),
            health: Arc::new(ProbeHealth::default()),
            node_ports_at: None,
            providers: None,
        };
        let task = tokio::spawn({
            let stop = stop.clone();
            async move { Reconciler::new(parts).run(&stop).await }
        });
        Self { stop, task }
    }

    pub(super) async fn stop(self) {
        self.stop.cancel();
        tokio::time::timeout(Duration::from_secs(20), self.task).await.unwrap().unwrap();
    }
}

/// Waits until something holds; what it waits for takes milliseconds.
pub(super) async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "never: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn ready(world: &World, name: &str) -> String {
    if !world.status_store.posted().clusters.contains_key(name) {
        return "none".to_owned();
    }
    world.condition(name, ConditionType::Ready)
}

#[tokio::test]
async fn one_broken_folder_holds_nobody_up_and_its_repair_is_seen_at_once() {
    let (world, remote) = (World::new(), Arc::new(Remote::default()));
    for name in ["peu01", "peu02", "peu03", "peu04", "peu05", "peu06"] {
        plain(&world, name);
    }
    world.write("gauss/peu02/base/maps.yaml", "kind: [\n");
    remote.push(&world);
    let running = Running::start(&world, &remote);
    for name in ["gauss-peu01", "gauss-peu03", "gauss-peu04", "gauss-peu05", "gauss-peu06"] {
        eventually(name, || ready(&world, name) == "True Done").await;
    }
    eventually("the broken one is refused", || ready(&world, "gauss-peu02") == "False Refused").await;

    plain(&world, "peu02");
    remote.push(&world);
    eventually("the repaired one is done", || ready(&world, "gauss-peu02") == "True Done").await;
    eventually("the Fleet says so", || world.status_store.posted().fleet_status.ready == 6).await;
    running.stop().await;
}

#[tokio::test]
async fn an_enrolment_emits_one_event_of_the_fleet() {
    let (world, remote) = (World::new(), Arc::new(Remote::default()));
    plain(&world, "peu01");
    remote.push(&world);
    let [agent, bot, key] = ["01ARZ3NDEKTSV4RRFFQ69G5FAV", "https://bot/", "SHA256:abc"].map(str::to_owned);
    *remote.enrolled.lock().unwrap() = Some(NewAgent { agent, bot, key });
    let running = Running::start(&world, &remote);
    let told = || {
        let posted = world.status_store.posted();
        let notes = posted.notes.iter().filter(|(_, note)| note.reason == "Enrolled");
        notes.map(|(fleet, note)| format!("{fleet}: {}", note.message)).collect::<Vec<_>>()
    };
    eventually("told", || !told().is_empty()).await;
    eventually("applied", || ready(&world, "gauss-peu01") == "True Done").await;
    running.stop().await;
    let fleet = world.fleet.lock().unwrap().key.name.clone();
    assert_eq!(
        told(),
        [format!(
            "{fleet}: This reconciler has enrolled with the bot at https://bot/, as agent 01ARZ3NDEKTSV4RRFFQ69G5FAV \
             with the key SHA256:abc. `capstan agents list` shows it there, and `capstan agents revoke \
             01ARZ3NDEKTSV4RRFFQ69G5FAV` ends it."
        )]
    );
}

#[tokio::test]
async fn with_git_and_bot_away_a_restart_repairs_drift_from_what_was_kept() {
    let (world, remote) = (World::new(), Arc::new(Remote::default()));
    plain(&world, "peu01");
    remote.push(&world);
    let running = Running::start(&world, &remote);
    eventually("applied", || ready(&world, "gauss-peu01") == "True Done").await;
    running.stop().await;

    *remote.is_away.lock().unwrap() = true;
    world.live.change("ConfigMap", "peu01-b", |object| object["data"]["key"] = serde_json::json!("by hand"));
    let running = Running::start(&world, &remote);
    eventually("repaired", || world.live.object("ConfigMap", "peu01-b").unwrap()["data"]["key"] == "1").await;
    eventually("said", || {
        let posted = world.status_store.posted();
        posted
            .fleet_status
            .conditions
            .of(ConditionType::SourceReady)
            .is_some_and(|is| is.reason == "SourceAway")
    })
    .await;
    running.stop().await;
}

#[tokio::test]
async fn what_was_kept_before_another_process_applied_something_newer_is_not_applied() {
    let (world, remote) = (World::new(), Arc::new(Remote::default()));
    plain(&world, "peu01");
    remote.push(&world);
    let running = Running::start(&world, &remote);
    eventually("applied", || ready(&world, "gauss-peu01") == "True Done").await;
    running.stop().await;
    let kept = remote.kept.lock().unwrap().clone();

    // Another process, with a disk of its own.
    plain(&world, "peu02");
    remote.push(&world);
    let running = Running::start(&world, &remote);
    eventually("applied", || ready(&world, "gauss-peu02") == "True Done").await;
    eventually("counted", || world.status_store.posted().fleet_status.ready == 2).await;
    running.stop().await;

    *remote.kept.lock().unwrap() = kept;
    *remote.is_away.lock().unwrap() = true;
    world.live.take_writes();
    let running = Running::start(&world, &remote);
    let told = |world: &World| {
        let posted = world.status_store.posted();
        let source = posted.fleet_status.conditions.of(ConditionType::SourceReady);
        source.map(|source| source.message.clone()).unwrap_or_default()
    };
    eventually("said", || {
        told(&world).contains("The kept commit is 000000000000, but clusters were last applied")
    })
    .await;
    world.live.change("ConfigMap", "peu01-b", |object| object["data"]["key"] = serde_json::json!("by hand"));
    assert_eq!(ready(&world, "gauss-peu02"), "True Done", "not said to be gone");
    assert_eq!(world.live.take_writes(), [""; 0]);
    let counted = world.status_store.posted().fleet_status.clone();
    assert_eq!((counted.clusters, counted.ready), (2, 2), "who has opened no commit counts nothing anew");

    *remote.is_away.lock().unwrap() = false;
    eventually("repaired", || world.live.object("ConfigMap", "peu01-b").unwrap()["data"]["key"] == "1").await;
    assert_eq!(world.live.take_writes(), ["apply ConfigMap org/peu01-b"]);
    eventually("said", || told(&world).is_empty()).await;
    running.stop().await;
}

#[tokio::test]
async fn settings_that_nobody_can_read_stop_everything_and_delete_nothing() {
    let (world, remote) = (World::new(), Arc::new(Remote::default()));
    plain(&world, "peu01");
    remote.push(&world);
    let running = Running::start(&world, &remote);
    eventually("applied", || ready(&world, "gauss-peu01") == "True Done").await;
    world.live.take_writes();
    world.write(".capstan.yaml", "managementClusters: {}\n");
    remote.push(&world);
    eventually("said", || {
        let posted = world.status_store.posted();
        posted
            .fleet_status
            .conditions
            .of(ConditionType::Ready)
            .is_some_and(|is| is.reason == "SettingsUnreadable")
    })
    .await;
    assert_eq!(world.live.take_writes(), Vec::<String>::new());
    running.stop().await;
}

#[tokio::test]
async fn a_folder_that_is_gone_is_said_and_nothing_of_it_is_deleted() {
    let (world, remote) = (World::new(), Arc::new(Remote::default()));
    plain(&world, "peu01");
    plain(&world, "peu02");
    remote.push(&world);
    let running = Running::start(&world, &remote);
    eventually("applied", || ready(&world, "gauss-peu01") == "True Done").await;
    world.remove("gauss/peu01/base/cluster.yaml");
    world.remove("gauss/peu01/base/maps.yaml");
    remote.push(&world);
    eventually("said", || ready(&world, "gauss-peu01") == "False FolderGone").await;
    assert_eq!(world.live.names("Cluster"), ["peu01", "peu02"]);
    running.stop().await;
}

#[tokio::test]
async fn a_renamed_folder_has_no_turn_before_it_is_suspended_as_it_was() {
    let (world, remote) = (World::new(), Arc::new(Remote::default()));
    plain(&world, "peu01");
    remote.push(&world);
    let running = Running::start(&world, &remote);
    eventually("applied", || ready(&world, "gauss-peu01") == "True Done").await;
    running.stop().await;

    world.status_store.posted().clusters.get_mut("gauss-peu01").unwrap().spec.suspend = true;
    world.live.take_writes();
    world.rename("gauss/peu01/", "gauss/moved/");
    world.write(
        "gauss/moved/base/more.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\ndata: {key: \"1\"}\n",
    );
    remote.push(&world);
    world.status_store.posted().dies_after = Some(0);
    let running = Running::start(&world, &remote);
    eventually("refused", || world.status_store.posted().refused > 0).await;
    world.status_store.posted().dies_after = None;
    eventually("suspended", || ready(&world, "gauss-moved") == "False Suspended").await;
    assert_eq!(ready(&world, "gauss-peu01"), "none");
    assert_eq!(world.live.take_writes(), Vec::<String>::new());
    running.stop().await;
}

#[tokio::test]
async fn heads_are_tried_as_the_bot_asks_under_the_settings_of_the_default_branch() {
    let (world, remote) = (World::new(), Arc::new(Remote::default()));
    plain(&world, "peu01");
    remote.push(&world);
    let running = Running::start(&world, &remote);
    eventually("applied", || ready(&world, "gauss-peu01") == "True Done").await;
    assert_eq!(remote.reports.lock().unwrap().len(), 1);
    world.live.take_writes();

    let head = commit(4711);
    world.write(
        "gauss/peu01/overlay/root.yaml",
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: root}\n",
    );
    // A head cannot claim what the default branch does not give it.
    world.write(".capstan.yaml", "managementClusters: []\n");
    remote.heads.lock().unwrap().insert(head.to_string(), world.files.lock().unwrap().clone());
    remote.questions.lock().unwrap().push(Preflight {
        id: "1".into(),
        commit: head,
        clusters: vec![id("gauss/peu01")],
    });
    eventually("answered", || !remote.answers.lock().unwrap().is_empty()).await;
    let answers = remote.answers.lock().unwrap().clone();
    assert_eq!((answers.len(), answers[0].verdict), (1, PreflightVerdict::Rejected));
    assert_eq!(answers[0].reasons[0].kind, "OutsideBoundary");
    assert_eq!(world.live.take_writes(), Vec::<String>::new());

    // A head that does not exist is answered, too: it is not verifiable.
    remote.answers.lock().unwrap().clear();
    let question = Preflight { id: "2".into(), commit: commit(4712), clusters: vec![id("gauss/peu01")] };
    remote.questions.lock().unwrap().push(question);
    eventually("answered", || !remote.answers.lock().unwrap().is_empty()).await;
    assert_eq!(remote.answers.lock().unwrap()[0].verdict, PreflightVerdict::NotVerifiable);
    running.stop().await;
}

/// What the Fleet says of its source, or of itself where the source is well.
fn fleet_reasons(world: &World) -> String {
    let posted = world.status_store.posted();
    let of = |kind| posted.fleet_status.conditions.of(kind).map(|is| is.reason.clone()).unwrap_or_default();
    format!("{} {}", of(ConditionType::SourceReady), of(ConditionType::Ready))
}

#[tokio::test]
async fn a_problem_of_the_tip_is_reported_again_after_the_source_was_away() {
    let (world, remote) = (World::new(), Arc::new(Remote::default()));
    plain(&world, "peu01");
    world.write(".capstan.yaml", "managementClusters: {}\n");
    remote.push(&world);
    let running = Running::start(&world, &remote);
    eventually("said", || fleet_reasons(&world).contains("SettingsUnreadable")).await;
    let before = fleet_reasons(&world);
    *remote.is_away.lock().unwrap() = true;
    eventually("said to be away", || fleet_reasons(&world).contains("SourceAway")).await;
    *remote.is_away.lock().unwrap() = false;
    eventually("said again", || !fleet_reasons(&world).contains("SourceAway")).await;
    assert_eq!(fleet_reasons(&world), before);
    running.stop().await;
}

#[tokio::test]
async fn an_unopened_tip_is_reported_and_forgotten_once_the_branch_went_back() {
    let (world, remote) = (World::new(), Arc::new(Remote::default()));
    plain(&world, "peu01");
    remote.push(&world);
    let why = TrialFailed::TooLarge("Rendering ended by signal 6.".to_owned());
    world.trial.fail_without("gauss/peu01/base/maps.yaml", why);
    let running = Running::start(&world, &remote);
    eventually("applied", || ready(&world, "gauss-peu01") == "True Done").await;
    let first = world.files.lock().unwrap().clone();
    world.live.take_writes();
    world.remove("gauss/peu01/base/maps.yaml");
    remote.push(&world);
    eventually("said", || fleet_reasons(&world).contains("TooLarge")).await;
    assert_eq!(ready(&world, "gauss-peu01"), "True Done", "what was opened before it stays");
    // A force-push.
    *remote.files.lock().unwrap() = first;
    *remote.commit.lock().unwrap() = 1;
    eventually("said", || !fleet_reasons(&world).contains("TooLarge")).await;
    assert_eq!(world.live.take_writes(), [""; 0]);
    assert_eq!(world.status_store.posted().fleet_status.commit.as_deref(), Some(commit(1).as_str()));
    running.stop().await;
}

#[tokio::test]
async fn a_question_stays_open_while_the_rendering_of_a_head_is_unknown() {
    let (world, remote) = (World::new(), Arc::new(Remote::default()));
    plain(&world, "peu01");
    remote.push(&world);
    let running = Running::start(&world, &remote);
    eventually("applied", || ready(&world, "gauss-peu01") == "True Done").await;
    let head = commit(4711);
    let mut files = world.files.lock().unwrap().clone();
    files.remove("gauss/peu01/base/maps.yaml");
    remote.heads.lock().unwrap().insert(head.to_string(), files);
    let why = TrialFailed::Killed("Rendering ended by signal 9.".to_owned());
    world.trial.fail_without("gauss/peu01/base/maps.yaml", why);
    let ask = || {
        let question = Preflight { id: "1".into(), commit: head.clone(), clusters: vec![id("gauss/peu01")] };
        remote.questions.lock().unwrap().push(question);
    };
    ask();
    eventually("taken", || remote.questions.lock().unwrap().is_empty()).await;
    let asked_for_work = || remote.asked_for_work.load(Ordering::SeqCst);
    let taken = asked_for_work();
    // More work is asked for once all that was taken is tried.
    eventually("tried", || asked_for_work() > taken).await;
    assert!(remote.answers.lock().unwrap().is_empty(), "nobody knows yet");
    // The bot asks until it is answered.
    world.trial.open_all();
    ask();
    eventually("answered", || !remote.answers.lock().unwrap().is_empty()).await;
    let answers = remote.answers.lock().unwrap().clone();
    assert_eq!(answers[0].verdict, PreflightVerdict::Accepted, "{:?}", answers[0].reasons);
    running.stop().await;
}

#[tokio::test]
async fn a_folder_whose_processes_died_is_reported_while_it_waits_and_tried_again_in_minutes() {
    let (world, remote) = (World::new(), Arc::new(Remote::default()));
    plain(&world, "peu01");
    plain(&world, "peu02");
    remote.push(&world);
    world.fleet.lock().unwrap().spec.interval = Duration::from_secs(1);
    let content = world.revision().await.folder_id(&id("gauss/peu01"));
    let content = content.map(|id| id.as_str().to_owned()).unwrap_or_default();
    // Three died of it, each soon after a long life; the last one while it tried it.
    let died = serde_json::json!({
        "process": {"since": "2027-01-15T07:00:00Z", "seen": "2027-01-15T07:50:00Z"},
        "folders": {"capstan-system/fleet gauss/peu01": {"content": content, "turn": "Tried",
            "begun": "2027-01-15T07:49:59Z", "deaths": 4, "evidence": 12}},
    });
    *world.underway.0.lock().unwrap() = Some(died.to_string());
    let running = Running::start(&world, &remote);
    eventually("the neighbour is done", || ready(&world, "gauss-peu02") == "True Done").await;
    eventually("it is told", || ready(&world, "gauss-peu01") == "False Refused").await;
    let refused = world.status("gauss-peu01").refused;
    assert_eq!(refused.len(), 1);
    assert_eq!(refused[0].reason, "EndsReconciler");
    let said = "the reconciler crashed 5 times at this folder, and hardly by chance. It retries at 2027-01-15T08:04:00Z,";
    assert!(refused[0].message.starts_with(said), "{}", refused[0].message);
    assert_eq!(world.live.names("Cluster"), ["peu02"]);
    world.pass_time(240);
    eventually("it is tried again", || ready(&world, "gauss-peu01") == "True Done").await;
    running.stop().await;
    let noted: serde_json::Value =
        serde_json::from_str(world.underway.0.lock().unwrap().as_deref().unwrap()).unwrap();
    assert_eq!(noted["folders"], serde_json::json!({}), "it did no harm");
    assert_eq!(noted["process"], serde_json::Value::Null, "an end in order accuses nobody");
}
