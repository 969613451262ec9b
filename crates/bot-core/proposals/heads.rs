//! Whose work a commit on a branch of Capstan's is: Capstan's alone, or people's too.
//!
//! A record of Capstan's proves a head without Git. Without one, the commit is read with its parents; and GitHub is asked
//! who pushed where the seal proves nothing, or where it was people.

use std::collections::BTreeMap;

use capstan_facts::{ProposalRecord, Snapshot};
use capstan_model::tree::CommitId;
use capstan_plan::command::Push;
use capstan_plan::proposal::{
    Authorship, Branch, BranchTip, OfBase, Parent, PlanDigest, ProposalId, SourceState, Vouched, judge_head,
};
use capstan_report::SealedCommit;

use super::deciding::DecisionStep;
use super::outcome::BranchOwner;
use crate::facts::{Facts, digest_of_changes};

/// So many commits of a branch are looked through for Capstan's last one.
const MOST_COMMITS: usize = 20;

/// A commit on a branch of Capstan's.
#[derive(Clone)]
pub struct HeadFacts<'a> {
    facts: &'a Facts,
    /// The branch, without `refs/heads/`.
    branch: String,
    commit: &'a CommitId,
    /// The base, as its pull request last saw it.
    base: Option<&'a CommitId>,
    /// What Capstan remembers to have written there.
    record: Option<&'a ProposalRecord>,
}

/// What was found out about a branch so far.
#[derive(Clone, Default)]
pub struct HeadFound {
    /// Commits that were asked for; `None` for those that cannot be read.
    pub commits: BTreeMap<CommitId, Option<Snapshot>>,
    /// Who pushed to the branch.
    pub pushes: Option<BranchPushes>,
}

/// Who pushed to a branch; nobody where GitHub refuses to say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BranchPushes {
    /// The pushes, newest first.
    pub all: Vec<Push>,
    /// Capstan's own login.
    pub own: String,
}

/// What has to be known about a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeadNeed {
    Commit(CommitId),
    /// Who pushed to the branch.
    Pushes,
}

impl HeadFound {
    fn commit(&self, commit: &CommitId) -> Result<Option<&Snapshot>, HeadNeed> {
        let asked = self.commits.get(commit).ok_or_else(|| HeadNeed::Commit(commit.clone()))?;
        Ok(asked.as_ref())
    }
}

/// A commit as it was read; what it changes against each parent is computed once everything is there.
struct ReadCommit<'f> {
    snapshot: Option<&'f Snapshot>,
    parents: Vec<(&'f CommitId, Option<&'f Snapshot>)>,
    vouched: Vouched,
}

impl<'a> HeadFacts<'a> {
    /// A commit on the branch of a proposal.
    pub fn of(
        facts: &'a Facts,
        proposal: &ProposalId,
        commit: &'a CommitId,
        base: Option<&'a CommitId>,
    ) -> Self {
        let record = facts.record_of(proposal, commit);
        Self { record, ..Self::on(facts, &proposal.branch(), commit, base) }
    }

    /// A commit on a branch of which nothing is recorded.
    pub fn on(facts: &'a Facts, branch: &str, commit: &'a CommitId, base: Option<&'a CommitId>) -> Self {
        Self { facts, branch: branch.to_owned(), commit, base, record: None }
    }

    pub fn branch_name(&self) -> &str {
        &self.branch
    }

    /// The commit as Git shows it.
    pub fn tip(&self, found: &HeadFound) -> DecisionStep<BranchTip, HeadNeed> {
        self.read_tip(found).map_or_else(DecisionStep::Ask, DecisionStep::Decided)
    }

    /// The branch, if this commit is its head: whose work it is, and whether Capstan's commit is known to be directly
    /// on the base.
    pub fn branch(&self, found: &HeadFound) -> DecisionStep<Branch, HeadNeed> {
        let branch = self.judged(found).map(|(authorship, of_base)| Branch {
            head: self.commit.clone(),
            authorship,
            of_base,
        });
        branch.map_or_else(DecisionStep::Ask, DecisionStep::Decided)
    }

    /// Whose work it is. People are those who pushed, according to GitHub: anybody can set the author of a commit.
    pub fn owner(&self, found: &HeadFound) -> DecisionStep<BranchOwner, HeadNeed> {
        let owner = || match self.judged(found)?.0 {
            Authorship::Capstan { .. } => Ok(BranchOwner::Capstan),
            Authorship::Person => {
                let BranchPushes { all, own } = found.pushes.as_ref().ok_or(HeadNeed::Pushes)?;
                Ok(pushed_by(all, self.commit, own))
            }
        };
        owner().map_or_else(DecisionStep::Ask, DecisionStep::Decided)
    }

    /// What Capstan's last commit on the branch offers, with the commit below it; `None` where there is none at this commit
    /// or closely below.
    pub fn last_own(&self, found: &HeadFound) -> DecisionStep<Option<(SourceState, CommitId)>, HeadNeed> {
        self.find_last_own(found).map_or_else(DecisionStep::Ask, DecisionStep::Decided)
    }

    fn find_last_own(&self, found: &HeadFound) -> Result<Option<(SourceState, CommitId)>, HeadNeed> {
        let mut commit = Some(self.commit);
        for _ in 0..MOST_COMMITS {
            let Some(at) = commit else { break };
            let Some(snapshot) = found.commit(at)? else { break };
            let source = snapshot.trailers.source.as_deref().and_then(SourceState::parse);
            commit = snapshot.parents.first();
            if let (Some(source), Some(below)) = (source, commit)
                && self.vouched(snapshot, found)? == Vouched::Yes
            {
                return Ok(Some((source, below.clone())));
            }
        }
        Ok(None)
    }

    fn judged(&self, found: &HeadFound) -> Result<(Authorship, OfBase), HeadNeed> {
        if let Some(record) = self.record.filter(|record| record.head == *self.commit)
            && let (Some(source), Some(plan)) =
                (SourceState::parse(&record.source), PlanDigest::parse(&record.plan))
        {
            return Ok((Authorship::Capstan { source, plan }, OfBase::Yes));
        }
        let tip = self.read_tip(found)?;
        Ok((judge_head(&tip, self.record.map(|record| &record.head)), tip.of_base()))
    }

    fn read_tip(&self, found: &HeadFound) -> Result<BranchTip, HeadNeed> {
        let head = self.read(self.commit, found)?;
        let first = match head.parents.as_slice() {
            [(first, _), _] => Some((*first, self.read(first, found)?)),
            _ => None,
        };
        let first_parent = first.map(|(commit, read)| Box::new(self.tip_of(commit, &read)));
        Ok(BranchTip { first_parent, ..self.tip_of(self.commit, &head) })
    }

    fn read<'f>(&self, commit: &CommitId, found: &'f HeadFound) -> Result<ReadCommit<'f>, HeadNeed> {
        let Some(snapshot) = found.commit(commit)? else {
            return Ok(ReadCommit { snapshot: None, parents: Vec::new(), vouched: Vouched::No });
        };
        // An octopus merge is never a clean one: its parents need not be fetched.
        let parents = Some(&snapshot.parents).filter(|parents| parents.len() <= 2);
        let parents = parents.into_iter().flatten().map(|parent| Ok((parent, found.commit(parent)?)));
        Ok(ReadCommit {
            snapshot: Some(snapshot),
            parents: parents.collect::<Result<_, _>>()?,
            vouched: self.vouched(snapshot, found)?,
        })
    }

    fn tip_of(&self, commit: &CommitId, read: &ReadCommit<'_>) -> BranchTip {
        let trailers = read.snapshot.map(|snapshot| &snapshot.trailers);
        let parent = |(parent, before): &(&CommitId, Option<&Snapshot>)| {
            let trees = before.zip(read.snapshot);
            let changes = trees.and_then(|(before, after)| digest_of_changes(&*before.tree, &*after.tree));
            let is_base = **parent == self.facts.base.commit || self.base == Some(*parent);
            let of_base = if is_base { OfBase::Yes } else { OfBase::Unknown };
            Parent { commit: (*parent).clone(), changes, of_base }
        };
        BranchTip {
            commit: commit.clone(),
            source: trailers.and_then(|all| all.source.as_deref()).and_then(SourceState::parse),
            plan: trailers.and_then(|all| all.plan.as_deref()).and_then(PlanDigest::parse),
            vouched: read.vouched,
            parents: read.parents.iter().map(parent).collect(),
            first_parent: None,
        }
    }

    /// Whether Capstan wrote a commit for this branch, by more than the commit's own text. GitHub is asked where the seal
    /// does not prove it: for commits of an earlier Capstan, or under another key.
    fn vouched(&self, snapshot: &Snapshot, found: &HeadFound) -> Result<Vouched, HeadNeed> {
        let trailers = &snapshot.trailers;
        let ([parent], Some(source), Some(plan)) =
            (snapshot.parents.as_slice(), trailers.source.as_deref(), trailers.plan.as_deref())
        else {
            return Ok(Vouched::No);
        };
        let (repository, tree) = (self.facts.repository.id, &snapshot.root);
        let own = SealedCommit { repository, branch: &self.branch, parent, tree, source, plan };
        if trailers.seal.as_deref().is_some_and(|seal| own.has_seal(&self.facts.key, seal)) {
            return Ok(Vouched::Yes);
        }
        let BranchPushes { all, own } = found.pushes.as_ref().ok_or(HeadNeed::Pushes)?;
        let is_own = |push: &Push| push.after == snapshot.commit && push.actor.as_ref() == Some(own);
        Ok(if all.iter().any(is_own) { Vouched::Yes } else { Vouched::No })
    }
}

/// Whose work a head is that Capstan did not write: that of those who pushed, according to GitHub. `own` is Capstan's
/// login.
pub(super) fn pushed_by(pushes: &[Push], head: &CommitId, own: &str) -> BranchOwner {
    if !pushes.iter().any(|push| push.after == *head) {
        return BranchOwner::Unknown;
    }
    let people = pushes.iter().filter_map(|push| push.actor.as_deref()).filter(|actor| *actor != own);
    BranchOwner::People(people.map(str::to_ascii_lowercase).collect())
}
