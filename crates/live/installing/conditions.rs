//! The status of a provider object: the operator's conditions, with its types, reasons and messages
//! (`api/v1alpha2/conditions_consts.go` of <https://github.com/kubernetes-sigs/cluster-api-operator> at v0.28.0). One
//! table in `README.md` lists the intended differences.
//!
//! *Expected flow*: a pass finds out the condition of a provider ([`ProviderCondition`]); [`status`] computes its new
//! status from that and from its present status.
//!
//! *Guarantees*: the same condition and the same status give the same status, to the byte, so a caller that compares
//! them writes only changes. A condition's `lastTransitionTime` changes with its `status` alone. Conditions of other
//! types are left as they are. Every reason obeys the API's pattern.

use std::sync::LazyLock;

use capstan_providers::RenderStage;
use jiff::Timestamp;
use regex::Regex;
use serde_json::{Map, Value, json};

use super::checks::FailedCheck;
use super::workloads::{ProviderWorkload, WorkloadHealth};
use crate::live_objects::shortened;

/// What preflight says.
pub const PREFLIGHT: &str = "PreflightCheckPassed";
/// Whether a version is installed.
pub const INSTALLED: &str = "ProviderInstalled";
/// Whether it came to that version from another one.
pub const UPGRADED: &str = "ProviderUpgraded";
/// Whether every workload runs, at the version that is asked for.
pub const READY: &str = "Ready";

/// Why nothing is done while the Lease of an operator that stopped has not run out.
pub(super) const WAITING_FOR_LEASE: &str = "WaitingForLease";

/// Why a provider is not ready whose Deployment has no condition `Available`.
const NO_CONDITION: &str = "NoDeploymentAvailableConditionReason";
/// The same in words.
const NO_CONDITION_MESSAGE: &str = "No minimum availability condition found on the provider deployment";
/// Why a provider is ready where its Deployment does not say why.
const AVAILABLE: &str = "DeploymentAvailable";

/// A version that is installed whole, and its contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// `v1.13.4`.
    pub version: String,
    /// `v1beta2`.
    pub contract: String,
}

/// The condition of one provider, as a pass found it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderCondition {
    /// `metadata.generation` of the object that was read.
    pub generation: i64,
    /// The version that shall be: `spec.version`, or the one that was chosen where it says none; `None` where none could
    /// be chosen.
    pub version: Option<String>,
    /// What is installed whole. While an upgrade is under way, the version before.
    pub installed: Option<Installed>,
    /// How far it is on its way to `version`.
    pub course: ProviderCourse,
    /// The workloads of what is installed, or of what is being installed from its first object on.
    pub workloads: Vec<ProviderWorkload>,
}

/// How far a provider is on its way to the version that it asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderCourse {
    /// Preflight does not let it begin, or go on.
    Halted(FailedCheck),
    /// Something failed.
    Failed {
        /// What sort of thing.
        failure: InstallFailure,
        /// What was found, where, and what to do. Never a value of a variable.
        message: String,
    },
    /// It is on its way: the step, in words.
    Underway(String),
    /// Everything of that version is applied, and old objects are gone.
    Installed,
}

/// What failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InstallFailure {
    /// clusterctl does not know it, and its configuration is missing or wrong.
    UnknownProvider,
    /// Its components cannot be had or read, or lack values.
    ComponentsFetch,
    /// Its release keeps no contract that is understood.
    CapiVersion,
    /// `deployment`, `manager` or what follows cannot be done to them.
    ComponentsCustomization,
    /// A patch cannot.
    ComponentsPatch,
    /// An override of an image cannot.
    ComponentsImageOverride,
    /// An object could not be applied, or a webhook did not answer.
    Apply,
    /// A workload did not become available in its time.
    Timeout,
    /// Old objects could not be deleted.
    OldComponentsDeletion,
}

impl From<RenderStage> for InstallFailure {
    /// What a refusal of rendering is called.
    fn from(stage: RenderStage) -> Self {
        match stage {
            RenderStage::Components => Self::ComponentsFetch,
            RenderStage::Contract => Self::CapiVersion,
            RenderStage::Customization => Self::ComponentsCustomization,
            RenderStage::Patches => Self::ComponentsPatch,
            RenderStage::ImageOverrides => Self::ComponentsImageOverride,
        }
    }
}

impl InstallFailure {
    /// The condition that says so, and why.
    const fn condition(self, is_upgrade: bool) -> (&'static str, &'static str) {
        match self {
            Self::UnknownProvider => (INSTALLED, "UnknownProvider"),
            Self::ComponentsFetch => (INSTALLED, "ComponentsFetchError"),
            Self::CapiVersion => (INSTALLED, "CAPIVersionIncompatibility"),
            Self::ComponentsCustomization => (INSTALLED, "ComponentsCustomizationError"),
            Self::ComponentsPatch => (INSTALLED, "ComponentsPatchError"),
            Self::ComponentsImageOverride => (INSTALLED, "ComponentsImageOverrideError"),
            Self::Apply if is_upgrade => (UPGRADED, "ComponentsUpgradeError"),
            Self::Timeout if is_upgrade => (UPGRADED, "TimedOutWaitingForDeployment"),
            Self::Apply => (INSTALLED, "InstallFailed"),
            Self::Timeout => (INSTALLED, "TimedOutWaitingForDeployment"),
            Self::OldComponentsDeletion => (INSTALLED, "OldComponentsDeletionError"),
        }
    }
}

/// What the status of a provider object is to be. `previous` is the one that it has (`{}` or null where it has none); what
/// this room says nothing of is kept.
pub fn status(standing: &ProviderCondition, previous: &Value, now: Timestamp) -> Value {
    let mut said = ConditionWriter::over(previous, standing.generation, now);
    let before = previous.get("installedVersion").and_then(Value::as_str);
    let installed = standing.installed.as_ref();
    let is_upgrade = installed.is_some_and(|installed| Some(&installed.version) != standing.version.as_ref());
    match &standing.course {
        ProviderCourse::Halted(check) => said.set(PREFLIGHT, "False", check.reason(), &check.message()),
        ProviderCourse::Failed { failure, message } => {
            said.passed();
            let (condition, reason) = failure.condition(is_upgrade);
            said.set(condition, "False", reason, message);
        }
        ProviderCourse::Underway(step) => {
            said.passed();
            match is_upgrade {
                true => said.set(UPGRADED, "False", "Upgrading", step),
                false if installed.is_none() => said.set(INSTALLED, "False", "Installing", step),
                // The same version, rendered otherwise: it stays installed meanwhile.
                false => {}
            }
        }
        ProviderCourse::Installed => {
            said.passed();
            said.set(INSTALLED, "True", "ProviderInstalled", "Provider installed successfully");
            let is_other = installed.is_some_and(|now| before.is_some_and(|before| before != now.version));
            if is_other || said.has(UPGRADED) {
                said.set(UPGRADED, "True", "ProviderUpgraded", "Provider upgraded successfully");
            }
        }
    }
    let (is_ready, reason, message) = ready(standing);
    said.set(READY, if is_ready { "True" } else { "False" }, &reason, &message);

    let mut status = previous.as_object().cloned().unwrap_or_default();
    status.insert("conditions".to_owned(), Value::Array(said.conditions));
    status.insert("observedGeneration".to_owned(), json!(standing.generation));
    match installed {
        Some(installed) => {
            status.insert("installedVersion".to_owned(), json!(installed.version));
            status.insert("contract".to_owned(), json!(installed.contract));
        }
        None => {
            status.shift_remove("installedVersion");
            status.shift_remove("contract");
        }
    }
    Value::Object(status)
}

/// The status of a provider object whose operator has stopped: what is waited for before Capstan takes it over. Everything else is
/// as the operator left it.
pub fn with_wait(previous: &Value, generation: i64, message: &str, now: Timestamp) -> Value {
    let mut said = ConditionWriter::over(previous, generation, now);
    said.set(PREFLIGHT, "False", WAITING_FOR_LEASE, message);
    let mut status = previous.as_object().cloned().unwrap_or_default();
    status.insert("conditions".to_owned(), Value::Array(said.conditions));
    Value::Object(status)
}

/// Whether everything runs, at the version that is asked for; reason and message. The first workload that does not
/// decides, by the gravity of it.
fn ready(standing: &ProviderCondition) -> (bool, String, String) {
    let no = |reason: &str, message: String| (false, reason.to_owned(), message);
    let Some(installed) = &standing.installed else {
        return no("ProviderNotInstalled", "No version is completely installed".to_owned());
    };
    let workloads = &standing.workloads;
    let find = |fits: fn(&WorkloadHealth) -> bool| workloads.iter().find(|workload| fits(&workload.health));
    if let Some(absent) = find(|health| *health == WorkloadHealth::Absent) {
        return no("WorkloadAbsent", format!("{} is not there", absent.id));
    }
    if let Some(ProviderWorkload { id, health: WorkloadHealth::Unavailable { reason, message } }) =
        find(|health| matches!(health, WorkloadHealth::Unavailable { .. }))
    {
        return no(reason_or(reason, "DeploymentUnavailable"), with_subject(id, message, workloads.len()));
    }
    if let Some(unknown) = find(|health| *health == WorkloadHealth::Unknown) {
        return no(NO_CONDITION, with_subject(&unknown.id, NO_CONDITION_MESSAGE, workloads.len()));
    }
    if let Some(unobserved) = find(|health| *health == WorkloadHealth::Unobserved) {
        return no(
            "GenerationNotObserved",
            format!("{} was changed, but its controller has not observed it", unobserved.id),
        );
    }
    if let Some(ProviderWorkload { id, health: WorkloadHealth::RollingOut { ready, wanted } }) =
        find(|health| matches!(health, WorkloadHealth::RollingOut { .. }))
    {
        return no("RollingOut", format!("{id}: {ready} of {wanted} pods are up to date and available"));
    }
    if standing.version.as_ref() != Some(&installed.version) {
        let wanted = standing.version.as_deref().unwrap_or("no known version");
        return no(
            "VersionNotInstalled",
            format!("{} is installed, {wanted} is requested", installed.version),
        );
    }
    match workloads.first() {
        Some(ProviderWorkload { health: WorkloadHealth::Available { reason, message }, .. }) => {
            (true, reason_or(reason, AVAILABLE).to_owned(), message.clone())
        }
        _ => (true, "NoWorkloads".to_owned(), "It runs nothing".to_owned()),
    }
}

/// A message of one workload, which is named where there are several.
fn with_subject(id: &capstan_model::object::ObjectId, message: &str, workloads: usize) -> String {
    if workloads == 1 { message.to_owned() } else { format!("{id}: {message}") }
}

/// A workload's own reason, if the API accepts it.
fn reason_or<'a>(reason: &'a str, otherwise: &'a str) -> &'a str {
    // The pattern of `reason` in <https://pkg.go.dev/k8s.io/apimachinery/pkg/apis/meta/v1#Condition>.
    static REASON: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$").ok());
    let is_taken = REASON.as_ref().is_some_and(|pattern| pattern.is_match(reason)) && reason.len() <= 1024;
    if is_taken { reason } else { otherwise }
}

/// The conditions of a status while they are rewritten.
pub(super) struct ConditionWriter {
    pub(super) conditions: Vec<Value>,
    generation: i64,
    now: Timestamp,
}

impl ConditionWriter {
    pub(super) fn over(previous: &Value, generation: i64, now: Timestamp) -> Self {
        let conditions = previous.get("conditions").and_then(Value::as_array).cloned().unwrap_or_default();
        Self { conditions, generation, now }
    }

    fn at(&self, kind: &str) -> Option<usize> {
        self.conditions.iter().position(|one| one.get("type").and_then(Value::as_str) == Some(kind))
    }

    fn has(&self, kind: &str) -> bool {
        self.at(kind).is_some()
    }

    fn passed(&mut self) {
        self.set(PREFLIGHT, "True", "PreflightChecksPassed", "All preflight checks passed");
    }

    /// Says a condition; since when it holds stays where its status stays.
    pub(super) fn set(&mut self, kind: &str, status: &str, reason: &str, message: &str) {
        let at = self.at(kind);
        let before = at.map(|at| &self.conditions[at]);
        let text =
            |condition: &Value, key: &str| condition.get(key).and_then(Value::as_str).map(str::to_owned);
        let since = before.filter(|before| text(before, "status").as_deref() == Some(status));
        let since = since.and_then(|before| text(before, "lastTransitionTime"));
        // As Kubernetes writes times in objects: whole seconds.
        let now = || Timestamp::from_second(self.now.as_second()).unwrap_or(self.now).to_string();
        let mut condition = Map::new();
        condition.insert("type".to_owned(), json!(kind));
        condition.insert("status".to_owned(), json!(status));
        condition.insert("observedGeneration".to_owned(), json!(self.generation));
        condition.insert("lastTransitionTime".to_owned(), json!(since.unwrap_or_else(now)));
        condition.insert("reason".to_owned(), json!(reason));
        condition.insert("message".to_owned(), json!(shortened(message)));
        match at {
            Some(at) => self.conditions[at] = Value::Object(condition),
            None => self.conditions.push(Value::Object(condition)),
        }
    }

    /// Takes a condition away; whether it was there.
    pub(super) fn clear(&mut self, kind: &str) {
        self.conditions.retain(|one| one.get("type").and_then(Value::as_str) != Some(kind));
    }
}

#[cfg(test)]
#[path = "conditions_tests.rs"]
mod tests;
