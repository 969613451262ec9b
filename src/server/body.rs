//! Bodies of requests: how large, how slow, and how many large ones at a time.
//!
//! A small body takes no room but its connection's. A larger one waits until the bytes that it announced have
//! room among those of all others, is not read meanwhile, and gives the room up again where it does not come
//! at the pace that ends in time: so memory is bounded whoever sends, and two that drip hold up nobody for long.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_LENGTH;
use http_body_util::BodyExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

/// What a body may measure without waiting for room: nearly all that GitHub sends.
const SMALL_BYTES: usize = 64 << 10;
/// Room is counted in these.
const UNIT_BYTES: usize = 1 << 10;

/// Reads bodies.
#[derive(Clone)]
pub(super) struct Bodies {
    room: Arc<Semaphore>,
    units: usize,
    timeout: Duration,
}

/// A body, and the room that it takes.
pub(super) struct Received {
    bytes: Vec<u8>,
    _room: Option<OwnedSemaphorePermit>,
}

impl std::ops::Deref for Received {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Why there is no body. The words are for the log.
#[derive(Debug)]
pub(super) enum Unread {
    /// More than is taken, as announced or as sent.
    TooLarge(String),
    /// It broke off, or took too long.
    Broken(String),
    /// There was no room for it in time.
    NoRoom,
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge(why) | Self::Broken(why) => f.write_str(why),
            Self::NoRoom => f.write_str("too many large bodies are being read: there was no room in time"),
        }
    }
}

impl Bodies {
    /// Large bodies take so many bytes together, and each arrives within `timeout`.
    pub(super) fn new(room_bytes: usize, timeout: Duration) -> Self {
        // What no semaphore could count nobody has.
        let units = (room_bytes / UNIT_BYTES).clamp(1, Semaphore::MAX_PERMITS);
        Self { room: Arc::new(Semaphore::new(units)), units, timeout }
    }

    /// Reads a body of at most `limit` bytes; `seen` is shown each part as it arrives.
    pub(super) async fn read(
        &self,
        headers: &HeaderMap,
        mut body: Body,
        limit: usize,
        mut seen: impl FnMut(&[u8]),
    ) -> Result<Received, Unread> {
        let announced =
            headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
        if let Some(length) = announced.filter(|&length| length > limit as u64) {
            return Err(Unread::TooLarge(format!("{length} bytes were announced, {limit} are taken")));
        }
        let announced = announced.and_then(|length| usize::try_from(length).ok());
        let ends = Instant::now() + self.timeout;
        let late =
            || Unread::Broken(format!("it came too slowly to end within {} s", self.timeout.as_secs()));

        let mut bytes = Vec::with_capacity(announced.unwrap_or(SMALL_BYTES).min(SMALL_BYTES));
        let mut pace = None;
        let mut room = None;
        loop {
            // Whoever does not say how much will come may send all that is taken.
            if room.is_none()
                && (announced.is_some_and(|length| length > SMALL_BYTES) || bytes.len() > SMALL_BYTES)
            {
                let length = announced.unwrap_or(limit);
                room = Some(self.room_for(length, ends).await?);
                bytes.reserve_exact(length.saturating_sub(bytes.len()));
                pace = Some(Pace { began: Instant::now(), length, timeout: self.timeout });
            }
            let look_again = pace.as_ref().map_or(ends, |pace| pace.next_look(bytes.len()).min(ends));
            let frame = match timeout_at(look_again, body.frame()).await {
                Ok(Some(Ok(frame))) => frame,
                Ok(Some(Err(error))) => return Err(Unread::Broken(error.to_string())),
                Ok(None) => return Ok(Received { bytes, _room: room }),
                Err(_) => return Err(late()),
            };
            // Trailers say nothing that is asked for.
            let Ok(part) = frame.into_data() else { continue };
            if bytes.len() + part.len() > limit {
                return Err(Unread::TooLarge(format!("it did not end after {limit} bytes")));
            }
            seen(&part);
            bytes.extend_from_slice(&part);
        }
    }

    async fn room_for(&self, length: usize, ends: Instant) -> Result<OwnedSemaphorePermit, Unread> {
        let units = length.div_ceil(UNIT_BYTES).min(self.units);
        let units = u32::try_from(units).map_err(|_| Unread::NoRoom)?;
        match timeout_at(ends, Arc::clone(&self.room).acquire_many_owned(units)).await {
            Ok(Ok(room)) => Ok(room),
            // Nobody closes it.
            Ok(Err(_)) | Err(_) => Err(Unread::NoRoom),
        }
    }
}

/// How fast a large body must come.
struct Pace {
    began: Instant,
    length: usize,
    timeout: Duration,
}

impl Pace {
    /// Until when so many bytes are enough: even speed over the whole time, with a quarter of it as a start.
    fn next_look(&self, received: usize) -> Instant {
        let share = received as f64 / self.length.max(1) as f64;
        self.began + self.timeout.mul_f64((share + 0.25).clamp(0.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Bytes;
    use futures_util::{StreamExt as _, stream};

    use super::*;

    const LIMIT: usize = 1 << 20;

    fn announcing(length: usize) -> HeaderMap {
        HeaderMap::from_iter([(CONTENT_LENGTH, length.into())])
    }

    /// A body that sends this much and then nothing more.
    fn stalling(bytes: usize) -> Body {
        let first = stream::iter([Ok::<_, std::io::Error>(Bytes::from(vec![b' '; bytes]))]);
        Body::from_stream(first.chain(stream::pending()))
    }

    #[tokio::test]
    async fn a_large_body_that_drips_gives_its_room_up_before_the_others_time_is_over() {
        let bodies = Bodies::new(LIMIT, Duration::from_secs(4));
        let headers = announcing(LIMIT);
        let (dripping, whole) = tokio::join!(
            bodies.read(&headers, stalling(10), LIMIT, |_| {}),
            bodies.read(&headers, Body::from(vec![b' '; LIMIT]), LIMIT, |_| {}),
        );
        assert!(matches!(dripping, Err(Unread::Broken(_))));
        assert_eq!(whole.ok().map(|body| body.len()), Some(LIMIT));
    }

    #[test]
    fn a_large_body_has_a_quarter_of_the_time_more_than_even_speed_would_take() {
        let began = Instant::now();
        let pace = Pace { began, length: 1000, timeout: Duration::from_secs(10) };
        for (received, until) in [(0, 2.5), (250, 5.0), (750, 10.0), (1000, 10.0)] {
            assert_eq!(pace.next_look(received), began + Duration::from_secs_f64(until), "{received}");
        }
    }

    #[tokio::test]
    async fn small_bodies_never_wait_for_room() {
        let bodies = Bodies::new(LIMIT, Duration::from_millis(200));
        let whole = || Body::from(vec![b' '; LIMIT]);
        let large = bodies.read(&announcing(LIMIT), whole(), LIMIT, |_| {}).await;
        let small = bodies.read(&announcing(2), Body::from("{}"), LIMIT, |_| {}).await;
        assert_eq!(small.ok().as_deref(), Some(&b"{}"[..]));
        let another = bodies.read(&announcing(LIMIT), whole(), LIMIT, |_| {}).await;
        assert!(matches!(another, Err(Unread::NoRoom)), "as long as the first is there");
        drop(large);
        assert!(bodies.read(&announcing(LIMIT), whole(), LIMIT, |_| {}).await.is_ok());
    }

    #[tokio::test]
    async fn what_announces_nothing_is_stopped_at_the_limit() {
        let bodies = Bodies::new(LIMIT, Duration::from_secs(10));
        let parts = stream::repeat(Bytes::from(vec![b' '; 9000])).map(Ok::<_, std::io::Error>);
        let mut shown = 0;
        let endless = Body::from_stream(parts);
        let refused = bodies.read(&HeaderMap::new(), endless, LIMIT, |part| shown += part.len()).await;
        assert!(matches!(refused, Err(Unread::TooLarge(_))));
        assert!(shown <= LIMIT);
    }
}
