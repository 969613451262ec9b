//! How much of an API server is read.
//!
//! The owner of a workload cluster may stand behind its API server, and answer whatever he likes. Bytes and values
//! ([`capstan_outbound::bounded_json`]) are counted, of each answer and of a list as a whole.
//!
//! Each list has its own budget, and the next one has a new one: no cluster uses up another's.

use std::time::Duration;

/// What is read at most.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReadBounds {
    pub(super) answer: ReadSize,
    /// Of a list, all its pages together, also those of a list that had to be begun again.
    pub(super) list: ReadSize,
    /// Pages of a list.
    pub(super) pages: usize,
    /// How long reading a list takes in all; `None` where each request's own patience is enough.
    pub(super) list_time: Option<Duration>,
    /// Objects on a page; `None` where the caller sets it.
    pub(super) page: Option<&'static str>,
    /// Keys that are passed over in lists, with what is below them.
    pub(super) passed_over: &'static [&'static str],
}

/// Bytes and values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ReadSize {
    pub(super) bytes: usize,
    pub(super) values: usize,
}

impl ReadSize {
    pub(super) const UNBOUNDED: Self = Self { bytes: usize::MAX, values: usize::MAX };

    pub(super) fn less(self, used: Self) -> Self {
        Self { bytes: self.bytes.saturating_sub(used.bytes), values: self.values.saturating_sub(used.values) }
    }
}

impl ReadBounds {
    /// Of the management cluster. The operator of Capstan runs it too, but tenants write objects there: a list that is kept
    /// whole ends before the process has no memory left. A page of 500 objects is far below.
    pub(super) const MANAGEMENT: Self = Self {
        answer: ReadSize { bytes: 256 << 20, ..ReadSize::UNBOUNDED },
        list: ReadSize { bytes: 512 << 20, values: 8_000_000 },
        pages: usize::MAX,
        list_time: None,
        page: None,
        passed_over: &[],
    };
    /// Of a workload cluster. A node has some 100 values, a pod some 200, but for what is passed over.
    pub(super) const WORKLOAD: Self = Self {
        answer: ReadSize { bytes: 8 << 20, values: 250_000 },
        list: ReadSize { bytes: 48 << 20, values: 750_000 },
        pages: 100,
        list_time: Some(Duration::from_secs(60)),
        page: Some("100"),
        // Two thirds of an object, and nobody looks at it: who manages which field, and which images a node has.
        passed_over: &["managedFields", "images"],
    };
}
