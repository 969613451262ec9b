//! What a simulation records.

use capstan_model::ids::ClusterId;
use jiff::Timestamp;

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History {
    /// Events for people, in order.
    pub events: Vec<Event>,
    /// How many clusters were in which state, after each decision.
    pub samples: Vec<Sample>,
    /// When nothing was left to do; `None` = it came to a standstill.
    pub ended: Option<Timestamp>,
    /// Why it came to a standstill, wave by wave that had not ended.
    pub standstill: Vec<(usize, String)>,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub at: Timestamp,
    pub what: Happening,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happening {
    /// A wave's first pull requests were opened.
    Entered(usize),
    /// All of a wave is verified; it must stay well until then.
    Soaks(usize, Timestamp),
    /// A wave has ended.
    Ended(usize),
    /// A wave waits for a time.
    Shut(usize, String),
    /// The campaign was stopped, with the sentence that tells why.
    Stopped(String),
    /// A person skipped a stuck cluster, and resumed the campaign where it had stopped.
    Skipped(ClusterId),
}

/// How many clusters were in which state; skipped ones are not counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// When.
    pub at: Timestamp,
    /// Pull requests that were open.
    pub open: u32,
    /// Clusters whose machines rolled.
    pub rolling: u32,
    /// Machines of those, and of those whose pull request was open.
    pub machines: u32,
    /// Clusters that were done, by wave.
    pub done: Vec<u32>,
}
