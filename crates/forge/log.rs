//! The record of every request, which tests read, count, and hold against GitHub's own description of its API.

use std::time::{Duration, Instant};

use serde_json::Value;

/// One request and its answer.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The method, in capitals.
    pub method: String,
    /// The path as REST describes it: without the prefix `/api/v3`, percent-encoded as it came.
    pub path: String,
    /// The query, undecoded.
    pub query: String,
    /// Who asked: `app`, `installation 7`, a login, or `nobody`.
    pub who: String,
    /// What part of GitHub was asked.
    pub surface: Surface,
    /// The request's JSON, `Null` where there was none or bodies are not kept.
    pub request: Value,
    /// The status of the answer; 0 where the connection was closed instead.
    pub status: u16,
    /// The answer's headers, lower case.
    pub headers: Vec<(String, String)>,
    /// The answer's JSON, `Null` where there was none or bodies are not kept.
    pub response: Value,
    /// Whether a fault that a test asked for replaced the answer.
    pub faulted: bool,
    /// When the request was there as a whole.
    pub began: Instant,
    /// How long it took to answer it.
    pub took: Duration,
}

impl Exchange {
    /// Whether the request may have changed something: not a `GET`, not a GraphQL query, not the making of a token.
    pub fn is_write(&self) -> bool {
        match self.surface {
            Surface::Rest => self.method != "GET" && !self.path.ends_with("/access_tokens"),
            Surface::GraphQl => {
                self.request["query"].as_str().is_some_and(|query| query.trim_start().starts_with("mutation"))
            }
            Surface::Git => self.path.ends_with("/git-receive-pack"),
            Surface::Pages => self.method == "POST",
        }
    }
}

/// The parts of the forge that answer requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surface {
    /// The REST API.
    Rest,
    /// The GraphQL API.
    GraphQl,
    /// Git's smart HTTP protocol.
    Git,
    /// Pages for people.
    Pages,
}

/// Whether bodies are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recording {
    /// Requests and responses with their bodies, for the conformance check.
    Full,
    /// Only lines; for benches and demos that run long.
    Lines,
}

/// The record itself.
pub(crate) struct Log {
    pub(crate) recording: Recording,
    pub(crate) exchanges: Vec<Exchange>,
}

impl Log {
    pub(crate) fn push(&mut self, mut exchange: Exchange) {
        if self.recording == Recording::Lines {
            let is_mutation = exchange.surface == Surface::GraphQl && exchange.is_write();
            exchange.request =
                if is_mutation { serde_json::json!({"query": "mutation"}) } else { Value::Null };
            exchange.response = Value::Null;
        }
        self.exchanges.push(exchange);
    }
}
