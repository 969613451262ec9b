//! What machines come from, how many there are, and how they are replaced.

use super::facts;
use super::pointer::PointerTarget;
use capstan_model::kinds::{self, KindRole, Machines, Workers};
use capstan_model::object::ObjectId;
use capstan_yaml::Value;

/// What machines come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MachineOwner {
    Kubeadm,
    OtherControlPlane,
    ManagedControlPlane,
    Deployment,
    Set,
    Pool,
    Topology,
}

impl MachineOwner {
    /// What machines come from this object; `None` where none do.
    pub(super) fn of(id: &ObjectId, value: &Value) -> Option<Self> {
        match kinds::role(&id.group, &id.kind)? {
            KindRole::Cluster => value.at("/spec/topology").map(|_| Self::Topology),
            KindRole::ControlPlane(Machines::Provider) => Some(Self::ManagedControlPlane),
            KindRole::ControlPlane(Machines::Own) => {
                Some(if id.kind == facts::KUBEADM { Self::Kubeadm } else { Self::OtherControlPlane })
            }
            KindRole::Workers(Workers::Deployment) => Some(Self::Deployment),
            // One that has an owner is a MachineDeployment's, and never in Git.
            KindRole::Workers(Workers::Set) => Some(Self::Set),
            KindRole::Workers(Workers::Pool) => Some(Self::Pool),
            _ => None,
        }
    }

    /// Control planes go first.
    pub(super) const fn turn(self) -> u32 {
        match self {
            Self::Kubeadm | Self::OtherControlPlane | Self::ManagedControlPlane | Self::Topology => 1,
            Self::Deployment | Self::Set | Self::Pool => 2,
        }
    }
}

pub(super) fn annotation<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    value.get("metadata")?.get("annotations")?.get(name)?.as_str()
}

/// How many machines; `None` if Git does not say, or an annotation leaves the count to another controller.
pub fn replicas(value: &Value) -> Option<u32> {
    if facts::COUNT_OWNED.iter().any(|name| annotation(value, name).is_some()) {
        return None;
    }
    count(value, "/spec/replicas")
}

pub(super) fn count(value: &Value, pointer: &str) -> Option<u32> {
    value.at(pointer).and_then(Value::as_u64).and_then(|count| u32::try_from(count).ok())
}

/// How outdated machines are replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Replacing {
    /// `RollingUpdate`, `OnDelete`
    pub(super) strategy: String,
    /// Machines above the wanted number, and below it, for a time.
    pub(super) surge: Option<u32>,
    pub(super) unavailable: Option<u32>,
}

/// Machines above the wanted number while an owner replaces its own; one where only its controller knows.
pub fn most_surge(value: &Value, replicas: Option<u32>) -> u32 {
    replacing(value, replicas).surge.unwrap_or(1)
}

pub(super) fn replacing(value: &Value, replicas: Option<u32>) -> Replacing {
    replacing_by(facts::STRATEGIES.iter().find_map(|pointer| value.at(pointer)), replicas)
}

/// The same of a strategy from any field; without one, what Cluster API sets.
pub(super) fn replacing_by(strategy: Option<&Value>, replicas: Option<u32>) -> Replacing {
    let word = strategy.and_then(|strategy| strategy.get("type")).and_then(Value::as_str);
    let rolling = strategy.and_then(|strategy| strategy.get("rollingUpdate"));
    let limit = |key: &str, default: u32, round: fn(u64) -> u64| {
        let Some(value) = rolling.and_then(|rolling| rolling.get(key)) else { return Some(default) };
        let percent = value.as_str().and_then(|text| text.strip_suffix('%')?.parse::<u64>().ok());
        match (value.as_u64(), percent) {
            (Some(number), _) => u32::try_from(number).ok(),
            (None, Some(percent)) => u32::try_from(round(percent.saturating_mul(u64::from(replicas?)))).ok(),
            (None, None) => value.as_str()?.parse().ok(),
        }
    };
    let surge = limit("maxSurge", 1, |hundredths| hundredths.div_ceil(100));
    let mut unavailable = limit("maxUnavailable", 0, |hundredths| hundredths / 100);
    if (surge, unavailable) == (Some(0), Some(0)) {
        // As the controller does it: else nothing could ever be replaced.
        unavailable = Some(1);
    }
    Replacing { strategy: word.unwrap_or("RollingUpdate").to_owned(), surge, unavailable }
}
