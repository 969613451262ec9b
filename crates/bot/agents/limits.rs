//! Limits of an agent: requests, and simultaneous polls.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use capstan_live::agent::AgentId;

#[derive(Debug, Clone, Copy)]
pub struct AgentLimits {
    /// Requests of one agent in a row.
    pub burst: u32,
    /// Requests of one agent a second after that.
    pub per_second: u32,
    /// Long polls of one agent at a time.
    pub polls: u32,
    /// Enrolments with a wrong code in a minute, by anybody, before further ones have to wait.
    pub wrong_codes_per_minute: u32,
    /// Archives that are built at a time.
    pub building: usize,
    /// Bytes of archives in memory.
    pub kept_archive_bytes: usize,
    /// A question without an answer is sent again after this long.
    pub ask_again_seconds: u32,
    /// How often a long poll looks at the records, besides notifications: other processes write too.
    pub look_every: Duration,
}

impl Default for AgentLimits {
    fn default() -> Self {
        Self {
            burst: 200,
            per_second: 10,
            polls: 16,
            wrong_codes_per_minute: 60,
            building: 2,
            kept_archive_bytes: 128 << 20,
            ask_again_seconds: 20,
            look_every: Duration::from_secs(2),
        }
    }
}

/// Counts.
pub(super) struct Limiter {
    pub(super) limits: AgentLimits,
    buckets: Mutex<HashMap<Option<AgentId>, Bucket>>,
    polls: Arc<Mutex<HashMap<AgentId, u32>>>,
    pub(super) building: tokio::sync::Semaphore,
}

struct Bucket {
    left: f64,
    at: Instant,
}

/// A long poll that is counted as long as this lives.
pub(super) struct Poll {
    agent: AgentId,
    polls: Arc<Mutex<HashMap<AgentId, u32>>>,
}

/// The limit is exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooMany;

/// An agent without requests for so long is forgotten.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(600);

impl Limiter {
    pub(super) fn new(limits: AgentLimits) -> Self {
        Self {
            limits,
            buckets: Mutex::default(),
            polls: Arc::default(),
            building: tokio::sync::Semaphore::new(limits.building.max(1)),
        }
    }

    /// Counts a request of an agent.
    pub(super) fn request(&self, agent: &AgentId) -> Result<(), TooMany> {
        let limits = &self.limits;
        self.take(Some(agent.clone()), f64::from(limits.burst), f64::from(limits.per_second))
    }

    /// Counts an enrolment with a wrong code.
    pub(super) fn wrong_code(&self) -> Result<(), TooMany> {
        let a_minute = f64::from(self.limits.wrong_codes_per_minute);
        self.take(None, a_minute, a_minute / 60.0)
    }

    fn take(&self, whose: Option<AgentId>, burst: f64, per_second: f64) -> Result<(), TooMany> {
        let now = Instant::now();
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() > 10_000 {
            buckets.retain(|_, bucket| now.duration_since(bucket.at) < FORGOTTEN_AFTER);
        }
        let bucket = buckets.entry(whose).or_insert(Bucket { left: burst, at: now });
        let refill = now.duration_since(bucket.at).as_secs_f64() * per_second;
        bucket.left = (bucket.left + refill).min(burst);
        bucket.at = now;
        if bucket.left < 1.0 {
            return Err(TooMany);
        }
        bucket.left -= 1.0;
        Ok(())
    }

    /// Counts a long poll.
    pub(super) fn poll(&self, agent: &AgentId) -> Result<Poll, TooMany> {
        let mut polls = self.polls.lock().unwrap_or_else(PoisonError::into_inner);
        let running = polls.entry(agent.clone()).or_insert(0);
        if *running >= self.limits.polls {
            return Err(TooMany);
        }
        *running += 1;
        Ok(Poll { agent: agent.clone(), polls: Arc::clone(&self.polls) })
    }
}

impl Drop for Poll {
    fn drop(&mut self) {
        let mut polls = self.polls.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = polls.get_mut(&self.agent) {
            *running -= 1;
            if *running == 0 {
                polls.remove(&self.agent);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(digit: char) -> AgentId {
        AgentId::parse(&format!("0{}", digit.to_string().repeat(25))).unwrap()
    }

    #[test]
    fn the_limit_of_one_agent_does_not_affect_others() {
        let limiter = Limiter::new(AgentLimits { burst: 3, per_second: 0, ..AgentLimits::default() });
        let taken = (0..5).filter(|_| limiter.request(&agent('1')).is_ok()).count();
        assert_eq!(taken, 3);
        assert_eq!(limiter.request(&agent('2')), Ok(()));
    }

    #[test]
    fn polls_are_counted_while_they_last() {
        let limiter = Limiter::new(AgentLimits { polls: 1, ..AgentLimits::default() });
        let first = limiter.poll(&agent('1')).ok();
        assert!(first.is_some() && limiter.poll(&agent('1')).is_err());
        drop(first);
        assert!(limiter.poll(&agent('1')).is_ok());
    }
}
