//! `GET /changes`: server-sent events for pages that are open. Each says in a few letters how the records are that somebody
//! may see; a page whose letters differ is loaded again by its script.
//!
//! A stream ends after a while and when the server stops; where there are many, another one does not begin. A browser
//! without one loses nothing but that its pages renew themselves.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use capstan_ports::VisibleRepositories;
use futures_util::stream::{Stream, StreamExt as _, unfold};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::Site;
use super::access::Visitor;

/// How often the records are read for an open page.
const POLL: Duration = Duration::from_secs(3);
/// Shorter than the time after which a listener gives up on who takes nothing.
const KEEP_ALIVE: Duration = Duration::from_secs(10);
/// A browser begins a new one then, and has to show again who it is.
const LONGEST: Duration = Duration::from_secs(120);
/// Streams at a time through one door: fewer than the internal listener has connections.
const STREAMS: usize = 16;
/// Streams at a time of one person.
const OF_ONE: usize = 4;

/// The streams of the pages that one door shows.
#[derive(Clone)]
pub(crate) struct Streams {
    /// Of each that is open, who has it; `None` where nobody signs in.
    open: Arc<Mutex<Vec<Option<String>>>>,
    stop: CancellationToken,
}

impl Streams {
    /// They end when that is cancelled.
    pub(crate) fn until(stop: CancellationToken) -> Self {
        Self { open: Arc::default(), stop }
    }

    /// Those of another door, which end at the same time.
    pub(super) fn of_another_door(&self) -> Self {
        Self::until(self.stop.clone())
    }

    /// A slot for one more; `None` where there are enough.
    fn slot(&self, login: Option<&str>) -> Option<StreamSlot> {
        let login = login.map(str::to_owned);
        let mut open = self.open();
        let own = open.iter().filter(|one| login.is_some() && **one == login).count();
        if open.len() >= STREAMS || own >= OF_ONE {
            return None;
        }
        open.push(login.clone());
        drop(open);
        Some(StreamSlot { streams: self.clone(), login })
    }

    fn open(&self) -> MutexGuard<'_, Vec<Option<String>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The slot of a stream that is open.
struct StreamSlot {
    streams: Streams,
    login: Option<String>,
}

impl Drop for StreamSlot {
    fn drop(&mut self) {
        let mut open = self.streams.open();
        if let Some(at) = open.iter().position(|one| *one == self.login) {
            open.swap_remove(at);
        }
    }
}

pub(super) async fn show(visitor: Visitor, State(site): State<Site>) -> Response {
    let sight = visitor.sight();
    let sees_nothing = matches!(&sight, VisibleRepositories::Repositories(those) if those.is_empty());
    let slot = if sees_nothing { None } else { site.streams.slot(visitor.login()) };
    let Some(slot) = slot else {
        // To a browser that says: none, and do not ask again.
        return StatusCode::NO_CONTENT.into_response();
    };
    let read = move || {
        let (records, sight) = (Arc::clone(&site.records), sight.clone());
        async move { records.stamp(&sight).await.ok() }
    };
    let events = stamps(read, Instant::now() + LONGEST, slot)
        .map(|stamp| Ok::<_, Infallible>(Event::default().data(stamp)));
    Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response()
}

/// The stamp as it is now, and then each other one, until one cannot be read.
fn stamps<R>(read: impl Fn() -> R, until: Instant, slot: StreamSlot) -> impl Stream<Item = String>
where
    R: Future<Output = Option<String>>,
{
    unfold((read, slot, None), move |(read, slot, last)| async move {
        loop {
            // Before each look but the first, also while every look finds another stamp.
            if last.is_some() {
                if Instant::now() >= until {
                    return None;
                }
                tokio::select! {
                    () = slot.streams.stop.cancelled() => return None,
                    () = sleep(POLL) => {}
                }
            }
            let stamp = read().await?;
            if last.as_ref() != Some(&stamp) {
                return Some((stamp.clone(), (read, slot, Some(stamp))));
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[tokio::test]
    async fn a_stream_whose_stamp_always_differs_ends_with_the_server_and_with_its_time() {
        for is_stopped in [true, false] {
            let streams = Streams::until(CancellationToken::new());
            let looks = AtomicU32::new(0);
            let read = || async { Some(looks.fetch_add(1, Ordering::SeqCst).to_string()) };
            let long = if is_stopped { LONGEST } else { Duration::ZERO };
            let mut stamps = pin!(stamps(read, Instant::now() + long, streams.slot(Some("ada")).unwrap()));
            assert_eq!(stamps.next().await.as_deref(), Some("0"));
            if is_stopped {
                streams.stop.cancel();
            }
            assert_eq!(stamps.next().await, None);
            assert_eq!(looks.load(Ordering::SeqCst), 1);
        }
    }

    #[test]
    fn one_person_has_four_streams_and_a_door_sixteen() {
        let streams = Streams::until(CancellationToken::new());
        let mut of_ada: Vec<StreamSlot> = (0..4).map(|_| streams.slot(Some("ada")).unwrap()).collect();
        assert!(streams.slot(Some("ada")).is_none());
        let others: Vec<StreamSlot> = (0..12).map(|_| streams.slot(None).unwrap()).collect();
        assert!(streams.slot(None).is_none());
        of_ada.pop();
        let back = streams.slot(Some("ada")).unwrap();
        assert!(streams.slot(Some("wim")).is_none());
        // Another door has room of its own.
        assert!(streams.of_another_door().slot(None).is_some());
        drop((of_ada, others, back));
        assert_eq!(streams.open().len(), 0);
    }
}
