//! Events (events.k8s.io/v1) on Capstan's own objects. Losing one is not an error: it is logged.
//!
//! What is said again within a few minutes becomes a series of the first event, as the API means it, and not a
//! second event.
//!
//! Not kube's `events::Recorder`: of several notes with one reason it keeps the first and counts the others
//! under it, it does not start a new series after its event was deleted, and it does not cut a note to the
//! API server's limit.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::{Method, StatusCode};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::rest::{ApiCall, ApiServer};
use capstan_ports::As;

/// Who says it.
const CONTROLLER: &str = "capstan.dev/reconciler";
/// How long a series may pause, as client-go has it.
const SERIES: Duration = Duration::from_secs(6 * 60);
/// The longest note that the API server takes, in bytes.
const LONGEST_NOTE: usize = 1024;
/// How many series are remembered; the oldest go.
const REMEMBERED: usize = 4096;

/// The object that an event is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Regarding {
    pub(super) api_version: String,
    pub(super) kind: &'static str,
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) uid: String,
}

/// What an event says.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Saying {
    /// `Normal` or `Warning`.
    pub(super) tone: &'static str,
    pub(super) reason: &'static str,
    pub(super) note: String,
}

struct Series {
    name: String,
    count: u64,
    last: Instant,
}

/// Publishes events.
#[derive(Clone)]
pub(super) struct Events {
    rest: ApiServer,
    instance: Arc<str>,
    series: Arc<Mutex<HashMap<(Regarding, Saying), Series>>>,
}

/// What is to be done with a saying.
enum EventStep {
    Begin,
    Continue { name: String, count: u64 },
}

impl Events {
    /// `instance` tells this process from others.
    pub(super) fn new(rest: ApiServer, instance: &str) -> Self {
        // As long as the API server takes it.
        let instance: String = instance.chars().take(128).collect();
        Self { rest, instance: instance.into(), series: Arc::default() }
    }

    pub(super) async fn say(&self, regarding: &Regarding, mut saying: Saying) {
        saying.note = cut(&saying.note);
        let written = match self.step(regarding, &saying) {
            EventStep::Continue { name, count } => {
                match self.continue_series(regarding, &name, count).await {
                    // Events live for an hour, unless somebody deletes them.
                    Ok(StatusCode::NOT_FOUND) => self.begin(regarding, &saying).await,
                    written => written.map(drop),
                }
            }
            EventStep::Begin => self.begin(regarding, &saying).await,
        };
        if let Err(error) = written {
            tracing::warn!(reason = saying.reason, error = %error, "an event is lost");
        }
    }

    fn step(&self, regarding: &Regarding, saying: &Saying) -> EventStep {
        let mut known = self.series.lock().unwrap_or_else(PoisonError::into_inner);
        match known.get_mut(&(regarding.clone(), saying.clone())) {
            Some(series) if series.last.elapsed() < SERIES => {
                series.count += 1;
                series.last = Instant::now();
                EventStep::Continue { name: series.name.clone(), count: series.count }
            }
            _ => EventStep::Begin,
        }
    }

    async fn begin(&self, regarding: &Regarding, saying: &Saying) -> Result<(), capstan_ports::LiveError> {
        let name = format!("{}.{:016x}", cut_name(&regarding.name), rand::random::<u64>());
        let call = ApiCall::new(
            format!("saying {} of {} {}", saying.reason, regarding.kind, regarding.name),
            &As::Reconciler,
            Method::POST,
            path(&regarding.namespace),
        )
        .body("application/json", &self.event(regarding, saying, &name));
        self.rest.done(&call).await?;
        let mut known = self.series.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= REMEMBERED {
            known.retain(|_, series| series.last.elapsed() < SERIES);
            if known.len() >= REMEMBERED {
                known.clear();
            }
        }
        let series = Series { name, count: 1, last: Instant::now() };
        known.insert((regarding.clone(), saying.clone()), series);
        Ok(())
    }

    async fn continue_series(
        &self,
        regarding: &Regarding,
        name: &str,
        count: u64,
    ) -> Result<StatusCode, capstan_ports::LiveError> {
        let call = ApiCall::new(
            format!("repeating the event of {} {}", regarding.kind, regarding.name),
            &As::Reconciler,
            Method::PATCH,
            format!("{}/{name}", path(&regarding.namespace)),
        )
        .body(
            "application/merge-patch+json",
            &json!({"series": {"count": count, "lastObservedTime": format!("{:.6}", Timestamp::now())}}),
        );
        let answer = self.rest.answer(&call).await?;
        if answer.status.is_success() || answer.status == StatusCode::NOT_FOUND {
            Ok(answer.status)
        } else {
            Err(call.refused(&answer))
        }
    }

    fn event(&self, regarding: &Regarding, saying: &Saying, name: &str) -> Value {
        json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event",
            "metadata": {"name": name, "namespace": regarding.namespace},
            "eventTime": format!("{:.6}", Timestamp::now()),
            "reportingController": CONTROLLER,
            "reportingInstance": &*self.instance,
            "type": saying.tone,
            "reason": saying.reason,
            "action": "Reconcile",
            "note": saying.note,
            "regarding": {
                "apiVersion": regarding.api_version, "kind": regarding.kind,
                "namespace": regarding.namespace, "name": regarding.name, "uid": regarding.uid,
            },
        })
    }
}

fn path(namespace: &str) -> String {
    format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events")
}

/// A note that the API server takes, cut between characters.
fn cut(note: &str) -> String {
    if note.len() <= LONGEST_NOTE {
        return note.to_owned();
    }
    let end =
        note.char_indices().map(|(at, _)| at).take_while(|at| *at <= LONGEST_NOTE - '…'.len_utf8()).last();
    format!("{}…", &note[..end.unwrap_or(0)])
}

/// The name of an event holds that of its object and stays a name.
fn cut_name(name: &str) -> &str {
    let end = name.char_indices().map(|(at, _)| at).take_while(|at| *at <= 220).last().unwrap_or(0);
    if name.len() <= 220 { name } else { name[..end].trim_end_matches(['.', '-']) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_note_is_cut_between_characters() {
        assert_eq!(cut("short"), "short");
        let long = cut(&"ä".repeat(600));
        assert!(long.len() <= LONGEST_NOTE && long.ends_with("ä…"), "{}", long.len());
    }
}
