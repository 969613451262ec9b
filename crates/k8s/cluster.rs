//! A management cluster behind its API server: what every request to it has in common.

use std::sync::Arc;
use std::time::Instant;

use capstan_live::applying::{ApiRefusal, RefusalKind};
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::connect::Connection;
use super::discovery::{Discovery, Served};
use super::rest::{ApiAnswer, ApiCall, ApiServer, Within};
use capstan_ports::{ApiKind, ApiObject, As, KindScope, LiveError, Run};

/// How often a list is begun again whose pages have expired under it.
const LIST_TRIES: usize = 3;

/// What is listed.
pub(super) struct List<'l> {
    pub(super) kind: &'l ApiKind,
    /// All where `None`.
    pub(super) namespace: Option<&'l str>,
    pub(super) labels: &'l [(&'l str, &'l str)],
    /// A field selector.
    pub(super) fields: Option<&'static str>,
    /// How many objects one page holds.
    pub(super) page: &'static str,
    pub(super) part: ListDepth,
}

/// How much of each object is listed.
#[derive(Clone, Copy)]
pub(super) enum ListDepth {
    Whole,
    /// `apiVersion`, `kind` and `metadata`.
    Metadata,
}

impl ListDepth {
    /// <https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables>
    const fn media_type(self) -> &'static str {
        match self {
            Self::Whole => "application/json",
            Self::Metadata => "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
        }
    }
}

/// A management cluster behind its API server.
#[derive(Clone)]
pub struct KubeCluster {
    pub(super) rest: ApiServer,
    pub(super) discovery: Arc<Discovery>,
    /// How many single namespaces may be watched for a kind that may not be watched whole.
    pub(super) namespace_watches: usize,
}

impl KubeCluster {
    /// The management cluster of a connection. What may not be watched whole is not watched at all.
    pub fn new(connection: &Connection) -> Self {
        Self::of(connection.rest.clone())
    }

    /// The cluster behind an API server.
    pub(super) fn of(rest: ApiServer) -> Self {
        let discovery = Arc::new(Discovery::new(rest.clone()));
        Self { discovery, rest, namespace_watches: 0 }
    }

    /// Of kinds that may not be watched whole, so many namespaces are watched at most, all kinds together.
    #[must_use]
    pub fn with_namespace_watches(self, most: usize) -> Self {
        Self { namespace_watches: most, ..self }
    }

    /// Asks for an object's path what `call` makes of it. A kind that moved (its definition was replaced) is
    /// looked up again once. `None` where the kind is not served.
    pub(super) async fn ask<'c>(
        &self,
        kind: &ApiKind,
        call: impl Fn(&Served) -> Result<ApiCall<'c>, LiveError>,
    ) -> Result<Option<(Arc<Served>, ApiCall<'c>, ApiAnswer)>, LiveError> {
        self.ask_within(kind, call, Within::Answer).await
    }

    /// The same with what may be read of the answer.
    async fn ask_within<'c>(
        &self,
        kind: &ApiKind,
        call: impl Fn(&Served) -> Result<ApiCall<'c>, LiveError>,
        within: Within,
    ) -> Result<Option<(Arc<Served>, ApiCall<'c>, ApiAnswer)>, LiveError> {
        let Some(served) = self.discovery.find(kind).await? else { return Ok(None) };
        let asked = Instant::now();
        let first = call(&served)?;
        let answer = self.rest.answer_within(&first, within).await?;
        if !answer.is_unknown_path() {
            return Ok(Some((served, first, answer)));
        }
        let Some(served) = self.discovery.find_again(kind, asked).await? else { return Ok(None) };
        let again = call(&served)?;
        let answer = self.rest.answer_within(&again, within).await?;
        Ok(Some((served, again, answer)))
    }

    /// The same where the wished answer is needed: a kind that is not served is a refusal.
    pub(super) async fn demand<'c>(
        &self,
        doing: &str,
        kind: &ApiKind,
        call: impl Fn(&Served) -> Result<ApiCall<'c>, LiveError>,
    ) -> Result<Value, LiveError> {
        match self.ask(kind, call).await? {
            None => Err(not_served(doing, kind)),
            Some((_, _, answer)) if answer.status.is_success() => Ok(answer.body),
            Some((_, call, answer)) => Err(call.refused(&answer)),
        }
    }

    /// All of a kind, each object read as soon as its page is here: of many objects that are wanted in part
    /// only that part is held, and one page. What `read` answers with `None` is passed over. A list that is beyond its
    /// [`ReadBounds`](super::bounds::ReadBounds) is an error: nothing follows from a part of it.
    pub(super) async fn list_as<T: Send>(
        &self,
        by: &As,
        list: &List<'_>,
        read: impl Fn(Value) -> Option<T> + Send + Sync,
    ) -> Result<Vec<T>, LiveError> {
        let doing = match list.namespace {
            Some(namespace) => format!("listing {} in {namespace}", list.kind),
            None => format!("listing {}", list.kind),
        };
        let pages = self.list_pages(by, list, &doing, read);
        let Some(most) = self.rest.bounds.list_time else { return pages.await };
        tokio::time::timeout(most, pages).await.unwrap_or_else(|_| {
            let reason =
                format!("{} takes more than {} s for one list", self.rest.server(), most.as_secs_f64());
            Err(LiveError::Unreachable { doing: doing.clone(), reason })
        })
    }

    async fn list_pages<T: Send>(
        &self,
        by: &As,
        list: &List<'_>,
        doing: &str,
        read: impl Fn(Value) -> Option<T> + Send + Sync,
    ) -> Result<Vec<T>, LiveError> {
        let List { kind, namespace, labels, fields, page, part } = *list;
        let bounds = self.rest.bounds;
        let page = bounds.page.unwrap_or(page);
        if let Some(namespace) = namespace {
            segment(doing, "namespace", namespace)?;
        }
        let selector =
            labels.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(",");
        let mut found: Vec<T> = Vec::new();
        let mut next: Option<String> = None;
        let mut tries = 0;
        let mut pages = 0_usize;
        let mut left = bounds.list;
        loop {
            let call = |served: &Served| {
                let mut call = ApiCall::new(doing, by, Method::GET, served.path(namespace))
                    .query("limit", page)
                    .accept(part.media_type());
                if !selector.is_empty() {
                    call = call.query("labelSelector", &selector);
                }
                if let Some(fields) = fields {
                    call = call.query("fieldSelector", fields);
                }
                Ok(match &next {
                    Some(token) => call.query("continue", token),
                    None => call,
                })
            };
            let asked = self.ask_within(kind, call, Within::List(left)).await?;
            let Some((served, call, mut answer)) = asked else { return Ok(Vec::new()) };
            left = left.less(answer.size);
            match answer.status {
                status if status.is_success() => {}
                StatusCode::NOT_FOUND => return Ok(Vec::new()),
                // The server no longer has the state that the pages are from: together they would not be one
                // state.
                StatusCode::GONE if tries < LIST_TRIES => {
                    tries += 1;
                    found.clear();
                    next = None;
                    continue;
                }
                _ => return Err(call.refused(&answer)),
            }
            next = answer
                .body
                .pointer("/metadata/continue")
                .and_then(Value::as_str)
                .filter(|token| !token.is_empty())
                .map(str::to_owned);
            let api_version = served.api_version();
            if let Some(Value::Array(items)) = answer.body.get_mut("items").map(Value::take) {
                let items = items.into_iter().map(|item| named(item, part, &api_version, &served.kind));
                found.extend(items.filter_map(&read));
            }
            if next.is_none() {
                return Ok(found);
            }
            pages += 1;
            if pages >= bounds.pages {
                return Err(
                    call.too_much(format!("{} has more than {pages} pages for one list", self.rest.server()))
                );
            }
        }
    }
}

/// The path of one object.
///
/// # Errors
/// A name or a namespace that is missing or could mean another path: such a request is never sent. (Without a
/// name, a delete would be one of the whole collection.)
pub(super) fn path(doing: &str, served: &Served, object: &ApiObject) -> Result<String, LiveError> {
    segment(doing, "name", &object.name)?;
    match (served.scope, object.namespace.as_deref()) {
        (KindScope::Namespaced, None) => Err(LiveError::Malformed {
            doing: doing.to_owned(),
            reason: format!("{} belongs in a namespace, but the manifest names none", served.kind),
        }),
        (KindScope::Namespaced, Some(namespace)) => {
            segment(doing, "namespace", namespace)?;
            Ok(format!("{}/{}", served.path(Some(namespace)), object.name))
        }
        (KindScope::Cluster, _) => Ok(format!("{}/{}", served.path(None), object.name)),
    }
}

/// Holds a name against what may stand between two slashes of a path.
fn segment(doing: &str, what: &str, text: &str) -> Result<(), LiveError> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:".contains(&byte);
    if !text.is_empty() && text.bytes().all(fits) && !matches!(text, "." | "..") {
        return Ok(());
    }
    let reason = format!("`{}` is not a {what} of a Kubernetes object", text.escape_default());
    Err(LiveError::Malformed { doing: doing.to_owned(), reason })
}

pub(super) fn in_run(call: ApiCall<'_>, run: Run) -> ApiCall<'_> {
    match run {
        Run::Dry => call.query("dryRun", "All"),
        Run::Real => call,
    }
}

pub(super) fn not_served(doing: &str, kind: &ApiKind) -> LiveError {
    let version = kind.version.as_ref().map_or(String::new(), |version| format!(" in version {version}"));
    LiveError::Refused {
        doing: doing.to_owned(),
        refusal: ApiRefusal {
            status: StatusCode::NOT_FOUND.as_u16(),
            kind: RefusalKind::MissingKind,
            message: format!("{kind} is not served{version}"),
            causes: Vec::new(),
        },
    }
}

/// Items of a list say their kind only where they are custom resources; metadata says that it is that.
fn named(mut item: Value, part: ListDepth, api_version: &str, kind: &str) -> Value {
    if let Some(map) = item.as_object_mut() {
        if matches!(part, ListDepth::Metadata) {
            map.retain(|key, _| key == "metadata");
        }
        map.entry("apiVersion").or_insert_with(|| json!(api_version));
        map.entry("kind").or_insert_with(|| json!(kind));
    }
    item
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(scope: KindScope) -> Served {
        Served {
            group: "apps".into(),
            version: "v1".into(),
            kind: "Deployment".into(),
            plural: "deployments".into(),
            scope,
            is_listed: true,
        }
    }

    fn object(namespace: Option<&str>, name: &str) -> ApiObject {
        ApiObject {
            kind: ApiKind::of_version("apps/v1", "Deployment"),
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
        }
    }

    #[test]
    fn a_name_that_could_mean_another_path_is_never_sent() {
        for name in ["", ".", "..", "a/b", "a%2fb", "../../secrets/x", "a b", "a\n"] {
            let error =
                path("applying", &served(KindScope::Namespaced), &object(Some("ns"), name)).unwrap_err();
            assert!(matches!(error, LiveError::Malformed { .. }), "{name}: {error}");
            let error =
                path("applying", &served(KindScope::Namespaced), &object(Some(name), "x")).unwrap_err();
            assert!(matches!(error, LiveError::Malformed { .. }), "{name}: {error}");
        }
        assert_eq!(
            path("applying", &served(KindScope::Cluster), &object(None, "system:node")).unwrap(),
            "/apis/apps/v1/deployments/system:node"
        );
    }

    #[test]
    fn a_namespaced_kind_without_a_namespace_is_said_so() {
        let error =
            path("applying Deployment x", &served(KindScope::Namespaced), &object(None, "x")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "applying Deployment x: Deployment belongs in a namespace, but the manifest names none"
        );
    }
}
