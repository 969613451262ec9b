//! A fleet in Git, a management cluster and a status store, all in memory.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use capstan_fleet::components::Downloads;
use capstan_live::applying::AppliedInventory;
use capstan_live::kept_tree::TreeOrigin;
use capstan_model::ids::ClusterId;
use capstan_model::tree::{BlobId, CommitId, EntryKind, RepoPath, Tree, TreeEntry, TreeId, Unreadable};
use capstan_plan::settings::RepositorySettings;
use capstan_plan::templates::SpecDigest;
use capstan_ports::{Clock, Fence, ServiceAccount};
use capstan_reconciler::gate::Gate;
use capstan_reconciler::providers;
use capstan_reconciler::reconcile::names::resource_names;
use capstan_reconciler::reconcile::ports::{
    Bot, BotError, ClusterKey, ClusterReport, FleetKey, FleetRecord, Notes, OwnersFile, PendingWork,
    Preflight, PreflightAnswer, SourceTree, TrialFailed, TrialRenders,
};
use capstan_reconciler::reconcile::rename_migration::{migrate, migration_sources};
use capstan_reconciler::reconcile::resources::{
    Adopt, ConditionType, CreateClusters, FleetSpec, FleetStatus, Guards, ManagedClusterStatus,
    ServiceAccountSpec, SourceSpec,
};
use capstan_reconciler::reconcile::revision::{OpenedRevision, Revision, Viewpoint};
use capstan_reconciler::reconcile::unclaimed::report_unclaimed;
use capstan_reconciler::reconcile::{
    CloudCredentials, CloudPreflight, DryRunCache, Interruption, Kinds, Operators, OwnersKeys, Ports,
    ReconcileOutcome, ReconcileRequest, RollingClusters, Trial, Underway, VaultSecrets, Workloads, reconcile,
};
use capstan_test_support::tally;
use jiff::SignedDuration;
use jiff::civil::Date;
use tokio::sync::watch;

use super::fake::FakeCluster;
pub(crate) use super::fake::UID;
use super::services::FakeWorkloads;
use super::status_store::FakeStatusStore;

pub(crate) struct World {
    pub(crate) files: Mutex<BTreeMap<String, String>>,
    pub(crate) live: Arc<FakeCluster>,
    pub(crate) status_store: Arc<FakeStatusStore>,
    pub(crate) bot: FakeBot,
    pub(crate) fleet: Mutex<FleetRecord>,
    pub(super) clock: Arc<TestClock>,
    kinds: Arc<Kinds>,
    dry_run_cache: Arc<DryRunCache>,
    /// What cannot be rendered.
    pub(crate) trial: Arc<FakeTrial>,
    known_trials: Arc<Trial>,
    /// How a turn's commit came to be the one that is applied from.
    pub(crate) standing: Mutex<TreeOrigin>,
    /// What is asked before each write.
    pub(crate) fence: Mutex<Option<Arc<dyn Fence>>>,
    claiming: Arc<tokio::sync::Mutex<()>>,
    /// What the process that ran last was at.
    pub(crate) underway: Arc<Noted>,
    pub(crate) operators: Arc<Operators>,
    /// From no host, unless a test says so.
    pub(crate) downloads: Mutex<Downloads>,
    pub(crate) cloud_preflight: Arc<CloudPreflight>,
    /// What kubeconfigs open.
    pub(crate) workloads: Arc<FakeWorkloads>,
    known_workloads: Arc<Workloads>,
    pub(crate) cloud_credentials: Arc<CloudCredentials>,
    pub(crate) owners_keys: Arc<OwnersKeys>,
    pub(crate) vault_secrets: Arc<VaultSecrets>,
    pub(crate) rolling: Arc<RollingClusters>,
    /// How many more times a turn may ask whether it is over, and why it is over after that.
    pub(crate) over: Mutex<Option<(usize, Interruption)>>,
    /// Counts the changes of files: the id of the current commit is made of it.
    commits: AtomicUsize,
}

#[derive(Default)]
pub(crate) struct FakeBot {
    pub(crate) reports: Mutex<Vec<ClusterReport>>,
    pub(crate) elsewhere: Mutex<Option<String>>,
    pub(crate) is_away: Mutex<bool>,
    /// Files for owners, in the order in which they came; `None` is one that was taken back.
    pub(crate) keys: Mutex<Vec<Option<OwnersFile>>>,
}

pub(super) struct TestClock(pub(super) AtomicI64);

impl Clock for TestClock {
    fn now(&self) -> jiff::Timestamp {
        jiff::Timestamp::from_second(self.0.load(Ordering::Relaxed)).unwrap()
    }
}

#[async_trait]
impl Bot for FakeBot {
    async fn work(&self, _after: Option<&CommitId>, _patience: Duration) -> Result<PendingWork, BotError> {
        Ok(PendingWork::default())
    }
    async fn answer(
        &self,
        _preflight: &Preflight,
        _answers: &[PreflightAnswer],
        _took: Duration,
    ) -> Result<(), BotError> {
        Ok(())
    }
    async fn report(&self, report: &ClusterReport) -> Result<(), BotError> {
        let mut reports = self.reports.lock().unwrap();
        // As the port requires: a report that says the same is not kept.
        let is_news = reports.iter().rfind(|said| said.cluster == report.cluster).is_none_or(|said| {
            let same = ClusterReport { at: said.at, attempted: said.attempted.clone(), ..report.clone() };
            same != *said
        });
        if is_news {
            reports.push(report.clone());
        }
        Ok(())
    }
    async fn publish_key(&self, file: &OwnersFile) -> Result<(), BotError> {
        self.take_key(Some(file.clone()))
    }
    async fn withdraw_key(&self, _cluster: &ClusterId) -> Result<(), BotError> {
        self.take_key(None)
    }
    async fn recorded_elsewhere(&self, _cluster: &ClusterId) -> Result<Option<String>, BotError> {
        if *self.is_away.lock().unwrap() {
            return Err(BotError::Away { url: "https://bot".into(), reason: "no answer".into() });
        }
        Ok(self.elsewhere.lock().unwrap().clone())
    }
}

impl FakeBot {
    /// As the port says: what it has is not sent again.
    fn take_key(&self, file: Option<OwnersFile>) -> Result<(), BotError> {
        if *self.is_away.lock().unwrap() {
            return Err(BotError::Away { url: "https://bot".into(), reason: "no answer".into() });
        }
        let mut keys = self.keys.lock().unwrap();
        if keys.last() != Some(&file) {
            keys.push(file);
        }
        Ok(())
    }
}

/// The bot's question about clusters of a head.
pub(crate) fn question(head: &Revision, clusters: &[ClusterId]) -> Preflight {
    Preflight { id: format!("of {}", head.commit), commit: head.commit.clone(), clusters: clusters.to_vec() }
}

pub(crate) const SETTINGS: &str = r#"
managementClusters:
- name: mc-eu
  uid: 6f1c0000-0000-4000-8000-000000000001
  clusters: ["gauss/*"]
"#;

/// A note in memory.
#[derive(Default)]
pub(crate) struct Noted(pub(crate) Mutex<Option<String>>);

impl Notes for Noted {
    fn read(&self) -> Result<Option<String>, String> {
        Ok(self.0.lock().unwrap().clone())
    }

    fn write(&self, note: &str) -> Result<(), String> {
        *self.0.lock().unwrap() = Some(note.to_owned());
        Ok(())
    }
}

impl World {
    /// A repository whose clusters `gauss/*` are this management cluster's, with the namespace `org`.
    pub(crate) fn new() -> Self {
        let trial: Arc<FakeTrial> = Arc::default();
        tally::count(tally::Cost::World, 1);
        let clock = Arc::new(TestClock(AtomicI64::new(1_800_000_000)));
        let workloads: Arc<FakeWorkloads> = Arc::default();
        let world = Self {
            files: Mutex::default(),
            live: Arc::new(FakeCluster::new(&["org"])),
            status_store: Arc::default(),
            bot: FakeBot::default(),
            fleet: Mutex::new(fleet()),
            downloads: Mutex::new(super::providers::downloads(&[], clock.clone())),
            cloud_preflight: Arc::default(),
            known_workloads: Arc::new(Workloads::new(Arc::<FakeWorkloads>::clone(&workloads))),
            workloads,
            cloud_credentials: Arc::default(),
            owners_keys: Arc::new(OwnersKeys::with_patience(Duration::from_millis(20))),
            vault_secrets: Arc::default(),
            rolling: Arc::default(),
            underway: Arc::default(),
            clock,
            kinds: Arc::default(),
            dry_run_cache: Arc::default(),
            known_trials: Arc::new(Trial::new(Arc::<FakeTrial>::clone(&trial))),
            trial,
            standing: Mutex::new(TreeOrigin::Confirmed),
            fence: Mutex::default(),
            claiming: Arc::default(),
            operators: Arc::default(),
            over: Mutex::default(),
            commits: AtomicUsize::new(1),
        };
        world.write(".capstan.yaml", SETTINGS);
        world
    }

    pub(crate) fn write(&self, path: &str, content: &str) {
        self.files.lock().unwrap().insert(path.to_owned(), content.to_owned());
        self.commits.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn remove(&self, path: &str) {
        self.files.lock().unwrap().remove(path);
        self.commits.fetch_add(1, Ordering::Relaxed);
    }

    /// Renames a folder: what begins with `from` begins with `to` then.
    pub(crate) fn rename(&self, from: &str, to: &str) {
        let mut files = self.files.lock().unwrap();
        let named = |path: String| path.strip_prefix(from).map(|rest| format!("{to}{rest}")).unwrap_or(path);
        *files = std::mem::take(&mut *files).into_iter().map(|(path, text)| (named(path), text)).collect();
        self.commits.fetch_add(1, Ordering::Relaxed);
    }

    /// Reports ManagedClusters whose folder this management cluster no longer claims.
    pub(crate) async fn try_say_unclaimed(
        &self,
        revision: &Revision,
    ) -> Result<(), capstan_ports::LiveError> {
        let records: Vec<_> = self.status_store.posted().clusters.values().cloned().collect();
        let source = self.fleet.lock().unwrap().spec.source.clone();
        for record in migration_sources(&records, revision).1 {
            report_unclaimed(&self.ports(), &source, revision, record).await?;
        }
        Ok(())
    }

    /// A new commit that changes nothing.
    pub(crate) fn empty_commit(&self) {
        self.commits.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn commit(&self) -> String {
        format!("{:040x}", self.commits.load(Ordering::Relaxed))
    }

    pub(crate) fn pass_time(&self, seconds: i64) {
        self.clock.0.fetch_add(seconds, Ordering::Relaxed);
    }

    pub(crate) fn ports(&self) -> Ports {
        let ports = Ports {
            live: Arc::new(Gate::new(self.live.clone(), 8)),
            status_store: self.status_store.clone(),
            clock: self.clock.clone(),
            kinds: self.kinds.clone(),
            dry_run_cache: self.dry_run_cache.clone(),
            trial: Arc::clone(&self.known_trials),
            // Of a process that begins.
            underway: Arc::new(Underway::new(self.underway.clone(), self.clock.clone())),
            claiming: Arc::clone(&self.claiming),
            operators: Arc::clone(&self.operators),
            downloads: self.downloads.lock().unwrap().clone(),
            cloud_preflight: Arc::clone(&self.cloud_preflight),
            workloads: Arc::clone(&self.known_workloads),
            cloud_credentials: Arc::clone(&self.cloud_credentials),
            owners_keys: Arc::clone(&self.owners_keys),
            vault_secrets: Arc::clone(&self.vault_secrets),
            rolling: Arc::clone(&self.rolling),
        };
        match &*self.fence.lock().unwrap() {
            Some(fence) => ports.fenced(fence),
            None => ports,
        }
    }

    /// What installs providers here.
    pub(crate) fn installer(&self) -> providers::ProviderPorts {
        let account = ServiceAccount { namespace: "org".to_owned(), name: "capstan-providers".to_owned() };
        providers::ProviderPorts {
            live: Arc::new(Gate::new(self.live.clone(), 8)),
            account,
            clock: self.clock.clone(),
            tried: self.dry_run_cache.clone(),
            operators: Arc::clone(&self.operators),
            limit: SignedDuration::from_mins(10),
            downloads: self.downloads.lock().unwrap().clone(),
            watched: watch::Sender::default(),
        }
    }

    /// Opens the files as a commit.
    pub(crate) async fn revision(&self) -> Revision {
        let fleet = self.fleet.lock().unwrap().key.name.clone();
        let files = self.files.lock().unwrap().clone();
        let source = SourceTree {
            commit: CommitId::parse(&self.commit()).unwrap(),
            tree: Arc::new(MemoryTree::new(files)),
        };
        let recorded: BTreeMap<ClusterId, AppliedInventory> = self
            .status_store
            .posted()
            .clusters
            .values()
            .filter(|record| record.spec.fleet == fleet)
            .map(|record| (id(&record.spec.cluster), record.status.inventory.clone()))
            .collect();
        let mut settled = false;
        loop {
            let scopes = self.kinds.known();
            let today = self.clock.now().to_zoned(jiff::tz::TimeZone::UTC).date();
            let ports = self.ports();
            let trial = ports.trial.as_ref();
            let view =
                Viewpoint { name: "mc-eu", uid: UID, scopes: &scopes, recorded: &recorded, today, trial };
            match Revision::open(&source, &view, settled).unwrap() {
                OpenedRevision::Ready(revision) => return *revision,
                OpenedRevision::Unknown(kinds) => {
                    self.kinds.learn(self.live.as_ref(), &kinds).await.unwrap();
                    settled = true;
                }
            }
        }
    }

    /// Opens a tree as a head that is tried before the merge.
    pub(crate) fn head(&self, base: &Revision, tree: Arc<dyn Tree>) -> Revision {
        let source = SourceTree { commit: CommitId::parse(&self.commit()).unwrap(), tree };
        let (ports, scopes) = (self.ports(), self.kinds.known());
        let view = Viewpoint {
            name: "mc-eu",
            uid: UID,
            scopes: &scopes,
            recorded: &BTreeMap::new(),
            today: self.clock.now().to_zoned(jiff::tz::TimeZone::UTC).date(),
            trial: &ports.trial,
        };
        let opened = Revision::open_head(base, &source, &view, true).unwrap();
        let OpenedRevision::Ready(revision) = opened else { unreachable!("kinds are settled") };
        *revision
    }

    /// One turn of a cluster at the present commit.
    pub(crate) async fn reconcile(&self, cluster: &str) -> ReconcileOutcome {
        let revision = self.revision().await;
        self.reconcile_at(&revision, cluster).await
    }

    pub(crate) async fn reconcile_at(&self, revision: &Revision, cluster: &str) -> ReconcileOutcome {
        self.try_turn(revision, cluster).await.unwrap()
    }

    pub(crate) async fn try_turn(
        &self,
        revision: &Revision,
        cluster: &str,
    ) -> Result<ReconcileOutcome, capstan_ports::LiveError> {
        let fleet = self.fleet.lock().unwrap().clone();
        self.turn_of(&fleet, revision, cluster).await
    }

    /// The same for one of several Fleets.
    pub(crate) async fn turn_of(
        &self,
        fleet: &FleetRecord,
        revision: &Revision,
        cluster: &str,
    ) -> Result<ReconcileOutcome, capstan_ports::LiveError> {
        let id = id(cluster);
        let taken = self
            .status_store
            .posted()
            .clusters
            .iter()
            .map(|(name, record)| (name.clone(), record.spec.cluster.clone()))
            .collect();
        let name = resource_names([&id], &taken).remove(&id).unwrap();
        let key = ClusterKey { namespace: "capstan-system".into(), name };
        let is_over = || {
            let mut over = self.over.lock().unwrap();
            match over.as_mut() {
                Some((0, why)) => Some(*why),
                Some((left, _)) => {
                    *left -= 1;
                    None
                }
                None => None,
            }
        };
        let ports = self.ports();
        let request = ReconcileRequest {
            ports: &ports,
            bot: &self.bot,
            fleet,
            revision,
            standing: *self.standing.lock().unwrap(),
            id: &id,
            is_over: &is_over,
        };
        let records: Vec<_> = self.status_store.posted().clusters.values().cloned().collect();
        let (mut migration_sources, _) = migration_sources(&records, revision);
        migrate(&request, &key, &migration_sources.remove(&id).unwrap_or_default()).await?;
        reconcile(&request, &key).await
    }

    /// The status in the status store.
    pub(crate) fn status(&self, name: &str) -> ManagedClusterStatus {
        self.status_store.posted().clusters[name].status.clone()
    }

    /// `True`, `False` or `Unknown` with the reason: `False Refused`.
    pub(crate) fn condition(&self, name: &str, kind: ConditionType) -> String {
        let status = self.status(name);
        match status.conditions.of(kind) {
            Some(condition) => format!("{:?} {}", condition.status, condition.reason),
            None => "none".to_owned(),
        }
    }
}

/// Says which folders cannot be rendered, and renders nothing.
#[derive(Default)]
pub(crate) struct FakeTrial {
    failing: Mutex<BTreeMap<ClusterId, TrialFailed>>,
    /// Trees without that file are not opened.
    failing_without: Mutex<Option<(RepoPath, TrialFailed)>>,
    tried: Mutex<Vec<String>>,
}

impl FakeTrial {
    pub(crate) fn fail(&self, folder: &str, why: TrialFailed) {
        self.failing.lock().unwrap().insert(id(folder), why);
    }

    pub(crate) fn pass(&self, folder: &str) {
        self.failing.lock().unwrap().remove(&id(folder));
    }

    /// From now on trees without that file are not opened.
    pub(crate) fn fail_without(&self, file: &str, why: TrialFailed) {
        *self.failing_without.lock().unwrap() = Some((RepoPath::parse(file).unwrap(), why));
    }

    pub(crate) fn open_all(&self) {
        *self.failing_without.lock().unwrap() = None;
    }

    /// Which folders were tried together, until now.
    pub(crate) fn takes(&self) -> Vec<String> {
        std::mem::take(&mut self.tried.lock().unwrap())
    }
}

impl TrialRenders for FakeTrial {
    fn open(
        &self,
        tree: &Arc<dyn Tree>,
        _settings: Option<&RepositorySettings>,
        _today: Date,
    ) -> Result<(), TrialFailed> {
        match &*self.failing_without.lock().unwrap() {
            Some((file, why)) if tree.entry(file).is_none() => Err(why.clone()),
            _ => Ok(()),
        }
    }

    fn render(
        &self,
        _tree: &Arc<dyn Tree>,
        _settings: &RepositorySettings,
        clusters: &[ClusterId],
    ) -> Result<BTreeMap<ClusterId, TrialFailed>, TrialFailed> {
        let names: Vec<&str> = clusters.iter().map(ClusterId::as_str).collect();
        self.tried.lock().unwrap().push(names.join(" "));
        let failing = self.failing.lock().unwrap();
        let failed = clusters.iter().filter_map(|id| Some((id.clone(), failing.get(id)?.clone())));
        Ok(failed.collect())
    }
}

pub(crate) fn id(text: &str) -> ClusterId {
    ClusterId::new(RepoPath::parse(text).unwrap())
}

fn fleet() -> FleetRecord {
    FleetRecord {
        key: FleetKey { namespace: "capstan-system".into(), name: "fleet".into() },
        uid: "uid-of-fleet".into(),
        resource_version: "1".into(),
        generation: 1,
        spec: FleetSpec {
            management_cluster: "mc-eu".into(),
            source: SourceSpec::Git { url: "https://git".into(), branch: "main".into(), secret: None },
            interval: Duration::from_secs(300),
            timeout: Duration::from_secs(300),
            stuck_after: Duration::from_secs(1_200),
            concurrency: 4,
            service_account: ServiceAccountSpec { name: "capstan-applier".into(), namespace: None },
            guards: Guards {
                max_deletions: 5,
                max_rolling_clusters: None,
                adopt: Adopt::Preview,
                create_clusters: CreateClusters::Recorded,
            },
            cloud_credentials: Vec::new(),
            suspend: false,
        },
        status: FleetStatus::default(),
        reconcile_requested: false,
    }
}

pub(crate) struct MemoryTree {
    entries: Vec<TreeEntry>,
    files: BTreeMap<String, String>,
}

fn digest(text: &str) -> String {
    SpecDigest::of(&serde_json::Value::from(text)).to_string()
}

impl MemoryTree {
    pub(crate) fn new(files: BTreeMap<String, String>) -> Self {
        let entry = |(path, text): (&String, &String)| TreeEntry {
            path: RepoPath::parse(path).unwrap(),
            kind: EntryKind::File,
            blob: BlobId::parse(&digest(text)).unwrap(),
        };
        Self { entries: files.iter().map(entry).collect(), files }
    }
}

impl Tree for MemoryTree {
    fn entries(&self) -> &[TreeEntry] {
        &self.entries
    }
    fn read(&self, entry: &TreeEntry) -> Result<Arc<[u8]>, Unreadable> {
        Ok(self.files[entry.path.as_str()].as_bytes().into())
    }
    fn folder_id(&self, folder: &RepoPath) -> Option<TreeId> {
        // As in Git: a folder of another name with the same files has the same id.
        let below = format!("{folder}/");
        let files = self.files.iter().filter_map(|(path, text)| Some((path.strip_prefix(&below)?, text)));
        let inside: Vec<_> = files.collect();
        (!inside.is_empty()).then(|| TreeId::parse(&digest(&format!("{inside:?}"))).unwrap())
    }
}
