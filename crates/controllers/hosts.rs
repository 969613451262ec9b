//! When a turn over the SIPClusters is made: when one of them, a host or an object of a service changed, and at an interval;
//! soon again while something is waited for. Where the kinds are not served, discovery is asked now and then.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::watching::{SecondLook, Watches};
use capstan_model::doubling::Doubling;
use capstan_ports::{As, Post};
use capstan_reconciler::hosts::{self, HostMemory, service_posts, tenant, turn};
use capstan_reconciler::reconcile::Ports;

/// How long nothing is read while nothing changes; then everything is read again.
const INTERVAL: Duration = Duration::from_secs(600);
/// How soon an awaited change is checked that has no event.
const WAITING: Duration = Duration::from_secs(30);
/// How often it is looked whether the kinds are served.
const NOT_SERVED: Duration = Duration::from_secs(20);
/// The pauses after turns that failed.
const PAUSES: Doubling = Doubling::new(Duration::from_millis(500), Duration::from_secs(60));
/// In more namespaces the objects of services are not watched: each takes four connections. There they are
/// read at the interval.
const MOST_TENANTS: usize = 50;

/// Makes turns until cancelled. `node_ports_at` is where node ports of the management cluster are reached.
pub(super) async fn run(ports: Ports, node_ports_at: Option<String>, stop: CancellationToken) {
    let (posts, watched) = watch::channel(BTreeSet::<Post>::new());
    let (tenants, mut namespaces) = watch::channel(BTreeSet::<String>::new());
    let mut watches = Watches::new(&ports.live, MOST_TENANTS);
    let mut news_of_all = watched.clone();
    watches.follow(As::Reconciler, watched);
    let ports = hosts::HostPorts {
        live: Arc::clone(&ports.live),
        clock: Arc::clone(&ports.clock),
        node_ports_at,
        watched: posts,
        tenants,
    };
    let mut memory = HostMemory::default();
    let mut failures: u32 = 0;
    let mut opening = SecondLook::default();
    let mut whole = Instant::now() + INTERVAL;
    while !stop.is_cancelled() {
        let due = match turn(&ports, &mut memory, &|| stop.is_cancelled()).await {
            Ok(outcome) => {
                failures = 0;
                match (outcome.is_served, outcome.is_waiting) {
                    (false, _) => NOT_SERVED,
                    (true, true) => WAITING,
                    (true, false) => INTERVAL,
                }
            }
            Err(error) => {
                tracing::warn!(kind = error.kind(), %error, "hosts could not be checked; Capstan retries");
                failures = failures.saturating_add(1);
                // What was written before may be unknown.
                memory.forget();
                PAUSES.after(failures)
            }
        };
        if namespaces.has_changed().unwrap_or(false) {
            let wanted = namespaces.borrow_and_update().clone();
            let wanted = wanted.into_iter().map(|namespace| (namespace.clone(), tenant(&namespace)));
            if watches.turn_to(wanted.collect(), service_posts) {
                opening.begin();
            }
        }
        if news_of_all.has_changed().unwrap_or(false) {
            news_of_all.mark_unchanged();
            opening.begin();
        }
        let next = opening.or_at((Instant::now() + due).min(whole));
        watches.wait(next, &stop, |change| memory.hears(change)).await;
        let now = Instant::now();
        if opening.has_come() || whole <= now {
            opening.end();
            whole = now + INTERVAL;
            memory.forget();
        }
    }
}
