//! `rollback`: the release before a merged upgrade is offered.

use std::collections::BTreeMap;

use capstan_facts::{EarlierPullRequest, PullRequest, PullRequestState, Snapshot};
use capstan_model::ids::ClusterId;
use capstan_model::source::SourceId;
use capstan_model::tree::{CommitId, Tree};
use capstan_model::wording::sentence;
use capstan_plan::proposal::{
    Decisions, Draft, MergedProposal, ProposalId, RollBack, RolledBack, SourceState, carrier_of, roll_back,
};
use capstan_plan::settings::RepositorySettings;
use capstan_plan::verbs::{Back, Command};
use capstan_report::markdown::prose;
use capstan_report::{Answer, Refusal, refused};

use super::answering::Answering;
use super::upgrade::{ReleaseAsked, asked_for};
use crate::facts::{Facts, Scopes, part_id, settings_in};
use crate::proposals::DecisionStep;
use crate::requests::{CommandIndex, Ground, Request};

/// What each command comes to, by its place; else why nothing is offered, as the answer's sentence.
#[derive(Debug, Default)]
pub struct RollBacks(BTreeMap<CommandIndex, Result<(ProposalId, RollBack), String>>);

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

/// A command that rolls back.
#[derive(Clone, Copy)]
pub struct RollBackAsked<'a> {
    /// What it is judged by.
    pub ground: Ground<'a>,
    pub request: &'a Request,
    pub command: &'a Command,
    /// What it names.
    pub back: &'a Back,
}

/// What was found out about a rollback so far.
#[derive(Clone, Default)]
pub struct RollBackFound {
    /// The newest pull requests of the branches that were asked for.
    pub newest: Option<Vec<EarlierPullRequest>>,
    /// What Capstan's last commit in the upgrade offers, with the commit below it.
    pub last_own: Option<Option<(SourceState, CommitId)>>,
    /// The commit below; `None` where it cannot be read.
    pub before: Option<Option<Snapshot>>,
}

/// What has to be known about a rollback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RollBackNeed {
    /// The newest pull requests of these branches.
    Newest(Vec<String>),
    /// What Capstan's last commit on that branch offers, at or below that head.
    LastOwn {
        branch: String,
        head: CommitId,
    },
    Commit(CommitId),
}

impl RollBackAsked<'_> {
    /// What it comes to, or what has to be known first. The commits of the merged upgrade say it, not Capstan's records.
    pub fn find(
        &self,
        found: &RollBackFound,
    ) -> DecisionStep<Result<(ProposalId, RollBack), String>, RollBackNeed> {
        self.found(found).map_or_else(DecisionStep::Ask, DecisionStep::Decided)
    }

    fn found(&self, found: &RollBackFound) -> Result<Result<(ProposalId, RollBack), String>, RollBackNeed> {
        let Ground { facts, scopes, settings } = self.ground;
        let (proposal, cluster, meant) =
            match subject_of(facts, scopes, self.request, (self.command, self.back)) {
                Ok(subject) => subject,
                Err(why) => return Ok(Err(why)),
            };
        let (number, state, branch, head) = match meant {
            Some(pull) => (pull.number, pull.state, &pull.head_branch, &pull.head),
            None => {
                let by_branch = branches_of(facts, &proposal, settings);
                let newest = found.newest.as_ref();
                let newest =
                    newest.ok_or_else(|| RollBackNeed::Newest(by_branch.keys().cloned().collect()))?;
                let Some(pull) = newest_of(facts, &proposal, &by_branch, newest) else {
                    return Ok(Err(format!("no upgrade of {cluster} was ever proposed here")));
                };
                (pull.number, pull.state, &pull.head_branch, &pull.head)
            }
        };
        if state != PullRequestState::Merged {
            return Ok(Err(format!(
                "#{number} is not merged: comment `rollback` on the merged upgrade that you want to roll back"
            )));
        }
        let last_own = || RollBackNeed::LastOwn { branch: branch.clone(), head: head.clone() };
        let last_own = found.last_own.as_ref().ok_or_else(last_own)?;
        let brought = last_own.as_ref().and_then(|(source, _)| SourceId::release(source.source()));
        let before = match last_own {
            Some((_, below)) => {
                found.before.as_ref().ok_or_else(|| RollBackNeed::Commit(below.clone()))?.as_ref()
            }
            None => None,
        };
        let recorded = |tree: &dyn Tree| settings_in(tree, &cluster)?.release;
        let before = before.and_then(|before| recorded(before.tree.as_ref()));
        let now = recorded(facts.base.tree.as_ref());
        let merged = MergedProposal { before: before.as_ref(), brought: brought.as_ref(), now: now.as_ref() };
        Ok(roll_back(merged).map(|back| (proposal, back)).map_err(|why| format!("#{number}: {why}")))
    }
}

/// The proposal to roll back, the folder of its target, and the request's own pull request, where the rollback is about
/// that one.
///
/// # Errors
/// The request does not identify one cluster: why, as a part of a sentence.
fn subject_of<'r>(
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
fn branches_of(
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
fn newest_of<'f>(
    facts: &Facts,
    proposal: &ProposalId,
    by_branch: &BTreeMap<String, ProposalId>,
    found: &'f [EarlierPullRequest],
) -> Option<&'f EarlierPullRequest> {
    let brought = |pull: &&EarlierPullRequest| {
        let Some(id) = by_branch.get(&pull.head_branch) else { return false };
        let block = facts.block(id, pull.number, &pull.body);
        let parts = block.map(|block| block.parts).unwrap_or_default();
        id == proposal || parts.iter().any(|part| part_id(id, part) == *proposal)
    };
    found.iter().filter(brought).max_by_key(|pull| pull.number)
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
    // No description says what the rollback left as it was.
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
    use crate::testing::{
        Case, V21, V22, comment, commit, decided_of, id, open, said_at_once, snapshot, source, town,
    };
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
    /// The settings of a cluster that is at a release.
    fn at(release: &str) -> String {
        format!("release: {release}\n")
    }

    fn earlier(number: u64, target: &str, state: PullRequestState) -> EarlierPullRequest {
        EarlierPullRequest {
            number,
            state,
            body: String::new(),
            head_branch: id(target).branch(),
            head: commit('a'),
            base: commit('0'),
        }
    }

    /// Asks until it is known what a command comes to; `told` answers. What was asked, and what it comes to.
    fn found(case: &Case, on: Option<&PullRequest>, text: &str, told: &RollBackFound) -> (String, String) {
        let request = comment(1, "ada", on, text);
        let command = request.commands[0].as_ref().unwrap();
        let Command::Rollback(back) = command else { panic!("{command:?}") };
        let (facts, mut found, mut asked) = (case.facts(), RollBackFound::default(), Vec::new());
        let ground = Ground { facts: &facts, scopes: &case.scopes, settings: &case.settings };
        loop {
            let of = RollBackAsked { ground, request: &request, command, back };
            let need = match of.find(&found) {
                DecisionStep::Ask(need) => need,
                DecisionStep::Decided(Ok((proposal, back))) => {
                    return (asked.join(", "), format!("{proposal} from {} to {}", back.leaves, back.to));
                }
                DecisionStep::Decided(Err(why)) => return (asked.join(", "), why),
            };
            asked.push(match &need {
                RollBackNeed::Newest(branches) => format!("newest of {}", branches.join(" ")),
                RollBackNeed::LastOwn { branch, head } => {
                    format!("Capstan's last on {branch} at {}", head.as_str().get(..1).unwrap())
                }
                RollBackNeed::Commit(commit) => commit.as_str().get(..1).unwrap().to_owned(),
            });
            match need {
                RollBackNeed::Newest(_) => found.newest.clone_from(&told.newest),
                RollBackNeed::LastOwn { .. } => found.last_own.clone_from(&told.last_own),
                RollBackNeed::Commit(_) => found.before.clone_from(&told.before),
            }
        }
    }

    const FILE: &str = "gauss/peu01/capstan.yaml";

    /// A cluster that is at v22 now, and the answers where #3 brought it there from v21.
    fn merged_upgrade() -> (Case, RollBackFound) {
        let now: &'static str = Box::leak(at(V22).into_boxed_str());
        let case = Case { files: vec![(FILE, now)], ..Case::new().current("gauss/peu01") };
        let told = RollBackFound {
            newest: Some(vec![earlier(3, "gauss/peu01", PullRequestState::Merged)]),
            last_own: Some(Some((source(V22), commit('b')))),
            before: Some(Some(snapshot(commit('b'), &[(FILE, at(V21).as_str())]))),
        };
        (case, told)
    }

    const ASKED: &str =
        "newest of capstan/upgrade/gauss/peu01, Capstan's last on capstan/upgrade/gauss/peu01 at a, b";

    #[test]
    fn the_newest_merged_upgrade_is_rolled_back_to_what_its_base_recorded() {
        let (case, told) = merged_upgrade();
        let expected = "gauss/peu01 from aws/v22.0.0 to aws/v21.0.0";
        assert_eq!(
            found(&case, None, "/capstan rollback gauss/peu01", &told),
            (ASKED.to_owned(), expected.to_owned())
        );
        // The request's own pull request needs no search.
        let on = PullRequest {
            state: PullRequestState::Merged,
            ..crate::testing::pull(3, "capstan/upgrade/gauss/peu01", 'c')
        };
        let asked = "Capstan's last on capstan/upgrade/gauss/peu01 at c, b";
        assert_eq!(
            found(&case, Some(&on), "/capstan rollback", &told),
            (asked.to_owned(), expected.to_owned())
        );
    }

    #[test]
    fn what_was_never_proposed_or_is_not_merged_is_not_rolled_back() {
        let (case, told) = merged_upgrade();
        for (newest, expected) in [
            (vec![], "no upgrade of gauss/peu01 was ever proposed here"),
            (
                vec![earlier(3, "kiel/peu01", PullRequestState::Merged)],
                "no upgrade of gauss/peu01 was ever proposed here",
            ),
            (
                vec![
                    earlier(3, "gauss/peu01", PullRequestState::Merged),
                    earlier(5, "gauss/peu01", PullRequestState::Open),
                ],
                "#5 is not merged: comment `rollback` on the merged upgrade that you want to roll back",
            ),
        ] {
            let told = RollBackFound { newest: Some(newest), ..told.clone() };
            let asked = "newest of capstan/upgrade/gauss/peu01";
            let found = found(&case, None, "/capstan rollback gauss/peu01", &told);
            assert_eq!((found.0.as_str(), found.1.as_str()), (asked, expected));
        }
    }

    #[test]
    fn an_upgrade_whose_history_does_not_say_it_is_not_rolled_back() {
        let (case, told) = merged_upgrade();
        let unknown = "#3: no commit of Capstan records what it brought, so the earlier state is unknown";
        let nothing_before = "#3: the cluster recorded no earlier release, so the earlier state is unknown: revert the merge in Git, or offer a release with `upgrade`";
        let elsewhere = "#3: it brought `aws/v21.0.0`, but the cluster is now at `aws/v22.0.0`: only the last upgrade can be rolled back";
        for (told, expected) in [
            (RollBackFound { last_own: Some(None), ..told.clone() }, unknown),
            (RollBackFound { before: Some(None), ..told.clone() }, nothing_before),
            (
                RollBackFound { before: Some(Some(snapshot(commit('b'), &[]))), ..told.clone() },
                nothing_before,
            ),
            (RollBackFound { last_own: Some(Some((source(V21), commit('b')))), ..told.clone() }, elsewhere),
        ] {
            assert_eq!(found(&case, None, "/capstan rollback gauss/peu01", &told).1, expected);
        }
    }
}
