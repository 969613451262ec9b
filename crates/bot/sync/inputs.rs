//! Which clusters' inputs differ between commits.

use std::collections::{BTreeMap, BTreeSet};

use capstan_bot_core::facts::Scopes;
use capstan_bot_core::proposals::DecisionStep;
use capstan_bot_core::rollouts::{Differing, MergeChanges};
use capstan_model::ids::ClusterId;
use capstan_model::tree::CommitId;
use capstan_plan::settings::RepositorySettings;

use super::SyncError;
use super::commits::Commits;
use super::planning::TreePlanner;
use capstan_fleet::planner::PlannerFailed;
use capstan_ports::PullRequest;

/// Reads the commits, and asks the planner.
#[derive(Clone, Copy)]
pub(super) struct ClusterInputs<'a> {
    pub(super) commits: Commits<'a>,
    pub(super) planner: TreePlanner<'a>,
}

impl ClusterInputs<'_> {
    /// The clusters that the head of a pull request changes.
    pub(super) async fn touched_by_head(
        self,
        pull: &PullRequest,
        scopes: &Scopes,
    ) -> Result<Vec<ClusterId>, SyncError> {
        let before = self.commits.required_snapshot(&pull.base).await?;
        let after = self.commits.required_snapshot(&pull.head).await?;
        self.planner.touched(&before.tree, &after.tree, scopes).await
    }

    /// The clusters among these targets whose inputs on the default branch differ from a commit; `None` where that
    /// cannot be read.
    pub(super) async fn changed_since(
        self,
        commit: &CommitId,
        scopes: &Scopes,
    ) -> Result<Option<Vec<ClusterId>>, SyncError> {
        let Some(then) = self.commits.snapshot(commit).await? else { return Ok(None) };
        let tip = &self.commits.facts.base.tree;
        self.planner.touched(&then.tree, tip, scopes).await.map(Some)
    }

    /// The clusters that a merge changed.
    pub(super) async fn touched_by_merge(
        self,
        pull: &PullRequest,
        merge: &CommitId,
        scopes: &Scopes,
        settings: &RepositorySettings,
    ) -> Result<BTreeSet<ClusterId>, SyncError> {
        let Some(merged) = self.commits.snapshot(merge).await? else { return Ok(BTreeSet::new()) };
        // The tip may have been read before the merge that adds a cluster to it.
        let there = match self.planner.scopes_with(scopes, &merged.tree, settings).await {
            // A snapshot that cannot be opened adds no cluster to report on.
            Err(SyncError::Planner(PlannerFailed::Exceeded(_))) => scopes.clone(),
            there => there?,
        };
        let changes = MergeChanges {
            commit: merge.clone(),
            parent: merged.parents.first().cloned(),
            base: pull.base.clone(),
            head: pull.head.clone(),
        };
        let mut snapshots = BTreeMap::from([(merge.clone(), Some(merged))]);
        let mut found = Differing::new();
        loop {
            match changes.clusters(&found) {
                DecisionStep::Decided(clusters) => return Ok(clusters),
                DecisionStep::Ask((before, after)) => {
                    for commit in [&before, &after] {
                        if !snapshots.contains_key(commit) {
                            snapshots.insert(commit.clone(), self.commits.snapshot(commit).await?);
                        }
                    }
                    let clusters = match (&snapshots[&before], &snapshots[&after]) {
                        (Some(before), Some(after)) => {
                            let touched = self.planner.touched(&before.tree, &after.tree, &there).await?;
                            Some(touched.into_iter().collect())
                        }
                        _ => None,
                    };
                    found.insert((before, after), clusters);
                }
            }
        }
    }
}
