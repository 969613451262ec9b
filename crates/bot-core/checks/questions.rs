//! A question to a live cluster: its head, its clusters, and whether it is asked.

use std::collections::BTreeMap;

use capstan_facts::{Permission, PreflightRecord, PullRequest};
use capstan_live::agent::preflight::{AskWish, AskedBefore, MachinesSince, PreflightReply};
use capstan_live::agent::{PreflightId, PreflightState};
use capstan_model::ids::ClusterId;
use capstan_model::tree::CommitId;
use capstan_plan::command::Push;
use capstan_plan::proposal::Scope;
use capstan_plan::settings::{ManagementClusterUid, PreflightMode};
use capstan_report::{Answer, PreflightAnswered, preflight_answer};
use jiff::{SignedDuration, Timestamp};

use super::preflights::{Preflights, Trust, is_same_question, trust, trust_in};
use super::subject::CheckSubject;
use crate::facts::{Reporters, Scopes, target_in};
use crate::proposals::DecisionStep;

/// What a live cluster is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreflightHead<'a> {
    /// The head of a pull request.
    Pull(&'a PullRequest),
    /// The head of a merge group.
    MergeGroup(&'a CommitId),
}

impl<'a> PreflightHead<'a> {
    pub const fn head(&self) -> &'a CommitId {
        match self {
            Self::Pull(pull) => &pull.head,
            Self::MergeGroup(head) => head,
        }
    }
}

/// The question to a live cluster.
#[derive(Debug, Clone, Copy)]
pub struct LiveQuestion<'a> {
    /// Its id, where it is asked.
    pub id: &'a PreflightId,
    /// The repository's id.
    pub repository: u64,
    /// What it is about.
    pub tried: PreflightHead<'a>,
    /// The commit to try.
    pub commit: &'a CommitId,
    /// The management cluster.
    pub uid: &'a ManagementClusterUid,
    pub clusters: &'a [ClusterId],
    /// Digest of the clusters' inputs in that commit.
    pub content: &'a str,
    /// State of their rollouts.
    pub standing: &'a str,
    /// How long an answer is waited for.
    pub timeout: SignedDuration,
}

/// What decides about a question.
#[derive(Debug, Clone, Copy)]
pub struct QuestionFacts<'a> {
    pub question: LiveQuestion<'a>,
    /// The last one that the same management cluster was asked about the head.
    pub known: Option<&'a PreflightRecord>,
    /// Whether somebody wants the check of the head again.
    pub is_asked_again: bool,
    /// Capstan's login.
    pub own: &'a str,
    /// The time.
    pub now: Timestamp,
}

/// A fact about a question that is needed first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuestionNeed<'a> {
    /// Whether the check of the head was reported without a conclusion: the repeated question is under way then.
    UnderWay,
    /// The pushes to the branch of its pull request.
    Pushes(&'a str),
    /// What that person may do in the repository.
    Permission(String),
}

/// The answers so far. A fact that is absent was not asked for.
#[derive(Debug, Clone, Default)]
pub struct QuestionAnswers {
    /// Whether the check of the head was reported without a conclusion.
    pub under_way: Option<bool>,
    /// The pushes to the branch of the pull request; `None` inside where GitHub does not tell.
    pub pushes: Option<Option<Vec<Push>>>,
    /// What the person who pushed the head may do.
    pub permission: Option<Permission>,
}

/// What becomes of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnsweredQuestion {
    /// What the reconciler answered.
    pub standing: PreflightReply,
    /// Whether GitHub has answered everything that this depends on.
    pub is_settled: bool,
    /// What is remembered of it, where it is asked now, or refused now.
    pub record: Option<Box<PreflightRecord>>,
}

/// Which subject of a commit live clusters are asked about, if any. Reconcilers apply only the default branch.
pub fn tried<'a>(
    subjects: &'a [CheckSubject],
    open: &'a [PullRequest],
    default_branch: &str,
) -> Option<(&'a CheckSubject, PreflightHead<'a>)> {
    let subject = subjects.iter().find(|subject| subject.base_branch == default_branch)?;
    let tried = match subject.pull {
        None => PreflightHead::MergeGroup(&subject.head),
        Some(number) => PreflightHead::Pull(open.iter().find(|pull| pull.number == number)?),
    };
    Some((subject, tried))
}

/// Claimed clusters, each with its scope, by management cluster, with its name.
pub type ClaimedClusters = BTreeMap<ManagementClusterUid, (String, BTreeMap<ClusterId, Scope>)>;

/// The claimed clusters among those that a merge touches; `scopes` are those of the merge. A cluster whose folder is
/// removed is not among them: nothing is applied from a folder that does not exist.
pub fn claimed(scopes: Vec<Scope>, touched: &[ClusterId], reporters: &Reporters) -> ClaimedClusters {
    let mut claimed = ClaimedClusters::new();
    for scope in scopes {
        let Some(cluster) = scope.target.id().filter(|id| touched.contains(id)).cloned() else { continue };
        let Some(owner) = reporters.managed_by.owner_of(&scope.target) else { continue };
        let (_, clusters) =
            claimed.entry(owner.uid.clone()).or_insert_with(|| (owner.name.clone(), BTreeMap::new()));
        clusters.insert(cluster, scope);
    }
    claimed
}

/// Decides whether a live cluster is asked.
pub fn ask<'a>(
    of: QuestionFacts<'a>,
    known: &QuestionAnswers,
) -> DecisionStep<AnsweredQuestion, QuestionNeed<'a>> {
    asked(of, known).map_or_else(DecisionStep::Ask, DecisionStep::Decided)
}

fn asked<'a>(of: QuestionFacts<'a>, known: &QuestionAnswers) -> Result<AnsweredQuestion, QuestionNeed<'a>> {
    let LiveQuestion { clusters, content, standing, .. } = of.question;
    let stands = |standing, is_settled| AnsweredQuestion { standing, is_settled, record: None };
    let before = of.known.map(|known| AskedBefore {
        state: &known.state,
        asked_at: known.asked_at,
        until: known.until,
        machines: if known.standing == standing { MachinesSince::AsThen } else { MachinesSince::MovedOn },
    });
    // A job that is put off gets the same hint again: a question that was asked just now is not repeated.
    let may_be_wished = of.is_asked_again && before.is_some_and(|before| !before.is_fresh(of.now));
    let is_wished = may_be_wished && !known.under_way.ok_or(QuestionNeed::UnderWay)?;
    let wish = if is_wished { AskWish::Again } else { AskWish::AsItIs };
    let before = before.filter(|_| of.known.is_some_and(|known| is_same_question(known, clusters, content)));
    if let Some(standing) = before.and_then(|before| before.standing(wish, of.now)) {
        return Ok(stands(standing, true));
    }
    let (state, standing) = match trust_of(of, known)? {
        Trust::Yes => (PreflightState::Asked, PreflightReply::Asked),
        Trust::No(why) => (PreflightState::NotAsked(why.clone()), PreflightReply::NotAsked(why)),
        Trust::NotYet(why) => return Ok(stands(PreflightReply::NotAsked(why), false)),
    };
    let record = Some(Box::new(of.question.record(state, of.now)));
    Ok(AnsweredQuestion { record, ..stands(standing, true) })
}

fn trust_of<'a>(of: QuestionFacts<'a>, known: &QuestionAnswers) -> Result<Trust, QuestionNeed<'a>> {
    let pull = match of.question.tried {
        PreflightHead::Pull(pull) => pull,
        // Only people with write access can queue, and the queue merges next.
        PreflightHead::MergeGroup(_) => return Ok(Trust::Yes),
    };
    let pushes = match pull.head_in_repository {
        true => known.pushes.as_ref().ok_or(QuestionNeed::Pushes(&pull.head_branch))?.as_deref(),
        false => None,
    };
    match trust(pull, pushes, of.own) {
        DecisionStep::Decided(trust) => Ok(trust),
        DecisionStep::Ask(actor) => match known.permission {
            Some(permission) => Ok(trust_in(&actor, permission)),
            None => Err(QuestionNeed::Permission(actor)),
        },
    }
}

impl LiveQuestion<'_> {
    fn record(&self, state: PreflightState, now: Timestamp) -> PreflightRecord {
        PreflightRecord {
            id: self.id.clone(),
            repository: self.repository,
            head: self.tried.head().clone(),
            commit: self.commit.clone(),
            content: self.content.to_owned(),
            standing: self.standing.to_owned(),
            management_cluster: self.uid.clone(),
            clusters: self.clusters.to_vec(),
            asked_at: now,
            until: now + self.timeout,
            state,
        }
    }
}

/// The answer to `preflight`: who is asked for which clusters, and why the others have nobody to ask.
pub fn preflights_in_words(
    preflights: &Preflights,
    touched: Vec<ClusterId>,
    (reporters, scopes): (&Reporters, &Scopes),
    mode: PreflightMode,
) -> Answer {
    let mut unclaimed = Vec::new();
    let mut not_enrolled = BTreeMap::new();
    for cluster in touched {
        match reporters.managed_by.owner_of(&target_in(scopes, &cluster)) {
            None => unclaimed.push(cluster),
            Some(owner) if !reporters.is_enrolled(&owner.uid) => {
                not_enrolled.insert(owner.name.as_str(), owner.uid.as_str());
            }
            Some(_) => {}
        }
    }
    let preflights = &preflights.all;
    preflight_answer(&PreflightAnswered::Asked { preflights, mode, not_enrolled, unclaimed })
}
