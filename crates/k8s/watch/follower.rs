//! Following one kind, whole or in one namespace, with somebody's rights.

use std::sync::Arc;
use std::time::Duration;

use capstan_live::applying::RefusalKind;
use capstan_model::doubling::Doubling;
use http::Method;
use rand::RngExt as _;
use serde_json::Value;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::{Instant, sleep, timeout};

use super::lines::BodyLines;
use super::memory::{ListedObject, WatchMemory};
use super::rest;
use crate::cluster::KubeCluster;
use crate::discovery::Served;
use crate::rest::ApiCall;
use capstan_outbound::bounded_json::{self, JsonLimits};
use capstan_ports::{ApiKind, As, LiveChange, LiveError};

const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
const METADATA_LIST: &str =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
const PAGE: &str = "500";
/// How long the API server keeps one watch open; the spread keeps many from ending at once.
const WATCH_SECONDS: std::ops::Range<u64> = 240..300;
/// How long a watch may say nothing: bookmarks come about every minute.
const SILENCE: Duration = Duration::from_secs(150);
/// The pauses after failures.
const PAUSES: Doubling = Doubling::new(Duration::from_millis(500), Duration::from_secs(30));
/// The pause before a kind is looked for again that is not served.
const NOT_SERVED: Duration = Duration::from_secs(15);
/// How often a watch that was open is refused before that is believed: an API server that has just begun does not
/// know everybody's rights yet.
const DOUBTS: u32 = 6;

/// What is followed, where, and with whose rights.
#[derive(Debug)]
pub(super) struct Post {
    pub(super) kind: ApiKind,
    /// All where `None`.
    pub(super) namespace: Option<String>,
    /// All where `None`.
    pub(super) name: Option<String>,
    /// What labels must be; anything where `None`.
    pub(super) labels: Option<String>,
    pub(super) by: As,
}

/// What a follower of a whole kind lets the others know.
pub(super) enum Report {
    /// It is watched.
    Open(ApiKind),
    /// It may not be.
    Refused(ApiKind),
}

/// Why following came to its end.
pub(super) enum FollowEnd {
    /// The right to it is missing.
    Refused,
    /// The kind is not served. (Only for single namespaces: a watch of the whole cluster keeps looking for
    /// it.)
    NotServed,
    /// Nobody listens any more.
    Unheard,
}

/// Why a watch came to its end.
enum WatchEnd {
    /// Open it again where it stopped.
    Resume,
    /// Its place is no longer known.
    Lost,
    /// Nobody listens any more.
    Unheard,
}

/// Follows one kind.
pub(super) struct Follower {
    cluster: KubeCluster,
    post: Post,
    sender: mpsc::Sender<LiveChange>,
    /// Held while a list or the beginning of a watch is under way.
    beginnings: Arc<Semaphore>,
    report: Option<mpsc::UnboundedSender<Report>>,
    memory: WatchMemory,
    /// Where the watch continues; `None` before the first list, and when the place is lost.
    place: Option<String>,
    failures: u32,
    /// Whether a watch could be opened since it was refused last.
    is_open: bool,
    doubts: u32,
    was_open: bool,
}

impl Follower {
    pub(super) fn new(
        cluster: KubeCluster,
        post: Post,
        sender: mpsc::Sender<LiveChange>,
        beginnings: Arc<Semaphore>,
    ) -> Self {
        let memory = WatchMemory::new(&post.kind);
        Self {
            cluster,
            post,
            sender,
            beginnings,
            report: None,
            memory,
            place: None,
            failures: 0,
            is_open: false,
            doubts: 0,
            was_open: false,
        }
    }

    /// Lets the others know whether the kind can be watched whole.
    pub(super) fn reporting(mut self, report: mpsc::UnboundedSender<Report>) -> Self {
        self.report = Some(report);
        self
    }

    pub(super) const fn post(&self) -> &Post {
        &self.post
    }

    /// Whether a watch was open before it ended last.
    pub(super) const fn was_open(&self) -> bool {
        self.was_open
    }

    /// Follows until that may or need not be.
    pub(super) async fn follow(&mut self) -> FollowEnd {
        loop {
            let served = match self.cluster.discovery.find(&self.post.kind).await {
                Ok(Some(served)) => served,
                Ok(None) => {
                    // Its definition may have gone, and its objects with it.
                    self.place = None;
                    if self.send_all(Vec::new()).await.is_err() {
                        return FollowEnd::Unheard;
                    }
                    if self.report.is_none() {
                        return FollowEnd::NotServed;
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
                None => self
                    .list(&served)
                    .await
                    .map(|heard| if heard { WatchEnd::Resume } else { WatchEnd::Unheard }),
                Some(place) => {
                    let place = place.clone();
                    self.stream(&served, &place).await
                }
            };
            match outcome {
                Ok(WatchEnd::Resume) => {}
                Ok(WatchEnd::Lost) => {
                    self.place = None;
                    // A server that forgets at once what it has just said is not asked for all again at once.
                    self.pause().await;
                }
                Ok(WatchEnd::Unheard) => return FollowEnd::Unheard,
                Err(error) if error.refusal().is_some_and(|is| is.kind == RefusalKind::Forbidden) => {
                    if self.is_open && self.doubts < DOUBTS {
                        self.doubts += 1;
                        self.pause().await;
                        continue;
                    }
                    self.was_open = std::mem::take(&mut self.is_open);
                    self.send_status(Report::Refused);
                    return FollowEnd::Refused;
                }
                Err(error) => self.fail(&error).await,
            }
        }
    }

    /// Lists the kind, tells what changed since it was last seen, and remembers where to go on.
    async fn list(&mut self, served: &Served) -> Result<bool, LiveError> {
        let beginning = Arc::clone(&self.beginnings).acquire_owned().await;
        let mut next: Option<String> = None;
        let mut found: Vec<ListedObject> = Vec::new();
        loop {
            let mut call = self.call(served).accept(METADATA_LIST).query("limit", PAGE);
            if let Some(token) = &next {
                call = call.query("continue", token);
            }
            let mut page = self.cluster.rest.done(&call).await?;
            if let Some(Value::Array(items)) = page.get_mut("items").map(Value::take) {
                found.extend(items.iter().filter_map(ListedObject::of));
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
        drop(beginning);
        self.failures = 0;
        Ok(self.send_all(found).await.is_ok())
    }

    async fn send_all(&mut self, found: Vec<ListedObject>) -> Result<(), Unheard> {
        for change in self.memory.compare(found) {
            self.tell(change).await?;
        }
        Ok(())
    }

    async fn tell(&self, change: LiveChange) -> Result<(), Unheard> {
        self.sender.send(change).await.map_err(|_| Unheard)
    }

    /// Follows a watch to its end.
    async fn stream(&mut self, served: &Served, place: &str) -> Result<WatchEnd, LiveError> {
        let seconds = rand::rng().random_range(WATCH_SECONDS);
        let call = self
            .call(served)
            .accept(METADATA)
            .query("watch", "true")
            .query("allowWatchBookmarks", "true")
            .query("resourceVersion", place)
            .query("timeoutSeconds", seconds.to_string());
        let beginning = Arc::clone(&self.beginnings).acquire_owned().await;
        let response = match self.cluster.rest.open(&call).await {
            Err(LiveError::Refused { refusal, .. }) if refusal.status == 410 => return Ok(WatchEnd::Lost),
            response => response?,
        };
        drop(beginning);
        let opened = Instant::now();
        self.doubts = 0;
        if !std::mem::replace(&mut self.is_open, true) {
            self.send_status(Report::Open);
        }
        let mut lines = BodyLines::new(response.into_body());
        loop {
            let line = match timeout(SILENCE, lines.next()).await {
                Ok(Some(Ok(line))) => line,
                // The connection broke, or died silently: opening it again shows more.
                Ok(Some(Err(_)) | None) | Err(_) => break,
            };
            let Ok((event, _)) = bounded_json::read(&line, JsonLimits::WHOLE) else { break };
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
                        return Ok(WatchEnd::Lost);
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
                return Ok(WatchEnd::Unheard);
            }
        }
        // A server that closes every watch at once is not asked again at once.
        if opened.elapsed() < Duration::from_secs(1) {
            self.pause().await;
        }
        Ok(WatchEnd::Resume)
    }

    fn call(&self, served: &Served) -> ApiCall<'_> {
        let Post { kind, namespace, name, labels, by } = &self.post;
        let doing = match (namespace, name) {
            (Some(namespace), Some(name)) => format!("watching {kind} {namespace}/{name}"),
            (Some(namespace), None) => format!("watching {kind} in {namespace}"),
            (None, Some(name)) => format!("watching {kind} {name}"),
            (None, None) => format!("watching {kind}"),
        };
        let call = ApiCall::new(doing, by, Method::GET, served.path(namespace.as_deref()));
        let call = match labels {
            Some(labels) => call.query("labelSelector", labels),
            None => call,
        };
        match name {
            // A right on single names covers a list and a watch of that name alone.
            Some(name) => call.query("fieldSelector", format!("metadata.name={name}")),
            None => call,
        }
    }

    fn send_status(&self, report: fn(ApiKind) -> Report) {
        if let Some(to) = &self.report {
            // Nobody hears it where nobody listens to the changes either.
            let _unheard = to.send(report(self.post.kind.clone()));
        }
    }

    async fn fail(&mut self, error: &LiveError) {
        if let Some(RefusalKind::NotFound | RefusalKind::MissingKind) = error.refusal().map(|is| is.kind) {
            // The kind was removed or moved: discovery is read again.
            self.cluster.discovery.doubt(&self.post.kind).await;
            self.place = None;
        } else if self.failures == 0 {
            let kind = &self.post.kind;
            if self.report.is_some() {
                tracing::warn!(%kind, %error, "cannot be watched; Capstan retries");
            } else {
                // The same happens to all of them at once.
                tracing::debug!(%kind, %error, "cannot be watched; Capstan retries");
            }
        }
        self.pause().await;
    }

    async fn pause(&mut self) {
        self.failures = self.failures.saturating_add(1);
        rest(PAUSES, self.failures).await;
    }
}

/// Nobody listens any more.
struct Unheard;
