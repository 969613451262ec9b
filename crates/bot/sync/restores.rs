//! The commit from which a record of values that somebody edited can be taken back.
//!
//! *Bounded*: so many commits of the default branch are looked at, each as its first parent led to it. The mirror has them
//! from then on, so that the next run asks nobody.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capstan_bot_core::facts::Plans;
use capstan_model::tree::{CommitId, RepoPath};

use super::{Run, SyncError};
use capstan_fleet::inventory::{edited_record, fits, tell_restore};

/// Fewer than a mirror has packs before it is made anew: each commit that is fetched is one.
const MOST_COMMITS: usize = 16;

impl Run<'_> {
    /// Says of each cluster that such a record blocks where it can be taken back from, as far as that is found.
    pub(super) async fn tell_restores(&self, plans: &mut Plans) -> Result<(), SyncError> {
        let upgrades = plans.values().filter_map(|plan| plan.as_ref().ok());
        let edited: BTreeSet<RepoPath> = upgrades.filter_map(|upgrade| edited_record(upgrade)).collect();
        if edited.is_empty() {
            return Ok(());
        }
        let found = self.last_fitting(edited).await?;
        for upgrade in plans.values_mut().filter_map(|plan| plan.as_mut().ok()) {
            if edited_record(upgrade).is_some_and(|path| found.contains_key(&path)) {
                tell_restore(Arc::make_mut(upgrade), &found);
            }
        }
        Ok(())
    }

    /// The newest commits of the default branch in which these records were what Capstan wrote.
    async fn last_fitting(
        &self,
        mut wanted: BTreeSet<RepoPath>,
    ) -> Result<BTreeMap<RepoPath, CommitId>, SyncError> {
        let mut found = BTreeMap::new();
        let mut next = Some(self.facts.base.clone());
        for _ in 0..MOST_COMMITS {
            let Some(snapshot) = next.take() else { break };
            let tree = snapshot.tree.as_ref();
            wanted.retain(|path| {
                let bytes = tree.entry(path).and_then(|entry| tree.read(entry).ok());
                let is_found = bytes.is_some_and(|bytes| fits(path, &bytes));
                if is_found {
                    found.insert(path.clone(), snapshot.commit.clone());
                }
                !is_found
            });
            let Some(parent) = snapshot.parents.first().filter(|_| !wanted.is_empty()) else { break };
            next = match self.snapshot(parent).await {
                Ok(snapshot) => snapshot,
                // What is no more than a help is not the run's trouble.
                Err(SyncError::Mirror(error)) => {
                    tracing::info!(repository = %self.repository.name, error = %error, "the history of a record cannot be read");
                    None
                }
                Err(error) => return Err(error),
            };
        }
        Ok(found)
    }
}
