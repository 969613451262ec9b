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
    /// 422 with this in its `errors`: what is asked for cannot be done as things are.
    Unprocessable(String),
    /// 403 with `Retry-After`, as when too many requests are made at once.
    SecondaryLimit {
        /// The value of `Retry-After`.
        retry_after_seconds: u64,
    },
    /// 429 with `Retry-After`: GitHub's other way to say the same.
    TooManyRequests {
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

struct PlannedFault {
    matching: Matching,
    fault: Fault,
    strike: Strike,
    times: u32,
}

/// A request as one that decides about faults sees it.
#[derive(Clone, Copy, Debug)]
pub struct Struck<'a> {
    /// Its method, in capitals.
    pub method: &'a str,
    /// Its path, without the query.
    pub path: &'a str,
    pub body: &'a [u8],
}

/// Decides of each request whether a fault strikes it.
pub(crate) type Chooser = Box<dyn FnMut(Struck<'_>) -> Option<(Strike, Fault)> + Send>;

/// Faults that still wait for their request.
#[derive(Default)]
pub(crate) struct Faults {
    planned: Vec<PlannedFault>,
    chooser: Option<Chooser>,
}

impl Faults {
    pub(crate) fn plan(&mut self, times: u32, matching: Matching, strike: Strike, fault: Fault) {
        self.planned.push(PlannedFault { matching, fault, strike, times });
    }

    /// Every so many matching requests one of these strikes, each in its turn, until faults are cleared.
    pub(crate) fn recur(&mut self, every: u32, matching: Matching, faults: Vec<(Strike, Fault)>) {
        let mut seen: u32 = 0;
        let mut turns = faults.into_iter().cycle();
        self.choose_by(Box::new(move |Struck { method, path, body }| {
            if !matching.matches(method, path, body) {
                return None;
            }
            seen = seen.wrapping_add(1);
            if seen.is_multiple_of(every.max(1)) { turns.next() } else { None }
        }));
    }

    /// How many have not struck.
    pub(crate) fn left(&self) -> usize {
        self.planned.len()
    }

    pub(crate) fn clear(&mut self) {
        self.planned.clear();
        self.chooser = None;
    }

    /// Asks for each request that no planned fault concerns.
    pub(crate) fn choose_by(&mut self, chooser: Chooser) {
        self.chooser = Some(chooser);
    }

    /// Takes the first fault planned for this request.
    pub(crate) fn strike(&mut self, method: &str, path: &str, body: &[u8]) -> Option<(Strike, Fault)> {
        let index = self.planned.iter().position(|planned| planned.matching.matches(method, path, body));
        let Some(index) = index else {
            return self.chooser.as_mut().and_then(|choose| choose(Struck { method, path, body }));
        };
        let planned = self.planned.get_mut(index)?;
        planned.times = planned.times.saturating_sub(1);
        let struck = (planned.strike, planned.fault.clone());
        if planned.times == 0 {
            self.planned.remove(index);
        }
        Some(struck)
    }
}
