//! One SIPCluster after the other.

use std::collections::BTreeSet;

use capstan_hosts::cluster::{NamespacedName, SipCluster};
use capstan_hosts::pass::{HostStep, RefusedWrites, next, standing};
use futures_util::{StreamExt as _, stream};
use jiff::SignedDuration;

use super::facts::{self, OwnHostFacts};
use super::perform::{HostWrite, HostWriteFailure, note, perform};
use super::{HostPorts, posts};
use capstan_ports::{LiveError, ManagementCluster as _};
use capstan_reconciler_core::hosts::HostMemory;
use capstan_reconciler_core::hosts::kinds::{hosts, sip_clusters};

/// Writes for one SIPCluster that are under way at a time.
const AT_A_TIME: usize = 8;
/// How often one turn reads a SIPCluster again because another client wrote meanwhile.
const MOST_STALE: usize = 5;
/// Secrets that are not there are not asked for more often.
const ASKED_AGAIN: SignedDuration = SignedDuration::from_secs(20);
/// After this many rounds of writes for one SIPCluster, a turn takes it for one that never settles.
const MOST_ROUNDS: usize = 30;

/// The result of a turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HostTurnOutcome {
    /// Whether the kinds are served.
    pub is_served: bool,
    /// How many writes were performed.
    pub writes: usize,
    /// Whether something is waited for, or was refused.
    pub is_waiting: bool,
}

/// Brings every SIPCluster as far as that goes now. `is_over` says, between the rounds, whether to stop.
///
/// # Errors
/// The API server does not answer, or this process leads no more. What was done is done.
pub async fn turn(
    ports: &HostPorts,
    memory: &mut HostMemory,
    is_over: &(dyn Fn() -> bool + Sync),
) -> Result<HostTurnOutcome, LiveError> {
    let mut outcome = HostTurnOutcome { is_served: is_served(ports).await?, ..HostTurnOutcome::default() };
    if outcome.is_served {
        memory.has_listed_machines = false;
        let now = ports.clock.now();
        if memory.in_vain_since.is_none_or(|since| now.duration_since(since) >= ASKED_AGAIN) {
            memory.ask_again(now);
            memory.in_vain_since = Some(now);
        }
        facts::of_all(ports, memory).await?;
        // A list is empty, too, when its kind is no longer served. That does not mean that the hosts are gone.
        if is_empty(&memory.clusters) || is_empty(&memory.hosts) {
            outcome.is_served = is_served(ports).await?;
        }
    }
    if !outcome.is_served {
        memory.forget();
        ports.watch(BTreeSet::new(), BTreeSet::new());
        return Ok(outcome);
    }
    let all: Vec<NamespacedName> = memory.clusters.iter().flatten().map(SipCluster::named).collect();
    ports.watch(posts(), all.iter().map(|named| named.namespace.clone()).collect());
    for named in all {
        if is_over() {
            break;
        }
        let mut one = One { ports, memory, named: &named, writes: 0 };
        let is_waiting = one.settle(is_over).await;
        outcome.writes += one.writes;
        outcome.is_waiting |= is_waiting?;
    }
    Ok(outcome)
}

fn is_empty<T>(known: &Option<Vec<T>>) -> bool {
    known.as_ref().is_none_or(Vec::is_empty)
}

async fn is_served(ports: &HostPorts) -> Result<bool, LiveError> {
    for kind in [sip_clusters(), hosts()] {
        if ports.live.scope(&kind).await?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A SIPCluster and its turn.
struct One<'t> {
    ports: &'t HostPorts,
    memory: &'t mut HostMemory,
    named: &'t NamespacedName,
    writes: usize,
}

/// What a round of writes came to.
enum Round {
    /// All were performed.
    Done,
    /// Others wrote meanwhile.
    Stale(String, Option<RefusedWrites>),
    /// One is not to be done.
    Refused(String, Option<RefusedWrites>),
}

impl One<'_> {
    /// Brings it as far as that goes; whether it waits for something.
    async fn settle(&mut self, is_over: &(dyn Fn() -> bool + Sync)) -> Result<bool, LiveError> {
        let mut stale = 0;
        for _ in 0..MOST_ROUNDS {
            if is_over() {
                return Ok(true);
            }
            facts::of_all(self.ports, self.memory).await?;
            let Some(cluster) = self.memory.cluster(self.named).cloned() else { return Ok(false) };
            let own = match facts::of_one(self.ports, self.memory, &cluster).await {
                Ok(own) => own,
                Err(error @ (LiveError::Unreachable { .. } | LiveError::NotLeading { .. })) => {
                    return Err(error);
                }
                // Its namespace has no account, or that one no rights: nobody else is concerned.
                Err(error) => {
                    tracing::warn!(sip_cluster = %self.named, %error, "nothing can be done for a SIPCluster");
                    return Ok(true);
                }
            };
            let steps = next(&cluster, &own.facts(self.ports, self.memory, None));
            if steps.is_empty() {
                return Ok(own.lacks(&cluster) || !is_ready(&cluster));
            }
            let (told, trouble) = match self.round(&cluster, &own, steps).await? {
                Round::Done => continue,
                Round::Stale(..) if stale < MOST_STALE => {
                    stale += 1;
                    self.memory.doubt(&self.named.namespace);
                    continue;
                }
                Round::Stale(told, trouble) | Round::Refused(told, trouble) => (told, trouble),
            };
            self.say(&told, trouble).await?;
            return Ok(true);
        }
        tracing::error!(sip_cluster = %self.named, "a SIPCluster never settles: the objects differ from what Capstan wrote");
        Ok(true)
    }

    /// Performs writes side by side.
    async fn round(
        &mut self,
        cluster: &SipCluster,
        own: &OwnHostFacts,
        steps: Vec<HostStep>,
    ) -> Result<Round, LiveError> {
        let ports = self.ports;
        let writes = steps.into_iter().map(|step| async move {
            let done = perform(ports, cluster, own, &step).await;
            (step, done)
        });
        let performed: Vec<(HostStep, Result<HostWrite, HostWriteFailure>)> =
            stream::iter(writes).buffer_unordered(AT_A_TIME).collect().await;
        let mut round = Round::Done;
        let mut away = None;
        for (step, done) in performed {
            match done {
                Ok(done) => {
                    self.writes += 1;
                    note(self.memory, cluster, done);
                }
                Err(HostWriteFailure::Stale(told)) if matches!(round, Round::Done) => {
                    round = Round::Stale(told, step.trouble())
                }
                Err(HostWriteFailure::Stale(_)) => {}
                Err(HostWriteFailure::Refused(told)) => round = Round::Refused(told, step.trouble()),
                Err(HostWriteFailure::Away(error)) => away = Some(error),
            }
        }
        away.map_or(Ok(round), Err)
    }

    /// Says in its status what was refused.
    async fn say(&mut self, told: &str, trouble: Option<RefusedWrites>) -> Result<(), LiveError> {
        tracing::warn!(sip_cluster = %self.named, "{told}");
        let Some(trouble) = trouble else { return Ok(()) };
        facts::of_all(self.ports, self.memory).await?;
        let Some(cluster) = self.memory.cluster(self.named).cloned() else { return Ok(()) };
        let Ok(own) = facts::of_one(self.ports, self.memory, &cluster).await else { return Ok(()) };
        let steps = standing(&cluster, &own.facts(self.ports, self.memory, Some((trouble, told))));
        // It is said again at the next turn where it could not be said now.
        self.round(&cluster, &own, steps).await.map(drop)
    }
}

fn is_ready(cluster: &SipCluster) -> bool {
    cluster.status.conditions.iter().any(|held| held.kind == "Ready" && held.status == "True")
}
