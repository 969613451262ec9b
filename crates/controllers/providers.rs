//! When a pass over the providers is made: when something of theirs changed, and at an interval; soon again while one waits or
//! failed.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use capstan_live::installing::{InstallOwner, LEASE, OWNED_ELSEWHERE};
use capstan_providers::SERVICE_ACCOUNT;
use jiff::SignedDuration;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::operator_leases::OperatorLeases;
use super::watching::{SecondLook, Watches};
use capstan_model::doubling::Doubling;
use capstan_ports::{As, LiveError, NamespacedLeadership, Post, ServiceAccount};
use capstan_reconciler::providers::{self, ProviderMemory, pass, preview, say_waiting};
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
/// How long nothing is read while nothing changes.
const INTERVAL: Duration = Duration::from_secs(600);
/// The pauses after passes that wait for something, or failed; a change ends one. The first is short: definitions are served,
/// and webhooks called, a moment after they are written, and nobody tells the latter.
const PAUSES: Doubling = Doubling::new(Duration::from_millis(50), Duration::from_secs(60));
/// The longest pause before it is looked again whether an operator lives still, which nobody tells.
const OPERATORS: Duration = Duration::from_secs(15);

/// Makes passes until cancelled.
pub(super) async fn run(ports: Ports, providers: Providers, stop: CancellationToken) {
    let account = ServiceAccount { namespace: providers.namespace, name: SERVICE_ACCOUNT.to_owned() };
    let (posts, mut watched) = watch::channel(BTreeSet::<Post>::new());
    let mut watches = Watches::new(&ports.live, 0);
    watches.follow(As::Impersonated(account.clone()), watched.clone());
    let mut installing = Installing {
        ports: providers::ProviderPorts {
            live: Arc::clone(&ports.live),
            account,
            clock: Arc::clone(&ports.clock),
            tried: Arc::new(DryRunCache::default()),
            operators: Arc::clone(&ports.operators),
            limit: providers.limit,
            downloads: ports.downloads.clone(),
            watched: posts,
        },
        memory: ProviderMemory::default(),
        leases: OperatorLeases::new(providers.leases),
        said: String::new(),
        again: None,
        previewed: None,
        reported: None,
    };
    let mut fruitless: u32 = 0;
    let mut opening = SecondLook::default();
    while !stop.is_cancelled() {
        let turn = installing.turn(&stop).await;
        fruitless = if matches!(turn, ProviderTurn::Waits | ProviderTurn::Failed) {
            fruitless.saturating_add(1)
        } else {
            0
        };
        let due = match turn {
            ProviderTurn::Quiet => INTERVAL,
            ProviderTurn::Moved | ProviderTurn::Waits | ProviderTurn::Failed => {
                PAUSES.after(fruitless.saturating_add(1))
            }
        };
        let due = installing.again.map_or(due, |again| due.min(again));
        if watched.has_changed().unwrap_or(false) {
            watched.mark_unchanged();
            opening.begin();
        }
        let next = opening.or_at(Instant::now() + due);
        let is_news = watches.wait(next, &stop, |change| installing.memory.hears(change)).await;
        if !is_news && turn == ProviderTurn::Quiet {
            // The interval is over, or watches are open: everything is read.
            opening.end();
            continue;
        }
        if !opening.has_come() && turn != ProviderTurn::Failed {
            installing.memory.is_up_to_date();
        }
    }
    installing.leases.give_up().await;
}

/// The result of one turn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ProviderTurn {
    /// There is nothing to do.
    Quiet,
    /// Something was done, and something is waited for.
    Moved,
    /// Nothing could be done.
    Waits,
    /// Nothing could be read, or another process installs providers.
    Failed,
}

/// What is kept from turn to turn.
struct Installing {
    ports: providers::ProviderPorts,
    memory: ProviderMemory,
    leases: OperatorLeases,
    /// Why nothing is installed, as it was logged last.
    said: String,
    /// After how long components that were lacking are asked for again.
    again: Option<Duration>,
    /// When it was said what taking over would change.
    previewed: Option<Instant>,
    /// Of which namespaces it was said that their operators have stopped.
    reported: Option<Vec<String>>,
}

impl Installing {
    /// A pass, where Capstan is the one who installs.
    async fn turn(&mut self, stop: &CancellationToken) -> ProviderTurn {
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
                return ProviderTurn::Failed;
            }
            Err(error) => return failed(&error),
        }
        let is_over = || stop.is_cancelled();
        match pass(&self.ports, &mut self.memory, &is_over).await {
            Ok(outcome) => {
                self.again = outcome.again;
                match (outcome.is_waiting, outcome.steps) {
                    (false, _) => ProviderTurn::Quiet,
                    (true, 0) => ProviderTurn::Waits,
                    (true, _) => ProviderTurn::Moved,
                }
            }
            Err(error) => failed(&error),
        }
    }

    /// Reports what taking over would change while another process installs providers: in the log, and in the
    /// condition of a set that is applied from Git.
    async fn preview(&mut self) {
        self.previewed = Some(Instant::now());
        match preview(&self.ports, &mut self.memory).await {
            Ok(previews) => {
                for (provider, preview) in &previews {
                    tracing::info!(%provider, "{preview}");
                }
                self.ports.operators.note_previews(previews);
            }
            Err(error) => tracing::warn!(%error, "what taking over would change could not be computed"),
        }
    }

    /// Why Capstan installs nothing; `None` where it may, and holds the Leases by which an operator would stand by.
    async fn refusal(&mut self) -> Result<Option<String>, LiveError> {
        let owner = self.ports.owner().await?;
        if let Some((namespaces, left)) = owner.runs_out() {
            self.leases.begin(&namespaces);
            // The next look is when it has run out.
            self.again = Some(left + AFTER_LEASE);
            if self.reported.as_ref() != Some(&namespaces) {
                say_waiting(&self.ports, &namespaces, left).await?;
                self.reported = Some(namespaces);
            }
        } else {
            self.reported = None;
        }
        if let Some(refusal) = owner.refusal() {
            if self.reported.is_none() {
                self.leases.end_waiting();
            }
            return Ok(Some(refusal));
        }
        let InstallOwner::Capstan { hold } = owner else { return Ok(None) };
        let missing = self.leases.hold(&hold).await;
        if !missing.is_empty() {
            self.again = Some(AFTER_LEASE);
        }
        Ok((!missing.is_empty()).then(|| {
            format!(
                "Capstan installs providers once it holds the Lease {LEASE} in {}: another process holds it, or Capstan may not write it",
                missing.join(", ")
            )
        }))
    }
}

fn failed(error: &LiveError) -> ProviderTurn {
    tracing::warn!(kind = error.kind(), %error, "the providers could not be checked; Capstan retries");
    ProviderTurn::Failed
}
