//! [`Leadership`] by a `Lease` (coordination.k8s.io/v1), as client-go elects leaders.
//!
//! # Guarantees
//! No clock of another machine is believed: a Lease counts as held for as long as it was last *seen* to be
//! renewed less than its duration ago. A leader that cannot renew for [`Timing::renew`] says so before anybody
//! else may take the Lease ([`Timing::duration`]). One that was stopped meanwhile finds out at its next write, which
//! asks for the Lease first ([`Fence`]). A Lease whose holder is known to be dead need not run out.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use capstan_live::fencing::{self, Fencing};
use http::{Method, StatusCode};
use jiff::Timestamp;
use rand::RngExt as _;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::connect::Connection;
use super::rest::{ApiCall, ApiServer};
use capstan_ports::{As, Fence, Leadership, LiveError, NamespacedLeadership, Term};

/// How long things take; client-go's defaults.
#[derive(Debug, Clone, Copy)]
pub struct Timing {
    /// How long a Lease holds after it was renewed last.
    pub duration: Duration,
    /// How long a leader tries to renew before it gives up.
    pub renew: Duration,
    /// How often it renews, and how often others look.
    pub retry: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            duration: Duration::from_secs(15),
            renew: Duration::from_secs(10),
            retry: Duration::from_secs(2),
        }
    }
}

/// A role that a Lease guards.
#[derive(Clone)]
pub struct KubeLease {
    rest: ApiServer,
    namespace: String,
    name: String,
    identity: String,
    /// Processes that are known to be dead.
    dead: Vec<String>,
    timing: Timing,
}

/// One term, as the Lease has it.
struct LeaseFence {
    lease: KubeLease,
    term: Fencing,
    lost: CancellationToken,
}

/// A Lease as it was seen, and when it was first seen so.
struct ObservedLease {
    version: String,
    holder: String,
    transitions: i64,
    duration: Duration,
    since: Instant,
}

/// The result of an attempt to hold a Lease.
enum Attempt {
    Held(ObservedLease),
    /// Another process holds it.
    Other(ObservedLease),
}

impl KubeLease {
    /// The Lease of a namespace and name; `identity` tells this process from all others, earlier ones
    /// too (`pod name_random`).
    pub fn new(
        connection: &Connection,
        namespace: impl Into<String>,
        name: impl Into<String>,
        identity: impl Into<String>,
    ) -> Self {
        Self {
            rest: connection.rest.clone(),
            namespace: namespace.into(),
            name: name.into(),
            identity: identity.into(),
            dead: Vec::new(),
            timing: Timing::default(),
        }
    }

    /// The same after processes of these identities, which are known to be dead.
    #[must_use]
    pub fn after(mut self, dead: Vec<String>) -> Self {
        self.dead = dead;
        self
    }

    /// The same with other times.
    #[must_use]
    pub const fn with_timing(mut self, timing: Timing) -> Self {
        self.timing = timing;
        self
    }

    fn path(&self) -> String {
        format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases", self.namespace)
    }

    fn call(&self, doing: &str, method: Method, path: String) -> ApiCall<'static> {
        ApiCall::new(format!("{doing} Lease {}/{}", self.namespace, self.name), &As::Reconciler, method, path)
    }

    /// Takes or renews the Lease if it is free, run out or one's own already.
    async fn attempt(&self, before: Option<&ObservedLease>) -> Result<Attempt, LiveError> {
        let one = format!("{}/{}", self.path(), self.name);
        let read = self.call("reading", Method::GET, one.clone());
        let answer = self.rest.answer(&read).await?;
        if answer.status == StatusCode::NOT_FOUND {
            let create = self
                .call("creating", Method::POST, self.path())
                .body("application/json", &self.lease(None, 0, &Timestamp::now().to_string()));
            let answer = self.rest.answer(&create).await?;
            return if answer.status.is_success() {
                Ok(Attempt::Held(self.seen(&answer.body, None)))
            } else {
                // Somebody was quicker, and is seen the next time.
                Err(create.refused(&answer))
            };
        }
        if !answer.status.is_success() {
            return Err(read.refused(&answer));
        }
        let seen = self.seen(&answer.body, before);
        let is_own = seen.holder == self.identity;
        let is_free = fencing::is_free(&seen.holder, &self.dead) || seen.since.elapsed() >= seen.duration;
        if !is_own && !is_free {
            return Ok(Attempt::Other(seen));
        }
        let acquired = match answer.body.pointer("/spec/acquireTime").and_then(Value::as_str) {
            Some(time) if is_own => time.to_owned(),
            _ => Timestamp::now().to_string(),
        };
        let transitions = if is_own { seen.transitions } else { seen.transitions + 1 };
        let update = self
            .call("renewing", Method::PUT, one)
            .body("application/json", &self.lease(Some(&seen.version), transitions, &acquired));
        let answer = self.rest.answer(&update).await?;
        if answer.status.is_success() {
            return Ok(Attempt::Held(self.seen(&answer.body, None)));
        }
        Err(update.refused(&answer))
    }

    fn lease(&self, version: Option<&str>, transitions: i64, acquired: &str) -> Value {
        let micros = |time: &str| {
            time.parse::<Timestamp>().map_or_else(|_| time.to_owned(), |time| format!("{time:.6}"))
        };
        let mut lease = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": self.name, "namespace": self.namespace},
            "spec": {
                "holderIdentity": self.identity,
                "leaseDurationSeconds": self.timing.duration.as_secs().max(1),
                "acquireTime": micros(acquired),
                "renewTime": format!("{:.6}", Timestamp::now()),
                "leaseTransitions": transitions,
            },
        });
        if let Some(version) = version {
            lease["metadata"]["resourceVersion"] = json!(version);
        }
        lease
    }

    fn seen(&self, lease: &Value, before: Option<&ObservedLease>) -> ObservedLease {
        let text =
            |pointer: &str| lease.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let version = text("/metadata/resourceVersion");
        let since = before
            .filter(|before| before.version == version)
            .map_or_else(Instant::now, |before| before.since);
        let seconds = lease.pointer("/spec/leaseDurationSeconds").and_then(Value::as_u64);
        ObservedLease {
            version,
            holder: text("/spec/holderIdentity"),
            transitions: lease.pointer("/spec/leaseTransitions").and_then(Value::as_i64).unwrap_or(0),
            duration: seconds.map_or(self.timing.duration, Duration::from_secs),
            since,
        }
    }

    /// Renews until it has to resign, or until it no longer succeeds.
    async fn keep(self, mut held: ObservedLease, lost: CancellationToken, resigned: CancellationToken) {
        let term = held.transitions;
        let mut renewed = Instant::now();
        loop {
            tokio::select! {
                () = sleep(self.timing.retry) => {}
                () = resigned.cancelled() => {
                    self.give_away(&held).await;
                    return;
                }
            }
            let left = self.timing.renew.saturating_sub(renewed.elapsed());
            let attempt = timeout(left.max(Duration::from_millis(1)), self.attempt(Some(&held))).await;
            match attempt {
                Ok(Ok(Attempt::Held(seen))) if seen.transitions == term => {
                    held = seen;
                    renewed = Instant::now();
                }
                Ok(Ok(Attempt::Held(_))) => {
                    tracing::error!("the Lease was recreated, or another reconciler has led meanwhile");
                    lost.cancel();
                    return;
                }
                Ok(Ok(Attempt::Other(seen))) => {
                    tracing::error!(holder = %seen.holder, "the Lease was taken by another reconciler");
                    lost.cancel();
                    return;
                }
                Ok(Err(error)) => tracing::warn!(error = %error, "the Lease was not renewed"),
                Err(_) => {}
            }
            if renewed.elapsed() >= self.timing.renew {
                tracing::error!("the Lease could not be renewed in time: another reconciler may lead");
                lost.cancel();
                return;
            }
        }
    }

    /// Leaves the Lease without a holder; where that fails, it runs out.
    async fn give_away(&self, held: &ObservedLease) {
        let mut lease = self.lease(Some(&held.version), held.transitions, &Timestamp::now().to_string());
        lease["spec"]["holderIdentity"] = json!("");
        lease["spec"]["leaseDurationSeconds"] = json!(1);
        let call = self
            .call("giving away", Method::PUT, format!("{}/{}", self.path(), self.name))
            .body("application/json", &lease);
        if let Err(error) = self.rest.done(&call).await {
            tracing::warn!(error = %error, "the Lease was not released: it expires");
        }
    }
}

/// The Leases of one name in all namespaces, each held under one identity.
#[derive(Clone)]
pub struct KubeLeases {
    connection: Connection,
    name: String,
    identity: String,
}

impl KubeLeases {
    /// The Leases of that name.
    pub fn new(connection: &Connection, name: impl Into<String>, identity: impl Into<String>) -> Self {
        Self { connection: connection.clone(), name: name.into(), identity: identity.into() }
    }
}

impl NamespacedLeadership for KubeLeases {
    fn of(&self, namespace: &str) -> Arc<dyn Leadership> {
        Arc::new(KubeLease::new(&self.connection, namespace, self.name.clone(), self.identity.clone()))
    }
}

#[async_trait]
impl Fence for LeaseFence {
    async fn check(&self, doing: &str) -> Result<(), LiveError> {
        let not_leading = || LiveError::NotLeading { doing: doing.to_owned() };
        if self.lost.is_cancelled() {
            return Err(not_leading());
        }
        let lease = &self.lease;
        let read = lease.call("reading", Method::GET, format!("{}/{}", lease.path(), lease.name));
        let answer = lease.rest.answer(&read).await?;
        if answer.status.is_success() && self.term.holds(&answer.body) {
            return Ok(());
        }
        if answer.status.is_success() || answer.status == StatusCode::NOT_FOUND {
            tracing::error!(doing, "another reconciler leads: this one writes nothing more");
            self.lost.cancel();
            return Err(not_leading());
        }
        Err(read.refused(&answer))
    }
}

#[async_trait]
impl Leadership for KubeLease {
    async fn lead(&self, stop: &CancellationToken) -> Option<Term> {
        let mut seen: Option<ObservedLease> = None;
        loop {
            let attempt = tokio::select! {
                attempt = self.attempt(seen.as_ref()) => attempt,
                () = stop.cancelled() => return None,
            };
            match attempt {
                Ok(Attempt::Held(held)) => {
                    tracing::info!(lease = %format_args!("{}/{}", self.namespace, self.name), "this reconciler leads");
                    let (lost, resigned) = (CancellationToken::new(), CancellationToken::new());
                    let term = Fencing { holder: held.holder.clone(), transitions: held.transitions };
                    let fence = LeaseFence { lease: self.clone(), term, lost: lost.clone() };
                    let keeping = tokio::spawn(self.clone().keep(held, lost.clone(), resigned.clone()));
                    return Some(Term::new(Arc::new(fence), lost, resigned, keeping));
                }
                Ok(Attempt::Other(other)) => {
                    if seen.as_ref().is_none_or(|seen| seen.holder != other.holder) {
                        tracing::info!(holder = %other.holder, "another reconciler leads; this one waits");
                    }
                    seen = Some(other);
                }
                // Two who write at once is how an election goes.
                Err(error) if error.refusal().is_some_and(|refusal| refusal.status == 409) => {}
                Err(error) => tracing::warn!(error = %error, "cannot get the Lease yet"),
            }
            // Spread, so that those who wait do not ask in step.
            let share = rand::rng().random_range(1.0..1.2);
            tokio::select! {
                () = sleep(self.timing.retry.mul_f64(share)) => {}
                () = stop.cancelled() => return None,
            }
        }
    }
}
