//! An upgrade that was thought through, and what the rendered objects add to it.

use std::collections::BTreeMap;

use super::model::{Rollout, Upgrade};
use super::provenance::Provenance;
use crate::settings::{ComponentsRecord, RecordError, record_components};
use capstan_model::file_change::FileChange;
use capstan_model::finding::{Finding, Place, rules};
use capstan_model::object::ObjectId;
use capstan_model::tree::RepoPath;

/// The result of a merge, before anything rendered is judged.
#[derive(Debug, Clone)]
pub struct PlannedUpgrade {
    /// The upgrade so far: changes, conflicts, the merge's own findings, and why it blocks, if it does.
    /// Its `files` are empty; [`finish`](Self::finish) fills them.
    pub upgrade: Upgrade,
    /// The files as they would be, also where the upgrade blocks: render these to judge it.
    pub intended: Vec<FileChange>,
    /// Templates that got a new name, as they were called; they stand there still.
    pub rotated: Vec<ObjectId>,
    /// Why each field is what it is, as the merge recorded it.
    pub provenance: Provenance,
}

impl PlannedUpgrade {
    /// Puts the digests of a provider set's components into its `capstan.yaml`. `file` is where that is or would be,
    /// with its present text.
    ///
    /// # Errors
    /// The file cannot be edited; nothing is changed then.
    pub fn record_components(
        &mut self,
        (file, text): (&RepoPath, Option<&str>),
        components: &BTreeMap<String, ComponentsRecord>,
    ) -> Result<(), RecordError> {
        let change = self.intended.iter_mut().find(|change| change.path == *file);
        let current = change.as_ref().map_or(text, |change| change.after.as_deref());
        let name = file.parent().map(|folder| folder.name().to_owned()).unwrap_or_default();
        let after = record_components(file, current, &name, components)?;
        if current == after.as_deref() {
            return Ok(());
        }
        match change {
            Some(change) => change.after = after,
            None => {
                let before = text.map(str::to_owned);
                self.intended.push(FileChange { path: file.clone(), before, after });
                self.intended.sort_by(|a, b| a.path.cmp(&b.path));
            }
        }
        Ok(())
    }

    /// The upgrade with what was seen in the rendered objects: more findings, and rollouts. Nothing is
    /// written where it blocks. Orders everything as the contract says.
    #[must_use]
    pub fn finish(self, findings: Vec<Finding>, rollouts: Vec<Rollout>) -> Upgrade {
        let Self { mut upgrade, mut intended, rotated: _, provenance: _ } = self;
        // The merge may have said already what a rule sees in the rendered objects.
        let known = |new: &Finding| {
            upgrade.findings.iter().any(|old| {
                old.rule == new.rule
                    && old.object == new.object
                    && old.path == new.path
                    && old.file() == new.file()
            })
        };
        let new: Vec<Finding> = findings.into_iter().filter(|finding| !known(finding)).collect();
        // A cluster or an object that goes, as only the rendered objects show, blocks the upgrade too.
        let lost = new
            .iter()
            .filter(|finding| matches!(finding.rule, rules::REMOVES_CLUSTER | rules::NAMESPACE_CHANGED));
        upgrade.blocked.extend(lost.map(|finding| finding.message.clone()));
        upgrade.findings.extend(new);
        upgrade.rollouts.extend(rollouts);
        if !upgrade.blocked.is_empty() {
            intended.clear();
        }
        upgrade.files = intended;
        upgrade.files.sort_by(|a, b| a.path.cmp(&b.path));
        let line = |line: Option<u32>| line.unwrap_or(u32::MAX);
        let place = |place: &Place| (place.file().clone(), line(place.line()));
        upgrade.changes.sort_by_cached_key(|change| (place(&change.place), change.path.to_string()));
        upgrade.conflicts.sort_by_cached_key(|item| (place(&item.place), item.path.to_string()));
        upgrade.findings.sort_by_cached_key(|item| {
            let path = item.path.as_ref().map(ToString::to_string);
            (
                item.file().cloned().map_or((1, None), |file| (0, Some(file))),
                line(item.line()),
                path,
                item.rule,
            )
        });
        upgrade.rollouts.sort_by_cached_key(|rollout| rollout.object.clone());
        upgrade
    }
}
