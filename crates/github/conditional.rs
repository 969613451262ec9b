//! Answers that were given before, so that GitHub may say "not modified", which costs nothing of the
//! rate limit.
//!
//! By hand: octocrab's cache finds an answer by its address, for any identity, and panics if the answer was
//! evicted meanwhile.
//!
//! They are kept deflated: most of GitHub's JSON is addresses that begin alike, and takes a tenth of its room so.

use std::cell::Cell;
use std::hash::RandomState;
use std::io::{Read as _, Write as _};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use clru::{CLruCache, WeightScale};
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use http::HeaderValue;

/// An answer to a read, and its `ETag`.
#[derive(Debug, Clone)]
pub(super) struct Remembered {
    pub(super) etag: String,
    deflated: Arc<[u8]>,
    /// Where the other pages are.
    pub(super) link: Option<HeaderValue>,
}

impl Remembered {
    pub(super) fn new(etag: String, body: &[u8], link: Option<&HeaderValue>) -> Self {
        // A copy: one that came over the wire keeps the whole buffer that it was read into.
        let link = link.and_then(|link| HeaderValue::from_bytes(link.as_bytes()).ok());
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        // Neither can fail: what is written to is memory.
        let written = encoder.write_all(body).and_then(|()| encoder.finish());
        Self { etag, deflated: written.unwrap_or_default().into(), link }
    }

    pub(super) fn body(&self) -> Bytes {
        let mut body = Vec::new();
        // It was compressed above. An incomplete answer fails when it is parsed.
        let _whole = DeflateDecoder::new(&*self.deflated).read_to_end(&mut body);
        body.into()
    }
}

/// An answer that was not used for so long is not kept. GitHub is asked for the usual ones every three
/// minutes, and for a campaign every five; answers about closed pull requests and older commits are never
/// used again.
const IDLE: Duration = Duration::from_secs(10 * 60);
/// How often it is looked for.
const LOOK: Duration = Duration::from_secs(60);

/// Answers by installation and path, bounded by bytes; those go first that were not asked for the longest.
pub(super) struct AnswerMemory {
    inner: Mutex<Inner>,
}

struct Inner {
    answers: CLruCache<String, CachedAnswer, RandomState, AnswerWeight>,
    /// When it was last looked for what nobody asks for.
    looked: Instant,
}

struct CachedAnswer {
    answer: Remembered,
    asked: Cell<Instant>,
}

/// An answer weighs what it takes; the cache itself counts one more for each.
struct AnswerWeight;

impl WeightScale<String, CachedAnswer> for AnswerWeight {
    fn weight(&self, key: &String, kept: &CachedAnswer) -> usize {
        let link = kept.answer.link.as_ref().map_or(0, HeaderValue::len);
        key.len() + kept.answer.etag.len() + kept.answer.deflated.len() + link
    }
}

impl AnswerMemory {
    pub(super) fn new(bytes: usize) -> Self {
        let capacity = NonZeroUsize::new(bytes).unwrap_or(NonZeroUsize::MIN);
        let answers = CLruCache::with_scale(capacity, AnswerWeight);
        Self { inner: Mutex::new(Inner { answers, looked: Instant::now() }) }
    }

    pub(super) fn recall(&self, key: &str) -> Option<Remembered> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = inner.answers.get(key)?;
        kept.asked.set(Instant::now());
        Some(kept.answer.clone())
    }

    pub(super) fn remember(&self, key: String, answer: Remembered) {
        self.remember_at(key, answer, Instant::now());
    }

    fn remember_at(&self, key: String, answer: Remembered, now: Instant) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if now.saturating_duration_since(inner.looked) >= LOOK {
            inner.looked = now;
            inner.answers.retain(|_, kept| now.saturating_duration_since(kept.asked.get()) < IDLE);
        }
        // What is larger than all room is not kept; that of before is no longer right.
        if let Err((key, _)) =
            inner.answers.put_with_weight(key, CachedAnswer { answer, asked: Cell::new(now) })
        {
            inner.answers.pop(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It weighs its body, and a byte.
    fn answer(body: &'static str) -> Remembered {
        Remembered { etag: "e".to_owned(), deflated: Arc::from(body.as_bytes()), link: None }
    }

    #[test]
    fn an_answer_is_given_as_it_came_and_kept_in_a_tenth_of_its_room() {
        let pulls: Vec<String> = (0..100)
            .map(|number| format!("{{\"url\":\"https://api.github.com/repos/acme/fleet/pulls/{number}\"}}"))
            .collect();
        let body = pulls.concat();
        let kept = Remembered::new("e".to_owned(), body.as_bytes(), None);
        assert_eq!(*kept.body(), *body.as_bytes());
        assert!(kept.deflated.len() * 10 < body.len(), "{} of {}", kept.deflated.len(), body.len());
    }

    #[test]
    fn what_was_not_asked_for_the_longest_goes_when_there_is_no_room() {
        let memory = AnswerMemory::new(22);
        let began = Instant::now();
        let after = |seconds| began + Duration::from_secs(seconds);
        memory.remember_at("a".to_owned(), answer("12345678"), began - Duration::from_secs(2));
        memory.remember_at("b".to_owned(), answer("12345678"), began - Duration::from_secs(1));
        assert!(memory.recall("a").is_some());
        memory.remember_at("c".to_owned(), answer("12345678"), after(1));
        assert!(memory.recall("b").is_none());
        assert!(memory.recall("a").is_some() && memory.recall("c").is_some());
        memory.remember_at("c".to_owned(), answer("1"), after(2));
        memory.remember_at("d".to_owned(), answer("1234"), after(3));
        assert_eq!(memory.recall("c").unwrap().deflated[..], *b"1");
        assert!(memory.recall("a").is_some());
        memory.remember("huge".to_owned(), answer("123456789012345678901234567890"));
        assert!(memory.recall("huge").is_none(), "what never fits is not kept");
        assert!(memory.recall("d").is_some(), "nor does it cost the others");
    }

    #[test]
    fn what_nobody_asks_for_any_more_goes_though_there_is_room() {
        let memory = AnswerMemory::new(1_000);
        let now = Instant::now();
        memory.remember_at("a".to_owned(), answer("1"), now);
        memory.remember_at("b".to_owned(), answer("1"), now + IDLE / 2);
        memory.remember_at("c".to_owned(), answer("1"), now + IDLE);
        assert!(memory.recall("a").is_none());
        assert!(memory.recall("b").is_some() && memory.recall("c").is_some());
        assert_eq!(memory.inner.lock().unwrap().answers.weight(), 6);
    }
}
