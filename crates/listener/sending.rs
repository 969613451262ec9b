//! Answers on their way: in pieces, and until when their connection keeps its place.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes};
use hyper::body::{Frame, SizeHint};
use tokio::time::{Instant, sleep, sleep_until};

use super::connections::ConnectionSlot;

/// An archive is one piece of memory: in one piece it would not show how much of it was sent.
const PIECE_BYTES: usize = 64 << 10;

/// The body of an answer. Its connection's request counts as answered once this is dropped: all of it was taken, or
/// there is nobody any more to take it.
pub(crate) struct Sending {
    body: Body,
    /// What is left of a large piece.
    rest: Bytes,
    place: ConnectionSlot,
    progress: SendProgress,
}

/// When the answer that is on its way went on last; nothing between answers.
#[derive(Clone, Default)]
pub(crate) struct SendProgress(Arc<Mutex<Option<Instant>>>);

impl SendProgress {
    fn note(&self, at: Option<Instant>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = at;
    }

    /// Returns once nothing of an answer has been taken for so long.
    pub(crate) async fn stalled(&self, patience: Duration) {
        loop {
            let last = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
            match last.map(|last| last + patience) {
                Some(until) if until <= Instant::now() => return,
                Some(until) => sleep_until(until).await,
                None => sleep(patience).await,
            }
        }
    }
}

impl Sending {
    pub(crate) fn new(body: Body, place: ConnectionSlot, progress: SendProgress) -> Self {
        progress.note(Some(Instant::now()));
        Self { body, rest: Bytes::new(), place, progress }
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        self.progress.note(None);
        self.place.answered();
    }
}

impl hyper::body::Body for Sending {
    type Data = Bytes;
    type Error = axum::Error;

    /// Asked for as soon as the connection takes more.
    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.progress.note(Some(Instant::now()));
        if self.rest.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.rest = data,
                    Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
                },
                ended => return Poll::Ready(ended),
            }
        }
        let piece = self.rest.len().min(PIECE_BYTES);
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(piece)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (rest, inner) = (self.rest.len() as u64, hyper::body::Body::size_hint(&self.body));
        let mut hint = SizeHint::new();
        if let Some(upper) = inner.upper() {
            hint.set_upper(upper + rest);
        }
        hint.set_lower(inner.lower() + rest);
        hint
    }
}
