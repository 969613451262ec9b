//! The state of services as it is stored, and how it changes.

use capstan_plan::settings::{ServiceObject, ServiceRole};
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cause::Problem;
use super::state::ServiceState;
use crate::applying::AppliedInventory;

/// The longest message that is written down, in characters.
const LONGEST: usize = 1024;

/// The state of one service of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceStatus {
    /// Its name in capstan.yaml.
    pub name: String,
    /// What it is for: cni, ccm, csi, metrics, other.
    #[serde(default)]
    pub role: ServiceRole,
    /// In one word.
    pub state: ServiceState,
    /// Since when it is in that state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub since: Option<Timestamp>,
    /// Its version, as its chart, its labels or its images say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Why it is not ready: a CamelCase word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why it is not ready, in a sentence or two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The objects of base that define it, if it has no folder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub objects: Vec<ServiceObject>,
    /// What was applied for it inside the cluster and may be deleted again; written before anything is applied.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub inventory: AppliedInventory,
}

fn is_empty(inventory: &AppliedInventory) -> bool {
    inventory.objects().is_empty()
}

impl ServiceStatus {
    /// One of which nothing is known yet.
    pub fn new(name: &str, role: ServiceRole) -> Self {
        Self {
            name: name.to_owned(),
            role,
            state: ServiceState::Waiting,
            since: None,
            version: None,
            reason: None,
            message: None,
            objects: Vec::new(),
            inventory: AppliedInventory::default(),
        }
    }

    /// Its new state, by what was found: the gravest problem decides. A service that has not been ready for `still` is
    /// stuck.
    pub fn settle(&mut self, problems: &[Problem], now: Timestamp, still: SignedDuration) {
        let decisive = decisive(problems);
        let found = decisive.map_or(ServiceState::Ready, |problem| problem.cause.state());
        let was_long = |since: Option<Timestamp>| since.is_some_and(|at| now.duration_since(at) >= still);
        let state = match (found, self.state) {
            (ServiceState::Progressing, ServiceState::Stuck) => ServiceState::Stuck,
            (ServiceState::Progressing, ServiceState::Progressing) if was_long(self.since) => {
                ServiceState::Stuck
            }
            (found, _) => found,
        };
        if state != self.state || self.since.is_none() {
            self.since = Some(now);
        }
        self.state = state;
        self.reason = decisive.map(|problem| problem.cause.as_str().to_owned());
        self.message = decisive.map(|problem| problem.line().chars().take(LONGEST).collect());
    }
}

/// The problem that decides the state of a service: the first of the gravest.
fn decisive(problems: &[Problem]) -> Option<&Problem> {
    let gravest = problems.iter().map(|problem| problem.cause.state()).max()?;
    problems.iter().find(|problem| problem.cause.state() == gravest)
}

/// All services of a cluster together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// In a word.
    pub state: SummaryState,
    /// The service that decides, and why; empty where all are ready.
    pub words: String,
}

/// All services of a cluster in a word; the later ones weigh more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SummaryState {
    /// All are ready.
    Done,
    /// Some are not yet.
    Progressing,
    /// The state of some is unknown.
    Unknown,
    /// Some need a person.
    Stuck,
}

/// The state of all services together; `None` if there are none.
pub fn summary(statuses: &[ServiceStatus]) -> Option<Summary> {
    let state = |status: &ServiceStatus| match status.state {
        ServiceState::Ready | ServiceState::Removing => SummaryState::Done,
        ServiceState::Waiting | ServiceState::Progressing => SummaryState::Progressing,
        ServiceState::Unknown => SummaryState::Unknown,
        ServiceState::Stuck | ServiceState::Failed => SummaryState::Stuck,
    };
    let gravest = statuses.iter().map(state).max()?;
    let counts = |status: &&ServiceStatus| gravest != SummaryState::Done && state(status) == gravest;
    // What others wait for says more than who waits.
    let mut those: Vec<&ServiceStatus> = statuses.iter().filter(counts).collect();
    those.sort_by_key(|status| status.state == ServiceState::Waiting);
    let words = those.first().map(|status| {
        let why = status.message.clone().unwrap_or_default();
        format!("service {}: {why}", status.name)
    });
    Some(Summary { state: gravest, words: words.unwrap_or_default() })
}
