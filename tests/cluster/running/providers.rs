//! Passes over the provider objects of a management cluster in memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use capstan_fleet::components::{DownloadLimits, Downloads};
use capstan_ports::{AllowedHosts, Clock, KindScope, ServiceAccount};
use capstan_reconciler::gate::Gate;
use capstan_reconciler::providers::{ProviderMemory, ProviderPassOutcome, ProviderPorts, pass, preview};
use capstan_registries::Fetcher;
use jiff::SignedDuration;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::fake::FakeCluster;
use super::world::TestClock;
use capstan_test_parts::canary;
use capstan_test_parts::components::{COMPONENTS, METADATA, limits};

pub(super) const NAMESPACE: &str = "own-system";
/// The namespace of the core provider.
const CORE: &str = "core-system";

/// A management cluster with an InfrastructureProvider `own`.
pub(super) struct Ground {
    pub(super) live: Arc<FakeCluster>,
    clock: Arc<TestClock>,
    ports: ProviderPorts,
    memory: ProviderMemory,
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
    /// With these hosts, and a core provider that is installed: nobody else is begun before.
    pub(super) async fn new(hosts: &[&str]) -> Self {
        canary::watch_log();
        let live = Arc::new(FakeCluster::new(&[NAMESPACE, CORE]));
        for (group, kind, scope) in [
            ("", "ServiceAccount", KindScope::Namespaced),
            ("apps", "Deployment", KindScope::Namespaced),
            ("capstan.dev", "ManagedProvider", KindScope::Namespaced),
            ("clusterctl.cluster.x-k8s.io", "Provider", KindScope::Namespaced),
            ("rbac.authorization.k8s.io", "ClusterRole", KindScope::Cluster),
        ] {
            live.state().kinds.insert((group.to_owned(), kind.to_owned()), scope);
        }
        let clock = Arc::new(TestClock(AtomicI64::new(1_800_000_000)));
        let ports = ProviderPorts {
            live: Arc::new(Gate::new(Arc::<FakeCluster>::clone(&live), 8)),
            account: ServiceAccount { namespace: "capstan-system".into(), name: "capstan-providers".into() },
            clock: clock.clone(),
            tried: Arc::default(),
            operators: Arc::default(),
            limit: SignedDuration::from_mins(10),
            downloads: downloads(hosts, clock.clone()),
            watched: watch::Sender::default(),
        };
        live.put(json!({"apiVersion": "operator.cluster.x-k8s.io/v1alpha2", "kind": "CoreProvider",
            "metadata": {"name": "cluster-api", "namespace": CORE},
            "spec": {"version": "v1.0.0", "fetchConfig": {"selector": {"matchLabels": {"for": "core"}}}}}));
        live.put(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "core", "namespace": CORE,
                "labels": {"for": "core", "provider.cluster.x-k8s.io/version": "v1.0.0"}},
            "data": {"metadata": METADATA, "components": COMPONENTS.replace("manager", "core-manager").replace(NAMESPACE, CORE)}}));
        let mut ground = Self { live, clock, ports, memory: ProviderMemory::default() };
        ground.pass().await;
        let core = ground.live.object("CoreProvider", "cluster-api").unwrap();
        assert_eq!(core["status"]["installedVersion"], "v1.0.0", "{core}");
        ground.live.take_writes();
        ground
    }

    pub(super) async fn pass(&mut self) -> ProviderPassOutcome {
        pass(&self.ports, &mut self.memory, &|| false).await.unwrap()
    }

    /// What taking over would change, by provider object.
    pub(super) async fn preview(&mut self) -> Vec<(String, String)> {
        let previews = preview(&self.ports, &mut self.memory).await.unwrap();
        previews.into_iter().map(|(id, preview)| (id.to_string(), preview)).collect()
    }

    /// Nothing that is there shows a secret, and nothing that was logged, but the Secrets themselves.
    pub(super) fn shows_no_secret(&self) {
        let state = self.live.state();
        for (key, object) in state.objects.iter().filter(|(key, _)| key.1 != "Secret") {
            canary::assert_none_in(&format!("{key:?}"), object.to_string().as_bytes());
        }
        assert_eq!(canary::logged(), [""; 0]);
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

/// The recorded status of one provider is unreadable: the others are repaired, and its provider object says so.
#[tokio::test]
async fn what_is_remembered_of_one_provider_and_cannot_be_read_stops_that_one_alone() {
    let mut ground = Ground::new(&[]).await;
    let map = |name: &str, components: &str| {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": NAMESPACE,
                "labels": {"for": name, "provider.cluster.x-k8s.io/version": "v1.0.0"}},
            "data": {"metadata": METADATA, "components": components}})
    };
    ground.live.put(map("own", COMPONENTS));
    ground.live.put(map("another", &COMPONENTS.replace("manager", "another-manager")));
    let spec =
        |of: &str| json!({"version": "v1.0.0", "fetchConfig": {"selector": {"matchLabels": {"for": of}}}});
    let mut another = provider(spec("another"));
    another["metadata"]["name"] = json!("another");
    ground.live.put(provider(spec("own")));
    ground.live.put(another);
    ground.pass().await;
    assert_eq!(ground.installed().as_deref(), Some("v1.0.0"));
    for name in ["manager", "another-manager"] {
        assert!(ground.live.object("ServiceAccount", name).is_some(), "{name}");
    }
    let record = "infrastructure-another";
    ground.live.change("ManagedProvider", record, |object| object["status"] = json!({"inventory": 7}));
    for name in ["manager", "another-manager"] {
        ground.live.remove("ServiceAccount", name);
    }
    ground.later(600);
    ground.memory = ProviderMemory::default();
    ground.pass().await;
    assert!(ground.live.object("ServiceAccount", "manager").is_some(), "the other one is repaired");
    assert!(
        ground.live.object("ServiceAccount", "another-manager").is_none(),
        "of this one nothing is known"
    );
    assert_eq!(ground.live.object("ManagedProvider", record).unwrap()["status"], json!({"inventory": 7}));
    let told = ground.live.object("InfrastructureProvider", "another").unwrap()["status"].to_string();
    assert!(told.contains("its status cannot be read"), "{told}");
}
