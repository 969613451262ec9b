//! Bodies of requests: how large, how slow, and how many large ones at a time.
//!
//! *Expected flow.* A small body takes no room but its connection's. A larger one takes room as its bytes
//! arrive, never for bytes that were only announced: a client that announces much and sends nothing takes
//! nothing. If the room is full, the first body in the queue continues in a lane that is as long as the
//! largest body; the others wait, unread, until some are done. Bytes that arrived stay in blocks, which never
//! move; they are joined once the request is trusted.
//!
//! *Guarantees.* Memory is bounded for every sender. There is always one who can be read to the end, so nobody waits for
//! somebody who waits for him; and who does not keep the pace that ends in time gives his room up, so those who drip
//! hold up nobody for long.

use std::collections::VecDeque;
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
/// What has come is kept in blocks of that size.
const BLOCK_BYTES: usize = 64 << 10;

/// Reads bodies.
#[derive(Clone)]
pub(super) struct Bodies {
    room: Arc<Semaphore>,
    lane: Arc<Semaphore>,
    timeout: Duration,
}

/// A body, and the room that it takes.
pub(super) struct Received {
    blocks: Blocks,
    room: BodyRoom,
}

impl Received {
    /// Puts it together.
    pub(super) fn whole(self) -> WholeBody {
        WholeBody { bytes: self.blocks.whole(), _room: self.room }
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.blocks.bytes
    }
}

/// A body in one piece, and the room that it takes.
pub(super) struct WholeBody {
    bytes: Vec<u8>,
    _room: BodyRoom,
}

impl std::ops::Deref for WholeBody {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Bytes as they came.
#[derive(Default)]
struct Blocks {
    blocks: VecDeque<Vec<u8>>,
    bytes: usize,
}

impl Blocks {
    fn push(&mut self, mut part: &[u8]) {
        self.bytes += part.len();
        while !part.is_empty() {
            let last = self.blocks.back_mut().filter(|last| last.len() < BLOCK_BYTES);
            let Some(last) = last else {
                // Most bodies are small.
                let is_first = self.blocks.is_empty();
                self.blocks.push_back(if is_first { Vec::new() } else { Vec::with_capacity(BLOCK_BYTES) });
                continue;
            };
            let (now, later) = part.split_at(part.len().min(BLOCK_BYTES - last.len()));
            last.extend_from_slice(now);
            part = later;
        }
    }

    /// In one piece. Each block goes when it was copied.
    fn whole(mut self) -> Vec<u8> {
        if self.blocks.len() < 2 {
            return self.blocks.pop_front().unwrap_or_default();
        }
        let mut whole = Vec::with_capacity(self.bytes);
        while let Some(block) = self.blocks.pop_front() {
            whole.extend_from_slice(&block);
        }
        whole
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
            Self::NoRoom => f.write_str("too many large bodies are being read: no slot was free in time"),
        }
    }
}

impl Bodies {
    /// Large bodies take so many bytes together, `largest` at least, which is what one may measure; each arrives
    /// within `timeout`.
    pub(super) fn new(room_bytes: usize, largest: usize, timeout: Duration) -> Self {
        // What no semaphore could count nobody has.
        let units = (room_bytes.saturating_sub(largest) / UNIT_BYTES).min(Semaphore::MAX_PERMITS);
        Self { room: Arc::new(Semaphore::new(units)), lane: Arc::new(Semaphore::new(1)), timeout }
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
            return Err(Unread::TooLarge(format!("{length} bytes were announced, but the limit is {limit}")));
        }
        // A client that does not announce a length may send up to the limit.
        let announced = announced.and_then(|length| usize::try_from(length).ok());
        let length = announced.unwrap_or(limit);
        let ends = Instant::now() + self.timeout;
        let late = || Unread::Broken(format!("it did not end within {} s", self.timeout.as_secs()));

        let mut blocks = Blocks::default();
        let mut pace = None;
        let mut room = BodyRoom::default();
        loop {
            let is_large = announced.is_some_and(|length| length > SMALL_BYTES) || blocks.bytes > SMALL_BYTES;
            if is_large && pace.is_none() {
                pace = Some(Pace { began: Instant::now(), length, timeout: self.timeout });
            }
            let look_again = pace.as_ref().map_or(ends, |pace| pace.next_look(blocks.bytes).min(ends));
            let frame = match timeout_at(look_again, body.frame()).await {
                Ok(Some(Ok(frame))) => frame,
                Ok(Some(Err(error))) => return Err(Unread::Broken(error.to_string())),
                Ok(None) => return Ok(Received { blocks, room }),
                Err(_) => return Err(late()),
            };
            // Trailers say nothing that is asked for.
            let Ok(part) = frame.into_data() else { continue };
            let arrived = blocks.bytes + part.len();
            if arrived > limit {
                return Err(Unread::TooLarge(format!("it did not end after {limit} bytes")));
            }
            seen(&part);
            if arrived > SMALL_BYTES {
                let asked = Instant::now();
                self.hold(&mut room, arrived, ends).await?;
                if let Some(pace) = &mut pace {
                    // Nobody can send while nobody reads.
                    pace.began += asked.elapsed();
                }
            }
            blocks.push(&part);
        }
    }

    /// Makes a body's room that of so many bytes.
    async fn hold(&self, room: &mut BodyRoom, bytes: usize, ends: Instant) -> Result<(), Unread> {
        let more = bytes.div_ceil(UNIT_BYTES).saturating_sub(room.units());
        if room.lane.is_some() || more == 0 {
            return Ok(());
        }
        let more = u32::try_from(more).map_err(|_| Unread::NoRoom)?;
        // Both are fair: who waits longest gets the lane, and what becomes free beside it.
        let either = async {
            tokio::select! {
                biased;
                units = Arc::clone(&self.room).acquire_many_owned(more) => {
                    units.map(|units| room.take(units))
                }
                lane = Arc::clone(&self.lane).acquire_owned() => lane.map(|lane| room.lane = Some(lane)),
            }
        };
        // Nobody closes either.
        timeout_at(ends, either).await.ok().and_then(Result::ok).ok_or(Unread::NoRoom)
    }
}

/// What a body takes.
#[derive(Default)]
struct BodyRoom {
    units: Option<OwnedSemaphorePermit>,
    /// As long as it is held, all that the body needs.
    lane: Option<OwnedSemaphorePermit>,
}

impl BodyRoom {
    fn units(&self) -> usize {
        self.units.as_ref().map_or(0, OwnedSemaphorePermit::num_permits)
    }

    fn take(&mut self, more: OwnedSemaphorePermit) {
        match &mut self.units {
            Some(units) => units.merge(more),
            None => self.units = Some(more),
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

    /// A body in many parts, between which others get their turn.
    fn in_parts(bytes: usize) -> Body {
        let parts = stream::iter(vec![Bytes::from(vec![b' '; 16 << 10]); bytes / (16 << 10)]);
        Body::from_stream(parts.then(|part| async move {
            tokio::task::yield_now().await;
            Ok::<_, std::io::Error>(part)
        }))
    }

    #[tokio::test]
    async fn who_announces_much_and_sends_nothing_takes_no_room() {
        let bodies = Bodies::new(2 * LIMIT, LIMIT, Duration::from_secs(600));
        let mut stalled = tokio::task::JoinSet::new();
        for _ in 0..100 {
            let bodies = bodies.clone();
            stalled.spawn(async move { bodies.read(&announcing(LIMIT), stalling(10), LIMIT, |_| {}).await });
        }
        tokio::task::yield_now().await;
        let headers = announcing(LIMIT);
        let honest = bodies.read(&headers, in_parts(LIMIT), LIMIT, |_| {});
        let honest = tokio::time::timeout(Duration::from_secs(60), honest).await.expect("there is room");
        assert_eq!(honest.ok().map(|body| body.len()), Some(LIMIT));
        assert_eq!(stalled.len(), 100);
    }

    #[tokio::test]
    async fn bodies_that_together_are_more_than_the_room_are_all_read() {
        for room in [LIMIT, 3 * LIMIT] {
            let bodies = Bodies::new(room, LIMIT, Duration::from_secs(600));
            let mut reading = tokio::task::JoinSet::new();
            for number in 0..20 {
                let (bodies, headers) = (bodies.clone(), announcing(LIMIT));
                let headers = if number % 2 == 0 { headers } else { HeaderMap::new() };
                reading.spawn(async move {
                    let read = bodies.read(&headers, in_parts(LIMIT), LIMIT, |_| {}).await;
                    read.map(|body| body.len()).map_err(|why| why.to_string())
                });
            }
            let read = tokio::time::timeout(Duration::from_secs(60), reading.join_all()).await;
            assert_eq!(read.expect("nobody waits for ever"), vec![Ok(LIMIT); 20]);
            let free = bodies.room.available_permits() * UNIT_BYTES;
            assert_eq!((free, bodies.lane.available_permits()), (room - LIMIT, 1));
        }
    }

    #[tokio::test]
    async fn a_large_body_that_drips_gives_its_room_up_before_the_others_time_is_over() {
        let bodies = Bodies::new(LIMIT, LIMIT, Duration::from_secs(4));
        let headers = announcing(LIMIT);
        let (dripping, whole) = tokio::join!(
            bodies.read(&headers, stalling(100 << 10), LIMIT, |_| {}),
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

    #[test]
    fn what_came_in_parts_of_any_size_is_the_same_in_one_piece() {
        for part in [1, 1_000, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1, 5 * BLOCK_BYTES] {
            let sent: Vec<u8> = (0..3 * BLOCK_BYTES + 5).map(|at| (at % 251) as u8).collect();
            let mut blocks = Blocks::default();
            sent.chunks(part).for_each(|part| blocks.push(part));
            assert_eq!(blocks.whole(), sent, "{part}");
        }
        assert_eq!(Blocks::default().whole(), [0; 0]);
    }

    #[tokio::test]
    async fn small_bodies_never_wait_for_room() {
        let bodies = Bodies::new(LIMIT, LIMIT, Duration::from_millis(200));
        let whole = || Body::from(vec![b' '; LIMIT]);
        let large = bodies.read(&announcing(LIMIT), whole(), LIMIT, |_| {}).await;
        let small = bodies.read(&announcing(2), Body::from("{}"), LIMIT, |_| {}).await;
        assert_eq!(small.ok().map(Received::whole).as_deref(), Some(&b"{}"[..]));
        let another = bodies.read(&announcing(LIMIT), whole(), LIMIT, |_| {}).await;
        assert!(matches!(another, Err(Unread::NoRoom)), "as long as the first is there");
        drop(large);
        assert!(bodies.read(&announcing(LIMIT), whole(), LIMIT, |_| {}).await.is_ok());
    }

    #[tokio::test]
    async fn what_announces_nothing_is_stopped_at_the_limit() {
        let bodies = Bodies::new(LIMIT, LIMIT, Duration::from_secs(10));
        let parts = stream::repeat(Bytes::from(vec![b' '; 9000])).map(Ok::<_, std::io::Error>);
        let mut shown = 0;
        let endless = Body::from_stream(parts);
        let refused = bodies.read(&HeaderMap::new(), endless, LIMIT, |part| shown += part.len()).await;
        assert!(matches!(refused, Err(Unread::TooLarge(_))));
        assert!(shown <= LIMIT);
    }
}
