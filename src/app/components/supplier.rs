//! Components for the bot's plans: kept ones, else fetched ones, else why there are none.
//!
//! *Expected flow*: a run asks for what its plans have not at hand ([`Supplier::supply`]) and is answered within its
//! patience: what is not here by then is told as being fetched, and the repository's job is asked for again once it is, or
//! once a host that wants to be left alone may be asked again. *Guarantees*: nobody is asked but hosts that the caller
//! names; fetching holds neither job nor worker; one repository has so many fetches under way, and whatever it asks for, the
//! others get theirs; a failure is remembered for a while, in the same words, so that nothing is written or asked anew at
//! every look.
//!
//! Deliberately absent: whose settings name the hosts (`sync`: the default branch's), and what the components come to.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use capstan_model::wording::count;
use capstan_plan::settings::Glob;
use capstan_providers::{Origin, Published, Supplies, Supply, Wanted};
use jiff::Timestamp;
use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;

use super::again::{later, resting};
use crate::app::ports::{
    AllowedHosts, Cause, Clock, ComponentCache, ComponentSource, FetchError, JobRequest, Jobs,
    KeptComponents, Repository, RepositoryName, SourceCredentials, WantedComponents,
};

/// Prepares to fetch from these hosts.
pub type Connect = dyn Fn(AllowedHosts) -> Result<Box<dyn ComponentSource>, FetchError> + Send + Sync;

/// What the bot shows a host of who asks, and for whose sake.
#[derive(Debug, Clone)]
pub struct HostCredentials {
    /// The host, with its port where that is not the scheme's own.
    pub host: String,
    /// The repositories that may have what it gives.
    pub repositories: Vec<Glob>,
    /// What it is shown.
    pub credentials: SourceCredentials,
}

/// Bounds of what is fetched for plans.
#[derive(Debug, Clone, Copy)]
pub struct SupplierLimits {
    /// Fetches under way at once.
    pub at_once: usize,
    /// Of one repository.
    pub repository_at_once: usize,
    /// Components that one look at a repository may ask for.
    pub wanted: usize,
    /// Bytes that one look is given.
    pub bytes: usize,
    /// How long a failure is remembered that says nothing of when to come again.
    pub retry: Duration,
    /// A host that asks to be left alone for longer is asked again then.
    pub longest_rest: Duration,
    /// How long a run waits for what it wants, all of it together.
    pub patience: Duration,
}

impl Default for SupplierLimits {
    fn default() -> Self {
        Self {
            at_once: 8,
            repository_at_once: 2,
            wanted: 64,
            bytes: 96 << 20,
            retry: Duration::from_secs(600),
            longest_rest: Duration::from_secs(24 * 3600),
            patience: Duration::from_secs(10),
        }
    }
}

/// What supplying needs from outside.
pub struct Sources {
    /// The network.
    pub connect: Box<Connect>,
    /// What was fetched before.
    pub cache: Arc<dyn ComponentCache>,
    /// Whom to tell that a repository is worth another look.
    pub jobs: Arc<dyn Jobs>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Who asks, by host.
    pub credentials: Vec<HostCredentials>,
}

/// Supplies plans. Cheap to clone.
#[derive(Clone)]
pub struct Supplier(Arc<Shared>);

struct Shared {
    sources: Sources,
    limits: SupplierLimits,
    state: Mutex<State>,
    slots: Semaphore,
}

/// Components, by whom they are asked for.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Asked {
    repository: u64,
    hosts: AllowedHosts,
    wanted: Wanted,
}

#[derive(Default)]
struct State {
    fetches: HashMap<Asked, Fetch>,
    repositories: HashMap<u64, Arc<Semaphore>>,
    /// Until when hosts want to be left alone by a repository's requests.
    resting: HashMap<(u64, String), Timestamp>,
}

/// What became of a fetch that brought nothing yet.
enum Fetch {
    UnderWay {
        done: watch::Receiver<bool>,
        /// Somebody went on without it.
        left: bool,
    },
    Failed {
        supply: Supply,
        until: Timestamp,
    },
}

/// What is known of components.
enum Known {
    Here(Arc<Published>),
    Not(Supply),
    UnderWay(watch::Receiver<bool>),
}

/// So many failures are remembered.
const REMEMBERED: usize = 10_000;

impl Supplier {
    /// Supplies from these sources.
    pub fn new(sources: Sources, limits: SupplierLimits) -> Self {
        let slots = Semaphore::new(limits.at_once);
        Self(Arc::new(Shared { sources, limits, state: Mutex::default(), slots }))
    }

    /// How long a run waits.
    pub fn patience(&self) -> Duration {
        self.0.limits.patience
    }

    /// What is known of these components at a time, each of them; what is not known is fetched from these hosts.
    pub async fn supply(
        &self,
        repository: &Repository,
        hosts: &AllowedHosts,
        wanted: BTreeSet<Wanted>,
        until: Instant,
    ) -> Supplies {
        let (mut supplies, mut bytes) = (Supplies::default(), 0);
        let mut open = Vec::new();
        for (number, wanted) in wanted.into_iter().enumerate() {
            if number >= self.0.limits.wanted {
                let most = count(self.0.limits.wanted, "version", "versions");
                let why = format!(
                    "the repository asks for more than the {most} of components that are fetched for one look: put some into .capstan/providers with `capstan providers fetch`"
                );
                supplies.add(wanted, Supply::Missing(why));
            } else if hosts.allow_origin(&wanted.origin) {
                let asked = Asked { repository: repository.id, hosts: hosts.clone(), wanted };
                let known = self.known(&asked, &repository.name, repository.installation).await;
                open.push((asked, known));
            } else {
                let why = not_allowed(wanted.origin.host(), hosts);
                supplies.add(wanted, Supply::Missing(why));
            }
        }
        for (asked, known) in open {
            let known = match known {
                Known::UnderWay(mut done) => {
                    let waited = tokio::time::timeout_at(until, done.wait_for(|done| *done)).await;
                    drop(waited);
                    self.after_waiting(&asked).await
                }
                known => known,
            };
            let supply = match known {
                Known::Not(supply) => supply,
                Known::UnderWay(_) => being_fetched(&asked.wanted.origin),
                Known::Here(published) => {
                    bytes += published.components.len() + published.metadata.len();
                    if bytes > self.0.limits.bytes {
                        let most = self.0.limits.bytes >> 20;
                        Supply::Missing(format!(
                            "the components of the repository's sets take more than {most} MiB together, and so much is looked at"
                        ))
                    } else {
                        Supply::Fetched(published)
                    }
                }
            };
            supplies.add(asked.wanted, supply);
        }
        supplies
    }

    /// What is known of components; where that is nothing, they are being fetched from now on.
    async fn known(&self, asked: &Asked, name: &RepositoryName, installation: u64) -> Known {
        if let Some(known) = self.remembered(asked) {
            return known;
        }
        let kept = self.kept(asked).await;
        if let Some(published) = fitting(&kept, &asked.wanted) {
            return Known::Here(published);
        }
        let mut state = self.0.lock();
        // Somebody may have begun meanwhile.
        if let Some(Fetch::UnderWay { done, .. }) = state.fetches.get(asked) {
            return Known::UnderWay(done.clone());
        }
        let now = self.0.sources.clock.now();
        let host = (asked.repository, asked.wanted.origin.host().to_owned());
        if let Some(until) = state.resting.get(&host).copied().filter(|until| *until > now) {
            return Known::Not(Supply::Missing(resting(&host.1, until)));
        }
        if state.fetches.len() >= REMEMBERED {
            state.fetches.retain(|_, fetch| matches!(fetch, Fetch::UnderWay { .. }));
            state.resting.retain(|_, until| *until > now);
        }
        let slots = state
            .repositories
            .entry(asked.repository)
            .or_insert_with(|| Arc::new(Semaphore::new(self.0.limits.repository_at_once)));
        let slots = Arc::clone(slots);
        let (end, done) = watch::channel(false);
        state.fetches.insert(asked.clone(), Fetch::UnderWay { done: done.clone(), left: false });
        drop(state);
        let errand = Errand {
            shared: Arc::clone(&self.0),
            asked: asked.clone(),
            job: JobRequest {
                repository: asked.repository,
                installation,
                name: name.clone(),
                cause: Cause::Event,
            },
            // A version that nothing in Git speaks of is held against what it was when it was fetched last.
            recorded: asked.wanted.recorded.clone().or(kept.sha256),
        };
        tokio::spawn(async move {
            errand.run(&slots).await;
            end.send_replace(true);
        });
        Known::UnderWay(done)
    }

    /// The same once a fetch is done, or there is no more time: whoever goes on without it is told when it is.
    async fn after_waiting(&self, asked: &Asked) -> Known {
        {
            let mut state = self.0.lock();
            if let Some(Fetch::UnderWay { done, left }) = state.fetches.get_mut(asked) {
                *left = true;
                return Known::UnderWay(done.clone());
            }
        }
        if let Some(known) = self.remembered(asked) {
            return known;
        }
        let kept = self.kept(asked).await;
        match fitting(&kept, &asked.wanted) {
            Some(published) => Known::Here(published),
            None => Known::Not(Supply::Missing(format!(
                "what was fetched from {} could not be kept: the log of Capstan says why",
                asked.wanted.origin
            ))),
        }
    }

    fn remembered(&self, asked: &Asked) -> Option<Known> {
        let now = self.0.sources.clock.now();
        match self.0.lock().fetches.get(asked) {
            Some(Fetch::UnderWay { done, .. }) => Some(Known::UnderWay(done.clone())),
            Some(Fetch::Failed { supply, until }) if *until > now => Some(Known::Not(supply.clone())),
            Some(Fetch::Failed { .. }) | None => None,
        }
    }

    async fn kept(&self, asked: &Asked) -> KeptComponents {
        let (cache, asked) = (Arc::clone(&self.0.sources.cache), asked.clone());
        let found = tokio::task::spawn_blocking(move || cache.find(asked.repository, &asked.wanted)).await;
        found.unwrap_or_default()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who asks a host for the sake of a repository.
    fn credentials(&self, origin: &Origin, repository: &RepositoryName) -> SourceCredentials {
        let name = repository.to_string();
        let fits = |one: &&HostCredentials| {
            one.host.eq_ignore_ascii_case(origin.host())
                && one.repositories.iter().any(|glob| glob.matches(&name))
        };
        let found = self.sources.credentials.iter().find(fits);
        found.map(|found| found.credentials.clone()).unwrap_or_default()
    }
}

/// One fetch.
struct Errand {
    shared: Arc<Shared>,
    asked: Asked,
    job: JobRequest,
    recorded: Option<String>,
}

impl Errand {
    /// Fetches when it is its turn, keeps what came, and says what became of it.
    async fn run(self, own_slots: &Semaphore) {
        // Its own repository's turn first: whatever waits there does not stand before others.
        let _own = own_slots.acquire().await;
        let fetched = {
            let _slot = self.shared.slots.acquire().await;
            self.fetch().await
        };
        let failed = match fetched {
            Ok(published) => {
                self.keep(published).await.err().map(|supply| (supply, self.shared.limits.retry))
            }
            Err(error) => Some(self.failed(&error)),
        };
        let left = {
            let mut state = self.shared.lock();
            let was = state.fetches.remove(&self.asked);
            if let Some((supply, wait)) = failed {
                let until = later(self.shared.sources.clock.now(), wait);
                state.fetches.insert(self.asked.clone(), Fetch::Failed { supply, until });
            }
            matches!(was, Some(Fetch::UnderWay { left: true, .. }))
        };
        if left {
            tell(&self.shared, &self.job).await;
        }
    }

    async fn fetch(&self) -> Result<Published, FetchError> {
        let Asked { hosts, wanted, .. } = &self.asked;
        let source = (self.shared.sources.connect)(hosts.clone())?;
        let wanted = WantedComponents {
            kind: wanted.kind,
            name: wanted.name.clone(),
            version: Some(wanted.version.clone()),
            origin: wanted.origin.clone(),
            credentials: self.shared.credentials(&wanted.origin, &self.job.name),
            recorded: self.recorded.clone(),
        };
        let published = source.fetch(&wanted).await?;
        tracing::info!(repository = %self.job.name, origin = %wanted.origin, sha256 = published.sha256(), "components were fetched");
        Ok(published)
    }

    async fn keep(&self, published: Published) -> Result<(), Supply> {
        let (shared, asked) = (Arc::clone(&self.shared), self.asked.clone());
        let kept = tokio::task::spawn_blocking(move || {
            shared.sources.cache.keep(asked.repository, &asked.wanted, &published)
        });
        let why = match kept.await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(why)) => why,
            Err(error) => error.to_string(),
        };
        tracing::error!(repository = %self.job.name, error = %why, "components could not be kept");
        Err(Supply::Missing("Capstan could not keep them: its log says why".to_owned()))
    }

    /// What is said of a failure, and for how long it stands.
    fn failed(&self, error: &FetchError) -> (Supply, Duration) {
        let limits = &self.shared.limits;
        tracing::warn!(repository = %self.job.name, origin = %self.asked.wanted.origin, error = %error, "components could not be fetched");
        match error {
            FetchError::RateLimited { wait, .. } => {
                let wait = (*wait).min(limits.longest_rest);
                let host = self.asked.wanted.origin.host().to_owned();
                let until = later(self.shared.sources.clock.now(), wait);
                self.shared.lock().resting.insert((self.asked.repository, host.clone()), until);
                let (shared, job) = (Arc::clone(&self.shared), self.job.clone());
                tokio::spawn(async move {
                    tokio::time::sleep(wait).await;
                    tell(&shared, &job).await;
                });
                (Supply::Missing(resting(&host, until)), wait)
            }
            FetchError::Moved { recorded, found, .. } => {
                (Supply::Moved { known: recorded.clone(), found: found.clone() }, limits.retry)
            }
            FetchError::HostNotAllowed { host, .. } => {
                (Supply::Missing(not_allowed(host, &self.asked.hosts)), limits.retry)
            }
            FetchError::RedirectedElsewhere { from, to, .. } => {
                let why = format!("{from} leads elsewhere: {}", not_allowed(to, &self.asked.hosts));
                (Supply::Missing(why), limits.retry)
            }
            FetchError::Unauthorized { address, status, .. } => {
                let why = format!(
                    "{address} answers {status}: whoever runs Capstan gives it credentials for that host, by `--provider-credentials-file`"
                );
                (Supply::Missing(why), limits.retry)
            }
            error => (Supply::Missing(error.to_string()), limits.retry),
        }
    }
}

/// Asks that a repository be looked at again.
async fn tell(shared: &Shared, job: &JobRequest) {
    if let Err(error) = shared.sources.jobs.enqueue(job).await {
        tracing::warn!(repository = %job.name, error = %error, "a repository whose components were fetched is looked at with the next resync only");
    }
}

/// Those that were kept, where they are those that are recorded.
fn fitting(kept: &KeptComponents, wanted: &Wanted) -> Option<Arc<Published>> {
    let published = kept.published.as_ref()?;
    let fits = wanted.recorded.is_none() || wanted.recorded == kept.sha256;
    fits.then(|| Arc::new(published.clone()))
}

fn being_fetched(origin: &Origin) -> Supply {
    Supply::Missing(format!(
        "they are being fetched from {origin}: what becomes of their objects is told once they are here"
    ))
}

fn not_allowed(host: &str, hosts: &AllowedHosts) -> String {
    format!(
        "{host} is not among the hosts that may be spoken to ({hosts}): add it to `providers.hosts` of .capstan.yaml on the default branch"
    )
}
