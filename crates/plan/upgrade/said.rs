//! What the steps of a plan say: each adds to it.

use super::model::{Change, Conflict};
use capstan_model::finding::Finding;

/// What is to be said of an upgrade so far.
#[derive(Debug, Default)]
pub(super) struct UpgradeReport {
    pub(super) changes: Vec<Change>,
    pub(super) conflicts: Vec<Conflict>,
    pub(super) findings: Vec<Finding>,
    /// Why nothing may be written.
    pub(super) blocked: Vec<String>,
    pub(super) notes: Vec<String>,
}

impl UpgradeReport {
    /// A finding for which nothing may be written, and why, in short.
    pub(super) fn block(&mut self, finding: Finding, reason: String) {
        self.findings.push(finding.stopping(&reason));
        self.blocked.push(reason);
    }
}
