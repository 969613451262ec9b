//! The source itself: what was given last, what was kept, and when somebody should look.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex as StdMutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use capstan_live::kept_tree::is_newest;
use capstan_model::ids::ClusterId;
use capstan_model::tree::{CommitId, MadeTree, RepoPath};
use futures_util::StreamExt as _;
use jiff::tz::TimeZone;
use tokio::sync::{Mutex, Notify, watch};

use super::kept::StoredFolders;
use super::making::{self, Claimant, DefinitionFolder, EarlierFoldersMade, InventoryResult};
use super::read::{self, ReadInventory, config_maps, kinds, text};
use super::records::ManagedClusters;
use super::telling::tell;
use crate::reconcile::blocking::where_blocking_is_allowed;
use crate::reconcile::dependencies::Ports;
use crate::reconcile::ports::{
    Bot, BotError, ClusterReport, FleetRecord, NoBot, Notes, PendingWork, Preflight, PreflightAnswer,
    SourceError, SourceTree, TreeSource,
};
use capstan_ports::{As, LiveChanges, ManagementCluster as _, ObjectChange, Post};

/// Several changes in a row give one look.
const SETTLE: Duration = Duration::from_millis(500);

/// The inventory of a Fleet's namespace.
pub struct InventorySource {
    ports: Ports,
    fleet: FleetRecord,
    claimant: Claimant,
    labels: BTreeMap<String, String>,
    notes: Arc<dyn Notes>,
    state: Mutex<InventorySourceState>,
    reports: StdMutex<Reports>,
    /// A cluster was reported to stand otherwise.
    is_news: Notify,
    changes: Mutex<LiveChanges>,
    /// What is watched: always the same.
    _posts: watch::Sender<BTreeSet<Post>>,
}

#[derive(Default)]
struct InventorySourceState {
    given: Option<SourceTree>,
    made: InventoryResult,
    records: ManagedClusters,
}

/// What clusters reported.
#[derive(Default)]
struct Reports {
    /// What each said last, in short.
    said: BTreeMap<ClusterId, String>,
    /// The folders of clusters whose ManagedClusters are to be read again.
    reported: BTreeSet<String>,
}

impl InventorySource {
    /// That of a Fleet, which looks for releases by these labels.
    pub fn new(
        ports: &Ports,
        fleet: &FleetRecord,
        uid: &str,
        labels: BTreeMap<String, String>,
        notes: Arc<dyn Notes>,
    ) -> Self {
        let namespace = Some(fleet.key.namespace.clone());
        let said = labels.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(",");
        let post = |kind, labels| Post { kind, namespace: namespace.clone(), name: None, labels };
        let of_objects = kinds().into_iter().map(|(_, kind)| post(kind, None));
        let posts = of_objects.chain([post(config_maps(), Some(said))]).collect();
        let (posts, watched) = watch::channel(posts);
        Self {
            changes: Mutex::new(ports.live.watch_posts(As::Reconciler, watched)),
            _posts: posts,
            ports: ports.clone(),
            fleet: fleet.clone(),
            claimant: Claimant { name: fleet.spec.management_cluster.clone(), uid: uid.to_owned() },
            labels,
            notes,
            state: Mutex::default(),
            reports: StdMutex::default(),
            is_news: Notify::new(),
        }
    }

    fn take_reported(&self) -> BTreeSet<String> {
        let mut reports = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut reports.reported)
    }

    /// Puts back the folders of clusters whose ManagedClusters could not be read.
    fn give_back(&self, reported: BTreeSet<String>) {
        self.reports.lock().unwrap_or_else(PoisonError::into_inner).reported.extend(reported);
    }

    async fn look_at_records(
        &self,
        state: &mut InventorySourceState,
        read: &ReadInventory,
    ) -> Result<(), SourceError> {
        let reported = self.take_reported();
        let (ports, fleet) = (&self.ports, &self.fleet.key);
        // Whether a retiring definition may go depends on the ManagedClusters of this moment: all are listed.
        let goes = read.definitions().any(|one| one.is_deleting && one.retires);
        let looked = match goes {
            true => state.records.list(ports, fleet).await,
            false => state.records.look(ports, fleet, &reported).await,
        };
        looked.map_err(|error| {
            self.give_back(reported);
            let source_name = format!("the ManagedClusters of the Fleet {fleet}");
            SourceError::Away { source_name, reason: error.to_string() }
        })
    }

    /// What is known of the clusters from before: what this process made, else what the kept note and the statuses say.
    async fn before(&self, state: &InventorySourceState, read: &ReadInventory) -> EarlierFoldersMade {
        let mut before = EarlierFoldersMade::default();
        for found in read.definitions() {
            let named = text(&found.status, "/managedCluster");
            let folder = state.records.folder_of(named).and_then(|folder| RepoPath::parse(folder).ok());
            before.owned.extend(folder.map(|folder| (found.name.clone(), ClusterId::new(folder))));
        }
        before.folders = match &state.given {
            Some(_) => folders(&state.made),
            None => match self.read_note().await {
                // What is older than what was applied last brings nothing back.
                Ok(Some(kept)) if is_newest(&kept.revision, self.fleet.status.commit.as_deref()) => {
                    kept.folders
                }
                Ok(_) => BTreeMap::new(),
                Err(error) => {
                    tracing::warn!(fleet = %self.fleet.key, %error, "earlier folders are unknown: a definition that cannot be rendered has no folder");
                    BTreeMap::new()
                }
            },
        };
        let of_folders = before.folders.iter().map(|(name, folder)| (name.clone(), folder.cluster.clone()));
        before.owned.extend(of_folders.collect::<Vec<_>>());
        before
    }

    async fn make(
        &self,
        state: &InventorySourceState,
        read: &Arc<ReadInventory>,
    ) -> Result<(InventoryResult, MadeTree), SourceError> {
        let before = self.before(state, read).await;
        let (read, claimant, trial) =
            (Arc::clone(read), self.claimant.clone(), Arc::clone(&self.ports.trial));
        let today = self.ports.clock.now().to_zoned(TimeZone::UTC).date();
        let make = move || {
            let made = making::make(&read, &before, &claimant, (&trial, today))?;
            let tree = making::tree(made.clusters.values().filter_map(|one| one.folder.as_ref()), &claimant)?;
            Ok((made, tree))
        };
        where_blocking_is_allowed(|| catch_unwind(AssertUnwindSafe(make))).await.unwrap_or_else(|_| {
            let why = "reading it failed with an internal error of Capstan, which the log shows";
            Err(SourceError::Inventory(why.to_owned()))
        })
    }

    async fn read_note(&self) -> Result<Option<StoredFolders>, SourceError> {
        let (notes, uid) = (Arc::clone(&self.notes), self.claimant.uid.clone());
        let read = move || Ok(notes.read()?.and_then(|note| StoredFolders::read(&note, &uid)));
        where_blocking_is_allowed(read).await.map_err(SourceError::Disk)
    }
}

/// The folders in the tree, by the names of their definitions.
fn folders(made: &InventoryResult) -> BTreeMap<String, DefinitionFolder> {
    let all = made.clusters.iter();
    all.filter_map(|(name, outcome)| Some((name.clone(), outcome.folder.clone()?))).collect()
}

#[async_trait]
impl TreeSource for InventorySource {
    async fn kept(&self) -> Result<Option<SourceTree>, SourceError> {
        let Some(kept) = self.read_note().await? else { return Ok(None) };
        let tree = making::tree(kept.folders.values(), &self.claimant)?;
        Ok(Some(SourceTree { commit: kept.revision, tree: Arc::new(tree) }))
    }

    async fn fetch(&self) -> Result<SourceTree, SourceError> {
        let mut state = self.state.lock().await;
        let state = &mut *state;
        let read = read::read(self.ports.live.as_ref(), &self.fleet.key.namespace, &self.labels).await?;
        let read = Arc::new(read);
        self.look_at_records(state, &read).await?;
        let given = state.given.as_ref().filter(|given| given.commit == read.revision);
        let tree = match given {
            Some(given) => given.clone(),
            None => {
                let (made, tree) = self.make(state, &read).await?;
                for why in &read.nameless {
                    tracing::warn!(fleet = %self.fleet.key, why, "a ConfigMap is ignored");
                }
                state.made = made;
                SourceTree { commit: read.revision.clone(), tree: Arc::new(tree) }
            }
        };
        state.given = Some(tree.clone());
        tell(&self.ports, &self.fleet, &read.objects, &state.made, &state.records).await;
        Ok(tree)
    }

    async fn keep(&self, commit: &CommitId) -> Result<(), SourceError> {
        let state = self.state.lock().await;
        if state.given.as_ref().is_none_or(|given| given.commit != *commit) {
            return Ok(());
        }
        let kept = StoredFolders::of(&self.claimant.uid, commit.clone(), folders(&state.made));
        drop(state);
        let notes = Arc::clone(&self.notes);
        let write = move || notes.write(&kept.note()?);
        where_blocking_is_allowed(write).await.map_err(SourceError::Disk)
    }

    async fn at(&self, commit: &CommitId) -> Result<SourceTree, SourceError> {
        let state = self.state.lock().await;
        let given = state.given.as_ref().filter(|given| given.commit == *commit);
        given.cloned().ok_or_else(|| SourceError::Missing {
            source_name: format!("the inventory in the namespace {}", self.fleet.key.namespace),
            what: format!("revision {commit} any more"),
        })
    }

    async fn wait(&self, _after: Option<&CommitId>, patience: Duration) {
        let mut changes = self.changes.lock().await;
        let something = async {
            loop {
                tokio::select! {
                    change = changes.next() => match change {
                        // A change of an object's status changes no folder.
                        Some(change) if change.change == ObjectChange::Status => {}
                        Some(_) => break,
                        None => std::future::pending().await,
                    },
                    () = self.is_news.notified() => break,
                }
            }
        };
        if tokio::time::timeout(patience, something).await.is_ok() {
            tokio::time::sleep(SETTLE.min(patience)).await;
        }
    }
}

/// It answers no preflights; the status of its definitions reports how clusters are.
#[async_trait]
impl Bot for InventorySource {
    async fn work(&self, after: Option<&CommitId>, patience: Duration) -> Result<PendingWork, BotError> {
        NoBot.work(after, patience).await
    }

    async fn answer(
        &self,
        preflight: &Preflight,
        answers: &[PreflightAnswer],
        took: Duration,
    ) -> Result<(), BotError> {
        NoBot.answer(preflight, answers, took).await
    }

    async fn report(&self, report: &ClusterReport) -> Result<(), BotError> {
        let verdict = report.verdict.as_ref().map(|verdict| (verdict.state, verdict.sentence()));
        let said = format!("{:?} {:?} {:?} {verdict:?}", report.outcome, report.refused, report.phase);
        let mut reports = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        if reports.said.get(&report.cluster) != Some(&said) {
            reports.said.insert(report.cluster.clone(), said);
            reports.reported.insert(report.cluster.to_string());
            self.is_news.notify_one();
        }
        Ok(())
    }

    async fn recorded_elsewhere(&self, cluster: &ClusterId) -> Result<Option<String>, BotError> {
        NoBot.recorded_elsewhere(cluster).await
    }
}
