//! The adapter of the management cluster on a real API server with RBAC.
//!
//! Most tests share one: each has a namespace of its own. Those that kill the API server, or read its audit
//! log, start their own.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a panic is how tests fail")]

mod adopting;
mod applying;
mod bootstrapping;
mod definitions;
mod deleting;
mod expiring;
mod inventory_definitions;
mod leading;
mod pods;
mod posting;
pub(crate) mod provider_definitions;
mod rights;
mod unreadable;
mod vault_leases;
mod watching;

pub(crate) use rights::idle_rights;
use std::io::Write as _;
use std::sync::OnceLock;

use axum::Router;
use capstan_k8s::{Connection, KubeCluster};
use capstan_ports::{ApiObject, As, ManagementCluster as _, ServiceAccount};
use serde_json::{Value, json};

use capstan_test_parts::plane::{Parts, Plane};

/// The API server that most tests share; it ends with the process.
pub(crate) fn shared() -> Option<&'static Plane> {
    static PLANE: OnceLock<Option<Plane>> = OnceLock::new();
    PLANE.get_or_init(|| Plane::start(Parts::Kubernetes)).as_ref()
}

/// A connection to a fake API server with these answers.
async fn connected_to(answers: Router) -> Connection {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, answers).await.unwrap() });
    let mut kubeconfig = tempfile::NamedTempFile::new().unwrap();
    writeln!(
        kubeconfig,
        "{{apiVersion: v1, kind: Config, current-context: it, contexts: [{{name: it, context: {{cluster: it, user: it}}}}], \
         clusters: [{{name: it, cluster: {{server: 'http://{address}'}}}}], users: [{{name: it, user: {{}}}}]}}"
    )
    .unwrap();
    capstan_k8s::connect(Some(kubeconfig.path())).await.unwrap()
}

/// A test's own namespace, with an account that applies there.
struct Ground {
    plane: &'static Plane,
    cluster: KubeCluster,
    namespace: String,
}

/// What the one who applies may do in the test's namespace: what `deploy/applier` grants.
const APPLIER: &str = "
apiVersion: v1
kind: Namespace
metadata: {name: NS}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: capstan-applier, namespace: NS}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: capstan-applier, namespace: NS}
rules:
- apiGroups: ['', apps, test.capstan.dev]
  resources: [configmaps, secrets, services, deployments, widgets]
  verbs: [get, list, create, patch, delete]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: capstan-applier, namespace: NS}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: capstan-applier}
subjects: [{kind: ServiceAccount, name: capstan-applier, namespace: NS}]
";

impl Ground {
    /// `None`, said aloud, where no API server is built.
    async fn prepare(namespace: &str) -> Option<Self> {
        let plane = shared()?;
        plane.apply(&APPLIER.replace("NS", namespace));
        let cluster = KubeCluster::new(&connection(plane).await);
        // The API server learns of rights some moments after it took them.
        let probe = ApiObject::of(&config_map(namespace, "probe", &json!({}))).unwrap();
        for _ in 0..300 {
            if cluster.read(&applier(namespace), &probe).await.is_ok() {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        Some(Self { plane, cluster, namespace: namespace.to_owned() })
    }

    fn applier(&self) -> As {
        applier(&self.namespace)
    }

    fn config_map(&self, name: &str, data: &Value) -> Value {
        config_map(&self.namespace, name, data)
    }

    /// What is live, by all rights.
    async fn live(&self, manifest: &Value) -> Option<Value> {
        let object = ApiObject::of(manifest).unwrap();
        self.cluster.read(&As::Reconciler, &object).await.unwrap()
    }
}

async fn connection(plane: &Plane) -> Connection {
    capstan_k8s::connect(Some(&plane.admin_kubeconfig())).await.unwrap()
}

fn applier(namespace: &str) -> As {
    As::Impersonated(ServiceAccount { namespace: namespace.to_owned(), name: "capstan-applier".to_owned() })
}

fn config_map(namespace: &str, name: &str, data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}, "data": data})
}

/// Managers of the fields of a live object, as `name operation`.
fn managers(live: &Value) -> Vec<String> {
    let entries = live.pointer("/metadata/managedFields").and_then(Value::as_array);
    let words = |entry: &Value| {
        format!("{} {}", entry["manager"].as_str().unwrap(), entry["operation"].as_str().unwrap())
    };
    entries.into_iter().flatten().map(words).collect()
}
