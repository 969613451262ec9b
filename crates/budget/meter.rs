//! Asks the ledger for each call, and for a second ahead, so that a busy process writes it about once a second.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBuilder};
use jiff::{SignedDuration, Timestamp};

use super::ledger::{Ask, Grant, Ledger, Primary, RateResource, Wait};
use super::limits::{Cost, RateLimits};
use super::priority::Priority;
use capstan_ports::{BudgetWrite, Budgets, Clock, RecordsError};

/// For how long a grant is good.
const GOOD_FOR: Duration = Duration::from_secs(1);
/// What is taken ahead: what a busy process uses in a second.
const AHEAD: Cost = Cost { requests: 15, points: 15, content: 0 };
/// How often a ledger is read again that others write at the same time, and after which pauses: without them
/// the same processes would collide again.
const RETRIES: ExponentialBuilder = ExponentialBuilder::new()
    .with_min_delay(Duration::from_millis(1))
    .with_max_delay(Duration::from_millis(25))
    .with_factor(1.1)
    .with_max_times(49)
    .with_jitter();

/// The budgets of a process: what it may use now, and what it has heard of GitHub's limits.
pub struct Meter {
    budgets: Arc<dyn Budgets>,
    clock: Arc<dyn Clock>,
    /// `None` where GitHub's published limits do not hold.
    limits: Option<RateLimits>,
    /// The process's name.
    holder: String,
    /// Requests that it makes at once.
    seats: u32,
    accounts: Mutex<HashMap<String, Arc<Account>>>,
}

/// The callers that GitHub counts together, as this process knows them.
#[derive(Default)]
struct Account {
    inner: tokio::sync::Mutex<Inner>,
    /// What was heard since the ledger was written last.
    heard: Mutex<MeteredAnswer>,
}

#[derive(Default)]
struct Inner {
    /// As it was read last: what counts where the database does not answer.
    ledger: Ledger,
    /// For each resource by itself: work goes to and fro between REST and GraphQL.
    ahead: BTreeMap<RateResource, UnusedGrant>,
}

/// What was granted and is not used yet.
#[derive(Debug, Clone, Copy)]
struct UnusedGrant {
    grant: Grant,
    left: Cost,
    priority: Priority,
}

#[derive(Default)]
struct MeteredAnswer {
    primaries: Vec<(RateResource, Primary)>,
    quiet_until: Option<Timestamp>,
}

impl Meter {
    /// A process's meter. `seats` is its number of simultaneous requests for each of those callers.
    pub fn new(
        budgets: Arc<dyn Budgets>,
        clock: Arc<dyn Clock>,
        limits: Option<RateLimits>,
        holder: String,
        seats: u32,
    ) -> Self {
        Self { budgets, clock, limits, holder, seats, accounts: Mutex::default() }
    }

    /// May a call go now? What is answered with `Ok` is counted as used.
    ///
    /// # Errors
    /// Until when to wait, and for what.
    pub async fn admit(
        &self,
        counted_for: &str,
        priority: Priority,
        resource: RateResource,
        cost: Cost,
    ) -> Result<(), Wait> {
        // Where there are no secondary limits only requests count.
        let cost = if self.limits.is_some() { cost } else { Cost { points: 0, content: 0, ..cost } };
        let account = self.account(counted_for);
        let mut inner = account.inner.lock().await;
        if self.take_ahead(&account, &mut inner, priority, resource, cost) {
            return Ok(());
        }
        let ask = Ask {
            priority,
            resource,
            cost,
            wish: larger(cost, AHEAD),
            holder: &self.holder,
            seats: self.seats,
            good_for_ms: i64::try_from(GOOD_FOR.as_millis()).unwrap_or(1_000),
        };
        let grant = self.ask(counted_for, &account, &mut inner, &ask).await?;
        let left = grant.cost.less(cost);
        inner.ahead.insert(resource, UnusedGrant { grant, left, priority });
        Ok(())
    }

    /// What the headers of an answer said.
    pub fn heard_primary(&self, counted_for: &str, resource: RateResource, seen: Primary) {
        let account = self.account(counted_for);
        let mut heard = account.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.primaries.retain(|(known, _)| *known != resource);
        heard.primaries.push((resource, seen));
    }

    /// GitHub asked to be left alone for so long.
    pub fn asked_to_wait(&self, counted_for: &str, wait: Duration) {
        let until =
            self.clock.now() + SignedDuration::try_from(wait).unwrap_or(SignedDuration::from_secs(60));
        let account = self.account(counted_for);
        account.heard.lock().unwrap_or_else(PoisonError::into_inner).quiet_until = Some(until);
    }

    /// How long a wait is from now.
    pub fn until(&self, wait: &Wait) -> Duration {
        let left = wait.until.duration_since(self.clock.now());
        Duration::try_from(left).unwrap_or_default().max(Duration::from_millis(1))
    }

    fn account(&self, counted_for: &str) -> Arc<Account> {
        let mut accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(accounts.entry(counted_for.to_owned()).or_default())
    }

    /// From what was granted ahead, where that was for calls no more important than this one.
    fn take_ahead(
        &self,
        account: &Account,
        inner: &mut Inner,
        priority: Priority,
        resource: RateResource,
        cost: Cost,
    ) -> bool {
        if account.heard.lock().unwrap_or_else(PoisonError::into_inner).quiet_until.is_some() {
            return false;
        }
        let now = self.clock.now();
        let Some(ahead) = inner.ahead.get_mut(&resource) else { return false };
        let is_good = now < ahead.grant.until && priority <= ahead.priority && ahead.left.covers(cost);
        if is_good {
            ahead.left = ahead.left.less(cost);
        }
        is_good
    }

    /// Reads, decides, writes; once more where another process wrote meanwhile. A database that does not
    /// answer stops no call: this process uses what it knows.
    async fn ask(
        &self,
        counted_for: &str,
        account: &Account,
        inner: &mut Inner,
        ask: &Ask<'_>,
    ) -> Result<Grant, Wait> {
        let heard = std::mem::take(&mut *account.heard.lock().unwrap_or_else(PoisonError::into_inner));
        let now = self.clock.now();
        let is_over =
            |of: &RateResource, ahead: &UnusedGrant| *of == ask.resource || ahead.grant.until <= now;
        let before: Vec<UnusedGrant> =
            inner.ahead.extract_if(.., |of, ahead| is_over(of, ahead)).map(|(_, ahead)| ahead).collect();
        let decide = |ledger: &mut Ledger| {
            for (resource, seen) in &heard.primaries {
                ledger.note_primary(*resource, *seen);
            }
            if let Some(until) = heard.quiet_until {
                ledger.be_quiet(until);
            }
            for ahead in &before {
                ledger.give_back(&ahead.grant, ahead.left);
            }
            ledger.ask(self.limits.as_ref(), self.clock.now(), ask)
        };
        let mut pauses = RETRIES.build();
        loop {
            match self.exchange(counted_for, inner, &decide).await {
                Ok(Some(asked)) => return asked,
                Ok(None) => {
                    let Some(pause) = pauses.next() else { break };
                    tokio::time::sleep(pause).await;
                }
                Err(error) => {
                    tracing::warn!(budget = counted_for, error = %error, "the shared budget cannot be used: this process continues with what it knew");
                    return decide(&mut inner.ledger);
                }
            }
        }
        tracing::warn!(
            budget = counted_for,
            "the shared budget was written by others each time: this process continues with what it knew"
        );
        decide(&mut inner.ledger)
    }

    /// `None` where another process wrote meanwhile.
    async fn exchange(
        &self,
        counted_for: &str,
        inner: &mut Inner,
        decide: &(dyn Fn(&mut Ledger) -> Result<Grant, Wait> + Send + Sync),
    ) -> Result<Option<Result<Grant, Wait>>, RecordsError> {
        let read = self.budgets.budget(counted_for).await?;
        // A ledger of another version of Capstan is replaced: GitHub's answers still show what it refuses.
        let known = read.as_ref().and_then(|kept| serde_json::from_str(&kept.ledger).ok());
        let mut ledger: Ledger = known.unwrap_or_default();
        let asked = decide(&mut ledger);
        let text = serde_json::to_string(&ledger).unwrap_or_default();
        let kept = self.budgets.keep_budget(counted_for, read.map(|kept| kept.version), &text).await?;
        if kept == BudgetWrite::Overtaken {
            return Ok(None);
        }
        inner.ledger = ledger;
        Ok(Some(asked))
    }
}

/// The larger of each.
const fn larger(one: Cost, other: Cost) -> Cost {
    other.plus(one.less(other))
}

impl std::fmt::Debug for Meter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Meter")
            .field("limits", &self.limits)
            .field("holder", &self.holder)
            .finish_non_exhaustive()
    }
}
