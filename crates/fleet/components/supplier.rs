//! Components for the bot's plans: kept ones, else fetched ones, else why there are none.
//!
//! *Expected flow*: a run asks for the components that its plans lack ([`Supplier::supply`]) and gets an answer within
//! its patience. Components that are not here by then are reported as being fetched. The repository's job is requested
//! again when they are, or when a rate limit ends. *Guarantees*: Capstan contacts only hosts that the caller names and
//! the operator allows. Fetching blocks neither job nor worker. Each repository may have a bounded number of fetches
//! under way, so that it cannot starve the others. A failure is remembered for a while in the same words, so that a run
//! neither rewrites it nor fetches again.
//!
//! Deliberately absent: whose settings name the hosts (`sync`: the default branch's), and what the components come to.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use capstan_model::wording::count;
use capstan_plan::settings::{Glob, OperatorHost};
use capstan_providers::{ComponentOrigin, MissingComponents, Published, Supplies, Supply};
use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;

use super::fetches::{
    FetchKey, FetchStart, FetchState, Fetches, Remedy, RememberedOutcome, not_named, resting,
};
use capstan_ports::{
    AllowedHosts, Clock, ComponentCache, ComponentSource, FetchError, JobCause, JobRequest, Jobs,
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
    pub repository_at_once: usize,
    /// Components that one look at a repository may ask for.
    pub wanted: usize,
    /// Bytes that one look is given.
    pub bytes: usize,
    /// How long a failure is remembered that says nothing of when to come again.
    pub retry: Duration,
    /// A longer rate limit is cut to this.
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
pub struct SupplierPorts {
    /// The network.
    pub connect: Box<Connect>,
    /// What was fetched before.
    pub cache: Arc<dyn ComponentCache>,
    /// Requests another run for a repository.
    pub jobs: Arc<dyn Jobs>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Hosts that repositories may name, from the operator's settings: `github.com`, `http://registry.svc:5000`.
    pub hosts: Box<dyn Fn() -> Vec<OperatorHost> + Send + Sync>,
    /// Who asks, by host.
    pub credentials: Vec<HostCredentials>,
}

/// Supplies plans. Cheap to clone.
#[derive(Clone)]
pub struct Supplier(Arc<SupplierState>);

struct SupplierState {
    sources: SupplierPorts,
    limits: SupplierLimits,
    /// What brought nothing; what was fetched is kept in the cache.
    fetches: Arc<Fetches<Components, Supply>>,
    /// Room of each repository among the fetches.
    repositories: Mutex<HashMap<u64, Arc<Semaphore>>>,
}

/// Components, with the repository that asks for them.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Components {
    repository: u64,
    hosts: AllowedHosts,
    wanted: MissingComponents,
    /// The SHA-256 that they are to have, where anything that was judged says so.
    known: Option<String>,
}

impl FetchKey for Components {
    /// A host limits each repository's credentials: the rate limit of one repository does not affect another.
    type Host = (u64, String);

    fn host(&self) -> Self::Host {
        (self.repository, self.wanted.origin.host().to_owned())
    }
}

/// What is known of components.
enum Supplied {
    Here(Arc<Published>),
    Not(Supply),
    UnderWay(watch::Receiver<bool>),
}

/// How a host is named.
const REMEDY: Remedy = Remedy {
    hosts: "Capstan may contact",
    act: "add it to `providers.hosts` of .capstan.yaml on the default branch. Unless it is a public one, it must also be in the bot's setting `provider-hosts`",
};

impl Supplier {
    /// Supplies from these sources.
    pub fn new(sources: SupplierPorts, limits: SupplierLimits) -> Self {
        let fetches = Arc::new(Fetches::new(limits.at_once, Arc::clone(&sources.clock)));
        Self(Arc::new(SupplierState { sources, limits, fetches, repositories: Mutex::default() }))
    }

    /// How long a run waits.
    pub fn patience(&self) -> Duration {
        self.0.limits.patience
    }

    /// Returns what is known of these components by `until`, and fetches the rest from these hosts. Each comes with the
    /// SHA-256 of the components judged before, if known: components with another digest are not accepted.
    pub async fn supply(
        &self,
        repository: &Repository,
        hosts: &AllowedHosts,
        wanted: BTreeMap<MissingComponents, Option<String>>,
        until: Instant,
    ) -> Supplies {
        let hosts = &hosts.clone().within(&(self.0.sources.hosts)());
        let (mut supplies, mut bytes) = (Supplies::default(), 0);
        let mut open = Vec::new();
        for (number, (wanted, judged)) in wanted.into_iter().enumerate() {
            if number >= self.0.limits.wanted {
                let most = count(self.0.limits.wanted, "version", "versions");
                let why = format!(
                    "the repository asks for more than {most} of components, the limit for one run: put some into .capstan/providers with `capstan providers fetch`"
                );
                supplies.add(wanted, Supply::Missing(why));
            } else if hosts.allow_origin(&wanted.origin) {
                let known = wanted.recorded.clone().or(judged);
                let asked = Components { repository: repository.id, hosts: hosts.clone(), wanted, known };
                let known = self.known(&asked, &repository.name, repository.installation).await;
                open.push((asked, known));
            } else {
                let why = REMEDY.words(wanted.origin.host(), hosts);
                supplies.add(wanted, Supply::Missing(why));
            }
        }
        for (asked, known) in open {
            let known = match known {
                Supplied::UnderWay(mut done) => {
                    let waited = tokio::time::timeout_at(until, done.wait_for(|done| *done)).await;
                    drop(waited);
                    self.after_waiting(&asked, done).await
                }
                known => known,
            };
            let supply = match known {
                Supplied::Not(supply) => supply,
                Supplied::UnderWay(_) => being_fetched(&asked.wanted.origin),
                Supplied::Here(published) => {
                    bytes += published.components.len() + published.metadata.len();
                    if bytes > self.0.limits.bytes {
                        let most = self.0.limits.bytes >> 20;
                        Supply::Missing(format!(
                            "the components of the repository's sets have more than {most} MiB together, which is the limit"
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
    async fn known(&self, asked: &Components, name: &RepositoryName, installation: u64) -> Supplied {
        if let Some(known) = self.remembered(asked) {
            return known;
        }
        let kept = self.kept(asked).await;
        if let Some(published) = fitting(&kept, asked) {
            return Supplied::Here(published);
        }
        let errand = Errand {
            shared: Arc::clone(&self.0),
            asked: asked.clone(),
            job: JobRequest {
                repository: asked.repository,
                installation,
                name: name.clone(),
                cause: JobCause::Event,
            },
            // A version without a digest in Git is compared with the digest of its last fetch.
            recorded: asked.known.clone().or(kept.sha256),
        };
        let (shared, job) = (Arc::clone(&self.0), errand.job.clone());
        let after = |is_left| async move {
            if is_left {
                tell(&shared, &job).await;
            }
        };
        match self.0.fetches.begin(asked, || errand.run(), after) {
            FetchStart::UnderWay(done) => Supplied::UnderWay(done),
            FetchStart::Rests(until) => {
                Supplied::Not(Supply::Missing(resting(asked.wanted.origin.host(), until)))
            }
        }
    }

    /// The same after the wait. If the fetch is still under way, its end requests another run.
    async fn after_waiting(&self, asked: &Components, done: watch::Receiver<bool>) -> Supplied {
        if self.0.fetches.leave(asked) {
            return Supplied::UnderWay(done);
        }
        if let Some(known) = self.remembered(asked) {
            return known;
        }
        let kept = self.kept(asked).await;
        match fitting(&kept, asked) {
            Some(published) => Supplied::Here(published),
            None => Supplied::Not(Supply::Missing(format!(
                "the components from {} could not be stored: the log of Capstan says why",
                asked.wanted.origin
            ))),
        }
    }

    fn remembered(&self, asked: &Components) -> Option<Supplied> {
        Some(match self.0.fetches.known(asked)? {
            FetchState::UnderWay(done) => Supplied::UnderWay(done),
            FetchState::Ended(standing) => Supplied::Not(standing.outcome),
        })
    }

    async fn kept(&self, asked: &Components) -> KeptComponents {
        let (cache, asked) = (Arc::clone(&self.0.sources.cache), asked.clone());
        let found = tokio::task::spawn_blocking(move || cache.find(asked.repository, &asked.wanted)).await;
        found.unwrap_or_default()
    }
}

impl SupplierState {
    /// The room that a repository has among the fetches.
    fn room_of(&self, repository: u64) -> Arc<Semaphore> {
        let mut all = self.repositories.lock().unwrap_or_else(PoisonError::into_inner);
        let own =
            all.entry(repository).or_insert_with(|| Arc::new(Semaphore::new(self.limits.repository_at_once)));
        Arc::clone(own)
    }

    /// Who asks a host for the sake of a repository.
    fn credentials(&self, origin: &ComponentOrigin, repository: &RepositoryName) -> SourceCredentials {
        let name = repository.to_string();
        let fits = |one: &&HostCredentials| {
            one.host.eq_ignore_ascii_case(origin.host()) && Glob::grants(&one.repositories, &name)
        };
        let found = self.sources.credentials.iter().find(fits);
        found.map(|found| found.credentials.clone()).unwrap_or_default()
    }
}

/// One fetch.
struct Errand {
    shared: Arc<SupplierState>,
    asked: Components,
    job: JobRequest,
    recorded: Option<String>,
}

impl Errand {
    /// Waits for its turn, fetches and stores the components. Returns the failure to remember, if any.
    async fn run(self) -> Option<RememberedOutcome<Supply>> {
        // Wait for the repository's own slot first: so its queue does not block others.
        let own = self.shared.room_of(self.asked.repository);
        let _own = own.acquire().await;
        let fetched = {
            let _slot = self.shared.fetches.slot().await;
            self.fetch().await
        };
        match fetched {
            Ok(published) => {
                let supply = self.keep(published).await.err()?;
                Some(self.shared.fetches.standing(supply, self.shared.limits.retry))
            }
            Err(error) => Some(self.failed(&error)),
        }
    }

    async fn fetch(&self) -> Result<Published, FetchError> {
        let Components { hosts, wanted, .. } = &self.asked;
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
        tracing::error!(repository = %self.job.name, error = %why, "components could not be stored");
        Err(Supply::Missing("Capstan could not store them: its log says why".to_owned()))
    }

    /// What to report of a failure, and until when it is remembered.
    fn failed(&self, error: &FetchError) -> RememberedOutcome<Supply> {
        let limits = &self.shared.limits;
        tracing::warn!(repository = %self.job.name, origin = %self.asked.wanted.origin, error = %error, "components could not be fetched");
        if let FetchError::RateLimited { wait, .. } = error {
            let wait = (*wait).min(limits.longest_rest);
            let until = self.shared.fetches.rest(&self.asked, wait);
            let (shared, job) = (Arc::clone(&self.shared), self.job.clone());
            tokio::spawn(async move {
                tokio::time::sleep(wait).await;
                tell(&shared, &job).await;
            });
            let outcome = Supply::Missing(resting(self.asked.wanted.origin.host(), until));
            return RememberedOutcome { outcome, until };
        }
        let supply = match error {
            FetchError::Moved { recorded, found, .. } => {
                Supply::Moved { known: recorded.clone(), found: found.clone() }
            }
            FetchError::Unauthorized { address, status, .. } => Supply::Missing(format!(
                "{address} answers {status}: add credentials for that host to the file of the setting `provider-credentials-file`"
            )),
            error => {
                let why = not_named(error, &self.asked.hosts, &REMEDY);
                Supply::Missing(why.unwrap_or_else(|| error.to_string()))
            }
        };
        self.shared.fetches.standing(supply, limits.retry)
    }
}

/// Requests another run for a repository.
async fn tell(shared: &SupplierState, job: &JobRequest) {
    if let Err(error) = shared.sources.jobs.enqueue(job).await {
        tracing::warn!(repository = %job.name, error = %error, "a repository whose components were fetched is checked only at the next resync");
    }
}

/// Those that were kept, where they are those that they are to be.
fn fitting(kept: &KeptComponents, asked: &Components) -> Option<Arc<Published>> {
    let published = kept.published.as_ref()?;
    let fits = asked.known.is_none() || asked.known == kept.sha256;
    fits.then(|| Arc::new(published.clone()))
}

fn being_fetched(origin: &ComponentOrigin) -> Supply {
    Supply::Missing(format!(
        "Capstan is fetching them from {origin}, and then shows what happens to their objects"
    ))
}
