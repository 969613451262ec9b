//! The reconcilers' part of a run: what they may read, which merges are followed, for which clusters they are
//! asked, and which clusters wait for their machines.

use std::collections::{BTreeMap, BTreeSet};

use capstan_bot_core::facts::{AwaitedRollout, Facts, Reporters, Scopes, target_in};
use capstan_bot_core::rollouts::{NewMerge, new_merges};
use capstan_live::agent::preflight::Preflight;
use capstan_live::agent::{Progress, SpeaksOf};
use capstan_model::ids::ClusterId;
use capstan_model::tree::CommitId;
use capstan_plan::settings::RepositorySettings;
use jiff::Timestamp;

use super::SyncError;
use super::ending::Ending;
use super::inputs::ClusterInputs;
use crate::agents::Reconcilers;
use capstan_fleet::planner::LiveNames;
use capstan_ports::{
    Clock, FollowedCluster, FollowedMerge, PullRequests, ReportedToGitHub, WatchedRepository,
};

/// The live names of templates before and after a merge, as the planner takes them.
pub(super) fn live_names(reporters: &Reporters, preflights: &[Preflight]) -> BTreeMap<ClusterId, LiveNames> {
    let names = |(cluster, (before, after))| (cluster, LiveNames { before, after });
    reporters.names_after(preflights).into_iter().map(names).collect()
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

/// Connects a run with the reconcilers, where any can enrol.
#[derive(Clone, Copy)]
pub(super) struct ReportReader<'a> {
    pub(super) reconcilers: Option<&'a Reconcilers>,
    pub(super) host: &'a dyn PullRequests,
    pub(super) clock: &'a dyn Clock,
    pub(super) facts: &'a Facts,
    pub(super) inputs: ClusterInputs<'a>,
}

impl ReportReader<'_> {
    /// Follows new merges, shows the tip to agents, and reads their reports.
    pub(super) async fn meet_reconcilers(
        self,
        settings: &RepositorySettings,
        scopes: &Scopes,
        ending: &mut Ending,
    ) -> Result<Reporters, SyncError> {
        let Some(Reconcilers { records, notifier }) = self.reconcilers else {
            return Ok(Reporters::default());
        };
        let enrolled =
            if settings.management_clusters.is_empty() { Vec::new() } else { records.agents().await? };
        let mut reporters = Reporters::named(settings, enrolled);
        // Before agents see the tip: a report must not come before its merge is followed.
        self.follow_merges(&reporters, scopes, settings, ending).await?;
        let watched = WatchedRepository {
            repository: self.facts.repository.clone(),
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
            records.keep_preflights_of(self.facts.repository.id, &heads).await?;
        }
        if !reporters.enrolled.is_empty() {
            reporters = reporters.with_standings(records.standings(self.facts.repository.id).await?);
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
        let Some(Reconcilers { records, notifier }) = self.reconcilers else { return Ok(()) };
        let Some(since) = reporters.follow_since(self.clock.now()) else { return Ok(()) };
        let known: BTreeSet<u64> =
            records.followed_pull_requests(self.facts.repository.id).await?.into_iter().collect();
        let closed = match self.host.recently_closed_pull_requests(&self.facts.repository).await {
            Ok(closed) => closed,
            // The next run finds the merges.
            Err(error) if SyncError::is_lone(&error) => {
                tracing::warn!(repository = %self.facts.repository.name, error = %error, "merges cannot be listed: none is followed yet");
                ending.fail(error.into());
                Vec::new()
            }
            Err(error) => return Err(error.into()),
        };
        for NewMerge { pull, commit, at } in new_merges(self.facts, &closed, &known, since) {
            let clusters = match self.inputs.touched_by_merge(pull, commit, scopes, settings).await {
                // Machines of a merge that can never be read are not followed; the other merges have theirs.
                Err(error) if error.is_lasting() => {
                    tracing::warn!(repository = %self.facts.repository.name, pull_request = pull.number, error = %error, "the machines of a merge cannot be followed");
                    BTreeSet::new()
                }
                // The next run tries again.
                Err(error) if error.is_of_one() => {
                    tracing::warn!(repository = %self.facts.repository.name, pull_request = pull.number, error = %error, "a merge is not followed yet");
                    ending.fail(error);
                    continue;
                }
                clusters => clusters?,
            };
            let followed = FollowedMerge {
                repository: self.facts.repository.id,
                pull_request: pull.number,
                head: pull.head.clone(),
                merge_commit: commit.clone(),
                merged_at: at,
                reported: ReportedToGitHub::default(),
                clusters: clusters
                    .into_iter()
                    .filter_map(|cluster| followed(reporters, cluster, at))
                    .collect(),
            };
            if !followed.clusters.is_empty() {
                tracing::info!(repository = %self.facts.repository.name, pull_request = pull.number, clusters = followed.clusters.len(), "the machines of a merge are followed");
            }
            records.follow_merge(&followed).await?;
            notifier.notify();
        }
        Ok(())
    }
}

/// Why a cluster is not offered its next step yet: its machines still follow the last one.
pub(super) async fn awaits_rollout(
    inputs: ClusterInputs<'_>,
    reporters: &Reporters,
    scopes: &Scopes,
    cluster: &ClusterId,
) -> Result<Option<String>, SyncError> {
    let mut speaks_of = SpeaksOf::NotKnown;
    loop {
        match reporters.next_step(scopes, cluster, speaks_of) {
            AwaitedRollout::Ask(commit) => {
                let target = target_in(scopes, cluster);
                let alone = scopes.get(&target).map(|scope| (target, scope.clone())).into_iter().collect();
                let changed = inputs.changed_since(&commit, &alone).await?;
                let is_newest = changed.is_some_and(|changed| changed.is_empty());
                speaks_of = if is_newest { SpeaksOf::TheNewest } else { SpeaksOf::AnOlder };
            }
            AwaitedRollout::Nothing => return Ok(None),
            AwaitedRollout::Waits(why) => return Ok(Some(why)),
        }
    }
}
