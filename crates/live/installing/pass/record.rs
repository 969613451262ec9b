//! What is remembered of a provider from pass to pass: the status of its `ManagedProvider`.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::applying::AppliedInventory;

/// The record of a provider.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ProviderRecord {
    /// The progress of a pass: Preparing, Applying, Pruning, Settled or Removing.
    pub phase: InstallPhase,
    /// What is completely installed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub installed: Option<Revision>,
    /// What is being installed; absent if nothing is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Revision>,
    /// Whether a definition of the new version may already be installed: from then on there is no way back.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub definitions_changed: bool,
    /// Whether objects of an earlier, incomplete version may exist: then restoring the old Deployments is not enough.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub objects_changed: bool,
    /// The Deployments that were stopped for an upgrade, with the replicas that they had.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub stopped: Vec<Stopped>,
    /// Since when Capstan waits for something with a limit: definitions, workloads, webhooks, the end of pods; absent
    /// if it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub waiting_since: Option<Timestamp>,
    /// What did not run in time and was rolled back. It is not retried until something else is requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub given_up: Option<GivenUp>,
    /// What was applied, or was about to be; written before anything is applied.
    pub inventory: AppliedInventory,
}

/// How far a pass has come with a provider.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum InstallPhase {
    /// Before an upgrade: what is stored is migrated, the old Deployments are stopped.
    Preparing,
    /// Objects are applied, until all is available and answers.
    Applying,
    /// What is not rendered any more is deleted.
    Pruning,
    /// Nothing is under way.
    #[default]
    Settled,
    /// The provider goes.
    Removing,
}

impl InstallPhase {
    /// The word, as the record has it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Preparing => "Preparing",
            Self::Applying => "Applying",
            Self::Pruning => "Pruning",
            Self::Settled => "Settled",
            Self::Removing => "Removing",
        }
    }
}

/// One version of a provider, rendered from one spec.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Revision {
    /// `v1.13.4`
    pub version: String,
    /// The contract of Cluster API that it implements: `v1beta2`.
    pub contract: String,
    /// SHA-256 of the objects that it was rendered to, in hex digits.
    pub digest: String,
}

/// What was given up, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GivenUp {
    /// What.
    pub revision: Revision,
    /// The reason: what Capstan waited for, and since when.
    pub why: String,
}

/// A Deployment that was stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stopped {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// How many replicas it had.
    pub replicas: i64,
}

impl ProviderRecord {
    /// Whether a pass has to come to its end.
    pub fn is_under_way(&self) -> bool {
        self.phase != InstallPhase::Settled
    }

    /// Whether managers of another version may run than the one that shall, so that they have to be gone first: of what is
    /// installed, or of what was on its way.
    pub(super) fn runs_other_than(&self, wanted: &Revision) -> bool {
        let may_run = self.installed.iter().chain(&self.target);
        !self.stopped.is_empty() || may_run.into_iter().any(|revision| revision.version != wanted.version)
    }
}
