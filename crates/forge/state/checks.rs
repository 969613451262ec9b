//! Check runs, check suites and commit statuses.

use gix::ObjectId;
use serde_json::Value;

use super::account::Account;
use crate::clock::Seconds;

#[derive(Clone, Debug)]
pub(crate) struct CheckRun {
    pub(crate) id: u64,
    /// The App that made it.
    pub(crate) app: u64,
    pub(crate) suite: u64,
    pub(crate) name: String,
    pub(crate) head: ObjectId,
    pub(crate) external_id: String,
    pub(crate) details_url: Option<String>,
    pub(crate) status: String,
    pub(crate) conclusion: Option<String>,
    pub(crate) started_at: Seconds,
    pub(crate) completed_at: Option<Seconds>,
    pub(crate) title: Option<String>,
    pub(crate) summary: Option<String>,
    pub(crate) text: Option<String>,
    pub(crate) annotations: Vec<Value>,
    /// Its buttons.
    pub(crate) actions: Vec<Value>,
}

/// The App's checks on one commit.
#[derive(Clone, Debug)]
pub(crate) struct CheckSuite {
    pub(crate) id: u64,
    pub(crate) head: ObjectId,
    pub(crate) branch: Option<String>,
    pub(crate) before: Option<ObjectId>,
    pub(crate) created_at: Seconds,
}

/// A commit status.
#[derive(Clone, Debug)]
pub(crate) struct ForgeStatus {
    pub(crate) id: u64,
    pub(crate) commit: ObjectId,
    pub(crate) state: String,
    pub(crate) context: String,
    pub(crate) description: Option<String>,
    pub(crate) target_url: Option<String>,
    pub(crate) creator: Account,
    pub(crate) at: Seconds,
}
