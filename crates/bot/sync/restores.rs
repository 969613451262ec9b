//! The commit from which an edited record of values can be restored.
//!
//! *Bounded*: a fixed number of commits of the default branch is examined, along first parents. The mirror
//! has them from then on, so that the next run fetches nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capstan_bot_core::facts::TargetPlans;
use capstan_model::tree::{CommitId, RepoPath};

use super::SyncError;
use super::commits::Commits;
use capstan_fleet::inventory::{edited_record, fits, tell_restore};

/// Fewer than the packs at which a mirror is rebuilt: each fetched commit is one.
const MOST_COMMITS: usize = 16;

/// Adds to each cluster that such a record blocks the commit to restore it from, as far as it is found.
pub(super) async fn add_restores(commits: Commits<'_>, plans: &mut TargetPlans) -> Result<(), SyncError> {
    let upgrades = plans.values().filter_map(|plan| plan.as_ref().ok());
    let edited: BTreeSet<RepoPath> = upgrades.filter_map(|upgrade| edited_record(upgrade)).collect();
    if edited.is_empty() {
        return Ok(());
    }
    let found = last_fitting(commits, edited).await?;
    for upgrade in plans.values_mut().filter_map(|plan| plan.as_mut().ok()) {
        if edited_record(upgrade).is_some_and(|path| found.contains_key(&path)) {
            tell_restore(Arc::make_mut(upgrade), &found);
        }
    }
    Ok(())
}

/// The newest commits of the default branch in which these records were as Capstan wrote them.
async fn last_fitting(
    commits: Commits<'_>,
    mut wanted: BTreeSet<RepoPath>,
) -> Result<BTreeMap<RepoPath, CommitId>, SyncError> {
    let mut found = BTreeMap::new();
    let mut next = Some(commits.facts.base.clone());
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
        next = match commits.snapshot(parent).await {
            Ok(snapshot) => snapshot,
            // This is only a hint, so it does not fail the run.
            Err(SyncError::Mirror(error)) => {
                tracing::info!(repository = %commits.facts.repository.name, error = %error, "the history of a record cannot be read");
                None
            }
            Err(error) => return Err(error),
        };
    }
    Ok(found)
}
