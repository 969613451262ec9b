//! Reports on rollouts: the state of one cluster at a commit of the default branch.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::identity::ReportId;
use super::kubeconfig::Kubeconfig;
use super::words::Words;
use super::{bounded, limits};
use capstan_model::finding::{Place, Severity};
use capstan_model::ids::ClusterId;
use capstan_model::object::{FieldPath, ObjectId};
use capstan_model::tree::{CommitId, RepoPath};
use capstan_plan::settings::RepositoryName;
use capstan_plan::templates::LiveTemplate;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RolloutReport {
    /// Its id: of two reports on a cluster the one with the greater id is newer.
    pub id: ReportId,
    pub repository: RepositoryName,
    pub cluster: ClusterId,
    /// The commit that was tried last.
    pub attempted: CommitId,
    /// The commit that is completely applied; `None` before the first.
    #[serde(default)]
    pub applied: Option<CommitId>,
    /// In a word.
    pub state: RolloutState,
    /// When it was found out.
    pub observed_at: Timestamp,
    /// Since when it is so, where that is known.
    #[serde(default)]
    pub since: Option<Timestamp>,
    /// What holds it up, or what it waits for, in Cluster API's own words where it has any.
    #[serde(default)]
    pub words: Option<Words>,
    /// Why nothing of it is applied, or what failed.
    #[serde(default, deserialize_with = "bounded::at_most::<_, _, { limits::REASONS }>")]
    pub reasons: Vec<WireReason>,
    /// Machines wanted.
    #[serde(default)]
    pub wanted: u32,
    /// Machines that are up to date.
    #[serde(default)]
    pub ready: u32,
    /// The machines by name.
    #[serde(default, deserialize_with = "bounded::at_most::<_, _, { limits::MACHINES }>")]
    pub machines: Vec<Machine>,
    /// Machines that are not named, because there are too many.
    #[serde(default)]
    pub machines_left_out: u32,
    /// The file in which its owners find a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubeconfig: Option<Kubeconfig>,
    /// The live names of its templates.
    #[serde(default, deserialize_with = "bounded::at_most::<_, _, { limits::NAMES }>")]
    pub names: Vec<LiveTemplate>,
}

impl RolloutReport {
    /// The commit that the report is about: the one that was refused, else the one that is applied.
    pub fn commit(&self) -> &CommitId {
        match (self.state, &self.applied) {
            (RolloutState::Refused, _) | (_, None) => &self.attempted,
            (_, Some(applied)) => applied,
        }
    }
}

/// A rollout in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RolloutState {
    /// Nothing of it has begun.
    Waiting,
    /// Machines are being replaced.
    Rolling,
    /// Every machine is up to date.
    Done,
    /// It does not go on until somebody does something.
    Stuck,
    /// Nothing of the commit is applied.
    Refused,
    Unknown,
}

impl RolloutState {
    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Rolling => "rolling",
            Self::Done => "done",
            Self::Stuck => "stuck",
            Self::Refused => "refused",
            Self::Unknown => "unknown",
        }
    }

    /// Whether a person has to do something.
    pub const fn needs_a_person(self) -> bool {
        matches!(self, Self::Stuck | Self::Refused)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    pub name: Words,
    /// The control plane, deployment or pool that owns it.
    pub owner: Words,
    /// Its phase in Cluster API's word: `Running`, `Deleting`.
    pub state: Words,
    /// Whether it is yet to be replaced.
    pub age: MachineAge,
    /// When its `Machine` was created; an older reconciler does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
}

/// Whether a machine is up to date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MachineAge {
    /// As wished.
    New,
    /// Yet to be replaced.
    Old,
}

/// One reason, without values of Secrets, files or data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireReason {
    /// How bad.
    pub severity: Severity,
    /// A CamelCase word: `Invalid`, `VersionBelowLive`.
    #[serde(deserialize_with = "bounded::text::<_, 128>")]
    pub kind: String,
    /// One or two sentences.
    pub message: Words,
    #[serde(default)]
    pub object: Option<ObjectId>,
    /// The field, a JSON Pointer.
    #[serde(default, deserialize_with = "bounded::optional_text::<_, 4096>")]
    pub field: Option<String>,
    /// The file that sets it.
    #[serde(default)]
    pub file: Option<RepoPath>,
    /// Line, from 1.
    #[serde(default)]
    pub line: Option<u32>,
    /// Column, from 1.
    #[serde(default)]
    pub column: Option<u32>,
}

impl WireReason {
    /// The field, where it is a JSON Pointer.
    pub fn field_path(&self) -> Option<FieldPath> {
        FieldPath::parse(self.field.as_deref()?)
    }

    /// What is wrong with which object.
    pub fn sentence(&self) -> String {
        match &self.object {
            Some(object) => format!("`{object}`: {}", self.message),
            None => self.message.to_string(),
        }
    }

    /// Where it is written.
    pub fn place(&self) -> Option<Place> {
        Some(Place::known(self.file.clone()?, self.line, self.column))
    }
}
