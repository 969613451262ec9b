//! Fetches that several callers share. At most one fetch of the same thing is under way, and a bounded number of all.
//! An outcome is remembered for a while, in the same words. A rate-limited host is not asked again before the
//! time that it names.
//!
//! What is fetched, what is remembered of it, and how long one waits is its owners' own: the bot
//! ([`Supplier`](super::Supplier)) and the reconciler ([`Downloads`](super::Downloads)).

use std::collections::HashMap;
use std::future::Future;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::sync::{Semaphore, SemaphorePermit, watch};

use capstan_campaign::wording::minute;
use capstan_ports::{AllowedHosts, Clock, FetchError};

/// The key of a fetch: the thing, and who asks.
pub(super) trait FetchKey: Clone + Eq + Hash + Send + 'static {
    /// The key of a rate limit: the host, and which caller it limits.
    type Host: Eq + Hash + Send + 'static;

    /// That of this.
    fn host(&self) -> Self::Host;
}

/// Fetches, by what is asked for.
pub(super) struct Fetches<A: FetchKey, O> {
    clock: Arc<dyn Clock>,
    slots: Semaphore,
    state: Mutex<FetchTable<A, O>>,
}

struct FetchTable<A: FetchKey, O> {
    fetches: HashMap<A, Fetch<O>>,
    /// Until when hosts want to be left alone.
    resting: HashMap<A::Host, Timestamp>,
}

enum Fetch<O> {
    UnderWay {
        done: watch::Receiver<bool>,
        /// A caller stopped waiting for it.
        is_left: bool,
    },
    Ended(RememberedOutcome<O>),
}

/// The outcome of a fetch, and until when it is remembered.
#[derive(Debug, Clone)]
pub(super) struct RememberedOutcome<O> {
    pub(super) outcome: O,
    pub(super) until: Timestamp,
}

/// What is known of something.
pub(super) enum FetchState<O> {
    /// This came of it.
    Ended(RememberedOutcome<O>),
    /// It is on its way; true once it is here.
    UnderWay(watch::Receiver<bool>),
}

/// What became of asking for a fetch.
pub(super) enum FetchStart {
    UnderWay(watch::Receiver<bool>),
    /// Its host wants to be left alone until then.
    Rests(Timestamp),
}

impl<A: FetchKey, O: Clone + Send + 'static> Fetches<A, O> {
    /// Runs at most `at_once` fetches at a time.
    pub(super) fn new(at_once: usize, clock: Arc<dyn Clock>) -> Self {
        let state = FetchTable { fetches: HashMap::new(), resting: HashMap::new() };
        Self { clock, slots: Semaphore::new(at_once), state: Mutex::new(state) }
    }

    fn lock(&self) -> MutexGuard<'_, FetchTable<A, O>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known of it; `None` if nothing is under way and no remembered outcome is left.
    pub(super) fn known(&self, asked: &A) -> Option<FetchState<O>> {
        let now = self.clock.now();
        match self.lock().fetches.get(asked)? {
            Fetch::UnderWay { done, .. } => Some(FetchState::UnderWay(done.clone())),
            Fetch::Ended(standing) => (standing.until > now).then(|| FetchState::Ended(standing.clone())),
        }
    }

    /// Room among those that are under way.
    pub(super) async fn slot(&self) -> Option<SemaphorePermit<'_>> {
        // The semaphore is never closed.
        self.slots.acquire().await.ok()
    }

    /// Joins the fetch that is under way, or begins one with `work`. `work` returns the outcome to remember, or `None`
    /// if it is kept elsewhere. `after` gets whether a caller stopped waiting for it.
    pub(super) fn begin<Work, After>(
        self: &Arc<Self>,
        asked: &A,
        work: impl FnOnce() -> Work,
        after: impl FnOnce(bool) -> After + Send + 'static,
    ) -> FetchStart
    where
        Work: Future<Output = Option<RememberedOutcome<O>>> + Send + 'static,
        After: Future<Output = ()> + Send + 'static,
    {
        let now = self.clock.now();
        let mut state = self.lock();
        if let Some(Fetch::UnderWay { done, .. }) = state.fetches.get(asked) {
            return FetchStart::UnderWay(done.clone());
        }
        state.fetches.retain(|_, fetch| match fetch {
            Fetch::UnderWay { .. } => true,
            Fetch::Ended(standing) => standing.until > now,
        });
        state.resting.retain(|_, until| *until > now);
        if let Some(until) = state.resting.get(&asked.host()) {
            return FetchStart::Rests(*until);
        }
        let (end, done) = watch::channel(false);
        state.fetches.insert(asked.clone(), Fetch::UnderWay { done: done.clone(), is_left: false });
        drop(state);
        let (fetches, asked, work) = (Arc::clone(self), asked.clone(), work());
        tokio::spawn(async move {
            let standing = work.await;
            let is_left = fetches.end(asked, standing);
            end.send_replace(true);
            after(is_left).await;
        });
        FetchStart::UnderWay(done)
    }

    /// Notes that a caller stops waiting for it; false if it has ended meanwhile.
    pub(super) fn leave(&self, asked: &A) -> bool {
        match self.lock().fetches.get_mut(asked) {
            Some(Fetch::UnderWay { is_left, .. }) => {
                *is_left = true;
                true
            }
            _ => false,
        }
    }

    fn end(&self, asked: A, standing: Option<RememberedOutcome<O>>) -> bool {
        let mut state = self.lock();
        let was = state.fetches.remove(&asked);
        if let Some(standing) = standing {
            state.fetches.insert(asked, Fetch::Ended(standing));
        }
        matches!(was, Some(Fetch::UnderWay { is_left: true, .. }))
    }

    /// An outcome that is remembered for this long from now on.
    pub(super) fn standing(&self, outcome: O, wait: Duration) -> RememberedOutcome<O> {
        RememberedOutcome { outcome, until: later(self.clock.now(), wait) }
    }

    /// Notes the rate limit of a host; returns when it ends.
    pub(super) fn rest(&self, asked: &A, wait: Duration) -> Timestamp {
        let until = later(self.clock.now(), wait);
        self.lock().resting.insert(asked.host(), until);
        until
    }

    /// How long an outcome is still remembered. At least a second: a caller that asks again at once would get the same
    /// answer.
    pub(super) fn left(&self, until: Timestamp) -> Duration {
        let left = Duration::try_from(until.duration_since(self.clock.now()));
        left.unwrap_or_default().max(Duration::from_secs(1))
    }

    /// Forgets outcomes, those that came first, while `most` is less than what the others take.
    pub(super) fn make_room(&self, most: usize, size: impl Fn(&O) -> usize) {
        let mut state = self.lock();
        loop {
            let ended = state.fetches.iter().filter_map(|(asked, fetch)| match fetch {
                Fetch::Ended(standing) => Some((standing.until, asked, size(&standing.outcome))),
                Fetch::UnderWay { .. } => None,
            });
            let ended: Vec<_> = ended.filter(|(_, _, size)| *size > 0).collect();
            let all: usize = ended.iter().map(|(_, _, size)| size).sum();
            let oldest = ended.iter().min_by_key(|(until, ..)| *until).map(|(_, asked, _)| (*asked).clone());
            // The last one stays, whatever its size: a caller waits for it.
            match oldest.filter(|_| all > most && ended.len() > 1) {
                Some(oldest) => drop(state.fetches.remove(&oldest)),
                None => return,
            }
        }
    }
}

/// The time after a wait; what is longer than can be counted is a day.
fn later(now: Timestamp, wait: Duration) -> Timestamp {
    let wait = SignedDuration::try_from(wait).unwrap_or(SignedDuration::from_hours(24));
    now.saturating_add(wait).unwrap_or(Timestamp::MAX)
}

/// Why a host is not asked. To the minute: the sentence stays the same while it holds.
pub(super) fn resting(host: &str, until: Timestamp) -> String {
    format!("{host} accepts no more requests until {}: Capstan retries then", minute(until))
}

/// Why a fetch failed, if a host is not allowed: in the words of those who configure the hosts.
pub(super) fn not_named(error: &FetchError, hosts: &AllowedHosts, remedy: &Remedy) -> Option<String> {
    match error {
        FetchError::HostNotAllowed { host, .. } => Some(remedy.words(host, hosts)),
        // The answering server chose the target of the redirect: it goes to the operator's log only.
        FetchError::RedirectedElsewhere { from, to, .. } => {
            tracing::warn!(%from, %to, "components redirect to a host that is not allowed");
            Some(remedy.words(&format!("the host that {from} redirects to, named in the log,"), hosts))
        }
        FetchError::OutOfReach { host } => Some(format!(
            "{host} resolves to an address of a private network or of this machine: if that is intended, add it as `private://{host}` to the setting `provider-hosts`"
        )),
        _ => None,
    }
}

/// What is to be done that a host is spoken to.
pub(super) struct Remedy {
    /// Who may not contact it, as part of a sentence: `the reconciler may contact`.
    pub(super) hosts: &'static str,
    /// What to do.
    pub(super) act: &'static str,
}

impl Remedy {
    pub(super) fn words(&self, host: &str, hosts: &AllowedHosts) -> String {
        format!("{host} is not among the hosts that {} ({hosts}): {}", self.hosts, self.act)
    }
}
