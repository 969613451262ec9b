//! The rate limit, which only a fault makes count.

use serde_json::{Value, json};

use crate::clock::now;
use crate::state::State;

/// What the limit is said to be.
pub(crate) const REQUESTS_PER_HOUR: u64 = 15_000;

/// How many requests at most are said to be used: a client that keeps count never has to wait, however long it runs.
const MOST_USED: u64 = 1_000;

/// How many requests of the limit are said to be used.
pub(crate) fn used(state: &State) -> u64 {
    u64::try_from(state.log.exchanges.len()).unwrap_or(0) % MOST_USED
}

/// The rate limit as its own route tells it.
pub(crate) fn rate_limit(state: &State) -> Value {
    let used = used(state);
    let rate = json!({
        "limit": REQUESTS_PER_HOUR, "used": used, "remaining": REQUESTS_PER_HOUR - used, "reset": now() + 3600,
    });
    json!({
        "resources": {"core": rate, "search": rate, "graphql": rate},
        "rate": rate,
    })
}
