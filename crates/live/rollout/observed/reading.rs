//! The status of an owner of machines, whatever its contract.

use jiff::Timestamp;
use serde_json::Value;

use super::verdict::Counts;
use crate::live_objects::{MANAGER, text};
use capstan_model::version::KubernetesVersion;

/// The contract that a status is written by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Contract {
    /// Conditions with generations, `upToDateReplicas`.
    V1beta2,
    /// Conditions without, `updatedReplicas`.
    V1beta1,
}

/// What an owner shows.
#[derive(Debug)]
pub(super) struct OwnerReading<'v> {
    pub(super) object: &'v Value,
    pub(super) contract: Contract,
    pub(super) generation: i64,
    /// `None` where the status has no such field.
    pub(super) observed: Option<i64>,
    pub(super) conditions: Vec<OwnerCondition<'v>>,
    /// What really runs, and how many of each; `None` where the status does not say.
    pub(super) versions: Option<Vec<(&'v str, u32)>>,
    status: Option<&'v Value>,
    /// `status.v1beta2` in objects of v1beta1.
    beneath: Option<&'v Value>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct OwnerCondition<'v> {
    pub(super) kind: &'v str,
    pub(super) status: &'v str,
    pub(super) reason: &'v str,
    pub(super) message: &'v str,
    pub(super) observed: Option<i64>,
    pub(super) since: Option<Timestamp>,
}

impl OwnerCondition<'_> {
    pub(super) fn is_true(&self) -> bool {
        self.status == "True"
    }

    /// `Ready: the words`
    pub(super) fn sentence(&self) -> String {
        let words = if self.message.is_empty() { self.reason } else { self.message };
        format!("{}: {words}", self.kind)
    }
}

/// The conditions of an object, in the newer contract where it has them.
pub(super) fn conditions(object: &Value) -> Vec<OwnerCondition<'_>> {
    let list =
        |pointer: &str| object.pointer(pointer).and_then(Value::as_array).filter(|list| !list.is_empty());
    let found = list("/status/v1beta2/conditions").or_else(|| list("/status/conditions"));
    found.into_iter().flatten().filter_map(OwnerCondition::read).collect()
}

impl<'v> OwnerCondition<'v> {
    fn read(condition: &'v Value) -> Option<Self> {
        let text = |key: &str| condition.get(key).and_then(Value::as_str);
        Some(Self {
            kind: text("type")?,
            status: text("status")?,
            reason: text("reason").unwrap_or_default(),
            message: text("message").unwrap_or_default(),
            observed: condition.get("observedGeneration").and_then(Value::as_i64),
            since: text("lastTransitionTime").and_then(|time| time.parse().ok()),
        })
    }
}

impl<'v> OwnerReading<'v> {
    pub(super) fn of(object: &'v Value) -> Self {
        let status = object.get("status");
        let beneath = status.and_then(|status| status.get("v1beta2"));
        let conditions = conditions(object);
        let newer = beneath.is_some()
            || text(object, "/apiVersion").is_some_and(|version| version.ends_with("/v1beta2"))
            || conditions.iter().any(|condition| condition.observed.is_some());
        let whole = |value: Option<&Value>| value.and_then(Value::as_i64);
        Self {
            object,
            contract: if newer { Contract::V1beta2 } else { Contract::V1beta1 },
            generation: whole(object.pointer("/metadata/generation")).unwrap_or_default(),
            observed: whole(object.pointer("/status/observedGeneration")),
            conditions,
            versions: status.and_then(|status| status.get("versions")).map(version_counts),
            status,
            beneath,
        }
    }

    /// Whether any controller has written anything yet.
    pub(super) fn has_status(&self) -> bool {
        self.status.and_then(Value::as_object).is_some_and(|status| !status.is_empty())
    }

    pub(super) fn condition(&self, kind: &str) -> Option<&OwnerCondition<'v>> {
        self.conditions.iter().find(|condition| condition.kind == kind)
    }

    /// A counter, in the newer contract where it is there.
    pub(super) fn counter(&self, names: &[&str]) -> Option<u32> {
        let of =
            |holder: &Value| names.iter().find_map(|name| u32::try_from(holder.get(name)?.as_u64()?).ok());
        self.beneath.and_then(of).or_else(|| self.status.and_then(of))
    }

    /// The number of machines that there shall be; `None` where `spec` does not say.
    pub(super) fn wanted(&self) -> Option<u32> {
        count(self.object.pointer("/spec/replicas"))
    }

    /// The counters; where the older contract leaves zeros out they are zero.
    pub(super) fn counts(&self) -> Counts {
        Counts {
            wanted: self.wanted().unwrap_or_default(),
            current: self.counter(&["replicas"]).unwrap_or_default(),
            up_to_date: self.up_to_date().unwrap_or_default(),
            ready: self.counter(&["readyReplicas"]).unwrap_or_default(),
        }
    }

    pub(super) fn up_to_date(&self) -> Option<u32> {
        self.counter(&["upToDateReplicas", "updatedReplicas"])
    }

    /// Whether a controller has seen the present generation, as the counters' patch says.
    pub(super) fn is_observed(&self) -> bool {
        self.observed == Some(self.generation)
    }

    /// Whether some condition of the present generation says that something is going on: conditions are
    /// written before counters.
    pub(super) fn is_active(&self) -> bool {
        let active = |kind: &str| {
            self.condition(kind)
                .is_some_and(|condition| condition.is_true() && condition.observed == Some(self.generation))
        };
        ["RollingOut", "ScalingUp", "ScalingDown"].into_iter().any(active)
    }

    /// Since when machines are being replaced, as the owner says.
    pub(super) fn rolling_since(&self) -> Option<Timestamp> {
        ["RollingOut", "ScalingUp", "ScalingDown"]
            .into_iter()
            .filter_map(|kind| self.condition(kind))
            .filter(|condition| condition.is_true())
            .filter_map(|condition| condition.since)
            .min()
    }

    /// When what Git says was last written into the object; where Capstan never did, when it was made.
    pub(super) fn written(&self) -> Option<Timestamp> {
        written(self.object).or_else(|| created(self.object))
    }
}

/// When Capstan last changed something in an object.
pub(super) fn written(object: &Value) -> Option<Timestamp> {
    let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array);
    let ours = entries.into_iter().flatten().filter(|entry| {
        text(entry, "/manager") == Some(MANAGER) && text(entry, "/operation") == Some("Apply")
    });
    ours.filter_map(|entry| time(entry.get("time"))).max()
}

/// When a controller last changed something in the status of an object, as far as that is known.
pub(super) fn status_written(object: &Value) -> Option<Timestamp> {
    let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array);
    let of_status =
        entries.into_iter().flatten().filter(|entry| text(entry, "/subresource") == Some("status"));
    of_status.filter_map(|entry| time(entry.get("time"))).max()
}

/// When anybody last changed what an object asks for, as far as that is known.
pub(super) fn spec_written(object: &Value) -> Option<Timestamp> {
    let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array);
    let of_spec = entries
        .into_iter()
        .flatten()
        .filter(|entry| entry.get("subresource").is_none() && entry.pointer("/fieldsV1/f:spec").is_some());
    of_spec.filter_map(|entry| time(entry.get("time"))).max().or_else(|| created(object))
}

/// When an object was made.
pub(super) fn created(object: &Value) -> Option<Timestamp> {
    time(object.pointer("/metadata/creationTimestamp"))
}

/// A time in an object.
pub(super) fn time(value: Option<&Value>) -> Option<Timestamp> {
    value.and_then(Value::as_str).and_then(|time| time.parse().ok())
}

/// A number of machines in an object.
pub(super) fn count(value: Option<&Value>) -> Option<u32> {
    value.and_then(Value::as_u64).and_then(|count| u32::try_from(count).ok())
}

/// `status.versions`, or that of a half of a topology.
pub(super) fn version_counts(versions: &Value) -> Vec<(&str, u32)> {
    let items = versions.as_array().map(Vec::as_slice).unwrap_or_default();
    items
        .iter()
        .filter_map(|item| {
            Some((item.get("version")?.as_str()?, count(item.get("replicas")).unwrap_or_default()))
        })
        .collect()
}

/// Whether a version that runs is the wanted one. `1.30` is every patch of it, and the `v` does not count.
pub(super) fn is_version(running: &str, wanted: &str) -> bool {
    match (KubernetesVersion::parse(running), KubernetesVersion::parse(wanted)) {
        (Some(running), Some(wanted)) => match running.compare(&wanted) {
            Some(order) => order.is_eq(),
            None => running.minor() == wanted.minor(),
        },
        _ => running == wanted,
    }
}

/// Words of a controller on one line, at most 512 characters.
pub(super) fn said(words: &str) -> String {
    let lines: Vec<&str> = words.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    crate::live_objects::shortened(&lines.join(" "))
}
