//! What reconcilers have to do with a run: whom the live cluster is asked for, and which cluster waits for its machines.

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

/// The reconcilers of a repository, and what they reported.
#[derive(Debug, Clone, Default)]
pub struct Reporters {
    /// Who applies what, as the settings say.
    pub managed_by: ManagedBy,
    /// Those that are not revoked and that the settings name.
    pub enrolled: Vec<Agent>,
    /// What each cluster's own management cluster reported last.
    pub standings: BTreeMap<ClusterId, ClusterStanding>,
}

impl Reporters {
    /// The management cluster that applies a cluster and has a reconciler that reports.
    pub fn of(&self, cluster: &ClusterId) -> Option<(&str, &ManagementClusterUid)> {
        let owner = self.managed_by.owner(cluster)?;
        self.is_enrolled(&owner.uid).then_some((owner.name.as_str(), &owner.uid))
    }

    /// How the rollouts of clusters stand, in a few letters.
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

    /// The management cluster whose reconciler reports on a cluster, by its name.
    pub fn name_for(&self, cluster: &ClusterId) -> Option<&str> {
        self.of(cluster).map(|(name, _)| name)
    }

    /// The live names of templates, as the reconcilers reported them last.
    pub fn names(&self) -> BTreeMap<ClusterId, Arc<TemplateNames>> {
        let names = self.standings.iter().filter_map(|(cluster, standing)| {
            // What was never applied has no live names.
            standing.report.applied.as_ref()?;
            Some((cluster.clone(), Arc::new(TemplateNames::new(standing.report.names.clone()).ok()?)))
        });
        names.collect()
    }

    /// The newest report on a cluster, where its reconciler may report.
    pub fn report_on(&self, cluster: &ClusterId) -> Option<&RolloutReport> {
        self.standings.get(cluster).map(|standing| &standing.report)
    }

    /// Whether a management cluster has a reconciler that may report.
    pub fn is_enrolled(&self, uid: &ManagementClusterUid) -> bool {
        self.enrolled.iter().any(|agent| agent.management_cluster.is(uid.as_str()))
    }

    /// What the machines of a cluster wait for after its last rollout. `speaks_of` is what is known of the commit that the
    /// newest report names.
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
    /// Whether the cluster still is what it was made of in that commit has to be known first.
    Ask(CommitId),
    /// Nothing.
    Nothing,
    /// Its machines, in words.
    Waits(String),
}
