//! What is said of services and of the cloud: reasons in the check, conditions, events, failures that are counted.

use capstan_live::services::{
    CloudState, Problem, ServiceCause, ServiceState, ServiceStatus, SummaryState, summary,
};
use capstan_model::finding::{Place, Severity};

use crate::reason::Reason;
use crate::records::{Note, Tone};
use crate::resources::{ConditionStatus, ConditionType, ManagedClusterStatus};
use crate::says::Says;

/// The reason of infrastructure that the cloud does not give.
pub const CLOUD_NOT_READY: &str = "CloudNotReady";

/// How many reasons of one service are reported.
const OF_ONE: usize = 5;

/// What a look at services and the cloud found, beside their statuses.
#[derive(Debug, Default)]
pub struct ServicesFound {
    /// The state of the cloud; `None` where the cluster asks nothing of one, or where it was not read.
    pub cloud: Option<CloudState>,
    reasons: Vec<Reason>,
    of_services: Vec<Reason>,
    /// What concerns the cluster as a whole, with the services that say so.
    shared: Vec<(Reason, Vec<String>)>,
}

impl ServicesFound {
    /// Services are judged again: what was reported of them before is dropped.
    pub fn again(&mut self) {
        self.shared.clear();
        self.of_services.clear();
    }

    /// Adds one more reason.
    pub fn tell(&mut self, reason: Reason) {
        self.reasons.push(reason);
    }

    /// Adds why a service is not ready. What all services wait for is reported once.
    pub fn tell_problems(
        &mut self,
        (name, state): (&str, ServiceState),
        problems: Vec<Problem>,
        place: impl Fn(&Problem) -> Option<Place>,
    ) {
        let severity = if state.needs_a_person() { Severity::Error } else { Severity::Warning };
        for problem in problems.into_iter().take(OF_ONE) {
            let place = problem.place.clone().or_else(|| place(&problem));
            let reason = Reason {
                severity,
                object: problem.object.clone(),
                place,
                ..Reason::plain(problem.cause.as_str(), problem.words.clone())
            };
            if is_of_all(problem.cause) {
                let known = self
                    .shared
                    .iter_mut()
                    .find(|(told, _)| (told.kind, &told.message) == (reason.kind, &reason.message));
                match known {
                    Some((_, names)) => names.push(name.to_owned()),
                    None => self.shared.push((reason, vec![name.to_owned()])),
                }
                continue;
            }
            let message = format!("service {name}: {}", reason.message);
            self.of_services.push(Reason { message, ..reason });
        }
    }

    /// All reasons, errors first.
    pub fn reasons(&self) -> Vec<Reason> {
        let shared = self.shared.iter().map(|(reason, names)| {
            let of = if names.len() == 1 { "service" } else { "services" };
            Reason { message: format!("{of} {}: {}", names.join(", "), reason.message), ..reason.clone() }
        });
        let mut all: Vec<Reason> =
            shared.chain(self.of_services.iter().chain(&self.reasons).cloned()).collect();
        all.sort_by_key(|reason| std::cmp::Reverse(reason.severity));
        all
    }
}

/// Whether a cause is the cluster's, so that it is the same for all services.
const fn is_of_all(cause: ServiceCause) -> bool {
    matches!(
        cause,
        ServiceCause::ControlPlaneNotInitialized
            | ServiceCause::WaitsForKubeconfig
            | ServiceCause::KubeconfigRefused
            | ServiceCause::WorkloadShared
            | ServiceCause::WorkloadUnreachable
            | ServiceCause::WorkloadCertificate
    )
}

/// Sets the conditions of the cloud and of services.
pub fn conditions(says: &mut Says<'_>, found: &ServicesFound, services: &[ServiceStatus]) {
    use ConditionStatus::{False, True, Unknown};
    use ConditionType::{CloudReady, ServicesReady};

    match &found.cloud {
        Some(CloudState::Ready) => says.that(CloudReady, True, "Ready", ""),
        Some(CloudState::Provisioning { object, words }) => {
            says.that(CloudReady, False, "Provisioning", &format!("{object}: {words}"));
        }
        Some(CloudState::Failed { object, words }) => {
            says.that(CloudReady, False, CLOUD_NOT_READY, &format!("{object}: {words}"));
        }
        None => {}
    }
    let Some(all) = summary(services) else {
        says.clear(ServicesReady);
        return;
    };
    match all.state {
        SummaryState::Done => says.that(ServicesReady, True, "Ready", ""),
        SummaryState::Progressing => says.that(ServicesReady, False, "Progressing", &all.words),
        SummaryState::Unknown => says.that(ServicesReady, Unknown, "WorkloadUnreachable", &all.words),
        SummaryState::Stuck => says.that(ServicesReady, False, "ServicesNotReady", &all.words),
    }
}

/// What keeps a cluster from being ready whose machines are done.
#[derive(Debug)]
pub struct Hindrance {
    /// A CamelCase word.
    pub reason: &'static str,
    /// What, in words.
    pub message: String,
    /// Whether it passes without somebody doing something.
    pub passes: bool,
}

/// What keeps it, the cloud before services: `None` where nothing does.
pub fn hindrance(found: &ServicesFound, services: &[ServiceStatus]) -> Option<Hindrance> {
    if let Some(CloudState::Failed { object, words }) = &found.cloud {
        let message = format!("{object}: {words}");
        return Some(Hindrance { reason: CLOUD_NOT_READY, message, passes: true });
    }
    let all = summary(services)?;
    let passes = match all.state {
        SummaryState::Done => return None,
        SummaryState::Progressing | SummaryState::Unknown => true,
        SummaryState::Stuck => false,
    };
    Some(Hindrance { reason: "ServicesNotReady", message: all.words, passes })
}

/// The events on the ManagedCluster: each change of a service's state, and of the cloud's, once.
pub fn notes(before: &ManagedClusterStatus, after: &ManagedClusterStatus) -> Vec<Note> {
    let mut notes = Vec::new();
    for service in &after.services {
        let was = before.services.iter().find(|other| other.name == service.name);
        if was.is_some_and(|was| was.state == service.state) {
            continue;
        }
        let why = service.message.clone().unwrap_or_default();
        let version = service.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
        let (tone, reason, message) = match service.state {
            ServiceState::Ready => (Tone::Normal, "ServiceReady", format!("{}{version}", service.name)),
            ServiceState::Stuck | ServiceState::Failed | ServiceState::Unknown => {
                (Tone::Warning, "ServiceNotReady", format!("{}{version}: {why}", service.name))
            }
            ServiceState::Waiting | ServiceState::Progressing | ServiceState::Removing => continue,
        };
        notes.push(Note { tone, reason, message });
    }
    let gone = before.services.iter().filter(|was| !after.services.iter().any(|is| is.name == was.name));
    notes.extend(gone.map(|was| Note {
        tone: Tone::Normal,
        reason: "ServiceRemoved",
        message: was.name.clone(),
    }));
    let is_down = |status: &ManagedClusterStatus| {
        let cloud = status.conditions.of(ConditionType::CloudReady);
        cloud.is_some_and(|cloud| cloud.reason == CLOUD_NOT_READY)
    };
    if is_down(after) && !is_down(before) {
        let cloud = after.conditions.of(ConditionType::CloudReady);
        let message = cloud.map(|cloud| cloud.message.clone()).unwrap_or_default();
        notes.push(Note { tone: Tone::Warning, reason: CLOUD_NOT_READY, message });
    }
    notes
}

/// Services that came to need somebody, or could not be seen: their names, and why.
pub fn failures(before: &ManagedClusterStatus, after: &ManagedClusterStatus) -> Vec<(String, String)> {
    let failed = after.services.iter().filter_map(|service| {
        let was = before.services.iter().find(|other| other.name == service.name);
        let is_news = was.is_none_or(|was| (was.state, &was.reason) != (service.state, &service.reason));
        let fails =
            matches!(service.state, ServiceState::Stuck | ServiceState::Failed | ServiceState::Unknown);
        let cause = service.reason.clone().filter(|_| is_news && fails)?;
        Some((service.name.clone(), cause))
    });
    failed.collect()
}
