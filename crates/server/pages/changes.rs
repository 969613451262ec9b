//! `GET /changes`: server-sent events for pages that are open. Each says in a few letters how the records are that somebody
//! may see; a page whose letters differ is loaded again by its script.
//!
//! A stream ends after a while, when the server stops, and where there are many: a browser without one loses nothing but
//! that its pages renew themselves.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use capstan_ports::Sight;
use futures_util::stream::{Stream, unfold};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::Site;
use super::access::Visitor;

/// How often the records are looked at for an open page.
const POLL: Duration = Duration::from_secs(3);
/// Shorter than the time after which a listener gives up on who takes nothing.
const KEEP_ALIVE: Duration = Duration::from_secs(10);
/// A browser begins a new one then, and has to show again who it is.
const LONGEST: Duration = Duration::from_secs(120);
/// Streams at a time through one listener: fewer than the internal one has connections.
const STREAMS: usize = 16;

/// The streams of the pages.
#[derive(Clone)]
pub(crate) struct Streams {
    room: Arc<Semaphore>,
    stop: CancellationToken,
}

impl Streams {
    /// They end when that is cancelled.
    pub(crate) fn until(stop: CancellationToken) -> Self {
        Self { room: Arc::new(Semaphore::new(STREAMS)), stop }
    }
}

/// One stream.
struct OpenStream {
    site: Site,
    sight: Sight,
    until: Instant,
    last: Option<String>,
    _room: OwnedSemaphorePermit,
}

pub(super) async fn show(visitor: Visitor, State(site): State<Site>) -> Response {
    let Ok(room) = Arc::clone(&site.streams.room).try_acquire_owned() else {
        // To a browser that says: none, and do not ask again.
        return StatusCode::NO_CONTENT.into_response();
    };
    let stream =
        OpenStream { sight: visitor.sight(), until: Instant::now() + LONGEST, last: None, _room: room, site };
    Sse::new(events(stream)).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response()
}

fn events(stream: OpenStream) -> impl Stream<Item = Result<Event, Infallible>> {
    unfold(stream, |mut stream| async move {
        loop {
            let stamp = stream.site.records.stamp(&stream.sight).await.ok()?;
            if stream.last.as_ref() != Some(&stamp) {
                stream.last = Some(stamp.clone());
                return Some((Ok(Event::default().data(stamp)), stream));
            }
            if Instant::now() >= stream.until {
                return None;
            }
            tokio::select! {
                () = stream.site.streams.stop.cancelled() => return None,
                () = sleep(POLL) => {}
            }
        }
    })
}
