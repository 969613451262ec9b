//! Answers that were given before, so that GitHub may say "not modified", which costs nothing of the
//! rate limit.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

/// An answer to a read, and its `ETag`.
#[derive(Debug, Clone)]
pub(super) struct Remembered {
    pub(super) etag: String,
    pub(super) body: Arc<[u8]>,
    /// Whether another page follows.
    pub(super) more: Option<bool>,
}

/// Answers by installation and path, bounded by bytes; the oldest go first.
pub(super) struct Memory {
    bytes: usize,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    answers: HashMap<String, Remembered>,
    order: VecDeque<String>,
    bytes: usize,
}

impl Memory {
    pub(super) fn new(bytes: usize) -> Self {
        Self { bytes, inner: Mutex::default() }
    }

    pub(super) fn recall(&self, key: &str) -> Option<Remembered> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).answers.get(key).cloned()
    }

    pub(super) fn remember(&self, key: String, answer: Remembered) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let size = |key: &str, answer: &Remembered| key.len() + answer.etag.len() + answer.body.len();
        inner.bytes += size(&key, &answer);
        if let Some(former) = inner.answers.insert(key.clone(), answer) {
            inner.bytes -= size(&key, &former);
        } else {
            inner.order.push_back(key);
        }
        while inner.bytes > self.bytes {
            let Some(oldest) = inner.order.pop_front() else { break };
            if let Some(gone) = inner.answers.remove(&oldest) {
                inner.bytes -= size(&oldest, &gone);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(body: &'static str) -> Remembered {
        Remembered { etag: "e".to_owned(), body: Arc::from(body.as_bytes()), more: None }
    }

    #[test]
    fn the_oldest_answers_go_when_there_is_no_room() {
        let memory = Memory::new(20);
        memory.remember("a".to_owned(), answer("12345678"));
        memory.remember("b".to_owned(), answer("12345678"));
        assert!(memory.recall("a").is_some());
        memory.remember("c".to_owned(), answer("12345678"));
        assert!(memory.recall("a").is_none());
        assert!(memory.recall("b").is_some() && memory.recall("c").is_some());
        memory.remember("c".to_owned(), answer("1"));
        memory.remember("d".to_owned(), answer("1234"));
        assert_eq!(memory.recall("c").unwrap().body[..], *b"1");
        assert!(memory.recall("b").is_some());
        memory.remember("huge".to_owned(), answer("123456789012345678901234567890"));
        assert!(memory.recall("huge").is_none(), "what never fits is not kept");
    }
}
