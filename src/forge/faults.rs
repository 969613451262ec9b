//! Trouble on demand: failing, hanging and limited requests, so that a client's patience can be tested.

use std::time::Duration;

/// When a fault strikes, relative to the work that the request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strike {
    /// Nothing was done.
    Before,
    /// The work was done; only the answer is lost.
    After,
}

/// What the client sees instead of the proper answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// This status, with GitHub's kind of error body.
    Status(u16),
    /// 403 with `Retry-After`, as when too many requests are made at once.
    SecondaryLimit {
        /// The value of `Retry-After`.
        retry_after_seconds: u64,
    },
    /// 403 with no requests remaining until the given number of seconds has passed.
    PrimaryLimit {
        /// From now until `x-ratelimit-reset`.
        reset_after_seconds: u64,
    },
    /// No answer for this long, then the connection is closed.
    Hang(Duration),
    /// The connection is closed without an answer.
    Drop,
    /// The request waits so long before it is done; nothing else is wrong with it.
    Wait(Duration),
}

/// Which requests a fault concerns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matching {
    method: Option<String>,
    path_contains: Option<String>,
    body_contains: Option<String>,
}

impl Matching {
    /// Every request.
    pub fn any() -> Matching {
        Matching::default()
    }

    /// Only requests with this method.
    #[must_use]
    pub fn method(mut self, method: &str) -> Matching {
        self.method = Some(method.to_owned());
        self
    }

    /// Only requests whose path contains this text.
    #[must_use]
    pub fn path(mut self, text: &str) -> Matching {
        self.path_contains = Some(text.to_owned());
        self
    }

    /// Only requests whose body contains this text.
    #[must_use]
    pub fn body(mut self, text: &str) -> Matching {
        self.body_contains = Some(text.to_owned());
        self
    }

    pub(crate) fn matches(&self, method: &str, path: &str, body: &[u8]) -> bool {
        self.method.as_deref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(method))
            && self.path_contains.as_deref().is_none_or(|text| path.contains(text))
            && self.body_contains.as_deref().is_none_or(|text| String::from_utf8_lossy(body).contains(text))
    }
}

struct Planned {
    matching: Matching,
    fault: Fault,
    strike: Strike,
    times: u32,
}

/// Faults that strike every so many requests.
struct Recurring {
    matching: Matching,
    every: u32,
    seen: u32,
    faults: Vec<(Strike, Fault)>,
    next: usize,
}

/// Faults that still wait for their request.
#[derive(Default)]
pub(crate) struct Faults {
    planned: Vec<Planned>,
    recurring: Option<Recurring>,
}

impl Faults {
    pub(crate) fn plan(&mut self, times: u32, matching: Matching, strike: Strike, fault: Fault) {
        self.planned.push(Planned { matching, fault, strike, times });
    }

    /// Every so many matching requests one of these strikes, each in its turn, until faults are cleared.
    pub(crate) fn recur(&mut self, every: u32, matching: Matching, faults: Vec<(Strike, Fault)>) {
        self.recurring = Some(Recurring { matching, every: every.max(1), seen: 0, faults, next: 0 });
    }

    fn recurring(&mut self, method: &str, path: &str, body: &[u8]) -> Option<(Strike, Fault)> {
        let recurring = self.recurring.as_mut()?;
        if !recurring.matching.matches(method, path, body) {
            return None;
        }
        recurring.seen += 1;
        if !recurring.seen.is_multiple_of(recurring.every) {
            return None;
        }
        let struck = recurring.faults.get(recurring.next % recurring.faults.len().max(1)).cloned();
        recurring.next += 1;
        struck
    }

    /// How many have not struck.
    pub(crate) fn left(&self) -> usize {
        self.planned.len()
    }

    pub(crate) fn clear(&mut self) {
        self.planned.clear();
        self.recurring = None;
    }

    /// Takes the first fault planned for this request.
    pub(crate) fn strike(&mut self, method: &str, path: &str, body: &[u8]) -> Option<(Strike, Fault)> {
        let index = self.planned.iter().position(|planned| planned.matching.matches(method, path, body));
        let Some(index) = index else { return self.recurring(method, path, body) };
        let planned = self.planned.get_mut(index)?;
        planned.times = planned.times.saturating_sub(1);
        let struck = (planned.strike, planned.fault.clone());
        if planned.times == 0 {
            self.planned.remove(index);
        }
        Some(struck)
    }
}
