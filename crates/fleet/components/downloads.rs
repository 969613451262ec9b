//! Components that the providers of a management cluster lack. They are fetched in the background of its passes, from
//! hosts that the operator of the reconciler allows.
//!
//! *Expected flow*: the caller asks for components that it lacks ([`Downloads::ask`]). It gets an answer within its
//! patience: the components, or why they are not here yet and when to ask again. *Guarantees*: Capstan contacts no
//! other host. At most one fetch of the same components is under way, and a bounded number of all. A failure is
//! remembered for a while and reported in the same words. A rate-limited host is not asked again before the time that
//! it names.
//!
//! Deliberately absent: where components are kept once they are here (the pass writes ConfigMaps).

use std::sync::Arc;
use std::time::Duration;

use capstan_providers::{ComponentOrigin, ProviderKind, Published};

use super::fetches::{
    FetchKey, FetchStart, FetchState, Fetches, Remedy, RememberedOutcome, not_named, resting,
};
use capstan_ports::{AllowedHosts, Clock, ComponentSource, FetchError, WantedComponents};

/// Bounds of what is fetched for a management cluster.
#[derive(Debug, Clone, Copy)]
pub struct DownloadLimits {
    /// Fetches under way at once.
    pub at_once: usize,
    /// How long a failure is remembered if it names no time to retry, and how long components are remembered.
    pub retry: Duration,
    /// A longer rate limit is cut to this.
    pub longest_rest: Duration,
    /// How long a caller waits for a fetch.
    pub patience: Duration,
    /// Bytes that are remembered of what was fetched.
    pub bytes: usize,
}

impl Default for DownloadLimits {
    fn default() -> Self {
        Self {
            at_once: 2,
            retry: Duration::from_secs(600),
            longest_rest: Duration::from_secs(24 * 3600),
            patience: Duration::from_secs(10),
            bytes: 16 << 20,
        }
    }
}

/// The answer to a request for components.
#[derive(Debug, Clone)]
pub enum Download {
    /// These are published.
    Here(Arc<Published>),
    /// There are none, for now.
    Not(NotHere),
}

/// Why there are no components.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotHere {
    /// In words, without a full stop.
    pub why: String,
    /// What sort of thing it is.
    pub sort: Sort,
    /// After how long it is worth to ask again; `None` where that changes nothing.
    pub again: Option<Duration>,
}

/// What keeps components from being here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// They are on their way.
    UnderWay,
    /// The source refused the token that it was shown.
    TokenRefused,
    /// They are not those that are recorded.
    DigestDiffers,
    /// Anything else.
    Failed,
}

/// Fetches. Cheap to clone.
#[derive(Clone)]
pub struct Downloads(Arc<DownloaderState>);

struct DownloaderState {
    hosts: AllowedHosts,
    source: Box<dyn ComponentSource>,
    limits: DownloadLimits,
    fetches: Arc<Fetches<Components, Download>>,
}

/// Components, with who asks for them: the answer for one caller is not shown to another.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Components {
    kind: ProviderKind,
    name: String,
    version: Option<String>,
    origin: ComponentOrigin,
    recorded: Option<String>,
    who: String,
}

impl FetchKey for Components {
    type Host = String;

    fn host(&self) -> String {
        self.origin.host().to_owned()
    }
}

/// How a host is named.
const REMEDY: Remedy = Remedy {
    hosts: "the reconciler may contact",
    act: "add it to its setting `provider-hosts`, or put the components into a ConfigMap, as `capstan providers fetch` prints it",
};

/// How soon to ask again for components that are being fetched.
const SOON: Duration = Duration::from_secs(2);

impl std::fmt::Debug for Downloads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Downloads").field("hosts", &self.0.hosts).finish_non_exhaustive()
    }
}

impl Downloads {
    /// Fetches from these hosts, and from no other: `source` speaks to them alone.
    pub fn new(
        hosts: AllowedHosts,
        source: Box<dyn ComponentSource>,
        clock: Arc<dyn Clock>,
        limits: DownloadLimits,
    ) -> Self {
        let fetches = Arc::new(Fetches::new(limits.at_once, clock));
        Self(Arc::new(DownloaderState { hosts, source, limits, fetches }))
    }

    /// What is known of components; what is not known is fetched from now on. `who` tells apart whose credentials they are.
    pub async fn ask(&self, wanted: WantedComponents, who: &str) -> Download {
        let shared = &self.0;
        if !shared.hosts.allow_origin(&wanted.origin) {
            let why = REMEDY.words(wanted.origin.host(), &shared.hosts);
            return Download::Not(NotHere { why, sort: Sort::Failed, again: None });
        }
        let asked = Components {
            kind: wanted.kind,
            name: wanted.name.clone(),
            version: wanted.version.clone(),
            origin: wanted.origin.clone(),
            recorded: wanted.recorded.clone(),
            who: who.to_owned(),
        };
        let mut done = match shared.fetches.known(&asked) {
            Some(FetchState::Ended(standing)) => return shared.with_retry_time(standing),
            Some(FetchState::UnderWay(done)) => done,
            None => match self.begin(&asked, wanted) {
                FetchStart::UnderWay(done) => done,
                FetchStart::Rests(until) => {
                    let why = resting(asked.origin.host(), until);
                    let again = Some(shared.fetches.left(until));
                    return Download::Not(NotHere { why, sort: Sort::Failed, again });
                }
            },
        };
        let waited = tokio::time::timeout(shared.limits.patience, done.wait_for(|done| *done)).await;
        drop(waited);
        match shared.fetches.known(&asked) {
            Some(FetchState::Ended(standing)) => shared.with_retry_time(standing),
            Some(FetchState::UnderWay(_)) | None => {
                let why = format!("they are being fetched from {}", asked.origin);
                Download::Not(NotHere { why, sort: Sort::UnderWay, again: Some(SOON) })
            }
        }
    }

    /// The fetch of these components that is under way; begins it where none is.
    fn begin(&self, asked: &Components, wanted: WantedComponents) -> FetchStart {
        let (shared, of) = (Arc::clone(&self.0), asked.clone());
        let room = Arc::clone(&self.0);
        let work = || async move {
            let fetched = {
                let _slot = shared.fetches.slot().await;
                shared.source.fetch(&wanted).await
            };
            Some(shared.outcome(&of, &wanted, fetched))
        };
        self.0.fetches.begin(asked, work, |_| async move {
            room.fetches.make_room(room.limits.bytes, Download::bytes);
        })
    }
}

impl Download {
    /// How much memory it takes.
    fn bytes(&self) -> usize {
        match self {
            Self::Here(published) => published.components.len() + published.metadata.len(),
            Self::Not(_) => 0,
        }
    }
}

impl DownloaderState {
    /// The outcome of a fetch, with the time until a failure may be retried.
    fn with_retry_time(&self, standing: RememberedOutcome<Download>) -> Download {
        match standing.outcome {
            Download::Not(not) => {
                Download::Not(NotHere { again: Some(self.fetches.left(standing.until)), ..not })
            }
            here => here,
        }
    }

    /// The outcome of a fetch, and until when it is remembered.
    fn outcome(
        &self,
        asked: &Components,
        wanted: &WantedComponents,
        fetched: Result<Published, FetchError>,
    ) -> RememberedOutcome<Download> {
        let retry = self.limits.retry;
        let error = match fetched {
            Ok(published) => {
                tracing::info!(origin = %asked.origin, sha256 = published.sha256(), "components were fetched");
                return self.fetches.standing(Download::Here(Arc::new(published)), retry);
            }
            Err(error) => error,
        };
        tracing::warn!(origin = %asked.origin, %error, "components could not be fetched");
        let not = |sort: Sort, why: String| Download::Not(NotHere { why, sort, again: None });
        if let FetchError::RateLimited { wait, .. } = &error {
            let until = self.fetches.rest(asked, (*wait).min(self.limits.longest_rest));
            let outcome = not(Sort::Failed, resting(asked.origin.host(), until));
            return RememberedOutcome { outcome, until };
        }
        let why = not_named(&error, &self.hosts, &REMEDY).unwrap_or_else(|| error.to_string());
        let shows_token =
            matches!(asked.origin, ComponentOrigin::GitHub(_)) && wanted.credentials.github_token.is_some();
        let sort = match &error {
            FetchError::Unauthorized { .. } if shows_token => Sort::TokenRefused,
            FetchError::Moved { .. } => Sort::DigestDiffers,
            _ => Sort::Failed,
        };
        self.fetches.standing(not(sort, why), retry)
    }
}
