//! The reconcilers' part of a run: what they may read, which merges are followed, for which clusters they are
//! asked, and which clusters wait for their machines.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capstan_bot_core::facts::{AwaitedRollout, Reporters, Scopes, target_in};
use capstan_live::agent::permission::ManagedBy;
use capstan_live::agent::preflight::{Preflight, Standing};
use capstan_live::agent::{Progress, SpeaksOf};
use capstan_model::ids::ClusterId;
use capstan_model::tree::CommitId;
use capstan_plan::settings::RepositorySettings;
use capstan_plan::templates::TemplateNames;
use jiff::{SignedDuration, Timestamp};

use super::{Ending, Run, SyncError};
use crate::agents::Reconcilers;
use capstan_fleet::planner::LiveNames;
use capstan_fleet::planner::PlannerFailed;
use capstan_ports::{
    FollowedCluster, FollowedMerge, PullRequest, PullRequestState, ReportedToGitHub, WatchedRepository,
};

/// A merge that was missed for longer is not followed any more.
const DAYS_BACK: i64 = 7;

/// The live names of templates before and after a merge: from reports, and from the merge's preflight.
pub(super) fn live_names(reporters: &Reporters, preflights: &[Preflight]) -> BTreeMap<ClusterId, LiveNames> {
    let mut found = BTreeMap::new();
    for preflight in preflights {
        let Standing::Answered(answer) = &preflight.standing else { continue };
        for one in answer.clusters.iter().filter(|one| preflight.clusters.contains(&one.cluster)) {
            found.extend(TemplateNames::new(one.names.clone()).ok().map(|names| (&one.cluster, names)));
        }
    }
    let both = |(cluster, before): (ClusterId, Arc<TemplateNames>)| {
        let before = Arc::unwrap_or_clone(before);
        let after = found.get(&cluster).cloned().unwrap_or_else(|| before.clone());
        (cluster, LiveNames { before, after })
    };
    reporters.names().into_iter().map(both).collect()
}

fn followed(reporters: &Reporters, cluster: ClusterId, merged_at: Timestamp) -> Option<FollowedCluster> {
    let (name, uid) = reporters.of(&cluster)?;
    Some(FollowedCluster {
        management_cluster: uid.clone(),
        name: name.to_owned(),
        progress: Progress::waiting(merged_at),
        cluster,
    })
}

impl Run<'_> {
    /// Follows new merges, shows the tip to agents, and reads their reports.
    pub(super) async fn meet_reconcilers(
        self,
        settings: &RepositorySettings,
        scopes: &Scopes,
        ending: &mut Ending,
    ) -> Result<Reporters, SyncError> {
        let Some(Reconcilers { records, notifier }) = &self.ports.reconcilers else {
            return Ok(Reporters::default());
        };
        let managed_by = ManagedBy::of(settings);
        let mut enrolled = Vec::new();
        if !managed_by.is_empty() {
            enrolled = records.agents().await?;
            enrolled
                .retain(|agent| agent.revoked_at.is_none() && managed_by.knows(&agent.management_cluster));
        }
        let mut reporters = Reporters { managed_by, enrolled, ..Reporters::default() };
        // Before agents see the tip: a report must not come before its merge is followed.
        self.follow_merges(&reporters, scopes, settings, ending).await?;
        let watched = WatchedRepository {
            repository: self.repository.clone(),
            tip: self.facts.base.commit.clone(),
            managed_by: reporters.managed_by.clone(),
        };
        if records.watch_repository(&watched).await? {
            notifier.notify();
        }
        let heads = self.facts.open.iter().map(|pull| &pull.head);
        // Keep earlier answers while the state of the merge groups is unknown.
        if let Some(groups) = &self.facts.merge_groups {
            let heads: BTreeSet<&CommitId> = heads.chain(groups.iter().map(|group| &group.commit)).collect();
            records.keep_preflights_of(self.repository.id, &heads).await?;
        }
        if !reporters.enrolled.is_empty() {
            let mut standings = records.standings(self.repository.id).await?;
            standings.retain(|(cluster, standing)| {
                reporters.managed_by.has(&standing.management_cluster, cluster)
            });
            reporters.standings = standings.into_iter().collect();
        }
        Ok(reporters)
    }

    async fn follow_merges(
        self,
        reporters: &Reporters,
        scopes: &Scopes,
        settings: &RepositorySettings,
        ending: &mut Ending,
    ) -> Result<(), SyncError> {
        let Some(Reconcilers { records, notifier }) = &self.ports.reconcilers else { return Ok(()) };
        let Some(first) = reporters.enrolled.iter().map(|agent| agent.enrolled_at).min() else {
            return Ok(());
        };
        let since = first.max(self.ports.clock.now() - SignedDuration::from_hours(24 * DAYS_BACK));
        let known: BTreeSet<u64> =
            records.followed_pull_requests(self.repository.id).await?.into_iter().collect();
        let closed = match self.ports.host.recently_closed_pull_requests(self.repository).await {
            Ok(closed) => closed,
            // The next run finds the merges.
            Err(error) if SyncError::is_lone(&error) => {
                tracing::warn!(repository = %self.repository.name, error = %error, "merges cannot be listed: none is followed yet");
                ending.fail(error.into());
                Vec::new()
            }
            Err(error) => return Err(error.into()),
        };
        for pull in closed {
            let merged = pull.state == PullRequestState::Merged
                && pull.comes_to(&self.repository.default_branch)
                && !known.contains(&pull.number);
            // GitHub's times are whole seconds.
            let at = pull.closed_at.filter(|at| *at + SignedDuration::from_secs(1) >= since);
            let (true, Some(merged_at), Some(merge)) = (merged, at, &pull.merge_commit) else { continue };
            let clusters = match self.touched_by_merge(&pull, merge, scopes, settings).await {
                // Machines of a merge that can never be read are not followed; the other merges have theirs.
                Err(error) if error.is_lasting() => {
                    tracing::warn!(repository = %self.repository.name, pull_request = pull.number, error = %error, "the machines of a merge cannot be followed");
                    BTreeSet::new()
                }
                // The next run tries again.
                Err(error) if error.is_of_one() => {
                    tracing::warn!(repository = %self.repository.name, pull_request = pull.number, error = %error, "a merge is not followed yet");
                    ending.fail(error);
                    continue;
                }
                clusters => clusters?,
            };
            let followed = FollowedMerge {
                repository: self.repository.id,
                pull_request: pull.number,
                head: pull.head.clone(),
                merge_commit: merge.clone(),
                merged_at,
                reported: ReportedToGitHub::default(),
                clusters: clusters
                    .into_iter()
                    .filter_map(|cluster| followed(reporters, cluster, merged_at))
                    .collect(),
            };
            if !followed.clusters.is_empty() {
                tracing::info!(repository = %self.repository.name, pull_request = pull.number, clusters = followed.clusters.len(), "the machines of a merge are followed");
            }
            records.follow_merge(&followed).await?;
            notifier.notify();
        }
        Ok(())
    }

    /// The clusters that a merge changed: those that differ from its parent. Of several rebased commits only
    /// the last one's parent is known, so the head's changes that the merge has count too.
    async fn touched_by_merge(
        &self,
        pull: &PullRequest,
        merge: &CommitId,
        scopes: &Scopes,
        settings: &RepositorySettings,
    ) -> Result<BTreeSet<ClusterId>, SyncError> {
        let Some(merged) = self.snapshot(merge).await? else { return Ok(BTreeSet::new()) };
        // The tip may have been read before the merge that adds a cluster to it.
        let there = match self.scopes_with(scopes, &merged, settings).await {
            // A snapshot that cannot be opened adds no cluster to report on.
            Err(SyncError::Planner(PlannerFailed::Exceeded(_))) => scopes.clone(),
            there => there?,
        };
        let scopes = &there;
        let mut clusters = BTreeSet::new();
        if let Some(parent) = merged.parents.first()
            && let Some(before) = self.snapshot(parent).await?
        {
            clusters.extend(self.touched(&before.tree, &merged.tree, scopes).await?);
        }
        let ends = (self.snapshot(&pull.base).await?, self.snapshot(&pull.head).await?);
        if let (Some(base), Some(head)) = ends {
            let mut changed = self.touched(&base.tree, &head.tree, scopes).await?;
            if !changed.is_empty() {
                let elsewhere = self.touched(&head.tree, &merged.tree, scopes).await?;
                changed.retain(|cluster| !elsewhere.contains(cluster));
            }
            clusters.extend(changed);
        }
        Ok(clusters)
    }

    /// Why a cluster is not offered its next step yet: its machines still follow the last one.
    pub(super) async fn awaits_rollout(
        self,
        reporters: &Reporters,
        scopes: &Scopes,
        cluster: &ClusterId,
    ) -> Result<Option<String>, SyncError> {
        let mut speaks_of = SpeaksOf::NotKnown;
        loop {
            match reporters.next_step(scopes, cluster, speaks_of) {
                AwaitedRollout::Ask(commit) => speaks_of = self.speaks_of(&commit, scopes, cluster).await?,
                AwaitedRollout::Nothing => return Ok(None),
                AwaitedRollout::Waits(why) => return Ok(Some(why)),
            }
        }
    }

    /// Whether a cluster's inputs are still those of that commit.
    async fn speaks_of(
        self,
        commit: &CommitId,
        scopes: &Scopes,
        cluster: &ClusterId,
    ) -> Result<SpeaksOf, SyncError> {
        let Some(reported) = self.snapshot(commit).await? else { return Ok(SpeaksOf::AnOlder) };
        let target = target_in(scopes, cluster);
        let alone = scopes.get(&target).map(|scope| (target, scope.clone())).into_iter().collect();
        let touched = self.touched(&reported.tree, &self.facts.base.tree, &alone).await?;
        Ok(if touched.is_empty() { SpeaksOf::TheNewest } else { SpeaksOf::AnOlder })
    }
}
