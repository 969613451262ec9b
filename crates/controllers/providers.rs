//! When a pass over the providers is made: when something of theirs changed, and at an interval; soon again while one waits or
//! failed.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use capstan_live::installing::{LEASE, OWNED_ELSEWHERE, Owner};
use capstan_providers::SERVICE_ACCOUNT;
use futures_util::StreamExt as _;
use jiff::SignedDuration;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::operator_leases::OperatorLeases;
use capstan_ports::{
    As, LiveChanges, LiveError, ManagementCluster as _, NamespacedLeadership, Post, ServiceAccount,
};
use capstan_reconciler::providers::{self, Memory, pass, preview, say_waiting};
use capstan_reconciler::reconcile::{DryRunCache, Ports};

/// What installing providers takes beside the ports of everything else.
#[derive(Clone)]
pub struct Providers {
    /// The namespace of the service account [`SERVICE_ACCOUNT`], as which they are installed.
    pub namespace: String,
    /// The Leases of the Cluster API operator, which are held meanwhile.
    pub leases: Arc<dyn NamespacedLeadership>,
    /// How long a provider's workloads, webhooks and old pods are waited for.
    pub limit: SignedDuration,
}

/// How long after a Lease has run out it is looked again.
const AFTER_LEASE: Duration = Duration::from_millis(500);
/// How long nothing is looked at where nothing changes.
const INTERVAL: Duration = Duration::from_secs(600);
/// The first pause after a pass that waits for something, or failed, and the longest; a change ends it. The first is short:
/// definitions are served, and webhooks called, a moment after they are written, and nobody tells the latter.
const PAUSE: std::ops::RangeInclusive<Duration> = Duration::from_millis(50)..=Duration::from_secs(60);
/// The longest pause before it is looked again whether an operator lives still, which nobody tells.
const OPERATORS: Duration = Duration::from_secs(15);
/// What comes after the look of a pass and before its watches are open is told by nobody: it is looked at once more then.
const OPENING: Duration = Duration::from_secs(5);
/// Several changes at once make one pass.
const GATHERING: Duration = Duration::from_millis(100);

/// Makes passes until cancelled.
pub(super) async fn run(ports: Ports, providers: Providers, stop: CancellationToken) {
    let account = ServiceAccount { namespace: providers.namespace, name: SERVICE_ACCOUNT.to_owned() };
    let (posts, mut watched) = watch::channel(BTreeSet::<Post>::new());
    let mut changes = ports.live.watch_posts(As::Impersonated(account.clone()), watched.clone());
    let mut installing = Installing {
        ports: providers::Ports {
            live: Arc::clone(&ports.live),
            account,
            clock: Arc::clone(&ports.clock),
            tried: Arc::new(DryRunCache::default()),
            operators: Arc::clone(&ports.operators),
            limit: providers.limit,
            downloads: ports.downloads.clone(),
            watched: posts,
        },
        memory: Memory::default(),
        leases: OperatorLeases::new(providers.leases),
        said: String::new(),
        again: None,
        previewed: None,
        told: None,
    };
    let mut fruitless: u32 = 0;
    let mut opening: Option<Instant> = None;
    while !stop.is_cancelled() {
        let turn = installing.turn(&stop).await;
        fruitless = if matches!(turn, Turn::Waits | Turn::Failed) { fruitless.saturating_add(1) } else { 0 };
        let due = match turn {
            Turn::Quiet => INTERVAL,
            Turn::Moved | Turn::Waits | Turn::Failed => pause(fruitless),
        };
        let due = installing.again.map_or(due, |again| due.min(again));
        if watched.has_changed().unwrap_or(false) {
            watched.mark_unchanged();
            opening = Some(Instant::now() + OPENING);
        }
        let next = Instant::now() + due;
        let next = opening.map_or(next, |opening| next.min(opening));
        if !installing.heard(&mut changes, next, &stop).await && turn == Turn::Quiet {
            // The interval is over, or watches are open: everything is looked at.
            opening = None;
            continue;
        }
        if opening.is_some_and(|opening| opening <= Instant::now()) {
            opening = None;
        } else if turn != Turn::Failed {
            installing.memory.is_up_to_date();
        }
    }
    installing.leases.give_up().await;
}

/// What came of one turn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// There is nothing to do.
    Quiet,
    /// Something was done, and something is waited for.
    Moved,
    /// Nothing could be done.
    Waits,
    /// Nothing could be looked at, or somebody else installs providers.
    Failed,
}

/// What is kept from turn to turn.
struct Installing {
    ports: providers::Ports,
    memory: Memory,
    leases: OperatorLeases,
    /// Why nothing is installed, as it was logged last.
    said: String,
    /// After how long components that were lacking are asked for again.
    again: Option<Duration>,
    /// When it was said what taking over would change.
    previewed: Option<Instant>,
    /// Of which namespaces it was said that their operators have stopped.
    told: Option<Vec<String>>,
}

impl Installing {
    /// A pass, where Capstan is the one who installs.
    async fn turn(&mut self, stop: &CancellationToken) -> Turn {
        self.again = None;
        match self.refusal().await {
            Ok(None) => self.said.clear(),
            Ok(Some(refusal)) => {
                self.again = Some(self.again.map_or(OPERATORS, |again| again.min(OPERATORS)));
                if self.said != refusal {
                    tracing::warn!(reason = OWNED_ELSEWHERE, "{refusal}");
                    self.said = refusal;
                    self.previewed = None;
                }
                if self.previewed.is_none_or(|at| at.elapsed() >= INTERVAL) {
                    self.preview().await;
                }
                return Turn::Failed;
            }
            Err(error) => return failed(&error),
        }
        let is_over = || stop.is_cancelled();
        match pass(&self.ports, &mut self.memory, &is_over).await {
            Ok(outcome) => {
                self.again = outcome.again;
                match (outcome.is_waiting, outcome.steps) {
                    (false, _) => Turn::Quiet,
                    (true, 0) => Turn::Waits,
                    (true, _) => Turn::Moved,
                }
            }
            Err(error) => failed(&error),
        }
    }

    /// Says what taking over would change while somebody else installs providers: in the log, and in the condition of a set
    /// that is applied from Git.
    async fn preview(&mut self) {
        self.previewed = Some(Instant::now());
        match preview(&self.ports, &mut self.memory).await {
            Ok(previews) => {
                for (provider, preview) in &previews {
                    tracing::info!(%provider, "{preview}");
                }
                self.ports.operators.note_previews(previews);
            }
            Err(error) => tracing::warn!(%error, "what taking over would change could not be looked at"),
        }
    }

    /// Waits for news, until then at most. What comes together is looked at together.
    async fn heard(&mut self, changes: &mut LiveChanges, until: Instant, stop: &CancellationToken) -> bool {
        let mut until = until;
        let mut is_news = false;
        loop {
            let change = tokio::select! {
                () = stop.cancelled() => return is_news,
                change = tokio::time::timeout_at(until, changes.next()) => change,
            };
            match change {
                Ok(Some(change)) if self.memory.hears(&change) && !is_news => {
                    is_news = true;
                    until = until.min(Instant::now() + GATHERING);
                }
                Ok(Some(_)) => {}
                // No watch is left, which never is: the time is waited for all the same.
                Ok(None) => {
                    tokio::time::sleep_until(until).await;
                    return is_news;
                }
                Err(_) => return is_news,
            }
        }
    }

    /// Why Capstan installs nothing; `None` where it may, and holds the Leases by which an operator would stand by.
    async fn refusal(&mut self) -> Result<Option<String>, LiveError> {
        let owner = self.ports.owner().await?;
        if let Some((namespaces, left)) = owner.runs_out() {
            self.leases.begin(&namespaces);
            // The next look is when it has run out.
            self.again = Some(left + AFTER_LEASE);
            if self.told.as_ref() != Some(&namespaces) {
                say_waiting(&self.ports, &namespaces, left).await?;
                self.told = Some(namespaces);
            }
        } else {
            self.told = None;
        }
        if let Some(refusal) = owner.refusal() {
            if self.told.is_none() {
                self.leases.end_waiting();
            }
            return Ok(Some(refusal));
        }
        let Owner::Capstan { hold } = owner else { return Ok(None) };
        let missing = self.leases.hold(&hold).await;
        if !missing.is_empty() {
            self.again = Some(AFTER_LEASE);
        }
        Ok((!missing.is_empty()).then(|| {
            format!(
                "providers are installed once the Lease {LEASE} is held in {}: somebody else has it, or it may not be written",
                missing.join(", ")
            )
        }))
    }
}

fn failed(error: &LiveError) -> Turn {
    tracing::warn!(kind = error.kind(), %error, "the providers could not be looked at; it is tried again");
    Turn::Failed
}

/// A pause that was doubled so often.
fn pause(doublings: u32) -> Duration {
    PAUSE.start().saturating_mul(1 << doublings.min(10)).min(*PAUSE.end())
}
