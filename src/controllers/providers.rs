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
use crate::app::ports::{As, LiveError, ManagementCluster as _, NamespacedLeadership, Post, ServiceAccount};
use crate::app::providers::{self, Memory, pass};
use crate::app::reconcile::{DryRunCache, Ports};

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

/// How long nothing is looked at where nothing changes.
const INTERVAL: Duration = Duration::from_secs(600);
/// The first pause after a pass that waits for something, or failed, and the longest; a change ends it.
const PAUSE: std::ops::RangeInclusive<Duration> = Duration::from_secs(2)..=Duration::from_secs(60);
/// What comes after the look of a pass and before its watches are open is told by nobody: it is looked at once more then.
const OPENING: Duration = Duration::from_secs(5);
/// Several changes at once make one pass.
const GATHERING: Duration = Duration::from_millis(200);

/// Makes passes until cancelled.
pub(super) async fn run(ports: Ports, providers: Providers, stop: CancellationToken) {
    let account = ServiceAccount { namespace: providers.namespace, name: SERVICE_ACCOUNT.to_owned() };
    let (posts, watched) = watch::channel(BTreeSet::<Post>::new());
    let mut changes = ports.live.watch_posts(As::Impersonated(account.clone()), watched);
    let mut installing = Installing {
        ports: providers::Ports {
            live: Arc::clone(&ports.live),
            account,
            clock: Arc::clone(&ports.clock),
            tried: Arc::new(DryRunCache::default()),
            operators: Arc::clone(&ports.operators),
            limit: providers.limit,
            downloads: ports.downloads.clone(),
        },
        memory: Memory::default(),
        leases: OperatorLeases::new(providers.leases),
        said: String::new(),
        again: None,
    };
    let mut fruitless: u32 = 0;
    while !stop.is_cancelled() {
        let due = match installing.turn(&posts, &stop).await {
            Turn::Quiet => {
                fruitless = 0;
                INTERVAL
            }
            Turn::Moved => {
                fruitless = 0;
                pause(fruitless)
            }
            Turn::Waits => {
                fruitless = fruitless.saturating_add(1);
                pause(fruitless)
            }
        };
        let due = installing.again.map_or(due, |again| due.min(again));
        tokio::select! {
            () = stop.cancelled() => break,
            () = tokio::time::sleep(due) => {}
            Some(_) = changes.next() => {
                // What comes together is looked at together.
                let until = Instant::now() + GATHERING;
                while let Ok(Some(_)) = tokio::time::timeout_at(until, changes.next()).await {}
            }
        }
    }
    installing.leases.give_up().await;
}

/// What came of one turn.
enum Turn {
    /// There is nothing to do.
    Quiet,
    /// Something was done, and something is waited for.
    Moved,
    /// Nothing could be done.
    Waits,
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
}

impl Installing {
    /// A pass, where Capstan is the one who installs.
    async fn turn(&mut self, posts: &watch::Sender<BTreeSet<Post>>, stop: &CancellationToken) -> Turn {
        match self.refusal().await {
            Ok(None) => self.said.clear(),
            Ok(Some(refusal)) => {
                if self.said != refusal {
                    tracing::warn!(reason = OWNED_ELSEWHERE, "{refusal}");
                    self.said = refusal;
                }
                return Turn::Waits;
            }
            Err(error) => return waits(&error),
        }
        let is_over = || stop.is_cancelled();
        self.again = None;
        match pass(&self.ports, &mut self.memory, &is_over).await {
            Ok(outcome) => {
                self.again = outcome.again;
                let watches_more = posts.send_if_modified(|known| {
                    let is_new = *known != outcome.posts;
                    *known = outcome.posts;
                    is_new
                });
                if watches_more {
                    self.again = Some(self.again.map_or(OPENING, |again| again.min(OPENING)));
                }
                match (outcome.is_waiting, outcome.steps) {
                    (false, _) => Turn::Quiet,
                    (true, 0) => Turn::Waits,
                    (true, _) => Turn::Moved,
                }
            }
            Err(error) => waits(&error),
        }
    }

    /// Why Capstan installs nothing; `None` where it may, and holds the Leases by which an operator would stand by.
    async fn refusal(&mut self) -> Result<Option<String>, LiveError> {
        let owner = self.ports.owner().await?;
        if let Some(refusal) = owner.refusal() {
            return Ok(Some(refusal));
        }
        let Owner::Capstan { hold } = owner else { return Ok(None) };
        let missing = self.leases.hold(&hold).await;
        Ok((!missing.is_empty()).then(|| {
            format!(
                "providers are installed once the Lease {LEASE} is held in {}: somebody else has it, or it may not be written",
                missing.join(", ")
            )
        }))
    }
}

fn waits(error: &LiveError) -> Turn {
    tracing::warn!(kind = error.kind(), %error, "the providers could not be looked at; it is tried again");
    Turn::Waits
}

/// A pause that was doubled so often.
fn pause(doublings: u32) -> Duration {
    PAUSE.start().saturating_mul(1 << doublings.min(10)).min(*PAUSE.end())
}
