//! `rollback`: the release before a merged upgrade is offered.

use std::collections::BTreeMap;

use capstan_facts::{EarlierPullRequest, PullRequest, PullRequestState};
use capstan_model::ids::ClusterId;
use capstan_model::source::SourceId;
use capstan_model::wording::sentence;
use capstan_plan::proposal::{Decisions, Draft, ProposalId, RollBack, RolledBack, carrier_of};
use capstan_plan::settings::RepositorySettings;
use capstan_plan::verbs::{Back, Command};
use capstan_report::markdown::prose;
use capstan_report::{Answer, Refusal, refused};

use super::answering::Answering;
use super::upgrade::{ReleaseAsked, asked_for};
use crate::facts::{Facts, Scopes, part_id};
use crate::requests::{Place, Request};

/// What each command comes to, by its place; else why nothing is offered, as the answer's sentence.
#[derive(Debug, Default)]
pub struct RollBacks(BTreeMap<Place, Result<(ProposalId, RollBack), String>>);

impl RollBacks {
    /// Notes what a command comes to.
    pub fn note(&mut self, request: &Request, at: usize, found: Result<(ProposalId, RollBack), String>) {
        self.0.insert((request.id(), at), found);
    }

    /// What a command comes to.
    pub fn of(&self, request: &Request, at: usize) -> Option<&Result<(ProposalId, RollBack), String>> {
        self.0.get(&(request.id(), at))
    }
}

/// The proposal that is rolled back, the folder that it is of, and the merged pull request that is meant, where it is the
/// request's own.
///
/// # Errors
/// It cannot be told which one: why, as a part of a sentence.
pub fn subject_of<'r>(
    facts: &Facts,
    scopes: &Scopes,
    request: &'r Request,
    (command, back): (&Command, &Back),
) -> Result<(ProposalId, ClusterId, Option<&'r PullRequest>), String> {
    let subjects = facts.proposals_of(scopes, request, command);
    let of_one = |proposal: &ProposalId| Some((proposal.clone(), proposal.target.id()?.clone()));
    let (proposal, cluster) = match subjects.as_slice() {
        [] | [_] => subjects
            .first()
            .and_then(of_one)
            .ok_or_else(|| "name the cluster: this pull request is not a proposal for one".to_owned())?,
        [first, ..] => {
            return Err(format!(
                "name the cluster, as in `rollback {}`: this pull request has {} clusters, and each is rolled back separately",
                first.target.path(),
                subjects.len()
            ));
        }
    };
    // Of a shared one that is merged the cluster has to be named; a newer one may be open on its branch by now.
    let is_meant = |pull: &&PullRequest| {
        let id = facts.proposal_asked(request).filter(|id| id.target.group().is_some());
        pull.state == PullRequestState::Merged
            && id.is_some_and(|id| facts.members_in(&id, pull).contains(&proposal))
    };
    let pull = request.pull.as_ref().filter(|pull| back.cluster.is_none() || is_meant(pull));
    Ok((proposal, cluster, pull))
}

/// The branches on which a proposal's changes may have been brought, each with the proposal that it is of.
pub fn branches_of(
    facts: &Facts,
    proposal: &ProposalId,
    settings: &RepositorySettings,
) -> BTreeMap<String, ProposalId> {
    let by = settings.upgrade.proposals.group.as_ref().map(|group| &group.by);
    let home = carrier_of(proposal, by, (&Decisions::default(), Draft::Ready));
    let groups = facts.branches.keys().filter(|id| id.target.group().is_some() && id.kind == proposal.kind);
    let ids = [proposal, &home].into_iter().chain(groups);
    ids.map(|id| (id.branch(), id.clone())).collect()
}

/// Of these pull requests of those branches the newest that brought a proposal's changes.
pub fn newest_of(
    facts: &Facts,
    proposal: &ProposalId,
    by_branch: &BTreeMap<String, ProposalId>,
    found: Vec<EarlierPullRequest>,
) -> Option<EarlierPullRequest> {
    let brought = |pull: &EarlierPullRequest| {
        let Some(id) = by_branch.get(&pull.head_branch) else { return false };
        let block = facts.block(id, pull.number, &pull.body);
        let parts = block.map(|block| block.parts).unwrap_or_default();
        id == proposal || parts.iter().any(|part| part_id(id, part) == *proposal)
    };
    found.into_iter().filter(brought).max_by_key(|pull| pull.number)
}

/// The release that it asks for, where it comes to one; else what is said. `proposals` are those that it is about.
pub(super) fn release(
    by: &str,
    found: &Result<(ProposalId, RollBack), String>,
    proposals: &[ProposalId],
) -> Result<ReleaseAsked, Answer> {
    match found {
        Ok((proposal, back)) => {
            let leaves = SourceId::from(&back.leaves).to_string();
            Ok(ReleaseAsked {
                proposals: vec![proposal.clone()],
                release: Some(back.to.clone()),
                rollback: Some(RolledBack { leaves, by: by.to_owned() }),
            })
        }
        Err(why) => {
            let target = proposals.first().map_or("rollback", |proposal| proposal.target.path());
            Err(refused(target, &format!("{}.", sentence(why)), Refusal::NotRolledBack))
        }
    }
}

pub(super) fn answer(asked: &Answering<'_>) -> Answer {
    let proposals = match asked_for(asked) {
        Ok(proposals) => proposals,
        Err(refused) => return refused.nowhere_else(),
    };
    let answer =
        proposals.iter().fold(asked.texts(&proposals), |answer, one| answer.with(&notes(asked, one)));
    // What stayed stands in no description.
    answer.nowhere_else()
}

/// What a person should know of a plan besides.
fn notes(asked: &Answering<'_>, proposal: &ProposalId) -> String {
    let notes = asked.planned.plan_of(proposal).map(|upgrade| upgrade.notes.iter().take(10));
    notes.into_iter().flatten().map(|note| format!("\n{}\n", prose(note, 900))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Case, V21, V22, comment, decided_of, id, open, said_at_once, town};
    use capstan_model::ids::ReleaseName;

    #[test]
    fn a_rollback_asks_for_the_release_before_or_says_why_there_is_none() {
        let request = comment(1, "ada", None, "/capstan rollback gauss/peu01");
        let back = RollBack {
            to: ReleaseName::parse(V21).unwrap(),
            leaves: capstan_model::ids::ReleaseId::from_path(V22),
        };
        let found = Ok((id("gauss/peu01"), back));
        let case = Case { rollbacks: vec![(request.clone(), 0, found)], ..town() };
        case.heard(std::slice::from_ref(&request), |planned| {
            let expected = "wished Offer, asked for aws/v21.0.0, left aws/v22.0.0 by ada, new";
            assert_eq!(decided_of(planned.decided, "gauss/peu01"), expected);
            assert_eq!(said_at_once(planned.decided, &request), "");
        });
        let why = Err("it is not merged".to_owned());
        let case = Case { rollbacks: vec![(request.clone(), 0, why)], ..town() };
        case.heard(std::slice::from_ref(&request), |planned| {
            assert_eq!(decided_of(planned.decided, "gauss/peu01"), "");
            assert_eq!(said_at_once(planned.decided, &request), "!`gauss/peu01`: It is not merged.");
        });
    }

    #[test]
    fn what_is_rolled_back_is_one_cluster() {
        let members = ["gauss/peu01", "gauss/peu02"];
        let case = Case::new()
            .offered("gauss/peu01")
            .offered("gauss/peu02")
            .shared(3, "group://gauss", 'a', &members)
            .proposed(4, "kiel/peu01", 'b')
            .persons(9, 'f');
        let facts = case.facts();
        for (number, text, expected) in [
            (4, "/capstan rollback", Ok(("kiel/peu01", Some(4)))),
            (9, "/capstan rollback", Err("name the cluster: this pull request is not a proposal for one")),
            (
                3,
                "/capstan rollback",
                Err(
                    "name the cluster, as in `rollback gauss/peu01`: this pull request has 2 clusters, and each is rolled back separately",
                ),
            ),
            (3, "/capstan rollback gauss/peu02", Ok(("gauss/peu02", None))),
            (9, "/capstan rollback kiel/peu01", Ok(("kiel/peu01", None))),
        ] {
            let on = open(&case, number);
            let request = comment(1, "ada", Some(&on), text);
            let command = request.commands[0].as_ref().unwrap();
            let Command::Rollback(back) = command else { panic!("{command:?}") };
            let found = subject_of(&facts, &case.scopes, &request, (command, back));
            let found = found.map(|(proposal, cluster, pull)| {
                assert_eq!(proposal.target.id(), Some(&cluster));
                (proposal.to_string(), pull.map(|pull| pull.number))
            });
            let expected = expected
                .map(|(target, pull): (&str, Option<u64>)| (target.to_owned(), pull))
                .map_err(str::to_owned);
            assert_eq!(found, expected, "#{number} {text}");
        }
    }
}
