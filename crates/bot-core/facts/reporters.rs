//! The reconcilers' part of a run: for which clusters they are asked, and which clusters wait for their
//! machines.

use std::collections::BTreeMap;
use std::sync::Arc;

use capstan_facts::{Agent, ClusterStanding};
use capstan_live::agent::permission::ManagedBy;
use capstan_live::agent::{LastRollout, NextStep, RolloutReport, SpeaksOf, next_step};
use capstan_model::ids::ClusterId;
use capstan_model::tree::CommitId;
use capstan_plan::settings::ManagementClusterUid;
use capstan_plan::templates::TemplateNames;
use capstan_report::{Fingerprint, awaited_in_words};

use super::targets::{Scopes, target_in};

/// The reconcilers of a repository, and their reports.
#[derive(Debug, Clone, Default)]
pub struct Reporters {
    /// Who applies what, as the settings say.
    pub managed_by: ManagedBy,
    /// Agents that are not revoked and that the settings name.
    pub enrolled: Vec<Agent>,
    /// The newest report of each cluster's own management cluster.
    pub standings: BTreeMap<ClusterId, ClusterStanding>,
}

impl Reporters {
    /// The management cluster that applies a cluster and has a reconciler that reports.
    pub fn of(&self, cluster: &ClusterId) -> Option<(&str, &ManagementClusterUid)> {
        let owner = self.managed_by.owner(cluster)?;
        self.is_enrolled(&owner.uid).then_some((owner.name.as_str(), &owner.uid))
    }

    /// State of the rollouts of clusters, as a fingerprint.
    pub fn standing_of(&self, clusters: &[ClusterId]) -> String {
        let one = |digest: Fingerprint, cluster: &ClusterId| {
            let digest = digest.field("cluster", cluster);
            match self.standings.get(cluster) {
                Some(ClusterStanding { report, .. }) => {
                    digest.field("state", report.state.as_str()).field("commit", report.commit())
                }
                None => digest,
            }
        };
        clusters.iter().fold(Fingerprint::of("standing"), one).finish()
    }

    /// The name of the management cluster whose reconciler reports on a cluster.
    pub fn name_for(&self, cluster: &ClusterId) -> Option<&str> {
        self.of(cluster).map(|(name, _)| name)
    }

    /// The live names of templates, from the newest reports.
    pub fn names(&self) -> BTreeMap<ClusterId, Arc<TemplateNames>> {
        let names = self.standings.iter().filter_map(|(cluster, standing)| {
            // A cluster that was never applied has no live names.
            standing.report.applied.as_ref()?;
            Some((cluster.clone(), Arc::new(TemplateNames::new(standing.report.names.clone()).ok()?)))
        });
        names.collect()
    }

    /// The newest report on a cluster, if its reconciler may report.
    pub fn report_on(&self, cluster: &ClusterId) -> Option<&RolloutReport> {
        self.standings.get(cluster).map(|standing| &standing.report)
    }

    /// Whether a management cluster has a reconciler that may report.
    pub fn is_enrolled(&self, uid: &ManagementClusterUid) -> bool {
        self.enrolled.iter().any(|agent| agent.management_cluster.is(uid.as_str()))
    }

    /// What the machines of a cluster wait for after its last rollout. `speaks_of` is what is known of the
    /// newest report's commit.
    pub fn next_step(&self, scopes: &Scopes, cluster: &ClusterId, speaks_of: SpeaksOf) -> AwaitedRollout {
        let Some(owner) = self.managed_by.owner_of(&target_in(scopes, cluster)) else {
            return AwaitedRollout::Nothing;
        };
        let last = match self.standings.get(cluster) {
            _ if !self.is_enrolled(&owner.uid) => LastRollout::NotEnrolled,
            None => LastRollout::NotReported,
            Some(standing) => LastRollout::Reported(&standing.report, speaks_of),
        };
        match next_step(last) {
            NextStep::Ask(commit) => AwaitedRollout::Ask(commit.clone()),
            NextStep::Offered => AwaitedRollout::Nothing,
            NextStep::Waits(awaited) => {
                AwaitedRollout::Waits(awaited_in_words(awaited, &owner.name, owner.uid.as_str()))
            }
        }
    }
}

/// What the next step of a cluster waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AwaitedRollout {
    /// First find out whether the cluster's inputs are still those of that commit.
    Ask(CommitId),
    Nothing,
    /// Its machines, in words.
    Waits(String),
}
