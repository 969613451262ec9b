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

use std::collections::BTreeMap;

use capstan_bot_core::commands::ClusterPullAsked;
use capstan_bot_core::effects::{BranchThere, awaits_pull};
use capstan_bot_core::facts::Write;
use capstan_bot_core::planned::Planned;
use capstan_bot_core::requests::{AskedClusters, ClusterChange, Request, RequestId, Wanted};
use capstan_plan::command::CommentId;
use capstan_plan::proposal::{Authorship, PlanDigest, ReleasesOrigin, judge_head};
use capstan_plan::settings::{Mode, RepositorySettings};
use capstan_report::{
    Answer, AskedFor, ClusterPull, IsNew, Refusal, cluster_pull_answer, is_asked_for_by, not_done,
    text_digest,
};

use super::{OpenFleet, PlannerFailed, Run, SyncError};
use crate::performing::Published;
use capstan_ports::{EarlierPullRequest, PullRequestState};

/// Requests handled in one run: each renders the cluster and those that may have its name.
const MOST: usize = 10;

/// The inner error is the answer.
fn made(wanted: &Wanted, fleet: &dyn OpenFleet) -> Result<Result<ClusterChange, String>, PlannerFailed> {
    let made = match wanted {
        Wanted::Create(from) => fleet.create(from).map(|made| made.map(ClusterChange::Create)),
        Wanted::Destroy(cluster) => fleet.retire(cluster).map(|made| made.map(ClusterChange::Destroy)),
    };
    match made {
        Ok(made) => Ok(made.map_err(|why| why.to_string())),
        Err(PlannerFailed::Exceeded(why)) => Ok(Err(why)),
        Err(failed) => Err(failed),
    }
}

impl Run<'_> {
    /// Makes what is requested, while the fleet is open.
    pub(super) async fn make_clusters(
        self,
        fleet: Box<dyn OpenFleet>,
        requests: &[Request],
        settings: &RepositorySettings,
    ) -> Result<(Box<dyn OpenFleet>, AskedClusters), SyncError> {
        let mut wanted = Vec::new();
        for request in requests {
            for (at, command) in request.carried_out() {
                wanted.extend(Wanted::of(command).map(|wanted| ((request.id(), at), wanted)));
            }
        }
        if wanted.is_empty() {
            return Ok((fleet, AskedClusters::default()));
        }
        let refused = |why: &str| Err(why.to_owned());
        if settings.mode == Mode::Observe {
            let why = "the settings say `mode: observe`, so Capstan opens no pull request";
            let asked = wanted.into_iter().map(|(place, _)| (place, refused(why))).collect();
            return Ok((fleet, AskedClusters::new(asked)));
        }
        let make = move || {
            let mut asked = BTreeMap::new();
            for (at, (place, wanted)) in wanted.into_iter().enumerate() {
                let made = if at < MOST {
                    made(&wanted, fleet.as_ref())
                } else {
                    Ok(Err("there were too many requests at once: repeat the command".to_owned()))
                };
                match made {
                    Ok(made) => drop(asked.insert(place, made)),
                    Err(failed) => return (fleet, Err(failed)),
                }
            }
            (fleet, Ok(AskedClusters::new(asked)))
        };
        let (fleet, asked) = tokio::task::spawn_blocking(make).await?;
        Ok((fleet, asked?))
    }

    /// The answer to a command about a cluster, once its pull request exists.
    pub(super) async fn cluster_text(
        self,
        (request, at): (&Request, usize),
        asked: ClusterPullAsked<'_>,
        planned: Planned<'_>,
    ) -> Result<Answer, SyncError> {
        let change = match planned.clusters.of(request, at) {
            Some(Ok(change)) => change,
            Some(Err(why)) => return Ok(not_done(asked.cluster, why, asked.page)),
            None => return Ok(Answer::default()),
        };
        // The dashboard has no box for these commands.
        let RequestId::Comment(comment) = request.id() else { return Ok(Answer::default()) };
        let key = match comment {
            CommentId::Comment(id) => format!("comment-{id}"),
            CommentId::Issue(number) => format!("issue-{number}"),
        };
        let by = request.by.as_str();
        let asked = AskedFor { by, number: request.number, key: &key, reason: asked.reason };
        self.open_cluster_pull(change, planned.origin, asked).await
    }

    async fn open_cluster_pull(
        self,
        change: &ClusterChange,
        origin: Option<&ReleasesOrigin>,
        asked: AskedFor<'_>,
    ) -> Result<Answer, SyncError> {
        let (cluster, branch) = (change.cluster(), change.branch());
        let newest = self.newest_on(&branch).await?;
        if let Some(pull) = &newest {
            if is_asked_for_by(&pull.body, asked.key) {
                return Ok(cluster_pull_answer(cluster, pull.number, IsNew::Yes));
            }
            if pull.state == PullRequestState::Open {
                return Ok(cluster_pull_answer(cluster, pull.number, IsNew::No));
            }
        }
        let origin = origin.filter(|_| matches!(change, ClusterChange::Create(_)));
        let pull = change.pull(origin, asked);
        let write = Write::cluster(&branch, text_digest(&format!("{}\0{}", pull.commit, pull.title)));
        if let Some(known) = self.performer.refusal(&write) {
            let why = format!(
                "GitHub refused it, and Capstan does not retry before {}: {}",
                known.not_before, known.reason
            );
            return Ok(not_done(cluster, &why, Refusal::State));
        }
        let published = self.bring_cluster_pull_up(change, (pull, asked), newest.as_ref()).await;
        let (why, page) = match self.performer.settle(&write, published).await? {
            Some(Published::Opened(number)) => {
                return Ok(cluster_pull_answer(cluster, number, IsNew::Yes));
            }
            Some(Published::Refused(why)) => {
                let why = why.trim_end_matches('.');
                (
                    format!("GitHub refused it: {why}. Repeat the command once the cause is gone"),
                    Refusal::State,
                )
            }
            None => (
                format!(
                    "the branch `{branch}` has commits by people: if nobody needs them, delete the branch and repeat the command"
                ),
                change.page(),
            ),
            Some(_) => (
                "its branch or pull request changed at the same time: check it and repeat the command"
                    .to_owned(),
                change.page(),
            ),
        };
        Ok(not_done(cluster, &why, page))
    }

    /// `None` where the branch has people's commits.
    async fn bring_cluster_pull_up(
        &self,
        change: &ClusterChange,
        pull: (ClusterPull, AskedFor<'_>),
        newest: Option<&EarlierPullRequest>,
    ) -> Result<Option<Published>, SyncError> {
        let branch = change.branch();
        let there = match self.ports.host.branch(self.repository, &branch).await? {
            None => None,
            Some(head) => {
                let read = self.read_head(&branch, &head, newest.map(|pull| &pull.base)).await?;
                let written = match judge_head(&read, None) {
                    Authorship::Capstan { plan, .. } => Some(plan),
                    _ => None,
                };
                let wanted = PlanDigest::of(change.files());
                let holds = awaits_pull(newest, &head) && written.as_ref() == Some(&wanted);
                Some(BranchThere { head, is_own: written.is_some(), holds })
            }
        };
        let Some(desired) = change.desired(self.facts, there.as_ref(), pull)? else { return Ok(None) };
        self.performer.bring_up(&desired).await.map(Some)
    }
}
