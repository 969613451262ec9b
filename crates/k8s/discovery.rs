//! Which kinds the API server serves, under which paths: read at once for all of them, remembered, and read
//! again when a kind is not among them.
//!
//! Not kube's `Discovery`: it takes one preferred version for a whole group, and infrastructure providers share a group
//! with versions of their own; one group without versions fails all; its requests go round [`super::rest`]'s bounds.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Instant;

use capstan_model::object::api_version;
use http::Method;
use serde_json::Value;
use tokio::sync::{Mutex, RwLock};

use super::rest::{ApiCall, ApiServer};
use capstan_ports::{ApiKind, As, KindScope, KindsInNamespaces, LiveError};

/// The aggregated form: one answer for all groups (Kubernetes 1.30; 1.26 as v2beta1).
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";

/// A kind in one version, as it is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Served {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) kind: String,
    pub(super) plural: String,
    pub(super) scope: KindScope,
    /// Whether all objects can be read at once.
    pub(super) is_listed: bool,
}

impl Served {
    /// `apps/v1`, `v1`.
    pub(super) fn api_version(&self) -> String {
        api_version(&self.group, &self.version)
    }

    /// The path of all objects, or of all in a namespace.
    pub(super) fn path(&self, namespace: Option<&str>) -> String {
        let root = if self.group.is_empty() { "/api" } else { "/apis" };
        let (api_version, plural) = (self.api_version(), &self.plural);
        match namespace.filter(|_| self.scope == KindScope::Namespaced) {
            Some(namespace) => format!("{root}/{api_version}/namespaces/{namespace}/{plural}"),
            None => format!("{root}/{api_version}/{plural}"),
        }
    }
}

/// Every version of a kind, the preferred one first.
type Catalogue = HashMap<(String, String), Vec<Arc<Served>>>;

/// What was read when.
#[derive(Default)]
struct DiscoveryReading {
    catalogue: Catalogue,
    begun: Option<Instant>,
}

/// What the API server serves.
pub(super) struct Discovery {
    rest: ApiServer,
    known: RwLock<DiscoveryReading>,
    /// Held during a read: a waiter finds what the other has read.
    reading: Mutex<()>,
}

impl Discovery {
    pub(super) fn new(rest: ApiServer) -> Self {
        Self { rest, known: RwLock::default(), reading: Mutex::default() }
    }

    /// How a kind is served; `None` where it is not, by an answer that is younger than the question.
    pub(super) async fn find(&self, kind: &ApiKind) -> Result<Option<Arc<Served>>, LiveError> {
        if let Some(served) = self.remembered(kind).await {
            return Ok(Some(served));
        }
        self.find_again(kind, Instant::now()).await
    }

    /// The same for one who has learned, at that moment, that what is remembered is wrong.
    pub(super) async fn find_again(
        &self,
        kind: &ApiKind,
        asked: Instant,
    ) -> Result<Option<Arc<Served>>, LiveError> {
        let _turn = self.reading.lock().await;
        let fresh = self.known.read().await.begun.is_some_and(|begun| begun >= asked);
        if !fresh {
            let begun = Instant::now();
            let (catalogue, _) = self.read().await?;
            *self.known.write().await = DiscoveryReading { catalogue, begun: Some(begun) };
        }
        Ok(self.remembered(kind).await)
    }

    /// The namespaced kinds that can be listed, each in its preferred version, read again.
    pub(super) async fn in_namespaces(&self) -> Result<KindsInNamespaces, LiveError> {
        let (catalogue, unread) = self.read().await?;
        let first = catalogue.into_values().filter_map(|versions| versions.into_iter().next());
        let mut kinds: Vec<ApiKind> = first
            .filter(|served| served.scope == KindScope::Namespaced && served.is_listed)
            .map(|served| ApiKind::of_version(&served.api_version(), served.kind.as_str()))
            .collect();
        kinds.sort();
        Ok(KindsInNamespaces { kinds, unread })
    }

    /// Forgets a kind that did not answer as it was remembered.
    pub(super) async fn doubt(&self, kind: &ApiKind) {
        self.known.write().await.catalogue.remove(&(kind.group.clone(), kind.kind.clone()));
    }

    async fn remembered(&self, kind: &ApiKind) -> Option<Arc<Served>> {
        let known = self.known.read().await;
        let versions = known.catalogue.get(&(kind.group.clone(), kind.kind.clone()))?;
        let is_meant =
            |served: &&Arc<Served>| kind.version.as_ref().is_none_or(|wanted| *wanted == served.version);
        versions.iter().find(is_meant).cloned()
    }

    /// The served kinds, and the groups that are unknown now because their server does not answer.
    async fn read(&self) -> Result<(Catalogue, BTreeSet<String>), LiveError> {
        let (mut catalogue, mut unread) = (Catalogue::new(), BTreeSet::new());
        for path in ["/api", "/apis"] {
            let call = ApiCall::new("reading which kinds are served", &As::Reconciler, Method::GET, path)
                .accept(AGGREGATED);
            let list = self.rest.done(&call).await?;
            if list.get("kind").and_then(Value::as_str) != Some("APIGroupDiscoveryList") {
                return Err(
                    call.unreachable("it has no aggregated discovery: Kubernetes 1.30 or newer is needed")
                );
            }
            read_groups(&list, &mut catalogue, &mut unread);
        }
        Ok((catalogue, unread))
    }
}

/// Takes the kinds out of an `APIGroupDiscoveryList`. Groups and versions are in the order of preference.
fn read_groups(list: &Value, catalogue: &mut Catalogue, unread: &mut BTreeSet<String>) {
    fn items<'v>(value: &'v Value, key: &str) -> &'v [Value] {
        value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }
    let text =
        |value: &Value, pointer: &str| value.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    for group in items(list, "items") {
        let name = text(group, "/metadata/name").unwrap_or_default();
        for version in items(group, "versions") {
            let Some(version_name) = text(version, "/version") else { continue };
            if version.get("freshness").and_then(Value::as_str) == Some("Stale") {
                unread.insert(name.clone());
            }
            for resource in items(version, "resources") {
                let (Some(plural), Some(kind)) =
                    (text(resource, "/resource"), text(resource, "/responseKind/kind"))
                else {
                    continue;
                };
                let scope = match resource.get("scope").and_then(Value::as_str) {
                    Some("Namespaced") => KindScope::Namespaced,
                    _ => KindScope::Cluster,
                };
                // A kind may answer under a second path (`bindings`); one that can be read is the object's own.
                let verbs = items(resource, "verbs");
                let has = |wanted: &str| verbs.iter().any(|verb| verb.as_str() == Some(wanted));
                if !has("get") {
                    continue;
                }
                let served = Served {
                    group: name.clone(),
                    version: version_name.clone(),
                    kind: kind.clone(),
                    plural,
                    scope,
                    is_listed: has("list"),
                };
                catalogue.entry((name.clone(), kind)).or_default().push(Arc::new(served));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_preferred_version_of_a_kind_comes_first() {
        let resource = |version: &str| {
            json!({"version": version, "resources": [
            {"resource": "clusters", "responseKind": {"group": "cluster.x-k8s.io", "version": version, "kind": "Cluster"},
             "scope": "Namespaced", "verbs": ["get", "list"],
             "subresources": [{"subresource": "status", "verbs": ["get"]}]}]})
        };
        let list = json!({"kind": "APIGroupDiscoveryList", "items": [{"metadata": {"name": "cluster.x-k8s.io"},
            "versions": [resource("v1beta2"), resource("v1beta1")]}]});
        let mut catalogue = Catalogue::new();
        let mut unread = BTreeSet::new();
        read_groups(&list, &mut catalogue, &mut unread);
        assert_eq!(unread, BTreeSet::new());
        let versions = &catalogue[&("cluster.x-k8s.io".to_owned(), "Cluster".to_owned())];
        assert_eq!(versions.len(), 2);
        assert_eq!(
            versions[0].path(Some("my-org")),
            "/apis/cluster.x-k8s.io/v1beta2/namespaces/my-org/clusters"
        );
        assert_eq!(versions[1].path(None), "/apis/cluster.x-k8s.io/v1beta1/clusters");
    }

    #[test]
    fn a_group_whose_server_does_not_answer_is_reported_as_unread() {
        let list = json!({"kind": "APIGroupDiscoveryList", "items": [{"metadata": {"name": "metrics.k8s.io"},
            "versions": [{"version": "v1beta1", "freshness": "Stale"}]}, {"metadata": {"name": "apps"},
            "versions": [{"version": "v1", "freshness": "Current", "resources": []}]}]});
        let (mut catalogue, mut unread) = (Catalogue::new(), BTreeSet::new());
        read_groups(&list, &mut catalogue, &mut unread);
        assert_eq!(unread, BTreeSet::from(["metrics.k8s.io".to_owned()]));
    }

    #[test]
    fn a_kind_without_namespaces_ignores_one() {
        let served = Served {
            group: String::new(),
            version: "v1".into(),
            kind: "Namespace".into(),
            plural: "namespaces".into(),
            scope: KindScope::Cluster,
            is_listed: true,
        };
        assert_eq!(served.path(Some("my-org")), "/api/v1/namespaces");
    }
}
