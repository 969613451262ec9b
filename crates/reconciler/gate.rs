//! The gate before the management cluster: no more requests at a time than an API server should bear from one client,
//! whatever the number of Fleets, clusters and preflights; and no write by a process that leads no more.
//!
//! *Guarantee*: a write first takes its place among the requests, and only then the gate checks that this process
//! leads. However long the write waited, only the request of the check and the write itself follow.
//!
//! *Caveat*: the process may still be stopped between the two. So each write carries what was read of the object. A
//! deletion carries the resource version. An apply carries the UID, and the resource version too where a version may
//! have been raised or no controller writes. An object that was absent is created, or the write is refused.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use capstan_model::object::FieldPath;
use serde_json::Value;
use tokio::sync::{Semaphore, SemaphorePermit, watch};

use capstan_ports::{
    ApiKind, ApiObject, As, Contested, Deleted, Fence, HeldRights, KindScope, KindsInNamespaces, LiveChanges,
    LiveError, ManagementCluster, ObjectPart, Post, Preconditions, Run, Watched,
};

/// A management cluster behind the gate.
#[derive(Clone)]
pub struct Gate {
    live: Arc<dyn ManagementCluster>,
    places: Arc<Semaphore>,
    /// Places of a wider gate behind this one, taken after its own.
    beyond: Option<Arc<Semaphore>>,
    /// What is asked before each write; `None` where nobody else may lead.
    fence: Option<Arc<dyn Fence>>,
}

impl Gate {
    /// At most `requests` at a time; the others wait, first come, first served.
    pub fn new(live: Arc<dyn ManagementCluster>, requests: usize) -> Self {
        Self { live, places: Arc::new(Semaphore::new(requests)), beyond: None, fence: None }
    }

    /// The same, where so many requests are under way beyond it that it has to wait for a place there, too.
    #[must_use]
    pub fn before(self, beyond: &Arc<Semaphore>) -> Self {
        Self { beyond: Some(Arc::clone(beyond)), ..self }
    }

    /// The same places, behind the fence of another gate.
    #[must_use]
    pub fn fenced_as(&self, other: &Self) -> Self {
        Self { fence: other.fence.clone(), ..self.clone() }
    }

    /// The same places, for one term.
    #[must_use]
    pub fn fenced(&self, fence: &Arc<dyn Fence>) -> Self {
        Self { fence: Some(Arc::clone(fence)), ..self.clone() }
    }

    /// Whether this process leads still.
    ///
    /// # Errors
    /// It does not, or that cannot be found out.
    pub async fn check_leading(&self, doing: &str) -> Result<(), LiveError> {
        match &self.fence {
            Some(fence) => fence.check(doing).await,
            None => Ok(()),
        }
    }

    /// A place among the requests under way. No semaphore is ever closed. Who waits for its own place holds none beyond: so
    /// one cluster that does not answer takes no more places of all than it has of its own.
    async fn place(&self) -> RequestSlot<'_> {
        let own = self.places.acquire().await.ok();
        let beyond = match &self.beyond {
            Some(beyond) => beyond.acquire().await.ok(),
            None => None,
        };
        RequestSlot { _own: own, _beyond: beyond }
    }

    /// The same for something that is to be done so.
    async fn place_to(&self, run: Run, doing: &str) -> Result<RequestSlot<'_>, LiveError> {
        let place = self.place().await;
        if run == Run::Real {
            self.check_leading(doing).await?;
        }
        Ok(place)
    }
}

/// A place among the requests under way, until it is dropped.
struct RequestSlot<'g> {
    _own: Option<SemaphorePermit<'g>>,
    _beyond: Option<SemaphorePermit<'g>>,
}

#[async_trait]
impl ManagementCluster for Gate {
    async fn uid(&self) -> Result<String, LiveError> {
        // The probe of health must not wait behind the work.
        self.live.uid().await
    }

    async fn version(&self) -> Result<String, LiveError> {
        let _place = self.place().await;
        self.live.version().await
    }

    async fn rights(&self, by: &As, namespace: &str) -> Result<HeldRights, LiveError> {
        let _place = self.place().await;
        self.live.rights(by, namespace).await
    }

    async fn read(&self, by: &As, object: &ApiObject) -> Result<Option<Value>, LiveError> {
        let _place = self.place().await;
        self.live.read(by, object).await
    }

    async fn list(
        &self,
        by: &As,
        kind: &ApiKind,
        namespace: Option<&str>,
        labels: &[(&str, &str)],
    ) -> Result<Vec<Value>, LiveError> {
        let _place = self.place().await;
        self.live.list(by, kind, namespace, labels).await
    }

    async fn list_metadata(&self, by: &As, kind: &ApiKind, namespace: &str) -> Result<Vec<Value>, LiveError> {
        let _place = self.place().await;
        self.live.list_metadata(by, kind, namespace).await
    }

    async fn warnings(&self, by: &As, namespace: &str) -> Result<Vec<Value>, LiveError> {
        let _place = self.place().await;
        self.live.warnings(by, namespace).await
    }

    async fn apply(
        &self,
        by: &As,
        manifest: &Value,
        run: Run,
        contested: Contested,
    ) -> Result<Value, LiveError> {
        let _place = self.place_to(run, "applying").await?;
        self.live.apply(by, manifest, run, contested).await
    }

    async fn label(&self, by: &As, manifest: &Value) -> Result<Value, LiveError> {
        let _place = self.place_to(Run::Real, "labelling").await?;
        self.live.label(by, manifest).await
    }

    async fn dry_run_create(&self, by: &As, manifest: &Value) -> Result<Value, LiveError> {
        let _place = self.place().await;
        self.live.dry_run_create(by, manifest).await
    }

    async fn patch(
        &self,
        by: &As,
        object: &ApiObject,
        part: ObjectPart,
        patch: &Value,
        run: Run,
    ) -> Result<Value, LiveError> {
        let _place = self.place_to(run, "patching").await?;
        self.live.patch(by, object, part, patch, run).await
    }

    async fn delete(
        &self,
        by: &As,
        object: &ApiObject,
        only: Preconditions<'_>,
        run: Run,
    ) -> Result<Deleted, LiveError> {
        let _place = self.place_to(run, "deleting").await?;
        self.live.delete(by, object, only, run).await
    }

    async fn take_over(
        &self,
        by: &As,
        object: &ApiObject,
        from: &[String],
        let_go: &[FieldPath],
    ) -> Result<(), LiveError> {
        let _place = self.place_to(Run::Real, "taking over").await?;
        self.live.take_over(by, object, from, let_go).await
    }

    async fn scope(&self, kind: &ApiKind) -> Result<Option<KindScope>, LiveError> {
        let _place = self.place().await;
        self.live.scope(kind).await
    }

    async fn kinds_in_namespaces(&self) -> Result<KindsInNamespaces, LiveError> {
        let _place = self.place().await;
        self.live.kinds_in_namespaces().await
    }

    fn watch(&self, watched: watch::Receiver<Watched>) -> LiveChanges {
        self.live.watch(watched)
    }

    fn watch_posts(&self, by: As, posts: watch::Receiver<BTreeSet<Post>>) -> LiveChanges {
        self.live.watch_posts(by, posts)
    }
}
