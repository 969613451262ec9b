//! `create` and `destroy`: which of them are made while the fleet is open, and the pull request of each.

use std::collections::BTreeMap;

use capstan_campaign::wording::minute;
use capstan_facts::{EarlierPullRequest, PullRequestState};
use capstan_model::tree::CommitId;
use capstan_plan::command::CommentId;
use capstan_plan::proposal::{Authorship, OutsideTarget, PlanDigest, ReleasesOrigin};
use capstan_plan::settings::Mode;
use capstan_report::{
    Answer, AskedFor, ClusterPull, IsNew, Refusal, cluster_pull_answer, is_asked_for_by, not_done,
    text_digest,
};
use jiff::Timestamp;

use super::answering::ClusterPullAsked;
use crate::effects::{BranchThere, Desired, Published, awaits_pull};
use crate::facts::{Facts, Write};
use crate::planned::PlannedRun;
use crate::proposals::DecisionStep;
use crate::requests::{ClusterChange, ClusterRequest, Request, RequestId};

/// Requests handled in one run: each renders the cluster and those that may have its name.
const MOST: usize = 10;

/// What commands about whole clusters ask for, by their comment and place in it.
#[derive(Debug, Default)]
pub struct WantedClusters {
    /// What is made.
    pub made: Vec<((RequestId, usize), ClusterRequest)>,
    /// Why nothing is made of the others.
    pub refused: BTreeMap<(RequestId, usize), Result<ClusterChange, String>>,
}

/// Says what of requests about whole clusters is made now.
pub fn wanted_clusters(requests: &[Request], mode: Mode) -> WantedClusters {
    let mut found = WantedClusters::default();
    for request in requests {
        for (at, command) in request.carried_out() {
            let Some(wanted) = ClusterRequest::of(command) else { continue };
            let why = match mode {
                Mode::Observe => "the settings say `mode: observe`, so Capstan opens no pull request",
                Mode::Propose if found.made.len() < MOST => {
                    found.made.push(((request.id(), at), wanted));
                    continue;
                }
                Mode::Propose => "there were too many requests at once: repeat the command",
            };
            found.refused.insert((request.id(), at), Err(why.to_owned()));
        }
    }
    found
}

/// The change that a command asked for, and the key of its comment.
///
/// # Errors
/// The answer where there is none.
pub fn change_asked<'a>(
    planned: PlannedRun<'a>,
    (request, at): (&Request, usize),
    asked: ClusterPullAsked<'_>,
) -> Result<(&'a ClusterChange, String), Answer> {
    let change = match planned.clusters.of(request, at) {
        Some(Ok(change)) => change,
        Some(Err(why)) => return Err(not_done(asked.cluster, why, asked.page)),
        None => return Err(Answer::default()),
    };
    match request.id() {
        RequestId::Comment(CommentId::Comment(id)) => Ok((change, format!("comment-{id}"))),
        RequestId::Comment(CommentId::Issue(number)) => Ok((change, format!("issue-{number}"))),
        // The dashboard has no box for these commands.
        RequestId::Tick(_) | RequestId::Button(_) | RequestId::Page(_) => Err(Answer::default()),
    }
}

/// A pull request that creates or destroys a cluster, with what decides about it.
#[derive(Clone, Copy)]
pub struct ClusterPullFacts<'a> {
    /// What a run starts from.
    pub facts: &'a Facts,
    /// What it does.
    pub change: &'a ClusterChange,
    /// Where releases come from.
    pub origin: Option<&'a ReleasesOrigin>,
    /// Who asked for it.
    pub asked: AskedFor<'a>,
    /// The time.
    pub now: Timestamp,
}

/// A fact about it that is needed first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClusterPullNeed {
    /// The newest pull request of its branch.
    Newest,
    /// The head of its branch, and whose work that is. If GitHub refuses to show it, this write is refused.
    Branch(Write),
}

/// The answers so far. A fact that is absent was not asked for.
#[derive(Debug, Clone, Default)]
pub struct ClusterPullAnswers {
    /// The newest pull request of its branch; `None` inside where there is none.
    pub newest: Option<Option<EarlierPullRequest>>,
    /// The head of its branch, and whose work that is; `None` inside where there is no branch.
    pub branch: Option<Option<(CommitId, Authorship)>>,
}

/// What becomes of it.
pub enum ClusterPullStep<'a> {
    /// Nothing is written; this is the answer.
    Says(Answer),
    /// It is brought up; `None` where its branch has people's commits.
    Writes(Write, Option<Box<Desired<'a>>>),
}

/// Decides about the pull request of a command about a cluster.
///
/// # Errors
/// A file that it must not touch.
pub fn cluster_pull<'a>(
    of: ClusterPullFacts<'a>,
    known: &ClusterPullAnswers,
) -> Result<DecisionStep<ClusterPullStep<'a>, ClusterPullNeed>, OutsideTarget> {
    let ClusterPullFacts { facts, change, asked, .. } = of;
    let says = |answer| Ok(DecisionStep::Decided(ClusterPullStep::Says(answer)));
    let Some(newest) = &known.newest else { return Ok(DecisionStep::Ask(ClusterPullNeed::Newest)) };
    if let Some(pull) = newest {
        if is_asked_for_by(&pull.body, asked.key) {
            return says(cluster_pull_answer(change.cluster(), pull.number, IsNew::Yes));
        }
        if pull.state == PullRequestState::Open {
            return says(cluster_pull_answer(change.cluster(), pull.number, IsNew::No));
        }
    }
    let origin = of.origin.filter(|_| matches!(change, ClusterChange::Create(_)));
    let pull = change.pull(origin, asked);
    let write = write_of(change, &pull);
    if let Some(known) = facts.refusals.against(&write, of.now) {
        let why = format!(
            "GitHub refused it, and Capstan does not retry before {}: {}",
            minute(known.not_before),
            known.reason
        );
        return says(not_done(change.cluster(), &why, Refusal::State));
    }
    let Some(branch) = &known.branch else { return Ok(DecisionStep::Ask(ClusterPullNeed::Branch(write))) };
    let there = branch.as_ref().map(|(head, authorship)| {
        let written = match authorship {
            Authorship::Capstan { plan, .. } => Some(plan),
            Authorship::Person => None,
        };
        let holds = awaits_pull(newest.as_ref(), head) && written == Some(&PlanDigest::of(change.files()));
        BranchThere { head: head.clone(), is_own: written.is_some(), holds }
    });
    let desired = change.desired(facts, there.as_ref(), (pull, asked))?;
    Ok(DecisionStep::Decided(ClusterPullStep::Writes(write, desired.map(Box::new))))
}

fn write_of(change: &ClusterChange, pull: &ClusterPull) -> Write {
    Write::cluster(&change.branch(), text_digest(&format!("{}\0{}", pull.commit, pull.title)))
}

/// The answer once it was brought up; `None` where its branch has people's commits.
pub fn cluster_pull_said(change: &ClusterChange, published: Option<&Published>) -> Answer {
    let (why, page) = match published {
        Some(Published::Opened(number)) => {
            return cluster_pull_answer(change.cluster(), *number, IsNew::Yes);
        }
        Some(Published::Refused(why)) => {
            let why = why.trim_end_matches('.');
            (format!("GitHub refused it: {why}. Repeat the command once the cause is gone"), Refusal::State)
        }
        None => {
            let why = format!(
                "the branch `{}` has commits by people: if nobody needs them, delete the branch and repeat the command",
                change.branch()
            );
            (why, change.page())
        }
        Some(Published::Updated(_) | Published::Unchanged(_) | Published::Overtaken) => (
            "its branch or pull request changed at the same time: check it and repeat the command".to_owned(),
            change.page(),
        ),
    };
    not_done(change.cluster(), &why, page)
}
