//! Watching objects of any kinds for changes.
//!
//! # Expected flow
//! Each kind is listed once, its metadata alone; then its watch is followed from that version on. A watch that
//! ends (the API server ends each after some minutes) is opened again where it stopped. When that place is no
//! longer known (the server was away for long, or its store was compacted), the kind is listed again and held
//! against what was remembered: what changed meanwhile is told then.
//!
//! # Guarantees
//! Nothing is told of what stands there when the watching begins. After that no change is missed for ever;
//! several changes of one object may be told as one.
//!
//! # Caveats
//! Only metadata travels: what changed is read off the generation, labels, annotations, owners, finalizers and
//! the deletion mark. A kind without a generation (ConfigMap, Secret) counts every write as a wish.

mod lines;
mod memory;

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use capstan_domain::applying::RefusalKind;
use futures_util::stream;
use http::Method;
use rand::RngExt as _;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::sync::watch::Receiver;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep, timeout};

use self::lines::Lines;
use self::memory::{Listed, Memory};
use super::cluster::KubeCluster;
use super::discovery::Served;
use super::rest::Call;
use crate::app::ports::{ApiKind, As, LiveChange, LiveChanges, LiveError};

const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
const METADATA_LIST: &str =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
const PAGE: &str = "500";
/// How long the API server keeps one watch open; the spread keeps many from ending at once.
const WATCH_SECONDS: std::ops::Range<u64> = 240..300;
/// How long a watch may say nothing: bookmarks come about every minute.
const SILENCE: Duration = Duration::from_secs(150);
/// The first pause after a failure, and the longest.
const PAUSE: std::ops::RangeInclusive<Duration> = Duration::from_millis(500)..=Duration::from_secs(30);
/// The pause before a kind is tried again that is not served, and one that may not be watched.
const NOT_SERVED: Duration = Duration::from_secs(15);
const FORBIDDEN: Duration = Duration::from_secs(300);
/// How many changes may wait for whoever reads them; then the watches wait.
const BACKLOG: usize = 4096;

/// Watches these kinds in one namespace, or all.
pub(super) fn watch(
    cluster: KubeCluster,
    namespace: Option<String>,
    kinds: Receiver<BTreeSet<ApiKind>>,
) -> LiveChanges {
    let (told, changes) = mpsc::channel(BACKLOG);
    tokio::spawn(supervise(cluster, namespace, kinds, told));
    Box::pin(stream::unfold(changes, |mut changes| async {
        changes.recv().await.map(|change| (change, changes))
    }))
}

/// Keeps one follower a kind, until nobody listens any more.
async fn supervise(
    cluster: KubeCluster,
    namespace: Option<String>,
    mut kinds: Receiver<BTreeSet<ApiKind>>,
    told: mpsc::Sender<LiveChange>,
) {
    // Dropped with this function, and its tasks with it.
    let mut followers = JoinSet::new();
    let mut running: HashMap<ApiKind, AbortHandle> = HashMap::new();
    loop {
        let wanted = kinds.borrow_and_update().clone();
        running.retain(|kind, follower| {
            let keep = wanted.contains(kind);
            if !keep {
                follower.abort();
            }
            keep
        });
        for kind in wanted {
            running.entry(kind.clone()).or_insert_with(|| {
                followers
                    .spawn(Follower::new(cluster.clone(), namespace.clone(), kind, told.clone()).follow())
            });
        }
        tokio::select! {
            () = told.closed() => return,
            changed = kinds.changed() => if changed.is_err() {
                // The set is final: its kinds are watched for as long as somebody listens.
                told.closed().await;
                return;
            },
        }
    }
}

/// Why a watch came to its end.
enum End {
    /// Open it again where it stopped.
    Resume,
    /// Its place is no longer known.
    Lost,
    /// Nobody listens any more.
    Unheard,
}

/// Follows one kind.
struct Follower {
    cluster: KubeCluster,
    namespace: Option<String>,
    kind: ApiKind,
    told: mpsc::Sender<LiveChange>,
    memory: Memory,
    /// Where the watch goes on; `None` before the first list, and when the place is lost.
    place: Option<String>,
    failures: u32,
}

impl Follower {
    fn new(
        cluster: KubeCluster,
        namespace: Option<String>,
        kind: ApiKind,
        told: mpsc::Sender<LiveChange>,
    ) -> Self {
        let memory = Memory::new(&kind);
        Self { cluster, namespace, kind, told, memory, place: None, failures: 0 }
    }

    async fn follow(mut self) {
        loop {
            let served = match self.cluster.discovery.find(&self.kind).await {
                Ok(Some(served)) => served,
                Ok(None) => {
                    // Its definition may have gone, and its objects with it.
                    self.place = None;
                    if self.tell_all(Vec::new()).await.is_err() {
                        return;
                    }
                    sleep(NOT_SERVED).await;
                    continue;
                }
                Err(error) => {
                    self.fail(&error).await;
                    continue;
                }
            };
            let outcome = match &self.place {
                None => self.list(&served).await.map(|heard| if heard { End::Resume } else { End::Unheard }),
                Some(place) => {
                    let place = place.clone();
                    self.stream(&served, &place).await
                }
            };
            match outcome {
                Ok(End::Resume) => {}
                Ok(End::Lost) => self.place = None,
                Ok(End::Unheard) => return,
                Err(error) => self.fail(&error).await,
            }
        }
    }

    /// Lists the kind, tells what changed since it was last seen, and remembers where to go on.
    async fn list(&mut self, served: &Served) -> Result<bool, LiveError> {
        let mut next: Option<String> = None;
        let mut found: Vec<Listed> = Vec::new();
        loop {
            let mut call = self.call(served).accept(METADATA_LIST).query("limit", PAGE);
            if let Some(token) = &next {
                call = call.query("continue", token);
            }
            let mut page = self.cluster.rest.done(&call).await?;
            if let Some(Value::Array(items)) = page.get_mut("items").map(Value::take) {
                found.extend(items.iter().filter_map(Listed::of));
            }
            let text = |pointer: &str| {
                page.pointer(pointer)
                    .and_then(Value::as_str)
                    .filter(|text| !text.is_empty())
                    .map(str::to_owned)
            };
            next = text("/metadata/continue");
            if next.is_none() {
                self.place = text("/metadata/resourceVersion");
                break;
            }
        }
        self.failures = 0;
        Ok(self.tell_all(found).await.is_ok())
    }

    async fn tell_all(&mut self, found: Vec<Listed>) -> Result<(), Unheard> {
        for change in self.memory.compare(found) {
            self.tell(change).await?;
        }
        Ok(())
    }

    async fn tell(&self, change: LiveChange) -> Result<(), Unheard> {
        self.told.send(change).await.map_err(|_| Unheard)
    }

    /// Follows a watch to its end.
    async fn stream(&mut self, served: &Served, place: &str) -> Result<End, LiveError> {
        let seconds = rand::rng().random_range(WATCH_SECONDS);
        let call = self
            .call(served)
            .accept(METADATA)
            .query("watch", "true")
            .query("allowWatchBookmarks", "true")
            .query("resourceVersion", place)
            .query("timeoutSeconds", seconds.to_string());
        let response = match self.cluster.rest.open(&call).await {
            Err(LiveError::Refused { refusal, .. }) if refusal.status == 410 => return Ok(End::Lost),
            response => response?,
        };
        let opened = Instant::now();
        let mut lines = Lines::new(response.into_body());
        loop {
            let line = match timeout(SILENCE, lines.next()).await {
                Ok(Some(Ok(line))) => line,
                // The connection broke, or died silently: it is opened anew, and that tells more.
                Ok(Some(Err(_)) | None) | Err(_) => break,
            };
            let Ok(event) = serde_json::from_slice::<Value>(&line) else { break };
            let object = event.get("object").unwrap_or(&Value::Null);
            let place =
                object.pointer("/metadata/resourceVersion").and_then(Value::as_str).map(str::to_owned);
            let change = match event.get("type").and_then(Value::as_str) {
                Some("ADDED" | "MODIFIED") => self.memory.see(object),
                Some("DELETED") => self.memory.forget(object),
                Some("BOOKMARK") => None,
                Some("ERROR") => {
                    let gone = object.get("code").and_then(Value::as_u64) == Some(410);
                    if gone {
                        return Ok(End::Lost);
                    }
                    break;
                }
                _ => None,
            };
            self.failures = 0;
            if place.is_some() {
                self.place = place;
            }
            if let Some(change) = change
                && self.tell(change).await.is_err()
            {
                return Ok(End::Unheard);
            }
        }
        // A server that closes every watch at once is not asked again at once.
        if opened.elapsed() < Duration::from_secs(1) {
            self.pause().await;
        }
        Ok(End::Resume)
    }

    fn call(&self, served: &Served) -> Call<'static> {
        Call::new(
            format!("watching {}", self.kind),
            &As::Reconciler,
            Method::GET,
            served.path(self.namespace.as_deref()),
        )
    }

    async fn fail(&mut self, error: &LiveError) {
        match error.refusal().map(|refusal| refusal.kind) {
            Some(RefusalKind::Forbidden) => {
                if self.failures == 0 {
                    tracing::warn!(kind = %self.kind, "may not be watched: its objects are compared at the interval alone");
                }
                self.failures = self.failures.saturating_add(1);
                sleep(FORBIDDEN).await;
            }
            // The kind has gone or moved: discovery is asked anew.
            Some(RefusalKind::NotFound | RefusalKind::MissingKind) => {
                self.cluster.discovery.doubt(&self.kind).await;
                self.place = None;
                self.pause().await;
            }
            _ => {
                if self.failures == 0 {
                    tracing::warn!(kind = %self.kind, error = %error, "cannot be watched; it is tried again");
                }
                self.pause().await;
            }
        }
    }

    async fn pause(&mut self) {
        let longest = *PAUSE.end();
        let pause = PAUSE.start().saturating_mul(1 << self.failures.min(8)).min(longest);
        self.failures = self.failures.saturating_add(1);
        // Half of it by chance: after a restart of the API server not all come back at once.
        let share = rand::rng().random_range(0.5..1.0);
        sleep(pause.mul_f64(share)).await;
    }
}

/// Nobody listens any more.
struct Unheard;
