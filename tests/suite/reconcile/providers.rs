//! Passes over the provider objects of a management cluster in memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use capstan::app::components::{DownloadLimits, Downloads};
use capstan::app::ports::{AllowedHosts, Clock, Scope, ServiceAccount};
use capstan::app::providers::{Memory, Outcome, Ports, pass, preview};
use capstan::app::reconcile::Gate;
use capstan::components::Fetcher;
use jiff::SignedDuration;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::fake::FakeCluster;
use super::world::TestClock;
use crate::components::limits;

pub(super) const NAMESPACE: &str = "own-system";

/// A management cluster with an InfrastructureProvider `own`.
pub(super) struct Ground {
    pub(super) live: Arc<FakeCluster>,
    clock: Arc<TestClock>,
    ports: Ports,
    memory: Memory,
}

/// Fetches from these hosts.
pub(super) fn downloads(hosts: &[&str], clock: Arc<dyn Clock>) -> Downloads {
    let hosts = AllowedHosts::new(hosts.iter().copied());
    let source = Fetcher::new(hosts.clone(), limits()).unwrap();
    Downloads::new(hosts, Box::new(source), clock, DownloadLimits::default())
}

/// An InfrastructureProvider `own` with this spec.
pub(super) fn provider(spec: Value) -> Value {
    json!({"apiVersion": "operator.cluster.x-k8s.io/v1alpha2", "kind": "InfrastructureProvider",
        "metadata": {"name": "own", "namespace": NAMESPACE}, "spec": spec})
}

impl Ground {
    /// With these hosts, and nothing else.
    pub(super) fn new(hosts: &[&str]) -> Self {
        let live = Arc::new(FakeCluster::new(&[NAMESPACE]));
        for (group, kind, scope) in [
            ("", "ServiceAccount", Scope::Namespaced),
            ("apps", "Deployment", Scope::Namespaced),
            ("capstan.dev", "ManagedProvider", Scope::Namespaced),
            ("clusterctl.cluster.x-k8s.io", "Provider", Scope::Namespaced),
            ("rbac.authorization.k8s.io", "ClusterRole", Scope::Cluster),
        ] {
            live.state().kinds.insert((group.to_owned(), kind.to_owned()), scope);
        }
        let clock = Arc::new(TestClock(AtomicI64::new(1_800_000_000)));
        let ports = Ports {
            live: Arc::new(Gate::new(Arc::<FakeCluster>::clone(&live), 8)),
            account: ServiceAccount { namespace: "capstan-system".into(), name: "capstan-providers".into() },
            clock: clock.clone(),
            tried: Arc::default(),
            operators: Arc::default(),
            limit: SignedDuration::from_mins(10),
            downloads: downloads(hosts, clock.clone()),
            watched: watch::Sender::default(),
        };
        Self { live, clock, ports, memory: Memory::default() }
    }

    pub(super) async fn pass(&mut self) -> Outcome {
        pass(&self.ports, &mut self.memory, &|| false).await.unwrap()
    }

    /// What taking over would change, by provider object.
    pub(super) async fn preview(&mut self) -> Vec<(String, String)> {
        let previews = preview(&self.ports, &mut self.memory).await.unwrap();
        previews.into_iter().map(|(id, preview)| (id.to_string(), preview)).collect()
    }

    pub(super) fn later(&self, seconds: i64) {
        self.clock.0.fetch_add(seconds, Ordering::SeqCst);
    }

    /// A condition of the provider object: reason and message.
    pub(super) fn condition(&self, kind: &str) -> (String, String) {
        let object = self.live.object("InfrastructureProvider", "own").unwrap();
        let conditions = object["status"]["conditions"].as_array().unwrap();
        let condition = conditions.iter().find(|condition| condition["type"] == kind);
        let text = |key: &str| condition.and_then(|one| one[key].as_str()).unwrap_or_default().to_owned();
        (text("reason"), text("message"))
    }

    pub(super) fn installed(&self) -> Option<String> {
        let object = self.live.object("InfrastructureProvider", "own").unwrap();
        object["status"]["installedVersion"].as_str().map(str::to_owned)
    }
}
