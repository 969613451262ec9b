//! Hosts for tenant clusters: turns over all SIPClusters of a management cluster, one SIPCluster after the other.
//!
//! *Expected flow*: [`turn`] lists SIPClusters, hosts and policies ([`facts`]). For each SIPCluster it reads what only
//! that one needs and asks [`capstan_hosts::pass`] for the next writes. It performs them side by side ([`perform`]) and
//! notes the results ([`HostMemory`]), until no write is left. What changed since it was noted is read again.
//!
//! *Guarantees*: where SIPCluster or BareMetalHost are not served, nothing is asked beyond that. Objects in a tenant's
//! namespace are read and written as that namespace's service account, and so are hosts written. The reconciler itself
//! lists SIPClusters, hosts, policies, machines and their templates. It also writes the status of SIPClusters, which no
//! tenant may. No Secret with a management controller's credentials is read. One SIPCluster that cannot be served stops
//! no other.
//!
//! Deliberately absent: decisions (the heart's), and when a turn is made (`controllers`).
//!
//! | file | what it does |
//! |---|---|
//! | `turn` | one SIPCluster after the other |
//! | `facts` | what is read for all, and for one |
//! | `perform` | a write, and its result |
//! | `host_keys` | a jump host's key is made |
//! | `issuers` | the Secrets that issuers of tokens need, and the one that is made for them |
//! | `certificates` | certificates that issuers serve: read, judged, made |

mod certificates;
mod facts;
mod host_keys;
mod issuers;
mod perform;
mod turn;
mod unreadable;

use std::collections::BTreeSet;
use std::sync::Arc;

use capstan_hosts::{cluster, host};
pub use capstan_reconciler_core::hosts::HostMemory;
use capstan_reconciler_core::hosts::kinds::{hosts, policies, sip_clusters, templates};
use tokio::sync::watch;

pub(crate) use self::facts::{labels_of, labels_of_others, noting_namespaces};
pub use self::turn::{HostTurnOutcome, turn};
use crate::gate::Gate;
use capstan_ports::{ApiKind, ApiObject, As, Clock, Post, ServiceAccount};

/// The service account of a tenant's namespace, as `deploy/applier` has it.
const ACCOUNT: &str = "capstan-applier";
/// By which the objects of services are found.
pub(super) const MANAGED_BY: (&str, &str) = ("app.kubernetes.io/managed-by", "capstan");
/// The kinds of the objects of services: API version and kind.
const SERVICE_KINDS: [(&str, &str); 4] =
    [("apps/v1", "Deployment"), ("v1", "Service"), ("v1", "Secret"), ("v1", "ConfigMap")];
/// Those of them that tell what runs, and where it is reached.
pub(crate) const RUNNING_KINDS: [(&str, &str); 2] = [SERVICE_KINDS[0], SERVICE_KINDS[1]];
/// What a turn needs.
#[derive(Clone)]
pub struct HostPorts {
    /// The management cluster, behind the fence of the leader.
    pub live: Arc<Gate>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// At which name or address node ports of the management cluster are reached, where somebody said it.
    pub node_ports_at: Option<String>,
    /// Receives what is worth watching with the reconciler's own rights.
    pub watched: watch::Sender<BTreeSet<Post>>,
    /// Receives the namespaces that have SIPClusters: there the objects of services are worth watching, as [`tenant`]
    /// with [`service_posts`].
    pub tenants: watch::Sender<BTreeSet<String>>,
}

/// With whose rights things are done in a tenant's namespace.
pub fn tenant(namespace: &str) -> As {
    As::Impersonated(ServiceAccount { namespace: namespace.to_owned(), name: ACCOUNT.to_owned() })
}

/// What is worth watching in a tenant's namespace.
pub fn service_posts(namespace: &str) -> BTreeSet<Post> {
    let labels = format!("{}={},{}", MANAGED_BY.0, MANAGED_BY.1, host::CLUSTER_NAME);
    let post = |(version, kind): (&str, &str)| Post {
        kind: ApiKind::of_version(version, kind),
        namespace: Some(namespace.to_owned()),
        name: None,
        labels: Some(labels.clone()),
    };
    SERVICE_KINDS.into_iter().map(post).collect()
}

fn secret(named: &cluster::NamespacedName) -> ApiObject {
    ApiObject {
        kind: ApiKind::of_version("v1", "Secret"),
        namespace: Some(named.namespace.clone()),
        name: named.name.clone(),
    }
}

impl HostPorts {
    fn watch(&self, posts: BTreeSet<Post>, tenants: BTreeSet<String>) {
        replace(&self.watched, posts);
        replace(&self.tenants, tenants);
    }
}

fn replace<T: PartialEq>(sender: &watch::Sender<T>, value: T) {
    sender.send_if_modified(|known| {
        let is_new = *known != value;
        *known = value;
        is_new
    });
}

/// What is watched with the reconciler's own rights.
fn posts() -> BTreeSet<Post> {
    let post = |kind| Post { kind, namespace: None, name: None, labels: None };
    [sip_clusters(), hosts(), policies(), templates()].map(post).into()
}
