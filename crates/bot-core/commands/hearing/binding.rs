//! What the author of a request had seen: of the head that the commands mean, and of branches that they overwrite.

use std::collections::BTreeMap;

use capstan_facts::PullRequest;
use capstan_model::tree::CommitId;
use capstan_plan::command::{Push, Unseen, unseen};
use capstan_plan::proposal::{ProposalId, ResultDigest};
use capstan_plan::verbs::Verb;
use jiff::Timestamp;

use crate::facts::{Facts, Scopes};
use crate::proposals::DecisionStep;
use crate::requests::{Overlooked, Request, RequestOrigin, branches_to_see, open_subject, rewritten_by};

/// What requests are bound by.
#[derive(Clone, Copy)]
pub struct BindFacts<'a> {
    /// What a run starts from.
    pub facts: &'a Facts,
    /// The targets of the base branch.
    pub scopes: &'a Scopes,
    /// Capstan's login.
    pub own: &'a str,
    /// The time.
    pub now: Timestamp,
}

/// A fact about a request that is needed first.
#[derive(Debug, PartialEq, Eq)]
pub enum BindNeed<'a> {
    /// The pushes to a branch.
    Pushes(String),
    /// What a merge of its pull request changes.
    Result(&'a PullRequest),
    /// The proposals that its pull request concerns.
    Concerned,
}

/// What a merge of a pull request changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergeResult {
    /// GitHub computes it.
    NotYet,
    /// This; `None` in a conflict.
    Is(Option<ResultDigest>),
}

/// The answers so far. A fact that is absent was not asked for.
#[derive(Debug, Clone, Default)]
pub struct BindAnswers {
    /// The pushes to branches, newest first; `None` where GitHub does not tell.
    pub pushes: BTreeMap<String, Option<Vec<Push>>>,
    /// What a merge of its pull request changes.
    pub result: Option<MergeResult>,
    /// The proposals that its pull request concerns; none where that cannot be read.
    pub concerned: Option<Vec<ProposalId>>,
}

/// The request with what its author had not seen; `None` where GitHub does not report that yet.
pub fn bind<'r>(
    of: BindFacts<'_>,
    request: &'r Request,
    known: &BindAnswers,
) -> DecisionStep<Option<Box<Request>>, BindNeed<'r>> {
    bound(of, request, known)
        .map_or_else(DecisionStep::Ask, |bound| DecisionStep::Decided(bound.map(Box::new)))
}

fn bound<'r>(
    of: BindFacts<'_>,
    request: &'r Request,
    known: &BindAnswers,
) -> Result<Option<Request>, BindNeed<'r>> {
    let mut bound = request.clone();
    if let Some((proposal, pull)) = open_subject(of.facts, request) {
        // A button belongs to one commit's check. The author of a comment did not see Capstan's newer commits either.
        if request.means_the_head() && matches!(request.origin, RequestOrigin::Comment(_)) {
            bound.moved = match unseen_on(of, request, (&proposal.branch(), &pull.head, ""), known)? {
                Overlooked::NotYetNoted => return Ok(None),
                Overlooked::Nothing => None,
                Overlooked::Commits(moved) => Some(moved),
            };
        }
        if bound.carries_out(Verb::Approve) {
            bound.result = match known.result.clone().ok_or(BindNeed::Result(pull))? {
                MergeResult::NotYet => return Ok(None),
                MergeResult::Is(result) => result,
            };
        }
    }
    if !bound.may_overwrite() {
        return Ok(Some(bound));
    }
    bound.rewritten = match rewritten_by(of.facts, of.scopes, &bound) {
        Some(rewritten) => rewritten,
        None => known.concerned.clone().ok_or(BindNeed::Concerned)?,
    };
    for (branch, head) in branches_to_see(of.facts, &bound) {
        match unseen_on(of, request, (&branch, &head, of.own), known)? {
            Overlooked::NotYetNoted => return Ok(None),
            Overlooked::Nothing => {}
            Overlooked::Commits(unseen) => {
                bound.unseen = Some(unseen);
                break;
            }
        }
    }
    Ok(Some(bound))
}

/// Pushes to a branch that the author of a request had not seen. Those by `own` count as seen.
fn unseen_on<'r>(
    of: BindFacts<'_>,
    request: &Request,
    (branch, head, own): (&str, &CommitId, &str),
    known: &BindAnswers,
) -> Result<Overlooked, BindNeed<'r>> {
    let pushes = known.pushes.get(branch).ok_or_else(|| BindNeed::Pushes(branch.to_owned()))?;
    let found = pushes
        .as_ref()
        .map_or(Unseen::NotLogged, |pushes| unseen(pushes, head, request.given_at, own, of.now));
    Ok(Overlooked::of(found, branch))
}
