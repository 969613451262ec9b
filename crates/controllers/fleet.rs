//! The loop of one Fleet: reconciliations for its clusters, and its own status.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use capstan_live::kept_tree::TreeOrigin;
use capstan_model::ids::ClusterId;
use capstan_model::object::ObjectId;
use tokio::sync::{Mutex, Notify, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::cluster::{Ran, reconcile_one, turn_of};
use super::drift::Drift;
use super::follow::{Followed, Follower, Problem};
use super::gauges::FleetCounts;
use super::preflight_worker::PreflightWorker;
use super::sleep_until;
use capstan_ports::{LiveChange, LiveError, ObjectChange};
use capstan_reconciler::reconcile::names::resource_names;
use capstan_reconciler::reconcile::ports::{
    ClusterKey, ClusterRecord, FleetRecord, NewAgent, Note, OpenSource, SourceError, SourceOpener, Tone,
};
use capstan_reconciler::reconcile::rename_migration::migration_sources;
use capstan_reconciler::reconcile::resources::FleetStatus;
use capstan_reconciler::reconcile::revision::Revision;
use capstan_reconciler::reconcile::unclaimed::report_unclaimed;
use capstan_reconciler::reconcile::{
    FleetState, Interruption, Ports, ReconcileOutcome, ReconcileRequest, applied_as, fleet_status,
};
use capstan_reconciler_core::requeue::Requeue;
use capstan_reconciler_core::schedule::Schedule;

/// The pause after the Fleet's source could not be opened.
const REOPEN: Duration = Duration::from_secs(30);

/// The pause after the ManagedClusters could not be listed.
const RELIST: Duration = Duration::from_secs(5);

/// Clusters at which the process before this one died come that much later than the others.
const SUSPECTS: Duration = Duration::from_secs(1);

/// The Fleet's status follows its clusters that soon.
const SAY: Duration = Duration::from_secs(2);

/// What wakes a loop.
#[derive(Debug)]
pub(super) enum Wake {
    /// The Fleet itself has changed, in a way that needs no new loop.
    Fleet(Box<FleetRecord>),
    /// Somebody changed a ManagedCluster.
    Resource(ClusterKey),
    /// Something happened to a live object of a cluster.
    Object(ClusterId, LiveChange),
}

/// What a loop needs.
pub(super) struct FleetLoop {
    pub(super) ports: Ports,
    pub(super) sources: Arc<dyn SourceOpener>,
    pub(super) drift: Arc<Drift>,
    pub(super) uid: String,
    pub(super) fleet: FleetRecord,
    pub(super) wakes: mpsc::UnboundedReceiver<Wake>,
    /// Ends the loop: reconciliations end before their next phase.
    pub(super) stop: CancellationToken,
}

/// A reconciliation that has ended.
struct EndedTurn {
    id: ClusterId,
    took: Duration,
    /// The ManagedClusters that it took over something of.
    migration_sources: Vec<ClusterKey>,
    result: Result<Ran, LiveError>,
}

/// What the loop knows while it runs.
struct FleetLoopState {
    schedule: Schedule<Instant>,
    counted: FleetCounts,
    names: BTreeMap<ClusterId, String>,
    revision: Option<Arc<Revision>>,
    /// How that came to be the one that is applied from.
    standing: TreeOrigin,
    problem: Option<Problem>,
    status: FleetStatus,
    /// The Fleet as it was written last.
    record: FleetRecord,
    /// What each cluster's last reconciliation wrote: its own echo is not a change.
    echoes: BTreeMap<ClusterId, BTreeMap<ObjectId, String>>,
    /// What happened to live objects of clusters while they were reconciled.
    heard: BTreeMap<ClusterId, Vec<LiveChange>>,
    /// Clusters whose ManagedCluster was touched while they were reconciled.
    touched: BTreeSet<ClusterId>,
    /// The last seen generation of each ManagedCluster.
    generations: BTreeMap<ClusterId, i64>,
    /// Clusters whose machines roll: news of their state are worth a reconciliation.
    rolling: BTreeMap<ClusterId, bool>,
    /// ManagedClusters of folders that are gone, by the folder that takes over something of them first of all.
    migration_sources: BTreeMap<ClusterId, Vec<ClusterKey>>,
    /// Held while something is taken over, and while it is found out who has what to take over.
    migrating: Arc<Mutex<()>>,
    running: JoinSet<EndedTurn>,
    /// When the Fleet's status is to be written: a thousand reconciliations are not a thousand writes.
    unsaid: Option<Instant>,
}

impl FleetLoop {
    /// Runs until cancelled, then lets reconciliations in hand end.
    pub(super) async fn run(mut self) {
        let mut state = FleetLoopState {
            schedule: Schedule::default(),
            counted: FleetCounts::default(),
            names: BTreeMap::new(),
            revision: None,
            standing: TreeOrigin::Kept,
            problem: None,
            status: self.fleet.status.clone(),
            record: self.fleet.clone(),
            echoes: BTreeMap::new(),
            heard: BTreeMap::new(),
            touched: BTreeSet::new(),
            generations: BTreeMap::new(),
            rolling: BTreeMap::new(),
            migration_sources: BTreeMap::new(),
            migrating: Arc::default(),
            running: JoinSet::new(),
            unsaid: None,
        };
        let Some(source) = self.open_source(&mut state).await else { return };
        let (tell, mut followed) = watch::channel(Followed::default());
        let poke = Arc::new(Notify::new());
        let beside = self.stop.child_token();
        let follower = Follower {
            ports: self.ports.clone(),
            fleet: self.fleet.clone(),
            uid: self.uid.clone(),
            source: Arc::clone(&source.tree),
            poke: Arc::clone(&poke),
        };
        let worker = PreflightWorker {
            ports: self.ports.clone(),
            fleet: self.fleet.clone(),
            uid: self.uid.clone(),
            source: source.clone(),
            followed: followed.clone(),
            poke: Arc::clone(&poke),
        };
        let follows = tokio::spawn(follower.run(tell, beside.clone()));
        let preflights = tokio::spawn(worker.run(beside.clone()));
        loop {
            self.tell_of_enrolment(&source).await;
            let due = state.schedule.next().filter(|_| self.has_room(&state));
            tokio::select! {
                () = self.stop.cancelled() => break,
                Ok(()) = followed.changed() => {
                    let now = followed.borrow_and_update().clone();
                    self.take_over(&mut state, now).await;
                }
                Some(wake) = self.wakes.recv() => self.wake(&mut state, wake, &poke).await,
                Some(ran) = state.running.join_next() => match ran {
                    Ok(ran) => self.end(&mut state, ran).await,
                    Err(died) => tracing::error!(fleet = %self.fleet.key, error = %died, "reconciling a cluster crashed"),
                },
                () = sleep_until(due) => self.begin(&mut state, &source, &followed),
                () = sleep_until(state.unsaid) => {
                    let _said = self.say(&mut state).await;
                }
            }
        }
        // Each reconciliation sees the stop before its next phase; what it does until then it finishes.
        while state.running.join_next().await.is_some() {}
        beside.cancel();
        let _ended = tokio::join!(follows, preflights);
        state.counted.clear(&self.fleet.key);
        self.ports.rolling.forget(&self.fleet.key);
        // A gauge cannot be removed, and its last value would be exported for ever: this value compares with
        // nothing.
        metrics::gauge!("capstan_source_up", "fleet" => self.fleet.key.to_string()).set(f64::NAN);
    }

    /// Who may act for this management cluster is for all to see who look at its Fleet.
    async fn tell_of_enrolment(&self, source: &OpenSource) {
        let Some(NewAgent { agent, bot, key }) = source.bot.newly_enrolled() else { return };
        let message = format!(
            "This reconciler has enrolled with the bot at {bot}, as agent {agent} with the key {key}. `capstan agents \
             list` shows it there, and `capstan agents revoke {agent}` ends it."
        );
        let note = Note { tone: Tone::Normal, reason: "Enrolled", message };
        self.ports.status_store.note_fleet(&self.fleet, &note).await;
    }

    fn has_room(&self, state: &FleetLoopState) -> bool {
        state.running.len() < self.fleet.spec.concurrency.max(1)
    }

    /// Opens the source, as often as it takes.
    async fn open_source(&mut self, state: &mut FleetLoopState) -> Option<OpenSource> {
        loop {
            let opened =
                if self.fleet.spec.suspend { Err(None) } else { self.try_open().await.map_err(Some) };
            match opened {
                Ok(source) => return Some(source),
                Err(error) => {
                    state.problem = error.map(|error| Problem {
                        reason: error.kind(),
                        message: error.to_string(),
                        in_commit: false,
                    });
                    let _said = self.say(state).await;
                }
            }
            tokio::select! {
                () = self.stop.cancelled() => return None,
                () = tokio::time::sleep(REOPEN) => {}
                wake = self.wakes.recv() => match wake {
                    Some(Wake::Fleet(record)) => self.fleet = *record,
                    Some(_) => {}
                    None => return None,
                },
            }
        }
    }

    async fn try_open(&self) -> Result<OpenSource, SourceError> {
        let secret = match self.fleet.spec.source.secret() {
            Some(name) => {
                let namespace = &self.fleet.key.namespace;
                let found = self.ports.status_store.secret(namespace, name).await;
                let found = found.map_err(|error| SourceError::Settings(error.to_string()))?;
                Some(found.ok_or_else(|| {
                    SourceError::Settings(format!(
                        "there is no Secret {namespace}/{name}, which `spec.source` names: create it in the namespace of the Fleet"
                    ))
                })?)
            }
            None => None,
        };
        self.sources.open(&self.ports, &self.fleet, &self.uid, secret).await
    }

    /// Takes over what the source has now.
    async fn take_over(&self, state: &mut FleetLoopState, followed: Followed) {
        state.problem = followed.problem;
        let is_confirmed_now = std::mem::replace(&mut state.standing, followed.standing) != followed.standing;
        let earlier = std::mem::replace(&mut state.revision, followed.revision);
        let is_same = match (&earlier, &state.revision) {
            (Some(earlier), Some(revision)) => Arc::ptr_eq(earlier, revision) && !is_confirmed_now,
            _ => false,
        };
        match &state.revision {
            Some(revision) if !is_same => {
                let revision = Arc::clone(revision);
                let migrating = Arc::clone(&state.migrating);
                let _nobody_hands_over = migrating.lock().await;
                let Some(records) = self.list_records().await else { return };
                // What a kept tree did not allow is tried again.
                let earlier = earlier.filter(|_| !is_confirmed_now);
                self.adopt_revision(state, &revision, earlier.as_deref(), &records);
                self.note_commit(state).await;
                self.hand_over(state, &revision, &records).await;
                return;
            }
            Some(_) => {}
            // Nothing is applied from a commit with unreadable settings, nor from an earlier one: the owners
            // of the clusters are unknown now.
            None => state.schedule.keep([], Instant::now()),
        }
        let _said = self.say(state).await;
    }

    /// Records which commit is applied, before anything is: a process with another one on its disk sees that
    /// it may be older. Tried until it is written, or the loop ends.
    async fn note_commit(&self, state: &mut FleetLoopState) {
        while !self.say(state).await {
            tokio::select! {
                () = self.stop.cancelled() => return,
                () = tokio::time::sleep(RELIST) => {}
            }
        }
    }

    /// The ManagedClusters, asked for until there is an answer; `None` where the loop ends.
    async fn list_records(&self) -> Option<Vec<ClusterRecord>> {
        loop {
            match self.ports.status_store.clusters(&self.fleet.key).await {
                Ok(records) => return Some(records),
                Err(error) => {
                    tracing::warn!(fleet = %self.fleet.key, %error, "the ManagedClusters cannot be listed");
                }
            }
            tokio::select! {
                () = self.stop.cancelled() => return None,
                () = tokio::time::sleep(RELIST) => {}
            }
        }
    }

    fn adopt_revision(
        &self,
        state: &mut FleetLoopState,
        revision: &Arc<Revision>,
        earlier: Option<&Revision>,
        records: &[ClusterRecord],
    ) {
        let now = Instant::now();
        let taken =
            records.iter().map(|record| (record.key.name.clone(), record.spec.cluster.clone())).collect();
        state.names = resource_names(revision.clusters(), &taken);
        state.schedule.keep(revision.clusters(), now);
        state.counted.keep(&self.fleet.key, |id| revision.claims.contains_key(id));
        for id in revision.clusters() {
            let same = earlier.is_some_and(|earlier| earlier.print(id) == revision.print(id));
            if !same {
                state.schedule.forgive(id);
                state.schedule.ask(id, now);
            }
        }
        let suspects = self.ports.underway.suspects(&self.fleet.key);
        for id in revision.clusters().filter(|id| suspects.contains(id.as_str())) {
            state.schedule.put_off(id, now + SUSPECTS);
        }
        self.drift.keep(&self.fleet.key, |id| revision.claims.contains_key(id));
        self.ports.rolling.take_up(&self.fleet.key, records, |id| revision.claims.contains_key(id));
        for record in records {
            let known = state.names.iter().find(|(_, name)| **name == record.key.name);
            if let Some((id, _)) = known {
                let ids = record.status.inventory.objects().iter().map(|object| object.id()).collect();
                let account = applied_as(revision.fleet.settings(), id, &self.fleet);
                self.drift.set(&self.fleet.key, id, &account, ids);
                state.counted.seed(id, &record.status);
            }
        }
    }

    /// Finds out which folder takes over what of folders that are gone, and says so of those of which none does.
    async fn hand_over(
        &self,
        state: &mut FleetLoopState,
        revision: &Arc<Revision>,
        records: &[ClusterRecord],
    ) {
        let now = Instant::now();
        if !state.standing.may_delete() {
            // Whose folder is gone or renamed says a tree that is the newest.
            state.migration_sources.clear();
            return;
        }
        let (migration_sources, alone) = migration_sources(records, revision);
        migration_sources.keys().for_each(|owner| state.schedule.ask(owner, now));
        state.migration_sources = migration_sources;
        for record in alone {
            let source = &self.fleet.spec.source;
            if let Err(error) = report_unclaimed(&self.ports, source, revision, record).await {
                tracing::warn!(cluster = record.spec.cluster, %error, "its status cannot be written");
            }
        }
    }

    async fn wake(&mut self, state: &mut FleetLoopState, wake: Wake, poke: &Notify) {
        match wake {
            Wake::Fleet(record) => {
                let asked = record.reconcile_requested || self.fleet.spec != record.spec;
                self.fleet = *record;
                if asked {
                    let now = Instant::now();
                    for id in state.names.keys() {
                        state.schedule.forgive(id);
                        state.schedule.ask(id, now);
                    }
                    poke.notify_one();
                }
                if self.fleet.reconcile_requested
                    && let Err(error) = self.ports.status_store.clear_request_of_fleet(&self.fleet.key).await
                {
                    tracing::warn!(fleet = %self.fleet.key, %error, "the annotation capstan.dev/reconcile stays");
                }
                let _said = self.say(state).await;
            }
            Wake::Resource(key) => {
                let named = state.names.iter().find(|(_, name)| **name == key.name).map(|(id, _)| id.clone());
                match named {
                    Some(id) if state.schedule.runs(&id) => {
                        state.touched.insert(id);
                    }
                    Some(id) => self.enqueue_resource(state, &id, &key).await,
                    None => {}
                }
            }
            Wake::Object(id, change) => {
                if state.schedule.runs(&id) {
                    state.heard.entry(id).or_default().push(change);
                } else {
                    hear(state, &id, &change);
                }
            }
        }
    }

    /// A ManagedCluster was changed: its creation, most likely by this loop, is not a change.
    async fn enqueue_resource(&self, state: &mut FleetLoopState, id: &ClusterId, key: &ClusterKey) {
        let is_news = match self.ports.status_store.cluster(key).await {
            Ok(Some(record)) => {
                record.reconcile_requested || state.generations.get(id) != Some(&record.generation)
            }
            // The next reconciliation makes it again.
            Ok(None) => true,
            Err(error) => {
                tracing::warn!(cluster = %id, %error, "the ManagedCluster cannot be read");
                true
            }
        };
        if is_news {
            state.schedule.forgive(id);
            state.schedule.ask(id, Instant::now());
        }
    }

    fn begin(&self, state: &mut FleetLoopState, source: &OpenSource, followed: &watch::Receiver<Followed>) {
        let Some(revision) = state.revision.clone() else { return };
        while self.has_room(state) {
            let Some(id) = state.schedule.begin(Instant::now()) else { return };
            let Some(name) = state.names.get(&id) else { continue };
            let key = ClusterKey { namespace: self.fleet.key.namespace.clone(), name: name.clone() };
            let (ports, fleet, bot) = (self.ports.clone(), self.fleet.clone(), Arc::clone(&source.bot));
            let (revision, followed, stop) = (Arc::clone(&revision), followed.clone(), self.stop.clone());
            let migration_sources = state.migration_sources.get(&id).cloned().unwrap_or_default();
            let (migrating, standing) = (Arc::clone(&state.migrating), state.standing);
            state.running.spawn(async move {
                let started = Instant::now();
                let is_over = || {
                    if stop.is_cancelled() {
                        return Some(Interruption::Stopping);
                    }
                    let newest = followed.borrow();
                    let superseded = match &newest.revision {
                        Some(newest) => newest.print(&id) != revision.print(&id),
                        None => true,
                    };
                    superseded.then_some(Interruption::Superseded)
                };
                let request = ReconcileRequest {
                    ports: &ports,
                    bot: bot.as_ref(),
                    fleet: &fleet,
                    revision: &revision,
                    standing,
                    id: &id,
                    is_over: &is_over,
                };
                let mut migrated = migration_sources;
                let result = reconcile_one(&request, &key, &mut migrated, &migrating).await;
                EndedTurn { id: id.clone(), took: started.elapsed(), migration_sources: migrated, result }
            });
        }
    }

    async fn end(&self, state: &mut FleetLoopState, ended: EndedTurn) {
        let EndedTurn { id, took, migration_sources, result } = ended;
        let most = self.fleet.spec.guards.max_rolling_clusters;
        let need = match &result {
            Ok(Ran::Reconciled(outcome)) => {
                state.counted.note(&self.fleet.key, &id, outcome, took);
                let objects = outcome.status.inventory.objects().iter().map(|object| object.id()).collect();
                if let Some(revision) = &state.revision {
                    let account = applied_as(revision.fleet.settings(), &id, &self.fleet);
                    self.drift.set(&self.fleet.key, &id, &account, objects);
                }
                state.rolling.insert(id.clone(), turn_of(outcome).is_rolling());
                let told = (&outcome.status, &outcome.ended);
                for next in self.ports.rolling.ended(&self.fleet.key, &id, told, most) {
                    state.schedule.ask(&next, Instant::now());
                }
                turn_of(outcome).requeue()
            }
            Ok(Ran::Over) => Requeue::Now,
            Ok(Ran::NotYet(_)) => Requeue::NotBegun,
            Err(error) => {
                tracing::warn!(cluster = %id, %error, "the ManagedCluster cannot be read or written");
                metrics::counter!("capstan_reconciler_failures_total", "cause" => error.kind()).increment(1);
                for next in self.ports.rolling.asks_later(&self.fleet.key, &id, most) {
                    state.schedule.ask(&next, Instant::now());
                }
                Requeue::Retry
            }
        };
        let put_off = match &result {
            Ok(Ran::Reconciled(outcome)) => self.put_off(outcome),
            Ok(Ran::NotYet(pause)) => Some(*pause),
            Ok(Ran::Over) | Err(_) => None,
        };
        if let Ok(Ran::Reconciled(outcome)) = result {
            state.generations.insert(id.clone(), outcome.generation);
            state.echoes.insert(id.clone(), outcome.written);
            if let Some(left) = state.migration_sources.get_mut(&id) {
                left.retain(|source| !migration_sources.contains(source));
            }
        }
        let interval = self.fleet.spec.interval;
        state.schedule.end(&id, need, interval, rand::random::<f64>(), Instant::now());
        if let Some(pause) = put_off {
            state.schedule.ask(&id, Instant::now() + pause);
        }
        for change in state.heard.remove(&id).unwrap_or_default() {
            // An object that the reconciliation itself deleted, for example, has no owner any more.
            let is_its = self.drift.owner(&change.object).is_some_and(|(_, owner)| owner == id);
            if is_its {
                hear(state, &id, &change);
            }
        }
        if state.touched.remove(&id)
            && let Some(name) = state.names.get(&id)
        {
            let key = ClusterKey { namespace: self.fleet.key.namespace.clone(), name: name.clone() };
            self.enqueue_resource(state, &id, &key).await;
        }
        if let Some(revision) = &state.revision {
            state.schedule.keep(revision.clusters(), Instant::now());
        }
        state.unsaid.get_or_insert_with(|| Instant::now() + SAY);
    }

    /// In how long machines begin to roll that wait for their own time, or a folder is tried again.
    fn put_off(&self, outcome: &ReconcileOutcome) -> Option<Duration> {
        let until = outcome.put_off_until?;
        Some(Duration::try_from(until.duration_since(self.ports.clock.now())).unwrap_or_default())
    }

    /// Writes the Fleet's status, if it changed; returns whether it is written.
    async fn say(&self, state: &mut FleetLoopState) -> bool {
        state.unsaid = None;
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let facts = FleetState {
            uid: &self.uid,
            commit: state.revision.as_ref().map(|revision| revision.commit.as_str()),
            clusters: state.revision.as_ref().map_or(0, |revision| count(revision.claims.len())),
            done: count(state.counted.done()),
            left_out: state.revision.as_ref().and_then(|revision| revision.left_out()),
            problem: state.problem.as_ref().map(|problem| (problem.reason, problem.message.as_str())),
        };
        let up = if state.problem.is_none() { 1.0 } else { 0.0 };
        metrics::gauge!("capstan_source_up", "fleet" => self.fleet.key.to_string()).set(up);
        let status = fleet_status(&self.fleet, &state.status, &facts, self.ports.clock.now());
        if status == state.status {
            return true;
        }
        let status_store = &self.ports.status_store;
        let written = match status_store.write_fleet(&state.record, &status).await {
            // Somebody touched the Fleet: what it says now is what is gone on from.
            Err(error) if error.is_conflict() => match status_store.fleet(&self.fleet.key).await {
                Ok(Some(now)) if now.uid == self.fleet.uid => {
                    state.status.clone_from(&now.status);
                    state.record = now;
                    let status = fleet_status(&self.fleet, &state.status, &facts, self.ports.clock.now());
                    let written = status_store.write_fleet(&state.record, &status).await;
                    written.map(|version| (version, status))
                }
                _ => Err(error),
            },
            written => written.map(|version| (version, status)),
        };
        match written {
            Ok((version, status)) => {
                state.record.resource_version = version;
                state.status = status;
                true
            }
            Err(error) => {
                tracing::warn!(fleet = %self.fleet.key, %error, "the Fleet's status cannot be written");
                false
            }
        }
    }
}

/// Has a cluster reconciled for a change of a live object that is worth one.
fn hear(state: &mut FleetLoopState, id: &ClusterId, change: &LiveChange) {
    let echo = state.echoes.get(id).and_then(|written| written.get(&change.object));
    if echo.is_some_and(|version| *version == change.resource_version && !version.is_empty()) {
        return;
    }
    match change.change {
        ObjectChange::Spec | ObjectChange::Deleted | ObjectChange::Added => {
            state.schedule.object_changed(id, Instant::now())
        }
        // Its controller got on.
        ObjectChange::Status if state.rolling.get(id).copied().unwrap_or(false) => {
            state.schedule.requeue_soon(id, Instant::now());
        }
        ObjectChange::Status => {}
    }
}
