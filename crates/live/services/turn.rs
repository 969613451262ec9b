//! Whether a service may begin, and whether it may change while machines roll.

use std::collections::BTreeMap;

use capstan_plan::settings::{Service, ServiceTurn, waited_for};

use super::cause::{Problem, ServiceCause};
use super::state::ServiceState;
use crate::applying::ApplyPhase;
use crate::rollout::observed::RolloutProgress;

/// How far machines are on their way to what is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MachineConvergence {
    /// The control plane changes.
    ControlPlane,
    /// The control plane has changed, workers do.
    Workers,
    /// All of them have, or there are none.
    Done,
}

impl MachineConvergence {
    /// By what was applied, and the state of the machines.
    pub fn of(phase: Option<ApplyPhase>, machines: RolloutProgress) -> Self {
        match (phase, machines) {
            (Some(ApplyPhase::ControlPlane), _) => Self::ControlPlane,
            (_, RolloutProgress::Done) => Self::Done,
            (Some(ApplyPhase::Workers | ApplyPhase::Done) | None, _) => Self::Workers,
        }
    }
}

/// Why a service waits for another; `None` where it need not. `states` are those of the services before it, by name.
pub fn gate(services: &[Service], one: usize, states: &BTreeMap<String, ServiceState>) -> Option<Problem> {
    let first = waited_for(services, one)
        .into_iter()
        .filter_map(|at| services.get(at))
        .find(|service| !matches!(states.get(service.name.as_str()), Some(ServiceState::Ready)))?;
    let state = states.get(first.name.as_str()).copied().unwrap_or(ServiceState::Waiting);
    Some(Problem::plain(
        ServiceCause::WaitsForService,
        format!("it waits for service {}, which is {}", first.name, word(state)),
    ))
}

const fn word(state: ServiceState) -> &'static str {
    match state {
        ServiceState::Ready => "ready",
        ServiceState::Waiting => "waiting",
        ServiceState::Progressing => "not ready yet",
        ServiceState::Removing => "going",
        ServiceState::Unknown => "not visible",
        ServiceState::Stuck => "stuck",
        ServiceState::Failed => "failed",
    }
}

/// Why what differs of a service is not applied yet; `None` where it may be. What was never there goes to a cluster as
/// soon as that has an API, since machines need it to become ready; but for what comes after the workers.
pub fn may_change(service: &Service, course: MachineConvergence, was_there: bool) -> Option<Problem> {
    let may = match (service.when, course) {
        (ServiceTurn::BeforeControlPlane, _) | (_, MachineConvergence::Done) => true,
        (ServiceTurn::AfterControlPlane, MachineConvergence::Workers) => true,
        (ServiceTurn::AfterControlPlane, MachineConvergence::ControlPlane) => !was_there,
        (ServiceTurn::AfterWorkers, _) => false,
    };
    let machines = match service.when {
        ServiceTurn::AfterWorkers => "the machines",
        ServiceTurn::BeforeControlPlane | ServiceTurn::AfterControlPlane => "the control plane",
    };
    let words = format!("its changes wait until {machines} are done (`when: {}`)", service.when);
    (!may).then(|| Problem::plain(ServiceCause::WaitsForRollout, words.replace("plane are", "plane is")))
}
