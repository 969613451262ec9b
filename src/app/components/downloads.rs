//! Components that the providers of a management cluster lack: fetched beside its passes, from hosts that whoever runs the
//! reconciler named.
//!
//! *Expected flow*: whoever lacks components asks ([`Downloads::ask`]) and is answered within a patience: with them, or why
//! there are none yet, and after how long it is worth to ask again. *Guarantees*: no other host is spoken to; of the same
//! components one fetch is under way at a time, and so many in all; a failure stands for a while in the same words; a host
//! that wants to be left alone is left alone until the time that it says.
//!
//! Deliberately absent: where components are kept once they are here (the pass writes ConfigMaps).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use capstan_providers::{Origin, ProviderKind, Published};
use jiff::Timestamp;
use tokio::sync::{Semaphore, watch};

use super::again::{later, resting};
use crate::app::ports::{AllowedHosts, Clock, ComponentSource, FetchError, WantedComponents};

/// Bounds of what is fetched for a management cluster.
#[derive(Debug, Clone, Copy)]
pub struct DownloadLimits {
    /// Fetches under way at once.
    pub at_once: usize,
    /// How long a failure stands that says nothing of when to come again, and how long components are remembered.
    pub retry: Duration,
    /// A host that asks to be left alone for longer is asked again then.
    pub longest_rest: Duration,
    /// How long whoever asks is let wait.
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

/// What came of asking.
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
pub struct Downloads(Arc<Shared>);

struct Shared {
    hosts: AllowedHosts,
    source: Box<dyn ComponentSource>,
    clock: Arc<dyn Clock>,
    limits: DownloadLimits,
    state: Mutex<State>,
    slots: Semaphore,
}

/// Components, by whom they are asked for: what one is shown is nothing to another.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Asked {
    kind: ProviderKind,
    name: String,
    version: Option<String>,
    origin: Origin,
    recorded: Option<String>,
    who: String,
}

#[derive(Default)]
struct State {
    fetches: HashMap<Asked, Fetch>,
    /// Until when hosts want to be left alone.
    resting: HashMap<String, Timestamp>,
}

enum Fetch {
    UnderWay(watch::Receiver<bool>),
    Here { published: Arc<Published>, until: Timestamp },
    Failed { not: NotHere, until: Timestamp },
}

/// How soon those are asked for again that are on their way.
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
        let slots = Semaphore::new(limits.at_once);
        Self(Arc::new(Shared { hosts, source, clock, limits, state: Mutex::default(), slots }))
    }

    /// What is known of components; what is not known is fetched from now on. `who` tells apart whose credentials they are.
    pub async fn ask(&self, wanted: WantedComponents, who: &str) -> Download {
        if !self.0.hosts.allow_origin(&wanted.origin) {
            let why = not_allowed(wanted.origin.host(), &self.0.hosts);
            return Download::Not(NotHere { why, sort: Sort::Failed, again: None });
        }
        let asked = Asked {
            kind: wanted.kind,
            name: wanted.name.clone(),
            version: wanted.version.clone(),
            origin: wanted.origin.clone(),
            recorded: wanted.recorded.clone(),
            who: who.to_owned(),
        };
        if let Some(known) = self.known(&asked) {
            return known;
        }
        let mut done = match self.begin(&asked, wanted) {
            Ok(done) => done,
            Err(not) => return Download::Not(not),
        };
        let waited = tokio::time::timeout(self.0.limits.patience, done.wait_for(|done| *done)).await;
        drop(waited);
        self.known(&asked).unwrap_or_else(|| {
            let why = format!("they are being fetched from {}", asked.origin);
            Download::Not(NotHere { why, sort: Sort::UnderWay, again: Some(SOON) })
        })
    }

    /// What came of a fetch that has ended, as long as that stands.
    fn known(&self, asked: &Asked) -> Option<Download> {
        let now = self.0.clock.now();
        match self.0.lock().fetches.get(asked)? {
            Fetch::Here { published, until } if *until > now => Some(Download::Here(Arc::clone(published))),
            Fetch::Failed { not, until } if *until > now => {
                Some(Download::Not(NotHere { again: Some(left(now, *until)), ..not.clone() }))
            }
            Fetch::UnderWay(_) | Fetch::Here { .. } | Fetch::Failed { .. } => None,
        }
    }

    /// The fetch of these components that is under way; begins it where none is.
    fn begin(&self, asked: &Asked, wanted: WantedComponents) -> Result<watch::Receiver<bool>, NotHere> {
        let now = self.0.clock.now();
        let mut state = self.0.lock();
        if let Some(Fetch::UnderWay(done)) = state.fetches.get(asked) {
            return Ok(done.clone());
        }
        state.fetches.retain(|_, fetch| fetch.stands(now));
        state.resting.retain(|_, until| *until > now);
        let host = asked.origin.host();
        if let Some(until) = state.resting.get(host).copied() {
            let again = Some(left(now, until));
            return Err(NotHere { why: resting(host, until), sort: Sort::Failed, again });
        }
        let (end, done) = watch::channel(false);
        state.fetches.insert(asked.clone(), Fetch::UnderWay(done.clone()));
        drop(state);
        let (shared, asked) = (Arc::clone(&self.0), asked.clone());
        tokio::spawn(async move {
            let fetched = {
                // The semaphore is never closed.
                let _slot = shared.slots.acquire().await;
                shared.source.fetch(&wanted).await
            };
            let fetch = shared.outcome(&asked, &wanted, fetched);
            let mut state = shared.lock();
            state.fetches.insert(asked, fetch);
            state.make_room(shared.limits.bytes);
            drop(state);
            end.send_replace(true);
        });
        Ok(done)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What became of a fetch, and for how long that stands.
    fn outcome(
        &self,
        asked: &Asked,
        wanted: &WantedComponents,
        fetched: Result<Published, FetchError>,
    ) -> Fetch {
        let now = self.clock.now();
        let retry = later(now, self.limits.retry);
        let error = match fetched {
            Ok(published) => {
                tracing::info!(origin = %asked.origin, sha256 = published.sha256(), "components were fetched");
                return Fetch::Here { published: Arc::new(published), until: retry };
            }
            Err(error) => error,
        };
        tracing::warn!(origin = %asked.origin, %error, "components could not be fetched");
        let failed =
            |sort: Sort, why: String| Fetch::Failed { not: NotHere { why, sort, again: None }, until: retry };
        match &error {
            FetchError::RateLimited { wait, .. } => {
                let host = asked.origin.host().to_owned();
                let until = later(now, (*wait).min(self.limits.longest_rest));
                self.lock().resting.insert(host.clone(), until);
                let why = resting(&host, until);
                Fetch::Failed { not: NotHere { why, sort: Sort::Failed, again: None }, until }
            }
            FetchError::HostNotAllowed { host, .. } => failed(Sort::Failed, not_allowed(host, &self.hosts)),
            FetchError::RedirectedElsewhere { from, to, .. } => {
                failed(Sort::Failed, format!("{from} leads elsewhere: {}", not_allowed(to, &self.hosts)))
            }
            FetchError::Unauthorized { .. } => {
                let shows_token =
                    matches!(asked.origin, Origin::GitHub(_)) && wanted.credentials.github_token.is_some();
                failed(if shows_token { Sort::TokenRefused } else { Sort::Failed }, error.to_string())
            }
            FetchError::Moved { .. } => failed(Sort::DigestDiffers, error.to_string()),
            _ => failed(Sort::Failed, error.to_string()),
        }
    }
}

impl Fetch {
    /// Whether it says something still.
    fn stands(&self, now: Timestamp) -> bool {
        match self {
            Self::UnderWay(_) => true,
            Self::Here { until, .. } | Self::Failed { until, .. } => *until > now,
        }
    }
}

impl State {
    /// Forgets components, those that came first, until the others take no more than so many bytes. The last ones stay,
    /// however many they have: somebody waits for them.
    fn make_room(&mut self, most: usize) {
        let size = |published: &Published| published.components.len() + published.metadata.len();
        loop {
            let here = self.fetches.iter().filter_map(|(asked, fetch)| match fetch {
                Fetch::Here { published, until } => Some((*until, asked, size(published))),
                Fetch::UnderWay(_) | Fetch::Failed { .. } => None,
            });
            let here: Vec<_> = here.collect();
            let bytes: usize = here.iter().map(|(_, _, size)| size).sum();
            let oldest = here.iter().min_by_key(|(until, ..)| *until).map(|(_, asked, _)| (*asked).clone());
            match oldest.filter(|_| bytes > most && here.len() > 1) {
                Some(oldest) => drop(self.fetches.remove(&oldest)),
                None => return,
            }
        }
    }
}

/// Never nothing: whoever asks again at once would be told the same.
fn left(now: Timestamp, until: Timestamp) -> Duration {
    Duration::try_from(until.duration_since(now)).unwrap_or_default().max(Duration::from_secs(1))
}

fn not_allowed(host: &str, hosts: &AllowedHosts) -> String {
    format!(
        "{host} is not among the hosts that the reconciler may speak to ({hosts}): name it by `--provider-hosts`, or put the components into a ConfigMap, as `capstan providers fetch --config-maps` prints it"
    )
}
