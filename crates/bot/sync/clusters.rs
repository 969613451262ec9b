//! Clusters that a command creates or destroys: each gets a pull request of its own, which people merge or
//! not.
//!
//! *Expected flow.* The commit is made while the fleet is open. When the comment is answered, the newest pull
//! request of the branch `capstan/create/<cluster>` or `capstan/destroy/<cluster>` shows whether there is
//! anything to do. If there is, the commit, the branch and the pull request are written.
//!
//! *Guarantees.* It is written once for a comment, whose id is in the body: a run that died finds it, whether
//! or not it is still open. An open one is not written a second time, and a branch with people's commits is
//! not touched. A commit contains only new files of the new cluster's folder, or only the cluster's
//! `capstan.yaml`.

use capstan_bot_core::commands::{
    ClusterPullAnswers, ClusterPullAsked, ClusterPullFacts, ClusterPullNeed, ClusterPullStep, WantedClusters,
    change_asked, cluster_pull, cluster_pull_said, wanted_clusters,
};
use capstan_bot_core::facts::Facts;
use capstan_bot_core::planned::PlannedRun;
use capstan_bot_core::proposals::DecisionStep;
use capstan_bot_core::requests::{AskedClusters, ClusterChange, ClusterRequest, Request};
use capstan_model::tree::CommitId;
use capstan_plan::proposal::{Authorship, judge_head};
use capstan_plan::settings::RepositorySettings;
use capstan_report::{Answer, AskedFor};

use super::SyncError;
use super::heads::Heads;
use crate::performing::Performer;
use capstan_fleet::planner::{OpenFleet, PlannerFailed};
use capstan_ports::Clock;

/// The inner error is the answer.
fn made(
    wanted: &ClusterRequest,
    fleet: &dyn OpenFleet,
) -> Result<Result<ClusterChange, String>, PlannerFailed> {
    let made = match wanted {
        ClusterRequest::Create(from) => fleet.create(from).map(|made| made.map(ClusterChange::Create)),
        ClusterRequest::Destroy(cluster) => {
            fleet.retire(cluster).map(|made| made.map(ClusterChange::Destroy))
        }
    };
    match made {
        Ok(made) => Ok(made.map_err(|why| why.to_string())),
        Err(PlannerFailed::Exceeded(why)) => Ok(Err(why)),
        Err(failed) => Err(failed),
    }
}

/// Makes what is requested, while the fleet is open.
pub(super) async fn make_clusters(
    fleet: Box<dyn OpenFleet>,
    requests: &[Request],
    settings: &RepositorySettings,
) -> Result<(Box<dyn OpenFleet>, AskedClusters), SyncError> {
    let WantedClusters { made: wanted, refused } = wanted_clusters(requests, settings.mode);
    if wanted.is_empty() {
        return Ok((fleet, AskedClusters::new(refused)));
    }
    let make = move || {
        let mut asked = refused;
        for (place, wanted) in wanted {
            match made(&wanted, fleet.as_ref()) {
                Ok(made) => drop(asked.insert(place, made)),
                Err(failed) => return (fleet, Err(failed)),
            }
        }
        (fleet, Ok(AskedClusters::new(asked)))
    };
    let (fleet, asked) = tokio::task::spawn_blocking(make).await?;
    Ok((fleet, asked?))
}

/// Writes the pull requests of such clusters.
#[derive(Clone, Copy)]
pub(super) struct ClusterPulls<'a> {
    pub(super) clock: &'a dyn Clock,
    pub(super) facts: &'a Facts,
    pub(super) heads: Heads<'a>,
    pub(super) performer: &'a Performer<'a>,
}

impl ClusterPulls<'_> {
    /// The answer to a command about a cluster, once its pull request exists.
    pub(super) async fn answer(
        self,
        (request, at): (&Request, usize),
        asked: ClusterPullAsked<'_>,
        planned: PlannedRun<'_>,
    ) -> Result<Answer, SyncError> {
        let (change, key) = match change_asked(planned, (request, at), asked) {
            Ok(asked) => asked,
            Err(answer) => return Ok(answer),
        };
        let by = request.by.as_str();
        let asked = AskedFor { by, number: request.number, key: &key, reason: asked.reason };
        let (facts, origin, now) = (self.facts, planned.origin, self.clock.now());
        let of = ClusterPullFacts { facts, change, origin, asked, now };
        let mut known = ClusterPullAnswers::default();
        let (write, desired) = loop {
            match cluster_pull(of, &known)? {
                DecisionStep::Decided(ClusterPullStep::Says(answer)) => return Ok(answer),
                DecisionStep::Decided(ClusterPullStep::Writes(write, desired)) => break (write, desired),
                DecisionStep::Ask(ClusterPullNeed::Newest) => {
                    known.newest = Some(self.heads.newest_on(&change.branch()).await?);
                }
                DecisionStep::Ask(ClusterPullNeed::Branch(write)) => {
                    match self.written_branch(&change.branch(), &known).await {
                        Err(error @ SyncError::Host(_)) => {
                            let refused = self.performer.settle(&write, Err(error)).await?;
                            return Ok(cluster_pull_said(change, refused.as_ref()));
                        }
                        branch => known.branch = Some(branch?),
                    }
                }
            }
        };
        let published = match desired {
            Some(desired) => self.performer.bring_up(&desired).await.map(Some),
            None => Ok(None),
        };
        let published = self.performer.settle(&write, published).await?;
        Ok(cluster_pull_said(change, published.as_ref()))
    }

    /// The head of a branch, and whose work that is.
    async fn written_branch(
        self,
        branch: &str,
        known: &ClusterPullAnswers,
    ) -> Result<Option<(CommitId, Authorship)>, SyncError> {
        let Some(head) = self.heads.host.branch(&self.facts.repository, branch).await? else {
            return Ok(None);
        };
        let base = known.newest.as_ref().and_then(|newest| Some(&newest.as_ref()?.base));
        let tip = self.heads.read_head(branch, &head, base).await?;
        Ok(Some((head, judge_head(&tip, None))))
    }
}
