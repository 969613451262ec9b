//! `GET /changes`: server-sent events for pages that are open. Each says in a few letters how the records are that somebody
//! may see; a page whose letters differ is loaded again by its script.
//!
//! A stream ends after a while and when the server stops; where there are many, another one does not begin. A browser
//! without one loses nothing but that its pages renew themselves.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use capstan_ports::VisibleRepositories;
use futures_util::stream::{Stream, StreamExt as _, unfold};
use tokio::time::{Instant, sleep};

use super::access::Visitor;
use super::site::Site;
use super::streams::StreamSlot;

/// How often the records are read for an open page.
const POLL: Duration = Duration::from_secs(3);
/// Shorter than the time after which a listener gives up on who takes nothing.
const KEEP_ALIVE: Duration = Duration::from_secs(10);
/// A browser begins a new one then, and has to show again who it is.
const LONGEST: Duration = Duration::from_secs(120);

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

    use super::super::streams::Streams;
    use super::*;
    use tokio_util::sync::CancellationToken;

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
}
