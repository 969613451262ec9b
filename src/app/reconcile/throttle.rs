//! No more requests at a time than an API server should bear from one client, whatever the number of Fleets,
//! clusters and preflights.

use std::sync::Arc;

use async_trait::async_trait;
use capstan_model::object::FieldPath;
use serde_json::Value;
use tokio::sync::{Semaphore, SemaphorePermit, watch};

use crate::app::ports::{
    ApiKind, ApiObject, As, Contested, Deleted, LiveChanges, LiveError, ManagementCluster, Preconditions,
    Run, Scope, Watched,
};

/// A management cluster that is asked so many things at a time, and no more.
pub struct Throttled {
    live: Arc<dyn ManagementCluster>,
    places: Semaphore,
}

impl Throttled {
    /// At most `requests` at a time; the others wait, first come, first served.
    pub fn new(live: Arc<dyn ManagementCluster>, requests: usize) -> Self {
        Self { live, places: Semaphore::new(requests) }
    }

    /// A place among the requests under way. The semaphore is never closed.
    async fn place(&self) -> Option<SemaphorePermit<'_>> {
        self.places.acquire().await.ok()
    }
}

#[async_trait]
impl ManagementCluster for Throttled {
    async fn uid(&self) -> Result<String, LiveError> {
        // The probe of health must not wait behind the work.
        self.live.uid().await
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

    async fn apply(
        &self,
        by: &As,
        manifest: &Value,
        run: Run,
        contested: Contested,
    ) -> Result<Value, LiveError> {
        let _place = self.place().await;
        self.live.apply(by, manifest, run, contested).await
    }

    async fn dry_run_create(&self, by: &As, manifest: &Value) -> Result<Value, LiveError> {
        let _place = self.place().await;
        self.live.dry_run_create(by, manifest).await
    }

    async fn delete(
        &self,
        by: &As,
        object: &ApiObject,
        only: Preconditions<'_>,
        run: Run,
    ) -> Result<Deleted, LiveError> {
        let _place = self.place().await;
        self.live.delete(by, object, only, run).await
    }

    async fn take_over(
        &self,
        by: &As,
        object: &ApiObject,
        from: &[String],
        let_go: &[FieldPath],
    ) -> Result<(), LiveError> {
        let _place = self.place().await;
        self.live.take_over(by, object, from, let_go).await
    }

    async fn scope(&self, kind: &ApiKind) -> Result<Option<Scope>, LiveError> {
        let _place = self.place().await;
        self.live.scope(kind).await
    }

    fn watch(&self, watched: watch::Receiver<Watched>) -> LiveChanges {
        self.live.watch(watched)
    }
}
