//! Answers that were given before, so that GitHub may say "not modified", which costs nothing of the
//! rate limit.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// An answer to a read, and its `ETag`.
#[derive(Debug, Clone)]
pub(super) struct Remembered {
    pub(super) etag: String,
    pub(super) body: Arc<[u8]>,
    /// Whether another page follows.
    pub(super) more: Option<bool>,
}

/// What nobody asked for in so long is not kept: of what is looked at each time, GitHub is asked every few minutes.
const IDLE: Duration = Duration::from_secs(20 * 60);
/// How often it is looked for.
const LOOK: Duration = Duration::from_secs(60);

/// Answers by installation and path, bounded by bytes; those go first that were not asked for the longest.
pub(super) struct Memory {
    bytes: usize,
    inner: Mutex<Inner>,
}

struct Inner {
    answers: HashMap<String, Kept>,
    bytes: usize,
    /// When it was last looked for what nobody asks for.
    looked: Instant,
}

struct Kept {
    answer: Remembered,
    asked: Instant,
}

impl Memory {
    pub(super) fn new(bytes: usize) -> Self {
        let inner = Inner { answers: HashMap::new(), bytes: 0, looked: Instant::now() };
        Self { bytes, inner: Mutex::new(inner) }
    }

    pub(super) fn recall(&self, key: &str) -> Option<Remembered> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = inner.answers.get_mut(key)?;
        kept.asked = Instant::now();
        Some(kept.answer.clone())
    }

    pub(super) fn remember(&self, key: String, answer: Remembered) {
        self.remember_at(key, answer, Instant::now());
    }

    fn remember_at(&self, key: String, answer: Remembered, now: Instant) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if now.saturating_duration_since(inner.looked) >= LOOK {
            inner.looked = now;
            inner.answers.retain(|_, kept| now.saturating_duration_since(kept.asked) < IDLE);
            inner.bytes = inner.answers.iter().map(|(key, kept)| size(key, &kept.answer)).sum();
        }
        let bytes = size(&key, &answer);
        if bytes > self.bytes {
            return;
        }
        inner.bytes += bytes;
        if let Some(former) = inner.answers.insert(key.clone(), Kept { answer, asked: now }) {
            inner.bytes -= size(&key, &former.answer);
        }
        if inner.bytes > self.bytes {
            inner.make_room(self.bytes);
        }
    }
}

impl Inner {
    fn make_room(&mut self, bytes: usize) {
        let mut by_age: Vec<(Instant, String)> =
            self.answers.iter().map(|(key, kept)| (kept.asked, key.clone())).collect();
        by_age.sort_unstable();
        for (_, oldest) in by_age {
            if self.bytes <= bytes {
                break;
            }
            if let Some(gone) = self.answers.remove(&oldest) {
                self.bytes -= size(&oldest, &gone.answer);
            }
        }
    }
}

fn size(key: &str, answer: &Remembered) -> usize {
    key.len() + answer.etag.len() + answer.body.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(body: &'static str) -> Remembered {
        Remembered { etag: "e".to_owned(), body: Arc::from(body.as_bytes()), more: None }
    }

    #[test]
    fn what_was_not_asked_for_the_longest_goes_when_there_is_no_room() {
        let memory = Memory::new(20);
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
        assert_eq!(memory.recall("c").unwrap().body[..], *b"1");
        assert!(memory.recall("a").is_some());
        memory.remember("huge".to_owned(), answer("123456789012345678901234567890"));
        assert!(memory.recall("huge").is_none(), "what never fits is not kept");
        assert!(memory.recall("d").is_some(), "nor does it cost the others");
    }

    #[test]
    fn what_nobody_asks_for_any_more_goes_though_there_is_room() {
        let memory = Memory::new(1_000);
        let now = Instant::now();
        memory.remember_at("a".to_owned(), answer("1"), now);
        memory.remember_at("b".to_owned(), answer("1"), now + IDLE / 2);
        memory.remember_at("c".to_owned(), answer("1"), now + IDLE);
        assert!(memory.recall("a").is_none());
        assert!(memory.recall("b").is_some() && memory.recall("c").is_some());
        assert_eq!(memory.inner.lock().unwrap().bytes, 6);
    }
}
